//! The transaction log: what is in it is durable, what is not never happened.
//!
//! One writer thread takes the records that queued up while it was writing the frame before, and
//! writes them as one frame into a segment that was filled before: synchronously if one of them
//! must survive a power cut. `docs/format.md` has the bytes; `docs/transactions.md` has the
//! argument for torn tails.

mod follow;
mod frame;
mod losses;
mod pipeline;
mod reader;
mod recent;
mod retention;
mod segment;
mod supply;
mod writer;

pub(crate) use follow::Follower;
pub use follow::LogRecord;
pub(crate) use losses::losses;
pub(crate) use pipeline::{Start, Tranlog};
pub(crate) use reader::{Scan, Visit, scan};
pub(crate) use retention::{BlobRoom, Held};
pub use retention::{Hold, Retention};
pub(crate) use segment::Home;
#[cfg(test)]
pub(crate) use supply::Used;
pub(crate) use supply::UsedSegment;
pub use supply::{Retained, SegmentSizes};

#[cfg(test)]
mod tests;
