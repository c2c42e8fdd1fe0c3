//! Tasks: what `tasks.js` calls.

use super::{Natives, throw};
use crate::limits::{
    TASK_ATTEMPTS, TASK_ATTEMPTS_DEFAULT, TASK_BACKOFF_DEFAULT, TASK_BACKOFF_MAX, TASK_DELAY_MAX,
    TASK_TIMEOUT_DEFAULT, TASK_TIMEOUT_MAX,
};
use crate::tasks::{Cron, is_name};
use crate::turn::{TaskFacts, Turn};
use rquickjs::{Array, Ctx, Exception, IntoJs, Object, Result, Value};

impl<'js> Natives<'js, '_> {
    pub(super) fn tasks(&self) -> Result<()> {
        self.add("taskDefaults", |ctx: Ctx<'js>| {
            let defaults = Object::new(ctx)?;
            defaults.set("attempts", TASK_ATTEMPTS_DEFAULT)?;
            defaults.set("backoff", TASK_BACKOFF_DEFAULT.as_millis() as f64)?;
            defaults.set("timeout", TASK_TIMEOUT_DEFAULT.as_millis() as f64)?;
            Ok::<_, rquickjs::Error>(defaults)
        })?;
        self.add("isTaskName", |name: String| is_name(&name))?;
        self.add("checkCron", |ctx: Ctx<'js>, text: String| {
            Cron::parse(&text).map(drop).map_err(|error| throw(&ctx, error))
        })?;
        self.add("checkTask", |ctx: Ctx<'js>, attempts: f64, times_ms: Vec<f64>| {
            check(&ctx, attempts, &times_ms)
        })?;
        let slot = self.slot.clone();
        self.add("beginTask", move |ctx: Ctx<'js>| slot.call(&ctx, Turn::begin_task))?;
        let slot = self.slot.clone();
        let start = move |ctx: Ctx<'js>,
                          name: String,
                          payload: String,
                          delay_ms: f64,
                          key: Option<String>,
                          expires_ms: Option<f64>| {
            let most = TASK_DELAY_MAX.as_millis() as f64;
            if !(0.0..=most).contains(&delay_ms) {
                let why = format!("task(\"{name}\"): expected a delay of at most 366d");
                return Err(Exception::throw_range(&ctx, &why));
            }
            // Within the bounds above, and whole enough.
            let expires = expires_ms.map(|ms| ms as u64);
            slot.call(&ctx, |turn| turn.start_task(&name, payload, delay_ms as u64, (key, expires)))
        };
        self.add("startTask", start)
    }
}

/// `times_ms`: backoff, timeout and expires, 0 where not given.
fn check(ctx: &Ctx<'_>, attempts: f64, times_ms: &[f64]) -> Result<()> {
    let (least, most) = (f64::from(*TASK_ATTEMPTS.start()), f64::from(*TASK_ATTEMPTS.end()));
    if attempts.fract() != 0.0 || !(least..=most).contains(&attempts) {
        let why = format!("attempts is a whole number from {least} to {most}; got {attempts}");
        return Err(Exception::throw_range(ctx, &why));
    }
    let bounds =
        [("backoff", TASK_BACKOFF_MAX), ("timeout", TASK_TIMEOUT_MAX), ("expires", TASK_DELAY_MAX)];
    for ((name, most), &time) in bounds.into_iter().zip(times_ms) {
        if time > most.as_millis() as f64 {
            let why = format!("{name} is at most {} s; got {} s", most.as_secs(), time / 1e3);
            return Err(Exception::throw_range(ctx, &why));
        }
    }
    Ok(())
}

impl<'js> IntoJs<'js> for TaskFacts {
    fn into_js(self, ctx: &Ctx<'js>) -> Result<Value<'js>> {
        let facts = Array::new(ctx.clone())?;
        facts.set(0, self.payload)?;
        facts.set(1, self.attempt)?;
        facts.set(2, self.id)?;
        facts.set(3, self.name)?;
        facts.set(4, self.due as f64)?;
        Ok(facts.into_value())
    }
}
