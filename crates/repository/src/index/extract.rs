//! The rows that a document has in an index, taken from its canonical text.

use super::definition::{IndexDefinition, IndexKind, IndexPath};
use super::encoding::{encode_boolean, encode_null, encode_number, encode_text};
use crate::document::{Document, MediaType};
use crate::json::{Span, children, locate, unquote};
use crate::limits::{INDEX_ROWS_MAX, INDEX_VALUE_BYTES_MAX};
use std::collections::BTreeSet;
use thiserror::Error;

/// Why a document cannot be in an index of its collection.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum IndexError {
    /// The values of a row are too long.
    #[error(
        "the values of a row of the index {index} have at most {INDEX_VALUE_BYTES_MAX} bytes; \
         got {bytes}"
    )]
    TooLong {
        /// The index.
        index: String,
        /// Their size as they are stored.
        bytes: usize,
    },
    /// The document has too many rows.
    #[error("a document has at most {INDEX_ROWS_MAX} rows in the index {index}")]
    TooManyRows {
        /// The index.
        index: String,
    },
}

/// The encoded values of each row that `document` has in the index: ascending, none twice. Only
/// JSON documents have rows, and only those with a fitting value at every path.
pub(crate) fn values(
    definition: &IndexDefinition,
    document: &Document,
) -> Result<Vec<String>, IndexError> {
    match (&document.media_type, std::str::from_utf8(&document.body)) {
        (MediaType::Json, Ok(text)) => text_values(definition, text),
        _ => Ok(Vec::new()),
    }
}

/// As [`values`], of a document with the canonical `text`.
pub(crate) fn text_values(
    definition: &IndexDefinition,
    text: &str,
) -> Result<Vec<String>, IndexError> {
    let mut rows = BTreeSet::from([String::new()]);
    for path in &definition.paths {
        // At most one path gives several values, so there are never more rows than its values.
        let mut longer = BTreeSet::new();
        for value in candidates(text, path) {
            for row in &rows {
                let mut row = row.clone();
                if !encode(value, path.kind, &mut row) {
                    continue;
                }
                if row.len() > INDEX_VALUE_BYTES_MAX {
                    let index = definition.name.clone();
                    return Err(IndexError::TooLong { index, bytes: row.len() });
                }
                longer.insert(row);
            }
            if longer.len() > INDEX_ROWS_MAX {
                return Err(IndexError::TooManyRows { index: definition.name.clone() });
            }
        }
        rows = longer;
    }
    Ok(rows.into_iter().collect())
}

/// The texts of the values at `path`.
fn candidates<'a>(text: &'a str, path: &IndexPath) -> impl Iterator<Item = &'a str> {
    let value = match locate(text, &path.path) {
        Ok(Span::Value(span)) => Some(&text[span]),
        Ok(Span::Vacant { .. }) | Err(_) => None,
    };
    let is_list = path.each && value.is_some_and(|value| value.starts_with('['));
    let elements = value.filter(|_| is_list).into_iter().flat_map(children);
    let whole = value.filter(|_| !is_list).into_iter();
    elements.map(|child| child.value).chain(whole)
}

