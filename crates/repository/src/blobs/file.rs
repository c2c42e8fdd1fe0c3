//! The file of a blob: its content, a checksum for each chunk of it, and a tail. `docs/format.md`,
//! "Blob".

use super::{BlobError, BlobHash, BlobReference};

/// Bytes that one checksum is for. Whatever part of a blob is read, so much is verified.
pub(super) const CHUNK_BYTES: usize = 256 << 10;

const MAGIC: &[u8; 8] = b"SARSENBL";
const VERSION: u32 = 1;
pub(super) const TAIL_BYTES: usize = 64;

/// How many chunks content of this length has.
pub(super) fn chunks(length: u64) -> u64 {
    length.div_ceil(CHUNK_BYTES as u64)
}

/// How many bytes come after the content in the file.
pub(super) fn footer_bytes(length: u64) -> u64 {
    4 * chunks(length) + TAIL_BYTES as u64
}

impl BlobReference {
    /// How many bytes its file has.
    pub(crate) fn file_bytes(&self) -> u64 {
        self.length + footer_bytes(self.length)
    }
}

/// What comes after the content of a blob that is copied piece by piece, and whether it is that.
#[derive(Default)]
pub(crate) struct BlobSums {
    hasher: blake3::Hasher,
    length: u64,
    sums: Vec<u32>,
}

impl BlobSums {
    /// Takes the next chunk.
    pub(crate) fn update(&mut self, chunk: &[u8]) {
        self.hasher.update(chunk);
        self.length += chunk.len() as u64;
        self.sums.push(crc32c::crc32c(chunk));
    }

    /// The rest of the file, if what came was the content of this blob, chunk by chunk.
    pub(crate) fn footer(&self, expected: &BlobReference) -> Result<Vec<u8>, BlobError> {
        let hash = BlobHash(*self.hasher.finalize().as_bytes());
        match (BlobReference { hash, length: self.length }) {
            found if found == *expected => Ok(encode_footer(expected, &self.sums)),
            found => {
                let why = format!("its content has the hash {hash} and {} bytes", found.length);
                Err(BlobError::Damaged { hash: expected.hash, why })
            }
        }
    }
}

/// The checksums of the chunks, then the tail.
pub(super) fn encode_footer(reference: &BlobReference, sums: &[u32]) -> Vec<u8> {
    let mut footer = Vec::with_capacity(4 * sums.len() + TAIL_BYTES);
    sums.iter().for_each(|sum| footer.extend_from_slice(&sum.to_le_bytes()));
    footer.extend_from_slice(MAGIC);
    footer.extend_from_slice(&VERSION.to_le_bytes());
    footer.extend_from_slice(&(CHUNK_BYTES as u32).to_le_bytes());
    footer.extend_from_slice(&reference.encode());
    footer.extend_from_slice(&[0; 4]);
    let sum = crc32c::crc32c(&footer);
    footer.extend_from_slice(&sum.to_le_bytes());
    footer
}

/// The checksums of the chunks, if the footer is that of this blob; otherwise what is wrong.
pub(super) fn decode_footer(reference: &BlobReference, footer: &[u8]) -> Result<Vec<u32>, String> {
    let expected = footer_bytes(reference.length);
    if footer.len() as u64 != expected {
        return Err(format!("expected {expected} bytes after its content, found {}", footer.len()));
    }
    let (content, sum) = footer.split_at(footer.len() - 4);
    if crc32c::crc32c(content).to_le_bytes() != sum {
        return Err("the checksum of its footer is wrong".to_owned());
    }
    let (sums, tail) = content.split_at(content.len() - (TAIL_BYTES - 4));
    let fields: [&[u8]; 4] = [&tail[..8], &tail[8..12], &tail[12..16], &tail[16..56]];
    let ours: [&[u8]; 4] =
        [MAGIC, &VERSION.to_le_bytes(), &(CHUNK_BYTES as u32).to_le_bytes(), &reference.encode()];
    if fields != ours {
        return Err("its footer is that of something else".to_owned());
    }
    let sum = |bytes: &[u8]| u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    Ok(sums.chunks_exact(4).map(sum).collect())
}

/// The hash in the name of a file in the folder `ab`, as it is in the names of folders and files.
pub(super) fn parse_name(folder: &str, name: &str) -> Option<BlobHash> {
    BlobHash::parse(&format!("{folder}{name}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_footer_comes_back_and_any_change_of_it_is_found() {
        let length = 2 * CHUNK_BYTES as u64 + 1;
        let reference = BlobReference { hash: BlobHash::of(b"x"), length };
        let footer = encode_footer(&reference, &[1, 2, 3]);
        assert_eq!(footer.len() as u64, footer_bytes(length));
        assert_eq!(decode_footer(&reference, &footer), Ok(vec![1, 2, 3]));
        for i in 0..footer.len() {
            let mut changed = footer.clone();
            changed[i] ^= 1;
            assert!(decode_footer(&reference, &changed).is_err(), "byte {i}");
            assert!(decode_footer(&reference, &footer[..i]).is_err(), "{i} bytes");
        }
        let other = BlobReference { hash: BlobHash::of(b"y"), length };
        let wrong = decode_footer(&other, &footer);
        assert_eq!(wrong, Err("its footer is that of something else".to_owned()));
    }

    #[test]
    fn a_name_is_a_hash_without_its_folder() {
        let hex = BlobHash::of(b"x").to_string();
        assert_eq!(parse_name(&hex[..2], &hex[2..]), Some(BlobHash::of(b"x")));
        assert_eq!(parse_name("incoming", "1"), None);
    }
}
