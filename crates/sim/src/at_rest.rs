//! Documents at rest, simulated: a map of rows for every state that somebody may still read. A
//! checkpoint happens as a whole or not, and a crash may leave either.

use crate::backup::Baton;
use crate::disk::{Fate, SimDisk};
use repository::parts::{
    AtRest, EngineError, EngineState, Ingest, KeyBounds, StateRow, VisitKey, VisitRow,
};
use repository::{CommitNumber, Direction, Document, ReadError, ViewTooOld};
use std::collections::BTreeMap;
use std::io;
use std::ops::Bound;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

type Rows = BTreeMap<(u32, String), Arc<Document>>;

/// What a checkpoint left.
#[derive(Clone, Debug, Default)]
struct State {
    row: StateRow,
    rows: Arc<Rows>,
}

/// What is on disk. It shares the fate of a simulated disk.
#[derive(Debug)]
pub struct Shelf {
    disk: SimDisk,
    /// Whoever reads everything may be interrupted between two rows.
    baton: Arc<Baton>,
    durable: Mutex<State>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shelf {
    /// An empty one.
    pub fn new(disk: SimDisk) -> Arc<Self> {
        Self::pausing(disk, Arc::default())
    }

    /// An empty one, where whoever takes turns waits for one before each row.
    pub(crate) fn pausing(disk: SimDisk, baton: Arc<Baton>) -> Arc<Self> {
        Arc::new(Self { disk, baton, durable: Mutex::default() })
    }

    /// Removes everything, or fails to.
    pub fn clear(&self) -> io::Result<()> {
        let fate = self.disk.fate()?;
        if fate == Fate::Well || self.disk.below(2) == 0 {
            *lock(&self.durable) = State::default();
        }
        match fate {
            Fate::Well => Ok(()),
            _ => Err(io::Error::other("the simulated disk fails")),
        }
    }

    /// Opens what is on disk.
    pub fn open(self: &Arc<Self>) -> Box<dyn AtRest> {
        let states = vec![(1, lock(&self.durable).clone())];
        Box::new(OpenShelf { shelf: Arc::clone(self), states: Mutex::new(states) })
    }
}

struct OpenShelf {
    shelf: Arc<Shelf>,
    /// What can be read, by the sequence number that made it; never empty.
    states: Mutex<Vec<(u64, State)>>,
}

impl OpenShelf {
    fn newest(&self) -> (u64, State) {
        lock(&self.states).last().cloned().expect("there is always a state")
    }

    fn rows(&self, state: EngineState) -> Result<Arc<Rows>, ReadError> {
        let states = lock(&self.states);
        let seen = states.iter().rev().find(|(sequence, _)| *sequence < state.sequence);
        match seen {
            Some((_, seen)) => Ok(Arc::clone(&seen.rows)),
            None => Err(ViewTooOld { view: state.commit }.into()),
        }
    }
}

impl AtRest for OpenShelf {
    fn state(&self, commit: CommitNumber) -> EngineState {
        EngineState { commit, sequence: self.newest().0 + 1 }
    }

    fn state_row(&self) -> Result<StateRow, ReadError> {
        Ok(self.newest().1.row)
    }

    fn get(
        &self,
        state: EngineState,
        collection: u32,
        key: &str,
    ) -> Result<Option<Arc<Document>>, ReadError> {
        Ok(self.rows(state)?.get(&(collection, key.to_owned())).cloned())
    }

    fn scan(&self, state: EngineState, visit: VisitRow<'_>) -> Result<(), ReadError> {
        for ((collection, key), document) in self.rows(state)?.iter() {
            self.shelf.baton.pause();
            if visit(*collection, key, Arc::clone(document)).is_break() {
                break;
            }
        }
        Ok(())
    }

    fn range(
        &self,
        state: EngineState,
        collection: u32,
        (from, to): KeyBounds<'_>,
        direction: Direction,
        visit: VisitKey<'_>,
    ) -> Result<(), ReadError> {
        let rows = self.rows(state)?;
        let all = rows.iter().filter(|((id, key), _)| {
            let is_after = match from {
                Bound::Included(from) => key.as_str() >= from,
                Bound::Excluded(from) => key.as_str() > from,
                Bound::Unbounded => true,
            };
            let is_before = match to {
                Bound::Included(to) => key.as_str() <= to,
                Bound::Excluded(to) => key.as_str() < to,
                Bound::Unbounded => true,
            };
            *id == collection && is_after && is_before
        });
        let mut all: Vec<_> = all.collect();
        if direction == Direction::Descending {
            all.reverse();
        }
        for ((_, key), document) in all {
            if visit(key, Arc::clone(document)).is_break() {
                break;
            }
        }
        Ok(())
    }

    fn ingest(&self, row: StateRow) -> Result<Box<dyn Ingest + '_>, EngineError> {
        let (_, before) = self.newest();
        Ok(Box::new(Writing { shelf: self, row, rows: Rows::clone(&before.rows), last: None }))
    }

    fn compact(&self, _: EngineState, _: bool) -> Result<bool, EngineError> {
        // Nothing to win here, but sometimes the state moves on, as it does in the real one.
        if self.shelf.disk.below(2) == 0 {
            return Ok(false);
        }
        let (sequence, state) = self.newest();
        lock(&self.states).push((sequence + 1, state));
        Ok(true)
    }

    fn release(&self, oldest: EngineState) -> Result<(), EngineError> {
        let mut states = lock(&self.states);
        let read = states.iter().rposition(|(sequence, _)| *sequence < oldest.sequence);
        states.drain(..read.unwrap_or(0));
        Ok(())
    }

    fn disk_bytes(&self) -> u64 {
        self.newest().1.rows.values().map(|document| document.body.len() as u64).sum()
    }

    fn rows(&self) -> u64 {
        self.newest().1.rows.len() as u64
    }

    fn check_files(&self) -> Vec<String> {
        Vec::new()
    }
}

struct Writing<'a> {
    shelf: &'a OpenShelf,
    row: StateRow,
    rows: Rows,
    last: Option<(u32, String)>,
}

impl Ingest for Writing<'_> {
    fn write(
        &mut self,
        collection: u32,
        key: &str,
        document: Option<&Document>,
    ) -> Result<(), EngineError> {
        let place = (collection, key.to_owned());
        assert!(self.last.as_ref() < Some(&place), "{place:?} comes after {:?}", self.last);
        match document {
            Some(document) => {
                assert!(document.version <= self.row.commit, "{place:?} is newer than the state");
                self.rows.insert(place.clone(), Arc::new(document.clone()));
            }
            None => {
                self.rows.remove(&place);
            }
        }
        self.last = Some(place);
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<(), EngineError> {
        let disk = &self.shelf.shelf.disk;
        let fate = disk.fate().map_err(|error| EngineError(error.to_string()))?;
        let state = State { row: self.row, rows: Arc::new(self.rows) };
        if fate == Fate::Well || disk.below(2) == 0 {
            let mut durable = lock(&self.shelf.shelf.durable);
            assert!(durable.row.commit <= state.row.commit, "a checkpoint went back");
            *durable = state.clone();
        }
        if fate != Fate::Well {
            return Err(EngineError("the simulated disk fails".to_owned()));
        }
        let sequence = self.shelf.newest().0 + 1;
        lock(&self.shelf.states).push((sequence, state));
        Ok(())
    }
}
