//! Segment files: made, filled with zeros, given a header, opened. `docs/format.md`, "Segment".

use crate::tranlog::frame::padded;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The unit of every write: a torn write tears at these borders at worst, and no write touches a
/// block that an earlier acknowledged write filled.
pub(super) const BLOCK_BYTES: usize = 4096;

/// A segment's size. A recycled one is never smaller than the largest frame.
pub(super) const SEGMENT_BYTES: u64 = 64 << 20;

/// The size of a segment that is made while somebody waits for it.
pub(super) const FIRST_SEGMENT_BYTES: u64 = 4 << 20;

const MAGIC: [u8; 8] = *b"SARSENTL";
const VERSION: u32 = 1;
const HEADER_USED_BYTES: usize = 56;

/// What the first block of a segment says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SegmentHeader {
    /// Its place in the log, and its file name.
    pub sequence: u64,
    /// New at each use of the file, unknown to clients.
    pub nonce: [u8; 16],
    /// The repository it belongs to.
    pub repository: [u8; 16],
}

impl SegmentHeader {
    fn encode(&self) -> Vec<u8> {
        let mut block = vec![0; BLOCK_BYTES];
        block[..8].copy_from_slice(&MAGIC);
        block[8..12].copy_from_slice(&VERSION.to_le_bytes());
        block[16..24].copy_from_slice(&self.sequence.to_le_bytes());
        block[24..40].copy_from_slice(&self.nonce);
        block[40..56].copy_from_slice(&self.repository);
        let checksum = crc32c::crc32c(&block[..HEADER_USED_BYTES]);
        block[HEADER_USED_BYTES..HEADER_USED_BYTES + 4].copy_from_slice(&checksum.to_le_bytes());
        block
    }

    /// Reads a header; `Err` says what was expected and what was found.
    pub(super) fn decode(block: &[u8]) -> Result<Self, String> {
        let Some(used) = block.get(..HEADER_USED_BYTES + 4) else {
            return Err(format!("the header is cut off after {} bytes", block.len()));
        };
        if used[..8] != MAGIC {
            return Err("the header does not say that this is a tranlog segment".to_owned());
        }
        let field = |at: usize| -> [u8; 4] { [used[at], used[at + 1], used[at + 2], used[at + 3]] };
        let checksum = crc32c::crc32c(&used[..HEADER_USED_BYTES]);
        if u32::from_le_bytes(field(HEADER_USED_BYTES)) != checksum {
            return Err("the header's checksum is wrong".to_owned());
        }
        let version = u32::from_le_bytes(field(8));
        if version != VERSION {
            return Err(format!("it has format version {version}, this build reads {VERSION}"));
        }
        let mut header = Self { sequence: 0, nonce: [0; 16], repository: [0; 16] };
        let mut sequence = [0; 8];
        sequence.copy_from_slice(&used[16..24]);
        header.sequence = u64::from_le_bytes(sequence);
        header.nonce.copy_from_slice(&used[24..40]);
        header.repository.copy_from_slice(&used[40..56]);
        Ok(header)
    }
}

/// The file name of the segment `sequence`.
pub(super) fn path(folder: &Path, sequence: u64) -> PathBuf {
    folder.join(format!("{sequence:012}.seg"))
}

/// The sequences of the segments in `folder`, in order.
pub(super) fn list(folder: &Path) -> io::Result<Vec<u64>> {
    let mut sequences = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let name = entry?.file_name();
        let stem = name.to_str().and_then(|name| name.strip_suffix(".seg"));
        sequences.extend(stem.and_then(|stem| stem.parse::<u64>().ok()));
    }
    sequences.sort_unstable();
    Ok(sequences)
}

/// A segment ready to be written.
#[derive(Debug)]
pub(super) struct Segment {
    pub header: SegmentHeader,
    pub bytes: u64,
    /// Writes through it are synced by `sync` only.
    file: File,
    /// Writes through it are on disk when they return.
    synchronous: File,
}

