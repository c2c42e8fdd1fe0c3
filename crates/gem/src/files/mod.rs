//! The files of `public/`: read once, when the application loads, and kept in memory for as long as
//! that application is served. Which part of a file a client gets, and under which conditions, is
//! the face's affair.
//!
//! A request's path is only looked up in a table of what was read, so that no path whatever leads
//! to another file.

mod coding;
mod media_types;
mod read;

pub use coding::Coding;

use crate::settings::distance;
use bytes::Bytes;
use sha2::{Digest, Sha256};
use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::Write;
use std::sync::{Arc, OnceLock};

/// The files of an application.
#[derive(Debug, Default)]
pub struct Files {
    /// By the path of a URI, decoded: `/style.css`. A folder with an index is there as `/docs/`
    /// with its index, and as `/docs`.
    entries: HashMap<Box<str>, Entry>,
}

#[derive(Clone, Debug)]
enum Entry {
    File(Arc<File>),
    /// A folder, without the slash at its end.
    Folder,
}

/// What is at a path.
#[derive(Clone, Copy, Debug)]
pub enum Found<'a> {
    /// A file.
    File(&'a Arc<File>),
    /// A folder that has an index: the relative links there need the path with a slash at its end.
    Folder,
}

/// One file.
#[derive(Debug)]
pub struct File {
    /// As it is on disk.
    pub bytes: Bytes,
    /// By its extension.
    pub media_type: &'static str,
    /// 32 hexadecimal digits, which are others when the bytes are: half of their SHA-256.
    pub hash: Box<str>,
    gains: bool,
    gzip: OnceLock<Option<Bytes>>,
    brotli: OnceLock<Option<Bytes>>,
}

impl Files {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// What is at `path`, as it came in a request: percent-encoded, without the query.
    pub fn find(&self, path: &str) -> Option<Found<'_>> {
        let path = if path.contains('%') { Cow::Owned(decode(path)?) } else { path.into() };
        self.entries.get(&*path).map(|entry| match entry {
            Entry::File(file) => Found::File(file),
            Entry::Folder => Found::Folder,
        })
    }

    /// The URL of the file at `path` that changes with its content, or what is wrong with `path`.
    pub(crate) fn url(&self, path: &str) -> Result<String, String> {
        if let Some(Entry::File(file)) = self.entries.get(path) {
            return Ok(format!("{}?v={}", encode(path), file.hash));
        }
        if !path.starts_with('/') {
            return Err(format!("expected a path such as \"/style.css\"; got \"{path}\""));
        }
        let paths = self.entries.keys().map(|path| &**path);
        let nearest = paths.min_by_key(|other| (distance(other, path), *other));
        let nearest = nearest.map(|path| format!("; did you mean \"{path}\"?"));
        Err(format!("there is no public{path}{}", nearest.unwrap_or_default()))
    }

    /// The file that answers GET at `path`, which is decoded, as it is called in the folder.
    pub(crate) fn answering(&self, path: &str) -> Option<String> {
        let index = |path: &str| format!("public{}/index.html", path.trim_end_matches('/'));
        self.entries.get(path).map(|entry| match entry {
            Entry::Folder => index(path),
            Entry::File(_) if path.ends_with('/') => index(path),
            Entry::File(_) => format!("public{path}"),
        })
    }

    /// Adds the file at `path`, which is that of a URI, decoded.
    fn add(&mut self, path: &str, bytes: Bytes) {
        let file = Arc::new(File::new(path, bytes));
        if let Some(folder) = path.strip_suffix("index.html").filter(|path| path.ends_with('/')) {
            self.entries.insert(folder.into(), Entry::File(Arc::clone(&file)));
            let bare = folder.trim_end_matches('/');
            // A file of that name cannot be there, too: a folder has it.
            if !bare.is_empty() {
                self.entries.insert(bare.into(), Entry::Folder);
            }
        }
        self.entries.insert(path.into(), Entry::File(file));
    }
}

impl File {
    fn new(path: &str, bytes: Bytes) -> Self {
        let mut hash = String::with_capacity(32);
        for byte in &Sha256::digest(&bytes)[..16] {
            write!(hash, "{byte:02x}").expect("a String takes all that is written");
        }
        let (media_type, gains) = media_types::of(path);
        let (gzip, brotli) = (OnceLock::new(), OnceLock::new());
        Self { bytes, media_type, hash: hash.into(), gains, gzip, brotli }
    }
}

