//! Bounds: what comparisons say of the keys, or of the values in a column of an index.

use crate::field::{Field, Meta};
use crate::filter::{Condition, Operand, Relation, Test};
use repository::{IndexKind, IndexPath, IndexValue, Key, KeyRange};
use std::ops::Bound;

/// Where values begin and end.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Bounds<T> {
    pub from: Bound<T>,
    pub to: Bound<T>,
}

impl<T: PartialOrd> Bounds<T> {
    fn all() -> Self {
        Self { from: Bound::Unbounded, to: Bound::Unbounded }
    }

    /// What lies in both.
    fn and(self, other: Self) -> Self {
        Self { from: later(self.from, other.from), to: earlier(self.to, other.to) }
    }
}

/// The one of two lower bounds that leaves less.
pub(crate) fn later<T: PartialOrd>(a: Bound<T>, b: Bound<T>) -> Bound<T> {
    narrower(a, b, |a, b| a > b)
}

/// The one of two upper bounds that leaves less.
pub(crate) fn earlier<T: PartialOrd>(a: Bound<T>, b: Bound<T>) -> Bound<T> {
    narrower(a, b, |a, b| a < b)
}

fn narrower<T: PartialOrd>(a: Bound<T>, b: Bound<T>, is_inside: fn(&T, &T) -> bool) -> Bound<T> {
    let a_is_narrower = match (&a, &b) {
        (Bound::Unbounded, _) => false,
        (_, Bound::Unbounded) => true,
        (Bound::Included(x) | Bound::Excluded(x), Bound::Included(y) | Bound::Excluded(y)) => {
            is_inside(x, y) || (x == y && matches!(a, Bound::Excluded(_)))
        }
    };
    if a_is_narrower { a } else { b }
}

/// The keys that documents have of which all `conditions` hold.
pub(crate) fn of_keys(conditions: &[&Condition]) -> Bounds<Key> {
    let of_key = |condition: &&&Condition| condition.field == Field::Meta(Meta::Key);
    let each = conditions.iter().filter(of_key).filter_map(|condition| key_bounds(&condition.test));
    each.fold(Bounds::all(), Bounds::and)
}

/// `None`: it bounds nothing, or by a text that is no key.
fn key_bounds(test: &Test) -> Option<Bounds<Key>> {
    let key = |bound: Bound<IndexValue>| match bound {
        Bound::Included(IndexValue::Text(text)) => Key::new(&text).ok().map(Bound::Included),
        Bound::Excluded(IndexValue::Text(text)) => Key::new(&text).ok().map(Bound::Excluded),
        _ => Some(Bound::Unbounded),
    };
    match test {
        Test::Equal(Operand::Prefix(prefix)) | Test::Has(Operand::Prefix(prefix)) => {
            let KeyRange { from, to } = KeyRange::prefix(prefix);
            Some(Bounds { from, to })
        }
        Test::Equal(Operand::Value(value)) | Test::Has(Operand::Value(value)) => {
            let from = key(Bound::Included(value.clone()))?;
            Some(Bounds { to: from.clone(), from })
        }
        Test::Compare(relation, value) => {
            let Bounds { from, to } = compared(*relation, value);
            Some(Bounds { from: key(from)?, to: key(to)? })
        }
        Test::Present | Test::NotEqual(_) => None,
    }
}

fn compared(relation: Relation, value: &IndexValue) -> Bounds<IndexValue> {
    let value = value.clone();
    let (from, to) = match relation {
        Relation::Less => (Bound::Unbounded, Bound::Excluded(value)),
        Relation::AtMost => (Bound::Unbounded, Bound::Included(value)),
        Relation::More => (Bound::Excluded(value), Bound::Unbounded),
        Relation::AtLeast => (Bound::Included(value), Bound::Unbounded),
    };
    Bounds { from, to }
}

fn prefixed(prefix: &str) -> Bounds<IndexValue> {
    let text = |key: Key| IndexValue::Text(key.as_str().to_owned());
    let KeyRange { from, to } = KeyRange::prefix(prefix);
    // An empty prefix is any text, and no value of another kind.
    let from = later(from.map(text), Bound::Included(IndexValue::Text(String::new())));
    Bounds { from, to: to.map(text) }
}

