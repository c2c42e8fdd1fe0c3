//! Damaged backups: each change of a file is found and named, and nothing is made of it.

use crate::harness::random::Random;
use crate::harness::{Place, write};
use crate::model::*;
use repository::limits::BACKUP_FILE_READ_BYTES_MAX;
use repository::{BackupKind, verify_backups};
use std::path::{Path, PathBuf};

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let nested = |path: PathBuf| if path.is_dir() { files(&path) } else { vec![path] };
    let mut files: Vec<PathBuf> = entries.flat_map(nested).collect();
    files.retain(|file| !file.ends_with("lock"));
    files.sort();
    files
}

fn check(backups: &Path, file: &Path, what: &str) {
    let name = file.file_name().unwrap().to_string_lossy().into_owned();
    let target = Place::new();
    let refused = match restored(backups, &target, None) {
        Err(error) => error.to_string(),
        Ok(_) => panic!("{what} of {name} was not seen"),
    };
    let said = refused.contains(&name) || refused.contains("no folder of backups");
    assert!(said, "{what} of {name}: {refused}");
    assert!(!target.path().join("format").exists(), "{what} of {name} made a repository");
    if let Ok(listing) = verify_backups(backups) {
        assert!(!listing.findings.is_empty(), "{what} of {name} passes for right");
    }
}

#[test]
fn every_damaged_file_is_refused_by_name() {
    let (place, backups) = (Place::new(), tempfile::tempdir().unwrap());
    let repository = place.open_only();
    for i in 0..50 {
        write(&repository, &format!("{i}"), "[1,2,3]");
    }
    back_up(&repository, backups.path(), BackupKind::Full);
    let mut random = Random::new(1);
    let all = files(backups.path());
    assert_eq!(all.len(), 3, "{all:?}");
    for file in all {
        let content = std::fs::read(&file).unwrap();
        for _ in 0..25 {
            let mut damaged = content.clone();
            let at = random.below(content.len());
            damaged[at] ^= 1 << random.below(8);
            std::fs::write(&file, &damaged).unwrap();
            check(backups.path(), &file, &format!("a flip at {at}"));
            let length = random.below(content.len());
            std::fs::write(&file, &content[..length]).unwrap();
            check(backups.path(), &file, &format!("the first {length} bytes"));
        }
        std::fs::write(&file, &content).unwrap();
    }
    assert!(verify_backups(backups.path()).unwrap().findings.is_empty());
}

#[test]
fn a_file_that_is_missing_or_too_large_is_refused() {
    let (place, backups) = (Place::new(), tempfile::tempdir().unwrap());
    let repository = place.open_only();
    write(&repository, "a", "1");
    let set = back_up(&repository, backups.path(), BackupKind::Full).set;
    let rows = backups.path().join(set).join("000000.rows");
    let content = std::fs::read(&rows).unwrap();
    std::fs::write(&rows, [&content[..], b"x"].concat()).unwrap();
    check(backups.path(), &rows, "a byte more at the end");
    std::fs::File::create(&rows).unwrap().set_len(BACKUP_FILE_READ_BYTES_MAX + 1).unwrap();
    check(backups.path(), &rows, "a large hole in place");
    std::fs::remove_file(&rows).unwrap();
    check(backups.path(), &rows, "the absence");
}
