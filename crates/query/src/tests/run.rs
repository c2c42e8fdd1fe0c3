//! Tests of running: which plan is taken, what is refused, what a page holds.

use super::*;
use crate::limits::QUERY_REPLY_BYTES_MAX;
use crate::tests::model::{Bed, Entry, things};
use repository::{Key, MediaType, Settings};
use serde_json::{Value, json};

fn definitions(text: &str) -> Vec<IndexDefinition> {
    Settings::from_json(&format!("{{\"indexes\":[{text}]}}")).unwrap().indexes
}

/// `count` documents, one in ten of them open.
fn many(count: usize) -> Vec<Entry> {
    let document =
        |i: usize| json!({"state": if i.is_multiple_of(10) {"open"} else {"done"}, "n": i});
    (0..count).map(|i| (format!("{i:06}"), Some(document(i)))).collect()
}

fn bed(indexes: &str, count: usize) -> Bed {
    let bed = Bed::new(&definitions(indexes), &[]);
    for part in many(count).chunks(9_000) {
        bed.put(part);
    }
    bed
}

fn ask(bed: &Bed, component: &str, budget: Budget) -> Result<Value, QueryError> {
    let query = Query::parse(things(), Some(component)).unwrap();
    let mut transaction = bed.repository.begin().unwrap();
    let listed = run(&mut transaction, &query, budget)?;
    Ok(serde_json::from_slice(&listed.body).unwrap())
}

fn refused(bed: &Bed, component: &str) -> suggest::TooBroad {
    match ask(bed, component, Budget::FULL) {
        Err(QueryError::TooBroad(broad)) => *broad,
        other => panic!("{component}: {other:?}"),
    }
}

const STATE: &str = r#"{"name":"by_state","paths":[{"path":"/state","kind":"text"}]}"#;
const N: &str = r#"{"name":"by_n","paths":[{"path":"/n"}]}"#;

#[test]
fn the_bound_on_documents_is_reached_and_not_passed() {
    let bed = bed("", QUERY_EXAMINED_MAX);
    let all = ask(&bed, "filter=n=-1&count=true", Budget::FULL).unwrap();
    assert_eq!(all["count"], json!({"value": 0, "exact": true}));
    bed.put(&[("x".to_owned(), Some(json!(1)))]);
    let broad = refused(&bed, "filter=n=-1");
    assert!(broad.to_string().contains("more than 10000 documents"), "{broad}");
    let counted = ask(&bed, "limit=1&count=true", Budget::FULL).unwrap();
    assert_eq!(counted["count"], json!({"value": 10_001, "exact": false}));
    let first = ask(&bed, "limit=1&filter=n%3E=0", Budget::FULL).unwrap();
    assert_eq!(first["documents"][0]["key"], "000000", "a page that is found early is given");
}

