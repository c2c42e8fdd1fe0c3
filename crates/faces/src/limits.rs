//! Every bound of the faces, with what happens when it is reached.

use std::time::Duration;

/// Reactor threads. More, or none: `ListenError::Reactors`.
pub const REACTORS_MAX: usize = 64;

/// Handlers of the application that the metrics tell of one by one; those that used the most CPU
/// time. The others are left out.
pub const HANDLERS_TOLD_MAX: usize = 50;

/// Open connections, of all reactors together. A further one is accepted and closed at once, so
/// that its client learns it now and not after a timeout.
pub const CONNECTIONS_MAX: usize = 16_384;

/// Open connections of one client: an IPv4 address or an IPv6 /64. More: as above. This machine and
/// the trusted proxies, who stand for many clients, are not counted.
pub const CONNECTIONS_PER_CLIENT_MAX: usize = 1_024;

/// Connections the kernel holds for `accept`. More: the client's connect waits or is retried.
pub const LISTEN_BACKLOG: u32 = 1_024;

/// Accepted connections on their way to one reactor. When full, `accept` waits; newcomers then
/// stay in the kernel's backlog.
pub const ARRIVALS_MAX: usize = 64;

/// Pause after `accept` failed for want of file descriptors or memory.
pub const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Request line and header fields together, in bytes. More: 431, and the connection is closed.
pub const HEADER_BYTES_MAX: usize = 32 << 10;

/// Request line and header fields in HTTP/2, as RFC 9113 §6.5.2 counts them, in bytes, up to which
/// what is more than `HEADER_BYTES_MAX` is told by a problem. More: 431 without content, which h2
/// sends by itself; more than four times as much: the connection ends.
pub const FIELD_LIST_BYTES_MAX: u32 = 2 * HEADER_BYTES_MAX as u32;

/// Header fields in one request. More: 431, and the connection is closed. It is what hyper takes
/// when it is not told: being told costs it an allocation a request.
pub const HEADER_FIELDS_MAX: usize = 100;

/// Read buffer of a connection, in bytes. A head that fills it without ending: 431. A larger body
/// comes in pieces of at most this size.
pub const READ_BUFFER_BYTES_MAX: usize = 2 * HEADER_BYTES_MAX;

/// Path and query of a request, in bytes. More: 414.
pub const URI_BYTES_MAX: usize = 8 << 10;

/// Body of one request, in bytes. More: 413, and the connection is closed.
pub const BODY_BYTES_MAX: usize = repository::limits::DOCUMENT_BYTES_MAX;

/// Content of a document that is not JSON, in bytes. More: 413, and the connection is closed.
pub const UPLOAD_BYTES_MAX: u64 = 16 << 30;

/// Bytes of it that are written together. An upload has three times as many in memory at most,
/// which count as those of other bodies do.
pub const UPLOAD_BATCH_BYTES: usize = 512 << 10;

/// Threads of one reactor that read and write the files of blobs. What is more waits its turn.
pub const DISK_THREADS_MAX: usize = 4;

/// Request bodies in the memory of one reactor together, in bytes. More: 503 with Retry-After.
pub const BODY_MEMORY_BYTES_MAX: usize = 128 << 20;

/// Time for a whole request head, and so also the time a connection may stay idle between two
/// requests. Longer: the connection is closed.
pub const HEADER_TIMEOUT: Duration = Duration::from_secs(60);

/// Time for a request body, besides the time that `BODY_BYTES_PER_S_MIN` gives to what has come.
/// Longer: 408, and the connection (HTTP/2: the stream) is closed.
pub const BODY_TIMEOUT: Duration = Duration::from_secs(60);

/// Rate at which a request body has to come in the long run, in bytes per second. Slower: as above.
pub const BODY_BYTES_PER_S_MIN: u64 = 16 << 10;

/// A stretch of time in which a client that is sent a reply must take some of it. Less than
/// `WRITE_BYTES_MIN`: the connection is closed.
pub const WRITE_STALL_TIMEOUT: Duration = Duration::from_secs(30);

/// What a client has to take of its replies in such a stretch, in bytes, or else all there is.
pub const WRITE_BYTES_MIN: usize = 64 << 10;

/// The same while the replies in flight fill more than half of `REPLY_MEMORY_BYTES_MAX`.
pub const WRITE_CROWDED_BYTES_MIN: usize = 1 << 20;

