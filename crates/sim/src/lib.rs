//! Proof of the repository: a simulated disk, a model of maps, and checkers of histories. For
//! tests only; nothing that is shipped uses it.

pub mod at_rest;
mod backup;
pub mod checker;
pub mod client;
pub mod disk;
pub mod feed;
mod found;
pub mod ground;
pub mod log_world;
pub mod model;
mod photo;
pub mod random;
pub mod run;
pub mod trace;
pub mod world;
