//! Errands: what a face does on a worker's thread because services are asked about it. The face
//! reads and stages on a transaction of its own; in between it has functions called, which work in
//! the same transaction. What an operation is, only the face knows.

use crate::cached::Cached;
use crate::engine::{Asked, Called, Engine, Stop};
use crate::errors::{Failure, FailureKind, Fault};
use crate::exchange::{Request, Respond};
use crate::failed::Keeper;
use crate::figures::{Ledger, Meter, Outcome};
use crate::route::Params;
use crate::seat::Seat;
use crate::services::{Method, Service, Services};
use crate::session::Rules;
use crate::turn::{Allowance, Ended, Turn};
use bytes::Bytes;
use repository::{CollectionName, CommitNumber, Key, Repository, Transaction};
use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Work in which services are asked. One that is dropped was not done.
pub trait Errand: Send {
    /// Does it, on a worker's thread; it must not block for long. After `Waits` it is called again
    /// with the answers, and must not have committed anything.
    fn run(&mut self, host: &Host<'_>) -> Step;

    /// Who answers for it where its worker is lost; then nothing that it does has an effect, and
    /// its own answer comes too late. `None`: it answers by itself, when its thread ends.
    fn answerer(&self) -> Option<Respond> {
        None
    }

    /// It cannot be done.
    fn fail(self: Box<Self>, failure: Failure);
}

/// How far an errand got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// It is done, and what it staged is committed.
    Done,
    /// It is over, and nothing was committed.
    Refused,
    /// A function waits, which ended a run on this view.
    Waits(CommitNumber),
}

/// Who asks, as functions see it.
#[derive(Clone, Debug)]
pub struct Caller {
    /// The request. Of one for documents, the body is left out: functions have it as a value.
    pub request: Request,
    /// The id of its token.
    pub principal: Option<String>,
}

/// What a worker lends to an errand.
pub struct Host<'a> {
    pub(crate) engine: &'a Engine,
    pub(crate) repository: &'a Arc<Repository>,
    pub(crate) cpu_limit: Duration,
    pub(crate) sessions: Rules,
    pub(crate) allowance: Allowance,
    pub(crate) cached: Option<&'a Arc<Cached>>,
    pub(crate) keeper: Keeper<'a>,
    pub(crate) seat: &'a Seat,
    pub(crate) ledger: &'a Ledger,
    pub(crate) seen: Seen,
}

/// What the worker is to know of an errand that has run.
#[derive(Default)]
pub(crate) struct Seen {
    /// The engine may be damaged and is to be thrown away.
    pub(crate) is_broken: Cell<bool>,
    /// A function failed.
    failed: Cell<bool>,
    runs: Cell<u32>,
    /// Documents and ranges that the last run read, and documents that it wrote.
    work: Cell<(usize, usize)>,
    /// The thread's CPU time when it began.
    begun: Cell<Duration>,
    /// The function that was asked first: the errand is counted as its.
    first: RefCell<Option<Arc<Meter>>>,
}

impl Seen {
    /// Counts the errand, which is over and took so long, if a function was asked.
    pub(crate) fn count(&self, begun: Instant) {
        if let Some(meter) = self.first.take() {
            let (reads, writes) = self.work.get();
            let conflicts = self.runs.get().saturating_sub(1);
            let ended = Outcome { failed: self.failed.get(), conflicts, reads, writes };
            meter.count(ended, None, begun.elapsed());
        }
    }
}

/// Why a function gave nothing.
#[derive(Clone, Debug)]
pub enum CallError {
    /// It refuses: a status from 400 to 499, and what the client is told.
    Refused {
        /// The status.
        status: u16,
        /// What the client is told.
        message: String,
    },
    /// It waits for something beside the gems, such as the hash of a password. The run ends here,
    /// and the errand with [`Step::Waits`].
    Waits,
    /// It failed. What that says is for the log and for developers.
    Failed(Failure),
}

impl Host<'_> {
    /// The repository.
    pub fn repository(&self) -> &Arc<Repository> {
        self.repository
    }

    /// Starts the CPU time of an errand, with all its runs. When it is called for the first time,
    /// with who asks.
    pub fn start(&self, caller: Option<Caller>) {
        if let Some(caller) = caller {
            let turn = Turn::new(caller.request, Params::default(), self.sessions)
                .within(self.allowance)
                .caching(self.cached);
            self.engine.slot.fill(turn.asked_by(caller.principal));
        }
        let cpu_used = self.engine.slot.with(|turn| Ok(turn.notes_mut().cpu_used));
        let begun = self.engine.start_budget(self.cpu_limit, cpu_used.unwrap_or_default());
        self.seen.begun.set(begun);
        self.ledger.stop(begun);
    }

    /// One run on `transaction`, which is given back with what `body` made of it. What it gives may
    /// be committed: a worker that has been lost gives a failure instead.
    pub fn run<T, E: From<Failure>>(
        &self,
        transaction: Transaction,
        body: impl FnOnce(&mut Served<'_>) -> Result<T, E>,
    ) -> (Transaction, Result<T, E>) {
        // A conflict may have brought it back here from its decision.
        if !self.seat.run() {
            return (transaction, Err(lost().into()));
        }
        self.seen.runs.set(self.seen.runs.get().saturating_add(1));
        self.engine.slot.begin_run();
        let mut served = Served { host: self, transaction: Some(transaction) };
        let result = body(&mut served);
        let transaction = served.transaction.take().expect(HELD);
        self.seen.work.set(transaction.work());
        let result = if self.seat.decide() { result } else { Err(lost().into()) };
        (transaction, result)
    }

    /// Notes that a function of this name is asked.
    fn note(&self, function: impl FnOnce() -> String) {
        let mut first = self.seen.first.borrow_mut();
        if first.is_none() {
            let name = function();
            let meter = first.insert(self.ledger.meter_of(&name));
            self.ledger.start(Arc::clone(meter), self.seen.begun.get());
            self.seat.note_function(name);
        }
    }
}

