//! The files of a backup: a header, then frames of rows or of records, each with a checksum.
//! `docs/backup.md` has every byte. What a file is a part of is not known here.

use crate::document::{CommitNumber, Document, Timestamp};
use crate::engine::{decode_document, encode_document};
use crate::limits::KEY_BYTES_MAX;
use crate::record::{DecodeError, Reader};
use bytes::Bytes;

const MAGIC: &[u8; 8] = b"SARSENBK";
const VERSION: u32 = 1;
const FRAME_MAGIC: &[u8; 4] = b"SBF1";

/// Bytes before the first frame.
pub(crate) const HEADER_BYTES: usize = 64;

/// Bytes of a frame before its payload.
pub(crate) const FRAME_HEADER_BYTES: usize = 24;

/// A frame ends once its payload has so many bytes.
pub(crate) const FRAME_BYTES_TARGET: usize = 1 << 20;

/// A row's key is the key of a document, or an index's values and that.
const ROW_KEY_BYTES_MAX: usize = u16::MAX as usize;
const _: () = assert!(KEY_BYTES_MAX < ROW_KEY_BYTES_MAX);

/// What a file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Rows of the storage engine.
    Rows = 1,
    /// Records of commits.
    Records = 2,
}

/// How a file begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub kind: Kind,
    /// The id of the repository.
    pub repository: [u8; 16],
    /// Of rows, the commit as of which they are; of records, the commit that they follow.
    pub commit: CommitNumber,
    /// The time of that commit; 0 where it is not known.
    pub time: Timestamp,
    /// The place of the file among those of its set, from 0 on.
    pub place: u32,
}

impl Header {
    fn encode(&self) -> [u8; HEADER_BYTES] {
        let mut out = [0; HEADER_BYTES];
        out[..8].copy_from_slice(MAGIC);
        out[8..12].copy_from_slice(&VERSION.to_le_bytes());
        out[12..16].copy_from_slice(&(self.kind as u32).to_le_bytes());
        out[16..32].copy_from_slice(&self.repository);
        out[32..40].copy_from_slice(&self.commit.0.to_le_bytes());
        out[40..48].copy_from_slice(&self.time.0.to_le_bytes());
        out[48..52].copy_from_slice(&self.place.to_le_bytes());
        let sum = crc32c::crc32c(&out[..60]);
        out[60..].copy_from_slice(&sum.to_le_bytes());
        out
    }

    fn decode(bytes: &[u8]) -> Result<Self, String> {
        let Some(header) = bytes.first_chunk::<HEADER_BYTES>() else {
            return Err(format!("expected at least {HEADER_BYTES} bytes, found {}", bytes.len()));
        };
        let number = |at: usize| {
            let bytes = header.iter().skip(at).take(4).rev();
            bytes.fold(0, |number: u32, byte| number << 8 | u32::from(*byte))
        };
        let long = |at: usize| u64::from(number(at)) | u64::from(number(at + 4)) << 32;
        if !header.starts_with(MAGIC) {
            return Err("it is not a file of a backup".to_owned());
        }
        if number(60) != crc32c::crc32c(&header[..60]) {
            return Err("its header has another checksum".to_owned());
        }
        if number(8) != VERSION {
            return Err(format!("expected version {VERSION}, found {}", number(8)));
        }
        let kind = match number(12) {
            1 => Kind::Rows,
            2 => Kind::Records,
            other => return Err(format!("unknown kind of file {other}")),
        };
        let mut repository = [0; 16];
        repository.copy_from_slice(&header[16..32]);
        let (commit, time) = (CommitNumber(long(32)), Timestamp(long(40)));
        Ok(Self { kind, repository, commit, time, place: number(48) })
    }
}

/// What tells frames of one file from those of another: the start of their checksums. Without the
/// header's own checksum, with which that of any header is the same number.
fn seed(header: &Header) -> u32 {
    crc32c::crc32c(&header.encode()[..60])
}

