//! Which rows a range of values is.

use super::definition::{IndexDefinition, IndexKind};
use super::encoding::IndexValue;
use std::ops::Bound;
use thiserror::Error;

/// The rows of an index with given first values and, of the value after those, a range.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexRange {
    /// What the first values must be; empty for any.
    pub equal: Vec<IndexValue>,
    /// Where the value after `equal` begins.
    pub from: Bound<IndexValue>,
    /// Where it ends.
    pub to: Bound<IndexValue>,
}

impl IndexRange {
    /// The whole index.
    pub fn all() -> Self {
        Self::equal(Vec::new())
    }

    /// The rows whose first values are these.
    pub fn equal(values: Vec<IndexValue>) -> Self {
        Self { equal: values, from: Bound::Unbounded, to: Bound::Unbounded }
    }
}

/// Why a range does not fit its index.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum IndexRangeError {
    /// More values than the index has.
    #[error("a row of the index {index} has {columns} values; the range is given for {got}")]
    TooManyValues {
        /// The index.
        index: String,
        /// How many its rows have.
        columns: usize,
        /// How many the range speaks about.
        got: usize,
    },
    /// A place in the index is given by fewer values than a row has.
    #[error("a row of the index {index} has {columns} values; the place is given by {got}")]
    TooFewValues {
        /// The index.
        index: String,
        /// How many its rows have.
        columns: usize,
        /// How many came.
        got: usize,
    },
    /// A value that no row can have.
    #[error("value {place} of the index {index} is of kind {expected}; got {got}")]
    Kind {
        /// The index.
        index: String,
        /// Which value, from 1.
        place: usize,
        /// What the index holds.
        expected: &'static str,
        /// What came: "text", ..., or "NaN".
        got: &'static str,
    },
}

/// The row keys of `range`. Where the range is empty, so are the bounds, and never the wrong way
/// round, which ordered maps refuse.
pub(crate) fn bounds(
    definition: &IndexDefinition,
    range: &IndexRange,
) -> Result<(Bound<String>, Bound<String>), IndexRangeError> {
    let columns = definition.paths.len();
    let is_bounded = range.from != Bound::Unbounded || range.to != Bound::Unbounded;
    let got = range.equal.len() + usize::from(is_bounded);
    if got > columns {
        return Err(IndexRangeError::TooManyValues {
            index: definition.name.clone(),
            columns,
            got,
        });
    }
    let mut prefix = String::new();
    for (i, value) in range.equal.iter().enumerate() {
        check(definition, i, value)?;
        value.encode(&mut prefix);
    }
    let encoded = |value: &IndexValue| {
        check(definition, range.equal.len(), value)?;
        let mut text = prefix.clone();
        value.encode(&mut text);
        Ok(text)
    };
    let from = match &range.from {
        Bound::Unbounded => prefix.clone(),
        Bound::Included(value) => encoded(value)?,
        Bound::Excluded(value) => after(encoded(value)?),
    };
    let to = match &range.to {
        Bound::Unbounded if prefix.is_empty() => {
            return Ok((Bound::Included(from), Bound::Unbounded));
        }
        Bound::Unbounded => after(prefix),
        Bound::Included(value) => after(encoded(value)?),
        Bound::Excluded(value) => encoded(value)?,
    };
    let to = to.max(from.clone());
    Ok((Bound::Included(from), Bound::Excluded(to)))
}

fn check(
    definition: &IndexDefinition,
    column: usize,
    value: &IndexValue,
) -> Result<(), IndexRangeError> {
    let expected = definition.paths[column].kind;
    let (fits, got) = match value {
        IndexValue::Null => (expected == IndexKind::Any, "null"),
        IndexValue::Boolean(_) => (expected == IndexKind::Boolean, "boolean"),
        IndexValue::Number(number) if number.is_nan() => (false, "NaN"),
        IndexValue::Number(_) => (expected == IndexKind::Number, "number"),
        IndexValue::Text(_) => (expected == IndexKind::Text, "text"),
    };
    if fits || (expected == IndexKind::Any && got != "NaN") {
        return Ok(());
    }
    Err(IndexRangeError::Kind {
        index: definition.name.clone(),
        place: column + 1,
        expected: expected.as_str(),
        got,
    })
}

/// The first text after all that begin with the encoded values `text`.
fn after(mut text: String) -> String {
    // An encoded value ends in a character that is neither the last of ASCII nor beyond it.
    let last = text.pop().map_or(0, u32::from);
    text.extend(char::from_u32(last + 1));
    text
}
