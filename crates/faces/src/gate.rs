//! A reactor's gate: holds replies until what they reveal is durable, and matches the workers'
//! replies with the requests that wait for them. It lives on the reactor's thread; `mailbox` is the
//! part that other threads touch, and has the argument that no wake is lost.

use crate::mailbox::{AppOutcome, Letter, Mailbox, Ticket};
use repository::{CommitNumber, Poisoned};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};

/// One per reactor. Everything it holds belongs to a request in flight, so it is bounded by the
/// connections.
pub(crate) struct Gate {
    mailbox: Arc<Mailbox>,
    /// The newest durable number this reactor knows. It only grows.
    seen: Cell<CommitNumber>,
    /// Whom to wake, by the number they wait for. All numbers are above `seen`.
    held: RefCell<BTreeMap<(CommitNumber, Ticket), Waker>>,
    /// Requests that are with a worker, or whose reply is held.
    asked: RefCell<BTreeMap<Ticket, Asked>>,
    next_ticket: Cell<Ticket>,
    /// Emptied after each use; kept for its memory.
    letters: RefCell<Vec<Letter>>,
}

/// A request that was given to a worker.
struct Asked {
    waker: Waker,
    /// Its reply, which may have to be held.
    letter: Option<Letter>,
}

impl Gate {
    pub(crate) fn new(mailbox: Arc<Mailbox>) -> Self {
        Self {
            mailbox,
            seen: Cell::default(),
            held: RefCell::default(),
            asked: RefCell::default(),
            next_ticket: Cell::default(),
            letters: RefCell::default(),
        }
    }

    /// Waits until `durable >= number`. If that will never be, every waiter gets the reason.
    pub(crate) fn durable(&self, number: CommitNumber) -> Durable<'_> {
        Durable { gate: self, number, ticket: self.draw_ticket(), registered: false }
    }

    /// Registers a request that is about to be given to a worker. The future gives the worker's
    /// reply when it may leave.
    pub(crate) fn reply(&self) -> Reply<'_> {
        let ticket = self.draw_ticket();
        let asked = Asked { waker: Waker::noop().clone(), letter: None };
        self.asked.borrow_mut().insert(ticket, asked);
        Reply { gate: self, ticket }
    }

    /// The gate's task: releases what may leave each time the bell rings.
    pub(crate) async fn run(&self) {
        loop {
            self.mailbox.rung().await;
            self.release();
        }
    }

    fn draw_ticket(&self) -> Ticket {
        let ticket = self.next_ticket.get();
        self.next_ticket.set(ticket + 1);
        ticket
    }

    fn release(&self) {
        loop {
            self.collect_letters();
            let durable = self.mailbox.durable();
            match durable {
                Ok(durable) => self.wake_until(durable),
                Err(_) => return self.wake_all(),
            }
            if self.held.borrow().is_empty() {
                return;
            }
            // What is still held waits for a later advance; one that came while this ran is seen
            // here.
            if matches!(self.mailbox.ask_to_be_rung(), Ok(now) if now <= self.seen.get()) {
                return;
            }
        }
    }

    /// Files each letter under the number it waits for. Whoever asked is not woken for it: the
    /// release that follows, or a later one, wakes it once, when the reply may leave.
    fn collect_letters(&self) {
        let mut letters = self.letters.borrow_mut();
        self.mailbox.empty_into(&mut letters);
        let mut asked = self.asked.borrow_mut();
        let mut held = self.held.borrow_mut();
        for letter in letters.drain(..) {
            // No entry: the client has gone, and nobody wants the reply.
            if let Some(asked) = asked.get_mut(&letter.ticket) {
                held.insert((letter.wait_for, letter.ticket), asked.waker.clone());
                asked.letter = Some(letter);
            }
        }
    }

    fn wake_until(&self, durable: CommitNumber) {
        self.seen.set(self.seen.get().max(durable));
        loop {
            let mut held = self.held.borrow_mut();
            let Some(first) = held.first_entry().filter(|entry| entry.key().0 <= durable) else {
                return;
            };
            let waker = first.remove();
            drop(held);
            waker.wake();
        }
    }

    /// Everyone woken finds itself no longer held, asks for the durable number and gets the error.
    fn wake_all(&self) {
        let held = std::mem::take(&mut *self.held.borrow_mut());
        held.into_values().for_each(Waker::wake);
    }

    fn poll_durable(
        &self,
        number: CommitNumber,
        ticket: Ticket,
        cx: &mut Context<'_>,
    ) -> Poll<Result<(), Poisoned>> {
        if number <= self.seen.get() {
            return Poll::Ready(Ok(()));
        }
        if let Some(waker) = self.held.borrow_mut().get_mut(&(number, ticket)) {
            waker.clone_from(cx.waker());
            return Poll::Pending;
        }
        if self.look(self.mailbox.durable())? >= number {
            return Poll::Ready(Ok(()));
        }
        self.held.borrow_mut().insert((number, ticket), cx.waker().clone());
        let after = self.look(self.mailbox.ask_to_be_rung());
        if matches!(after, Ok(durable) if durable < number) {
            return Poll::Pending;
        }
        self.held.borrow_mut().remove(&(number, ticket));
        Poll::Ready(after.map(|_| ()))
    }

    fn look(&self, durable: Result<CommitNumber, Poisoned>) -> Result<CommitNumber, Poisoned> {
        let durable = durable?;
        self.seen.set(self.seen.get().max(durable));
        Ok(durable)
    }
}

