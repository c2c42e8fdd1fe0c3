//! A list of operations in one transaction.
//!
//! All conditions are checked first, on the view and so before any step of the list: each says what
//! the client knew when it made the list. Then the steps are performed in order, each seeing what
//! those before it have done.

use super::Thread;
use super::refusal::Refusal;
use super::stage::{Mode, step};
use super::work::Work;
use crate::limits::STEPS_SHOWN_BYTES_MAX;
use crate::operation::{Operation, Outcome, Place, Transact};
use crate::preconditions::Verdict;
use repository::Transaction;

pub(super) fn stage(
    list: &Transact,
    tx: &mut Transaction,
    thread: Thread,
) -> Result<Outcome, Refusal> {
    begin(list, tx)?;
    let work = Work::new(thread);
    perform(list, |operation| step(operation, tx, Mode { work: &work, is_listed: true }))
}

/// Checks every condition.
pub(super) fn begin(list: &Transact, tx: &mut Transaction) -> Result<(), Refusal> {
    tx.set_isolation(list.isolation);
    check(list, tx)
}

/// Performs the operations one after the other.
pub(super) fn perform(
    list: &Transact,
    mut perform: impl FnMut(&Operation) -> Result<Outcome, Refusal>,
) -> Result<Outcome, Refusal> {
    let mut outcomes = Vec::with_capacity(list.steps.len());
    let mut shown_bytes = 0;
    for (index, operation) in list.steps.iter().enumerate() {
        let outcome = match perform(operation) {
            Err(Refusal::NotFound) if matches!(operation, Operation::Get { .. }) => Outcome::Absent,
            // Of the whole list.
            Err(refusal @ (Refusal::Long | Refusal::Waits | Refusal::Call(_))) => {
                return Err(refusal);
            }
            other => other.map_err(|refusal| Refusal::Steps(vec![(index, refusal)]))?,
        };
        shown_bytes += shown(&outcome);
        if shown_bytes > STEPS_SHOWN_BYTES_MAX {
            return Err(Refusal::Steps(vec![(index, Refusal::ShowsTooMuch)]));
        }
        outcomes.push((place(operation, &outcome), outcome));
    }
    Ok(Outcome::Listed(outcomes))
}

/// Bytes of the document that an outcome shows.
fn shown(outcome: &Outcome) -> usize {
    let document = match outcome {
        Outcome::Found(document) => Some(document),
        Outcome::Written(written) => written.shown.as_ref(),
        _ => None,
    };
    document.map_or(0, |document| document.body.len())
}

/// Checks every condition, and names each step whose conditions are false.
fn check(list: &Transact, tx: &mut Transaction) -> Result<(), Refusal> {
    let mut failed = Vec::new();
    for (index, operation) in list.steps.iter().enumerate() {
        let guards = operation.preconditions().filter(|conditions| conditions.are_for_writes());
        let (Some(conditions), Some(place)) = (guards, operation.place()) else { continue };
        let current = tx.get(&place.collection, &place.key)?;
        let verdict = match operation {
            // Whether it has changed is no condition there: it is the answer.
            Operation::Get { .. } => conditions.guard(current.as_deref()),
            _ => conditions.for_write(current.as_deref()),
        };
        if verdict == Verdict::Failed {
            let current = current.map(|document| document.version);
            failed.push((index, Refusal::PreconditionFailed { current }));
        }
    }
    if failed.is_empty() { Ok(()) } else { Err(Refusal::Steps(failed)) }
}

fn place(operation: &Operation, outcome: &Outcome) -> Place {
    let made_at = match outcome {
        Outcome::Written(written) => written.made_at.as_ref(),
        _ => None,
    };
    let place = made_at.or(operation.place());
    place.cloned().expect("a step has a place, or makes one")
}
