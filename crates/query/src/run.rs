//! Running a query in a transaction: plans are tried until one finds the page within its bounds.

use crate::cursor;
use crate::explain::Explain;
use crate::limits::{
    QUERY_EXAMINED_BYTES_MAX, QUERY_EXAMINED_MAX, QUERY_INLINE_BYTES_MAX,
    QUERY_INLINE_EXAMINED_MAX, QUERY_PLANS_MAX,
};
use crate::plan::{Plan, plans};
use crate::render::{self, Listed};
use crate::select::{self, Stopped};
use crate::{Query, suggest};
use repository::{CollectionName, IndexDefinition, KnownIndex, ReadError, Transaction};
use thiserror::Error;

/// What one plan may read.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    pub(crate) documents: usize,
    pub(crate) bytes: usize,
    /// Whether to end as soon as the first plan needs more, because others wait for the thread.
    pub(crate) is_inline: bool,
}

impl Budget {
    /// For a thread that others wait for.
    pub const INLINE: Self = Self {
        documents: QUERY_INLINE_EXAMINED_MAX,
        bytes: QUERY_INLINE_BYTES_MAX,
        is_inline: true,
    };
    /// For a thread that may take its time.
    pub const FULL: Self =
        Self { documents: QUERY_EXAMINED_MAX, bytes: QUERY_EXAMINED_BYTES_MAX, is_inline: false };
}

/// Why a query has no result.
#[derive(Debug, Error)]
pub enum QueryError {
    /// The collection does not exist.
    #[error("there is no collection {0}; the first document that is written to it makes it")]
    NoCollection(CollectionName),
    /// It needs more than `Budget::INLINE`.
    #[error("the query takes longer than the thread has time for")]
    Long,
    /// No plan finds the page within its bounds.
    #[error("{0}")]
    TooBroad(Box<suggest::TooBroad>),
    /// The cursor is for an index that holds other values; a true one never is.
    #[error("the \"next\" of a page, as it came")]
    Cursor,
    /// The transaction could not read.
    #[error(transparent)]
    Read(ReadError),
}

/// How many documents there are in all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Count {
    pub value: usize,
    /// If not, there are at least so many.
    pub is_exact: bool,
}

/// Runs `query`. What it reads counts as read by the transaction.
pub fn run(
    transaction: &mut Transaction,
    query: &Query,
    budget: Budget,
) -> Result<Listed, QueryError> {
    let indexes = transaction.indexes(&query.collection)?;
    let indexes = indexes.ok_or_else(|| QueryError::NoCollection(query.collection.clone()))?;
    let is_ready = |index: &&KnownIndex| index.is_ready();
    let ready: Vec<&IndexDefinition> =
        indexes.iter().filter(is_ready).map(|index| &index.definition).collect();
    let plans = plans(query, &ready);
    let mut given_up = Vec::new();
    let (plan, selected) = try_plans(&plans, budget, &mut given_up, |plan| {
        select::page(transaction, query, plan, budget)
    })?
    .ok_or_else(|| QueryError::TooBroad(Box::new(suggest::too_broad(query, &indexes))))?;
    let count = match query.counts {
        true => Some(count(transaction, query, &plans, budget)?),
        false => None,
    };
    let next = selected.next.as_ref().map(|place| cursor::encode(place, query.fingerprint));
    let explain = query.explains.then(|| {
        let building = indexes.iter().filter(|index| !index.is_ready());
        let building = building.map(|index| index.definition.name.clone()).collect();
        Explain { plan: plan.clone(), examined: selected.examined, given_up, building }
    });
    Ok(render::render(query, &selected, next, count, explain))
}

/// What the first plan gives that gets along with what it may read, or `None`; the others' indexes
/// go to `given_up`.
fn try_plans<'a, T>(
    plans: &'a [Plan],
    budget: Budget,
    given_up: &mut Vec<Option<String>>,
    mut attempt: impl FnMut(&Plan) -> Result<T, Stopped>,
) -> Result<Option<(&'a Plan, T)>, QueryError> {
    let mut tried = 0;
    for plan in plans {
        match attempt(plan) {
            Ok(done) => return Ok(Some((plan, done))),
            Err(Stopped::Budget { .. }) if budget.is_inline => return Err(QueryError::Long),
            Err(Stopped::Budget { .. }) => tried += 1,
            // Somebody has just taken the index away.
            Err(Stopped::Read(ReadError::NoIndex { .. } | ReadError::IndexNotReady { .. })) => {}
            Err(Stopped::Read(ReadError::IndexRange(_))) if plan.index().is_some() => {
                return Err(QueryError::Cursor);
            }
            Err(Stopped::Read(error)) => return Err(error.into()),
        }
        given_up.push(plan.index().map(str::to_owned));
        if tried == QUERY_PLANS_MAX {
            break;
        }
    }
    Ok(None)
}

fn count(
    transaction: &mut Transaction,
    query: &Query,
    plans: &[Plan],
    budget: Budget,
) -> Result<Count, QueryError> {
    let mut least = 0;
    let counted = try_plans(plans, budget, &mut Vec::new(), |plan| {
        let counted = select::count(transaction, query, plan, budget);
        if let Err(Stopped::Budget { found }) = &counted {
            least = least.max(*found);
        }
        counted
    })?;
    Ok(match counted {
        Some((_, value)) => Count { value, is_exact: true },
        None => Count { value: least, is_exact: false },
    })
}

impl From<ReadError> for QueryError {
    fn from(error: ReadError) -> Self {
        Self::Read(error)
    }
}

#[cfg(test)]
#[path = "tests/run.rs"]
mod tests;