/// Appends the encoded `value` if it is of that kind.
fn encode(value: &str, kind: IndexKind, row: &mut String) -> bool {
    let actual = match value.as_bytes()[0] {
        b'"' => IndexKind::Text,
        b't' | b'f' => IndexKind::Boolean,
        b'n' => IndexKind::Any,
        b'{' | b'[' => return false,
        _ => IndexKind::Number,
    };
    if kind != IndexKind::Any && kind != actual {
        return false;
    }
    match actual {
        IndexKind::Text => encode_text(&unquote(value), row),
        IndexKind::Boolean => encode_boolean(value == "true", row),
        IndexKind::Any => encode_null(row),
        IndexKind::Number => match value.parse() {
            Ok(number) => encode_number(number, row),
            Err(_) => return false,
        },
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::{CommitNumber, Timestamp};
    use crate::index::{IndexValue, split_row};
    use bytes::Bytes;

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

    /// An index on `paths`, each a path, a kind, and "each" if it has it.
    fn index(paths: &[(&str, IndexKind, bool)]) -> IndexDefinition {
        let paths = paths
            .iter()
            .map(|(path, kind, each)| IndexPath {
                path: (*path).to_owned(),
                kind: *kind,
                each: *each,
            })
            .collect();
        IndexDefinition { name: "i".to_owned(), paths, unique: false }
    }

    fn rows(definition: &IndexDefinition, text: &str) -> Vec<Vec<IndexValue>> {
        let values = values(definition, &document(text)).unwrap();
        let columns = definition.paths.len();
        values.iter().map(|v| split_row(&format!("{v}k"), columns).unwrap().0).collect()
    }

    fn text(text: &str) -> IndexValue {
        IndexValue::Text(text.to_owned())
    }

    #[test]
    fn only_values_of_the_kind_give_rows() {
        use IndexKind::{Any, Boolean, Number, Text};
        for (value, of_kind, indexed) in [
            (r#""a\u0000\"é\ud83d""#, Text, text("a\0\"é\u{fffd}")),
            ("-1.5e-7", Number, IndexValue::Number(-1.5e-7)),
            ("true", Boolean, IndexValue::Boolean(true)),
            ("null", Any, IndexValue::Null),
        ] {
            for kind in [Text, Number, Boolean, Any] {
                let found = rows(&index(&[("/a", kind, false)]), &format!("{{\"a\":{value}}}"));
                let is_indexed = kind == of_kind || kind == Any;
                assert_eq!(found, vec![vec![indexed.clone()]; usize::from(is_indexed)]);
            }
        }
        let any = index(&[("/a", Any, false)]);
        for none in ["{}", "[]", "1", r#"{"a":{}}"#, r#"{"a":[1]}"#] {
            assert_eq!(rows(&any, none), Vec::<Vec<IndexValue>>::new(), "{none}");
        }
        assert_eq!(rows(&index(&[("", Any, false)]), "1"), [[IndexValue::Number(1.0)]]);
        let other = Document { media_type: MediaType::Other("text/plain".into()), ..document("1") };
        assert_eq!(values(&index(&[("", Any, false)]), &other), Ok(vec![]));
    }

    #[test]
    fn each_element_gives_a_row_once() {
        let tags = index(&[("/t", IndexKind::Text, true), ("/n", IndexKind::Number, false)]);
        let row = |tag: &str| vec![text(tag), IndexValue::Number(7.0)];
        let several = r#"{"t":["b","a",3,"b",["c"]],"n":7}"#;
        assert_eq!(rows(&tags, several), [row("a"), row("b")]);
        assert_eq!(rows(&tags, r#"{"t":"a","n":7}"#), [row("a")], "a value that is no array");
        let none = Vec::<Vec<IndexValue>>::new();
        assert_eq!(rows(&tags, r#"{"t":[],"n":7}"#), none);
        assert_eq!(rows(&tags, r#"{"t":["a"]}"#), none, "every path must give a value");
    }

    #[test]
    fn the_size_of_a_row_is_bounded() {
        let names = index(&[("/a", IndexKind::Text, false)]);
        let of = |bytes: usize| document(&format!("{{\"a\":\"{}\"}}", "x".repeat(bytes)));
        // The tag and the end of the text take three bytes.
        assert!(values(&names, &of(INDEX_VALUE_BYTES_MAX - 3)).is_ok());
        let refused = values(&names, &of(INDEX_VALUE_BYTES_MAX - 2));
        assert_eq!(refused, Err(IndexError::TooLong { index: "i".into(), bytes: 1025 }));
    }

    #[test]
    fn the_number_of_rows_is_bounded() {
        let numbers = index(&[("", IndexKind::Number, true)]);
        let of = |count: usize| {
            let all: Vec<String> = (0..count).map(|n| format!("{n},{n}")).collect();
            document(&format!("[{}]", all.join(",")))
        };
        assert_eq!(values(&numbers, &of(INDEX_ROWS_MAX)).unwrap().len(), INDEX_ROWS_MAX);
        let refused = values(&numbers, &of(INDEX_ROWS_MAX + 1));
        assert_eq!(refused, Err(IndexError::TooManyRows { index: "i".into() }));
    }
}
