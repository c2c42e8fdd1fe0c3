//! What to say of a query that needs more than it may: the index with which it would not.

use crate::Query;
use crate::bounds;
use crate::field::Field;
use crate::filter::{Condition, Operand, Test};
use crate::limits::{QUERY_EXAMINED_BYTES_MAX, QUERY_EXAMINED_MAX};
use crate::plan::deciding;
use repository::limits::{INDEX_NAME_BYTES_MAX, INDEXES_MAX};
use repository::{IndexDefinition, IndexKind, IndexPath, KnownIndex, Settings};
use std::fmt;

/// A query that was refused, and what would help.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TooBroad {
    collection: String,
    advice: Advice,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Advice {
    /// Settings with one more index.
    Add { index: String, settings: String },
    /// The index that would help is there but cannot be read yet, or cannot be built.
    Wait { index: String },
    /// The collection has all the indexes it can have.
    Full,
    /// No index serves such conditions, or it is there and does not narrow enough.
    Narrow,
}

impl TooBroad {
    /// The settings to send, as a merge patch (RFC 7396), if an index would help.
    pub fn settings(&self) -> Option<&str> {
        match &self.advice {
            Advice::Add { settings, .. } => Some(settings),
            Advice::Wait { .. } | Advice::Full | Advice::Narrow => None,
        }
    }
}

impl fmt::Display for TooBroad {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the query would read more than {QUERY_EXAMINED_MAX} documents, or more than {} MiB; ",
            QUERY_EXAMINED_BYTES_MAX >> 20
        )?;
        match &self.advice {
            Advice::Add { index, settings } => write!(
                f,
                "with the index {index} it would not have to: PATCH /db/{} with the media type \
                 application/merge-patch+json and {settings}",
                self.collection
            ),
            Advice::Wait { index } => write!(
                f,
                "the index {index} is for it but is not ready; GET /db/{}?status says how far \
                 it is",
                self.collection
            ),
            Advice::Full => write!(
                f,
                "an index would help, but the collection has {INDEXES_MAX}, which is the most; \
                 remove one, or narrow the filter"
            ),
            Advice::Narrow => f.write_str(
                "no further index would help; narrow the filter by a comparison that must hold \
                 (not below OR or NOT), or order by what an index can serve",
            ),
        }
    }
}

/// What to say of `query`, in a collection with these indexes.
pub(crate) fn too_broad(query: &Query, indexes: &[KnownIndex]) -> TooBroad {
    let collection = query.collection.to_string();
    TooBroad { collection, advice: advice(query, indexes) }
}

fn advice(query: &Query, indexes: &[KnownIndex]) -> Advice {
    let paths = paths(query);
    if paths.is_empty() {
        return Advice::Narrow;
    }
    if let Some(same) = indexes.iter().find(|index| serves(&index.definition.paths, &paths)) {
        let index = same.definition.name.clone();
        return if same.is_ready() { Advice::Narrow } else { Advice::Wait { index } };
    }
    let definition = IndexDefinition { name: name(&paths, indexes), paths, unique: false };
    if definition.check().is_err() {
        return Advice::Narrow;
    }
    if indexes.len() >= INDEXES_MAX {
        return Advice::Full;
    }
    let index = definition.name.clone();
    // A merge patch puts the whole list in the place of the old one.
    let known = indexes.iter().map(|index| index.definition.clone());
    let settings = Settings { indexes: known.chain([definition]).collect(), ..Settings::default() };
    Advice::Add { index, settings: settings.to_json() }
}

/// Whether an index on `paths` does for a query what one on `wanted` would.
fn serves(paths: &[IndexPath], wanted: &[IndexPath]) -> bool {
    let is_enough = |(path, wanted): (&IndexPath, &IndexPath)| {
        path.path == wanted.path
            && (path.kind == wanted.kind || path.kind == IndexKind::Any)
            && (path.each || !wanted.each)
    };
    paths.len() == wanted.len() && paths.iter().zip(wanted).all(is_enough)
}

/// What the index should hold: the values that must be equal, then those of the order, or those
/// of one range.
fn paths(query: &Query) -> Vec<IndexPath> {
    let conditions = query.filter.conditions();
    let mut paths: Vec<IndexPath> = Vec::new();
    for condition in &conditions {
        let (value, each) = match &condition.test {
            Test::Equal(Operand::Value(value)) => (value, false),
            Test::Has(Operand::Value(value)) => (value, true),
            _ => continue,
        };
        let is_second_each = each && paths.iter().any(|path| path.each);
        if let Some(pointer) = pointer(&condition.field).filter(|_| !is_second_each) {
            add(&mut paths, pointer, bounds::kind(value), each);
        }
    }
    let order = ordered(query, &conditions);
    if !order.is_empty() {
        for (pointer, kind) in order {
            add(&mut paths, pointer, kind, false);
        }
        return paths;
    }
    for condition in &conditions {
        let (kind, each) = match &condition.test {
            Test::Compare(_, value) => (bounds::kind(value), false),
            Test::Equal(Operand::Prefix(_)) => (IndexKind::Text, false),
            Test::Has(Operand::Prefix(_)) => (IndexKind::Text, true),
            _ => continue,
        };
        let is_second_each = each && paths.iter().any(|path| path.each);
        if let Some(pointer) = pointer(&condition.field).filter(|_| !is_second_each) {
            add(&mut paths, pointer, kind, each);
            break;
        }
    }
    paths
}

fn add(paths: &mut Vec<IndexPath>, pointer: &str, kind: IndexKind, each: bool) {
    if !paths.iter().any(|path| path.path == pointer) {
        paths.push(IndexPath { path: pointer.to_owned(), kind, each });
    }
}

fn pointer(field: &Field) -> Option<&str> {
    match field {
        Field::Member(path) => Some(path.pointer()),
        Field::Meta(_) => None,
    }
}

/// The fields that decide the order, if an index can have it.
fn ordered<'a>(query: &'a Query, conditions: &[&Condition]) -> Vec<(&'a str, IndexKind)> {
    let order = &query.order;
    let kind = |field: &Field| {
        let of_field = |condition: &&&Condition| condition.field == *field;
        conditions.iter().filter(of_field).find_map(|condition| match &condition.test {
            Test::Compare(_, value) => Some(bounds::kind(value)),
            Test::Equal(Operand::Prefix(_)) => Some(IndexKind::Text),
            _ => None,
        })
    };
    let fields = deciding(order, conditions).into_iter().map(|i| &order.fields[i]);
    let path = |(field, direction): &'a (Field, _)| {
        let pointer = pointer(field).filter(|_| *direction == order.key)?;
        Some((pointer, kind(field).unwrap_or(IndexKind::Any)))
    };
    fields.map(path).collect::<Option<_>>().unwrap_or_default()
}

/// A name after the paths that no index of the collection has.
fn name(paths: &[IndexPath], indexes: &[KnownIndex]) -> String {
    /// Room for a number that tells it from others.
    const NUMBER_BYTES: usize = 3;
    let mut name = "by".to_owned();
    for path in paths {
        name.push('_');
        let last = path.path.rsplit('/').next().unwrap_or_default();
        name.extend(last.chars().map(|c| match c.to_ascii_lowercase() {
            c if c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' => c,
            _ => '_',
        }));
    }
    name.truncate(INDEX_NAME_BYTES_MAX - NUMBER_BYTES);
    let is_taken = |name: &str| indexes.iter().any(|index| index.definition.name == name);
    if !is_taken(&name) {
        return name;
    }
    let numbered = (2..).map(|number| format!("{name}_{number}")).find(|name| !is_taken(name));
    numbered.unwrap_or(name)
}
