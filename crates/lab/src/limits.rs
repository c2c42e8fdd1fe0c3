//! Every bound of the lab, with what happens when it is reached.

use std::ops::RangeInclusive;
use std::time::Duration;

/// Most users of one run: 1,000 connections with 16 on each fit. More: `PlanError::Users`.
pub const USERS_MAX: usize = 20_000;

/// Most operations a second of the open model. More: the command line is refused; a scenario's is
/// bound by what the generator can send, which `send lag` tells.
pub const RATE_MAX: f64 = 10_000_000.0;

/// Most URLs that siege's file may have. More: a mistake in it.
pub const SIEGE_URLS_MAX: usize = 10_000;

/// Largest file of URLs, in bytes. Larger: a mistake in it.
pub const SIEGE_FILE_BYTES_MAX: usize = 4 << 20;

/// Longest `-d` of siege. Longer: a usage error.
pub const SIEGE_DELAY_MAX: Duration = Duration::from_secs(3_600);

/// Most levels of a rate or a number of users on the command line. More: a usage error.
pub const LEVELS_MAX: usize = 100;

/// Most generator threads of one run. More: `PlanError::Threads`.
pub const THREADS_MAX: usize = 64;

/// Longest measured interval, and longest ramp-up. Longer: `PlanError::TooLong`.
pub const DURATION_MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// Longest time a hit or the drain may be allowed. Longer: `PlanError::TooLong`.
pub const REQUEST_TIMEOUT_MAX: Duration = Duration::from_secs(60);

/// Largest request body, in bytes before `{key}` and `{nonce}` are filled in. Larger:
/// `PlanError::BodyTooLarge`.
pub const REQUEST_BODY_BYTES_MAX: usize = 16 << 20;

/// Most bytes of request bodies in memory, counted in the same way: each user holds the one it
/// sends. More: `PlanError::BodiesTooLarge`.
pub const REQUEST_BODIES_BYTES_MAX: usize = 256 << 20;

/// Largest value of a cache's item, in bytes. Larger in a plan: `PlanError::Items`; in a reply: an
/// error of class malformed.
pub const ITEM_BYTES_MAX: usize = 1_000_000;

/// Largest value of the items like Twitter's, in bytes. The law of their lengths has none; one in
/// 7 million would be larger, and is cut.
pub const TWITTER_BYTES_MAX: usize = 100_000;

/// Longest line of a trace, in bytes. Longer: a mistake in it.
pub const TRACE_LINE_BYTES_MAX: usize = 1_000;

/// Most requests of a trace that are under way at once. More wait for the answers.
pub const TRACE_BATCH_MAX: usize = 100;

/// Most bytes of values in them, unless a single one has more: few enough for sockets' buffers, so
/// that both sides can write.
pub const TRACE_BATCH_BYTES_MAX: usize = 64 << 10;

/// Longest that a cache may take to answer while a trace is replayed. Longer:
/// `ReplayError::Transport`.
pub const TRACE_ANSWER_TIME_MAX: Duration = Duration::from_secs(10);

/// Largest head of a reply, in bytes. Larger: an error of class malformed.
pub const HEAD_BYTES_MAX: usize = 16 << 10;

/// Longest part of a `Server` field that is kept, in bytes. What is beyond it is left out.
pub const SOFTWARE_BYTES_MAX: usize = 200;

/// Most header fields in the head of a reply. More: an error of class malformed.
pub const HEADERS_MAX: usize = 100;

/// Size of the buffer that replies are read into, one for each server and thread. Not a bound of
/// replies: bodies pass through it.
pub(crate) const READ_BUFFER_BYTES: usize = 64 << 10;

/// Most requests under way on a connection of HTTP/1.1. More: `PlanError::Transport`.
pub const PIPELINE_MAX: usize = 1_000;

/// Most streams at the same time on a connection of HTTP/2. More: `PlanError::Transport`. A server
/// may allow fewer (its SETTINGS); what is beyond waits, and the wait is in both latencies.
pub const STREAMS_MAX: usize = 1_000;

/// What a server may send on a stream of HTTP/2 before it is read, in bytes.
pub(crate) const HTTP2_STREAM_WINDOW_BYTES: u32 = 1 << 20;

