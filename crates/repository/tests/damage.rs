//! Opening and reading a repository of which files are damaged or missing: an error names the file,
//! a refusal changes nothing, and what can be known to be missing is not passed over.

use crate::harness::{Place, get, put, read, write};
use repository::{KeyRange, OpenError, Options, Repository, Timestamp, verify};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

type Files = BTreeMap<PathBuf, Vec<u8>>;

/// The files of a folder and what is in them, but for the lock, whose text is for people.
fn files(folder: &Path) -> Files {
    let mut found = Files::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let path = entry.path();
        match entry.metadata().unwrap().is_dir() {
            true => {
                let below = files(&path);
                let name = PathBuf::from(entry.file_name());
                found.extend(below.into_iter().map(|(path, content)| (name.join(path), content)));
            }
            false if path.ends_with("lock") => {}
            false => drop(found.insert(entry.file_name().into(), fs::read(path).unwrap())),
        }
    }
    found
}

fn lay(files: &Files) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (path, content) in files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    folder
}

fn open(folder: &Path) -> Result<Arc<Repository>, OpenError> {
    let clock = Arc::new(|| Timestamp(1_000_000));
    let options = Options { folder: folder.to_owned(), memory_bytes: 64 << 20, clock };
    Ok(Repository::open(options)?.0)
}

/// Everything, or why it cannot be read.
fn documents(repository: &Repository) -> Result<Vec<(String, String)>, String> {
    let notes = crate::harness::notes();
    let mut transaction = repository.begin().map_err(|error| error.to_string())?;
    let ascending = repository::Direction::Ascending;
    let found = transaction.range(&notes, &KeyRange::all(), ascending, 10_000);
    let found = found.map_err(|error| error.to_string())?;
    Ok(found.iter().map(|(key, doc)| (key.to_string(), crate::harness::text(doc))).collect())
}

/// Documents in tables, and some that are in the log alone.
fn fill(place: &Place) -> Vec<(String, String)> {
    let repository = place.open_only();
    for round in 0..3 {
        let mut transaction = repository.begin().unwrap();
        for i in (round..300).step_by(3) {
            put(&mut transaction, &format!("k{i:04}"), &format!("\"{round}{}\"", "x".repeat(80)));
        }
        crate::harness::commit(&repository, transaction);
        repository.checkpoint().unwrap();
    }
    for i in 0..5 {
        write(&repository, &format!("l{i}"), "1");
    }
    documents(&repository).unwrap()
}

/// Opening is refused, and names the file.
fn refused(folder: &Path, named: &str) -> String {
    // An engine that is whole has removed what a crash had left of its own.
    let is_engine = named.starts_with("engine");
    let files = |folder: &Path| {
        let mut files = files(folder);
        files.retain(|path, _| is_engine || !path.starts_with("engine"));
        files
    };
    let before = files(folder);
    let error = open(folder).err().unwrap_or_else(|| panic!("it opens without {named}"));
    let error = error.to_string();
    let path = folder.join(named);
    assert!(error.contains(&path.display().to_string()), "expected {named} in: {error}");
    assert!(error.contains("No data was changed"), "{error}");
    assert!(files(folder) == before, "a refusal changes nothing");
    let report = verify(folder).unwrap();
    assert!(report.wrong > 0, "verify says so, too");
    assert!(files(folder) == before, "neither does verify");
    error
}

/// Each file of the engine is removed, emptied, cut, or has bytes changed: all documents are found,
/// or an error names the file.
#[test]
fn damage_to_any_file_of_the_engine_names_it() {
    let place = Place::new();
    let expected = fill(&place);
    let whole = files(place.path());
    let is_engine = |path: &&PathBuf| path.starts_with("engine");
    let (mut refused, mut unreadable) = (0, 0);
    for file in whole.keys().filter(is_engine) {
        let content = &whole[file];
        let mut damaged = vec![None, Some(Vec::new()), Some(content[..content.len() / 2].to_vec())];
        for eighth in 0..8 {
            let mut changed = content.clone();
            changed[eighth * content.len() / 8] ^= 0x20;
            damaged.push(Some(changed));
        }
        for content in damaged {
            let mut with = whole.clone();
            match content {
                Some(content) => drop(with.insert(file.clone(), content)),
                None => drop(with.remove(file)),
            }
            let folder = lay(&with);
            let read = open(folder.path()).map_err(|error| error.to_string());
            let is_open = read.is_ok();
            let read = read.and_then(|repository| documents(&repository));
            match read {
                Ok(found) => assert!(found == expected, "{}", file.display()),
                Err(error) => {
                    let is_list = file.to_string_lossy().contains("engine/v");
                    let named = match is_list && error.contains("engine/current") {
                        true => "engine/current".into(),
                        false => file.display().to_string(),
                    };
                    assert!(error.contains(&named), "{}: {error}", file.display());
                    let says_unchanged = error.contains("No data was changed");
                    let is_unchanged = !is_open && files(folder.path()) == with;
                    assert!(is_unchanged || !says_unchanged, "it was changed: {error}");
                    *(if is_open { &mut unreadable } else { &mut refused }) += 1;
                }
            }
        }
    }
    assert!(refused > 10 && unreadable > 2, "{refused} refused, {unreadable} unreadable");
}

