//! The functions that Sarsen's modules for tests call, besides those that a request has.

use super::{Received, Sent, Stage};
use crate::exchange::Request;
use crate::natives::Slot;
use crate::session::Rules;
use crate::turn::Turn;
use bytes::Bytes;
use repository::Outcome;
use rquickjs::function::IntoJsFunc;
use rquickjs::{Array, ArrayBuffer, Ctx, Exception, FromJs, Function, Object, Result, Value};
use std::cell::RefCell;
use std::fmt::Display;
use std::rc::Rc;

/// The stage of the test that runs; `None` between tests.
pub(super) type OnStage = Rc<RefCell<Option<Stage>>>;

/// Adds them to `natives`.
pub(super) fn add(natives: &Object<'_>, slot: &Slot, stage: &OnStage) -> Result<()> {
    let own = Own { natives, stage };
    own.transactions(slot)?;
    own.exchange()?;
    own.clock(slot)
}

struct Own<'js, 'a> {
    natives: &'a Object<'js>,
    stage: &'a OnStage,
}

fn throw(ctx: &Ctx<'_>, why: impl Display) -> rquickjs::Error {
    Exception::throw_message(ctx, &why.to_string())
}

fn with<T>(
    ctx: &Ctx<'_>,
    stage: &OnStage,
    f: impl FnOnce(&mut Stage) -> std::result::Result<T, String>,
) -> Result<T> {
    let no_test = "this can be used in a test, not while the file loads";
    let mut stage = stage.borrow_mut();
    let stage = stage.as_mut().ok_or_else(|| throw(ctx, no_test))?;
    f(stage).map_err(|why| throw(ctx, why))
}

impl<'js> Own<'js, '_> {
    fn add<P>(&self, name: &str, f: impl IntoJsFunc<'js, P> + 'js) -> Result<()> {
        let function = Function::new(self.natives.ctx().clone(), f)?.with_name(name)?;
        self.natives.set(name, function)
    }

    fn transactions(&self, slot: &Slot) -> Result<()> {
        let (stage, own) = (self.stage.clone(), slot.clone());
        self.add("testBegin", move |ctx: Ctx<'js>| {
            let begun = |stage: &mut Stage| stage.repository.begin().map_err(|e| e.to_string());
            let transaction = with(&ctx, &stage, begun)?;
            own.fill(Turn::new(nobody(), Vec::new(), Rules::default()));
            own.begin(transaction);
            rquickjs::Result::Ok(())
        })?;
        let own = slot.clone();
        // Whether it has committed; false is a conflict, or that it was not to.
        self.add("testEnd", move |ctx: Ctx<'js>, commit: bool| {
            let (transaction, unreadable) = own.end();
            own.clear();
            if let Some(error) = unreadable {
                return Err(throw(&ctx, error));
            }
            if !commit {
                return Ok(false);
            }
            let outcome = transaction.commit().map_err(|error| throw(&ctx, error))?;
            match outcome {
                Outcome::Committed(_) | Outcome::Unchanged(_) => Ok(true),
                Outcome::Duplicate(duplicate) => Err(throw(&ctx, duplicate)),
                Outcome::Conflict(_) | Outcome::HeldBack => Ok(false),
            }
        })
    }

    fn exchange(&self) -> Result<()> {
        let stage = self.stage.clone();
        let send = move |ctx: Ctx<'js>,
                         method: String,
                         target: String,
                         fields: Vec<String>,
                         chunks: Array<'js>| {
            let body = joined(&ctx, &chunks)?;
            let sent = Sent { method, target, headers: pairs(fields), body };
            let received = with(&ctx, &stage, |stage| (stage.send)(sent))?;
            reply(&ctx, received)
        };
        self.add("testSend", send)
    }

    fn clock(&self, slot: &Slot) -> Result<()> {
        let stage = self.stage.clone();
        let now = move |ctx: Ctx<'js>| with(&ctx, &stage, |stage| Ok((stage.now)().0 as f64));
        self.add("testNow", now.clone())?;
        let own = slot.clone();
        // Date() in a test says what it says in the application.
        self.add("time", move |ctx: Ctx<'js>| match own.with(|turn| turn.time()) {
            Ok(time) => Ok(time.0 as f64),
            Err(_) => now(ctx),
        })?;
        let stage = self.stage.clone();
        self.add("testAdvance", move |ctx: Ctx<'js>, ms: f64| {
            with(&ctx, &stage, |stage| (stage.advance)(ms as u64))
        })
    }
}

/// A test's transaction is nobody's request.
fn nobody() -> Request {
    Request {
        method: "TEST".to_owned(),
        path: "/".to_owned(),
        query: String::new(),
        headers: Vec::new(),
        body: Bytes::new(),
    }
}

/// A chunk is a text or a list of bytes.
fn joined<'js>(ctx: &Ctx<'js>, chunks: &Array<'js>) -> Result<Vec<u8>> {
    let mut body = Vec::new();
    for chunk in chunks.iter::<Value>() {
        let chunk = chunk?;
        match chunk.as_string() {
            Some(text) => body.extend_from_slice(text.to_string()?.as_bytes()),
            None => body.extend(Vec::<u8>::from_js(ctx, chunk)?),
        }
    }
    Ok(body)
}

fn pairs(flat: Vec<String>) -> Vec<(String, String)> {
    let mut fields = flat.into_iter();
    let mut pairs = Vec::new();
    while let (Some(name), Some(value)) = (fields.next(), fields.next()) {
        pairs.push((name, value));
    }
    pairs
}

fn reply<'js>(ctx: &Ctx<'js>, received: Received) -> Result<Array<'js>> {
    let fields = received.headers.into_iter().flat_map(|(name, value)| [name, value]);
    let parts = Array::new(ctx.clone())?;
    parts.set(0, received.status)?;
    parts.set(1, fields.collect::<Vec<_>>())?;
    parts.set(2, &*String::from_utf8_lossy(&received.body))?;
    parts.set(3, ArrayBuffer::new_copy(ctx.clone(), &received.body)?)?;
    Ok(parts)
}
