//! The cache, for `cache.js`: values are texts or bytes there, times milliseconds since 1970.

use super::{Natives, Slot, throw};
use crate::base64;
use crate::cached::{Done, Effect};
use crate::turn::Fetched;
use cache::Expires;
use rquickjs::function::Opt;
use rquickjs::{Array, Ctx, IntoJs, Result, String as JsString, TypedArray, Value};

impl<'js> Natives<'js, '_> {
    pub(super) fn cache(&self) -> Result<()> {
        self.cache_reads()?;
        self.cache_writes()?;
        self.cache_at_once()?;
        self.cache_fetches()
    }

    fn cache_reads(&self) -> Result<()> {
        let slot = self.slot.clone();
        self.add("cacheText", move |ctx: Ctx<'js>, key: String| {
            let value = slot.call(&ctx, |turn| turn.cache_get(&key))?;
            value.map(|value| text(&ctx, &key, &value)).transpose()
        })?;
        let slot = self.slot.clone();
        self.add("cacheBytes", move |ctx: Ctx<'js>, key: String| {
            let value = slot.call(&ctx, |turn| turn.cache_get(&key))?;
            value.map(|value| TypedArray::<u8>::new_copy(ctx, value)).transpose()
        })
    }

    fn cache_writes(&self) -> Result<()> {
        let slot = self.slot.clone();
        let set = move |ctx: Ctx<'js>,
                        key: String,
                        value: String,
                        is_base64: bool,
                        expires_ms: Opt<Option<f64>>| {
            let value = bytes(&ctx, value, is_base64)?;
            slot.call(&ctx, |turn| turn.cache_set(&key, &value, expires(expires_ms)))
        };
        self.add("cacheSet", set)?;
        let slot = self.slot.clone();
        self.add("cacheDelete", move |ctx: Ctx<'js>, key: String| {
            slot.call(&ctx, |turn| turn.cache_delete(&key))
        })
    }

    fn cache_at_once(&self) -> Result<()> {
        let slot = self.slot.clone();
        let gets = move |ctx: Ctx<'js>, key: String| {
            let done = perform(&ctx, &slot, Effect::Gets { key: key.clone() })?;
            let Done::Value(Some((value, cas))) = done else { return Ok(None) };
            let found = Array::new(ctx.clone())?;
            found.set(0, text(&ctx, &key, &value)?)?;
            found.set(1, cas.to_string())?;
            Ok::<_, rquickjs::Error>(Some(found))
        };
        self.add("cacheGets", gets)?;
        let slot = self.slot.clone();
        let add = move |ctx: Ctx<'js>,
                        key: String,
                        value: String,
                        is_base64: bool,
                        expires_ms: Opt<Option<f64>>| {
            let value = bytes(&ctx, value, is_base64)?;
            let effect = Effect::Add { key, value, expires: expires(expires_ms) };
            perform(&ctx, &slot, effect).map(was)
        };
        self.add("cacheAdd", add)?;
        let slot = self.slot.clone();
        let cas = move |ctx: Ctx<'js>,
                        key: String,
                        value: String,
                        is_base64: bool,
                        cas: String,
                        expires_ms: Opt<Option<f64>>| {
            let value = bytes(&ctx, value, is_base64)?;
            let cas = cas.parse().map_err(|_| throw(&ctx, "cache.cas: this is no cas of gets"))?;
            let effect = Effect::Cas { key, value, expires: expires(expires_ms), cas };
            perform(&ctx, &slot, effect).map(was)
        };
        self.add("cacheCas", cas)?;
        let slot = self.slot.clone();
        let touch = move |ctx: Ctx<'js>, key: String, expires_ms: Opt<Option<f64>>| {
            perform(&ctx, &slot, Effect::Touch { key, expires: expires(expires_ms) }).map(was)
        };
        self.add("cacheTouch", touch)?;
        let slot = self.slot.clone();
        let increment = move |ctx: Ctx<'js>,
                              key: String,
                              delta: f64,
                              initial: Option<f64>,
                              expires_ms: Opt<Option<f64>>| {
            // They are whole and exact, which was checked there.
            let initial = initial.map(|number| (number as u64, expires(expires_ms)));
            let (delta, is_decrement) = (delta.abs() as u64, delta < 0.0);
            let effect = Effect::Increment { key, delta, is_decrement, initial };
            match perform(&ctx, &slot, effect)? {
                Done::Number(number) => Ok(number.map(|number| number as f64)),
                _ => Ok::<_, rquickjs::Error>(None),
            }
        };
        self.add("cacheIncrement", increment)
    }

    fn cache_fetches(&self) -> Result<()> {
        let slot = self.slot.clone();
        // A text; true: the handler is to compute it; null: the same, and it is not stored; false:
        // it has to wait.
        let fetch = move |ctx: Ctx<'js>, key: String, stale_ms: f64| {
            let stale = (stale_ms / 1e3).ceil() as u32;
            match slot.call(&ctx, |turn| turn.cache_fetch(&key, stale))? {
                Fetched::Value(value) => Ok(text(&ctx, &key, &value)?.into_value()),
                Fetched::Fill => true.into_js(&ctx),
                Fetched::Compute => Ok(Value::new_null(ctx)),
                Fetched::Wait => false.into_js(&ctx),
            }
        };
        self.add("cacheFetch", fetch)?;
        let slot = self.slot.clone();
        self.add("cacheAbandon", move |ctx: Ctx<'js>, key: String| {
            slot.call(&ctx, |turn| {
                turn.cache_abandon(&key);
                Ok(())
            })
        })
    }
}

fn perform(ctx: &Ctx<'_>, slot: &Slot, effect: Effect) -> Result<Done> {
    match slot.call(ctx, |turn| turn.cache_perform(effect))? {
        Done::Refused(why) => Err(throw(ctx, why)),
        done => Ok(done),
    }
}

fn was(done: Done) -> bool {
    done == Done::Was(true)
}

fn expires(ms: Opt<Option<f64>>) -> Expires {
    ms.0.flatten().map_or(Expires::NEVER, |ms| Expires::at((ms / 1e3).ceil() as i64))
}

fn text<'js>(ctx: &Ctx<'js>, key: &str, value: &[u8]) -> Result<JsString<'js>> {
    let text = std::str::from_utf8(value).map_err(|_| {
        throw(ctx, format!("cache \"{key}\": it holds bytes that are no text; read it by getBytes"))
    })?;
    JsString::from_str(ctx.clone(), text)
}

/// What is to be stored: a text, or bytes in Base64.
fn bytes(ctx: &Ctx<'_>, text: String, is_base64: bool) -> Result<Vec<u8>> {
    if !is_base64 {
        return Ok(text.into_bytes());
    }
    base64::decode(&text).ok_or_else(|| throw(ctx, "expected base64"))
}
