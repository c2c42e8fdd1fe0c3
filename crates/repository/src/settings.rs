//! The settings of a collection: what they are, and the JSON text that holds them.

use crate::document_schema::DocumentSchema;
use crate::durability::Durability;
use crate::index::{IndexDefinition, IndexDefinitionError, IndexKind, IndexPath};
use crate::json;
use crate::limits::{HISTORY_VERSIONS_MAX, INDEXES_MAX};
use crate::name::excerpt;
use std::borrow::Cow;
use thiserror::Error;

/// How a collection is kept. What is left out of the text has its default value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// What a reply to a commit waits for.
    pub durability: Durability,
    /// What becomes of two changes of one document.
    pub conflict: OnConflict,
    /// Whether a client must say which version it replaces.
    pub overwrite: Overwrite,
    /// Milliseconds after which a document expires that was written without an expiry of its own.
    /// At least 1.
    pub expiry_ms: Option<u64>,
    /// Which versions are kept that were replaced or removed.
    pub history: History,
    /// The indexes; at most 32, each with another name.
    pub indexes: Vec<IndexDefinition>,
    /// What documents are to fit. Those that were there before are not looked at.
    pub schema: Option<DocumentSchema>,
}

/// Which versions of its documents a collection keeps beside the newest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum History {
    /// None.
    #[default]
    None,
    /// So many of each document, the last ones; from 1 to 1,000.
    Versions(u64),
    /// Those that were replaced or removed less than so many milliseconds ago; at least 1.
    AgeMs(u64),
}

impl History {
    /// Whether both keep versions by the same rule, whatever its measure.
    pub(crate) fn is_same_kind(self, other: Self) -> bool {
        std::mem::discriminant(&self) == std::mem::discriminant(&other)
    }
}

/// What becomes of a change to a JSON document that somebody else has changed since it was read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnConflict {
    /// The transaction conflicts.
    #[default]
    Reject,
    /// Both changes are kept if they are at different places of the document.
    Merge,
}

/// Whether a client must say which version of a document it replaces or removes. It binds the
/// faces, which ask [`crate::Transaction::overwrite`]; a handler has read what it writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Overwrite {
    /// It may, and need not.
    #[default]
    Free,
    /// It must.
    Conditional,
}

