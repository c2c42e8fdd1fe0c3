//! Exports and imports: what comes out goes in again, cut files and bad lines are told, and an
//! import that was cut off goes on without doing anything twice.

use crate::harness::{
    self, Place, close_and_verify, commit, configure, key, named, notes, put, read, write,
};
use bytes::Bytes;
use repository::exchange::{
    Event, ExistingDocuments, ExportError, ExportFrom, ExportScope, ImportError, ImportOptions,
    Imported, KeptTimes, Line, Plain, check, export, import, read_line, resume_of,
};
use repository::limits::*;
use repository::{Document, Key, MediaType, Repository, Timestamp};
use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::Ordering;

fn exported(repository: &Repository, scope: &ExportScope) -> Vec<u8> {
    let mut out = Vec::new();
    export(&repository.snapshot().unwrap(), scope, None, &mut out, &mut |_| Ok(())).unwrap();
    out
}

fn everything(repository: &Repository) -> Vec<u8> {
    exported(repository, &ExportScope::default())
}

fn lines(export: &[u8]) -> Vec<Line> {
    let lines = export.split(|b| *b == b'\n').filter(|line| !line.is_empty());
    lines.map(|line| read_line(line).unwrap()).collect()
}

/// The documents of an export without what an import gives anew: their versions.
fn documents(export: &[u8]) -> BTreeMap<String, Document> {
    let document = |line| match line {
        Line::Document(line) => {
            let place = format!("{}/{}", line.collection, line.key);
            Some((place, Document { version: Default::default(), ..line.document }))
        }
        _ => None,
    };
    lines(export).into_iter().filter_map(document).collect()
}

fn run(
    repository: &Repository,
    text: &[u8],
    options: &ImportOptions,
) -> Result<(Imported, Vec<u64>), ImportError> {
    let mut bad = Vec::new();
    let mut from = text;
    let imported = import(repository, &mut from, options, &mut |event| {
        if let Event::BadLine { line, .. } = event {
            bad.push(*line);
        }
        Ok(())
    })?;
    Ok((imported, bad))
}

