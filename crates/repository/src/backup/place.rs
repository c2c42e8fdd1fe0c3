//! A folder of backups: whose it is, which sets it holds, and their files. `docs/backup.md`,
//! "The folder".

use super::errors::BackupFolderError;
use super::manifest::{self, Manifest, ManifestFile, SetKind};
use crate::disk::{Disk, Lock};
use crate::folder::{hex, parse_id};
use crate::limits::BACKUP_FILE_READ_BYTES_MAX;
use bytes::Bytes;
use std::any::Any;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What says whose backups a folder holds.
pub(super) const FORMAT: &str = "backup";
const FORMAT_LINE: &str = "sarsen backup, format 1";
const FORMAT_BYTES_MAX: u64 = 4096;

/// The text of that file.
pub(super) fn format_text(repository: &[u8; 16]) -> String {
    format!("{FORMAT_LINE}\nrepository {}\n", hex(repository))
}

/// The repository that such a text names.
pub(super) fn read_format(text: &[u8]) -> Result<[u8; 16], String> {
    let text = String::from_utf8_lossy(text);
    let mut lines = text.lines();
    let first = lines.next().unwrap_or_default();
    if first != FORMAT_LINE {
        return Err(format!("expected \"{FORMAT_LINE}\", found \"{first}\""));
    }
    let id = lines.next().and_then(|line| line.strip_prefix("repository ")).and_then(parse_id);
    id.filter(|id| format_text(id) == text)
        .ok_or_else(|| "expected \"repository\" and 32 hexadecimal digits".to_owned())
}

/// A folder of backups.
pub(super) struct Place {
    pub disk: Arc<dyn Disk>,
    pub path: PathBuf,
}

/// The sets that are whole, in the order of their last commits, and the names of what is not.
#[derive(Default)]
pub(super) struct Sets {
    pub whole: Vec<Manifest>,
    pub unfinished: Vec<String>,
}

impl Place {
    pub(super) fn new(disk: Arc<dyn Disk>, path: &Path) -> Self {
        Self { disk, path: path.to_owned() }
    }

    /// Makes the folder if it is missing, and takes it for writing.
    pub(super) fn take(
        &self,
        repository: &[u8; 16],
    ) -> Result<Box<dyn Any + Send + Sync>, BackupFolderError> {
        let io = BackupFolderError::io;
        self.disk.create_folder(&self.path).map_err(io("create the folder", &self.path))?;
        let names = self.names(&self.path)?;
        let is_known = names.iter().any(|name| name == FORMAT);
        let ours =
            |name: &String| matches!(name.as_str(), "backup.tmp" | "lock" | "archive" | "blobs");
        if let Some(other) = names.iter().find(|name| !is_known && !ours(name)) {
            let why = format!("expected an empty folder or a file named {FORMAT}, found {other}");
            return Err(BackupFolderError::NotBackups { path: self.path.clone(), why });
        }
        let name = self.path.join("lock");
        let lock = match self.disk.lock(&name).map_err(io("lock", &name))? {
            Lock::Held(lock) => lock,
            Lock::HeldBy(pid) => {
                return Err(BackupFolderError::Locked { path: self.path.clone(), pid });
            }
        };
        match self.names(&self.path)?.iter().any(|name| name == FORMAT) {
            true => self.check(repository)?,
            false => {
                let text = format_text(repository);
                self.publish(&self.path, ("backup.tmp", FORMAT), text.as_bytes())?;
            }
        }
        // The name of the folder itself, which whoever made it may not have come to. Whoever may
        // not read the one above has not made this one.
        if let Some(above) = self.path.parent().filter(|above| !above.as_os_str().is_empty()) {
            let _may_be_foreign = self.disk.sync_folder(above);
        }
        Ok(lock)
    }

    /// Makes the newest of the sets durable: a backup that was killed may have left one whole that
    /// a power cut would take, and what is added now builds on it.
    pub(super) fn settle(&self, sets: &Sets) -> Result<(), BackupFolderError> {
        let Some(last) = sets.whole.last() else { return Ok(()) };
        let newest = sets.whole.iter().filter(|set| set.to == last.to);
        let folders = newest.map(|set| self.path.join(set.folder()));
        for folder in folders.chain([self.path.clone()]) {
            self.disk.sync_folder(&folder).map_err(BackupFolderError::io("sync", &folder))?;
        }
        Ok(())
    }

    /// Makes the folder one of this repository's backups, without taking it.
    pub(super) fn mark(&self, repository: &[u8; 16]) -> Result<(), BackupFolderError> {
        let created = self.disk.create_folder(&self.path);
        created.map_err(BackupFolderError::io("create the folder", &self.path))?;
        match self.names(&self.path)?.iter().any(|name| name == FORMAT) {
            true => self.check(repository),
            false => self.take(repository).map(drop),
        }
    }

