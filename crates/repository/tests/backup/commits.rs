//! Commits added to a full backup, one set after the other or by the archive, and restores to any
//! of them.

use crate::harness::random::Random;
use crate::harness::{Place, verified, wait_until, write};
use crate::model::*;
use repository::limits::ARCHIVE_WRITE_MS;
use repository::{
    Added, Archive, ArchiveError, BackupError, BackupKind, BackupOptions, CommitNumber, Repository,
    RestoreError, RestoreGoal, Timestamp, list_backups, verify_backups,
};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

const HOLD_BYTES: u64 = 1 << 30;

/// Commits so many, each at a time of its own.
fn commits(place: &Place, repository: &Repository, random: &mut Random, count: usize) -> Written {
    let mut written = Written::default();
    for _ in 0..count {
        place.now.fetch_add(10, Ordering::Relaxed);
        let (number, changes) = change(repository, random, 30);
        written.note(number, changes);
    }
    written
}

fn at(number: u64) -> Option<RestoreGoal> {
    Some(RestoreGoal::Commit(CommitNumber(number)))
}

/// Restores to some of the commits and compares.
fn compare(backups: &Path, written: &Written, numbers: &[u64]) {
    for &number in numbers {
        let (_target, copy, restored) = reopened(backups, at(number));
        assert!(restored.commit.0 <= number);
        assert_eq!(found(&copy), written.at(number), "commit {number}");
    }
}

fn archived(repository: &Repository) {
    let last = repository.stats().visible;
    wait_until("everything is archived", || repository.archive().unwrap().archived >= last);
}

#[test]
fn any_commit_and_any_time_can_be_restored() {
    let (place, backups) = (Place::new(), tempfile::tempdir().unwrap());
    let repository = place.open_only();
    let mut random = Random::new(5);
    let mut written = commits(&place, &repository, &mut random, 20);
    assert_eq!(back_up(&repository, backups.path(), BackupKind::Automatic).added, Added::Full);
    for round in 0..4 {
        written.extend(commits(&place, &repository, &mut random, 25));
        if round == 1 {
            repository.checkpoint().unwrap();
        }
        let report = back_up(&repository, backups.path(), BackupKind::Automatic);
        assert_eq!(report.added, Added::Commits);
        assert!(report.items >= 25, "{report:?}");
    }
    let report = back_up(&repository, backups.path(), BackupKind::Commits);
    assert_eq!(report.added, Added::Nothing);
    assert!(verify_backups(backups.path()).unwrap().findings.is_empty());
    let numbers: Vec<u64> = written.numbers();
    compare(backups.path(), &written, &[20, 21, 45, 46, 70, numbers[99], numbers[119]]);
    let (_target, copy, restored) = reopened(backups.path(), None);
    assert_eq!(restored.commit, report.commit);
    assert_eq!(everything(&copy), everything(&repository));
    // Commit n was made at 1,000,000 + 10 n.
    for (ms, expected) in [(1_000_200, 20), (1_000_209, 20), (1_000_500, 50), (1_000_999, 99)] {
        let (_target, copy, restored) =
            reopened(backups.path(), Some(RestoreGoal::Time(Timestamp(ms))));
        assert_eq!(restored.commit.0, expected);
        assert_eq!(found(&copy), written.at(expected));
    }
    let beyond = restored_error(backups.path(), at(report.commit.0 + 1));
    assert!(matches!(beyond, RestoreError::Beyond { .. }), "{beyond}");
    let before = restored_error(backups.path(), Some(RestoreGoal::Time(Timestamp(1_000_199))));
    assert!(before.to_string().contains("the earliest is commit 20"), "{before}");
}

fn restored_error(backups: &Path, goal: Option<RestoreGoal>) -> RestoreError {
    let place = Place::new();
    let error = restored(backups, &place, goal).map(drop).unwrap_err();
    assert!(!place.path().join("format").exists());
    error
}

