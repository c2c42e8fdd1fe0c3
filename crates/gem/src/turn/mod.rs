//! One request's turn at the repository: what the functions that JavaScript calls may do. It knows
//! the transaction, the request and its randomness; it knows no JavaScript.

mod allowance;
mod cache;
mod cookies;
mod documents;
mod request;
mod results;
mod services;
mod session;
mod stored;
mod task;

use crate::aside::{Answer, Aside, Notes, TooMany};
use crate::body::BodyError;
use crate::cookie::CookieError;
use crate::exchange::Request;
use crate::limits::{
    CACHE_BYTES_MAX, CACHE_CALLS_MAX, CACHE_KEY_BYTES_MAX, COOKIES_MAX, FETCH_BODY_BYTES_MAX,
    LOG_RECORDS_MAX, TASK_KEY_BYTES_MAX, TASK_PAYLOAD_BYTES_MAX,
};
use crate::random::{Random, Seed};
use crate::route::{Ending, Params};
use crate::session::{Rules as SessionRules, SessionId};
use crate::tasks::TaskError;
use crate::urlencoded::DecodeError;

pub(crate) use allowance::Allowance;
use cache::CacheCalls;
pub(crate) use cache::Fetched;
use cookies::SetCookie;
use documents::Known;
pub(crate) use documents::{Place, collection};
use repository::json::NamesAlike;
use repository::limits::JSON_DEPTH_MAX;
use repository::{Content, NameError, ReadError, StageError, Timestamp, Transaction};
use results::Reading;
pub(crate) use results::{Bounds, Documents, Question};
use session::Session;
use std::ops::Range;
use std::sync::Arc;
use task::TaskRun;
pub(crate) use task::{Call, Started, TaskFacts};
use thiserror::Error;

