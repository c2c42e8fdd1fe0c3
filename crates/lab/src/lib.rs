//! The load lab: applies load to a server, measures what comes back and says how far the figures
//! can be trusted.
//!
//! It knows a server only by the wire and uses none of the server's crates. A [`plan::Plan`] says
//! what is done; [`engine::run`] does it.

pub mod archive;
mod atompub;
pub mod audit;
mod channel;
mod cpu;
mod distributions;
pub mod engine;
mod entries;
mod fetch;
pub mod fuzzing;
pub mod glass;
pub mod grid;
pub mod hit;
mod http1;
mod http2;
pub mod limits;
pub mod measure;
mod memcached;
pub mod nearest;
pub mod null;
pub mod observe;
pub mod plan;
pub mod progress;
pub mod queue;
mod random;
pub mod report;
pub mod scenario;
pub mod search;
pub mod siege;
pub mod target;
pub mod trace;
pub mod transport;
pub mod verdict;
