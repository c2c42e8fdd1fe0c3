//! The one door to the storage engine: documents at rest, as of a commit number.
//!
//! The engine (an LSM tree) has no log and, as it is used here, no memtable: a checkpoint writes
//! the newest version of every document that changed since the one before, in key order, as new
//! tables that join the tree in one atomic step together with the commit number they bring it to.
//! So the tree on disk is always exactly the repository at that commit.

use crate::document::{CommitNumber, Document, Timestamp};
use crate::errors::{OpenError, ReadError};
use crate::record::{DecodeError, Reader, put_representation};
use crate::views::EngineState;
use bytes::Bytes;
use lsm_tree::config::{BlockSizePolicy, CompressionPolicy};
use lsm_tree::{
    AbstractTree, AnyIngestion, AnyTree, Cache, CompressionType, Config, DescriptorTable, Guard,
    SequenceNumberCounter, compaction,
};
use std::path::Path;
use std::sync::Arc;

/// Open files the engine keeps for its tables.
const OPEN_TABLES_MAX: usize = 256;

/// Size of a data block in a table: a point read decodes one.
const BLOCK_BYTES: u32 = 4096;

/// Prefix of rows that are not documents. Collection ids start at 1.
const SYSTEM_ID: u32 = 0;
const STATE_ROW: &[u8] = b"state";

/// A failure of the engine while writing.
#[derive(Debug, thiserror::Error)]
#[error("the storage engine could not write: {0}")]
pub(crate) struct EngineError(String);

/// What the state row says.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct StateRow {
    /// The tree holds exactly this commit and all before.
    pub commit: CommitNumber,
    /// The time of that commit; commit times never run backwards.
    pub time: Timestamp,
}

/// The tree.
pub(crate) struct Engine {
    tree: AnyTree,
    sequence: SequenceNumberCounter,
}

impl Engine {
    pub(crate) fn open(folder: &Path, cache_bytes: u64) -> Result<Self, OpenError> {
        let error = |why: String| OpenError::Engine { path: folder.to_owned(), why };
        let sequence = SequenceNumberCounter::default();
        let tree = Config::new(folder, sequence.clone(), SequenceNumberCounter::default())
            .use_cache(Arc::new(Cache::with_capacity_bytes(cache_bytes)))
            .use_descriptor_table(Some(Arc::new(DescriptorTable::new(OPEN_TABLES_MAX))))
            .data_block_size_policy(BlockSizePolicy::all(BLOCK_BYTES))
            .data_block_compression_policy(CompressionPolicy::all(CompressionType::None))
            .open()
            .map_err(|e| error(e.to_string()))?;
        // Every read must see what the files hold, so the counter starts above all of it.
        sequence.fetch_max(tree.get_highest_persisted_seqno().map_or(1, |highest| highest + 1));
        Ok(Self { tree, sequence })
    }

    /// What views read from that open now and see at least `commit`.
    pub(crate) fn state(&self, commit: CommitNumber) -> EngineState {
        EngineState { commit, sequence: self.sequence.get() }
    }

    /// The state row; zero for a new tree.
    pub(crate) fn state_row(&self) -> Result<StateRow, ReadError> {
        let key = engine_key(SYSTEM_ID, STATE_ROW);
        let Some(row) = self.tree.get(&key, self.sequence.get()).map_err(read_error)? else {
            return Ok(StateRow::default());
        };
        let mut reader = Reader::new(Bytes::copy_from_slice(&row));
        let fields = reader.u64().and_then(|commit| Ok((commit, reader.u64()?)));
        let (commit, time) = fields.map_err(decode_error)?;
        Ok(StateRow { commit: CommitNumber(commit), time: Timestamp(time) })
    }

    /// The document as of `state`.
    pub(crate) fn get(
        &self,
        state: EngineState,
        collection: u32,
        key: &str,
    ) -> Result<Option<Arc<Document>>, ReadError> {
        if state.commit == CommitNumber(0) {
            return Ok(None);
        }
        let row = self
            .tree
            .get(engine_key(collection, key.as_bytes()), state.sequence)
            .map_err(read_error)?;
        row.map(|row| decode_document(&row)).transpose()
    }

    /// Every document row as of `state`, in order, until `visit` fails.
    pub(crate) fn scan<E: From<ReadError>>(
        &self,
        state: EngineState,
        mut visit: impl FnMut(u32, &str, Document) -> Result<(), E>,
    ) -> Result<(), E> {
        let first = engine_key(SYSTEM_ID + 1, b"");
        for guard in self.tree.range(first.., state.sequence, None) {
            let (key, row) = guard.into_inner().map_err(read_error)?;
            let (id, name) = split_key(&key)?;
            let document = decode_document(&row)?;
            visit(id, name, Arc::unwrap_or_clone(document))?;
        }
        Ok(())
    }

