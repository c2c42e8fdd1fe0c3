//! Replays traces through the cache and through a real memcached with the same memory: who finds
//! more? Every miss is stored, as applications do.
//!
//!     memcached -m 64 -p 11311 -U 0 -t 1 &
//!     cargo run --release -p cache --example hit_ratio -- 127.0.0.1:11311
//!
//! Without an address, or with `-`, only the cache is asked. Words after it choose traces by their
//! names. Both start empty for each trace.

#![allow(clippy::print_stdout)]

use cache::{Cache, Command, Expires, Settings, Store};
use std::error::Error;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Instant;

const MEMORY_BYTES: usize = 64 << 20;
/// Requests of a trace, of which the first half only fills.
const REQUESTS: usize = 4_000_000;
/// Keys that are asked for at once.
const BATCH: usize = 100;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// One who keeps values: which of the keys it has; those it has not are stored.
trait Store64 {
    fn replay(&mut self, batch: &[(u64, usize)]) -> Result<usize>;
}

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let address = arguments.next().filter(|address| address != "-");
    let wanted = arguments.next().unwrap_or_default();
    println!("{:<34} {:>8} {:>10} {:>8} {:>10}", "trace", "cache", "memcached", "ns", "thrown out");
    for (name, trace) in traces().into_iter().filter(|(name, _)| name.contains(&wanted)) {
        let requests = trace(&mut Random(42));
        let mut own = Own::new()?;
        let begun = Instant::now();
        let ours = ratio(&mut own, &requests)?;
        let ns = begun.elapsed().as_nanos() / requests.len() as u128;
        let theirs = match &address {
            Some(address) => {
                let percent = ratio(&mut Memcached::connect(address)?, &requests)?;
                format!("{percent:.2} %")
            }
            None => "-".into(),
        };
        let out = own.0.figures().evictions;
        println!("{name:<34} {:>8} {theirs:>10} {ns:>8} {out:>10}", format!("{ours:.2} %"));
    }
    Ok(())
}

fn ratio(store: &mut dyn Store64, requests: &[(u64, usize)]) -> Result<f64> {
    let mut hits = 0;
    let half = requests.len() / 2;
    for (number, batch) in requests.chunks(BATCH).enumerate() {
        let found = store.replay(batch)?;
        if number * BATCH >= half {
            hits += found;
        }
    }
    Ok(hits as f64 / (requests.len() - half) as f64 * 100.0)
}

fn name_of(key: u64) -> String {
    format!("key:{key:012x}")
}

struct Own(Cache, Vec<u8>, Vec<u8>);

impl Own {
    fn new() -> Result<Self> {
        let cache = Cache::new(&Settings::new(MEMORY_BYTES, 7))?;
        Ok(Self(cache, vec![b'x'; 1 << 20], Vec::new()))
    }
}

impl Store64 for Own {
    fn replay(&mut self, batch: &[(u64, usize)]) -> Result<usize> {
        let Self(cache, value, out) = self;
        let mut hits = 0;
        for (number, size) in batch {
            let name = name_of(*number);
            let key = cache.key(name.as_bytes());
            let mut shard = cache.lock(&key);
            if let Some(mut found) = shard.find(&key, Command::Get) {
                found.mark_fetched();
                out.clear();
                found.value().append_to(out);
                hits += 1;
            } else {
                shard.store(&key, &Store::set(&value[..*size], 0, Expires::NEVER))?;
            }
        }
        Ok(hits)
    }
}

struct Memcached(TcpStream, BufReader<TcpStream>, Vec<u8>);

impl Memcached {
    fn connect(address: &str) -> Result<Self> {
        let mut stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        let mut reader = BufReader::new(stream.try_clone()?);
        stream.write_all(b"flush_all\r\n")?;
        let mut line = String::new();
        reader.read_line(&mut line)?;
        // What is flushed counts as gone from the next second on.
        std::thread::sleep(std::time::Duration::from_millis(1_500));
        Ok(Self(stream, reader, vec![b'x'; 1 << 20]))
    }
}

