//! Every bound of the gems, with what happens when it is reached.

use std::ops::RangeInclusive;
use std::time::Duration;

/// Largest `sarsen.toml`, in bytes. Larger: `LoadError::Settings`.
pub const SETTINGS_BYTES_MAX: u64 = 64 << 10;

/// Longest application name, in characters. Longer: `LoadError::Settings`.
pub const NAME_CHARS_MAX: usize = 64;

/// Largest module of an application, in bytes. Larger: `LoadError::Module`.
pub const MODULE_BYTES_MAX: u64 = 4 << 20;

/// Largest module of TypeScript, in bytes. Larger: `LoadError::Module`.
pub const TYPESCRIPT_BYTES_MAX: usize = 1 << 20;

/// Brackets inside each other in a module of TypeScript. More: `LoadError::Module`.
pub const TYPESCRIPT_NESTING_MAX: usize = 500;

/// Stack of the thread that parses a module of TypeScript, in bytes: address space, of which memory
/// is only what is used. The parser takes at most 330 bytes of stack per byte of a text (`a=>a=>`),
/// and 2,300 per bracket (docs/decisions/0012).
pub const TYPESCRIPT_STACK_BYTES: usize = 512 << 20;

/// Most modules of one application. More: `LoadError::Module`.
pub const MODULES_MAX: usize = 500;

/// Most routes of one application, with what stands before and behind them. More:
/// `LoadError::Module`.
pub const ROUTES_MAX: usize = 2_000;

/// Segments of a pattern; as deep a search may go. More: `LoadError::Module`.
pub const PATTERN_SEGMENTS_MAX: usize = 32;

/// Largest number in the braces of a parameter. Larger: `LoadError::Module`.
pub const CONSTRAINT_CHARS_MAX: usize = 10_000;

/// Combinations of middleware and routes that a worker keeps ready. More: those are put together
/// for each request.
pub const CHAINS_MAX: usize = 4_000;

/// Most files in `public/`. More: `LoadError::File`.
pub const FILES_MAX: usize = 10_000;

/// Largest file in `public/`, in bytes. Larger: `LoadError::File`.
pub const FILE_BYTES_MAX: u64 = 32 << 20;

/// Bytes of all files in `public/`, which are kept in memory. More: `LoadError::File`.
pub const FILES_BYTES_MAX: u64 = 256 << 20;

/// Folders inside each other in `public/`. More: `LoadError::File`.
pub const FILES_DEPTH_MAX: usize = 32;

/// Smallest file that is compressed, in bytes. A smaller one fits one packet as it is.
pub const CODED_FILE_BYTES_MIN: usize = 1_024;

/// Largest file that is compressed, in bytes. A larger one is sent as it is.
pub const CODED_FILE_BYTES_MAX: usize = 8 << 20;

/// Most collections of one application that have a service. More: `LoadError::Module`.
pub const SERVICES_MAX: usize = 1_000;

/// Expired documents that may be with the workers at a time. More: they wait.
pub const EXPIRIES_IN_FLIGHT_MAX: usize = 16;

/// Expired documents that one look passes at most; the next goes on after them.
pub const EXPIRY_ROWS_A_LOOK: usize = 256;

/// How long after its first failure a document is given to `onExpire` again; twice as long after
/// each further one.
pub const EXPIRY_RETRY_MIN: Duration = Duration::from_secs(1);

/// Longest pause before a document is given to `onExpire` again, however often that has failed.
pub const EXPIRY_RETRY_MAX: Duration = Duration::from_secs(60 * 60);

/// Most documents whose failures are remembered. Those of more are tried again with each pass of
/// what has expired.
pub const EXPIRIES_FAILED_MAX: usize = 10_000;

/// How often such a pass begins while more have failed than are remembered.
pub const EXPIRY_PASS_WHEN_FULL: Duration = Duration::from_secs(60);

/// CPU time in which an application must load, with all that its promises queue. More:
/// `LoadError::Module`.
pub const LOAD_CPU: Duration = Duration::from_secs(5);

/// Heap in which `App::load` checks an application that does not set its own limit, in bytes.
/// More: `LoadError::Module`.
pub const LOAD_HEAP_BYTES: usize = 256 << 20;

/// Heap of the engine that runs a file of an application's tests, in bytes. More: the test fails,
/// or `LoadError::Module`.
pub const TEST_HEAP_BYTES: usize = 256 << 20;

