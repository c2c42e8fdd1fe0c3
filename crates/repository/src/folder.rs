//! The data folder: its files, its lock and its identity. `docs/format.md`, "Folder".

use crate::blobs::{Blobs, Unnamed};
use crate::disk::{Disk, Lock};
use crate::errors::OpenError;
use crate::tranlog::Home;
use std::any::Any;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What the format file is called until a restore is complete.
const RESTORING: &str = "restoring";

const FORMAT_LINE: &str = "sarsen repository, format 1";

/// More of a file that should be a format file is not looked at.
const FORMAT_BYTES_MAX: u64 = 4096;

/// An open and locked data folder.
pub(crate) struct Folder {
    disk: Arc<dyn Disk>,
    path: PathBuf,
    /// What the segments of the tranlog say they belong to.
    id: [u8; 16],
    pub lock: Box<dyn Any + Send + Sync>,
}

impl Folder {
    /// The storage engine's folder.
    pub(crate) fn engine(&self) -> PathBuf {
        self.path.join("engine")
    }

    /// The tranlog's place.
    pub(crate) fn tranlog(&self) -> Home {
        let (disk, folder) = (Arc::clone(&self.disk), self.path.join("tranlog"));
        Home { disk, folder, repository: self.id }
    }

    /// The files of its blobs; `unnamed` is told which of them lose their names.
    pub(crate) fn blobs(&self, unnamed: &Arc<Unnamed>) -> Blobs {
        Blobs::new(Arc::clone(&self.disk), &self.path, unnamed)
    }

    /// Opens the folder, or makes a new repository where it is missing or empty. Its names are
    /// durable only after `sync`.
    pub(crate) fn open_or_create(
        disk: Arc<dyn Disk>,
        path: &Path,
    ) -> Result<(Self, bool), OpenError> {
        disk.create_folder(path).map_err(io_error("create the folder", path))?;
        if !holds_format(&*disk, path)? {
            refuse_foreign(&*disk, path)?;
        }
        let lock = lock(&*disk, path)?;
        // Looked at again now that nobody else can be making it.
        if holds_format(&*disk, path)? {
            return Ok((Self::read(disk, path, lock)?, false));
        }
        Ok((Self::create(disk, path, lock)?, true))
    }

    /// The repository's id.
    pub(crate) fn id(&self) -> [u8; 16] {
        self.id
    }

    fn create(
        disk: Arc<dyn Disk>,
        path: &Path,
        lock: Box<dyn Any + Send + Sync>,
    ) -> Result<Self, OpenError> {
        let mut id = [0; 16];
        getrandom::fill(&mut id)
            .map_err(std::io::Error::other)
            .map_err(io_error("get randomness for", path))?;
        let tranlog = path.join("tranlog");
        disk.create_folder(&tranlog).map_err(io_error("create the folder", &tranlog))?;
        // The format file is last, on disk too: a folder without it holds nothing yet.
        let (unfinished, format) = (path.join("format.tmp"), path.join("format"));
        let text = format_text(&id);
        let written = disk.create(&unfinished).and_then(|file| {
            file.write(text.as_bytes(), 0)?;
            file.sync()?;
            disk.sync_folder(path)?;
            disk.rename(&unfinished, &format)?;
            // What others put beside it must not be found without it.
            disk.sync_folder(path)
        });
        written.map_err(io_error("write", &format))?;
        Ok(Self { disk, path: path.to_owned(), id, lock })
    }

    /// Takes a folder for a repository that is restored: one that is missing, empty, or left by a
    /// restore that was cut short, of which only the engine's files are left to be removed. It
    /// holds a repository after `finish_restore`.
    pub(crate) fn begin_restore(disk: Arc<dyn Disk>, path: &Path) -> Result<Self, OpenError> {
        disk.create_folder(path).map_err(io_error("create the folder", path))?;
        let names = disk.names(path).map_err(io_error("read the folder", path))?;
        let is_ours = names.iter().any(|name| name == RESTORING);
        let other = |name: &&String| !is_ours && !matches!(name.as_str(), "lock" | "lost+found");
        if let Some(other) = names.iter().find(other) {
            let why = format!("expected an empty folder to restore to, found {other}");
            return Err(OpenError::NotARepository { path: path.to_owned(), why });
        }
        let lock = lock(&*disk, path)?;
        let mut id = [0; 16];
        getrandom::fill(&mut id)
            .map_err(std::io::Error::other)
            .map_err(io_error("get randomness for", path))?;
        let (unfinished, tranlog) = (path.join(RESTORING), path.join("tranlog"));
        let written = disk.create(&unfinished).and_then(|file| {
            file.write(format_text(&id).as_bytes(), 0)?;
            file.sync()?;
            // Before any other name: what is found without it was made by somebody else.
            disk.sync_folder(path)?;
            disk.create_folder(&tranlog)?;
            disk.sync_folder(path)
        });
        written.map_err(io_error("write", &unfinished))?;
        Ok(Self { disk, path: path.to_owned(), id, lock })
    }

