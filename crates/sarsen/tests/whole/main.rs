//! Whole-server tests: the real binary, real sockets, real files. What one crate can show alone is
//! tested there. Nothing here asserts a time.

mod abuse;
mod admin;
mod app_tests;
mod archive;
mod audits;
mod backup;
mod bad_input;
mod bank;
mod bench;
mod bodies;
mod cache;
mod command_line;
mod counter;
mod crash;
mod drops;
mod errors;
mod exchange;
mod expiries;
#[allow(dead_code, clippy::unwrap_used)]
#[path = "../../../faces/tests/http/frames.rs"]
mod frames;
mod grid;
mod harness;
mod history;
mod http;
mod idle;
mod lifecycle;
mod login;
mod many_users;
mod memcached;
mod new;
mod nginx;
mod null_server;
mod observed;
mod on_terminal;
mod operations;
#[path = "../../../faces/tests/http/patience.rs"]
mod patience;
mod proxies;
mod queue;
mod quiet;
mod random;
mod readme;
mod scenarios;
mod service;
mod siege;
mod space;
mod tasks;
mod tasks_command;
mod tokens;
mod top;
mod transport;
mod tutorial;
mod uploads;
mod watch;
