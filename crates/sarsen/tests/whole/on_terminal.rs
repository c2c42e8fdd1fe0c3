//! A program on a terminal of its own, as a person would see it.

use crate::patience::Deadline;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::process::{Child, Command, ExitStatus, Stdio};

/// A program on a terminal of its own.
pub struct OnTerminal {
    screen: File,
    child: Child,
    /// What it showed since the last key.
    pub shown: String,
    /// Reading has no bound of its own.
    _deadline: Deadline,
}

impl OnTerminal {
    /// Starts a program on one of so many rows and columns.
    pub fn start(mut command: Command, (rows, columns): (u16, u16)) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
        grantpt(&master).expect("it is ours");
        unlockpt(&master).expect("it opens");
        let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&master, size).expect("a size");
        let name = ptsname(&master, Vec::new()).expect("a name").into_string().expect("UTF-8");
        let end = OpenOptions::new().read(true).write(true).open(name).expect("its other end");
        command.stdin(Stdio::from(end.try_clone().expect("a copy"))).stdout(Stdio::from(end));
        let child = command.spawn().expect("it starts");
        let deadline = Deadline::of(&child, format!("{command:?}"));
        // The other end is open in the child alone, so that reading ends with it.
        drop(command);
        Self { screen: File::from(master), child, shown: String::new(), _deadline: deadline }
    }

    /// Reads what is shown until it holds `words`.
    pub fn wait_for(&mut self, words: &str) {
        let mut bytes = [0; 4096];
        while !self.shown.contains(words) {
            let read = self.screen.read(&mut bytes).unwrap_or_default();
            assert!(read > 0, "it ended without showing {words:?}: {:?}", self.shown);
            self.shown.push_str(&String::from_utf8_lossy(&bytes[..read]));
        }
    }

    /// Presses keys, and forgets what was shown before.
    pub fn press(&mut self, key: &[u8]) {
        self.shown.clear();
        self.screen.write_all(key).expect("the terminal takes it");
    }

    /// The rest of what it shows, and how it ends.
    pub fn wait(mut self) -> ExitStatus {
        let mut bytes = [0; 4096];
        // Reading fails when the other end is closed: that is its end.
        while let Ok(read @ 1..) = self.screen.read(&mut bytes) {
            self.shown.push_str(&String::from_utf8_lossy(&bytes[..read]));
        }
        self.child.wait().expect("it ends")
    }
}
