//! `cargo xtask bench-feed`: what the feed costs and how late it is. A constant load of writes,
//! with 0, 1, 10 and 100 readers of the feed, which take turns; the rows without readers show what
//! the writes alone are like. A write counts from when it was due. Writers and readers are threads
//! of this process, on the same machine: what they take is not in the CPU time, but in all else.

use super::server::Running;
use super::{BenchError, cpu, write_error};
use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// What is measured.
pub struct Feed {
    /// How often, each number of readers in turn.
    pub rounds: usize,
    /// How long each is measured.
    pub seconds: u64,
    /// The release binary.
    pub sarsen: PathBuf,
    /// For servers' files; emptied.
    pub folder: PathBuf,
}

const READERS: [usize; 4] = [0, 1, 10, 100];
const WRITERS: u64 = 8;
const WRITES_PER_SECOND: u64 = 800;

/// One measurement.
#[derive(Default)]
struct Sample {
    events_per_second: f64,
    /// The server's CPU time for each write and what is told of it.
    cpu_us: f64,
    lag_ms: [f64; 2],
    write_ms: [f64; 2],
}

/// Prints the table. Nothing is asserted, but that nothing was missed.
pub fn run(bench: &Feed) -> Result<bool, BenchError> {
    let mut rows: Vec<Vec<Sample>> = READERS.iter().map(|_| Vec::new()).collect();
    let mut is_whole = true;
    for round in 0..bench.rounds {
        for i in 0..READERS.len() {
            // Every other round in the other direction.
            let i = if round % 2 == 0 { i } else { READERS.len() - 1 - i };
            let (sample, whole) = measure(bench, READERS[i])?;
            is_whole &= whole;
            rows[i].push(sample);
        }
    }
    show(&rows).map_err(|e| write_error("stdout", e))?;
    Ok(is_whole)
}

fn measure(bench: &Feed, readers: usize) -> Result<(Sample, bool), BenchError> {
    // It may not be there.
    let _removed = fs::remove_dir_all(&bench.folder);
    fs::create_dir_all(&bench.folder).map_err(|e| write_error(&bench.folder, e))?;
    let server = Running::sarsen(&bench.sarsen, None, &bench.folder.join("data"))?;
    let authority = server.origin.trim_start_matches("http://").to_owned();
    let failed = |e: io::Error| write_error(&authority, e);
    let begun = Instant::now();
    let streams: Vec<_> =
        (0..readers).map(|_| follow(&authority)).collect::<io::Result<_>>().map_err(failed)?;
    let closing = streams.iter().map(TcpStream::try_clone).collect::<io::Result<Vec<_>>>();
    let closing = closing.map_err(failed)?;
    let following: Vec<_> =
        streams.into_iter().map(|stream| thread::spawn(move || lags(stream, begun))).collect();
    let cpu_before = cpu::of_tree(server.pid());
    let is_over = Arc::new(AtomicBool::new(false));
    let start = Instant::now();
    let writers: Vec<_> = (0..WRITERS)
        .map(|id| {
            let (authority, is_over) = (authority.clone(), Arc::clone(&is_over));
            thread::spawn(move || write(&authority, id, (begun, start), &is_over))
        })
        .collect();
    thread::sleep(Duration::from_secs(bench.seconds));
    is_over.store(true, Ordering::Relaxed);
    let mut writes = Vec::new();
    for writer in writers {
        writes.extend(joined(writer.join()).map_err(failed)?);
    }
    // What is under way arrives.
    thread::sleep(Duration::from_millis(500));
    let cpu = cpu::of_tree(server.pid()).saturating_sub(cpu_before);
    let seconds = start.elapsed().as_secs_f64() - 0.5;
    for stream in closing {
        stream.shutdown(Shutdown::Both).map_err(failed)?;
    }
    let (mut late, mut is_whole) = (Vec::new(), true);
    for reader in following {
        let lags = joined(reader.join()).map_err(failed)?;
        is_whole &= lags.len() == writes.len();
        late.extend(lags);
    }
    let sample = Sample {
        events_per_second: late.len() as f64 / seconds,
        cpu_us: cpu.as_secs_f64() * 1e6 / writes.len().max(1) as f64,
        lag_ms: percentiles(&mut late),
        write_ms: percentiles(&mut writes),
    };
    Ok((sample, is_whole))
}

fn joined(ended: thread::Result<io::Result<Vec<f64>>>) -> io::Result<Vec<f64>> {
    ended.unwrap_or_else(|_| Err(io::Error::other("a thread panicked")))
}

