//! Tests of collections as resources.

use super::*;
use repository::{Options, Repository, Timestamp};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Longer than an index takes that is built at all.
const PATIENCE: Duration = Duration::from_secs(120);

/// A repository in a folder of its own.
struct Bed {
    repository: Arc<Repository>,
    _folder: tempfile::TempDir,
}

impl Bed {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let options = Options {
            folder: folder.path().to_owned(),
            memory_bytes: 1 << 30,
            clock: Arc::new(|| Timestamp(1_000_000)),
        };
        let (repository, _) = Repository::open(options).unwrap();
        Self { repository, _folder: folder }
    }

    fn wait_until_ready(&self) {
        let is_ready = |status: &repository::IndexStatus| status.state == IndexState::Ready;
        let begun = Instant::now();
        while !self.repository.indexes().iter().all(is_ready) {
            assert!(begun.elapsed() < PATIENCE, "{:?}", self.repository.indexes());
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    fn put(&self, documents: &[(&str, Value)]) {
        let mut transaction = self.repository.begin().unwrap();
        for (key, value) in documents {
            let key = repository::Key::new(key).unwrap();
            let body = repository::json::canonicalize(value.to_string().as_bytes()).unwrap().into();
            transaction.put(&name("things"), &key, MediaType::Json, body, None).unwrap();
        }
        transaction.commit().unwrap();
    }
}

fn name(name: &str) -> CollectionName {
    CollectionName::new(name).unwrap()
}

fn bed() -> Bed {
    let bed = Bed::new();
    let indexed = r#"{"indexes":[{"name":"by_n","paths":[{"path":"/n"}]}]}"#;
    for (name, settings) in [("b", indexed), ("a", "{}"), ("_own", "{}"), ("things", "{}")] {
        let settings = Settings::from_json(settings).unwrap();
        bed.repository.configure(&CollectionName::new(name).unwrap(), &settings).unwrap();
    }
    bed.wait_until_ready();
    bed
}

fn listed(bed: &Bed, component: &str) -> (Value, Option<String>) {
    let listing = Listing::parse(Some(component), Principal::Anyone).unwrap();
    let listed = list(&mut bed.repository.begin().unwrap(), &listing, 0).unwrap().unwrap();
    (serde_json::from_slice(&listed.body).unwrap(), listed.next)
}

fn names(page: &Value) -> Vec<&str> {
    let entries = page["collections"].as_array().unwrap();
    entries.iter().map(|entry| entry["name"].as_str().unwrap()).collect()
}

#[test]
fn collections_are_listed_by_name_a_page_at_a_time() {
    let bed = bed();
    let (page, next) = listed(&bed, "");
    assert_eq!((names(&page), next), (vec!["a", "b", "things"], None));
    assert!(page["collections"][0]["version"].as_u64().unwrap() > 0);
    assert_eq!(page["collections"][0]["settings"], json!({}));
    assert_eq!(page["collections"][1]["settings"]["indexes"][0]["name"], "by_n");
    assert_eq!(page["collections"][1]["indexes"], json!([{"name": "by_n", "state": "ready"}]));
    let (page, next) = listed(&bed, "limit=2");
    assert_eq!((names(&page), next.as_deref()), (vec!["a", "b"], Some("?limit=2&after=b")));
    assert_eq!(page["next"], "b");
    let (page, next) = listed(&bed, "limit=2&after=b");
    assert_eq!((names(&page), next), (vec!["things"], None));
    assert_eq!(page.get("next"), None);
    assert_eq!(names(&listed(&bed, "limit=0").0), [""; 0]);
}

#[test]
fn parameters_of_the_list_are_checked() {
    for (component, message) in [
        ("filter=a", "\"filter\" is not known here; there are limit, after"),
        ("limit=1001", "a whole number from 0 to 1000"),
        ("after=_own", "the parameter after: expected the name of a collection"),
        ("after=Ä", "the parameter after: expected the name of a collection"),
        ("limit=1&limit=1", "several times"),
    ] {
        let refused = Listing::parse(Some(component), Principal::Anyone).unwrap_err().to_string();
        assert!(refused.contains(message), "{component}: {refused}");
    }
}

#[test]
fn an_index_that_cannot_be_built_says_why() {
    let bed = bed();
    bed.put(&[("x", json!({"n": 1})), ("y", json!({"n": 1}))]);
    let unique = r#"{"indexes":[{"name":"u","paths":[{"path":"/n"}],"unique":true}]}"#;
    let things = name("things");
    bed.repository.configure(&things, &Settings::from_json(unique).unwrap()).unwrap();
    let begun = Instant::now();
    let index = loop {
        assert!(begun.elapsed() < PATIENCE, "{:?}", bed.repository.indexes());
        let mut transaction = bed.repository.begin().unwrap();
        let status = status(&mut transaction, &things).unwrap().unwrap();
        let status: Value = serde_json::from_slice(&status.body).unwrap();
        let index = status["indexes"][0].clone();
        match index["state"].as_str() {
            Some("building") => assert!(index["passed"].is_u64(), "{index}"),
            _ => break index,
        }
    };
    assert_eq!((&index["name"], &index["state"]), (&json!("u"), &json!("failed")));
    assert!(index["why"].as_str().unwrap().contains("same values"), "{index}");
    assert!(status(&mut bed.repository.begin().unwrap(), &name("none")).unwrap().is_none());
}

#[test]
fn settings_are_a_document() {
    let bed = bed();
    let mut transaction = bed.repository.begin().unwrap();
    assert_eq!(settings(&mut transaction, &name("none")).unwrap(), None);
    let before = settings(&mut transaction, &name("a")).unwrap().unwrap();
    assert_eq!((&before.body[..], before.media_type.clone()), (&b"{}"[..], MediaType::Json));
    let same = "{ \"conflict\": \"reject\" }";
    let changes = configure(&mut transaction, &name("a"), Some(&before), same);
    assert!(!changes.unwrap() && transaction.is_unchanged(), "nothing changes, nothing is staged");
    let next = r#"{"expiry":5}"#;
    assert!(configure(&mut transaction, &name("a"), Some(&before), next).unwrap());
    transaction.commit().unwrap();
    let mut transaction = bed.repository.begin().unwrap();
    let after = settings(&mut transaction, &name("a")).unwrap().unwrap();
    assert_eq!(&after.body[..], next.as_bytes());
    assert!(after.version > before.version && after.created == before.created);
    let refused = configure(&mut transaction, &name("a"), Some(&after), "{\"expiri\":5}");
    assert!(matches!(refused, Err(Refused::Settings(_))));
    let volatile = r#"{"durability":"volatile"}"#;
    let refused = configure(&mut transaction, &name("a"), Some(&after), volatile);
    assert!(matches!(refused, Err(Refused::Configure(ConfigureError::Unfit { .. }))));
}
