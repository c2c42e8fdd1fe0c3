//! Frames: what one write to a segment holds. `docs/format.md`, "Frame".

use crate::disk::BLOCK_BYTES;
use crate::document::CommitNumber;
use crate::limits::TRANSACTION_BYTES_MAX;
use crate::tranlog::segment::SegmentHeader;
use bytes::Bytes;

const MAGIC: [u8; 4] = *b"SFR1";

/// Bytes of a frame before its first record.
pub(super) const HEADER_BYTES: usize = 64;

/// Bytes before each record: its commit number and its length.
pub(super) const RECORD_HEADER_BYTES: usize = 12;

/// Bytes of records after which a frame takes no further record.
pub(super) const FRAME_BYTES_TARGET: usize = 1 << 20;

/// No frame is larger: the target is passed by one record at most.
const FRAME_BYTES_MAX: usize =
    HEADER_BYTES + FRAME_BYTES_TARGET + RECORD_HEADER_BYTES + TRANSACTION_BYTES_MAX + BLOCK_BYTES;

/// What a frame's header says besides its length and checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FrameHeader {
    /// The last record before this frame in the log; 0 if there is none.
    pub previous: CommitNumber,
    pub count: u32,
    /// Every record up to this one had been synced before the frame was written.
    pub synced: CommitNumber,
}

/// A commit's number and its record.
pub(super) type Numbered<B> = (CommitNumber, B);

/// Appends a frame to `out`, padded to whole blocks. `out` starts at a block.
pub(super) fn encode<'a>(
    segment: &SegmentHeader,
    header: FrameHeader,
    records: impl Iterator<Item = Numbered<&'a [u8]>>,
    out: &mut Vec<u8>,
) {
    let start = out.len();
    out.resize(start + HEADER_BYTES, 0);
    for (number, record) in records {
        out.extend_from_slice(&number.0.to_le_bytes());
        out.extend_from_slice(&(record.len() as u32).to_le_bytes());
        out.extend_from_slice(record);
    }
    let payload = (out.len() - start - HEADER_BYTES) as u32;
    let frame = &mut out[start..];
    frame[..4].copy_from_slice(&MAGIC);
    frame[8..12].copy_from_slice(&payload.to_le_bytes());
    frame[12..16].copy_from_slice(&header.count.to_le_bytes());
    frame[16..24].copy_from_slice(&segment.sequence.to_le_bytes());
    frame[24..32].copy_from_slice(&header.previous.0.to_le_bytes());
    frame[32..40].copy_from_slice(&header.synced.0.to_le_bytes());
    let checksum = checksum(segment, &frame[8..]);
    frame[4..8].copy_from_slice(&checksum.to_le_bytes());
    out.resize(start + padded(out.len() - start), 0);
}

/// Length in whole blocks.
pub(super) fn padded(length: usize) -> usize {
    length.next_multiple_of(BLOCK_BYTES)
}

/// CRC32C, begun with the segment's nonce: nothing that a client can send, and nothing left from
/// an earlier use of the segment, passes for a frame of it.
fn checksum(segment: &SegmentHeader, bytes: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&segment.nonce), bytes)
}

/// What stands at a block of a segment.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// A whole frame and its length in whole blocks.
    Frame(FrameHeader, Vec<Numbered<Bytes>>, usize),
    /// Nothing of this segment's.
    Nothing,
    /// The start of a frame of this segment that is not whole.
    Broken(&'static str),
}

/// Reads what stands at the front of `bytes`.
pub(super) fn decode(segment: &SegmentHeader, bytes: &Bytes) -> Found {
    if bytes.len() < HEADER_BYTES || bytes[..4] != MAGIC || u64_at(bytes, 16) != segment.sequence {
        return Found::Nothing;
    }
    let payload = u32_at(bytes, 8) as usize;
    let end = HEADER_BYTES + payload;
    if end > FRAME_BYTES_MAX || end > bytes.len() {
        return Found::Broken("its length does not fit");
    }
    if checksum(segment, &bytes[8..end]) != u32_at(bytes, 4) {
        return Found::Broken("its checksum is wrong");
    }
    let header = FrameHeader {
        previous: CommitNumber(u64_at(bytes, 24)),
        count: u32_at(bytes, 12),
        synced: CommitNumber(u64_at(bytes, 32)),
    };
    match split_records(&bytes.slice(HEADER_BYTES..end), &header) {
        Some(records) => Found::Frame(header, records, padded(end)),
        None => Found::Broken("its records do not add up"),
    }
}

