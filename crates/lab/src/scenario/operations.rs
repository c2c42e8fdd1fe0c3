//! `[operation.NAME]`: what users do, as steps.

use super::channel;
use super::http;
use super::logged::{self, Logged};
use super::memcached;
use super::mistakes::hint;
use super::once;
use super::pacing;
use super::section::{Section, Value};
use super::servers::Servers;
use super::template::Event;
use super::template::Scope;
use super::text;
use crate::limits::{PARALLEL_MAX, SCENARIO_OPERATIONS_MAX, SCENARIO_STEPS_MAX};
use crate::plan::{HttpStep, Operation, Pacing, Step};

/// The operations' names, in the order of the file.
pub(super) struct Names(Vec<String>);

impl Names {
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn name(&self, operation: usize) -> &str {
        &self.0[operation]
    }

    pub(super) fn find(&self, name: &str) -> Result<usize, String> {
        self.0.iter().position(|known| known == name).ok_or_else(|| {
            let hint = hint(name, self.0.iter().map(String::as_str));
            format!("there is no operation `{name}`{hint}")
        })
    }

    /// The operation that a text names.
    pub(super) fn of(&self, value: &Value<'_>) -> Option<usize> {
        let name = value.text()?;
        match self.find(&name) {
            Ok(operation) => Some(operation),
            Err(why) => {
                value.wrong(why);
                None
            }
        }
    }
}

/// What the steps of all operations have in common.
pub(super) struct Around<'a> {
    pub(super) servers: &'a Servers,
    pub(super) scope: &'a Scope<'a>,
    pub(super) channels: &'a channel::Uses,
    pub(super) once: &'a once::Uses,
    /// The operations' names; none: there are no operations.
    pub(super) names: Option<&'a Names>,
    /// The log that is replayed.
    pub(super) logged: Option<&'a Logged>,
    /// Whether `[load]` could be read, so that without a log there is none.
    pub(super) has_load: bool,
}

/// The names alone, which everything else refers to.
pub(super) fn names(section: &Section<'_>) -> Names {
    let entries = section.entries();
    for entry in entries.iter().filter(|entry| !text::is_name(&entry.key)) {
        let what = format!("expected {}; got \"{}\"", text::NAME, entry.key);
        section.book.wrong(&entry.span, what);
    }
    if entries.is_empty() {
        section.book.missing(&section.span, "[operation] has no operation");
    }
    if entries.len() > SCENARIO_OPERATIONS_MAX {
        let what = format!("there are at most {SCENARIO_OPERATIONS_MAX} operations");
        section.book.wrong(&section.span, what);
    }
    Names(entries.into_iter().map(|entry| entry.key).collect())
}

/// All operations, and what each does with variables. One with a mistake has no place in a plan,
/// but the others are read.
pub(super) fn read(
    section: &Section<'_>,
    around: &Around<'_>,
    pacing: Pacing,
) -> (Option<Vec<Operation>>, Vec<Vec<Event>>) {
    let mut trails = Vec::new();
    let read = section.entries().into_iter().map(|entry| {
        let Some(table) = entry.value.section() else {
            trails.push(Vec::new());
            return None;
        };
        around.once.begin(trails.len());
        let operation = operation(&entry.key, &table, around, pacing);
        trails.push(around.scope.take_trail());
        table.close();
        operation
    });
    let operations = read.collect::<Vec<_>>().into_iter().collect();
    around.channels.check(section);
    around.once.insert(&mut trails);
    (operations, trails)
}

fn operation(
    name: &str,
    section: &Section<'_>,
    around: &Around<'_>,
    pacing: Pacing,
) -> Option<Operation> {
    let pacing = pacing::pacing(section).unwrap_or(pacing);
    let steps = match section.get("steps") {
        // A request alone need not be wrapped.
        None if logged::is_step(section) => logged::read(section, around).map(|step| vec![step]),
        None if http::is_request(section) => {
            http::read(section, around).map(|step| vec![Step::Http(Box::new(step))])
        }
        None => {
            let name = &section.name;
            let what = format!("`{name}` has neither `steps` nor a request like get = \"/\"");
            section.book.missing(&section.span, what);
            None
        }
        Some(value) => steps(&value, around),
    };
    Some(Operation { name: name.to_owned(), steps: steps?, pacing })
}

fn steps(value: &Value<'_>, around: &Around<'_>) -> Option<Vec<Step>> {
    let list = value.list()?;
    if list.is_empty() || list.len() > SCENARIO_STEPS_MAX {
        value.wrong(format_args!("expected 1 to {SCENARIO_STEPS_MAX} steps; got {}", list.len()));
        return None;
    }
    let read = list.iter().map(|value| {
        let section = value.section()?;
        let step = step(&section, around);
        section.close();
        step
    });
    read.collect::<Vec<_>>().into_iter().collect()
}

fn step(section: &Section<'_>, around: &Around<'_>) -> Option<Step> {
    if let Some(pause) = section.get("pause") {
        return pacing::distribution(&pause).map(Step::Pause);
    }
    if let Some(other) = section.get("once") {
        return once::read(&other, around).map(Step::Once);
    }
    if let Some(parallel) = section.get("parallel") {
        return together(&parallel, around).map(Step::Parallel);
    }
    if let Some(new_session) = section.get("new_session") {
        if !new_session.truth()? {
            new_session.expected("true, or no such step");
        }
        return Some(Step::NewSession);
    }
    if !section.which(&["memcached"]).is_empty() {
        return memcached::read(section, around).map(|step| Step::Memcached(Box::new(step)));
    }
    if logged::is_step(section) {
        return logged::read(section, around);
    }
    if channel::is_step(section) {
        return channel::read(section, around).map(Step::Channel);
    }
    if !http::is_request(section) {
        let what = "expected a step: a request like get = \"/\", or one of pause, parallel, \
                    once, memcached, websocket, events, send, receive, close, logged and \
                    new_session";
        section.book.missing(&section.span, format!("`{}`: {what}", section.name));
        return None;
    }
    http::read(section, around).map(|step| Step::Http(Box::new(step)))
}

/// Requests at the same time. None of them has what another extracts.
fn together(value: &Value<'_>, around: &Around<'_>) -> Option<Vec<HttpStep>> {
    let list = value.list()?;
    if list.is_empty() || list.len() > PARALLEL_MAX {
        value.wrong(format_args!("expected 1 to {PARALLEL_MAX} requests; got {}", list.len()));
        return None;
    }
    let before = around.scope.take_trail();
    let read = list.iter().map(|value| {
        let section = value.section()?;
        let step = match http::is_request(&section) {
            true => http::read(&section, around),
            false => {
                value.expected("a request like { get = \"/\" }");
                None
            }
        };
        section.close();
        step
    });
    let steps = read.collect::<Vec<_>>().into_iter().collect();
    let (set, used): (Vec<Event>, _) =
        around.scope.take_trail().into_iter().partition(|event| event.is_set);
    around.scope.add_trail(before.into_iter().chain(used).chain(set));
    steps
}
