//! What each target does with the bytes that it is given, and what must be so whatever they are.
//! A mistake is a panic. `docs/fuzzing.md` says how to run them.

use super::operations;
use crate::target::{SEPARATOR, Target};
use repository::exchange::{Line, check, read_line, resume_of, write_line};
use repository::fuzzing;
use repository::json::{self, Span, canonicalize, changed_paths, children, locate, three_way};
use repository::limits::JSON_DEPTH_MAX;
use repository::{IndexRange, IndexValue, Merge, Settings};
use std::ops::Bound;

pub const TARGETS: &[Target] = &[
    Target {
        name: "record",
        run: record,
        seeds: &[
            // A put of JSON with an expiry, a put of another type, a deletion.
            b"\x01\0\0\0\0\0\0\0\x01\0\0\0\x01\x01n\x01\0k\x03\x09\0\0\0\0\0\0\0\x02\0\0\0{}",
            b"\x01\0\0\0\0\0\0\0\x02\0\0\0\x01\x01n\x01\0k\0\x03a/b\0\0\0\0\x02\x01n\x01\0k",
            // An addition, a minimum, an append.
            b"\0\0\0\0\0\0\0\0\x01\0\0\0\x03\x01n\x01\0k\x01\0\x01\x02\0/n\0\0\0\0\0\0\xf0\x3f",
            b"\0\0\0\0\0\0\0\0\x01\0\0\0\x03\x01n\x01\0k\x01\0\x02\0\0\0\0\0\0\0\0\xf0\x3f",
            b"\0\0\0\0\0\0\0\0\x01\0\0\0\x03\x01n\x01\0k\x01\0\x04\x02\0/l\x01\0\0\x001",
            // A put with times.
            b"\0\0\0\0\0\0\0\0\x01\0\0\0\x08\x01n\x01\0k\x01\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0\
              \x01\x01\x01\0\0\x001",
        ],
    },
    Target {
        name: "json",
        run: json,
        seeds: &[
            b"{\"a\":[1,{\"b\":\"\\u00e9\\ud83d\"}],\"10\":null}\xff/a/1/b\xff{\"x\":-1.5e-7}",
            b"{\"l\":[1,2,[]]}\xff/l\xff[]\xff{\"l\":[1,2]}\xff{\"l\":[],\"m\":true}",
            b"{\"a\":{\"x\":1,\"y\":2},\"b\":3}\xff/a/x\xff7\xff{\"a\":{\"x\":2,\"y\":2},\"b\":3}\
              \xff{\"a\":{\"x\":1,\"y\":3},\"c\":3}",
            b"[[[[1e21]]]]\xff/0/0/0\xff\"\\\\\"\xff[]\xff{}",
            b"{\"~\":{\"/\":0}}\xff/~0/~1\xff1",
        ],
    },
    Target {
        name: "index",
        run: index,
        seeds: &[
            b"\x01\xff4a\0\x02b\0\x01key",
            b"\x04\xff12038000000000000004x\0\x01key\xff{}\xff{}",
            b"\x02\xff1\xff{\"indexes\":[{\"name\":\"i\",\"unique\":true,\"paths\":[\
              {\"path\":\"/t\",\"each\":true},{\"path\":\"/n\",\"kind\":\"number\"}]}]}\
              \xff{\"t\":[\"a\",1],\"n\":2}",
            b"\x01\xff1\xff{\"durability\":\"written\",\"conflict\":\"merge\",\
              \"expiry\":1000}\xff1",
        ],
    },
    Target {
        name: "backup",
        run: fuzzing::backup,
        seeds: &[
            // A row, a record.
            b"\0\x01\x04\0\0\0\x01\0k\x1b\0\0\0\x01\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\
              \x01\0\0\0\0\0\0\0\x01{}",
            b"\x01\x01\x07\0\0\0\0\0\0\0\x03\0\0\0abc",
            b"\x02SARSENBK\x01\0\0\0\x01\0\0\0",
            b"\x03{\"format\":\"sarsen backup set, format 1\",\"kind\":\"log\",\"repository\":\
              \"abababababababababababababababab\",\"after\":5,\"to\":90,\"time\":17,\"made\":18,\
              \"items\":80}\n{\"file\":\"000000.records\",\"bytes\":3,\"crc32c\":\"364b3fb7\"}\n",
            b"\x04backup\0\0\0\0\0\0\0\0",
        ],
    },
    Target { name: "operations", run: operations::run, seeds: operations::SEEDS },
    Target { name: "import", run: import_lines, seeds: IMPORTS },
];

