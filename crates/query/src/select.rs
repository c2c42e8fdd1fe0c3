//! Reading what a plan finds, and keeping what belongs to the page.

use crate::Query;
use crate::bounds::{earlier, later};
use crate::field::Record;
use crate::limits::{QUERY_BATCH_MAX, QUERY_REPLY_BYTES_MAX};
use crate::order::Place;
use crate::plan::{Access, Plan};
use crate::run::Budget;
use repository::{
    Direction, Document, IndexPlace, IndexRead, Key, KeyRange, ReadError, Transaction,
};
use std::collections::HashSet;
use std::ops::{Bound, ControlFlow};
use std::sync::Arc;

/// Bytes that a batch aims at, by the size of the documents before it.
const BATCH_BYTES: usize = 2 << 20;

/// Documents of the first batch, whose size nobody knows yet, are at most so many.
const FIRST_BATCH_MAX: usize = 16;

/// A page.
#[derive(Clone, Debug)]
pub(crate) struct Selected {
    pub documents: Vec<(Key, Arc<Document>)>,
    /// The place of the last, if there are more.
    pub next: Option<Place>,
    /// Documents that were read.
    pub examined: usize,
}

/// Why reading ended early.
#[derive(Debug)]
pub(crate) enum Stopped {
    /// The plan needs more than it may read; so many of the documents are some that were wanted.
    Budget {
        found: usize,
    },
    Read(ReadError),
}

impl From<ReadError> for Stopped {
    fn from(error: ReadError) -> Self {
        Self::Read(error)
    }
}

/// The page that `plan` finds for `query`.
pub(crate) fn page(
    transaction: &mut Transaction,
    query: &Query,
    plan: &Plan,
    budget: Budget,
) -> Result<Selected, Stopped> {
    if query.limit == 0 {
        return Ok(Selected { documents: Vec::new(), next: None, examined: 0 });
    }
    // One more tells whether there is a next page.
    let wanted = query.limit + 1;
    let mut found: Vec<(Place, Arc<Document>)> = Vec::new();
    let mut scan = Scan::new(query, plan, query.after.as_ref(), budget);
    scan.wanted = if plan.sorts { usize::MAX } else { wanted };
    let mut bytes = 0;
    scan.each(transaction, |place, document| {
        if query.after.as_ref().is_some_and(|after| query.order.compare(&place, after).is_le()) {
            return ControlFlow::Continue(());
        }
        found.push((place, Arc::clone(document)));
        if plan.sorts {
            if found.len() >= 2 * wanted {
                keep_first(query, &mut found, wanted);
            }
            return ControlFlow::Continue(());
        }
        bytes += document.body.len();
        // One more than fits tells that there is a next page, too.
        let is_full = found.len() > 1 && bytes > QUERY_REPLY_BYTES_MAX;
        if is_full || found.len() == wanted {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    })?;
    keep_first(query, &mut found, wanted);
    Ok(cut(found, query.limit, scan.examined))
}

/// How many documents `plan` finds for `query` on all pages.
pub(crate) fn count(
    transaction: &mut Transaction,
    query: &Query,
    plan: &Plan,
    budget: Budget,
) -> Result<usize, Stopped> {
    let mut count = 0;
    Scan::new(query, plan, None, budget).each(transaction, |_, _| {
        count += 1;
        ControlFlow::Continue(())
    })?;
    Ok(count)
}

fn keep_first(query: &Query, found: &mut Vec<(Place, Arc<Document>)>, wanted: usize) {
    found.sort_by(|(a, _), (b, _)| query.order.compare(a, b));
    found.truncate(wanted);
}

/// No more than `limit` documents, and none beyond the bytes of a page but the first.
fn cut(mut found: Vec<(Place, Arc<Document>)>, limit: usize, examined: usize) -> Selected {
    let mut bytes = 0;
    let fits = |(i, (_, document)): &(usize, &(Place, Arc<Document>))| {
        bytes += document.body.len();
        *i < limit && (*i == 0 || bytes <= QUERY_REPLY_BYTES_MAX)
    };
    let kept = found.iter().enumerate().take_while(fits).count();
    let has_more = kept < found.len();
    found.truncate(kept);
    let next = found.last().filter(|_| has_more).map(|(place, _)| place.clone());
    let documents = found.into_iter().map(|(place, document)| (place.key, document)).collect();
    Selected { documents, next, examined }
}

/// A walk over what a plan finds.
struct Scan<'a> {
    query: &'a Query,
    plan: &'a Plan,
    budget: Budget,
    /// Where reading goes on.
    after: After,
    /// The keys of documents that were found, if one can be found several times.
    seen: Option<HashSet<Key>>,
    /// Documents after which the reader has enough.
    wanted: usize,
    examined: usize,
    bytes: usize,
    found: usize,
}

#[derive(Clone, Debug)]
enum After {
    Nothing,
    Key(Key),
    Row(IndexPlace),
}

/// Documents that were read together, and what the next ones come after.
struct Batch {
    documents: Vec<(Key, Arc<Document>)>,
    /// Rows of the index that the plan is not after are read, too.
    read: usize,
    bytes: usize,
    after: Option<After>,
}

