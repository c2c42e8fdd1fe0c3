//! The part of a reactor's gate that other threads touch: the mailbox in which workers put replies
//! and the bell that wakes the reactor. What happens on the reactor's own thread is `gate`.
//!
//! # Why nobody is left waiting
//!
//! The repository's writer stores the durable number and then calls [`Bell::advanced`]. Whoever
//! waits first makes itself known (an entry in the gate, or a letter in the mailbox), then sets
//! `someone_waits`, then reads the durable number once more. Each side stores before it loads,
//! with a sequentially consistent fence between the two, so at least one of them sees the other:
//! either the one who waits reads the new number and need not wait, or the writer reads
//! `someone_waits` and rings. Only the writer clears the flag, in the same step in which it decides
//! to ring, and the rung gate looks at everything that was made known before the flag was set; what
//! is still not durable makes the gate set the flag again, by the same three steps.
//!
//! So a durable advance costs at most one wake a reactor, however many replies it releases, and
//! nothing where nobody waits.

use parking_lot::Mutex;
use repository::{CommitNumber, Poisoned};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering, fence};
use tokio::sync::Notify;

/// Reads the durable number.
pub(crate) type ReadDurable = Box<dyn Fn() -> Result<CommitNumber, Poisoned> + Send + Sync>;

/// What came of a request to the application.
pub(crate) type AppOutcome = Result<gem::Reply, gem::Failure>;

/// Names one wait in one gate.
pub(crate) type Ticket = u64;

/// A worker's reply on its way to the reactor that asked.
#[derive(Debug)]
pub(crate) struct Letter {
    /// Who asked.
    pub ticket: Ticket,
    /// The reply may leave when `durable >= wait_for`.
    pub wait_for: CommitNumber,
    pub outcome: AppOutcome,
}

/// What the repository's writer has of a reactor. It knows no repository: the writer's listener
/// lives as long as the repository does, and must not be what keeps it.
#[derive(Default)]
pub(crate) struct Bell {
    /// Whether a durable advance concerns this reactor. See the argument above.
    someone_waits: AtomicBool,
    rings: Notify,
}

impl Bell {
    /// For the repository's writer: the durable number has moved, or will never move again.
    pub(crate) fn advanced(&self) {
        fence(Ordering::SeqCst);
        if self.someone_waits.swap(false, Ordering::SeqCst) {
            self.rings.notify_one();
        }
    }

    /// Asks to be rung at the next advance. What is looked at afterwards is as new as that.
    pub(crate) fn ask(&self) {
        self.someone_waits.store(true, Ordering::SeqCst);
        fence(Ordering::SeqCst);
    }

    /// Waits until it has rung since the last wait.
    pub(crate) async fn rung(&self) {
        self.rings.notified().await;
    }
}

/// One per reactor.
pub(crate) struct Mailbox {
    read_durable: ReadDurable,
    /// At most one letter for each request that the reactor has given to a worker.
    letters: Mutex<Vec<Letter>>,
    bell: Arc<Bell>,
}

impl Mailbox {
    pub(crate) fn new(read_durable: ReadDurable) -> Self {
        Self { read_durable, letters: Mutex::new(Vec::new()), bell: Arc::default() }
    }

    /// For the repository's writer.
    pub(crate) fn bell(&self) -> Arc<Bell> {
        Arc::clone(&self.bell)
    }

    /// The durable number now.
    pub(crate) fn durable(&self) -> Result<CommitNumber, Poisoned> {
        (self.read_durable)()
    }

    /// Asks to be rung at the next advance; whoever waits must have made itself known before. Gives
    /// the durable number as it is after that, which may show that there is no need to wait.
    pub(crate) fn ask_to_be_rung(&self) -> Result<CommitNumber, Poisoned> {
        self.bell.ask();
        self.durable()
    }

    /// For a worker. Wakes the reactor only when the reply may leave already; otherwise the advance
    /// that releases it will, together with all others that it releases.
    pub(crate) fn deliver(&self, letter: Letter) {
        let wait_for = letter.wait_for;
        let must_wait = |durable| matches!(durable, Ok(number) if number < wait_for);
        self.letters.lock().push(letter);
        if must_wait(self.durable()) && must_wait(self.ask_to_be_rung()) {
            return;
        }
        self.bell.rings.notify_one();
    }

    /// Moves all letters into `into`, which must be empty; its memory is used for the next ones.
    pub(crate) fn empty_into(&self, into: &mut Vec<Letter>) {
        debug_assert!(into.is_empty());
        std::mem::swap(&mut *self.letters.lock(), into);
    }

    /// Waits until the bell has rung since the last wait.
    pub(crate) async fn rung(&self) {
        self.bell.rung().await;
    }
}

/// What a worker is given to answer with. Dropped unanswered, it answers that the worker ended.
pub(crate) struct Envelope {
    mailbox: Arc<Mailbox>,
    ticket: Ticket,
    answered: bool,
}

impl Envelope {
    pub(crate) fn new(mailbox: Arc<Mailbox>, ticket: Ticket) -> Self {
        Self { mailbox, ticket, answered: false }
    }

    /// Sends the outcome to the reactor.
    pub(crate) fn send(mut self, outcome: AppOutcome) {
        self.post(outcome);
    }

    fn post(&mut self, outcome: AppOutcome) {
        self.answered = true;
        let wait_for = match &outcome {
            Ok(reply) => reply.wait_for,
            Err(failure) => failure.wait_for(),
        };
        self.mailbox.deliver(Letter { ticket: self.ticket, wait_for, outcome });
    }
}

impl Drop for Envelope {
    fn drop(&mut self) {
        if !self.answered {
            // It reveals nothing, so it waits for nothing.
            let message = "the worker ended without a reply".to_owned();
            let fault = gem::Fault::new(message, CommitNumber(0));
            self.post(Err(gem::FailureKind::Unavailable.with(fault)));
        }
    }
}