/// The same of all streams of a connection.
pub(crate) const HTTP2_CONNECTION_WINDOW_BYTES: u32 = 16 << 20;

/// A user's bandwidth, in bytes a second: from 8 kbit/s to 10 Gbit/s. Another:
/// `PlanError::Transport`.
pub const BANDWIDTHS: RangeInclusive<u64> = 1_000..=1_250_000_000;

/// How often a request is sent if the server ends the connection each time saying that it did not
/// look at it. More: an error of class closed.
pub const UNPROCESSED_TRIES_MAX: usize = 3;

/// Largest file of trusted certificates, in bytes. Larger: `TrustError::TooLarge`.
pub const CA_FILE_BYTES_MAX: u64 = 16 << 20;

/// Most bytes of chunk extensions, and most bytes of trailer fields, in one reply. More: an error
/// of class malformed.
pub const CHUNK_OVERHEAD_BYTES_MAX: usize = 16 << 10;

/// Most bytes of cookies a user keeps. More: the reply that set them is an error of class
/// malformed, because going on without them would silently be another load.
pub const COOKIE_BYTES_MAX: usize = 8 << 10;

/// Most bytes of a reply's body that checks and extractions can look at. Longer: a failed check.
pub const BODY_KEPT_BYTES_MAX: usize = 4 << 20;

/// What of a user's buffers stays between operations. Larger ones are given back.
pub const BUFFER_IDLE_BYTES_MAX: usize = 4 << 10;

/// Most bytes of one variable. More: a failed check.
pub const VARIABLE_BYTES_MAX: usize = 64 << 10;

/// Replies that are kept with their operations' errors, in a run. Later ones are counted only.
pub const SAMPLES_MAX: usize = 10;

/// Most bytes of the body of a reply that is kept. What is beyond them is left out.
pub const SAMPLE_BYTES_MAX: usize = 64 << 10;

/// Most redirects that a step may follow. More: `PlanError::Redirects`.
pub const REDIRECTS_MAX: u32 = 20;

/// Most requests of a parallel step, and most connections for the parts of a page. More:
/// `PlanError::Parallel`.
pub const PARALLEL_MAX: usize = 64;

/// Paths of which a user remembers the entity tag and date. With more, it forgets the oldest.
pub const VALIDATORS_MAX: usize = 128;

/// Longest entity tag or date that is remembered. A longer one is not.
pub const VALIDATOR_BYTES_MAX: usize = 256;

/// Parts of pages that a user's browser remembers in a session. With more it forgets all, as if
/// its cache had been emptied.
pub const RESOURCES_REMEMBERED_MAX: usize = 512;

/// Parts of one page that are fetched. More: a failed check, for the rest would silently be left
/// out.
pub const RESOURCES_MAX: usize = 256;

/// Most messages that a step waits for. More: `PlanError::Channel`.
pub const MESSAGES_AWAITED_MAX: u32 = 10_000;

/// Bytes of messages of a WebSocket or an event stream that have come and nobody has looked at yet,
/// of one user. With more, nothing is read until there is room: the server has to wait.
pub const INBOX_BYTES_MAX: usize = 256 << 10;

/// Streams of events of which a user remembers the last id. With more, it forgets the oldest.
pub const EVENT_IDS_MAX: usize = 16;

/// Longest id of an event that is remembered, in bytes. A longer one is not.
pub const EVENT_ID_BYTES_MAX: usize = 256;

/// Largest data file. Larger: `DataError::TooLarge`.
pub const DATA_BYTES_MAX: usize = 256 << 20;

/// Most columns of a data file. More: `DataError::Columns`.
pub const DATA_COLUMNS_MAX: usize = 256;

/// Most keys of a key space with Zipf's law, which is drawn in floating point. More:
/// `PlanError::Keys`.
pub const ZIPF_KEYS_MAX: u64 = 1 << 40;

/// Largest exponent of Zipf's law. Larger: `PlanError::Exponent`.
pub const ZIPF_EXPONENT_MAX: f64 = 5.0;

/// Longest latency the histograms tell apart. Longer ones are recorded as this one.
pub const LATENCY_MAX: Duration = Duration::from_secs(60 * 60);

