//! What goes when memory is short: traces of which some must be found.

use super::random::Random;
use super::*;

/// Bytes of the cache, which is one shard.
const MEMORY: usize = 8 << 20;
/// About as many items of 300 bytes as fit.
const FITTING: u64 = 21_000;

fn name(n: u64) -> [u8; 16] {
    let mut name = [b'k'; 16];
    name[8..].copy_from_slice(&n.to_le_bytes());
    name
}

fn write(cache: &Cache, n: u64) {
    set(cache, &name(n), &[1; 300], Expires::NEVER);
}

fn read(cache: &Cache, n: u64) -> bool {
    get(cache, &name(n)).is_some()
}

/// As an application does with a cache: what is missing is stored.
fn ask(cache: &Cache, n: u64) -> bool {
    let is_hit = read(cache, n);
    if !is_hit {
        write(cache, n);
    }
    is_hit
}

/// Writes items and reads each once when `distance` others have come after it. The hits in percent,
/// when the memory has been written twice.
fn written_once(cache: &Cache, distance: u64) -> u64 {
    let begin = 1 << 40;
    let (mut hits, mut asked) = (0, 0);
    for n in 0..FITTING * 5 {
        write(cache, begin + n);
        let is_hit = n >= distance && read(cache, begin + n - distance);
        if n >= FITTING * 2 {
            (hits, asked) = (hits + u64::from(is_hit), asked + 1);
        }
    }
    hits * 100 / asked
}

/// Sessions, one-time codes, results of jobs.
#[test]
fn what_is_written_once_is_found_up_to_nearly_the_memory_later() {
    for percent in [5, 15, 30, 50, 70, 90] {
        let hits = written_once(&cache(MEMORY), FITTING * percent / 100);
        assert!(hits >= 99, "{hits} % after {percent} % of the memory");
    }
}

#[test]
fn items_of_few_bytes_are_found_later_too() {
    let cache = cache(MEMORY);
    let (mut hits, distance, count) = (0, 60_000_u64, 250_000);
    for n in 0..count {
        set(&cache, &name(n), &[1; 20], Expires::NEVER);
        hits += u64::from(n >= distance && read(&cache, n - distance));
    }
    assert!(hits * 100 >= (count - distance) * 99, "{hits} of {}", count - distance);
}

/// A set that was used again and again, until nobody asks for it: it must give way.
#[test]
fn a_proven_set_that_goes_out_of_use_makes_room() {
    for percent in [15, 30, 60] {
        let cache = cache(MEMORY);
        let mut random = Random(percent);
        for _ in 0..FITTING * 5 {
            ask(&cache, random.below(FITTING * 9 / 10));
        }
        let hits = written_once(&cache, FITTING * percent / 100);
        assert!(hits >= 99, "{hits} % after {percent} % of the memory");
    }
}

/// Where most of what is new is never asked for again, little is kept of it; when that changes the
/// cache follows, in the time in which its memory is written some times.
#[test]
fn it_learns_that_what_is_new_is_wanted() {
    let cache = cache(MEMORY);
    let mut random = Random(3);
    for n in 0..FITTING * 8 {
        // A tenth of the keys is asked for again, those with small numbers more often.
        let bound = 1 + random.below(FITTING * 2);
        ask(&cache, random.below(bound));
        ask(&cache, 1 << 50 | n);
    }
    let before = cache.figures();
    assert!(before.queues[1].pages > before.queues[0].pages, "{before:?}");
    written_once(&cache, FITTING * 7 / 10);
    let hits = written_once(&cache, FITTING * 7 / 10);
    assert!(hits >= 99, "{hits} %");
}

/// A cache that has learned to keep little of what is new is used for sessions alone from one
/// moment on: the first of them must be found, though no miss has told yet that they are wanted.
#[test]
fn sessions_are_found_at_once_where_little_of_what_is_new_was_kept() {
    let cache = cache(MEMORY);
    let mut random = Random(9);
    for n in 0..FITTING * 8 {
        let bound = 1 + random.below(FITTING * 2);
        ask(&cache, random.below(bound));
        ask(&cache, 1 << 50 | n);
    }
    let (distance, count) = (FITTING * 6 / 10, FITTING * 12 / 10);
    (0..distance).for_each(|n| write(&cache, 1 << 40 | n));
    let mut hits = 0;
    for n in distance..count {
        write(&cache, 1 << 40 | n);
        hits += u64::from(read(&cache, 1 << 40 | (n - distance)));
    }
    let asked = count - distance;
    assert!(hits * 100 >= asked * 95, "{hits} of {asked}");
}

