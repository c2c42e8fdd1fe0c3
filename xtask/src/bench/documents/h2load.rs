//! Load by h2load, which speaks HTTP/2 and TLS. Of its report only the log of requests is used: the
//! measured time is cut out of it, so that no start and no end is in it.
//!
//! All connections of one h2load go through the list of URIs from its beginning, so they ask for
//! the same document at the same time, and all send the same body. That would make a hot document
//! of each, and a PATCH that changes nothing of most. So operations that change many documents are
//! applied by 64 processes with one connection, a list and a body each.

use super::generator::{CONNECTIONS, Generator};
use super::keys_in;
use super::request::{Operation, Request};
use super::row::Row;
use crate::bench::cpu;
use crate::bench::measured::{Measured, Sample};
use std::fs;
use std::io;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Time between the start of the processes and the measured time: for 64 TLS handshakes, too.
const LEAD: Duration = Duration::from_secs(2);

/// How long h2load may take to end after its time. Longer: it is killed, and the run is marked as
/// failed. It never ends if a connection came about only after its time.
const END_MAX: Duration = Duration::from_secs(5);

/// How long the start of a process may take; they go on for so long afterwards. Slower: the run is
/// marked as failed.
const START_MAX_EACH: Duration = Duration::from_millis(60);

/// URIs of all lists together. Each connection goes through its own again and again.
const URIS: usize = 100_000;

/// Measures `row` by h2load.
pub fn measure(generator: &Generator, row: Row, request: &Request) -> Measured {
    let tool = Tool { generator, row, request };
    Measured { command: tool.command_line(), outcome: tool.run() }
}

struct Tool<'a> {
    generator: &'a Generator<'a>,
    row: Row,
    request: &'a Request,
}

/// The processes, ended when dropped.
struct Processes(Vec<Child>);

impl Processes {
    /// Whether all ended before `deadline`.
    fn wait(&mut self, deadline: Instant) -> io::Result<bool> {
        for child in &mut self.0 {
            while child.try_wait()?.is_none() {
                if Instant::now() > deadline {
                    return Ok(false);
                }
                std::thread::sleep(Duration::from_millis(10));
            }
        }
        Ok(true)
    }
}

impl Drop for Processes {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _already_gone = child.kill();
            let _reaped = child.wait();
        }
    }
}

/// When the measured time began and ended, in microseconds since 1970.
#[derive(Clone, Copy)]
struct Window {
    begin_us: u64,
    end_us: u64,
}

impl Tool<'_> {
    /// How many processes there are. See above.
    fn processes(&self) -> usize {
        match self.row.operation {
            Operation::Put | Operation::Patch => CONNECTIONS,
            _ => 1,
        }
    }

    fn run(&self) -> Result<Sample, String> {
        let pid = self.generator.server.pid();
        let length = Duration::from_secs(self.generator.documents.seconds);
        let slack = START_MAX_EACH * self.processes() as u32;
        let mut commands = Vec::new();
        for number in 0..self.processes() {
            commands.push(self.prepare(number, length + LEAD + slack)?);
        }
        let begin = Instant::now();
        let mut processes = Processes(Vec::new());
        for command in &mut commands {
            let child = command.spawn().map_err(|error| format!("h2load: {error}"))?;
            processes.0.push(child);
        }
        if begin.elapsed() > slack {
            return Err(format!("h2load took {} s to start", begin.elapsed().as_secs()));
        }
        std::thread::sleep(LEAD);
        let (before, begin_us) = (cpu::of_tree(pid), now_us());
        std::thread::sleep(length);
        let (after, end_us) = (cpu::of_tree(pid), now_us());
        if begin.elapsed() > length + LEAD + slack {
            return Err("the machine stood still: h2load ended before the measured time".into());
        }
        let ended = processes.wait(begin + length + LEAD + slack * 2 + END_MAX);
        if !ended.map_err(|error| error.to_string())? {
            return Err("h2load did not end: connections were still being made".into());
        }
        let window = Window { begin_us, end_us };
        let mut times = Vec::new();
        for number in 0..self.processes() {
            self.check_report(number)?;
            times.extend(self.read_log(number, window)?);
        }
        sample(times, window, after.saturating_sub(before))
    }

    /// One process, with its files.
    fn prepare(&self, number: usize, length: Duration) -> Result<Command, String> {
        let uris = self.generator.write(&format!("uris.{number}"), &self.uris(number as u64))?;
        let log = self.log(number);
        // It appends.
        let _none_yet = fs::remove_file(&log);
        let report = fs::File::create(self.report(number)).map_err(|error| error.to_string())?;
        let mut command = Command::new("h2load");
        command.args(["-c", &(CONNECTIONS / self.processes()).to_string()]);
        command.args(["-D", &format!("{}ms", length.as_millis())]);
        if !self.row.transport.is_http2() {
            command.arg("--h1");
        }
        command.args(self.fields());
        if !self.request.body.is_empty() {
            let body = self.request.body.replace("{nonce}", &format!("{number:016x}"));
            command.arg("-d").arg(self.generator.write(&format!("body.{number}"), &body)?);
        }
        command.arg("-i").arg(uris).arg(format!("--log-file={}", log.display()));
        let errors = report.try_clone().map_err(|error| error.to_string())?;
        command.stdin(Stdio::null()).stdout(report).stderr(errors);
        Ok(command)
    }

    fn fields(&self) -> Vec<String> {
        let mut fields = Vec::new();
        if self.request.method != "GET" {
            fields.extend(["-H".to_owned(), format!(":method: {}", self.request.method)]);
        }
        for (name, value) in &self.request.fields {
            fields.extend(["-H".to_owned(), format!("{name}: {value}")]);
        }
        fields
    }

    /// A list in an order of its own for each process.
    fn uris(&self, seed: u64) -> String {
        let origin = self.generator.server.origin(self.row.transport);
        let varied = self.request.path.contains("{key}");
        let count = if varied { URIS / self.processes() } else { 1 };
        let mut random = Random(seed + 1);
        let mut lines = String::new();
        for _ in 0..count {
            let key = random.next() % self.request.keys;
            lines.push_str(&format!("{origin}{}\n", keys_in(&self.request.path, key)));
        }
        lines
    }

    fn log(&self, number: usize) -> PathBuf {
        self.generator.folder().join(format!("log.{number}"))
    }

    fn report(&self, number: usize) -> PathBuf {
        self.generator.folder().join(format!("report.{number}"))
    }

    /// It counts what never became a reply as failed, and logs connections that were not made
    /// nowhere.
    fn check_report(&self, number: usize) -> Result<(), String> {
        let said = fs::read_to_string(self.report(number)).map_err(|error| error.to_string())?;
        let requests = said.lines().find(|line| line.starts_with("requests: "));
        let requests = requests.ok_or_else(|| format!("h2load said: {}", said.trim()))?;
        if requests.contains(" 0 failed, 0 errored, 0 timeout") {
            return Ok(());
        }
        let statuses = said.lines().find(|line| line.starts_with("status codes: "));
        Err(format!("{requests}; {}", statuses.unwrap_or_default()))
    }

    /// Times of the requests that ended in the window, in microseconds.
    fn read_log(&self, number: usize, window: Window) -> Result<Vec<u64>, String> {
        let text = fs::read_to_string(self.log(number)).map_err(|error| error.to_string())?;
        let (times, wrong) = read_log(&text, window, |status| {
            u16::try_from(status).is_ok_and(|status| self.row.operation.is_success(status))
        })?;
        match wrong {
            Some(status) => Err(format!("a reply was {status}")),
            None => Ok(times),
        }
    }

    fn command_line(&self) -> String {
        let mut words = vec!["h2load".to_owned()];
        words.extend(["-c".into(), (CONNECTIONS / self.processes()).to_string()]);
        if !self.row.transport.is_http2() {
            words.push("--h1".into());
        }
        words.extend(self.fields().into_iter().map(|word| match word.as_str() {
            "-H" => word,
            _ => format!("'{word}'"),
        }));
        if !self.request.body.is_empty() {
            words.extend(["-d".into(), "body.json".into()]);
        }
        let scheme = if self.row.transport.is_tls() { "https" } else { "http" };
        words.push(format!("-i uris # {scheme}://…{}", self.request.path));
        if self.processes() > 1 {
            words.push(format!("({} processes)", self.processes()));
        }
        words.join(" ")
    }
}

