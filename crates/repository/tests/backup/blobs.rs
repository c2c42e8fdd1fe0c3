//! Large content: each once in a folder of backups, there for every commit that can be restored,
//! gone when nothing names it; damage and absence are named.

use crate::harness::bench::Bench;
use crate::harness::{
    Place, close_and_verify, commit, configure, key, named, notes, wait_until, write,
};
use crate::model::*;
use repository::limits::{BLOB_KEPT_MS, DOCUMENT_INLINE_BYTES_MAX};
use repository::{
    Archive, BackupError, BackupKind, BackupOptions, BackupSource, BlobHash, CommitNumber, Content,
    Hold, MediaType, Moment, Past, Repository, RestoreError, RestoreGoal, list_backups, restore,
    verify_backups,
};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// More than stays in a document, and more than a chunk.
const BYTES: usize = 300_000;
const HOLD_BYTES: u64 = 1 << 30;

fn bytes(seed: u8) -> Vec<u8> {
    (0..BYTES).map(|i| (i as u8) ^ (i >> 8) as u8 ^ seed).collect()
}

fn hash(seed: u8) -> BlobHash {
    BlobHash::of(&bytes(seed))
}

/// Where a blob is in a folder of backups, or of a repository.
fn path(folder: &Path, seed: u8) -> PathBuf {
    folder.join(hash(seed).path())
}

fn put(repository: &Repository, at: &str, seed: u8) -> u64 {
    let mut writer = repository.blob_writer(u64::MAX);
    bytes(seed).chunks(10_000).for_each(|piece| writer.write(piece).unwrap());
    let content = writer.finish().unwrap();
    assert!(matches!(content, Content::Blob(_)));
    let mut transaction = repository.begin().unwrap();
    let png = MediaType::Other("image/png".into());
    transaction.put_content(&notes(), &key(at), png, &content, None).unwrap();
    commit(repository, transaction)
}

fn delete(repository: &Repository, at: &str) -> u64 {
    let mut transaction = repository.begin().unwrap();
    transaction.delete(&notes(), &key(at)).unwrap();
    commit(repository, transaction)
}

/// The seeds of the documents' contents, all of which are read.
fn seeds(repository: &Repository) -> BTreeMap<String, u8> {
    let mut transaction = repository.begin().unwrap();
    let mut found = BTreeMap::new();
    for at in ["a", "b", "c", "d"] {
        let Some(document) = transaction.get(&notes(), &key(at)).unwrap() else { continue };
        let reader = transaction.pin_blob(&document).unwrap().unwrap().open().unwrap();
        let mut all = Vec::new();
        while all.len() < BYTES {
            all.extend_from_slice(&reader.read(all.len() as u64).unwrap());
        }
        assert_eq!(all, bytes(all[0]), "{at}");
        found.insert(at.to_owned(), all[0]);
    }
    found
}

fn of(pairs: &[(&str, u8)]) -> BTreeMap<String, u8> {
    pairs.iter().map(|(at, seed)| ((*at).to_owned(), *seed)).collect()
}

fn goal(number: u64) -> Option<RestoreGoal> {
    Some(RestoreGoal::Commit(CommitNumber(number)))
}

fn restored_seeds(backups: &Path, number: u64) -> BTreeMap<String, u8> {
    let (_target, copy, restored) = reopened(backups, goal(number));
    assert_eq!(restored.blob_bytes, restored.blobs * BYTES as u64);
    seeds(&copy)
}

fn findings(backups: &Path) -> Vec<String> {
    verify_backups(backups).unwrap().findings
}

/// So many files, each with just what its name says, in all of `blobs`.
fn blob_files(folder: &Path) -> usize {
    let folders = std::fs::read_dir(folder.join("blobs")).into_iter().flatten();
    let files = folders.flat_map(|folder| std::fs::read_dir(folder.unwrap().path()).unwrap());
    files.count()
}

