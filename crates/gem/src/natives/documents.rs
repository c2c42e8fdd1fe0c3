//! Documents one by one, for `db.js`. It names collections by the number that `open` gave, and
//! documents that were handed out by numbers of its own ("entries").

use super::encode::{Refusal, encode};
use super::json::parse;
use super::{Natives, Slot, text, throw};
use crate::base64;
use crate::turn::{Place, Turn, TurnError};
use bytes::Bytes;
use repository::{CommitNumber, Document, Merge, Timestamp};
use rquickjs::function::Opt;
use rquickjs::{Array, Ctx, Function, IntoJs, Object, Result, TypedArray, Value};

/// What a document is found by: the number of its collection, and its key.
type Named = (usize, String);

impl<'js> Natives<'js, '_> {
    pub(super) fn documents(&self) -> Result<()> {
        self.reads()?;
        self.writes()?;
        self.bytes()?;
        self.merges()
    }

    fn reads(&self) -> Result<()> {
        let slot = self.slot.clone();
        self.add("open", move |ctx: Ctx<'js>, name: String| {
            slot.call(&ctx, |turn| turn.open(&name))
        })?;
        let slot = self.slot.clone();
        let get = move |ctx: Ctx<'js>, entry, collection, key: String, revive: Function<'js>| {
            let text = slot.call(&ctx, |turn| turn.get(entry, place(&(collection, key))))?;
            value((&ctx, &slot), text, &revive)
        };
        self.add("get", get)?;
        let slot = self.slot.clone();
        let peek = move |ctx: Ctx<'js>, collection, key: String, revive: Function<'js>| {
            let text = slot.call(&ctx, |turn| turn.peek(place(&(collection, key))))?;
            value((&ctx, &slot), text, &revive)
        };
        self.add("peek", peek)?;
        let slot = self.slot.clone();
        self.add("has", move |ctx: Ctx<'js>, collection, key: String| {
            slot.call(&ctx, |turn| turn.has(place(&(collection, key))))
        })?;
        let slot = self.slot.clone();
        self.add("meta", move |ctx: Ctx<'js>, collection, key: String| {
            let document = slot.call(&ctx, |turn| turn.look_at(place(&(collection, key))))?;
            document.map(|document| meta(&ctx, &document)).transpose()
        })?;
        self.texts()?;
        let slot = self.slot.clone();
        let forget = move |ctx: Ctx<'js>, entry: usize| {
            slot.call(&ctx, |turn| {
                turn.forget(entry);
                Ok(())
            })
        };
        self.add("forget", forget)?;
        let slot = self.slot.clone();
        self.add("newKey", move |ctx: Ctx<'js>| slot.call(&ctx, Turn::new_key))
    }

    fn writes(&self) -> Result<()> {
        self.add("encode", |value: Value<'js>, special: Function<'js>| {
            match encode(&value, &special) {
                Ok(text) => text.into_js(value.ctx()),
                Err(refusal) => refused(value.ctx(), refusal),
            }
        })?;
        let slot = self.slot.clone();
        let put = move |entry: usize,
                        collection: usize,
                        key: String,
                        value: Value<'js>,
                        special: Function<'js>,
                        expires: Opt<Option<f64>>| {
            store(&slot, (&value, &special), |turn, text| {
                turn.put(entry, place(&(collection, key)), text, timestamp(expires))
            })
        };
        self.add("put", put)?;
        let slot = self.slot.clone();
        let change = move |entry: usize,
                           collection: usize,
                           key: String,
                           value: Value<'js>,
                           special: Function<'js>| {
            store(&slot, (&value, &special), |turn, text| match turn.is_unchanged(entry, &text) {
                true => Ok(()),
                false => turn.change(entry, place(&(collection, key)), text),
            })
        };
        self.add("change", change)?;
        let slot = self.slot.clone();
        self.add("is", move |entry: usize, value: Value<'js>, special: Function<'js>| {
            let text = encode(&value, &special);
            let is =
                |text: String| slot.call(value.ctx(), |turn| Ok(turn.is_unchanged(entry, &text)));
            text.map_or(Ok(false), is)
        })?;
        let slot = self.slot.clone();
        self.add("remove", move |ctx: Ctx<'js>, collection, key: String| {
            slot.call(&ctx, |turn| turn.remove(place(&(collection, key))))
        })?;
        let slot = self.slot.clone();
        let expire = move |ctx: Ctx<'js>,
                           entry: Option<usize>,
                           collection: usize,
                           key: String,
                           expires: Opt<Option<f64>>| {
            let named = (collection, key);
            slot.call(&ctx, |turn| turn.expire(entry, place(&named), timestamp(expires)))
        };
        self.add("expire", expire)
    }

    /// The same by texts, for services.
    fn texts(&self) -> Result<()> {
        let slot = self.slot.clone();
        self.add("textOf", move |ctx: Ctx<'js>, collection, key: String| {
            text(&ctx, slot.call(&ctx, |turn| turn.read(place(&(collection, key))))?)
        })?;
        let slot = self.slot.clone();
        self.add("known", move |ctx: Ctx<'js>, entry: usize| {
            text(&ctx, slot.call(&ctx, |turn| Ok(turn.known(entry)))?)
        })?;
        let slot = self.slot.clone();
        let put = move |ctx: Ctx<'js>,
                        entry: usize,
                        collection: usize,
                        key: String,
                        text: String,
                        expires: Opt<Option<f64>>| {
            let named = (collection, key);
            slot.call(&ctx, |turn| turn.put(entry, place(&named), text, timestamp(expires)))
        };
        self.add("putText", put)?;
        let slot = self.slot.clone();
        let change = move |ctx: Ctx<'js>, entry, collection, key: String, text: String| {
            slot.call(&ctx, |turn| turn.change(entry, place(&(collection, key)), text))
        };
        self.add("changeText", change)
    }

    fn bytes(&self) -> Result<()> {
        let slot = self.slot.clone();
        self.add("getBytes", move |ctx: Ctx<'js>, collection, key: String| {
            let document = slot.call(&ctx, |turn| turn.bytes(place(&(collection, key))))?;
            let Some(document) = document else { return Ok::<_, rquickjs::Error>(None) };
            let found = Array::new(ctx.clone())?;
            found.set(0, document.media_type.as_str())?;
            found.set(1, TypedArray::<u8>::new_copy(ctx, &document.body)?)?;
            Ok(Some(found))
        })?;
        let slot = self.slot.clone();
        let put = move |ctx: Ctx<'js>,
                        collection: usize,
                        key: String,
                        media_type: String,
                        base64: String,
                        expires: Opt<Option<f64>>| {
            let bytes = base64::decode(&base64).ok_or_else(|| throw(&ctx, "expected base64"))?;
            let (named, content) = ((collection, key), (bytes.into(), timestamp(expires)));
            slot.call(&ctx, |turn| turn.put_bytes(place(&named), &media_type, content))
        };
        self.add("putBytes", put)?;
        self.stored()
    }

    /// Content by reference.
    fn stored(&self) -> Result<()> {
        let slot = self.slot.clone();
        self.add("stored", move |ctx: Ctx<'js>, collection, key: String| {
            slot.call(&ctx, |turn| turn.stored(place(&(collection, key))))
        })?;
        let slot = self.slot.clone();
        let put = move |ctx: Ctx<'js>,
                        collection: usize,
                        key: String,
                        stored: usize,
                        media_type: String,
                        expires: Opt<Option<f64>>| {
            let (named, with) = ((collection, key), (&*media_type, timestamp(expires)));
            slot.call(&ctx, |turn| turn.put_stored(place(&named), stored, with))
        };
        self.add("putStored", put)
    }

    fn merges(&self) -> Result<()> {
        let slot = self.slot.clone();
        let by_number = move |ctx: Ctx<'js>,
                              operation: String,
                              collection: usize,
                              key: String,
                              path: String,
                              value: f64| {
            let operation = match operation.as_str() {
                "min" => Merge::Min { path, value },
                "max" => Merge::Max { path, value },
                _ => Merge::Add { path, delta: value },
            };
            slot.call(&ctx, |turn| turn.merge(place(&(collection, key)), operation))
        };
        self.add("mergeNumber", by_number)?;
        let slot = self.slot.clone();
        let by_value = move |ctx: Ctx<'js>,
                             operation: String,
                             collection: usize,
                             key: String,
                             path: String,
                             value: String| {
            let operation = match operation.as_str() {
                "append" => Merge::Append { path, value },
                "setAdd" => Merge::SetAdd { path, value },
                "setRemove" => Merge::SetRemove { path, value },
                _ => Merge::InsertIfAbsent { path, value },
            };
            slot.call(&ctx, |turn| turn.merge(place(&(collection, key)), operation))
        };
        self.add("mergeValue", by_value)
    }
}

