//! The memcached face: memcached's text protocol and its meta commands on sockets, carried out on a
//! cache. Each thread has an event loop of its own (epoll) and connections of its own; nothing is
//! handed from one to another. `docs/memcached.md` has it from the outside.
//!
//! A command's walk: `acceptor` gives a connection to the `turn` with the fewest → `turn` is told
//! by the kernel that something came and has `connection` receive it → `session` finds the commands
//! in it → `on_cache` or `on_collection` carries each out and appends the answer → `connection`
//! sends what there is.
//!
//! What is not here: the bytes of commands and answers (`wire`), items and what is dropped for want
//! of memory (`cache`).

mod acceptor;
mod auth;
mod bell;
mod buffer;
mod connection;
mod executor;
mod face;
mod figures;
pub mod limits;
mod memory;
mod on_cache;
mod on_collection;
mod out;
mod place;
mod reports;
mod session;
mod turn;

#[doc(hidden)]
pub mod fuzzing;

pub use auth::{AuthFile, AuthFileError};
pub use face::{Face, FaceOptions, FaceReader, StartError};
pub use figures::FaceFigures;
pub use memory::buffer_bytes;
pub use on_collection::{Closed, Collection};
pub use place::{Place, PlaceError};
