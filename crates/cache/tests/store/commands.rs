//! What each operation does.

use super::*;
use cache::limits::{KEY_BYTES_MAX, VALUE_BYTES_DEFAULT, VALUE_BYTES_MAX};
use cache::{Mode, NotNumeric, Refused, SettingsError};

fn store(cache: &Cache, key: &[u8], store: &Store<'_>) -> Result<u64, Refused> {
    let key = cache.key(key);
    cache.lock(&key).store(&key, store).map(|stored| stored.cas)
}

fn with(mode: Mode, value: &[u8]) -> Store<'_> {
    Store { mode, ..Store::set(value, 0, Expires::NEVER) }
}

#[test]
fn modes_keep_their_conditions() {
    let cache = roomy();
    assert_eq!(store(&cache, b"k", &with(Mode::Replace, b"1")), Err(Refused::NotStored));
    assert_eq!(store(&cache, b"k", &with(Mode::Append, b"1")), Err(Refused::NotStored));
    assert_eq!(store(&cache, b"k", &with(Mode::Cas, b"1")), Err(Refused::NotFound));
    assert!(store(&cache, b"k", &with(Mode::Add, b"2")).is_ok());
    assert_eq!(store(&cache, b"k", &with(Mode::Add, b"3")), Err(Refused::NotStored));
    assert!(store(&cache, b"k", &with(Mode::Append, b"3")).is_ok());
    assert!(store(&cache, b"k", &with(Mode::Prepend, b"1")).is_ok());
    assert_eq!(get(&cache, b"k").unwrap(), b"123");
    assert!(store(&cache, b"k", &with(Mode::Replace, b"")).is_ok());
    assert_eq!(get(&cache, b"k").unwrap(), b"");
}

#[test]
fn appending_keeps_flags_and_expiry_and_may_vivify() {
    let cache = roomy();
    let key = cache.key(b"k");
    let mut shard = cache.lock(&key);
    let expires = shard.after(10);
    shard.store(&key, &Store::set(b"a", 7, expires)).unwrap();
    shard
        .store(&key, &Store { mode: Mode::Append, ..Store::set(b"b", 9, Expires::NEVER) })
        .unwrap();
    let found = shard.find(&key, Command::Peek).unwrap();
    assert_eq!((found.flags(), found.ttl(), found.len()), (7, Some(10), 2));
    drop(shard);
    let other = Store { vivify: Some(cache.after(5)), ..with(Mode::Append, b"x") };
    assert!(store(&cache, b"other", &other).is_ok());
    let key = cache.key(b"other");
    assert_eq!(cache.lock(&key).find(&key, Command::Peek).unwrap().ttl(), Some(5));
}

#[test]
fn a_number_compared_decides() {
    let cache = roomy();
    let first = set(&cache, b"k", b"1", Expires::NEVER);
    let compare = |cas| Store { compare: Some(cas), ..with(Mode::Cas, b"2") };
    let second = store(&cache, b"k", &compare(first)).unwrap();
    assert!(second > first);
    assert_eq!(store(&cache, b"k", &compare(first)), Err(Refused::Exists));
    assert_eq!(store(&cache, b"k", &with(Mode::Cas, b"2")), Err(Refused::Exists));
    let append = Store { compare: Some(first), ..with(Mode::Append, b"2") };
    assert_eq!(store(&cache, b"k", &append), Err(Refused::Exists));
    let given = Store { new_cas: Some(5), ..compare(second) };
    assert_eq!(store(&cache, b"k", &given), Ok(5));
    let figures = cache.figures();
    assert_eq!((figures.cas_hits, figures.cas_badval, figures.cas_misses), (2, 2, 0));
}

#[test]
fn an_older_number_stores_as_stale_if_that_is_wished() {
    let cache = roomy();
    let key = cache.key(b"k");
    let mut shard = cache.lock(&key);
    let expires = shard.after(30);
    let old = shard.store(&key, &Store::set(b"1", 0, expires)).unwrap().cas;
    let new = shard.find(&key, Command::Peek).unwrap().invalidate(None);
    assert!(new > old);
    let late = Store { compare: Some(old), may_be_stale: true, ..with(Mode::Cas, b"2") };
    shard.store(&key, &late).unwrap();
    let mut found = shard.find(&key, Command::Peek).unwrap();
    assert!(found.is_stale() && !found.is_taken());
    assert_eq!((found.ttl(), found.value().to_vec()), (Some(30), b"2".to_vec()));
    assert!(found.take());
    assert!(!found.take() && found.is_taken());
    found.invalidate(Some(77));
    assert_eq!((found.cas(), found.is_taken(), found.is_stale()), (77, false, true));
}

