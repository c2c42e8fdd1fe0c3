//! What the commands do to a document, each in a transaction of its own.

use super::Collection;
use crate::limits::{FLUSH_DOCUMENTS_MAX, TROUBLE_BYTES_MAX};
use crate::out::Out;
use repository::{
    CommitNumber, Direction, Document, Key, KeyRange, MediaType, Overwrite, Ran, ReadError,
    RunError, StageError, Timestamp, Transaction,
};
use std::fmt::Display;
use std::sync::Arc;
use wire::memcached::{Code, Expiry, Mode, number};

/// The media type of what memcached clients store. Their flags are a parameter of it.
const MEDIA_TYPE: &str = "application/octet-stream";
const FLAGS: &str = ";flags=";

/// A body, without its media type.
type Bytes = Vec<u8>;

/// What becomes of a document.
pub(super) enum Change {
    Nothing,
    /// Blind: whatever version it was.
    Remove {
        is_blind: bool,
    },
    Put {
        media_type: MediaType,
        body: Bytes,
        expires: Option<Timestamp>,
        is_blind: bool,
    },
}

/// A document as memcached clients see it.
#[derive(Clone)]
pub(super) struct Kept {
    pub body: Bytes,
    pub flags: u32,
    /// The number of the commit that wrote it.
    pub cas: u64,
    /// Seconds left.
    pub ttl: Option<u32>,
}

impl Kept {
    pub fn of(document: &Document, now: Timestamp) -> Self {
        let ttl = document.expires.map(|at| at.0.saturating_sub(now.0).div_ceil(1_000));
        Self {
            body: document.body.to_vec(),
            flags: flags_of(&document.media_type),
            cas: document.version.0,
            ttl: ttl.map(|seconds| u32::try_from(seconds).unwrap_or(u32::MAX)),
        }
    }
}

/// What came of a change.
pub(super) struct Changed<T> {
    pub value: T,
    /// The commit, if anything was written.
    pub commit: Option<u64>,
}

/// A command that stores.
pub(super) struct Put<'a> {
    pub mode: Mode,
    pub data: &'a [u8],
    pub flags: u32,
    pub exptime: i64,
    pub compare: Option<u64>,
    pub value_bytes_max: usize,
}

impl Put<'_> {
    /// What becomes of the document, or why nothing does.
    pub fn decide(&self, there: Option<&Document>, now: Timestamp) -> (Change, Result<(), Code>) {
        let is_other = |there: &Document| self.compare.is_some_and(|cas| cas != there.version.0);
        let refused = |code| (Change::Nothing, Err(code));
        match (self.mode, there) {
            (Mode::Add, Some(_)) => refused(Code::NotStored),
            (Mode::Replace | Mode::Append | Mode::Prepend, None) => refused(Code::NotStored),
            (Mode::Cas, None) => refused(Code::NotFound),
            (Mode::Cas | Mode::Append | Mode::Prepend, Some(there)) if is_other(there) => {
                refused(Code::Exists)
            }
            (Mode::Append | Mode::Prepend, Some(there)) => {
                let body = match self.mode {
                    Mode::Append => [&there.body[..], self.data].concat(),
                    _ => [self.data, &there.body[..]].concat(),
                };
                if body.len() > self.value_bytes_max {
                    return refused(Code::NotStored);
                }
                let media_type = media_type(flags_of(&there.media_type));
                let expires = there.expires;
                (Change::Put { media_type, body, expires, is_blind: false }, Ok(()))
            }
            _ => {
                let media_type = media_type(self.flags);
                let mut change = with_expiry(media_type, self.data.to_vec(), self.exptime, now);
                let blind = matches!(self.mode, Mode::Set | Mode::Replace) && there.is_some();
                match &mut change {
                    Change::Put { is_blind, .. } | Change::Remove { is_blind } => *is_blind = blind,
                    Change::Nothing => {}
                }
                (change, Ok(()))
            }
        }
    }
}

