//! A simulated disk: it remembers what was synced, and may lose, tear and reorder everything else
//! when the power goes; and any call can fail, or be the last one before a crash.
//!
//! What it holds after a crash is meant to be at least as bad as what POSIX allows a real one.

mod content;

use crate::random::Random;
use content::{Content, Op};
use repository::parts::{BLOCK_BYTES, Disk, DiskFile, DiskRoom, Lock};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How a call ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// As it should.
    Well,
    /// With an error; it may have happened in part.
    Fails(ErrorKind),
    /// The crash comes while it is under way: it may have happened in part.
    Last,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Entry {
    Folder,
    File(usize),
}

/// A change of names that its folder was not synced after. It happens as a whole or not.
#[derive(Clone, Debug)]
struct Change {
    folder: PathBuf,
    names: Vec<(PathBuf, Option<Entry>)>,
}

#[derive(Debug)]
struct State {
    random: Random,
    names: BTreeMap<PathBuf, Entry>,
    durable_names: BTreeMap<PathBuf, Entry>,
    changes: Vec<Change>,
    files: Vec<Content>,
    /// Calls until the crash; nothing works after it.
    calls_to_crash: Option<u64>,
    has_crashed: bool,
    /// Calls until one fails, and how.
    calls_to_failure: Option<(u64, ErrorKind)>,
    /// Bytes of all files together.
    capacity_bytes: u64,
    /// Files that are locked, by whoever is alive.
    locked: BTreeSet<PathBuf>,
}

/// The disk; clones are the same one.
#[derive(Clone, Debug)]
pub struct SimDisk {
    state: Arc<Mutex<State>>,
}

impl SimDisk {
    /// An empty one.
    pub fn new(random: Random) -> Self {
        let state = State {
            random,
            names: BTreeMap::from([(PathBuf::from("/"), Entry::Folder)]),
            durable_names: BTreeMap::from([(PathBuf::from("/"), Entry::Folder)]),
            changes: Vec::new(),
            files: Vec::new(),
            calls_to_crash: None,
            has_crashed: false,
            calls_to_failure: None,
            capacity_bytes: u64::MAX,
            locked: BTreeSet::new(),
        };
        Self { state: Arc::new(Mutex::new(state)) }
    }

    fn lock_state(&self) -> MutexGuard<'_, State> {
        // A panic is a finding that ends the run.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets the crash come during the call after so many.
    pub fn crash_after(&self, calls: u64) {
        self.lock_state().calls_to_crash = Some(calls);
    }

    /// Whether the crash has come.
    pub fn has_crashed(&self) -> bool {
        self.lock_state().has_crashed
    }

    /// Lets the call after so many fail.
    pub fn fail_after(&self, calls: u64, kind: ErrorKind) {
        self.lock_state().calls_to_failure = Some((calls, kind));
    }

    /// Whether the failure that was asked for has not come yet.
    pub fn is_failure_due(&self) -> bool {
        self.lock_state().calls_to_failure.is_some()
    }

    /// Lets all calls succeed again.
    pub fn heal(&self) {
        self.lock_state().calls_to_failure = None;
    }

    /// Bounds what fits on the disk to so many bytes beyond what is there.
    pub fn leave_room(&self, bytes: u64) {
        let mut state = self.lock_state();
        state.capacity_bytes = state.used_bytes().saturating_add(bytes);
    }

    /// Bytes of all files.
    pub fn used_bytes(&self) -> u64 {
        self.lock_state().used_bytes()
    }

    /// The process dies; what it had handed over stays.
    pub fn kill(&self) {
        let mut state = self.lock_state();
        state.calls_to_crash = None;
        state.has_crashed = false;
        state.locked.clear();
    }

    /// The power goes; what was not synced may stay, or not, or in part.
    pub fn cut_power(&self) {
        self.kill();
        let state = &mut *self.lock_state();
        // Nothing, everything, or a choice for each piece.
        let keep_percent = *state.random.pick(&[0, 100, 50, 50, 90]);
        for change in std::mem::take(&mut state.changes) {
            if state.random.percent(keep_percent) {
                apply(&change, &mut state.durable_names);
            }
        }
        state.names = without_orphans(&state.durable_names);
        state.durable_names = state.names.clone();
        for file in &mut state.files {
            file.cut_power(&mut state.random, keep_percent);
        }
    }

    /// The files below a folder, in order.
    pub(crate) fn files(&self, folder: &Path) -> Vec<PathBuf> {
        let state = self.lock_state();
        let is_file = |(name, entry): &(&PathBuf, &Entry)| {
            matches!(entry, Entry::File(_)) && name.starts_with(folder)
        };
        state.names.iter().filter(is_file).map(|(name, _)| name.clone()).collect()
    }

