//! The store: the parts that transactions, the steward and recovery share, and the one serialized
//! function that decides commits.

use crate::apply::{self, Changed};
use crate::at_rest::AtRest;
use crate::conflict::{self, Conflict, Place};
use crate::document::{CommitNumber, Document, Timestamp};
use crate::durability::Durability;
use crate::errors::{CommitError, ReadError};
use crate::hot::{Collection, Held, Hot, alive};
use crate::lane::Lane;
use crate::name::{CollectionName, Key};
use crate::record::{self, Write};
use crate::tranlog::Tranlog;
use crate::views::{View, Views};
use parking_lot::Mutex;
use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The time source: milliseconds since 1970.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// What only the sequencer changes.
pub(crate) struct Sequence {
    /// The last commit that was numbered.
    pub last: CommitNumber,
    /// Its time. Commit times never run backwards.
    pub time: Timestamp,
    /// Documents changed after `listed_after`, each once.
    pub changed: Vec<(Arc<Collection>, Key)>,
    /// The view of the last checkpoint that took the list.
    pub listed_after: CommitNumber,
    /// No commit is decided any more.
    pub is_closed: bool,
}

impl Sequence {
    /// Puts what a commit changed on the list for the next checkpoint.
    pub(crate) fn note(&mut self, changed: Vec<Changed>) {
        for Changed { collection, key, before } in changed {
            if before.is_none_or(|before| before <= self.listed_after) {
                self.changed.push((collection, key));
            }
        }
    }
}

/// Counters since opening.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub commits: AtomicU64,
    pub conflicts: AtomicU64,
    pub serial_lane: AtomicU64,
}

/// What a transaction asks to commit.
pub(crate) struct Proposal<'a> {
    pub view: &'a View,
    pub reads: &'a [Place],
    pub writes: &'a [Write],
    /// Per write: what the engine had at the view, if memory had nothing.
    pub bases: &'a [Option<Arc<Document>>],
    /// Whether the transaction is the one in the serial lane.
    pub in_lane: bool,
}

/// What the sequencer says.
pub(crate) enum Decision {
    Committed(CommitNumber),
    Conflict(Conflict),
    /// The serial lane holds it back; nothing was decided.
    HeldBack,
}

/// See the module.
pub(crate) struct Store {
    pub hot: Hot,
    pub views: Arc<Views>,
    pub engine: Box<dyn AtRest>,
    pub tranlog: Tranlog,
    pub sequence: Mutex<Sequence>,
    pub lane: Lane,
    pub clock: Clock,
    pub counters: Counters,
    /// Memory is full of what the engine does not have yet.
    pub is_full: AtomicBool,
    /// Held by whoever writes a checkpoint or merges tables: a later checkpoint that finished first
    /// would let go of what the earlier one has not written.
    pub engine_work: Mutex<()>,
    /// Locked for as long as anybody can still reach the engine.
    pub _lock: Box<dyn Any + Send + Sync>,
}

impl Store {
    /// Decides a commit, numbers it, hands its record to the tranlog, applies and shows it. No
    /// I/O, no user code and no waiting happens inside.
    pub(crate) fn commit(&self, proposal: &Proposal<'_>) -> Result<Decision, CommitError> {
        let mut record = record::encode(proposal.writes.iter());
        let places = || proposal.writes.iter().map(|w| (w.collection.clone(), w.key.clone()));
        let mut sequence = self.sequence.lock();
        if sequence.is_closed {
            return Err(CommitError::Closed);
        }
        self.tranlog.check()?;
        if self.is_full.load(Ordering::Relaxed) {
            return Err(CommitError::Overloaded("memory is full of unwritten documents"));
        }
        if !proposal.in_lane && self.lane.is_reserved() {
            let places: Vec<Place> = places().collect();
            if self.lane.holds_back(places.iter()) {
                return Ok(Decision::HeldBack);
            }
        }
        let last_change = |(collection, key): &Place| {
            self.hot.collection(collection).and_then(|c| c.last_change(key))
        };
        if let Some(conflict) = conflict::find(proposal.reads, proposal.view.number, last_change) {
            return Ok(Decision::Conflict(conflict));
        }
        let number = sequence.last.next();
        let time = proposal.view.time.max(sequence.time);
        let state = apply::State { hot: &self.hot, views: &self.views };
        let base = |i: usize| proposal.bases[i].clone();
        let changed = match apply::apply(&state, (number, time), proposal.writes, base) {
            Ok(changed) => changed,
            Err(conflict) => return Ok(Decision::Conflict(conflict)),
        };
        sequence.note(changed);
        sequence.last = number;
        sequence.time = time;
        record::set_time(&mut record, time);
        self.tranlog.push(number, record, Durability::Synced);
        self.views.publish(number, time);
        drop(sequence);
        self.counters.commits.fetch_add(1, Ordering::Relaxed);
        Ok(Decision::Committed(number))
    }

    /// The document that `view` sees, from memory or from the engine.
    pub(crate) fn read(
        &self,
        view: &View,
        collection: &CollectionName,
        key: &Key,
    ) -> Result<Option<Arc<Document>>, ReadError> {
        let Some(collection) = self.hot.collection(collection) else { return Ok(None) };
        if let Held::Version(document) = collection.get(key, view.number) {
            return Ok(alive(document, view.time));
        }
        let document = self.engine.get(view.engine, collection.id, key.as_str())?;
        if let Some(document) = &document {
            collection.remember(key, document);
        }
        Ok(alive(document, view.time))
    }
}
