//! What the measuring programs share: their command line, what they say about the machine, the
//! documents they work on, and how results are drawn. What is measured is theirs.

#![allow(dead_code, reason = "each program uses its own part")]

pub mod arguments;
pub mod chart;
pub mod documents;
pub mod facts;
pub mod load;
pub mod process;
pub mod random;
pub mod warnings;
pub mod window;

/// The allocator of the server.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;
