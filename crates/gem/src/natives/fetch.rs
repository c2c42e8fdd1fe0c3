//! Requests to other servers: what `fetch.js` calls.

use super::asides::ask;
use super::{Natives, throw};
use crate::aside::fetch::{Fetched, Redirect};
use crate::base64;
use crate::reply::check_field;
use crate::turn::Call;
use rquickjs::{Array, ArrayBuffer, Ctx, IntoJs, Result, Value};
use std::time::Duration;

impl<'js> Natives<'js, '_> {
    pub(super) fn fetches(&self) -> Result<()> {
        let slot = self.slot.clone();
        self.add("inTask", move || {
            slot.with(|turn| Ok(turn.task_name().is_some())).unwrap_or(false)
        })?;
        self.add("bytesOfText", |ctx: Ctx<'js>, text: String| ArrayBuffer::new(ctx, text))?;
        let slot = self.slot.clone();
        let fetch = move |ctx: Ctx<'js>,
                          target: Vec<String>,
                          fields: Vec<String>,
                          body: String,
                          is_base64: bool,
                          timeout_ms: f64| {
            let mut target = target.into_iter();
            let mut word = || target.next().unwrap_or_default();
            let (method, url, redirect) = (word(), word(), word());
            let redirect = match redirect.as_str() {
                "manual" => Redirect::Manual,
                "error" => Redirect::Error,
                _ => Redirect::Follow,
            };
            let headers = headers(&ctx, fields)?;
            // It was checked there, and is whole enough.
            let timeout = Duration::from_millis(timeout_ms as u64);
            let body = if is_base64 { base64::decode(&body) } else { Some(body.into_bytes()) };
            let body = body.ok_or_else(|| throw(&ctx, "expected base64"))?.into();
            let call = Call { method, url, headers, body, timeout, redirect };
            let aside = slot.call(&ctx, |turn| turn.fetch(call))?;
            ask(&ctx, &slot, aside)
        };
        self.add("fetch", fetch)
    }
}

fn headers(ctx: &Ctx<'_>, fields: Vec<String>) -> Result<Vec<(String, String)>> {
    let mut headers = Vec::with_capacity(fields.len() / 2);
    let mut fields = fields.into_iter();
    while let (Some(name), Some(value)) = (fields.next(), fields.next()) {
        check_field(&name, &value).map_err(|error| throw(ctx, error))?;
        if name.eq_ignore_ascii_case("host") {
            return Err(throw(ctx, "the header Host is made of the URL; leave it out"));
        }
        headers.push((name, value));
    }
    Ok(headers)
}

impl<'js> IntoJs<'js> for Fetched {
    fn into_js(self, ctx: &Ctx<'js>) -> Result<Value<'js>> {
        let parts = Array::new(ctx.clone())?;
        parts.set(0, self.status)?;
        let flat = self.headers.into_iter().flat_map(|(name, value)| [name, value]);
        parts.set(1, flat.collect::<Vec<String>>())?;
        parts.set(2, self.url)?;
        // Mostly it is text, and nobody asks for the bytes.
        match std::str::from_utf8(&self.body) {
            Ok(text) => parts.set(3, text)?,
            Err(_) => {
                parts.set(3, String::from_utf8_lossy(&self.body).into_owned())?;
                parts.set(4, ArrayBuffer::new_copy(ctx.clone(), &self.body)?)?;
            }
        }
        Ok(parts.into_value())
    }
}
