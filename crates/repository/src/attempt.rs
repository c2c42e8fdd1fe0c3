//! Running a body as one transaction until it commits: a few optimistic tries, then the serial
//! lane, in which it must finish.

use crate::conflict::Place;
use crate::document::{CommitNumber, Timestamp};
use crate::durability::Durability;
use crate::errors::{BeginError, CommitError};
use crate::lane::Turn;
use crate::limits::{LANE_TRIES, OPTIMISTIC_TRIES};
use crate::repository::Repository;
use crate::transaction::{Duplicate, Outcome, Transaction};
use std::sync::atomic::Ordering;
use std::thread::ThreadId;

/// What a finished run gives.
#[derive(Debug)]
pub struct Ran<T> {
    /// What the body returned in the try that committed.
    pub value: T,
    /// A reply may leave when `durable >= wait_for`: max(view, own commit).
    pub wait_for: CommitNumber,
    /// The time of the view. What it does not see is later, but for what was becoming visible.
    pub time: Timestamp,
    /// Own commit, if anything was written.
    pub committed: Option<CommitNumber>,
    /// What durable means for it: the strongest of the collections that were written.
    pub durability: Durability,
    /// Tries that lost.
    pub conflicts: u32,
}

/// The end of the optimistic tries.
#[derive(Debug)]
pub enum Attempt<T> {
    /// Committed.
    Done(Ran<T>),
    /// Lost `OPTIMISTIC_TRIES` times, or held back by the serial lane; use [`Repository::run`] on
    /// a thread that may block.
    Contended,
}

/// Why a run ended without a commit.
#[derive(Debug)]
pub enum RunError<E> {
    /// The body refused; nothing was written. What it read may be revealed in a reply only when
    /// `durable >= wait_for`.
    Body {
        /// The body's error.
        error: E,
        /// See above.
        wait_for: CommitNumber,
    },
    /// No transaction could begin.
    Begin(BeginError),
    /// The commit was refused.
    Commit(CommitError),
    /// A unique index has the values already; nothing was written. That may be revealed in a
    /// reply only when `durable >= wait_for`.
    Duplicate {
        /// Who has them.
        duplicate: Duplicate,
        /// See above.
        wait_for: CommitNumber,
    },
}

/// One try.
enum Try<T> {
    Done(Ran<T>),
    Lost(Transaction),
    HeldBack(Transaction),
}

impl Repository {
    /// Runs `body` as one transaction; a conflict runs it again on a fresh view. Never blocks.
    pub fn try_run<T, E>(
        &self,
        body: impl FnMut(&mut Transaction) -> Result<T, E>,
    ) -> Result<Attempt<T>, RunError<E>> {
        let mut body = lending(body);
        for conflicts in 0..OPTIMISTIC_TRIES {
            match self.attempt(&mut body, None, conflicts)? {
                Try::Done(ran) => return Ok(Attempt::Done(ran)),
                Try::Lost(_) => {}
                Try::HeldBack(_) => break,
            }
        }
        Ok(Attempt::Contended)
    }

    /// As `try_run`, then in the serial lane, where it must finish. May block while others are in
    /// the lane; the body must not call `run` itself.
    pub fn run<T, E>(
        &self,
        body: impl FnMut(&mut Transaction) -> Result<T, E>,
    ) -> Result<Ran<T>, RunError<E>> {
        self.run_owned(lending(body))
    }

    /// As `run`, for a body that must own the transaction while it works. It gives it back.
    pub fn run_owned<T, E>(
        &self,
        mut body: impl FnMut(Transaction) -> (Transaction, Result<T, E>),
    ) -> Result<Ran<T>, RunError<E>> {
        let (mut conflicts, mut held_back) = (0, 0);
        let lost = loop {
            match self.attempt(&mut body, None, conflicts)? {
                Try::Done(ran) => return Ok(ran),
                Try::HeldBack(held) => {
                    held_back += 1;
                    if held_back == OPTIMISTIC_TRIES {
                        // Whoever only waits could wait for ever while others use the lane.
                        break held;
                    }
                    // Its view must not stay open while it waits.
                    drop(held);
                    self.store.lane.wait();
                }
                Try::Lost(lost) => {
                    conflicts += 1;
                    if conflicts == OPTIMISTIC_TRIES {
                        break lost;
                    }
                }
            }
        };
        let footprint = lost.footprint();
        // Its view must not stay open while the lane is waited for.
        drop(lost);
        self.run_in_lane(&mut body, footprint, conflicts)
    }

    /// Says that nothing will come of what `thread` runs now: if that is in the serial lane, nobody
    /// waits for it any more. Should it come to a commit after all, it may lose, as outside.
    pub fn abandon(&self, thread: ThreadId) {
        self.store.lane.abandon(thread);
    }

    fn run_in_lane<T, E>(
        &self,
        body: &mut impl FnMut(Transaction) -> (Transaction, Result<T, E>),
        footprint: Option<Vec<Place>>,
        mut conflicts: u32,
    ) -> Result<Ran<T>, RunError<E>> {
        self.store.counters.serial_lane.fetch_add(1, Ordering::Relaxed);
        let turn = self.store.lane.enter();
        turn.reserve(footprint);
        for tries in 0..2 * LANE_TRIES {
            match self.attempt(body, Some(&turn), conflicts)? {
                Try::Done(ran) => return Ok(ran),
                // It touched something that was not reserved.
                Try::Lost(lost) if tries + 1 < LANE_TRIES => turn.reserve(lost.footprint()),
                // What it lost to may have been under way when everything was reserved.
                Try::Lost(_) | Try::HeldBack(_) => turn.reserve_everything(),
            }
            conflicts += 1;
        }
        Err(RunError::Commit(CommitError::NoProgress))
    }

    fn attempt<T, E>(
        &self,
        body: &mut impl FnMut(Transaction) -> (Transaction, Result<T, E>),
        lane: Option<&Turn<'_>>,
        conflicts: u32,
    ) -> Result<Try<T>, RunError<E>> {
        let (mut transaction, value) = body(self.begin().map_err(RunError::Begin)?);
        let (view, time) = (transaction.view(), transaction.time());
        let value = value.map_err(|error| {
            self.store.counters.aborted.fetch_add(1, Ordering::Relaxed);
            RunError::Body { error, wait_for: view }
        })?;
        let durability = transaction.durability();
        let done = |value, wait_for, committed| {
            Ok(Try::Done(Ran { value, wait_for, time, committed, durability, conflicts }))
        };
        // One that was abandoned meanwhile is a transaction like any other.
        let in_lane = lane.is_some_and(Turn::is_held);
        match transaction.decide(in_lane).map_err(RunError::Commit)? {
            Outcome::Committed(number) => done(value, number, Some(number)),
            Outcome::Unchanged(view) => done(value, view, None),
            Outcome::HeldBack => Ok(Try::HeldBack(transaction)),
            Outcome::Conflict(_) => Ok(Try::Lost(transaction)),
            Outcome::Duplicate(duplicate) => Err(RunError::Duplicate { duplicate, wait_for: view }),
        }
    }
}

/// A body that borrows the transaction, as one that owns it.
fn lending<T, E>(
    mut body: impl FnMut(&mut Transaction) -> Result<T, E>,
) -> impl FnMut(Transaction) -> (Transaction, Result<T, E>) {
    move |mut transaction| {
        let value = body(&mut transaction);
        (transaction, value)
    }
}
