//! Files that hold an application's data or its secrets are for the user who runs the server:
//! nothing is made that others can read, and what others can read already is told at the start.

use crate::cli::{Command, ServeArguments};
use faces::AccessLogTarget;
use rustix::fs::Mode;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// What everybody else may do with a file.
const OTHERS: u32 = 0o077;

/// Has every file and folder that `command` makes, the storage engine's too, readable by its owner
/// only. What people write or measure themselves is left to their own umask.
pub fn keep(command: &Command) {
    let is_shared = matches!(
        command,
        Command::New(_)
            | Command::Bench(_)
            | Command::Run(_)
            | Command::Submit(_)
            | Command::Queue(_)
            | Command::Runs(_)
            | Command::Siege(_)
            | Command::NullServer(_)
    );
    if !is_shared {
        let _before = rustix::process::umask(Mode::from_raw_mode(OTHERS));
    }
}

/// Logs which of the server's files other users of the machine can read: an earlier build or
/// another program has made them so, and whoever runs the server may have a reason.
pub fn tell_of_wide_modes(arguments: &ServeArguments) {
    let log = match &arguments.access_log {
        Some(AccessLogTarget::File(path)) => Some(path.as_path()),
        _ => None,
    };
    let named = [
        (Some(arguments.data.as_path()), "the repository with its sessions, keys and passwords"),
        (arguments.archive.as_deref(), "backups, which hold what the repository holds"),
        (log, "the access log"),
        (arguments.tls_key.as_deref(), "the private key of the certificate"),
        (arguments.memcached_auth.as_deref(), "the passwords of memcached clients"),
    ];
    let named = named.into_iter().filter_map(|(path, what)| Some((path?, what)));
    for (path, what) in named {
        if let Some(mode) = wide_mode(path) {
            let path = path.display();
            log::warn!(
                "other users of this machine can reach {path} (mode {mode:o}): {what}; expected a \
                 mode for its owner only: chmod go= {path}"
            );
        }
    }
}

/// The mode of a file or folder that others can use; `None` too where there is none yet.
fn wide_mode(path: &Path) -> Option<u32> {
    let mode = fs::metadata(path).ok()?.mode() & 0o7777;
    (mode & OTHERS != 0).then_some(mode)
}
