//! Blobs: deduplicated, there as long as anybody names or reads them, gone afterwards, and damage
//! of them never silent.

use crate::harness::bench::Bench;
use crate::harness::{
    self, Place, close_and_verify, commit, configure, key, named, notes, wait_until,
};
use bytes::Bytes;
use repository::limits::{BLOB_WRITERS_MAX, BLOBS_LOOKED_AT_MAX, DOCUMENT_INLINE_BYTES_MAX};
use repository::{
    BlobError, BlobHash, BlobReference, Content, MediaType, Merge, Outcome, PinnedBlob, Repository,
    StageError, Timestamp, verify,
};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// More than stays in a document, and more than a chunk.
const BYTES: usize = 600_000;

fn png() -> MediaType {
    MediaType::Other("image/png".into())
}

fn bytes(seed: u8) -> Vec<u8> {
    (0..BYTES).map(|i| (i as u8) ^ (i >> 8) as u8 ^ seed).collect()
}

/// Writes content, in pieces.
fn upload(repository: &Repository, bytes: &[u8]) -> Content {
    let mut writer = repository.blob_writer(u64::MAX);
    bytes.chunks(10_000).for_each(|piece| writer.write(piece).unwrap());
    assert_eq!(writer.length(), bytes.len() as u64);
    writer.finish().unwrap()
}

fn put_in(repository: &Repository, name: &str, at: &str, content: &Content) -> u64 {
    let mut transaction = repository.begin().unwrap();
    transaction.put_content(&named(name), &key(at), png(), content, None).unwrap();
    commit(repository, transaction)
}

/// Uploads and puts it.
fn put(repository: &Repository, at: &str, seed: u8) {
    put_in(repository, "notes", at, &upload(repository, &bytes(seed)));
}

fn delete(repository: &Repository, at: &str) {
    let mut transaction = repository.begin().unwrap();
    transaction.delete(&notes(), &key(at)).unwrap();
    commit(repository, transaction);
}

fn pin(repository: &Repository, name: &str, at: &str) -> Option<PinnedBlob> {
    let mut transaction = repository.begin().unwrap();
    let document = transaction.get(&named(name), &key(at)).unwrap()?;
    transaction.pin_blob(&document).unwrap()
}

fn content(pin: &PinnedBlob) -> Result<Vec<u8>, BlobError> {
    let reader = pin.open()?;
    let mut all = Vec::new();
    while (all.len() as u64) < pin.reference().length {
        all.extend_from_slice(&reader.read(all.len() as u64)?);
    }
    Ok(all)
}

fn read(repository: &Repository, at: &str) -> Option<Vec<u8>> {
    pin(repository, "notes", at).map(|pin| content(&pin).unwrap())
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let paths = entries.map(|entry| entry.unwrap().path());
    let of = |path: PathBuf| if path.is_dir() { files(&path) } else { vec![path] };
    paths.flat_map(of).collect()
}

fn blobs(place: &Place) -> Vec<PathBuf> {
    files(&place.path().join("blobs"))
}

#[test]
fn what_is_small_stays_in_the_document() {
    let place = Place::new();
    let repository = place.open_only();
    for length in [0, 1, DOCUMENT_INLINE_BYTES_MAX] {
        let small = vec![7; length];
        let content = upload(&repository, &small);
        assert!(matches!(&content, Content::Inline(bytes) if *bytes == small), "{length}");
        put_in(&repository, "notes", "small", &content);
        assert!(pin(&repository, "notes", "small").is_none());
    }
    assert!(!place.path().join("blobs").exists());
    let large = upload(&repository, &vec![7; DOCUMENT_INLINE_BYTES_MAX + 1]);
    assert!(matches!(large, Content::Blob(_)));
    let mut transaction = repository.begin().unwrap();
    let json = transaction.put_content(&notes(), &key("json"), MediaType::Json, &large, None);
    assert!(matches!(json, Err(StageError::DocumentTooLarge { .. })), "{json:?}");
}