/// What `cpu_ms` in `sarsen.toml` may be. Outside: `LoadError::Settings`.
pub const CPU_MS: RangeInclusive<i64> = 1..=60_000;

/// What `heap_bytes` in `sarsen.toml` may be. Outside: `LoadError::Settings`.
pub const HEAP_BYTES: RangeInclusive<i64> = (4 << 20)..=(1 << 30);

/// Documents that one run of a handler may read, keys at which there is none counted, unless
/// `sarsen.toml` says otherwise. More: `FailureKind::DocumentsLimit`; so with the next three.
pub const DOCUMENTS_READ_DEFAULT: usize = 50_000;

/// The bytes of these documents.
pub const BYTES_READ_DEFAULT: usize = 64 << 20;

/// Documents that one run of a handler may write.
pub const DOCUMENTS_WRITTEN_DEFAULT: usize = 5_000;

/// The bytes of these documents, with what a record has around them.
pub const BYTES_WRITTEN_DEFAULT: usize = 16 << 20;

/// What `documents_read` in `sarsen.toml` may be. Outside: `LoadError::Settings`; so with the next
/// three.
pub const DOCUMENTS_READ: RangeInclusive<i64> =
    1..=repository::limits::TRANSACTION_READS_MAX as i64;

/// What `bytes_read` may be.
pub const BYTES_READ: RangeInclusive<i64> =
    1_024..=repository::limits::TRANSACTION_READ_BYTES_MAX as i64;

/// What `documents_written` may be.
pub const DOCUMENTS_WRITTEN: RangeInclusive<i64> =
    1..=repository::limits::TRANSACTION_WRITES_MAX as i64;

/// What `bytes_written` may be.
pub const BYTES_WRITTEN: RangeInclusive<i64> =
    1_024..=repository::limits::TRANSACTION_BYTES_MAX as i64;

/// What `idle_minutes` in `sarsen.toml` may be. Outside: `LoadError::Settings`.
pub const IDLE_MINUTES: RangeInclusive<i64> = 1..=525_600;

/// What `lifetime_minutes` in `sarsen.toml` may be; browsers keep no cookie for more than 400 days
/// (RFC 6265bis §5.5). Outside, or less than `idle_minutes`: `LoadError::Settings`.
pub const LIFETIME_MINUTES: RangeInclusive<i64> = 1..=576_000;

/// How long a session lives after it was last used, unless `sarsen.toml` says otherwise.
pub const SESSION_IDLE_DEFAULT: Duration = Duration::from_secs(30 * 60);

/// How long a session lives after it began, unless `sarsen.toml` says otherwise.
pub const SESSION_LIFETIME_DEFAULT: Duration = Duration::from_secs(30 * 24 * 3600);

/// Cookies that a reply may set beside the session's. More: `FailureKind::Handler`.
pub const COOKIES_MAX: usize = 50;

/// Longest cookie with its name and attributes, in bytes, as browsers keep (RFC 6265 §6.1). Longer:
/// `FailureKind::Handler`.
pub const COOKIE_BYTES_MAX: usize = 4 << 10;

/// Longest life of a cookie, in seconds: 400 days (RFC 6265bis §5.5). Longer:
/// `FailureKind::Handler`.
pub const COOKIE_MAX_AGE_S: f64 = 400.0 * 24.0 * 3600.0;

/// Age from which on a key signs no more cookies: a new one is made.
pub const SIGNING_KEY_AGE: Duration = Duration::from_secs(100 * 24 * 3600);

/// Keys whose signatures count. What an older one has signed is as if it were not there.
pub const SIGNING_KEYS_MAX: usize = 5;

/// Entries of `trusted_origins`, and of `exempt`, in `sarsen.toml`. More: `LoadError::Settings`.
pub const CSRF_LIST_MAX: usize = 100;

/// Messages of `flash` that wait in a session. More: the oldest is dropped.
pub const FLASHES_MAX: usize = 20;

/// Characters (UTF-16 code units) of one of them, with its kind. More: `FailureKind::Handler`.
pub const FLASH_CHARS_MAX: usize = 2_000;

/// Times that one request may wait for what it awaits, each before another run. More:
/// `FailureKind::Handler`.
pub const ASIDE_ROUNDS_MAX: u32 = 16;

/// Calls that one request may await, such as `password.hash()`. More: the promise is rejected.
pub const ASIDES_MAX: usize = 32;

