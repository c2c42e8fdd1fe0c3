//! What a run measured, in memory that does not grow with its length: tallies for each operation
//! and phase, second by second and in all.

mod errors;
mod interval;
mod latency;
mod sample;
mod series;
mod statuses;
mod tally;

pub use errors::{ErrorClass, Errors};
pub use interval::{Interval, Totals};
pub use latency::Latency;
pub use sample::Sample;
pub use series::{Column, Row, Series, SeriesHead};
pub use statuses::{StatusClass, Statuses};
pub(crate) use tally::Done;
pub use tally::{Spans, Tally};
