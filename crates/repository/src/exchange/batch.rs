//! What lines of an import come to: transactions of many documents, each with the position behind
//! them, and which line it was that cannot be.

use super::line::{Exported, LineError};
use super::position::{Mark, Position};
use super::{ExistingDocuments, ImportError, ImportOptions, KeptTimes};
use crate::attempt::RunError;
use crate::blobs::Content;
use crate::document::CommitNumber;
use crate::errors::{CommitError, ReadError, StageError};
use crate::limits::{IMPORT_BATCH_BYTES, IMPORT_BATCH_DOCUMENTS, IMPORT_WAIT_MAX};
use crate::name::Key;
use crate::repository::Repository;
use crate::transaction::Transaction;
use std::time::{Duration, Instant};

/// How long a commit that was refused because the disk is behind waits for its next try.
const PAUSE: Duration = Duration::from_millis(20);

/// A line whose document is to be written.
pub(super) struct Item {
    /// Its place.
    pub at: Exported,
    /// Its content.
    pub content: Content,
    /// The mark before its line, which has the next number.
    pub before: Mark,
    /// The mark behind its line.
    pub behind: Mark,
}

/// Lines that are committed together.
#[derive(Default)]
pub(super) struct Batch {
    items: Vec<Item>,
    bytes: usize,
}

impl Batch {
    pub(super) fn push(&mut self, item: Item) {
        self.bytes += item.at.document.body.len();
        self.items.push(item);
    }

    pub(super) fn is_full(&self) -> bool {
        self.items.len() >= IMPORT_BATCH_DOCUMENTS || self.bytes >= IMPORT_BATCH_BYTES
    }

    pub(super) fn take(&mut self) -> Vec<Item> {
        self.bytes = 0;
        std::mem::take(&mut self.items)
    }
}

/// Why a batch was not committed.
pub(super) enum Refusal {
    /// The line of this item cannot be imported.
    Item(usize, LineError),
    /// It is too much for a transaction.
    TooMuch,
    /// It is not about a line.
    Fatal(ImportError),
}

/// Where batches go.
pub(super) struct Target<'a> {
    pub repository: &'a Repository,
    pub options: &'a ImportOptions,
    /// Of the position.
    pub key: Key,
    /// The last commit.
    pub commit: CommitNumber,
    /// The position that is in the repository, as far as is known: a run of the same import whose
    /// command has gone may still be at work.
    pub stored: Option<Position>,
}

impl Target<'_> {
    /// Commits `items` and, behind them, the position `mark`; gives the position then.
    pub(super) fn commit(
        &mut self,
        items: &[Item],
        mark: Mark,
        before: Position,
    ) -> Result<Position, Refusal> {
        let begun = Instant::now();
        let is_done = before.is_done;
        loop {
            let ran = self.repository.run(|transaction| {
                let stored = Position::read(transaction, &self.key).map_err(|e| fatal(&e))?;
                let (before, done) = match stored {
                    stored if stored == self.stored => (before, 0),
                    stored => overtaken(items, stored.unwrap_or_default())?,
                };
                if done > 0 && done == items.len() {
                    return Ok(before);
                }
                let staged = stage(transaction, (items, done), (before, mark), self.options)?;
                let position = Position { is_done, ..staged };
                position.write(transaction, &self.key).map_err(|error| fatal(&error))?;
                Ok(position)
            });
            match ran {
                Ok(ran) => {
                    self.commit = self.commit.max(ran.wait_for);
                    self.stored = Some(ran.value);
                    return Ok(ran.value);
                }
                Err(RunError::Body { error, .. }) => return Err(error),
                Err(RunError::Duplicate { duplicate, .. }) => {
                    let is_it = |item: &Item| {
                        item.at.collection == duplicate.collection && item.at.key == duplicate.key
                    };
                    let line = LineError { column: None, why: duplicate.to_string() };
                    return Err(match items.iter().rposition(is_it) {
                        Some(at) => Refusal::Item(at, line),
                        None => fatal(&line),
                    });
                }
                Err(RunError::Commit(CommitError::Overloaded(_) | CommitError::ViewTooOld(_)))
                    if begun.elapsed() < IMPORT_WAIT_MAX =>
                {
                    std::thread::sleep(PAUSE);
                }
                Err(RunError::Commit(error)) => return Err(fatal(&error)),
                Err(RunError::Begin(error)) => return Err(fatal(&error)),
            }
        }
    }
}

fn fatal(error: &dyn std::fmt::Display) -> Refusal {
    Refusal::Fatal(ImportError::Repository(error.to_string()))
}

/// Where another run has come to, and how many of `items` it has done.
fn overtaken(items: &[Item], stored: Position) -> Result<(Position, usize), Refusal> {
    let done = items.iter().filter(|item| item.behind.lines <= stored.mark.lines).count();
    let same = items.iter().find(|item| item.behind.lines == stored.mark.lines);
    match same {
        Some(item) if item.behind != stored.mark => {
            let lines = stored.mark.lines;
            Err(Refusal::Fatal(ImportError::Different { lines }))
        }
        _ => Ok((stored, done)),
    }
}

fn stage(
    transaction: &mut Transaction,
    (items, done): (&[Item], usize),
    (mut position, mark): (Position, Mark),
    options: &ImportOptions,
) -> Result<Position, Refusal> {
    let now = transaction.time();
    for (at, item) in items.iter().enumerate().skip(done) {
        let Exported { collection, key, document } = &item.at;
        if document.is_expired(now) {
            position.expired += 1;
            continue;
        }
        if options.existing != ExistingDocuments::Replace {
            let is_there = transaction.get(collection, key).map_err(|error| refused(at, error))?;
            match (is_there, options.existing) {
                (None, _) => {}
                (Some(_), ExistingDocuments::Skip) => {
                    position.skipped += 1;
                    continue;
                }
                (Some(_), _) => {
                    let why = format!("there is a document {collection}/{key} already");
                    return Err(Refusal::Item(at, LineError { column: None, why }));
                }
            }
        }
        let (media_type, content) = (document.media_type.clone(), &item.content);
        let staged = match (options.times, options.plain.is_some()) {
            (KeptTimes::Keep, false) => {
                transaction.put_with_times(collection, key, document, content)
            }
            _ => transaction.put_content(collection, key, media_type, content, document.expires),
        };
        staged.map_err(|error| staging(at, error))?;
        position.documents += 1;
    }
    position.mark = mark;
    Ok(position)
}

fn refused(at: usize, error: ReadError) -> Refusal {
    staging(at, error.into())
}

fn staging(at: usize, error: StageError) -> Refusal {
    match error {
        StageError::TooManyRows
        | StageError::TooManyWrites
        | StageError::TransactionTooLarge
        | StageError::Read(ReadError::TooManyBytes | ReadError::TooManyReads) => Refusal::TooMuch,
        StageError::Read(error) => fatal(&error),
        error => Refusal::Item(at, LineError { column: None, why: error.to_string() }),
    }
}
