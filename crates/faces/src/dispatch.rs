//! The one match: a native operation is executed here, on the reactor; a request for the
//! application goes to a worker and comes back through the gate.

use crate::execute::execute;
use crate::mailbox::Envelope;
use crate::operation::{Executed, Operation};
use crate::problem::{Kind, Problem};
use crate::reactor::Reactor;
use std::sync::Arc;

/// A parsed request.
#[derive(Debug)]
pub(crate) enum Call {
    /// For the repository.
    Native(Operation),
    /// For the application.
    App(gem::Request),
}

/// What came of it. It may leave at once.
#[derive(Debug)]
pub(crate) enum Answer {
    Native(Executed),
    App(gem::Reply),
}

/// Performs `call` and waits until its answer may leave.
///
/// `caller` tells who asks, to services of the application.
pub(crate) async fn dispatch(
    call: Call,
    caller: impl FnOnce() -> gem::Caller,
    reactor: &Reactor,
) -> Result<Answer, Problem> {
    match call {
        Call::Native(operation) => execute(operation, caller, reactor).await.map(Answer::Native),
        Call::App(request) => ask(request, reactor).await.map(Answer::App),
    }
}

async fn ask(request: gem::Request, reactor: &Reactor) -> Result<gem::Reply, Problem> {
    let pool = reactor.pool.as_ref().ok_or_else(Problem::not_found)?;
    let reply = reactor.gate.reply();
    let envelope = Envelope::new(Arc::clone(&reactor.mailbox), reply.ticket());
    let respond = Box::new(move |outcome| envelope.send(outcome));
    if pool.submit(request, respond).is_err() {
        return Err(Problem::new(Kind::Busy, "every worker is busy and the queue is full"));
    }
    reply.await?.map_err(|failure| failed(&failure, reactor.development))
}

/// The application's own words stay in the log, unless its developer is the one who reads.
pub(crate) fn failed(failure: &gem::Failure, development: bool) -> Problem {
    match failure {
        // The repository says so itself, once; here it would be said for every request.
        gem::Failure::Unavailable(_) | gem::Failure::Busy(_) | gem::Failure::Duplicate(_) => {
            log::debug!("a request was refused: {failure}");
        }
        _ => log::error!("the application failed: {failure}"),
    }
    let (kind, detail) = match failure {
        gem::Failure::Handler(_) => (Kind::HandlerFailed, "nothing was changed"),
        gem::Failure::CpuLimit(_) => (Kind::CpuLimit, "it was stopped; nothing was changed"),
        gem::Failure::HeapLimit(_) => (Kind::HeapLimit, "it was stopped; nothing was changed"),
        gem::Failure::Duplicate(_) => (Kind::Duplicate, "nothing was changed"),
        gem::Failure::Busy(_) => {
            (Kind::Busy, "the server is behind with its work; nothing was changed")
        }
        gem::Failure::Unavailable(_) => (Kind::Unavailable, "nothing was changed"),
    };
    if development {
        return Problem::new(kind, failure.to_string());
    }
    Problem::new(kind, detail)
}

#[cfg(test)]
mod tests {
    use super::*;
    use repository::CommitNumber;

    fn fault(message: &str) -> gem::Fault {
        gem::Fault { message: message.to_owned(), wait_for: CommitNumber(0) }
    }

    #[test]
    fn a_failures_message_is_for_developers_only() {
        let failure = gem::Failure::Handler(fault("app.js:1:2: secret is undefined"));
        let shown = failed(&failure, true);
        assert!(shown.detail.contains("secret"));
        assert_eq!(shown.kind.row().status, 500);
        assert!(!failed(&failure, false).detail.contains("secret"));
    }

    #[test]
    fn each_failure_has_a_problem_of_its_own() {
        let kind = |failure| failed(&failure, false).kind;
        assert_eq!(kind(gem::Failure::CpuLimit(fault(""))), Kind::CpuLimit);
        assert_eq!(kind(gem::Failure::HeapLimit(fault(""))), Kind::HeapLimit);
        assert_eq!(kind(gem::Failure::Unavailable(fault(""))), Kind::Unavailable);
    }
}
