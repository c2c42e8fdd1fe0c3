//! The one match: a native operation is executed here, on the reactor; a request for the
//! application goes to a worker and comes back through the gate.

use crate::execute::execute;
use crate::mailbox::Envelope;
use crate::operation::{Executed, Operation};
use crate::problem::{Kind, Problem};
use crate::reactor::Reactor;
use gem::FailureKind;
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
    match failure.kind {
        // The repository says so itself, once; here it would be said for every request.
        FailureKind::Unavailable
        | FailureKind::Busy
        | FailureKind::NoSpace
        | FailureKind::Duplicate
        | FailureKind::CrossSite => {
            log::debug!("a request was refused: {failure}");
        }
        _ => {
            let id = failure.report().map_or("without an id", |report| &report.id);
            log::error!("the application failed ({id}): {failure}");
        }
    }
    let (kind, detail) = match failure.kind {
        FailureKind::Handler => (Kind::HandlerFailed, "nothing was changed"),
        FailureKind::CpuLimit => (Kind::CpuLimit, "it was stopped; nothing was changed"),
        FailureKind::HeapLimit => (Kind::HeapLimit, "it was stopped; nothing was changed"),
        FailureKind::StackLimit => (Kind::StackLimit, "nothing was changed"),
        FailureKind::DocumentsLimit => (Kind::DocumentsLimit, "nothing was changed"),
        FailureKind::ReplyLimit => (Kind::ReplyLimit, "nothing was changed"),
        // It says nothing but what the request says itself.
        FailureKind::CrossSite => return Problem::new(Kind::CrossSite, failure.fault.message),
        FailureKind::Duplicate => (Kind::Duplicate, "nothing was changed"),
        FailureKind::Busy => {
            (Kind::Busy, "the server is behind with its work; nothing was changed")
        }
        FailureKind::NoSpace => {
            (Kind::NoSpace, "the server takes no writes for want of room; nothing was changed")
        }
        FailureKind::Unavailable => (Kind::Unavailable, "nothing was changed"),
    };
    let problem = match development {
        true => Problem::new(kind, failure.to_string()),
        false => Problem::new(kind, detail),
    };
    match failure.fault.report {
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

    fn failure(kind: FailureKind, message: &str) -> gem::Failure {
        kind.with(gem::Fault::new(message, CommitNumber(0)))
    }

    #[test]
    fn a_failures_message_is_for_developers_only() {
        let failure = failure(FailureKind::Handler, "app.js:1:2: secret is undefined");
        let shown = failed(failure.clone(), true);
        assert!(shown.detail.contains("secret"));
        assert_eq!(shown.kind.row().status, 500);
        assert!(!failed(failure, false).detail.contains("secret"));
    }

    #[test]
    fn each_failure_has_a_problem_of_its_own() {
        let told = |kind| failed(failure(kind, ""), false).kind;
        assert_eq!(told(FailureKind::CpuLimit), Kind::CpuLimit);
        assert_eq!(told(FailureKind::HeapLimit), Kind::HeapLimit);
        assert_eq!(told(FailureKind::Unavailable), Kind::Unavailable);
        for kind in [
            FailureKind::Handler,
            FailureKind::CpuLimit,
            FailureKind::HeapLimit,
            FailureKind::StackLimit,
            FailureKind::DocumentsLimit,
            FailureKind::ReplyLimit,
            FailureKind::Duplicate,
            FailureKind::CrossSite,
            FailureKind::Busy,
            FailureKind::NoSpace,
            FailureKind::Unavailable,
        ] {
            let row = told(kind).row();
            assert_eq!(kind.problem(), (row.status, row.name), "what is kept is what is told");
        }
    }
}
