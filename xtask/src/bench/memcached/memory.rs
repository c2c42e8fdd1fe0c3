//! What an item of 100 bytes takes of resident memory, on both sides.

use super::row::Mix;
use super::{Memcached, Side};
use crate::bench::cpu;
use crate::bench::table::push_line;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// So many that what a server has anyway counts for little.
const ITEMS: u64 = 1_000_000;

/// Longest wait for a server's statistics.
const PATIENCE: Duration = Duration::from_secs(10);

/// One line for each side.
pub fn measure(bench: &Memcached, sides: &[Side; 2]) -> String {
    let mut text = format!(
        "\nResident memory for each of {ITEMS} items of 100 bytes with keys of 6 to 11 bytes, what \
         the server has without them not counted:\n\n"
    );
    for (i, side) in sides.iter().enumerate() {
        let line = match grown(bench, *side, i) {
            Ok(bytes) => format!("{:.1} bytes", bytes as f64 / ITEMS as f64),
            Err(why) => format!("not measured: {why}"),
        };
        push_line(&mut text, &format!("- {}: {line}", side.name()));
    }
    text
}

fn grown(bench: &Memcached, side: Side, place: usize) -> Result<u64, String> {
    let server = side.start(bench, 1, place).map_err(|error| error.to_string())?;
    let before = cpu::memory_of_tree(server.pid());
    let mut flags = Mix::Small.flags();
    let count = format!("items_count={ITEMS}");
    let more = ["--set", &count, "--set", "pipeline=16", "--set", "connections=1", "-d", "100ms"];
    flags.extend(more.map(str::to_owned));
    bench.load(&server.origin, 1, &flags)?;
    let kib = cpu::memory_of_tree(server.pid()).saturating_sub(before);
    match items(server.origin.trim_start_matches("memcached://"))? {
        ITEMS => Ok(kib * 1024),
        other => Err(format!("it has {other} items")),
    }
}

/// How many items a server says that it has.
fn items(authority: &str) -> Result<u64, String> {
    let mut stream = TcpStream::connect(authority).map_err(|error| error.to_string())?;
    let mut text = String::new();
    let said = stream
        .set_read_timeout(Some(PATIENCE))
        .and_then(|()| stream.write_all(b"stats\r\nquit\r\n"))
        .and_then(|()| stream.read_to_string(&mut text));
    said.map_err(|error| error.to_string())?;
    let count = text.lines().find_map(|line| line.strip_prefix("STAT curr_items "));
    count.and_then(|count| count.trim().parse().ok()).ok_or(format!("it says: {text}"))
}
