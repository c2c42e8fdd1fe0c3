//! The functions that Sarsen's own modules call: the one way from JavaScript to Rust. Each finds
//! the turn that is being served, does one thing, and turns an error into an exception.

use crate::limits::LOG_RECORD_BYTES_MAX;
use crate::reply::check_field;
use crate::route::Pattern;
use crate::thrown::cut;
use crate::turn::{Turn, TurnError, collection};
use bytes::Bytes;
use repository::{ReadError, Transaction};
use rquickjs::function::IntoJsFunc;
use rquickjs::{Ctx, Exception, Function, Object, Result, String as JsString};
use std::cell::RefCell;
use std::fmt::Display;
use std::rc::Rc;
use std::time::{SystemTime, UNIX_EPOCH};

/// The turn that is being served on this engine; `None` between requests and while loading.
#[derive(Clone, Default)]
pub(crate) struct Slot(Rc<RefCell<Option<Turn>>>);

const IN_A_TURN: &str = "a run begins and ends while the slot holds its turn";

impl Slot {
    /// Puts a turn in.
    pub(crate) fn fill(&self, turn: Turn) {
        *self.0.borrow_mut() = Some(turn);
    }

    /// Takes the turn out.
    pub(crate) fn clear(&self) -> Option<Turn> {
        self.0.borrow_mut().take()
    }

    /// Starts a run of the turn on `transaction`.
    pub(crate) fn begin(&self, transaction: Transaction) {
        self.0.borrow_mut().as_mut().expect(IN_A_TURN).begin(transaction);
    }

    /// Ends the run: the transaction, and why the repository could not be read, if so.
    pub(crate) fn end(&self) -> (Transaction, Option<ReadError>) {
        self.0.borrow_mut().as_mut().and_then(Turn::end).expect(IN_A_TURN)
    }

    /// Calls `f` with the turn.
    pub(crate) fn with<T>(
        &self,
        f: impl FnOnce(&mut Turn) -> std::result::Result<T, TurnError>,
    ) -> std::result::Result<T, TurnError> {
        f(self.0.borrow_mut().as_mut().ok_or(TurnError::Over)?)
    }

    fn call<T>(
        &self,
        ctx: &Ctx<'_>,
        f: impl FnOnce(&mut Turn) -> std::result::Result<T, TurnError>,
    ) -> Result<T> {
        self.with(f).map_err(|error| throw(ctx, error))
    }
}

fn throw(ctx: &Ctx<'_>, error: impl Display) -> rquickjs::Error {
    Exception::throw_message(ctx, &error.to_string())
}

