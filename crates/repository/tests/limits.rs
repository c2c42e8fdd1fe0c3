//! Every bound of the repository is reached: just below works, beyond gives what `limits.rs` says
//! and loses nothing. The table names the test of each; no bound may be missing from it.

use crate::harness::bench::Bench;
use crate::harness::{
    self, Place, commit, configure, get, key, named, notes, put, read, verified, wait_until,
};
use bytes::Bytes;
use repository::limits::*;
use repository::{
    BeginError, CollectionName, CommitError, Direction, IndexRange, Key, KeyRange, MediaType,
    Merge, NameError, OpenError, Outcome, ReadError, Repository, RunError, Settings, SettingsError,
    StageError, Transaction, json,
};
use std::path::Path;
use std::sync::atomic::Ordering;

/// Each bound, and the file and test that reach it.
const TABLE: &[(&str, &str, &str)] = &[
    ("COLLECTION_NAME_BYTES_MAX", "tests/limits.rs", "names_and_keys"),
    ("COLLECTIONS_MAX", "tests/settings.rs", "collections_and_indexes_are_bounded"),
    ("KEY_BYTES_MAX", "tests/limits.rs", "names_and_keys"),
    ("DOCUMENT_BYTES_MAX", "tests/limits.rs", "documents_and_media_types"),
    ("DOCUMENT_INLINE_BYTES_MAX", "tests/blobs.rs", "what_is_small_stays_in_the_document"),
    ("BLOB_BYTES_MAX", "src/blobs/writer.rs", "the_largest_blob"),
    ("BLOB_WRITERS_MAX", "tests/blobs.rs", "writers_at_once"),
    ("BLOBS_UNNAMED_MAX", "src/blobs/unnamed.rs", "what_is_forgotten_is_not_lost"),
    ("BLOBS_KEPT_MAX", "src/blobs/kept.rs", "their_number_is_bounded"),
    ("BLOB_KEPT_MS", "src/blobs/kept.rs", "after_some_time_only_a_hold_keeps_it"),
    ("BLOBS_LOOKED_AT_MAX", "tests/blobs.rs", "a_round_looks_at_so_many"),
    ("MEDIA_TYPE_BYTES_MAX", "tests/limits.rs", "documents_and_media_types"),
    ("TRANSACTION_WRITES_MAX", "tests/limits.rs", "writes_of_a_transaction"),
    ("TRANSACTION_READS_MAX", "tests/limits.rs", "reads_of_a_transaction"),
    ("TRANSACTION_RANGES_MAX", "tests/ranges.rs", "ranges_of_a_transaction"),
    ("RESOLVED_BYTES_MAX", "src/transaction/resolved.rs", "what_is_kept_is_bounded"),
    ("TRANSACTION_ROWS_MAX", "tests/limits.rs", "rows_of_a_transaction"),
    ("TRANSACTION_READ_BYTES_MAX", "tests/memory.rs", "bytes_that_a_transaction_reads"),
    ("TRANSACTION_BYTES_MAX", "tests/limits.rs", "bytes_of_a_transaction"),
    ("MERGE_PATH_BYTES_MAX", "tests/transactions.rs", "merge_limits_leave_what_was_staged"),
    ("MERGES_MAX", "tests/transactions.rs", "merge_limits_leave_what_was_staged"),
    ("JSON_DEPTH_MAX", "tests/limits.rs", "nesting_of_json"),
    ("NAMES_ALIKE_MAX", "src/json/names.rs", "names_that_hash_alike_are_refused"),
    ("NAMES_TEXT_BYTES_MIN", "src/json/names.rs", "short_texts_are_not_looked_at"),
    ("NAMES_WINDOW", "src/json/names.rs", "names_are_compared_within_a_window"),
    ("CONTESTED_PATHS_MAX", "tests/limits.rs", "paths_that_a_conflict_names"),
    ("INDEXES_MAX", "tests/limits.rs", "indexes_of_a_collection"),
    ("INDEX_NAME_BYTES_MAX", "src/index/definition.rs", "names_follow_the_rule"),
    ("INDEX_PATHS_MAX", "src/index/definition.rs", "paths_follow_the_rules"),
    ("INDEX_PATH_BYTES_MAX", "src/index/definition.rs", "paths_follow_the_rules"),
    ("INDEX_VALUE_BYTES_MAX", "tests/limits.rs", "rows_of_a_document"),
    ("INDEX_ROWS_MAX", "tests/limits.rs", "rows_of_a_document"),
    ("UNSYNCED_BYTES_MAX", "tests/limits.rs", "bytes_that_wait_for_the_disk"),
    ("WRITTEN_SYNC_MS", "tests/limits.rs", "written_commits_are_synced_by_themselves"),
    ("OPTIMISTIC_TRIES", "tests/limits.rs", "tries_before_the_lane"),
    ("MEMORY_BYTES_MIN", "tests/limits.rs", "the_smallest_memory"),
    ("SEGMENTS_BEFORE_CHECKPOINT", "tests/limits.rs", "segments_of_many_openings"),
    ("LANE_WAIT_MAX_MS", "tests/limits.rs", "a_wait_for_the_lane_ends"),
    ("LANE_TRIES", "tests/limits.rs", "tries_in_the_lane"),
    ("CHECKPOINT_LOG_BYTES", "tests/limits.rs", "bytes_of_log_before_a_checkpoint"),
    (
        "RETAIN_BYTES",
        "src/tranlog/follow/tests.rs",
        "no_more_is_kept_than_was_asked_for_and_who_is_late_is_told",
    ),
    ("RECENT_LOG_BYTES", "src/tranlog/recent.rs", "memory_is_bounded_and_given_back"),
    ("RECENT_CHANGES", "tests/ranges.rs", "more_changes_than_are_remembered_are_still_found"),
    ("RANGE_DOCUMENTS_MAX", "tests/limits.rs", "documents_of_a_range"),
    ("SNAPSHOT_PAGE_DOCUMENTS_MAX", "tests/snapshots.rs", "pages_are_bounded"),
    ("SNAPSHOT_PAGE_BYTES", "tests/snapshots.rs", "pages_are_bounded"),
    (
        "IMPORT_LINE_BYTES_MAX",
        "tests/exchange.rs",
        "bad_lines_are_named_and_nothing_of_them_is_kept",
    ),
    (
        "IMPORT_BATCH_DOCUMENTS",
        "tests/exchange.rs",
        "an_import_that_was_cut_off_goes_on_where_it_was",
    ),
    (
        "IMPORT_BATCH_BYTES",
        "tests/exchange.rs",
        "what_is_too_much_for_a_transaction_is_done_in_several",
    ),
    ("IMPORT_WAIT_MAX", "tests/exchange.rs", "an_import_waits_while_the_disk_is_behind"),
    (
        "IMPORT_POSITION_KEPT_MS",
        "tests/exchange.rs",
        "an_import_that_was_left_for_long_begins_anew",
    ),
    ("IMPORT_DONE_KEPT_MS", "tests/exchange.rs", "an_import_that_was_cut_off_goes_on_where_it_was"),
    ("VIEW_AGE_MAX_MS", "tests/views.rs", "a_view_is_refused_past_its_bound_and_not_before"),
    (
        "VIEW_AGE_MAX_UNDER_PRESSURE_MS",
        "tests/views.rs",
        "views_are_refused_earlier_while_memory_is_short",
    ),
    (
        "CONTENTION_DOCUMENTS_MAX",
        "src/contention.rs",
        "the_table_is_bounded_and_keeps_the_most_contended",
    ),
    ("REAP_DOCUMENTS_MAX", "tests/expiry.rs", "what_one_commit_removes_is_bounded"),
    ("BUILD_DOCUMENTS_MAX", "tests/limits.rs", "documents_that_building_passes_in_one_commit"),
    ("BUILD_ROWS_MAX", "tests/index_building.rs", "rows_that_building_adds_in_one_commit"),
    ("BACKGROUND_BYTES_MAX", "tests/memory.rs", "bytes_that_a_background_commit_reads"),
    ("VOLATILE_COMMITS_MAX", "src/store.rs", "commits_that_the_log_does_not_know_are_bounded"),
    ("HISTORY_VERSIONS_MAX", "src/settings.rs", "mistakes_say_what_was_expected_and_what_came"),
    ("HISTORY_WAITING_MAX", "src/history/mod.rs", "what_waits_is_bounded"),
    ("TRIM_ROWS_MAX", "tests/history.rs", "what_one_commit_trims_is_bounded"),
    ("RESERVE_BYTES", "src/space.rs", "shortage_begins_at_the_reserve_and_ends_a_little_beyond"),
    (
        "RESERVE_MARGIN_DIVISOR",
        "src/space.rs",
        "shortage_begins_at_the_reserve_and_ends_a_little_beyond",
    ),
    ("SPACE_LOOK_MS", "src/space.rs", "a_log_without_room_waits_for_it"),
    ("BACKUP_FILE_BYTES", "tests/backup/full.rs", "files_are_bounded"),
    (
        "BACKUP_FILE_READ_BYTES_MAX",
        "tests/backup/damage.rs",
        "a_file_that_is_missing_or_too_large_is_refused",
    ),
    (
        "RESTORE_MEMORY_BYTES",
        "src/recovery.rs",
        "what_was_applied_leaves_memory_when_it_is_written",
    ),
    (
        "ARCHIVE_WRITE_MS",
        "tests/backup/commits.rs",
        "records_wait_for_the_archive_no_longer_than_they_may",
    ),
    ("VOLATILE_MARK_MS", "tests/limits.rs", "the_log_is_told_of_volatile_commits"),
];

