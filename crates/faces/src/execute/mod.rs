//! Runs operations: each is one transaction on the repository, and its outcome is given only when
//! all that it reveals is durable. What an operation does in its transaction is in `stage`.

mod collections;
mod once;
mod past;
mod patch;
mod record;
mod refusal;
mod served;
mod stage;
mod transact;
mod work;

use crate::dispatch::failed;
use crate::operation::{Executed, Operation, Outcome, Transact};
use crate::problem::{Kind, Problem};
use crate::reactor::Reactor;
use refusal::Refusal;
use repository::limits::OPTIMISTIC_TRIES;
use repository::{
    Attempt, CommitNumber, Conflict, Durability, Poisoned, Ran, Repository, RunError, Transaction,
};
use std::sync::Arc;

/// Runs `operation` and waits until its outcome may be revealed.
/// `caller` tells who asks, to services.
pub(crate) async fn execute(
    operation: Operation,
    caller: impl FnOnce() -> gem::Caller,
    reactor: &Reactor,
) -> Result<Executed, Problem> {
    let ran = match reactor.asks(|services| served::is_asked(&operation, services)) {
        true => served::run(operation, caller(), reactor).await?,
        false => run(operation, reactor).await?,
    };
    match ran {
        Ok(ran) => {
            reactor.gate.durable(ran.wait_for).await?;
            Ok(conclude(ran))
        }
        Err(end) => Err(refuse(end, reactor).await?),
    }
}

/// Runs an operation that services are not asked about.
async fn run(operation: Operation, reactor: &Reactor) -> Result<RunResult, Problem> {
    let is_tried = !is_long(&operation) && !reports_conflicts(&operation);
    let tried = is_tried.then(|| reactor.repository.try_run(|tx| body(&operation, tx, ON_REACTOR)));
    Ok(match tried {
        Some(Ok(Attempt::Done(ran))) => Ok(ran),
        None
        | Some(Ok(Attempt::Contended))
        | Some(Err(RunError::Body { error: Refusal::Long, .. })) => {
            run_elsewhere(operation, reactor).await?
        }
        Some(Err(error)) => Err(End::Refused(error)),
    })
}

/// Where a transaction's body runs: what takes long must not hold up the reactor's connections.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Thread {
    is_reactor: bool,
}

const ON_REACTOR: Thread = Thread { is_reactor: true };
const ELSEWHERE: Thread = Thread { is_reactor: false };

/// What a body gives.
struct Staged {
    outcome: Outcome,
    /// The commit that came of the operation before, if it was performed before, and what its reply
    /// promised.
    earlier: Option<(CommitNumber, Durability)>,
}

/// Why there is no outcome.
enum End {
    Refused(RunError<Refusal>),
    /// A gem could not carry it out.
    Failed(gem::Failure),
    /// It lost, and wants to know to whom.
    Lost(Conflict),
    /// The serial lane has its documents, and its turn there was given up.
    HeldBack,
}

/// What is done in a transaction, which it gives back.
trait Body: FnMut(Transaction) -> (Transaction, Result<Staged, Refusal>) {}

impl<F: FnMut(Transaction) -> (Transaction, Result<Staged, Refusal>)> Body for F {}

type RunResult = Result<Ran<Staged>, End>;

fn body(operation: &Operation, tx: &mut Transaction, thread: Thread) -> Result<Staged, Refusal> {
    match operation {
        Operation::Once(once) => once::stage(once, tx, thread),
        other => {
            let outcome = stage::stage(other, tx, thread)?;
            Ok(Staged { outcome, earlier: None })
        }
    }
}

fn list(operation: &Operation) -> Option<&Transact> {
    match operation {
        Operation::Transact(list) => Some(list),
        Operation::Once(once) => list(&once.operation),
        _ => None,
    }
}

/// Whether it is known beforehand to take long.
fn is_long(operation: &Operation) -> bool {
    list(operation).is_some_and(|list| list.steps.len() > crate::limits::INLINE_STEPS_MAX)
}

fn reports_conflicts(operation: &Operation) -> bool {
    list(operation).is_some_and(|list| list.reports_conflicts)
}

