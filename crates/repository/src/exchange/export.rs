//! Writing an export: everything of a snapshot, line by line, in an order that depends on nothing
//! but what is in it. One that was cut off can be gone on with at the same commit.

use super::line::{self, Header, Line, Trailer};
use crate::blobs::{BlobError, PinnedBlob};
use crate::document::CommitNumber;
use crate::errors::ReadError;
use crate::exchange::position::COLLECTION as IMPORTS;
use crate::limits::IMPORT_LINE_BYTES_MAX;
use crate::name::{CollectionName, Key};
use crate::snapshot::{Snapshot, SnapshotCollection};
use std::io::{self, BufRead, Read, Write};
use thiserror::Error;

/// What of a snapshot is to be exported.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExportScope {
    /// These collections; empty: all.
    pub collections: Vec<CollectionName>,
    /// Sarsen's own collections as well: sessions, tasks, answers, secrets.
    pub system: bool,
}

/// Where an export is gone on with: behind the last whole line of a document or collection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportFrom {
    /// The commit that its first line says.
    pub commit: CommitNumber,
    /// What its first line says of the scope.
    pub scope: ExportScope,
    /// The collection of its last line, and its key, if that is a document's.
    pub last: Option<(CollectionName, Option<Key>)>,
    /// What is there.
    pub written: Trailer,
    /// How many bytes that is; what comes behind them is to be cut off.
    pub bytes: u64,
}

/// How far an export is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exporting {
    /// What was written, with what was there before.
    pub written: Trailer,
    /// The bytes of this run.
    pub bytes: u64,
    /// The collection that is written now.
    pub collection: String,
}

/// Why an export ended early.
#[derive(Debug, Error)]
pub enum ExportError {
    /// The snapshot could not be read.
    #[error("the export was cut off: {0}")]
    Read(#[from] ReadError),
    /// The content of a document could not be read.
    #[error("the export was cut off: {0}")]
    Blob(#[from] BlobError),
    /// A collection that was asked for is not there.
    #[error("there is no collection {name}; there are: {known}")]
    NoCollection {
        /// Which.
        name: CollectionName,
        /// Those that there are.
        known: String,
    },
    /// The other side has gone, or the disk is full.
    #[error("the export could not be written: {0}")]
    Write(#[from] io::Error),
    /// What was begun was of another commit.
    #[error(
        "the export was begun at commit {begun}, which is no longer kept, and the repository is at \
         {now}: an export is of one commit; begin anew, without --resume"
    )]
    Moved {
        /// The commit of what is there.
        begun: CommitNumber,
        /// The commit of the snapshot.
        now: CommitNumber,
    },
}

/// Called after each page.
pub type Tell<'a> = &'a mut dyn FnMut(&Exporting) -> io::Result<()>;

/// Writes everything of `scope` in `snapshot` to `out`: the collections by name, their documents by
/// key. With `from`, what comes behind that.
///
/// # Errors
/// [`ExportError`]. What was written is no whole export then, and importing it says so.
pub fn export(
    snapshot: &Snapshot,
    scope: &ExportScope,
    from: Option<&ExportFrom>,
    out: &mut dyn Write,
    tell: Tell<'_>,
) -> Result<Exporting, ExportError> {
    if let Some(from) = from.filter(|from| from.commit != snapshot.commit()) {
        return Err(ExportError::Moved { begun: from.commit, now: snapshot.commit() });
    }
    let collections = chosen(snapshot, scope)?;
    let mut writer = Writer { out, line: Vec::new(), at: Exporting::default() };
    match from {
        Some(from) => writer.at.written = from.written,
        None => writer.header(snapshot, scope)?,
    }
    let last = from.and_then(|from| from.last.as_ref());
    for collection in &collections {
        let mut after = None;
        match last {
            Some((name, _)) if collection.name < *name => continue,
            Some((name, key)) if collection.name == *name => after = key.clone(),
            _ => writer.collection(collection)?,
        }
        writer.documents(snapshot, collection, after, tell)?;
    }
    line::write_trailer(writer.at.written, &mut writer.line);
    writer.flush()?;
    writer.out.flush()?;
    Ok(writer.at)
}

fn chosen(
    snapshot: &Snapshot,
    scope: &ExportScope,
) -> Result<Vec<SnapshotCollection>, ExportError> {
    let mut all = snapshot.collections()?;
    // How far an import has come is nothing of what was imported.
    all.retain(|c| c.name.as_str() != IMPORTS && (scope.system || !c.name.is_system()));
    if let Some(name) = scope.collections.iter().find(|name| all.iter().all(|c| c.name != **name)) {
        let known: Vec<&str> = all.iter().map(|c| c.name.as_str()).collect();
        let (name, known) = (name.clone(), known.join(", "));
        return Err(ExportError::NoCollection { name, known });
    }
    let is_chosen = |c: &SnapshotCollection| scope.collections.contains(&c.name);
    all.retain(|c| scope.collections.is_empty() || is_chosen(c));
    Ok(all)
}

struct Writer<'a> {
    out: &'a mut dyn Write,
    /// What was not handed over yet.
    line: Vec<u8>,
    at: Exporting,
}

