//! Documents, for `db.js`.

use super::{Natives, text};
use crate::turn::Turn;
use rquickjs::{Ctx, Result};

impl<'js> Natives<'js, '_> {
    pub(super) fn documents(&self) -> Result<()> {
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
}
