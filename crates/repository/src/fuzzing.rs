//! Doors to private parts for the targets in `tests/fuzz`. Nothing else may use them.

use crate::document::{CommitNumber, Document, MediaType, Timestamp};
use crate::index::{self, IndexDefinition, IndexError, IndexRange, IndexRangeError, IndexValue};
use crate::json;
use crate::merge::Merge;
use crate::record;
use bytes::Bytes;
use std::ops::Bound;

/// The record encoded again from what it was decoded to; why not, if it is none.
pub fn record_again(record: &[u8]) -> Result<Vec<u8>, String> {
    let decoded = record::decode(&Bytes::copy_from_slice(record));
    let (time, writes) = decoded.map_err(|e| e.to_string())?;
    let mut again = record::encode(writes.len(), writes.iter());
    record::set_time(&mut again, time);
    Ok(again)
}

/// Reads the input as the parts of a backup.
pub fn backup(input: &[u8]) {
    crate::backup::fuzz(input);
}

/// The values and the key of an index row.
pub fn split_row(row: &str, columns: usize) -> Option<(Vec<IndexValue>, &str)> {
    index::split_row(row, columns)
}

/// The row of a document with these values.
pub fn row_key(values: &[IndexValue], key: &str) -> String {
    let mut encoded = String::new();
    values.iter().for_each(|value| value.encode(&mut encoded));
    index::row_key(&encoded, key)
}

/// The encoded values of each row of the JSON document `text`.
pub fn index_values(definition: &IndexDefinition, text: &str) -> Result<Vec<String>, IndexError> {
    index::values(definition, &document(text))
}

/// The row keys of a range.
pub fn index_bounds(
    definition: &IndexDefinition,
    range: &IndexRange,
) -> Result<(Bound<String>, Bound<String>), IndexRangeError> {
    index::bounds(definition, range)
}

/// What an operation makes of the JSON document `text`; `None`: it changes nothing.
pub fn resolve(operation: &Merge, text: Option<&str>) -> Result<Option<String>, String> {
    let resolved = operation.resolve(text.map(document).as_ref())?;
    resolved.map(|body| String::from_utf8(body.into()).map_err(|e| e.to_string())).transpose()
}

/// Whether an operation may be staged.
pub fn check(operation: &Merge) -> Result<(), String> {
    operation.check()
}

/// Whether an operation may change what is at `path`.
pub fn may_change(operation: &Merge, path: &str) -> bool {
    operation.may_change(path)
}

/// The two as one operation, if that is exact.
pub fn absorb(mut operation: Merge, next: &Merge) -> Option<Merge> {
    operation.absorb(next).then_some(operation)
}

/// How deep `text` is nested.
pub fn depth(text: &str) -> usize {
    json::depth(text)
}

fn document(text: &str) -> Document {
    Document {
        media_type: MediaType::Json,
        body: Bytes::copy_from_slice(text.as_bytes()),
        blob: None,
        version: CommitNumber(1),
        created: Timestamp(0),
        updated: Timestamp(0),
        expires: None,
    }
}