#[test]
fn equal_content_is_one_blob_and_comes_back_after_opening() {
    let place = Place::new();
    let repository = place.open_only();
    put(&repository, "a", 1);
    put(&repository, "b", 1);
    put(&repository, "c", 2);
    let content = Content::Blob(pin(&repository, "notes", "c").unwrap());
    put_in(&repository, "others", "copy", &content);
    drop(content);
    let mut transaction = repository.begin().unwrap();
    let document = transaction.get(&notes(), &key("a")).unwrap().unwrap();
    let reference = BlobReference { hash: BlobHash::of(&bytes(1)), length: BYTES as u64 };
    assert_eq!((document.blob, document.body.len()), (Some(reference), 0));
    assert_eq!(document.length(), BYTES as u64);
    drop(transaction);
    assert_eq!(blobs(&place).len(), 2);
    let stats = repository.blob_stats();
    assert_eq!((stats.count, stats.written, stats.known), (2, 3, 1));
    assert_eq!(stats.bytes, 2 * BYTES as u64);
    let named_ones = repository.named_blobs(None, 9).unwrap();
    assert_eq!(named_ones.len(), 2);
    assert!(named_ones.contains(&reference));
    assert_eq!(repository.named_blobs(None, 1).unwrap(), named_ones[..1]);
    assert_eq!(repository.named_blobs(Some(named_ones[0].hash), 1).unwrap(), named_ones[1..]);
    // From the log, and then from the engine.
    drop(repository);
    let repository = place.open_only();
    assert_eq!(read(&repository, "b"), Some(bytes(1)));
    repository.checkpoint().unwrap();
    drop(repository);
    let repository = place.open_only();
    assert_eq!(read(&repository, "a"), Some(bytes(1)));
    delete(&repository, "c");
    let copy = pin(&repository, "others", "copy").unwrap();
    assert_eq!(content_of(&copy), bytes(2), "another document names it still");
    drop(copy);
    close_and_verify(&place, repository);
    let report = verify(place.path()).unwrap();
    assert_eq!((report.blobs, report.blob_bytes), (2, 2 * BYTES as u64));
}

fn content_of(pin: &PinnedBlob) -> Vec<u8> {
    content(pin).unwrap()
}

#[test]
fn any_part_can_be_read_and_memory_holds_a_chunk() {
    let place = Place::new();
    let repository = place.open_only();
    put(&repository, "a", 3);
    let all = bytes(3);
    let pin = pin(&repository, "notes", "a").unwrap();
    let reader = pin.open().unwrap();
    for at in [0, 1, 262_143, 262_144, 500_000, BYTES - 1] {
        let part = reader.read(at as u64).unwrap();
        assert!(!part.is_empty() && part.len() <= 262_144, "{at}");
        assert_eq!(part, all[at..at + part.len()], "{at}");
    }
    assert!(reader.read(BYTES as u64).unwrap().is_empty());
}

#[test]
fn what_nobody_names_goes_and_what_somebody_reads_stays() {
    let bench = Bench::new();
    let repository = bench.repository();
    let upload_and_put = |at: &str, seed| put(repository, at, seed);
    upload_and_put("a", 1);
    upload_and_put("b", 2);
    let tend = || (0..3).for_each(|_| bench.tend_blobs());
    tend();
    assert_eq!(repository.blob_stats().count, 2);
    // A view that sees it, and a reader of the other.
    let mut old = repository.begin().unwrap();
    let reader = pin(repository, "notes", "b").unwrap();
    delete(repository, "a");
    delete(repository, "b");
    tend();
    assert_eq!(repository.blob_stats().count, 2);
    let seen = old.get(&notes(), &key("a")).unwrap().unwrap();
    let seen = old.pin_blob(&seen).unwrap().unwrap();
    drop(old);
    tend();
    assert_eq!(content_of(&seen), bytes(1), "pinned in time");
    assert_eq!(content_of(&reader), bytes(2));
    drop(reader);
    tend();
    assert_eq!((repository.blob_stats().count, repository.blob_stats().reclaimed), (1, 1));
    // It gets a name again from the pin, and loses it.
    put_in(repository, "notes", "again", &Content::Blob(seen));
    tend();
    assert_eq!(read(repository, "again"), Some(bytes(1)));
    delete(repository, "again");
    tend();
    let stats = repository.blob_stats();
    assert_eq!((stats.count, stats.bytes, stats.pinned, stats.unnamed), (0, 0, 0, 0));
    assert_eq!(stats.reclaimed_bytes, 2 * BYTES as u64);
    let place = bench.stop();
    assert_eq!(blobs(&place), Vec::<PathBuf>::new());
}

