//! Whole-server tests: the real binary, real sockets, real files. What one crate can show alone is
//! tested there. Nothing here asserts a time.

mod abuse;
mod command_line;
mod counter;
mod crash;
mod harness;
mod http;
mod lifecycle;
mod quiet;
mod random;
mod readme;
mod tokens;