#[test]
fn a_use_is_noted_when_it_is_said() {
    let cache = roomy();
    set(&cache, b"k", b"1", Expires::NEVER);
    cache.set_time(START + 9);
    let key = cache.key(b"k");
    let mut shard = cache.lock(&key);
    let mut found = shard.find(&key, Command::Get).unwrap();
    assert_eq!((found.is_fetched(), found.idle()), (false, 9));
    found.mark_fetched();
    let found = shard.find(&key, Command::Get).unwrap();
    assert_eq!((found.is_fetched(), found.idle()), (true, 0));
}

#[test]
fn numbers_are_counted_as_memcached_counts() {
    let cache = roomy();
    let add = |value: &[u8], delta, is_decrement| {
        set(&cache, b"n", value, Expires::NEVER);
        let key = cache.key(b"n");
        let mut shard = cache.lock(&key);
        let mut found = shard.find(&key, Command::Increment).unwrap();
        let number = found.add(delta, is_decrement, None);
        (number, String::from_utf8(found.value().to_vec()).unwrap())
    };
    assert_eq!(add(b"9", 1, false), (Ok(10), "10".into()));
    assert_eq!(add(b"10", 1, true), (Ok(9), "9 ".into()));
    assert_eq!(add(b"9 ", 1, false), (Ok(10), "10".into()));
    assert_eq!(add(b"3", 5, true), (Ok(0), "0".into()));
    assert_eq!(add(b"18446744073709551615", 1, false).0, Ok(0));
    assert_eq!(add(b"18446744073709551615", 1, false).1.trim_end(), "0");
    assert_eq!(add(b"5                                        ", 1, false).0, Ok(6));
    assert_eq!(add(&[b"7", [b' '; 70_000].as_slice()].concat(), 1, false).0, Ok(8));
    for wrong in ["", "x", "1x", "-1", "18446744073709551616", " "] {
        assert_eq!(add(wrong.as_bytes(), 1, false), (Err(NotNumeric), wrong.into()), "{wrong:?}");
    }
}

#[test]
fn a_longer_number_is_an_item_anew() {
    let cache = roomy();
    let key = cache.key(b"n");
    let mut shard = cache.lock(&key);
    let expires = shard.after(60);
    shard.store(&key, &Store::set(b"99999999", 3, expires)).unwrap();
    shard.find(&key, Command::Get).unwrap().mark_fetched();
    let mut found = shard.find(&key, Command::Increment).unwrap();
    let before = found.cas();
    found.add(1_000_000_000_000, false, None).unwrap();
    assert!(found.cas() > before && !found.is_fetched());
    assert_eq!((found.flags(), found.ttl()), (3, Some(60)));
    assert_eq!(found.value().to_vec(), b"1000099999999");
}

#[test]
fn clearing_leaves_the_item() {
    let cache = roomy();
    let key = cache.key(b"k");
    let mut shard = cache.lock(&key);
    shard.store(&key, &Store::set(&[1; 100_000], 7, Expires::NEVER)).unwrap();
    let mut found = shard.find(&key, Command::Peek).unwrap();
    found.invalidate(None);
    found.clear();
    assert_eq!((found.len(), found.flags(), found.is_stale()), (0, 0, true));
    drop(shard);
    assert_eq!(get(&cache, b"k").unwrap(), b"");
}

#[test]
fn values_and_keys_up_to_the_largest() {
    let cache = roomy();
    for length in [0, 1, 1023, 1024, 32_767, 32_768, 32_769, 65_536, 500_000, VALUE_BYTES_DEFAULT] {
        let value = random::Random(length as u64).value(length);
        let key = vec![b'k'; KEY_BYTES_MAX];
        set(&cache, &key, &value, Expires::NEVER);
        assert!(get(&cache, &key).unwrap() == value, "{length}");
    }
    let large = vec![0; VALUE_BYTES_DEFAULT + 1];
    assert_eq!(store(&cache, b"k", &with(Mode::Set, &large)), Err(Refused::TooLarge));
    set(&cache, b"k", &large[1..], Expires::NEVER);
    assert_eq!(store(&cache, b"k", &with(Mode::Append, b"1")), Err(Refused::TooLarge));
    assert_eq!(get(&cache, b"k").unwrap().len(), VALUE_BYTES_DEFAULT);
    let long = vec![b'k'; KEY_BYTES_MAX + 1];
    assert_eq!(store(&cache, &long, &with(Mode::Set, b"1")), Err(Refused::TooLarge));
    assert_eq!(get(&cache, &long), None);
}