#[test]
fn a_blob_stays_until_the_loss_of_its_name_is_synced() {
    let bench = Bench::new();
    let repository = bench.repository();
    put(repository, "a", 1);
    let mut transaction = repository.begin().unwrap();
    transaction.delete(&notes(), &key("a")).unwrap();
    // Applied and visible, and nothing of it on disk.
    assert!(matches!(transaction.commit().unwrap(), Outcome::Committed(_)));
    bench.tend_blobs();
    assert_eq!(repository.blob_stats().count, 1);
    let number = repository.stats().visible;
    repository.wait_durable(number).unwrap();
    bench.tend_blobs();
    bench.tend_blobs();
    assert_eq!(repository.blob_stats().count, 0);
}

#[test]
fn a_blob_goes_with_what_expires_is_replaced_or_was_volatile() {
    let bench = Bench::new();
    let repository = bench.repository();
    configure(repository, "volatiles", r#"{"durability":"volatile"}"#);
    put_in(repository, "volatiles", "v", &upload(repository, &bytes(9)));
    let end = Timestamp(bench.now() + 10);
    let put_until = |at: &str, content: &Content| {
        let mut transaction = repository.begin().unwrap();
        transaction.put_content(&notes(), &key(at), png(), content, Some(end)).unwrap();
        commit(repository, transaction);
    };
    let small = Content::Inline(Bytes::from_static(b"small"));
    put_until("a", &upload(repository, &bytes(1)));
    put_until("b", &small);
    put_until("b", &upload(repository, &bytes(2)));
    put_until("c", &upload(repository, &bytes(3)));
    put_until("c", &small);
    put(repository, "d", 4);
    put(repository, "d", 5);
    bench.checkpoint().unwrap();
    bench.evict();
    let tend = || (0..3).for_each(|_| bench.tend_blobs());
    tend();
    let hash = |seed| BlobHash::of(&bytes(seed));
    let is_there =
        |seed| repository.named_blobs(None, 9).unwrap().iter().any(|b| b.hash == hash(seed));
    assert_eq!([1, 2, 3, 4, 5, 9].map(is_there), [true, true, false, false, true, true]);
    assert_eq!(repository.blob_stats().count, 4);
    bench.move_clock(11);
    bench.reap();
    repository.checkpoint().unwrap();
    tend();
    assert_eq!(repository.stats().reaped, 3);
    assert_eq!(repository.blob_stats().count, 2);
    let place = bench.stop();
    assert_eq!(harness::verified(&place), 1);
    assert_eq!(verify(place.path()).unwrap().blobs_unnamed, 1, "that of the volatile document");
    let repository = place.open_retaining_nothing();
    wait_until("it goes after the next opening", || blobs(&place).len() == 1);
    assert_eq!(read(&repository, "d"), Some(bytes(5)));
}

#[test]
fn merge_operations_and_blobs_do_not_mix() {
    let place = Place::new();
    let repository = place.open_only();
    put(&repository, "a", 1);
    let mut transaction = repository.begin().unwrap();
    let add = Merge::Add { path: String::new(), delta: 1.0 };
    let refused = transaction.merge(&notes(), &key("a"), add);
    assert!(matches!(refused, Err(StageError::Merge { .. })), "{refused:?}");
}

#[test]
fn what_a_crash_left_goes() {
    let place = Place::new();
    let repository = place.open_only();
    put(&repository, "a", 1);
    // Written and never named, and one that was not finished.
    let content = upload(&repository, &bytes(2));
    std::mem::forget(content);
    let mut writer = repository.blob_writer(u64::MAX);
    writer.write(&bytes(3)).unwrap();
    assert_eq!(blobs(&place).len(), 3);
    std::mem::forget(writer);
    let copy = Place::new();
    copy_folder(place.path(), copy.path());
    let reopened = copy.open_retaining_nothing();
    wait_until("what the crash left goes", || blobs(&copy).len() == 1);
    assert_eq!(read(&reopened, "a"), Some(bytes(1)));
    // New ones have other names than those that are left.
    put(&reopened, "b", 4);
    assert_eq!(read(&reopened, "b"), Some(bytes(4)));
}

fn copy_folder(from: &Path, to: &Path) {
    for entry in std::fs::read_dir(from).unwrap().map(Result::unwrap) {
        let to = to.join(entry.file_name());
        if entry.path().is_dir() {
            std::fs::create_dir_all(&to).unwrap();
            copy_folder(&entry.path(), &to);
        } else {
            std::fs::copy(entry.path(), &to).unwrap();
        }
    }
}

#[test]
fn an_upload_that_is_given_up_or_too_large_leaves_nothing() {
    let place = Place::new();
    let repository = place.open_only();
    let mut writer = repository.blob_writer(u64::MAX);
    writer.write(&bytes(1)).unwrap();
    assert_eq!(blobs(&place).len(), 1);
    drop(writer);
    let mut writer = repository.blob_writer(BYTES as u64 - 1);
    let refused = writer.write(&bytes(1));
    assert!(matches!(refused, Err(BlobError::TooLarge { .. })), "{refused:?}");
    drop(writer);
    assert_eq!(blobs(&place), Vec::<PathBuf>::new());
    assert_eq!(repository.blob_stats().writing, 0);
}

#[test]
fn writers_at_once() {
    let place = Place::new();
    let repository = place.open_only();
    let begin = || {
        let mut writer = repository.blob_writer(u64::MAX);
        writer.write(&bytes(1)).map(|()| writer)
    };
    let mut writers: Vec<_> = (0..BLOB_WRITERS_MAX).map(|_| begin().unwrap()).collect();
    assert!(matches!(begin().err(), Some(BlobError::TooManyWriters)));
    writers.pop();
    begin().unwrap();
}

#[test]
fn a_round_looks_at_so_many() {
    let bench = Bench::new();
    let repository = bench.repository();
    let count = BLOBS_LOOKED_AT_MAX + 1;
    for i in 0..count {
        let mut different = vec![1; DOCUMENT_INLINE_BYTES_MAX + 1];
        different[..8].copy_from_slice(&i.to_le_bytes());
        drop(upload(repository, &different));
    }
    bench.tend_blobs();
    assert_eq!(repository.blob_stats().reclaimed, BLOBS_LOOKED_AT_MAX as u64);
    bench.tend_blobs();
    assert_eq!(repository.blob_stats().reclaimed, count as u64);
}

#[test]
fn what_is_put_aside_before_it_goes() {
    let bench = Bench::new();
    let repository = bench.repository();
    let calls = Arc::new(AtomicU64::new(0));
    let seen = Arc::clone(&calls);
    repository.on_blob_removal(Box::new(move |blob, path| {
        assert_eq!((blob.hash, blob.length), (BlobHash::of(&bytes(1)), BYTES as u64));
        assert!(path.exists());
        match seen.fetch_add(1, Ordering::Relaxed) {
            0 => Err(std::io::Error::other("the archive is full")),
            _ => Ok(()),
        }
    }));
    put(repository, "a", 1);
    delete(repository, "a");
    bench.tend_blobs();
    assert_eq!(repository.blob_stats().count, 1, "it could not be put aside");
    (0..3).for_each(|_| bench.tend_blobs());
    assert_eq!((repository.blob_stats().count, calls.load(Ordering::Relaxed)), (0, 2));
}

#[test]
fn damage_is_found_where_it_is_read_and_by_verify() {
    let place = Place::new();
    let repository = place.open_only();
    put(&repository, "a", 1);
    put(&repository, "b", 2);
    repository.close().unwrap();
    drop(repository);
    let path = place.path().join(BlobHash::of(&bytes(1)).path());
    let whole = std::fs::read(&path).unwrap();
    let damage = |at: usize| {
        let mut damaged = whole.clone();
        damaged[at] ^= 1;
        std::fs::write(&path, damaged).unwrap();
    };
    // In the content, in the footer, cut off, longer, and gone.
    for at in
        [0, 300_000, BYTES - 1, BYTES, whole.len() - 1, usize::MAX, usize::MAX - 1, usize::MAX - 2]
    {
        match usize::MAX - at {
            0 => std::fs::write(&path, &whole[..BYTES / 2]).unwrap(),
            1 => std::fs::write(&path, [&whole[..], b"x"].concat()).unwrap(),
            2 => std::fs::remove_file(&path).unwrap(),
            _ => damage(at),
        }
        let report = verify(place.path()).unwrap();
        assert_eq!(report.wrong, 1, "{at}: {:?}", report.findings);
        assert!(report.findings[0].starts_with("notes/a: the blob "), "{:?}", report.findings);
        let repository = place.open_only();
        let found = content(&pin(&repository, "notes", "a").unwrap());
        assert!(matches!(found, Err(BlobError::Damaged { .. })), "{at}: {found:?}");
        assert_eq!(repository.blob_stats().damaged, 1);
        assert_eq!(read(&repository, "b"), Some(bytes(2)));
    }
    // Whoever brings the same bytes again makes it whole.
    let repository = place.open_only();
    put(&repository, "c", 1);
    assert_eq!(read(&repository, "a"), Some(bytes(1)));
    close_and_verify(&place, repository);
}
