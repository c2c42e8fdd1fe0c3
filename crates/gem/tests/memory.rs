//! Memory outside of the engines' heaps, which their limit does not see. One test: what it measures
//! is of the whole process.
#![allow(clippy::unwrap_used)] // A test fails by panicking.

mod support;

use std::fs;
use support::site;

/// The most memory that the process has had, in bytes.
fn peak() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().strip_suffix(" kB").unwrap().parse::<u64>().unwrap() << 10
}

/// Texts that were staged once are gone when something else takes their place.
#[test]
fn a_document_that_is_written_again_and_again_is_kept_once() {
    let site = site(
        r#"app.post("/put", ({ db }) => {
             for (let i = 0; i < 200; i++) db.notes.put("a", "x".repeat(500_000) + i);
           });
           app.post("/append", ({ db }) => {
             const note = { text: "x".repeat(500_000), list: [] };
             db.notes.put("b", note);
             for (let i = 0; i < 200; i++) db.notes.append("b", "/list", i);
             return [note.list.length];
           });
           app.get("/none", ({ db }) => {
             for (let i = 0; i < 200_000; i++) db.notes.delete("none");
             return [db.notes.get("none") === undefined];
           });
           app.get("/small", ({ db }) => db.small.put("a", {}));"#,
    );
    site.get("/small");
    let before = peak();
    site.post("/put");
    site.post("/append");
    site.get("/none");
    let more = (peak() - before) >> 20;
    assert!(more < 60, "{more} MiB");
}
