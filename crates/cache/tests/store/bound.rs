//! Memory: never more than was said, whatever is stored.

use super::random::Random;
use super::*;
use cache::Refused;

/// Checks what must hold at any time.
fn check(cache: &Cache, what: &str) {
    let figures = cache.figures();
    assert!(figures.memory_bytes <= figures.limit_maxbytes, "{what}: {figures:?}");
    assert!(figures.pages_used <= figures.pages, "{what}: {figures:?}");
    assert!(figures.bytes <= figures.pages * figures.page_bytes, "{what}: {figures:?}");
    let items: u64 = figures.queues.iter().map(|queue| queue.items).sum();
    assert_eq!(items, figures.curr_items, "{what}");
    let pages: u64 = figures.queues.iter().map(|queue| queue.pages).sum();
    assert_eq!(pages, figures.pages_used, "{what}");
}

/// Sizes that do the most harm: each kind until the memory was filled many times, one after the
/// other in one cache.
#[test]
fn adversarial_sizes_hold_the_bound() {
    let cache = cache(8 << 20);
    let mut random = Random(7);
    let page = cache::limits::PAGE_BYTES;
    let kinds: [(&str, u64, Vec<usize>); 8] = [
        ("nothing but keys", 400_000, vec![0]),
        ("the largest", 100, vec![cache.value_bytes_max()]),
        ("tiny", 400_000, vec![1, 2, 3]),
        ("a page and a byte", 2_000, vec![page + 1, page - 1, page]),
        ("two thirds of a page", 2_000, vec![page * 2 / 3]),
        ("tiny and the largest", 20_000, [vec![1; 99], vec![cache.value_bytes_max()]].concat()),
        ("just larger than what stays whole", 50_000, vec![1025 - 45, 1030]),
        ("all", 20_000, (0..17).map(|power| 1 << power).collect()),
    ];
    for (what, count, sizes) in kinds {
        for n in 0..count {
            let size = sizes[random.below(sizes.len() as u64) as usize];
            let value = vec![n as u8; size];
            set(&cache, &random.next().to_le_bytes(), &value, Expires::NEVER);
            if n % 500 == 0 {
                check(&cache, what);
            }
        }
        check(&cache, what);
        assert!(cache.figures().evictions > 0, "{what}");
    }
}

/// One item that grows and shrinks among others, with uses, deletions and times to live between.
#[test]
fn changes_of_every_kind_hold_the_bound() {
    let cache = cache(8 << 20);
    let mut random = Random(8);
    for n in 0..200_000_u32 {
        let name = random.below(30_000).to_le_bytes();
        let key = cache.key(&name);
        let mut shard = cache.lock(&key);
        match random.below(10) {
            0 => shard.discard(&key),
            1..4 => {
                if let Some(mut found) = shard.find(&key, Command::Get) {
                    found.mark_fetched();
                }
            }
            _ => {
                let value = vec![0; random.below(3_000) as usize];
                let expires = shard.after(random.below(20) as u32);
                let stored = shard.store(&key, &Store::set(&value, 0, expires));
                assert_ne!(stored.err(), Some(Refused::TooLarge));
            }
        }
        drop(shard);
        if n % 5_000 == 0 {
            cache.set_time(START + n / 5_000);
            cache.sweep();
            check(&cache, "changes");
        }
    }
    check(&cache, "changes");
}

/// The memory that the system sees: the process grows by no more than the cache may have, but for
/// what the allocator keeps.
#[cfg(target_os = "linux")]
#[test]
fn the_system_sees_no_more_either() {
    const MEMORY: usize = 64 << 20;
    // A process of its own: other tests take memory at the same time.
    if std::env::var_os("SARSEN_CACHE_FILL").is_none() {
        let program = std::env::current_exe().unwrap();
        let output = std::process::Command::new(program)
            .args(["--exact", "bound::the_system_sees_no_more_either", "--nocapture"])
            .env("SARSEN_CACHE_FILL", "1")
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
        return;
    }
    let resident = || {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() << 10
    };
    let before = resident();
    let cache = cache(MEMORY);
    let mut random = Random(9);
    for _ in 0..500_000 {
        let size = 1 << random.below(13);
        set(&cache, &random.next().to_le_bytes(), &vec![1; size], Expires::NEVER);
    }
    let (grown, figures) = (resident() - before, cache.figures());
    assert!(figures.evictions > 0 && figures.memory_bytes as usize > MEMORY / 100 * 95);
    assert!(grown < MEMORY + MEMORY / 32, "grown by {grown} bytes: {figures:?}");
}

/// A store never takes an item that is used away to make room for one that is not, as long as there
/// are others.
#[test]
fn what_is_used_stays() {
    let cache = cache(8 << 20);
    for n in 0..1_000_u32 {
        set(&cache, &n.to_le_bytes(), &[1; 100], Expires::NEVER);
        get(&cache, &n.to_le_bytes()).unwrap();
        get(&cache, &n.to_le_bytes()).unwrap();
    }
    for n in 0..500_000_u64 {
        set(&cache, &(n << 32).to_le_bytes(), &[1; 100], Expires::NEVER);
        get(&cache, &((n % 1_000) as u32).to_le_bytes());
    }
    let kept = (0..1_000_u32).filter(|n| get(&cache, &n.to_le_bytes()).is_some()).count();
    assert_eq!(kept, 1_000);
}

/// Nothing has to go as long as what is alive fits, however often it is written.
#[test]
fn what_fits_stays_however_often_it_is_written() {
    let cache = cache(8 << 20);
    let mut random = Random(10);
    for n in 0..300_000_u32 {
        let size = 50 + random.below(900) as usize;
        set(&cache, &(n % 8_000).to_le_bytes(), &vec![1; size], Expires::NEVER);
    }
    assert_eq!(cache.figures().evictions, 0, "{:?}", cache.figures());
    assert_eq!(cache.figures().curr_items, 8_000);
}

/// Items of 100 bytes take less memory than memcached's: 48 bytes and 8 of header, a byte behind
/// the key and two behind the value, rounded to a class of 1.25 times the one before (192 bytes
/// here), and its part of the index.
#[test]
fn small_items_take_less_than_in_memcached() {
    let cache = cache(16 << 20);
    let mut count = 0_u32;
    while cache.figures().evictions == 0 {
        for _ in 0..1_000 {
            let name = format!("key:{count:016}");
            set(&cache, name.as_bytes(), &[1; 100], Expires::NEVER);
            count += 1;
        }
    }
    let each = cache.memory_bytes() / cache.figures().curr_items as usize;
    assert!(each < 192, "{each} bytes for each of {} items", cache.figures().curr_items);
}
