//! The clock, randomness and the log, and checks of what an application names.

use super::{Natives, Slot, throw};
use crate::limits::LOG_RECORD_BYTES_MAX;
use crate::reply::check_field;
use crate::route::Pattern;
use crate::thrown::cut;
use crate::turn::{Turn, TurnError, collection};
use rquickjs::{Ctx, Result};
use std::time::{SystemTime, UNIX_EPOCH};

impl<'js> Natives<'js, '_> {
    pub(super) fn checks(&self) -> Result<()> {
        self.add("checkCollection", |ctx: Ctx<'js>, name: String| {
            collection(&name).map(drop).map_err(|error| throw(&ctx, error))
        })?;
        self.add("checkPattern", |ctx: Ctx<'js>, pattern: String| {
            Pattern::parse(&pattern).map(drop).map_err(|error| throw(&ctx, error))
        })?;
        self.add("checkField", |ctx: Ctx<'js>, name: String, value: String| {
            check_field(&name, &value).map_err(|error| throw(&ctx, error))
        })?;
        self.add("escape", |text: String| escape(&text))
    }

    pub(super) fn surroundings(&self) -> Result<()> {
        let slot = self.slot.clone();
        self.add("time", move || time(&slot))?;
        let slot = self.slot.clone();
        self.add("random", move |ctx: Ctx<'js>| random(&ctx, &slot))?;
        let slot = self.slot.clone();
        self.add("log", move |level: String, text: String| log(&slot, &level, text))
    }
}

/// `text` with the characters that mean something in HTML as entities, as `html.js` has them.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len() + text.len() / 4);
    let mut copied = 0;
    for (at, byte) in text.bytes().enumerate() {
        let entity = match byte {
            b'&' => "&amp;",
            b'<' => "&lt;",
            b'>' => "&gt;",
            b'"' => "&quot;",
            b'\'' => "&#39;",
            _ => continue,
        };
        escaped.push_str(&text[copied..at]);
        escaped.push_str(entity);
        copied = at + 1;
    }
    escaped.push_str(&text[copied..]);
    escaped
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
