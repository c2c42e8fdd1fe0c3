//! Operations that run once however often they are asked for (the IETF draft
//! httpapi-idempotency-key-header).
//!
//! The answer is written in the same commit as what the operation does, as a document of a
//! collection of Sarsen's own that expires. Whoever asks again reads it. Two that ask at the same
//! time conflict over it: one of them loses, runs again and finds the other's answer.
//!
//! Only success is remembered. A request that was refused has changed nothing, so it may run again.

use super::refusal::Refusal;
use super::{Staged, Thread, record, stage};
use crate::limits::{ANSWER_AGE_MAX, ANSWER_BYTES_MAX};
use crate::operation::{Once, Operation, Outcome};
use repository::{CollectionName, Durability, MediaType, Timestamp, Transaction};

const COLLECTION: &str = "_answers";

/// Of the documents that hold answers.
const MEDIA_TYPE: &str = "application/vnd.sarsen.answer";

pub(super) fn stage(once: &Once, tx: &mut Transaction, thread: Thread) -> Result<Staged, Refusal> {
    if let Some(known) = known(once, tx)? {
        return Ok(known);
    }
    let outcome = stage::stage(&once.operation, tx, thread)?;
    remember(once, outcome, tx)
}

fn collection() -> Result<CollectionName, Refusal> {
    CollectionName::new(COLLECTION).map_err(|error| Refusal::Internal(error.to_string()))
}

/// What it came to when it was performed before.
pub(super) fn known(once: &Once, tx: &mut Transaction) -> Result<Option<Staged>, Refusal> {
    if let Operation::Transact(list) = &once.operation {
        tx.set_isolation(list.isolation);
    }
    let Some(answer) = tx.get(&collection()?, &once.key)? else { return Ok(None) };
    let known = record::decode(&answer.body).map_err(Refusal::Internal)?;
    if known.fingerprint != once.fingerprint {
        return Err(Refusal::KeyReused);
    }
    // The collection has the default settings, and so every commit with an answer is synced.
    let earlier = Some((answer.version, Durability::Synced));
    Ok(Some(Staged { outcome: known.outcome, earlier }))
}

/// Stages what it came to, to be known the next time.
pub(super) fn remember(
    once: &Once,
    outcome: Outcome,
    tx: &mut Transaction,
) -> Result<Staged, Refusal> {
    let answer = record::encode(once.fingerprint, &outcome);
    if answer.len() > ANSWER_BYTES_MAX {
        return Err(Refusal::AnswerTooLarge);
    }
    let age_ms = u64::try_from(ANSWER_AGE_MAX.as_millis()).unwrap_or(u64::MAX);
    let expires = Timestamp(tx.time().0.saturating_add(age_ms));
    let media_type = MediaType::Other(MEDIA_TYPE.into());
    tx.put(&collection()?, &once.key, media_type, answer.into(), Some(expires))?;
    Ok(Staged { outcome, earlier: None })
}
