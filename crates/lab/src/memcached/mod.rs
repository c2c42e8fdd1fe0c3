//! The client's side of memcached's text protocol, for load: connections, of which several users
//! may share one, commands, and answers that are checked to the last byte. It decides nothing about
//! what is sent when.

mod command;
mod failure;
mod line;
mod turn;
mod values;

pub(crate) use command::Prepared;
pub(crate) use failure::Failure;
pub(crate) use line::{Places, Sharing};
pub(crate) use turn::{Answer, Wanted};
pub(crate) use values::Maker;