#[test]
fn no_bound_is_missing_from_the_table() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let source = std::fs::read_to_string(folder.join("src/limits.rs")).unwrap();
    let constants: Vec<&str> = source
        .lines()
        .filter_map(|line| line.strip_prefix("pub const ")?.split(':').next())
        .collect();
    assert!(constants.len() > 30);
    for constant in &constants {
        assert!(TABLE.iter().any(|(name, ..)| name == constant), "{constant} has no test");
    }
    for (name, file, test) in TABLE {
        assert!(constants.contains(name), "{name} is no bound");
        let text = std::fs::read_to_string(folder.join(file)).unwrap();
        assert!(text.contains(&format!("fn {test}()")), "{file} has no {test}");
        let is_used = file.starts_with("src") || text.contains(name);
        assert!(is_used, "{file} does not know {name}");
    }
}

fn body(bytes: usize) -> Bytes {
    Bytes::from(format!("\"{}\"", "x".repeat(bytes - 2)))
}

fn stage(transaction: &mut Transaction, at: &str, body: Bytes) -> Result<(), StageError> {
    transaction.put(&notes(), &key(at), MediaType::Json, body, None)
}

fn must_commit(transaction: Transaction) {
    let outcome = transaction.commit().unwrap();
    assert!(matches!(outcome, Outcome::Committed(_)), "{outcome:?}");
}