fn place((collection, key): &Named) -> Place<'_> {
    Place { collection: *collection, key }
}

fn timestamp(ms: Opt<Option<f64>>) -> Option<Timestamp> {
    ms.0.flatten().map(|ms| Timestamp(ms as u64))
}

/// The value that a canonical text stands for; `revive` is the function in `persist.js`.
pub(super) fn value<'js>(
    (ctx, slot): (&Ctx<'js>, &Slot),
    text: Option<Bytes>,
    revive: &Function<'js>,
) -> Result<Value<'js>> {
    let Some(text) = text else { return Ok(Value::new_undefined(ctx.clone())) };
    let text = std::str::from_utf8(&text)?;
    let value = parse((ctx, slot), text)?;
    if has_tags(text) { revive.call((value,)) } else { Ok(value) }
}

/// Whether a date or bytes may be in a text, or what is not to be taken for them.
fn has_tags(text: &str) -> bool {
    let tags = ["{\"$date\":\"", "{\"$bytes\":\"", "{\"$$"];
    text.contains('$') && tags.iter().any(|tag| text.contains(tag))
}

/// Gives the text of a value to `f`; undefined, or why it has none.
fn store<'js>(
    slot: &Slot,
    (value, special): (&Value<'js>, &Function<'js>),
    f: impl FnOnce(&mut Turn, String) -> std::result::Result<(), TurnError>,
) -> Result<Value<'js>> {
    // Before the turn is borrowed: this may call the application.
    match encode(value, special) {
        Ok(text) => slot.call(value.ctx(), |turn| f(turn, text))?,
        Err(refusal) => return refused(value.ctx(), refusal),
    }
    Ok(Value::new_undefined(value.ctx().clone()))
}

/// What is wrong with a value, in an array, as `db.js` has the name of the document.
fn refused<'js>(ctx: &Ctx<'js>, refusal: Refusal) -> Result<Value<'js>> {
    let message = refusal.message()?;
    let refused = Array::new(ctx.clone())?;
    refused.set(0, message)?;
    Ok(refused.into_value())
}

/// What is known of a document beside its value.
pub(super) fn meta<'js>(ctx: &Ctx<'js>, document: &Document) -> Result<Object<'js>> {
    let meta = Object::new(ctx.clone())?;
    // What is staged and not committed has no version.
    let version = Some(document.version).filter(|version| *version != CommitNumber(0));
    meta.set("version", version.map(|version| version.0 as f64))?;
    meta.set("created", document.created.0 as f64)?;
    meta.set("updated", document.updated.0 as f64)?;
    meta.set("expires", document.expires.map(|at| at.0 as f64))?;
    meta.set("mediaType", document.media_type.as_str())?;
    meta.set("size", document.length() as f64)?;
    if let Some(blob) = document.blob {
        meta.set("hash", blob.hash.to_string())?;
    }
    Ok(meta)
}
