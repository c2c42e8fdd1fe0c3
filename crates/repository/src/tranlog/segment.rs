//! Segment files: made, filled with zeros, given a header, opened. `docs/format.md`, "Segment".
//! No write ever touches a block that an earlier acknowledged write filled.

use crate::disk::{BLOCK_BYTES, Disk, DiskFile};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

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

/// Where the segments of a repository are.
#[derive(Clone)]
pub(crate) struct Home {
    pub disk: Arc<dyn Disk>,
    pub folder: PathBuf,
    /// The repository's id.
    pub repository: [u8; 16],
}

impl Home {
    /// The file of the segment `sequence`.
    pub(crate) fn path(&self, sequence: u64) -> PathBuf {
        self.folder.join(format!("{sequence:012}.seg"))
    }

    /// The sequences of the segments, in order.
    pub(super) fn sequences(&self) -> io::Result<Vec<u64>> {
        let mut sequences = Vec::new();
        for name in self.disk.names(&self.folder)? {
            let stem = name.strip_suffix(".seg");
            sequences.extend(stem.and_then(|stem| stem.parse::<u64>().ok()));
        }
        sequences.sort_unstable();
        Ok(sequences)
    }

    pub(super) fn remove(&self, sequence: u64) -> io::Result<()> {
        self.disk.remove(&self.path(sequence))
    }

    /// Writes at some offsets of a segment, and syncs it.
    pub(super) fn rewrite(
        &self,
        sequence: u64,
        parts: &mut dyn Iterator<Item = (u64, &[u8])>,
    ) -> io::Result<()> {
        let file = self.disk.open(&self.path(sequence))?;
        for (offset, bytes) in parts {
            file.write(bytes, offset)?;
        }
        file.sync()
    }

    /// Makes the segment of `header` from the file of an earlier one, or from nothing with `bytes`
    /// zeros. It carries its final name only once header and content are on disk.
    pub(super) fn prepare(
        &self,
        header: SegmentHeader,
        spare: Option<u64>,
        bytes: u64,
    ) -> io::Result<Segment> {
        let unfinished = self.folder.join("next.tmp");
        let prepared = self.prepare_as(&unfinished, header, spare, bytes);
        if prepared.is_err() {
            // Whatever was filled is room for others. If it is not there, or stays, that is no
            // harm: the next one is made under the same name.
            drop(self.disk.remove(&unfinished));
        }
        prepared
    }

    fn prepare_as(
        &self,
        unfinished: &Path,
        header: SegmentHeader,
        spare: Option<u64>,
        bytes: u64,
    ) -> io::Result<Segment> {
        let (disk, folder) = (&self.disk, &self.folder);
        let file = match spare {
            Some(spare) => {
                disk.rename(&self.path(spare), unfinished)?;
                // Its old name must be gone before its header says that it is another segment.
                disk.sync_folder(folder)?;
                disk.open(unfinished)?
            }
            None => self.fill(unfinished, bytes)?,
        };
        file.write(&header.encode(), 0)?;
        file.sync()?;
        let bytes = disk.length(unfinished)?;
        disk.rename(unfinished, &self.path(header.sequence))?;
        disk.sync_folder(folder)?;
        Ok(Segment { header, bytes, file })
    }

    /// Zeros, written and not only promised: a block that was never written costs its first sync an
    /// update of the file system's own records.
    fn fill(&self, path: &Path, bytes: u64) -> io::Result<Box<dyn DiskFile>> {
        let file = self.disk.create(path)?;
        let zeros = vec![0; bytes.min(1 << 20) as usize];
        for at in (0..bytes).step_by(zeros.len()) {
            let part = (bytes - at).min(zeros.len() as u64);
            file.write(&zeros[..part as usize], at)?;
        }
        Ok(file)
    }
}

/// A segment ready to be written.
pub(super) struct Segment {
    pub header: SegmentHeader,
    pub bytes: u64,
    pub file: Box<dyn DiskFile>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::Files;

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
        let folder = folder.path().to_owned();
        let home = Home { disk: Arc::new(Files), folder, repository: [6; 16] };
        let header = |sequence| SegmentHeader { sequence, nonce: [5; 16], repository: [6; 16] };
        let first = home.prepare(header(1), None, 1 << 20).unwrap();
        assert_eq!(first.bytes, 1 << 20);
        let second = home.prepare(header(2), Some(1), 9).unwrap();
        assert_eq!((second.bytes, home.sequences().unwrap()), (1 << 20, vec![2]));
        let content = home.disk.read(&home.path(2), 0, BLOCK_BYTES as u64).unwrap();
        assert_eq!(SegmentHeader::decode(&content), Ok(header(2)));
    }
}
