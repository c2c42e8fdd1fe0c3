//! Debian's memcached, for what is loaded.

use crate::patience::wait_for;
use std::process::{Child, Command, Stdio};

/// A memcached on a free port of loopback, killed when it is dropped.
pub struct Memcached {
    child: Child,
    /// `HOST:PORT`.
    pub authority: String,
}

impl Memcached {
    pub fn start() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("port");
        let mut child = Command::new("memcached")
            .args(["-u", "root", "-l", "127.0.0.1", "-p", "-1", "-U", "0", "-t", "1"])
            .env("MEMCACHED_PORT_FILENAME", &file)
            .stdin(Stdio::null())
            .spawn()
            .expect("memcached starts; scripts/setup.sh memcached installs it");
        let text = || std::fs::read_to_string(&file).unwrap_or_default();
        let port = wait_for("memcached's port", text, || {
            let ended = child.try_wait().expect("its state");
            assert!(ended.is_none(), "memcached ended: {ended:?}");
            text().trim().strip_prefix("TCP INET: ").map(str::to_owned)
        });
        Self { child, authority: format!("127.0.0.1:{port}") }
    }

    /// Its process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Memcached {
    fn drop(&mut self) {
        let _gone = self.child.kill();
        let _reaped = self.child.wait();
    }
}