/// Documents of every kind in several collections.
fn fill(place: &Place, repository: &Repository) {
    let settings = r#"{"indexes":[{"name":"i","paths":[{"path":"/n"}],"unique":true}]}"#;
    configure(repository, "notes", settings);
    configure(repository, "empty", r#"{"expiry":5000}"#);
    for i in 0..50 {
        place.now.fetch_add(1_000, Ordering::Relaxed);
        write(repository, &format!("k{i}\"ü"), &format!("{{\"n\":{i}}}"));
    }
    write(repository, "k7\"ü", "{\"n\":1000}");
    let mut transaction = repository.begin().unwrap();
    let png = MediaType::Other("image/png".into());
    let body = Bytes::from((0..=255).collect::<Vec<u8>>());
    let soon = Some(Timestamp(place.now.load(Ordering::Relaxed) + 1_000_000));
    transaction.put(&named("media"), &key("p"), png, body, soon).unwrap();
    let mut writer = repository.blob_writer(BLOB_BYTES_MAX);
    for i in 0..70_000_u32 {
        writer.write(&i.to_le_bytes()).unwrap();
    }
    let content = writer.finish().unwrap();
    let film = MediaType::Other("video/film".into());
    for at in ["film", "again"] {
        transaction.put_content(&named("media"), &key(at), film.clone(), &content, None).unwrap();
    }
    transaction.put(&named("_own"), &key("s"), MediaType::Json, "1".into(), None).unwrap();
    commit(repository, transaction);
    // That it is built is a commit, too.
    harness::wait_built(repository);
}

#[test]
fn what_was_exported_is_imported_and_exported_the_same() {
    let (from, to) = (Place::new(), Place::new());
    let repository = from.open_only();
    fill(&from, &repository);
    let scope = ExportScope { system: true, ..ExportScope::default() };
    let first = exported(&repository, &scope);
    assert_eq!(first, exported(&repository, &scope), "the same state, the same bytes");
    assert!(check(&mut first.as_slice()).is_ok());
    let other = to.open_only();
    to.now.store(from.now.load(Ordering::Relaxed) + 77, Ordering::Relaxed);
    let options = ImportOptions { system: true, ..ImportOptions::default() };
    let (imported, _) = run(&other, &first, &options).unwrap();
    assert_eq!((imported.documents, imported.collections, imported.bad), (54, 4, 0));
    let second = exported(&other, &scope);
    assert_eq!(documents(&first), documents(&second));
    assert_eq!(other.settings(&notes()), repository.settings(&notes()));
    assert_eq!(other.settings(&named("empty")).expiry_ms, Some(5000));
    // What the log has comes back the same.
    drop(other);
    let other = to.open_only();
    assert_eq!(documents(&first), documents(&exported(&other, &scope)));
    harness::wait_built(&other);
    close_and_verify(&to, other);
    close_and_verify(&from, repository);
}

#[test]
fn pieces_of_blobs_are_held_to_their_order_and_content() {
    let (from, to) = (Place::new(), Place::new());
    let repository = from.open_only();
    fill(&from, &repository);
    let whole = String::from_utf8(everything(&repository)).unwrap();
    let target = to.open_only();
    let keep_going = ImportOptions { keep_going: true, restart: true, ..Default::default() };
    let replace = ImportOptions { existing: ExistingDocuments::Replace, ..keep_going };
    // Leaves out the first line that begins so.
    let without = |start: &str| {
        let at = whole.find(&format!("\n{start}")).unwrap() + 1;
        let end = at + whole[at..].find('\n').unwrap() + 1;
        [&whole[..at], &whole[end..]].concat()
    };
    // Two pieces of the first document are no piece of anything then, and the sum is another.
    let (imported, bad) = run(&target, without("{\"at\":0").as_bytes(), &replace).unwrap();
    assert_eq!((imported.documents, bad.len()), (52, 2));
    let changed = whole.replacen("{\"at\":0,\"base64\":\"A", "{\"at\":0,\"base64\":\"B", 1);
    let (imported, _) = run(&target, changed.as_bytes(), &replace).unwrap();
    assert_eq!(imported.documents, 52);
    let cut = without("{\"at\":262144");
    let (imported, _) = run(&target, cut.as_bytes(), &replace).unwrap();
    assert_eq!(imported.documents, 51, "what stands in place of a piece is no line either");
    let (imported, bad) = run(&target, whole.as_bytes(), &replace).unwrap();
    assert_eq!((imported.documents, bad.len()), (53, 0));
    close_and_verify(&to, target);
}

#[test]
fn only_what_is_asked_for_is_exported() {
    let place = Place::new();
    let repository = place.open_only();
    fill(&place, &repository);
    let names = |export: &[u8]| -> Vec<String> {
        let name = |line| match line {
            Line::Collection(name, _) => Some(name.to_string()),
            _ => None,
        };
        lines(export).into_iter().filter_map(name).collect()
    };
    assert_eq!(names(&everything(&repository)), ["empty", "media", "notes"]);
    let scope = ExportScope { collections: vec![named("notes"), named("media")], system: false };
    assert_eq!(names(&exported(&repository, &scope)), ["media", "notes"]);
    let scope = ExportScope { collections: vec![named("nots")], system: false };
    let snapshot = repository.snapshot().unwrap();
    let failed = export(&snapshot, &scope, None, &mut Vec::new(), &mut |_| Ok(()));
    let Err(error @ ExportError::NoCollection { .. }) = failed else { panic!("{failed:?}") };
    assert_eq!(error.to_string(), "there is no collection nots; there are: empty, media, notes");
}

#[test]
fn an_export_that_was_cut_off_is_gone_on_with_at_the_same_commit() {
    let place = Place::new();
    let repository = place.open_only();
    fill(&place, &repository);
    let whole = everything(&repository);
    let snapshot = repository.snapshot().unwrap();
    write(&repository, "later", "{\"n\":-1}");
    let go_on = |from: &ExportFrom| {
        let mut rest = Vec::new();
        export(&snapshot, &from.scope, Some(from), &mut rest, &mut |_| Ok(())).unwrap();
        rest
    };
    let step = whole.len() / 200;
    for cut in (0..whole.len()).step_by(step).chain(0..200) {
        let found = resume_of(&mut &whole[..cut]).unwrap();
        let Some(found) = found else {
            assert!(!whole[..cut].contains(&b'\n'));
            continue;
        };
        let kept = &whole[..found.bytes as usize];
        assert_eq!([kept, &go_on(&found)].concat(), whole, "cut at {cut}");
    }
    assert!(resume_of(&mut whole.as_slice()).unwrap_err().contains("whole"));
    assert!(resume_of(&mut &b"{\"id\":1}\n"[..]).unwrap_err().contains("first line"));
    let found = resume_of(&mut &whole[..whole.len() / 2]).unwrap().unwrap();
    let later = repository.snapshot().unwrap();
    let moved = export(&later, &found.scope, Some(&found), &mut Vec::new(), &mut |_| Ok(()));
    assert!(matches!(moved, Err(ExportError::Moved { .. })), "{moved:?}");
}

#[test]
fn every_cut_and_every_changed_byte_is_noticed() {
    let place = Place::new();
    let repository = place.open_only();
    for i in 0..5 {
        write(&repository, &format!("k{i}"), "{\"a\":\"text\"}");
    }
    let whole = everything(&repository);
    let header = whole.iter().position(|b| *b == b'\n').unwrap() + 1;
    assert!(check(&mut whole.as_slice()).is_ok());
    for cut in header..whole.len() {
        let error = check(&mut &whole[..cut]).unwrap_err();
        assert!(matches!(error, ImportError::Cut { .. }), "{cut}: {error}");
    }
    for at in header..whole.len() {
        let mut changed = whole.clone();
        changed[at] ^= 1;
        assert!(check(&mut changed.as_slice()).is_err(), "{at}");
    }
    // From a pipe it is found out at the end.
    let other = Place::new();
    let target = other.open_only();
    let cut = &whole[..whole.len() - 3];
    assert!(matches!(run(&target, cut, &ImportOptions::default()), Err(ImportError::Cut { .. })));
    let mut changed = whole.clone();
    let at = whole.windows(4).position(|four| four == b"text").unwrap();
    changed[at] = b'T';
    let options =
        ImportOptions { restart: true, existing: ExistingDocuments::Replace, ..Default::default() };
    let failed = run(&target, &changed, &options);
    assert!(matches!(failed, Err(ImportError::Checksum { .. })), "{failed:?}");
}

/// Reads so many bytes, and then fails as a connection does that is gone.
struct Failing<'a>(&'a [u8], usize);

