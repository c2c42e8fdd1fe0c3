//! What there is in an application's folder, so that two looks at it can be compared. Files are
//! known by their times, sizes and numbers, not read: an editor that writes another file and
//! renames it is seen as well as one that writes in place.

use crate::limits::{WATCH_DEPTH_MAX, WATCH_FILES_MAX};
use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Files by their paths.
pub type Files = BTreeMap<PathBuf, Mark>;

/// What changes with a file: time (seconds, nanoseconds) of its last change, size in bytes, and
/// number on its device.
pub type Mark = (i64, i64, u64, u64);

/// Every file in `folder` but what the application is not made of: hidden files, packages, its own
/// tests, and `data`. At most [`WATCH_FILES_MAX`]; the rest is left out.
pub fn scan(folder: &Path, data: &Path) -> Files {
    let data = data.canonicalize().ok();
    let mut files = Files::new();
    let mut folders = vec![(folder.to_owned(), 0)];
    while let Some((folder, depth)) = folders.pop() {
        // A folder or file that has gone meanwhile is not there.
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        for entry in entries.flatten() {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            let is_test = depth == 0 && name == "test";
            if name.starts_with('.') || name == "node_modules" || is_test {
                continue;
            }
            let path = entry.path();
            let Ok(metadata) = fs::metadata(&path) else { continue };
            if !metadata.is_dir() {
                files.insert(path, mark(&metadata));
            } else if depth < WATCH_DEPTH_MAX && path.canonicalize().ok() != data {
                folders.push((path, depth + 1));
            }
            if files.len() == WATCH_FILES_MAX {
                return files;
            }
        }
    }
    files
}

fn mark(metadata: &Metadata) -> Mark {
    // The time of the last change of anything about the file: a copy may keep the other time.
    (metadata.ctime(), metadata.ctime_nsec(), metadata.len(), metadata.ino())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_of_every_kind_are_seen_and_nothing_else() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        let write = |name: &str, text: &str| {
            fs::create_dir_all(path(name).parent().expect("a parent")).expect("folders");
            fs::write(path(name), text).expect("a file");
        };
        for name in ["app.js", "lib/a.js", "public/style.css"] {
            write(name, "1");
        }
        let look = || scan(folder.path(), &path("sarsen-data"));
        let mut seen = look();
        assert_eq!(seen.len(), 3);
        let mut changed = |what: &str, is_edit: bool| {
            let found = look();
            assert_eq!(found != seen, is_edit, "{what}");
            seen = found;
        };
        changed("nothing", false);
        for unwatched in [".git/x", "node_modules/x/y.js", "test/a.test.js", "sarsen-data/1.log"] {
            write(unwatched, "1");
            changed(unwatched, false);
        }
        write("lib/a.js", "22");
        changed("written in place", true);
        write(".lib-a.js.swp", "33");
        fs::rename(path(".lib-a.js.swp"), path("lib/a.js")).expect("renamed");
        changed("renamed over, of the same size", true);
        write("lib/b/c.js", "1");
        changed("added", true);
        fs::remove_file(path("public/style.css")).expect("removed");
        changed("removed", true);
    }
}
