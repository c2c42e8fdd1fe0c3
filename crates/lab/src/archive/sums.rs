//! The sums of the files of a run, as `sha256sum` writes and checks them, and what has changed
//! since they were written. It changes nothing.

use super::environment::sha256_of;
use super::error::{ArchiveError, reading};
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The list of sums in a run's folder.
pub(super) const FILE: &str = "SHA256SUMS";

/// Behind the id in the name of the file with the sum of that list, beside the folder.
pub(super) const BESIDE: &str = ".sha256";

/// What is in a folder, in order.
pub(super) fn entries(folder: &Path) -> Result<Vec<PathBuf>, ArchiveError> {
    let read = || -> io::Result<Vec<PathBuf>> {
        fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect()
    };
    let mut paths = read().map_err(reading(folder))?;
    paths.sort();
    Ok(paths)
}

/// One line for each file below a folder.
pub(super) fn of_folder(folder: &Path) -> Result<String, ArchiveError> {
    let mut lines = String::new();
    for name in files(folder)? {
        let path = folder.join(&name);
        let sum = sha256_of(&path).map_err(reading(&path))?;
        lines.push_str(&format!("{sum}  {name}\n"));
    }
    Ok(lines)
}

/// The files below a folder but the list itself, with `/` between folders, in order.
fn files(folder: &Path) -> Result<Vec<String>, ArchiveError> {
    let mut names = Vec::new();
    for path in entries(folder)? {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() {
            names.extend(files(&path)?.into_iter().map(|below| format!("{name}/{below}")));
        } else if name != FILE {
            names.push(name);
        }
    }
    Ok(names)
}

/// What is not as it was when the run was archived, one line each; nothing if all is.
pub(super) fn changes(runs: &Path, id: &str) -> Result<Vec<String>, ArchiveError> {
    let folder = runs.join(id);
    let list = folder.join(FILE);
    let Ok(text) = fs::read_to_string(&list) else {
        return Ok(vec![format!("{FILE} is missing or cannot be read")]);
    };
    let mut changes = beside(runs, id, &list)?;
    let mut unlisted: BTreeSet<String> = files(&folder)?.into_iter().collect();
    for line in text.lines() {
        let Some((sum, name)) = line.split_once("  ") else {
            changes.push(format!("{FILE}: \"{line}\" is no line of it"));
            continue;
        };
        if !unlisted.remove(name) {
            changes.push(format!("{name} is missing"));
            continue;
        }
        match sha256_of(&folder.join(name)) {
            Ok(found) if found == sum => {}
            Ok(_) => changes.push(format!("{name} was changed")),
            Err(error) => changes.push(format!("{name} cannot be read: {error}")),
        }
    }
    changes.extend(unlisted.iter().map(|name| format!("{name} was added")));
    Ok(changes)
}

/// The same of the list.
fn beside(runs: &Path, id: &str, list: &Path) -> Result<Vec<String>, ArchiveError> {
    let found = sha256_of(list).map_err(reading(list))?;
    Ok(match fs::read_to_string(runs.join(format!("{id}{BESIDE}"))) {
        Ok(kept) if kept.split_whitespace().next() == Some(&found) => Vec::new(),
        Ok(_) => vec![format!("{FILE} was changed: it is not the one of {id}{BESIDE}")],
        Err(_) => {
            vec![format!("{id}{BESIDE} is missing: whether {FILE} was changed cannot be told")]
        }
    })
}
