//! Running a query in a transaction: plans are tried until one finds the page within its bounds.

use crate::cursor;
use crate::explain::Explain;
use crate::limits::{
    QUERY_EXAMINED_BYTES_MAX, QUERY_EXAMINED_MAX, QUERY_INLINE_BYTES_MAX,
    QUERY_INLINE_EXAMINED_MAX, QUERY_PLANS_MAX,
};
use crate::plan::{Plan, plans};
use crate::render::{self, Listed};
use crate::select::{self, Selected, Stopped};
use crate::{Query, suggest};
use repository::{
    CollectionName, Document, IndexDefinition, Key, KnownIndex, ReadError, Transaction,
};
use std::sync::Arc;
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
pub struct Count {
    /// So many.
    pub value: usize,
    /// If not, there are at least so many.
    pub is_exact: bool,
}

/// The documents of a page.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// With their keys, in order.
    pub documents: Vec<(Key, Arc<Document>)>,
    /// The cursor for the next page, if there are more.
    pub next: Option<String>,
}

/// Runs `query`. What it reads counts as read by the transaction.
pub fn run(
    transaction: &mut Transaction,
    query: &Query,
    budget: Budget,
) -> Result<Listed, QueryError> {
    let prepared = Prepared::new(transaction, query)?;
    let prepared = prepared.ok_or_else(|| QueryError::NoCollection(query.collection.clone()))?;
    let (page, plan, given_up) = prepared.page(transaction, query, budget)?;
    let count = match query.counts {
        true => Some(prepared.count(transaction, query, budget)?),
        false => None,
    };
    let next = page.next.as_ref().map(|place| cursor::encode(place, query.fingerprint));
    let explain = query.explains.then(|| {
        let building = prepared.indexes.iter().filter(|index| !index.is_ready());
        let building = building.map(|index| index.definition.name.clone()).collect();
        Explain { plan: plan.clone(), examined: page.examined, given_up, building }
    });
    Ok(render::render(query, &page, next, count, explain))
}

/// As `run`, for a program: the documents themselves. A collection that is not there has none.
pub fn find(
    transaction: &mut Transaction,
    query: &Query,
    budget: Budget,
) -> Result<Found, QueryError> {
    let Some(prepared) = Prepared::new(transaction, query)? else { return Ok(Found::default()) };
    let (page, ..) = prepared.page(transaction, query, budget)?;
    let next = page.next.as_ref().map(|place| cursor::encode(place, query.fingerprint));
    Ok(Found { documents: page.documents, next })
}

/// How many documents belong to `query`, on all pages.
pub fn count(
    transaction: &mut Transaction,
    query: &Query,
    budget: Budget,
) -> Result<Count, QueryError> {
    match Prepared::new(transaction, query)? {
        Some(prepared) => prepared.count(transaction, query, budget),
        None => Ok(Count { value: 0, is_exact: true }),
    }
}

/// A query and the ways to find its documents.
struct Prepared {
    indexes: Vec<KnownIndex>,
    plans: Vec<Plan>,
}

impl Prepared {
    /// `None` if there is no such collection.
    fn new(transaction: &mut Transaction, query: &Query) -> Result<Option<Self>, QueryError> {
        let Some(indexes) = transaction.indexes(&query.collection)? else { return Ok(None) };
        let is_ready = |index: &&KnownIndex| index.is_ready();
        let ready: Vec<&IndexDefinition> =
            indexes.iter().filter(is_ready).map(|index| &index.definition).collect();
        let plans = plans(query, &ready);
        Ok(Some(Self { indexes, plans }))
    }

    /// The page, the plan that found it, and the indexes of those that were given up.
    fn page(
        &self,
        transaction: &mut Transaction,
        query: &Query,
        budget: Budget,
    ) -> Result<(Selected, &Plan, Vec<Option<String>>), QueryError> {
        let mut given_up = Vec::new();
        let found = try_plans(&self.plans, budget, &mut given_up, |plan| {
            select::page(transaction, query, plan, budget)
        })?;
        let too_broad = || suggest::too_broad(query, &self.indexes);
        let (plan, page) = found.ok_or_else(|| QueryError::TooBroad(Box::new(too_broad())))?;
        Ok((page, plan, given_up))
    }

    fn count(
        &self,
        transaction: &mut Transaction,
        query: &Query,
        budget: Budget,
    ) -> Result<Count, QueryError> {
        let mut least = 0;
        let counted = try_plans(&self.plans, budget, &mut Vec::new(), |plan| {
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

impl From<ReadError> for QueryError {
    fn from(error: ReadError) -> Self {
        Self::Read(error)
    }
}

#[cfg(test)]
#[path = "tests/run.rs"]
mod tests;
