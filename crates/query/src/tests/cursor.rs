//! Tests of cursors.

use super::*;

fn place(values: Vec<IndexValue>) -> Place {
    Place { values, key: Key::new("k/é").unwrap() }
}

fn all_kinds() -> Place {
    place(vec![
        IndexValue::Null,
        IndexValue::Boolean(true),
        IndexValue::Number(-1.5),
        IndexValue::Text("a\0é".to_owned()),
    ])
}

#[test]
fn a_cursor_comes_back_as_it_was() {
    for place in [all_kinds(), place(vec![]), place(vec![IndexValue::Boolean(false)])] {
        let text = encode(&place, 7);
        assert!(text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_'));
        assert_eq!(decode(&text, 7, place.values.len()), Ok(place));
    }
}

#[test]
fn a_changed_cursor_is_refused() {
    let text = encode(&all_kinds(), 7);
    for at in 0..text.len() {
        for other in ["A", "_", "", "AA", "=", "é"] {
            let changed = [&text[..at], other, &text[at + 1..]].concat();
            if changed != text {
                assert_eq!(decode(&changed, 7, 4), Err(CursorError::Damaged), "{changed}");
            }
        }
    }
    assert_eq!(decode("", 7, 0), Err(CursorError::Damaged));
    assert_eq!(decode(&text, 8, 4), Err(CursorError::OtherQuery));
    assert_eq!(decode(&text, 7, 3), Err(CursorError::Damaged));
}

#[test]
fn a_cursor_of_another_version_is_told_apart() {
    let mut bytes = from_base64(&encode(&all_kinds(), 7)).unwrap();
    let end = bytes.len() - SUM_BYTES;
    bytes[0] = 2;
    let checksum = sum(&bytes[..end]).to_le_bytes();
    bytes[end..].copy_from_slice(&checksum);
    assert_eq!(decode(&to_base64(&bytes), 7, 4), Err(CursorError::Version));
}

#[test]
fn a_cursor_has_its_longest_and_no_more() {
    let longest = Place {
        values: vec![IndexValue::Text("x".repeat(ORDER_TEXT_BYTES_MAX)); ORDER_FIELDS_MAX],
        key: Key::new(&"k".repeat(repository::limits::KEY_BYTES_MAX)).unwrap(),
    };
    let text = encode(&longest, 7);
    assert_eq!(text.len(), CURSOR_CHARS_MAX);
    assert_eq!(decode(&text, 7, ORDER_FIELDS_MAX), Ok(longest));
    assert_eq!(decode(&(text + "A"), 7, ORDER_FIELDS_MAX), Err(CursorError::Damaged));
}

#[test]
fn rfc4648_10_test_vectors() {
    for (bytes, text) in
        [("", ""), ("f", "Zg"), ("fo", "Zm8"), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")]
    {
        assert_eq!(to_base64(bytes.as_bytes()), text);
        assert_eq!(from_base64(text).as_deref(), Some(bytes.as_bytes()));
    }
    for wrong in ["Z", "Zh", "Zm9", "Zg==", "Z+", "Zm9vY"] {
        assert_eq!(from_base64(wrong), None, "{wrong}");
    }
}

#[test]
fn fingerprints_tell_where_one_part_ends() {
    assert_ne!(fingerprint(["a", "bc", ""]), fingerprint(["ab", "c", ""]));
    assert_eq!(fingerprint(["a", "b", "c"]), fingerprint(["a", "b", "c"]));
}
