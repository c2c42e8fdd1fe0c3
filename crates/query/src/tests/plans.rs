//! Random queries over random documents, with and without indexes, compared with looking at every
//! document. Each plan that the planner knows is tried, not only the one that it would take.

use crate::plan::{Access, Plan, plans};
use crate::select;
use crate::tests::model::{Bed, Random, condition, documents, filter, order, shuffled_sets};
use crate::{Budget, Query, cursor};
use repository::IndexDefinition;
use serde_json::Value;
use std::collections::BTreeMap;

/// Queries for each set of indexes.
const QUERIES: usize = 400;

/// What kinds of plans were tried, and how often: a test that never uses an index shows nothing.
type Seen = BTreeMap<&'static str, usize>;

fn note(seen: &mut Seen, plan: &Plan) {
    let kind = match (&plan.access, plan.sorts, plan.is_bounded()) {
        (Access::Keys(_), false, false) => "all keys",
        (Access::Keys(_), false, true) => "a range of keys",
        (Access::Keys(_), true, _) => "keys, sorted",
        (Access::Index(index), _, _) if index.repeats => "an index with repeats",
        (Access::Index(_), false, false) if plan.fixed() == 0 => "an index in order",
        (Access::Index(_), false, false) => "fixed values in order",
        (Access::Index(_), false, true) => "a range of values in order",
        (Access::Index(_), true, false) => "fixed values, sorted",
        (Access::Index(_), true, true) => "a range of values, sorted",
    };
    *seen.entry(kind).or_default() += 1;
    if plan.direction == repository::Direction::Descending {
        *seen.entry("descending").or_default() += 1;
    }
}

/// The keys of all pages together.
fn pages(bed: &Bed, query: &Query, plan: &Plan) -> Vec<String> {
    let mut query = query.clone();
    let mut keys = Vec::new();
    loop {
        let mut transaction = bed.repository.begin().unwrap();
        let page = select::page(&mut transaction, &query, plan, Budget::FULL).unwrap();
        assert!(page.documents.len() <= query.limit);
        keys.extend(page.documents.iter().map(|(key, _)| key.to_string()));
        let Some(next) = page.next else { return keys };
        assert_eq!(page.documents.len(), query.limit, "a page is full if there is another");
        // Through the cursor, as a client would.
        let text = cursor::encode(&next, query.fingerprint);
        let place = cursor::decode(&text, query.fingerprint, query.order.fields.len()).unwrap();
        assert_eq!(place, next);
        query.after = Some(place);
    }
}

#[test]
fn every_plan_finds_what_looking_at_every_document_finds() {
    let mut random = Random::new(4);
    let mut seen = Seen::new();
    let mut found = 0;
    for indexes in shuffled_sets(&mut random) {
        let documents = documents(&mut random, 80);
        let bed = Bed::new(&indexes, &documents);
        let definitions: Vec<&IndexDefinition> = indexes.iter().collect();
        for _ in 0..QUERIES {
            let (filter, order) = (filter(&mut random, 2), order(&mut random));
            let (text, order_text) = (filter.to_text(), order.to_text());
            let limit = 1 + random.below(12);
            let query = bed.query(&text, &order_text, limit);
            let expected = order.sort(documents.iter().filter(|d| filter.holds(d)));
            found += expected.len();
            for plan in plans(&query, &definitions) {
                note(&mut seen, &plan);
                let got = pages(&bed, &query, &plan);
                let told = format!("filter {text}\norder {order_text}\nplan {plan:?}");
                assert_eq!(got, expected, "{told}");
                let mut transaction = bed.repository.begin().unwrap();
                let count = select::count(&mut transaction, &query, &plan, Budget::FULL).unwrap();
                assert_eq!(count, expected.len(), "{told}");
            }
        }
    }
    assert!(found > 10_000, "the filters are too narrow to show anything: {found}");
    assert_eq!(seen.len(), 10, "{seen:?}");
    assert!(seen.values().all(|times| *times >= 20), "{seen:?}");
}

#[test]
fn one_comparison_at_a_time_over_every_value() {
    let mut random = Random::new(5);
    let documents = documents(&mut random, 150);
    let bed = Bed::new(&[], &documents);
    for _ in 0..2_000 {
        let filter = condition(&mut random);
        let query = bed.query(&filter.to_text(), "", 1_000);
        let expected = order_by_key(documents.iter().filter(|d| filter.holds(d)));
        let [plan] = &plans(&query, &[])[..] else { panic!("there is no index") };
        assert_eq!(pages(&bed, &query, plan), expected, "{}", filter.to_text());
    }
}

fn order_by_key<'a>(documents: impl Iterator<Item = &'a (String, Option<Value>)>) -> Vec<String> {
    let mut keys: Vec<String> = documents.map(|(key, _)| key.clone()).collect();
    keys.sort();
    keys
}

#[test]
fn pages_neither_skip_nor_repeat_while_documents_come_and_go() {
    let mut random = Random::new(6);
    for indexes in shuffled_sets(&mut random) {
        let documents = documents(&mut random, 60);
        let definitions: Vec<&IndexDefinition> = indexes.iter().collect();
        let bed = Bed::new(&indexes, &documents);
        for round in 0..40 {
            let order = order(&mut random);
            let mut query = bed.query("NOT passing = true", &order.to_text(), 1 + random.below(5));
            let expected = order.sort(documents.iter());
            let plans = plans(&query, &definitions);
            let mut keys = Vec::new();
            for page in 0.. {
                // Another plan for each page: it is the place that counts.
                let plan = &plans[random.below(plans.len())];
                let mut transaction = bed.repository.begin().unwrap();
                let page_found =
                    select::page(&mut transaction, &query, plan, Budget::FULL).unwrap();
                drop(transaction);
                keys.extend(page_found.documents.iter().map(|(key, _)| key.to_string()));
                query.after = page_found.next;
                if query.after.is_none() {
                    break;
                }
                bed.disturb(&mut random, (round, page));
            }
            let stays = |key: &String| documents.iter().any(|(known, _)| known == key);
            keys.retain(stays);
            assert_eq!(keys, expected, "order {}", order.to_text());
        }
    }
}

#[test]
fn a_document_is_given_once_where_an_index_has_several_rows_of_it() {
    let index = r#"{"indexes":[{"name":"a_t","paths":[{"path":"/a"},{"path":"/t","each":true}]}]}"#;
    let indexes = repository::Settings::from_json(index).unwrap().indexes;
    let document = |key: &str, a: i32| {
        (key.to_owned(), Some(serde_json::json!({"a": a, "t": ["x", "y", "z"]})))
    };
    let bed = Bed::new(&indexes, &[document("k", 1), document("l", 2)]);
    let query = bed.query("t:y", "a", 5);
    let plans = plans(&query, &[&indexes[0]]);
    assert_eq!((plans[0].index(), plans[0].sorts), (Some("a_t"), false));
    assert_eq!(pages(&bed, &query, &plans[0]), ["k", "l"]);
}
