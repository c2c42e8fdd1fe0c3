//! The store: the parts that transactions, the steward and recovery share, and the one serialized
//! function that decides commits.

use crate::apply::{self, Changed, Staged};
use crate::at_rest::AtRest;
use crate::catalog::COLLECTIONS;
use crate::conflict::{self, Conflict, Contested, Place, Read};
use crate::contention::Contention;
use crate::document::{CommitNumber, Document, Timestamp};
use crate::durability::Durability;
use crate::durations::Durations;
use crate::errors::{CommitError, ReadError, ViewTooOld};
use crate::hot::{Cell, Collection, Held, Hot};
use crate::lane::Lane;
use crate::limits::VOLATILE_COMMITS_MAX;
use crate::name::{CollectionName, Key};
use crate::record::{self, Change, Write};
use crate::settings::OnConflict;
use crate::tranlog::Tranlog;
use crate::views::{Stay, View, Views};
use parking_lot::Mutex;
use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The time source: milliseconds since 1970.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// What only the sequencer changes.
pub(crate) struct Sequence {
    /// The last commit that was numbered.
    pub last: CommitNumber,
    /// Its time. Commit times never run backwards.
    pub time: Timestamp,
    /// The last commit that has a record in the log.
    pub logged: CommitNumber,
    /// Documents changed after `listed_after`, each once.
    pub changed: Vec<Arc<Cell>>,
    /// The view of the last checkpoint that took the list.
    pub listed_after: CommitNumber,
    /// No commit is decided any more.
    pub is_closed: bool,
}

