//! Expiries: finds documents that have expired and whose collections have an `onExpire`, and has a
//! worker ask it, each in a transaction that removes the document. A document that is still there
//! has not been seen to: so after a crash it is found again, and one whose function fails is tried
//! again later, while others go on.

use crate::errand::{CallError, Caller, Errand, Host, Served, Step};
use crate::errors::Failure;
use crate::exchange::Request;
use crate::limits::{
    EXPIRIES_FAILED_MAX, EXPIRIES_IN_FLIGHT_MAX, EXPIRY_PASS_WHEN_FULL, EXPIRY_RETRY_MAX,
    EXPIRY_RETRY_MIN, EXPIRY_ROWS_A_LOOK,
};
use crate::pool::Job;
use crate::queue::Queue;
use crate::services::{Method, Services};
use bytes::Bytes;
use parking_lot::{Condvar, Mutex};
use repository::{
    CommitNumber, Expired, ExpiryPosition, Kept, MediaType, ReadError, Repository, RunError,
    StageError, Timestamp,
};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// How often it looks whether something has expired, where anybody wants to know.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// A document whose function failed.
#[derive(Clone, Copy, Debug)]
struct Failed {
    times: u32,
    /// When it is tried again, by the repository's clock.
    again: Timestamp,
}

#[derive(Default)]
struct State {
    /// Those that are with the workers.
    in_flight: HashSet<Expired>,
    failed: HashMap<Expired, Failed>,
    /// Whether there is a collection with an `onExpire`.
    is_wanted: bool,
    is_stopped: bool,
}

impl State {
    /// Whether it has failed and is not to be tried again yet.
    fn waits(&self, document: &Expired, now: Timestamp) -> bool {
        self.failed.get(document).is_some_and(|failed| failed.again > now)
    }
}

struct Shared {
    repository: Arc<Repository>,
    queue: Arc<Queue<Job>>,
    state: Mutex<State>,
    changed: Condvar,
}

/// The thread that looks, from the moment on when the application first wants it.
pub(crate) struct Expiries {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Expiries {
    pub(crate) fn new(repository: Arc<Repository>, queue: Arc<Queue<Job>>) -> Self {
        let (state, changed) = (Mutex::default(), Condvar::new());
        let shared = Arc::new(Shared { repository, queue, state, changed });
        Self { shared, thread: Mutex::default() }
    }

    /// Serves these services from now on.
    pub(crate) fn serve(&self, services: &Services) -> std::io::Result<()> {
        let kept = Kept::of(services.expiring().cloned());
        let is_wanted = kept != Kept::Nothing;
        let mut thread = self.thread.lock();
        if is_wanted && thread.is_none() {
            let shared = Arc::clone(&self.shared);
            let look = move || shared.run();
            *thread = Some(thread::Builder::new().name("expiries".to_owned()).spawn(look)?);
        }
        self.shared.repository.keep_expired(kept);
        let mut state = self.shared.state.lock();
        state.is_wanted = is_wanted;
        // A new application may do better.
        state.failed.clear();
        self.shared.changed.notify_all();
        Ok(())
    }

    /// Looks now.
    pub(crate) fn look(&self) {
        self.shared.changed.notify_all();
    }

    /// Whether nothing that has expired is left to do now: what is still there has failed, and
    /// waits.
    pub(crate) fn are_seen_to(&self) -> Result<bool, ReadError> {
        let mut after = None;
        loop {
            let page = self.shared.repository.expired(after.as_ref(), EXPIRY_ROWS_A_LOOK)?;
            let state = self.shared.state.lock();
            let waits = |document| state.waits(document, page.time);
            if !state.in_flight.is_empty() || !page.documents.iter().all(waits) {
                return Ok(false);
            }
            drop(state);
            let Some(next) = page.next else { return Ok(true) };
            after = Some(next);
        }
    }

