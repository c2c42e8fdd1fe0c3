//! The store: the parts that transactions, the steward and recovery share, and the one serialized
//! function that decides commits.

use crate::apply::{self, Changed, Staged};
use crate::at_rest::AtRest;
use crate::backup::ArchiveStatus;
use crate::blobs::Blobs;
use crate::catalog::{COLLECTIONS, Configure};
use crate::conflict::{self, Changes, Conflict, Contested, Place, Read};
use crate::contention::Contention;
use crate::document::{CommitNumber, Document, Timestamp};
use crate::durability::Durability;
use crate::durations::Durations;
use crate::ended::{self, Ending};
use crate::errors::{CommitError, ReadError, ViewTooOld};
use crate::expired::Keeping;
use crate::hot::{Cell, Collection, Held, Hot};
use crate::lane::Lane;
use crate::limits::{COLLECTIONS_MAX, VOLATILE_COMMITS_MAX};
use crate::name::{CollectionName, Key};
use crate::record::{self, Change, Write};
use crate::seeded::{SeededMap, SeededSet};
use crate::tranlog::Tranlog;
use crate::views::{Stay, View, Views};
use parking_lot::Mutex;
use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The time source: milliseconds since 1970.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// With more reads than these, what was committed until now is checked before the sequencer is
/// entered, which then checks only what was committed meanwhile.
const READS_CHECKED_INSIDE: usize = 256;