/// A document with this time to live. If that is over, there is none.
pub(super) fn with_expiry(
    media_type: MediaType,
    body: impl Into<Bytes>,
    exptime: i64,
    now: Timestamp,
) -> Change {
    let expires = match Expiry::new(exptime) {
        Expiry::Never => None,
        Expiry::Past => return Change::Remove { is_blind: false },
        Expiry::After(seconds) => Some(Timestamp(now.0 + u64::from(seconds) * 1_000)),
        Expiry::At(time) => Some(Timestamp(time.unsigned_abs().saturating_mul(1_000))),
    };
    if expires.is_some_and(|at| at <= now) {
        return Change::Remove { is_blind: false };
    }
    Change::Put { media_type, body: body.into(), expires, is_blind: false }
}

/// Adds to a number, or subtracts, as memcached does: sums wrap around, differences end at 0, and a
/// number that becomes shorter is filled up with spaces, but in JSON. None: there is no number.
pub(super) fn add(there: &Document, delta: u64, is_decrement: bool) -> Option<(Change, u64)> {
    if there.body.is_empty() {
        return None;
    }
    let before = number(&there.body)?;
    let after = match is_decrement {
        true => before.saturating_sub(delta),
        false => before.wrapping_add(delta),
    };
    let digits = after.to_string();
    let body = match &there.media_type {
        // What a JSON document cannot keep exactly is no number of JSON.
        MediaType::Json => repository::json::canonicalize(digits.as_bytes()).ok()?,
        MediaType::Other(_) => {
            let width = if digits.len() > there.body.len() { 0 } else { there.body.len() };
            format!("{digits:width$}").into_bytes()
        }
    };
    let (media_type, expires) = (there.media_type.clone(), there.expires);
    Some((Change::Put { media_type, body, expires, is_blind: false }, after))
}

pub(super) fn media_type(flags: u32) -> MediaType {
    match flags {
        0 => MediaType::Other(MEDIA_TYPE.into()),
        flags => MediaType::Other(format!("{MEDIA_TYPE}{FLAGS}{flags}").into()),
    }
}

fn flags_of(media_type: &MediaType) -> u32 {
    let parameter = media_type.as_str().strip_prefix(MEDIA_TYPE);
    let flags = parameter.and_then(|parameter| parameter.strip_prefix(FLAGS));
    flags.and_then(|flags| flags.parse().ok()).unwrap_or(0)
}

/// One line of what went wrong.
pub(super) fn line_of(error: &dyn Display) -> String {
    let text = error.to_string();
    let mut line: String = text.chars().filter(|letter| !letter.is_control()).collect();
    while line.len() > TROUBLE_BYTES_MAX {
        line.pop();
    }
    line
}

/// Why a body gave up.
enum Trouble {
    Read(ReadError),
    Stage(StageError),
    /// The collection wants a condition.
    Blind,
    /// The document is in a file of its own.
    Large,
}

impl From<ReadError> for Trouble {
    fn from(error: ReadError) -> Self {
        Self::Read(error)
    }
}

impl From<StageError> for Trouble {
    fn from(error: StageError) -> Self {
        Self::Stage(error)
    }
}

impl Collection {
    /// A document, if it is there.
    pub(super) fn read(&self, key: &[u8], out: &mut Out) -> Result<Option<Kept>, String> {
        self.change(key, out, |there, now| {
            (Change::Nothing, there.map(|there| Kept::of(there, now)))
        })
        .map(|read| read.value)
    }

    /// Does what `decide` says of the document that is there. It may be asked again.
    pub(super) fn change<T>(
        &self,
        key: &[u8],
        out: &mut Out,
        mut decide: impl FnMut(Option<&Document>, Timestamp) -> (Change, T),
    ) -> Result<Changed<T>, String> {
        let key = document_key(key)?;
        let ran = self.run(out, |tx| {
            let there = tx.get(&self.name, &key)?;
            let (change, value) = decide(there.as_deref(), tx.time());
            // A value is in memory as a whole, which this document never is.
            let is_blob = there.as_ref().is_some_and(|there| there.blob.is_some());
            if is_blob && !matches!(change, Change::Remove { .. }) {
                return Err(Trouble::Large);
            }
            self.stage(tx, &key, there, change)?;
            Ok(value)
        })?;
        let commit = ran.committed.map(|number| number.0);
        Ok(Changed { value: ran.value, commit })
    }

