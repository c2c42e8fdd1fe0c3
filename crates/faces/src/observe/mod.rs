//! What the server tells about itself: metrics, whether it is well, and a log of requests. Each
//! reactor counts for itself; what it counted is put together when somebody asks.
//!
//! `docs/metrics.md` lists what is told. The pages are served by `http/page`.

pub(crate) mod access_log;
mod exposition;
mod figures;
mod meter;
pub(crate) mod metrics;
mod others;
mod process;
pub(crate) mod readiness;
pub(crate) mod request;
mod watch;

pub(crate) use access_log::{AccessLog, LogWriter};
pub(crate) use meter::{Counted, Kind, Meter, Method, Visit};
pub(crate) use watch::Watch;

pub use access_log::AccessLogTarget;
pub use figures::{ServerFigures, Watcher};
pub use others::{Figure, OtherFigures};

use crate::access::Access;
use crate::feed::Feeds;
use parking_lot::Mutex;
use repository::{CommitNumber, Repository};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// What all reactors of a server share to tell about it.
pub(crate) struct Observer {
    pub repository: Arc<Repository>,
    pub pool: Option<Arc<gem::Pool>>,
    pub access: Arc<Access>,
    /// One for each reactor.
    pub meters: Vec<Arc<Meter>>,
    pub connections: Arc<Connections>,
    /// Whether the server is about to end.
    pub is_draining: AtomicBool,
    pub log_drops: Arc<AtomicU64>,
    pub feeds: Feeds,
    /// Of parts that are not this crate's.
    pub others: Option<OtherFigures>,
    progress: Mutex<Progress>,
}

/// Connections as the listener counts them.
#[derive(Default)]
pub(crate) struct Connections {
    /// Open ones, by reactor.
    pub open: Mutex<Vec<Arc<AtomicUsize>>>,
    pub accepted: AtomicU64,
    pub turned_away: AtomicU64,
    /// Whether it was said that clients speak TLS where it is not spoken.
    pub told_of_tls: AtomicBool,
}

impl Connections {
    pub(crate) fn count_open(&self) -> usize {
        self.open.lock().iter().map(|open| open.load(Ordering::Relaxed)).sum()
    }
}

/// How far commits had become durable, and since when.
struct Progress {
    durable: CommitNumber,
    since: Instant,
}

impl Observer {
    pub(crate) fn new(
        (repository, pool): (Arc<Repository>, Option<Arc<gem::Pool>>),
        access: Arc<Access>,
        meters: Vec<Arc<Meter>>,
        others: Option<OtherFigures>,
    ) -> Self {
        let progress = Progress { durable: CommitNumber(0), since: Instant::now() };
        Self {
            repository,
            pool,
            access,
            meters,
            connections: Arc::default(),
            is_draining: AtomicBool::new(false),
            log_drops: Arc::default(),
            feeds: Feeds::default(),
            others,
            progress: Mutex::new(progress),
        }
    }

    /// Looks at what has to be looked at from time to time. Called by the watch.
    pub(crate) fn look(&self) {
        self.access.look_again();
        self.behind_for();
    }

    /// For how long commits have waited to become durable while none did.
    pub(crate) fn behind_for(&self) -> Duration {
        let stats = self.repository.stats();
        self.progress.lock().see(stats.durable, stats.visible, Instant::now())
    }
}

impl Progress {
    /// Notes what is so at `now`, and gives the time for which commits have waited in vain.
    fn see(&mut self, durable: CommitNumber, visible: CommitNumber, now: Instant) -> Duration {
        if durable != self.durable || durable >= visible {
            *self = Self { durable, since: now };
        }
        now.saturating_duration_since(self.since)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_commits_that_wait_and_do_not_become_durable_count_as_standing_still() {
        let start = Instant::now();
        let mut progress = Progress { durable: CommitNumber(0), since: start };
        let mut see = |durable, visible, after_s| {
            let now = start + Duration::from_secs(after_s);
            progress.see(CommitNumber(durable), CommitNumber(visible), now).as_secs()
        };
        assert_eq!(see(5, 5, 100), 0, "nothing waits");
        assert_eq!(see(5, 5, 200), 0, "however long");
        assert_eq!(see(5, 6, 201), 1, "the first that waits has waited since the last look");
        assert_eq!(see(5, 9, 207), 7, "and others after it");
        assert_eq!(see(6, 9, 208), 0, "one became durable");
        assert_eq!(see(6, 9, 210), 2);
        assert_eq!(see(9, 9, 220), 0);
    }
}
