//! Backups and restores: what comes back is what was there, at any commit; what is damaged, cut off
//! or somebody else's is refused.

#![allow(clippy::unwrap_used, reason = "tests")]

#[path = "../harness/mod.rs"]
mod harness;

mod blobs;
mod commits;
mod damage;
mod full;
mod model;
mod streams;
