//! Access logs of web servers whose requests are replayed: the Common Log Format, and the combined
//! one, which begins with it, as nginx and Apache write them. A line at a time; of each only what
//! is sent is kept. Lines that cannot be replayed are counted, and the first ones told.

use super::replay::stamp;
use crate::limits::{DATA_BYTES_MAX, LOG_LINE_BYTES_MAX, SCENARIO_ARRIVALS_MAX};
use crate::plan::Rows;
use std::io::{BufRead, Read};

/// What is replayed of a log.
#[derive(Debug)]
pub(crate) struct AccessLog {
    /// In seconds from anywhere, ascending.
    pub(crate) times: Vec<f64>,
    /// Of each its kind and its path, in the columns `kind` and `path`.
    pub(crate) rows: Rows,
    /// What the numbers in the column `kind` mean.
    pub(crate) kinds: Vec<Kind>,
    pub(crate) left_out: LeftOut,
}

/// A method, and whether the log says that the request failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Kind {
    pub(crate) method: String,
    /// Its status was 400 or more.
    pub(crate) has_failed: bool,
}

/// Lines that are not replayed.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct LeftOut {
    /// Of other methods than those that are asked for.
    pub(crate) other_methods: u64,
    /// That are no lines of a log.
    pub(crate) unreadable: u64,
    /// The first of these: which line, and its begin.
    pub(crate) first: Option<(u64, String)>,
}

/// A request of a log.
struct Entry {
    /// When, in seconds since 1970.
    at: f64,
    kind: usize,
    path: Vec<u8>,
}

impl AccessLog {
    /// Reads a log of which these methods are replayed.
    ///
    /// # Errors
    /// It cannot be read, has nothing to be replayed, or too much; in words.
    pub(crate) fn read(file: impl BufRead, methods: &[String]) -> Result<Self, String> {
        Self::read_within(file, methods, DATA_BYTES_MAX)
    }

    /// The same with so many bytes of paths at most.
    fn read_within(
        mut file: impl BufRead,
        methods: &[String],
        bytes_max: usize,
    ) -> Result<Self, String> {
        let mut reading = Reading { methods, ..Reading::default() };
        let mut line = Vec::new();
        for number in 1.. {
            line.clear();
            let most = LOG_LINE_BYTES_MAX as u64 + 1;
            let bytes = file.by_ref().take(most).read_until(b'\n', &mut line);
            if bytes.map_err(|error| error.to_string())? == 0 {
                break;
            }
            let is_whole = line.ends_with(b"\n") || line.len() <= LOG_LINE_BYTES_MAX;
            if !is_whole {
                pass_line(&mut file).map_err(|error| error.to_string())?;
            }
            reading.take(number, &line, is_whole);
            if reading.entries.len() > SCENARIO_ARRIVALS_MAX || reading.bytes > bytes_max {
                return Err(format!(
                    "it has more than {SCENARIO_ARRIVALS_MAX} requests, or more than {bytes_max} \
                     bytes of paths; take a part of it"
                ));
            }
        }
        reading.finish()
    }
}

impl AccessLog {
    /// What of it is replayed, and what is not.
    pub(crate) fn note(&self) -> String {
        let LeftOut { other_methods, unreadable, first } = &self.left_out;
        let mut note = format!("{} requests of the log", self.rows.count());
        if *other_methods > 0 {
            note.push_str(&format!("; {other_methods} of other methods left out"));
        }
        if let Some((number, begin)) = first {
            note.push_str(&format!(
                "; {unreadable} that are no lines of the common or combined format, the first is \
                 line {number}: {begin}"
            ));
        }
        note
    }
}

/// Passes over the rest of a line.
fn pass_line(file: &mut impl BufRead) -> std::io::Result<()> {
    loop {
        let buffer = file.fill_buf()?;
        if buffer.is_empty() {
            return Ok(());
        }
        let end = memchr::memchr(b'\n', buffer);
        let used = end.map_or(buffer.len(), |end| end + 1);
        file.consume(used);
        if end.is_some() {
            return Ok(());
        }
    }
}

#[derive(Default)]
struct Reading<'a> {
    methods: &'a [String],
    entries: Vec<Entry>,
    /// Of paths.
    bytes: usize,
    kinds: Vec<Kind>,
    left_out: LeftOut,
}