    /// Ends the thread. What is with the workers goes on.
    pub(crate) fn stop(&self) {
        self.shared.state.lock().is_stopped = true;
        self.shared.changed.notify_all();
        if let Some(thread) = self.thread.lock().take()
            && thread.join().is_err()
        {
            log::error!("the thread for expiries panicked");
        }
    }
}

impl Shared {
    fn run(self: &Arc<Self>) {
        let mut pass = Pass::default();
        let mut told = None;
        loop {
            let mut state = self.state.lock();
            match state.is_wanted {
                true => drop(self.changed.wait_for(&mut state, LOOK_EVERY)),
                false => self.changed.wait(&mut state),
            }
            if state.is_stopped {
                return;
            }
            let (is_wanted, in_flight) = (state.is_wanted, state.in_flight.len());
            drop(state);
            let (queued, queue_max) = self.queue.length();
            // Clients go first: half of the queue is theirs alone.
            if is_wanted && in_flight < EXPIRIES_IN_FLIGHT_MAX && queued * 2 <= queue_max {
                let why = self.look(&mut pass).err().map(|error| error.to_string());
                if let Some(why) = why.as_ref().filter(|why| told.as_ref() != Some(*why)) {
                    log::error!("what has expired cannot be read, it is tried again: {why}");
                }
                told = why;
            }
        }
    }

    /// Hands some of what has expired to the workers.
    fn look(self: &Arc<Self>, pass: &mut Pass) -> Result<(), ReadError> {
        let page = self.repository.expired(pass.next.as_ref(), EXPIRY_ROWS_A_LOOK)?;
        if !pass.may_go_on(page.time, self.state.lock().failed.len()) {
            return Ok(());
        }
        for document in page.documents {
            let mut state = self.state.lock();
            if state.in_flight.len() >= EXPIRIES_IN_FLIGHT_MAX {
                // The next look begins where this one did.
                return Ok(());
            }
            if state.waits(&document, page.time) || !state.in_flight.insert(document.clone()) {
                continue;
            }
            drop(state);
            self.submit(document);
        }
        pass.next = page.next;
        Ok(())
    }

    fn submit(self: &Arc<Self>, document: Expired) {
        let caller = Some(Caller { request: no_request(), principal: None });
        let outcome = Outcome::Dropped;
        let ticket = Ticket { shared: Arc::clone(self), document, caller, outcome };
        // Dropped if the queue is full: then it is found again.
        drop(self.queue.push(Job::Errand(Box::new(ticket))));
    }

    fn ended(&self, document: &Expired, outcome: &Outcome) {
        let mut state = self.state.lock();
        state.in_flight.remove(document);
        let Outcome::Failed { at, why } = outcome else {
            if matches!(outcome, Outcome::Done) {
                state.failed.remove(document);
            }
            return;
        };
        let is_full = state.failed.len() >= EXPIRIES_FAILED_MAX;
        let times = state.failed.get(document).map_or(0, |failed| failed.times);
        let retry = retry_after(times);
        let Expired { collection, key, .. } = document;
        log::error!(
            target: "app",
            "onExpire of {collection} failed for \"{key}\", it is tried again in {retry:?}: {why}"
        );
        if times > 0 || !is_full {
            let retry_ms = u64::try_from(retry.as_millis()).unwrap_or(u64::MAX);
            let again = Timestamp(at.0.saturating_add(retry_ms));
            state.failed.insert(document.clone(), Failed { times: times + 1, again });
        }
    }
}

/// After how long one that has failed so many times before is tried again.
fn retry_after(times: u32) -> Duration {
    EXPIRY_RETRY_MIN.saturating_mul(1 << times.min(20)).min(EXPIRY_RETRY_MAX)
}

/// One pass of what has expired.
#[derive(Default)]
struct Pass {
    next: Option<ExpiryPosition>,
    begun: Timestamp,
}

impl Pass {
    /// Whether to go on with it, or begin it, now. Where more have failed than are remembered, some
    /// are tried again with each pass.
    fn may_go_on(&mut self, now: Timestamp, failed: usize) -> bool {
        if self.next.is_some() {
            return true;
        }
        let pause = u64::try_from(EXPIRY_PASS_WHEN_FULL.as_millis()).unwrap_or(u64::MAX);
        let is_early = now.0 < self.begun.0.saturating_add(pause);
        if failed >= EXPIRIES_FAILED_MAX && is_early {
            return false;
        }
        self.begun = now;
        true
    }
}

/// What came of asking.
enum Outcome {
    Done,
    /// The worker never got to it.
    Dropped,
    Failed {
        /// By the repository's clock.
        at: Timestamp,
        why: String,
    },
}

/// A document that is with the workers; it is no longer when this is dropped.
struct Ticket {
    shared: Arc<Shared>,
    document: Expired,
    /// There until it is called for the first time.
    caller: Option<Caller>,
    outcome: Outcome,
}

impl Errand for Ticket {
    fn run(&mut self, host: &Host<'_>) -> Step {
        host.start(self.caller.take());
        match see_to(host, &self.document) {
            Ok(outcome) => {
                let is_done = matches!(outcome, Outcome::Done);
                self.outcome = outcome;
                if is_done { Step::Done } else { Step::Refused }
            }
            Err(view) => Step::Waits(view),
        }
    }