impl io::Read for Failing<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = into.len().min(self.1).min(self.0.len());
        if count == 0 {
            return Err(io::ErrorKind::ConnectionReset.into());
        }
        into[..count].copy_from_slice(&self.0[..count]);
        (self.0, self.1) = (&self.0[count..], self.1 - count);
        Ok(count)
    }
}

#[test]
fn an_import_that_was_cut_off_goes_on_where_it_was() {
    let (from, to) = (Place::new(), Place::new());
    let repository = from.open_only();
    let mut transaction = repository.begin().unwrap();
    for i in 0..IMPORT_BATCH_DOCUMENTS * 3 {
        put(&mut transaction, &format!("{i:06}"), &i.to_string());
    }
    commit(&repository, transaction);
    let text = everything(&repository);
    let target = to.open_only();
    // What is there already would be a mistake.
    let options = ImportOptions::default();
    for part in 1..6 {
        let mut failing = io::BufReader::new(Failing(&text, text.len() * part / 6));
        let failed = import(&target, &mut failing, &options, &mut |_| Ok(()));
        assert!(matches!(failed, Err(ImportError::Read(_))), "{failed:?}");
    }
    let (imported, bad) = run(&target, &text, &options).unwrap();
    assert!(imported.resumed_after.is_some_and(|line| line > 2_000), "{imported:?}");
    assert_eq!((imported.documents, imported.skipped, bad.len()), (3_000, 0, 0));
    assert_eq!(documents(&text), documents(&everything(&target)));
    // Once more is told, and nothing is done.
    let (again, _) = run(&target, &text, &options).unwrap();
    assert!(again.was_done && again.documents == 3_000);
    let error = run(&target, &text, &ImportOptions { restart: true, ..options }).unwrap_err();
    assert!(error.to_string().starts_with("line 3: there is a document notes/000000"), "{error}");
    // It is remembered for a while.
    to.now.fetch_add(IMPORT_DONE_KEPT_MS + 1, Ordering::Relaxed);
    let skip = ImportOptions { existing: ExistingDocuments::Skip, ..ImportOptions::default() };
    let (after, _) = run(&target, &text, &skip).unwrap();
    assert_eq!((after.was_done, after.documents, after.skipped), (false, 0, 3_000));
}