/// What is stored because somebody asked for it has had its reader: it takes no room from what had
/// proved itself, however much of it there is.
#[test]
fn fills_take_nothing_from_what_had_proved_itself() {
    let cache = cache(MEMORY);
    let mut random = Random(11);
    for n in 0..FITTING * 8 {
        let bound = 1 + random.below(FITTING * 2);
        ask(&cache, random.below(bound));
        ask(&cache, 1 << 50 | n);
    }
    let before = cache.figures().queues[1].pages;
    (0..FITTING * 2).for_each(|n| assert!(!ask(&cache, 1 << 51 | n)));
    let after = cache.figures().queues[1].pages;
    assert!(after * 100 >= before * 98, "{after} of {before} pages");
}

/// An item that was used stays while others are read once in a row.
#[test]
fn a_scan_takes_nothing_that_is_used() {
    let cache = cache(MEMORY);
    let mut random = Random(5);
    let (mut hits, mut asked) = (0, 0);
    for n in 0..FITTING * 6 {
        ask(&cache, 1 << 50 | n);
        let is_hit = ask(&cache, random.below(FITTING / 2));
        if n > FITTING * 3 {
            (hits, asked) = (hits + u64::from(is_hit), asked + 1);
        }
    }
    assert!(hits * 100 > asked * 98, "{hits} of {asked}");
}

/// What is read once when it was written does not push out what is used again and again.
#[test]
fn what_is_read_once_takes_little_from_what_is_used() {
    let cache = cache(MEMORY);
    let mut random = Random(7);
    let (mut hits, mut asked) = (0, 0);
    for n in 0..FITTING * 8 {
        write(&cache, 1 << 50 | n);
        read(&cache, (1 << 50 | n) - 100);
        let bound = 1 + random.below(FITTING * 12 / 10);
        let is_hit = ask(&cache, random.below(bound));
        if n > FITTING * 3 {
            (hits, asked) = (hits + u64::from(is_hit), asked + 1);
        }
    }
    assert!(hits * 100 > asked * 70, "{hits} of {asked}");
}

/// A cache that threw out what was used last would find nothing.
#[test]
fn some_of_a_loop_that_is_longer_than_the_memory_are_found() {
    let cache = cache(MEMORY);
    let keys = FITTING * 12 / 10;
    let hits = (0..keys * 8).filter(|n| ask(&cache, n % keys)).count() as u64;
    assert!(hits > keys * 8 / 5, "{hits} of {}", keys * 8);
}

/// Of items of which some are as large as hundreds of others, small ones are found more.
#[test]
fn a_large_item_must_be_used_more_than_a_small_one() {
    let cache = cache(MEMORY);
    let mut random = Random(6);
    let mut hits = [0, 0];
    for _ in 0..200_000 {
        let bound = 1 + random.below(20_000);
        let n = random.below(bound);
        let is_large = n.is_multiple_of(8);
        if read(&cache, n) {
            hits[usize::from(is_large)] += 1;
        } else {
            let size = if is_large { 8_000 } else { 200 };
            set(&cache, &name(n), &vec![1; size], Expires::NEVER);
        }
    }
    // A seventh of the requests for small ones, as many for large ones.
    assert!(hits[0] > 7 * hits[1], "{hits:?}");
    assert!(hits[0] > 140_000, "{hits:?}");
}

/// 5,100 values of 11,000 bytes nearly fill 60 MiB, and each is read; then as many of 3,000 bytes,
/// a quarter of the memory, are written before the first of them is read.
#[test]
fn small_values_written_at_once_stay_beside_large_ones_that_were_read() {
    let cache = cache(60 << 20);
    for n in 0..5_100 {
        set(&cache, &name(n), &[1; 11_000], Expires::NEVER);
    }
    assert!((0..5_100).filter(|n| read(&cache, *n)).count() > 4_000);
    for n in 10_000..15_100 {
        set(&cache, &name(n), &[2; 3_000], Expires::NEVER);
    }
    let found = (10_000..15_100).filter(|n| read(&cache, *n)).count();
    assert!(found > 4_000, "{found} of 5100");
    assert!(cache.figures().evictions < 2_000, "{:?}", cache.figures());
}
