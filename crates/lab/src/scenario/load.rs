//! `[load]`: who starts operations, when, and for how long.

use super::access_log::AccessLog;
use super::files::Files;
use super::section::{Section, Value};
use super::{Overrides, pacing};
use crate::limits::{DURATION_MAX, RATE_MAX, THREADS_MAX, USERS_MAX};
use crate::plan::{Arrivals, Load, Pacing, Phases, Stage};
use std::ops::RangeInclusive;
use std::time::Duration;

/// What `[load]` says.
pub(super) struct Loading {
    pub(super) load: Load,
    pub(super) phases: Phases,
    pub(super) threads: usize,
    /// Of operations that say nothing of their own.
    pub(super) pacing: Pacing,
    /// Operations after which each user goes.
    pub(super) repetitions: Option<u64>,
    /// The requests of the log that is replayed.
    pub(super) log: Option<AccessLog>,
}

/// What is measured if nothing is said.
const DURATION: Duration = Duration::from_secs(30);

/// The ramp-up if nothing is said.
const WARM_UP: Duration = Duration::from_secs(5);

/// Users of the open model come into being as they are needed, so there may be many.
const AT_ONCE: usize = 1_000;

const MODELS: [&str; 4] = ["users", "connections", "rate", "replay"];

/// `on_each`: users on a connection.
pub(super) fn read(
    section: &Section<'_>,
    files: &Files<'_>,
    overrides: &Overrides,
    on_each: usize,
) -> Option<Loading> {
    let models = section.which(&MODELS);
    let pacing = pacing::pacing(section);
    let times = Times::read(section);
    let at_once = section.whole("at_once", 1..=USERS_MAX as u64);
    let arrivals = arrivals(section);
    let threads = section.whole("threads", 1..=THREADS_MAX as u64);
    let repetitions = section.whole("repetitions", 1..=u64::MAX);
    let mut log = None;
    let load = match models.as_slice() {
        [key @ ("users" | "connections")] => {
            refuse(section, &["at_once", "arrivals", "speed"], "belongs to `rate` or `replay`");
            let each = if *key == "users" { 1 } else { on_each.max(1) };
            let most = (USERS_MAX / each) as f64;
            let stages = stages(&section.get(key)?, most, times.measured, files);
            let times = |stage: Stage| stage.times(each as f64);
            Some(Shape::Users(stages.map(|stages| stages.into_iter().map(times).collect())))
        }
        ["rate"] => {
            refuse(section, &["speed"], "belongs to `replay`");
            refuse(section, &["repetitions"], "belongs to `users`");
            Some(Shape::Rate(stages(&section.get("rate")?, RATE_MAX, times.measured, files)))
        }
        ["replay"] => {
            refuse(section, &["arrivals"], "belongs to `rate`");
            refuse(section, &["repetitions"], "belongs to `users`");
            let speed = section.number("speed", SPEEDS).unwrap_or(1.0);
            let speed = overrides.speed.unwrap_or(speed);
            let value = section.get("replay")?;
            let offsets = match value.is_table() {
                true => {
                    log = replayed(&value, files);
                    log.as_ref().and_then(|log| offsets(&value, log, speed))
                }
                false => files.offsets(&value, speed),
            };
            Some(Shape::Replay(offsets))
        }
        [] if overrides.users.is_some() || overrides.rate.is_some() => Some(Shape::Rate(None)),
        _ => {
            let what = "expected one of `users`, `connections`, `rate` and `replay` in [load]";
            match models.len() {
                0 => section.book.missing(&section.span, what),
                _ => section.book.wrong(&section.span, format!("{what}; got several")),
            }
            None
        }
    };
    let at_once = at_once.map_or(AT_ONCE, |at_once| at_once as usize);
    let (load, measured) = finish(load?, overrides, &times, (arrivals, at_once))?;
    let threads = overrides.threads.or(threads.map(|threads| threads as usize)).unwrap_or(1);
    let threads = threads.min(load.users_max().max(1));
    let phases = Phases {
        ramp_up: overrides.warm_up.unwrap_or(times.warm_up),
        measured,
        ramp_down: times.ramp_down,
        count: times.count,
    };
    let pacing = pacing.unwrap_or(Pacing::None);
    Some(Loading { load, phases, threads, pacing, repetitions, log })
}

