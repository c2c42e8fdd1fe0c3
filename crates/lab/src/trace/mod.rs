//! Replays a trace of requests against a cache that speaks memcached's protocol, as fast as it
//! answers, to learn how much is found. The trace's own time only groups the figures.

mod connection;
mod record;

pub use record::Mistake;

use crate::limits::{
    TRACE_ANSWER_TIME_MAX, TRACE_BATCH_BYTES_MAX, TRACE_BATCH_MAX, TRACE_LINE_BYTES_MAX,
};
use connection::{Answer, Connection};
use record::{Operation, Record};
use std::collections::HashSet;
use std::io::{self, BufRead, Read};
use thiserror::Error;
use wire::memcached::Mode;
use wire::memcached::ask::{self, Put};
use wire::memcached::reply::Malformed;

/// How a trace is replayed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replay {
    /// Where the cache is, as HOST:PORT.
    pub server: String,
    /// Whether a `get` that finds nothing and has a length of value is followed by a `set`.
    pub fill: bool,
    /// Seconds of the trace's time that are counted together.
    pub every_s: u64,
}

/// What came of some requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Requests of the trace.
    pub requests: u64,
    /// Those of them that look a key up.
    pub gets: u64,
    /// Those of them that found it.
    pub hits: u64,
    /// Items that were stored because they were not found.
    pub fills: u64,
    /// Commands that were answered with an error.
    pub errors: u64,
}

impl Tally {
    /// The share of look-ups that found something; none if there was none.
    pub fn hit_ratio(&self) -> Option<f64> {
        (self.gets > 0).then(|| self.hits as f64 / self.gets as f64)
    }

    fn add(&mut self, other: &Self) {
        let Self { requests, gets, hits, fills, errors } = other;
        self.requests += requests;
        self.gets += gets;
        self.hits += hits;
        self.fills += fills;
        self.errors += errors;
    }
}

/// Why a trace is not replayed to its end.
#[derive(Debug, Error)]
pub enum ReplayError {
    /// There is no server.
    #[error("cannot connect to {server}: {source}")]
    Connect {
        /// Where.
        server: String,
        /// Why.
        source: io::Error,
    },
    /// The connection failed, or no answer came in time.
    #[error("the server does not answer within {TRACE_ANSWER_TIME_MAX:?} any more: {0}")]
    Transport(io::Error),
    /// The server closed the connection.
    #[error("the server closed the connection")]
    Closed,
    /// An answer that cannot be read.
    #[error("{0}")]
    Malformed(#[from] Malformed),
    /// The trace cannot be read.
    #[error("cannot read the trace: {0}")]
    Read(io::Error),
    /// A line is no record.
    #[error("line {line}: {mistake}")]
    Line {
        /// Its number, from 1.
        line: u64,
        /// What is wrong.
        mistake: Mistake,
    },
}

/// Replays a trace. Calls `tell` with the first second and the figures of each part of the trace's
/// time when it is over; gives those of all.
///
/// # Errors
/// See [`ReplayError`]. What was told until then holds.
pub fn replay(
    replay: &Replay,
    trace: impl BufRead,
    mut tell: impl FnMut(u64, &Tally),
) -> Result<Tally, ReplayError> {
    let mut trace = trace;
    let mut batch = Batch::new(replay)?;
    let (mut total, mut part) = (Tally::default(), Tally::default());
    let (mut begin, mut number, mut line) = (None, 0, Vec::new());
    while read_line(&mut trace, &mut line, number + 1)? {
        number += 1;
        let wrong = |mistake| ReplayError::Line { line: number, mistake };
        let record = Record::read(&line).map_err(wrong)?;
        let second = record.second / replay.every_s * replay.every_s;
        let before = *begin.get_or_insert(second);
        if second != before {
            batch.finish(&mut part)?;
            tell(before, &part);
            total.add(&std::mem::take(&mut part));
            begin = Some(second);
        }
        if !batch.has_room_for(&record) {
            batch.finish(&mut part)?;
        }
        batch.push(&record);
        part.requests += 1;
    }
    batch.finish(&mut part)?;
    if let Some(second) = begin {
        tell(second, &part);
    }
    total.add(&part);
    Ok(total)
}

/// Whether there was another line.
fn read_line(
    trace: &mut impl BufRead,
    line: &mut Vec<u8>,
    number: u64,
) -> Result<bool, ReplayError> {
    line.clear();
    let mut bounded = trace.take(TRACE_LINE_BYTES_MAX as u64 + 1);
    let count = bounded.read_until(b'\n', line).map_err(ReplayError::Read)?;
    if line.last() == Some(&b'\n') {
        line.pop();
        line.pop_if(|byte| *byte == b'\r');
    } else if count > TRACE_LINE_BYTES_MAX {
        return Err(ReplayError::Line { line: number, mistake: Mistake::TooLong });
    }
    Ok(count > 0)
}

/// Requests that are sent together. Nothing in it changes a key that comes before in it, so that
/// its order makes no difference.
struct Batch {
    connection: Connection,
    fill: bool,
    /// What is to be written.
    commands: Vec<u8>,
    /// For each command: the key and length of value of a look-up.
    asked: Vec<Option<(Vec<u8>, usize)>>,
    keys: HashSet<Vec<u8>>,
    value_bytes: usize,
    value: Vec<u8>,
}

impl Batch {
    fn new(replay: &Replay) -> Result<Self, ReplayError> {
        Ok(Self {
            connection: Connection::open(&replay.server)?,
            fill: replay.fill,
            commands: Vec::new(),
            asked: Vec::new(),
            keys: HashSet::new(),
            value_bytes: 0,
            value: Vec::new(),
        })
    }

