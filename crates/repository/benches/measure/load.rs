//! Threads that run transactions of one kind as fast as they can, so many outstanding.

use super::random::Random;
use super::window::Window;
use repository::{CommitNumber, Repository};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// What a thread of a load does.
pub trait Step: Fn(u64, &mut Random) -> (CommitNumber, u64) + Sync {}
impl<F: Fn(u64, &mut Random) -> (CommitNumber, u64) + Sync> Step for F {}

/// How it is done.
#[derive(Clone, Copy)]
pub struct Load {
    pub threads: u64,
    pub outstanding: usize,
}

/// What came of it.
#[derive(Clone, Copy)]
pub struct Loaded {
    pub transactions: u64,
    /// Tries that were refused because the repository was overloaded.
    pub refused: u64,
    pub elapsed: Duration,
}

impl Loaded {
    pub fn per_second(self) -> f64 {
        self.transactions as f64 / self.elapsed.as_secs_f64()
    }
}

impl Load {
    /// Runs `step` with 0, 1, 2, ... on any of the threads for as long as `goes_on` with the next
    /// of these. A step gives what its reply waits for, and how often it was refused.
    pub fn run(
        self,
        repository: &Repository,
        goes_on: impl Fn(u64) -> bool + Sync,
        step: impl Step,
    ) -> Loaded {
        let (transactions, refused) = (AtomicU64::new(0), AtomicU64::new(0));
        let started = Instant::now();
        let client = |thread: u64| {
            let mut window = Window::new(repository, self.outstanding / self.threads as usize);
            let (mut random, mut i) = (Random::new(thread), thread);
            let mut refusals = 0;
            while goes_on(i) {
                let (wait_for, more) = step(i, &mut random);
                window.admit(wait_for);
                refusals += more;
                i += self.threads;
            }
            window.drain();
            transactions.fetch_add((i - thread) / self.threads, Ordering::Relaxed);
            refused.fetch_add(refusals, Ordering::Relaxed);
        };
        std::thread::scope(|scope| {
            for thread in 0..self.threads {
                let client = &client;
                scope.spawn(move || client(thread));
            }
        });
        let elapsed = started.elapsed();
        Loaded { transactions: transactions.into_inner(), refused: refused.into_inner(), elapsed }
    }

    /// The same for a time.
    pub fn run_for(self, repository: &Repository, time: Duration, step: impl Step) -> Loaded {
        let started = Instant::now();
        self.run(repository, |_| started.elapsed() < time, step)
    }
}
