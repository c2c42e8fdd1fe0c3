//! A short run of every fuzz target: seeds, and what a few mutations make of them. The long run,
//! led by coverage, is `make fuzz`.

#![allow(clippy::unwrap_used, reason = "tests")]

#[path = "../../../repository/tests/fuzz/mutate.rs"]
mod mutate;
#[path = "../../../repository/tests/fuzz/target.rs"]
mod target;
mod targets;

use mutate::smoke;
use targets::TARGETS;

#[test]
fn commands() {
    smoke(TARGETS, "memcached-commands", 40_000);
}

#[test]
fn replies() {
    smoke(TARGETS, "memcached-replies", 40_000);
}

#[test]
fn frames() {
    smoke(TARGETS, "websocket", 40_000);
}

#[test]
fn frames_of_the_admin_socket() {
    smoke(TARGETS, "admin-frames", 40_000);
}

#[test]
fn streams_of_events() {
    smoke(TARGETS, "events", 40_000);
}

#[test]
fn documents_of_xml() {
    smoke(TARGETS, "xml", 20_000);
}

#[test]
fn entries_of_atom() {
    smoke(TARGETS, "atom-entry", 20_000);
}

#[test]
fn documents_of_the_publishing_protocol() {
    smoke(TARGETS, "atom-service", 20_000);
}