/// How many times as fast a recording may be replayed.
pub const SPEEDS: RangeInclusive<f64> = 0.001..=1000.0;

/// `{ log = "access.log", methods = ["GET", "HEAD"] }`.
fn replayed(value: &Value<'_>, files: &Files<'_>) -> Option<AccessLog> {
    let section = value.section()?;
    let file = section.need("log", "the name of an access log");
    let named = section.get("methods").map_or_else(Vec::new, |value| value.one_or_more());
    section.close();
    let mut methods: Vec<String> = Vec::new();
    for value in &named {
        let method = value.text()?;
        if !METHODS.contains(&method.as_str()) {
            value.expected(format_args!("one of {}", METHODS.join(", ")));
            return None;
        }
        methods.push(method);
    }
    if methods.is_empty() {
        methods = SAFE_METHODS.map(str::to_owned).into();
    }
    files.log(&file?, &methods)
}

/// What changes nothing (RFC 9110 §9.2.1), and is replayed if nothing is said.
const SAFE_METHODS: [&str; 2] = ["GET", "HEAD"];

const METHODS: [&str; 7] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

fn offsets(value: &Value<'_>, log: &AccessLog, speed: f64) -> Option<Vec<Duration>> {
    super::replay::offsets(&log.times, speed).map_err(|why| value.wrong(why)).ok()
}

fn refuse(section: &Section<'_>, keys: &[&'static str], why: &str) {
    for key in keys {
        if let Some(value) = section.get(key) {
            value.wrong(why);
        }
    }
}

fn arrivals(section: &Section<'_>) -> Arrivals {
    let Some(value) = section.get("arrivals") else { return Arrivals::Poisson };
    match value.text().as_deref() {
        Some("poisson") | None => {}
        Some("even") => return Arrivals::Even,
        Some(_) => value.expected("\"poisson\" or \"even\""),
    }
    Arrivals::Poisson
}

struct Times {
    warm_up: Duration,
    /// As it was said.
    measured: Option<Duration>,
    ramp_down: Duration,
    count: Option<u64>,
}

impl Times {
    fn read(section: &Section<'_>) -> Self {
        let least = Duration::from_millis(1);
        let from_zero = Duration::ZERO..=DURATION_MAX;
        Self {
            warm_up: section.duration("warm_up", from_zero.clone()).unwrap_or(WARM_UP),
            measured: section.duration("duration", least..=DURATION_MAX),
            ramp_down: section.duration("ramp_down", from_zero).unwrap_or_default(),
            count: section.whole("operations", 1..=u64::MAX),
        }
    }
}

/// The load before the command line has had its say. Nothing in it: a mistake, or not told.
enum Shape {
    Users(Option<Vec<Stage>>),
    Rate(Option<Vec<Stage>>),
    Replay(Option<Vec<Duration>>),
}

/// The load and the length of the measured interval.
fn finish(
    shape: Shape,
    overrides: &Overrides,
    times: &Times,
    (arrivals, at_once): (Arrivals, usize),
) -> Option<(Load, Duration)> {
    let asked = overrides.duration.or(times.measured).unwrap_or(DURATION);
    let open = |rate, measured| {
        let in_flight_max = overrides.at_once.unwrap_or(at_once);
        (Load::Open { rate, arrivals, in_flight_max }, measured)
    };
    match (shape, overrides.users, overrides.rate) {
        // Another model than the file's: as many or as often throughout.
        (Shape::Rate(_) | Shape::Replay(_), Some(users), None) => {
            Some((Load::Closed { users: vec![Stage::flat(users as f64, asked)] }, asked))
        }
        (Shape::Users(_) | Shape::Replay(_), None, Some(rate)) => {
            Some(open(vec![Stage::flat(rate, asked)], asked))
        }
        (Shape::Users(stages), users, _) => {
            let most = users.map(|users| users as f64);
            let (users, measured) = scaled(stages?, most, overrides.duration);
            Some((Load::Closed { users }, measured))
        }
        (Shape::Rate(None), None, Some(rate)) => Some(open(vec![Stage::flat(rate, asked)], asked)),
        (Shape::Rate(stages), _, rate) => {
            let (rate, measured) = scaled(stages?, rate, overrides.duration);
            Some(open(rate, measured))
        }
        (Shape::Replay(offsets), ..) => {
            let offsets = offsets?;
            let last = offsets.last().copied().unwrap_or_default();
            // What begins with the first arrival is measured from there on.
            let warm_up = overrides.warm_up.unwrap_or(times.warm_up);
            let whole = last.saturating_sub(warm_up) + Duration::from_millis(1);
            let measured = overrides.duration.or(times.measured).unwrap_or(whole);
            let in_flight_max = overrides.at_once.unwrap_or(at_once);
            Some((Load::Replay { offsets, in_flight_max }, measured))
        }
    }
}