/// Why a text is no settings.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum SettingsError {
    /// Not JSON at all.
    #[error("settings: {0}")]
    Json(#[from] json::Error),
    /// A value of the wrong kind or beyond its range.
    #[error("settings: {at} is {expected}; got {got}")]
    Value {
        /// Where: "expiry", "indexes/0/paths", ...
        at: String,
        /// What may be there.
        expected: &'static str,
        /// The start of what is there.
        got: String,
    },
    /// A member that does not exist.
    #[error("settings: {at} has no \"{got}\"; it can have {known}{}", meant(.got, .known))]
    Unknown {
        /// Where.
        at: String,
        /// The start of its name.
        got: String,
        /// The members there are.
        known: String,
    },
    /// A member that must be there is not.
    #[error("settings: {at} needs \"{name}\"")]
    Missing {
        /// Where.
        at: String,
        /// The member.
        name: &'static str,
    },
    /// An index breaks the rules for indexes.
    #[error("settings: {0}")]
    Index(#[from] IndexDefinitionError),
    /// The schema is none that is taken.
    #[error("settings: {0}")]
    Schema(#[from] schema::SchemaError),
    /// Two indexes have the same name.
    #[error("settings: two indexes are called \"{0}\"")]
    RepeatedIndex(String),
    /// Too many indexes.
    #[error("settings: a collection has at most {INDEXES_MAX} indexes; got {got}")]
    TooManyIndexes {
        /// How many.
        got: usize,
    },
}

/// The largest whole number up to which doubles, and so JSON, have every one.
const EXACT_MAX: u64 = 1 << f64::MANTISSA_DIGITS;

/// Where a mistake is that is in no member.
const WHOLE: &str = "the whole";

const DURABILITIES: &[(&str, Durability)] = &[
    ("synced", Durability::Synced),
    ("written", Durability::Written),
    ("volatile", Durability::Volatile),
];
const CONFLICTS: &[(&str, OnConflict)] =
    &[("reject", OnConflict::Reject), ("merge", OnConflict::Merge)];
const OVERWRITES: &[(&str, Overwrite)] =
    &[("free", Overwrite::Free), ("conditional", Overwrite::Conditional)];
const KINDS: &[(&str, IndexKind)] = &[
    ("text", IndexKind::Text),
    ("number", IndexKind::Number),
    ("boolean", IndexKind::Boolean),
    ("any", IndexKind::Any),
];

const DURABILITY_WORDS: &str = "\"synced\", \"written\" or \"volatile\"";
const CONFLICT_WORDS: &str = "\"reject\" or \"merge\"";
const OVERWRITE_WORDS: &str = "\"free\" or \"conditional\"";
const KIND_WORDS: &str = "\"text\", \"number\", \"boolean\" or \"any\"";
const NO_HISTORY: &str = "none";
const HISTORY_WORDS: &str = "\"none\", or an object with \"versions\" or \"age\"";
const HISTORY_OF_VOLATILE: &str = "\"none\" where durability is \"volatile\"";
const VERSIONS_RANGE: &str = "a whole number from 1 to 1000";
const EXPIRY_RANGE: &str = "a whole number of milliseconds, from 1 to 2^53";

impl Settings {
    /// Reads settings from JSON text, canonical or not.
    pub fn from_json(text: &str) -> Result<Self, SettingsError> {
        let canonical = json::canonicalize(text.as_bytes())?;
        let canonical = String::from_utf8_lossy(&canonical);
        const KNOWN: [&str; 7] =
            ["durability", "conflict", "overwrite", "expiry", "history", "indexes", "schema"];
        let [durability, conflict, overwrite, expiry, history, indexes, schema] =
            Value::root(&canonical).members(KNOWN)?;
        let settings = Self {
            durability: word(durability, DURABILITIES, DURABILITY_WORDS)?,
            conflict: word(conflict, CONFLICTS, CONFLICT_WORDS)?,
            overwrite: word(overwrite, OVERWRITES, OVERWRITE_WORDS)?,
            expiry_ms: expiry.map(|value| value.whole_number(EXPIRY_RANGE)).transpose()?,
            history: history.map(|value| value.history()).transpose()?.unwrap_or_default(),
            indexes: indexes.map(|value| value.indexes()).transpose()?.unwrap_or_default(),
            schema: schema.map(|value| DocumentSchema::new(value.text)),
        };
        settings.check_all_but_schema()?;
        Ok(settings)
    }

    /// Checks what the types leave open: the expiry, the indexes, and the schema, which takes some
    /// time.
    pub fn check(&self) -> Result<(), SettingsError> {
        self.check_all_but_schema()?;
        match &self.schema {
            Some(schema) => Ok(schema.compile()?),
            None => Ok(()),
        }
    }

    fn check_all_but_schema(&self) -> Result<(), SettingsError> {
        if let Some(ms) = self.expiry_ms.filter(|ms| !(1..=EXACT_MAX).contains(ms)) {
            let (at, got) = ("expiry".to_owned(), ms.to_string());
            return Err(SettingsError::Value { at, expected: EXPIRY_RANGE, got });
        }
        self.check_history()?;
        if self.indexes.len() > INDEXES_MAX {
            return Err(SettingsError::TooManyIndexes { got: self.indexes.len() });
        }
        for (i, index) in self.indexes.iter().enumerate() {
            index.check()?;
            if self.indexes[..i].iter().any(|other| other.name == index.name) {
                return Err(SettingsError::RepeatedIndex(index.name.clone()));
            }
        }
        Ok(())
    }

    /// Whether changes of two are merged. Where there is a schema they are not: nobody has checked
    /// what comes of both.
    pub(crate) fn merges(&self) -> bool {
        self.conflict == OnConflict::Merge && self.schema.is_none()
    }

    fn check_history(&self) -> Result<(), SettingsError> {
        let refused = |at: &str, expected, got: String| {
            Err(SettingsError::Value { at: at.to_owned(), expected, got })
        };
        match self.history {
            History::Versions(count) if !(1..=HISTORY_VERSIONS_MAX).contains(&count) => {
                refused("history/versions", VERSIONS_RANGE, count.to_string())
            }
            History::AgeMs(ms) if !(1..=EXACT_MAX).contains(&ms) => {
                refused("history/age", EXPIRY_RANGE, ms.to_string())
            }
            History::Versions(_) | History::AgeMs(_) if self.durability == Durability::Volatile => {
                refused("history", HISTORY_OF_VOLATILE, history_json(self.history))
            }
            _ => Ok(()),
        }
    }

    /// The settings as canonical JSON text, without what has its default value.
    pub fn to_json(&self) -> String {
        let defaults = Self::default();
        let mut members = Vec::new();
        if self.durability != defaults.durability {
            members
                .push(member("durability", &json::quote(name_of(self.durability, DURABILITIES))));
        }
        if self.conflict != defaults.conflict {
            members.push(member("conflict", &json::quote(name_of(self.conflict, CONFLICTS))));
        }
        if self.overwrite != defaults.overwrite {
            members.push(member("overwrite", &json::quote(name_of(self.overwrite, OVERWRITES))));
        }
        if let Some(ms) = self.expiry_ms {
            members.push(member("expiry", &ms.to_string()));
        }
        if self.history != defaults.history {
            members.push(member("history", &history_json(self.history)));
        }
        if !self.indexes.is_empty() {
            let indexes: Vec<String> = self.indexes.iter().map(index_json).collect();
            members.push(member("indexes", &format!("[{}]", indexes.join(","))));
        }
        if let Some(schema) = &self.schema {
            members.push(member("schema", schema.as_str()));
        }
        object(&members)
    }
}

impl SettingsError {
    /// Where the mistake is, as a JSON Pointer into the settings, as far as that is known.
    pub fn pointer(&self) -> String {
        match self {
            Self::Value { at, .. } | Self::Unknown { at, .. } | Self::Missing { at, .. } => {
                if at == WHOLE { String::new() } else { format!("/{at}") }
            }
            Self::Schema(error) => format!("/schema{}", error.at),
            Self::Index(_) | Self::RepeatedIndex(_) | Self::TooManyIndexes { .. } => {
                "/indexes".to_owned()
            }
            Self::Json(_) => String::new(),
        }
    }
}

/// The known name that is most like the one that came, if one is.
fn meant(got: &str, known: &str) -> String {
    let likeness = |name: &&str| {
        let same = |(a, b): &(char, char)| a == b;
        let front = name.chars().zip(got.chars()).take_while(same).count();
        let back = name.chars().rev().zip(got.chars().rev()).take_while(same).count();
        front + back
    };
    let nearest = known.split(", ").max_by_key(likeness);
    let nearest = nearest.filter(|name| 2 * likeness(name) >= name.len());
    nearest.map(|name| format!("; perhaps \"{name}\" was meant")).unwrap_or_default()
}

fn history_json(history: History) -> String {
    match history {
        History::None => json::quote(NO_HISTORY),
        History::Versions(count) => object(&[member("versions", &count.to_string())]),
        History::AgeMs(ms) => object(&[member("age", &ms.to_string())]),
    }
}

fn index_json(index: &IndexDefinition) -> String {
    let paths: Vec<String> = index.paths.iter().map(path_json).collect();
    let mut members = vec![
        member("name", &json::quote(&index.name)),
        member("paths", &format!("[{}]", paths.join(","))),
    ];
    if index.unique {
        members.push(member("unique", "true"));
    }
    object(&members)
}

fn path_json(path: &IndexPath) -> String {
    let mut members = vec![member("path", &json::quote(&path.path))];
    if path.kind != IndexKind::default() {
        members.push(member("kind", &json::quote(path.kind.as_str())));
    }
    if path.each {
        members.push(member("each", "true"));
    }
    object(&members)
}

fn member(name: &str, value: &str) -> String {
    format!("\"{name}\":{value}")
}

fn object(members: &[String]) -> String {
    format!("{{{}}}", members.join(","))
}

fn name_of<T: PartialEq + Copy>(value: T, words: &[(&'static str, T)]) -> &'static str {
    words.iter().find(|(_, named)| *named == value).map_or("", |(word, _)| word)
}

/// The meaning of a word; the default one if it is left out.
fn word<T: Copy + Default>(
    value: Option<Value<'_>>,
    words: &[(&str, T)],
    expected: &'static str,
) -> Result<T, SettingsError> {
    let Some(value) = value else { return Ok(T::default()) };
    let text = value.string(expected)?;
    match words.iter().find(|(word, _)| *word == text) {
        Some((_, meaning)) => Ok(*meaning),
        None => Err(value.refused(expected)),
    }
}

/// A value of the text, and where it is.
struct Value<'a> {
    at: String,
    text: &'a str,
}

impl<'a> Value<'a> {
    fn root(text: &'a str) -> Self {
        Self { at: WHOLE.to_owned(), text }
    }

    fn refused(&self, expected: &'static str) -> SettingsError {
        SettingsError::Value { at: self.at.clone(), expected, got: excerpt(self.text) }
    }

    /// Where a member or an element of this value is.
    fn inside(&self, name: &str) -> String {
        match self.at.as_str() {
            WHOLE => name.to_owned(),
            at => format!("{at}/{name}"),
        }
    }

    /// The members of an object that has none but `known`, in the order of `known`.
    fn members<const N: usize>(
        &self,
        known: [&'static str; N],
    ) -> Result<[Option<Value<'a>>; N], SettingsError> {
        if !self.text.starts_with('{') {
            return Err(self.refused("an object"));
        }
        let mut members = [const { None }; N];
        for child in json::children(self.text) {
            let name = json::unquote(child.name.unwrap_or("\"\""));
            let Some(i) = known.iter().position(|known| *known == name) else {
                let (at, got) = (self.at.clone(), excerpt(&name));
                return Err(SettingsError::Unknown { at, got, known: known.join(", ") });
            };
            members[i] = Some(Value { at: self.inside(&name), text: child.value });
        }
        Ok(members)
    }

    fn elements(&self) -> Result<impl Iterator<Item = Value<'a>>, SettingsError> {
        if !self.text.starts_with('[') {
            return Err(self.refused("an array"));
        }
        let at = self.at.clone();
        let element = move |(i, child): (usize, json::Child<'a>)| Value {
            at: format!("{at}/{i}"),
            text: child.value,
        };
        Ok(json::children(self.text).enumerate().map(element))
    }

    fn string(&self, expected: &'static str) -> Result<Cow<'a, str>, SettingsError> {
        match self.text.starts_with('"') {
            true => Ok(json::unquote(self.text)),
            false => Err(self.refused(expected)),
        }
    }

    fn whole_number(&self, range: &'static str) -> Result<u64, SettingsError> {
        self.text.parse().map_err(|_| self.refused(range))
    }

    fn history(&self) -> Result<History, SettingsError> {
        if !self.text.starts_with('{') {
            let word = self.string(HISTORY_WORDS)?;
            return if word == NO_HISTORY {
                Ok(History::None)
            } else {
                Err(self.refused(HISTORY_WORDS))
            };
        }
        match self.members(["versions", "age"])? {
            [Some(count), None] => count.whole_number(VERSIONS_RANGE).map(History::Versions),
            [None, Some(age)] => age.whole_number(EXPIRY_RANGE).map(History::AgeMs),
            _ => Err(self.refused(HISTORY_WORDS)),
        }
    }

    fn boolean(&self) -> Result<bool, SettingsError> {
        self.text.parse().map_err(|_| self.refused("true or false"))
    }

    fn missing(&self, name: &'static str) -> SettingsError {
        SettingsError::Missing { at: self.at.clone(), name }
    }

    fn indexes(&self) -> Result<Vec<IndexDefinition>, SettingsError> {
        self.elements()?.map(|element| element.index()).collect()
    }

    fn index(&self) -> Result<IndexDefinition, SettingsError> {
        let [name, paths, unique] = self.members(["name", "paths", "unique"])?;
        let name = name.ok_or_else(|| self.missing("name"))?.string("a string")?.into_owned();
        let paths = paths.ok_or_else(|| self.missing("paths"))?;
        let paths = paths.elements()?.map(|element| element.path()).collect::<Result<_, _>>()?;
        let unique = unique.map(|value| value.boolean()).transpose()?.unwrap_or_default();
        Ok(IndexDefinition { name, paths, unique })
    }

    fn path(&self) -> Result<IndexPath, SettingsError> {
        let [path, kind, each] = self.members(["path", "kind", "each"])?;
        let path = path.ok_or_else(|| self.missing("path"))?.string("a string")?.into_owned();
        let kind = word(kind, KINDS, KIND_WORDS)?;
        let each = each.map(|value| value.boolean()).transpose()?.unwrap_or_default();
        Ok(IndexPath { path, kind, each })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mistake(text: &str) -> String {
        Settings::from_json(text).unwrap_err().to_string()
    }

    #[test]
    fn settings_come_back_as_they_were() {
        let full = concat!(
            r#"{"durability":"volatile","conflict":"merge","overwrite":"conditional","#,
            r#""expiry":86400000,"indexes":["#,
            r#"{"name":"by_mail","paths":[{"path":"/mail","kind":"text"}],"unique":true},"#,
            r#"{"name":"tags","paths":[{"path":"/tags","each":true},"#,
            r#"{"path":"/a~1\"b","kind":"number"}]}]}"#
        );
        let settings = Settings::from_json(full).unwrap();
        assert_eq!(settings.durability, Durability::Volatile);
        assert_eq!(settings.indexes[1].paths[0].kind, IndexKind::Any);
        assert_eq!(settings.indexes[1].paths[1].path, "/a~1\"b");
        assert_eq!(settings.to_json(), full);
        for history in [r#"{"versions":7}"#, r#"{"age":60000}"#] {
            let text = format!("{{\"history\":{history}}}");
            assert_eq!(Settings::from_json(&text).unwrap().to_json(), text);
        }
        let none = Settings::from_json(r#"{"history":"none"}"#);
        assert_eq!(none, Ok(Settings::default()));
        let defaults = r#"{ "durability": "synced", "conflict": "reject", "indexes": [] }"#;
        assert_eq!(Settings::from_json(defaults), Ok(Settings::default()));
        assert_eq!(Settings::default().to_json(), "{}");
    }

    #[test]
    fn mistakes_say_what_was_expected_and_what_came() {
        for (text, expected) in [
            ("{", "not JSON at line 1"),
            ("[]", "the whole is an object; got []"),
            (r#"{"expiri":1}"#, "has no \"expiri\"; it can have durability, conflict, overwrite"),
            (r#"{"durability":true}"#, "durability is \"synced\", \"written\" or \"volatile\""),
            (r#"{"conflict":"mine"}"#, "conflict is \"reject\" or \"merge\"; got \\\"mine\\\""),
            (r#"{"overwrite":1}"#, "overwrite is \"free\" or \"conditional\"; got 1"),
            (r#"{"expiry":0}"#, "from 1 to 2^53; got 0"),
            (r#"{"expiry":1.5}"#, "expiry is a whole number of milliseconds"),
            (r#"{"expiry":1e300}"#, "expiry is a whole number of milliseconds"),
            (r#"{"expiry":null}"#, "got null"),
            (r#"{"history":"all"}"#, "history is \"none\", or an object with"),
            (r#"{"history":{}}"#, "history is \"none\", or an object with"),
            (r#"{"history":{"versions":1,"age":1}}"#, "history is \"none\", or an object with"),
            (r#"{"history":{"versions":1001}}"#, "history/versions is a whole number from 1 to 10"),
            (r#"{"history":{"age":0}}"#, "history/age is a whole number of milliseconds"),
            (
                r#"{"durability":"volatile","history":{"versions":1}}"#,
                "history is \"none\" where durability is \"volatile\"",
            ),
            (r#"{"indexes":{}}"#, "indexes is an array; got {}"),
            (r#"{"indexes":[1]}"#, "indexes/0 is an object; got 1"),
            (r#"{"indexes":[{"paths":[]}]}"#, "indexes/0 needs \"name\""),
            (r#"{"indexes":[{"name":"a"}]}"#, "indexes/0 needs \"paths\""),
            (r#"{"indexes":[{"name":"a","paths":[]}]}"#, "needs 1 to 8 paths; got 0"),
            (r#"{"indexes":[{"name":"a","paths":[{}]}]}"#, "indexes/0/paths/0 needs \"path\""),
            (
                r#"{"indexes":[{"name":"a","paths":[{"path":"/a","kind":"date"}]}]}"#,
                "indexes/0/paths/0/kind is \"text\", \"number\", \"boolean\" or \"any\"",
            ),
            (r#"{"indexes":[{"name":"a","paths":[{"path":"a"}]}]}"#, "starts with '/'"),
            (r#"{"indexes":[{"name":"a","unique":1}]}"#, "needs \"paths\""),
        ] {
            let message = mistake(text);
            assert!(message.starts_with("settings: ") && message.contains(expected), "{message}");
        }
    }

    #[test]
    fn indexes_are_few_and_have_names_of_their_own() {
        let index = |i: usize| format!(r#"{{"name":"i{i}","paths":[{{"path":"/a"}}]}}"#);
        let text = |names: &mut dyn Iterator<Item = usize>| {
            format!("{{\"indexes\":[{}]}}", names.map(index).collect::<Vec<_>>().join(","))
        };
        assert!(Settings::from_json(&text(&mut (0..INDEXES_MAX))).is_ok());
        assert!(mistake(&text(&mut (0..=INDEXES_MAX))).contains("at most 32 indexes; got 33"));
        assert!(mistake(&text(&mut [1, 2, 1].into_iter())).contains("two indexes are called"));
    }
}
