//! SIGINT and SIGTERM: the first asks the server to stop, the second ends the process at once.
//! SIGHUP asks for log files to be opened again.

use crate::exit::Exit;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;
use signal_hook::iterator::Signals;
use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// A flag that each SIGHUP sets from now on. Without this, a hangup ends the process, as it should
/// where nothing is to be opened again.
pub fn hangup() -> io::Result<Arc<AtomicBool>> {
    let asked = Arc::new(AtomicBool::new(false));
    flag::register(SIGHUP, Arc::clone(&asked))?;
    Ok(asked)
}

/// The signals that stop the server, caught from the moment this exists. One that comes before
/// `wait` is not lost.
pub struct StopSignals {
    signals: Signals,
}

impl StopSignals {
    /// Catches them.
    pub fn catch() -> io::Result<Self> {
        let asked = Arc::new(AtomicBool::new(false));
        ask_for_end(&asked)?;
        Ok(Self { signals: Signals::new([SIGINT, SIGTERM])? })
    }

    /// Blocks until the first of them, and gives its name.
    pub fn wait(&mut self) -> &'static str {
        match self.signals.forever().next() {
            Some(SIGINT) => "SIGINT",
            _ => "SIGTERM",
        }
    }
}

/// Sets `asked` at the first SIGINT or SIGTERM from now on; the second ends the process at once.
pub fn ask_for_end(asked: &Arc<AtomicBool>) -> io::Result<()> {
    for signal in [SIGINT, SIGTERM] {
        // In this order, so that the first signal finds the flag unset and sets it.
        let code = i32::from(Exit::Interrupted.code());
        flag::register_conditional_shutdown(signal, code, Arc::clone(asked))?;
        flag::register(signal, Arc::clone(asked))?;
    }
    Ok(())
}
