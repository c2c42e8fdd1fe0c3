//! Cookies, for `cookies.js`.

use super::Natives;
use crate::cookie::NewCookie;
use crate::session::came_by_https;
use rquickjs::{Ctx, Object, Result};

impl<'js> Natives<'js, '_> {
    pub(super) fn cookies(&self) -> Result<()> {
        let slot = self.slot.clone();
        self.add("cookie", move |ctx: Ctx<'js>, name: String, is_signed: bool| {
            slot.call(&ctx, |turn| turn.cookie(&name, is_signed))
        })?;
        let slot = self.slot.clone();
        self.add("setCookie", move |ctx: Ctx<'js>, given: Object<'js>| {
            let is_https = slot.call(&ctx, |turn| Ok(came_by_https(turn.request())))?;
            let cookie = read(&given, is_https)?;
            let is_signed = given.get("signed")?;
            slot.call(&ctx, |turn| turn.set_cookie(cookie, is_signed))
        })
    }
}

/// What `cookies.js` has checked to be of these types.
fn read(given: &Object<'_>, is_https: bool) -> Result<NewCookie> {
    Ok(NewCookie {
        name: given.get("name")?,
        value: given.get("value")?,
        path: given.get("path")?,
        domain: given.get("domain")?,
        max_age: given.get("maxAge")?,
        is_http_only: given.get("httpOnly")?,
        is_secure: given.get::<_, Option<bool>>("secure")?.unwrap_or(is_https),
        same_site: given.get("sameSite")?,
    })
}
