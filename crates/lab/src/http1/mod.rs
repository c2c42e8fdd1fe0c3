//! The client's side of HTTP/1.1 (RFC 9112), written for load: requests rendered into a buffer
//! that is kept, replies checked to the last byte and their bodies counted, not kept. It decides
//! nothing about what is sent when.

mod chunked;
mod client;
mod cookies;
mod deadline;
mod head;
mod reply;
mod request;

pub(crate) use client::{Client, Failure};
pub(crate) use cookies::Jar;
pub(crate) use request::Prepared;