const IMPORTS: &[&[u8]] = &[
    br#"{"sarsen":"export","format":1,"commit":3,"time":"2026-01-31T12:00:00.000Z","system":true}
{"collection":"notes","settings":{"expiry":5}}
{"collection":"notes","key":"a","version":3,"created":"2026-01-31T12:00:00.000Z",
"updated":"2026-01-31T12:00:00.000Z","document":{"n":1}}
{"at":7,"base64":"AAE="}
{"end":"export","collections":1,"documents":2,"crc32c":"00000000"}
"#,
    b"{\"collection\":\"n\",\"key\":\"b\",\"version\":3,\"created\":\"2026-01-31T12:00:00.000Z\",\
      \"updated\":\"2026-01-31T12:00:00.000Z\",\"expires\":\"2027-01-31T12:00:00.000Z\",\
      \"media_type\":\"a/b\",\"base64\":\"AAE=\"}\n{\"collection\":\"n\",\"settings\":{}}\n",
    b"{\"end\":\"export\",\"collections\":1,\"documents\":0,\"pieces\":2,\"crc32c\":\"0000000f\"}",
];

/// A line that is read is written so that the same is read; and whatever came is no export that is
/// whole, unless its last line says so.
fn import_lines(input: &[u8]) {
    for line in input.split(|b| *b == b'\n') {
        let Ok(read) = read_line(line) else { continue };
        let mut written = Vec::new();
        write_line(&read, &mut written);
        assert_eq!(written.pop(), Some(b'\n'));
        assert_eq!(canonicalize(&written).as_ref(), Ok(&written));
        assert_eq!(read_line(&written), Ok(read));
    }
    let mut from = input;
    let is_export = input.starts_with(b"{\"sarsen\":") && input.contains(&b'\n');
    if let Ok(Some(found)) = resume_of(&mut from) {
        assert!(found.bytes <= input.len() as u64 && found.written.documents < found.bytes);
        let mut kept = &input[..found.bytes as usize];
        assert_eq!(resume_of(&mut kept), Ok(Some(found)));
    }
    if check(&mut &*input).is_ok() && is_export && canonicalize_first(input) {
        let last = input.strip_suffix(b"\n").and_then(|text| text.rsplit(|b| *b == b'\n').next());
        assert!(matches!(last.map(read_line), Some(Ok(Line::Trailer(_)))));
    }
}

fn canonicalize_first(input: &[u8]) -> bool {
    input.split(|b| *b == b'\n').next().is_some_and(|line| canonicalize(line).is_ok())
}

/// A record that is decoded is encoded to the same bytes.
fn record(input: &[u8]) {
    if let Ok(again) = fuzzing::record_again(input) {
        assert_eq!(again, input);
    }
}

fn canonical(text: &[u8]) -> Option<String> {
    let canonical = canonicalize(text).ok()?;
    assert_eq!(canonicalize(&canonical).as_ref(), Ok(&canonical));
    Some(String::from_utf8(canonical).unwrap())
}

/// Up to five parts: a text, a path, a value, two other texts.
fn json(input: &[u8]) {
    let mut parts = input.split(|b| *b == SEPARATOR);
    let mut next = || parts.next().unwrap_or_default();
    let (text, path, value) = (canonical(next()), next(), canonical(next()));
    let (mine, theirs) = (canonical(next()), canonical(next()));
    let path = String::from_utf8_lossy(path);
    if let Some(text) = &text {
        walk(text);
        follow(text, &path);
    }
    if let Some(value) = value {
        merge(text.as_deref(), &path, &value);
    }
    if let (Some(base), Some(mine), Some(theirs)) = (text, mine, theirs) {
        merge_three(&base, &mine, &theirs);
    }
}

/// The children of a text make up the text.
fn walk(text: &str) {
    assert!(fuzzing::depth(text) <= JSON_DEPTH_MAX);
    let parts: Vec<String> = children(text)
        .map(|child| match child.name {
            Some(name) => {
                let plain = json::unquote(name);
                assert!(name.contains("\\ud") || json::quote(&plain) == name);
                format!("{name}:{}", child.value)
            }
            None => child.value.to_owned(),
        })
        .collect();
    match text.as_bytes()[0] {
        b'{' => assert_eq!(format!("{{{}}}", parts.join(",")), text),
        b'[' => assert_eq!(format!("[{}]", parts.join(",")), text),
        _ => assert!(parts.is_empty()),
    }
}

/// What a pointer leads to is a value.
fn follow(text: &str, path: &str) {
    let is_pointer = json::check_pointer(path).is_ok();
    match locate(text, path) {
        Ok(Span::Value(span)) => assert!(is_pointer && canonical(text[span].as_bytes()).is_some()),
        Ok(Span::Vacant { at, .. }) => assert!(is_pointer && text.as_bytes()[at] == b'}'),
        Err(json::PointerError::Syntax(_)) => assert!(!is_pointer),
        Err(_) => {}
    }
}