/// Threads that hash and verify passwords; each may use `PASSWORD_MEMORY_KIB_MAX`.
pub const PASSWORD_THREADS: usize = 2;

/// Passwords that may wait for one of these threads. More: `FailureKind::Busy`.
pub const PASSWORD_QUEUE: usize = 64;

/// Longest password, in bytes of UTF-8. Longer: the client gets 400; to verify it gives false.
pub const PASSWORD_BYTES_MAX: usize = 1 << 10;

/// Longest hash of a password, in bytes. Longer: the promise is rejected.
pub const PASSWORD_HASH_BYTES_MAX: usize = 256;

/// Memory that a hash may ask for, in KiB. More: the promise is rejected.
pub const PASSWORD_MEMORY_KIB_MAX: u32 = 64 << 10;

/// Passes over its memory that a hash may ask for. More: the promise is rejected.
pub const PASSWORD_PASSES_MAX: u32 = 8;

/// Lanes that a hash may ask for. More: the promise is rejected.
pub const PASSWORD_LANES_MAX: u32 = 4;

/// Stack that JavaScript may use, in bytes. Deeper recursion: the handler gets a RangeError.
pub const SCRIPT_STACK_BYTES: usize = 512 << 10;

/// Stack of a worker's thread, in bytes; JavaScript's and what the engine itself needs.
pub const THREAD_STACK_BYTES: usize = 4 << 20;

/// Fields that a query or a form may have. More: the client gets 400.
pub const FORM_FIELDS_MAX: usize = 1_000;

/// Header fields of one part of a form with files, in bytes. More: the client gets 400.
pub const PART_HEAD_BYTES_MAX: usize = 8 << 10;

/// Header fields that a handler may set. More: `FailureKind::Handler`.
pub const REPLY_FIELDS_MAX: usize = 100;

/// Largest body of a handler's reply, in bytes. Larger: `FailureKind::Handler`.
pub const REPLY_BYTES_MAX: usize = 16 << 20;

/// Bytes of documents that one batch of a range gives to a handler, unless one alone has more. What
/// is more comes with the next batch.
pub const BATCH_BYTES_MAX: usize = 1 << 20;

/// Documents that are looked at together when a range is counted.
pub const COUNT_BATCH: usize = 1_000;

/// What `reply_bytes` in `sarsen.toml` may be. Outside: `LoadError::Settings`.
pub const REPLY_BYTES: RangeInclusive<i64> = (1 << 10)..=(REPLY_BYTES_MAX as i64);

/// Longest message of an error, in bytes. Longer: it is cut.
pub const MESSAGE_BYTES_MAX: usize = 2 << 10;

/// Calls of a stack that are kept with a failure. More: the innermost are kept.
pub const FRAMES_MAX: usize = 32;

/// Longest call of a stack, in bytes. Longer: it is cut.
pub const FRAME_BYTES_MAX: usize = 256;

/// Causes of an error that are kept with a failure. More: the nearest are kept.
pub const CAUSES_MAX: usize = 8;

/// Lines of the application that are shown before and after the place of a failure.
pub const CODE_LINES_AROUND: usize = 3;

/// Characters of each of those lines. More: the line is cut around the place.
pub const CODE_LINE_CHARS_MAX: usize = 160;

/// Longest path of a request that is kept with a failure, in bytes. Longer: it is cut.
pub const PATH_BYTES_MAX: usize = 1 << 10;

/// Failed requests that wait to be written down. More: left out and counted.
pub const ERRORS_WAITING_MAX: usize = 256;

/// Largest file of failed requests, in bytes; there are two. Full: it takes the place of the one
/// before, which is lost.
pub const ERRORS_FILE_BYTES_MAX: u64 = 2 << 20;

/// Handlers that are counted by name. More: counted together, as `others`.
pub const HANDLERS_MAX: usize = 1_200;

/// How often the watchdog looks for workers that cannot be interrupted.
pub const WATCHDOG_EVERY: Duration = Duration::from_millis(100);

/// Bytes of work in native functions after which they look at the request's CPU time. It is
/// exceeded by what one piece takes.
pub const WORK_PER_LOOK: usize = 64 << 10;

/// Texts of at most so many bytes are given to the engine's JSON parser as they are.
pub const JSON_PLAIN_BYTES_MAX: usize = 4 << 10;

