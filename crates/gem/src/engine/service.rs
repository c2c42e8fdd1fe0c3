//! Calls of services, as a face asks for them.

use super::{Engine, Stop};
use rquickjs::{Array, Ctx, Function, Object, Persistent};

/// The functions that Rust calls for it.
pub(super) struct Calls {
    run: Persistent<Function<'static>>,
    finish: Persistent<Function<'static>>,
}

impl Calls {
    pub(super) fn of<'js>(ctx: &Ctx<'js>, exports: &Object<'js>) -> rquickjs::Result<Self> {
        let function = |name| exports.get::<_, Function>(name);
        Ok(Self {
            run: Persistent::save(ctx, function("runCall")?),
            finish: Persistent::save(ctx, function("finishCall")?),
        })
    }
}

/// What a function is asked about.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked<'a> {
    pub collection: &'a str,
    pub method: &'a str,
    pub key: &'a str,
    /// The text of the document that is there.
    pub doc: Option<&'a str>,
    /// The text of what is to be there.
    pub body: Option<&'a str>,
}

/// What a call came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Called {
    /// What is to be shown or stored, if anything is.
    Text(Option<String>),
    /// The function refuses: a status from 400 to 499, and what the client is told.
    Refused { status: u16, message: String },
}

impl Engine {
    /// Calls the function of a service for the turn in the slot, to its end, and stages what it did
    /// to other documents.
    pub(crate) fn call(&self, asked: Asked<'_>) -> Result<Called, Stop> {
        let called = self.call_to_end(asked);
        let rejected = self.rejections.take();
        let called = called?;
        match rejected {
            Some(thrown) => Err(self.unhandled(thrown)),
            None => Ok(called),
        }
    }

    fn call_to_end(&self, asked: Asked<'_>) -> Result<Called, Stop> {
        self.enter(|ctx| {
            let run = self.entry.calls.run.clone().restore(ctx)?;
            let Asked { collection, method, key, doc, body } = asked;
            run.call::<_, ()>((collection, method, key, doc, body))
        })?;
        self.run_jobs()?;
        let called = self.enter(|ctx| {
            let finish = self.entry.calls.finish.clone().restore(ctx)?;
            finish.call::<_, Option<Array>>(())?.map(|parts| read(&parts)).transpose()
        })?;
        // Reading the result may have called into the application once more.
        self.run_jobs()?;
        called.ok_or(Stop::Waits)
    }
}

/// What `finishCall` in `turn.js` returns.
fn read(parts: &Array<'_>) -> rquickjs::Result<Called> {
    Ok(match parts.get::<Option<u16>>(1)? {
        Some(status) => Called::Refused { status, message: parts.get(2)? },
        None => Called::Text(parts.get(0)?),
    })
}