/// Replies in flight of one reactor together, in bytes. More: a GET or HEAD is a 503 with
/// Retry-After. The reply to what has changed something is sent all the same; with twice as many,
/// what might change something is a 503 and changes nothing.
pub const REPLY_MEMORY_BYTES_MAX: usize = 256 << 20;

/// Replies up to this size, in bytes, are not counted there.
pub const REPLY_UNCOUNTED_BYTES_MAX: usize = 4 << 10;

/// What a reply that comes in pieces is counted as from when it is admitted, besides its pieces and
/// the checksums of a blob, in bytes.
pub const REPLY_ADMITTED_BYTES: usize = 4 << 10;

/// First piece of a blob that is sent while the replies in flight fill more than half of
/// `REPLY_MEMORY_BYTES_MAX`, in bytes. Each further one is twice as long as the one before, up to
/// `REPLY_PIECE_BYTES_MAX`.
pub const REPLY_PIECE_BYTES_MIN: usize = 16 << 10;

/// Otherwise, and at most: what a blob is verified by.
pub const REPLY_PIECE_BYTES_MAX: usize = 256 << 10;

/// Streams of one HTTP/2 connection at the same time. More: the stream is refused
/// (REFUSED_STREAM), and its client may try again.
pub const STREAMS_MAX: u32 = 128;

/// What a client may send on one stream before the server has taken it, in bytes. More: the
/// connection ends with FLOW_CONTROL_ERROR.
pub const STREAM_WINDOW_BYTES: u32 = 256 << 10;

/// The same for all streams of a connection together.
pub const CONNECTION_WINDOW_BYTES: u32 = 512 << 10;

/// What waits in one stream for the client to make room for it, in bytes. More of a reply is handed
/// over only when some of that was taken.
pub const STREAM_SEND_BYTES_MAX: usize = 64 << 10;

/// The last piece of a reply on a stream, up to this size in bytes, may wait for its client as long
/// as the connection lives. A longer one counts as a reply that is taken, or not.
pub const REPLY_UNWATCHED_BYTES_MAX: usize = 1 << 10;

/// Requests that a client may take back before the server has seen them, on one HTTP/2 connection
/// at a time. More: the connection ends with ENHANCE_YOUR_CALM (CVE-2023-44487).
pub const STREAMS_RESET_UNSEEN_MAX: usize = 20;

/// Requests of one HTTP/2 connection that its client took back while they were being answered, less
/// those answered since. More: the connection is closed.
pub const STREAMS_ABANDONED_MAX: usize = 100;

/// Streams of one HTTP/2 connection that end because the client broke the protocol. More: the
/// connection ends with ENHANCE_YOUR_CALM.
pub const STREAM_ERRORS_MAX: usize = 100;

/// Time after which the client of an HTTP/2 connection that says nothing is asked whether it is
/// still there.
pub const PING_INTERVAL: Duration = Duration::from_secs(30);

/// Time for the answer. Longer: the connection is closed.
pub const PING_TIMEOUT: Duration = Duration::from_secs(20);

/// Time for a TLS handshake. Longer: the connection is closed.
pub const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);

/// TLS handshakes of one reactor at the same time. More: the one that has taken longest is given up
/// and its connection closed.
pub const HANDSHAKES_MAX: usize = 256;

/// A file with a certificate or a key, in bytes. Larger: refused at the start; later, the
/// certificate from before stays.
pub const TLS_FILE_BYTES_MAX: usize = 1 << 20;

/// How often the certificate's files are looked at. A change counts when the files have looked the
/// same twice.
pub const CERTIFICATE_WATCH_INTERVAL: Duration = Duration::from_secs(1);

/// A certificate that expires within this time is warned about when it is read.
pub const CERTIFICATE_SOON: Duration = Duration::from_secs(7 * 86_400);

/// Networks of trusted proxies. More: refused at the start.
pub const TRUSTED_PROXIES_MAX: usize = 64;

/// Hops of a request that are looked at. A request that came through more trusted proxies counts as
/// coming from the last one looked at.
pub const FORWARDED_HOPS_MAX: usize = 32;

/// Time for which a connection (HTTP/2: a stream) whose request was not read to its end goes on
/// being read after the reply, so that the reply is not lost to a reset (RFC 9112 §9.6). Then it is
/// closed.
pub const LINGER_TIMEOUT: Duration = Duration::from_secs(2);

/// Bytes read and dropped in that time. More: closed.
pub const LINGER_BYTES_MAX: usize = BODY_BYTES_MAX;