#[test]
fn a_gap_is_named() {
    let (place, backups) = (Place::new(), tempfile::tempdir().unwrap());
    let repository = place.open_only();
    let mut random = Random::new(6);
    commits(&place, &repository, &mut random, 5);
    back_up(&repository, backups.path(), BackupKind::Full);
    let mut sets = Vec::new();
    for _ in 0..3 {
        commits(&place, &repository, &mut random, 5);
        sets.push(back_up(&repository, backups.path(), BackupKind::Commits).set);
    }
    std::fs::remove_dir_all(backups.path().join(&sets[1])).unwrap();
    for goal in [None, at(18), at(11), Some(RestoreGoal::Time(Timestamp(1_000_180)))] {
        let error = restored_error(backups.path(), goal);
        let RestoreError::Gap { first, last, reachable } = error else { panic!("{error}") };
        assert_eq!((first.0, last.0, reachable.0), (11, 15, 10), "{goal:?}");
    }
    assert_eq!(restored(backups.path(), &Place::new(), at(10)).unwrap().commit.0, 10);
    let listing = list_backups(backups.path()).unwrap();
    assert_eq!((listing.reachable, listing.findings.len()), (None, 1));
    // A full one closes it.
    back_up(&repository, backups.path(), BackupKind::Full);
    assert_eq!(restored(backups.path(), &Place::new(), None).unwrap().commit.0, 20);
}

#[test]
fn commits_need_something_before_them() {
    let (place, backups) = (Place::new(), tempfile::tempdir().unwrap());
    let repository = place.open_only();
    write(&repository, "a", "1");
    let options = BackupOptions { kind: BackupKind::Commits, keep: None };
    let refused = repository.back_up(backups.path(), &options, &mut go_on).unwrap_err();
    assert!(matches!(refused, BackupError::NothingBefore(_)), "{refused}");
}

/// A data folder that was put back by other means has another future.
#[test]
fn a_folder_that_is_ahead_is_refused() {
    let (place, backups) = (Place::new(), tempfile::tempdir().unwrap());
    let repository = place.open_only();
    write(&repository, "a", "1");
    repository.close().unwrap();
    drop(repository);
    let old = Place::new();
    let copied = std::process::Command::new("cp")
        .args(["-r", "--", &format!("{}/.", place.path().display())])
        .arg(old.path())
        .status();
    assert!(copied.unwrap().success());
    let repository = place.open_only();
    write(&repository, "b", "1");
    back_up(&repository, backups.path(), BackupKind::Full);
    let mut archive = Archive::start(&repository, backups.path(), HOLD_BYTES).unwrap();
    archived(&repository);
    archive.stop();
    let old = old.open_only();
    for kind in [BackupKind::Automatic, BackupKind::Full, BackupKind::Commits] {
        let options = BackupOptions { kind, keep: None };
        let refused = old.back_up(backups.path(), &options, &mut go_on).unwrap_err();
        assert!(matches!(refused, BackupError::Ahead { .. }), "{refused}");
    }
    let refused = Archive::start(&old, backups.path(), HOLD_BYTES).map(drop).unwrap_err();
    assert!(matches!(refused, ArchiveError::Ahead { .. }), "{refused}");
}

/// The archive goes on over restarts, and with a full backup leads to every commit.
#[test]
fn the_archive_leads_to_every_commit() {
    let (place, backups) = (Place::new(), tempfile::tempdir().unwrap());
    let mut random = Random::new(7);
    let mut written = Written::default();
    let mut last = 0;
    for round in 0..3 {
        let repository = place.open_only();
        let mut archive = Archive::start(&repository, backups.path(), HOLD_BYTES).unwrap();
        written.extend(commits(&place, &repository, &mut random, 20));
        if round == 1 {
            back_up(&repository, backups.path(), BackupKind::Full);
            written.extend(commits(&place, &repository, &mut random, 10));
        }
        last = repository.stats().visible.0;
        archived(&repository);
        archive.stop();
        drop(archive);
        if round == 0 {
            repository.close().unwrap();
        }
    }
    assert_eq!(Archive::position(backups.path()).unwrap(), Some(CommitNumber(last)));
    let listing = verify_backups(backups.path()).unwrap();
    assert_eq!(listing.archive, Some((CommitNumber(0), CommitNumber(last))));
    assert_eq!(listing.findings, Vec::<String>::new());
    // Before the full set, too: the archive begins with the first commit.
    let numbers = written.numbers();
    compare(backups.path(), &written, &[1, 7, 20, 21, 41, 45, numbers[60], last]);
    let (target, copy, _) = reopened(backups.path(), None);
    drop(copy);
    verified(&target);
    // In a folder of its own, and named beside a stream.
    let repository = place.open_only();
    let mut tar = Vec::new();
    repository.back_up_to_tar(&mut tar, &mut go_on).unwrap();
    let mut archive = Archive::start(&repository, backups.path(), HOLD_BYTES).unwrap();
    written.extend(commits(&place, &repository, &mut random, 5));
    archived(&repository);
    archive.stop();
    let target = Place::new();
    let mut options = options(&target, None);
    options.archive = Some(backups.path().to_owned());
    let source = repository::BackupSource::Tar(&mut &tar[..]);
    repository::restore(source, &options, &mut go_on).unwrap();
    assert_eq!(everything(&target.open_only()), everything(&repository));
}

