//! Many documents at once: ranges of keys, a batch at a time, and queries, a page at a time.

use super::{Turn, TurnError};
use crate::limits::{BATCH_BYTES_MAX, COUNT_BATCH};
use query::{Asked, Bound as Value, Budget, Found, Query, QueryError};
use repository::{CollectionName, Direction, Document, Key, KeyRange};
use std::ops::Bound;
use std::sync::Arc;

/// Documents with their keys.
pub(crate) type Documents = Vec<(Key, Arc<Document>)>;

/// A range as a handler asks for it. Of several bounds on one side the tightest holds.
#[derive(Debug, Default)]
pub(crate) struct Bounds {
    pub(crate) from: Option<String>,
    pub(crate) after: Option<String>,
    pub(crate) to: Option<String>,
    pub(crate) before: Option<String>,
    pub(crate) prefix: Option<String>,
    pub(crate) reverse: bool,
}

/// A query as a handler asks for it.
#[derive(Debug)]
pub(crate) struct Question {
    pub(crate) pieces: Vec<String>,
    pub(crate) values: Vec<Value>,
    pub(crate) order: Option<String>,
    pub(crate) limit: Option<usize>,
    pub(crate) after: Option<String>,
    pub(crate) fields: Option<String>,
}

/// A range that is being read.
pub(super) struct Reading {
    collection: CollectionName,
    range: KeyRange,
    direction: Direction,
}

impl Turn {
    /// Begins to read a range; its number.
    pub(crate) fn open_range(
        &mut self,
        collection: usize,
        bounds: &Bounds,
    ) -> Result<usize, TurnError> {
        let collection = self.collection(collection)?;
        let range = bounds.range()?;
        let direction = match bounds.reverse {
            true => Direction::Descending,
            false => Direction::Ascending,
        };
        self.readings.push(Reading { collection, range, direction });
        Ok(self.readings.len() - 1)
    }

    /// The next documents of a range, at most `limit`, and fewer if they are large; none at its
    /// end.
    pub(crate) fn next_of_range(
        &mut self,
        number: usize,
        limit: usize,
    ) -> Result<Documents, TurnError> {
        let reading = self.readings.get(number).ok_or(TurnError::Over)?;
        let (collection, range) = (reading.collection.clone(), reading.range.clone());
        let direction = reading.direction;
        let read = self.transaction()?.range(&collection, &range, direction, limit);
        let mut documents = self.readable(read)?;
        let mut bytes = 0;
        let fits = |(_, document): &&(Key, Arc<Document>)| {
            let is_first = bytes == 0;
            bytes += document.body.len().max(1);
            is_first || bytes <= BATCH_BYTES_MAX
        };
        let kept = documents.iter().take_while(fits).count();
        documents.truncate(kept);
        if let Some((last, _)) = documents.last() {
            let range = &mut self.readings[number].range;
            match direction {
                Direction::Ascending => range.from = Bound::Excluded(last.clone()),
                Direction::Descending => range.to = Bound::Excluded(last.clone()),
            }
        }
        Ok(documents)
    }

    /// How many documents are left of a range.
    pub(crate) fn count_range(&mut self, number: usize) -> Result<usize, TurnError> {
        let mut count = 0;
        loop {
            let batch = self.next_of_range(number, COUNT_BATCH)?;
            if batch.is_empty() {
                return Ok(count);
            }
            count += batch.len();
            self.checked(Ok(()))?;
        }
    }

    /// A page of the documents that belong to a query, and the query.
    pub(crate) fn find(
        &mut self,
        collection: usize,
        question: &Question,
    ) -> Result<(Found, Query), TurnError> {
        let query = question.ask(self.collection(collection)?)?;
        let found = query::find(self.transaction()?, &query, Budget::FULL);
        Ok((self.answered(found)?, query))
    }

    /// How many documents belong to a query.
    pub(crate) fn count_found(
        &mut self,
        collection: usize,
        question: &Question,
    ) -> Result<usize, TurnError> {
        let query = question.ask(self.collection(collection)?)?;
        let counted = query::count(self.transaction()?, &query, Budget::FULL);
        let count = self.answered(counted)?;
        match count.is_exact {
            true => Ok(count.value),
            false => Err(TurnError::Uncounted(count.value)),
        }
    }

    fn answered<T>(&mut self, answer: Result<T, QueryError>) -> Result<T, TurnError> {
        match answer {
            Err(QueryError::Read(error)) => self.readable(Err(error)),
            answer => Ok(answer?),
        }
    }
}

impl Question {
    fn ask(&self, collection: CollectionName) -> Result<Query, TurnError> {
        let asked = Asked {
            pieces: &self.pieces,
            values: &self.values,
            order: self.order.as_deref(),
            limit: self.limit,
            after: self.after.as_deref(),
            fields: self.fields.as_deref(),
        };
        Ok(Query::ask(collection, &asked)?)
    }
}

impl Bounds {
    fn range(&self) -> Result<KeyRange, TurnError> {
        let mut range = match &self.prefix {
            Some(prefix) if !prefix.is_empty() => {
                Key::new(prefix)?;
                KeyRange::prefix(prefix)
            }
            _ => KeyRange::all(),
        };
        let key = |key: &Option<String>| key.as_deref().map(Key::new).transpose();
        for from in [key(&self.from)?.map(Bound::Included), key(&self.after)?.map(Bound::Excluded)]
        {
            range.from = tighter(range.from, from, |new, old| new > old);
        }
        for to in [key(&self.to)?.map(Bound::Included), key(&self.before)?.map(Bound::Excluded)] {
            range.to = tighter(range.to, to, |new, old| new < old);
        }
        Ok(range)
    }
}

/// The bound that leaves less: of two at the same key, the one without it.
fn tighter(
    old: Bound<Key>,
    new: Option<Bound<Key>>,
    is_tighter: fn(&Key, &Key) -> bool,
) -> Bound<Key> {
    let key = |bound: &Bound<Key>| match bound {
        Bound::Included(key) | Bound::Excluded(key) => Some(key.clone()),
        Bound::Unbounded => None,
    };
    let Some(new) = new else { return old };
    match (key(&new), key(&old)) {
        (Some(new_key), Some(old_key)) => {
            let excludes = matches!(new, Bound::Excluded(_)) && new_key == old_key;
            if is_tighter(&new_key, &old_key) || excludes { new } else { old }
        }
        _ => new,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(key: &str) -> Key {
        Key::new(key).unwrap()
    }

    fn text(text: &str) -> Option<String> {
        Some(text.to_owned())
    }

    #[test]
    fn the_tightest_bounds_hold() {
        let range = |bounds: Bounds| bounds.range().unwrap();
        assert_eq!(range(Bounds::default()), KeyRange::all());
        let all = Bounds {
            from: text("b"),
            after: text("b"),
            to: text("y"),
            before: text("z"),
            ..Bounds::default()
        };
        let expected = KeyRange::new(Bound::Excluded(key("b")), Bound::Included(key("y")));
        assert_eq!(range(all), expected);
        let prefix = Bounds {
            prefix: text("n-"),
            from: text("a"),
            before: text("n-5"),
            ..Bounds::default()
        };
        let expected = KeyRange::new(Bound::Included(key("n-")), Bound::Excluded(key("n-5")));
        assert_eq!(range(prefix), expected);
        let outside = Bounds { prefix: text("n"), from: text("x"), ..Bounds::default() };
        assert_eq!(range(outside).from, Bound::Included(key("x")));
        assert!(Bounds { from: text(""), ..Bounds::default() }.range().is_err());
    }
}
