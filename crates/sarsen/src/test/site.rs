//! The server and the repository of one test: the real ones, as `sarsen serve` puts them together,
//! in a folder that is removed, on a free port of this machine, with a clock that the test moves.

use super::client;
use crate::assemble::{AssembleError, Assembly, assemble_at, take_apart};
use crate::cli::{ServeArguments, TestArguments};
use crate::limits::{TEST_MEMORY_BYTES, TEST_TASKS_EVERY};
use crate::machine;
use gem::testing::Stage;
use gem::{Ledger, List, Pool};
use repository::Timestamp;
use std::fs;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// How far the clock moves with each request, in milliseconds: what is made later has a later time.
const STEP_MS: u64 = 1;

/// One test's server.
pub struct Site {
    assembly: Assembly,
    clock: Arc<AtomicU64>,
    /// Removed at the very end.
    _folder: Folder,
}

impl Site {
    /// Starts it.
    pub fn start(arguments: &TestArguments) -> Result<Self, AssembleError> {
        let folder = Folder::new();
        let serve = ServeArguments {
            app: Some(arguments.app.clone()),
            data: folder.0.join("data"),
            listen: (Ipv4Addr::LOCALHOST, 0).into(),
            gems: Some(1),
            memory: Some(TEST_MEMORY_BYTES),
            development: true,
            ..ServeArguments::default()
        };
        let clock = Arc::new(AtomicU64::new(machine::now().0));
        let hand = Arc::clone(&clock);
        let time = Arc::new(move || Timestamp(hand.load(Ordering::SeqCst)));
        let assembly = assemble_at(&serve, &Arc::default(), (time, &|_| {}))?;
        Ok(Self { assembly, clock, _folder: folder })
    }

    /// What the test is given of it.
    pub fn stage(&self, arguments: &TestArguments) -> Stage {
        let (address, patience) = (self.assembly.server.local_addr(), arguments.timeout);
        let [step, read, moved] = [(); 3].map(|()| Arc::clone(&self.clock));
        let pool = self.assembly.application.as_ref().map(|app| Arc::clone(&app.pool));
        let ledger = Ledger::new(Arc::clone(&self.assembly.repository));
        let tasks = Tasks { pool, ledger, patience };
        Stage {
            repository: Arc::clone(&self.assembly.repository),
            send: Box::new(move |sent| {
                step.fetch_add(STEP_MS, Ordering::SeqCst);
                client::exchange(address, &sent, patience)
            }),
            now: Box::new(move || Timestamp(read.load(Ordering::SeqCst))),
            advance: Box::new(move |milliseconds| {
                // First what is due now: crons get their next times at the time that it is.
                tasks.settle(Timestamp(moved.load(Ordering::SeqCst)))?;
                moved.fetch_add(milliseconds, Ordering::SeqCst);
                tasks.settle(Timestamp(moved.load(Ordering::SeqCst)))
            }),
        }
    }

    /// Stops it. That all is well with what is thrown away is of no interest.
    pub fn end(self) {
        let Self { assembly, .. } = self;
        if let Err(error) = take_apart(assembly) {
            log::warn!("{error}");
        }
    }
}

/// What the application under test does by itself: its tasks, and its `onExpire` functions.
struct Tasks {
    pool: Option<Arc<Pool>>,
    ledger: Ledger,
    patience: Duration,
}

impl Tasks {
    /// Waits until what has expired has been seen to, and each that is due at `now` has run, or has
    /// failed and waits for another try.
    fn settle(&self, now: Timestamp) -> Result<(), String> {
        let Some(pool) = &self.pool else { return Ok(()) };
        pool.look_at_clock();
        // First: an `onExpire` may start tasks.
        let seen_to = || pool.are_expired_seen_to().map_err(|error| error.to_string());
        self.wait("onExpire of what has expired", seen_to)?;
        self.wait("the start of tasks", || Ok(pool.are_crons_ready()))?;
        self.wait("a task that is due", || {
            let list = self.ledger.list(List::Waiting).map_err(|error| error.to_string())?;
            Ok(list.tasks.iter().all(|task| task.due_ms > now.0))
        })
    }

    fn wait(&self, what: &str, is_so: impl Fn() -> Result<bool, String>) -> Result<(), String> {
        let begun = Instant::now();
        while !is_so()? {
            if begun.elapsed() > self.patience {
                return Err(format!("{what}: this has not ended within {:?}", self.patience));
            }
            thread::sleep(TEST_TASKS_EVERY);
        }
        Ok(())
    }
}

/// A folder for temporary files.
struct Folder(PathBuf);

impl Folder {
    /// One that no other process uses. It is made by whoever writes into it.
    fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("sarsen-test-{}-{number}", std::process::id());
        Self(std::env::temp_dir().join(name))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Where it cannot be removed the system's own cleaning of temporary files does it.
        let _left = fs::remove_dir_all(&self.0);
    }
}
