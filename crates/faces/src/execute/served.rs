//! Operations on documents whose collections have services. They run on a gem's thread: each is
//! staged as ever, and the application's functions are asked about what was staged, in the same
//! transaction. `docs/services.md` says what functions see and what becomes of their answers.

use super::refusal::Refusal;
use super::stage::{self, Mode, step as plain_step};
use super::work::Work;
use super::{
    ELSEWHERE, End, RunResult, Staged, once, past, reports_conflicts, run_reporting, transact,
};
use crate::operation::{Granted, Operation, Outcome, Place, Returns, Version, Written};
use crate::problem::{Kind, Problem};
use crate::reactor::Reactor;
use bytes::Bytes;
use gem::{
    CallError, Caller, Errand, FailureKind, Fault, Host, Method, Served, Service, Services, Step,
};
use parking_lot::Mutex;
use repository::{CommitNumber, Document, MediaType, RunError, Transaction};
use std::sync::Arc;
use tokio::sync::oneshot;

/// Whether functions are asked about it.
pub(super) fn is_asked(operation: &Operation, services: &Services) -> bool {
    let of = |place: &Place| services.get(&place.collection).unwrap_or_default();
    match operation {
        Operation::Get { place, .. }
        | Operation::Past { place, .. }
        | Operation::Versions { place, .. } => of(place).has(Method::Get),
        Operation::Restore { place, .. }
        | Operation::Put { place, .. }
        | Operation::Patch { place, .. }
        | Operation::Delete { place, .. } => services.get(&place.collection).is_some(),
        Operation::Create { collection, .. } => services.get(collection).is_some(),
        Operation::Query(query) => {
            services.get(query.collection()).is_some_and(|service| service.has(Method::Get))
        }
        Operation::Transact(list) => list.steps.iter().any(|step| is_asked(step, services)),
        Operation::Once(once) => is_asked(&once.operation, services),
        Operation::ListCollections(_)
        | Operation::DescribeCollection(_)
        | Operation::GetSettings { .. }
        | Operation::End { .. }
        | Operation::Configure { .. } => false,
    }
}

/// Runs `operation` on a gem.
pub(super) async fn run(
    operation: Operation,
    caller: Caller,
    reactor: &Reactor,
) -> Result<RunResult, Problem> {
    // A list would show what `onGet` hides, and a filter would tell of it; so would the past.
    let is_shown = !matches!(
        operation,
        Operation::Query(_) | Operation::Past { .. } | Operation::Versions { .. }
    );
    if let Some(collection) = operation.collection().filter(|_| !is_shown) {
        let detail = format!(
            "documents of {collection} are shown one at a time, and as they are: its service \
             shapes what is read"
        );
        return Err(Problem::new(Kind::ServiceRefused, detail).with_status(403));
    }
    let pool = reactor.pool.as_ref().ok_or_else(Problem::not_found)?;
    let (tell, told) = oneshot::channel();
    let errand = Asked { operation, caller: Some(caller), tell: Tell::new(tell) };
    if pool.submit_errand(Box::new(errand)).is_err() {
        return Err(Problem::new(Kind::Busy, "every worker is busy and the queue is full"));
    }
    let gone = |_| Problem::new(Kind::Unavailable, "the worker ended without a reply");
    told.await.map_err(gone)
}

/// An operation on its way.
struct Asked {
    operation: Operation,
    /// There until it is called for the first time.
    caller: Option<Caller>,
    tell: Tell,
}

/// The way back to the client, for one answer: that of the errand, or of who answers for a gem that
/// was lost with it.
#[derive(Clone)]
struct Tell(Arc<Mutex<Option<oneshot::Sender<RunResult>>>>);

impl Tell {
    fn new(sender: oneshot::Sender<RunResult>) -> Self {
        Self(Arc::new(Mutex::new(Some(sender))))
    }

    fn send(&self, result: RunResult) {
        if let Some(sender) = self.0.lock().take() {
            // Nobody listens if the client has gone.
            let _ = sender.send(result);
        }
    }
}

impl Errand for Asked {
    fn run(&mut self, host: &Host<'_>) -> Step {
        host.start(self.caller.take());
        let result = perform(host, &self.operation);
        if let Err(End::Refused(RunError::Body { error: Refusal::Waits, wait_for })) = &result {
            return Step::Waits(*wait_for);
        }
        let step = if result.is_ok() { Step::Done } else { Step::Refused };
        self.tell.send(result);
        step
    }

