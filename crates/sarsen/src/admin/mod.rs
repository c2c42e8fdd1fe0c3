//! The admin socket: how `sarsen` commands on this machine ask a server that runs. A socket in the
//! data folder, for its owner alone; a line of JSON is a request, a line of JSON is the reply.
//! `docs/operations.md` has the protocol.
//!
//! `place` says where the socket is and whom to trust, `server` takes requests, `commands` is the
//! one match over them, `client` is the side of the commands. Nothing here is asynchronous.

mod client;
mod commands;
mod figures;
mod line;
mod place;
mod server;
mod tasks;
#[cfg(test)]
mod tests;

pub use client::{AskError, Running};
pub use commands::Commands;
pub use figures::Sources;
pub use server::AdminSocket;
pub use tasks::{Tasks, TasksError};
