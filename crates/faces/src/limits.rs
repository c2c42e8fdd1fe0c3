//! Every bound of the faces, with what happens when it is reached.

use std::time::Duration;

/// Reactor threads. More, or none: `ListenError::Reactors`.
pub const REACTORS_MAX: usize = 64;

/// Open connections, of all reactors together. A further one is accepted and closed at once, so
/// that its client learns it now and not after a timeout.
pub const CONNECTIONS_MAX: usize = 10_000;

/// Connections the kernel holds for `accept`. More: the client's connect waits or is retried.
pub const LISTEN_BACKLOG: u32 = 1_024;

/// Accepted connections on their way to one reactor. When full, `accept` waits; newcomers then
/// stay in the kernel's backlog.
pub const ARRIVALS_MAX: usize = 64;

/// Pause after `accept` failed for want of file descriptors or memory.
pub const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Request line and header fields together, in bytes. More: 431, and the connection is closed.
pub const HEADER_BYTES_MAX: usize = 32 << 10;

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

/// Request bodies in the memory of one reactor together, in bytes. More: 503 with Retry-After.
pub const BODY_MEMORY_BYTES_MAX: usize = 128 << 20;

/// Time for a whole request head, and so also the time a connection may stay idle between two
/// requests. Longer: the connection is closed.
pub const HEADER_TIMEOUT: Duration = Duration::from_secs(60);

/// Time for a whole request body. Longer: 408, and the connection is closed.
pub const BODY_TIMEOUT: Duration = Duration::from_secs(60);

/// Time in which a client that is sent a reply must take some of it. Longer: the connection is
/// closed.
pub const WRITE_STALL_TIMEOUT: Duration = Duration::from_secs(30);

/// Time for which a connection whose request was not read to its end goes on being read after the
/// reply, so that the reply is not lost to a reset (RFC 9112 §9.6). Then it is closed.
pub const LINGER_TIMEOUT: Duration = Duration::from_secs(2);

/// Bytes read and dropped in that time. More: closed.
pub const LINGER_BYTES_MAX: usize = BODY_BYTES_MAX;

/// JSON up to this size is parsed on the reactor. More goes to another thread, because it would
/// hold up the reactor's other connections.
pub const INLINE_JSON_BYTES_MAX: usize = 64 << 10;

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
const _: () = assert!(ARRIVALS_MAX < CONNECTIONS_MAX);
