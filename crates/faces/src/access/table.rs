//! The tokens as a running server knows them: read again when their file changes, and looked at by
//! each reactor without a lock.

use crate::access::failures::Failures;
use crate::access::file::{Stamp, TokenFile, TokenFileError};
use crate::access::token::{Token, TokenHash, is_whole};
use parking_lot::Mutex;
use repository::Timestamp;
use std::cell::{Cell, RefCell};
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// What a presented token is.
#[derive(Debug)]
pub(crate) enum Known {
    /// One of the list.
    Valid(Arc<Token>),
    /// One of the list whose time is over.
    Expired,
    /// A token, but not, or no longer, of the list.
    Unknown,
    /// No token at all, or a part of one.
    Malformed,
}

/// Tokens by the start of their hashes.
#[derive(Debug, Default)]
struct Table {
    by_hash: Vec<(u64, Arc<Token>)>,
}

impl Table {
    fn new(tokens: Vec<Token>) -> Self {
        let entry = |token: Token| (token.hash.bucket(), Arc::new(token));
        let mut by_hash: Vec<_> = tokens.into_iter().map(entry).collect();
        by_hash.sort_by_key(|(bucket, _)| *bucket);
        Self { by_hash }
    }

    fn find(&self, hash: &TokenHash) -> Option<&Arc<Token>> {
        let bucket = hash.bucket();
        let start = self.by_hash.partition_point(|(first, _)| *first < bucket);
        let same = self.by_hash[start..].iter().take_while(|(first, _)| *first == bucket);
        same.map(|(_, token)| token).find(|token| token.hash.is(hash))
    }
}

/// The tokens of a running server. One for all reactors.
pub(crate) struct Access {
    file: Option<TokenFile>,
    /// The state of the file that `table` is from.
    read: Mutex<Option<Stamp>>,
    /// Whether the last try to read the file again failed: said once, not at every look.
    is_failing: AtomicBool,
    table: Mutex<Arc<Table>>,
    /// Counts the tables. A reactor looks at it before each use of its own copy.
    generation: AtomicU64,
    failures: Mutex<Failures>,
    /// Tokens refused since the start.
    refused: AtomicU64,
}

impl Access {
    /// With the tokens of `file`; without a file nobody is ever asked for one.
    pub(crate) fn open(file: Option<TokenFile>) -> Result<Self, TokenFileError> {
        let access = Self {
            file,
            read: Mutex::default(),
            is_failing: AtomicBool::new(false),
            table: Mutex::default(),
            generation: AtomicU64::new(0),
            failures: Mutex::default(),
            refused: AtomicU64::new(0),
        };
        access.read_again()?;
        Ok(access)
    }

    /// The data folder whose tokens they are.
    pub(crate) fn file(&self) -> Option<&TokenFile> {
        self.file.as_ref()
    }

    /// Whether there is a token, expired ones too: that a token's time is over must not open what
    /// it guarded.
    pub(crate) fn is_configured(&self) -> bool {
        !self.table.lock().by_hash.is_empty()
    }

    /// Tokens there are, and tokens refused since the start.
    pub(crate) fn figures(&self) -> (usize, u64) {
        (self.table.lock().by_hash.len(), self.refused.load(Ordering::Relaxed))
    }

    /// Takes over what has changed in the file since the last look. Where it cannot be read, what
    /// was known stays true: a file that vanished opens nothing.
    pub(crate) fn look_again(&self) {
        let failure = self.read_again().err();
        let was_failing = self.is_failing.swap(failure.is_some(), Ordering::Relaxed);
        match failure {
            Some(error) if !was_failing => {
                log::error!("{error}; the tokens known until now go on being the ones that count");
            }
            None if was_failing => log::info!("the file of tokens can be read again"),
            _ => {}
        }
    }

    fn read_again(&self) -> Result<(), TokenFileError> {
        let Some(file) = &self.file else { return Ok(()) };
        let mut read = self.read.lock();
        // Before the file itself: one that changes in between is read once more.
        let stamp = file.stamp().map_err(|error| file.unreadable(error))?;
        if stamp == *read {
            return Ok(());
        }
        let tokens = match (stamp, file.read_if_there()?) {
            (Some(_), Some(tokens)) => tokens,
            _ => return Err(file.unreadable(std::io::ErrorKind::NotFound.into())),
        };
        let (is_first, count) = (read.is_none(), tokens.len());
        *self.table.lock() = Arc::new(Table::new(tokens));
        self.generation.fetch_add(1, Ordering::Release);
        *read = stamp;
        if !is_first {
            log::info!("the tokens have changed; there are {count}");
        }
        Ok(())
    }
}

/// A reactor's view of the tokens.
pub(crate) struct Guard {
    access: Arc<Access>,
    table: RefCell<Arc<Table>>,
    generation: Cell<u64>,
    /// Whether only this machine can reach the server.
    is_local: bool,
}

