//! Codecs of what is spoken from two sides. They turn bytes into messages and back: no
//! sockets, no clocks, no state of either side.

#![forbid(unsafe_code)]

pub mod atom;
pub mod base64;
pub mod events;
pub mod frames;
pub mod limits;
pub mod memcached;
pub mod uri;
pub mod websocket;
pub mod xml;
