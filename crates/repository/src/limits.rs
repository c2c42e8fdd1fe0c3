//! Every bound of the repository, with what happens when it is reached.

use std::time::Duration;

/// Longest collection name, in bytes. Longer: `NameError::Collection`.
pub const COLLECTION_NAME_BYTES_MAX: usize = 64;

/// Most collections, indexes counted as well: each takes some memory for as long as the repository
/// is open. More: `CommitError::TooManyCollections`; nothing was committed.
pub const COLLECTIONS_MAX: usize = 10_000;

/// Longest key, in bytes of UTF-8. Longer: `NameError::Key`.
pub const KEY_BYTES_MAX: usize = 512;

/// Largest document body, in bytes. Larger: `StageError::DocumentTooLarge`.
pub const DOCUMENT_BYTES_MAX: usize = 8 << 20;

/// Most bytes of content that is not JSON in a document itself, where it comes by a `BlobWriter`.
/// More: it is a blob.
pub const DOCUMENT_INLINE_BYTES_MAX: usize = 64 << 10;

/// Largest blob, in bytes. Larger, or larger than whoever writes it allows: `BlobError::TooLarge`.
pub const BLOB_BYTES_MAX: u64 = 64 << 30;

/// Most blobs that are written at once. More: `BlobError::TooManyWriters`.
pub const BLOB_WRITERS_MAX: usize = 256;

/// Blobs without a name that are remembered one by one. More: all are forgotten, and found again by
/// looking at every file.
pub const BLOBS_UNNAMED_MAX: usize = 65_536;

/// Blobs that one round of background work looks at. More wait for the next.
pub const BLOBS_LOOKED_AT_MAX: usize = 64;

/// Blobs that are kept for the log alone, in number. More: those go whose names went first. Fewer
/// than are remembered without a name.
pub const BLOBS_KEPT_MAX: usize = 32_768;

const _: () = assert!(BLOBS_KEPT_MAX < BLOBS_UNNAMED_MAX);

/// How long, in milliseconds, a blob is kept for the log alone, unless somebody holds that: backups
/// are made more often. Then it goes.
pub const BLOB_KEPT_MS: u64 = 86_400 * 1_000;

const _: () = assert!(DOCUMENT_INLINE_BYTES_MAX <= DOCUMENT_BYTES_MAX);

/// Longest media type, in bytes. Longer: `StageError::MediaTypeTooLong`.
pub const MEDIA_TYPE_BYTES_MAX: usize = 255;

/// Most writes in one transaction. More: `StageError::TooManyWrites`.
pub const TRANSACTION_WRITES_MAX: usize = 10_000;

/// Most reads noted by one transaction, values of unique indexes included. More:
/// `ReadError::TooManyReads`.
pub const TRANSACTION_READS_MAX: usize = 100_000;

/// Most ranges among them, those that tell whether a value is unique not counted. More:
/// `ReadError::TooManyReads`.
pub const TRANSACTION_RANGES_MAX: usize = 1_000;

/// Most rows of indexes that one transaction may come to add and remove: those of the documents
/// that it stages, and of the documents in their place. More: `StageError::TooManyRows`, and the
/// transaction goes on without the write. The reaper leaves what is more for its next commit.
pub const TRANSACTION_ROWS_MAX: usize = 200_000;

/// Most bytes of documents that one transaction reads, by key, in ranges, and in the place of what
/// it stages; what it reads twice counts twice. They may have to stay in memory until it ends.
/// More: `ReadError::TooManyBytes`.
pub const TRANSACTION_READ_BYTES_MAX: usize = 128 << 20;

/// Most bytes in the record of one transaction. More: `StageError::TransactionTooLarge`.
pub const TRANSACTION_BYTES_MAX: usize = 32 << 20;

/// Longest path of a merge operation, in bytes. Longer: `StageError::MergePathTooLong`.
pub const MERGE_PATH_BYTES_MAX: usize = 4096;

/// Most merge operations that one transaction stages on one document; additions of whole numbers
/// at the same path count as one. More: `StageError::TooManyMerges`.
pub const MERGES_MAX: usize = 1_000;

/// Bytes of documents that a transaction keeps so that merge operations need not be resolved anew.
/// More: those kept are let go, and found out again where they are wanted.
pub const RESOLVED_BYTES_MAX: usize = 32 << 20;

/// Deepest nesting of arrays and objects in a JSON document. Deeper: `json::Error`.
pub const JSON_DEPTH_MAX: usize = 128;

/// Most different names of members in a document that have one hash in the JavaScript engine. More:
/// `StageError::NamesAlike`. Of a million names that nobody has chosen for it, 12 have.
pub const NAMES_ALIKE_MAX: usize = 16;

/// Texts of fewer bytes are not looked at for such names: all that they hold cost nothing.
pub const NAMES_TEXT_BYTES_MIN: usize = 256;

/// Different names that are compared with each other. Those after them are among themselves.
pub const NAMES_WINDOW: usize = 1 << 16;

