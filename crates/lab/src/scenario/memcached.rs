//! Commands to caches as steps, and `[items]`: what is in the caches.

use super::operations::Around;
use super::section::{Section, Value};
use crate::limits::ITEM_BYTES_MAX;
use crate::plan::{Class, Items, KeyLengths, MemcachedCommand, MemcachedStep, TimeToLive, Values};
use std::time::Duration;

/// Longest time to live that is counted from now: 30 days. memcached takes larger numbers for
/// points in time.
const EXPIRES_MAX: Duration = Duration::from_secs(60 * 60 * 24 * 30);

pub(super) fn read(section: &Section<'_>, around: &Around<'_>) -> Option<MemcachedStep> {
    let name = section.get("memcached");
    let servers = section.get("server");
    let origins = around.servers.caches(servers.as_ref(), section);
    let key = section.need("key", "the item's key, like key = \"item-{key}\"");
    let key = key.and_then(|key| around.scope.template(&key));
    let meta = section.truth("meta").unwrap_or(false);
    let name = name?;
    let command = match name.text()?.as_str() {
        "get" => Some(MemcachedCommand::Get {
            verify: section.truth("verify").unwrap_or(true),
            fill: fill(section),
        }),
        "set" => Some(MemcachedCommand::Set { expires: expires(section) }),
        "touch" => Some(MemcachedCommand::Touch { expires: expires(section) }),
        "delete" => Some(MemcachedCommand::Delete),
        "incr" => {
            let by = section.whole("by", 0..=u64::MAX).unwrap_or(1);
            Some(MemcachedCommand::Increment { by })
        }
        _ => {
            name.expected("get, set, delete, incr or touch");
            None
        }
    };
    Some(MemcachedStep { origins: origins?, key: key?, command: command?, meta })
}

/// Whether what is missed is put in; only then it may be said for how long.
fn fill(section: &Section<'_>) -> Option<TimeToLive> {
    section.truth("fill").unwrap_or(false).then(|| expires(section))
}

/// A time, or the shortest and the longest.
fn expires(section: &Section<'_>) -> TimeToLive {
    let Some(value) = section.get("expires") else { return TimeToLive::FOREVER };
    // A part of a second is a second: 0 would be for ever.
    let seconds = |value: &Value<'_>| {
        let time = value.duration(Duration::ZERO..=EXPIRES_MAX)?;
        Some(time.as_secs_f64().ceil() as u32)
    };
    let times: Option<Vec<u32>> = value.one_or_more().iter().map(seconds).collect();
    match times.as_deref() {
        None => TimeToLive::FOREVER,
        Some([both]) => TimeToLive::seconds(*both),
        Some([from_s, to_s]) if (1..=*to_s).contains(from_s) => {
            TimeToLive { from_s: *from_s, to_s: *to_s }
        }
        Some(_) => {
            value.expected("a time, or the shortest and the longest");
            TimeToLive::FOREVER
        }
    }
}

/// `[items]`: `values` are `"olio"`, `"etc"` or classes, `keys = "etc"` fills keys up.
pub(super) fn items(section: &Section<'_>) -> Items {
    let mut items = Items::default();
    if let Some(values) = section.get("values") {
        match values.is_text().then(|| values.text()).flatten().as_deref() {
            Some("olio") => items.values = Items::olio().values,
            Some("etc") => items.values = Values::Etc,
            Some("twitter") => items.values = Values::Twitter,
            // A variable may have given a length.
            Some(text) => match text.parse().ok().filter(|bytes| *bytes <= ITEM_BYTES_MAX) {
                Some(bytes) => items.values = fixed(bytes),
                None => values.expected(
                    "\"olio\", \"etc\", \"twitter\", a length like \"100\" or classes of lengths",
                ),
            },
            None => {
                let classes = values.list().unwrap_or_default();
                items.values = Values::Classes(classes.iter().filter_map(class).collect());
            }
        }
    }
    if let Some(keys) = section.get("keys") {
        match keys.text().as_deref() {
            Some("etc") => items.keys = KeyLengths::Etc,
            Some("as written") => {}
            Some(_) => keys.expected("\"etc\" or \"as written\""),
            None => {}
        }
    }
    items
}

/// All of the same length.
fn fixed(bytes: usize) -> Values {
    Values::Classes(vec![Class { weight: 1.0, from_bytes: bytes, to_bytes: bytes }])
}

/// `{ weight = 60, bytes = [4, 100] }`, or with one number for all of the same length.
fn class(value: &Value<'_>) -> Option<Class> {
    let section = value.section()?;
    let weight = section.number("weight", 0.0..=1e9).unwrap_or(1.0);
    let bytes = section.need("bytes", "the length of its values, like bytes = [4, 100]");
    section.close();
    let bytes = bytes?;
    let numbers: Vec<u64> = bytes
        .one_or_more()
        .iter()
        .map(|number| number.whole(0..=ITEM_BYTES_MAX as u64))
        .collect::<Option<_>>()?;
    let (from_bytes, to_bytes) = match *numbers.as_slice() {
        [both] => (both as usize, both as usize),
        [from, to] if from <= to => (from as usize, to as usize),
        _ => {
            bytes.expected("one length, or the shortest and the longest");
            return None;
        }
    };
    Some(Class { weight, from_bytes, to_bytes })
}