/// Whatever a crash leaves of the last file, what is archived next follows it.
#[test]
fn a_torn_end_of_the_archive_is_gone_on_from() {
    let (place, backups) = (Place::new(), tempfile::tempdir().unwrap());
    let repository = place.open_only();
    let mut random = Random::new(8);
    let mut archive = Archive::start(&repository, backups.path(), HOLD_BYTES).unwrap();
    let mut written = commits(&place, &repository, &mut random, 8);
    archived(&repository);
    archive.stop();
    let file =
        std::fs::read_dir(backups.path().join("archive")).unwrap().map(|e| e.unwrap().path());
    let file = file.filter(|path| !path.ends_with("lock")).max().unwrap();
    let content = std::fs::read(&file).unwrap();
    for cut in [0, 10, 64, 100, content.len() - 1] {
        std::fs::write(&file, &content[..cut]).unwrap();
        let mut archive = Archive::start(&repository, backups.path(), HOLD_BYTES).unwrap();
        written.extend(commits(&place, &repository, &mut random, 3));
        archived(&repository);
        archive.stop();
        let last = repository.stats().visible.0;
        compare(backups.path(), &written, &[1, 8, last]);
    }
    // What is damaged in the middle is missing, and nothing goes on from there.
    let mut damaged = std::fs::read(&file).unwrap();
    damaged[70] ^= 1;
    std::fs::write(&file, damaged).unwrap();
    let error = restored_error(backups.path(), None);
    assert!(error.to_string().contains("commits"), "{error}");
    assert!(!verify_backups(backups.path()).unwrap().findings.is_empty());
}

/// What the loss of everything but the archive costs.
#[test]
fn records_wait_for_the_archive_no_longer_than_they_may() {
    let (place, backups) = (Place::new(), tempfile::tempdir().unwrap());
    let repository: Arc<Repository> = place.open_only();
    let _archive = Archive::start(&repository, backups.path(), HOLD_BYTES).unwrap();
    const { assert!(ARCHIVE_WRITE_MS < 1_000) };
    for i in 0..3 {
        let number = write(&repository, "a", &i.to_string());
        // No commit follows that could wake it.
        wait_until("it is archived", || repository.archive().unwrap().archived.0 >= number);
        assert_eq!(repository.archive().unwrap().failure, None);
    }
}

/// The archive's folder is gone, and comes back.
#[test]
fn an_archive_that_fails_goes_on_by_itself() {
    let (place, backups) = (Place::new(), tempfile::tempdir().unwrap());
    let repository = place.open_only();
    let _archive = Archive::start(&repository, backups.path(), HOLD_BYTES).unwrap();
    let folder = backups.path().join("archive");
    let away = backups.path().join("away");
    std::fs::rename(&folder, &away).unwrap();
    std::fs::write(&folder, "in the way").unwrap();
    let number = write(&repository, "a", "1");
    wait_until("it has failed", || repository.archive().unwrap().failure.is_some());
    assert!(repository.archive().unwrap().archived.0 < number);
    std::fs::remove_file(&folder).unwrap();
    std::fs::rename(&away, &folder).unwrap();
    wait_until("it goes on", || repository.archive().unwrap().archived.0 >= number);
    assert_eq!(repository.archive().unwrap().failure, None);
    assert_eq!(restored(backups.path(), &Place::new(), None).unwrap().commit.0, number);
}
