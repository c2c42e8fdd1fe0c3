//! Ranges and queries, for `results.js`.

use super::documents::{meta, value};
use super::{Natives, Slot, throw};
use crate::turn::{Bounds, Documents, Question};
use query::{Bound, Query};
use repository::{IndexValue, MediaType};
use rquickjs::{Array, Ctx, Function, Object, Result, Value};

/// What is wanted of each document.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wanted {
    Keys,
    /// Key and value.
    Entries,
    /// Key, value, and what is known beside it.
    Documents,
}

impl<'js> Natives<'js, '_> {
    pub(super) fn results(&self) -> Result<()> {
        let slot = self.slot.clone();
        self.add("openRange", move |ctx: Ctx<'js>, collection, bounds: Object<'js>| {
            let bounds = read_bounds(&bounds)?;
            slot.call(&ctx, |turn| turn.open_range(collection, &bounds))
        })?;
        let slot = self.slot.clone();
        let next = move |ctx: Ctx<'js>, range, limit, wanted: String, revive: Function<'js>| {
            let slot = &slot;
            let documents = slot.call(&ctx, |turn| turn.next_of_range(range, limit))?;
            let out = Array::new(ctx)?;
            Listing { slot, wanted: wanted_of(&wanted), revive, query: None }
                .append(&documents, out)
        };
        self.add("nextOfRange", next)?;
        let slot = self.slot.clone();
        self.add("countRange", move |ctx: Ctx<'js>, range| {
            slot.call(&ctx, |turn| turn.count_range(range))
        })?;
        let slot = self.slot.clone();
        let find = move |ctx: Ctx<'js>,
                         collection: usize,
                         question: Object<'js>,
                         wanted: String,
                         revive: Function<'js>| {
            let question = read_question(&ctx, &question)?;
            let (found, query) = slot.call(&ctx, |turn| turn.find(collection, &question))?;
            let out = Array::new(ctx)?;
            out.set(0, found.next)?;
            Listing { slot: &slot, wanted: wanted_of(&wanted), revive, query: Some(query) }
                .append(&found.documents, out)
        };
        self.add("find", find)?;
        let slot = self.slot.clone();
        self.add("countFound", move |ctx: Ctx<'js>, collection, question: Object<'js>| {
            let question = read_question(&ctx, &question)?;
            slot.call(&ctx, |turn| turn.count_found(collection, &question))
        })
    }
}

fn wanted_of(name: &str) -> Wanted {
    match name {
        "keys" => Wanted::Keys,
        "documents" => Wanted::Documents,
        _ => Wanted::Entries,
    }
}

fn read_bounds(bounds: &Object<'_>) -> Result<Bounds> {
    Ok(Bounds {
        from: bounds.get("from")?,
        after: bounds.get("after")?,
        to: bounds.get("to")?,
        before: bounds.get("before")?,
        prefix: bounds.get("prefix")?,
        reverse: bounds.get::<_, Option<bool>>("reverse")?.unwrap_or(false),
    })
}

fn read_question<'js>(ctx: &Ctx<'js>, question: &Object<'js>) -> Result<Question> {
    let values: Array = question.get("values")?;
    let values = values.iter::<Value>().map(|value| bound(ctx, &value?)).collect::<Result<_>>()?;
    Ok(Question {
        pieces: question.get("pieces")?,
        values,
        order: question.get("order")?,
        limit: question.get("limit")?,
        after: question.get("after")?,
        fields: question.get("fields")?,
    })
}

/// A value of a filter; a date is an array of its text and its milliseconds.
fn bound<'js>(ctx: &Ctx<'js>, value: &Value<'js>) -> Result<Bound> {
    if let Some(text) = value.as_string() {
        return Ok(Bound::Value(IndexValue::Text(text.to_string()?)));
    }
    if let Some(date) = value.as_array() {
        return Ok(Bound::Date { text: date.get(0)?, ms: date.get(1)? });
    }
    Ok(Bound::Value(match (value.as_number(), value.as_bool()) {
        (Some(number), _) => IndexValue::Number(number),
        (None, Some(is_true)) => IndexValue::Boolean(is_true),
        (None, None) if value.is_null() => IndexValue::Null,
        (None, None) => return Err(throw(ctx, "no value of a filter")),
    }))
}

/// How documents are given: one after the other, with as many elements each.
struct Listing<'a, 'js> {
    slot: &'a Slot,
    wanted: Wanted,
    revive: Function<'js>,
    /// If only some members are given, it says which.
    query: Option<Query>,
}

impl<'js> Listing<'_, 'js> {
    fn append(&self, documents: &Documents, out: Array<'js>) -> Result<Array<'js>> {
        let ctx = out.ctx().clone();
        let mut at = out.len();
        for (key, document) in documents {
            out.set(at, key.as_str())?;
            at += 1;
            if self.wanted == Wanted::Keys {
                continue;
            }
            // What is no JSON has no value; its bytes are got one by one.
            let text = match (&document.media_type, &self.query) {
                (MediaType::Other(_), _) => None,
                (MediaType::Json, None) => Some(document.body.clone()),
                (MediaType::Json, Some(query)) => {
                    let text = std::str::from_utf8(&document.body)?;
                    query.project(text).map(Into::into)
                }
            };
            out.set(at, value((&ctx, self.slot), text, &self.revive)?)?;
            at += 1;
            if self.wanted == Wanted::Documents {
                out.set(at, meta(&ctx, document)?)?;
                at += 1;
            }
        }
        Ok(out)
    }
}