/// The stages with `most` for their largest value and `duration` for their whole length, and that
/// length.
fn scaled(
    mut stages: Vec<Stage>,
    most: Option<f64>,
    duration: Option<Duration>,
) -> (Vec<Stage>, Duration) {
    let (largest, length) = (Stage::largest(&stages), length(&stages));
    let up = most.filter(|_| largest > 0.0).map_or(1.0, |most| most / largest);
    let longer = duration.map_or(1.0, |new| new.as_secs_f64() / length.as_secs_f64());
    for stage in &mut stages {
        (stage.from, stage.to) = (stage.from * up, stage.to * up);
        if duration.is_some() {
            stage.duration = stage.duration.mul_f64(longer);
        }
    }
    (stages, duration.unwrap_or(length))
}

fn length(stages: &[Stage]) -> Duration {
    stages.iter().map(|stage| stage.duration).sum()
}

/// A number, a list of stages, or a file of them.
fn stages(
    value: &Value<'_>,
    most: f64,
    measured: Option<Duration>,
    files: &Files<'_>,
) -> Option<Vec<Stage>> {
    if !value.is_list() && !value.is_table() {
        let level = value.number(0.0..=most)?;
        return Some(vec![Stage::flat(level, measured.unwrap_or(DURATION))]);
    }
    if measured.is_some() {
        value.wrong("the stages say how long it is; leave `duration` out");
    }
    let stages = match value.is_table() {
        true => {
            let section = value.section()?;
            let stages = section.need("file", "the name of a file of stages");
            let stages = stages.and_then(|file| files.stages(&file, most));
            section.close();
            stages?
        }
        false => {
            let mut before = 0.0;
            let list = value.list()?;
            let read = list.iter().map(|value| stage(value, most, &mut before));
            // Every one is looked at before a mistake ends it.
            read.collect::<Vec<_>>().into_iter().collect::<Option<Vec<Stage>>>()?
        }
    };
    if stages.is_empty() || Stage::largest(&stages) == 0.0 {
        value.expected("at least one stage that is more than 0");
        return None;
    }
    if length(&stages) > DURATION_MAX {
        value.wrong(format_args!("the stages together last more than {DURATION_MAX:?}"));
        return None;
    }
    Some(stages)
}

/// `{ at = N, for = TIME }`, `{ from = N, to = N, for = TIME }`, or without `from`, which is where
/// the one before it ended.
fn stage(value: &Value<'_>, most: f64, before: &mut f64) -> Option<Stage> {
    let section = value.section()?;
    let length = section.need("for", "how long, like \"30s\"");
    let length = length.and_then(|length| length.duration(Duration::from_millis(1)..=DURATION_MAX));
    let at = section.number("at", 0.0..=most);
    let (from, to) = (section.number("from", 0.0..=most), section.number("to", 0.0..=most));
    let has = |key| !section.which(&[key]).is_empty();
    let levels = match (has("at"), has("to")) {
        (true, false) if !has("from") => at.map(|at| (at, at)),
        (false, true) => to.map(|to| (from.unwrap_or(*before), to)),
        _ => {
            value.expected(
                "a stage like { at = 10, for = \"1m\" } or \
                            { from = 10, to = 20, for = \"1m\" }",
            );
            None
        }
    };
    section.close();
    let (from, to) = levels?;
    *before = to;
    Some(Stage { from, to, duration: length? })
}
