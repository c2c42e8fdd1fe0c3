//! The tasks and crons of an application, as `app.js` lists them when it is loaded.

use crate::handlers::Kept;
use crate::limits::TASK_DEFINITIONS_MAX;
use crate::tasks::{Cron, Definition};
use rquickjs::{Array, Ctx, Function, Object, Persistent};
use std::time::Duration;

/// What is read of a list: the definitions, and for each the function that runs it.
pub(super) struct Tasks {
    pub(super) definitions: Vec<Definition>,
    pub(super) handlers: Vec<Kept>,
}

/// Reads them; the inner error is the application's.
pub(super) fn read<'js>(
    ctx: &Ctx<'js>,
    list: &Array<'js>,
) -> rquickjs::Result<Result<Tasks, String>> {
    if list.len() > TASK_DEFINITIONS_MAX {
        let why = format!("an application has at most {TASK_DEFINITIONS_MAX} tasks and crons");
        return Ok(Err(why));
    }
    let mut tasks = Tasks { definitions: Vec::new(), handlers: Vec::new() };
    for entry in list.iter::<Object>() {
        let entry = entry?;
        let cron = entry.get::<_, Option<String>>("cron")?;
        let cron = cron.map(|text| Cron::parse(&text).map(|cron| (text, cron))).transpose();
        let time = |name: &str| Ok::<_, rquickjs::Error>(milliseconds(entry.get(name)?));
        let expires = time("expires")?;
        tasks.definitions.push(Definition {
            name: entry.get("name")?,
            // `natives/tasks.rs` has checked all of this when it was registered.
            attempts: entry.get::<_, f64>("attempts")? as u32,
            backoff: time("backoff")?,
            timeout: time("timeout")?,
            expires: (!expires.is_zero()).then_some(expires),
            cron: cron.expect("app.js checked it when it was registered"),
        });
        tasks.handlers.push(Persistent::save(ctx, entry.get::<_, Function>("handler")?));
    }
    Ok(Ok(tasks))
}

fn milliseconds(number: f64) -> Duration {
    Duration::from_millis(number as u64)
}