/// See [`Gate::durable`].
pub(crate) struct Durable<'a> {
    gate: &'a Gate,
    number: CommitNumber,
    ticket: Ticket,
    /// Whether the gate may hold an entry of this wait.
    registered: bool,
}

impl Future for Durable<'_> {
    type Output = Result<(), Poisoned>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let released = self.gate.poll_durable(self.number, self.ticket, cx);
        self.registered = released.is_pending();
        released
    }
}

impl Drop for Durable<'_> {
    fn drop(&mut self) {
        if self.registered {
            self.gate.held.borrow_mut().remove(&(self.number, self.ticket));
        }
    }
}

/// See [`Gate::reply`].
pub(crate) struct Reply<'a> {
    gate: &'a Gate,
    ticket: Ticket,
}

impl Reply<'_> {
    /// What the worker has to put on its letter.
    pub(crate) fn ticket(&self) -> Ticket {
        self.ticket
    }

    /// The number the reply waits for, if it has come; otherwise leaves word whom to wake.
    fn poll_arrived(&self, cx: &mut Context<'_>) -> Poll<CommitNumber> {
        let mut asked = self.gate.asked.borrow_mut();
        let entry = asked.get_mut(&self.ticket).expect("only this future's end removes the entry");
        match &entry.letter {
            Some(letter) => Poll::Ready(letter.wait_for),
            None => {
                entry.waker.clone_from(cx.waker());
                Poll::Pending
            }
        }
    }

    fn take(&self) -> AppOutcome {
        let mut asked = self.gate.asked.borrow_mut();
        let letter = asked.get_mut(&self.ticket).and_then(|entry| entry.letter.take());
        letter.expect("it has arrived, and is taken once").outcome
    }
}

impl Future for Reply<'_> {
    type Output = Result<AppOutcome, Poisoned>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let wait_for = ready!(self.poll_arrived(cx));
        let released = ready!(self.gate.poll_durable(wait_for, self.ticket, cx));
        Poll::Ready(released.map(|()| self.take()))
    }
}