/// The object that `native.js` is given.
pub(crate) fn natives<'js>(ctx: &Ctx<'js>, slot: &Slot) -> Result<Object<'js>> {
    let natives = Natives { object: Object::new(ctx.clone())?, slot };
    natives.documents()?;
    natives.session()?;
    natives.request()?;
    natives.checks()?;
    natives.surroundings()?;
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

    fn documents(&self) -> Result<()> {
        let slot = self.slot.clone();
        self.add("get", move |ctx: Ctx<'js>, collection: String, key: String| {
            text(&ctx, slot.call(&ctx, |turn| turn.get(&collection, &key))?)
        })?;
        let slot = self.slot.clone();
        self.add("peek", move |ctx: Ctx<'js>, collection: String, key: String| {
            text(&ctx, slot.call(&ctx, |turn| turn.peek(&collection, &key))?)
        })?;
        let slot = self.slot.clone();
        self.add("put", move |ctx: Ctx<'js>, collection: String, key: String, text: String| {
            slot.call(&ctx, |turn| turn.put(&collection, &key, text))
        })?;
        let slot = self.slot.clone();
        self.add("change", move |ctx: Ctx<'js>, collection: String, key: String, text: String| {
            slot.call(&ctx, |turn| turn.change(&collection, &key, text))
        })?;
        let slot = self.slot.clone();
        self.add("remove", move |ctx: Ctx<'js>, collection: String, key: String| {
            slot.call(&ctx, |turn| turn.remove(&collection, &key))
        })?;
        let slot = self.slot.clone();
        let add = move |ctx: Ctx<'js>, name: String, key: String, path: String, delta: f64| {
            slot.call(&ctx, |turn| turn.add(&name, &key, path, delta))
        };
        self.add("add", add)?;
        let slot = self.slot.clone();
        self.add("newKey", move |ctx: Ctx<'js>| slot.call(&ctx, Turn::new_key))
    }

    fn session(&self) -> Result<()> {
        let slot = self.slot.clone();
        self.add("session", move |ctx: Ctx<'js>| text(&ctx, slot.call(&ctx, Turn::session)?))?;
        let slot = self.slot.clone();
        self.add("saveSession", move |ctx: Ctx<'js>, text: String| {
            slot.call(&ctx, |turn| turn.save_session(text))
        })
    }

    fn request(&self) -> Result<()> {
        let slot = self.slot.clone();
        self.add("method", move |ctx: Ctx<'js>| {
            slot.call(&ctx, |turn| Ok(turn.request().method.clone()))
        })?;
        let slot = self.slot.clone();
        self.add("path", move |ctx: Ctx<'js>| {
            slot.call(&ctx, |turn| Ok(turn.request().path.clone()))
        })?;
        let slot = self.slot.clone();
        self.add("header", move |ctx: Ctx<'js>, name: String| {
            slot.call(&ctx, |turn| Ok(header(turn, &name.to_ascii_lowercase())))
        })?;
        let slot = self.slot.clone();
        self.add("params", move |ctx: Ctx<'js>| {
            slot.call(&ctx, |turn| Ok(flat(turn.params().iter().map(|(n, v)| (&**n, v.clone())))))
        })?;
        let slot = self.slot.clone();
        self.add("query", move |ctx: Ctx<'js>| {
            slot.call(&ctx, |turn| Ok(flat(turn.query()?.into_iter())))
        })?;
        let slot = self.slot.clone();
        self.add("form", move |ctx: Ctx<'js>| {
            slot.call(&ctx, |turn| Ok(flat(turn.form()?.into_iter())))
        })?;
        let slot = self.slot.clone();
        self.add("text", move |ctx: Ctx<'js>| {
            slot.call(&ctx, |turn| Ok(turn.body_text()?.to_owned()))
        })
    }

    fn checks(&self) -> Result<()> {
        self.add("checkCollection", |ctx: Ctx<'js>, name: String| {
            collection(&name).map(drop).map_err(|error| throw(&ctx, error))
        })?;
        self.add("checkPattern", |ctx: Ctx<'js>, pattern: String| {
            Pattern::parse(&pattern).map(drop).map_err(|error| throw(&ctx, error))
        })?;
        self.add("checkField", |ctx: Ctx<'js>, name: String, value: String| {
            check_field(&name, &value).map_err(|error| throw(&ctx, error))
        })
    }

    fn surroundings(&self) -> Result<()> {
        let slot = self.slot.clone();
        self.add("time", move || time(&slot))?;
        let slot = self.slot.clone();
        self.add("random", move |ctx: Ctx<'js>| random(&ctx, &slot))?;
        let slot = self.slot.clone();
        self.add("log", move |level: String, text: String| log(&slot, &level, text))
    }
}

fn text<'js>(ctx: &Ctx<'js>, bytes: Option<Bytes>) -> Result<Option<JsString<'js>>> {
    let Some(bytes) = bytes else { return Ok(None) };
    let text = std::str::from_utf8(&bytes)?;
    JsString::from_str(ctx.clone(), text).map(Some)
}

fn flat(fields: impl Iterator<Item = (impl Into<String>, String)>) -> Vec<String> {
    fields.flat_map(|(name, value)| [name.into(), value]).collect()
}

/// Several fields of one name are one list (RFC 9110 §5.2), but cookies are joined by semicolons.
fn header(turn: &Turn, name: &str) -> Option<String> {
    let values: Vec<&str> = turn.request().header(name).collect();
    let separator = if name == "cookie" { "; " } else { ", " };
    (!values.is_empty()).then(|| values.join(separator))
}

/// Milliseconds since 1970: the view's time; while the application loads, the machine's.
fn time(slot: &Slot) -> f64 {
    let now = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
    slot.with(|turn| turn.time()).map_or_else(|_| now() as f64, |time| time.0 as f64)
}

/// While the application loads there is no request whose randomness it could be.
fn random(ctx: &Ctx<'_>, slot: &Slot) -> Result<f64> {
    match slot.with(Turn::random) {
        Err(TurnError::Over) => {
            let bits = getrandom::u64().map_err(|error| throw(ctx, error))?;
            Ok((bits >> 11) as f64 * (1.0 / (1u64 << 53) as f64))
        }
        drawn => drawn.map_err(|error| throw(ctx, error)),
    }
}

fn log(slot: &Slot, level: &str, text: String) {
    if !slot.with(|turn| Ok(turn.may_log())).unwrap_or(true) {
        return;
    }
    let level = match level {
        "error" => log::Level::Error,
        "warn" => log::Level::Warn,
        "debug" => log::Level::Debug,
        _ => log::Level::Info,
    };
    log::log!(target: "app", level, "{}", cut(text, LOG_RECORD_BYTES_MAX));
}
