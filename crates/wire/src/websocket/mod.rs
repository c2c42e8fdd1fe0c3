//! The WebSocket protocol (RFC 6455), version 13 without extensions, both sides of it: frames are
//! read into messages and written, and the values of the opening handshake are made. Who answers a
//! ping, and when a connection is closed, is the caller's affair.

mod frame;
mod handshake;
mod reader;

pub use frame::{Mask, Opcode, Side, write};
pub use handshake::{KEY_BYTES, accept, key};
pub use reader::{Message, Reader, WebSocketError};
