//! The URLs of the application's files.

use super::{Natives, throw};
use crate::files::Files;
use rquickjs::{Ctx, Result};
use std::sync::Arc;

impl<'js> Natives<'js, '_> {
    pub(super) fn assets(&self, files: Arc<Files>) -> Result<()> {
        self.add("asset", move |ctx: Ctx<'js>, path: String| {
            files.url(&path).map_err(|why| throw(&ctx, format!("asset(\"{path}\"): {why}")))
        })
    }
}