impl<'a> Scan<'a> {
    fn new(query: &'a Query, plan: &'a Plan, place: Option<&Place>, budget: Budget) -> Self {
        // Only a plan that follows the order can begin in the middle.
        let after = match (place.filter(|_| !plan.sorts), &plan.access) {
            (Some(place), Access::Keys(_)) => After::Key(place.key.clone()),
            (Some(place), Access::Index(index)) => {
                index.place(place).map_or(After::Nothing, After::Row)
            }
            (None, _) => After::Nothing,
        };
        let repeats = matches!(&plan.access, Access::Index(index) if index.repeats);
        let seen = repeats.then(HashSet::new);
        let wanted = usize::MAX;
        Self { query, plan, budget, after, seen, wanted, examined: 0, bytes: 0, found: 0 }
    }

    /// Visits each document that belongs to the query, once.
    fn each(
        &mut self,
        transaction: &mut Transaction,
        mut visit: impl FnMut(Place, &Arc<Document>) -> ControlFlow<()>,
    ) -> Result<(), Stopped> {
        loop {
            let size = self.batch_size();
            let read = match &self.plan.access {
                Access::Keys(range) => self.read_keys(transaction, range, size),
                Access::Index(_) => self.read_index(transaction, size),
            };
            let batch = match read {
                // Others in the same transaction have read much already.
                Err(ReadError::TooManyBytes | ReadError::TooManyReads) => {
                    return Err(Stopped::Budget { found: self.found });
                }
                read => read?,
            };
            let is_last = batch.read < size;
            let is_beyond = self.is_beyond(&batch);
            if is_beyond && self.budget.is_inline {
                // Even what is read already takes time to be written.
                return Err(Stopped::Budget { found: self.found });
            }
            for (key, document) in &batch.documents {
                let Some(place) = self.place(key, document) else { continue };
                self.found += 1;
                if visit(place, document).is_break() {
                    return Ok(());
                }
            }
            if is_beyond {
                return Err(Stopped::Budget { found: self.found });
            } else if is_last {
                return Ok(());
            }
            self.after = batch.after.unwrap_or(After::Nothing);
        }
    }

    /// Counts a batch. It is beyond the budget if the bound is passed, and not if it is reached:
    /// that there is one more is what tells the two apart.
    fn is_beyond(&mut self, batch: &Batch) -> bool {
        self.examined += batch.read;
        self.bytes += batch.bytes;
        self.examined > self.budget.documents || self.bytes > self.budget.bytes
    }

    fn batch_size(&self) -> usize {
        // One more than may be read tells that there are more.
        let left = (self.budget.documents + 1).saturating_sub(self.examined).max(1);
        let size = match self.examined {
            0 => (self.query.limit + 1).min(FIRST_BATCH_MAX),
            read => (BATCH_BYTES / (self.bytes / read).max(1)).clamp(1, QUERY_BATCH_MAX),
        };
        let wanted = self.wanted.saturating_sub(self.found).max(FIRST_BATCH_MAX);
        size.min(left).min(wanted)
    }

    /// The place of a document in the order, if it belongs to the query and is seen first now.
    fn place(&mut self, key: &Key, document: &Document) -> Option<Place> {
        let record = Record::new(key, document);
        if !self.query.filter.holds(&record) {
            return None;
        }
        let values = self.query.order.values(&record)?;
        let is_new = self.seen.as_mut().is_none_or(|seen| seen.insert(key.clone()));
        is_new.then(|| Place { values, key: key.clone() })
    }

    fn read_keys(
        &self,
        transaction: &mut Transaction,
        range: &KeyRange,
        size: usize,
    ) -> Result<Batch, ReadError> {
        let mut range = range.clone();
        if let After::Key(key) = &self.after {
            let beyond = Bound::Excluded(key.clone());
            match self.plan.direction {
                Direction::Ascending => range.from = later(range.from, beyond),
                Direction::Descending => range.to = earlier(range.to, beyond),
            }
        }
        let direction = self.plan.direction;
        let documents = transaction.range(&self.query.collection, &range, direction, size)?;
        let read = documents.len();
        let bytes = documents.iter().map(|(_, document)| document.body.len()).sum();
        let after = documents.last().map(|(key, _)| After::Key(key.clone()));
        Ok(Batch { documents, read, bytes, after })
    }

    fn read_index(&self, transaction: &mut Transaction, size: usize) -> Result<Batch, ReadError> {
        let Access::Index(index) = &self.plan.access else {
            unreachable!("only plans by an index read one");
        };
        let after = match &self.after {
            After::Row(place) => Some(place),
            After::Nothing | After::Key(_) => None,
        };
        let read =
            IndexRead { range: &index.range, after, direction: self.plan.direction, limit: size };
        let entries = transaction.index_read(&self.query.collection, &index.name, read)?;
        let last = entries.last();
        let after = last.map(|entry| {
            After::Row(IndexPlace { values: entry.values.clone(), key: entry.key.clone() })
        });
        let bytes = entries.iter().map(|entry| entry.document.body.len()).sum();
        let read = entries.len();
        let wanted = entries.into_iter().filter(|entry| index.takes(&entry.values));
        let documents = wanted.map(|entry| (entry.key, entry.document)).collect();
        Ok(Batch { documents, read, bytes, after })
    }
}
