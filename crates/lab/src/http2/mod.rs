//! The client's side of HTTP/2 (RFC 9113) by the h2 crate: requests of several users as streams of
//! one connection. It decides nothing about what is sent when.

mod channel;
mod request;

pub(crate) use channel::{Channel, Sender};
