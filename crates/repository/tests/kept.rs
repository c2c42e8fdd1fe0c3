//! A data folder of format 1 that is kept: every later build must open it and find in it what was
//! put there. `tests/kept/README.md` says how it is made and when it may be made anew.

mod packed;

use crate::harness::bench::Bench;
use crate::harness::indexes::{add, build, must_commit};
use crate::harness::{
    self, Place, configure, get, key, named, notes, put, text, verified, wait_built,
};
use bytes::Bytes;
use packed::{pack, unpack};
use repository::limits::VOLATILE_COMMITS_MAX;
use repository::{
    BuildFailure, CollectionName, Direction, IndexRange, IndexState, KeyRange, MediaType, Merge,
    Repository, Settings, Timestamp, Transaction, verify,
};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

const COLLECTIONS: [&str; 5] = ["notes", "merged", "media", "building", "brief"];
const INDEXES: [(&str, &str); 4] =
    [("notes", "by_n"), ("notes", "by_tag"), ("notes", "late"), ("merged", "pair")];

fn kept(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kept").join(name)
}

/// Everything that can be read, one line each.
fn export(repository: &Repository) -> String {
    let mut lines = Vec::new();
    for name in COLLECTIONS {
        let name = named(name);
        lines.push(format!("collection {name} {}", repository.settings(&name).to_json()));
        let mut view = repository.begin().unwrap();
        let all = view.range(&name, &KeyRange::all(), Direction::Ascending, 10_000).unwrap();
        for (key, document) in all {
            let expires = document.expires.map_or("-".to_owned(), |at| at.0.to_string());
            let (version, created) = (document.version, document.created.0);
            let body: String = match document.media_type {
                MediaType::Json => text(&document),
                MediaType::Other(_) => {
                    document.body.iter().map(|byte| format!("{byte:02x}")).collect()
                }
            };
            let media_type = document.media_type.as_str();
            let updated = document.updated.0;
            lines.push(format!(
                "{key} {media_type} version {version} created {created} updated {updated} \
                 expires {expires} {body}"
            ));
        }
    }
    for (name, index) in INDEXES {
        let mut view = repository.begin().unwrap();
        let (range, ascending) = (IndexRange::all(), Direction::Ascending);
        let rows = view.index_range(&named(name), index, &range, ascending, 10_000).unwrap();
        for row in rows {
            lines.push(format!("index {name}/{index} {:?} {}", row.values, row.key));
        }
    }
    lines.join("\n") + "\n"
}

fn change(bench: &Bench, body: impl FnOnce(&mut Transaction)) {
    let mut transaction = bench.repository().begin().unwrap();
    body(&mut transaction);
    must_commit(transaction);
    bench.move_clock(7);
}

fn put_in(
    transaction: &mut Transaction,
    collection: &CollectionName,
    at: &str,
    (body, expires): (&str, Option<u64>),
) {
    let body = Bytes::copy_from_slice(body.as_bytes());
    let expires = expires.map(Timestamp);
    transaction.put(collection, &key(at), MediaType::Json, body, expires).unwrap();
}

