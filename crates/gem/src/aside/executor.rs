//! Sees to it that the asides of a waiting turn are performed, all of them at once, and that the
//! turn goes back to the gems with the answers. Every turn that comes in goes back or is answered.

use super::crew::{Bounds, Crew};
use super::{Answer, Aside, TooMany, answer_bytes};
use crate::errand::Errand;
use crate::errors::{Failure, FailureKind, Fault};
use crate::exchange::{Respond, hand_over};
use crate::limits::{
    FETCH_QUEUE, FETCH_THREADS, FILL_QUEUE, FILL_THREADS, PASSWORD_QUEUE, PASSWORD_THREADS,
};
use crate::pool::Job;
use crate::queue::Queue;
use crate::turn::Turn;
use crate::worker::panic_text;
use parking_lot::Mutex;
use repository::{CommitNumber, Repository};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// A turn whose run ended because it waits.
pub(crate) struct Waiting {
    pub(crate) turn: Turn,
    /// What it waits for; at least one.
    pub(crate) asides: Vec<Arc<Aside>>,
    /// The view of the run. An aside may carry what it read there out of the server, so it begins
    /// when that is durable.
    pub(crate) view: CommitNumber,
}

/// For whom a turn goes on.
pub(crate) enum Back {
    /// A client that waits for a reply.
    Reply(Respond),
    Errand(Box<dyn Errand>),
}

/// The crews, and the way back to the gems.
pub(crate) struct Executor {
    gems: Arc<Queue<Job>>,
    repository: Arc<Repository>,
    passwords: Crew<Task>,
    fetches: Crew<Task>,
    fills: Crew<Task>,
}

/// The asides of one turn that are performed at once.
struct Round {
    gems: Arc<Queue<Job>>,
    repository: Arc<Repository>,
    view: CommitNumber,
    /// `None` once the turn has gone back or was answered.
    open: Mutex<Option<Open>>,
}

struct Open {
    turn: Turn,
    back: Back,
    /// In the order of the asides.
    answers: Vec<Option<Answer>>,
    unanswered: usize,
    /// Bytes that answers may still hold.
    room: usize,
}

/// One aside of a round.
struct Task {
    round: Arc<Round>,
    place: usize,
    aside: Arc<Aside>,
}

impl Executor {
    /// Turns go back to `gems`.
    pub(crate) fn new(gems: Arc<Queue<Job>>, repository: Arc<Repository>) -> Self {
        let bounds = Bounds { threads: PASSWORD_THREADS, queue: PASSWORD_QUEUE };
        let passwords = Crew::new("password", bounds, perform);
        let bounds = Bounds { threads: FETCH_THREADS, queue: FETCH_QUEUE };
        let fetches = Crew::new("fetch", bounds, perform);
        let bounds = Bounds { threads: FILL_THREADS, queue: FILL_QUEUE };
        let fills = Crew::new("fill", bounds, perform);
        Self { gems, repository, passwords, fetches, fills }
    }

    /// Has the asides of `waiting` performed. If there is no room for one of them, `back` gets a
    /// refusal.
    pub(crate) fn take(&self, waiting: Waiting, back: Back) {
        let Waiting { mut turn, asides, view } = waiting;
        self.gems.lend();
        let (unanswered, room) = (asides.len(), turn.notes_mut().room());
        let answers = asides.iter().map(|_| None).collect();
        let round = Arc::new(Round {
            gems: Arc::clone(&self.gems),
            repository: Arc::clone(&self.repository),
            view,
            open: Mutex::new(Some(Open { turn, back, answers, unanswered, room })),
        });
        for (place, aside) in asides.into_iter().enumerate() {
            let crew = self.crew(&aside);
            if crew.take(Task { round: Arc::clone(&round), place, aside }).is_err() {
                let message = "too much is awaited already; try again shortly";
                return round.fail(FailureKind::Busy.with(Fault::new(message, view)));
            }
        }
    }

    /// Who performs `aside`.
    fn crew(&self, aside: &Aside) -> &Crew<Task> {
        match aside {
            Aside::Hash(_) | Aside::Verify(_) => &self.passwords,
            Aside::Fetch(_) => &self.fetches,
            Aside::Fill(_) => &self.fills,
        }
    }

    /// Finishes what is queued and ends the threads.
    pub(crate) fn stop(&self) {
        self.passwords.stop();
        self.fetches.stop();
        self.fills.stop();
    }
}

fn perform(Task { round, place, aside }: Task) {
    // Another aside of the round was refused.
    if round.is_over() {
        return;
    }
    if let Err(poisoned) = round.repository.wait_durable(round.view) {
        let fault = Fault::new(poisoned.to_string(), CommitNumber(0));
        return round.fail(FailureKind::Unavailable.with(fault));
    }
    round.answer(place, caught(|| aside.perform()));
}

/// The answer that `perform` gives; a panic is an error of the aside.
fn caught(perform: impl FnOnce() -> Answer) -> Answer {
    catch_unwind(AssertUnwindSafe(perform)).unwrap_or_else(|panic| {
        let panic = panic_text(&*panic);
        log::error!("what a handler awaited panicked: {panic}");
        Err(format!("it failed by a mistake of the server's: {panic}"))
    })
}

impl Round {
    fn is_over(&self) -> bool {
        self.open.lock().is_none()
    }

    /// Takes the answer of the aside at `place`; the last one sends the turn back.
    fn answer(&self, place: usize, answer: Answer) {
        let mut state = self.open.lock();
        let Some(open) = &mut *state else { return };
        // Dropped now rather than at the end of the round: what waits for others adds up.
        let (answer, bytes) = match answer_bytes(&answer) {
            bytes if bytes > open.room => (Err(TooMany::Bytes.to_string()), 0),
            bytes => (answer, bytes),
        };
        open.room -= bytes;
        open.answers[place] = Some(answer);
        open.unanswered -= 1;
        if open.unanswered > 0 {
            return;
        }
        let Some(Open { mut turn, back, answers, .. }) = state.take() else { return };
        drop(state);
        turn.notes_mut().end_round(answers.into_iter().flatten());
        let is_task = turn.task_name().is_some();
        let turn = Box::new(turn);
        let job = match back {
            Back::Reply(respond) => Job::Again(turn, respond),
            Back::Errand(errand) => Job::ErrandAgain(turn, errand),
        };
        if is_task { self.gems.give_back_task(job) } else { self.gems.give_back(job) }
    }

    /// Ends the round, and the request with it.
    fn fail(&self, failure: Failure) {
        let Some(open) = self.open.lock().take() else { return };
        match open.back {
            Back::Reply(respond) => hand_over(respond, Err(failure)),
            Back::Errand(errand) => errand.fail(failure),
        }
        self.gems.keep();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_error_of_the_aside() {
        let answer = caught(|| panic!("no such thing"));
        assert_eq!(answer, Err("it failed by a mistake of the server's: no such thing".to_owned()));
    }
}
