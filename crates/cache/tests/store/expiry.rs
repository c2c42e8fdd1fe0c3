//! Items that are gone when their time has come.

use super::*;

#[test]
fn an_item_is_gone_from_its_second_on() {
    let cache = roomy();
    set(&cache, b"k", b"1", cache.after(2));
    cache.set_time(START + 1);
    assert!(get(&cache, b"k").is_some());
    cache.set_time(START + 2);
    assert!(get(&cache, b"k").is_none());
    let figures = cache.figures();
    assert_eq!((figures.get_expired, figures.curr_items, figures.bytes), (1, 0, 0));
    assert_eq!(figures.expired_unfetched, 0);
    set(&cache, b"k", b"1", Expires::PAST);
    assert!(get(&cache, b"k").is_none());
    assert_eq!(cache.figures().expired_unfetched, 1);
    assert_eq!(Expires::at(-1), Expires::PAST);
    assert_eq!(Expires::at(i64::MAX), Expires::NEVER);
}

#[test]
fn time_does_not_go_backwards() {
    let cache = roomy();
    cache.set_time(START - 100);
    assert_eq!(cache.time(), START);
}

#[test]
fn a_new_time_to_live_counts() {
    let cache = roomy();
    set(&cache, b"k", b"1", cache.after(2));
    let key = cache.key(b"k");
    let mut shard = cache.lock(&key);
    let expires = shard.after(50);
    shard.find(&key, Command::Touch).unwrap().set_expires(expires);
    drop(shard);
    cache.set_time(START + 49);
    assert!(get(&cache, b"k").is_some());
    cache.set_time(START + 50);
    assert!(get(&cache, b"k").is_none());
}

#[test]
fn a_flush_takes_what_was_there() {
    let cache = roomy();
    for n in 0..1000_u32 {
        set(&cache, &n.to_le_bytes(), &[1; 500], Expires::NEVER);
    }
    cache.flush(None);
    assert_eq!((cache.figures().curr_items, cache.figures().bytes), (0, 0));
    set(&cache, b"k", b"1", Expires::NEVER);
    cache.flush(Some(START + 5));
    set(&cache, b"l", b"1", Expires::NEVER);
    cache.set_time(START + 4);
    assert!(get(&cache, b"k").is_some() && get(&cache, b"l").is_some());
    cache.set_time(START + 5);
    set(&cache, b"m", b"1", Expires::NEVER);
    assert!(get(&cache, b"k").is_none() && get(&cache, b"l").is_none());
    assert!(get(&cache, b"m").is_some());
    assert_eq!(cache.figures().cmd_flush, 2);
}

#[test]
fn a_sweep_removes_what_nobody_asks_for() {
    let cache = roomy();
    for n in 0..20_000_u32 {
        let expires = if n % 2 == 0 { cache.after(10 + n % 7) } else { Expires::NEVER };
        set(&cache, &n.to_le_bytes(), &[1; 100], expires);
    }
    cache.set_time(START + 60);
    for _ in 0..2_000 {
        cache.sweep();
    }
    let figures = cache.figures();
    assert_eq!((figures.curr_items, figures.expired_unfetched), (10_000, 10_000));
    assert!((0..20_000_u32).all(|n| get(&cache, &n.to_le_bytes()).is_some() == (n % 2 == 1)));
}

#[test]
fn pages_of_expired_items_come_back() {
    let cache = roomy();
    for n in 0..50_000_u32 {
        set(&cache, &n.to_le_bytes(), &[1; 100], cache.after(10));
    }
    let before = cache.figures().pages_used;
    cache.set_time(START + 10);
    for _ in 0..2_000 {
        cache.sweep();
    }
    let after = cache.figures().pages_used;
    // Each shard may still be writing to a page.
    assert!(after <= 2 * cache.figures().shards, "{before} pages, then {after}");
}