    /// The files that are there, for a person to read.
    pub fn listing(&self) -> String {
        let state = self.lock_state();
        let file = |(name, entry): (&PathBuf, &Entry)| match entry {
            Entry::File(file) => Some(format!("{} (file {file})", name.display())),
            Entry::Folder => None,
        };
        state.names.iter().filter_map(file).collect::<Vec<_>>().join(", ")
    }

    /// How a call of somebody else ends who shares the fate of this disk.
    pub(crate) fn fate(&self) -> io::Result<Fate> {
        self.lock_state().fate()
    }

    /// A number from the disk's own generator, to decide what happens in part.
    pub(crate) fn below(&self, bound: u64) -> u64 {
        self.lock_state().random.below(bound)
    }
}

fn apply(change: &Change, names: &mut BTreeMap<PathBuf, Entry>) {
    for (name, entry) in &change.names {
        match entry {
            Some(entry) => names.insert(name.clone(), *entry),
            None => names.remove(name),
        };
    }
}

/// What can still be reached: a folder that was lost takes along what was in it.
fn without_orphans(names: &BTreeMap<PathBuf, Entry>) -> BTreeMap<PathBuf, Entry> {
    let mut reached = BTreeMap::new();
    for (name, entry) in names {
        if name.parent().is_none_or(|above| reached.contains_key(above)) {
            reached.insert(name.clone(), *entry);
        }
    }
    reached
}

impl State {
    fn fate(&mut self) -> io::Result<Fate> {
        if self.has_crashed {
            return Err(io::Error::other("the process is dead"));
        }
        if let Some(calls) = &mut self.calls_to_crash {
            if *calls == 0 {
                self.has_crashed = true;
                return Ok(Fate::Last);
            }
            *calls -= 1;
        }
        if let Some((calls, kind)) = &mut self.calls_to_failure {
            if *calls == 0 {
                let kind = *kind;
                self.calls_to_failure = None;
                return Ok(Fate::Fails(kind));
            }
            *calls -= 1;
        }
        Ok(Fate::Well)
    }

    /// For calls that change nothing, or nothing in part.
    fn all_or_nothing(&mut self) -> io::Result<()> {
        match self.fate()? {
            Fate::Well => Ok(()),
            other => Err(error(other)),
        }
    }

    fn used_bytes(&self) -> u64 {
        let files: BTreeSet<usize> = self
            .names
            .values()
            .filter_map(|entry| match entry {
                Entry::File(file) => Some(*file),
                Entry::Folder => None,
            })
            .collect();
        files.iter().map(|&file| self.files[file].live.len() as u64).sum()
    }

    fn file(&self, path: &Path) -> io::Result<usize> {
        match self.names.get(path) {
            Some(Entry::File(file)) => Ok(*file),
            _ => Err(io::Error::new(ErrorKind::NotFound, format!("no file {}", path.display()))),
        }
    }

    fn folder(&self, path: &Path) -> io::Result<()> {
        match self.names.get(path) {
            Some(Entry::Folder) => Ok(()),
            _ => Err(io::Error::new(ErrorKind::NotFound, format!("no folder {}", path.display()))),
        }
    }

    /// Changes names of one folder, or not, as `fate` says.
    fn change(&mut self, names: Vec<(PathBuf, Option<Entry>)>) -> io::Result<()> {
        let fate = self.fate()?;
        let folder = names[0].0.parent().unwrap_or(Path::new("/")).to_owned();
        self.folder(&folder)?;
        if fate == Fate::Well || (fate == Fate::Last && self.random.percent(50)) {
            let change = Change { folder, names };
            apply(&change, &mut self.names);
            self.changes.push(change);
        }
        if fate == Fate::Well { Ok(()) } else { Err(error(fate)) }
    }
}

fn error(fate: Fate) -> io::Error {
    match fate {
        Fate::Fails(kind) => io::Error::new(kind, "the simulated disk fails"),
        _ => io::Error::other("the crash came during this call"),
    }
}

impl Disk for SimDisk {
    fn create_folder(&self, folder: &Path) -> io::Result<()> {
        let mut state = self.lock_state();
        let mut above: Vec<_> = folder.ancestors().collect();
        above.reverse();
        for folder in above {
            if !state.names.contains_key(folder) {
                state.change(vec![(folder.to_owned(), Some(Entry::Folder))])?;
            }
        }
        Ok(())
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        let state = &mut *self.lock_state();
        let fate = state.fate()?;
        state.folder(folder)?;
        let changes = std::mem::take(&mut state.changes);
        for change in changes {
            let is_kept = fate == Fate::Well || state.random.percent(50);
            if change.folder == folder && is_kept {
                apply(&change, &mut state.durable_names);
            } else {
                state.changes.push(change);
            }
        }
        if fate == Fate::Well { Ok(()) } else { Err(error(fate)) }
    }

    fn names(&self, folder: &Path) -> io::Result<Vec<String>> {
        let mut state = self.lock_state();
        state.all_or_nothing()?;
        state.folder(folder)?;
        let inside = state.names.keys().filter(|name| name.parent() == Some(folder));
        let names = inside.filter_map(|name| name.file_name());
        Ok(names.map(|name| name.to_string_lossy().into_owned()).collect())
    }