#[test]
fn each_is_copied_once_and_comes_back() {
    let (place, backups) = (Place::new(), tempfile::tempdir().unwrap());
    let repository = place.open_only();
    put(&repository, "a", 1);
    put(&repository, "b", 2);
    put(&repository, "c", 1);
    write(&repository, "small", "1");
    let report = back_up(&repository, backups.path(), BackupKind::Full);
    assert_eq!((report.blobs, report.blob_bytes), (2, 2 * BYTES as u64));
    put(&repository, "d", 3);
    let again = back_up(&repository, backups.path(), BackupKind::Full);
    assert_eq!((again.blobs, again.blob_bytes), (1, BYTES as u64), "only the new one");
    let listing = list_backups(backups.path()).unwrap();
    assert_eq!((listing.blobs, listing.blob_bytes), (3, 3 * BYTES as u64));
    assert_eq!(listing.sets.iter().map(|set| set.blobs).collect::<Vec<_>>(), [2, 1]);
    assert_eq!(findings(backups.path()), Vec::<String>::new());
    let (target, copy, restored) =
        reopened(backups.path(), Some(RestoreGoal::Commit(report.commit)));
    assert_eq!((restored.blobs, restored.blob_bytes), (2, 2 * BYTES as u64));
    assert_eq!(seeds(&copy), of(&[("a", 1), ("b", 2), ("c", 1)]));
    assert_eq!(blob_files(target.path()), 2, "and an empty folder of what comes");
    let (target, copy, _) = reopened(backups.path(), None);
    assert_eq!(everything(&copy), everything(&repository));
    assert_eq!(seeds(&copy), seeds(&repository));
    // It goes when its last name does, as in the original.
    delete(&copy, "b");
    close_and_verify(&target, copy);
}

#[test]
fn commits_bring_theirs_and_any_of_them_can_be_restored() {
    let backups = tempfile::tempdir().unwrap();
    let bench = Bench::retaining(1 << 20);
    let repository = bench.repository();
    let mut states = Vec::new();
    let mut note = |number: u64| states.push((number, seeds(repository)));
    note(put(repository, "a", 1));
    back_up(repository, backups.path(), BackupKind::Full);
    // One that comes and goes between two sets, one that is replaced, one that is there already.
    note(put(repository, "b", 2));
    note(delete(repository, "b"));
    note(put(repository, "a", 3));
    note(put(repository, "c", 1));
    (0..9).for_each(|_| bench.tend_blobs());
    assert_eq!(repository.blob_stats().count, 3, "that of the log stays with it");
    let report = back_up(repository, backups.path(), BackupKind::Commits);
    assert_eq!((report.blobs, report.items), (2, 4));
    note(delete(repository, "c"));
    note(put(repository, "d", 4));
    bench.checkpoint().unwrap();
    let report = back_up(repository, backups.path(), BackupKind::Automatic);
    assert_eq!((report.added, report.blobs), (repository::Added::Commits, 1));
    for (number, expected) in &states {
        assert_eq!(restored_seeds(backups.path(), *number), *expected, "commit {number}");
    }
    assert_eq!(findings(backups.path()), Vec::<String>::new());
}

/// What the log was not kept for is not there, and only what names it cannot be restored.
#[test]
fn one_that_went_before_it_could_be_copied() {
    let backups = tempfile::tempdir().unwrap();
    let bench = Bench::new();
    let repository = bench.repository();
    put(repository, "a", 1);
    back_up(repository, backups.path(), BackupKind::Full);
    let first = put(repository, "b", 2);
    let second = put(repository, "c", 3);
    let last = delete(repository, "b");
    (0..9).for_each(|_| bench.tend_blobs());
    assert_eq!(repository.blob_stats().count, 2);
    let report = back_up(repository, backups.path(), BackupKind::Commits);
    assert_eq!((report.commit.0, report.blobs), (last, 1));
    let listing = verify_backups(backups.path()).unwrap();
    assert_eq!((listing.blobs, listing.blobs_gone, listing.findings.len()), (2, 1, 0));
    assert_eq!(restored_seeds(backups.path(), last), of(&[("a", 1), ("c", 3)]));
    for number in [first, second] {
        let target = Place::new();
        let error = restored(backups.path(), &target, goal(number)).unwrap_err();
        assert!(matches!(&error, RestoreError::Blob { document, .. } if document == "notes/b"));
        let said = error.to_string();
        assert!(said.contains(&hash(2).to_string()) && said.contains("it was removed"), "{said}");
        assert!(!target.path().join("format").exists());
    }
    // It comes again, and with it everything can be restored.
    put(repository, "d", 2);
    back_up(repository, backups.path(), BackupKind::Commits);
    assert_eq!(list_backups(backups.path()).unwrap().blobs_gone, 0);
    assert_eq!(restored_seeds(backups.path(), second), of(&[("a", 1), ("b", 2), ("c", 3)]));
}

