//! Every bound of the memcached face, with what happens when it is reached.

use std::time::Duration;

/// Most threads that serve connections. More: refused as a usage error.
pub const THREADS_MAX: usize = 64;

/// Connections that may be open. More: told so in memcached's words and closed at once.
pub const CONNECTIONS_MAX: usize = 16_384;

/// Connections that may wait to be accepted. More: the kernel makes clients try again.
pub const LISTEN_BACKLOG: i32 = 1_024;

/// Pause after an accept that failed for want of descriptors or memory.
pub const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Bytes that are received at once, into memory that a thread's connections share.
pub const RECEIVE_BYTES: usize = 64 << 10;

/// Answers that may gather before they are sent, in bytes. More: the commands after them, or the
/// keys after them in a long `get`, wait until the client has taken what there is.
pub const ANSWERS_BYTES_MAX: usize = 256 << 10;

/// Answers of one connection that wait for a commit to become durable, in bytes. More: nothing
/// further is received from it until then.
pub const HELD_BYTES_MAX: usize = ANSWERS_BYTES_MAX;

/// Memory of all connections together for what was received and is not carried out yet, and for
/// answers that clients do not take, in bytes; or four of the largest values, if that is more. At
/// the bound a value that is not there yet is refused ("out of memory storing object"), and a
/// connection that has to keep more than [`KEPT_BYTES_FREE`] is closed.
pub const KEPT_BYTES_MAX: usize = 64 << 20;

/// What one connection may keep whatever the others do, in bytes: a command with a small value.
pub const KEPT_BYTES_FREE: usize = 16 << 10;

/// Largest value that is waited for whatever the others keep, in bytes.
pub const VALUE_BYTES_FREE: usize = 4 << 10;

/// Events that are taken from the kernel at once. More wait for the next time.
pub const EVENTS_MAX: usize = 256;

/// Longest file of user names and passwords, in bytes. Longer: the server does not start.
pub const AUTH_FILE_BYTES_MAX: u64 = 64 << 10;

/// Most lines of that file. More: the server does not start.
pub const AUTH_USERS_MAX: usize = 64;

/// Longest name and password together that a client may send, in bytes. Longer: told that they are
/// malformed, and closed.
pub const AUTH_BYTES_MAX: usize = 1_024;

/// Items that `stats sizes` looks at. More: it says that it was cut.
pub const SIZES_ITEMS_MAX: usize = 1_000_000;

/// Answer of `stats cachedump`, in bytes. Longer: cut, as memcached's is at 2 MiB.
pub const DUMP_BYTES_MAX: usize = 1 << 20;

/// Documents that one transaction of `flush_all` removes. More are removed by further ones.
pub const FLUSH_DOCUMENTS_MAX: usize = 1_000;

/// Longest reason in an answer `SERVER_ERROR`, in bytes. Longer: cut.
pub const TROUBLE_BYTES_MAX: usize = 500;

/// Longest idle time that can be asked for: the number has to fit.
pub const IDLE_TIMEOUT_MAX: Duration = Duration::from_secs(365 * 86_400);

/// Longest path of a unix socket, in bytes: the kernel's bound (unix(7)). Longer: refused.
pub const SOCKET_PATH_BYTES_MAX: usize = 107;

// Memory grows to at most twice what is in it.
const _: () = assert!(KEPT_BYTES_FREE > 2 * (wire::limits::LINE_BYTES_MAX + VALUE_BYTES_FREE));
const _: () = assert!(KEPT_BYTES_MAX > ANSWERS_BYTES_MAX + wire::limits::GET_LINE_BYTES_MAX);