impl Sequence {
    /// Puts what a commit changed on the list for the next checkpoint.
    pub(crate) fn note(&mut self, changed: Vec<Changed>) {
        for Changed { cell, before, is_kept } in changed {
            if is_kept && before.is_none_or(|before| before <= self.listed_after) {
                self.changed.push(cell);
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
    /// Documents removed because they had expired.
    pub reaped: AtomicU64,
    /// Views refused because they were open for too long.
    pub refused_views: AtomicU64,
    /// Transactions whose body gave up.
    pub aborted: AtomicU64,
    /// Documents looked for in the engine.
    pub engine_reads: AtomicU64,
    /// Checkpoints that were written.
    pub checkpoints: Durations,
    /// The documents that conflicts are about.
    pub contention: Mutex<Contention>,
}

/// What a transaction asks to commit.
pub(crate) struct Proposal<'a> {
    pub view: &'a View,
    pub reads: &'a [Read],
    /// A document that was read must not have expired, since commits are ordered in time, too.
    pub first_to_expire: Option<&'a (Timestamp, Place)>,
    pub writes: &'a mut [Staged],
    /// Documents that are written must be as the view saw them: the rule of snapshot isolation
    /// (Berenson et al. 1995, §4.2).
    pub checks_writes: bool,
    /// The strongest of the collections that are written.
    pub durability: Durability,
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
    /// Beyond this, memory is full of what the engine does not have yet.
    pub hot_bytes_max: usize,
    /// Held by whoever writes a checkpoint: a later one that finished first would let go of what
    /// the earlier one has not written. The commit that the engine's files say they hold.
    pub engine_work: Mutex<CommitNumber>,
    /// Held by whoever merges tables.
    pub compaction: Mutex<()>,
    /// Locked for as long as anybody can still reach the engine.
    pub _lock: Box<dyn Any + Send + Sync>,
}

/// A document that was read has expired before the commit: the latest commit is the one that moved
/// time on.
fn expired((collection, key): &Place, competitor: CommitNumber) -> Conflict {
    let (collection, key) = (collection.clone(), key.clone());
    let documents = vec![Contested { collection, key, competitor, paths: Vec::new() }];
    Conflict { documents, competitor }
}

/// A document as a view finds it: where it is in memory, and the version, expired ones too.
pub(crate) type Found = (Option<Arc<Cell>>, Option<Arc<Document>>);

impl Store {
    /// Decides a commit, numbers it, hands its record to the tranlog, applies and shows it. No
    /// I/O, no user code and no waiting happens inside.
    pub(crate) fn commit(&self, proposal: Proposal<'_>) -> Result<Decision, CommitError> {
        let mut record = encode(proposal.writes);
        let mut sequence = self.sequence.lock();
        self.check(&sequence, proposal.view, proposal.writes)?;
        if !proposal.in_lane && self.lane.is_reserved() {
            let places: Vec<Place> = proposal.writes.iter().map(Staged::place).collect();
            if self.lane.holds_back(places.iter()) {
                return Ok(Decision::HeldBack);
            }
        }
        let Proposal { view, reads, writes, checks_writes, durability, first_to_expire, .. } =
            proposal;
        if let Some(conflict) = self.conflict(view.number, reads, writes, checks_writes) {
            return Ok(Decision::Conflict(conflict));
        }
        let number = sequence.last.next();
        let (time, stay) = self.time_of_commit(first_to_expire, writes);
        if let Some((_, place)) = first_to_expire.filter(|(at, _)| *at <= time) {
            return Ok(Decision::Conflict(expired(place, sequence.last)));
        }
        let state = apply::State { hot: &self.hot, views: &self.views };
        let applied = match apply::apply(&state, (number, time), writes) {
            Ok(applied) => applied,
            Err(contested) => {
                let competitor = contested.competitor;
                return Ok(Decision::Conflict(Conflict { documents: vec![contested], competitor }));
            }
        };
        if applied.is_rewritten {
            record = encode(writes);
        }
        sequence.note(applied.changed);
        sequence.last = number;
        sequence.time = time;
        if durability != Durability::Volatile {
            sequence.logged = number;
            record::set_time(&mut record, time);
        }
        self.tranlog.push(number, record, durability);
        self.views.publish(number, time);
        drop((stay, sequence));
        self.counters.commits.fetch_add(1, Ordering::Relaxed);
        Ok(Decision::Committed(number))
    }

    /// The time of a commit that is decided now: no view that is open is later, and none that
    /// opens before the commit is visible sees something expired that the commit takes for alive.
    fn time_of_commit(
        &self,
        first_to_expire: Option<&(Timestamp, Place)>,
        writes: &[Staged],
    ) -> (Timestamp, Option<Stay<'_>>) {
        let mut time = self.views.time();
        loop {
            let read = first_to_expire.map(|(at, _)| *at);
            let ends = writes.iter().filter_map(Staged::expires).chain(read);
            let Some(end) = ends.filter(|end| *end > time).min() else { return (time, None) };
            match self.views.stay_before(end) {
                Ok(stay) => return (self.views.time(), Some(stay)),
                Err(later) => time = later,
            }
        }
    }

    /// Whether any commit can be decided now.
    fn check(
        &self,
        sequence: &Sequence,
        view: &View,
        writes: &[Staged],
    ) -> Result<(), CommitError> {
        if sequence.is_closed {
            return Err(CommitError::Closed);
        }
        self.tranlog.check()?;
        // What only removes is let through, or a full memory could never be emptied.
        if self.hot.bytes() > self.hot_bytes_max && !writes.iter().all(Staged::makes_room) {
            return Err(CommitError::Overloaded("memory is full of unwritten documents"));
        }
        if sequence.last.0 - sequence.logged.0 > VOLATILE_COMMITS_MAX / 2 {
            return Err(CommitError::Overloaded("the log does not know of too many commits"));
        }
        if view.is_refused() {
            return Err(ViewTooOld { view: view.number }.into());
        }
        Ok(())
    }

    /// What has changed since `view` and must not have. Marks writes that are to be merged with
    /// what changed.
    fn conflict(
        &self,
        view: CommitNumber,
        reads: &[Read],
        writes: &mut [Staged],
        checks_writes: bool,
    ) -> Option<Conflict> {
        writes.iter_mut().for_each(|staged| staged.merges = false);
        let mut lost = Vec::new();
        for read in reads {
            let Some(contested) = conflict::find(&self.hot, read, view) else { continue };
            let is_document = matches!(read, Read::Document(_));
            if !(is_document && merges(writes, &contested)) {
                lost.push(contested);
            }
        }
        if checks_writes {
            let changed: Vec<Contested> =
                writes.iter().filter_map(|staged| self.changed_since(staged, view)).collect();
            lost.extend(changed.into_iter().filter(|contested| !merges(writes, contested)));
        }
        lost.extend(writes.iter().filter_map(|staged| self.configured_since(staged, view)));
        Conflict::over(lost)
    }

    /// A write that is no intent and whose document a commit after `view` has changed.
    fn changed_since(&self, staged: &Staged, view: CommitNumber) -> Option<Contested> {
        if !matches!(staged.write.change, Change::Put { .. } | Change::Delete) {
            return None;
        }
        let Write { collection, key, .. } = &staged.write;
        let change = match (&staged.cell, &staged.collection) {
            (Some(cell), _) => cell.last_change(),
            (None, Some(collection)) => collection.last_change(key)?,
            (None, None) => self.hot.collection(collection)?.last_change(key)?,
        };
        (change > view).then(|| Contested {
            collection: collection.clone(),
            key: key.clone(),
            competitor: change,
            paths: Vec::new(),
        })
    }

    /// Settings are read by every write.
    fn configured_since(&self, staged: &Staged, view: CommitNumber) -> Option<Contested> {
        let name = &staged.write.collection;
        let configured = match &staged.collection {
            Some(collection) => collection.configured(),
            None => self.hot.collection(name)?.configured(),
        };
        (configured > view).then(|| Contested {
            collection: CollectionName::generated(COLLECTIONS),
            key: Key::generated(name.to_string()),
            competitor: configured,
            paths: Vec::new(),
        })
    }

    /// Lets the log know how far the numbers have come, if there were commits without a record,
    /// or anyway.
    pub(crate) fn mark(&self, anyway: bool) {
        let mut sequence = self.sequence.lock();
        if sequence.is_closed
            || (sequence.last == sequence.logged && !anyway)
            || self.tranlog.check().is_err()
        {
            return;
        }
        let number = sequence.last.next();
        let mut record = record::encode(0, std::iter::empty());
        record::set_time(&mut record, sequence.time);
        (sequence.last, sequence.logged) = (number, number);
        self.tranlog.push(number, record, Durability::Written);
        self.views.publish(number, sequence.time);
    }

    /// Makes new views read the engine's newest tables, which hold `commit` and all before.
    pub(crate) fn refresh_engine(&self, commit: CommitNumber) {
        self.views.refresh_engine(commit, |commit| self.engine.state(commit));
    }

    /// As `find`, without keeping in memory what was not there: for work that passes everything.
    pub(crate) fn find_once(
        &self,
        view: &View,
        collection: &Arc<Collection>,
        key: &Key,
    ) -> Result<Found, ReadError> {
        if collection.is_volatile || collection.find(key).is_some() {
            return self.find(view, collection, key);
        }
        let document = self.engine.get(view.engine, collection.id, key.as_str())?;
        check_view(view)?;
        Ok((None, document))
    }

    fn engine_get(
        &self,
        view: &View,
        collection: u32,
        key: &Key,
    ) -> Result<Option<Arc<Document>>, ReadError> {
        self.counters.engine_reads.fetch_add(1, Ordering::Relaxed);
        self.engine.get(view.engine, collection, key.as_str())
    }

    /// What `view` finds, in memory or in the engine.
    pub(crate) fn find(
        &self,
        view: &View,
        collection: &Arc<Collection>,
        key: &Key,
    ) -> Result<Found, ReadError> {
        let cell = collection.find(key);
        let found = match cell.as_ref().map(|cell| cell.at(view.number)) {
            Some(Held::Version(document)) => (cell, document),
            _ if collection.is_volatile => (cell, None),
            _ => match self.engine_get(view, collection.id, key)? {
                Some(document) => {
                    let remember = || self.hot.remember(view, collection, key, &document);
                    let cell = cell.or_else(remember);
                    (cell, Some(document))
                }
                None => (cell, None),
            },
        };
        check_view(view)?;
        Ok(found)
    }
}

/// What was read on a view that is refused meanwhile may be wrong.
pub(crate) fn check_view(view: &View) -> Result<(), ReadError> {
    match view.is_refused() {
        true => Err(ViewTooOld { view: view.number }.into()),
        false => Ok(()),
    }
}

/// The record of what the log is to know.
fn encode(writes: &[Staged]) -> Vec<u8> {
    let is_logged = |staged: &&Staged| staged.collection.as_ref().is_none_or(|c| !c.is_volatile);
    match writes.iter().filter(is_logged).count() {
        0 => Vec::new(),
        count => record::encode(count, writes.iter().filter(is_logged).map(|s| &s.write)),
    }
}

/// Marks the write of a contested document as one to be merged, if its collection wants that.
fn merges(writes: &mut [Staged], contested: &Contested) -> bool {
    let is_it = |staged: &&mut Staged| {
        staged.write.key == contested.key && staged.write.collection == contested.collection
    };
    let Some(staged) = writes.iter_mut().find(is_it) else { return false };
    let is_put = matches!(staged.write.change, Change::Put { .. });
    let wants = |c: &Arc<Collection>| c.shape().settings.conflict == OnConflict::Merge;
    staged.merges = is_put && !staged.is_computed && staged.collection.as_ref().is_some_and(wants);
    staged.merges
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::MediaType;
    use crate::repository::{Options, Repository};
    use crate::settings::Settings;
    use bytes::Bytes;

    /// The clock stands still, so the steward tells the log once at most.
    #[test]
    fn commits_that_the_log_does_not_know_are_bounded() {
        let folder = tempfile::tempdir().unwrap();
        let clock: Clock = Arc::new(|| Timestamp(1));
        let options = Options { folder: folder.path().to_owned(), memory_bytes: 64 << 20, clock };
        let (repository, _) = Repository::open(options).unwrap();
        let settings = Settings { durability: Durability::Volatile, ..Settings::default() };
        let name = CollectionName::new("notes").unwrap();
        repository.configure(&name, &settings).unwrap();
        let put = || {
            let mut transaction = repository.begin().unwrap();
            let key = Key::new("a").unwrap();
            transaction.put(&name, &key, MediaType::Json, Bytes::from("1"), None).unwrap();
            transaction.commit().map(drop)
        };
        put().unwrap();
        let skip_to = |unknown: u64| {
            let mut sequence = repository.store.sequence.lock();
            sequence.last = CommitNumber(sequence.logged.0 + unknown);
        };
        skip_to(VOLATILE_COMMITS_MAX / 2);
        put().unwrap();
        let refused = put();
        assert!(matches!(refused, Err(CommitError::Overloaded(_))), "{refused:?}");
        repository.store.mark(false);
        put().unwrap();
    }
}