/// Each kind of merge operation, on one document or on several.
fn merges(transaction: &mut Transaction) {
    let (path, value) = (|path: &str| path.to_owned(), |text: &str| text.to_owned());
    for (at, operation) in [
        ("tally", add("", 2.5)),
        ("all", add("/add", -1.0)),
        ("all", Merge::Min { path: path("/min"), value: 3.0 }),
        ("all", Merge::Max { path: path("/max"), value: 3.0 }),
        ("all", Merge::Append { path: path("/list"), value: value(r#"{"a":[]}"#) }),
        ("all", Merge::InsertIfAbsent { path: path("/once"), value: value("null") }),
        ("all", Merge::SetAdd { path: path("/set"), value: value("\"é\"") }),
        ("all", Merge::SetRemove { path: path("/set"), value: value("1") }),
        ("all", Merge::SetAdd { path: path("/set"), value: value("1") }),
    ] {
        transaction.merge(&notes(), &key(at), operation).unwrap();
    }
}

/// Writes some of every kind; `part` is 0 for what a checkpoint holds and 1 for the log alone.
fn write_part(bench: &Bench, part: u64) {
    let far = 4_000_000_000_000;
    for i in 0..20 {
        let body = format!(r#"{{"n":{},"tags":["p{part}","t{}"]}}"#, i * 3 - 20, i % 4);
        change(bench, |t| put_in(t, &notes(), &format!("note-{part}-{i:02}"), (&body, None)));
    }
    change(bench, |t| {
        t.delete(&notes(), &key(&format!("note-{part}-05"))).unwrap();
        t.delete(&notes(), &key("note-0-06")).unwrap();
        put(t, "note-0-07", r#"{"n":-7,"tags":"moved"}"#);
        put_in(t, &notes(), &format!("brief-{part}"), ("1", Some(bench.now() + 5)));
        put_in(t, &notes(), &format!("lasting-{part}"), ("[true,1e+21]", Some(far + part)));
    });
    change(bench, merges);
    change(bench, |t| {
        let media_type = MediaType::Other("application/x-kept; v=1".into());
        let bytes: Vec<u8> = (0..=255).collect();
        t.put(&named("media"), &key(&format!("ä/{part}")), media_type, bytes.into(), None).unwrap();
    });
    change(bench, |t| put_in(t, &named("brief"), &format!("default-{part}"), ("{}", None)));
    change(bench, |t| put_in(t, &named("volatiles"), &format!("gone-{part}"), ("{}", None)));
    // Two changes of one document at different places.
    let at = format!("merged-{part}");
    change(bench, |t| put_in(t, &named("merged"), &at, (r#"{"a":0,"b":0}"#, None)));
    let mut mine = bench.repository().begin().unwrap();
    mine.get(&named("merged"), &key(&at)).unwrap();
    put_in(&mut mine, &named("merged"), &at, (&format!(r#"{{"a":{},"b":0}}"#, part + 1), None));
    change(bench, |t| put_in(t, &named("merged"), &at, (r#"{"a":0,"b":0,"c":1}"#, None)));
    must_commit(mine);
    bench.reap();
    bench.mark();
}

fn fill(bench: &Bench) {
    let repository = bench.repository();
    let one = |name: &str, path: &str, more: &str| {
        format!(r#"{{"name":"{name}","paths":[{{"path":"{path}"{more}}}]}}"#)
    };
    let (n, tag) =
        (one("by_n", "/n", r#","kind":"number""#), one("by_tag", "/tags", r#","each":true"#));
    configure(repository, "notes", &format!(r#"{{"indexes":[{n},{tag}]}}"#));
    let pair = r#"{"name":"pair","paths":[{"path":"/a"},{"path":"/b"}],"unique":true}"#;
    configure(repository, "merged", &format!(r#"{{"conflict":"merge","indexes":[{pair}]}}"#));
    configure(repository, "media", r#"{"durability":"written"}"#);
    configure(repository, "brief", r#"{"expiry":3600000000000}"#);
    configure(repository, "volatiles", r#"{"durability":"volatile"}"#);
    build(bench);
    write_part(bench, 0);
    let dropped = one("dropped", "/n", "");
    configure(repository, "notes", &format!(r#"{{"indexes":[{n},{dropped},{tag}]}}"#));
    build(bench);
    bench.checkpoint().unwrap();
    let late = one("late", "/n", "");
    configure(repository, "notes", &format!(r#"{{"indexes":[{n},{tag},{late}]}}"#));
    build(bench);
    write_part(bench, 1);
    for at in ["a", "b"] {
        change(bench, |t| put_in(t, &named("building"), at, (r#"{"same":1}"#, None)));
    }
    // Two documents have the same value, so this one stays as it is.
    let same = r#"{"indexes":[{"name":"same","paths":[{"path":"/same"}],"unique":true}]}"#;
    configure(repository, "building", same);
}

/// Makes such a folder; where `SARSEN_KEEP` is set, in the place of the one that is kept. See
/// `tests/kept/README.md`.
#[test]
fn make_kept_folder() {
    let bench = Bench::new();
    fill(&bench);
    bench.write_log();
    let expected = export(bench.repository());
    let packed = pack(bench.stop().path());
    if std::env::var_os("SARSEN_KEEP").is_some() {
        std::fs::write(kept("format-1.export"), expected).unwrap();
        std::fs::write(kept("format-1.packed"), packed).unwrap();
        return;
    }
    let place = Place::new();
    unpack(&packed, place.path());
    assert_eq!(pack(place.path()), packed);
    assert_eq!(export(&place.open_only()), expected);
}

fn open_kept() -> Place {
    let place = Place::new();
    unpack(&std::fs::read_to_string(kept("format-1.packed")).unwrap(), place.path());
    place.now.store(1_000_000 + 1_000, Ordering::Relaxed);
    place
}

#[test]
fn the_kept_folder_opens_and_holds_what_was_put_there() {
    let expected = std::fs::read_to_string(kept("format-1.export")).unwrap();
    let place = open_kept();
    let report = verify(place.path()).unwrap();
    assert_eq!((report.findings, report.torn_tail), (Vec::new(), None));
    assert!(report.checkpoint.0 > 0 && report.replayed > 20, "a part of each");
    assert!(!report.documents.contains_key("volatiles"));
    let (repository, recovery) = place.open();
    assert_eq!(recovery.replayed, report.replayed);
    assert_eq!(export(&repository), expected);
    wait_built(&repository);
    let states = repository.indexes();
    let failed = states.iter().find(|status| status.index == "same").unwrap();
    assert!(matches!(&failed.state, IndexState::Failed(BuildFailure::Duplicate(_))));
    assert!(
        states.iter().filter(|status| status.state == IndexState::Ready).count() == INDEXES.len()
    );
    assert!(repository.stats().visible.0 > VOLATILE_COMMITS_MAX, "volatile numbers are skipped");
    repository.close().unwrap();
    drop(repository);
    verified(&place);
    assert_eq!(export(&place.open_only()), expected, "and after a checkpoint");
}

#[test]
fn the_kept_folder_can_be_written_to() {
    let place = open_kept();
    let repository = place.open_only();
    let mut transaction = repository.begin().unwrap();
    assert_eq!(get(&mut transaction, "tally").as_deref(), Some("5"));
    transaction.merge(&notes(), &key("tally"), add("", 1.0)).unwrap();
    harness::commit(&repository, transaction);
    let mut settings = repository.settings(&notes());
    settings.indexes.clear();
    repository.configure(&notes(), &settings).unwrap();
    assert_eq!(repository.settings(&notes()), Settings::default());
    assert_eq!(harness::read(&repository, "tally").as_deref(), Some("6"));
    harness::close_and_verify(&place, repository);
}
