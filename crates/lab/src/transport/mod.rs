//! The way to a server: connections, TLS, and the protocol that is spoken on them. A [`Client`] is
//! one user's side of it and the same for every protocol; it decides nothing about what is sent
//! when, and measures nothing but bytes.

mod client;
mod failure;
mod kept;
mod pace;
mod reach;
mod route;
mod stream;
mod trust;

pub(crate) use client::Client;
pub(crate) use failure::Failure;
pub(crate) use kept::{Kept, Reading, Reply};
pub(crate) use pace::Link;
pub use reach::ReachError;
pub(crate) use reach::reach;
pub(crate) use route::{Route, Server};
pub(crate) use stream::Stream;
pub use trust::TrustError;
pub(crate) use trust::{config as tls_config, explain};
