//! For tests: random documents, filters and orders, and what they mean, written down a second time
//! on trees of values and without a planner.

use crate::Query;
use bytes::Bytes;
use repository::{
    CollectionName, IndexDefinition, IndexState, IndexStatus, Key, MediaType, Options, Repository,
    Settings, Timestamp, json,
};
use serde_json::{Value, json};
use std::cmp::Ordering;
use std::sync::Arc;
use std::time::Duration;

/// Splitmix64 (Steele, Lea and Flood 2014).
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % end as u64) as usize
    }

    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }
}

/// A key and the value of a document; `None`: it is no JSON.
pub(crate) type Entry = (String, Option<Value>);

const TEXTS: &[&str] = &["", "a", "ab", "ab*", "b", "ä", "z\"\\", "10", "true"];
const NUMBERS: &[f64] = &[0.0, 1.0, -1.0, 2.5, 10.0, -1e300, 1e21];

fn scalar(random: &mut Random) -> Value {
    match random.below(8) {
        0 => Value::Null,
        1 => json!(random.below(2) == 0),
        2..5 => json!(random.of(NUMBERS)),
        _ => json!(random.of(TEXTS)),
    }
}

fn value(random: &mut Random) -> Value {
    match random.below(10) {
        0 => json!({ "x": scalar(random) }),
        1 => (0..random.below(4)).map(|_| scalar(random)).collect(),
        2 => json!([[scalar(random)], { "x": 1 }, scalar(random)]),
        _ => scalar(random),
    }
}

/// Documents of all sorts. Half of what they hold is the same in many.
pub(crate) fn documents(random: &mut Random, count: usize) -> Vec<Entry> {
    let document = |i: usize, random: &mut Random| {
        let key = format!("{}{i:03}", random.of(&["a/", "b/", "é"]));
        let value = match random.below(20) {
            0 => return (key, None),
            1 => value(random),
            _ => {
                let mut members = serde_json::Map::new();
                members.insert("u".to_owned(), json!(i));
                for name in ["a", "b", "t", "n", "o p"] {
                    if random.below(5) > 0 {
                        members.insert(name.to_owned(), value(random));
                    }
                }
                if random.below(2) == 0 {
                    let tags = (0..random.below(4)).map(|_| json!(random.of(TEXTS)));
                    members.insert("t".to_owned(), tags.collect());
                }
                Value::Object(members)
            }
        };
        (key, Some(value))
    };
    (0..count).map(|i| document(i, random)).collect()
}

/// A filter, as a model.
pub(crate) enum Model {
    All(Vec<Model>),
    Any(Vec<Model>),
    Not(Box<Model>),
    Is { field: &'static str, comparator: &'static str, operand: Operand },
}