#[test]
fn a_blob_stays_as_long_as_the_log_and_no_longer() {
    let mut bench = Bench::retaining(2 * BYTES as u64);
    let count = |bench: &Bench| {
        (0..9).for_each(|_| bench.tend_blobs());
        bench.repository().blob_stats().count
    };
    for seed in 1..=3 {
        put(bench.repository(), "a", seed);
    }
    delete(bench.repository(), "a");
    assert_eq!(count(&bench), 2, "there is room for two, and the first goes first");
    assert!(!path(bench.place.path(), 1).exists());
    // Somebody holds the log: that is room as well, for as long as it lasts.
    let hold = Hold { after: CommitNumber(0), bytes_max: 4 * BYTES as u64 };
    let held = bench.repository().hold_log(hold);
    put(bench.repository(), "a", 4);
    delete(bench.repository(), "a");
    assert_eq!(count(&bench), 3);
    bench.move_clock(BLOB_KEPT_MS);
    assert_eq!(count(&bench), 3);
    held.advance(bench.repository().visible());
    assert_eq!(count(&bench), 0);
    drop(held);
    // Over an opening it is not known what the log names.
    put(bench.repository(), "a", 5);
    delete(bench.repository(), "a");
    bench.crash(true);
    bench.sweep_blobs().unwrap();
    assert_eq!(count(&bench), 1);
    bench.move_clock(BLOB_KEPT_MS);
    assert_eq!(count(&bench), 0);
    // What is named again is not one of these.
    put(bench.repository(), "a", 6);
    delete(bench.repository(), "a");
    assert_eq!(count(&bench), 1);
    put(bench.repository(), "b", 6);
    bench.move_clock(BLOB_KEPT_MS);
    assert_eq!(count(&bench), 1);
    assert_eq!(seeds(bench.repository()), of(&[("b", 6)]));
}

fn archived(repository: &Repository) {
    let last = repository.stats().visible;
    wait_until("everything is archived", || repository.archive().unwrap().archived >= last);
}

#[test]
fn the_archive_has_them_before_the_commits() {
    let (place, backups) = (Place::new(), tempfile::tempdir().unwrap());
    // Nothing is kept but what the archive holds.
    let mut states = Vec::new();
    for round in 0..2 {
        let repository = place.open_retaining_nothing();
        let mut archive = Archive::start(&repository, backups.path(), HOLD_BYTES).unwrap();
        for seed in 1..=3 {
            let at = if seed == 2 { "a" } else { "b" };
            states.push((put(&repository, at, 10 * round + seed), seeds(&repository)));
            states.push((delete(&repository, at), seeds(&repository)));
        }
        states.push((put(&repository, "c", 10 * round), seeds(&repository)));
        archived(&repository);
        archive.stop();
        assert_eq!(repository.archive().unwrap().failure, None);
        drop(archive);
        repository.close().unwrap();
    }
    assert_eq!(findings(backups.path()), Vec::<String>::new());
    assert_eq!(list_backups(backups.path()).unwrap().blobs, 8);
    for (number, expected) in &states {
        assert_eq!(restored_seeds(backups.path(), *number), *expected, "commit {number}");
    }
}

