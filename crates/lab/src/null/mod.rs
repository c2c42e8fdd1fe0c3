//! A server whose latency is known: it answers every request after a time drawn from a law, and may
//! stand still for a while. What the lab reports of it must be what was put in.

mod delay;
mod law;
mod requests;
mod serve;

pub use law::{Law, LawError};
pub use serve::{NullServer, Options, Stall};