/// JSON up to this size is parsed on the reactor. More goes to another thread, because it would
/// hold up the reactor's other connections.
pub const INLINE_JSON_BYTES_MAX: usize = 64 << 10;

/// Operations in one patch. More: 400.
pub const PATCH_OPERATIONS_MAX: usize = 1_000;

/// Bytes that the operations of one JSON Patch look at together: each looks at all of the document.
/// More: 422.
pub const PATCH_WORK_BYTES_MAX: usize = 1 << 30;

/// The same for all JSON Patches of one list of `/tx`, and for merge patches there, each of which
/// looks at its document once. More: 422.
pub const STEPS_WORK_BYTES_MAX: usize = PATCH_WORK_BYTES_MAX;

/// Bytes of document that the merge operations of one request, or of one list, work on together:
/// each works on all of the document, and again in the commit, which others wait for. More: 422.
pub const MERGE_WORK_BYTES_MAX: usize = 16 << 20;

/// What patches may look at, and merge operations work on, on the reactor. More goes to another
/// thread.
pub const INLINE_WORK_BYTES_MAX: usize = 1 << 20;

/// Bytes of the documents that the results of one list show together. More: 422.
pub const STEPS_SHOWN_BYTES_MAX: usize = 2 * repository::limits::DOCUMENT_BYTES_MAX;

/// Versions of a document in one list of them. More: 400.
pub const VERSIONS_LISTED_MAX: usize = 1_000;

/// Operations in one list of `/tx`. More: 400.
pub const STEPS_MAX: usize = 1_000;

/// A list with more operations than this runs on another thread than the reactor's.
pub const INLINE_STEPS_MAX: usize = 32;

/// Bytes of an Idempotency-Key. More: 400.
pub const IDEMPOTENCY_KEY_BYTES_MAX: usize = 255;

/// Bytes of an answer that is remembered for an Idempotency-Key. More: 422.
pub const ANSWER_BYTES_MAX: usize = 1 << 20;

/// Time for which an answer is remembered. After that, the same request runs again.
pub const ANSWER_AGE_MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// Bytes of a key that is made from Slug, before a suffix. More are cut off.
pub const SLUG_BYTES_MAX: usize = 200;

/// Origins that pages may come from. More: the server does not start.
pub const CORS_ORIGINS_MAX: usize = 64;

/// Time for which a browser may remember the answer to a preflight, in seconds.
pub const CORS_MAX_AGE_S: u64 = 600;

/// Threads of one reactor for contended transactions and large JSON. More such requests wait their
/// turn; they are at most as many as there are connections.
pub const BLOCKING_THREADS_MAX: usize = 4;

/// What a 503 that is worth trying again says in Retry-After, in seconds.
pub const RETRY_AFTER_S: u64 = 1;

/// Tokens of one data folder. More: `sarsen token create` refuses.
pub const TOKENS_MAX: usize = 1_024;

/// Collection patterns of one token. More, or none: refused when it is made.
pub const TOKEN_PATTERNS_MAX: usize = 32;

/// Name of a token, in bytes. More: refused when it is made.
pub const TOKEN_NAME_BYTES_MAX: usize = 100;

/// The file of tokens, in bytes; as many of the largest tokens fit as there may be. More: it is
/// refused, at the start of a server and by `sarsen token`; a running server keeps what it knew.
pub const TOKEN_FILE_BYTES_MAX: u64 = 8 << 20;

/// How often a running server looks whether the tokens have changed, and whether commits become
/// durable.
pub const WATCH_EVERY: Duration = Duration::from_millis(200);

/// Refused tokens that an address may send at once. More: 429 with Retry-After, until it has
/// another. A valid token is never held back.
pub const REFUSALS_MAX: u32 = 10;

/// Time after which an address may send one more.
pub const REFUSAL_REFILL: Duration = Duration::from_secs(10);

/// Addresses whose refusals are counted one by one. Those for which there is no room share the
/// allowance of one.
pub const REFUSED_ADDRESSES_MAX: usize = 4_096;

/// X-Request-Id that is passed on, in bytes. A longer one is ignored.
pub const REQUEST_ID_BYTES_MAX: usize = 128;

/// Lines of the access log that a reactor keeps before it hands them over, in bytes.
pub const ACCESS_LOG_BUFFER_BYTES: usize = 32 << 10;

/// Buffers on their way to the access log. More: their lines are dropped, counted in the metrics
/// and said in the log.
pub const ACCESS_LOG_BUFFERS_MAX: usize = 64;