pub(crate) enum Operand {
    Anything,
    Prefix(&'static str),
    Value(Value),
}

const FIELDS: &[&str] = &["a", "b", "t", "n.x", "\"o p\"", "u", "t.0", "@key"];

pub(crate) fn condition(random: &mut Random) -> Model {
    let field = random.of(FIELDS);
    let comparator = random.of(&["=", "=", "!=", ":", ":", "<", "<=", ">", ">="]);
    let is_order = comparator.starts_with(['<', '>']);
    let operand = match (field, is_order, random.below(6)) {
        ("@key", true, _) => Operand::Value(json!(random.of(&["a/02", "b/", "é", "a/010"]))),
        ("@key", false, 0..3) => Operand::Prefix(random.of(&["a/", "b/01", "é0", "x"])),
        ("@key", false, _) => Operand::Value(json!(random.of(&["a/001", "b/002", "é003"]))),
        (_, true, 0..3) => Operand::Value(json!(random.of(NUMBERS))),
        (_, true, _) => Operand::Value(json!(random.of(TEXTS))),
        (_, false, 0) if comparator == ":" => Operand::Anything,
        (_, false, 1) => Operand::Prefix(random.of(&["", "a", "ab", "ä", "1"])),
        ("u", false, _) => Operand::Value(json!(random.below(80))),
        (_, false, _) => Operand::Value(scalar(random)),
    };
    Model::Is { field, comparator, operand }
}

pub(crate) fn filter(random: &mut Random, depth: usize) -> Model {
    let several = |random: &mut Random| -> Vec<Model> {
        (0..=1 + random.below(2)).map(|_| filter(random, depth - 1)).collect()
    };
    match random.below(8) {
        0..4 if depth > 0 => Model::All(several(random)),
        4 if depth > 0 => Model::Any(several(random)),
        5 if depth > 0 => Model::Not(Box::new(filter(random, depth - 1))),
        6 if depth == 2 => Model::All(Vec::new()),
        _ => condition(random),
    }
}

impl Model {
    /// With parentheses only where they are needed: OR binds tighter than AND.
    pub(crate) fn to_text(&self) -> String {
        let joined = |all: &[Model], word: &str, needs: fn(&Model) -> bool| {
            let part = |model: &Model| match needs(model) {
                true => format!("({})", model.to_text()),
                false => model.to_text(),
            };
            all.iter().map(part).collect::<Vec<_>>().join(word)
        };
        match self {
            Self::All(all) => joined(all, " AND ", |m| matches!(m, Self::All(_))),
            Self::Any(any) => joined(any, " OR ", |m| matches!(m, Self::All(_) | Self::Any(_))),
            Self::Not(model) => format!("NOT ({})", model.to_text()),
            Self::Is { field, comparator, operand } => {
                let operand = match operand {
                    Operand::Anything => "*".to_owned(),
                    Operand::Prefix(prefix) => {
                        format!("{}*\"", quoted(prefix).strip_suffix('"').unwrap())
                    }
                    Operand::Value(Value::String(text)) => quoted(text),
                    Operand::Value(value) => value.to_string(),
                };
                format!("{field} {comparator} {operand}")
            }
        }
    }

    pub(crate) fn holds(&self, entry: &Entry) -> bool {
        match self {
            Self::All(all) => all.iter().all(|model| model.holds(entry)),
            Self::Any(any) => any.iter().any(|model| model.holds(entry)),
            Self::Not(model) => !model.holds(entry),
            Self::Is { field, comparator, operand } => {
                find(entry, field).is_some_and(|value| holds(&value, comparator, operand))
            }
        }
    }
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('*', "\\*"))
}

fn find(entry: &Entry, field: &str) -> Option<Value> {
    if field == "@key" {
        return Some(json!(entry.0));
    }
    let document = entry.1.as_ref()?;
    field
        .split('.')
        .try_fold(document, |value, name| match value {
            Value::Array(all) => all.get(name.parse::<usize>().ok()?),
            value => value.get(name.trim_matches('"')),
        })
        .cloned()
}

fn holds(value: &Value, comparator: &str, operand: &Operand) -> bool {
    let equals = |value: &Value| match (value, operand) {
        (Value::String(text), Operand::Prefix(prefix)) => text.starts_with(prefix),
        (Value::Array(_) | Value::Object(_), _) | (_, Operand::Prefix(_)) => false,
        (value, Operand::Value(other)) => compare(value, other) == Some(Ordering::Equal),
        (_, Operand::Anything) => true,
    };
    let order = match operand {
        Operand::Value(other) => compare(value, other),
        Operand::Anything | Operand::Prefix(_) => None,
    };
    match comparator {
        "=" => equals(value),
        "!=" => !equals(value),
        ":" => match (operand, value) {
            (Operand::Anything, _) => true,
            (_, Value::Array(all)) => all.iter().any(equals),
            (_, value) => equals(value),
        },
        "<" => order == Some(Ordering::Less),
        "<=" => matches!(order, Some(Ordering::Less | Ordering::Equal)),
        ">" => order == Some(Ordering::Greater),
        _ => matches!(order, Some(Ordering::Greater | Ordering::Equal)),
    }
}