#[test]
fn a_stream_has_them_and_an_archive_what_comes_after_it() {
    let (place, backups) = (Place::new(), tempfile::tempdir().unwrap());
    let repository = place.open_only();
    put(&repository, "a", 1);
    put(&repository, "b", 2);
    put(&repository, "c", 2);
    let mut tar = Vec::new();
    let report = repository.back_up_to_tar(&mut tar, &mut go_on).unwrap();
    assert_eq!((report.blobs, report.blob_bytes), (2, 2 * BYTES as u64));
    let from = |bytes: &[u8], options: &_| {
        restore(BackupSource::Tar(&mut &bytes[..]), options, &mut go_on)
    };
    let target = Place::new();
    let restored = from(&tar, &options(&target, None)).unwrap();
    assert_eq!(restored.blobs, 2);
    let copy = target.open_only();
    assert_eq!((everything(&copy), seeds(&copy)), (everything(&repository), seeds(&repository)));
    // Unpacked.
    let folder = tempfile::tempdir().unwrap();
    let mut program = std::process::Command::new("tar");
    let program = program.arg("xf").arg("-").arg("-C").arg(folder.path());
    let mut unpacking = program.stdin(std::process::Stdio::piped()).spawn().unwrap();
    std::io::Write::write_all(&mut unpacking.stdin.take().unwrap(), &tar).unwrap();
    assert!(unpacking.wait().unwrap().success());
    assert_eq!(findings(folder.path()), Vec::<String>::new());
    let (_target, copy, _) = reopened(folder.path(), None);
    assert_eq!(seeds(&copy), seeds(&repository));
    // Cut off and damaged.
    for length in (0..tar.len() - 1024).step_by(40_009) {
        assert!(from(&tar[..length], &options(&Place::new(), None)).is_err(), "{length} bytes");
    }
    let content = bytes(2);
    let at = tar.windows(BYTES).position(|part| *part == content).unwrap();
    let mut damaged = tar.clone();
    damaged[at + 200_000] ^= 1;
    let error = from(&damaged, &options(&Place::new(), None)).unwrap_err().to_string();
    assert!(error.starts_with("notes/b cannot be restored: the blob "), "{error}");
    assert!(error.contains(&format!("{} is damaged: its content", hash(2))), "{error}");
    // With an archive beside it.
    let mut archive = Archive::start(&repository, backups.path(), HOLD_BYTES).unwrap();
    put(&repository, "d", 4);
    delete(&repository, "a");
    archived(&repository);
    archive.stop();
    let target = Place::new();
    let options = repository::RestoreOptions {
        archive: Some(backups.path().to_owned()),
        ..options(&target, None)
    };
    assert_eq!(from(&tar, &options).unwrap().blobs, 2);
    assert_eq!(seeds(&target.open_only()), of(&[("b", 2), ("c", 2), ("d", 4)]));
}

#[test]
fn damage_and_absence_are_named() {
    let (place, backups) = (Place::new(), tempfile::tempdir().unwrap());
    let repository = place.open_only();
    put(&repository, "a", 1);
    let before = back_up(&repository, backups.path(), BackupKind::Full).commit;
    put(&repository, "b", 2);
    back_up(&repository, backups.path(), BackupKind::Commits);
    let file = path(backups.path(), 2);
    let whole = std::fs::read(&file).unwrap();
    for what in 0..6 {
        match what {
            0 => std::fs::remove_file(&file).unwrap(),
            1 => std::fs::write(&file, &whole[..BYTES / 2]).unwrap(),
            2 => std::fs::write(&file, [&whole[..], b"x"].concat()).unwrap(),
            // All of another one, and so whole in itself.
            3 => drop(std::fs::copy(path(backups.path(), 1), &file).unwrap()),
            at => {
                let mut damaged = whole.clone();
                damaged[(at - 4) * (BYTES + 4)] ^= 1;
                std::fs::write(&file, damaged).unwrap();
            }
        }
        let target = Place::new();
        let error = restored(backups.path(), &target, None).unwrap_err().to_string();
        assert!(error.starts_with("notes/b cannot be restored: the blob "), "{what}: {error}");
        assert!(error.contains(&hash(2).to_string()), "{what}: {error}");
        assert!(!target.path().join("format").exists());
        let found = findings(backups.path());
        assert!(found.len() == 1 && found[0].contains(&hash(2).to_string()), "{what}: {found:?}");
        assert_eq!(restored_seeds(backups.path(), before.0), of(&[("a", 1)]), "it is not needed");
    }
    // Where it is missing, the next full backup brings it.
    std::fs::remove_file(&file).unwrap();
    back_up(&repository, backups.path(), BackupKind::Full);
    assert_eq!(findings(backups.path()), Vec::<String>::new());
}