    fn answerer(&self) -> Option<gem::Respond> {
        let tell = self.tell.clone();
        Some(Box::new(move |outcome| {
            if let Err(failure) = outcome {
                tell.send(Err(End::Failed(failure)));
            }
        }))
    }

    fn fail(self: Box<Self>, failure: gem::Failure) {
        self.tell.send(Err(End::Failed(failure)));
    }
}

fn perform(host: &Host<'_>, operation: &Operation) -> RunResult {
    let mut run = |tx: Transaction| host.run(tx, |served| body(operation, served));
    match reports_conflicts(operation) {
        true => run_reporting(host.repository(), &mut run),
        false => host.repository().run_owned(run).map_err(End::Refused),
    }
}

fn body(operation: &Operation, served: &mut Served<'_>) -> Result<Staged, Refusal> {
    let Operation::Once(named) = operation else {
        return Ok(Staged { outcome: stage(operation, served)?, earlier: None });
    };
    if let Some(known) = once::known(named, served.transaction())? {
        return Ok(known);
    }
    let outcome = stage(&named.operation, served)?;
    once::remember(named, outcome, served.transaction())
}

fn stage(operation: &Operation, served: &mut Served<'_>) -> Result<Outcome, Refusal> {
    let work = Work::new(ELSEWHERE);
    match operation {
        Operation::Transact(list) => {
            transact::begin(list, served.transaction())?;
            let mode = Mode { work: &work, is_listed: true };
            transact::perform(list, |operation| step(operation, served, mode))
        }
        operation if operation.is_on_documents() => {
            stage::check_create(operation)?;
            step(operation, served, Mode { work: &work, is_listed: false })
        }
        operation => stage::stage(operation, served.transaction(), ELSEWHERE),
    }
}

/// One operation on one document, with what its collection's service says.
fn step(
    operation: &Operation,
    served: &mut Served<'_>,
    mode: Mode<'_>,
) -> Result<Outcome, Refusal> {
    let service = operation.collection().map(|name| served.service(name)).unwrap_or_default();
    match operation {
        _ if service == Service::default() => plain_step(operation, served.transaction(), mode),
        Operation::Get { place, preconditions, acceptable } if service.has(Method::Get) => {
            let found = stage::found(served.transaction(), place, acceptable.as_deref())?;
            let shaped = shape(served, place, &found)?;
            stage::get_anew(shaped, preconditions, mode)
        }
        Operation::Restore { place, from, preconditions, returns } => {
            let how = (preconditions, *returns);
            let put = past::restored(served.transaction(), place, *from, how)?;
            step(&put, served, mode)
        }
        Operation::Put { place, content, returns, .. } => {
            check_media_type(&content.media_type, service, Method::Put)?;
            let write = Write { place, service, method: Method::Put, returns: *returns };
            write.perform(operation, served, mode)
        }
        Operation::Patch { place, returns, .. } => {
            let write = Write { place, service, method: Method::Patch, returns: *returns };
            write.perform(operation, served, mode)
        }
        Operation::Create { collection, content, name, returns, .. } => {
            check_media_type(&content.media_type, service, Method::Post)?;
            let key = stage::free_key(served.transaction(), collection, name)?;
            let place = &Place { collection: collection.clone(), key };
            // An expired document does not take its key; whoever takes it lets it go first.
            before(served, place, service)?;
            let created = stage::create_at(served.transaction(), place, (content, *returns))?;
            let write = Write { place, service, method: Method::Post, returns: *returns };
            write.ask(served, None, created).map(Outcome::Written)
        }
        Operation::Delete { place, .. } => {
            let before = before(served, place, service)?;
            let outcome = plain_step(operation, served.transaction(), mode)?;
            if let Some(before) = before.filter(|_| service.has(Method::Delete)) {
                ask(served, place, Method::Delete, (Some(&before), None))?;
            }
            Ok(outcome)
        }
        _ => plain_step(operation, served.transaction(), mode),
    }
}

/// A write of one document.
struct Write<'a> {
    place: &'a Place,
    service: Service,
    method: Method,
    returns: Returns,
}

