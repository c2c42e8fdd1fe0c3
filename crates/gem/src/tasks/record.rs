//! How a task is kept: one JSON document for one that waits or runs, and one for one that has
//! failed for good. `docs/tasks.md` has their members.

use repository::json::{children, quote, unquote};
use repository::{Key, NameError};
use std::fmt::Write;

/// What parts the name from the key in the key of a document. No name has it.
const SEPARATOR: char = ':';

/// The key of a cron, of which there is one by its name. No application can give it to a task.
pub(crate) const CRON_KEY: &str = "";

/// A task that waits, runs, or has failed for good.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    /// Of this task alone, and the same in each of its runs.
    pub(crate) id: String,
    /// Which handler runs it.
    pub(crate) name: String,
    /// What makes it the only one of its name that waits.
    pub(crate) key: Option<String>,
    /// When it was started, in milliseconds since 1970.
    pub(crate) started: u64,
    /// From when on it may run.
    pub(crate) due: u64,
    /// After this it is not run any more.
    pub(crate) deadline: Option<u64>,
    /// Runs that failed.
    pub(crate) failures: u32,
    /// How the last of them failed.
    pub(crate) error: Option<String>,
    /// When it failed for good.
    pub(crate) died: Option<u64>,
    /// The expression, if it is a cron's.
    pub(crate) cron: Option<String>,
    /// What its handler is given: canonical JSON.
    pub(crate) payload: String,
}

impl Record {
    /// The key of its document while it waits.
    pub(crate) fn place(&self) -> Result<Key, NameError> {
        match &self.key {
            Some(key) => place_of(&self.name, key),
            None => Key::new(&self.id),
        }
    }

    /// Canonical JSON text.
    pub(crate) fn to_json(&self) -> String {
        let mut text = format!("{{\"id\":{},\"name\":{}", quote(&self.id), quote(&self.name));
        let texts = [("key", &self.key), ("error", &self.error), ("cron", &self.cron)];
        for (name, value) in texts {
            if let Some(value) = value {
                let _infallible = write!(text, ",\"{name}\":{}", quote(value));
            }
        }
        let _infallible = write!(
            text,
            ",\"started\":{},\"due\":{},\"failures\":{}",
            self.started, self.due, self.failures
        );
        for (name, value) in [("deadline", self.deadline), ("died", self.died)] {
            if let Some(value) = value {
                let _infallible = write!(text, ",\"{name}\":{value}");
            }
        }
        let _infallible = write!(text, ",\"payload\":{}}}", self.payload);
        text
    }

    /// Reads what `to_json` made; `None` for anything else.
    pub(crate) fn from_json(text: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(text).ok().filter(|text| text.starts_with('{'))?;
        let find = |name: &str| {
            let mut members = children(text);
            members.find(|child| child.name.map(unquote).as_deref() == Some(name)).map(|c| c.value)
        };
        let string = |name: &str| {
            let value = find(name).filter(|value| value.starts_with('"'));
            value.map(|value| unquote(value).into_owned())
        };
        let number = |name: &str| find(name)?.parse::<u64>().ok();
        Some(Self {
            id: string("id")?,
            name: string("name")?,
            key: string("key"),
            started: number("started")?,
            due: number("due")?,
            deadline: number("deadline"),
            failures: number("failures")?.try_into().ok()?,
            error: string("error"),
            died: number("died"),
            cron: string("cron"),
            payload: find("payload")?.to_owned(),
        })
    }
}

/// The key of the document of a task with a key.
pub(crate) fn place_of(name: &str, key: &str) -> Result<Key, NameError> {
    Key::new(&format!("{name}{SEPARATOR}{key}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use repository::json::canonicalize;

    fn record() -> Record {
        Record {
            id: "01ARYZ6S410000000000000000".to_owned(),
            name: "send-mail".to_owned(),
            key: None,
            started: 1,
            due: 2,
            deadline: None,
            failures: 0,
            error: None,
            died: None,
            cron: None,
            payload: "{\"to\":[\"a\",1e+21]}".to_owned(),
        }
    }

    #[test]
    fn records_come_back_and_are_canonical() {
        let full = Record {
            key: Some("user \"1\"\n".to_owned()),
            deadline: Some(3),
            failures: 2,
            error: Some("app.js:1:2: ü".to_owned()),
            died: Some(4),
            cron: Some("* * * * *".to_owned()),
            ..record()
        };
        for record in [record(), full] {
            let text = record.to_json();
            assert_eq!(canonicalize(text.as_bytes()).unwrap(), text.as_bytes());
            assert_eq!(Record::from_json(text.as_bytes()), Some(record));
        }
    }

    #[test]
    fn what_is_no_record_is_none() {
        for text in ["", "1", "[]", "{}", "{\"id\":1}", "\u{0}"] {
            assert_eq!(Record::from_json(text.as_bytes()), None, "{text}");
        }
        assert_eq!(Record::from_json(&[0xff]), None);
    }

    #[test]
    fn a_key_makes_the_place() {
        assert_eq!(record().place().unwrap().as_str(), record().id);
        let keyed = Record { key: Some("a:b".to_owned()), ..record() };
        assert_eq!(keyed.place().unwrap().as_str(), "send-mail:a:b");
    }
}
