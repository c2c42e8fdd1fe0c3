//! The data folder: its files, its lock and its identity. `docs/format.md`, "Folder".

use crate::errors::OpenError;
use crate::tranlog::sync_folder;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};

const FORMAT_LINE: &str = "sarsen repository, format 1";

/// An open and locked data folder.
pub(crate) struct Folder {
    path: PathBuf,
    /// What the segments of the tranlog say they belong to.
    pub id: [u8; 16],
    pub lock: File,
}

impl Folder {
    /// The storage engine's folder.
    pub(crate) fn engine(&self) -> PathBuf {
        self.path.join("engine")
    }

    /// The tranlog's folder.
    pub(crate) fn tranlog(&self) -> PathBuf {
        self.path.join("tranlog")
    }

    /// Opens the folder, or makes a new repository where it is missing or empty.
    pub(crate) fn open_or_create(path: &Path) -> Result<(Self, bool), OpenError> {
        std::fs::create_dir_all(path).map_err(io_error("create the folder", path))?;
        let format = path.join("format");
        if !format.exists() {
            refuse_foreign(path)?;
        }
        let lock = lock(path)?;
        // Looked at again now that nobody else can be making it.
        if format.exists() {
            return Ok((Self::read(path, lock)?, false));
        }
        Ok((Self::create(path, lock)?, true))
    }

    fn create(path: &Path, lock: File) -> Result<Self, OpenError> {
        let mut id = [0; 16];
        getrandom::fill(&mut id)
            .map_err(std::io::Error::other)
            .map_err(io_error("get randomness for", path))?;
        let tranlog = path.join("tranlog");
        std::fs::create_dir_all(&tranlog).map_err(io_error("create the folder", &tranlog))?;
        // The format file is last: a folder without it holds nothing yet.
        let (unfinished, format) = (path.join("format.tmp"), path.join("format"));
        let hex: String = id.iter().map(|byte| format!("{byte:02x}")).collect();
        let mut file = File::create(&unfinished).map_err(io_error("create", &unfinished))?;
        writeln!(file, "{FORMAT_LINE}\nid {hex}")
            .and_then(|()| file.sync_all())
            .and_then(|()| std::fs::rename(&unfinished, &format))
            .and_then(|()| sync_folder(path))
            .and_then(|()| path.canonicalize()?.parent().map_or(Ok(()), sync_folder))
            .map_err(io_error("write", &format))?;
        Ok(Self { path: path.to_owned(), id, lock })
    }

    /// Opens a folder that must hold a repository.
    pub(crate) fn open(path: &Path) -> Result<Self, OpenError> {
        let format = path.join("format");
        // Before the lock, which makes a file, and whose absence says nothing to a person.
        std::fs::metadata(&format).map_err(io_error("read", &format))?;
        Self::read(path, lock(path)?)
    }

    /// Makes the names in the folder durable.
    pub(crate) fn sync(&self) -> Result<(), OpenError> {
        sync_folder(&self.path).map_err(io_error("sync", &self.path))
    }

    fn read(path: &Path, lock: File) -> Result<Self, OpenError> {
        let format = path.join("format");
        let text = std::fs::read_to_string(&format).map_err(io_error("read", &format))?;
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
        Ok(Self { path: path.to_owned(), id, lock })
    }
}

/// Refuses a folder that holds something else than a repository in the making.
fn refuse_foreign(path: &Path) -> Result<(), OpenError> {
    let entries = std::fs::read_dir(path).map_err(io_error("read the folder", path))?;
    for entry in entries {
        let name = entry.map_err(io_error("read the folder", path))?.file_name();
        // The first three are left by a creation that was cut short, the last by mkfs.
        if !matches!(name.to_str(), Some("lock" | "tranlog" | "format.tmp" | "lost+found")) {
            let name = name.to_string_lossy();
            let why = format!("expected an empty folder or a file named format, found {name}");
            return Err(OpenError::NotARepository { path: path.to_owned(), why });
        }
    }
    Ok(())
}

fn parse_id(hex: &str) -> Option<[u8; 16]> {
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
fn lock(path: &Path) -> Result<File, OpenError> {
    let name = path.join("lock");
    let mut file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(&name)
        .map_err(io_error("create", &name))?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let mut holder = String::new();
            // Only for the message: a holder that cannot be read is left out of it.
            let pid =
                file.read_to_string(&mut holder).ok().and_then(|_| holder.trim().parse().ok());
            return Err(OpenError::Locked { path: path.to_owned(), pid });
        }
        Err(TryLockError::Error(source)) => return Err(io_error("lock", &name)(source)),
    }
    file.set_len(0)
        .and_then(|()| file.rewind())
        .and_then(|()| writeln!(file, "{}", std::process::id()))
        .map_err(io_error("write", &name))?;
    Ok(file)
}

fn io_error(action: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> OpenError {
    move |source| OpenError::Io { action, path: path.to_owned(), source }
}
