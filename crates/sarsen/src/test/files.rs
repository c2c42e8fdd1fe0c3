//! Finds an application's tests: `*.test.js` and `*.test.ts` in its folder and anywhere below
//! `test/`.

use crate::limits::{TEST_FILES_MAX, TEST_FOLDERS_MAX};
use std::fs;
use std::io;
use std::path::Path;

/// Their paths below the folder, with `/` between names, by name.
pub fn find(folder: &Path) -> io::Result<Vec<String>> {
    let mut files = Vec::new();
    let mut folders = vec![String::new()];
    let mut looked_into = 0;
    while let Some(below) = folders.pop() {
        looked_into += 1;
        if looked_into > TEST_FOLDERS_MAX || files.len() > TEST_FILES_MAX {
            let most =
                format!("tests are at most {TEST_FILES_MAX} files in {TEST_FOLDERS_MAX} folders");
            return Err(io::Error::other(most));
        }
        for entry in fs::read_dir(folder.join(&below))? {
            let entry = entry?;
            let Ok(name) = entry.file_name().into_string() else { continue };
            let path = format!("{below}{name}");
            let is_folder = entry.file_type()?.is_dir();
            if is_folder && (!below.is_empty() || name == "test") {
                folders.push(path + "/");
            } else if !is_folder && is_test(&name) {
                files.push(path);
            }
        }
    }
    files.sort();
    Ok(files)
}

fn is_test(name: &str) -> bool {
    [".test.js", ".test.ts"].iter().any(|end| name.len() > end.len() && name.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_found_by_their_names() {
        let folder = tempfile::tempdir().expect("a folder");
        let files = [
            "app.js",
            "b.test.ts",
            "test/a.test.js",
            "test/deep/er/c.test.js",
            "test/tools.js",
            "public/no.test.js",
            ".test.js",
        ];
        for file in files {
            let path = folder.path().join(file);
            fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
            fs::write(path, "").expect("a file");
        }
        let found = find(folder.path()).expect("it can be read");
        assert_eq!(found, ["b.test.ts", "test/a.test.js", "test/deep/er/c.test.js"]);
    }
}