/// The times of what ended in the window, and the first status in the log that is no success.
/// The columns are the start in microseconds, the status, and the time in microseconds.
fn read_log(
    text: &str,
    window: Window,
    is_success: impl Fn(i64) -> bool,
) -> Result<(Vec<u64>, Option<i64>), String> {
    let mut times = Vec::new();
    for line in text.lines() {
        let mut columns = line.split('\t').map(str::parse::<i64>);
        let (Some(Ok(start)), Some(Ok(status)), Some(Ok(time))) =
            (columns.next(), columns.next(), columns.next())
        else {
            return Err(format!("expected three numbers in h2load's log, got {line:?}"));
        };
        let (start, time) = (start.unsigned_abs(), time.unsigned_abs());
        if start > window.end_us {
            continue;
        }
        if !is_success(status) {
            return Ok((times, Some(status)));
        }
        if (window.begin_us..window.end_us).contains(&(start + time)) {
            times.push(time);
        }
    }
    Ok((times, None))
}

fn sample(mut times: Vec<u64>, window: Window, used: Duration) -> Result<Sample, String> {
    times.sort_unstable();
    let at = |part: f64| times.get((times.len() as f64 * part) as usize).map(|us| *us as f64 / 1e3);
    let p50_ms = at(0.5).ok_or("no request ended in the measured time")?;
    let p99_ms = if times.len() >= 100 { at(0.99) } else { None };
    let count = times.len() as f64;
    Ok(Sample {
        requests_per_second: count * 1e6 / (window.end_us - window.begin_us) as f64,
        p50_ms,
        p99_ms,
        server_us: used.as_secs_f64() * 1e6 / count,
    })
}

fn now_us() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_micros() as u64)
}

/// SplitMix64 (Steele, Lea, Flood 2014): the lists of two runs are the same.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOW: Window = Window { begin_us: 1000, end_us: 2000 };

    #[test]
    fn only_what_ended_in_the_window_counts() {
        let log = "900\t200\t50\n900\t200\t150\n1500\t200\t400\n1900\t200\t200\n2500\t-1\t9\n";
        let (times, wrong) = read_log(log, WINDOW, |status| status == 200).expect("a log");
        assert_eq!((times, wrong), (vec![150, 400], None));
        let (_, wrong) = read_log("900\t503\t50\n", WINDOW, |status| status == 200).expect("a log");
        assert_eq!(wrong, Some(503), "before the window, but not after it");
        assert!(read_log("900\t200", WINDOW, |_| true).is_err());
    }

    #[test]
    fn a_log_becomes_a_sample() {
        let times = (1..=100).rev().map(|ms| ms * 1000).collect();
        let sample = sample(times, WINDOW, Duration::from_micros(500)).expect("a sample");
        assert_eq!(sample.requests_per_second, 100_000.0);
        assert_eq!((sample.p50_ms, sample.p99_ms, sample.server_us), (51.0, Some(100.0), 5.0));
        assert!(super::sample(Vec::new(), WINDOW, Duration::ZERO).is_err());
    }
}
