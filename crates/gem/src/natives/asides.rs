//! What a handler may await, for the modules that offer it. Each function gives the answer, or
//! `undefined` if the handler has to wait for it, and throws the error that it came to.

use super::{Natives, Slot, throw};
use crate::aside::password::{Hashing, Verification, check, needs_rehash};
use crate::aside::{Aside, Value};
use rquickjs::{Ctx, IntoJs, Result, Value as JsValue};

impl<'js> Natives<'js, '_> {
    pub(super) fn asides(&self) -> Result<()> {
        let slot = self.slot.clone();
        self.add("isWaiting", move |ctx: Ctx<'js>| slot.call(&ctx, |turn| Ok(turn.is_waiting())))?;
        self.add("checkPassword", |ctx: Ctx<'js>, text: String| {
            check(&text).map_err(|error| throw(&ctx, error))
        })?;
        let slot = self.slot.clone();
        self.add("passwordHash", move |ctx: Ctx<'js>, text: String| {
            ask(&ctx, &slot, Aside::Hash(Hashing::new(text)))
        })?;
        let slot = self.slot.clone();
        self.add("passwordVerify", move |ctx: Ctx<'js>, text: String, hash: String| {
            match Verification::new(text, hash).map_err(|error| throw(&ctx, error))? {
                Some(verification) => ask(&ctx, &slot, Aside::Verify(verification)),
                None => Ok(Some(Value::Truth(false))),
            }
        })?;
        self.add("passwordNeedsRehash", |ctx: Ctx<'js>, hash: String| {
            needs_rehash(&hash).map_err(|error| throw(&ctx, error))
        })
    }
}

pub(super) fn ask(ctx: &Ctx<'_>, slot: &Slot, aside: Aside) -> Result<Option<Value>> {
    let Some(answer) = slot.call(ctx, |turn| turn.ask(aside))? else { return Ok(None) };
    match &*answer {
        Ok(value) => Ok(Some(value.clone())),
        Err(why) => Err(throw(ctx, why)),
    }
}

impl<'js> IntoJs<'js> for Value {
    fn into_js(self, ctx: &Ctx<'js>) -> Result<JsValue<'js>> {
        match self {
            Self::Text(text) => text.into_js(ctx),
            Self::Truth(truth) => truth.into_js(ctx),
            Self::Fetched(fetched) => fetched.into_js(ctx),
        }
    }
}
