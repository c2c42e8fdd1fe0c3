//! Full backups: quiet and under load, cut short, kept and removed.

use crate::harness::random::Random;
use crate::harness::{
    Place, SetAtEnd, commit, configure, key, named, notes, put, wait_built, wait_until, write,
};
use crate::model::*;
use bytes::Bytes;
use repository::limits::BACKUP_FILE_BYTES;
use repository::{
    Added, BackupError, BackupFolderError, BackupKind, BackupOptions, MediaType, OpenError,
    Repository, RestoreError, RestoreGoal, SetKind, Timestamp, list_backups, verify_backups,
};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};

/// A bit of everything.
fn fill(repository: &Repository) {
    configure(
        repository,
        "notes",
        r#"{"indexes":[{"name":"i","paths":[{"path":""}]}],"conflict":"merge"}"#,
    );
    configure(repository, "cache", r#"{"durability":"volatile"}"#);
    configure(repository, "late", r#"{"durability":"written","expiry":5000}"#);
    for i in 0..300 {
        write(repository, &format!("n{i}"), &format!("{i}"));
    }
    let mut transaction = repository.begin().unwrap();
    transaction.delete(&notes(), &key("n7")).unwrap();
    let png = MediaType::Other("image/png".into());
    let bytes = Bytes::from(vec![0xff; 70_000]);
    transaction.put(&named("photos"), &key("ü/1"), png, bytes, Some(Timestamp(9_000_000))).unwrap();
    let body = Bytes::from("true");
    transaction.put(&named("late"), &key("a"), MediaType::Json, body.clone(), None).unwrap();
    transaction.put(&named("cache"), &key("gone"), MediaType::Json, body, None).unwrap();
    commit(repository, transaction);
    wait_built(repository);
}

#[test]
fn what_is_restored_is_what_was_there() {
    let (place, backups) = (Place::new(), tempfile::tempdir().unwrap());
    let repository = place.open_only();
    fill(&repository);
    let report = back_up(&repository, backups.path(), BackupKind::Automatic);
    assert_eq!((report.added, report.commit), (Added::Full, repository.stats().visible));
    let before = everything(&repository);
    write(&repository, "later", "1");
    let (target, copy, restored) = reopened(backups.path(), None);
    assert_eq!((restored.commit, restored.time), (report.commit, report.time));
    assert_eq!(everything(&copy), before);
    // It goes on, under an id of its own.
    assert!(write(&copy, "new", "1") > report.commit.0);
    let refused = copy.back_up(backups.path(), &BackupOptions::default(), &mut go_on).unwrap_err();
    let is_other = matches!(
        &refused,
        BackupError::Folder(BackupFolderError::AnotherRepository { expected, .. })
            if *expected == restored.repository
    );
    assert!(is_other, "{refused}");
    copy.close().unwrap();
    drop(copy);
    assert_eq!(crate::harness::verified(&target), 300);
}

#[test]
fn an_empty_repository_comes_back_empty() {
    let (place, backups) = (Place::new(), tempfile::tempdir().unwrap());
    let repository = place.open_only();
    let report = back_up(&repository, backups.path(), BackupKind::Full);
    assert_eq!((report.commit.0, report.items), (0, 0));
    let (_target, copy, _) = reopened(backups.path(), None);
    assert_eq!(write(&copy, "first", "1"), 1);
}

/// Writers go on during several backups, and checkpoints with them; each backup is one moment.
#[test]
fn a_backup_under_load_is_one_moment() {
    let (place, backups) = (Place::new(), tempfile::tempdir().unwrap());
    let repository = place.open_only();
    write(&repository, "k0", "0");
    let stop = AtomicBool::new(false);
    let mut written = Written::default();
    written.note(1, vec![("k0".to_owned(), Some("0".to_owned()))]);
    let mut reports = Vec::new();
    std::thread::scope(|scope| {
        let _stop = SetAtEnd(&stop);
        let write = |seed| {
            let mut random = Random::new(seed);
            let mut written = Written::default();
            while !stop.load(Ordering::Relaxed) {
                let (number, changes) = change(&repository, &mut random, 400);
                written.note(number, changes);
            }
            written
        };
        let writers: Vec<_> = (0..3).map(|seed| scope.spawn(move || write(seed))).collect();
        for _ in 0..4 {
            let seen = repository.stats().visible;
            wait_until("commits go on", || repository.stats().visible.0 > seen.0 + 50);
            let report = back_up(&repository, backups.path(), BackupKind::Full);
            assert!(report.commit > seen);
            reports.push(report);
        }
        stop.store(true, Ordering::Relaxed);
        writers.into_iter().for_each(|writer| written.extend(writer.join().unwrap()));
    });
    for report in reports {
        let (_target, copy, restored) =
            reopened(backups.path(), Some(RestoreGoal::Commit(report.commit)));
        assert_eq!((restored.commit, restored.commits), (report.commit, 0));
        assert_eq!(found(&copy), written.at(report.commit.0));
    }
}

#[test]
fn what_was_cut_short_is_cleaned_up_by_the_next() {
    let (place, backups) = (Place::new(), tempfile::tempdir().unwrap());
    let repository = place.open_only();
    write(&repository, "a", "1");
    let first = back_up(&repository, backups.path(), BackupKind::Full);
    write(&repository, "b", "2");
    let options = BackupOptions { kind: BackupKind::Full, keep: None };
    let stopped =
        repository.back_up(backups.path(), &options, &mut |_| ControlFlow::Break(())).unwrap_err();
    assert!(matches!(stopped, BackupError::Stopped), "{stopped}");
    let listing = list_backups(backups.path()).unwrap();
    assert_eq!((listing.sets.len(), listing.unfinished.len()), (1, 1));
    assert_eq!(listing.reachable, Some(first.commit));
    let (_target, copy, _) = reopened(backups.path(), None);
    assert_eq!(found(&copy).len(), 1);
    let report = back_up(&repository, backups.path(), BackupKind::Full);
    assert_eq!(report.cleaned, listing.unfinished);
    let listing = verify_backups(backups.path()).unwrap();
    assert_eq!((listing.sets.len(), listing.unfinished.len()), (2, 0));
    assert_eq!((listing.reachable, listing.findings.len()), (Some(report.commit), 0));
}

#[test]
fn a_restore_that_was_cut_short_holds_nothing_and_starts_over() {
    let (place, backups) = (Place::new(), tempfile::tempdir().unwrap());
    let repository = place.open_only();
    fill(&repository);
    back_up(&repository, backups.path(), BackupKind::Full);
    let target = Place::new();
    let source = || repository::BackupSource::Folder(backups.path().to_owned());
    let stop = &mut |_: &repository::Progress| ControlFlow::Break(());
    let stopped = repository::restore(source(), &options(&target, None), stop).unwrap_err();
    assert!(matches!(stopped, RestoreError::Stopped), "{stopped}");
    let refused = Repository::open(target.options()).map(drop).unwrap_err();
    assert!(refused.to_string().contains("was not finished"), "{refused}");
    repository::restore(source(), &options(&target, None), &mut go_on).unwrap();
    assert_eq!(everything(&target.open_only()), everything(&repository));
    let again = repository::restore(source(), &options(&target, None), &mut go_on).unwrap_err();
    let is_refused = matches!(again, RestoreError::Folder(OpenError::NotARepository { .. }));
    assert!(is_refused, "it holds a repository now: {again}");
}

#[test]
fn old_sets_go_and_the_last_never_does() {
    let (place, backups) = (Place::new(), tempfile::tempdir().unwrap());
    let repository = place.open_only();
    let mut numbers = Vec::new();
    for i in 0..4 {
        numbers.push(write(&repository, &format!("{i}"), "1"));
        let options = BackupOptions { kind: BackupKind::Full, keep: Some(2) };
        let report = repository.back_up(backups.path(), &options, &mut go_on).unwrap();
        assert_eq!(report.removed.len(), usize::from(i >= 2));
    }
    let sets = list_backups(backups.path()).unwrap().sets;
    assert_eq!(sets.iter().map(|set| set.to.0).collect::<Vec<_>>(), numbers[2..]);
    assert!(sets.iter().all(|set| set.kind == SetKind::Full));
    let options = BackupOptions { kind: BackupKind::Full, keep: Some(0) };
    let report = repository.back_up(backups.path(), &options, &mut go_on).unwrap();
    assert_eq!((report.added, report.removed.len()), (Added::Nothing, 1));
    assert_eq!(list_backups(backups.path()).unwrap().sets.len(), 1);
    let early = restored(
        backups.path(),
        &Place::new(),
        Some(RestoreGoal::Commit(repository::CommitNumber(numbers[0]))),
    );
    let text = early.unwrap_err().to_string();
    assert!(text.contains(&format!("the earliest is commit {}", numbers[3])), "{text}");
}

/// More than one file holds, and than a restore keeps in memory.
#[test]
fn files_are_bounded() {
    let place = Place { memory_bytes: 256 << 20, ..Place::new() };
    let backups = tempfile::tempdir().unwrap();
    let repository = place.open_only();
    let body = format!("\"{}\"", "x".repeat(1 << 20));
    for i in 0..40 {
        let mut transaction = repository.begin().unwrap();
        put(&mut transaction, &format!("{i:02}"), &body);
        commit(&repository, transaction);
    }
    let report = back_up(&repository, backups.path(), BackupKind::Full);
    let files = std::fs::read_dir(backups.path().join(&report.set)).unwrap();
    let sizes: Vec<u64> = files.map(|file| file.unwrap().metadata().unwrap().len()).collect();
    assert_eq!(sizes.len(), 4, "three files and the manifest");
    assert!(sizes.iter().all(|size| *size < BACKUP_FILE_BYTES as u64 + (2 << 20)), "{sizes:?}");
    let (_target, copy, _) = reopened(backups.path(), None);
    assert_eq!(everything(&copy), everything(&repository));
}

#[test]
fn a_folder_of_something_else_is_left_alone() {
    let (place, backups) = (Place::new(), tempfile::tempdir().unwrap());
    let repository = place.open_only();
    std::fs::write(backups.path().join("letter.txt"), "dear").unwrap();
    let refused = repository.back_up(backups.path(), &BackupOptions::default(), &mut go_on);
    let refused = refused.unwrap_err().to_string();
    assert!(refused.contains("letter.txt"), "{refused}");
    let target = Place::new();
    let missing = restored(backups.path(), &target, None).unwrap_err().to_string();
    assert!(missing.contains("no file named backup"), "{missing}");
    std::fs::write(target.path().join("letter.txt"), "dear").unwrap();
    let backups = tempfile::tempdir().unwrap();
    back_up(&repository, backups.path(), BackupKind::Full);
    let refused = restored(backups.path(), &target, None).unwrap_err().to_string();
    assert!(refused.contains("letter.txt"), "{refused}");
}