#[test]
fn a_damaged_blob_of_the_repository_is_not_backed_up_in_silence() {
    let (place, backups) = (Place::new(), tempfile::tempdir().unwrap());
    let repository = place.open_only();
    put(&repository, "a", 1);
    let file = path(place.path(), 1);
    let mut content = std::fs::read(&file).unwrap();
    content[7] ^= 1;
    std::fs::write(&file, content).unwrap();
    let options = BackupOptions::default();
    let error = repository.back_up(backups.path(), &options, &mut go_on).unwrap_err();
    assert!(
        matches!(&error, BackupError::Blob { document, .. } if document == "notes/a"),
        "{error}"
    );
    assert!(repository.back_up_to_tar(&mut Vec::new(), &mut go_on).is_err());
    // Commits that name it can be backed up once nothing does any more.
    put(&repository, "a", 2);
    back_up(&repository, backups.path(), BackupKind::Full);
    let (_target, copy, _) = reopened(backups.path(), None);
    assert_eq!(seeds(&copy), of(&[("a", 2)]));
}

#[test]
fn what_no_set_and_no_archived_commit_names_goes() {
    let (place, backups) = (Place::new(), tempfile::tempdir().unwrap());
    let repository = place.open_only();
    let full = BackupOptions { kind: BackupKind::Full, keep: Some(1) };
    put(&repository, "a", 1);
    put(&repository, "b", 2);
    repository.back_up(backups.path(), &full, &mut go_on).unwrap();
    put(&repository, "a", 3);
    back_up(&repository, backups.path(), BackupKind::Commits);
    delete(&repository, "b");
    assert_eq!(list_backups(backups.path()).unwrap().blobs, 3);
    let report = repository.back_up(backups.path(), &full, &mut go_on).unwrap();
    assert_eq!((report.removed.len(), report.blobs), (2, 0));
    assert_eq!(list_backups(backups.path()).unwrap().blobs, 1);
    assert!(path(backups.path(), 3).exists());
    // What only the archive names stays with it.
    let mut archive = Archive::start(&repository, backups.path(), HOLD_BYTES).unwrap();
    let number = put(&repository, "d", 4);
    delete(&repository, "d");
    archived(&repository);
    let report = repository.back_up(backups.path(), &full, &mut go_on).unwrap();
    assert_eq!(report.removed.len(), 1);
    archive.stop();
    assert!(path(backups.path(), 4).exists());
    assert_eq!(findings(backups.path()), Vec::<String>::new());
    assert_eq!(restored_seeds(backups.path(), number), of(&[("a", 3), ("d", 4)]));
}

