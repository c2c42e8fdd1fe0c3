//! What memory keeps and what it lets go.

use super::*;
use crate::at_rest::EngineState;
use crate::document::CommitNumber;
use crate::document::MediaType;
use crate::name::Key;
use crate::views::Views;
use bytes::Bytes;

fn version(number: u64) -> Version {
    let document = Document {
        media_type: MediaType::Json,
        body: Bytes::from(number.to_string()),
        blob: None,
        version: CommitNumber(number),
        created: Timestamp(0),
        updated: Timestamp(0),
        expires: None,
    };
    Version { number: CommitNumber(number), document: Some(Arc::new(document)) }
}

fn seen(collection: &Collection, key: &Key, view: u64) -> Option<u64> {
    let cell = collection.find(key)?;
    match cell.at(CommitNumber(view)) {
        Held::Version(document) => document.map(|d| d.version.0),
        Held::Elsewhere => None,
    }
}

#[test]
fn a_view_keeps_just_the_version_it_sees() {
    let hot = Hot::new();
    let notes = hot.add_collection(&CollectionName::new("notes").unwrap(), 9, false);
    let key = Key::new("a").unwrap();
    let views = Arc::new(Views::new(CommitNumber(0), Timestamp(0), EngineState::default()));
    let put = |number: u64| {
        notes.install((&key, None), version(number), true, &views);
        views.publish(CommitNumber(number), Timestamp(0));
    };
    (1..=3).for_each(put);
    let old = views.open(Timestamp(0));
    (4..=50).for_each(put);
    assert_eq!(seen(&notes, &key, 3), Some(3), "the open view's version");
    assert_eq!(seen(&notes, &key, 49), Some(49), "a view may have been opened just before");
    assert_eq!(seen(&notes, &key, 20), Some(3), "what no view sees is gone");
    drop(old);
    let with_old = hot.bytes();
    hot.tidy(vec![notes.find(&key).unwrap()], CommitNumber(0), &views);
    assert_eq!(seen(&notes, &key, 49), None);
    assert_eq!(seen(&notes, &key, 50), Some(50));
    assert!(hot.bytes() < with_old);
}

#[test]
fn eviction_takes_only_what_the_engine_has() {
    let hot = Hot::new();
    let notes = hot.add_collection(&CollectionName::new("notes").unwrap(), 9, false);
    let views = Arc::new(Views::new(CommitNumber(0), Timestamp(0), EngineState::default()));
    let key = |number: u64| Key::new(&format!("k{number:04}")).unwrap();
    for number in 1..=1000 {
        let key = key(number);
        notes.install((&key, None), version(number), true, &views);
        views.publish(CommitNumber(number), Timestamp(0));
    }
    let engine_has = |commit| {
        let state = |commit: CommitNumber| EngineState { commit, sequence: commit.0 };
        views.refresh_engine(CommitNumber(commit), state);
    };
    let cells: Vec<_> = (1..=1000).map(|i| notes.find(&key(i)).unwrap()).collect();
    hot.tidy(cells, CommitNumber(400), &views);
    let full = hot.bytes();
    engine_has(400);
    hot.evict(full / 2, &views);
    // Those that the engine lacks do not wait any more: the next checkpoint lets them.
    assert!(hot.bytes() > full / 2 && hot.bytes() < full);
    for number in [1, 400, 401, 1000] {
        let expected = (number > 400).then_some(number);
        assert_eq!(seen(&notes, &key(number), 1000), expected);
    }
    let cells: Vec<_> = (401..=1000).map(|i| notes.find(&key(i)).unwrap()).collect();
    hot.tidy(cells, CommitNumber(1000), &views);
    let held = notes.find(&key(1000)).unwrap();
    engine_has(1000);
    hot.evict(0, &views);
    assert!(notes.find(&key(1000)).is_some(), "what is held stays");
    drop(held);
    engine_has(1000);
    hot.evict(0, &views);
    assert_eq!(hot.bytes(), 0, "every byte that was counted in is counted out");
}

#[test]
fn what_an_old_view_needs_waits_until_it_is_closed() {
    let hot = Hot::new();
    let notes = hot.add_collection(&CollectionName::new("notes").unwrap(), 9, false);
    let views = Arc::new(Views::new(CommitNumber(0), Timestamp(0), EngineState::default()));
    let key = Key::new("a").unwrap();
    let old = views.open(Timestamp(0));
    notes.install((&key, None), version(1), true, &views);
    views.publish(CommitNumber(1), Timestamp(0));
    views.refresh_engine(CommitNumber(1), |commit| EngineState { commit, sequence: 1 });
    hot.tidy(vec![notes.find(&key).unwrap()], CommitNumber(0), &views);
    hot.evict(0, &views);
    assert!(notes.find(&key).is_some(), "the old view reads a state without it");
    drop(old);
    hot.evict(0, &views);
    assert_eq!(hot.bytes(), 0);
}