/// How often the access log is looked after when nothing comes: whether its file was moved, and
/// whether lines were dropped.
pub const ACCESS_LOG_LOOK_EVERY: Duration = Duration::from_millis(500);

/// Time in which some commit must have become durable while any wait. Longer: `/readyz` is 503.
pub const DURABLE_STALL_MAX: Duration = Duration::from_secs(5);

const _: () = assert!(WATCH_EVERY.as_millis() < 1_000);
const _: () = assert!(URI_BYTES_MAX < HEADER_BYTES_MAX);
const _: () = assert!(HEADER_BYTES_MAX < READ_BUFFER_BYTES_MAX);
const _: () = assert!(BODY_BYTES_MAX < BODY_MEMORY_BYTES_MAX);
const _: () = assert!(UPLOAD_BYTES_MAX <= repository::limits::BLOB_BYTES_MAX);
const _: () = assert!(BODY_BYTES_MAX < REPLY_MEMORY_BYTES_MAX / 2);
const _: () = assert!(REPLY_UNCOUNTED_BYTES_MAX < STREAM_SEND_BYTES_MAX);
const _: () = assert!(REPLY_PIECE_BYTES_MIN <= STREAM_SEND_BYTES_MAX);
const _: () = assert!(REPLY_PIECE_BYTES_MAX.is_multiple_of(REPLY_PIECE_BYTES_MIN));
const _: () = assert!(REPLY_UNWATCHED_BYTES_MAX < REPLY_UNCOUNTED_BYTES_MAX);
const _: () = assert!(STREAM_SEND_BYTES_MAX >= WRITE_BYTES_MIN);
const _: () = assert!(STREAM_WINDOW_BYTES <= CONNECTION_WINDOW_BYTES);
const _: () = assert!(STEPS_MAX <= repository::limits::TRANSACTION_WRITES_MAX);
const _: () = assert!(PATCH_OPERATIONS_MAX <= repository::limits::MERGES_MAX);
const _: () = assert!(ANSWER_BYTES_MAX < repository::limits::DOCUMENT_BYTES_MAX);
const _: () = assert!(SLUG_BYTES_MAX + 32 < repository::limits::KEY_BYTES_MAX);
const _: () = assert!(IDEMPOTENCY_KEY_BYTES_MAX < repository::limits::KEY_BYTES_MAX);
const _: () = assert!(ARRIVALS_MAX < CONNECTIONS_MAX);

/// Collections of one page of the list of collections. A larger `limit`: 400.
pub const COLLECTIONS_MAX: usize = 1_000;

/// Collections that are passed over on the reactor for one page, since its asker may not read them.
/// More: it moves to another thread.
pub const COLLECTIONS_PASSED_INLINE_MAX: usize = 1_000;

/// Collections of a page where the request does not say.
pub const COLLECTIONS_DEFAULT: usize = 100;

const _: () = assert!(ATOM_PAGE < ATOM_PAGE_MAX && ATOM_PAGE_MAX <= ATOM_FEED_MAX);
const _: () = assert!(ATOM_BASE_BYTES_MAX > wire::limits::XML_BASE_BYTES_MAX);
const _: () = assert!(ATOM_RENDERED_ONE_BYTES_MAX <= ATOM_RENDERED_BYTES_MAX / 4);
const _: () = assert!(PUBLICATION_DELETED_AT_ONCE <= repository::limits::TRANSACTION_WRITES_MAX);
const _: () = assert!(query::limits::CURSOR_CHARS_MAX < URI_BYTES_MAX);
const _: () = assert!(query::limits::FILTER_BYTES_MAX < URI_BYTES_MAX);

/// Pages that may wait for news of edits at once. More: the client gets 503, and asks again.
pub const LIVE_WAITERS_MAX: usize = 64;

/// Longest time that a page is kept waiting for news of edits. Then it asks again.
pub const LIVE_HOLD: Duration = Duration::from_secs(15);

/// After this time a page asks again, and one that finds no server does so, too.
pub const LIVE_RETRY: Duration = Duration::from_millis(100);

/// Streams of the feed at once. More: 503.
pub const FEED_READERS_MAX: usize = 256;

/// Bytes of a document, or of one document's merge operations, that the feed tells. Of larger ones
/// it tells the size.
pub const FEED_DOCUMENT_BYTES_MAX: usize = 64 << 10;