/// A file being made.
pub(crate) struct Encoder {
    bytes: Vec<u8>,
    seed: u32,
    /// Where the frame begins that is being filled.
    frame: usize,
    /// How many items it has.
    count: u32,
    /// Of rows, how many came before it in the set; of records, the number of the last.
    previous: u64,
    /// The same, after the items that it has.
    last: u64,
}

impl Encoder {
    /// A file with this header, whose first item comes after `previous`.
    pub(crate) fn new(header: &Header, previous: u64) -> Self {
        let bytes = header.encode().to_vec();
        let (frame, seed) = (bytes.len(), seed(header));
        Self { bytes, seed, frame, count: 0, previous, last: previous }
    }

    /// Goes on with a file of which everything is written.
    pub(crate) fn resume(header: &Header, previous: u64) -> Self {
        Self { bytes: Vec::new(), frame: 0, ..Self::new(header, previous) }
    }

    /// Bytes made and not taken.
    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Adds a row of the engine.
    pub(crate) fn row(&mut self, id: u32, key: &str, document: &Document) {
        self.begin_item();
        self.bytes.extend_from_slice(&id.to_le_bytes());
        self.bytes.extend_from_slice(&(key.len() as u16).to_le_bytes());
        self.bytes.extend_from_slice(key.as_bytes());
        let row = encode_document(document);
        self.bytes.extend_from_slice(&(row.len() as u32).to_le_bytes());
        self.bytes.extend_from_slice(&row);
        self.end_item(self.last + 1);
    }

    /// Adds the record of a commit.
    pub(crate) fn record(&mut self, number: CommitNumber, record: &[u8]) {
        self.begin_item();
        self.bytes.extend_from_slice(&number.0.to_le_bytes());
        self.bytes.extend_from_slice(&(record.len() as u32).to_le_bytes());
        self.bytes.extend_from_slice(record);
        self.end_item(number.0);
    }

    fn begin_item(&mut self) {
        if self.count == 0 {
            self.frame = self.bytes.len();
            self.bytes.resize(self.frame + FRAME_HEADER_BYTES, 0);
        }
    }

    fn end_item(&mut self, last: u64) {
        self.count += 1;
        self.last = last;
        if self.bytes.len() - self.frame > FRAME_BYTES_TARGET {
            self.end_frame();
        }
    }

    /// Ends the frame, if anything is in it.
    pub(crate) fn end_frame(&mut self) {
        if self.count > 0 {
            self.seal();
        }
    }

    fn seal(&mut self) {
        let frame = &mut self.bytes[self.frame..];
        let length = (frame.len() - FRAME_HEADER_BYTES) as u32;
        frame[..4].copy_from_slice(FRAME_MAGIC);
        frame[8..12].copy_from_slice(&length.to_le_bytes());
        frame[12..16].copy_from_slice(&self.count.to_le_bytes());
        frame[16..24].copy_from_slice(&self.previous.to_le_bytes());
        let sum = crc32c::crc32c_append(self.seed, &frame[8..]);
        frame[4..8].copy_from_slice(&sum.to_le_bytes());
        (self.count, self.previous) = (0, self.last);
    }

    /// What was made, in whole frames. More may follow.
    pub(crate) fn take(&mut self) -> Vec<u8> {
        self.end_frame();
        std::mem::take(&mut self.bytes)
    }

    /// As `take`, with the frame that says that nothing follows.
    pub(crate) fn finish(mut self) -> Vec<u8> {
        self.end_frame();
        self.frame = self.bytes.len();
        self.bytes.resize(self.frame + FRAME_HEADER_BYTES, 0);
        self.seal();
        self.bytes
    }
}

/// A frame that was read.
#[derive(Debug)]
pub(crate) struct Frame {
    count: u32,
    /// See [`Encoder::previous`].
    pub previous: u64,
    payload: Bytes,
}

/// A row, by the id of its collection and its key.
pub(crate) type Row = (u32, String, std::sync::Arc<Document>);

