//! The file of names and passwords, in the form of memcached's `-Y`: a line `user:password` each.

use crate::limits::{AUTH_BYTES_MAX, AUTH_FILE_BYTES_MAX, AUTH_USERS_MAX};
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use subtle::{Choice, ConstantTimeEq};
use thiserror::Error;

/// Who may ask.
#[derive(Debug)]
pub struct AuthFile {
    /// Each is `user:password`.
    lines: Vec<Vec<u8>>,
}

/// Why a file of names and passwords is none.
#[derive(Debug, Error)]
pub enum AuthFileError {
    /// It cannot be read.
    #[error("cannot read the names and passwords in {}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// It is too long.
    #[error(
        "the names and passwords in {} are more than {AUTH_FILE_BYTES_MAX} bytes or \
         {AUTH_USERS_MAX} lines", path.display()
    )]
    TooLong {
        /// The file.
        path: PathBuf,
    },
    /// A line is none.
    #[error(
        "{}:{line}: expected user:password, without spaces and with at most {AUTH_BYTES_MAX} bytes",
        path.display()
    )]
    Line {
        /// The file.
        path: PathBuf,
        /// The number of the line, from 1.
        line: usize,
    },
    /// There is nobody in it.
    #[error("{} has no line user:password", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
}

impl AuthFile {
    /// Reads the file.
    ///
    /// # Errors
    /// See [`AuthFileError`].
    pub fn read(path: &Path) -> Result<Self, AuthFileError> {
        let path = path.to_owned();
        let mut text = Vec::new();
        let read = File::open(&path)
            .and_then(|file| file.take(AUTH_FILE_BYTES_MAX + 1).read_to_end(&mut text));
        if let Err(source) = read {
            return Err(AuthFileError::Io { path, source });
        }
        if text.len() as u64 > AUTH_FILE_BYTES_MAX {
            return Err(AuthFileError::TooLong { path });
        }
        let mut lines = Vec::new();
        for (at, line) in text.split(|byte| *byte == b'\n').enumerate() {
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            if line.is_empty() {
                continue;
            }
            if !is_valid(line) {
                return Err(AuthFileError::Line { path, line: at + 1 });
            }
            lines.push(line.to_vec());
        }
        match lines.len() {
            0 => Err(AuthFileError::Empty { path }),
            1..=AUTH_USERS_MAX => Ok(Self { lines }),
            _ => Err(AuthFileError::TooLong { path }),
        }
    }

    /// Whether this is one of the pairs. Every line is compared to its end, whatever the others
    /// gave, so that the time tells nothing but lengths.
    pub(crate) fn knows(&self, user: &[u8], password: &[u8]) -> bool {
        let shown = [user, b":", password].concat();
        let equal = self.lines.iter().map(|line| line.as_slice().ct_eq(&shown));
        // A user with a colon must not stand for another's password's begin.
        let is_known: bool = equal.fold(Choice::from(0), |any, one| any | one).into();
        is_known && !user.contains(&b':')
    }
}

fn is_valid(line: &[u8]) -> bool {
    let colon = line.iter().position(|byte| *byte == b':');
    let is_pair = colon.is_some_and(|at| at > 0 && at + 1 < line.len());
    is_pair && line.len() <= AUTH_BYTES_MAX && !line.iter().any(|byte| *byte <= b' ')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &[u8]) -> Result<AuthFile, AuthFileError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("users");
        std::fs::write(&path, text).unwrap();
        AuthFile::read(&path)
    }

    #[test]
    fn pairs_are_known_and_nothing_else() {
        let auth = file(b"ann:se:cret\r\n\nbob:x\n").unwrap();
        assert!(auth.knows(b"ann", b"se:cret") && auth.knows(b"bob", b"x"));
        for (user, password) in [
            ("ann", "secret"),
            ("ann", "x"),
            ("ann:se", "cret"),
            ("", "x"),
            ("bob", ""),
            ("b", "x"),
        ] {
            assert!(!auth.knows(user.as_bytes(), password.as_bytes()), "{user} {password}");
        }
    }

    #[test]
    fn what_is_no_file_of_pairs_is_refused() {
        for (text, expected) in [
            (&b""[..], "has no line"),
            (b"ann:x\nbob\n", ":2: expected user:password"),
            (b":x\n", ":1: "),
            (b"ann:\n", ":1: "),
            (b"ann:a b\n", ":1: "),
            (&[b'x'; 70 << 10], "more than 65536 bytes"),
            (&b"a:b\n".repeat(AUTH_USERS_MAX + 1), "64 lines"),
            (&[&b"a:"[..], &[b'x'; AUTH_BYTES_MAX]].concat(), "at most 1024 bytes"),
        ] {
            let error = file(text).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
        assert!(AuthFile::read(Path::new("/none/users")).is_err());
        assert!(file(&b"a:b\n".repeat(AUTH_USERS_MAX)).is_ok());
    }
}
