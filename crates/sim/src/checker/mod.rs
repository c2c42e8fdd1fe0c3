//! Checkers of recorded histories. They are pure and know nothing of the repository: they take
//! what clients did and saw, and say what no correct repository could have shown them.
//!
//! * [`serializability`]: transactions, by cycles of dependencies.
//! * [`linearizability`]: operations on single keys, by searching for an order that explains them.

mod graph;
mod history;
pub mod linearizability;
pub mod serializability;

pub use history::{End, History, Operation, Span, Transaction, Version};