/// Pieces in which the engine's JSON parser, which nothing interrupts, is given longer texts.
pub const JSON_PIECE_BYTES: usize = 64 << 10;

/// Nesting of arrays and objects in a text of more than `JSON_PLAIN_BYTES_MAX`, as in documents.
/// Deeper: a SyntaxError. `JSON.stringify` takes time for each level at each value.
pub const JSON_NESTING_MAX: usize = repository::limits::JSON_DEPTH_MAX;

/// Characters (UTF-16 code units) of a regular expression that is made while a request is served.
/// More: the handler gets a RangeError.
pub const PATTERN_CHARS_MAX: usize = 4_096;

/// Characters of a text that becomes a bigint, and bits of one that becomes a text. More: a
/// RangeError.
pub const BIGINT_CHARS_MAX: usize = 20_000;

/// Combining marks in a row that `normalize` and `localeCompare` take; UAX #15 §13 has 30 as more
/// than any writing needs. More: a RangeError.
pub const MARKS_MAX: usize = 64;

/// CPU time, beyond twice its limit, in which a request is left to stop by itself. More: its worker
/// is replaced, and the request fails with `FailureKind::CpuLimit`.
pub const WATCHDOG_GRACE: Duration = Duration::from_millis(250);

/// Workers that were replaced and still run. More: the next keeps its place until it ends, or
/// until one of them does.
pub const LOST_WORKERS_MAX: usize = 8;

/// Longest text of one `console` call, in bytes. Longer: it is cut.
pub const LOG_RECORD_BYTES_MAX: usize = 8 << 10;

/// Records that one run of a handler may write by `console`. More: one warning, then silence.
pub const LOG_RECORDS_MAX: u32 = 200;

/// Most tasks and crons that an application may define. More: `LoadError::Module`.
pub const TASK_DEFINITIONS_MAX: usize = 200;

/// Longest name of a task, in bytes. Longer: the module does not load.
pub const TASK_NAME_BYTES_MAX: usize = 64;

/// Longest key of a task, in bytes of UTF-8. Longer: `task` throws.
pub const TASK_KEY_BYTES_MAX: usize = 256;

/// Largest payload of a task, in bytes of JSON. Larger: `task` throws.
pub const TASK_PAYLOAD_BYTES_MAX: usize = 64 << 10;

/// Longest time that a task may be put off, and after which it expires. Longer: a RangeError.
pub const TASK_DELAY_MAX: Duration = Duration::from_secs(366 * 86_400);

/// For how long after it was due a task is kept that no handler runs. Longer: it is dropped.
pub const TASK_WAIT_MAX: Duration = Duration::from_secs(366 * 86_400);

/// Runs of a task that may fail unless its definition says otherwise. After the last it is dead.
pub const TASK_ATTEMPTS_DEFAULT: u32 = 10;

/// What `attempts` may be. Outside: a RangeError.
pub const TASK_ATTEMPTS: RangeInclusive<u32> = 1..=100;

/// Longest wait after the first failure of a task unless its definition says otherwise.
pub const TASK_BACKOFF_DEFAULT: Duration = Duration::from_secs(5);

/// Longest wait between two runs of a task that fails, however often it has.
pub const TASK_BACKOFF_MAX: Duration = Duration::from_secs(3_600);

/// Longest time of one run of a task, what it awaits included, unless its definition says
/// otherwise. Longer: the run fails.
pub const TASK_TIMEOUT_DEFAULT: Duration = Duration::from_secs(60);

/// Longest `timeout` of a task. Longer: a RangeError.
pub const TASK_TIMEOUT_MAX: Duration = Duration::from_secs(15 * 60);

/// For how long a task that has failed for good is kept. Then it is gone.
pub const TASK_DEAD_KEEP: Duration = Duration::from_secs(14 * 86_400);

/// Tasks that have failed for good that are kept. One more takes the place of the one that was
/// started first.
pub const TASK_DEAD_MAX: usize = 10_000;

/// Tasks that are with the gems at once, those included that await something. More wait in the
/// repository.
pub const TASKS_IN_FLIGHT_MAX: usize = 64;

/// Tasks of one name that are handed to the gems before those of the next name.
pub const TASK_QUANTUM: usize = 16;

/// Longest time after which the scheduler of tasks looks at the clock, which somebody may have set.
pub const TASK_LOOK_MAX: Duration = Duration::from_secs(60);

