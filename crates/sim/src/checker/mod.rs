//! Checkers of recorded histories. They are pure and know nothing of the repository: they take
//! what clients did and saw, and say what no correct repository could have shown them.
//!
//! * [`serializability`]: transactions, by cycles of dependencies.

mod graph;
mod history;
pub mod serializability;

pub use history::{End, History, Operation, Span, Transaction, Version};