/// Why a call from JavaScript failed; the handler gets it as an exception.
#[derive(Debug, Error)]
pub(crate) enum TurnError {
    #[error("the request is over")]
    Over,
    #[error(transparent)]
    Name(#[from] NameError),
    #[error("{0}")]
    Exceeded(String),
    #[error(transparent)]
    Question(#[from] query::ParameterError),
    #[error(transparent)]
    Query(#[from] query::QueryError),
    #[error(
        "there are at least {0} documents to count, which is as far as a count goes; keep a tally \
         with add"
    )]
    Uncounted(usize),
    #[error("db.{0}: collections whose names start with _ belong to Sarsen")]
    System(String),
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error(transparent)]
    Stage(#[from] StageError),
    #[error("db.{collection} \"{key}\" holds {media_type}; a handler reads JSON documents only")]
    NotJson { collection: String, key: String, media_type: String },
    #[error(
        "db.{collection} \"{key}\" has {bytes} bytes in a file of its own, which is never read \
         into memory; use `stored`, and return it or put it elsewhere"
    )]
    Stored { collection: String, key: String, bytes: u64 },
    #[error("db.{collection} \"{key}\": expected at most {JSON_DEPTH_MAX} levels of nesting")]
    TooDeep { collection: String, key: String },
    #[error(
        "expected a media type such as image/jpeg, got {0:?}; values are stored as JSON by put"
    )]
    MediaType(String),
    // Of a session, no message has the key: whoever knows the id has the session.
    #[error("session: expected a JSON document, found {0}")]
    SessionNotJson(String),
    #[error("session: expected at most {JSON_DEPTH_MAX} levels of nesting")]
    SessionTooDeep,
    #[error(transparent)]
    Body(#[from] BodyError),
    #[error(transparent)]
    Fields(#[from] DecodeError),
    #[error(transparent)]
    Names(#[from] NamesAlike),
    #[error(transparent)]
    Cookie(#[from] CookieError),
    #[error("a reply sets at most {COOKIES_MAX} cookies; this is one more")]
    TooManyCookies,
    #[error(transparent)]
    TooMany(#[from] TooMany),
    #[error("fetch: a body has at most {FETCH_BODY_BYTES_MAX} bytes; got {0}")]
    FetchBody(usize),
    #[error("this is no task")]
    NoTask,
    #[error("the task took longer than its timeout of {0} ms")]
    TaskTimeout(u128),
    #[error(
        "task(\"{name}\"): the payload has {bytes} bytes of JSON, at most {TASK_PAYLOAD_BYTES_MAX} \
         are kept; put it into a document and give the task its key"
    )]
    TaskPayload { name: String, bytes: usize },
    #[error("task(\"{name}\"): a key has 1 to {TASK_KEY_BYTES_MAX} bytes; got {bytes}")]
    TaskKey { name: String, bytes: usize },
    #[error("there is no cache here")]
    NoCache,
    #[error(
        "a key of the cache has 1 to {CACHE_KEY_BYTES_MAX} bytes, none of them a space or control \
         character; got {0:?}"
    )]
    CacheKey(String),
    #[error("a value of the cache has at most {1} bytes; this has {0}")]
    CacheValue(usize, usize),
    #[error(
        "a request makes at most {CACHE_CALLS_MAX} calls that write to the cache or wait for it, \
         of at most {CACHE_BYTES_MAX} bytes together; this is more"
    )]
    TooMuchCached,
    #[error(
        "cache \"{0}\": this request has set or deleted it, which takes effect when it commits; \
         what takes effect at once comes before that"
    )]
    CacheOrder(String),
    #[error(transparent)]
    Task(#[from] Box<TaskError>),
    #[error("the operating system gives no randomness: {0}")]
    Randomness(#[from] getrandom::Error),
}

impl TurnError {
    /// The status of the reply if it is the client's fault and not 400.
    pub(crate) fn status(&self) -> Option<u16> {
        match self {
            Self::Body(error) => Some(error.status()),
            Self::Names(_) => Some(400),
            _ => None,
        }
    }

    fn without_session_id(self) -> Self {
        match self {
            Self::NotJson { media_type, .. } => Self::SessionNotJson(media_type),
            Self::TooDeep { .. } => Self::SessionTooDeep,
            other => other,
        }
    }
}

/// Why a run has ended, whatever the handler makes of it.
#[derive(Debug, Error)]
pub(crate) enum Ended {
    /// The repository could not be read.
    #[error("{0}")]
    Unreadable(ReadError),
    /// It has read or written more than it may.
    #[error("{0}")]
    Exceeded(String),
}

/// A request being served. It outlives the runs that lost to a conflict; what a run does to it is
/// undone by `begin`.
pub(crate) struct Turn {
    request: Request,
    params: Params,
    /// The id of the token that the request came with, if a face has asked for one.
    principal: Option<String>,
    /// What answers if no function of the application does.
    ending: Ending,
    /// Where in the body the files of its form are.
    files: Vec<Range<usize>>,
    session_rules: SessionRules,
    /// Drawn when first needed, and kept: every run sees the same randomness.
    seed: Option<Seed>,
    new_session_id: Option<SessionId>,
    /// There is one while a handler runs.
    transaction: Option<Transaction>,
    random: Option<Random>,
    session: Session,
    /// What the run sets.
    cookies: Vec<SetCookie>,
    /// What the handler has named and been given.
    known: Known,
    /// The content that it has asked for by reference.
    stored: Vec<Content>,
    /// The ranges that it reads.
    readings: Vec<Reading>,
    log_records: u32,
    /// What the handler has awaited, and the answers; kept for every run.
    notes: Notes,
    /// The task that is run, if this is no request.
    task: Option<Box<TaskRun>>,
    /// Tasks that this run has started.
    started: Vec<Started>,
    /// What it has done with the cache.
    cache: CacheCalls,
    /// The repository could not be read: whatever the handler makes of it, there is no reply.
    unreadable: Option<ReadError>,
    /// How much a run may read and write.
    allowance: Allowance,
    /// It has read or written more.
    exceeded: Option<String>,
}

impl Turn {
    pub(crate) fn new(request: Request, params: Params, session_rules: SessionRules) -> Self {
        Self {
            request,
            params,
            principal: None,
            ending: Ending::NotFound,
            files: Vec::new(),
            session_rules,
            seed: None,
            new_session_id: None,
            transaction: None,
            random: None,
            session: Session::Untouched,
            cookies: Vec::new(),
            known: Known::default(),
            stored: Vec::new(),
            readings: Vec::new(),
            log_records: 0,
            notes: Notes::default(),
            task: None,
            started: Vec::new(),
            cache: CacheCalls::default(),
            unreadable: None,
            allowance: Allowance::default(),
            exceeded: None,
        }
    }

    /// What the handler has awaited.
    pub(crate) fn notes_mut(&mut self) -> &mut Notes {
        &mut self.notes
    }

    /// The answer to what the handler awaits; `None` if it has to wait for it.
    pub(crate) fn ask(&mut self, aside: Aside) -> Result<Option<Arc<Answer>>, TurnError> {
        Ok(self.notes.ask(aside)?)
    }

    /// Whether it waits.
    pub(crate) fn is_waiting(&self) -> bool {
        self.notes.is_waiting()
    }

    /// Starts a run on a transaction.
    pub(crate) fn begin(&mut self, transaction: Transaction) {
        self.begin_run();
        self.transaction = Some(transaction);
    }

    /// Starts a run whose transaction comes later.
    pub(crate) fn begin_run(&mut self) {
        self.random = None;
        self.session = Session::Untouched;
        self.cookies.clear();
        self.known.clear();
        self.stored.clear();
        self.readings.clear();
        self.log_records = 0;
        self.notes.begin();
        self.started.clear();
        self.cache.begin();
        self.unreadable = None;
        self.exceeded = None;
    }

    /// Ends a run: the transaction with what was staged, and why it has ended in any case, if so.
    pub(crate) fn end(&mut self) -> Option<(Transaction, Option<Ended>)> {
        let unreadable = self.unreadable.take().map(Ended::Unreadable);
        let ended = unreadable.or_else(|| self.exceeded.take().map(Ended::Exceeded));
        Some((self.transaction.take()?, ended))
    }

    /// The time of the view.
    pub(crate) fn time(&self) -> Result<Timestamp, TurnError> {
        Ok(self.transaction.as_ref().ok_or(TurnError::Over)?.time())
    }

    pub(super) fn transaction(&mut self) -> Result<&mut Transaction, TurnError> {
        self.transaction.as_mut().ok_or(TurnError::Over)
    }

    /// The next number of `Math.random`.
    pub(crate) fn random(&mut self) -> Result<f64, TurnError> {
        Ok(self.generator()?.number())
    }

    /// A key for a new document.
    pub(crate) fn new_key(&mut self) -> Result<String, TurnError> {
        let time = self.time()?;
        Ok(self.generator()?.key(time).as_str().to_owned())
    }

    fn generator(&mut self) -> Result<&mut Random, TurnError> {
        let seed = match self.seed {
            Some(seed) => seed,
            None => *self.seed.insert(Seed::draw()?),
        };
        Ok(self.random.get_or_insert_with(|| Random::new(seed)))
    }

    /// Counts a record for the log. False: this run has written enough of them.
    pub(crate) fn may_log(&mut self) -> bool {
        self.log_records = self.log_records.saturating_add(1);
        if self.log_records == LOG_RECORDS_MAX + 1 {
            log::warn!(
                target: "app",
                "{} {}: more than {LOG_RECORDS_MAX} records; the rest is left out",
                self.request.method,
                self.request.path
            );
        }
        self.log_records <= LOG_RECORDS_MAX
    }
}
