//! `[audit]`: what is read before the run and after it, and what acknowledged steps promise.

use super::mistakes::hint;
use super::operations::{Around, Names};
use super::section::{Entry, Section, Value};
use crate::limits::SCENARIO_STEPS_MAX;
use crate::plan::{Audit, Keeps, List, Number, Operation, Pages, Promise, Step};

/// The audit of a scenario; none promises nothing. A mistake leaves out what it is in.
pub(super) fn whole(
    root: &Section<'_>,
    known: (&Names, &[Operation]),
    around: &Around<'_>,
) -> Audit {
    let Some(section) = root.section("audit") else { return Audit::default() };
    let audit = read(&section, known, around);
    section.close();
    audit
}

fn read(
    section: &Section<'_>,
    (names, operations): (&Names, &[Operation]),
    around: &Around<'_>,
) -> Audit {
    let entries = |key| section.section(key).map_or_else(Vec::new, |section| section.entries());
    let numbers = entries("numbers");
    let lists = entries("lists");
    let known = Known {
        numbers: numbers.iter().map(|entry| entry.key.clone()).collect(),
        lists: lists.iter().map(|entry| entry.key.clone()).collect(),
    };
    let promises = entries("promises");
    let headers = section.section("headers").map_or_else(Vec::new, |headers| {
        let field = |entry: Entry<'_>| Some((entry.key, entry.value.text()?));
        headers.entries().into_iter().filter_map(field).collect()
    });
    let promise = |entry: &Entry<'_>, value: &Value<'_>| {
        let operation = names.find(&entry.key).map_err(|why| entry.wrong_key(why)).ok();
        let asked = asked(value, &known, around)?;
        let steps = &operations.get(operation?)?.steps;
        let is_request = |step: &Step| matches!(step, Step::Http(_));
        let step = match asked.step {
            Some(step) => Some(step).filter(|step| steps.get(*step).is_some_and(is_request)),
            None => steps.iter().position(is_request),
        };
        if step.is_none() {
            value.wrong("only a request can promise something; name one by step = NUMBER");
        }
        Some(Promise { operation: operation?, step: step?, keeps: asked.keeps })
    };
    Audit {
        numbers: numbers.iter().filter_map(|entry| number(entry, around)).collect(),
        lists: lists.iter().filter_map(|entry| list(entry, around)).collect(),
        promises: promises
            .iter()
            .flat_map(|entry| {
                let values = entry.value.one_or_more();
                values.iter().filter_map(|value| promise(entry, value)).collect::<Vec<_>>()
            })
            .collect(),
        headers,
    }
}

/// The names that promises refer to.
struct Known {
    numbers: Vec<String>,
    lists: Vec<String>,
}

fn number(entry: &Entry<'_>, around: &Around<'_>) -> Option<Number> {
    let section = entry.value.section()?;
    let pages = pages(&section, around);
    let value = section.get("value").and_then(|value| pointer(&value));
    let equals = section.number("equals", f64::MIN..=f64::MAX);
    section.close();
    let pages = pages?;
    // The page itself is the number, unless its elements are counted.
    let value = value.or_else(|| pages.each.is_none().then(String::new));
    Some(Number { name: entry.key.clone(), pages, value, equals })
}

fn list(entry: &Entry<'_>, around: &Around<'_>) -> Option<List> {
    let section = entry.value.section()?;
    let pages = pages(&section, around);
    let id = section.need("id", "where the id of an element is, like \"/key\" or a list of such");
    let id = id.map(|id| id.one_or_more().iter().map(pointer).collect::<Option<Vec<_>>>());
    section.close();
    Some(List { name: entry.key.clone(), pages: pages?, id: id?? })
}

fn pages(section: &Section<'_>, around: &Around<'_>) -> Option<Pages> {
    let server = around.servers.of(section.get("server").as_ref());
    let path = section.need("get", "a path like \"/db/accounts?limit=1000\"");
    let path = path.and_then(|value| {
        let path = value.text()?;
        if !path.starts_with('/') || !path.bytes().all(|byte| byte.is_ascii_graphic()) {
            value.expected("a path that begins with / and is percent-encoded");
            return None;
        }
        Some(path)
    });
    let headers = section.section("headers").map_or_else(Vec::new, |headers| {
        let field = |entry: Entry<'_>| Some((entry.key, entry.value.text()?));
        headers.entries().into_iter().filter_map(field).collect()
    });
    let each = section.get("each").and_then(|value| pointer(&value));
    let next = section.get("next").and_then(|value| pointer(&value));
    let parameter = section.text("next_parameter");
    if next.is_some() != parameter.is_some() {
        let what = "expected both `next` and `next_parameter`, or none of them";
        section.book.wrong(&section.span, format!("`{}`: {what}", section.name));
    }
    let (origin, prefix) = server?;
    Some(Pages { origin, path: prefix + &path?, headers, each, next: next.zip(parameter) })
}

/// A place in JSON (RFC 6901).
fn pointer(value: &Value<'_>) -> Option<String> {
    let pointer = value.text()?;
    if !pointer.is_empty() && !pointer.starts_with('/') {
        value.expected("a JSON pointer like \"/value/cents\" (RFC 6901)");
        return None;
    }
    Some(pointer)
}

/// What a promise says.
struct Asked {
    /// From 0; none: the first request.
    step: Option<usize>,
    keeps: Keeps,
}

const KINDS: &str = "\"stored\", \"removed\", \"posted\", \"edited\", \"deleted\", \
                     { counted = NUMBER } or { listed = LIST, id = TEXT }";

fn asked(value: &Value<'_>, known: &Known, around: &Around<'_>) -> Option<Asked> {
    if !value.is_table() {
        return Some(Asked { step: None, keeps: simple(value)? });
    }
    let section = value.section()?;
    let most = SCENARIO_STEPS_MAX as u64;
    let step = section.whole("step", 1..=most).map(|step| step as usize - 1);
    let keeps = match section.which(&["keeps", "counted", "listed"]).as_slice() {
        ["keeps"] => section.get("keeps").and_then(|value| simple(&value)),
        ["counted"] => {
            let number = of(&section.get("counted")?, "numbers", &known.numbers);
            let by = section.number("by", -1e15..=1e15).unwrap_or(1.0);
            number.map(|number| Keeps::Counted { number, by: by as i64 })
        }
        ["listed"] => {
            let list = of(&section.get("listed")?, "lists", &known.lists);
            let id = section.need("id", "a text that tells elements apart");
            let id = id.and_then(|id| around.scope.template(&id));
            // Where its variables are set is the business of the steps.
            around.scope.take_trail();
            list.zip(id).map(|(list, id)| Keeps::Listed { list, id })
        }
        _ => {
            value.expected(KINDS);
            None
        }
    };
    section.close();
    Some(Asked { step, keeps: keeps? })
}

fn simple(value: &Value<'_>) -> Option<Keeps> {
    match value.raw() {
        Some("stored") => Some(Keeps::Stored),
        Some("removed") => Some(Keeps::Removed),
        Some("posted") => Some(Keeps::Posted),
        Some("edited") => Some(Keeps::Edited),
        Some("deleted") => Some(Keeps::Deleted),
        _ => {
            value.expected(KINDS);
            None
        }
    }
}

fn of(value: &Value<'_>, what: &str, known: &[String]) -> Option<usize> {
    let name = value.text()?;
    let found = known.iter().position(|known| *known == name);
    if found.is_none() {
        let hint = hint(&name, known.iter().map(String::as_str));
        value.wrong(format_args!("[audit.{what}] has no `{name}`{hint}"));
    }
    found
}
