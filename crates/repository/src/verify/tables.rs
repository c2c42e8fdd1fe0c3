//! The storage engine's files against the checksums that were written with them, before the engine
//! opens them, and after. What is in them is checked elsewhere.

use crate::disk::{Disk, Files};
use std::io;
use std::path::Path;
use xxhash_rust::xxh3::Xxh3;

/// Bytes of a file that are read at a time.
const PIECE_BYTES: u64 = 1 << 20;

/// Of the file `current`: the number of the newest list of tables (8 bytes), its checksum (16), the
/// kind of checksum (1).
const CURRENT_BYTES: usize = 25;

/// Whether the list of tables is the one that was written: opening the engine with another one
/// could remove tables that it does not name.
pub(super) fn check_list(engine: &Path) -> Result<(), String> {
    let path = engine.join("current");
    let unread = |path: &Path, error: io::Error| format!("{}: {error}", path.display());
    let current = Files.read(&path, 0, 2 * CURRENT_BYTES as u64).map_err(|e| unread(&path, e))?;
    let wrong = |what: String| format!("{}: {what}", path.display());
    let Some((number, rest)) = current.split_first_chunk::<8>() else {
        return Err(wrong(format!("expected {CURRENT_BYTES} bytes, got {}", current.len())));
    };
    let Some((checksum, [0])) = rest.split_first_chunk::<16>() else {
        return Err(wrong("expected a number, a checksum and its kind".to_owned()));
    };
    let list = engine.join(format!("v{}", u64::from_le_bytes(*number)));
    let got = checksum_of(&list).map_err(|error| unread(&list, error))?;
    match got == u128::from_le_bytes(*checksum) {
        true => Ok(()),
        false => Err(format!(
            "{}: its checksum is not the one that {} says",
            list.display(),
            path.display()
        )),
    }
}

/// What is wrong with a file that has this checksum.
pub(crate) fn check(path: &Path, checksum: u128) -> Option<String> {
    match checksum_of(path) {
        Ok(got) if got == checksum => None,
        Ok(_) => Some(format!("{}: its checksum is wrong", path.display())),
        Err(error) => Some(format!("{}: {error}", path.display())),
    }
}

fn checksum_of(path: &Path) -> io::Result<u128> {
    let mut hasher = Xxh3::new();
    let mut at = 0;
    loop {
        let piece = Files.read(path, at, PIECE_BYTES)?;
        hasher.update(&piece);
        at += piece.len() as u64;
        if (piece.len() as u64) < PIECE_BYTES {
            return Ok(hasher.digest128());
        }
    }
}