/// The worker has lost its seat: somebody else has answered.
fn lost() -> Failure {
    let message = "the worker was replaced because it could not be interrupted";
    FailureKind::CpuLimit.with(Fault::new(message, CommitNumber(0)))
}

const HELD: &str = "a call gives the transaction back";

/// A transaction in which services are asked.
pub struct Served<'a> {
    host: &'a Host<'a>,
    /// The turn has it while JavaScript runs, since what that calls outlives any borrow.
    transaction: Option<Transaction>,
}

impl Served<'_> {
    /// The transaction.
    pub fn transaction(&mut self) -> &mut Transaction {
        self.transaction.as_mut().expect(HELD)
    }

    /// The services of the application that is loaded here.
    pub fn services(&self) -> &Services {
        &self.host.engine.services
    }

    /// The service of a collection.
    pub fn service(&self, collection: &CollectionName) -> Service {
        self.services().get(collection).unwrap_or_default()
    }

    /// Asks the function for `method` about the document at `key`: with the JSON text of what is
    /// there, and of what is to be there. Gives the text to be shown or stored; none for what
    /// removes. What the function does to other documents is staged.
    pub fn call(
        &mut self,
        (collection, key): (&CollectionName, &Key),
        method: Method,
        (doc, body): (Option<&Bytes>, Option<&Bytes>),
    ) -> Result<Option<Bytes>, CallError> {
        let asked = Asked {
            collection: collection.as_str(),
            method: method.as_str(),
            key: key.as_str(),
            doc: doc.map(|bytes| text(bytes)).transpose()?,
            body: body.map(|bytes| text(bytes)).transpose()?,
        };
        let service = self.service(collection);
        let function = || format!("service {collection}.{}", service.function(method));
        self.host.note(function);
        let slot = &self.host.engine.slot;
        slot.lend(self.transaction.take().expect(HELD));
        let called = self.host.engine.call(asked);
        let (transaction, ended) = slot.end();
        self.transaction = Some(transaction);
        if self.host.seat.is_lost() {
            return Err(CallError::Failed(lost()));
        }
        let called = match ended {
            Some(Ended::Unreadable(error)) => {
                let fault = Fault::new(error.to_string(), CommitNumber(0));
                return Err(CallError::Failed(FailureKind::Unavailable.with(fault)));
            }
            Some(Ended::Exceeded(why)) => Err(Stop::exceeded(called.err(), why)),
            None => called,
        };
        match called {
            Ok(Called::Text(text)) => Ok(text.map(Bytes::from)),
            Ok(Called::Refused { status, message }) => Err(CallError::Refused { status, message }),
            Err(Stop::Waits) => Err(CallError::Waits),
            Err(stop) => Err(CallError::Failed(self.stopped(stop, function()))),
        }
    }

    /// Keeps the failure: it ends the errand, whatever the face makes of it.
    fn stopped(&self, stop: Stop, function: String) -> Failure {
        let Host { engine, keeper, seen, .. } = self.host;
        let view = self.transaction.as_ref().expect(HELD).view();
        let failure = match stop {
            Stop::Failed(kind, thrown) => kind.with(Fault::threw(thrown, view)),
            Stop::Waits | Stop::Refused(_) | Stop::Recovered(..) => {
                FailureKind::Handler.with(Fault::new("a call gave what no call can give", view))
            }
        };
        seen.failed.set(true);
        if matches!(failure.kind, FailureKind::CpuLimit | FailureKind::HeapLimit) {
            seen.is_broken.set(true);
        }
        keeper.keep(failure, |report| {
            report.handler = function;
            report.cpu = engine.cpu_used();
            report.conflicts = seen.runs.get().saturating_sub(1);
            let asked = |turn: &mut Turn| {
                let request = turn.request();
                Ok((request.method.clone(), request.path.clone()))
            };
            (report.method, report.path) = engine.slot.with(asked).unwrap_or_default();
        })
    }
}

fn text(bytes: &[u8]) -> Result<&str, CallError> {
    std::str::from_utf8(bytes).map_err(|error| {
        let message = format!("a JSON document is not UTF-8: {error}");
        CallError::Failed(FailureKind::Handler.with(Fault::new(message, CommitNumber(0))))
    })
}
