//! Reading a range on a view: what memory holds and what the engine holds, merged in order.

use crate::document::Document;
use crate::errors::ReadError;
use crate::hot::{Collection, Held, alive};
use crate::name::Key;
use crate::range::{Direction, KeyRange};
use crate::store::{Store, check_view};
use crate::views::View;
use std::cmp::Ordering;
use std::collections::VecDeque;
use std::ops::{Bound, ControlFlow};
use std::sync::Arc;

/// Documents taken from memory and from the engine at a time: no more than are wanted, since each
/// page finds its place in every table again.
const PAGE_MAX: usize = 256;

/// A page of the engine ends early once its documents take so many bytes.
const PAGE_BYTES: usize = 1 << 20;

type Page = VecDeque<(Key, Arc<Document>)>;

/// The documents of a range that a view sees, one after the other.
pub(crate) struct Cursor<'a> {
    store: &'a Store,
    view: &'a View,
    collection: &'a Collection,
    /// What is still to be read.
    range: KeyRange,
    direction: Direction,
    page: Page,
    page_size: usize,
    is_done: bool,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(
        store: &'a Store,
        view: &'a View,
        collection: &'a Collection,
        (range, direction): (KeyRange, Direction),
        wanted: usize,
    ) -> Self {
        let is_done = range.is_empty();
        let page = Page::new();
        let page_size = wanted.clamp(1, PAGE_MAX);
        Self { store, view, collection, range, direction, page, page_size, is_done }
    }

    /// How many values stand before the key in a row, if this reads an index.
    pub(crate) fn columns(&self) -> usize {
        self.collection.columns
    }

    /// The next document that is not expired.
    pub(crate) fn next(&mut self) -> Result<Option<(Key, Arc<Document>)>, ReadError> {
        while let Some((key, document)) = self.next_or_expired()? {
            if let Some(document) = alive(Some(document), self.view.time) {
                return Ok(Some((key, document)));
            }
        }
        Ok(None)
    }

    /// The next document, expired or not.
    pub(crate) fn next_or_expired(&mut self) -> Result<Option<(Key, Arc<Document>)>, ReadError> {
        loop {
            if let Some(next) = self.page.pop_front() {
                return Ok(Some(next));
            } else if self.is_done {
                return Ok(None);
            } else {
                self.read_page()?;
            }
        }
    }

    /// Reads what comes next from both sides. Memory first: what it does not have then has not
    /// changed since the state that the view reads from the engine.
    fn read_page(&mut self) -> Result<(), ReadError> {
        let size = self.page_size;
        // What was deleted or has expired took the place of what is wanted.
        self.page_size = (size * 2).min(PAGE_MAX);
        let cells = self.collection.cells(&self.range, self.direction, size);
        let held = cells.iter().map(|cell| (cell.key.clone(), cell.at(self.view.number)));
        let mut hot: VecDeque<(Key, Held)> = held.collect();
        // A side that was cut off says nothing of what lies beyond its last.
        let hot_end = (hot.len() == size).then(|| hot.back().map(|(key, _)| key.clone())).flatten();
        // Nor is it asked beyond the other's, where it may have to pass any number of deletions.
        let mut within = self.range.clone();
        if let Some(end) = &hot_end {
            within = within.up_to(end, self.direction);
        }
        let (mut cold, is_cut) = self.rows(&within, size)?;
        let cold_end = is_cut.then(|| cold.back().map(|(k, _)| k.clone())).flatten();
        let end = match (hot_end, cold_end) {
            (Some(a), Some(b)) => Some(if self.direction.compare(&a, &b).is_lt() { a } else { b }),
            (a, b) => a.or(b),
        };
        let is_beyond =
            |key: &Key| end.as_ref().is_some_and(|end| self.direction.compare(key, end).is_gt());
        loop {
            let order = match (hot.front(), cold.front()) {
                (Some((a, _)), Some((b, _))) => self.direction.compare(a, b),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (None, None) => break,
            };
            let held = if order.is_le() { hot.pop_front() } else { None };
            let row = if order.is_ge() { cold.pop_front() } else { None };
            let (key, document) = match (held, row) {
                (Some((key, Held::Version(document))), _) => (key, document),
                (Some((key, Held::Elsewhere)), row) => (key, row.map(|(_, document)| document)),
                (None, Some((key, document))) => (key, Some(document)),
                (None, None) => break,
            };
            if is_beyond(&key) {
                break;
            }
            self.page.extend(document.map(|document| (key, document)));
        }
        match end {
            Some(end) => self.range = self.range.clone().after(&end, self.direction),
            None => self.is_done = true,
        }
        check_view(self.view)
    }

    /// The next rows of the engine, and whether there may be more.
    fn rows(&self, range: &KeyRange, limit: usize) -> Result<(Page, bool), ReadError> {
        let mut rows = Page::new();
        let mut is_cut = false;
        if self.collection.is_volatile {
            return Ok((rows, is_cut));
        }
        let bounds = (as_text(&range.from), as_text(&range.to));
        let state = self.view.engine;
        let engine = &self.store.engine;
        let mut bytes = 0;
        engine.range(state, self.collection.id, bounds, self.direction, &mut |key, document| {
            bytes += document.body.len();
            rows.push_back((Key::generated(key.to_owned()), document));
            is_cut = rows.len() == limit || bytes >= PAGE_BYTES;
            if is_cut { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        Ok((rows, is_cut))
    }
}

fn as_text(bound: &Bound<Key>) -> Bound<&str> {
    match bound {
        Bound::Included(key) => Bound::Included(key.as_str()),
        Bound::Excluded(key) => Bound::Excluded(key.as_str()),
        Bound::Unbounded => Bound::Unbounded,
    }
}
