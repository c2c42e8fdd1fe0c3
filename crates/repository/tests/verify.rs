//! Verify on damaged repositories: it never says clean where something is lost, never gives up
//! because of damage, and names what is gone.

use crate::harness::random::Random;
use crate::harness::{self, Place, commit, configure, key, notes, put, read, wait_built, write};
use repository::{Options, Repository, Timestamp, VerifyReport, verify};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Documents in tables and in the log, with an index and with expiries.
fn fill(place: &Place) {
    let repository = place.open_only();
    configure(&repository, "notes", r#"{"indexes":[{"name":"i","paths":[{"path":"/n"}]}]}"#);
    wait_built(&repository);
    let mut transaction = repository.begin().unwrap();
    for i in 0..400 {
        put(
            &mut transaction,
            &format!("k{i:04}"),
            &format!("{{\"n\":{i},\"text\":\"{}\"}}", "x".repeat(40)),
        );
    }
    let late = Some(Timestamp(u64::MAX / 2));
    let json = repository::MediaType::Json;
    transaction.put(&notes(), &key("late"), json, "{\"n\":-1}".into(), late).unwrap();
    commit(&repository, transaction);
    repository.checkpoint().unwrap();
    for i in 0..20 {
        write(&repository, &format!("l{i:02}"), &format!("{{\"n\":{i}}}"));
    }
}

/// The power may go before the first opening has made the storage engine.
#[test]
fn an_engine_that_is_not_there_is_empty() {
    let place = Place::new();
    let repository = place.open_only();
    write(&repository, "a", "1");
    drop(repository);
    let engine = place.path().join("engine");
    for cut in ["tables", "current"] {
        // What creating it does last is to name its list of tables.
        let _may_be_gone =
            (fs::remove_file(engine.join(cut)), fs::remove_dir_all(engine.join(cut)));
    }
    let report = verify(place.path()).unwrap();
    assert_eq!((report.wrong, report.last.0), (0, 1), "{:?}", report.findings);
    assert!(!engine.join("current").exists(), "nothing is made");
    fs::remove_dir_all(&engine).unwrap();
    assert_eq!(verify(place.path()).unwrap().wrong, 0);
    assert!(!engine.exists(), "nothing is made");
    let repository = place.open_only();
    assert_eq!(read(&repository, "a").as_deref(), Some("1"));
    repository.close().unwrap();
    drop(repository);
    assert_eq!(verify(place.path()).unwrap().wrong, 0);

    let place = Place::new();
    fill(&place);
    let whole = verify(place.path()).unwrap();
    fs::remove_dir_all(place.path().join("engine")).unwrap();
    let report = verify(place.path()).unwrap();
    assert_eq!((report.wrong, &report.documents), (0, &whole.documents), "all is in the log");
    for segment in place.segments() {
        fs::remove_file(segment).unwrap();
    }
    let report = verify(place.path()).unwrap();
    assert_eq!((report.wrong, report.last.0), (0, 0), "it is a new one: {:?}", report.findings);
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        match entry.metadata().unwrap().is_dir() {
            true => found.extend(files(&entry.path())),
            false => found.push(entry.path()),
        }
    }
    found.sort();
    found
}

/// The same folder, in which one file is another.
fn copy(from: &Path, to: &Path, file: &Path, content: &[u8]) {
    for path in files(from) {
        let copy = to.join(path.strip_prefix(from).unwrap());
        fs::create_dir_all(copy.parent().unwrap()).unwrap();
        match path == file {
            true => fs::write(copy, content).unwrap(),
            false if path.ends_with("lock") => {}
            false => drop(fs::copy(path, copy).unwrap()),
        }
    }
}

fn documents(folder: &Path) -> Result<Vec<(String, String)>, String> {
    let clock = Arc::new(|| Timestamp(1_000_000));
    let options = Options { folder: folder.to_owned(), memory_bytes: 64 << 20, clock };
    let (repository, _) = Repository::open(options).map_err(|error| error.to_string())?;
    let mut transaction = repository.begin().map_err(|error| error.to_string())?;
    let all = repository::KeyRange::all();
    let found = transaction.range(&notes(), &all, repository::Direction::Ascending, 10_000);
    let found = found.map_err(|error| error.to_string())?;
    Ok(found.iter().map(|(key, doc)| (key.to_string(), harness::text(doc))).collect())
}

/// Changes bytes of every file, one after the other, and cuts it. Where nothing is found, nothing
/// is missing; but of the log's last frame nobody can tell whether it was written as a whole, so
/// what verify says of that is that it is unfinished.
#[test]
fn whatever_is_damaged_is_found_or_is_not_missed() {
    let place = Place::new();
    fill(&place);
    let clean = verify(place.path()).unwrap();
    assert_eq!(clean.findings, Vec::<String>::new());
    let expected = documents(place.path()).unwrap();
    assert_eq!(expected.len(), 421);
    let mut random = Random::new(7);
    let (mut found, mut tried) = (0, 0);
    for file in files(place.path()) {
        if file.ends_with("lock") {
            continue;
        }
        let content = fs::read(&file).unwrap();
        let length = content.len();
        let used = content.iter().rposition(|b| *b != 0).map_or(0, |last| last + 1);
        let mut damaged: Vec<Vec<u8>> = Vec::new();
        for _ in 0..24 {
            let mut changed = content.clone();
            if used > 0 {
                changed[random.below(used)] ^= 1 << random.below(8);
            }
            damaged.push(changed);
        }
        damaged.push(content[..used.saturating_sub(1 + random.below(200))].to_vec());
        damaged.push(Vec::new());
        for content in damaged {
            let copied = tempfile::tempdir().unwrap();
            copy(place.path(), copied.path(), &file, &content);
            let report = verify(copied.path());
            tried += 1;
            match report {
                Ok(report) if report.wrong == 0 => {
                    let opened = documents(copied.path()).unwrap();
                    let missing = expected.iter().filter(|d| !opened.contains(d)).count();
                    let is_cut = report.torn_tail.is_some() || content.len() < length;
                    assert!(
                        missing == 0 || (is_cut && missing == 1),
                        "{}: {missing}",
                        file.display()
                    );
                    assert_eq!(opened.len() + missing, expected.len());
                }
                _ => found += 1,
            }
        }
    }
    assert!(found * 2 > tried, "{found} of {tried}");
}