impl Frame {
    /// Its rows.
    pub(crate) fn rows(&self) -> Result<Vec<Row>, String> {
        let mut reader = Reader::new(self.payload.clone());
        let rows = self.items(|| {
            let id = reader.u32()?;
            let length = usize::from(reader.u16()?);
            let key = reader.text(length)?;
            let length = reader.u32()? as usize;
            Ok((id, key, reader.bytes(length)?))
        })?;
        end(reader)?;
        let document = |row: &Bytes| decode_document(row).map_err(|error| error.to_string());
        rows.into_iter().map(|(id, key, row)| Ok((id, key, document(&row)?))).collect()
    }

    /// Its records.
    pub(crate) fn records(&self) -> Result<Vec<(CommitNumber, Bytes)>, String> {
        let mut reader = Reader::new(self.payload.clone());
        let records = self.items(|| {
            let number = CommitNumber(reader.u64()?);
            let length = reader.u32()? as usize;
            Ok((number, reader.bytes(length)?))
        })?;
        end(reader)?;
        let mut last = CommitNumber(self.previous);
        for (number, _) in &records {
            if *number <= last {
                return Err(format!("commit {number} comes after commit {last}"));
            }
            last = *number;
        }
        Ok(records)
    }

    fn items<T>(&self, mut item: impl FnMut() -> Result<T, DecodeError>) -> Result<Vec<T>, String> {
        // An item takes at least ten bytes, so a damaged count cannot ask for much memory.
        if self.count as usize > self.payload.len() / 10 {
            return Err(format!("{} items cannot be in {} bytes", self.count, self.payload.len()));
        }
        let items = (0..self.count).map(|_| item()).collect::<Result<_, _>>();
        items.map_err(|error| format!("an item is damaged {error}"))
    }
}

fn end(mut reader: Reader) -> Result<(), String> {
    match reader.rest().len() {
        0 => Ok(()),
        left => Err(format!("{left} bytes are left over in a frame")),
    }
}

/// The items of a frame of any bytes, for fuzzing.
pub(super) fn frame_items(is_rows: bool, count: u32, payload: &[u8]) -> Result<usize, String> {
    let frame = Frame { count, previous: 0, payload: Bytes::copy_from_slice(payload) };
    if is_rows { Ok(frame.rows()?.len()) } else { Ok(frame.records()?.len()) }
}

/// A file being read.
pub(crate) struct Decoder {
    pub header: Header,
    bytes: Bytes,
    seed: u32,
    at: usize,
    is_ended: bool,
}

impl Decoder {
    /// Reads the header.
    pub(crate) fn new(bytes: Bytes) -> Result<Self, String> {
        let header = Header::decode(&bytes)?;
        let seed = seed(&header);
        Ok(Self { header, bytes, seed, at: HEADER_BYTES, is_ended: false })
    }

    /// Whether the frame was read that says that nothing follows.
    pub(crate) fn is_ended(&self) -> bool {
        self.is_ended
    }

    /// The next frame; `None` after the last. `Err`: there is none that is whole.
    pub(crate) fn next(&mut self) -> Result<Option<Frame>, String> {
        let left = self.bytes.slice(self.at..);
        if left.is_empty() || self.is_ended {
            return match self.is_ended && !left.is_empty() {
                true => Err(format!("{} bytes follow after the end", left.len())),
                false => Ok(None),
            };
        }
        let mut reader = Reader::new(left.clone());
        let (magic, sum, length, count, previous) = frame_header(&mut reader)
            .map_err(|error| format!("a frame at offset {} is cut off {error}", self.at))?;
        let at = self.at;
        let damaged = |what: &str| format!("the frame at offset {at} {what}");
        if magic != *FRAME_MAGIC {
            return Err(damaged("does not begin as one"));
        }
        let end = FRAME_HEADER_BYTES.saturating_add(length);
        if end > left.len() {
            return Err(damaged("is cut off"));
        }
        if crc32c::crc32c_append(self.seed, &left[8..end]) != sum {
            return Err(damaged("has another checksum"));
        }
        self.at += end;
        if count == 0 {
            self.is_ended = true;
            return self.next();
        }
        let payload = left.slice(FRAME_HEADER_BYTES..end);
        Ok(Some(Frame { count, previous, payload }))
    }
}

