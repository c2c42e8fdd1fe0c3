//! The folder of a run while it is written, and how it becomes a run: by one rename, when all of it
//! is on the disk. It knows nothing about what is in the files.

use super::environment::{hex, sha256_of};
use super::error::{ArchiveError, writing};
use super::id::RunId;
use super::sums;
use crate::limits::{RUN_ID_DRAWS_MAX, RUN_RESERVE_BYTES};
use rustix::fs::{FlockOperation, flock};
use sha2::{Digest, Sha256};
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Behind the id in the name of a folder that is written.
pub(super) const RUNNING: &str = ".running";

/// Room for the last files of a run on a disk that has become full. No part of a run.
const RESERVE: &str = "reserve";

/// The folder of a run that goes on. Its lock is held as long as this exists, so everybody can tell
/// a run that goes on from one that was killed.
pub(super) struct Draft {
    pub(super) id: RunId,
    runs: PathBuf,
    path: PathBuf,
    lock: File,
}

impl Draft {
    /// Makes the folder.
    pub(super) fn create(runs: &Path, id: RunId) -> Result<Self, ArchiveError> {
        fs::create_dir_all(runs).map_err(writing(runs))?;
        let path = runs.join(format!("{id}{RUNNING}"));
        if runs.join(id.as_str()).exists() {
            return Err(ArchiveError::Taken(id.to_string()));
        }
        fs::create_dir(&path).map_err(|source| match source.kind() {
            io::ErrorKind::AlreadyExists => ArchiveError::Taken(id.to_string()),
            _ => ArchiveError::Write { path: path.clone(), source },
        })?;
        let lock = File::open(&path).map_err(writing(&path))?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive)
            .map_err(|error| writing(&path)(error.into()))?;
        let draft = Self { id, runs: runs.to_owned(), path, lock };
        draft.write(RESERVE, &vec![0; RUN_RESERVE_BYTES])?;
        Ok(draft)
    }

    /// The same with an id that `draw` draws, which may have to draw again.
    pub(super) fn create_drawn(
        runs: &Path,
        mut draw: impl FnMut() -> RunId,
    ) -> Result<Self, ArchiveError> {
        for _ in 1..RUN_ID_DRAWS_MAX {
            match Self::create(runs, draw()) {
                Err(ArchiveError::Taken(_)) => {}
                done => return done,
            }
        }
        Self::create(runs, draw())
    }

    /// Where a file of it is.
    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Writes a whole file. One of the same name is replaced.
    pub(super) fn write(&self, name: &str, bytes: &[u8]) -> Result<(), ArchiveError> {
        let path = self.file(name);
        let write = || -> io::Result<()> {
            if let Some(folder) = path.parent() {
                fs::create_dir_all(folder)?;
            }
            File::create(&path)?.write_all(bytes)
        };
        write().map_err(writing(&path))
    }

    /// Gives back the room that was kept for what is still to be written.
    pub(super) fn release_reserve(&self) -> Result<(), ArchiveError> {
        let path = self.file(RESERVE);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(writing(&path)(error)),
            _ => Ok(()),
        }
    }

    /// Makes a run of it: sums, sync, read-only, rename. Gives its folder.
    pub(super) fn publish(self) -> Result<PathBuf, ArchiveError> {
        self.release_reserve()?;
        let listed = sums::of_folder(&self.path)?;
        self.write(sums::FILE, listed.as_bytes())?;
        self.seal(&self.path)?;
        // So that a change of the sums themselves is seen, too.
        let beside = self.runs.join(format!("{}{}", self.id, sums::BESIDE));
        let line = format!("{}  {}/{}\n", hex(&Sha256::digest(&listed)), self.id, sums::FILE);
        let file = File::create(&beside).and_then(|mut file| {
            file.write_all(line.as_bytes())?;
            file.set_permissions(Permissions::from_mode(0o444))?;
            file.sync_all()
        });
        file.map_err(writing(&beside))?;
        let whole = self.runs.join(self.id.as_str());
        fs::rename(&self.path, &whole).map_err(writing(&whole))?;
        self.lock.sync_all().map_err(writing(&whole))?;
        let runs = File::open(&self.runs).and_then(|runs| runs.sync_all());
        runs.map_err(writing(&self.runs))?;
        Ok(whole)
    }

    /// Everything in a folder read-only and on the disk, the folder last.
    fn seal(&self, folder: &Path) -> Result<(), ArchiveError> {
        for path in sums::entries(folder)? {
            if path.is_dir() {
                self.seal(&path)?;
                continue;
            }
            let file = OpenOptions::new().append(true).open(&path).map_err(writing(&path))?;
            let sealed =
                file.set_permissions(Permissions::from_mode(0o444)).and_then(|()| file.sync_all());
            sealed.map_err(writing(&path))?;
        }
        // Read-only itself: nothing is added or removed.
        let sealed = File::open(folder).and_then(|file| {
            file.set_permissions(Permissions::from_mode(0o555))?;
            file.sync_all()
        });
        sealed.map_err(writing(folder))
    }

    /// Removes it: a run that never began.
    pub(super) fn discard(self) -> Result<(), ArchiveError> {
        fs::remove_dir_all(&self.path).map_err(writing(&self.path))
    }
}

/// The content hash of a run: that of its list of sums.
pub(super) fn content_hash(folder: &Path) -> io::Result<String> {
    sha256_of(&folder.join(sums::FILE))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(drawn: usize) -> RunId {
        RunId::parse(&format!("20261122T101500Z-a-{drawn:04x}")).expect("an id")
    }

    #[test]
    fn an_id_that_is_taken_is_drawn_again() {
        let runs = tempfile::tempdir().expect("a folder");
        for drawn in 0..RUN_ID_DRAWS_MAX - 1 {
            let draft = Draft::create(runs.path(), id(drawn)).expect("a draft");
            // One that is done is in the way as well as one that goes on.
            if drawn == 0 {
                draft.publish().expect("a run");
            }
        }
        let mut next = 0..;
        let draft = Draft::create_drawn(runs.path(), || id(next.next().expect("a number")));
        assert_eq!(draft.expect("a draft").id, id(RUN_ID_DRAWS_MAX - 1));
        let mut next = 0..;
        let draft = Draft::create_drawn(runs.path(), || id(next.next().expect("a number")));
        let last = id(RUN_ID_DRAWS_MAX - 1).to_string();
        assert!(matches!(draft, Err(ArchiveError::Taken(taken)) if taken == last));
    }
}