impl Write<'_> {
    fn perform(
        &self,
        operation: &Operation,
        served: &mut Served<'_>,
        mode: Mode<'_>,
    ) -> Result<Outcome, Refusal> {
        let before = before(served, self.place, self.service)?;
        match plain_step(operation, served.transaction(), mode)? {
            Outcome::Written(mut written) => {
                written.is_new = before.is_none();
                self.ask(served, before.as_deref(), written).map(Outcome::Written)
            }
            other => Ok(other),
        }
    }

    /// Asks about what was staged, and stages the answer.
    fn ask(
        &self,
        served: &mut Served<'_>,
        before: Option<&Document>,
        mut written: Written,
    ) -> Result<Written, Refusal> {
        let Place { collection, key } = self.place;
        let Some(mut staged) = served.transaction().get(collection, key)? else {
            // Merge operations that make nothing of nothing.
            written.is_new = false;
            return Ok(written);
        };
        if self.service.has(self.method) {
            let asked = (before, Some(&*staged));
            let body = ask(served, self.place, self.method, asked)?.unwrap_or_default();
            let tx = served.transaction();
            if body != staged.body {
                tx.put(collection, key, MediaType::Json, body, staged.expires)?;
                staged = tx.get(collection, key)?.ok_or(Refusal::NotFound)?;
            }
            // The function has looked at all of it.
            tx.pin(collection, key);
        }
        written.version = match staged.version {
            CommitNumber(0) => Version::Own,
            unchanged => Version::Known(unchanged),
        };
        if self.returns == Returns::Representation {
            written.shown = self.shown(served, staged)?;
            written.granted = written.shown.as_ref().map(|_| Granted::Representation);
        }
        Ok(written)
    }

    /// The document as a GET would show it; none if that would be refused.
    fn shown(
        &self,
        served: &mut Served<'_>,
        staged: Arc<Document>,
    ) -> Result<Option<Arc<Document>>, Refusal> {
        if !self.service.has(Method::Get) {
            return Ok(Some(staged));
        }
        match shape(served, self.place, &staged) {
            Ok(shaped) => Ok(Some(shaped)),
            Err(Refusal::Service { .. }) => Ok(None),
            Err(other) => Err(other),
        }
    }
}

/// What is at the place before it is written. A document that has expired and still waits for
/// `onExpire` gets that now, since afterwards it would be gone.
fn before(
    served: &mut Served<'_>,
    place: &Place,
    service: Service,
) -> Result<Option<Arc<Document>>, Refusal> {
    let Place { collection, key } = place;
    let found = served.transaction().get(collection, key)?;
    if found.is_some() || !service.has(Method::Expire) {
        return Ok(found);
    }
    if let Some(expired) = served.transaction().expired(collection, key)? {
        ask(served, place, Method::Expire, (Some(&expired), None))?;
        served.transaction().delete(collection, key)?;
    }
    Ok(None)
}

/// The document as its service shows it.
fn shape(
    served: &mut Served<'_>,
    place: &Place,
    document: &Arc<Document>,
) -> Result<Arc<Document>, Refusal> {
    let body = ask(served, place, Method::Get, (Some(document), None))?.unwrap_or_default();
    Ok(Arc::new(Document { body, ..Document::clone(document) }))
}

fn ask(
    served: &mut Served<'_>,
    place: &Place,
    method: Method,
    (doc, body): (Option<&Document>, Option<&Document>),
) -> Result<Option<Bytes>, Refusal> {
    let json = |document: Option<&Document>| match document {
        Some(Document { media_type: MediaType::Other(name), .. }) => {
            let Place { collection, key } = place;
            let message = format!(
                "db.{collection} \"{key}\" holds {name}; services are asked about \
                 JSON documents only"
            );
            Err(Refusal::Call(FailureKind::Handler.with(Fault::new(message, CommitNumber(0)))))
        }
        document => Ok(document.map(|document| document.body.clone())),
    };
    let (doc, body) = (json(doc)?, json(body)?);
    let at = (&place.collection, &place.key);
    served.call(at, method, (doc.as_ref(), body.as_ref())).map_err(|error| match error {
        CallError::Refused { status, message } => Refusal::Service { status, message },
        CallError::Waits => Refusal::Waits,
        CallError::Failed(failure) => Refusal::Call(failure),
    })
}

/// Functions are asked about JSON, so nothing else may pass them by.
fn check_media_type(
    media_type: &MediaType,
    service: Service,
    method: Method,
) -> Result<(), Refusal> {
    match media_type {
        MediaType::Other(name) if service.has(method) => {
            Err(Refusal::ServiceNeedsJson { got: name.to_string() })
        }
        _ => Ok(()),
    }
}