impl Store64 for Memcached {
    fn replay(&mut self, batch: &[(u64, usize)]) -> Result<usize> {
        // A key that comes twice in a batch is a hit the second time, as it would be one by one.
        let mut order: Vec<(u64, usize)> = batch.to_vec();
        order.sort_unstable();
        order.dedup();
        let again = batch.len() - order.len();
        let mut ask = String::from("get");
        for (number, _) in &order {
            ask.push(' ');
            ask.push_str(&name_of(*number));
        }
        ask.push_str("\r\n");
        self.0.write_all(ask.as_bytes())?;
        let mut found = std::collections::HashSet::new();
        let (mut line, mut value) = (String::new(), Vec::new());
        loop {
            line.clear();
            self.1.read_line(&mut line)?;
            let words: Vec<&str> = line.split_whitespace().collect();
            match words[..] {
                ["END"] => break,
                ["VALUE", name, _, bytes] => {
                    value.resize(bytes.parse::<usize>()? + 2, 0);
                    self.1.read_exact(&mut value)?;
                    found.insert(u64::from_str_radix(&name[4..], 16)?);
                }
                _ => return Err(format!("memcached answered {line:?}").into()),
            }
        }
        let mut stores = Vec::new();
        let missing = order.iter().filter(|(number, _)| !found.contains(number));
        for (number, size) in missing {
            write!(stores, "set {} 0 0 {size} noreply\r\n", name_of(*number))?;
            stores.extend_from_slice(&self.2[..*size]);
            stores.extend_from_slice(b"\r\n");
        }
        self.0.write_all(&stores)?;
        Ok(found.len() + again)
    }
}

/// SplitMix64 (Steele, Lea, Flood, 2014).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        mix(self.0)
    }

    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

fn mix(number: u64) -> u64 {
    let z = (number ^ (number >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// Ranks by Zipf's law, by inverting the sums of a table.
struct Zipf(Vec<f64>);

impl Zipf {
    fn new(keys: usize, exponent: f64) -> Self {
        let mut sum = 0.0;
        let mut sums = Vec::with_capacity(keys);
        for rank in 1..=keys {
            sum += (rank as f64).powf(-exponent);
            sums.push(sum);
        }
        Self(sums)
    }

    fn draw(&self, random: &mut Random) -> u64 {
        let at = random.unit() * self.0.last().copied().unwrap_or(1.0);
        self.0.partition_point(|sum| *sum < at) as u64
    }
}

/// From 4 bytes to 16 KiB, the same for a key each time; each power of two as likely.
fn mixed_size(key: u64) -> usize {
    let hash = mix(key);
    let power = 2 + hash % 12;
    (1 << power) + (hash >> 32) as usize % (1 << power)
}

type Trace = Box<dyn Fn(&mut Random) -> Vec<(u64, usize)>>;

fn zipf(keys: usize, exponent: f64, size: fn(u64) -> usize) -> Trace {
    Box::new(move |random| {
        let zipf = Zipf::new(keys, exponent);
        let draw = |_| {
            let key = zipf.draw(random);
            (key, size(key))
        };
        (0..REQUESTS).map(draw).collect()
    })
}

/// Zipf, but every fourth run of 50,000 requests reads keys in a row that nobody asks for again.
fn scans() -> Trace {
    Box::new(|random| {
        let zipf = Zipf::new(1_000_000, 0.99);
        let mut scanned = 1 << 40;
        let draw = |number: usize| {
            if number / 50_000 % 4 == 3 {
                scanned += 1;
                return (scanned, 300);
            }
            (zipf.draw(random), 300)
        };
        (0..REQUESTS).map(draw).collect()
    })
}

/// Zipf over keys of which a tenth changes every 200,000 requests: what was liked is forgotten.
fn shifting() -> Trace {
    Box::new(|random| {
        let zipf = Zipf::new(1_000_000, 0.99);
        let draw = |number: usize| {
            let rank = zipf.draw(random);
            let age = (number as u64 / 200_000 + rank % 10) / 10;
            (mix(rank << 8 | age) >> 16, 300)
        };
        (0..REQUESTS).map(draw).collect()
    })
}

/// Zipf with values that become larger: small ones for the first quarter, then 40 times as large.
fn growing() -> Trace {
    Box::new(|random| {
        let zipf = Zipf::new(1_000_000, 0.99);
        let draw = |number: usize| {
            let is_late = number >= REQUESTS / 4;
            let key = zipf.draw(random);
            (key | u64::from(is_late) << 40, if is_late { 2_000 } else { 50 })
        };
        (0..REQUESTS).map(draw).collect()
    })
}

fn traces() -> Vec<(&'static str, Trace)> {
    let small = |_| 300;
    vec![
        ("Zipf 0.7, 1M keys, 300 B", zipf(1_000_000, 0.7, small)),
        ("Zipf 0.99, 1M keys, 300 B", zipf(1_000_000, 0.99, small)),
        ("Zipf 1.2, 4M keys, 300 B", zipf(4_000_000, 1.2, small)),
        ("Zipf 0.99 and scans, 300 B", scans()),
        ("Zipf 0.99, shifting, 300 B", shifting()),
        ("Zipf 0.99, 500k keys, 4 B-16 KiB", zipf(500_000, 0.99, mixed_size)),
        ("Zipf 0.99, 50 B then 2,000 B", growing()),
    ]
}