#[test]
fn an_import_that_was_left_for_long_begins_anew() {
    let to = Place::new();
    let target = to.open_only();
    let options = plain("/id");
    let text = b"{\"id\":1}\n{\"id\":2}\nx\n";
    assert!(run(&target, text, &options).is_err());
    let resumed = |text: &[u8]| run(&target, text, &options).unwrap().0.resumed_after;
    to.now.fetch_add(IMPORT_POSITION_KEPT_MS - 1, Ordering::Relaxed);
    assert_eq!(resumed(b"{\"id\":1}\n{\"id\":2}\n{\"id\":3}\n"), Some(2));
    let failed = run(
        &target,
        b"{\"id\":1}\n{\"id\":3}\n",
        &ImportOptions { restart: true, ..options.clone() },
    );
    assert!(failed.is_ok(), "{failed:?}");
    to.now.fetch_add(IMPORT_POSITION_KEPT_MS + 1, Ordering::Relaxed);
    assert_eq!(resumed(b"{\"id\":1}\n{\"id\":4}\n"), None);
}

fn plain(key: &str) -> ImportOptions {
    let plain = Plain { collection: notes(), key: key.to_owned() };
    ImportOptions {
        plain: Some(plain),
        existing: ExistingDocuments::Replace,
        ..ImportOptions::default()
    }
}