type FrameFields = ([u8; 4], u32, usize, u32, u64);

fn frame_header(reader: &mut Reader) -> Result<FrameFields, DecodeError> {
    let mut magic = [0; 4];
    magic.copy_from_slice(&reader.bytes(4)?);
    Ok((magic, reader.u32()?, reader.u32()? as usize, reader.u32()?, reader.u64()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::MediaType;

    fn header(kind: Kind) -> Header {
        let (commit, time) = (CommitNumber(7), Timestamp(70));
        Header { kind, repository: [3; 16], commit, time, place: 2 }
    }

    fn document(body: &str) -> Document {
        Document {
            media_type: MediaType::Json,
            body: Bytes::from(body.to_owned()),
            version: CommitNumber(5),
            created: Timestamp(1),
            updated: Timestamp(2),
            expires: Some(Timestamp(9)),
            blob: None,
        }
    }

    fn rows_file() -> Vec<u8> {
        let mut file = Encoder::new(&header(Kind::Rows), 0);
        file.row(4, "a", &document("1"));
        file.end_frame();
        file.row(4, "ü", &document("[2]"));
        file.finish()
    }

    fn rows(bytes: &[u8]) -> Result<Vec<Row>, String> {
        let mut file = Decoder::new(Bytes::copy_from_slice(bytes))?;
        let mut rows = Vec::new();
        while let Some(frame) = file.next()? {
            rows.extend(frame.rows()?);
        }
        if file.is_ended() { Ok(rows) } else { Err("it does not end".to_owned()) }
    }

    #[test]
    fn rows_come_back() {
        let bytes = rows_file();
        let expected = [
            (4, "a".to_owned(), document("1").into()),
            (4, "ü".to_owned(), document("[2]").into()),
        ];
        assert_eq!(rows(&bytes).unwrap(), expected);
        assert_eq!(Decoder::new(bytes.into()).unwrap().header, header(Kind::Rows));
    }

    #[test]
    fn records_come_back_and_a_file_goes_on() {
        let mut file = Encoder::new(&header(Kind::Records), 7);
        file.record(CommitNumber(9), b"nine");
        let mut bytes = file.take();
        let mut file = Encoder::resume(&header(Kind::Records), 9);
        file.record(CommitNumber(10), b"");
        bytes.extend(file.take());
        let mut read = Decoder::new(bytes.into()).unwrap();
        let first = read.next().unwrap().unwrap();
        assert_eq!(first.previous, 7);
        assert_eq!(first.records().unwrap(), [(CommitNumber(9), Bytes::from("nine"))]);
        let second = read.next().unwrap().unwrap();
        assert_eq!(second.previous, 9);
        assert_eq!(second.records().unwrap(), [(CommitNumber(10), Bytes::new())]);
        assert!(read.next().unwrap().is_none() && !read.is_ended());
    }

    #[test]
    fn every_truncation_and_every_flip_is_seen() {
        let bytes = rows_file();
        for length in 0..bytes.len() {
            assert!(rows(&bytes[..length]).is_err(), "{length} bytes");
        }
        assert!(rows(&[&bytes[..], b"x"].concat()).is_err());
        for at in 0..bytes.len() {
            let mut flipped = bytes.clone();
            flipped[at] ^= 1;
            assert!(rows(&flipped).is_err(), "byte {at}");
        }
    }

    #[test]
    fn a_frame_of_another_file_is_seen() {
        let mut other = Encoder::new(&Header { place: 3, ..header(Kind::Rows) }, 0);
        other.row(4, "a", &document("1"));
        let mut bytes = rows_file();
        bytes.truncate(HEADER_BYTES);
        bytes.extend(&other.finish()[HEADER_BYTES..]);
        assert!(rows(&bytes).unwrap_err().contains("another checksum"));
    }
}
