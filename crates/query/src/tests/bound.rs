//! Tests of queries with values: a value is never a part of the filter's text.

use super::*;
use crate::run::{Budget, count, find};
use crate::tests::model::{Bed, Entry, things};
use serde_json::{Value, json};

fn text(text: &str) -> Bound {
    Bound::Value(IndexValue::Text(text.to_owned()))
}

fn number(number: f64) -> Bound {
    Bound::Value(IndexValue::Number(number))
}

fn date(text: &str, ms: f64) -> Bound {
    Bound::Date { text: text.to_owned(), ms }
}

/// `filter` with `{}` in the places of values.
fn query(filter: &str, values: &[Bound]) -> Result<Query, ParameterError> {
    let pieces: Vec<String> = filter.split("{}").map(str::to_owned).collect();
    Query::ask(things(), &Asked { pieces: &pieces, values, ..Asked::default() })
}

fn refused(filter: &str, values: &[Bound]) -> String {
    query(filter, values).unwrap_err().to_string()
}

fn bed() -> Bed {
    let entry = |key: &str, value: Value| -> Entry { (key.to_owned(), Some(value)) };
    Bed::new(
        &[],
        &[
            entry(
                "a",
                json!({"s": "x\" OR s:*", "n": 1, "at": {"$date": "2026-11-21T00:00:00.000Z"}}),
            ),
            entry("b", json!({"s": "x", "n": 2.5, "at": {"$date": "2026-11-22T00:00:00.000Z"}})),
            entry("c", json!({"s": "x*y", "n": null, "t": ["p", 7, true]})),
        ],
    )
}

fn keys(bed: &Bed, filter: &str, values: &[Bound]) -> String {
    let query = query(filter, values).unwrap_or_else(|error| panic!("{filter}: {error}"));
    let mut transaction = bed.repository.begin().unwrap();
    let found = find(&mut transaction, &query, Budget::FULL).unwrap();
    let counted = count(&mut transaction, &query, Budget::FULL).unwrap();
    assert_eq!((counted.value, counted.is_exact), (found.documents.len(), true));
    found.documents.iter().map(|(key, _)| key.as_str()).collect()
}

#[test]
fn values_are_what_they_are() {
    let bed = bed();
    let null = || Bound::Value(IndexValue::Null);
    let yes = || Bound::Value(IndexValue::Boolean(true));
    for (filter, values, expected) in [
        ("s = {}", vec![text("x")], "b"),
        ("s = {}", vec![text("x\" OR s:*")], "a"),
        ("s = {}", vec![text("x*")], ""),
        ("s = {}", vec![text("x*y")], "c"),
        ("s = {}*", vec![text("x*")], "c"),
        ("s = {}*", vec![text("x")], "abc"),
        ("s != {}", vec![text("")], "abc"),
        ("n = {}", vec![null()], "c"),
        ("n = {}", vec![text("1")], ""),
        ("n >= {} AND (n < {})", vec![number(1.0), number(2.5)], "a"),
        ("t : {} t:{} t : {}", vec![text("p"), number(7.0), yes()], "c"),
        ("-n={}", vec![number(1.0)], "bc"),
        ("at > {}", vec![date("2026-11-21T12:00:00.000Z", 1.0)], "b"),
        ("at = {}", vec![date("2026-11-21T00:00:00.000Z", 1.0)], "a"),
        ("@key >= {} AND @version > {}", vec![text("b"), number(0.0)], "bc"),
        ("@key = {}*", vec![text("a")], "a"),
        ("@created <= {}", vec![date("", 1_000_000.0)], "abc"),
        ("@updated < {}", vec![number(1_000_000.0)], ""),
        ("", vec![], "abc"),
    ] {
        assert_eq!(keys(&bed, filter, &values), expected, "{filter} {values:?}");
    }
}

#[test]
fn a_value_is_only_where_values_are() {
    for (filter, value, expected) in [
        ("s = \"{}\"", text("x"), "a ${value} without quotes around it"),
        ("s = '{}*'", text("x"), "a ${value} without quotes around it"),
        ("{} = 1", text("s"), "expected a name"),
        ("s {} 1", text("="), "a comparator"),
        ("s = 1 {}", text("OR s = 2"), "AND, OR, another comparison or the end"),
        ("s = x{}", text("y"), "white space or the end after a value"),
        ("s = {}y", text("x"), "white space or the end after a value"),
        ("s = {}*", number(1.0), "a text before *"),
        ("s < {}", Bound::Value(IndexValue::Null), "null, true and false have no such order"),
        ("s < {}*", text("x"), "a value without *"),
        ("@key = {}", number(1.0), "a text, which a key is"),
        ("@version = {}", text("1"), "a number, which a version is"),
        ("@created > {}", text("2026-11-21T00:00:00Z"), "a Date, or milliseconds since 1970"),
        ("\u{1a} = {}", text("x"), "text without control characters"),
    ] {
        let message = refused(filter, &[value]);
        assert!(message.contains(expected), "{filter}: {message}");
        assert!(!message.contains(MARK) || filter.contains(MARK), "{message}");
    }
    assert!(refused("s = {}", &[]).contains("without control characters"));
    assert!(refused(&" ".repeat(FILTER_BYTES_MAX + 1), &[]).contains("at most 4096 bytes"));
}

#[test]
fn pages_belong_to_their_values() {
    let bed = bed();
    let pieces = ["n >= ".to_owned(), String::new()];
    let ask = |value: f64, after: Option<&str>| {
        let values = [number(value)];
        let asked =
            Asked { pieces: &pieces, values: &values, limit: Some(1), after, ..Asked::default() };
        Query::ask(things(), &asked)
    };
    let mut transaction = bed.repository.begin().unwrap();
    let first = find(&mut transaction, &ask(1.0, None).unwrap(), Budget::FULL).unwrap();
    let next = first.next.unwrap();
    let second = ask(1.0, Some(&next)).unwrap();
    let second = find(&mut transaction, &second, Budget::FULL).unwrap();
    assert_eq!((second.documents[0].0.as_str(), second.next), ("b", None));
    assert!(ask(2.0, Some(&next)).unwrap_err().to_string().contains("of the same query"));
    let many = Asked { limit: Some(QUERY_EXAMINED_MAX + 1), ..Asked::default() };
    assert!(Query::ask(things(), &many).unwrap_err().to_string().contains("from 0 to 10000"));
}
