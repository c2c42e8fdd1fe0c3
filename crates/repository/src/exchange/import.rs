//! Reading an export, or JSON Lines of others, into the repository: line by line, strictly, in
//! transactions of many documents. How far it has come is part of the same commits, so one that was
//! cut off goes on behind the last document that is there, and nothing is there twice.

use super::batch::{Batch, Item, Refusal, Target};
use super::imported::{Event, ImportError, ImportOptions, Imported};
use super::line::{self, Exported, Header, Line, LineError, Piece, Trailer};
use super::position::{self, Mark, Position};
use super::source::{Next, Source};
use crate::blobs::{BlobError, BlobHash, BlobReference, BlobWriter, Content};
use crate::document::CommitNumber;
use crate::errors::{CommitError, ConfigureError};
use crate::limits::{BLOB_BYTES_MAX, IMPORT_LINE_BYTES_MAX, IMPORT_WAIT_MAX};
use crate::name::CollectionName;
use crate::repository::Repository;
use crate::settings::Settings;
use std::io::{self, BufRead};
use std::time::{Duration, Instant};

/// Called after each commit, and for each line that is passed over.
pub type Tell<'a> = &'a mut dyn FnMut(&Event<'_>) -> io::Result<()>;

/// Whether an export is whole, found out by reading all of it; anything else passes.
///
/// # Errors
/// [`ImportError::Cut`], [`ImportError::Checksum`], or it cannot be read.
pub fn check(from: &mut dyn BufRead) -> Result<(), ImportError> {
    let mut source = Source::new(from);
    if !matches!(source.next()?, Next::Line) || !line::is_header(source.text()) {
        return Ok(());
    }
    let mut last = None;
    loop {
        match source.next()? {
            Next::End => break,
            Next::Cut => return Err(ImportError::Cut { lines: source.lines - 1 }),
            Next::TooLong => last = None,
            Next::Line => {
                let is_short = source.text().starts_with(b"{\"end\":");
                last = is_short.then(|| (line::read(source.text()), source.content_before));
            }
        }
    }
    match last {
        Some((Ok(Line::Trailer(trailer)), got)) => compare(trailer, got, source.lines),
        _ => Err(ImportError::Cut { lines: source.lines }),
    }
}

/// Compares the last line, which has this number, with what came before it.
fn compare(trailer: Trailer, got: u32, line: u64) -> Result<(), ImportError> {
    if trailer.checksum != got {
        return Err(ImportError::Checksum { expected: trailer.checksum, got });
    }
    let expected = trailer.collections.saturating_add(trailer.documents);
    let expected = expected.saturating_add(trailer.pieces);
    match line.saturating_sub(2) {
        between if between == expected => Ok(()),
        got => Err(ImportError::Count { expected, got }),
    }
}

/// Imports all of `from`. When it returns, all that it says is durable.
///
/// # Errors
/// [`ImportError`].
pub fn import(
    repository: &Repository,
    from: &mut dyn BufRead,
    options: &ImportOptions,
    tell: Tell<'_>,
) -> Result<Imported, ImportError> {
    let mut source = Source::new(from);
    let mut first = source.next()?;
    if options.plain.is_some() && matches!(first, Next::Cut) {
        first = Next::Line;
    }
    let is_export = matches!(first, Next::Line) && line::is_header(source.text());
    match (&options.plain, is_export) {
        (Some(_), true) => return Err(ImportError::IsExport),
        (None, false) => {
            let start: String = String::from_utf8_lossy(source.text()).chars().take(80).collect();
            let got = if start.is_empty() { "nothing".to_owned() } else { format!("{start:?}") };
            return Err(ImportError::NoExport(got));
        }
        _ => {}
    }
    let key = position::key(source.text(), options.plain.as_ref());
    let stored = known(repository, &key)?;
    let found = stored.filter(|_| !options.restart);
    let commit = CommitNumber(0);
    let target = Target { repository, options, key, commit, stored };
    let mut run = Run {
        source,
        target,
        tell,
        position: Position::default(),
        handled: Mark::default(),
        batch: Batch::default(),
        incoming: None,
        resumed_after: None,
    };
    match found {
        Some(found) if found.is_done => {
            let mut done = run.imported_of(found);
            done.was_done = true;
            return Ok(done);
        }
        Some(found) => run.resume(found)?,
        None => run.first(first)?,
    }
    run.lines()
}

/// How far an earlier run came.
fn known(repository: &Repository, key: &crate::name::Key) -> Result<Option<Position>, ImportError> {
    let refused = |why: String| ImportError::Repository(why);
    let mut transaction = repository.begin().map_err(|error| refused(error.to_string()))?;
    Position::read(&mut transaction, key).map_err(|error| refused(error.to_string()))
}

/// A run of an import.
struct Run<'a, 't> {
    source: Source<'a>,
    target: Target<'a>,
    tell: Tell<'t>,
    /// What was committed.
    position: Position,
    /// Behind the last line that needs nothing more, or is in the batch.
    handled: Mark,
    batch: Batch,
    incoming: Option<Incoming>,
    resumed_after: Option<u64>,
}

/// A document whose content is on its way.
struct Incoming {
    at: Exported,
    writer: BlobWriter,
}

impl Run<'_, '_> {
    fn imported_of(&self, position: Position) -> Imported {
        Imported {
            lines: position.mark.lines,
            bytes: position.mark.bytes,
            documents: position.documents,
            skipped: position.skipped,
            expired: position.expired,
            bad: position.bad,
            collections: position.collections,
            resumed_after: self.resumed_after,
            was_done: false,
            commit: self.target.commit,
        }
    }

    fn mark(&self) -> Mark {
        let Source { lines, bytes, all, .. } = self.source;
        Mark { lines, bytes, all }
    }

    fn is_plain(&self) -> bool {
        self.target.options.plain.is_some()
    }

    /// Goes to where an earlier run came to.
    fn resume(&mut self, found: Position) -> Result<(), ImportError> {
        let Mark { lines, bytes, all } = found.mark;
        let different = ImportError::Different { lines };
        let Some(left) = bytes.checked_sub(self.source.bytes) else { return Err(different) };
        let is_there = self.source.skip(left, lines.saturating_sub(1))?;
        if !is_there || self.source.all != all {
            return Err(different);
        }
        (self.position, self.handled) = (found, found.mark);
        self.resumed_after = Some(lines);
        Ok(())
    }

    fn first(&mut self, first: Next) -> Result<(), ImportError> {
        if self.is_plain() {
            return match first {
                Next::End => Ok(()),
                first => self.line(&first).map(drop),
            };
        }
        match line::read(self.source.text()) {
            Ok(Line::Header(Header { .. })) => self.handled = self.mark(),
            Ok(_) => unreachable!("it has the member that only the first line has"),
            Err(error) => return Err(line_error(1, error)),
        }
        Ok(())
    }

    fn lines(mut self) -> Result<Imported, ImportError> {
        loop {
            let next = match self.source.next() {
                Ok(Next::Cut) if self.is_plain() => Next::Line,
                Ok(next) => next,
                // Such as a server that is stopped: what was read is not read again.
                Err(error) => {
                    self.flush()?;
                    return Err(error.into());
                }
            };
            match next {
                Next::End if self.is_plain() => return self.finish(),
                Next::End | Next::Cut => {
                    self.flush()?;
                    return Err(ImportError::Cut { lines: self.handled.lines });
                }
                next => {
                    if self.line(&next)? {
                        return self.finish();
                    }
                }
            }
        }
    }

    /// Takes a line; `true`: it was the last of an export.
    fn line(&mut self, next: &Next) -> Result<bool, ImportError> {
        let read = match (next, &self.target.options.plain) {
            (Next::TooLong, _) => {
                let why = format!("expected a line of at most {IMPORT_LINE_BYTES_MAX} bytes");
                Err(LineError { column: None, why })
            }
            (_, Some(plain)) => {
                plain.read(self.source.text()).map(|line| Line::Document(Box::new(line)))
            }
            (_, None) => line::read(self.source.text()),
        };
        let read = read.and_then(|line| self.allowed(line));
        if let (Some(incoming), Ok(line)) = (&self.incoming, &read)
            && !matches!(line, Line::Piece(_))
        {
            let at = incoming.writer.length();
            let why = format!("expected the piece at {at} of the blob before it");
            self.incoming = None;
            self.bad(LineError { column: Some(1), why })?;
            return Ok(false);
        }
        match read {
            Err(error) => self.bad(error)?,
            Ok(Line::Trailer(trailer)) => {
                self.flush()?;
                let before = self.source.content_before;
                let compared = compare(trailer, before, self.source.lines);
                if self.target.options.keep_going {
                    if let Err(error) = compared {
                        self.bad(LineError { column: None, why: error.to_string() })?;
                    }
                } else {
                    compared?;
                }
                return self.end().map(|()| true);
            }
            Ok(Line::Document(at)) => match at.document.blob {
                None => {
                    let content = Content::Inline(at.document.body.clone());
                    self.push(*at, content)?;
                }
                Some(_) => {
                    let writer = self.target.repository.blob_writer(BLOB_BYTES_MAX);
                    self.incoming = Some(Incoming { at: *at, writer });
                }
            },
            Ok(Line::Piece(piece)) => self.piece(&piece)?,
            Ok(Line::Collection(name, settings)) => {
                self.flush()?;
                match self.configure(&name, &settings)? {
                    Ok(()) => self.position.collections += 1,
                    Err(error) => self.bad(error)?,
                }
                self.handled = self.mark();
            }
            Ok(Line::Header(_)) => {
                let why = "expected a collection, a document or the last line; got a first line";
                self.bad(LineError { column: Some(1), why: why.to_owned() })?;
            }
        }
        Ok(false)
    }

    /// Takes a document whose content is there.
    fn push(&mut self, at: Exported, content: Content) -> Result<(), ImportError> {
        let (before, behind) = (self.handled, self.mark());
        self.batch.push(Item { at, content, before, behind });
        self.handled = behind;
        match self.batch.is_full() {
            true => self.flush(),
            false => Ok(()),
        }
    }

    /// Takes a part of the content of the document before it.
    fn piece(&mut self, piece: &Piece) -> Result<(), ImportError> {
        let wrong = |why: String| LineError { column: None, why };
        let taken = self.incoming.take();
        let Some((mut incoming, expected)) = taken.and_then(|i| i.at.document.blob.map(|b| (i, b)))
        else {
            return self.bad(wrong("expected a document with a blob before its pieces".to_owned()));
        };
        if piece.at != incoming.writer.length() {
            let got = incoming.writer.length();
            return self.bad(wrong(format!("expected the piece at {got}, got {}", piece.at)));
        }
        let refused = |error: BlobError| ImportError::Repository(error.to_string());
        incoming.writer.write(&piece.bytes).map_err(refused)?;
        if incoming.writer.length() < expected.length {
            self.incoming = Some(incoming);
            return Ok(());
        }
        let Incoming { mut at, writer } = incoming;
        let content = writer.finish().map_err(refused)?;
        let got = match &content {
            Content::Blob(blob) => blob.reference(),
            Content::Inline(bytes) => {
                BlobReference { hash: BlobHash::of(bytes), length: bytes.len() as u64 }
            }
        };
        if got != expected {
            let why = format!("the content is not that of the blob {}", expected.hash);
            return self.bad(wrong(why));
        }
        at.document.blob = None;
        self.push(at, content)
    }

    /// Nothing may come behind the last line.
    fn end(&mut self) -> Result<(), ImportError> {
        let mark = self.mark();
        match self.source.next()? {
            Next::End => {
                self.handled = mark;
                Ok(())
            }
            _ => {
                let why = "expected nothing behind the last line of an export".to_owned();
                Err(ImportError::Line { line: self.source.lines, column: Some(1), why })
            }
        }
    }

    /// Refuses what belongs to Sarsen itself, unless it is asked for.
    fn allowed(&self, line: Line) -> Result<Line, LineError> {
        let name = match &line {
            Line::Collection(name, _) => name,
            Line::Document(line) => &line.collection,
            _ => return Ok(line),
        };
        let is_own = name.as_str() == position::COLLECTION;
        if is_own || (name.is_system() && !self.target.options.system) {
            let why = format!("{name} is Sarsen's own; --system imports such collections as well");
            return Err(LineError { column: Some(1), why });
        }
        Ok(line)
    }

    /// A line that cannot be imported: the one that was read last.
    fn bad(&mut self, error: LineError) -> Result<(), ImportError> {
        if !self.target.options.keep_going {
            self.flush()?;
            return Err(line_error(self.source.lines, error));
        }
        (self.tell)(&Event::BadLine { line: self.source.lines, error: &error })?;
        // With the batch, so that a run that is cut off neither loses nor repeats it.
        self.flush()?;
        self.position.bad += 1;
        self.handled = self.mark();
        Ok(())
    }

    /// Makes a collection, or leaves one that is there as it is.
    fn configure(
        &mut self,
        name: &CollectionName,
        settings: &Settings,
    ) -> Result<Result<(), LineError>, ImportError> {
        let begun = Instant::now();
        let refused = |error: String| ImportError::Repository(error);
        let repository = self.target.repository;
        let mut transaction = repository.begin().map_err(|error| refused(error.to_string()))?;
        let known = transaction.collection(name).map_err(|error| refused(error.to_string()))?;
        drop(transaction);
        if known.is_some() {
            return Ok(Ok(()));
        }
        loop {
            match repository.configure(name, settings) {
                Ok(number) => {
                    self.target.commit = self.target.commit.max(number);
                    return Ok(Ok(()));
                }
                Err(ConfigureError::Commit(CommitError::Overloaded(_)))
                    if begun.elapsed() < IMPORT_WAIT_MAX =>
                {
                    std::thread::sleep(Duration::from_millis(20));
                }
                Err(error @ (ConfigureError::Settings(_) | ConfigureError::Unfit { .. })) => {
                    return Ok(Err(LineError { column: None, why: error.to_string() }));
                }
                Err(error) => return Err(refused(error.to_string())),
            }
        }
    }

    /// Commits what is gathered.
    fn flush(&mut self) -> Result<(), ImportError> {
        let items = self.batch.take();
        if !items.is_empty() {
            self.commit(items)?;
            let now = self.imported_of(self.position);
            (self.tell)(&Event::Progress(&now))?;
        }
        Ok(())
    }

    fn commit(&mut self, mut items: Vec<Item>) -> Result<(), ImportError> {
        while let Some(last) = items.last() {
            let mark = last.behind;
            match self.target.commit(&items, mark, self.position) {
                Ok(position) => {
                    self.position = position;
                    return Ok(());
                }
                Err(Refusal::Fatal(error)) => return Err(error),
                Err(Refusal::TooMuch) if items.len() > 1 => {
                    let rest = items.split_off(items.len() / 2);
                    self.commit(items)?;
                    items = rest;
                }
                Err(Refusal::TooMuch) => {
                    let why = "its document has too many rows in indexes, or is too large";
                    let error = LineError { column: None, why: why.to_owned() };
                    self.leave_out(&mut items, 0, &error)?;
                }
                Err(Refusal::Item(at, error)) => self.leave_out(&mut items, at, &error)?,
            }
        }
        Ok(())
    }

    /// Commits what is before the item at `at`, which cannot be imported, and goes on behind it, if
    /// that is wished.
    fn leave_out(
        &mut self,
        items: &mut Vec<Item>,
        at: usize,
        error: &LineError,
    ) -> Result<(), ImportError> {
        let rest = items.split_off(at + 1);
        let Some(bad) = items.pop() else { return Ok(()) };
        self.commit(std::mem::replace(items, rest))?;
        let line = bad.before.lines + 1;
        if !self.target.options.keep_going {
            return Err(line_error(line, error.clone()));
        }
        self.position.bad += 1;
        (self.tell)(&Event::BadLine { line, error })?;
        Ok(())
    }

    /// Says that all is imported, and waits until that is durable.
    fn finish(mut self) -> Result<Imported, ImportError> {
        self.flush()?;
        let done = Position { is_done: true, ..self.position };
        match self.target.commit(&[], self.handled, done) {
            Ok(position) => self.position = position,
            Err(Refusal::Fatal(error)) => return Err(error),
            Err(Refusal::Item(..) | Refusal::TooMuch) => {
                unreachable!("there is nothing but the position")
            }
        }
        let durable = self.target.repository.wait_durable(self.target.commit);
        durable.map_err(|error| ImportError::Repository(error.to_string()))?;
        Ok(self.imported_of(self.position))
    }
}

fn line_error(line: u64, LineError { column, why }: LineError) -> ImportError {
    ImportError::Line { line, column, why }
}
