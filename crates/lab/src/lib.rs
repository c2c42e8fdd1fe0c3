//! The load lab: applies load to a server, measures what comes back and says how far the figures
//! can be trusted.
//!
//! It knows a server only by the wire and uses none of the server's crates. What is here is the
//! closed-loop HTTP/1.1 load of `sarsen bench`: [`bench::run()`] executes a [`bench::Plan`] and
//! gives a [`report::Report`]. It keeps no archive and compares no runs.

pub mod bench;
mod cpu;
pub mod glass;
mod http1;
pub mod latency;
pub mod limits;
pub mod progress;
mod random;
pub mod report;
pub mod tally;
pub mod target;
