//! What each target does with the bytes that it is given: filters, the plans that are made for
//! them, and cursors. A mistake is a panic. `docs/fuzzing.md` says how to run them.

use crate::target::{SEPARATOR, Target};
use query::fuzzing;
use repository::json::canonicalize;
use repository::{IndexDefinition, IndexValue, Settings};
use std::ops::RangeBounds;

pub const TARGETS: &[Target] = &[
    Target {
        name: "filter",
        run: filter,
        seeds: &[
            b"a = 1 AND b:\"x*\" OR NOT (c.0 >= -1.5e3)\xffa desc, b\xff{\"a\":1,\"b\":[\"xy\"]}",
            b"-\"a b\".c != null -d:* e<'\\u00e9\\*'\xff@key desc\xff{\"e\":\"\\\"\",\"d\":null}",
            b"@key = \"k*\" @version > 0 @created<2026-11-21T10:00:00.5+01:00\xff\xff[1,2]",
            b"a = x a:\"\" t = 1\xffa, t\xff{\"a\":\"x\",\"t\":1}",
            b"(((a=true)) OR a=false) a >= \"\" t:1 t:x\xffb\xff\
              {\"a\":\"x\",\"t\":[1,\"x\"],\"b\":0}",
            b"a:* t:\"*\" b<=9007199254740992\xff\xff{\"a\":[],\"t\":\"\",\"b\":0}",
        ],
    },
    Target {
        name: "bound",
        run: bound,
        seeds: &[
            b"a = \xfe AND (b:\xfe* OR -c < \xfe)\xff\" OR a:* OR b = \"",
            b"@key > \xfe @version = 1 \"x\" != \xfe\xff\x1a*')",
            b"a = \"\xfe\"\xff\\",
        ],
    },
    Target {
        name: "cursor",
        run: cursor,
        seeds: &[
            b"\x01\x07\0\0\0\0\0\0\0\x03\x00\x02\x04\x01\0x\x01\0k",
            b"\x01\x07\0\0\0\0\0\0\0\x01\x03\0\0\0\0\0\0\xf0\x3f\x02\0k1",
            b"\x01\x07\0\0\0\0\0\0\0\0\x01\0k",
            b"\x02\x07\0\0\0\0\0\0\0\0\x01\0k",
            b"filter=a%3D1+b:x&order=a+desc&limit=7&fields=a,b.c&count=true&explain=false",
        ],
    },
];

/// Indexes of every sort, over the names in the seeds.
const INDEXES: &str = r#"{"indexes":[
    {"name":"a","paths":[{"path":"/a"}]},
    {"name":"a_text","paths":[{"path":"/a","kind":"text"}]},
    {"name":"a_number","paths":[{"path":"/a","kind":"number"}]},
    {"name":"a_boolean","paths":[{"path":"/a","kind":"boolean"}]},
    {"name":"a_each","paths":[{"path":"/a","each":true}]},
    {"name":"t_each","paths":[{"path":"/t","each":true}]},
    {"name":"t_each_text","paths":[{"path":"/t","each":true,"kind":"text"}]},
    {"name":"a_b","paths":[{"path":"/a"},{"path":"/b"}]},
    {"name":"a_t_each_b","paths":[{"path":"/a"},{"path":"/t","each":true},{"path":"/b"}]}]}"#;

/// Whatever belongs to a query is in the rows that every plan reads; a mistake has a place in the
/// text.
fn filter(input: &[u8]) {
    let mut parts = input.splitn(3, |byte| *byte == SEPARATOR);
    let mut text = || std::str::from_utf8(parts.next().unwrap_or_default());
    let (Ok(filter), Ok(order), Ok(document)) = (text(), text(), text()) else { return };
    if let Some(at) = fuzzing::mistake(filter) {
        assert!((1..=filter.chars().count() + 1).contains(&at), "{filter}: {at}");
        return;
    }
    let Ok(document) = canonicalize(document.as_bytes()) else { return };
    let document = String::from_utf8(document).unwrap();
    let definitions = Settings::from_json(INDEXES).unwrap().indexes;
    // A document that does not fit an index cannot be where that index is.
    let values = |index: &IndexDefinition| repository::fuzzing::index_values(index, &document);
    let fitting: Vec<IndexDefinition> =
        definitions.into_iter().filter(|index| values(index).is_ok()).collect();
    let plans = fuzzing::plans(filter, order, &document, &fitting).unwrap_or_default();
    for (name, range, fixed) in plans {
        let index = fitting.iter().find(|index| index.name == name).unwrap();
        let bounds = repository::fuzzing::index_bounds(index, &range).unwrap();
        let is_read = |row: &str| {
            let row = format!("{row}k");
            let (values, _) = repository::fuzzing::split_row(&row, index.paths.len()).unwrap();
            bounds.contains(&row) && values.iter().zip(&fixed).all(is_fixed)
        };
        let rows = values(index).unwrap();
        assert!(rows.iter().any(|row| is_read(row)), "{name} misses {document} for {filter}");
    }
}

fn is_fixed((value, fixed): (&IndexValue, &Option<IndexValue>)) -> bool {
    fixed.as_ref().is_none_or(|fixed| fixed == value)
}

/// Whatever a value is, it changes nothing in what the filter around it says.
fn bound(input: &[u8]) {
    let mut parts = input.splitn(2, |byte| *byte == SEPARATOR);
    let (filter, value) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let pieces = filter.split(|byte| *byte == 0xfe);
    let pieces = pieces.map(|piece| String::from_utf8(piece.to_vec())).collect::<Result<_, _>>();
    let (Ok(pieces), Ok(value)) = (pieces, std::str::from_utf8(value)) else { return };
    let pieces: Vec<String> = pieces;
    let plain = fuzzing::comparisons(&pieces, "x");
    assert_eq!(fuzzing::comparisons(&pieces, value), plain, "{pieces:?} {value:?}");
}

/// A cursor that can be read is written the same; so is the query component of a URI, once it is
/// in the form in which it is written.
fn cursor(input: &[u8]) {
    for fields in 0..5 {
        for text in [fuzzing::cursor_of(input), String::from_utf8_lossy(input).into_owned()] {
            if let Some(again) = fuzzing::cursor_again(&text, 7, fields) {
                assert_eq!(again, text);
            }
        }
    }
    let Ok(component) = std::str::from_utf8(input) else { return };
    if let Ok(again) = fuzzing::component_again(component) {
        let once_more = fuzzing::component_again(again.trim_start_matches('?'));
        assert_eq!(once_more, Ok(again));
    }
}
