//! The terminal while a run goes on: a thread of its own shows pages and takes keys, so that
//! neither a slow terminal nor a stopped one holds up the run.

use crate::terminal::{Key, Terminal};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// What the keys do.
const KEYS: &str = "q end now: what is in flight is waited for, then reported    + 30 s longer";

/// How much longer each `+` makes a run.
const MORE: Duration = Duration::from_secs(30);

/// What is wanted of a run by those who watch it.
#[derive(Default)]
pub struct Wishes {
    /// That it ends.
    pub quit: Arc<AtomicBool>,
    /// How often `+` was pressed since somebody looked.
    longer: AtomicU32,
}

impl Wishes {
    /// By how much it is to be longer, since the last call.
    pub fn take_longer(&self) -> Duration {
        MORE * self.longer.swap(0, Ordering::Relaxed)
    }
}

/// How long a key is waited for before the next look whether there is a page.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// A terminal that is taken.
pub struct Screen {
    pages: SyncSender<Vec<String>>,
    thread: JoinHandle<()>,
}

impl Screen {
    /// Takes the terminal; keys are noted as wishes, and so is a signal that asks for the end.
    pub fn open(wishes: Arc<Wishes>) -> io::Result<Self> {
        let terminal = Terminal::take()?;
        let (pages, to_show) = sync_channel(2);
        let thread = std::thread::Builder::new()
            .name("live".to_owned())
            .spawn(move || attend(&terminal, &to_show, &wishes))?;
        Ok(Self { pages, thread })
    }

    /// Shows a page, unless the terminal is behind.
    pub fn show(&self, page: Vec<String>) {
        let _behind = self.pages.try_send(page);
    }

    /// Gives the terminal back.
    pub fn close(self) {
        drop(self.pages);
        if self.thread.join().is_err() {
            // Its panic has been printed; the report is still worth having.
        }
    }
}

fn attend(terminal: &Terminal, pages: &Receiver<Vec<String>>, wishes: &Wishes) {
    loop {
        match pages.try_recv() {
            Ok(page) => {
                // A terminal that went away takes what is shown with it, not the run.
                let _gone = terminal.show(&terminal.page(&page, KEYS));
            }
            Err(TryRecvError::Empty) => match terminal.key(LOOK_EVERY) {
                Ok(Some(Key::Quit)) => {
                    wishes.quit.store(true, Ordering::Relaxed);
                    return show_the_rest(terminal, pages);
                }
                Ok(Some(Key::Byte(b'+'))) => {
                    wishes.longer.fetch_add(1, Ordering::Relaxed);
                }
                Ok(_) => {}
                // Nobody can press anything.
                Err(_) => return,
            },
            Err(TryRecvError::Disconnected) => return,
        }
    }
}

/// After `q` no key counts.
fn show_the_rest(terminal: &Terminal, pages: &Receiver<Vec<String>>) {
    while let Ok(page) = pages.recv() {
        let _gone = terminal.show(&terminal.page(&page, "ending: waiting for what is in flight"));
    }
}