impl Writer<'_> {
    fn header(&mut self, snapshot: &Snapshot, scope: &ExportScope) -> io::Result<()> {
        let ExportScope { mut collections, system } = scope.clone();
        collections.sort();
        collections.dedup();
        let (commit, time) = (snapshot.commit(), snapshot.time());
        line::write_header(&Header { commit, time, collections, system }, &mut self.line);
        self.flush()
    }

    fn collection(&mut self, collection: &SnapshotCollection) -> io::Result<()> {
        line::write_collection(&collection.name, &collection.settings, &mut self.line);
        self.at.written.collections += 1;
        self.sum();
        self.flush()
    }

    fn documents(
        &mut self,
        snapshot: &Snapshot,
        collection: &SnapshotCollection,
        mut after: Option<Key>,
        tell: Tell<'_>,
    ) -> Result<(), ExportError> {
        self.at.collection = collection.name.to_string();
        loop {
            let page = snapshot.page(collection, after.as_ref())?;
            for (key, document) in &page.documents {
                line::write_document((&collection.name, key), document, &mut self.line);
                self.at.written.documents += 1;
                if let Some(blob) = snapshot.pin_blob(document)? {
                    self.blob(&blob, tell)?;
                }
            }
            self.sum();
            self.flush()?;
            tell(&self.at)?;
            if page.is_last {
                return Ok(());
            }
            after = page.documents.last().map(|(key, _)| key.clone());
        }
    }

    /// The content of the document that was written last.
    fn blob(&mut self, blob: &PinnedBlob, tell: Tell<'_>) -> Result<(), ExportError> {
        let reader = blob.open()?;
        let mut at = 0;
        while at < blob.reference().length {
            self.sum();
            self.flush()?;
            tell(&self.at)?;
            let bytes = reader.read(at)?;
            line::write_piece(at, &bytes, &mut self.line);
            self.at.written.pieces += 1;
            at += bytes.len() as u64;
        }
        Ok(())
    }

    fn sum(&mut self) {
        let checksum = &mut self.at.written.checksum;
        *checksum = crc32c::crc32c_append(*checksum, &self.line);
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.write_all(&self.line)?;
        self.at.bytes += self.line.len() as u64;
        self.line.clear();
        Ok(())
    }
}

/// Reads what is there of an export that was cut off; `None`: not even its first line.
///
/// # Errors
/// It cannot be read, is whole already, or is something else: in words.
pub fn resume_of(from: &mut dyn BufRead) -> Result<Option<ExportFrom>, String> {
    let Some((header, length)) = next_line(from)? else { return Ok(None) };
    let Ok(Line::Header(header)) = line::read(header.trim_ascii_end()) else {
        return Err("its first line is not that of an export".to_owned());
    };
    let scope = ExportScope { collections: header.collections, system: header.system };
    let mut found = ExportFrom {
        commit: header.commit,
        scope,
        last: None,
        written: Trailer::default(),
        bytes: length,
    };
    // With a document whose content has not come as a whole.
    let mut read = found.clone();
    let mut left = 0;
    while let Some((text, length)) = next_line(from)? {
        let written = &mut read.written;
        match line::read(text.trim_ascii_end()) {
            Ok(Line::Collection(name, _)) => {
                written.collections += 1;
                read.last = Some((name, None));
            }
            Ok(Line::Document(line)) => {
                written.documents += 1;
                left = line.document.blob.map_or(0, |blob| blob.length);
                read.last = Some((line.collection, Some(line.key)));
            }
            Ok(Line::Piece(piece)) => {
                written.pieces += 1;
                let bytes = piece.bytes.len() as u64;
                let rest = left.checked_sub(bytes);
                left = rest.ok_or("it holds a piece of a blob that is none")?;
            }
            Ok(Line::Trailer(_)) => return Err("it is whole; there is nothing to do".to_owned()),
            Ok(Line::Header(_)) => return Err("it holds more than one export".to_owned()),
            Err(error) => return Err(format!("a line of it cannot be read: {error}")),
        }
        written.checksum = crc32c::crc32c_append(written.checksum, &text);
        read.bytes += length;
        if left == 0 {
            found.clone_from(&read);
        }
    }
    Ok(Some(found))
}

/// A whole line with its end, and its length.
fn next_line(from: &mut dyn BufRead) -> Result<Option<(Vec<u8>, u64)>, String> {
    let mut text = Vec::new();
    let read = from.take(IMPORT_LINE_BYTES_MAX as u64 + 1).read_until(b'\n', &mut text);
    read.map_err(|error| error.to_string())?;
    if text.len() > IMPORT_LINE_BYTES_MAX {
        return Err("a line of it is too long".to_owned());
    }
    let length = text.len() as u64;
    Ok((text.last() == Some(&b'\n')).then_some((text, length)))
}