#[test]
fn an_engine_without_its_current_list_is_damaged_and_not_new() {
    let place = Place::new();
    fill(&place);
    fs::remove_file(place.path().join("engine/current")).unwrap();
    let error = refused(place.path(), "engine/current");
    assert!(error.contains("the storage engine is damaged"), "{error}");
}

#[test]
fn an_engine_that_is_gone_is_made_anew_only_where_the_log_has_everything() {
    let place = Place::new();
    let expected = fill(&place);
    fs::remove_dir_all(place.path().join("engine")).unwrap();
    assert_eq!(documents(&open(place.path()).unwrap()).unwrap(), expected);

    // Of the log only what an older repository has of it: what follows on the engine.
    let place = Place::new();
    fill(&place);
    drop(place.open_only());
    write(&place.open_only(), "late", "1");
    fs::remove_dir_all(place.path().join("engine")).unwrap();
    fs::remove_file(&place.segments()[0]).unwrap();
    let before = files(place.path());
    let error = open(place.path()).err().expect("it opens without what the engine had");
    assert!(matches!(error, OpenError::Damaged { .. }), "{error}");
    assert!(error.to_string().contains("No data was changed"), "{error}");
    assert!(files(place.path()) == before, "a refusal changes nothing");
}

/// A process that was killed while it wrote a list anew that counts already, as earlier builds did
/// after a sync had failed, leaves one that is torn, and the one before.
#[test]
fn a_list_that_is_torn_gives_way_to_the_one_before_it() {
    let place = Place::new();
    let repository = place.open_only();
    write(&repository, "a", "1");
    repository.checkpoint().unwrap();
    let before = files(place.path());
    write(&repository, "b", "2");
    repository.checkpoint().unwrap();
    write(&repository, "c", "3");
    drop(repository);
    let after = files(place.path());
    let current = |files: &Files| {
        let current = &files[Path::new("engine/current")];
        let number = u64::from_le_bytes(current[..8].try_into().unwrap());
        PathBuf::from(format!("engine/v{number}"))
    };
    let (old, new) = (current(&before), current(&after));
    assert_ne!(old, new);
    let mut torn = after;
    for (path, content) in before {
        if path == old || path.starts_with("engine/tables") {
            torn.insert(path, content);
        }
    }
    torn.get_mut(&new).unwrap().truncate(100);
    let folder = lay(&torn);
    let report = verify(folder.path()).unwrap();
    let text = report.findings.join("\n");
    assert!(report.wrong > 0 && text.contains("opening goes back to it"), "{text}");
    for _ in 0..2 {
        let repository = open(folder.path()).unwrap();
        for (key, body) in [("a", "1"), ("b", "2"), ("c", "3")] {
            assert_eq!(read(&repository, key).as_deref(), Some(body), "{key}");
        }
        repository.close().unwrap();
        drop(repository);
        assert_eq!(verify(folder.path()).unwrap().findings, Vec::<String>::new());
    }

    // Where a table of it is not whole, or the log does not go on from it, nothing is changed.
    let mut worse = torn.clone();
    let table = worse.keys().find(|path| path.starts_with("engine/tables")).unwrap().clone();
    worse.get_mut(&table).unwrap()[9] ^= 1;
    refused(lay(&worse).path(), new.to_str().unwrap());
    let mut worse = torn;
    worse.retain(|path, _| !path.starts_with("tranlog"));
    let folder = lay(&worse);
    fs::create_dir_all(folder.path().join("tranlog")).unwrap();
    let before = files(folder.path());
    let error = open(folder.path()).err().expect("without the log it has less").to_string();
    assert!(error.contains(".seg") && files(folder.path()) == before, "{error}");
}

#[test]
fn the_newest_segment_is_missed_where_a_checkpoint_knows_of_it() {
    let place = Place::new();
    fill(&place);
    let newest = place.segments().pop().unwrap();
    fs::remove_file(&newest).unwrap();
    let named = newest.strip_prefix(place.path()).unwrap().to_str().unwrap().to_owned();
    let error = refused(place.path(), &named);
    assert!(error.contains("it is missing"), "{error}");

    // One that was begun since is missed by the one after it, which is empty.
    let place = Place::new();
    fill(&place);
    drop(place.open_only());
    drop(place.open_only());
    let segments = place.segments();
    let [.., lost, _empty] = &segments[..] else { panic!("{segments:?}") };
    fs::remove_file(lost).unwrap();
    let named = lost.strip_prefix(place.path()).unwrap().to_str().unwrap().to_owned();
    let error = refused(place.path(), &named);
    assert!(error.contains("is there"), "{error}");
}

/// Where a segment is used again that is the only one, there is always one that says how far the
/// log had come.
#[test]
fn a_log_of_one_segment_opens_again_and_again() {
    let place = Place::new();
    for round in 0..12 {
        let repository = place.open_retaining_nothing();
        write(&repository, "a", &round.to_string());
        repository.checkpoint().unwrap();
        if round % 2 == 0 {
            repository.close().unwrap();
        }
        drop(repository);
        assert_eq!(verify(place.path()).unwrap().findings, Vec::<String>::new());
    }
    let repository = place.open_only();
    assert_eq!(get(&mut repository.begin().unwrap(), "a").as_deref(), Some("11"));
}
