//! The request, for `request.js` and `turn.js`.

use super::Natives;
use crate::body::BodyError;
use crate::multipart::{Content, Part};
use crate::reply::Answer;
use crate::turn::{Turn, TurnError};
use rquickjs::{Array, Ctx, Result, String as JsString, TypedArray};

impl<'js> Natives<'js, '_> {
    pub(super) fn request(&self) -> Result<()> {
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
        self.add("headers", move |ctx: Ctx<'js>| slot.call(&ctx, |turn| Ok(headers(turn))))?;
        let slot = self.slot.clone();
        self.add("params", move |ctx: Ctx<'js>| {
            slot.call(&ctx, |turn| Ok(flat(turn.params().iter().map(|(n, v)| (&**n, v.clone())))))
        })?;
        let slot = self.slot.clone();
        self.add("query", move |ctx: Ctx<'js>| {
            slot.call(&ctx, |turn| Ok(flat(turn.query()?.into_iter())))
        })?;
        let slot = self.slot.clone();
        self.add("ending", move |ctx: Ctx<'js>| {
            ending(&ctx, slot.call(&ctx, |turn| Ok(turn.end_answer()))?)
        })
    }

    pub(super) fn bodies(&self) -> Result<()> {
        let slot = self.slot.clone();
        self.add("text", move |ctx: Ctx<'js>| {
            slot.call(&ctx, |turn| Ok(turn.body_text()?.to_owned()))
        })?;
        let slot = self.slot.clone();
        self.add("json", move |ctx: Ctx<'js>| {
            slot.call(&ctx, |turn| Ok(turn.body_json()?.to_owned()))
        })?;
        let slot = self.slot.clone();
        self.add("body", move |ctx: Ctx<'js>| {
            let body = slot.call(&ctx, |turn| Ok(turn.request().body.clone()))?;
            TypedArray::<u8>::new_copy(ctx, &body[..])
        })?;
        let slot = self.slot.clone();
        self.add("form", move |ctx: Ctx<'js>| {
            let parts = slot.call(&ctx, Turn::form)?;
            fields(&ctx, parts)
        })?;
        let slot = self.slot.clone();
        self.add("file", move |ctx: Ctx<'js>, number: usize| {
            let file = slot.call(&ctx, |turn| Ok(turn.file(number).to_vec()))?;
            TypedArray::<u8>::new(ctx, file)
        })?;
        let slot = self.slot.clone();
        self.add("fileText", move |ctx: Ctx<'js>, number: usize| {
            let not_utf8 = |_| TurnError::Body(BodyError::NotUtf8);
            slot.call(&ctx, |turn| String::from_utf8(turn.file(number).to_vec()).map_err(not_utf8))
        })
    }
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

/// All header fields, each name once.
fn headers(turn: &Turn) -> Vec<String> {
    let mut names: Vec<&str> =
        turn.request().headers.iter().map(|(name, _)| name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    flat(names.into_iter().map(|name| (name, header(turn, name).unwrap_or_default())))
}

/// Names and values in turn; of a file its number, name, media type and size.
fn fields<'js>(ctx: &Ctx<'js>, parts: Vec<Part>) -> Result<Array<'js>> {
    let list = Array::new(ctx.clone())?;
    let mut files = 0;
    for (at, part) in parts.into_iter().enumerate() {
        list.set(2 * at, part.name)?;
        match part.content {
            Content::Text(text) => list.set(2 * at + 1, text)?,
            Content::File { name, media_type, place } => {
                let file = Array::new(ctx.clone())?;
                file.set(0, files)?;
                file.set(1, name)?;
                file.set(2, media_type)?;
                file.set(3, place.len())?;
                list.set(2 * at + 1, file)?;
                files += 1;
            }
        }
    }
    Ok(list)
}

/// As `answer` in `reply.js` gives it.
fn ending<'js>(ctx: &Ctx<'js>, answer: Answer) -> Result<Array<'js>> {
    let (types, fields): (Vec<_>, Vec<_>) =
        answer.headers.into_iter().partition(|(name, _)| name == "content-type");
    let parts = Array::new(ctx.clone())?;
    parts.set(0, answer.status)?;
    parts.set(1, types.into_iter().next().map(|(_, value)| value))?;
    parts.set(2, JsString::from_str(ctx.clone(), &String::from_utf8_lossy(&answer.body))?)?;
    parts.set(3, flat(fields.into_iter()))?;
    Ok(parts)
}