/// With more reads than these, changes are put in order before ranges are checked against them.
const READS_SEARCHED: usize = 32;

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
    /// Documents that transactions which were decided had read.
    pub reads: AtomicU64,
    /// Bytes of the records of commits.
    pub record_bytes: AtomicU64,
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
    /// The repository's id.
    pub id: [u8; 16],
    /// How far the archive is, if there is one.
    pub archive: Mutex<Option<ArchiveStatus>>,
    /// Held by the archive while it adds records whose blobs it has found to be there, and by
    /// whoever removes blobs from a folder of backups.
    pub archive_names: Mutex<()>,
    pub hot: Hot,
    pub views: Arc<Views>,
    pub engine: Box<dyn AtRest>,
    pub tranlog: Tranlog,
    pub sequence: Mutex<Sequence>,
    pub lane: Lane,
    pub clock: Clock,
    pub counters: Counters,
    pub blobs: Arc<Blobs>,
    /// What the reaper leaves alone.
    pub keeping: Keeping,
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
        proposal.writes.iter_mut().for_each(|staged| staged.merges = false);
        let Proposal { view, reads, checks_writes, .. } = proposal;
        let checked = match self.check_long(view.number, reads, proposal.writes, checks_writes) {
            Ok(checked) => checked,
            Err(conflict) => return Ok(Decision::Conflict(conflict)),
        };
        let mut sequence = self.sequence.lock();
        self.check(&sequence, proposal.view, (proposal.writes, proposal.durability))?;
        if !proposal.in_lane && self.lane.is_reserved() {
            let places: Vec<Place> = proposal.writes.iter().map(Staged::place).collect();
            if self.lane.holds_back(places.iter()) {
                return Ok(Decision::HeldBack);
            }
        }
        let Proposal { writes, durability, first_to_expire, .. } = proposal;
        if let Some(conflict) = self.conflict(checked, reads, writes, checks_writes) {
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
        let record_bytes = record.len() as u64;
        self.tranlog.push(number, record, durability);
        self.views.publish(number, time);
        drop((stay, sequence));
        self.counters.record_bytes.fetch_add(record_bytes, Ordering::Relaxed);
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
        (writes, durability): (&[Staged], Durability),
    ) -> Result<(), CommitError> {
        if sequence.is_closed {
            return Err(CommitError::Closed);
        }
        self.tranlog.check()?;
        // What only removes is let through, or what is full could never be emptied.
        let is_full = self.hot.bytes() > self.hot_bytes_max;
        let space = self.tranlog.space();
        if is_full || space.is_short() {
            let removes = writes.iter().all(Staged::makes_room);
            if is_full && !removes {
                return Err(CommitError::Overloaded("memory is full of unwritten documents"));
            }
            if durability != Durability::Volatile {
                space.check(removes)?;
            }
        }
        if sequence.last.0 - sequence.logged.0 > VOLATILE_COMMITS_MAX / 2 {
            return Err(CommitError::Overloaded("the log does not know of too many commits"));
        }
        if view.is_refused() {
            return Err(ViewTooOld { view: view.number }.into());
        }
        self.check_collections(writes)
    }

    /// Whether there is room for the collections and indexes that these make.
    fn check_collections(&self, writes: &[Staged]) -> Result<(), CommitError> {
        let may_make = |staged: &&Staged| match &staged.write.change {
            Change::Configure(Configure::Settings(_) | Configure::End(Ending::Empty)) => true,
            Change::Put { .. } | Change::Merge(_) => staged.collection.is_none(),
            _ => false,
        };
        let mut made = SeededSet::default();
        let mut indexes = 0;
        for Staged { write, .. } in writes.iter().filter(may_make) {
            let name = match &write.change {
                Change::Configure(Configure::Settings(settings)) => {
                    let name = CollectionName::generated(write.key.as_str());
                    let shape = self.hot.collection(&name).map(|c| c.shape()).unwrap_or_default();
                    let is_new = |index: &&_| !shape.settings.indexes.contains(index);
                    indexes += settings.indexes.iter().filter(is_new).count();
                    let history = (shape.settings.history, settings.history);
                    indexes += usize::from(!history.0.is_same_kind(history.1));
                    name
                }
                // It becomes another one, while what it was is still there.
                Change::Configure(_) => {
                    let name = CollectionName::generated(write.key.as_str());
                    let shape = self.hot.collection(&name).map(|c| c.shape()).unwrap_or_default();
                    indexes += 1 + shape.indexes.len();
                    continue;
                }
                _ => write.collection.clone(),
            };
            if self.hot.collection(&name).is_none() {
                made.insert(name);
            }
        }
        let new = made.len() + indexes;
        match new > 0 && self.hot.count() + new > COLLECTIONS_MAX {
            true => Err(CommitError::TooManyCollections),
            false => Ok(()),
        }
    }

    /// Checks many reads before the sequencer is entered, which they would keep from others; gives
    /// the commit up to which they are checked.
    fn check_long(
        &self,
        view: CommitNumber,
        reads: &[Read],
        writes: &mut [Staged],
        checks_writes: bool,
    ) -> Result<CommitNumber, Conflict> {
        if reads.len() <= READS_CHECKED_INSIDE {
            return Ok(view);
        }
        // Asked first: what is visible has been applied as a whole.
        let visible = self.views.visible();
        match self.conflict(view, reads, writes, checks_writes) {
            Some(conflict) => Err(conflict),
            None => Ok(visible),
        }
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
        let mut lost = Vec::new();
        let mut places = None;
        let mut changes = (reads.len() > READS_SEARCHED).then(Changes::default);
        for read in reads {
            let contested = conflict::find(&self.hot, read, view, changes.as_mut());
            let Some(contested) = contested else { continue };
            let is_document = matches!(read, Read::Document(_));
            if !(is_document && self.merges(writes, &mut places, &contested)) {
                lost.push(contested);
            }
        }
        if checks_writes {
            let changed: Vec<Contested> =
                writes.iter().filter_map(|staged| self.changed_since(staged, view)).collect();
            for contested in changed {
                if !self.merges(writes, &mut places, &contested) {
                    lost.push(contested);
                }
            }
        }
        lost.extend(ended::conflicts(&self.hot, reads, view));
        lost.extend(writes.iter().filter_map(|staged| self.configured_since(staged, view)));
        Conflict::over(lost)
    }

    /// Marks the write of a contested document as one to be merged, if its collection wants that.
    /// `places` says where in `writes` each is, once that was asked.
    fn merges(
        &self,
        writes: &mut [Staged],
        places: &mut Option<SeededMap<Place, usize>>,
        contested: &Contested,
    ) -> bool {
        let wants = |c: Arc<Collection>| !c.is_plain() && c.shape().settings.merges();
        if !self.hot.collection(&contested.collection).is_some_and(wants) {
            return false;
        }
        let index = || writes.iter().enumerate().map(|(at, s)| (s.place(), at)).collect();
        let places = places.get_or_insert_with(index);
        let place = (contested.collection.clone(), contested.key.clone());
        let Some(staged) = places.get(&place).map(|&at| &mut writes[at]) else { return false };
        let is_put = matches!(staged.write.change, Change::Put { .. });
        staged.merges = is_put && !staged.is_computed && staged.collection.is_some();
        staged.merges
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
            Some(collection) if collection.ended().is_some() => {
                return ended::ended_since(collection, view);
            }
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
