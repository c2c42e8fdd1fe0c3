//! Replays traces through the cache and through a real memcached with the same memory: which of
//! them finds more?
//!
//!     cargo run --release -p cache --example hit_ratio -- memcached
//!
//! Without a program, or with `-`, only the cache is asked. A word after it chooses the traces
//! that have it in their names. Both are new for each trace: what a memcached gave to a class of
//! sizes for one trace would be missing in the next. `--write NAME` prints a trace instead, in the
//! format of Twitter's published ones, for `sarsen replay`.

#![allow(clippy::print_stdout)]

mod caches;
mod traces;

use caches::{Memcached, Own, Replayed};
use std::error::Error;
use std::io::{BufWriter, Write};
use std::time::Instant;
use traces::{Operation, Request, Trace};

/// Requests that are sent at once.
const BATCH: usize = 100;
/// Bytes of values in a batch: few enough for a socket's buffers, so that both sides can send.
const BATCH_BYTES: usize = 64 << 10;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let first = arguments.next();
    let wanted = arguments.next().unwrap_or_default();
    if first.as_deref() == Some("--write") {
        return write(&wanted);
    }
    let program = first.filter(|program| program != "-");
    println!("{:<22} {:>8} {:>10} {:>8} {:>10}", "trace", "cache", "memcached", "ns", "thrown out");
    for trace in traces::all().into_iter().filter(|trace| trace.name.contains(&wanted)) {
        let requests = trace.requests();
        let mut own = Own::new()?;
        let begun = Instant::now();
        let ours = ratio(&mut own, &requests)?;
        let ns = begun.elapsed().as_nanos() / requests.len() as u128;
        let theirs = match &program {
            Some(program) => {
                let percent = ratio(&mut Memcached::start(program)?, &requests)?;
                format!("{percent:.2} %")
            }
            None => "-".into(),
        };
        let out = own.0.figures().evictions;
        println!("{:<22} {:>8} {theirs:>10} {ns:>8} {out:>10}", trace.name, format!("{ours:.2} %"));
    }
    Ok(())
}

/// Hits in percent of what is looked up in the second half; the first half only fills.
fn ratio(cache: &mut dyn Replayed, requests: &[Request]) -> Result<f64> {
    let (filling, measured) = requests.split_at(requests.len() / 2);
    replay(cache, filling)?;
    let hits = replay(cache, measured)?;
    let asked = measured.iter().filter(|request| request.operation.asks()).count();
    Ok(hits as f64 / asked.max(1) as f64 * 100.0)
}

/// In batches in which nothing changes a key that comes before.
fn replay(cache: &mut dyn Replayed, requests: &[Request]) -> Result<usize> {
    let (mut hits, mut from, mut bytes) = (0, 0, 0);
    let mut keys = std::collections::HashSet::with_capacity(BATCH);
    for (number, request) in requests.iter().enumerate() {
        let size = request.value_bytes as usize;
        let is_full = number - from == BATCH || bytes + size > BATCH_BYTES;
        let changes = !request.operation.asks() && keys.contains(&request.key);
        if number > from && (is_full || changes) {
            hits += cache.replay(&requests[from..number])?;
            keys.clear();
            (from, bytes) = (number, 0);
        }
        bytes += size;
        keys.insert(request.key);
    }
    Ok(hits + cache.replay(&requests[from..])?)
}

fn write(name: &str) -> Result<()> {
    let is_it = |trace: &Trace| trace.name == name;
    let trace = traces::all().into_iter().find(is_it).ok_or("there is no trace of that name")?;
    let mut out = BufWriter::new(std::io::stdout().lock());
    for (number, request) in trace.requests().iter().enumerate() {
        let Request { key_bytes, value_bytes, .. } = request;
        let value_bytes = if request.operation == Operation::Get { 0 } else { *value_bytes };
        let verb = match request.operation {
            Operation::Get | Operation::Fill => "get",
            Operation::Set => "set",
            Operation::Delete => "delete",
        };
        // As many requests a second as a middling cluster of Twitter's has.
        let second = number / 10_000;
        writeln!(out, "{second},{},{key_bytes},{value_bytes},0,{verb},0", request.name())?;
    }
    Ok(out.flush()?)
}
