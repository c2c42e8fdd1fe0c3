//! Runs native operations: each is one transaction on the repository, and its outcome is given only
//! when all that it reveals is durable.

use crate::operation::{Content, Executed, Operation, Outcome, Place, Written};
use crate::preconditions::{Preconditions, Verdict};
use crate::problem::{Kind, Problem};
use crate::reactor::Reactor;
use repository::{
    Attempt, CollectionName, KeyRandomness, Poisoned, Ran, ReadError, RunError, StageError,
    Transaction,
};
use std::sync::Arc;

/// Runs `operation` and waits until its outcome may be revealed.
pub(crate) async fn execute(operation: Operation, reactor: &Reactor) -> Result<Executed, Problem> {
    let ran = match reactor.repository.try_run(|tx| stage(&operation, tx)) {
        Ok(Attempt::Done(ran)) => Ok(ran),
        Ok(Attempt::Contended) => run_contended(operation, reactor).await?,
        Err(error) => Err(error),
    };
    match ran {
        Ok(ran) => {
            reactor.gate.durable(ran.wait_for).await?;
            Ok(conclude(ran))
        }
        Err(error) => Err(refuse(error, reactor).await?),
    }
}

/// The problem of a run that did not commit, when it may be told.
async fn refuse(error: RunError<Refusal>, reactor: &Reactor) -> Result<Problem, Poisoned> {
    let (problem, wait_for) = match error {
        RunError::Body { error, wait_for } => (error.into(), wait_for),
        RunError::Begin(error) => return Ok(error.into()),
        RunError::Duplicate { duplicate, wait_for } => (duplicate.into(), wait_for),
        // That it came to a commit reveals something of the view, which is at most this.
        RunError::Commit(error) => (error.into(), reactor.repository.stats().visible),
    };
    reactor.gate.durable(wait_for).await?;
    Ok(Problem::at(problem, wait_for))
}

type RunResult = Result<Ran<Outcome>, RunError<Refusal>>;

/// In the serial lane it must finish, but may block: not on the reactor's thread.
async fn run_contended(operation: Operation, reactor: &Reactor) -> Result<RunResult, Problem> {
    let repository = Arc::clone(&reactor.repository);
    reactor.off_thread(move || repository.run(|tx| stage(&operation, tx))).await
}

/// Why the body of a transaction refused.
#[derive(Debug)]
enum Refusal {
    NotFound,
    PreconditionFailed,
    Read(ReadError),
    Stage(StageError),
}

/// The body of the transaction.
fn stage(operation: &Operation, tx: &mut Transaction) -> Result<Outcome, Refusal> {
    match operation {
        Operation::Get { place, preconditions } => get(tx, place, preconditions),
        Operation::Put { place, content, preconditions } => put(tx, place, content, preconditions),
        Operation::Delete { place, preconditions } => delete(tx, place, preconditions),
        Operation::Create { collection, content, randomness, preconditions } => {
            // The collection itself has no representation that a condition could be about.
            if preconditions.for_write(None) == Verdict::Failed {
                return Err(Refusal::PreconditionFailed);
            }
            create(tx, collection, content, *randomness)
        }
    }
}

/// A precondition counts only where the answer would otherwise be a success (RFC 9110 §13.2.1): a
/// document that is not there is 404, whatever the conditions.
fn get(tx: &mut Transaction, at: &Place, conditions: &Preconditions) -> Result<Outcome, Refusal> {
    let document = tx.get(&at.collection, &at.key)?.ok_or(Refusal::NotFound)?;
    match conditions.for_read(&document) {
        Verdict::Proceed => Ok(Outcome::Found(document)),
        Verdict::NotModified => Ok(Outcome::NotModified { version: document.version }),
        Verdict::Failed => Err(Refusal::PreconditionFailed),
    }
}

fn put(
    tx: &mut Transaction,
    at: &Place,
    content: &Content,
    conditions: &Preconditions,
) -> Result<Outcome, Refusal> {
    let current = tx.get(&at.collection, &at.key)?;
    if conditions.for_write(current.as_deref()) == Verdict::Failed {
        return Err(Refusal::PreconditionFailed);
    }
    write(tx, at, content)?;
    Ok(Outcome::Written(Written { is_new: current.is_none(), made_at: None }))
}

fn delete(
    tx: &mut Transaction,
    at: &Place,
    conditions: &Preconditions,
) -> Result<Outcome, Refusal> {
    let current = tx.get(&at.collection, &at.key)?.ok_or(Refusal::NotFound)?;
    if conditions.for_write(Some(&current)) == Verdict::Failed {
        return Err(Refusal::PreconditionFailed);
    }
    tx.delete(&at.collection, &at.key)?;
    Ok(Outcome::Deleted)
}

/// A taken key is next to impossible, but overwriting its document would be a lost update.
fn create(
    tx: &mut Transaction,
    collection: &CollectionName,
    content: &Content,
    mut randomness: KeyRandomness,
) -> Result<Outcome, Refusal> {
    let place = loop {
        let key = randomness.key_at(tx.time());
        if tx.get(collection, &key)?.is_none() {
            break Place { collection: collection.clone(), key };
        }
        randomness = randomness.next();
    };
    write(tx, &place, content)?;
    Ok(Outcome::Written(Written { is_new: true, made_at: Some(place) }))
}

fn write(tx: &mut Transaction, at: &Place, content: &Content) -> Result<(), StageError> {
    let Content { media_type, body } = content;
    tx.put(&at.collection, &at.key, media_type.clone(), body.clone(), None)
}

fn conclude(ran: Ran<Outcome>) -> Executed {
    let durability = ran.committed.map(|_| ran.durability);
    Executed { outcome: ran.value, commit: Some(ran.wait_for), durability }
}

impl From<ReadError> for Refusal {
    fn from(error: ReadError) -> Self {
        Self::Read(error)
    }
}

impl From<StageError> for Refusal {
    fn from(error: StageError) -> Self {
        Self::Stage(error)
    }
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::NotFound => Self::not_found(),
            Refusal::PreconditionFailed => Self::new(
                Kind::PreconditionFailed,
                "the document is not in the state that the request's conditions ask for; \
                 read it again and decide anew",
            ),
            Refusal::Read(error) => error.into(),
            Refusal::Stage(error) => error.into(),
        }
    }
}