#[test]
fn a_refusal_names_the_index_that_helps() {
    let bed = bed("", QUERY_EXAMINED_MAX + 1);
    for (component, settings) in [
        (
            "filter=state=x+n%3E1&order=n+desc",
            concat!(
                r#"{"indexes":[{"name":"by_state_n","paths":[{"path":"/state","kind":"text"},"#,
                r#"{"path":"/n","kind":"number"}]}]}"#
            ),
        ),
        ("order=n", r#"{"indexes":[{"name":"by_n","paths":[{"path":"/n"}]}]}"#),
        (
            "filter=tags:x+AND+%22B+c%22.d=null",
            concat!(
                r#"{"indexes":[{"name":"by_tags_d","paths":[{"path":"/tags","kind":"text","#,
                r#""each":true},{"path":"/B c/d"}]}]}"#
            ),
        ),
        (
            "filter=a:%22x*%22+AND+tags:1",
            concat!(
                r#"{"indexes":[{"name":"by_tags","paths":[{"path":"/tags","kind":"number","#,
                r#""each":true}]}]}"#
            ),
        ),
        (
            "filter=n%3E99999&order=@updated",
            r#"{"indexes":[{"name":"by_n","paths":[{"path":"/n","kind":"number"}]}]}"#,
        ),
    ] {
        let broad = refused(&bed, component);
        assert_eq!(broad.settings(), Some(settings), "{component}");
        assert!(broad.to_string().contains(settings), "{broad}");
        let merged = Settings::from_json(broad.settings().unwrap()).unwrap();
        assert_eq!(merged.indexes.len(), 1);
    }
    for component in ["filter=a=1+OR+b=2", "filter=NOT+a=1+n=-1+OR+n=-2", "order=@updated"] {
        let broad = refused(&bed, component);
        assert_eq!(broad.settings(), None, "{component}");
        assert!(broad.to_string().contains("narrow the filter"), "{broad}");
    }
}

#[test]
fn the_index_that_was_named_helps() {
    let bed = bed("", QUERY_EXAMINED_MAX + 1);
    let component = "filter=state=open+AND+n%3E5000&order=n+desc&limit=2&explain=true";
    let broad = refused(&bed, component);
    let settings = Settings::from_json(broad.settings().unwrap()).unwrap();
    bed.repository.configure(&things(), &settings).unwrap();
    bed.wait_until_ready();
    let found = ask(&bed, component, Budget::INLINE).unwrap();
    assert_eq!(found["documents"][1]["value"], json!({"state": "open", "n": 9_990}));
    let explain = &found["explain"];
    assert_eq!((&explain["index"], &explain["fixed"]), (&json!("by_state_n"), &json!(1)));
    assert_eq!((&explain["range"], &explain["sorted"]), (&json!(true), &json!(false)));
    assert_eq!(explain["examined"], 3);
}

#[test]
fn a_suggestion_keeps_the_indexes_that_are_there() {
    let bed = bed(STATE, 12_000);
    let broad = refused(&bed, "filter=n=-1");
    let settings = Settings::from_json(broad.settings().unwrap()).unwrap();
    let names: Vec<&str> = settings.indexes.iter().map(|index| index.name.as_str()).collect();
    assert_eq!(names, ["by_state", "by_n"]);
    // One that is there already is not named again.
    let broad = refused(&bed, "filter=state=done&order=@updated");
    assert_eq!(broad.settings(), None, "{broad}");
}

#[test]
fn the_next_best_plan_is_tried() {
    let bed = bed(&format!("{STATE},{N}"), 12_000);
    // More documents are done than may be read, but in the order of n they are soon found.
    let found = ask(&bed, "filter=state=done&order=n&limit=2&explain=true", Budget::FULL).unwrap();
    assert_eq!(found["explain"]["given_up"], json!(["by_state"]));
    assert_eq!(found["explain"]["index"], "by_n");
    assert_eq!(found["documents"][0]["value"]["n"], 1);
    // Few are open: the index on the state alone will do.
    let found = ask(&bed, "filter=state=open&order=n+desc&explain=true", Budget::FULL).unwrap();
    assert_eq!(found["explain"]["index"], "by_state");
    assert_eq!(found["explain"]["sorted"], true);
    assert_eq!(found["documents"][0]["value"]["n"], 11_990);
}

#[test]
fn a_long_query_is_not_run_inline() {
    let bed = bed("", QUERY_INLINE_EXAMINED_MAX + 1);
    assert!(ask(&bed, "limit=127", Budget::INLINE).is_ok());
    let long = ask(&bed, "filter=n=-1", Budget::INLINE);
    assert!(matches!(long, Err(QueryError::Long)), "{long:?}");
    let long = ask(&bed, "limit=1&count=true", Budget::INLINE);
    assert!(matches!(long, Err(QueryError::Long)), "{long:?}");
    let large = json!({"x": "x".repeat(QUERY_INLINE_BYTES_MAX)});
    bed.put(&[("!".to_owned(), Some(large))]);
    let long = ask(&bed, "limit=2", Budget::INLINE);
    assert!(matches!(long, Err(QueryError::Long)), "{long:?}");
}

#[test]
fn pages_are_bounded_in_bytes() {
    let bed = Bed::new(&[], &[]);
    let large = json!("x".repeat(QUERY_REPLY_BYTES_MAX / 3));
    for i in 0..5 {
        bed.put(&[(format!("{i}"), Some(large.clone()))]);
    }
    let found = ask(&bed, "count=true", Budget::FULL).unwrap();
    assert_eq!(found["documents"].as_array().unwrap().len(), 2);
    assert_eq!(found["count"]["value"], 5);
    let next = found["next"].as_str().unwrap();
    let found = ask(&bed, &format!("after={next}&count=true"), Budget::FULL).unwrap();
    assert_eq!(found["documents"][0]["key"], "2");
    // One document is given, however large it is.
    bed.put(&[("!".to_owned(), Some(json!("x".repeat(QUERY_REPLY_BYTES_MAX - 2))))]);
    let found = ask(&bed, "limit=2", Budget::FULL).unwrap();
    assert_eq!(found["documents"].as_array().unwrap().len(), 1);
    // What a plan reads is bounded, too.
    for i in 0..9 {
        let large = json!({"x": "x".repeat(QUERY_REPLY_BYTES_MAX - 100)});
        bed.put(&[(format!("y{i}"), Some(large))]);
    }
    refused(&bed, "filter=y=1");
}

#[test]
fn entries_show_what_documents_are() {
    let bed = Bed::new(&[], &[("a".to_owned(), Some(json!({"x": {"y": 1, "z": 2}, "v": []})))]);
    bed.put(&[("b\"".to_owned(), None), ("c".to_owned(), Some(json!(7)))]);
    let mut transaction = bed.repository.begin().unwrap();
    let expires = Some(repository::Timestamp(2_000_000_000_000));
    let (body, key) = (bytes::Bytes::from_static(b"null"), Key::new("d").unwrap());
    transaction.put(&things(), &key, MediaType::Json, body, expires).unwrap();
    transaction.commit().unwrap();
    let query = Query::parse(things(), Some("fields=x.y,@version")).unwrap();
    let mut transaction = bed.repository.begin().unwrap();
    let listed = run(&mut transaction, &query, Budget::FULL).unwrap();
    let times = r#""created":"1970-01-01T00:16:40.000Z","updated":"1970-01-01T00:16:40.000Z""#;
    let mut body = String::from_utf8(listed.body.to_vec()).unwrap();
    for version in 1..9 {
        body = body.replace(&format!("\"version\":{version}"), "\"version\":0");
    }
    let expected = format!(
        "{{\"documents\":[{{\"key\":\"a\",\"version\":0,{times},\"value\":{{\"x\":{{\"y\":1}}}}}},\
         {{\"key\":\"b\\\"\",\"version\":0,{times},\"media_type\":\"text/plain\",\"size\":7}},\
         {{\"key\":\"c\",\"version\":0,{times}}},\
         {{\"key\":\"d\",\"version\":0,{times},\"expires\":\"2033-05-18T03:33:20.000Z\"}}]}}"
    );
    assert_eq!(body, expected);
    let whole = ask(&bed, "filter=@key=d", Budget::FULL).unwrap();
    assert_eq!(whole["documents"][0]["value"], Value::Null);
    let bare = ask(&bed, "fields=@key", Budget::FULL).unwrap();
    assert!(bare["documents"][0].get("value").is_none());
}

#[test]
fn a_query_sees_what_its_transaction_has_staged() {
    let bed = Bed::new(&definitions(N), &many(3));
    let query = Query::parse(things(), Some("filter=n%3E=2&order=n")).unwrap();
    let mut transaction = bed.repository.begin().unwrap();
    let key = Key::new("own").unwrap();
    let body = bytes::Bytes::from_static(b"{\"n\":2.5}");
    transaction.put(&things(), &key, MediaType::Json, body, None).unwrap();
    let listed = run(&mut transaction, &query, Budget::FULL).unwrap();
    let found: Value = serde_json::from_slice(&listed.body).unwrap();
    assert_eq!(found["documents"][1]["key"], "own");
    // And what it reads is checked when it commits: a phantom is a conflict.
    bed.put(&[("phantom".to_owned(), Some(json!({"n": 9})))]);
    let outcome = transaction.commit().unwrap();
    assert!(matches!(outcome, repository::Outcome::Conflict(_)), "{outcome:?}");
}

#[test]
fn what_orders_by_long_texts_goes_by_their_beginning_and_the_key() {
    let bed = Bed::new(&[], &[]);
    let long = |end: &str| json!({"t": format!("{}{end}", "x".repeat(1_024))});
    bed.put(&[("a".to_owned(), Some(long("b"))), ("b".to_owned(), Some(long("a")))]);
    bed.put(&[("c".to_owned(), Some(json!({"t": "x"})))]);
    let page = ask(&bed, "order=t&limit=2", Budget::FULL).unwrap();
    let key = |page: &Value, i: usize| page["documents"][i]["key"].as_str().unwrap().to_owned();
    assert_eq!((key(&page, 0), key(&page, 1)), ("c".to_owned(), "a".to_owned()));
    let next = page["next"].as_str().unwrap();
    let page = ask(&bed, &format!("order=t&limit=2&after={next}"), Budget::FULL).unwrap();
    assert_eq!(key(&page, 0), "b");
}

#[test]
fn a_collection_that_nobody_made_is_none() {
    let bed = Bed::new(&[], &[]);
    let query = Query::parse(repository::CollectionName::new("none").unwrap(), None).unwrap();
    let refused = run(&mut bed.repository.begin().unwrap(), &query, Budget::FULL);
    assert!(matches!(refused, Err(QueryError::NoCollection(_))), "{refused:?}");
    assert_eq!(ask(&bed, "", Budget::FULL).unwrap()["documents"], json!([]), "but empty is some");
}