impl Drop for Reply<'_> {
    fn drop(&mut self) {
        let asked = self.gate.asked.borrow_mut().remove(&self.ticket);
        if let Some(letter) = asked.and_then(|entry| entry.letter) {
            self.gate.held.borrow_mut().remove(&(letter.wait_for, self.ticket));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mailbox::Envelope;
    use bytes::Bytes;
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::thread;
    use std::time::Duration;

    /// A durable number as the repository keeps one: `u64::MAX` stands for poisoned.
    #[derive(Clone, Default)]
    struct Disk(Arc<AtomicU64>);

    impl Disk {
        const POISONED: u64 = u64::MAX;

        fn gate(&self) -> Gate {
            let disk = self.clone();
            let read = move || match disk.0.load(Ordering::Acquire) {
                Self::POISONED => {
                    Err(Poisoned { durable: CommitNumber(0), cause: "no space".into() })
                }
                number => Ok(CommitNumber(number)),
            };
            Gate::new(Arc::new(Mailbox::new(Box::new(read))))
        }

        fn advance(&self, gate: &Gate, number: u64) {
            self.0.store(number, Ordering::Release);
            gate.mailbox.bell().advanced();
        }
    }

    fn poll<F: Future>(future: Pin<&mut F>) -> Poll<F::Output> {
        future.poll(&mut Context::from_waker(Waker::noop()))
    }

    fn answer(wait_for: u64) -> AppOutcome {
        let wait_for = CommitNumber(wait_for);
        let body = Bytes::new();
        Ok(gem::Reply { status: 200, headers: Vec::new(), body, blob: None, wait_for })
    }

    /// Whether the gate's task would run now.
    fn is_rung(gate: &Gate) -> bool {
        poll(std::pin::pin!(gate.mailbox.rung())).is_ready()
    }

    #[test]
    fn what_is_durable_passes_at_once() {
        let disk = Disk::default();
        let gate = disk.gate();
        disk.0.store(5, Ordering::Release);
        assert!(matches!(poll(std::pin::pin!(gate.durable(CommitNumber(5)))), Poll::Ready(Ok(()))));
        assert!(gate.held.borrow().is_empty());
    }

    #[test]
    fn one_ring_releases_all_that_are_due_and_no_other() {
        let disk = Disk::default();
        let gate = disk.gate();
        let mut waits: Vec<_> =
            [3, 1, 2, 2].map(|n| Box::pin(gate.durable(CommitNumber(n)))).into();
        assert!(waits.iter_mut().all(|wait| poll(wait.as_mut()).is_pending()));
        disk.advance(&gate, 2);
        assert!(is_rung(&gate));
        assert!(!is_rung(&gate), "one ring for all");
        gate.release();
        let ready: Vec<_> = waits.iter_mut().map(|w| poll(w.as_mut()).is_ready()).collect();
        assert_eq!(ready, [false, true, true, true]);
        disk.advance(&gate, 3);
        assert!(is_rung(&gate), "what was still held asked to be rung again");
        gate.release();
        assert!(poll(waits[0].as_mut()).is_ready());
        assert!(gate.held.borrow().is_empty());
        disk.advance(&gate, 4);
        assert!(!is_rung(&gate), "nobody waits, nobody is woken");
    }

    #[test]
    fn poison_ends_every_wait_with_its_reason() {
        let disk = Disk::default();
        let gate = disk.gate();
        let mut wait = Box::pin(gate.durable(CommitNumber(1)));
        let mut reply = Box::pin(gate.reply());
        Envelope::new(Arc::clone(&gate.mailbox), reply.ticket()).send(answer(1));
        assert!(poll(wait.as_mut()).is_pending());
        assert!(poll(reply.as_mut()).is_pending());
        disk.advance(&gate, Disk::POISONED);
        assert!(is_rung(&gate));
        gate.release();
        assert!(matches!(poll(wait.as_mut()), Poll::Ready(Err(_))));
        assert!(matches!(poll(reply.as_mut()), Poll::Ready(Err(_))));
        assert!(matches!(
            poll(Box::pin(gate.durable(CommitNumber(1))).as_mut()),
            Poll::Ready(Err(_))
        ));
    }

    #[test]
    fn a_reply_that_may_leave_rings_and_one_that_may_not_does_not() {
        let disk = Disk::default();
        let gate = disk.gate();
        disk.0.store(1, Ordering::Release);
        let mut early = Box::pin(gate.reply());
        let mut due = Box::pin(gate.reply());
        assert!(poll(early.as_mut()).is_pending());
        assert!(poll(due.as_mut()).is_pending());
        Envelope::new(Arc::clone(&gate.mailbox), early.ticket()).send(answer(2));
        assert!(!is_rung(&gate));
        Envelope::new(Arc::clone(&gate.mailbox), due.ticket()).send(answer(1));
        assert!(is_rung(&gate));
        gate.release();
        assert!(poll(due.as_mut()).is_ready());
        assert!(poll(early.as_mut()).is_pending());
        disk.advance(&gate, 2);
        assert!(is_rung(&gate));
        gate.release();
        assert!(matches!(poll(early.as_mut()), Poll::Ready(Ok(Ok(_)))));
    }

    #[test]
    fn an_unanswered_envelope_answers_for_the_worker() {
        let gate = Disk::default().gate();
        let mut reply = Box::pin(gate.reply());
        drop(Envelope::new(Arc::clone(&gate.mailbox), reply.ticket()));
        assert!(is_rung(&gate));
        gate.release();
        let outcome = poll(reply.as_mut());
        let Poll::Ready(Ok(Err(failure))) = outcome else { panic!("{outcome:?}") };
        assert_eq!(failure.kind, gem::FailureKind::Unavailable);
    }

    #[test]
    fn clients_that_leave_leave_nothing_behind() {
        let disk = Disk::default();
        let gate = disk.gate();
        let mut wait = Box::pin(gate.durable(CommitNumber(9)));
        let unanswered = gate.reply();
        let late = Envelope::new(Arc::clone(&gate.mailbox), unanswered.ticket());
        let held = gate.reply();
        Envelope::new(Arc::clone(&gate.mailbox), held.ticket()).send(answer(9));
        assert!(poll(wait.as_mut()).is_pending());
        gate.release();
        assert_eq!((gate.held.borrow().len(), gate.asked.borrow().len()), (2, 2));
        drop((wait, unanswered, held));
        late.send(answer(9));
        gate.release();
        assert!(gate.held.borrow().is_empty() && gate.asked.borrow().is_empty());
    }

    #[test]
    fn no_wake_is_lost_between_threads() {
        const ROUNDS: u64 = 20_000;
        /// A lost wake would last for ever.
        const PATIENCE: Duration = Duration::from_secs(60);
        let disk = Disk::default();
        let gate = disk.gate();
        let (bell, mailbox) = (gate.mailbox.bell(), Arc::clone(&gate.mailbox));
        let number = Arc::clone(&disk.0);
        let (asked, to_commit) = std::sync::mpsc::channel::<(u64, Option<Ticket>)>();
        // It answers, makes durable and rings as fast as it can, to meet the gate at every step.
        let writer = thread::spawn(move || {
            for (commit, ticket) in to_commit {
                if let Some(ticket) = ticket {
                    Envelope::new(Arc::clone(&mailbox), ticket).send(answer(commit));
                }
                number.store(commit, Ordering::Release);
                bell.advanced();
            }
        });
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let requests = async {
                for commit in 1..=ROUNDS {
                    if commit % 2 == 0 {
                        asked.send((commit, None)).unwrap();
                        gate.durable(CommitNumber(commit)).await.unwrap();
                    } else {
                        let reply = gate.reply();
                        asked.send((commit, Some(reply.ticket()))).unwrap();
                        reply.await.unwrap().unwrap();
                    }
                }
                drop(asked);
            };
            tokio::select! {
                answered = tokio::time::timeout(PATIENCE, requests) => answered.unwrap(),
                () = gate.run() => unreachable!("it runs for ever"),
            }
        });
        writer.join().unwrap();
    }
}
