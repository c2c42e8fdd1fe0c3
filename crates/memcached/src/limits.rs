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

/// Most memory of all connections together for commands that are not whole yet and for answers that
/// clients have not taken, in bytes, unless [`LARGE_VALUES_MIN`] need more. At the bound a value
/// that is not whole is refused ("out of memory storing object"), and a connection is closed that
/// would have to keep anything else.
pub const BUFFER_BYTES_MAX: usize = 64 << 20;

/// Values of the largest size for which that memory is enough at least.
pub const LARGE_VALUES_MIN: usize = 4;

/// What a connection may keep of the last quarter of that memory, in bytes: a command with a small
/// value. Those that keep more share the other three.
pub const SMALL_BYTES_MAX: usize = 16 << 10;

/// How long a connection may keep memory while others get none. Longer: it is closed.
pub const KEPT_TIME_MAX: Duration = Duration::from_secs(10);

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

// A line that is no get is small.
const _: () = assert!(SMALL_BYTES_MAX > 2 * wire::limits::LINE_BYTES_MAX);
const _: () = assert!(BUFFER_BYTES_MAX > ANSWERS_BYTES_MAX + wire::limits::GET_LINE_BYTES_MAX);