fn damage(place: &Place, file: &Path, at: usize) -> (tempfile::TempDir, VerifyReport) {
    let copied = tempfile::tempdir().unwrap();
    let mut content = fs::read(file).unwrap();
    content[at] ^= 0x40;
    copy(place.path(), copied.path(), file, &content);
    let report = verify(copied.path()).unwrap();
    (copied, report)
}

/// Where a text stands in a file.
fn position(file: &Path, text: &[u8]) -> Option<usize> {
    let content = fs::read(file).unwrap();
    content.windows(text.len()).position(|window| window == text)
}

#[test]
fn a_damaged_table_says_which_keys_are_lost() {
    let place = Place::new();
    fill(&place);
    let tables = files(&place.path().join("engine/tables"));
    let found = tables.iter().find_map(|file| Some((file, position(file, b"\"n\":200,")?)));
    let (file, at) = found.unwrap();
    let (_copy, report) = damage(&place, file, at);
    let text = report.findings.join("\n");
    assert!(text.contains("its checksum is wrong; it holds rows from"), "{text}");
    let lost =
        report.findings.iter().find(|line| line.starts_with("lost: notes: keys from behind"));
    let lost = lost.unwrap_or_else(|| panic!("{text}"));
    let key = |from: &str| {
        let at = lost.find(from).unwrap() + from.len() + 1;
        lost[at..at + 5].to_owned()
    };
    let (from, to) = (key("behind "), key("before "));
    assert!(from.as_str() < "k0200" && "k0200" < to.as_str(), "{lost}");
    assert!(from.as_str() > "k0100" && to.as_str() < "k0300", "no more than a block: {lost}");
    assert!(report.documents["notes"] > 300, "what is behind is read, too: {report:?}");
}

#[test]
fn a_damaged_log_says_which_commits_are_lost_and_what_stands_behind() {
    let place = Place::new();
    fill(&place);
    let segment = place.segments().pop().unwrap();
    let at = position(&segment, b"l07").unwrap();
    let (_copy, report) = damage(&place, &segment, at);
    let text = report.findings.join("\n");
    let last = report.checkpoint.0;
    assert!(text.contains("the tranlog is damaged: segment"), "{text}");
    let lost = format!("lost: commits {} to {}", last + 8, last + 8);
    assert!(text.contains(&lost), "{lost}: {text}");
    assert!(text.contains("stand behind that, whole") && text.contains("notes/l08"), "{text}");
    assert!(text.contains("and others (2 more writes)") && !text.contains("notes/l06"), "{text}");
    assert_eq!(report.documents["notes"], 401, "what the engine has is checked all the same");
}

#[test]
fn a_list_of_tables_that_is_not_whole_keeps_the_engine_closed_unless_an_earlier_one_will_do() {
    let place = Place::new();
    fill(&place);
    let before = files(&place.path().join("engine"));
    let current = fs::read(place.path().join("engine/current")).unwrap();
    let number = u64::from_le_bytes(current[..8].try_into().unwrap());
    let list = format!("v{number}");
    for file in &before {
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        // Lists that were there before count no more.
        if !(name == "current" || name == list) {
            continue;
        }
        let (copied, report) = damage(&place, file, 9);
        let text = report.findings.join("\n");
        assert!(text.contains("checksum") || text.contains("No such file"), "{name}: {text}");
        // One to which the log goes back may be there still.
        let goes_back = text.contains("is whole: opening goes back to it");
        assert!(goes_back || text.contains("lost: every document"), "{text}");
        assert_eq!(files(&copied.path().join("engine")).len(), before.len(), "nothing is removed");
    }
}

#[test]
fn a_repository_is_verified_while_it_is_written_to() {
    let place = Place::new();
    fill(&place);
    let repository = place.open_only();
    std::thread::scope(|scope| {
        let writing = scope.spawn(|| {
            for i in 0..200 {
                write(&repository, &format!("k{:04}", i % 50), &format!("{{\"n\":{i}}}"));
            }
        });
        while !writing.is_finished() {
            let report = repository.snapshot().unwrap().verify();
            assert_eq!(report.findings, Vec::<String>::new());
            assert_eq!(report.documents["notes"], 421);
        }
    });
    assert!(read(&repository, "k0001").is_some());
    repository.close().unwrap();
    drop(repository);
    let tables = files(&place.path().join("engine/tables"));
    let found = tables.iter().find_map(|file| Some((file, position(file, b"\"n\":200,")?)));
    let (file, at) = found.unwrap();
    let mut content = fs::read(file).unwrap();
    content[at] ^= 1;
    fs::write(file, content).unwrap();
    // It is not merged with others, since that reads it.
    let report = place.open_only().snapshot().unwrap().verify();
    assert!(report.findings.iter().any(|line| line.starts_with("lost: notes")), "{report:?}");
}
