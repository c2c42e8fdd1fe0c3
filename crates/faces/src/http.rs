//! HTTP: the only folder that knows it. `connection` finds out what is spoken, `http1` and `http2`
//! speak it, `forwarded` tells who asks, `rest` and `app` turn requests into calls, `reply` turns
//! answers into responses.

mod accept;
mod app;
pub(crate) mod atom;
mod authority;
mod basic;
mod bearer;
pub(crate) mod body;
mod collections;
mod conditions;
pub(crate) mod connection;
mod content;
mod content_of;
pub(crate) mod cors;
mod download;
mod exchange;
mod failure;
mod feed;
mod files;
pub(crate) mod forwarded;
pub(crate) mod framing;
pub(crate) mod http1;
mod http2;
mod list;
mod live;
mod once;
mod openapi;
mod origin;
pub(crate) mod outgoing;
mod page;
mod past;
mod path;
mod problems;
mod range;
mod refused;
mod reply;
mod rest;
mod upload;
mod visit;
mod wishes;
