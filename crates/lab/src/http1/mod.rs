//! The client's side of HTTP/1.1 (RFC 9112), written for load: requests rendered into a buffer
//! that is kept, replies checked to the last byte and their bodies counted, not kept. It decides
//! nothing about what is sent when.

mod chunked;
mod cookies;
mod deadline;
mod head;
mod own;
mod pipeline;
mod reply;

pub(crate) use cookies::Jar;
pub(crate) use deadline::Deadline;
pub(crate) use head::{HeadCache, Malformed, Taking};
pub(crate) use own::Own;
pub(crate) use pipeline::{Pipeline, Place};
pub(crate) use reply::ReplyReader;
