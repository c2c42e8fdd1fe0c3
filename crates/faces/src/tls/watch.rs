//! Notices that the certificate's files were replaced. It looks at them now and then, because that
//! works for every way in which files are replaced (renamed over, rewritten, a link that is
//! turned).

use super::{Keys, TlsOptions, files, provider};
use crate::limits;
use crate::reactor::Drain;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use tokio::task::spawn_blocking;
use tokio::time::sleep;

/// What changes when a file is replaced or written: device, inode, length, and the time of the last
/// change in seconds and nanoseconds.
type Stamp = (u64, u64, u64, i64, i64);

/// Both files; `None` for one that is not there.
pub(super) type Stamps = [Option<Stamp>; 2];

/// What both files look like now.
pub(super) fn stamps(options: &TlsOptions) -> Stamps {
    [&options.certificate, &options.key].map(|path| stamp(path))
}

fn stamp(path: &Path) -> Option<Stamp> {
    let file = fs::metadata(path).ok()?;
    Some((file.dev(), file.ino(), file.len(), file.mtime(), file.mtime_nsec()))
}

/// Reads the files again whenever they have changed.
pub(crate) struct Watch {
    options: Arc<TlsOptions>,
    keys: Arc<Keys>,
    change: Change,
}

impl Watch {
    /// `loaded` is what the files looked like before they were read.
    pub(super) fn new(options: TlsOptions, keys: Arc<Keys>, loaded: Stamps) -> Self {
        let change = Change { tried: loaded, seen: loaded };
        Self { options: Arc::new(options), keys, change }
    }

    /// Watches until the drain.
    pub(crate) async fn run(mut self, mut drain: Drain) {
        let watching = async {
            loop {
                sleep(limits::CERTIFICATE_WATCH_INTERVAL).await;
                self.look().await;
            }
        };
        tokio::select! {
            _ = drain.wait_for(Option::is_some) => {}
            () = watching => {}
        }
    }

    /// Files may be on a disk that hangs: a reactor must not.
    async fn look(&mut self) {
        let options = Arc::clone(&self.options);
        let Ok(now) = spawn_blocking(move || stamps(&options)).await else { return };
        if !self.change.is_complete(now) {
            return;
        }
        let (options, keys) = (Arc::clone(&self.options), Arc::clone(&self.keys));
        if let Err(error) = spawn_blocking(move || reload(&options, &keys)).await {
            log::error!("the certificate could not be read again: {error}");
        }
    }
}

/// Whether the files have changed and are not being changed.
struct Change {
    /// What they looked like when they were read, well or not.
    tried: Stamps,
    /// What they looked like at the last look.
    seen: Stamps,
}

impl Change {
    /// There are two files, and who replaces them does it one after the other: so they are read
    /// when they have looked the same twice.
    fn is_complete(&mut self, now: Stamps) -> bool {
        let is_still = now == self.seen;
        self.seen = now;
        if !is_still || now == self.tried {
            return false;
        }
        self.tried = now;
        true
    }
}

fn reload(options: &TlsOptions, keys: &Keys) {
    match files::load(options, &provider()) {
        Ok(loaded) => {
            keys.replace(loaded.key);
            log::info!("the certificate in {} is in use", options.certificate.display());
            if let Some(warning) = loaded.warning {
                log::warn!("{warning}");
            }
        }
        Err(error) => log::error!("{error}; going on with the certificate from before"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(certificate: u64, key: u64) -> Stamps {
        [certificate, key].map(|inode| Some((1, inode, 1, 1, 1)))
    }

    #[test]
    fn files_are_read_once_when_both_have_changed() {
        let mut change = Change { tried: look(1, 1), seen: look(1, 1) };
        assert!(!change.is_complete(look(1, 1)), "nothing has changed");
        assert!(!change.is_complete(look(2, 1)), "it has just changed");
        assert!(!change.is_complete(look(2, 2)), "the other, too");
        assert!(change.is_complete(look(2, 2)));
        assert!(!change.is_complete(look(2, 2)), "it was read, well or not");
        assert!(!change.is_complete([None, None]));
        assert!(change.is_complete([None, None]), "what is missing is told, once");
    }
}