#[test]
fn one_cut_short_leaves_nothing_behind() {
    let (place, backups) = (Place::new(), tempfile::tempdir().unwrap());
    let repository = place.open_only();
    put(&repository, "a", 1);
    put(&repository, "b", 2);
    let content = vec![9; 4 << 20];
    let mut writer = repository.blob_writer(u64::MAX);
    writer.write(&content).unwrap();
    let content = writer.finish().unwrap();
    let mut transaction = repository.begin().unwrap();
    let png = MediaType::Other("image/png".into());
    transaction.put_content(&named("others"), &key("x"), png, &content, None).unwrap();
    commit(&repository, transaction);
    drop(content);
    // Stopped in the midst of the large one; as if the process died, its file stays.
    let mut told = 0;
    let options = BackupOptions { kind: BackupKind::Full, keep: None };
    let stopped = repository.back_up(backups.path(), &options, &mut |progress| {
        told += 1;
        assert!(progress.bytes_expected > 4 << 20);
        if progress.bytes > 2 << 20 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    assert!(matches!(stopped, Err(BackupError::Stopped)) && told > 1, "{stopped:?} {told}");
    let incoming = backups.path().join("blobs/incoming");
    std::fs::write(incoming.join("backup-00000001"), b"cut off").unwrap();
    std::fs::write(incoming.join("archive-00000001"), b"another's").unwrap();
    let listing = list_backups(backups.path()).unwrap();
    assert_eq!((listing.sets.len(), listing.unfinished.len()), (0, 1));
    // What it had copied is not needed any more.
    delete(&repository, "a");
    delete(&repository, "b");
    let report = repository.back_up(backups.path(), &options, &mut go_on).unwrap();
    assert_eq!(report.cleaned, listing.unfinished);
    assert_eq!(list_backups(backups.path()).unwrap().blobs, 1);
    let left: Vec<_> =
        std::fs::read_dir(&incoming).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(left, ["archive-00000001"], "of those who write, each cleans up after itself");
    drop(Archive::start(&repository, backups.path(), HOLD_BYTES).unwrap());
    assert_eq!(std::fs::read_dir(&incoming).unwrap().count(), 0);
    // A restore that was cut short, likewise.
    let target = Place::new();
    let source = || BackupSource::Folder(backups.path().to_owned());
    let stop = &mut |progress: &repository::Progress| match progress.bytes > 2 << 20 {
        true => ControlFlow::Break(()),
        false => ControlFlow::Continue(()),
    };
    let stopped = restore(source(), &crate::model::options(&target, None), stop).unwrap_err();
    assert!(matches!(stopped, RestoreError::Stopped), "{stopped}");
    std::fs::create_dir_all(path(target.path(), 1).parent().unwrap()).unwrap();
    std::fs::write(path(target.path(), 1), b"left of another").unwrap();
    restore(source(), &crate::model::options(&target, None), &mut go_on).unwrap();
    assert!(!path(target.path(), 1).exists());
    assert_eq!(everything(&target.open_only()), everything(&repository));
}

/// Writers go on; what is removed of blobs meanwhile is never one that a set names.
#[test]
fn a_backup_under_load_has_all_that_it_names() {
    let (place, backups) = (Place::new(), tempfile::tempdir().unwrap());
    let repository = place.open_retaining_nothing();
    put(&repository, "a", 0);
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        let _stop = crate::harness::SetAtEnd(&stop);
        for writer in 0..2 {
            let (repository, stop) = (Arc::clone(&repository), &stop);
            scope.spawn(move || {
                for seed in 0.. {
                    if stop.load(std::sync::atomic::Ordering::Relaxed) {
                        return;
                    }
                    put(&repository, ["a", "b"][writer], 2 * (seed % 50) + writer as u8);
                }
            });
        }
        for kind in [BackupKind::Full, BackupKind::Commits, BackupKind::Commits, BackupKind::Full] {
            let seen = repository.stats().visible;
            wait_until("commits go on", || repository.stats().visible.0 > seen.0 + 10);
            let report = back_up(&repository, backups.path(), kind);
            assert_eq!(findings(backups.path()), Vec::<String>::new());
            assert_eq!(restored_seeds(backups.path(), report.commit.0).len(), 2);
        }
    });
    const { assert!(BYTES > DOCUMENT_INLINE_BYTES_MAX) };
}

/// What a document was at a commit, by its history; 255: it is not known.
fn past_seed(repository: &Repository, at: &str, number: u64) -> u8 {
    let mut transaction = repository.begin().unwrap();
    let moment = Moment::Commit(CommitNumber(number));
    let Past::Document(document) = transaction.past(&notes(), &key(at), moment).unwrap() else {
        return 255;
    };
    let reader = transaction.pin_blob(&document).unwrap().unwrap().open().unwrap();
    reader.read(0).unwrap()[0]
}

#[test]
fn versions_that_are_kept_bring_theirs() {
    let (place, backups) = (Place::new(), tempfile::tempdir().unwrap());
    let repository = place.open_retaining_nothing();
    configure(&repository, "notes", r#"{"history":{"versions":2}}"#);
    let first = put(&repository, "a", 1);
    let second = put(&repository, "a", 2);
    back_up(&repository, backups.path(), BackupKind::Full);
    let third = put(&repository, "a", 3);
    let last = delete(&repository, "a");
    back_up(&repository, backups.path(), BackupKind::Commits);
    // At the last commit only the history names them, and the first has gone, or is about to.
    let (target, copy, restored) = reopened(backups.path(), goal(last));
    assert!(matches!(restored.blobs, 2 | 3), "{restored:?}");
    assert_eq!([second, third].map(|number| past_seed(&copy, "a", number)), [2, 3]);
    close_and_verify(&target, copy);
    let (_target, copy, _) = reopened(backups.path(), goal(second));
    assert_eq!([first, second].map(|number| past_seed(&copy, "a", number)), [1, 2]);
    std::fs::remove_file(path(backups.path(), 2)).unwrap();
    let error = restored_error(backups.path(), goal(last));
    let expected = format!("notes/a, as it was before commit {third} cannot be restored: ");
    assert!(error.starts_with(&expected), "{error}");
}

fn restored_error(backups: &Path, goal: Option<RestoreGoal>) -> String {
    restored(backups, &Place::new(), goal).unwrap_err().to_string()
}
