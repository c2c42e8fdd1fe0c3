//! Faces: the sockets, the protocols spoken on them, and the one match that sends each request to
//! the repository or to the application. A reply leaves only when what it reveals is durable.
//!
//! A request's walk: `listener` accepts → `http/connection` speaks HTTP → `http/rest` parses into
//! an operation (after this nothing knows HTTP) → `dispatch` sends it to `execute` or to a worker
//! → `gate` holds the outcome until it is durable → `http/reply` writes it.
//!
//! What is not here: documents and commits (`repository`), the application's code (`gem`), the
//! command line and its configuration (`sarsen`).

pub mod access;
mod dispatch;
mod execute;
mod gate;
mod http;
pub mod limits;
mod listener;
mod mailbox;
mod observe;
mod operation;
mod preconditions;
mod problem;
mod reactor;
mod server;
mod socket;
mod status;
#[allow(dead_code, reason = "`/openapi.json`, which is made from all of it, comes next")]
mod surface;

pub use observe::AccessLogTarget;
pub use server::{ListenError, Server, ServerOptions, Timeouts};
