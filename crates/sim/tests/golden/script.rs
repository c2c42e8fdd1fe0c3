//! The language of golden histories: from text to statements. Knows no repository but the names of
//! merge operations.

use repository::Merge;

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
    /// One commit that puts these; `none` deletes.
    Given(Vec<(Place, String)>),
    /// A step of a transaction, and what must come of it.
    Step { transaction: String, action: Action, expected: String },
    /// What must be there now, and after a reopening.
    Finally(Vec<(Place, String)>),
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Isolation {
    Serializable,
}

pub enum Action {
    Begin,
    Get(Place),
    Peek(Place),
    Put(Place, String),
    Delete(Place),
    Merge(Place, Merge),
    Commit,
    Drop,
    /// A transaction of this one step, which commits at once.
    Once(Box<Action>),
}

impl Action {
    /// What comes of it where nothing is said: a write is staged, a transaction of one step
    /// commits. A read is there for what it gives, which must be said.
    fn usual(&self) -> Option<&'static str> {
        match self {
            Self::Get(_) | Self::Peek(_) | Self::Commit => None,
            Self::Once(_) => Some("ok"),
            _ => Some(""),
        }
    }
}

/// The collection of a place that names none.
const DEFAULT_COLLECTION: &str = "notes";

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
        "history" => Ok(Statement::History(isolation(rest)?)),
        "given" => Ok(Statement::Given(pairs(rest)?)),
        "finally" => Ok(Statement::Finally(pairs(rest)?)),
        _ => step(word, rest),
    }
}

fn isolation(text: &str) -> Result<Isolation, String> {
    match text {
        "under serializable" => Ok(Isolation::Serializable),
        _ => Err(format!("expected `under serializable` or `under snapshot`, got `{text}`")),
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
        "begin" => Action::Begin,
        "commit" => Action::Commit,
        "drop" => Action::Drop,
        "once" => Action::Once(Box::new(self::action(rest)?)),
        "get" => Action::Get(place(at)?),
        "peek" => Action::Peek(place(at)?),
        "put" => Action::Put(place(at)?, value.to_owned()),
        "delete" => Action::Delete(place(at)?),
        _ => Action::Merge(place(at)?, merge(word, value)?),
    })
}

/// A merge operation: its name, then an optional path (which begins with `/`), then its value.
fn merge(name: &str, text: &str) -> Result<Merge, String> {
    let (path, value) = if text.starts_with('/') { split_word(text) } else { ("", text) };
    let path = path.to_owned();
    let number = || value.parse::<f64>().map_err(|why| format!("`{value}`: {why}"));
    match name {
        "add" => Ok(Merge::Add { path, delta: number()? }),
        _ => Err(format!("there is no action `{name}`")),
    }
}

/// `key` or `collection:key`.
fn place(text: &str) -> Result<Place, String> {
    let (collection, key) = text.split_once(':').unwrap_or((DEFAULT_COLLECTION, text));
    if key.is_empty() {
        return Err("expected a key".to_owned());
    }
    Ok(Place { collection: collection.to_owned(), key: key.to_owned() })
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
