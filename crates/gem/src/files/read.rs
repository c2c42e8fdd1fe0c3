//! Reads the files of `public/` within their bounds. Names that begin with a dot are left out, but
//! for `/.well-known/` (RFC 8615).

use super::Files;
use crate::errors::LoadError;
use crate::limits::{FILE_BYTES_MAX, FILES_BYTES_MAX, FILES_DEPTH_MAX, FILES_MAX};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

impl Files {
    /// The files below `folder`; none if it is not there.
    pub(crate) fn read(folder: &Path) -> Result<Self, LoadError> {
        let Ok(meta) = fs::symlink_metadata(folder) else { return Ok(Self::default()) };
        if !meta.is_dir() {
            return Err(refused(folder, "expected a folder of files to serve, and no link"));
        }
        let root = folder.canonicalize().map_err(|error| unreadable(folder, error))?;
        let mut reading = Reading { root, files: Self::default(), count: 0, bytes: 0 };
        reading.folder(folder, "/", 0)?;
        Ok(reading.files)
    }
}

struct Reading {
    /// Without symbolic links.
    root: PathBuf,
    files: Files,
    count: usize,
    bytes: u64,
}

impl Reading {
    /// Reads the folder `at`, whose URI is `path`, with a slash at its end.
    fn folder(&mut self, at: &Path, path: &str, depth: usize) -> Result<(), LoadError> {
        if depth > FILES_DEPTH_MAX {
            return Err(refused(at, &format!("folders lie at most {FILES_DEPTH_MAX} deep")));
        }
        let entries = fs::read_dir(at).map_err(|error| unreadable(at, error))?;
        for entry in entries {
            let entry = entry.map_err(|error| unreadable(at, error))?;
            let file = entry.path();
            let Ok(name) = entry.file_name().into_string() else {
                return Err(refused(&file, "its name is not UTF-8; give it another"));
            };
            if name.starts_with('.') && (depth > 0 || name != ".well-known") {
                continue;
            }
            if name.contains(|c: char| c.is_control() || c == '\\') {
                let why = "its name has a backslash or a control character; give it another";
                return Err(refused(&file, why));
            }
            self.entry(&file, &format!("{path}{name}"), depth)?;
        }
        Ok(())
    }

    fn entry(&mut self, file: &Path, path: &str, depth: usize) -> Result<(), LoadError> {
        let linked = fs::symlink_metadata(file).map_err(|error| unreadable(file, error))?;
        if linked.is_dir() {
            return self.folder(file, &format!("{path}/"), depth + 1);
        }
        let meta = match linked.is_symlink() {
            true => self.target(file)?,
            false => linked,
        };
        if !meta.is_file() {
            return Err(refused(file, "it is neither a file nor a folder; take it away"));
        }
        self.count += 1;
        self.bytes += meta.len();
        self.check(file, meta.len())?;
        let bytes = fs::read(file).map_err(|error| unreadable(file, error))?;
        // It may have grown since it was looked at.
        self.bytes += (bytes.len() as u64).saturating_sub(meta.len());
        self.check(file, bytes.len() as u64)?;
        self.files.add(path, bytes.into());
        Ok(())
    }

    /// What a link leads to, which must be a file of this folder: a folder could hold itself.
    fn target(&self, link: &Path) -> Result<fs::Metadata, LoadError> {
        let target = link.canonicalize().map_err(|error| unreadable(link, error))?;
        if !target.starts_with(&self.root) {
            return Err(refused(link, "it is a link out of public/; put a copy there instead"));
        }
        let meta = fs::metadata(target).map_err(|error| unreadable(link, error))?;
        if meta.is_dir() {
            return Err(refused(link, "it is a link to a folder; link the files, or copy it"));
        }
        Ok(meta)
    }

    fn check(&self, file: &Path, bytes: u64) -> Result<(), LoadError> {
        let elsewhere = "serve the rest from elsewhere";
        if self.count > FILES_MAX {
            let why = format!("public/ has at most {FILES_MAX} files; {elsewhere}");
            return Err(refused(file, &why));
        }
        if bytes > FILE_BYTES_MAX {
            let why = format!("a file of public/ has at most {FILE_BYTES_MAX} bytes; got {bytes}");
            return Err(refused(file, &format!("{why}; {elsewhere}")));
        }
        if self.bytes > FILES_BYTES_MAX {
            let why = format!("the files of public/ have at most {FILES_BYTES_MAX} bytes in all");
            return Err(refused(
                file,
                &format!("{why}; with this one {}; {elsewhere}", self.bytes),
            ));
        }
        Ok(())
    }
}

