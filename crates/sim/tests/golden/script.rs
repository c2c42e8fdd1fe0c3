//! The language of golden histories: from text to statements. `docs/histories.md` describes it.

use repository::{Direction, IndexRange, IndexValue, Isolation, Key, KeyRange, Merge, Settings};
use std::ops::Bound;

/// A statement and where it stands.
pub struct Line {
    pub number: usize,
    pub statement: Statement,
}

/// A document: its collection and key.
#[derive(Clone, Debug)]
pub struct Place {
    pub collection: String,
    pub key: String,
}

pub enum Statement {
    /// A new history begins with nothing there.
    History(Isolation),
    /// The settings of a collection from now on.
    Settings(String, Settings),
    /// So many milliseconds pass.
    Time(u64),
    /// One commit that puts these; `none` deletes.
    Given(Vec<(Place, String)>),
    /// A step of a transaction, and what must come of it.
    Step { transaction: String, action: Action, expected: String },
    /// What must be there now, and after a reopening.
    Finally(Vec<(Place, String)>),
}

pub enum Action {
    /// With another isolation than that of the history, if one is given.
    Begin(Option<Isolation>),
    Get(Place),
    Peek(Place),
    Range(String, KeyRange, Page),
    /// By an index of a collection.
    Index(String, String, IndexRange, Page),
    Put(Place, String),
    Delete(Place),
    Merge(Place, Merge),
    Commit,
    Drop,
    /// A transaction of this one step, which commits at once.
    Once(Box<Action>),
}

/// How much of a range is read.
pub struct Page {
    pub direction: Direction,
    pub limit: usize,
}

impl Action {
    /// What comes of it where nothing is said: a write is staged, a transaction of one step
    /// commits. A read is there for what it gives, which must be said.
    fn usual(&self) -> Option<&'static str> {
        match self {
            Self::Begin(_) | Self::Put(..) | Self::Delete(_) | Self::Merge(..) | Self::Drop => {
                Some("")
            }
            Self::Once(_) => Some("ok"),
            _ => None,
        }
    }
}

/// The collection of a place that names none.
pub const DEFAULT_COLLECTION: &str = "notes";

/// All statements, or the number of the line that is wrong, and why.
pub fn parse(text: &str) -> Result<Vec<Line>, (usize, String)> {
    let mut lines = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let statement = statement(line).map_err(|why| (number, why))?;
        if lines.is_empty() && !matches!(statement, Statement::History(_)) {
            return Err((number, "expected `history under ...` first".to_owned()));
        }
        lines.push(Line { number, statement });
    }
    Ok(lines)
}

fn statement(line: &str) -> Result<Statement, String> {
    let (word, rest) = split_word(line);
    match word {
        "history" => {
            let isolation = rest.strip_prefix("under ").ok_or("expected `history under ...`")?;
            Ok(Statement::History(self::isolation(isolation)?))
        }
        "settings" => {
            let (collection, settings) = split_word(rest);
            let settings = Settings::from_json(settings).map_err(|error| error.to_string())?;
            Ok(Statement::Settings(collection.to_owned(), settings))
        }
        "time" => match rest.strip_prefix('+').map(str::parse) {
            Some(Ok(ms)) => Ok(Statement::Time(ms)),
            _ => Err(format!("expected `time +` and milliseconds, got `{rest}`")),
        },
        "given" => Ok(Statement::Given(pairs(rest)?)),
        "finally" => Ok(Statement::Finally(pairs(rest)?)),
        _ => step(word, rest),
    }
}

fn isolation(text: &str) -> Result<Isolation, String> {
    match text {
        "serializable" => Ok(Isolation::Serializable),
        "snapshot" => Ok(Isolation::Snapshot),
        _ => Err(format!("expected `serializable` or `snapshot`, got `{text}`")),
    }
}

fn step(transaction: &str, text: &str) -> Result<Statement, String> {
    let (text, expected) = match text.split_once("->") {
        Some((text, expected)) => (text.trim(), Some(expected.trim().to_owned())),
        None => (text, None),
    };
    let action = action(text)?;
    let expected = expected
        .or_else(|| action.usual().map(str::to_owned))
        .ok_or("expected `-> ...` after a read or a commit")?;
    Ok(Statement::Step { transaction: transaction.to_owned(), action, expected })
}

fn action(text: &str) -> Result<Action, String> {
    let (word, rest) = split_word(text);
    let (at, value) = split_word(rest);
    Ok(match word {
        "begin" if rest.is_empty() => Action::Begin(None),
        "begin" => Action::Begin(Some(isolation(rest)?)),
        "commit" => Action::Commit,
        "drop" => Action::Drop,
        "once" => Action::Once(Box::new(action(rest)?)),
        "get" => Action::Get(place(at)?),
        "peek" => Action::Peek(place(at)?),
        "put" => Action::Put(place(at)?, value.to_owned()),
        "delete" => Action::Delete(place(at)?),
        "range" => {
            let (collection, range) = split_collection(at);
            Action::Range(collection.to_owned(), key_range(range)?, page(value)?)
        }
        "index" => {
            let ((collection, index), (range, rest)) = (split_collection(at), split_word(value));
            let (collection, index) = (collection.to_owned(), index.to_owned());
            Action::Index(collection, index, index_range(range)?, page(rest)?)
        }
        _ => Action::Merge(place(at)?, merge(word, value)?),
    })
}

