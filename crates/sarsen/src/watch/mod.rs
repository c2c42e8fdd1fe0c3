//! `sarsen serve --watch`: sees edits of the application, has them served, and tells the pages that
//! are open. An edit that does not load is not served; what is wrong with it is told instead.

mod scan;

use crate::code;
use crate::limits::{WATCH_EVERY, WATCH_SETTLE, WATCH_SETTLE_MAX};
use faces::Live;
use gem::{App, LoadError, Pool};
use scan::{Files, scan};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::Instant;

/// What is watched, and who is told.
pub struct Watched {
    /// The application's folder.
    pub app: PathBuf,
    /// The repository's, which may be in it.
    pub data: PathBuf,
    /// Who serves it.
    pub pool: Arc<Pool>,
    /// The pages.
    pub live: Live,
}

/// The thread that watches. It ends with this.
pub struct Watch {
    live: Live,
    stop: Option<SyncSender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Watch {
    /// Watches from now on.
    pub fn start(watched: Watched) -> io::Result<Self> {
        let (stop, stopped) = sync_channel(1);
        let seen = scan(&watched.app, &watched.data);
        let live = watched.live.clone();
        let thread = thread::Builder::new()
            .name("watch".to_owned())
            .spawn(move || watch(&watched, seen, &stopped))?;
        Ok(Self { live, stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.live.end();
        self.stop.take();
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            log::error!("the thread that watches for edits had ended by a panic");
        }
    }
}

fn watch(watched: &Watched, mut seen: Files, stop: &Receiver<()>) {
    while stop.recv_timeout(WATCH_EVERY) == Err(RecvTimeoutError::Timeout) {
        let found = scan(&watched.app, &watched.data);
        if found == seen {
            continue;
        }
        seen = settled(watched, found, stop);
        serve(watched);
    }
}

/// What is there once nothing changes any more: an editor, and a checkout even more, writes several
/// times and files.
fn settled(watched: &Watched, mut seen: Files, stop: &Receiver<()>) -> Files {
    let begun = Instant::now();
    while begun.elapsed() < WATCH_SETTLE_MAX
        && stop.recv_timeout(WATCH_SETTLE) == Err(RecvTimeoutError::Timeout)
    {
        let found = scan(&watched.app, &watched.data);
        if found == seen {
            break;
        }
        seen = found;
    }
    seen
}

fn serve(watched: &Watched) {
    let begun = Instant::now();
    let served = App::load(&watched.app).and_then(|app| watched.pool.reload(app));
    match served {
        Ok(()) => {
            log::info!("the edit is served, after {} ms", begun.elapsed().as_millis());
            watched.live.served();
        }
        Err(error) => {
            log::error!("the edit is not served: {error}; what was there before still is");
            watched.live.refused(mistake(&error));
        }
    }
}

/// What is wrong, as pages show it.
fn mistake(error: &LoadError) -> String {
    let place = match error {
        LoadError::Settings { place, .. } | LoadError::Module { place, .. } => Some(place),
        _ => None,
    };
    let frame = place.and_then(|place| code::frame(place));
    let lines = frame.map(|frame| format!("\n\n{}", frame.text())).unwrap_or_default();
    format!("{error}{lines}")
}