    /// The repository whose backups these are.
    pub(super) fn repository(&self) -> Result<[u8; 16], BackupFolderError> {
        let path = self.path.join(FORMAT);
        let not = |why| BackupFolderError::NotBackups { path: self.path.clone(), why };
        match self.disk.read(&path, 0, FORMAT_BYTES_MAX) {
            Ok(text) => read_format(&text).map_err(not),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                Err(not(format!("there is no file named {FORMAT} in it")))
            }
            Err(error) => Err(BackupFolderError::io("read", &path)(error)),
        }
    }

    /// Whether they are this repository's.
    pub(super) fn check(&self, expected: &[u8; 16]) -> Result<(), BackupFolderError> {
        let found = self.repository()?;
        if found == *expected {
            return Ok(());
        }
        let (found, expected) = (hex(&found), hex(expected));
        Err(BackupFolderError::AnotherRepository { path: self.path.clone(), found, expected })
    }

    fn names(&self, folder: &Path) -> Result<Vec<String>, BackupFolderError> {
        let mut names =
            self.disk.names(folder).map_err(BackupFolderError::io("read the folder", folder))?;
        names.sort();
        Ok(names)
    }

    /// The sets.
    pub(super) fn sets(&self) -> Result<Sets, BackupFolderError> {
        let repository = self.repository()?;
        let mut sets = Sets::default();
        for name in self.names(&self.path)? {
            if !name.starts_with("full-") && !name.starts_with("log-") {
                continue;
            }
            match self.manifest(&name)? {
                Some(manifest) => {
                    let path = self.path.join(&name).join(manifest::NAME);
                    if manifest.repository != repository || manifest.folder() != name {
                        let why = "it belongs to another place or another repository".to_owned();
                        return Err(BackupFolderError::Damaged { path, why });
                    }
                    sets.whole.push(manifest);
                }
                None => sets.unfinished.push(name),
            }
        }
        sets.whole.sort_by_key(|set| (set.to, set.kind == SetKind::Full));
        Ok(sets)
    }

    fn manifest(&self, set: &str) -> Result<Option<Manifest>, BackupFolderError> {
        let path = self.path.join(set).join(manifest::NAME);
        let text = match self.disk.read(&path, 0, manifest::BYTES_MAX) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(BackupFolderError::io("read", &path)(error)),
        };
        let text = String::from_utf8(text).map_err(|error| error.to_string());
        let manifest = text.and_then(|text| Manifest::from_text(&text));
        manifest.map(Some).map_err(BackupFolderError::damaged(&path))
    }

    /// The content of a file of a set, if it is what was written.
    pub(super) fn file(
        &self,
        set: &Manifest,
        file: &ManifestFile,
    ) -> Result<Bytes, BackupFolderError> {
        let path = self.path.join(set.folder()).join(&file.name);
        let read = |bytes| self.disk.read(&path, 0, bytes);
        let damaged = BackupFolderError::damaged(&path);
        if file.bytes > BACKUP_FILE_READ_BYTES_MAX {
            return Err(damaged(format!("{} bytes are too many for one", file.bytes)));
        }
        // A byte more than there should be tells that there is more.
        let content = match read(file.bytes + 1) {
            Ok(content) => content,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return Err(damaged("it is missing".to_owned()));
            }
            Err(error) => return Err(BackupFolderError::io("read", &path)(error)),
        };
        match ManifestFile::of(&file.name, &content) == *file {
            true => Ok(content.into()),
            false => Err(damaged(format!(
                "expected {} bytes with the checksum {:08x}, found other content",
                file.bytes, file.sum
            ))),
        }
    }

    /// Writes a small file, which is there as a whole or not, under its final name.
    pub(super) fn publish(
        &self,
        folder: &Path,
        (unfinished, name): (&str, &str),
        content: &[u8],
    ) -> Result<(), BackupFolderError> {
        let (unfinished, path) = (folder.join(unfinished), folder.join(name));
        let write = || {
            let file = self.disk.create(&unfinished)?;
            file.write(content, 0)?;
            file.sync()?;
            // What it speaks of is there before it.
            self.disk.sync_folder(folder)?;
            self.disk.rename(&unfinished, &path)?;
            self.disk.sync_folder(folder)
        };
        write().map_err(BackupFolderError::io("write", &path))
    }

    /// Removes a set. Its manifest goes first: what is left then is not taken for one.
    pub(super) fn remove(&self, set: &str) -> Result<(), BackupFolderError> {
        let folder = self.path.join(set);
        let mut names = self.names(&folder)?;
        names.sort_by_key(|name| name != manifest::NAME);
        let remove = |name: &String| {
            self.disk.remove(&folder.join(name))?;
            if name == manifest::NAME { self.disk.sync_folder(&folder) } else { Ok(()) }
        };
        let removed = names.iter().try_for_each(remove);
        removed
            .and_then(|()| self.disk.remove_folder(&folder))
            .and_then(|()| self.disk.sync_folder(&self.path))
            .map_err(BackupFolderError::io("remove", &folder))
    }
}
