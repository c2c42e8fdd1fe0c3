//! What one thread does: sessions are created, read, and updated, which renews them. A quarter of
//! the transactions creates, a quarter updates, half reads.

use crate::latency::Latencies;
use crate::measure::documents::{body, changed, key, notes, now};
use crate::measure::random::Random;
use parking_lot::Mutex;
use repository::{CommitError, CommitNumber, MediaType, Outcome, Repository, Timestamp};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// What all threads have done.
#[derive(Default)]
pub struct Counters {
    pub created: AtomicU64,
    pub updated: AtomicU64,
    pub read: AtomicU64,
    /// Sessions that were asked for and had expired.
    pub missed: AtomicU64,
    /// Commits refused because the repository was overloaded, and tried again after 1 ms.
    pub refused: AtomicU64,
    /// Commits that lost to another, and were tried again.
    pub aborted: AtomicU64,
}

#[derive(Clone, Copy)]
enum Work {
    Create(u64),
    Read(u64),
    Update(u64),
}

/// A commit whose reply waits.
struct Waiting {
    number: CommitNumber,
    begun: Instant,
}

pub struct Client<'a> {
    repository: &'a Repository,
    /// This thread, and how many there are.
    place: (u64, u64),
    expiry: Duration,
    counters: &'a Counters,
    latencies: &'a Mutex<Latencies>,
    random: Random,
    /// Sessions that this thread has created.
    created: u64,
    /// How many there were at the begin of each of the last seconds until now, as many as a session
    /// lives for.
    seconds: VecDeque<u64>,
    second: Instant,
    waiting: VecDeque<Waiting>,
}

impl<'a> Client<'a> {
    pub fn new(
        repository: &'a Repository,
        place: (u64, u64),
        expiry: Duration,
        (counters, latencies): (&'a Counters, &'a Mutex<Latencies>),
    ) -> Self {
        Self {
            repository,
            place,
            expiry,
            counters,
            latencies,
            random: Random::new(place.0),
            created: 0,
            seconds: VecDeque::from([0]),
            second: Instant::now(),
            waiting: VecDeque::new(),
        }
    }

    /// Works until `ends`, and until the last reply has left.
    pub fn run(&mut self, outstanding: usize, ends: &AtomicBool) {
        while !ends.load(Ordering::Relaxed) {
            let work = self.choose();
            let begun = Instant::now();
            let number = loop {
                match self.attempt(work) {
                    Ok(number) => break number,
                    Err(pause) => std::thread::sleep(pause),
                }
            };
            if let Some(number) = number {
                self.waiting.push_back(Waiting { number, begun });
            }
            self.release();
            if self.waiting.len() == outstanding {
                self.repository.wait_durable(self.waiting[0].number).unwrap();
                self.release();
            }
            self.mark(begun);
        }
        while let Some(first) = self.waiting.front() {
            self.repository.wait_durable(first.number).unwrap();
            self.release();
        }
    }

    fn choose(&mut self) -> Work {
        let kind = self.random.below(4);
        if kind == 0 || self.created == 0 {
            self.created += 1;
            return Work::Create(self.created - 1);
        }
        let oldest = self.seconds[0].min(self.created - 1);
        let session = oldest + self.random.below(self.created - oldest);
        if kind == 1 { Work::Update(session) } else { Work::Read(session) }
    }

    /// Gives the commit, if anything was written; or for how long to wait before the next try.
    fn attempt(&mut self, work: Work) -> Result<Option<CommitNumber>, Duration> {
        let counters = self.counters;
        let expires = Some(Timestamp(now().0 + self.expiry.as_millis() as u64));
        let mut transaction = self.repository.begin().unwrap();
        let (Work::Create(session) | Work::Read(session) | Work::Update(session)) = work;
        let id = session * self.place.1 + self.place.0;
        let (notes, key) = (notes(), key(id));
        let mut done = match work {
            Work::Create(_) => {
                transaction.put(&notes, &key, MediaType::Json, body(id), expires).unwrap();
                &counters.created
            }
            Work::Read(_) => &counters.read,
            Work::Update(_) => &counters.updated,
        };
        if !matches!(work, Work::Create(_)) {
            match transaction.get(&notes, &key).unwrap() {
                None => done = &counters.missed,
                Some(old) if matches!(work, Work::Update(_)) => {
                    let body = changed(&old.body, self.random.next());
                    transaction.put(&notes, &key, MediaType::Json, body, expires).unwrap();
                }
                Some(_) => {}
            }
        }
        let is_unchanged = transaction.is_unchanged();
        let decided = Instant::now();
        let outcome = transaction.commit();
        if !is_unchanged {
            let time = decided.elapsed().as_nanos() as u64;
            self.latencies.lock().decision.saturating_record(time.max(1));
        }
        let again = |counter: &AtomicU64, pause| {
            counter.fetch_add(1, Ordering::Relaxed);
            Err(pause)
        };
        let number = match outcome {
            Ok(Outcome::Committed(number)) => Some(number),
            Ok(Outcome::Unchanged(_)) => None,
            Ok(Outcome::Conflict(_) | Outcome::HeldBack) => {
                return again(&counters.aborted, Duration::ZERO);
            }
            Err(CommitError::Overloaded(_)) => {
                return again(&counters.refused, Duration::from_millis(1));
            }
            other => panic!("{other:?}"),
        };
        done.fetch_add(1, Ordering::Relaxed);
        Ok(number)
    }

    /// Lets go of the replies that need not wait any more.
    fn release(&mut self) {
        let durable = self.repository.durable().unwrap();
        if self.waiting.front().is_none_or(|first| first.number > durable) {
            return;
        }
        let now = Instant::now();
        let mut latencies = self.latencies.lock();
        while let Some(first) = self.waiting.front().filter(|first| first.number <= durable) {
            let time = now.duration_since(first.begun).as_nanos() as u64;
            latencies.durable.saturating_record(time.max(1));
            self.waiting.pop_front();
        }
    }

    /// Notes the begin of a second.
    fn mark(&mut self, now: Instant) {
        if now.duration_since(self.second) < Duration::from_secs(1) {
            return;
        }
        self.second = now;
        self.seconds.push_back(self.created);
        if self.seconds.len() as u64 > self.expiry.as_secs() {
            self.seconds.pop_front();
        }
    }
}