/// A merge operation: its name, then an optional path (which begins with `/`), then its value.
fn merge(name: &str, text: &str) -> Result<Merge, String> {
    let (path, value) = if text.starts_with('/') { split_word(text) } else { ("", text) };
    let (path, value) = (path.to_owned(), value.to_owned());
    let number = || value.parse::<f64>().map_err(|why| format!("`{value}`: {why}"));
    Ok(match name {
        "add" => Merge::Add { path, delta: number()? },
        "min" => Merge::Min { path, value: number()? },
        "max" => Merge::Max { path, value: number()? },
        "append" => Merge::Append { path, value },
        "insert-if-absent" => Merge::InsertIfAbsent { path, value },
        "set-add" => Merge::SetAdd { path, value },
        "set-remove" => Merge::SetRemove { path, value },
        _ => return Err(format!("there is no action `{name}`")),
    })
}

/// `descending`, `limit 2`, both, or neither.
fn page(text: &str) -> Result<Page, String> {
    let mut page = Page { direction: Direction::Ascending, limit: usize::MAX };
    let mut words = text.split_whitespace();
    while let Some(word) = words.next() {
        match (word, words.clone().next().map(str::parse)) {
            ("descending", _) => page.direction = Direction::Descending,
            ("limit", Some(Ok(limit))) => {
                page.limit = limit;
                words.next();
            }
            _ => {
                return Err(format!("expected `descending` or `limit` and a number, got `{text}`"));
            }
        }
    }
    Ok(page)
}

/// `a..c`, `a..=c`, `a<..` (after a), `..`, or `a*` (all that begin with a).
fn key_range(text: &str) -> Result<KeyRange, String> {
    if let Some(prefix) = text.strip_suffix('*') {
        return Ok(KeyRange::prefix(prefix));
    }
    let (from, to) = text.split_once("..").ok_or(format!("expected a range, got `{text}`"))?;
    let key = |text: &str| Key::new(text).map_err(|error| error.to_string());
    Ok(KeyRange::new(lower(from, key)?, upper(to, key)?))
}

/// `20..40`, or values first that must be equal: `"Bonn",20..`; without `..` only those: `"Bonn"`.
fn index_range(text: &str) -> Result<IndexRange, String> {
    let (equal, bounds) = match text.split_once("..") {
        None => (text, None),
        Some((before, to)) => match before.rsplit_once(',') {
            Some((equal, from)) => (equal, Some((from, to))),
            None => ("", Some((before, to))),
        },
    };
    let equal = equal.split(',').filter(|value| !value.is_empty());
    let equal = equal.map(index_value).collect::<Result<_, _>>()?;
    let (from, to) = bounds.unwrap_or_default();
    Ok(IndexRange { equal, from: lower(from, index_value)?, to: upper(to, index_value)? })
}

fn lower<T>(text: &str, value: impl Fn(&str) -> Result<T, String>) -> Result<Bound<T>, String> {
    match (text, text.strip_suffix('<')) {
        ("", _) => Ok(Bound::Unbounded),
        (_, Some(text)) => Ok(Bound::Excluded(value(text)?)),
        (_, None) => Ok(Bound::Included(value(text)?)),
    }
}

fn upper<T>(text: &str, value: impl Fn(&str) -> Result<T, String>) -> Result<Bound<T>, String> {
    match (text, text.strip_prefix('=')) {
        ("", _) => Ok(Bound::Unbounded),
        (_, Some(text)) => Ok(Bound::Included(value(text)?)),
        (_, None) => Ok(Bound::Excluded(value(text)?)),
    }
}

fn index_value(text: &str) -> Result<IndexValue, String> {
    let quoted = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
    match (text, quoted, text.parse()) {
        ("null", ..) => Ok(IndexValue::Null),
        ("true" | "false", ..) => Ok(IndexValue::Boolean(text == "true")),
        (_, Some(text), _) => Ok(IndexValue::Text(text.to_owned())),
        (_, None, Ok(number)) => Ok(IndexValue::Number(number)),
        _ => Err(format!("expected a value, got `{text}`")),
    }
}

/// `key` or `collection:key`.
fn place(text: &str) -> Result<Place, String> {
    let (collection, key) = split_collection(text);
    if key.is_empty() {
        return Err("expected a key".to_owned());
    }
    Ok(Place { collection: collection.to_owned(), key: key.to_owned() })
}

fn split_collection(text: &str) -> (&str, &str) {
    text.split_once(':').unwrap_or((DEFAULT_COLLECTION, text))
}

/// `x=1 people:y={"a":2}`: values have no spaces.
fn pairs(text: &str) -> Result<Vec<(Place, String)>, String> {
    let pair = |word: &str| {
        let (at, value) =
            word.split_once('=').ok_or_else(|| format!("expected key=value, got `{word}`"))?;
        Ok((place(at)?, value.to_owned()))
    };
    text.split_whitespace().map(pair).collect()
}

fn split_word(text: &str) -> (&str, &str) {
    let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
    (word, rest.trim_start())
}