impl Segment {
    /// Makes the segment from `spare`, a file of an earlier use, or from nothing with `bytes`
    /// zeros. It carries its final name only once header and content are on disk.
    pub(super) fn prepare(
        folder: &Path,
        header: SegmentHeader,
        spare: Option<&Path>,
        bytes: u64,
    ) -> io::Result<Self> {
        let unfinished = folder.join("next.tmp");
        match spare {
            Some(spare) => {
                std::fs::rename(spare, &unfinished)?;
                // Its old name must be gone before its header says that it is another segment.
                sync_folder(folder)?;
            }
            None => fill(&unfinished, bytes)?,
        }
        let file = OpenOptions::new().write(true).open(&unfinished)?;
        file.write_all_at(&header.encode(), 0)?;
        file.sync_all()?;
        let bytes = file.metadata()?.len();
        let path = path(folder, header.sequence);
        std::fs::rename(&unfinished, &path)?;
        sync_folder(folder)?;
        Ok(Self { header, bytes, file, synchronous: open_synchronous(&path)? })
    }

    /// Writes whole blocks at `offset`. They survive the death of the process when it returns, and
    /// a power cut after the next `sync`.
    pub(super) fn write(&self, blocks: &[u8], offset: u64) -> io::Result<()> {
        debug_assert_eq!(blocks.len(), padded(blocks.len()));
        self.file.write_all_at(blocks, offset)
    }

    /// Writes whole blocks at `offset`; they are on disk when it returns. This says nothing about
    /// what was written before without a sync.
    pub(super) fn write_synced(&self, blocks: &[u8], offset: u64) -> io::Result<()> {
        debug_assert_eq!(blocks.len(), padded(blocks.len()));
        self.synchronous.write_all_at(blocks, offset)
    }

    /// Makes everything that was written durable.
    pub(super) fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }
}

/// Opens for writes that are durable when they return, past the page cache where the file system
/// can. Direct writes need their buffer aligned to a block.
fn open_synchronous(path: &Path) -> io::Result<File> {
    let open = |flags| OpenOptions::new().write(true).custom_flags(flags).open(path);
    open(libc::O_DSYNC | libc::O_DIRECT).or_else(|error| match error.raw_os_error() {
        Some(libc::EINVAL) => open(libc::O_DSYNC),
        _ => Err(error),
    })
}

/// Zeros, written and not only promised: a block that was never written costs its first sync an
/// update of the file system's own records.
fn fill(path: &Path, bytes: u64) -> io::Result<()> {
    let mut file = File::create(path)?;
    let zeros = vec![0; 1 << 20];
    let mut left = bytes;
    while left > 0 {
        let part = left.min(zeros.len() as u64) as usize;
        file.write_all(&zeros[..part])?;
        left -= part as u64;
    }
    file.sync_all()
}

/// Makes names in `folder` durable.
pub(crate) fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// Writes `bytes` at each of some offsets of a file, and syncs it.
pub(super) fn rewrite<'a>(
    path: &Path,
    parts: impl Iterator<Item = (u64, &'a [u8])>,
) -> io::Result<()> {
    let file = OpenOptions::new().write(true).open(path)?;
    for (offset, bytes) in parts {
        file.write_all_at(bytes, offset)?;
    }
    file.sync_data()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_damaged_header_is_refused() {
        let header = SegmentHeader { sequence: 3, nonce: [5; 16], repository: [6; 16] };
        let block = header.encode();
        assert_eq!(SegmentHeader::decode(&block), Ok(header));
        for i in (0..HEADER_USED_BYTES + 4).filter(|i| !(12..16).contains(i)) {
            let mut damaged = block.clone();
            damaged[i] ^= 0x10;
            assert!(SegmentHeader::decode(&damaged).is_err(), "byte {i}");
        }
        assert!(SegmentHeader::decode(&block[..40]).unwrap_err().contains("cut off"));
    }

    #[test]
    fn a_spare_becomes_the_next_segment() {
        let folder = tempfile::tempdir().unwrap();
        let header = |sequence| SegmentHeader { sequence, nonce: [5; 16], repository: [6; 16] };
        let first = Segment::prepare(folder.path(), header(1), None, 1 << 20).unwrap();
        assert_eq!(first.bytes, 1 << 20);
        let spare = path(folder.path(), 1);
        let second = Segment::prepare(folder.path(), header(2), Some(&spare), 9).unwrap();
        assert_eq!((second.bytes, list(folder.path()).unwrap()), (1 << 20, vec![2]));
        let content = std::fs::read(path(folder.path(), 2)).unwrap();
        assert_eq!(SegmentHeader::decode(&content), Ok(header(2)));
    }
}
