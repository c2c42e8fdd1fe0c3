//! What services ask for beside what handlers do.

use super::{Natives, text};
use crate::turn::Turn;
use rquickjs::{Ctx, Result};

impl<'js> Natives<'js, '_> {
    pub(super) fn services(&self) -> Result<()> {
        let slot = self.slot.clone();
        self.add("principal", move |ctx: Ctx<'js>| {
            slot.call(&ctx, |turn: &mut Turn| Ok(turn.principal().map(str::to_owned)))
        })?;
        let slot = self.slot.clone();
        self.add("expired", move |ctx: Ctx<'js>, collection: String, key: String| {
            text(&ctx, slot.call(&ctx, |turn| turn.expired(&collection, &key))?)
        })
    }
}
