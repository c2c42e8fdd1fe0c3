//! Errands: what a face does on a worker's thread because services are asked about it. The face
//! reads and stages on a transaction of its own; in between it has functions called, which work in
//! the same transaction. What an operation is, only the face knows.

use crate::engine::{Asked, Called, Engine, Stop};
use crate::errors::{Failure, Fault};
use crate::exchange::Request;
use crate::failed::Keeper;
use crate::route::Params;
use crate::seat::Seat;
use crate::services::{Method, Service, Services};
use crate::session::Rules;
use crate::turn::{Allowance, Ended, Turn};
use bytes::Bytes;
use repository::{CollectionName, CommitNumber, Key, Repository, Transaction};
use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;

/// Work in which services are asked. One that is dropped was not done.
pub trait Errand: Send {
    /// Does it, on a worker's thread; it must not block for long. After `Waits` it is called again
    /// with the answers, and must not have committed anything.
    fn run(&mut self, host: &Host<'_>) -> Step;

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
    pub(crate) keeper: Keeper<'a>,
    pub(crate) seat: &'a Seat,
    /// The engine may be damaged and is to be thrown away.
    pub(crate) is_broken: Cell<bool>,
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
    /// It failed.
    Failed(CallFailure),
}

/// How a function failed. What it says is for the log and for developers.
#[derive(Clone, Debug)]
pub enum CallFailure {
    /// It threw, or its result cannot be stored.
    Threw(Fault),
    /// The CPU time of the errand is used up.
    CpuLimit(Fault),
    /// The heap is full.
    HeapLimit(Fault),
    /// It went deeper than the stack.
    StackLimit(Fault),
    /// The errand has read or written more documents than it may.
    DocumentsLimit(Fault),
    /// The repository could not be read.
    Unavailable(String),
}

impl CallFailure {
    /// The same as the failure of a request whose reply waits for `wait_for`.
    pub fn at(self, wait_for: CommitNumber) -> Failure {
        match self {
            Self::Threw(fault) => Failure::Handler(Fault { wait_for, ..fault }),
            Self::CpuLimit(fault) => Failure::CpuLimit(Fault { wait_for, ..fault }),
            Self::HeapLimit(fault) => Failure::HeapLimit(Fault { wait_for, ..fault }),
            Self::StackLimit(fault) => Failure::StackLimit(Fault { wait_for, ..fault }),
            Self::DocumentsLimit(fault) => Failure::DocumentsLimit(Fault { wait_for, ..fault }),
            Self::Unavailable(message) => Failure::Unavailable(Fault::new(message, wait_for)),
        }
    }
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
            let turn =
                Turn::new(caller.request, Params::default(), self.sessions).within(self.allowance);
            self.engine.slot.fill(turn.asked_by(caller.principal));
        }
        let cpu_used = self.engine.slot.with(|turn| Ok(turn.notes_mut().cpu_used));
        self.engine.start_budget(self.cpu_limit, cpu_used.unwrap_or_default());
    }

    /// One run on `transaction`, which is given back with what `body` made of it.
    pub fn run<T, E>(
        &self,
        transaction: Transaction,
        body: impl FnOnce(&mut Served<'_>) -> Result<T, E>,
    ) -> (Transaction, Result<T, E>) {
        self.engine.slot.begin_run();
        let mut served = Served { host: self, transaction: Some(transaction) };
        let result = body(&mut served);
        (served.transaction.take().expect(HELD), result)
    }
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
        let slot = &self.host.engine.slot;
        slot.lend(self.transaction.take().expect(HELD));
        let called = self.host.engine.call(asked);
        let (transaction, ended) = slot.end();
        self.transaction = Some(transaction);
        if self.host.seat.is_lost() {
            let message = "the worker was replaced because it could not be interrupted";
            let fault = Fault::new(message, CommitNumber(0));
            return Err(CallError::Failed(CallFailure::CpuLimit(fault)));
        }
        let called = match ended {
            Some(Ended::Unreadable(error)) => {
                return Err(CallError::Failed(CallFailure::Unavailable(error.to_string())));
            }
            Some(Ended::Exceeded(why)) => Err(Stop::exceeded(called.err(), why)),
            None => called,
        };
        match called {
            Ok(Called::Text(text)) => Ok(text.map(Bytes::from)),
            Ok(Called::Refused { status, message }) => Err(CallError::Refused { status, message }),
            Err(Stop::Waits) => Err(CallError::Waits),
            Err(stop) => {
                let function = self.service(collection).function(method);
                Err(CallError::Failed(self.stopped(stop, &format!("{collection}.{function}"))))
            }
        }
    }

    /// Keeps the failure: it ends the errand, whatever the face makes of it.
    fn stopped(&self, stop: Stop, function: &str) -> CallFailure {
        let view = self.transaction.as_ref().expect(HELD).view();
        let failure = match stop {
            Stop::Threw(thrown) => Failure::Handler(Fault::threw(thrown, view)),
            Stop::CpuLimit(thrown) => Failure::CpuLimit(Fault::threw(thrown, view)),
            Stop::HeapLimit(thrown) => Failure::HeapLimit(Fault::threw(thrown, view)),
            Stop::StackLimit(thrown) => Failure::StackLimit(Fault::threw(thrown, view)),
            Stop::DocumentsLimit(thrown) => Failure::DocumentsLimit(Fault::threw(thrown, view)),
            Stop::ReplyLimit(thrown) => Failure::ReplyLimit(Fault::threw(thrown, view)),
            Stop::Waits => Failure::Handler(Fault::new("a call waits, which it cannot", view)),
            Stop::Refused(_) | Stop::Recovered(..) => {
                Failure::Handler(Fault::new("a call gave a page", view))
            }
        };
        let failure = self.host.keeper.keep(failure, |report| {
            report.handler = format!("service {function}");
            report.cpu = self.host.engine.cpu_used();
            let asked = |turn: &mut Turn| {
                let request = turn.request();
                Ok((request.method.clone(), request.path.clone()))
            };
            (report.method, report.path) = self.host.engine.slot.with(asked).unwrap_or_default();
        });
        match failure {
            Failure::CpuLimit(fault) => {
                self.host.is_broken.set(true);
                CallFailure::CpuLimit(fault)
            }
            Failure::HeapLimit(fault) => {
                self.host.is_broken.set(true);
                CallFailure::HeapLimit(fault)
            }
            Failure::DocumentsLimit(fault) => CallFailure::DocumentsLimit(fault),
            Failure::StackLimit(fault) => CallFailure::StackLimit(fault),
            Failure::Handler(fault)
            | Failure::ReplyLimit(fault)
            | Failure::Duplicate(fault)
            | Failure::CrossSite(fault)
            | Failure::Busy(fault)
            | Failure::Unavailable(fault) => CallFailure::Threw(fault),
        }
    }
}

fn text(bytes: &[u8]) -> Result<&str, CallError> {
    std::str::from_utf8(bytes).map_err(|error| {
        let message = format!("a JSON document is not UTF-8: {error}");
        CallError::Failed(CallFailure::Threw(Fault::new(message, CommitNumber(0))))
    })
}
