//! The session, for `turn.js`.

use super::{Natives, text};
use crate::turn::Turn;
use rquickjs::{Ctx, Result};

impl<'js> Natives<'js, '_> {
    pub(super) fn session(&self) -> Result<()> {
        let slot = self.slot.clone();
        self.add("session", move |ctx: Ctx<'js>| text(&ctx, slot.call(&ctx, Turn::session)?))?;
        let slot = self.slot.clone();
        self.add("saveSession", move |ctx: Ctx<'js>, text: String| {
            slot.call(&ctx, |turn| turn.save_session(text))
        })
    }
}