impl Guard {
    pub(crate) fn new(access: Arc<Access>, is_local: bool) -> Self {
        let guard = Self { access, table: RefCell::default(), generation: Cell::new(0), is_local };
        guard.refresh();
        guard
    }

    /// Whether a client at `from` is not asked for a token. What a trusted proxy forwards from
    /// another machine is not from this one, though the proxy is.
    pub(crate) fn is_open(&self, from: IpAddr) -> bool {
        if !from.to_canonical().is_loopback() {
            return false;
        }
        if self.access.file.is_none() {
            return true;
        }
        self.refresh();
        self.is_local && self.table.borrow().by_hash.is_empty()
    }

    /// What the token `text` is.
    pub(crate) fn recognise(&self, text: &[u8]) -> Known {
        self.refresh();
        match self.table.borrow().find(&TokenHash::of(text)) {
            Some(token) if token.expires.is_some_and(|_| token.is_expired(now())) => Known::Expired,
            Some(token) => Known::Valid(Arc::clone(token)),
            None if is_whole(text) => Known::Unknown,
            None => Known::Malformed,
        }
    }

    /// Notes a token from `address` that was refused. `Err` gives the time for which there were too
    /// many from there.
    pub(crate) fn refuse(&self, address: IpAddr) -> Result<(), Duration> {
        self.access.refused.fetch_add(1, Ordering::Relaxed);
        self.access.failures.lock().note(address, Instant::now())
    }

    fn refresh(&self) {
        let generation = self.access.generation.load(Ordering::Acquire);
        if generation != self.generation.get() {
            self.table.replace(Arc::clone(&self.access.table.lock()));
            self.generation.set(generation);
        }
    }
}

fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::{Grant, NewToken, Pattern, Scope};

    const HERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

    fn new(expires: Option<Timestamp>) -> NewToken {
        let grant = Grant::new(Scope::Read, vec![Pattern::Every]).unwrap();
        NewToken { name: String::new(), grant, created: Timestamp(0), expires }
    }

    fn is_valid(guard: &Guard, text: &str) -> bool {
        matches!(guard.recognise(text.as_bytes()), Known::Valid(_))
    }

    #[test]
    fn what_changes_in_the_file_counts_after_the_next_look() {
        let place = tempfile::tempdir().unwrap();
        let file = TokenFile::of(place.path());
        let access = Arc::new(Access::open(Some(file.clone())).unwrap());
        let guard = Guard::new(Arc::clone(&access), true);
        assert!(guard.is_open(HERE), "there is no token, and only this machine can ask");
        assert!(!guard.is_open([192, 0, 2, 1].into()), "a proxy on this machine asks for another");
        assert!(!Guard::new(Arc::clone(&access), false).is_open(HERE), "others can");

        let (token, secret) = file.create(new(None)).unwrap();
        access.look_again();
        assert!(!guard.is_open(HERE));
        assert!(is_valid(&guard, secret.reveal()));
        let (other, another) = file.create(new(None)).unwrap();
        access.look_again();
        assert!(is_valid(&guard, secret.reveal()) && is_valid(&guard, another.reveal()));

        file.revoke(&token.id).unwrap();
        access.look_again();
        assert!(matches!(guard.recognise(secret.reveal().as_bytes()), Known::Unknown));
        assert!(matches!(guard.recognise(b"sarsen_short"), Known::Malformed));
        file.revoke(&other.id).unwrap();
        access.look_again();
        assert!(guard.is_open(HERE), "the last token was revoked");
    }

    #[test]
    fn an_expired_token_opens_nothing() {
        let place = tempfile::tempdir().unwrap();
        let file = TokenFile::of(place.path());
        let (_, secret) = file.create(new(Some(Timestamp(1)))).unwrap();
        let guard = Guard::new(Arc::new(Access::open(Some(file)).unwrap()), true);
        assert!(!guard.is_open(HERE));
        assert!(matches!(guard.recognise(secret.reveal().as_bytes()), Known::Expired));
    }

    #[test]
    fn a_file_that_vanishes_or_breaks_changes_nothing() {
        let place = tempfile::tempdir().unwrap();
        let file = TokenFile::of(place.path());
        let (_, secret) = file.create(new(None)).unwrap();
        let access = Arc::new(Access::open(Some(file.clone())).unwrap());
        let guard = Guard::new(Arc::clone(&access), true);
        let path = place.path().join("tokens");
        let good = std::fs::read(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        access.look_again();
        assert!(!guard.is_open(HERE) && is_valid(&guard, secret.reveal()));
        std::fs::write(&path, "{}").unwrap();
        access.look_again();
        assert!(!guard.is_open(HERE) && is_valid(&guard, secret.reveal()));
        assert!(Access::open(Some(file)).is_err(), "a server does not start with it");
        std::fs::write(&path, good).unwrap();
        access.look_again();
        assert!(is_valid(&guard, secret.reveal()));
    }
}
