//! Where the socket is, whether its folder may be trusted with it, and paths that are too long for
//! the system's addresses of sockets.

use rustix::process::geteuid;
use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Its name in the data folder.
pub const NAME: &str = "admin.sock";

/// The address of a socket holds 108 bytes, and the last is zero (unix(7)).
const PATH_BYTES_MAX: usize = 107;

/// The superuser may do anything anyway.
const SUPERUSER: u32 = 0;

/// Calls `f` with a path to `name` in `folder` that is short enough to be a socket's address.
pub fn with_path<T>(
    folder: &Path,
    name: &str,
    f: impl FnOnce(&Path) -> io::Result<T>,
) -> io::Result<T> {
    let path = folder.join(name);
    if path.as_os_str().as_bytes().len() <= PATH_BYTES_MAX {
        return f(&path);
    }
    // The system's other name for the folder, as long as it is open.
    let open = File::open(folder)?;
    f(&PathBuf::from(format!("/proc/self/fd/{}", open.as_raw_fd())).join(name))
}

/// Whether this user is, or is trusted by, `user`.
pub fn is_trusted(user: u32) -> bool {
    user == SUPERUSER || user == geteuid().as_raw()
}

/// Why `folder` is no place for the socket: somebody else could put another in its place.
pub fn objection(folder: &Path) -> io::Result<Option<String>> {
    const WRITABLE_BY_ALL: u32 = 0o002;
    const STICKY: u32 = 0o1000;
    let found = fs::metadata(folder)?;
    if !is_trusted(found.uid()) && geteuid().as_raw() != SUPERUSER {
        let (owner, own) = (found.uid(), geteuid().as_raw());
        return Ok(Some(format!(
            "the folder {} belongs to the user {owner}; expected {own} or {SUPERUSER}",
            folder.display()
        )));
    }
    if found.mode() & WRITABLE_BY_ALL != 0 && found.mode() & STICKY == 0 {
        let mode = found.mode() & 0o7777;
        return Ok(Some(format!(
            "every user may write to the folder {} (mode {mode:o}); make it 700",
            folder.display()
        )));
    }
    Ok(None)
}
