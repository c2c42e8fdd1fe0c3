//! A cache in memory: keys and values, within a bound of bytes that counts everything it keeps.
//! What memcached's commands mean is here; its protocol is not, nor sockets, nor a clock: time is
//! what [`Cache::set_time`] was told last.
//!
//! | file | about |
//! | --- | --- |
//! | `cache` | the shards, and which of them has a key |
//! | `shard` | one of them, locked: look up, store |
//! | `found` | an item that was looked up, and what can be done with it |
//! | `state` | what a shard has, and how the following work together |
//! | `entry` | an item's bytes |
//! | `pages` | the memory, in pages of one size |
//! | `queue` | pages as queues that items are written to and fall out of |
//! | `index` | where the item of a key is |
//! | `ghosts` | what was thrown out lately |
//! | `share` | how much of the memory what is new has |
//! | `trials` | whether one use is enough to be taken for proven |
//!
//! How it works, and why like this, is in `docs/memcached.md`.

#![forbid(unsafe_code)]

mod asked;
mod cache;
mod entry;
mod expires;
mod figures;
mod found;
mod ghosts;
mod index;
mod key;
pub mod limits;
mod pages;
mod queue;
mod shard;
mod share;
mod state;
mod store;
mod trials;
mod value;

pub use cache::{Cache, Settings, SettingsError};
pub use expires::Expires;
pub use figures::{Figures, QueueFigures};
pub use found::{Found, NotNumeric};
pub use key::Key;
pub use shard::{Command, Count, Listed, Shard};
pub use store::{Mode, Refused, Store, Stored};
pub use value::Value;
