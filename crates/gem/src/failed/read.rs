//! Reading the files of failed requests, while a server writes them or not.

use super::Kept;
use super::file::NAMES;
use super::line;
use crate::limits::ERRORS_FILE_BYTES_MAX;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// What the files hold.
#[derive(Clone, Debug, Default)]
pub struct ErrorsRead {
    /// The newest comes first.
    pub kept: Vec<Kept>,
    /// Lines that could not be read, as a crash leaves one.
    pub torn: usize,
}

/// Reads the newest `limit` below `folder`. No file is no failed request.
pub fn read(folder: &Path, limit: usize) -> io::Result<ErrorsRead> {
    let mut found = ErrorsRead::default();
    for name in NAMES {
        let Some(bytes) = bytes(&folder.join(name))? else { continue };
        for text in bytes.split(|byte| *byte == b'\n').rev().filter(|text| !text.is_empty()) {
            if found.kept.len() == limit {
                return Ok(found);
            }
            match line::read(text) {
                Some(kept) => found.kept.push(kept),
                None => found.torn += 1,
            }
        }
    }
    Ok(found)
}

/// A file's bytes, as many as the server ever writes into one.
fn bytes(path: &Path) -> io::Result<Option<Vec<u8>>> {
    let file = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened?,
    };
    let mut bytes = Vec::new();
    file.take(2 * ERRORS_FILE_BYTES_MAX).read_to_end(&mut bytes)?;
    Ok(Some(bytes))
}