/// How long a user waits after a connection that could not be made, so that a server that is
/// away is not answered with a busy loop.
pub const RECONNECT_PAUSE: Duration = Duration::from_millis(100);

/// Share of one core above which a generator thread makes the run invalid.
pub const GENERATOR_CPU_SHARE_MAX: f64 = 0.8;

/// Most processes and endpoints that are observed. More: `PlanError::Observed`.
pub const OBSERVED_MAX: usize = 32;

/// Most processes that count as one with those that they started. More are left out.
pub const PROCESSES_MAX: usize = 256;

/// Most threads of a process whose context switches are read. More: these are not known.
pub const THREADS_READ_MAX: usize = 1024;

/// Most disks, and most networks, of this machine that are observed. More are left out.
pub const DEVICES_MAX: usize = 16;

/// Longest wait for a page of metrics. Longer: a gap.
pub const METRICS_TIMEOUT: Duration = Duration::from_secs(2);

/// Largest page of metrics, in bytes. Larger: a gap.
pub const METRICS_BYTES_MAX: usize = 4 << 20;

/// Most metrics of an endpoint that are kept, if none are named. More are counted in the report.
pub const METRICS_COLUMNS_MAX: usize = 200;

/// Longest part of a run's id that is made from its name, in bytes. A longer name is cut there.
pub const RUN_ID_NAME_MAX: usize = 40;

/// How often the end of a run's id is drawn until it is one that no run of the same second has.
/// Then the run is refused, and says which id there is already.
pub const RUN_ID_DRAWS_MAX: usize = 8;

/// Room on the disk that a run keeps for its last files, in bytes: on a disk that has become full
/// it still ends with its verdict and report. If that is too little, the run stays as one that was
/// killed, and the message says so.
pub const RUN_RESERVE_BYTES: usize = 2 << 20;

/// Free room on the disk, in bytes, below which no run begins, however short: `ArchiveError::Full`.
/// What a run grows by each second comes on top.
pub const RUN_FREE_BYTES_MIN: u64 = 8 << 20;

/// What the archive of a run is taken to grow by each second, in bytes, for the free room that is
/// asked for. A run that needs more ends as INVALID if the disk is full before its end.
pub const RUN_SECOND_BYTES: u64 = 1 << 10;

/// The same for each operation: the histograms of a second and its row.
pub const RUN_SECOND_OPERATION_BYTES: u64 = 4 << 10;

/// Largest file of data that is copied into the archive, in bytes. Of a larger one the sum is kept.
pub const RUN_DATA_BYTES_MAX: u64 = 64 << 20;

/// Most jobs that wait in a queue. More: `QueueError::Full`.
pub const QUEUE_JOBS_MAX: usize = 1_000;

/// How far ahead a job may be put off. Further: a usage error.
pub const QUEUE_AHEAD_MAX: Duration = Duration::from_secs(366 * 24 * 60 * 60);

/// Most tags of a run. More: `ArchiveError::Tags`.
pub const RUN_TAGS_MAX: usize = 32;

/// Longest tag, in bytes. Longer: `ArchiveError::Tag`.
pub const RUN_TAG_BYTES_MAX: usize = 64;

/// Longest note, in bytes. Longer: `ArchiveError::Note`.
pub const RUN_NOTE_BYTES_MAX: usize = 4 << 10;

/// Most bytes of memory, about, for what replies promised. More: of the names only each second is
/// kept, then each fourth, and so on, and the report says so.
pub const LEDGER_BYTES_MAX: usize = 32 << 20;

/// Most writes of one place that may be the last one. More: nothing is said of it, and the report
/// counts it.
pub const WRITES_MAX: usize = 64;

/// Connections by which an audit asks.
pub const AUDIT_CONNECTIONS: usize = 8;

/// Longest wait for one reply to an audit. Longer: asked again, within the patience.
pub const AUDIT_TIMEOUT: Duration = Duration::from_secs(10);

/// How long an audit asks a server that is not there again. Longer: it is a fault.
pub const AUDIT_PATIENCE: Duration = Duration::from_secs(30);

