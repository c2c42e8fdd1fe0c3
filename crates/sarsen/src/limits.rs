//! Every bound of the command line and the assembled server, with what happens when it is reached.

use std::time::Duration;

/// Longest time that requests in flight get to finish after the first signal. Then their
/// connections are cut, and how many is logged.
pub const DRAIN_MAX: Duration = Duration::from_secs(10);

/// Most gems. More: refused as a usage error.
pub const GEMS_MAX: usize = 1024;

/// Requests that may wait for a gem, for each gem. More: answered with 503 at once.
pub const QUEUE_PER_GEM: usize = 256;

/// CPU time that one request to the application may use unless its `sarsen.toml` says otherwise.
/// More: the request fails with a 5xx and has no effect.
pub const REQUEST_CPU_MAX: Duration = Duration::from_secs(1);

/// Heap of one gem's engine unless the application's `sarsen.toml` says otherwise, in bytes. More:
/// the request fails with a 5xx and has no effect.
pub const GEM_HEAP_BYTES: usize = 64 << 20;

/// File descriptors that are not for connections: the repository's files and the listening
/// sockets. Where the limit of open files leaves less for connections, fewer may be open, and that
/// is logged.
pub const DESCRIPTORS_RESERVED: u64 = 1_024;

/// Memory used when `--memory` is not given, in bytes; or a quarter of the machine's, if less.
pub const MEMORY_BYTES_DEFAULT: u64 = 1 << 30;

/// Memory of the cache when `--cache-memory` is not given, in bytes, as memcached has it.
pub const CACHE_MEMORY_BYTES_DEFAULT: u64 = 64 << 20;

/// How often the cache is told the time, and sweeps up what has expired.
pub const CACHE_TICK: Duration = Duration::from_millis(100);

/// Longest time for which a token can be made: about a hundred years. More: a usage error; without
/// a time it does not expire.
pub const TOKEN_LIFE_MAX: Duration = Duration::from_secs(36_500 * 86_400);

/// Connections that the admin socket serves at once. More: told so and closed.
pub const ADMIN_CONNECTIONS_MAX: usize = 8;

/// Longest request to the admin socket, in bytes. Longer: told so and closed.
pub const ADMIN_REQUEST_BYTES_MAX: usize = 64 << 10;

/// Longest reply of the admin socket that a command reads, in bytes. Longer: the command fails.
pub const ADMIN_REPLY_BYTES_MAX: usize = 64 << 20;

/// For how long a connection to the admin socket may say nothing. Longer: it is closed.
pub const ADMIN_IDLE_MAX: Duration = Duration::from_secs(300);

/// For how long a line may wait for the other side of the admin socket to take it. Longer: the
/// connection is closed.
pub const ADMIN_WRITE_MAX: Duration = Duration::from_secs(10);

/// For how long a command waits for an answer of the admin socket. Longer: the command fails.
pub const ADMIN_ANSWER_MAX: Duration = Duration::from_secs(60);

/// For how long one side of a stream on the admin socket may wait for the other. Longer: the stream
/// is cut, and the command fails.
pub const ADMIN_STALL_MAX: Duration = Duration::from_secs(600);

/// For how long a server keeps what an export was read from that was cut off. Longer: it can only
/// be gone on with if nothing was committed since.
pub const EXPORT_KEPT_MAX: Duration = Duration::from_secs(600);

/// How often such a wait looks whether the server is being stopped.
pub const ADMIN_LOOK_EVERY: Duration = Duration::from_secs(1);

/// How often a stream tells how far it has come.
pub const ADMIN_PROGRESS_EVERY: Duration = Duration::from_millis(500);

/// How often `serve --watch` looks for edits.
pub const WATCH_EVERY: Duration = Duration::from_millis(100);

/// After an edit nothing may change for so long before it is served.
pub const WATCH_SETTLE: Duration = Duration::from_millis(40);

/// Longest time for which edits that go on are waited for. Then what is there is served.
pub const WATCH_SETTLE_MAX: Duration = Duration::from_millis(400);

/// Most files that are watched. Edits of others are not seen.
pub const WATCH_FILES_MAX: usize = 10_000;

/// Most folders within each other that are watched. Edits further down are not seen.
pub const WATCH_DEPTH_MAX: usize = 16;

/// How long one of an application's tests may take unless `--timeout` says otherwise. Longer: it is
/// stopped and has failed.
pub const TEST_TIMEOUT: Duration = Duration::from_secs(10);

/// Longest `--timeout` of `sarsen test`. More: a usage error.
pub const TEST_TIMEOUT_MAX: Duration = Duration::from_secs(3_600);

/// Most files of tests of one application. More: none is run, and the message says so.
pub const TEST_FILES_MAX: usize = 1_000;

/// Most folders below `test/`. More: as for files.
pub const TEST_FOLDERS_MAX: usize = 1_000;

/// Memory of the repository of one test, in bytes.
pub const TEST_MEMORY_BYTES: u64 = 64 << 20;

/// How often a test that waits for tasks looks whether they have run.
pub const TEST_TASKS_EVERY: Duration = Duration::from_millis(2);

/// Records of the log that are kept of one test. More are left out, which is said.
pub const TEST_LOG_RECORDS_MAX: usize = 200;

/// Longest record that is kept of a test, in bytes. Longer: it is cut.
pub const TEST_LOG_BYTES_MAX: usize = 4 << 10;

/// Lines of two values that are compared when a test fails. What is beyond is not shown.
pub const DIFF_LINES_MAX: usize = 1_000;

const _: () = assert!(TEST_MEMORY_BYTES >= repository::limits::MEMORY_BYTES_MIN);
const _: () = assert!(MEMORY_BYTES_DEFAULT >= repository::limits::MEMORY_BYTES_MIN);

/// How often `--exit-when-lost` looks at the gems.
pub const LOST_LOOK_EVERY: Duration = Duration::from_millis(250);

/// Bytes of the log that are kept for an archive that cannot be written. More: they are let go of,
/// the archive has a gap, and the log says so. `--archive-hold` sets it.
pub const ARCHIVE_HOLD_BYTES_DEFAULT: u64 = 1 << 30;

/// Longest wait for another process that has the data folder open: a server that stops or begins, a
/// backup, an export. Longer: `OpenError::Locked`.
pub const LOCK_WAIT_MAX: Duration = Duration::from_secs(10);

/// How often it is looked whether that process has let go of it, or can be asked.
pub const LOCK_LOOK_EVERY: Duration = Duration::from_millis(50);