fn refused(path: &Path, why: &str) -> LoadError {
    LoadError::File { path: path.to_owned(), why: why.to_owned() }
}

fn unreadable(path: &Path, error: io::Error) -> LoadError {
    LoadError::Read { path: path.to_owned(), source: Arc::new(error), hint: "" }
}

#[cfg(test)]
mod tests {
    use super::super::Found;
    use super::*;
    use std::os::unix::fs::symlink;
    use tempfile::TempDir;

    fn public(files: &[&str]) -> TempDir {
        let folder = tempfile::tempdir().unwrap();
        for file in files {
            let path = folder.path().join("public").join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, file).unwrap();
        }
        folder
    }

    fn read(folder: &TempDir) -> Result<Files, String> {
        Files::read(&folder.path().join("public")).map_err(|error| {
            error.to_string().replace(&format!("{}/", folder.path().display()), "")
        })
    }

    fn has(files: &Files, path: &str) -> bool {
        matches!(files.find(path), Some(Found::File(_)))
    }

    #[test]
    fn files_and_folders_but_none_with_a_dot() {
        let folder = public(&[
            "a.css",
            "d/e/b.js",
            ".env",
            ".git/x",
            "d/.secret",
            "d/.well-known/x",
            ".well-known/security.txt",
            "d/index.html",
        ]);
        let files = read(&folder).unwrap();
        for path in ["/a.css", "/d/e/b.js", "/.well-known/security.txt", "/d/", "/d/index.html"] {
            assert!(has(&files, path), "{path}");
        }
        for path in ["/.env", "/.git/x", "/d/.secret", "/d/.well-known/x", "/d/e"] {
            assert!(!has(&files, path), "{path}");
        }
        assert!(read(&public(&[])).unwrap().is_empty(), "without a folder there are none");
    }

    #[test]
    fn links_stay_inside() {
        let folder = public(&["a.css", "d/b.css"]);
        let public = folder.path().join("public");
        symlink(public.join("a.css"), public.join("d/link.css")).unwrap();
        assert!(has(&read(&folder).unwrap(), "/d/link.css"));
        let refused = |target: &Path, why: &str| {
            let link = public.join("out.css");
            symlink(target, &link).unwrap();
            let error = read(&folder).unwrap_err();
            fs::remove_file(link).unwrap();
            assert!(error.starts_with("public/out.css: ") && error.contains(why), "{error}");
        };
        fs::write(folder.path().join("app.js"), "secret").unwrap();
        refused(&folder.path().join("app.js"), "link out of public/");
        refused(Path::new("/etc/passwd"), "link out of public/");
        refused(&public, "link to a folder");
        symlink("nowhere", public.join("z")).unwrap();
        assert!(read(&folder).unwrap_err().contains("public/z: No such file"));
    }

    #[test]
    fn what_is_no_file_is_named() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("public"), "").unwrap();
        assert!(read(&folder).unwrap_err().starts_with("public: expected a folder"));
        let folder = public(&["a\\b"]);
        assert!(read(&folder).unwrap_err().contains("its name has a backslash"));
    }

    #[test]
    fn each_bound_is_reached_and_refused() {
        let reading =
            |count, bytes| Reading { root: PathBuf::new(), files: Files::default(), count, bytes };
        let check = |count, bytes, one| {
            let outcome = reading(count, bytes).check(Path::new("public/a"), one);
            outcome.map_err(|error| error.to_string())
        };
        assert_eq!(check(FILES_MAX, FILES_BYTES_MAX, FILE_BYTES_MAX), Ok(()));
        let error = check(FILES_MAX + 1, 0, 0).unwrap_err();
        assert_eq!(
            error,
            "public/a: public/ has at most 10000 files; serve the rest from elsewhere"
        );
        assert!(check(1, 0, FILE_BYTES_MAX + 1).unwrap_err().contains("at most 33554432 bytes"));
        let error = check(1, FILES_BYTES_MAX + 1, 1).unwrap_err();
        assert!(error.contains("at most 268435456 bytes in all"), "{error}");
        let deep = format!("{}a", "d/".repeat(FILES_DEPTH_MAX + 1));
        assert!(read(&public(&[&deep])).unwrap_err().contains("at most 32 deep"));
        assert!(read(&public(&[&deep[2..]])).is_ok());
    }
}
