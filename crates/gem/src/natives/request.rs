//! The request, for `turn.js`.

use super::Natives;
use crate::turn::Turn;
use rquickjs::{Ctx, Result};

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
