//! The files of blobs, and who is using them now: pins, and removals under way.

use super::error::io_error;
use super::file::{CHUNK_BYTES, TAIL_BYTES, parse_name};
use super::{BlobError, BlobHash, BlobReference, FOLDER, INCOMING, OnBlobRemoval, Unnamed};
use crate::disk::Disk;
use crate::limits::BLOB_WRITERS_MAX;
use crate::seeded::{SeededMap, SeededSet};
use crate::space::{Short, Space};
use parking_lot::{Condvar, Mutex};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Folders that blobs are in, by the first byte of their hash.
const FOLDERS: usize = 256;

/// Figures about blobs. Those of what is there now are complete once everything was looked at after
/// opening, which takes a minute and more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlobStats {
    /// Files that are there.
    pub count: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Blobs that are being written.
    pub writing: u64,
    /// Blobs that are read or about to be named: they are not removed meanwhile.
    pub pinned: u64,
    /// Blobs that have lost a name, and may have to be removed.
    pub unnamed: u64,
    /// Blobs written since opening, those that were there already included, and their bytes.
    pub written: u64,
    /// See `written`.
    pub written_bytes: u64,
    /// How many of them were there already.
    pub known: u64,
    /// Blobs removed since opening because nobody named them any more, and their bytes.
    pub reclaimed: u64,
    /// See `reclaimed`.
    pub reclaimed_bytes: u64,
    /// Reads since opening that found damage.
    pub damaged: u64,
}

#[derive(Debug, Default)]
pub(super) struct Counters {
    pub written: AtomicU64,
    pub written_bytes: AtomicU64,
    pub known: AtomicU64,
    pub reclaimed: AtomicU64,
    pub reclaimed_bytes: AtomicU64,
    pub damaged: AtomicU64,
}

#[derive(Default)]
struct Use {
    /// How many use each blob.
    pins: SeededMap<BlobHash, usize>,
    /// What is being removed, if it turns out that it can be.
    removing: Option<BlobHash>,
    /// Folders of which it is known that their names are durable.
    folders: SeededSet<PathBuf>,
    /// Names in `incoming` that are being written to.
    incoming: SeededSet<String>,
    /// Names that were given.
    names: u64,
    /// Per folder, how many files are there and their bytes.
    there: Vec<(u64, u64)>,
}

/// See the module.
pub(crate) struct Blobs {
    pub(super) disk: Arc<dyn Disk>,
    /// The data folder.
    pub(super) root: PathBuf,
    pub(super) unnamed: Arc<Unnamed>,
    /// How names in `incoming` begin; those of others there are left alone.
    prefix: &'static str,
    /// The room on the disk, while it is looked at.
    space: Option<Arc<Space>>,
    pub(super) counters: Counters,
    used: Mutex<Use>,
    removed: Condvar,
    hook: Mutex<Option<Arc<OnBlobRemoval>>>,
}

impl Blobs {
    pub(crate) fn new(disk: Arc<dyn Disk>, root: &Path, unnamed: &Arc<Unnamed>) -> Self {
        let used = Use { there: vec![(0, 0); FOLDERS], ..Use::default() };
        Self {
            disk,
            root: root.to_owned(),
            unnamed: Arc::clone(unnamed),
            prefix: "",
            space: None,
            counters: Counters::default(),
            used: Mutex::new(used),
            removed: Condvar::new(),
            hook: Mutex::default(),
        }
    }

    /// Writes nothing while `space` is short.
    pub(crate) fn bounded_by(mut self, space: &Arc<Space>) -> Arc<Self> {
        self.space = Some(Arc::clone(space));
        Arc::new(self)
    }

    /// Shares its folder with others that write; their prefixes are different.
    pub(crate) fn shared_as(mut self, prefix: &'static str) -> Arc<Self> {
        self.prefix = prefix;
        Arc::new(self)
    }

    /// Whether there is room to write some more.
    pub(super) fn check_space(&self) -> Result<(), BlobError> {
        let Some(space) = &self.space else { return Ok(()) };
        space.check(false).map_err(|Short { free_bytes, reserve_bytes }| BlobError::NoSpace {
            free_bytes,
            reserve_bytes,
        })
    }

    pub(crate) fn path(&self, hash: &BlobHash) -> PathBuf {
        self.root.join(hash.path())
    }

    fn folder(&self) -> PathBuf {
        self.root.join(FOLDER)
    }

    pub(super) fn incoming(&self) -> PathBuf {
        self.folder().join(INCOMING)
    }