/// Every operation with that path and value, on the text and on what it made of it.
fn merge(text: Option<&str>, path: &str, value: &str) {
    let path = || path.to_owned();
    let value = || value.to_owned();
    let mut operations = vec![
        Merge::Append { path: path(), value: value() },
        Merge::InsertIfAbsent { path: path(), value: value() },
        Merge::SetAdd { path: path(), value: value() },
        Merge::SetRemove { path: path(), value: value() },
    ];
    if let Ok(number) = value().parse() {
        operations.push(Merge::Add { path: path(), delta: number });
        operations.push(Merge::Min { path: path(), value: number });
        operations.push(Merge::Max { path: path(), value: number });
    }
    for operation in operations.iter().filter(|one| fuzzing::check(one).is_ok()) {
        let Ok(resolved) = fuzzing::resolve(operation, text) else { continue };
        let after = resolved.as_deref().or(text);
        if let Some(resolved) = &resolved {
            assert_eq!(canonical(resolved.as_bytes()).as_ref(), Some(resolved));
        }
        if let (Some(before), Some(after)) = (text, after) {
            for changed in changed_paths(before, after, 100) {
                assert!(fuzzing::may_change(operation, &changed), "{operation:?} {changed}");
            }
        }
        if !matches!(operation, Merge::Add { .. } | Merge::Append { .. }) {
            assert_eq!(fuzzing::resolve(operation, after), Ok(None), "{operation:?} twice");
            let both = fuzzing::absorb(operation.clone(), operation);
            assert_eq!(both.as_ref(), Some(operation), "{operation:?} twice");
        }
    }
}

fn merge_three(base: &str, mine: &str, theirs: &str) {
    assert_eq!(changed_paths(base, mine, 1).is_empty(), base == mine);
    assert_eq!(three_way(base, mine, base).as_deref(), Ok(mine));
    assert_eq!(three_way(base, base, theirs).as_deref(), Ok(theirs));
    let merged = three_way(base, mine, theirs);
    let reverse = three_way(base, theirs, mine);
    assert_eq!(merged.is_ok(), reverse.is_ok());
    match merged {
        Ok(merged) => {
            assert_eq!(canonical(merged.as_bytes()).as_ref(), Some(&merged));
            // What is merged already has nothing left to merge.
            assert_eq!(three_way(base, mine, &merged).as_ref(), Ok(&merged));
        }
        Err(contested) => {
            assert!(!contested.is_empty());
            for path in contested {
                // An ancestor of a place that both sides changed, or the place itself.
                assert!(json::check_pointer(&path).is_ok(), "{path}");
            }
        }
    }
}

/// Up to four parts: the number of columns, a row, settings, a document.
fn index(input: &[u8]) {
    let mut parts = input.split(|b| *b == SEPARATOR);
    let mut next = || parts.next().unwrap_or_default();
    let columns = usize::from(next().first().copied().unwrap_or_default() % 10);
    let (row, settings, document) = (next(), next(), canonical(next()));
    if let Ok(row) = std::str::from_utf8(row)
        && let Some((values, key)) = fuzzing::split_row(row, columns)
    {
        assert_eq!(values.len(), columns);
        assert_eq!(fuzzing::row_key(&values, key), row);
    }
    let Ok(settings) = Settings::from_json(&String::from_utf8_lossy(settings)) else { return };
    let text = settings.to_json();
    assert_eq!(canonical(text.as_bytes()).as_ref(), Some(&text));
    assert_eq!(Settings::from_json(&text).as_ref(), Ok(&settings));
    let Some(document) = document else { return };
    for definition in &settings.indexes {
        let Ok(rows) = fuzzing::index_values(definition, &document) else { continue };
        assert!(rows.is_sorted_by(|a, b| a < b));
        for row in rows {
            let row = format!("{row}key");
            let (values, key) = fuzzing::split_row(&row, definition.paths.len()).unwrap();
            assert_eq!((fuzzing::row_key(&values, key).as_str(), key), (row.as_str(), "key"));
            for range in ranges(values) {
                let bounds = fuzzing::index_bounds(definition, &range).unwrap();
                assert!(std::ops::RangeBounds::contains(&bounds, &row), "{range:?} {row:?}");
            }
        }
    }
}

/// Ranges that have a row of these values.
fn ranges(mut values: Vec<IndexValue>) -> Vec<IndexRange> {
    let whole = IndexRange::equal(values.clone());
    let last = values.pop().unwrap();
    let from =
        IndexRange { from: Bound::Included(last.clone()), ..IndexRange::equal(values.clone()) };
    let to = IndexRange { to: Bound::Included(last), ..IndexRange::equal(values.clone()) };
    vec![IndexRange::all(), whole, from, to, IndexRange::equal(values)]
}