    fn length(&self, file: &Path) -> io::Result<u64> {
        let mut state = self.lock_state();
        state.all_or_nothing()?;
        let file = state.file(file)?;
        Ok(state.files[file].live.len() as u64)
    }

    fn read(&self, file: &Path, at: u64, bytes: u64) -> io::Result<Vec<u8>> {
        let mut state = self.lock_state();
        state.all_or_nothing()?;
        let live = &state.files[state.file(file)?].live;
        let from = (at as usize).min(live.len());
        let to = at.saturating_add(bytes).min(live.len() as u64) as usize;
        Ok(live[from..to].to_vec())
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        let mut state = self.lock_state();
        let file = state.files.len();
        state.files.push(Content::default());
        state.change(vec![(path.to_owned(), Some(Entry::File(file)))])?;
        Ok(Box::new(SimFile { disk: self.clone(), file }))
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        let mut state = self.lock_state();
        state.all_or_nothing()?;
        let file = state.file(path)?;
        Ok(Box::new(SimFile { disk: self.clone(), file }))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut state = self.lock_state();
        let file = state.file(from)?;
        state.change(vec![(from.to_owned(), None), (to.to_owned(), Some(Entry::File(file)))])
    }

    fn remove(&self, file: &Path) -> io::Result<()> {
        let mut state = self.lock_state();
        state.file(file)?;
        state.change(vec![(file.to_owned(), None)])
    }

    fn room(&self, _: &Path) -> io::Result<DiskRoom> {
        let state = self.lock_state();
        // Looking is nothing that can fail in part; a crash comes with the next call.
        let free_bytes = state.capacity_bytes.saturating_sub(state.used_bytes());
        Ok(DiskRoom { free_bytes, all_bytes: state.capacity_bytes })
    }

    fn remove_folder(&self, folder: &Path) -> io::Result<()> {
        let mut state = self.lock_state();
        state.folder(folder)?;
        if state.names.keys().any(|name| name.parent() == Some(folder)) {
            return Err(ErrorKind::DirectoryNotEmpty.into());
        }
        state.change(vec![(folder.to_owned(), None)])
    }

    fn lock(&self, file: &Path) -> io::Result<Lock> {
        if self.lock_state().file(file).is_err() {
            self.create(file)?;
        }
        let mut state = self.lock_state();
        if !state.locked.insert(file.to_owned()) {
            return Ok(Lock::HeldBy(None));
        }
        Ok(Lock::Held(Box::new(Held(self.clone(), file.to_owned()))))
    }
}

/// The lock of a process that is alive.
struct Held(SimDisk, PathBuf);

impl Drop for Held {
    fn drop(&mut self) {
        self.0.lock_state().locked.remove(&self.1);
    }
}

struct SimFile {
    disk: SimDisk,
    file: usize,
}

impl SimFile {
    fn put(&self, bytes: &[u8], at: u64, is_synced: bool) -> io::Result<()> {
        let state = &mut *self.disk.lock_state();
        let fate = state.fate()?;
        let end = at + bytes.len() as u64;
        let longer = end.saturating_sub(state.files[self.file].live.len() as u64);
        if longer > 0 && state.used_bytes() + longer > state.capacity_bytes {
            return Err(io::Error::new(ErrorKind::StorageFull, "the simulated disk is full"));
        }
        let file = &mut state.files[self.file];
        let op = Op { at, bytes: bytes.to_vec(), is_synced: is_synced && fate == Fate::Well };
        match fate {
            Fate::Well => file.put(op),
            Fate::Fails(ErrorKind::StorageFull) => {}
            _ => file.put_in_part(&op, &mut state.random),
        }
        if fate == Fate::Well { Ok(()) } else { Err(error(fate)) }
    }
}

impl DiskFile for SimFile {
    fn write(&self, bytes: &[u8], at: u64) -> io::Result<()> {
        self.put(bytes, at, false)
    }

    fn write_synced(&self, blocks: &[u8], at: u64) -> io::Result<()> {
        assert_eq!((blocks.len() % BLOCK_BYTES, at % BLOCK_BYTES as u64), (0, 0), "whole blocks");
        assert_eq!(blocks.as_ptr().align_offset(BLOCK_BYTES), 0, "aligned memory");
        self.put(blocks, at, true)
    }

    fn sync(&self) -> io::Result<()> {
        let state = &mut *self.disk.lock_state();
        let fate = state.fate()?;
        let file = &mut state.files[self.file];
        match fate {
            Fate::Well => file.sync(),
            Fate::Fails(_) => file.fail_to_sync(&mut state.random),
            // What got there is decided by the power cut, if it is one.
            Fate::Last => {}
        }
        if fate == Fate::Well { Ok(()) } else { Err(error(fate)) }
    }
}
