//! HTTP: the only folder that knows it. `connection` speaks it, `rest` and `app` turn requests into
//! calls, `reply` turns answers into responses.

mod app;
pub(crate) mod body;
mod conditions;
pub(crate) mod connection;
mod content;
mod exchange;
mod origin;
mod path;
mod reply;
mod rest;

pub(crate) use rest::Site;