    /// Makes a repository of a folder that was begun so. What is in it is durable already.
    pub(crate) fn finish_restore(&self) -> Result<(), OpenError> {
        let (unfinished, format) = (self.path.join(RESTORING), self.path.join("format"));
        let renamed = self.disk.rename(&unfinished, &format);
        renamed.map_err(io_error("rename", &unfinished))?;
        self.sync()
    }

    /// Opens a folder that must hold a repository.
    pub(crate) fn open(disk: Arc<dyn Disk>, path: &Path) -> Result<Self, OpenError> {
        let format = path.join("format");
        // Before the lock, which makes a file, and whose absence says nothing to a person.
        disk.length(&format).map_err(io_error("read", &format))?;
        let lock = lock(&*disk, path)?;
        Self::read(disk, path, lock)
    }

    /// Makes the names in the folder durable, and its own. An opening that was cut short may have
    /// left any of them undone.
    pub(crate) fn sync(&self) -> Result<(), OpenError> {
        self.disk.sync_folder(&self.path).map_err(io_error("sync", &self.path))?;
        let path = std::path::absolute(&self.path).map_err(io_error("find", &self.path))?;
        let Some(above) = path.parent() else { return Ok(()) };
        match self.disk.sync_folder(above) {
            // Whoever does not let us read the folder above has made this one.
            Err(error) if error.kind() == ErrorKind::PermissionDenied => Ok(()),
            synced => synced.map_err(io_error("sync", above)),
        }
    }

    fn read(
        disk: Arc<dyn Disk>,
        path: &Path,
        lock: Box<dyn Any + Send + Sync>,
    ) -> Result<Self, OpenError> {
        let format = path.join("format");
        let text = disk.read(&format, 0, FORMAT_BYTES_MAX).map_err(io_error("read", &format))?;
        let text = String::from_utf8_lossy(&text);
        let not = |why: String| OpenError::NotARepository { path: path.to_owned(), why };
        let mut lines = text.lines();
        let first = lines.next().unwrap_or_default();
        if first != FORMAT_LINE {
            return Err(not(format!("expected \"{FORMAT_LINE}\", found \"{first}\"")));
        }
        let id = lines
            .next()
            .and_then(|line| line.strip_prefix("id "))
            .and_then(parse_id)
            .ok_or_else(|| not("expected \"id\" and 32 hexadecimal digits".to_owned()))?;
        Ok(Self { disk, path: path.to_owned(), id, lock })
    }
}

fn holds_format(disk: &dyn Disk, path: &Path) -> Result<bool, OpenError> {
    let names = disk.names(path).map_err(io_error("read the folder", path))?;
    Ok(names.iter().any(|name| name == "format"))
}

/// Refuses a folder that holds something else than a repository in the making.
fn refuse_foreign(disk: &dyn Disk, path: &Path) -> Result<(), OpenError> {
    for name in disk.names(path).map_err(io_error("read the folder", path))? {
        if name == RESTORING {
            let why = "a restore to it was not finished; run `sarsen restore` again".to_owned();
            return Err(OpenError::NotARepository { path: path.to_owned(), why });
        }
        // The first three are left by a creation that was cut short, the next by `sarsen token`,
        // which may come before the first start of a server, the last by mkfs.
        if !matches!(
            name.as_str(),
            "lock"
                | "tranlog"
                | "format.tmp"
                | "tokens"
                | "tokens.lock"
                | "tokens.tmp"
                | "lost+found"
        ) {
            let why = format!("expected an empty folder or a file named format, found {name}");
            return Err(OpenError::NotARepository { path: path.to_owned(), why });
        }
    }
    Ok(())
}

fn format_text(id: &[u8; 16]) -> String {
    format!("{FORMAT_LINE}\nid {}\n", hex(id))
}

/// An id as texts have it.
pub(crate) fn hex(id: &[u8; 16]) -> String {
    id.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The id that a text has.
pub(crate) fn parse_id(hex: &str) -> Option<[u8; 16]> {
    let mut id = [0; 16];
    if hex.len() != 32 || !hex.is_ascii() {
        return None;
    }
    for (i, byte) in id.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&hex[2 * i..2 * i + 2], 16).ok()?;
    }
    Some(id)
}

/// Takes the lock, and writes down who has it.
fn lock(disk: &dyn Disk, path: &Path) -> Result<Box<dyn Any + Send + Sync>, OpenError> {
    let name = path.join("lock");
    match disk.lock(&name).map_err(io_error("lock", &name))? {
        Lock::Held(lock) => Ok(lock),
        Lock::HeldBy(pid) => Err(OpenError::Locked { path: path.to_owned(), pid }),
    }
}

fn io_error(action: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> OpenError {
    move |source| OpenError::Io { action, path: path.to_owned(), source }
}