    fn stage(
        &self,
        tx: &mut Transaction,
        key: &Key,
        there: Option<Arc<Document>>,
        change: Change,
    ) -> Result<(), Trouble> {
        let blind = matches!(
            change,
            Change::Put { is_blind: true, .. } | Change::Remove { is_blind: true }
        );
        if blind && tx.overwrite(&self.name) == Overwrite::Conditional {
            return Err(Trouble::Blind);
        }
        match change {
            Change::Put { media_type, body, expires, .. } => {
                tx.put(&self.name, key, media_type, body.into(), expires)?;
            }
            Change::Remove { .. } if there.is_some() => tx.delete(&self.name, key)?,
            Change::Remove { .. } | Change::Nothing => {}
        }
        Ok(())
    }

    /// `flush_all`: removes every document, some at a time.
    pub(super) fn remove_all(&self, out: &mut Out) -> Result<(), String> {
        loop {
            let ran = self.run(out, |tx| {
                let range = KeyRange::all();
                let some =
                    tx.range(&self.name, &range, Direction::Ascending, FLUSH_DOCUMENTS_MAX)?;
                for (key, _) in &some {
                    tx.delete(&self.name, key)?;
                }
                Ok(some.len())
            })?;
            if ran.value < FLUSH_DOCUMENTS_MAX {
                return Ok(());
            }
        }
    }

    /// May wait for others that have lost to each other too often (docs/transactions.md).
    fn run<T>(
        &self,
        out: &mut Out,
        body: impl FnMut(&mut Transaction) -> Result<T, Trouble>,
    ) -> Result<Ran<T>, String> {
        if let Some(why) = (self.closed)() {
            return Err(why);
        }
        let mut reveals = |number: CommitNumber| out.reveals(number.0);
        match self.repository.run(body) {
            Ok(ran) => {
                reveals(ran.wait_for);
                Ok(ran)
            }
            Err(RunError::Body { error, wait_for }) => {
                reveals(wait_for);
                Err(match error {
                    Trouble::Read(error) => line_of(&error),
                    Trouble::Stage(error) => line_of(&error),
                    Trouble::Large => "object too large for cache".to_owned(),
                    Trouble::Blind => format!(
                        "the collection {} wants a condition on replacing and removing: use cas",
                        self.name
                    ),
                })
            }
            Err(RunError::Duplicate { wait_for, .. }) => {
                reveals(wait_for);
                Err(format!("another document of {} has a value of a unique index", self.name))
            }
            Err(RunError::Begin(error)) => Err(line_of(&error)),
            Err(RunError::Commit(error)) => {
                // That it came to a commit reveals something of the view, which is at most this.
                reveals(self.repository.stats().visible);
                Err(line_of(&error))
            }
        }
    }
}

fn document_key(key: &[u8]) -> Result<Key, String> {
    let text = std::str::from_utf8(key).map_err(|_| "a durable collection's keys are UTF-8")?;
    Key::new(text).map_err(|error| line_of(&error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_one_line_and_not_long() {
        assert_eq!(line_of(&"no\r\nspace"), "nospace");
        assert_eq!(line_of(&"ü".repeat(TROUBLE_BYTES_MAX)).len(), TROUBLE_BYTES_MAX);
    }

    #[test]
    fn a_number_of_json_stays_one_that_json_keeps_exactly() {
        let there = |body: &str| Document {
            media_type: MediaType::Json,
            body: body.to_owned().into(),
            blob: None,
            version: CommitNumber(1),
            created: Timestamp(0),
            updated: Timestamp(0),
            expires: None,
        };
        for (before, delta, after) in [
            ("7", 3, Some("10")),
            ("9007199254740991", 1, Some("9007199254740992")),
            ("9007199254740991", 2, None),
            ("9007199254740992", 2, Some("9007199254740994")),
            ("9007199254740992", (1 << 63) - (1 << 53), None),
        ] {
            let changed = add(&there(before), delta, false).map(|(change, _)| match change {
                Change::Put { body, .. } => String::from_utf8(body).unwrap(),
                _ => panic!("{before} is put"),
            });
            assert_eq!(changed.as_deref(), after, "{before} + {delta}");
        }
    }

    #[test]
    fn flags_are_a_parameter_of_the_media_type() {
        for flags in [0, 1, u32::MAX] {
            assert_eq!(flags_of(&media_type(flags)), flags);
        }
        assert_eq!(flags_of(&MediaType::Json), 0);
        assert_eq!(flags_of(&MediaType::Other("application/octet-stream;flags=x".into())), 0);
    }
}
