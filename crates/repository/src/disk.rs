//! The one door to files, but for the storage engine's own: what the log and the folder ask of a
//! disk, and the real one. The simulator has another, which loses what was not synced.

use std::any::Any;
use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::path::Path;

/// The unit of a synchronous write; a torn write tears at such borders at worst.
pub const BLOCK_BYTES: usize = 4096;

/// The room on a file system, as far as this process may use it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiskRoom {
    /// Bytes that may still be filled.
    pub free_bytes: u64,
    /// Bytes that could be filled if nothing else were there.
    pub all_bytes: u64,
}

/// Names and files. A name that was made, changed or removed survives a power cut only once its
/// folder is synced; the content of a file, once the file is.
pub trait Disk: Send + Sync {
    /// Makes a folder and those above it, where they are missing.
    fn create_folder(&self, folder: &Path) -> io::Result<()>;

    /// Makes the names in a folder durable.
    fn sync_folder(&self, folder: &Path) -> io::Result<()>;

    /// The names in a folder, in any order.
    fn names(&self, folder: &Path) -> io::Result<Vec<String>>;

    /// The length of a file, in bytes.
    fn length(&self, file: &Path) -> io::Result<u64>;

    /// At most `bytes` bytes of a file from `at` on; fewer only at its end.
    fn read(&self, file: &Path, at: u64, bytes: u64) -> io::Result<Vec<u8>>;

    /// Makes an empty file, or empties it.
    fn create(&self, file: &Path) -> io::Result<Box<dyn DiskFile>>;

    /// Opens a file to be written.
    fn open(&self, file: &Path) -> io::Result<Box<dyn DiskFile>>;

    /// Gives a file another name, which may be taken.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Removes a file.
    fn remove(&self, file: &Path) -> io::Result<()>;

    /// The room on the file system of a folder.
    fn room(&self, folder: &Path) -> io::Result<DiskRoom>;

    /// Removes a folder, which is empty.
    fn remove_folder(&self, folder: &Path) -> io::Result<()>;

    /// Locks a file, which is made if it is missing, against other processes.
    fn lock(&self, file: &Path) -> io::Result<Lock>;
}

/// A file open to be written.
pub trait DiskFile: Send + Sync {
    /// Writes at `at`. What is written survives the death of the process, and a power cut after the
    /// next `sync`.
    fn write(&self, bytes: &[u8], at: u64) -> io::Result<()>;

    /// Writes whole blocks at `at`, from memory that begins at a multiple of a block. They are on
    /// disk when it returns; that says nothing about other writes. The file is not made longer.
    fn write_synced(&self, blocks: &[u8], at: u64) -> io::Result<()>;

    /// Makes everything that was written to the file durable.
    fn sync(&self) -> io::Result<()>;
}

/// What trying to lock gives.
pub enum Lock {
    /// Locked for as long as this lives.
    Held(Box<dyn Any + Send + Sync>),
    /// Another process has it: this one, if that could be read.
    HeldBy(Option<u32>),
}

/// The operating system's files.
#[derive(Clone, Copy, Debug, Default)]
pub struct Files;

impl Disk for Files {
    fn create_folder(&self, folder: &Path) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(OWN_FOLDER).create(folder)
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        File::open(folder)?.sync_all()
    }

    fn names(&self, folder: &Path) -> io::Result<Vec<String>> {
        let names = std::fs::read_dir(folder)?;
        names.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect()
    }

    fn length(&self, file: &Path) -> io::Result<u64> {
        Ok(std::fs::metadata(file)?.len())
    }

    fn read(&self, file: &Path, at: u64, bytes: u64) -> io::Result<Vec<u8>> {
        let mut file = File::open(file)?;
        file.seek(io::SeekFrom::Start(at))?;
        let left = file.metadata()?.len().saturating_sub(at).min(bytes);
        let mut content = Vec::with_capacity(left as usize);
        file.take(bytes).read_to_end(&mut content)?;
        Ok(content)
    }

    fn create(&self, file: &Path) -> io::Result<Box<dyn DiskFile>> {
        own().write(true).create(true).truncate(true).open(file)?;
        self.open(file)
    }

    fn open(&self, file: &Path) -> io::Result<Box<dyn DiskFile>> {
        let cached = OpenOptions::new().write(true).open(file)?;
        Ok(Box::new(OpenFile { cached, synchronous: open_synchronous(file)? }))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        std::fs::rename(from, to)
    }

    fn remove(&self, file: &Path) -> io::Result<()> {
        std::fs::remove_file(file)
    }

    fn room(&self, folder: &Path) -> io::Result<DiskRoom> {
        let room = rustix::fs::statvfs(folder)?;
        let kept_for_root = room.f_bfree.saturating_sub(room.f_bavail);
        let bytes = |blocks: u64| blocks.saturating_mul(room.f_frsize);
        Ok(DiskRoom {
            free_bytes: bytes(room.f_bavail),
            all_bytes: bytes(room.f_blocks.saturating_sub(kept_for_root)),
        })
    }

    fn remove_folder(&self, folder: &Path) -> io::Result<()> {
        std::fs::remove_dir(folder)
    }

    fn lock(&self, file: &Path) -> io::Result<Lock> {
        let mut options = own();
        let mut file = options.read(true).write(true).create(true).truncate(false).open(file)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut holder = String::new();
                // Only for the message: a holder that cannot be read is left out of it.
                let read = file.read_to_string(&mut holder).ok();
                return Ok(Lock::HeldBy(read.and_then(|_| holder.trim().parse().ok())));
            }
            Err(TryLockError::Error(error)) => return Err(error),
        }
        file.set_len(0)?;
        file.rewind()?;
        writeln!(file, "{}", std::process::id())?;
        Ok(Lock::Held(Box::new(file)))
    }
}

struct OpenFile {
    /// Writes through it go to the page cache.
    cached: File,
    /// Writes through it are on disk when they return.
    synchronous: File,
}

impl DiskFile for OpenFile {
    fn write(&self, bytes: &[u8], at: u64) -> io::Result<()> {
        self.cached.write_all_at(bytes, at)
    }

    fn write_synced(&self, blocks: &[u8], at: u64) -> io::Result<()> {
        self.synchronous.write_all_at(blocks, at)
    }

    fn sync(&self) -> io::Result<()> {
        self.cached.sync_data()
    }
}

/// Modes of what is made: a repository holds sessions, keys and password hashes, which are not for
/// other users of the machine.
const OWN_FOLDER: u32 = 0o700;
const OWN_FILE: u32 = 0o600;

fn own() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.mode(OWN_FILE);
    options
}

/// Opens for writes that are durable when they return, past the page cache where the file system
/// can.
fn open_synchronous(path: &Path) -> io::Result<File> {
    let open = |flags| OpenOptions::new().write(true).custom_flags(flags).open(path);
    open(libc::O_DSYNC | libc::O_DIRECT).or_else(|error| match error.raw_os_error() {
        Some(libc::EINVAL) => open(libc::O_DSYNC),
        _ => Err(error),
    })
}