impl Reading<'_> {
    fn take(&mut self, number: u64, line: &[u8], is_whole: bool) {
        let line = line.trim_ascii();
        if line.is_empty() {
            return;
        }
        let Some(found) = Found::read(line).filter(|_| is_whole) else {
            self.left_out.unreadable += 1;
            self.left_out.first.get_or_insert_with(|| {
                let begin = &line[..line.len().min(60)];
                (number, String::from_utf8_lossy(begin).into_owned())
            });
            return;
        };
        if !self.methods.contains(&found.method) {
            self.left_out.other_methods += 1;
            return;
        }
        let kind = Kind { method: found.method, has_failed: found.status >= 400 };
        let known = self.kinds.iter().position(|known| *known == kind);
        let kind = known.unwrap_or_else(|| {
            self.kinds.push(kind);
            self.kinds.len() - 1
        });
        self.bytes += found.path.len();
        self.entries.push(Entry { at: found.at, kind, path: found.path });
    }

    fn finish(mut self) -> Result<AccessLog, String> {
        if self.entries.is_empty() {
            let LeftOut { other_methods, unreadable, first } = &self.left_out;
            let first = first.as_ref().map_or(String::new(), |(number, begin)| {
                format!("; line {number} begins with \"{begin}\"")
            });
            return Err(format!(
                "it has no request to be replayed: {unreadable} lines are not of the common or the \
                 combined log format{first}, {other_methods} are of other methods than {}",
                self.methods.join(", ")
            ));
        }
        // Servers write a line when a reply is over, so lines are nearly in order.
        self.entries.sort_by(|a, b| a.at.total_cmp(&b.at));
        let mut text = b"kind,path\n".to_vec();
        for entry in &self.entries {
            text.extend_from_slice(format!("{},\"", entry.kind).as_bytes());
            text.extend(entry.path.iter().flat_map(|byte| match byte {
                b'"' => [b'"', b'"'].into_iter().take(2),
                byte => [*byte, 0].into_iter().take(1),
            }));
            text.extend_from_slice(b"\"\n");
        }
        let rows = Rows::csv(&text).map_err(|error| error.to_string())?;
        let times = self.entries.iter().map(|entry| entry.at).collect();
        Ok(AccessLog { times, rows, kinds: self.kinds, left_out: self.left_out })
    }
}

/// What a line says.
struct Found {
    at: f64,
    method: String,
    path: Vec<u8>,
    status: u16,
}

impl Found {
    /// `HOST IDENT USER [10/Oct/2000:13:55:36 -0700] "GET /path HTTP/1.1" 200 2326 ...`. Names of
    /// users may have anything in them, so it is read from the time on.
    fn read(line: &[u8]) -> Option<Self> {
        let open = memchr::memmem::find_iter(line, b" [").find_map(|at| {
            let after = line.get(at + 2..at + 28)?;
            Some((at + 28, stamp(std::str::from_utf8(after).ok()?)?))
        });
        let (at, seconds) = open?;
        let rest = line[at..].strip_prefix(b"] \"")?;
        let end = closing_quote(rest)?;
        let status = rest[end + 1..].trim_ascii_start();
        let status = status.split(|byte| *byte == b' ').next()?;
        let status: u16 = std::str::from_utf8(status).ok()?.parse().ok()?;
        let request = unescaped(&rest[..end]);
        let (method, target) = split_once(&request, b' ')?;
        // Of HTTP/0.9 there is no version.
        let target = split_once(target, b' ').map_or(target, |(target, _version)| target);
        let is_method = !method.is_empty() && method.iter().all(u8::is_ascii_uppercase);
        let method = String::from_utf8(method.to_vec()).ok().filter(|_| is_method)?;
        (100..600).contains(&status).then_some(())?;
        Some(Self { at: seconds, method, path: path_of(target)?, status })
    }
}

fn split_once(bytes: &[u8], at: u8) -> Option<(&[u8], &[u8])> {
    let place = memchr::memchr(at, bytes)?;
    Some((&bytes[..place], &bytes[place + 1..]))
}

/// Where the text ends that a quote was opened for.
fn closing_quote(text: &[u8]) -> Option<usize> {
    let mut escaped = false;
    text.iter().position(|byte| {
        let is_end = *byte == b'"' && !escaped;
        escaped = *byte == b'\\' && !escaped;
        is_end
    })
}

/// Without the escapes of nginx (`\x22`) and of Apache (`\"`, `\\`, `\t`, `\xe4`).
fn unescaped(text: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(text.len());
    let mut rest = text;
    while let [first, after @ ..] = rest {
        let hex = |digits: &[u8]| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok();
        let (byte, used) = match (first, after) {
            (b'\\', [b'x', a, b, ..]) => match hex(&[*a, *b]) {
                Some(byte) => (byte, 4),
                None => (b'\\', 1),
            },
            (b'\\', [b'n', ..]) => (b'\n', 2),
            (b'\\', [b'r', ..]) => (b'\r', 2),
            (b'\\', [b't', ..]) => (b'\t', 2),
            (b'\\', [byte @ (b'"' | b'\\'), ..]) => (*byte, 2),
            _ => (*first, 1),
        };
        plain.push(byte);
        rest = &rest[used..];
    }
    plain
}

