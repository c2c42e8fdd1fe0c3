//! How far an import has come: a document of the repository's own, written in the commits of the
//! import itself, so that what it says is always true. One that is begun again goes on from there.

use super::plain::Plain;
use crate::document::{MediaType, Timestamp};
use crate::errors::{ReadError, StageError};
use crate::json;
use crate::limits::{IMPORT_DONE_KEPT_MS, IMPORT_POSITION_KEPT_MS};
use crate::name::{CollectionName, Key};
use crate::transaction::Transaction;
use bytes::Bytes;

/// The collection of positions.
pub(super) const COLLECTION: &str = "_imports";

/// A place between two lines of an input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Mark {
    /// Lines before it.
    pub lines: u64,
    /// Their bytes.
    pub bytes: u64,
    /// CRC32C of them: another input with the same first line is not taken for this one.
    pub all: u32,
}

/// What has become of the lines before a mark.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Position {
    pub mark: Mark,
    pub documents: u64,
    pub skipped: u64,
    pub expired: u64,
    pub bad: u64,
    pub collections: u64,
    pub is_done: bool,
}

/// Names the import of the input with this first line.
pub(super) fn key(first: &[u8], plain: Option<&Plain>) -> Key {
    let (sum, length) = (crc32c::crc32c(first), first.len());
    Key::generated(match plain {
        None => format!("export-{sum:08x}-{length}"),
        Some(plain) => {
            let pointer = crc32c::crc32c(plain.key.as_bytes());
            format!("lines-{sum:08x}-{length}-{}-{pointer:08x}", plain.collection)
        }
    })
}

fn place() -> CollectionName {
    CollectionName::generated(COLLECTION)
}

impl Position {
    pub(super) fn read(
        transaction: &mut Transaction,
        key: &Key,
    ) -> Result<Option<Self>, ReadError> {
        let document = transaction.get(&place(), key)?;
        Ok(document.and_then(|document| Self::from_text(&document.body)))
    }

    /// Stages it.
    pub(super) fn write(self, transaction: &mut Transaction, key: &Key) -> Result<(), StageError> {
        let kept_ms = if self.is_done { IMPORT_DONE_KEPT_MS } else { IMPORT_POSITION_KEPT_MS };
        let expires = Timestamp(transaction.time().0.saturating_add(kept_ms));
        let body = Bytes::from(self.to_text());
        transaction.put(&place(), key, MediaType::Json, body, Some(expires))
    }

    fn to_text(self) -> String {
        let Self { mark: Mark { lines, bytes, all }, documents, skipped, expired, .. } = self;
        let (bad, collections, is_done) = (self.bad, self.collections, self.is_done);
        format!(
            "{{\"lines\":{lines},\"bytes\":{bytes},\"crc32c\":{all},\"documents\":{documents},\
             \"skipped\":{skipped},\"expired\":{expired},\"bad\":{bad},\
             \"collections\":{collections},\"done\":{is_done}}}"
        )
    }

    fn from_text(body: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(body).ok()?;
        let member = |name: &str| {
            let quoted = json::quote(name);
            json::children(text).find(|child| child.name == Some(&quoted)).map(|c| c.value)
        };
        let number = |name: &str| member(name)?.parse::<u64>().ok();
        let all = u32::try_from(number("crc32c")?).ok()?;
        Some(Self {
            mark: Mark { lines: number("lines")?, bytes: number("bytes")?, all },
            documents: number("documents")?,
            skipped: number("skipped")?,
            expired: number("expired")?,
            bad: number("bad")?,
            collections: number("collections")?,
            is_done: member("done")? == "true",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_comes_back_as_it_was() {
        let mark = Mark { lines: 3, bytes: 1 << 40, all: u32::MAX };
        for is_done in [false, true] {
            let position = Position { mark, documents: 1, bad: 7, is_done, ..Position::default() };
            let text = position.to_text();
            assert_eq!(json::canonicalize(text.as_bytes()).unwrap(), text.as_bytes());
            assert_eq!(Position::from_text(text.as_bytes()), Some(position));
        }
        assert_eq!(Position::from_text(b"{}"), None);
    }
}
