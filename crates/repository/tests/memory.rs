//! What is in memory while it is short, and what one transaction may keep there.

#![allow(clippy::unwrap_used, reason = "tests")]

mod harness;

use bytes::Bytes;
use harness::bench::Bench;
use harness::{configure, key, named};
use repository::MediaType;
use std::sync::atomic::{AtomicBool, Ordering};

/// Their documents wait for eviction as soon as they are there.
#[test]
fn eviction_meets_collections_that_are_made_meanwhile() {
    const DOCUMENTS: usize = 20_000;
    let bench = Bench::with_memory(256 << 20);
    let volatile = r#"{"durability":"volatile"}"#;
    configure(bench.repository(), "volatile", volatile);
    let put = |name: &str, at: usize| {
        let mut transaction = bench.repository().begin().unwrap();
        let (at, body) = (key(&format!("k{at}")), Bytes::from("1"));
        transaction.put(&named(name), &at, MediaType::Json, body, None).unwrap();
        transaction.commit().unwrap();
    };
    (0..DOCUMENTS).for_each(|at| put("volatile", at));
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let evicting = scope.spawn(|| {
            while !is_done.load(Ordering::Relaxed) {
                bench.evict();
                // What does not wait any more waits again with its next version.
                (0..DOCUMENTS).for_each(|at| put("volatile", at));
            }
        });
        for made in 0..3_000 {
            if evicting.is_finished() {
                break;
            }
            let name = format!("v{made}");
            configure(bench.repository(), &name, volatile);
            put(&name, 0);
        }
        is_done.store(true, Ordering::Relaxed);
        assert!(evicting.join().is_ok(), "eviction panicked");
    });
}
