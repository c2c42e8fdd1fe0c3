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
    reply.await?.map_err(|failure| failed(failure, reactor.development))
}

/// The application's own words stay in the log, unless its developer is the one who reads.
///
/// The id is for whoever may look it up (`sarsen errors`).
pub(crate) fn failed(failure: gem::Failure, development: bool) -> Problem {
    match &failure {
        // The repository says so itself, once; here it would be said for every request.
        gem::Failure::Unavailable(_)
        | gem::Failure::Busy(_)
        | gem::Failure::Duplicate(_)
        | gem::Failure::CrossSite(_) => {
            log::debug!("a request was refused: {failure}");
        }
        _ => {
            let id = failure.report().map_or("without an id", |report| &report.id);
            log::error!("the application failed ({id}): {failure}");
        }
    }
    let (kind, detail) = match &failure {
        gem::Failure::Handler(_) => (Kind::HandlerFailed, "nothing was changed"),
        gem::Failure::CpuLimit(_) => (Kind::CpuLimit, "it was stopped; nothing was changed"),
        gem::Failure::HeapLimit(_) => (Kind::HeapLimit, "it was stopped; nothing was changed"),
        gem::Failure::StackLimit(_) => (Kind::StackLimit, "nothing was changed"),
        gem::Failure::DocumentsLimit(_) => (Kind::DocumentsLimit, "nothing was changed"),
        gem::Failure::ReplyLimit(_) => (Kind::ReplyLimit, "nothing was changed"),
        // It says nothing but what the request says itself.
        gem::Failure::CrossSite(fault) => {
            return Problem::new(Kind::CrossSite, fault.message.clone());
        }
        gem::Failure::Duplicate(_) => (Kind::Duplicate, "nothing was changed"),
        gem::Failure::Busy(_) => {
            (Kind::Busy, "the server is behind with its work; nothing was changed")
        }
        gem::Failure::Unavailable(_) => (Kind::Unavailable, "nothing was changed"),
    };
    let problem = match development {
        true => Problem::new(kind, failure.to_string()),
        false => Problem::new(kind, detail),
    };
    match failure.into_report() {
        Some(report) => told(problem, report, development),
        None => problem,
    }
}

/// With what is known: all of it to developers, to others the id.
fn told(problem: Problem, report: Box<gem::Report>, development: bool) -> Problem {
    let mut problem = problem.with("id", report.id.as_str());
    if development {
        problem = problem
            .with("place", report.place.clone())
            .with("stack", report.stack.clone())
            .with("causes", report.causes.clone())
            .with("code_frame", report.code.as_ref().map(gem::CodeFrame::to_json))
            .with("handler", report.handler.as_str())
            .with("view", report.view.0);
    }
    problem.more().failed = Some((report, development));
    problem
}

#[cfg(test)]
mod tests {
    use super::*;
    use repository::CommitNumber;

    fn fault(message: &str) -> gem::Fault {
        gem::Fault::new(message, CommitNumber(0))
    }

    #[test]
    fn a_failures_message_is_for_developers_only() {
        let failure = gem::Failure::Handler(fault("app.js:1:2: secret is undefined"));
        let shown = failed(failure.clone(), true);
        assert!(shown.detail.contains("secret"));
        assert_eq!(shown.kind.row().status, 500);
        assert!(!failed(failure, false).detail.contains("secret"));
    }

    #[test]
    fn each_failure_has_a_problem_of_its_own() {
        let kind = |failure| failed(failure, false).kind;
        assert_eq!(kind(gem::Failure::CpuLimit(fault(""))), Kind::CpuLimit);
        assert_eq!(kind(gem::Failure::HeapLimit(fault(""))), Kind::HeapLimit);
        assert_eq!(kind(gem::Failure::Unavailable(fault(""))), Kind::Unavailable);
        for failure in [
            gem::Failure::Handler(fault("")),
            gem::Failure::CpuLimit(fault("")),
            gem::Failure::HeapLimit(fault("")),
            gem::Failure::StackLimit(fault("")),
            gem::Failure::DocumentsLimit(fault("")),
            gem::Failure::ReplyLimit(fault("")),
            gem::Failure::Duplicate(fault("")),
            gem::Failure::Busy(fault("")),
            gem::Failure::Unavailable(fault("")),
        ] {
            let kept = failure.problem();
            let row = failed(failure, false).kind.row();
            assert_eq!(kept, (row.status, row.name), "what is kept is what is told");
        }
    }
}