/// The length that the header of a frame claims for its records, if that can be.
pub(super) fn payload_bytes(header: &[u8]) -> Option<usize> {
    let payload = u32_at(header, 8) as usize;
    (header[..4] == MAGIC && HEADER_BYTES + payload <= FRAME_BYTES_MAX).then_some(payload)
}

/// The records of a frame, of which there is at least one, and whose numbers only rise.
fn split_records(payload: &Bytes, header: &FrameHeader) -> Option<Vec<Numbered<Bytes>>> {
    let mut records = Vec::new();
    let mut before = header.previous;
    let mut at = 0;
    while at < payload.len() {
        let fields = payload.get(at..at + RECORD_HEADER_BYTES)?;
        let (number, length) = (CommitNumber(u64_at(fields, 0)), u32_at(fields, 8) as usize);
        at += RECORD_HEADER_BYTES;
        if number <= before || length > payload.len() - at {
            return None;
        }
        records.push((number, payload.slice(at..at + length)));
        before = number;
        at += length;
    }
    (!records.is_empty() && records.len() == header.count as usize).then_some(records)
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let mut field = [0; 4];
    field.copy_from_slice(&bytes[at..at + 4]);
    u32::from_le_bytes(field)
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    let mut field = [0; 8];
    field.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(field)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segment(sequence: u64, nonce: u8) -> SegmentHeader {
        SegmentHeader { sequence, nonce: [nonce; 16], repository: [1; 16] }
    }

    const HEADER: FrameHeader =
        FrameHeader { previous: CommitNumber(6), count: 3, synced: CommitNumber(5) };

    fn numbered(records: [(u64, &[u8]); 3]) -> Vec<u8> {
        let records = records.into_iter().map(|(number, record)| (CommitNumber(number), record));
        let mut out = Vec::new();
        encode(&segment(4, 9), HEADER, records, &mut out);
        out
    }

    fn frame() -> Vec<u8> {
        numbered([(7, b"one"), (9, b""), (1 << 40, &[3; 5000])])
    }

    #[test]
    fn a_frame_comes_back_as_it_was() {
        let frame = frame();
        assert_eq!(frame.len(), 2 * BLOCK_BYTES);
        let numbers = [7, 9, 1 << 40].map(CommitNumber);
        let records = [Bytes::from("one"), Bytes::new(), Bytes::from(vec![3; 5000])];
        let records = numbers.into_iter().zip(records).collect();
        let found = decode(&segment(4, 9), &frame.into());
        assert_eq!(found, Found::Frame(HEADER, records, 2 * BLOCK_BYTES));
    }

    #[test]
    fn numbers_that_do_not_rise_are_refused() {
        for numbers in [[6, 7, 8], [7, 7, 8], [7, 9, 8]] {
            let frame = numbered(numbers.map(|number| (number, &b"x"[..])));
            let found = decode(&segment(4, 9), &frame.into());
            assert!(matches!(found, Found::Broken(_)), "{numbers:?}");
        }
    }

    #[test]
    fn a_frame_of_another_use_of_the_segment_is_nothing() {
        assert_eq!(decode(&segment(5, 9), &frame().into()), Found::Nothing);
        assert!(matches!(decode(&segment(4, 8), &frame().into()), Found::Broken(_)));
        assert_eq!(decode(&segment(4, 9), &vec![0; 4096].into()), Found::Nothing);
    }

    #[test]
    fn every_damaged_byte_and_every_cut_is_noticed() {
        let whole = frame();
        let used = HEADER_BYTES + 3 * RECORD_HEADER_BYTES + 5003;
        for i in (0..HEADER_BYTES + 40).chain(used - 3..used) {
            let mut damaged = whole.clone();
            damaged[i] ^= 1;
            assert!(!matches!(decode(&segment(4, 9), &damaged.into()), Found::Frame(..)), "{i}");
        }
        for cut in [0, 3, 63, 64, 4095, 4096, used - 1] {
            let cut = Bytes::from(whole[..cut].to_vec());
            assert!(!matches!(decode(&segment(4, 9), &cut), Found::Frame(..)), "{}", cut.len());
        }
    }
}
