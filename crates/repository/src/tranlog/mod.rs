//! The transaction log: what is in it is durable, what is not never happened.
//!
//! One writer thread takes the records that queued up while it was writing the frame before, and
//! writes them as one frame with one synchronous write into a segment that was filled before.
//! `docs/format.md` has the bytes; `docs/transactions.md` has the argument for torn tails.

mod frame;
mod reader;
mod segment;
mod supply;
mod writer;

pub(crate) use reader::{Scan, scan};
pub(crate) use segment::sync_folder;
pub(crate) use writer::Tranlog;
