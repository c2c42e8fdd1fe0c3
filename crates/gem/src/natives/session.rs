//! The session, for `session.js`.

use super::{Natives, text};
use crate::limits::{FLASH_CHARS_MAX, FLASHES_MAX};
use crate::turn::Turn;
use rquickjs::{Ctx, Result};

impl<'js> Natives<'js, '_> {
    pub(super) fn session(&self) -> Result<()> {
        let slot = self.slot.clone();
        self.add("session", move |ctx: Ctx<'js>| text(&ctx, slot.call(&ctx, Turn::session)?))?;
        let slot = self.slot.clone();
        self.add("saveSession", move |ctx: Ctx<'js>, text: String| {
            slot.call(&ctx, |turn| turn.save_session(text))
        })?;
        let slot = self.slot.clone();
        self.add("endSession", move |ctx: Ctx<'js>| slot.call(&ctx, Turn::end_session))?;
        self.object.set("flashesMax", FLASHES_MAX)?;
        self.object.set("flashCharsMax", FLASH_CHARS_MAX)
    }
}