/// Bytes of documents and operations that one event of the feed tells. Of those that come after it
/// tells the size; each change is told.
pub const FEED_EVENT_BYTES_MAX: usize = 1 << 20;

/// A piece of a stream takes no further event once it has so many bytes; one piece waits for the
/// connection.
pub const FEED_PIECE_BYTES: usize = 64 << 10;

/// Bytes of events that are kept for other streams that tell them. More: the oldest go, and are
/// made again where they are wanted.
pub const FEED_MEMORY_BYTES_MAX: usize = 8 << 20;

/// How often a stream says where it is, or that it lives, and whether whoever reads still may is
/// looked at.
pub const FEED_POSITION_EVERY: Duration = Duration::from_secs(5);

/// Batches of the log, of about 1 MiB each, that a page of the feed looks through for commits that
/// it tells. More: the page is empty, and says that there is more.
pub const FEED_PAGE_BATCHES_MAX: usize = 8;

/// Collections that one stream or page names. More: 400.
pub const FEED_COLLECTIONS_MAX: usize = 32;

/// Members on a page of a collection or feed that does not say how many.
pub const ATOM_PAGE: usize = 25;

/// Most members on a page. More are asked for: 400.
pub const ATOM_PAGE_MAX: usize = 100;

/// Entries of a page or feed, in bytes as they are stored. The page ends before the one that would
/// make it more, and its `next` begins there; one entry is always on it.
pub const ATOM_PAGE_BYTES_MAX: usize = 4 << 20;

/// Most entries of a feed that is asked for without a number: it reaches back to where its archive
/// begins. Where that takes more, the newest part of the archive is still being written, and the
/// feed says so by its link.
pub const ATOM_FEED_MAX: usize = 200;

/// Entries that are looked at for the beginning of a part of the archive, of which there is one
/// among 32. Beyond, the archive is not told: so many without one do not happen.
pub const ATOM_ARCHIVE_SCANNED_MAX: usize = 4_096;

/// What was written for readers and is kept to be sent again, in bytes. More: what was not asked
/// for the longest goes, and is written again when it is wanted.
pub const ATOM_RENDERED_BYTES_MAX: usize = 32 << 20;

/// The largest document for readers that is kept, in bytes. Larger: it is written each time.
pub const ATOM_RENDERED_ONE_BYTES_MAX: usize = 4 << 20;

/// Smallest document for readers that is compressed, in bytes.
pub const ATOM_CODED_BYTES_MIN: usize = 512;

/// Longest base, in bytes, that references in HTML are resolved by on pages. Where it is longer
/// they lead nowhere, since each would repeat it.
pub const ATOM_BASE_BYTES_MAX: usize = 4 << 10;

/// Elements within each other of HTML on pages. Deeper ones leave what is in them.
pub const ATOM_HTML_DEPTH_MAX: usize = 100;

/// Documents of a publication that one transaction deletes when it is deleted. The rest is for the
/// next.
pub const PUBLICATION_DELETED_AT_ONCE: usize = 1_000;

/// Largest content, in bytes, of an entry or publication that is read on the reactor. Larger: on
/// another thread.
pub const ATOM_INLINE_BYTES_MAX: usize = 64 << 10;

/// Names that are tried for a member or publication: the wish, then the wish with numbers. When all
/// are taken it gets a name that was drawn.
pub const ATOM_SUFFIXES_MAX: u32 = 10;

/// How long it is known of a member that it was deleted: a year. Later it is 404 instead of 410,
/// and gone from the feed of changes.
pub const ATOM_GONE_KEPT_MS: u64 = 365 * 24 * 60 * 60 * 1_000;

/// Publications in the service document and the OPML of all. Others, in the order of their names,
/// are not told there; they are as they were.
pub const PUBLICATIONS_TOLD_MAX: usize = repository::limits::RANGE_DOCUMENTS_MAX;

/// Longest name of a publication, in bytes. A longer title is cut off for it.
pub const PUBLICATION_NAME_BYTES_MAX: usize = 64;

/// Longest title, subtitle, author or language of a publication, in bytes. Longer: 422.
pub const PUBLICATION_TEXT_BYTES_MAX: usize = 4 << 10;

/// Media ranges that a refusal lists, in a field. There may be more.
pub const ACCEPTS_TOLD_MAX: usize = 20;

/// Categories that a publication lists, and media ranges that it takes. More: 422.
pub const PUBLICATION_CATEGORIES_MAX: usize = 1_000;