#[test]
fn settings_that_do_not_go_together_are_refused() {
    let new = |memory_bytes, value_bytes_max| {
        Cache::new(&Settings { value_bytes_max, ..Settings::new(memory_bytes, 1) }).err()
    };
    assert!(matches!(new(1 << 20, 1 << 20), Some(SettingsError::MemoryTooSmall { .. })));
    assert_eq!(new(1 << 20, 0), Some(SettingsError::Value(0)));
    assert_eq!(new(1 << 30, VALUE_BYTES_MAX + 1), Some(SettingsError::Value(VALUE_BYTES_MAX + 1)));
    assert_eq!(new(usize::MAX, 1), Some(SettingsError::MemoryTooLarge(usize::MAX)));
    assert_eq!(new(2 << 20, 1 << 10), None);
    assert_eq!(new(1 << 30, VALUE_BYTES_MAX), None);
}

#[test]
fn a_lock_serves_all_keys_of_its_shard() {
    let cache = cache(64 << 20);
    let first = cache.key(b"0");
    let mut shard = cache.lock(&first);
    let mut count = 0;
    for n in 0..100 {
        let name = n.to_string();
        let key = cache.key(name.as_bytes());
        if shard.covers(&key) {
            shard.store(&key, &Store::set(b"1", 0, Expires::NEVER)).unwrap();
            count += 1;
        }
    }
    drop(shard);
    assert!((1..100).contains(&count));
    assert_eq!(cache.figures().curr_items, count);
}

#[test]
fn commands_are_counted() {
    let cache = roomy();
    set(&cache, b"k", b"1", Expires::NEVER);
    for (name, command) in [("k", Command::Get), ("k", Command::Touch), ("k", Command::Delete)] {
        let key = cache.key(name.as_bytes());
        assert!(cache.lock(&key).find(&key, command).is_some());
    }
    let key = cache.key(b"none");
    for command in [Command::GetAndTouch, Command::Increment, Command::Decrement, Command::Peek] {
        assert!(cache.lock(&key).find(&key, command).is_none());
    }
    let figures = cache.figures();
    assert_eq!((figures.cmd_get, figures.get_hits, figures.get_misses), (2, 1, 1));
    assert_eq!((figures.cmd_touch, figures.touch_hits, figures.touch_misses), (2, 1, 1));
    assert_eq!((figures.delete_hits, figures.incr_misses, figures.decr_misses), (1, 1, 1));
    assert_eq!((figures.cmd_set, figures.total_items, figures.curr_items), (1, 1, 1));
    cache.reset_figures();
    let figures = cache.figures();
    assert_eq!((figures.cmd_get, figures.total_items, figures.curr_items), (0, 0, 1));
}

#[test]
fn a_walk_tells_what_is_alive() {
    let cache = cache(32 << 20);
    for n in 0..5_000_u32 {
        let expires = if n % 5 == 0 { cache.after(10) } else { Expires::NEVER };
        set(&cache, n.to_string().as_bytes(), &vec![1; n as usize], expires);
    }
    cache.set_time(START + 10);
    let mut seen = std::collections::HashMap::new();
    cache.walk(|item| {
        assert_eq!((item.expires, item.used, item.class), (Expires::NEVER, START, 1));
        assert!(item.bytes > item.value_bytes + item.key.len());
        let key = String::from_utf8(item.key.to_vec()).unwrap();
        assert!(seen.insert(key.parse::<u32>().unwrap(), item.value_bytes).is_none());
        true
    });
    let expected = (0..5_000).filter(|n| n % 5 != 0).map(|n| (n, n as usize)).collect();
    assert_eq!(seen, expected);
    let mut count = 0;
    cache.walk(|_| {
        count += 1;
        count < 3
    });
    assert_eq!(count, 3);
}