/// Percent-decoding (RFC 3986 §2.1). `None` if it is malformed, or encodes what would be taken for
/// a part of the path's structure, or cannot be in a name: slash, backslash, control characters.
fn decode(path: &str) -> Option<String> {
    let mut decoded = Vec::with_capacity(path.len());
    let mut rest = path.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            decoded.push(byte);
            continue;
        }
        let mut digit = || char::from(rest.next()?).to_digit(16);
        let byte = u8::try_from(digit()? * 16 + digit()?).ok()?;
        if matches!(byte, b'/' | b'\\') || byte.is_ascii_control() {
            return None;
        }
        decoded.push(byte);
    }
    String::from_utf8(decoded).ok()
}

/// Percent-encodes what is neither unreserved (RFC 3986 §2.3) nor the slash between names.
fn encode(path: &str) -> Cow<'_, str> {
    let is_plain =
        |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b'_' | b'~' | b'/');
    if path.bytes().all(is_plain) {
        return path.into();
    }
    let mut encoded = String::with_capacity(path.len() + 8);
    for byte in path.bytes() {
        if is_plain(byte) {
            encoded.push(char::from(byte));
        } else {
            write!(encoded, "%{byte:02X}").expect("a String takes all that is written");
        }
    }
    encoded.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(paths: &[&str]) -> Files {
        let mut files = Files::default();
        paths.iter().for_each(|path| files.add(path, Bytes::copy_from_slice(path.as_bytes())));
        files
    }

    fn found<'a>(files: &'a Files, path: &str) -> Option<&'a [u8]> {
        match files.find(path)? {
            Found::File(file) => Some(&file.bytes),
            Found::Folder => Some(b"folder"),
        }
    }

    #[test]
    fn paths_are_decoded_once_and_only_names() {
        let files = files(&["/a.css", "/d/ä b.txt", "/100%.txt", "/%41"]);
        for (path, content) in [
            ("/a.css", "/a.css"),
            ("/%61.css", "/a.css"),
            ("/d/%C3%A4%20b.txt", "/d/ä b.txt"),
            ("/100%25.txt", "/100%.txt"),
            ("/%2541", "/%41"),
        ] {
            assert_eq!(found(&files, path), Some(content.as_bytes()), "{path}");
        }
        for path in [
            "/A.css",
            "a.css",
            "//a.css",
            "/./a.css",
            "/d/../a.css",
            "/d/%2e%2e/a.css",
            "/%2e/a.css",
            "/d%2Fä b.txt",
            "/d%5Ca.css",
            "/a.css%00",
            "/a.css%",
            "/a.css%4",
            "/a.css%zz",
            "/%FF",
            "/%41",
            "/d",
            "/d/",
            "",
            "*",
            "/\\a.css",
            "/a.css/",
        ] {
            assert_eq!(found(&files, path), None, "{path}");
        }
    }

    #[test]
    fn an_index_stands_for_its_folder() {
        let files = files(&["/index.html", "/d/index.html", "/e/myindex.html"]);
        assert_eq!(found(&files, "/"), Some(&b"/index.html"[..]));
        assert_eq!(found(&files, "/d/"), Some(&b"/d/index.html"[..]));
        assert_eq!(found(&files, "/d"), Some(&b"folder"[..]));
        assert_eq!(found(&files, "/e/"), None);
        for (path, file) in [
            ("/", Some("public/index.html")),
            ("/index.html", Some("public/index.html")),
            ("/d/", Some("public/d/index.html")),
            ("/d", Some("public/d/index.html")),
            ("/e", None),
        ] {
            assert_eq!(files.answering(path).as_deref(), file, "{path}");
        }
    }

    #[test]
    fn urls_hold_the_hash_and_what_is_not_there_is_named() {
        let files = files(&["/style.css", "/a b.js"]);
        let url = files.url("/style.css").unwrap();
        let (path, hash) = url.split_once("?v=").unwrap();
        assert_eq!((path, hash.len()), ("/style.css", 32));
        assert!(files.url("/a b.js").unwrap().starts_with("/a%20b.js?v="));
        let why = files.url("/stlye.css").unwrap_err();
        assert_eq!(why, "there is no public/stlye.css; did you mean \"/style.css\"?");
        assert!(files.url("style.css").unwrap_err().contains("expected a path"));
        assert_eq!(Files::default().url("/a").unwrap_err(), "there is no public/a");
    }

    #[test]
    fn the_hash_is_that_of_the_bytes() {
        let hash = |bytes: &'static str| File::new("/a", bytes.into()).hash;
        // The first half of what `sha256sum` says.
        assert_eq!(&*hash("abc"), "ba7816bf8f01cfea414140de5dae2223");
        assert_ne!(hash("abc"), hash("abd"));
    }
}
