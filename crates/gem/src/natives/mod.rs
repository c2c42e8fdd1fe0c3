//! The functions that Sarsen's own modules call: the one way from JavaScript to Rust. Each finds
//! the turn that is being served, does one thing, and turns an error into an exception.

mod asides;
mod assets;
mod cache;
mod cookies;
mod documents;
mod encode;
mod fetch;
mod json;
mod request;
mod results;
mod searches;
mod services;
mod session;
mod surroundings;
mod tasks;

use crate::budget::Budget;
use crate::files::Files;
use crate::turn::{Ended, Turn, TurnError};
use bytes::Bytes;
use repository::Transaction;
use rquickjs::function::IntoJsFunc;
use rquickjs::{Ctx, Exception, Function, Object, Result, String as JsString};
use std::cell::RefCell;
use std::fmt::Display;
use std::rc::Rc;
use std::sync::Arc;

/// The turn that is being served on this engine; `None` between requests and while loading.
#[derive(Clone, Default)]
pub(crate) struct Slot {
    turn: Rc<RefCell<Option<Turn>>>,
    /// The CPU time of what runs on this engine.
    budget: Rc<Budget>,
}

const IN_A_TURN: &str = "a run begins and ends while the slot holds its turn";

impl Slot {
    /// The CPU time of what runs on this engine.
    pub(crate) fn budget(&self) -> Rc<Budget> {
        Rc::clone(&self.budget)
    }

    /// Counts work of a native function, and throws when the request's CPU time is up. What catches
    /// that does not go on for long: the engine looks at the clock, too.
    fn charge(&self, ctx: &Ctx<'_>, bytes: usize) -> Result<()> {
        match self.budget.charge(bytes) {
            true => Err(throw(ctx, "the request's CPU time is up")),
            false => Ok(()),
        }
    }

    /// Puts a turn in.
    pub(crate) fn fill(&self, turn: Turn) {
        *self.turn.borrow_mut() = Some(turn);
    }

    /// Takes the turn out.
    pub(crate) fn clear(&self) -> Option<Turn> {
        self.turn.borrow_mut().take()
    }

    /// Starts a run of the turn on `transaction`.
    pub(crate) fn begin(&self, transaction: Transaction) {
        self.turn.borrow_mut().as_mut().expect(IN_A_TURN).begin(transaction);
    }

    /// Starts a run whose transaction a face has.
    pub(crate) fn begin_run(&self) {
        self.turn.borrow_mut().as_mut().expect(IN_A_TURN).begin_run();
    }

    /// Gives the turn the transaction for one call; `end` takes it back.
    pub(crate) fn lend(&self, transaction: Transaction) {
        self.turn.borrow_mut().as_mut().expect(IN_A_TURN).lend(transaction);
    }

    /// Ends the run: the transaction, and why it has ended in any case, if so.
    pub(crate) fn end(&self) -> (Transaction, Option<Ended>) {
        self.turn.borrow_mut().as_mut().and_then(Turn::end).expect(IN_A_TURN)
    }

    /// Prolongs the session that a run has used, if that is due.
    pub(crate) fn prolong_session(&self) {
        if let Some(turn) = self.turn.borrow_mut().as_mut() {
            turn.prolong_session();
        }
    }

    /// Calls `f` with the turn.
    pub(crate) fn with<T>(
        &self,
        f: impl FnOnce(&mut Turn) -> std::result::Result<T, TurnError>,
    ) -> std::result::Result<T, TurnError> {
        f(self.turn.borrow_mut().as_mut().ok_or(TurnError::Over)?)
    }

    fn call<T>(
        &self,
        ctx: &Ctx<'_>,
        f: impl FnOnce(&mut Turn) -> std::result::Result<T, TurnError>,
    ) -> Result<T> {
        let checked = |turn: &mut Turn| {
            let result = f(turn);
            turn.checked(result)
        };
        self.with(checked).map_err(|error| match error.status() {
            Some(status) => throw_with(ctx, &error, status),
            None => throw(ctx, error),
        })
    }
}

fn throw(ctx: &Ctx<'_>, error: impl Display) -> rquickjs::Error {
    Exception::throw_message(ctx, &error.to_string())
}

/// Throws what is the client's fault, with the status of the reply.
fn throw_with(ctx: &Ctx<'_>, error: &TurnError, status: u16) -> rquickjs::Error {
    let exception = Exception::from_message(ctx.clone(), &error.to_string())
        .and_then(|exception| exception.as_object().set("status", status).map(|()| exception));
    exception.map_or_else(|error| error, Exception::throw)
}

/// The object that `native.js` is given.
pub(crate) fn natives<'js>(ctx: &Ctx<'js>, slot: &Slot, files: Arc<Files>) -> Result<Object<'js>> {
    let natives = Natives { object: Object::new(ctx.clone())?, slot };
    natives.documents()?;
    natives.results()?;
    natives.session()?;
    natives.cookies()?;
    natives.services()?;
    natives.asides()?;
    natives.cache()?;
    natives.tasks()?;
    natives.fetches()?;
    natives.request()?;
    natives.bodies()?;
    natives.json()?;
    natives.searches()?;
    natives.checks()?;
    natives.surroundings()?;
    natives.assets(files)?;
    Ok(natives.object)
}

struct Natives<'js, 'a> {
    object: Object<'js>,
    slot: &'a Slot,
}

impl<'js> Natives<'js, '_> {
    fn add<P>(&self, name: &str, f: impl IntoJsFunc<'js, P> + 'js) -> Result<()> {
        let function = Function::new(self.object.ctx().clone(), f)?.with_name(name)?;
        self.object.set(name, function)
    }
}

fn text<'js>(ctx: &Ctx<'js>, bytes: Option<Bytes>) -> Result<Option<JsString<'js>>> {
    let Some(bytes) = bytes else { return Ok(None) };
    let text = std::str::from_utf8(&bytes)?;
    JsString::from_str(ctx.clone(), text).map(Some)
}
