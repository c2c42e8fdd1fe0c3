//! The admin socket: how `sarsen` commands on this machine ask a server that runs. A socket in the
//! data folder, for its owner alone; a line of JSON is a request, a line of JSON is the reply.
//! `docs/admin-socket.md` has the protocol.
//!
//! `place` says where the socket is and whom to trust, `server` takes requests, `commands` is the
//! one match over them, `client` is the side of the commands. Some answers are streams of frames:
//! `exchange` is the server's side of one, `streaming` the command's. Nothing here is asynchronous.

mod backup;
mod client;
mod commands;
mod exchange;
mod figures;
mod line;
mod place;
mod server;
mod streaming;
mod tasks;
#[cfg(test)]
mod tests;

pub use backup::BackupRequest;
pub use client::{AskError, Running};
pub use commands::Commands;
pub use exchange::Exchange;
pub use figures::Sources;
pub use server::AdminSocket;
pub use streaming::{Event, Sender};
pub use tasks::{Tasks, TasksError};