const _: () = assert!(NAMES_WINDOW.is_power_of_two());

/// Most places within one document that a conflict names. More are not named.
pub const CONTESTED_PATHS_MAX: usize = 16;

/// Most indexes of one collection. More: `SettingsError::TooManyIndexes`.
pub const INDEXES_MAX: usize = 32;

/// Longest name of an index, in bytes. Longer: `IndexDefinitionError::Name`.
pub const INDEX_NAME_BYTES_MAX: usize = 64;

/// Most paths of one index. More: `IndexDefinitionError::PathCount`.
pub const INDEX_PATHS_MAX: usize = 8;

/// Longest path of an index, in bytes. Longer: `IndexDefinitionError::PathTooLong`.
pub const INDEX_PATH_BYTES_MAX: usize = 1024;

/// Most bytes that the encoded values of one index row take. More: `IndexError::TooLong`.
pub const INDEX_VALUE_BYTES_MAX: usize = 1024;

/// Most rows that one document has in one index. More: `IndexError::TooManyRows`.
pub const INDEX_ROWS_MAX: usize = 1_000;

/// Bytes handed to the tranlog's writer and not yet written. More: `CommitError::Overloaded`;
/// nothing was committed and the caller may try again.
pub const UNSYNCED_BYTES_MAX: usize = 128 << 20;

/// Longest time, in milliseconds, that a commit of durability `written` stays in the log without a
/// sync. Reached: the writer syncs the log, whatever else it has to do.
pub const WRITTEN_SYNC_MS: u64 = 1_000;

/// Optimistic tries of a transaction before it enters the serial lane.
pub const OPTIMISTIC_TRIES: u32 = 4;

/// Smallest `--memory`, in bytes. Less: `OpenError::MemoryTooSmall`.
pub const MEMORY_BYTES_MIN: u64 = 32 << 20;

/// Segments left from earlier openings with which opening writes a checkpoint at once: each opening
/// begins a segment, so a server that is killed again and again must not collect them.
pub const SEGMENTS_BEFORE_CHECKPOINT: usize = 4;

/// Bytes of the log that are kept for those who read it, unless the operator says otherwise
/// (`--retain`): beyond what recovery needs, and at least. More: the oldest segments are used again
/// or removed, and who had not read them gets `LogError::Gone`.
pub const RETAIN_BYTES: u64 = 256 << 20;

/// Bytes of the newest records that are kept in memory while somebody reads the log. Older ones
/// are read from the disk.
pub const RECENT_LOG_BYTES: usize = 8 << 20;

const _: () = assert!(MERGE_PATH_BYTES_MAX <= u16::MAX as usize);
const _: () = assert!(MERGES_MAX <= u16::MAX as usize);
const _: () = assert!(DOCUMENT_BYTES_MAX < TRANSACTION_BYTES_MAX);
const _: () = assert!(TRANSACTION_BYTES_MAX < UNSYNCED_BYTES_MAX);

/// Longest wait for the serial lane before a transaction that was held back tries again.
pub const LANE_WAIT_MAX_MS: u64 = 1_000;

/// Tries in the serial lane with documents reserved one by one, and then as many with everything
/// reserved, of which only the first can still lose to a commit that was under way. More:
/// `CommitError::NoProgress`.
pub const LANE_TRIES: u32 = 3;

/// Bytes of tranlog, those that were replayed at opening included, after which a checkpoint is
/// written: bounds the time that recovery takes.
pub const CHECKPOINT_LOG_BYTES: u64 = 256 << 20;

/// Changes of a collection that are kept to check ranges against. A view that is older than the
/// oldest of them is checked against every document in its range instead.
pub const RECENT_CHANGES: usize = 16_384;

/// Most documents that one read of a range gives. A larger limit is taken for this one.
pub const RANGE_DOCUMENTS_MAX: usize = 10_000;

/// Longest time that a view may hold back versions, in milliseconds. Longer:
/// `ReadError::ViewTooOld`, `CommitError::ViewTooOld`.
pub const VIEW_AGE_MAX_MS: u64 = 5 * 60 * 1_000;

/// The same while memory is short.
pub const VIEW_AGE_MAX_UNDER_PRESSURE_MS: u64 = 30 * 1_000;

/// Documents that the table of conflicts counts one by one. One more takes the place of the one
/// with the fewest (Metwally, Agrawal and El Abbadi 2005: its count is an upper bound then).
pub const CONTENTION_DOCUMENTS_MAX: usize = 256;

/// Expired documents that one background commit removes. More wait for the next.
pub const REAP_DOCUMENTS_MAX: usize = 500;

/// Documents that one commit of the building of an index passes.
pub const BUILD_DOCUMENTS_MAX: usize = 250;

/// Rows that such a commit adds, unless one document alone has more. The documents that have what
/// is more wait for the next.
pub const BUILD_ROWS_MAX: usize = 10_000;

