//! The text files that the rules look at: what git tracks, and what it would if asked to. It reads
//! them; it judges nothing.

use super::TidyError;
use std::path::Path;
use std::process::Command;

/// One text file of the repository.
pub struct TextFile {
    /// From the root of the repository, with `/`.
    pub path: String,
    /// Its content.
    pub text: String,
}

/// Every text file, in no order. What is not UTF-8, or holds a NUL byte, is not text.
pub fn read_all(root: &Path) -> Result<Vec<TextFile>, TidyError> {
    let mut files = Vec::new();
    for path in list(root)? {
        let full = root.join(&path);
        // Deleted but not yet staged files are still listed, and a submodule is a folder.
        if !full.is_file() {
            continue;
        }
        let bytes =
            std::fs::read(&full).map_err(|source| TidyError::Read { path: full, source })?;
        if let Some(text) = String::from_utf8(bytes).ok().filter(|text| !text.contains('\0')) {
            files.push(TextFile { path, text });
        }
    }
    Ok(files)
}

/// The text of the file at `path`, if there is one.
pub fn find<'a>(files: &'a [TextFile], path: &str) -> Option<&'a str> {
    files.iter().find(|file| file.path == path).map(|file| file.text.as_str())
}

fn list(root: &Path) -> Result<Vec<String>, TidyError> {
    if root.join(".git").exists() {
        return list_by_git(root);
    }
    let mut paths = Vec::new();
    walk(root, "", &mut paths)?;
    Ok(paths)
}

/// Everything below `folder`, for a tree that was unpacked and not cloned: without what builds and
/// servers leave there, and without hidden folders that are not ours.
fn walk(root: &Path, folder: &str, paths: &mut Vec<String>) -> Result<(), TidyError> {
    let full = root.join(folder);
    let failed = |source| TidyError::Read { path: full.clone(), source };
    for entry in std::fs::read_dir(&full).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = if folder.is_empty() { name.clone() } else { format!("{folder}/{name}") };
        if !entry.file_type().map_err(failed)?.is_dir() {
            paths.push(path);
        } else if matches!(name.as_str(), ".cargo" | ".ci")
            || !(name.starts_with('.') || matches!(name.as_str(), "target" | "sarsen-data"))
        {
            walk(root, &path, paths)?;
        }
    }
    Ok(())
}

fn list_by_git(root: &Path) -> Result<Vec<String>, TidyError> {
    // Without `safe.directory` git refuses a checkout that belongs to another user.
    let arguments = [
        "-c",
        "safe.directory=*",
        "ls-files",
        "-z",
        "--cached",
        "--others",
        "--exclude-standard",
        "--deduplicate",
    ];
    let command = || format!("git {}", arguments.join(" "));
    let output = Command::new("git")
        .current_dir(root)
        .args(arguments)
        .output()
        .map_err(|error| TidyError::Command { command: command(), why: error.to_string() })?;
    if !output.status.success() {
        let why = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(TidyError::Command { command: command(), why });
    }
    let names = output.stdout.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    Ok(names.map(|name| String::from_utf8_lossy(name).into_owned()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn git(folder: &Path, arguments: &[&str]) {
        let status = Command::new("git").current_dir(folder).args(arguments).status().unwrap();
        assert!(status.success(), "git {arguments:?}");
    }

    #[test]
    fn tracked_and_new_files_are_read_and_ignored_ones_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        git(root, &["init", "--quiet"]);
        for (name, text) in [
            (".gitignore", "/out\n"),
            ("a.rs", "tracked"),
            ("b.rs", "new"),
            ("out", "ignored"),
            ("c.bin", "a\0b"),
        ] {
            std::fs::write(root.join(name), text).unwrap();
        }
        git(root, &["add", "a.rs"]);
        let files = read_all(root).unwrap();
        assert_eq!(find(&files, "a.rs"), Some("tracked"));
        assert_eq!(find(&files, "b.rs"), Some("new"));
        assert_eq!(find(&files, "out"), None, "git ignores it");
        assert_eq!(find(&files, "c.bin"), None, "it is not text");
    }

    #[test]
    fn an_unpacked_tree_is_read_without_what_builds_leave() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        for name in ["src", ".ci", "target", ".idea"] {
            std::fs::create_dir(root.join(name)).unwrap();
            std::fs::write(root.join(name).join("a"), name).unwrap();
        }
        let mut paths: Vec<String> = read_all(root).unwrap().into_iter().map(|f| f.path).collect();
        paths.sort();
        assert_eq!(paths, [".ci/a", "src/a"]);
    }

    #[test]
    fn what_git_refuses_is_a_clear_error() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(".git"), "not what git expects").unwrap();
        let error = read_all(folder.path()).err().unwrap().to_string();
        assert!(error.starts_with("`git "), "{error}");
    }
}