    fn has_room_for(&self, record: &Record<'_>) -> bool {
        let bytes = self.value_bytes + record.value_bytes;
        let is_ordered = record.operation == Operation::Get || !self.keys.contains(record.key);
        self.asked.is_empty()
            || (self.asked.len() < TRACE_BATCH_MAX && bytes <= TRACE_BATCH_BYTES_MAX && is_ordered)
    }

    fn push(&mut self, record: &Record<'_>) {
        let Record { key, value_bytes, .. } = *record;
        let is_get = record.operation == Operation::Get;
        match record.operation {
            Operation::Get => ask::get(&mut self.commands, [key], false),
            Operation::Store(mode) => self.store(mode, key, value_bytes),
            Operation::Delete => ask::delete(&mut self.commands, key, false),
            Operation::Increment => ask::increment(&mut self.commands, key, 1, false),
            Operation::Decrement => ask::decrement(&mut self.commands, key, 1, false),
        }
        self.asked.push(is_get.then(|| (key.to_vec(), value_bytes)));
        self.keys.insert(key.to_vec());
        self.value_bytes += value_bytes;
    }

    /// A value of digits: `incr` can count on the short ones.
    fn store(&mut self, mode: Mode, key: &[u8], bytes: usize) {
        self.value.resize(bytes, b'1');
        let put = Put { mode, key, flags: 0, exptime: 0, cas: 0, noreply: false };
        ask::store(&mut self.commands, &put, &self.value);
    }

    /// Carries all of them out, and counts.
    fn finish(&mut self, tally: &mut Tally) -> Result<(), ReplayError> {
        self.connection.write(&self.commands)?;
        self.commands.clear();
        let mut filled = HashSet::new();
        // For each command that follows: whether it looks up what was not there yet.
        let mut following = Vec::new();
        for asked in std::mem::take(&mut self.asked) {
            let answer = self.connection.answer()?;
            tally.gets += u64::from(asked.is_some());
            tally.hits += u64::from(answer == Answer::Hit);
            tally.errors += u64::from(answer == Answer::Refused);
            let (Some((key, bytes)), Answer::Miss) = (asked, answer) else { continue };
            if !self.fill || bytes == 0 {
                continue;
            }
            if filled.contains(&key) {
                ask::get(&mut self.commands, [&key[..]], false);
                following.push(true);
            } else {
                self.store(Mode::Set, &key, bytes);
                following.push(false);
                filled.insert(key);
            }
        }
        self.connection.write(&self.commands)?;
        self.commands.clear();
        for is_get in following {
            let answer = self.connection.answer()?;
            tally.hits += u64::from(answer == Answer::Hit);
            tally.fills += u64::from(!is_get && answer == Answer::Done);
            tally.errors += u64::from(answer == Answer::Refused);
        }
        self.keys.clear();
        self.value_bytes = 0;
        Ok(())
    }
}
