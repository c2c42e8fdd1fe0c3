//! What rows must do: be ordered as their values are, come back as they were, and be found by
//! ranges exactly. Values are drawn from a seed.

use super::*;
use crate::random::Random;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::ops::Bound;

fn value(random: &mut Random) -> IndexValue {
    const TEXTS: &[&str] = &["", "\0", "\0\0", "\u{1}", "\u{2}", "a", "ab", "é", "\u{10ffff}"];
    const NUMBERS: &[f64] = &[0.0, -0.0, 1.0, -1.0, f64::MAX, f64::MIN, f64::MIN_POSITIVE, 5e-324];
    match random.below(10) {
        0 => IndexValue::Null,
        1 => IndexValue::Boolean(random.below(2) == 0),
        2 => IndexValue::Number(NUMBERS[random.below(NUMBERS.len())]),
        3 => IndexValue::Number(random.below(40) as f64 / 4.0 - 5.0),
        4 | 5 => {
            let number = f64::from_bits(random.next());
            IndexValue::Number(if number.is_nan() { 0.5 } else { number })
        }
        _ => {
            let parts = random.below(4);
            IndexValue::Text((0..parts).map(|_| TEXTS[random.below(TEXTS.len())]).collect())
        }
    }
}

fn values(random: &mut Random, columns: usize) -> Vec<IndexValue> {
    (0..columns).map(|_| value(random)).collect()
}

fn encoded(values: &[IndexValue]) -> String {
    let mut out = String::new();
    values.iter().for_each(|value| value.encode(&mut out));
    out
}

/// The order of values, -0 and 0 being equal.
fn order(a: &[IndexValue], b: &[IndexValue]) -> Ordering {
    a.partial_cmp(b).unwrap()
}

fn definition(columns: usize) -> IndexDefinition {
    let path = IndexPath { path: "/a".to_owned(), kind: IndexKind::Any, each: false };
    IndexDefinition { name: "i".to_owned(), paths: vec![path; columns], unique: false }
}

#[test]
fn texts_are_ordered_as_values_are() {
    let mut random = Random::new(1);
    for columns in [1, 2, 3] {
        let mut all: Vec<_> = (0..10_000).map(|_| values(&mut random, columns)).collect();
        all.sort_by(|a, b| order(a, b));
        for pair in all.windows(2) {
            let texts = encoded(&pair[0]).cmp(&encoded(&pair[1]));
            assert_eq!(texts, order(&pair[0], &pair[1]), "{pair:?}");
        }
    }
}

#[test]
fn rows_come_back_as_they_were() {
    let mut random = Random::new(2);
    for round in 0..10_000 {
        let columns = 1 + round % 8;
        let values = values(&mut random, columns);
        let key = ["1", "k", "é\u{10ffff}"][round % 3];
        let row = row_key(&encoded(&values), key);
        let (split, split_key) = split_row(&row, columns).unwrap();
        assert_eq!((order(&split, &values), split_key), (Ordering::Equal, key), "{row:?}");
        assert_eq!(row_key(&encoded(&split), split_key), row);
        assert_eq!(split_row(&encoded(&values), columns), None, "a row without a key");
    }
}

#[test]
fn what_is_no_row_is_refused() {
    let negative_zero = format!("3{:016x}k", !(-0.0_f64).to_bits());
    let nan = format!("3{:016x}k", f64::NAN.to_bits() | 1 << 63);
    for text in ["", "k", "1", "22k", "2", "4a", "4a\0\u{3}\0\u{1}k", "3000k", "é", "3\u{e9}"] {
        assert_eq!(split_row(text, 1), None, "{text:?}");
    }
    for text in [&negative_zero, &nan, "3800000000000000Ak"] {
        assert_eq!(split_row(text, 1), None, "{text:?}");
    }
    assert_eq!(split_row("k", 0), Some((vec![], "k")));
}

fn bound(random: &mut Random) -> Bound<IndexValue> {
    match random.below(3) {
        0 => Bound::Unbounded,
        1 => Bound::Included(value(random)),
        _ => Bound::Excluded(value(random)),
    }
}

fn is_in(range: &IndexRange, values: &[IndexValue]) -> bool {
    let (first, rest) = values.split_at(range.equal.len());
    let from = match &range.from {
        Bound::Unbounded => true,
        Bound::Included(from) => rest[0] >= *from,
        Bound::Excluded(from) => rest[0] > *from,
    };
    let to = match &range.to {
        Bound::Unbounded => true,
        Bound::Included(to) => rest[0] <= *to,
        Bound::Excluded(to) => rest[0] < *to,
    };
    first == range.equal && from && to
}

#[test]
fn a_range_finds_its_rows_and_no_others() {
    let mut random = Random::new(3);
    let index = definition(2);
    let mut rows = BTreeMap::new();
    for i in 0..500 {
        let mut values = values(&mut random, 2);
        // Few first values, so that each has many rows.
        values[0] = IndexValue::Text(["", "\0", "a"][i % 3].to_owned());
        let key = format!("{}{i}", ["\u{10ffff}", "", "~"][random.below(3)]);
        rows.insert(row_key(&encoded(&values), &key), values);
    }
    for round in 0..2_000 {
        let first = IndexValue::Text(["", "\0", "a", "b"][random.below(4)].to_owned());
        let range = match round % 4 {
            0 => IndexRange { equal: vec![], from: bound(&mut random), to: bound(&mut random) },
            1 => IndexRange::equal(rows.values().nth(random.below(rows.len())).unwrap().clone()),
            _ => {
                IndexRange { equal: vec![first], from: bound(&mut random), to: bound(&mut random) }
            }
        };
        let found: Vec<_> = rows.range(bounds(&index, &range).unwrap()).collect();
        let expected: Vec<_> = rows.iter().filter(|(_, v)| is_in(&range, v)).collect();
        assert_eq!(found, expected, "{range:?}");
    }
}

#[test]
fn a_range_must_fit_its_index() {
    let mut index = definition(2);
    let one = || IndexValue::Number(1.0);
    let three = bounds(&index, &IndexRange::equal(vec![one(), one(), one()]));
    assert!(matches!(three, Err(IndexRangeError::TooManyValues { columns: 2, got: 3, .. })));
    let beyond =
        IndexRange { from: Bound::Included(one()), ..IndexRange::equal(vec![one(), one()]) };
    assert!(matches!(bounds(&index, &beyond), Err(IndexRangeError::TooManyValues { .. })));
    let nan = IndexRange::equal(vec![IndexValue::Number(f64::NAN)]);
    assert!(matches!(bounds(&index, &nan), Err(IndexRangeError::Kind { got: "NaN", .. })));
    index.paths[1].kind = IndexKind::Text;
    let other = IndexRange::equal(vec![one(), one()]);
    let refused = bounds(&index, &other).unwrap_err().to_string();
    assert_eq!(refused, "value 2 of the index i is of kind text; got number");
}
