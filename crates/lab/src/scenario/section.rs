//! A table of the file, and the values in it, read with their places. A key that nobody asked for
//! is a mistake, and is compared with those that somebody asked for.

use super::mistakes::{Book, hint};
use super::text;
use std::cell::RefCell;
use std::ops::{Range, RangeInclusive};
use std::time::Duration;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A table.
pub(super) struct Section<'a> {
    pub(super) book: &'a Book<'a>,
    table: &'a DeTable<'a>,
    /// Where it stands.
    pub(super) span: Range<usize>,
    /// Its name, empty for the whole file.
    pub(super) name: String,
    asked: RefCell<Vec<&'static str>>,
}

/// A value in a table or an array.
#[derive(Clone)]
pub(super) struct Value<'a> {
    book: &'a Book<'a>,
    /// Its key with those of the tables around it, for messages.
    pub(super) name: String,
    item: &'a Spanned<DeValue<'a>>,
}

/// A key that is not of the format but the author's, with its value.
pub(super) struct Entry<'a> {
    pub(super) key: String,
    /// Of the key.
    pub(super) span: Range<usize>,
    pub(super) value: Value<'a>,
}

impl<'a> Section<'a> {
    pub(super) fn new(
        book: &'a Book<'a>,
        table: &'a DeTable<'a>,
        span: Range<usize>,
        name: String,
    ) -> Self {
        Self { book, table, span, name, asked: RefCell::default() }
    }

