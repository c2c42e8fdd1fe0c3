//! Faces: the sockets, the protocols spoken on them, and the one match that sends each request to
//! the repository or to the application. A reply leaves only when what it reveals is durable.
//!
//! A request's walk: `listener` accepts → `http/connection` speaks HTTP → `http/rest` parses into
//! an operation (after this nothing knows HTTP) → `dispatch` sends it to `execute` or to a worker
//! → `gate` holds the outcome until it is durable → `http/reply` writes it.
//!
//! What is not here: documents and commits (`repository`), the application's code (`gem`), the
//! command line and its configuration (`sarsen`).

mod acceptable;
pub mod access;
mod atom;
mod collections;
mod dispatch;
mod doors;
mod execute;
mod feed;
#[doc(hidden)]
pub mod fuzzing;
mod gate;
mod http;
pub mod limits;
mod listener;
mod live;
mod mailbox;
mod network;
mod observe;
mod operation;
mod patch;
mod preconditions;
mod problem;
mod reactor;
mod replies;
mod server;
mod socket;
mod status;
mod surface;
mod tls;

pub use http::cors::check_origin;
pub use http::forwarded::{ProxyFields, ProxyFieldsError};
pub use live::Live;
pub use network::{Network, NetworkError};
pub use observe::{AccessLogTarget, Figure, OtherFigures, ServerFigures, Watcher};
pub use server::{ListenError, Server, ServerOptions, Timeouts};
pub use tls::{TlsError, TlsOptions};