/// In the serial lane it must finish, but may block: not on the reactor's thread.
async fn run_elsewhere(operation: Operation, reactor: &Reactor) -> Result<RunResult, Problem> {
    let repository = Arc::clone(&reactor.repository);
    let run = move || match reports_conflicts(&operation) {
        true => run_reporting(&repository, &mut |mut tx: Transaction| {
            let staged = body(&operation, &mut tx, ELSEWHERE);
            (tx, staged)
        }),
        false => repository.run(|tx| body(&operation, tx, ELSEWHERE)).map_err(End::Refused),
    };
    let turn = reactor.turn().await;
    // Many may have waited for it, and what each shows may be large.
    reactor.replies.check_change()?;
    reactor.with_turn(turn, run).await
}

/// One try, and the report if it lost. One that lost its name to the same request tries again: it
/// finds the other's answer.
fn run_reporting(repository: &Repository, body: &mut impl Body) -> RunResult {
    for _ in 1..OPTIMISTIC_TRIES {
        match run_once(repository, body) {
            Err(End::Lost(conflict)) if is_over_own(&conflict) => {}
            other => return other,
        }
    }
    run_once(repository, body)
}

/// Whether something of Sarsen's own was fought over.
fn is_over_own(conflict: &Conflict) -> bool {
    conflict.documents.iter().any(|contested| contested.collection.is_system())
}

/// One try, and the report if it lost. It waits for those whose turn it is.
fn run_once(repository: &Repository, body: &mut impl Body) -> RunResult {
    let tx = repository.begin().map_err(|error| End::Refused(RunError::Begin(error)))?;
    let (wait_for, time) = (tx.view(), tx.time());
    let (tx, value) = body(tx);
    let value = value.map_err(|error| End::Refused(RunError::Body { error, wait_for }))?;
    let durability = tx.durability();
    let done = |wait_for, committed| {
        Ok(Ran { value, wait_for, time, committed, durability, conflicts: 0 })
    };
    match tx.commit_in_turn().map_err(|error| End::Refused(RunError::Commit(error)))? {
        repository::Outcome::Committed(number) => done(number, Some(number)),
        repository::Outcome::Unchanged(view) => done(view, None),
        repository::Outcome::Conflict(conflict) => Err(End::Lost(conflict)),
        repository::Outcome::Duplicate(duplicate) => {
            Err(End::Refused(RunError::Duplicate { duplicate, wait_for }))
        }
        repository::Outcome::HeldBack => Err(End::HeldBack),
    }
}

/// The problem of a run without an outcome, when it may be told.
async fn refuse(end: End, reactor: &Reactor) -> Result<Problem, Poisoned> {
    let (problem, wait_for): (Problem, _) = match end {
        End::Refused(RunError::Body { error: Refusal::Call(failure), wait_for }) => {
            (failed(failure.at(wait_for), reactor.development), wait_for)
        }
        End::Refused(RunError::Body { error, wait_for }) => (error.into(), wait_for),
        End::Refused(RunError::Begin(error)) => return Ok(error.into()),
        End::Failed(failure) => {
            let wait_for = failure.wait_for();
            (failed(failure, reactor.development), wait_for)
        }
        End::Refused(RunError::Duplicate { duplicate, wait_for }) => (duplicate.into(), wait_for),
        // That it came to a commit reveals something of the view, which is at most this.
        End::Refused(RunError::Commit(error)) => (error.into(), reactor.repository.stats().visible),
        End::Lost(conflict) => ((&conflict).into(), conflict.competitor),
        End::HeldBack => {
            let detail = "another transaction on the same documents has to finish first";
            return Ok(Problem::new(Kind::Busy, detail));
        }
    };
    reactor.gate.durable(wait_for).await?;
    Ok(problem.at(wait_for))
}

fn conclude(ran: Ran<Staged>) -> Executed {
    let durability = ran.committed.map(|_| ran.durability);
    let (commit, durability) = match ran.value.earlier {
        Some((commit, durability)) => (commit, Some(durability)),
        None => (ran.wait_for, durability),
    };
    Executed { outcome: ran.value.outcome, commit: Some(commit), time: ran.time, durability }
}
