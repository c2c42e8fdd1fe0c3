//! Proof of the repository: a simulated disk, a model of maps, and checkers of histories. For
//! tests only; nothing that is shipped uses it.

pub mod checker;