/// Writes at a constant rate, and gives what each took since it was due, in milliseconds. A write
/// tells when it was sent.
fn write(
    authority: &str,
    id: u64,
    (begun, start): (Instant, Instant),
    is_over: &AtomicBool,
) -> io::Result<Vec<f64>> {
    let mut stream = BufReader::new(TcpStream::connect(authority)?);
    stream.get_ref().set_nodelay(true)?;
    let mut took = Vec::new();
    for i in 0.. {
        let turn = i * WRITERS + id;
        let due = start + Duration::from_nanos(1_000_000_000 * turn / WRITES_PER_SECOND);
        thread::sleep(due.saturating_duration_since(Instant::now()));
        if is_over.load(Ordering::Relaxed) {
            break;
        }
        let body =
            format!("{{\"t\":{},\"title\":\"{}\"}}", begun.elapsed().as_micros(), "x".repeat(200));
        let key = turn % 10_000;
        write!(
            stream.get_mut(),
            "PUT /db/notes/{key} HTTP/1.1\r\nHost: {authority}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )?;
        read_head(&mut stream, "HTTP/1.1 20")?;
        took.push(due.elapsed().as_secs_f64() * 1e3);
    }
    Ok(took)
}

/// Reads a reply without content, whose first line begins so.
fn read_head(stream: &mut impl BufRead, expected: &str) -> io::Result<()> {
    let (mut line, mut is_first) = (String::new(), true);
    loop {
        line.clear();
        if stream.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if std::mem::take(&mut is_first) && !line.starts_with(expected) {
            return Err(io::Error::other(format!("expected {expected}, got {line}")));
        }
        if line == "\r\n" {
            return Ok(());
        }
    }
}

/// Opens a stream; HTTP/1.0 has no chunks.
fn follow(authority: &str) -> io::Result<TcpStream> {
    let mut stream = TcpStream::connect(authority)?;
    write!(stream, "GET /feed HTTP/1.0\r\nHost: {authority}\r\n\r\n")?;
    // Byte by byte: what comes after the head is left to whoever reads on.
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte)?;
        head.extend(byte);
    }
    match head.starts_with(b"HTTP/1.0 200") {
        true => Ok(stream),
        false => Err(io::Error::other(String::from_utf8_lossy(&head).into_owned())),
    }
}

/// How late each commit was told after it was sent, in milliseconds, until the stream ends.
fn lags(stream: TcpStream, begun: Instant) -> io::Result<Vec<f64>> {
    let (mut lines, mut late) = (BufReader::new(stream), Vec::new());
    let mut line = String::new();
    loop {
        line.clear();
        if lines.read_line(&mut line)? == 0 {
            return Ok(late);
        }
        let sent = line.split_once("{\"t\":").and_then(|(_, rest)| rest.split_once(','));
        if let Some(sent) = sent.and_then(|(text, _)| text.parse::<u64>().ok()) {
            let now = begun.elapsed().as_micros() as u64;
            late.push(now.saturating_sub(sent) as f64 / 1e3);
        }
    }
}

/// The median, and what 99 of 100 do not exceed.
fn percentiles(values: &mut [f64]) -> [f64; 2] {
    values.sort_by(f64::total_cmp);
    let at = |share: f64| values.get((values.len() as f64 * share) as usize).copied();
    [at(0.5).unwrap_or_default(), at(0.99).unwrap_or_default()]
}

fn show(rows: &[Vec<Sample>]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(
        out,
        "medians of the rounds (least, most); {WRITES_PER_SECOND} writes of 220 bytes a second"
    )?;
    let titles =
        ["events/s", "CPU us/write", "lag p50 ms", "lag p99 ms", "put p50 ms", "put p99 ms"];
    write!(out, "{:<8}", "readers")?;
    titles.iter().try_for_each(|title| write!(out, " {title:>24}"))?;
    writeln!(out)?;
    for (readers, samples) in READERS.iter().zip(rows) {
        write!(out, "{readers:<8}")?;
        let figures: [fn(&Sample) -> f64; 6] = [
            |s| s.events_per_second,
            |s| s.cpu_us,
            |s| s.lag_ms[0],
            |s| s.lag_ms[1],
            |s| s.write_ms[0],
            |s| s.write_ms[1],
        ];
        for figure in figures {
            let mut values: Vec<f64> = samples.iter().map(figure).collect();
            values.sort_by(f64::total_cmp);
            let at = |index: usize| values.get(index).copied().unwrap_or_default();
            let (least, median, most) =
                (at(0), at(values.len() / 2), at(values.len().saturating_sub(1)));
            write!(out, " {:>24}", format!("{median:.2} ({least:.2}, {most:.2})"))?;
        }
        writeln!(out)?;
    }
    Ok(())
}