/// Most versions that a collection's history keeps of a document by their number. More:
/// `SettingsError::Value`.
pub const HISTORY_VERSIONS_MAX: u64 = 1_000;

/// Documents with new versions that wait for their histories to be trimmed, for each collection.
/// More: all of the collection's history is looked through instead.
pub const HISTORY_WAITING_MAX: usize = 10_000;

/// Rows of histories that one background commit removes. More wait for the next.
pub const TRIM_ROWS_MAX: usize = 1_000;

/// Bytes of the documents that one background commit reads, unless one alone has more. More wait
/// for the next.
pub const BACKGROUND_BYTES_MAX: usize = 16 << 20;

const _: () = assert!(INDEXES_MAX * INDEX_ROWS_MAX <= TRANSACTION_READS_MAX);
const _: () = assert!(INDEXES_MAX * INDEX_ROWS_MAX + BUILD_ROWS_MAX <= TRANSACTION_ROWS_MAX);
const _: () = assert!(BACKGROUND_BYTES_MAX + DOCUMENT_BYTES_MAX <= TRANSACTION_READ_BYTES_MAX);

/// Numbers that opening skips where there are volatile collections, so that none is given twice.
/// Half as many commits after the last one that the log was told of, which the loss of power may
/// take back: `CommitError::Overloaded`.
pub const VOLATILE_COMMITS_MAX: u64 = 1 << 24;

/// Bytes that are to stay free on the disk of the data folder, unless another number is given:
/// segments for what was accepted, a checkpoint and a merge. Less: `CommitError::NoSpace`, except
/// for what only removes; nothing was committed.
pub const RESERVE_BYTES: u64 = 256 << 20;

/// So many times less than the reserve must be free beyond it before writes are taken again.
pub const RESERVE_MARGIN_DIVISOR: u64 = 16;

/// How often, in milliseconds, a log that waits for room for a segment looks for it. Nothing of
/// what waits is lost, and commits are refused meanwhile: `CommitError::NoSpace`.
pub const SPACE_LOOK_MS: u64 = 100;

/// How often, in milliseconds, the log is told how far volatile commits have taken the numbers.
pub const VOLATILE_MARK_MS: u64 = 1_000;

/// Most documents in a page of a snapshot. More wait for the next page.
pub const SNAPSHOT_PAGE_DOCUMENTS_MAX: usize = 1_024;

/// Bytes of bodies after which a page of a snapshot ends. The rest waits for the next page.
pub const SNAPSHOT_PAGE_BYTES: usize = 1 << 20;

/// Longest line of an import, in bytes: the largest document in Base64, with all that stands beside
/// it. Longer: the line cannot be imported.
pub const IMPORT_LINE_BYTES_MAX: usize = 16 << 20;

const _: () = assert!(IMPORT_LINE_BYTES_MAX > DOCUMENT_BYTES_MAX / 3 * 4 + (64 << 10));

/// Most documents in a transaction of an import. More wait for the next.
pub const IMPORT_BATCH_DOCUMENTS: usize = 1_000;

/// Bytes of documents after which a transaction of an import takes no more.
pub const IMPORT_BATCH_BYTES: usize = 4 << 20;

const _: () = assert!(IMPORT_BATCH_DOCUMENTS < TRANSACTION_WRITES_MAX);
const _: () = assert!(IMPORT_BATCH_BYTES + DOCUMENT_BYTES_MAX < TRANSACTION_BYTES_MAX);

/// For how long an import tries again while commits are refused because the disk is behind.
/// Longer: it ends, and can be gone on with.
pub const IMPORT_WAIT_MAX: Duration = Duration::from_secs(120);

/// For how long it is remembered, in milliseconds, how far an import has come that was cut off.
/// Then it begins anew.
pub const IMPORT_POSITION_KEPT_MS: u64 = 30 * 86_400 * 1_000;

/// For how long it is remembered, in milliseconds, that an import is done: until then it is not
/// done again unless that is asked for.
pub const IMPORT_DONE_KEPT_MS: u64 = 86_400 * 1_000;

/// Bytes of a file of a backup, or of the archive, after which it takes nothing more: what is read
/// at once to restore it.
pub const BACKUP_FILE_BYTES: usize = 16 << 20;

/// Most bytes of a file of a backup that is read. Larger: `BackupFolderError::Damaged`.
pub const BACKUP_FILE_READ_BYTES_MAX: u64 = 64 << 20;

const _: () = assert!(
    (BACKUP_FILE_BYTES + TRANSACTION_BYTES_MAX) as u64 + (4 << 20) < BACKUP_FILE_READ_BYTES_MAX
);

/// Bytes of documents in memory with which a restore writes what it has applied to the engine.
pub const RESTORE_MEMORY_BYTES: usize = 64 << 20;

/// How long, in milliseconds, the archive lets records gather before it writes them: what the loss
/// of the data folder may cost. More than half a mebibyte are written at once.
pub const ARCHIVE_WRITE_MS: u64 = 500;