/// For how long tasks wait after the repository refused one.
pub const TASK_PAUSE: Duration = Duration::from_secs(1);

/// Names of tasks that the application does not have which are reported when it is loaded.
pub const TASK_NAMES_REPORTED_MAX: usize = 1_000;

/// Most tasks that a list shows, and that are read at a time. More: the list says that it is cut.
pub const TASK_LIST_MAX: usize = 1_000;

/// Dead tasks that one transaction lets wait again. More are the next one's.
pub const TASK_RETRIES_MAX: usize = 200;

/// Longest key of the cache, in bytes: what memcached takes. Longer: the call throws.
pub const CACHE_KEY_BYTES_MAX: usize = cache::limits::KEY_BYTES_MAX;

/// Calls of one request that write to the cache or wait for it. More: the call throws.
pub const CACHE_CALLS_MAX: usize = 1_000;

/// Bytes of keys and values that those hold together. More: the call throws.
pub const CACHE_BYTES_MAX: usize = 16 << 20;

/// Requests whose writes to the cache wait for the disk and have a thread see to it. More: the next
/// who uses the cache does.
pub const CACHE_HELD_QUEUE: usize = 1_024;

/// Longest time that a request waits for another to compute a value of the cache. Longer: it
/// computes it itself.
pub const FILL_WAIT: Duration = Duration::from_secs(5);

/// Threads that wait for that.
pub const FILL_THREADS: usize = 8;

/// Requests that may wait for one of these threads. More: `FailureKind::Busy`.
pub const FILL_QUEUE: usize = 1_024;

/// Threads that ask other servers for tasks.
pub const FETCH_THREADS: usize = 16;

/// Requests to other servers that may wait for one of these threads. More: the task waits and
/// runs again.
pub const FETCH_QUEUE: usize = 1_024;

/// Time for looking up a host, and for connecting to it. Longer: the promise is rejected.
pub const FETCH_CONNECT_MAX: Duration = Duration::from_secs(10);

/// Look-ups of hosts that are under way at once, those included for which nobody waits any more.
/// More: the promise is rejected.
pub const FETCH_LOOKUPS_MAX: usize = 64;

/// Redirects that one call follows. More: the promise is rejected.
pub const FETCH_REDIRECTS_MAX: usize = 10;

/// Largest body of a request to another server, in bytes. Larger: the promise is rejected.
pub const FETCH_BODY_BYTES_MAX: usize = 4 << 20;

/// Largest body of another server's reply, in bytes. Larger: the promise is rejected.
pub const FETCH_REPLY_BYTES_MAX: usize = 4 << 20;

/// Bodies of requests and replies that all calls of one run of a task hold together, in bytes.
/// More: the promise is rejected. With the bound on tasks under way, it bounds the memory of all.
pub const FETCH_TASK_BYTES_MAX: usize = 8 << 20;

/// Most hosts, and most networks, that `[fetch]` in `sarsen.toml` names. More:
/// `LoadError::Settings`.
pub const FETCH_RULES_MAX: usize = 100;

const _: () = assert!(
    (TASK_LIST_MAX + 1) * (TASK_PAYLOAD_BYTES_MAX + (8 << 10))
        < repository::limits::TRANSACTION_READ_BYTES_MAX
);
const _: () = assert!(
    TASK_RETRIES_MAX * (TASK_PAYLOAD_BYTES_MAX + (8 << 10))
        < repository::limits::TRANSACTION_BYTES_MAX
);
const _: () =
    assert!(TASK_NAME_BYTES_MAX + 1 + TASK_KEY_BYTES_MAX <= repository::limits::KEY_BYTES_MAX);
// A cookie counts as long as it may live.
const _: () =
    assert!(SIGNING_KEY_AGE.as_secs() * (SIGNING_KEYS_MAX as u64 - 1) >= COOKIE_MAX_AGE_S as u64);
const _: () = assert!(TYPESCRIPT_BYTES_MAX as u64 <= MODULE_BYTES_MAX);
const _: () =
    assert!(TYPESCRIPT_BYTES_MAX * 330 + TYPESCRIPT_NESTING_MAX * 2_300 < TYPESCRIPT_STACK_BYTES);
const _: () = assert!(SCRIPT_STACK_BYTES * 4 <= THREAD_STACK_BYTES);
const _: () = assert!(MESSAGE_BYTES_MAX <= LOG_RECORD_BYTES_MAX);