    /// The value of a key, which is thereby known.
    pub(super) fn get(&self, key: &'static str) -> Option<Value<'a>> {
        self.asked.borrow_mut().push(key);
        let item = self.table.get(key)?;
        Some(Value { book: self.book, name: self.path(key), item })
    }

    /// The value of a key that must be there.
    pub(super) fn need(&self, key: &'static str, expected: &str) -> Option<Value<'a>> {
        let value = self.get(key);
        if value.is_none() {
            let path = self.path(key);
            self.book.missing(&self.span, format!("`{path}` is missing; expected {expected}"));
        }
        value
    }

    /// The keys of this table that are there, of these.
    pub(super) fn which(&self, keys: &[&'static str]) -> Vec<&'static str> {
        self.asked.borrow_mut().extend(keys);
        keys.iter().copied().filter(|key| self.table.contains_key(*key)).collect()
    }

    /// Every key, in the order of the file: for tables whose keys are the author's.
    pub(super) fn entries(&self) -> Vec<Entry<'a>> {
        let mut entries: Vec<Entry<'a>> = self
            .table
            .iter()
            .map(|(key, item)| {
                let name = self.path(key.get_ref());
                let value = Value { book: self.book, name, item };
                Entry { key: key.get_ref().to_string(), span: key.span(), value }
            })
            .collect();
        entries.sort_by_key(|entry| entry.span.start);
        entries
    }

    /// Refuses the keys that nobody asked for.
    pub(super) fn close(self) {
        let asked = self.asked.borrow();
        for entry in self.entries() {
            if !asked.contains(&entry.key.as_str()) {
                let place = match self.name.as_str() {
                    "" => "here".to_owned(),
                    name => format!("in `{name}`"),
                };
                let mut known: Vec<&str> = asked.clone();
                known.sort_unstable();
                known.dedup();
                let hint = hint(&entry.key, known);
                let key = &entry.key;
                self.book.wrong(&entry.span, format!("there is no key `{key}` {place}{hint}"));
            }
        }
    }

    fn path(&self, key: &str) -> String {
        match self.name.as_str() {
            "" => key.to_owned(),
            name => format!("{name}.{key}"),
        }
    }

    pub(super) fn section(&self, key: &'static str) -> Option<Section<'a>> {
        self.get(key)?.section()
    }

    pub(super) fn text(&self, key: &'static str) -> Option<String> {
        self.get(key)?.text()
    }

    pub(super) fn truth(&self, key: &'static str) -> Option<bool> {
        self.get(key)?.truth()
    }

    pub(super) fn whole(&self, key: &'static str, range: RangeInclusive<u64>) -> Option<u64> {
        self.get(key)?.whole(range)
    }

    pub(super) fn number(&self, key: &'static str, range: RangeInclusive<f64>) -> Option<f64> {
        self.get(key)?.number(range)
    }

    pub(super) fn duration(
        &self,
        key: &'static str,
        range: RangeInclusive<Duration>,
    ) -> Option<Duration> {
        self.get(key)?.duration(range)
    }
}

impl Entry<'_> {
    /// Notes what is wrong with the key.
    pub(super) fn wrong_key(&self, what: impl std::fmt::Display) {
        self.value.book.wrong(&self.span, format!("`{}`: {what}", self.value.name));
    }
}

impl<'a> Value<'a> {
    pub(super) fn span(&self) -> Range<usize> {
        self.item.span()
    }

    /// Notes what is wrong with it.
    pub(super) fn wrong(&self, what: impl std::fmt::Display) {
        self.book.wrong(&self.span(), format!("`{}`: {what}", self.name));
    }

    /// Notes that something else was expected.
    pub(super) fn expected(&self, what: impl std::fmt::Display) {
        self.wrong(format_args!("expected {what}; got {}", self.shown()));
    }

    fn shown(&self) -> String {
        match self.item.get_ref() {
            DeValue::String(text) if text.chars().count() > 60 => {
                let start: String = text.chars().take(57).collect();
                format!("\"{start}...\"")
            }
            DeValue::String(text) => format!("\"{text}\""),
            DeValue::Integer(number) => number.to_string(),
            DeValue::Float(number) => number.as_str().to_owned(),
            DeValue::Boolean(truth) => truth.to_string(),
            DeValue::Datetime(_) => "a date".to_owned(),
            DeValue::Array(_) => "an array".to_owned(),
            DeValue::Table(_) => "a table".to_owned(),
        }
    }

    /// Text as it stands.
    pub(super) fn raw(&self) -> Option<&'a str> {
        self.item.get_ref().as_str()
    }

    /// Text, or a mistake.
    pub(super) fn raw_text(&self) -> Option<&'a str> {
        let raw = self.raw();
        if raw.is_none() {
            self.expected("a text in quotes");
        }
        raw
    }

    /// Text with constants filled in.
    pub(super) fn text(&self) -> Option<String> {
        let raw = self.raw_text()?;
        match text::fill_in(raw, self.book.constants()) {
            Ok(text) => Some(text),
            Err(why) => {
                self.wrong(why);
                None
            }
        }
    }

    /// A number or a text that is made one by constants.
    fn figure(&self) -> Option<String> {
        match self.item.get_ref() {
            DeValue::Integer(number) if number.radix() == 10 => Some(number.as_str().to_owned()),
            DeValue::Integer(number) => {
                let value = i64::from_str_radix(number.as_str(), number.radix()).ok()?;
                Some(value.to_string())
            }
            DeValue::Float(number) => Some(number.as_str().to_owned()),
            DeValue::String(raw) => text::fill_in(raw, self.book.constants()).ok(),
            _ => None,
        }
    }

    /// What a variable may be set to, as text.
    pub(super) fn constant(&self) -> Option<String> {
        match self.item.get_ref() {
            DeValue::String(text) => Some(text.to_string()),
            DeValue::Boolean(truth) => Some(truth.to_string()),
            DeValue::Integer(_) | DeValue::Float(_) => self.figure(),
            _ => {
                self.expected("a text or a number");
                None
            }
        }
    }

    /// Whether it is `true`, as it stands.
    pub(super) fn is_true(&self) -> bool {
        self.item.get_ref().as_bool() == Some(true)
    }

    pub(super) fn truth(&self) -> Option<bool> {
        let truth = match self.item.get_ref() {
            DeValue::String(raw) => {
                let text = text::fill_in(raw, self.book.constants()).ok();
                text.and_then(|text| text.parse().ok())
            }
            other => other.as_bool(),
        };
        if truth.is_none() {
            self.expected("true or false");
        }
        truth
    }

    pub(super) fn whole(&self, range: RangeInclusive<u64>) -> Option<u64> {
        let number = self.figure().and_then(|text| text.parse().ok());
        let number = number.filter(|number| range.contains(number));
        if number.is_none() {
            let (least, most) = (range.start(), range.end());
            match *most {
                u64::MAX => self.expected(format_args!("a whole number from {least} on")),
                _ => self.expected(format_args!("a whole number from {least} to {most}")),
            }
        }
        number
    }

    pub(super) fn number(&self, range: RangeInclusive<f64>) -> Option<f64> {
        let number: Option<f64> = self.figure().and_then(|text| text.parse().ok());
        let number = number.filter(|number| range.contains(number));
        if number.is_none() {
            let (least, most) = (range.start(), range.end());
            match most.is_finite() {
                true => self.expected(format_args!("a number from {least} to {most}")),
                false => self.expected(format_args!("a number from {least} on")),
            }
        }
        number
    }

    pub(super) fn is_text(&self) -> bool {
        self.raw().is_some()
    }

    pub(super) fn is_table(&self) -> bool {
        self.item.get_ref().is_table()
    }

    pub(super) fn is_list(&self) -> bool {
        self.item.get_ref().is_array()
    }

    pub(super) fn duration(&self, range: RangeInclusive<Duration>) -> Option<Duration> {
        let text = self.raw().and_then(|raw| text::fill_in(raw, self.book.constants()).ok());
        let duration = text.and_then(|text| text::duration(&text));
        let duration = duration.filter(|duration| range.contains(duration));
        if duration.is_none() {
            let least = match range.start().is_zero() {
                true => String::new(),
                false => format!("at least {:?} and ", range.start()),
            };
            let most = range.end();
            self.expected(format_args!(
                "a time like \"500ms\", \"1.5s\" or \"2m\", {least}at most \
                                        {most:?}"
            ));
        }
        duration
    }

    pub(super) fn section(&self) -> Option<Section<'a>> {
        let DeValue::Table(table) = self.item.get_ref() else {
            self.expected("a table");
            return None;
        };
        Some(Section::new(self.book, table, self.span(), self.name.clone()))
    }

    /// The elements of an array.
    pub(super) fn list(&self) -> Option<Vec<Value<'a>>> {
        let DeValue::Array(array) = self.item.get_ref() else {
            self.expected("an array");
            return None;
        };
        let value =
            |(i, item)| Value { book: self.book, name: format!("{}[{i}]", self.name), item };
        Some(array.iter().enumerate().map(value).collect())
    }
    /// The elements of an array, or the value itself as the only one.
    pub(super) fn one_or_more(&self) -> Vec<Value<'a>> {
        match self.is_list() {
            true => self.list().unwrap_or_default(),
            false => vec![self.clone()],
        }
    }
}