    /// Keeps a blob from being removed until [`Self::unpin`]. Waits for a removal under way, after
    /// which the blob may be gone.
    pub(super) fn pin(&self, hash: &BlobHash) {
        let mut used = self.used.lock();
        while used.removing == Some(*hash) {
            self.removed.wait(&mut used);
        }
        *used.pins.entry(*hash).or_default() += 1;
    }

    pub(super) fn unpin(&self, hash: &BlobHash) {
        let mut used = self.used.lock();
        if let Some(count) = used.pins.get_mut(hash) {
            *count -= 1;
            if *count == 0 {
                used.pins.remove(hash);
            }
        }
    }

    /// Says that a blob is about to be removed, unless it is pinned: nobody can pin it until what
    /// this gives is dropped.
    pub(super) fn begin_removal(&self, hash: &BlobHash) -> Option<Removal<'_>> {
        let mut used = self.used.lock();
        if used.pins.contains_key(hash) || used.removing.is_some() {
            return None;
        }
        used.removing = Some(*hash);
        Some(Removal { blobs: self })
    }

    pub(super) fn set_hook(&self, hook: OnBlobRemoval) {
        *self.hook.lock() = Some(Arc::new(hook));
    }

    /// Removes the file of a blob that is being removed. `false`: it was not there.
    pub(crate) fn remove(&self, hash: &BlobHash) -> Result<bool, BlobError> {
        let path = self.path(hash);
        let Some(length) = self.length(hash)? else { return Ok(false) };
        let hook = self.hook.lock().clone();
        if let Some(hook) = hook {
            hook(&BlobReference { hash: *hash, length }, &path)
                .map_err(io_error("put aside", &path))?;
        }
        self.disk.remove(&path).map_err(io_error("remove", &path))?;
        self.counters.reclaimed.fetch_add(1, Ordering::Relaxed);
        self.counters.reclaimed_bytes.fetch_add(length, Ordering::Relaxed);
        let there = &mut self.used.lock().there[usize::from(hash.0[0])];
        *there = (there.0.saturating_sub(1), there.1.saturating_sub(length));
        Ok(true)
    }

    /// How long a blob's content is by the length of its file; `None`: it is not there.
    pub(crate) fn length(&self, hash: &BlobHash) -> Result<Option<u64>, BlobError> {
        let path = self.path(hash);
        match self.disk.length(&path) {
            Ok(bytes) => Ok(Some(content_bytes(bytes))),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(io_error("look at", &path)(error)),
        }
    }

    /// A name for what is being written, once the folders are there.
    pub(super) fn begin_writing(&self) -> Result<PathBuf, BlobError> {
        self.prepare_incoming()?;
        let mut used = self.used.lock();
        if used.incoming.len() >= BLOB_WRITERS_MAX {
            return Err(BlobError::TooManyWriters);
        }
        used.names += 1;
        let name = format!("{}{:08}", self.prefix, used.names);
        used.incoming.insert(name.clone());
        Ok(self.incoming().join(&name))
    }

    /// Makes the folder of what is being written. Names that are left in it of a process that died
    /// are not given again: somebody may be about to remove them.
    fn prepare_incoming(&self) -> Result<(), BlobError> {
        let incoming = self.incoming();
        if self.used.lock().folders.contains(&incoming) {
            return Ok(());
        }
        self.make_folder(&self.folder())?;
        self.disk.create_folder(&incoming).map_err(io_error("create the folder", &incoming))?;
        let names = self.names(&incoming)?;
        let last = names.iter().filter_map(|name| name.parse().ok()).max().unwrap_or(0);
        let mut used = self.used.lock();
        used.names = used.names.max(last);
        used.folders.insert(incoming);
        Ok(())
    }

    pub(super) fn end_writing(&self, path: &Path) {
        if let Some(name) = path.file_name() {
            self.used.lock().incoming.remove(&*name.to_string_lossy());
        }
    }

    /// Makes a folder whose name is durable; once for each.
    fn make_folder(&self, folder: &Path) -> Result<(), BlobError> {
        if self.used.lock().folders.contains(folder) {
            return Ok(());
        }
        self.disk.create_folder(folder).map_err(io_error("create the folder", folder))?;
        let above = folder.parent().unwrap_or(&self.root);
        self.disk.sync_folder(above).map_err(io_error("sync", above))?;
        self.used.lock().folders.insert(folder.to_owned());
        Ok(())
    }

    /// Makes the names durable in the folder of a blob that is there: a name that was moved there
    /// is durable once both folders are.
    pub(crate) fn settle(&self, hash: &BlobHash) -> Result<(), BlobError> {
        let path = self.path(hash);
        let folder = path.parent().unwrap_or(&self.root);
        for folder in [folder, &self.incoming(), &self.folder(), &self.root] {
            match self.disk.sync_folder(folder) {
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                synced => synced.map_err(io_error("sync", folder))?,
            }
        }
        Ok(())
    }

    /// Gives a file that was written and synced the name of its blob, which is pinned; the name is
    /// durable when this returns. Where the blob is there already, this one takes its place: it was
    /// just written, and so it is whole whatever has become of the other.
    pub(super) fn put(&self, incoming: &Path, reference: &BlobReference) -> Result<(), BlobError> {
        let path = self.path(&reference.hash);
        let folder = path.parent().unwrap_or(&self.root).to_owned();
        self.make_folder(&folder)?;
        let was_there = self.length(&reference.hash)?;
        self.disk.rename(incoming, &path).map_err(io_error("rename", incoming))?;
        self.disk.sync_folder(&folder).map_err(io_error("sync", &folder))?;
        let incoming = self.incoming();
        self.disk.sync_folder(&incoming).map_err(io_error("sync", &incoming))?;
        self.counters.written.fetch_add(1, Ordering::Relaxed);
        self.counters.written_bytes.fetch_add(reference.length, Ordering::Relaxed);
        let mut used = self.used.lock();
        let there = &mut used.there[usize::from(reference.hash.0[0])];
        match was_there {
            Some(length) => {
                self.counters.known.fetch_add(1, Ordering::Relaxed);
                there.1 = there.1.saturating_sub(length) + reference.length;
            }
            None => *there = (there.0 + 1, there.1 + reference.length),
        }
        Ok(())
    }

    /// Removes what nobody is writing to from the folder of what is being written.
    pub(crate) fn clear_incoming(&self) -> Result<(), BlobError> {
        let folder = self.incoming();
        for name in self.names(&folder)?.into_iter().filter(|name| name.starts_with(self.prefix)) {
            let path = folder.join(&name);
            let is_left = !self.used.lock().incoming.contains(&name);
            match if is_left { self.disk.remove(&path) } else { Ok(()) } {
                // It was finished just now.
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                removed => removed.map_err(io_error("remove", &path))?,
            }
        }
        Ok(())
    }

    /// The blobs in one of the 256 folders. Counts them, too.
    pub(crate) fn list(&self, folder: u8) -> Result<Vec<BlobHash>, BlobError> {
        let name = format!("{folder:02x}");
        let path = self.folder().join(&name);
        let names = self.names(&path)?;
        let hashes: Vec<_> = names.iter().filter_map(|file| parse_name(&name, file)).collect();
        let mut bytes = 0;
        for hash in &hashes {
            bytes += self.length(hash)?.unwrap_or(0);
        }
        self.used.lock().there[usize::from(folder)] = (hashes.len() as u64, bytes);
        Ok(hashes)
    }

    /// The names in a folder; none, if it is not there.
    fn names(&self, folder: &Path) -> Result<Vec<String>, BlobError> {
        match self.disk.names(folder) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
            names => names.map_err(io_error("read the folder", folder)),
        }
    }

    pub(crate) fn stats(&self) -> BlobStats {
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let used = self.used.lock();
        BlobStats {
            count: used.there.iter().map(|(count, _)| count).sum(),
            bytes: used.there.iter().map(|(_, bytes)| bytes).sum(),
            writing: used.incoming.len() as u64,
            pinned: used.pins.len() as u64,
            unnamed: self.unnamed.count() as u64,
            written: load(&self.counters.written),
            written_bytes: load(&self.counters.written_bytes),
            known: load(&self.counters.known),
            reclaimed: load(&self.counters.reclaimed),
            reclaimed_bytes: load(&self.counters.reclaimed_bytes),
            damaged: load(&self.counters.damaged),
        }
    }
}

/// The length of the content of a file of so many bytes, if it is one of a blob.
pub(crate) fn content_bytes(file: u64) -> u64 {
    let body = file.saturating_sub(TAIL_BYTES as u64);
    body - 4 * body.div_ceil(CHUNK_BYTES as u64 + 4)
}

/// A removal under way; whoever wants to pin the blob waits until it is dropped.
pub(super) struct Removal<'a> {
    blobs: &'a Blobs,
}

impl Drop for Removal<'_> {
    fn drop(&mut self) {
        self.blobs.used.lock().removing = None;
        self.blobs.removed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::super::file::footer_bytes;
    use super::*;

    #[test]
    fn the_length_of_the_content_follows_from_that_of_the_file() {
        let chunk = CHUNK_BYTES as u64;
        for around in [0, 1, 2, 70_000 * chunk] {
            for length in (around * chunk).saturating_sub(9)..around * chunk + 9 {
                assert_eq!(content_bytes(length + footer_bytes(length)), length);
            }
        }
    }
}
