//! Collections with a schema: whatever is written there fits it, by whichever way it came.

use crate::harness::bench::Bench;
use crate::harness::indexes::{add, must_commit, stage};
use crate::harness::{get, key, notes, put, read};
use bytes::Bytes;
use repository::{
    ConfigureError, MediaType, Merge, Outcome, RunError, Settings, SettingsError, StageError,
    Transaction,
};

const SMALL: &str = r#"{"schema":{"type":"object","properties":{"n":{"type":"number","maximum":3}},
    "required":["n"]}}"#;

fn bench(settings: &str) -> Bench {
    let bench = Bench::new();
    let settings = Settings::from_json(settings).unwrap();
    bench.repository().configure(&notes(), &settings).unwrap();
    bench
}

fn try_put(transaction: &mut Transaction, at: &str, body: &str) -> Result<(), StageError> {
    let body = Bytes::copy_from_slice(body.as_bytes());
    transaction.put(&notes(), &key(at), MediaType::Json, body, None)
}

fn misfit(result: Result<(), StageError>) -> Vec<String> {
    let Err(StageError::Schema(misfit)) = result else { panic!("expected a misfit: {result:?}") };
    misfit.failures.iter().map(|f| format!("{} {}", f.path, f.schema)).collect()
}

#[test]
fn what_does_not_fit_is_refused_and_nothing_else_is() {
    let bench = bench(SMALL);
    let mut transaction = bench.repository().begin().unwrap();
    assert!(transaction.has_schema(&notes()));
    let refused = try_put(&mut transaction, "a", r#"{"n":4}"#);
    assert_eq!(misfit(refused), ["/n /properties/n/maximum"]);
    assert_eq!(misfit(try_put(&mut transaction, "a", "[]")), [" /type"]);
    try_put(&mut transaction, "a", r#"{"n":1}"#).unwrap();
    assert_eq!(misfit(try_put(&mut transaction, "a", "{}")), [" /required"]);
    assert_eq!(
        get(&mut transaction, "a").as_deref(),
        Some(r#"{"n":1}"#),
        "a refusal changes nothing"
    );
    let text = MediaType::Other("text/plain".into());
    let refused = transaction.put(&notes(), &key("b"), text, Bytes::from("1"), None);
    assert!(matches!(refused, Err(StageError::NotJson { .. })), "{refused:?}");
    must_commit(transaction);
}

/// Merge operations are resolved when they are staged, and conflict like other reads.
#[test]
fn merge_operations_cannot_sneak_past_it() {
    let bench = bench(SMALL);
    let repository = bench.repository();
    stage(repository, "a", r#"{"n":1}"#);
    let (mut one, mut two) = (repository.begin().unwrap(), repository.begin().unwrap());
    for transaction in [&mut one, &mut two] {
        transaction.merge(&notes(), &key("a"), add("/n", 2.0)).unwrap();
        let refused = transaction.merge(&notes(), &key("a"), add("/n", 1.0));
        assert_eq!(misfit(refused), ["/n /properties/n/maximum"]);
    }
    must_commit(one);
    assert!(matches!(two.commit().unwrap(), Outcome::Conflict(_)), "both would make 5");
    let refused = repository.run(|t| t.merge(&notes(), &key("a"), add("/n", 2.0)));
    assert!(matches!(refused, Err(RunError::Body { error: StageError::Schema(_), .. })));
    let mut transaction = repository.begin().unwrap();
    let made = Merge::InsertIfAbsent { path: "/m".to_owned(), value: "1".to_owned() };
    assert_eq!(misfit(transaction.merge(&notes(), &key("new"), made)), [" /required"]);
    assert_eq!(read(repository, "a").as_deref(), Some(r#"{"n":3}"#));
}

/// Each change fits, and both together would not.
#[test]
fn changes_of_two_are_not_merged() {
    let settings = r#"{"conflict":"merge","schema":{"maxProperties":2}}"#;
    let bench = bench(settings);
    let repository = bench.repository();
    stage(repository, "a", r#"{"x":1}"#);
    let mut transaction = repository.begin().unwrap();
    get(&mut transaction, "a");
    put(&mut transaction, "a", r#"{"x":1,"y":1}"#);
    stage(repository, "a", r#"{"x":1,"z":1}"#);
    assert!(matches!(transaction.commit().unwrap(), Outcome::Conflict(_)));
}

#[test]
fn a_schema_that_is_set_meanwhile_counts() {
    let bench = bench("{}");
    let repository = bench.repository();
    stage(repository, "old", "1");
    let mut transaction = repository.begin().unwrap();
    put(&mut transaction, "a", "2");
    repository.configure(&notes(), &Settings::from_json(SMALL).unwrap()).unwrap();
    assert!(matches!(transaction.commit().unwrap(), Outcome::Conflict(_)));
    assert_eq!(read(repository, "old").as_deref(), Some("1"), "it stays as it is");
    let mut transaction = repository.begin().unwrap();
    assert_eq!(misfit(try_put(&mut transaction, "old", "2")), [" /type"]);
    transaction.delete(&notes(), &key("old")).unwrap();
    must_commit(transaction);
    repository.configure(&notes(), &Settings::default()).unwrap();
    stage(repository, "a", "2");
}

#[test]
fn it_is_there_again_after_an_opening() {
    let mut bench = bench(SMALL);
    for checkpoint in [false, true] {
        if checkpoint {
            bench.checkpoint().unwrap();
        }
        bench.crash(true);
        let mut transaction = bench.repository().begin().unwrap();
        assert_eq!(misfit(try_put(&mut transaction, "a", "1")), [" /type"]);
        drop(transaction);
        let settings = bench.repository().settings(&notes());
        assert_eq!(Settings::from_json(&settings.to_json()), Ok(settings));
    }
}

#[test]
fn a_schema_that_is_none_is_no_setting() {
    let bench = bench("{}");
    let settings = Settings::from_json(r#"{"schema":{"type":"objekt"}}"#).unwrap();
    let refused = bench.repository().configure(&notes(), &settings);
    let Err(ConfigureError::Settings(error @ SettingsError::Schema(_))) = refused else {
        panic!("{refused:?}")
    };
    assert_eq!(error.pointer(), "/schema/type");
    let misspelt = Settings::from_json(r#"{"shema":{}}"#).unwrap_err();
    assert!(misspelt.to_string().contains("perhaps \"schema\" was meant"), "{misspelt}");
}