/// The path and the query of a request's target, with what cannot be sent percent-encoded. Nothing
/// if it has none, like `*`.
fn path_of(target: &[u8]) -> Option<Vec<u8>> {
    let path = match target {
        [b'/', ..] => target,
        // A proxy is asked for a whole URL.
        _ => {
            let after = memchr::memmem::find(target, b"://")? + 3;
            let slash = memchr::memchr(b'/', &target[after..])?;
            &target[after + slash..]
        }
    };
    let path = path.split(|byte| *byte == b'#').next()?;
    let mut sendable = Vec::with_capacity(path.len());
    for byte in path {
        match byte.is_ascii_graphic() {
            true => sendable.push(*byte),
            false => sendable.extend_from_slice(format!("%{byte:02X}").as_bytes()),
        }
    }
    Some(sendable)
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMBINED: &str = "\
127.0.0.1 - - [22/Nov/2026:04:00:01 +0000] \"GET /a?b=c HTTP/1.1\" 200 612 \"-\" \"curl/8.0\"
::1 - Ann [x] Lee [22/Nov/2026:04:00:00 +0000] \"HEAD / HTTP/2.0\" 304 0 \"h\" \"a \\\"b\\\"\"
10.0.0.1 - - [22/Nov/2026:04:00:03 +0000] \"POST /form HTTP/1.1\" 303 0
10.0.0.1 - - [22/Nov/2026:04:00:02 +0000] \"GET /\\xc3\\xa4\\\" x HTTP/1.1\" 404 9

10.0.0.1 - - [22/Nov/2026:04:00:02 +0000] \"\\x16\\x03\\x01\" 400 0
what is this
10.0.0.1 - - [22/Nov/2026:04:00:04 +0100] \"GET http://h:80/proxied HTTP/1.1\" 200 -
10.0.0.1 - - [22/Nov/2026:04:00:04 +0000] \"OPTIONS * HTTP/1.1\" 200 0
";

    fn read(text: &str, methods: &[&str]) -> Result<AccessLog, String> {
        let methods: Vec<String> = methods.iter().map(|&method| method.to_owned()).collect();
        AccessLog::read(text.as_bytes(), &methods)
    }

    #[test]
    fn requests_come_in_the_order_of_their_times() {
        let log = read(COMBINED, &["GET", "HEAD"]).unwrap();
        let cell = |row, column| String::from_utf8(log.rows.cell(row, column).to_vec()).unwrap();
        let shown = |row| {
            let Kind { method, has_failed } = &log.kinds[cell(row, 0).parse::<usize>().unwrap()];
            format!("{method} {} {has_failed}", cell(row, 1))
        };
        let all: Vec<String> = (0..log.rows.count()).map(shown).collect();
        let expected =
            ["GET /proxied false", "HEAD / false", "GET /a?b=c false", "GET /%C3%A4\" true"];
        assert_eq!(all, expected);
        let after: Vec<f64> = log.times.iter().map(|time| time - log.times[0]).collect();
        assert_eq!(after, [0.0, 3596.0, 3597.0, 3598.0]);
    }

    #[test]
    fn what_is_left_out_is_counted() {
        let LeftOut { other_methods, unreadable, first } =
            read(COMBINED, &["GET", "HEAD"]).unwrap().left_out;
        // The one to `*` has no path, so it is none that could be sent.
        assert_eq!((other_methods, unreadable), (1, 3));
        let (line, begin) = first.unwrap();
        assert!(line == 6 && begin.starts_with("10.0.0.1 - - ["), "{line}: {begin}");
        assert_eq!(read(COMBINED, &["POST"]).unwrap().rows.count(), 1);
        let why = read(COMBINED, &["PUT"]).unwrap_err();
        assert!(why.contains("3 lines are not of the common"), "{why}");
        assert!(why.ends_with("5 are of other methods than PUT"), "{why}");
        assert!(read("", &["GET"]).is_err());
    }

    #[test]
    fn a_line_that_is_too_long_is_passed_over() {
        let line = |path: &str| {
            format!("h - - [22/Nov/2026:04:00:01 +0000] \"GET /{path} HTTP/1.1\" 200 1\n")
        };
        let long = "x".repeat(LOG_LINE_BYTES_MAX);
        let log = read(&(line(&long) + &line("b")), &["GET"]).unwrap();
        assert_eq!((log.rows.count(), log.left_out.unreadable), (1, 1));
        let methods = ["GET".to_owned()];
        let within = |most| AccessLog::read_within(line("b").repeat(5).as_bytes(), &methods, most);
        assert_eq!(within(10).unwrap().rows.count(), 5);
        assert!(within(9).unwrap_err().contains("more than 9 bytes of paths"));
        assert_eq!(log.rows.cell(0, 1), b"/b");
    }
}