fn compare(a: &Value, b: &Value) -> Option<Ordering> {
    match (a, b) {
        (Value::Null, Value::Null) => Some(Ordering::Equal),
        (Value::Bool(a), Value::Bool(b)) => Some(a.cmp(b)),
        (Value::Number(a), Value::Number(b)) => a.as_f64()?.partial_cmp(&b.as_f64()?),
        (Value::String(a), Value::String(b)) => Some(a.cmp(b)),
        _ => None,
    }
}

/// An order, as a model: fields, and whether they descend.
pub(crate) struct ModelOrder(Vec<(&'static str, bool)>);

pub(crate) fn order(random: &mut Random) -> ModelOrder {
    let mut fields: Vec<(&'static str, bool)> = Vec::new();
    let all_descend = random.below(2) == 0;
    for _ in 0..random.below(4) {
        let field = random.of(&["a", "b", "t", "n.x", "u", "@key"]);
        let descends = if random.below(4) == 0 { !all_descend } else { all_descend };
        let is_after_key = fields.iter().any(|(known, _)| *known == "@key" || *known == field);
        if !is_after_key {
            fields.push((field, descends));
        }
    }
    ModelOrder(fields)
}

impl ModelOrder {
    pub(crate) fn to_text(&self) -> String {
        let field = |(field, descends): &(&str, bool)| {
            format!("{field}{}", if *descends { " desc" } else { "" })
        };
        self.0.iter().map(field).collect::<Vec<_>>().join(", ")
    }

    /// The keys of those that can be ordered so, in order.
    pub(crate) fn sort<'a>(&self, documents: impl Iterator<Item = &'a Entry>) -> Vec<String> {
        let rank = |value: &Value| match value {
            Value::Null => Some(0),
            Value::Bool(_) => Some(1),
            Value::Number(_) => Some(2),
            Value::String(_) => Some(3),
            Value::Array(_) | Value::Object(_) => None,
        };
        let values = |entry: &Entry| -> Option<Vec<Value>> {
            let all =
                self.0.iter().map(|(field, _)| find(entry, field).filter(|v| rank(v).is_some()));
            all.collect()
        };
        let mut found: Vec<(Vec<Value>, String)> =
            documents.filter_map(|entry| Some((values(entry)?, entry.0.clone()))).collect();
        found.sort_by(|(a, a_key), (b, b_key)| {
            for ((a, b), (_, descends)) in a.iter().zip(b).zip(&self.0) {
                let order = rank(a).cmp(&rank(b)).then(compare(a, b).unwrap_or(Ordering::Equal));
                let order = if *descends { order.reverse() } else { order };
                if order.is_ne() {
                    return order;
                }
            }
            let descends = self.0.last().is_some_and(|(_, descends)| *descends);
            if descends { b_key.cmp(a_key) } else { a_key.cmp(b_key) }
        });
        found.into_iter().map(|(_, key)| key).collect()
    }
}

const INDEXES: &[&str] = &[
    r#"{"name":"a","paths":[{"path":"/a"}]}"#,
    r#"{"name":"a_number","paths":[{"path":"/a","kind":"number"}]}"#,
    r#"{"name":"a_text","paths":[{"path":"/a","kind":"text"}]}"#,
    r#"{"name":"a_each","paths":[{"path":"/a","each":true}]}"#,
    r#"{"name":"b","paths":[{"path":"/b"}]}"#,
    r#"{"name":"b_boolean","paths":[{"path":"/b","kind":"boolean"}]}"#,
    r#"{"name":"a_b","paths":[{"path":"/a"},{"path":"/b"}]}"#,
    r#"{"name":"b_a_number","paths":[{"path":"/b"},{"path":"/a","kind":"number"}]}"#,
    r#"{"name":"t_each","paths":[{"path":"/t","each":true}]}"#,
    r#"{"name":"t_each_text","paths":[{"path":"/t","each":true,"kind":"text"}]}"#,
    r#"{"name":"t_each_a","paths":[{"path":"/t","each":true},{"path":"/a"}]}"#,
    r#"{"name":"a_t_each","paths":[{"path":"/a"},{"path":"/t","each":true}]}"#,
    r#"{"name":"a_t_each_b","paths":[{"path":"/a"},{"path":"/t","each":true},{"path":"/b"}]}"#,
    r#"{"name":"n_x","paths":[{"path":"/n/x"}]}"#,
    r#"{"name":"t_0","paths":[{"path":"/t/0"}]}"#,
    r#"{"name":"u","paths":[{"path":"/u","kind":"number"}],"unique":true}"#,
    r#"{"name":"u_any","paths":[{"path":"/u"}]}"#,
];

fn definitions(texts: &[&str]) -> Vec<IndexDefinition> {
    Settings::from_json(&format!("{{\"indexes\":[{}]}}", texts.join(","))).unwrap().indexes
}

/// Sets of indexes: all, and then some.
pub(crate) fn shuffled_sets(random: &mut Random) -> Vec<Vec<IndexDefinition>> {
    let mut sets = vec![definitions(INDEXES)];
    for _ in 0..4 {
        let some: Vec<&str> = INDEXES.iter().copied().filter(|_| random.below(3) == 0).collect();
        sets.push(definitions(&some));
    }
    sets
}

/// A repository with one collection.
pub(crate) struct Bed {
    pub(crate) repository: Arc<Repository>,
    _folder: tempfile::TempDir,
}

impl Bed {
    /// With these indexes, which are ready, and documents.
    pub(crate) fn new(indexes: &[IndexDefinition], documents: &[Entry]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let options = Options {
            folder: folder.path().to_owned(),
            memory_bytes: 1 << 30,
            clock: Arc::new(|| Timestamp(1_000_000)),
        };
        let (repository, _) = Repository::open(options).unwrap();
        let settings = Settings { indexes: indexes.to_vec(), ..Settings::default() };
        repository.configure(&things(), &settings).unwrap();
        let bed = Self { repository, _folder: folder };
        bed.wait_until_ready();
        bed.put(documents);
        bed
    }

    pub(crate) fn wait_until_ready(&self) {
        let is_ready = |status: &IndexStatus| status.state == IndexState::Ready;
        while !self.repository.indexes().iter().all(is_ready) {
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    pub(crate) fn put(&self, documents: &[Entry]) {
        let mut transaction = self.repository.begin().unwrap();
        for (key, value) in documents {
            let (media_type, body) = match value {
                Some(value) => {
                    (MediaType::Json, json::canonicalize(value.to_string().as_bytes()).unwrap())
                }
                None => (MediaType::Other("text/plain".into()), b"{\"a\":1}".to_vec()),
            };
            let key = Key::new(key).unwrap();
            transaction.put(&things(), &key, media_type, Bytes::from(body), None).unwrap();
        }
        transaction.commit().unwrap();
    }

    pub(crate) fn query(&self, filter: &str, order: &str, limit: usize) -> Query {
        let limit = limit.to_string();
        let pairs = [("filter", filter), ("order", order), ("limit", &limit)];
        let reference = crate::reference(pairs);
        let told = |error| panic!("{filter}: {error}");
        Query::parse(things(), reference.strip_prefix('?')).unwrap_or_else(told)
    }

    /// Adds, changes and removes documents that have `passing`.
    pub(crate) fn disturb(&self, random: &mut Random, (round, page): (usize, usize)) {
        let mut documents = documents(random, 3);
        for (i, (key, value)) in documents.iter_mut().enumerate() {
            *key = format!("{}{:03}~{round}-{page}-{i}", &key[..2], random.below(60));
            let Some(Value::Object(members)) = value else {
                *value = Some(json!({ "passing": true }));
                continue;
            };
            members.insert("passing".to_owned(), json!(true));
            members.insert("u".to_owned(), json!(1_000 + round * 1_000 + page * 10 + i));
        }
        self.put(&documents);
        let mut transaction = self.repository.begin().unwrap();
        for (key, _) in documents.iter().filter(|_| random.below(2) == 0) {
            transaction.delete(&things(), &Key::new(key).unwrap()).unwrap();
        }
        transaction.commit().unwrap();
    }
}

pub(crate) fn things() -> CollectionName {
    CollectionName::new("things").unwrap()
}