    fn fail(mut self: Box<Self>, failure: Failure) {
        self.outcome = Outcome::Failed { at: self.document.at, why: failure.to_string() };
    }
}

/// Functions do not see it.
fn no_request() -> Request {
    Request {
        method: Method::Expire.as_str().to_owned(),
        path: String::new(),
        query: String::new(),
        headers: Vec::new(),
        body: Bytes::new(),
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.shared.ended(&self.document, &self.outcome);
    }
}

/// Why a document was not removed.
enum Stop {
    Call(CallError),
    Read(ReadError),
    Stage(StageError),
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Self {
        Self::Call(CallError::Failed(failure))
    }
}

/// `Err`: the function waits, on this view.
fn see_to(host: &Host<'_>, document: &Expired) -> Result<Outcome, CommitNumber> {
    let mut at = document.at;
    let ran = host.repository().run_owned(|transaction| {
        at = transaction.time();
        host.run(transaction, |served| remove(served, document))
    });
    let why = match ran {
        Ok(_) => return Ok(Outcome::Done),
        Err(RunError::Body { error: Stop::Call(CallError::Waits), wait_for }) => {
            return Err(wait_for);
        }
        Err(RunError::Body { error: Stop::Call(error), .. }) => told(error),
        Err(RunError::Body { error: Stop::Read(error), .. }) => error.to_string(),
        Err(RunError::Body { error: Stop::Stage(error), .. }) => error.to_string(),
        Err(RunError::Begin(error)) => error.to_string(),
        Err(RunError::Commit(error)) => error.to_string(),
        Err(RunError::Duplicate { duplicate, .. }) => duplicate.to_string(),
    };
    Ok(Outcome::Failed { at, why })
}

fn told(error: CallError) -> String {
    match error {
        CallError::Refused { status, message } => format!("it refused ({status}): {message}"),
        CallError::Waits => "it waits".to_owned(),
        CallError::Failed(failure) => failure.to_string(),
    }
}

/// Asks about the document and removes it, if it is still there.
fn remove(served: &mut Served<'_>, document: &Expired) -> Result<(), Stop> {
    let Expired { collection, key, .. } = document;
    // Another application may be served by now: then the reaper removes it.
    if !served.service(collection).has(Method::Expire) {
        return Ok(());
    }
    let found = served.transaction().expired(collection, key).map_err(Stop::Read)?;
    let Some(found) = found else { return Ok(()) };
    // Functions are asked about JSON; what else there is was never theirs.
    if found.media_type == MediaType::Json {
        let asked = (Some(&found.body), None);
        served.call((collection, key), Method::Expire, asked).map_err(Stop::Call)?;
    }
    served.transaction().delete(collection, key).map_err(Stop::Stage)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retries_are_further_and_further_apart_up_to_a_bound() {
        let seconds = |times| retry_after(times).as_secs();
        assert_eq!([0, 1, 2, 5].map(seconds), [1, 2, 4, 32]);
        assert_eq!(retry_after(u32::MAX), EXPIRY_RETRY_MAX);
    }

    #[test]
    fn passes_are_rare_where_more_have_failed_than_are_remembered() {
        let mut pass = Pass::default();
        let pause = EXPIRY_PASS_WHEN_FULL.as_millis() as u64;
        let at = |ms| Timestamp(1_000_000 + ms);
        assert!(pass.may_go_on(at(0), EXPIRIES_FAILED_MAX));
        assert!(!pass.may_go_on(at(1), EXPIRIES_FAILED_MAX));
        assert!(pass.may_go_on(at(2), EXPIRIES_FAILED_MAX - 1));
        assert!(!pass.may_go_on(at(3), EXPIRIES_FAILED_MAX));
        assert!(pass.may_go_on(at(2 + pause), EXPIRIES_FAILED_MAX));
    }
}