#[test]
fn lines_of_others_are_documents_of_one_collection() {
    let place = Place::new();
    let repository = place.open_only();
    let text = b"{ \"id\": \"a\", \"n\": 1.0 }\n{\"id\":7}\n{\"id\":\"c\"}";
    let (imported, _) = run(&repository, text, &plain("/id")).unwrap();
    assert_eq!((imported.documents, imported.lines), (3, 3));
    assert_eq!(read(&repository, "a").as_deref(), Some(r#"{"id":"a","n":1}"#));
    assert_eq!(read(&repository, "7").as_deref(), Some(r#"{"id":7}"#));
    let (none, _) = run(&repository, b"", &plain("/id")).unwrap();
    assert_eq!(none.documents, 0);
    let error = run(&repository, text, &ImportOptions::default()).unwrap_err();
    assert!(matches!(&error, ImportError::NoExport(got) if got.contains("id")), "{error}");
    let export = everything(&repository);
    let error = run(&repository, &export, &plain("/id")).unwrap_err();
    assert!(matches!(error, ImportError::IsExport), "{error}");
    let error = run(&repository, b"{\"id\":\"a\"}\n{\"id\":8}\n", &plain("/id"));
    assert!(error.is_ok());
    let different = run(&repository, b"{ \"id\": \"a\", \"n\": 1.0 }\nx", &plain("/id")).unwrap();
    assert!(different.0.was_done, "the first line names it");
}

#[test]
fn another_input_with_the_same_beginning_is_not_taken_for_the_first() {
    let place = Place::new();
    let repository = place.open_only();
    let options = plain("/id");
    assert!(run(&repository, b"{\"id\":1}\n{\"id\":2}\nx\n", &options).is_err());
    for text in [&b"{\"id\":1}\n{\"id\":3}\n{\"id\":4}\n"[..], b"{\"id\":1}\n"] {
        let error = run(&repository, text, &options).unwrap_err();
        assert!(matches!(error, ImportError::Different { lines: 2 }), "{error}");
    }
    let restart = ImportOptions { restart: true, ..options };
    assert!(run(&repository, b"{\"id\":1}\n{\"id\":3}\n", &restart).is_ok());
}

#[test]
fn bad_lines_are_named_and_nothing_of_them_is_kept() {
    let place = Place::new();
    let repository = place.open_only();
    configure(
        &repository,
        "notes",
        r#"{"indexes":[{"name":"i","paths":[{"path":"/n"}],"unique":true}]}"#,
    );
    let long = "x".repeat(IMPORT_LINE_BYTES_MAX + 1);
    let large = format!("{{\"id\":\"large\",\"x\":\"{}\"}}", "x".repeat(DOCUMENT_BYTES_MAX));
    let text = format!(
        "{{\"id\":\"a\",\"n\":1}}\n{{\"id\":\"b\"\n{{\"n\":5}}\n{{\"id\":\"d\",\"n\":1}}\n\
         {long}\n{large}\n{{\"id\":\"g\",\"n\":7}}\n\n{{\"id\":\"i\",\"n\":7}}\n"
    );
    let keep_going = ImportOptions { keep_going: true, ..plain("/id") };
    let (imported, mut bad) = run(&repository, text.as_bytes(), &keep_going).unwrap();
    bad.sort();
    assert_eq!(bad, [2, 3, 4, 5, 6, 8, 9]);
    assert_eq!((imported.documents, imported.bad), (2, 7));
    assert_eq!(read(&repository, "a").as_deref(), Some(r#"{"id":"a","n":1}"#));
    for gone in ["b", "d", "large", "i"] {
        assert_eq!(read(&repository, gone), None);
    }
    // Without, the first of them ends it, and what is before it is there.
    let place = Place::new();
    let repository = place.open_only();
    let error = run(&repository, text.as_bytes(), &plain("/id")).unwrap_err();
    let ImportError::Line { line: 2, column: Some(10), .. } = error else { panic!("{error}") };
    assert!(read(&repository, "a").is_some());
}

#[test]
fn lines_of_exports_are_held_to_their_form() {
    let place = Place::new();
    let repository = place.open_only();
    write(&repository, "a", "1");
    let whole = String::from_utf8(everything(&repository)).unwrap();
    let other = Place::new();
    let target = other.open_only();
    let refused = |text: &str, line: u64, what: &str| {
        let options = ImportOptions { restart: true, ..ImportOptions::default() };
        let error = run(&target, text.as_bytes(), &options).unwrap_err();
        let message = error.to_string();
        assert!(
            message.starts_with(&format!("line {line}")) && message.contains(what),
            "{message}"
        );
    };
    refused(&whole.replace("\"format\":1", "\"format\":2"), 1, "expected 1");
    refused(&whole.replace("\"notes\"", "\"_own\""), 2, "Sarsen's own");
    refused(&whole.replace("\"key\":\"a\"", "\"key\":7"), 3, "expected a text");
    let first = whole.lines().next().unwrap();
    refused(&format!("{first}\n{whole}"), 2, "got a first line");
    let renamed = whole.replace("\"key\":\"a\"", "\"key\":\"b\"");
    let failed =
        run(&target, renamed.as_bytes(), &ImportOptions { restart: true, ..Default::default() });
    assert!(matches!(failed, Err(ImportError::Checksum { .. })), "{failed:?}");
    let replace =
        ImportOptions { restart: true, existing: ExistingDocuments::Replace, ..Default::default() };
    let error = run(&target, format!("{whole}\n").as_bytes(), &replace).unwrap_err();
    assert!(error.to_string().contains("nothing behind the last line"), "{error}");
}

#[test]
fn times_are_kept_but_never_later_than_the_commit() {
    let place = Place::new();
    let repository = place.open_only();
    let head = r#"{"sarsen":"export","format":1,"commit":1,"time":"1970-01-01T00:00:00.000Z"}"#;
    let line = |key: &str, created: &str, updated: &str, expires: &str| {
        format!(
            "{{\"collection\":\"notes\",\"key\":\"{key}\",\"version\":1,\"created\":\"{created}\",\
             \"updated\":\"{updated}\",{expires}\"document\":1}}"
        )
    };
    let (old, now, late) =
        ("1970-01-01T00:00:01.000Z", "1970-01-01T00:16:40.000Z", "2999-01-01T00:00:00.000Z");
    let content = [
        r#"{"collection":"notes","settings":{"expiry":5000}}"#.to_owned(),
        line("early", old, old, ""),
        line("late", old, late, ""),
        line("later", late, late, ""),
        line("gone", old, old, r#""expires":"1970-01-01T00:00:02.000Z","#),
    ];
    let content = content.join("\n") + "\n";
    let sum = crc32c::crc32c(content.as_bytes());
    let end = format!(r#"{{"end":"export","collections":1,"documents":4,"crc32c":"{sum:08x}"}}"#);
    let text = format!("{head}\n{content}{end}\n");
    let (imported, _) = run(&repository, text.as_bytes(), &ImportOptions::default()).unwrap();
    assert_eq!((imported.documents, imported.expired), (3, 1));
    let times = |at: &str| {
        let document = repository.begin().unwrap().get(&notes(), &key(at)).unwrap().unwrap();
        (document.created.rfc3339(), document.updated.rfc3339(), document.expires)
    };
    let expected = |created: &str, updated: &str| (created.to_owned(), updated.to_owned(), None);
    assert_eq!(times("early"), expected(old, old));
    assert_eq!(times("late"), expected(old, now));
    assert_eq!(times("later"), expected(now, now));
    let options = ImportOptions {
        times: KeptTimes::New,
        existing: ExistingDocuments::Replace,
        restart: true,
        ..ImportOptions::default()
    };
    run(&repository, text.as_bytes(), &options).unwrap();
    let (_, updated, expires) = times("early");
    assert_eq!((updated.as_str(), expires), (now, Some(Timestamp(1_005_000))));
    close_and_verify(&place, repository);
}

/// A batch whose documents have more rows than a transaction may is imported in parts.
#[test]
fn what_is_too_much_for_a_transaction_is_done_in_several() {
    let place = Place::new();
    let repository = place.open_only();
    let indexes: Vec<String> = (0..4)
        .map(|i| format!(r#"{{"name":"i{i}","paths":[{{"path":"/v","each":true}}]}}"#))
        .collect();
    configure(&repository, "notes", &format!("{{\"indexes\":[{}]}}", indexes.join(",")));
    let values: Vec<String> = (0..INDEX_ROWS_MAX).map(|i| i.to_string()).collect();
    let documents = 2 * TRANSACTION_ROWS_MAX / 4 / INDEX_ROWS_MAX;
    let line = |i| format!("{{\"id\":{i},\"v\":[{}]}}\n", values.join(","));
    let text: String = (0..documents).map(line).collect();
    assert!(text.len() < IMPORT_BATCH_BYTES && documents < IMPORT_BATCH_DOCUMENTS);
    let (imported, bad) = run(&repository, text.as_bytes(), &plain("/id")).unwrap();
    assert_eq!((imported.documents as usize, bad.len()), (documents, 0));
}

/// Memory is full of what cannot leave it: the import waits, and goes on when there is room.
#[test]
fn an_import_waits_while_the_disk_is_behind() {
    let place = Place { memory_bytes: 32 << 20, ..Place::new() };
    let repository = place.open_only();
    configure(&repository, "full", r#"{"durability":"volatile"}"#);
    let body = Bytes::from(format!("\"{}\"", "x".repeat(1 << 20)));
    let mut filled = 0;
    loop {
        let mut transaction = repository.begin().unwrap();
        let at = Key::new(&format!("{filled}")).unwrap();
        transaction.put(&named("full"), &at, MediaType::Json, body.clone(), None).unwrap();
        if transaction.commit().is_err() {
            break;
        }
        filled += 1;
    }
    assert!(IMPORT_WAIT_MAX.as_secs() > 1);
    std::thread::scope(|scope| {
        let importing = scope.spawn(|| run(&repository, b"{\"id\":1}\n", &plain("/id")));
        std::thread::sleep(std::time::Duration::from_millis(200));
        assert!(!importing.is_finished(), "there is no room");
        let mut transaction = repository.begin().unwrap();
        for i in 0..filled {
            transaction.delete(&named("full"), &Key::new(&format!("{i}")).unwrap()).unwrap();
        }
        commit(&repository, transaction);
        assert_eq!(importing.join().unwrap().unwrap().0.documents, 1);
    });
}