    /// The documents of one collection as of `state`, in key order, until `visit` fails.
    pub(crate) fn scan_collection(
        &self,
        state: EngineState,
        collection: u32,
        mut visit: impl FnMut(&str, Document) -> Result<(), ReadError>,
    ) -> Result<(), ReadError> {
        let prefix = engine_key(collection, b"");
        for guard in self.tree.prefix(prefix, state.sequence, None) {
            let (key, row) = guard.into_inner().map_err(read_error)?;
            visit(split_key(&key)?.1, Arc::unwrap_or_clone(decode_document(&row)?))?;
        }
        Ok(())
    }

    /// Starts the tables of a checkpoint.
    pub(crate) fn ingest(&self, state: StateRow) -> Result<Ingest<'_>, EngineError> {
        let mut ingestion = self.tree.ingestion().map_err(write_error)?;
        let row = [state.commit.0.to_le_bytes(), state.time.0.to_le_bytes()].concat();
        ingestion.write(engine_key(SYSTEM_ID, STATE_ROW), row).map_err(write_error)?;
        Ok(Ingest { ingestion })
    }

    /// Merges tables where that pays, dropping what no view at or after `oldest` reads.
    pub(crate) fn compact(&self, oldest: EngineState) -> Result<(), EngineError> {
        let strategy = Arc::new(compaction::Leveled::default());
        self.tree.compact(strategy, oldest.sequence).map_err(write_error)?;
        let mut history = self.tree.get_version_history_lock();
        history.maintenance(&self.tree.tree_config().path, oldest.sequence).map_err(write_error)
    }

    /// Bytes of the tables on disk.
    pub(crate) fn disk_bytes(&self) -> u64 {
        self.tree.disk_space()
    }
}

/// The tables of one checkpoint, being written in key order.
pub(crate) struct Ingest<'a> {
    ingestion: AnyIngestion<'a>,
}

impl Ingest<'_> {
    /// Adds the newest version of a document, or that it is deleted.
    pub(crate) fn write(
        &mut self,
        collection: u32,
        key: &str,
        document: Option<&Document>,
    ) -> Result<(), EngineError> {
        let row_key = engine_key(collection, key.as_bytes());
        match document {
            Some(document) => self.ingestion.write(row_key, encode_document(document)),
            None => self.ingestion.write_tombstone(row_key),
        }
        .map_err(write_error)
    }

    /// Syncs the tables and adds them to the tree in one step.
    pub(crate) fn finish(self) -> Result<(), EngineError> {
        self.ingestion.finish().map_err(write_error)
    }
}

fn read_error(error: lsm_tree::Error) -> ReadError {
    ReadError::Engine(error.to_string().into())
}

fn decode_error(error: DecodeError) -> ReadError {
    ReadError::Engine(format!("a row is damaged {error}").into())
}

fn write_error(error: lsm_tree::Error) -> EngineError {
    EngineError(error.to_string())
}

/// Collection id, big-endian so that rows sort by it, then the key.
fn engine_key(collection: u32, key: &[u8]) -> Vec<u8> {
    [&collection.to_be_bytes(), key].concat()
}

fn split_key(row_key: &[u8]) -> Result<(u32, &str), ReadError> {
    let damaged = || ReadError::Engine("a row's key is damaged".into());
    let (id, key) = row_key.split_first_chunk::<4>().ok_or_else(damaged)?;
    Ok((u32::from_be_bytes(*id), std::str::from_utf8(key).map_err(|_| damaged())?))
}

fn encode_document(document: &Document) -> Vec<u8> {
    let mut row = Vec::with_capacity(32 + document.body.len());
    row.extend_from_slice(&document.version.0.to_le_bytes());
    row.extend_from_slice(&document.created.0.to_le_bytes());
    row.extend_from_slice(&document.updated.0.to_le_bytes());
    put_representation(&document.media_type, document.expires, &mut row);
    row.extend_from_slice(&document.body);
    row
}

fn decode_document(row: &[u8]) -> Result<Arc<Document>, ReadError> {
    let mut reader = Reader::new(Bytes::copy_from_slice(row));
    let mut decode = || {
        let version = CommitNumber(reader.u64()?);
        let created = Timestamp(reader.u64()?);
        let updated = Timestamp(reader.u64()?);
        let (media_type, expires) = reader.representation()?;
        let body = reader.rest();
        Ok(Arc::new(Document { media_type, body, version, created, updated, expires }))
    };
    decode().map_err(decode_error)
}