/// Longest time that an audit asks for places. What is left then is counted in the report.
pub const AUDIT_TIME_MAX: Duration = Duration::from_secs(10 * 60);

/// Largest page that an audit reads, in bytes. Larger: it cannot be read, which is a fault.
pub const AUDIT_PAGE_BYTES_MAX: usize = 32 << 20;

/// Most pages of one number or list. More: it cannot be read, which is a fault.
pub const AUDIT_PAGES_MAX: usize = 100_000;

/// Most ids that are kept of what a list had before the run. More: what is there too often is not
/// told, and the report says so.
pub const AUDIT_LISTED_MAX: usize = 200_000;

/// Most losses that are told in words. More are counted.
pub const LOSSES_TOLD_MAX: usize = 10;

/// Seconds in a row in which every connection is refused or broken, after which a server is taken
/// to have gone for good: the run ends as FAILED with what was measured.
pub const SERVER_AWAY_MAX: u64 = 10;

/// Most cells of a grid. More: `GridError::Cells`.
pub const GRID_CELLS_MAX: usize = 1_000;

/// Most runs of the search for the highest rate. More: it ends without an answer.
pub const SEARCH_TRIALS_MAX: usize = 100;

/// Largest scenario file, in bytes. Larger: it is refused.
pub const SCENARIO_BYTES_MAX: usize = 1 << 20;

/// Largest file of stages or arrivals that a scenario names, in bytes. Larger: a mistake in the
/// scenario.
pub const SCENARIO_FILE_BYTES_MAX: usize = 256 << 20;

/// Most recorded arrivals of a scenario, 16 bytes each. More: a mistake in the scenario.
pub const SCENARIO_ARRIVALS_MAX: usize = 10_000_000;

/// Longest line of an access log that is replayed, in bytes. A longer one is passed over, and
/// counted.
pub const LOG_LINE_BYTES_MAX: usize = 64 << 10;

/// Most operations of a scenario: what is measured of each is kept for each second. More: a
/// mistake in the scenario.
pub const SCENARIO_OPERATIONS_MAX: usize = 100;

/// Most steps of an operation. More: a mistake in the scenario.
pub const SCENARIO_STEPS_MAX: usize = 100;

/// Most variables of a scenario. More: a mistake in the scenario.
pub const VARIABLES_MAX: usize = 100;

/// Most letters that `{letters:N}` stands for. More: a mistake in the scenario.
pub const LETTERS_MAX: usize = 1 << 20;

/// Largest entry or medium that is made, in bytes. Larger: a mistake in the scenario.
pub const MADE_BYTES_MAX: usize = 64 << 20;

/// Most categories of a made entry. More: a mistake in the scenario.
pub const MADE_CATEGORIES_MAX: usize = 100;

/// Largest file of words for made entries, in bytes. Larger: a mistake in the scenario.
pub const WORDS_BYTES_MAX: usize = 16 << 20;

/// Most members of publications that an audit remembers, about 60 bytes each. With more, every
/// second is forgotten, then three of four, and so on, and the report says so.
pub const MEMBERS_MAX: usize = 1_000_000;

/// Of a collection's entries each so many-th is made again and compared, from the first on.
pub const AUDIT_SAMPLE_EVERY: u64 = 100;

/// Most entries of a collection that are told apart. More are walked and counted, but one that is
/// there twice is not noticed.
pub const AUDIT_WALKED_MAX: usize = 4_000_000;

/// How long after its start a run lets the first request go, so that every thread is ready.
pub(crate) const START_LEAD: Duration = Duration::from_millis(20);

// One user can send the largest body.
const _: () = assert!(MADE_BYTES_MAX <= REQUEST_BODIES_BYTES_MAX);
const _: () = assert!(REQUEST_BODY_BYTES_MAX <= REQUEST_BODIES_BYTES_MAX);

// A latency that did not time out fits the histogram, twice over for a late timer.
const _: () = assert!(REQUEST_TIMEOUT_MAX.as_secs() * 2 <= LATENCY_MAX.as_secs());

// What is left of a head that is not complete fits the buffer, and more can be read after it.
const _: () = assert!(HEAD_BYTES_MAX * 2 <= READ_BUFFER_BYTES);