#[test]
fn names_and_keys() {
    let name = "n".repeat(COLLECTION_NAME_BYTES_MAX);
    assert!(matches!(CollectionName::new(&format!("{name}n")), Err(NameError::Collection { .. })));
    let at = "k".repeat(KEY_BYTES_MAX);
    assert!(matches!(Key::new(&format!("{at}k")), Err(NameError::Key { .. })));
    let place = Place::new();
    let repository = place.open_only();
    configure(&repository, &name, r#"{"indexes":[{"name":"i","paths":[{"path":""}]}]}"#);
    let mut transaction = repository.begin().unwrap();
    let value = Bytes::from("1");
    transaction.put(&named(&name), &key(&at), MediaType::Json, value, None).unwrap();
    must_commit(transaction);
    repository.close().unwrap();
    drop(repository);
    let repository = place.open_only();
    let found = repository.begin().unwrap().get(&named(&name), &key(&at)).unwrap();
    assert!(found.is_some());
}

#[test]
fn documents_and_media_types() {
    let place = Place::new();
    let repository = place.open_only();
    let mut transaction = repository.begin().unwrap();
    stage(&mut transaction, "a", body(DOCUMENT_BYTES_MAX)).unwrap();
    let beyond = stage(&mut transaction, "b", body(DOCUMENT_BYTES_MAX + 1));
    assert!(matches!(beyond, Err(StageError::DocumentTooLarge { .. })), "{beyond:?}");
    let mut other = |bytes: usize| {
        let media_type = MediaType::Other("m".repeat(bytes).into());
        transaction.put(&notes(), &key("c"), media_type, Bytes::new(), None)
    };
    other(MEDIA_TYPE_BYTES_MAX).unwrap();
    let beyond = other(MEDIA_TYPE_BYTES_MAX + 1);
    assert!(matches!(beyond, Err(StageError::MediaTypeTooLong { .. })), "{beyond:?}");
    harness::commit(&repository, transaction);
    drop(repository);
    let repository = place.open_only();
    assert_eq!(read(&repository, "a").unwrap().len(), DOCUMENT_BYTES_MAX);
    let document = repository.begin().unwrap().get(&notes(), &key("c")).unwrap().unwrap();
    assert_eq!(document.media_type.as_str().len(), MEDIA_TYPE_BYTES_MAX);
}

#[test]
fn writes_of_a_transaction() {
    let mut bench = Bench::new();
    let mut transaction = bench.repository().begin().unwrap();
    for i in 0..TRANSACTION_WRITES_MAX {
        stage(&mut transaction, &i.to_string(), body(2)).unwrap();
    }
    let beyond = stage(&mut transaction, "beyond", body(2));
    assert!(matches!(beyond, Err(StageError::TooManyWrites)), "{beyond:?}");
    stage(&mut transaction, "7", body(3)).unwrap();
    must_commit(transaction);
    bench.crash(true);
    assert_eq!(read(bench.repository(), "7").unwrap().len(), 3);
    assert_eq!(verified(&bench.stop()), TRANSACTION_WRITES_MAX as u64);
}

#[test]
fn reads_of_a_transaction() {
    let bench = Bench::new();
    let mut transaction = bench.repository().begin().unwrap();
    for i in 0..TRANSACTION_READS_MAX {
        transaction.get(&notes(), &key(&i.to_string())).unwrap();
    }
    let beyond = transaction.get(&notes(), &key("beyond"));
    assert!(matches!(beyond, Err(ReadError::TooManyReads)), "{beyond:?}");
    let beyond = transaction.range(&notes(), &KeyRange::all(), Direction::Ascending, 1);
    assert!(matches!(beyond, Err(ReadError::TooManyReads)), "{beyond:?}");
    stage(&mut transaction, "a", body(2)).unwrap();
    must_commit(transaction);
}

/// The largest record is written and read back; and merging never makes a larger one.
#[test]
fn bytes_of_a_transaction() {
    let mut bench = Bench::with_memory(1 << 30);
    let mut transaction = bench.repository().begin().unwrap();
    let mut left = TRANSACTION_BYTES_MAX;
    for at in ["a", "b", "c", "d"] {
        // A write counts with the most that its names and meta could take.
        let bytes = DOCUMENT_BYTES_MAX.min(left - 320);
        stage(&mut transaction, at, body(bytes)).unwrap();
        left -= bytes + 320;
    }
    let beyond = stage(&mut transaction, "e", body(4000));
    assert!(matches!(beyond, Err(StageError::TransactionTooLarge)), "{beyond:?}");
    must_commit(transaction);
    bench.crash(true);
    assert_eq!(verified(&bench.stop()), 4);

    let mut bench = Bench::with_memory(1 << 30);
    configure(bench.repository(), "notes", r#"{"conflict":"merge"}"#);
    let keys = ["a", "b", "c", "d", "e"];
    let change = |repository: &Repository, keys: &[&str], with: &str| {
        let mut transaction = repository.begin().unwrap();
        for at in keys {
            get(&mut transaction, at);
            put(&mut transaction, at, with);
        }
        transaction
    };
    must_commit(change(bench.repository(), &keys, "{}"));
    let all = change(bench.repository(), &keys, r#"{"mine":1}"#);
    let large = format!(r#"{{"theirs":"{}"}}"#, "x".repeat(DOCUMENT_BYTES_MAX - 100));
    for at in keys {
        must_commit(change(bench.repository(), &[at], &large));
        bench.write_log();
    }
    let merged = all.commit().unwrap();
    assert!(matches!(merged, Outcome::Conflict(_)), "together they are too large: {merged:?}");
    must_commit(change(bench.repository(), &["after"], "1"));
    bench.crash(true);
    assert_eq!(read(bench.repository(), "after").as_deref(), Some("1"));
    assert_eq!(verified(&bench.stop()), 6);
}

#[test]
fn nesting_of_json() {
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    assert!(json::canonicalize(nested(JSON_DEPTH_MAX).as_bytes()).is_ok());
    let beyond = json::canonicalize(nested(JSON_DEPTH_MAX + 1).as_bytes()).unwrap_err();
    assert!(beyond.to_string().contains("nested deeper than 128"), "{beyond}");
    let place = Place::new();
    let repository = place.open_only();
    harness::write(&repository, "a", &nested(JSON_DEPTH_MAX));
    let inmost = "/0".repeat(JSON_DEPTH_MAX - 1);
    let mut transaction = repository.begin().unwrap();
    let mut append = |value: &str| {
        let append = Merge::Append { path: inmost.clone(), value: value.to_owned() };
        transaction.merge(&notes(), &key("a"), append)
    };
    assert!(matches!(append("[]"), Err(StageError::Merge { .. })));
    append("1").unwrap();
    must_commit(transaction);
}

#[test]
fn paths_that_a_conflict_names() {
    let place = Place::new();
    let repository = place.open_only();
    let object = |count: usize, value: usize| {
        let members: Vec<String> = (0..count).map(|i| format!("\"m{i:02}\":{value}")).collect();
        format!("{{{}}}", members.join(","))
    };
    for (count, named) in
        [(CONTESTED_PATHS_MAX, CONTESTED_PATHS_MAX), (CONTESTED_PATHS_MAX + 1, CONTESTED_PATHS_MAX)]
    {
        harness::write(&repository, "a", &object(count, 1));
        let mut loser = repository.begin().unwrap();
        get(&mut loser, "a");
        put(&mut loser, "b", "1");
        harness::write(&repository, "a", &object(count, 2));
        let Outcome::Conflict(conflict) = loser.commit().unwrap() else { panic!("it won") };
        assert_eq!(conflict.documents[0].paths.len(), named);
    }
}

fn indexes(count: usize) -> String {
    let one = |i: usize| format!(r#"{{"name":"i{i}","paths":[{{"path":"/{i}"}}]}}"#);
    format!("{{\"indexes\":[{}]}}", (0..count).map(one).collect::<Vec<_>>().join(","))
}

#[test]
fn indexes_of_a_collection() {
    let beyond = Settings::from_json(&indexes(INDEXES_MAX + 1));
    assert!(matches!(beyond, Err(SettingsError::TooManyIndexes { .. })), "{beyond:?}");
    let place = Place::new();
    let repository = place.open_only();
    configure(&repository, "notes", &indexes(INDEXES_MAX));
    harness::wait_built(&repository);
    let members: Vec<String> = (0..INDEXES_MAX).map(|i| format!("\"{i}\":{i}")).collect();
    harness::write(&repository, "a", &format!("{{{}}}", members.join(",")));
    for i in 0..INDEXES_MAX {
        let mut view = repository.begin().unwrap();
        let (all, ascending) = (IndexRange::all(), Direction::Ascending);
        let found = view.index_range(&notes(), &format!("i{i}"), &all, ascending, 9);
        assert_eq!(found.unwrap().len(), 1, "i{i}");
    }
    harness::close_and_verify(&place, repository);
}

#[test]
fn rows_of_a_document() {
    let bench = Bench::new();
    let settings = r#"{"indexes":[{"name":"i","paths":[{"path":"","each":true}]}]}"#;
    configure(bench.repository(), "notes", settings);
    for _ in 0..3 {
        bench.reap();
    }
    let mut transaction = bench.repository().begin().unwrap();
    let mut put = |at: &str, text: String| stage(&mut transaction, at, Bytes::from(text));
    // A mark before the text and two characters behind it.
    let text = |bytes: usize| format!("\"{}\"", "x".repeat(bytes - 3));
    put("a", text(INDEX_VALUE_BYTES_MAX)).unwrap();
    let beyond = put("b", text(INDEX_VALUE_BYTES_MAX + 1));
    assert!(matches!(beyond, Err(StageError::Index(_))), "{beyond:?}");
    let list = |count: usize| {
        let all: Vec<String> = (0..count).map(|i| i.to_string()).collect();
        format!("[{}]", all.join(","))
    };
    put("c", list(INDEX_ROWS_MAX)).unwrap();
    let beyond = put("d", list(INDEX_ROWS_MAX + 1));
    assert!(matches!(beyond, Err(StageError::Index(_))), "{beyond:?}");
    must_commit(transaction);
    let mut view = bench.repository().begin().unwrap();
    let found = view.index_range(&notes(), "i", &IndexRange::all(), Direction::Ascending, 10_000);
    assert_eq!(found.unwrap().len(), INDEX_ROWS_MAX + 1);
    drop(view);
    assert_eq!(verified(&bench.stop()), 2);
}

/// A document stands for the rows that it gets and for those of the one in its place. What expires
/// with more rows than the bound leaves in two commits.
#[test]
fn rows_of_a_transaction() {
    let bench = Bench::with_memory(1 << 30);
    let repository = bench.repository();
    configure(
        repository,
        "notes",
        r#"{"indexes":[{"name":"i","paths":[{"path":"","each":true}]}],"expiry":1000}"#,
    );
    (0..3).for_each(|_| bench.reap());
    let values: Vec<String> = (0..INDEX_ROWS_MAX).map(|i| i.to_string()).collect();
    let list = Bytes::from(format!("[{}]", values.join(",")));
    let full = TRANSACTION_ROWS_MAX / INDEX_ROWS_MAX;
    let mut transaction = repository.begin().unwrap();
    for at in 0..full {
        stage(&mut transaction, &at.to_string(), list.clone()).unwrap();
    }
    let beyond = stage(&mut transaction, "beyond", list.clone());
    assert!(matches!(beyond, Err(StageError::TooManyRows)), "{beyond:?}");
    commit(repository, transaction);
    let mut transaction = repository.begin().unwrap();
    for at in 0..full / 2 {
        stage(&mut transaction, &at.to_string(), list.clone()).unwrap();
    }
    let beyond = transaction.delete(&notes(), &key(&(full / 2).to_string()));
    assert!(matches!(beyond, Err(StageError::TooManyRows)), "{beyond:?}");
    drop(transaction);
    for at in ["a", "b"] {
        let mut transaction = repository.begin().unwrap();
        stage(&mut transaction, at, list.clone()).unwrap();
        commit(repository, transaction);
    }
    bench.move_clock(1001);
    let before = repository.stats();
    bench.reap();
    let after = repository.stats();
    assert_eq!(after.commits - before.commits, 2);
    assert_eq!(after.reaped, full as u64 + 2);
}

/// Nobody writes the log here, as if the disk stood still.
#[test]
fn bytes_that_wait_for_the_disk() {
    let bench = Bench::with_memory(1 << 30);
    let mut committed = 0;
    let refused = loop {
        let mut transaction = bench.repository().begin().unwrap();
        stage(&mut transaction, &committed.to_string(), body(DOCUMENT_BYTES_MAX)).unwrap();
        match transaction.commit() {
            Ok(Outcome::Committed(_)) if committed < 1_000 => committed += 1,
            other => break other,
        }
    };
    assert!(matches!(refused, Err(CommitError::Overloaded(_))), "{refused:?}");
    assert_eq!(committed, UNSYNCED_BYTES_MAX / DOCUMENT_BYTES_MAX);
    bench.write_log();
    let mut transaction = bench.repository().begin().unwrap();
    stage(&mut transaction, "again", body(2)).unwrap();
    must_commit(transaction);
    assert_eq!(verified(&bench.stop()), committed as u64 + 1);
}

#[test]
fn written_commits_are_synced_by_themselves() {
    const { assert!(WRITTEN_SYNC_MS > 0) }
    let place = Place::new();
    let repository = place.open_only();
    configure(&repository, "notes", r#"{"durability":"written"}"#);
    let ran = repository.run(|transaction| stage(transaction, "a", body(2))).unwrap();
    repository.wait_durable(ran.wait_for).unwrap();
    // Nobody asks for it.
    wait_until("it is synced", || repository.stats().synced >= ran.wait_for);
}

#[test]
fn tries_before_the_lane() {
    let place = Place::new();
    let repository = place.open_only();
    for losses in [OPTIMISTIC_TRIES - 1, OPTIMISTIC_TRIES] {
        let before = repository.stats().serial_lane;
        let mut tries = 0;
        let ran = repository.run(|transaction| {
            tries += 1;
            get(transaction, "a");
            if tries <= losses {
                harness::write(&repository, "a", &tries.to_string());
            }
            stage(transaction, "b", body(2))
        });
        assert_eq!(ran.unwrap().conflicts, losses);
        let entered = repository.stats().serial_lane - before;
        assert_eq!(entered, u64::from(losses == OPTIMISTIC_TRIES));
    }
}

/// Each try touches another document, which somebody changes before it is reserved.
#[test]
fn tries_in_the_lane() {
    let place = Place::new();
    let repository = place.open_only();
    let mut tries = 0;
    let ran = repository.run(|transaction| {
        tries += 1;
        let at = format!("a{tries}");
        get(transaction, &at);
        let mut other = repository.begin().unwrap();
        put(&mut other, &at, "1");
        let held_back = matches!(other.commit().unwrap(), Outcome::HeldBack);
        assert_eq!(held_back, tries > OPTIMISTIC_TRIES + LANE_TRIES, "try {tries}");
        stage(transaction, "b", body(2))
    });
    assert_eq!(ran.unwrap().conflicts, OPTIMISTIC_TRIES + LANE_TRIES);
}

/// Whoever is held back asks again after a while, even if the lane is never left.
#[test]
fn a_wait_for_the_lane_ends() {
    const { assert!(LANE_WAIT_MAX_MS > 0) }
    let place = Place::new();
    let repository = place.open_only();
    let mut tries = 0;
    let asked = std::sync::atomic::AtomicU32::new(0);
    std::thread::scope(|scope| {
        let ran = repository.run(|transaction| {
            tries += 1;
            get(transaction, "a");
            if tries <= OPTIMISTIC_TRIES {
                harness::write(&repository, "a", "0");
            } else {
                scope.spawn(|| {
                    let ran = repository.run(|transaction| {
                        asked.fetch_add(1, Ordering::Relaxed);
                        stage(transaction, "a", body(9))
                    });
                    ran.unwrap();
                });
                wait_until("it asks again", || asked.load(Ordering::Relaxed) >= 2);
            }
            stage(transaction, "a", body(2))
        });
        assert_eq!(ran.unwrap().conflicts, OPTIMISTIC_TRIES);
    });
    assert_eq!(read(&repository, "a").unwrap().len(), 9, "it came after");
}

#[test]
fn the_smallest_memory() {
    let place = Place { memory_bytes: MEMORY_BYTES_MIN - 1, ..Place::new() };
    let refused = Repository::open(place.options());
    assert!(matches!(refused, Err(OpenError::MemoryTooSmall { .. })));
    let place = Place { memory_bytes: MEMORY_BYTES_MIN, ..place };
    harness::write(&place.open_only(), "a", "1");
}

#[test]
fn segments_of_many_openings() {
    let place = Place::new();
    for opening in 0..SEGMENTS_BEFORE_CHECKPOINT {
        let (repository, recovery) = place.open();
        assert_eq!(recovery.replayed, opening as u64);
        harness::write(&repository, "a", &opening.to_string());
    }
    let (repository, recovery) = place.open();
    assert_eq!(recovery.replayed, SEGMENTS_BEFORE_CHECKPOINT as u64);
    assert_eq!(repository.stats().checkpoint, repository.stats().visible, "written at once");
    drop(repository);
    assert_eq!(place.open().1.replayed, 0);
}

#[test]
fn bytes_of_log_before_a_checkpoint() {
    // With this memory the share of it that may be unwritten is the smaller bound, ten times.
    let memory_bytes = 16 * CHECKPOINT_LOG_BYTES;
    let place = Place { memory_bytes, ..Place::new() };
    let repository = place.open_only();
    let body = body(DOCUMENT_BYTES_MAX);
    let put = || {
        let ran = repository.run(|transaction| stage(transaction, "a", body.clone())).unwrap();
        repository.wait_durable(ran.wait_for).unwrap();
    };
    while repository.stats().tranlog_bytes < CHECKPOINT_LOG_BYTES - 2 * DOCUMENT_BYTES_MAX as u64 {
        put();
    }
    assert_eq!(repository.stats().checkpoint.0, 0);
    (0..3).for_each(|_| put());
    wait_until("a checkpoint is written", || repository.stats().checkpoint.0 > 0);
}

#[test]
fn documents_of_a_range() {
    let bench = Bench::new();
    for part in 0..2 {
        let mut transaction = bench.repository().begin().unwrap();
        for i in 0..RANGE_DOCUMENTS_MAX / 2 + 1 {
            stage(&mut transaction, &format!("{part}{i:05}"), body(2)).unwrap();
        }
        must_commit(transaction);
    }
    let mut view = bench.repository().begin().unwrap();
    let mut count = |limit: usize| {
        view.range(&notes(), &KeyRange::all(), Direction::Ascending, limit).unwrap().len()
    };
    assert_eq!(count(RANGE_DOCUMENTS_MAX), RANGE_DOCUMENTS_MAX);
    assert_eq!(count(usize::MAX), RANGE_DOCUMENTS_MAX, "a larger limit is taken for this one");
}

#[test]
fn documents_that_building_passes_in_one_commit() {
    let bench = Bench::new();
    let repository = bench.repository();
    let mut transaction = repository.begin().unwrap();
    for i in 0..2 * BUILD_DOCUMENTS_MAX + 1 {
        stage(&mut transaction, &i.to_string(), body(2)).unwrap();
    }
    must_commit(transaction);
    configure(repository, "notes", &indexes(1));
    let before = repository.stats().visible.0;
    bench.reap();
    assert_eq!(repository.stats().visible.0 - before, 3 + 1, "and one that says it is built");
}

#[test]
fn the_log_is_told_of_volatile_commits() {
    let place = Place::new();
    let repository = place.open_only();
    configure(&repository, "volatiles", r#"{"durability":"volatile"}"#);
    let put = || {
        let ran = repository.run(|transaction| {
            let (name, at) = (named("volatiles"), key("a"));
            transaction.put(&name, &at, MediaType::Json, body(2), None)
        });
        ran.unwrap().wait_for.0
    };
    let mut number = put();
    place.now.fetch_add(VOLATILE_MARK_MS, Ordering::Relaxed);
    wait_until("a commit of its own says so", || {
        let next = put();
        let is_marked = next > number + 1;
        number = next;
        is_marked
    });
}

#[test]
fn a_closed_repository_begins_nothing() {
    let place = Place::new();
    let repository = place.open_only();
    repository.close().unwrap();
    assert!(matches!(repository.begin(), Err(BeginError::Closed)));
    let ran = repository.run(|transaction| stage(transaction, "a", body(2)));
    assert!(matches!(ran, Err(RunError::Begin(BeginError::Closed))));
}
