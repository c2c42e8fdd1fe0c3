//! HTTP: the only folder that knows it. `connection` speaks it, `rest` and `app` turn requests into
//! calls, `reply` turns answers into responses.

mod app;
mod bearer;
pub(crate) mod body;
mod conditions;
pub(crate) mod connection;
mod content;
mod exchange;
mod openapi;
mod origin;
mod page;
mod path;
mod problems;
mod reply;
mod rest;
mod visit;

pub(crate) use rest::Site;