/// The value at `path` that every row must have which is of use, if there is one.
pub(crate) fn fixed_value<'a>(
    path: &IndexPath,
    conditions: &[&'a Condition],
) -> Option<&'a IndexValue> {
    let equal = at(path, conditions).find_map(|test| match test {
        Test::Equal(Operand::Value(value)) => Some(value).filter(|v| fits(path.kind, kind(v))),
        _ => None,
    });
    let has = || {
        at(path, conditions).filter(|_| path.each).find_map(|test| match test {
            Test::Has(Operand::Value(value)) => Some(value).filter(|v| fits(path.kind, kind(v))),
            _ => None,
        })
    };
    equal.or_else(has)
}

/// What is asked of the value at `path`.
fn at<'a>(path: &IndexPath, conditions: &[&'a Condition]) -> impl Iterator<Item = &'a Test> {
    conditions.iter().filter_map(|condition| match &condition.field {
        Field::Member(member) if member.pointer() == path.path => Some(&condition.test),
        _ => None,
    })
}

/// The kind of the values that `test` holds of and that are no arrays; `None`: of several kinds.
fn single_kind(test: &Test) -> Option<IndexKind> {
    match test {
        Test::Equal(Operand::Value(value)) | Test::Compare(_, value) => Some(kind(value)),
        Test::Equal(Operand::Prefix(_)) => Some(IndexKind::Text),
        Test::Present | Test::NotEqual(_) | Test::Has(_) => None,
    }
}

/// Whether every document of which the conditions hold has a row for the value at `path`.
pub(crate) fn is_covered(path: &IndexPath, conditions: &[&Condition]) -> bool {
    at(path, conditions).any(|test| match test {
        Test::Has(Operand::Value(value)) => path.each && fits(path.kind, kind(value)),
        Test::Has(Operand::Prefix(_)) => path.each && fits(path.kind, IndexKind::Text),
        test => single_kind(test).is_some_and(|kind| fits(path.kind, kind)),
    })
}

/// The range of values at `path` that rows of use have.
pub(crate) fn of_values(path: &IndexPath, conditions: &[&Condition]) -> Option<Bounds<IndexValue>> {
    let mut of_kind = None;
    let mut bounds = Bounds::all();
    for test in at(path, conditions) {
        let Some(kind) = single_kind(test).filter(|kind| fits(path.kind, *kind)) else { continue };
        if *of_kind.get_or_insert(kind) == kind {
            bounds = bounds.and(test_bounds(test));
        }
    }
    // Of an array different elements may hold, so only one of these counts.
    let has = || {
        at(path, conditions).filter(|_| path.each && fits(path.kind, IndexKind::Text)).find_map(
            |test| match test {
                Test::Has(Operand::Prefix(prefix)) => Some(prefixed(prefix)),
                _ => None,
            },
        )
    };
    let (kind, bounds) = match of_kind {
        Some(kind) => (kind, bounds),
        None => (IndexKind::Text, has()?),
    };
    Some(match path.kind {
        IndexKind::Any => bounds.and(all_of(kind)),
        _ => bounds,
    })
}

fn test_bounds(test: &Test) -> Bounds<IndexValue> {
    match test {
        Test::Compare(relation, value) => compared(*relation, value),
        Test::Equal(Operand::Prefix(prefix)) => prefixed(prefix),
        Test::Equal(Operand::Value(value)) => {
            Bounds { from: Bound::Included(value.clone()), to: Bound::Included(value.clone()) }
        }
        Test::Present | Test::NotEqual(_) | Test::Has(_) => Bounds::all(),
    }
}

/// All values of a kind, among those of all kinds.
fn all_of(kind: IndexKind) -> Bounds<IndexValue> {
    let first_text = || IndexValue::Text(String::new());
    let (from, to) = match kind {
        IndexKind::Any => (Bound::Unbounded, Bound::Excluded(IndexValue::Boolean(false))),
        IndexKind::Boolean => (
            Bound::Included(IndexValue::Boolean(false)),
            Bound::Included(IndexValue::Boolean(true)),
        ),
        IndexKind::Number => {
            (Bound::Excluded(IndexValue::Boolean(true)), Bound::Excluded(first_text()))
        }
        IndexKind::Text => (Bound::Included(first_text()), Bound::Unbounded),
    };
    Bounds { from, to }
}

/// The kind of a value; null is of the kind that only indexes of all kinds take.
pub(crate) fn kind(value: &IndexValue) -> IndexKind {
    match value {
        IndexValue::Null => IndexKind::Any,
        IndexValue::Boolean(_) => IndexKind::Boolean,
        IndexValue::Number(_) => IndexKind::Number,
        IndexValue::Text(_) => IndexKind::Text,
    }
}

/// Whether an index of kind `index` holds values of kind `value`.
fn fits(index: IndexKind, value: IndexKind) -> bool {
    index == IndexKind::Any || index == value
}
