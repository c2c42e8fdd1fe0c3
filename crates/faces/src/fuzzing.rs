//! Doors to private parts for the targets in `tests/fuzz`. Nothing else may use them.

use crate::patch::{JsonPatch, MergePatch, Refused};
use crate::query::fuzzing as query;
use repository::{IndexDefinition, IndexRange, IndexValue};

/// Why a patch came to nothing.
#[derive(Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It is none.
    Malformed(String),
    /// The document is not as it expects.
    Mismatch(String),
    /// Something is beyond its bound.
    Bound(String),
}

impl From<Refused> for Refusal {
    fn from(refused: Refused) -> Self {
        let why = refused.to_string();
        match refused {
            Refused::Mismatch { .. } => Self::Mismatch(why),
            Refused::Bound { .. } | Refused::Work { .. } => Self::Bound(why),
        }
    }
}

/// The canonical text `document` after a JSON Patch.
pub fn json_patch(document: &str, patch: &[u8]) -> Result<String, Refusal> {
    let patch = JsonPatch::parse(patch).map_err(|error| Refusal::Malformed(error.to_string()))?;
    Ok(patch.apply(document)?)
}

/// The canonical text `document` after a merge patch.
pub fn merge_patch(document: Option<&str>, patch: &[u8]) -> Result<String, Refusal> {
    let patch = MergePatch::parse(patch).map_err(|error| Refusal::Malformed(error.to_string()))?;
    Ok(patch.apply(document)?)
}

/// A plan by an index: which one, the rows that it reads, and of those the values, for each path
/// of the index, that it is after.
pub type Plan = (String, IndexRange, Vec<Option<IndexValue>>);

/// The query component of a URI, written again from the query that it was read as; why not, if it
/// is none.
pub fn component_again(component: &str) -> Result<String, String> {
    query::component_again(component)
}

/// The cursor, written again from the place that it stands for, of a query with so many fields in
/// its order.
pub fn cursor_again(cursor: &str, fingerprint: u64, fields: usize) -> Option<String> {
    query::cursor_again(cursor, fingerprint, fields)
}

/// A cursor that has these bytes, and a checksum that fits.
pub fn cursor_of(bytes: &[u8]) -> String {
    query::cursor_of(bytes)
}

/// Where the mistake is if `filter` is none: which character, from 1.
pub fn mistake(filter: &str) -> Option<usize> {
    query::mistake(filter)
}

/// The plans for a filter and an order, if the document with the key `k` and this canonical text
/// belongs to what they find.
pub fn plans(
    filter: &str,
    order: &str,
    text: &str,
    indexes: &[IndexDefinition],
) -> Option<Vec<Plan>> {
    query::plans((filter, order), text, indexes)
}
