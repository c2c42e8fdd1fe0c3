//! The record of one transaction, as the tranlog carries it: `docs/format.md`, "Record".
//!
//! A record says what was asked (a merge operation stays an intent), so that every server and
//! every recovery that applies the same records in the same order reaches the same bytes.

use crate::blobs::{BlobReference, REFERENCE_BYTES};
use crate::catalog::Configure;
use crate::document::{CommitNumber, Document, MediaType, Timestamp, tight};
use crate::ended::Ending;
use crate::history::{Floor, Trim, TrimmedRow};
use crate::limits::MEDIA_TYPE_BYTES_MAX;
use crate::merge::{self, Merge};
use crate::name::{CollectionName, Key};
use crate::settings::Settings;
use bytes::Bytes;
use thiserror::Error;

/// What one transaction does to one document.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Change {
    Put {
        media_type: MediaType,
        /// Empty, if there is a blob.
        body: Bytes,
        blob: Option<BlobReference>,
        expires: Option<Timestamp>,
    },
    Delete,
    Merge(Vec<Merge>),
    /// Delete it if it still expires at this time.
    Expire(Timestamp),
    /// Derive its rows in indexes that are being built.
    Reindex,
    /// Change what the catalog says of a collection.
    Configure(Configure),
    /// Remove rows of an index that the catalog no longer wants.
    Clear {
        index: u32,
        rows: Vec<Key>,
    },
    /// Remove the document from the collection with this id, which has ended: its name may be
    /// another's by now.
    Remove(u32),
    /// Remove rows of a history.
    Trim(Trim),
}

/// One write of a transaction.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Write {
    pub collection: CollectionName,
    pub key: Key,
    pub change: Change,
    /// What a put says of its own times, as those of imports do.
    pub times: Option<Times>,
}

/// When a document was created and updated elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Times {
    pub created: Timestamp,
    pub updated: Timestamp,
}

/// At most the bytes that a write takes in a record beside its names, body and merge operations.
const WRITE_OVERHEAD_BYTES: usize = 32 + MEDIA_TYPE_BYTES_MAX;

/// What a write with times of its own takes besides: the two, and the kind of put.
pub(crate) const TIMES_BYTES: usize = 17;

impl Write {
    /// At most the bytes that it takes in a record.
    pub(crate) fn bytes(&self) -> usize {
        let content = match &self.change {
            Change::Put { blob: Some(_), .. } => REFERENCE_BYTES,
            Change::Put { body, .. } => body.len(),
            Change::Merge(operations) => operations.iter().map(Merge::bytes).sum(),
            Change::Configure(change) => change.bytes(),
            Change::Clear { rows, .. } => rows.iter().map(|row| 2 + row.as_str().len()).sum(),
            Change::Trim(trim) => trim.bytes(),
            Change::Delete | Change::Expire(_) | Change::Reindex | Change::Remove(_) => 0,
        };
        let times = if self.times.is_some() { TIMES_BYTES } else { 0 };
        let names = self.collection.as_str().len() + self.key.as_str().len();
        WRITE_OVERHEAD_BYTES + times + names + content
    }
}

const PUT: u8 = 1;
const DELETE: u8 = 2;
const MERGE: u8 = 3;
const EXPIRE: u8 = 4;
const REINDEX: u8 = 5;
const CONFIGURE: u8 = 6;
const CLEAR: u8 = 7;
const PUT_BLOB: u8 = 9;
const TRIM: u8 = 10;
const TRIM_WITH_BLOBS: u8 = 12;
const REMOVE: u8 = 11;
const PUT_WITH_TIMES: u8 = 8;
const CONFIGURE_SETTINGS: u8 = 1;
const CONFIGURE_BUILT: u8 = 2;
const CONFIGURE_CLEARED: u8 = 3;
const CONFIGURE_DROP: u8 = 4;
const CONFIGURE_EMPTY: u8 = 5;
const CONFIGURE_TRIMMED: u8 = 6;
const FLAG_JSON: u8 = 1;
const FLAG_EXPIRES: u8 = 2;
const FLAG_BLOB: u8 = 4;

/// Encodes `count` writes; the time is filled in by [`set_time`] when the commit is decided.
pub(crate) fn encode<'a>(count: usize, writes: impl Iterator<Item = &'a Write>) -> Vec<u8> {
    let mut out = Vec::with_capacity(512);
    out.extend_from_slice(&[0; 8]);
    out.extend_from_slice(&(count as u32).to_le_bytes());
    for write in writes {
        encode_write(write, &mut out);
    }
    out
}

/// Sets the time of an encoded record.
pub(crate) fn set_time(record: &mut [u8], time: Timestamp) {
    record[..8].copy_from_slice(&time.0.to_le_bytes());
}

/// The time of an encoded record, if it is one.
pub(crate) fn time(record: &[u8]) -> Option<Timestamp> {
    record.first_chunk::<8>().map(|time| Timestamp(u64::from_le_bytes(*time)))
}

fn encode_write(write: &Write, out: &mut Vec<u8>) {
    let kind = match &write.change {
        Change::Put { blob: None, .. } => PUT,
        Change::Put { blob: Some(_), .. } => PUT_BLOB,
        Change::Delete => DELETE,
        Change::Merge(_) => MERGE,
        Change::Expire(_) => EXPIRE,
        Change::Reindex => REINDEX,
        Change::Configure(_) => CONFIGURE,
        Change::Clear { .. } => CLEAR,
        Change::Remove(_) => REMOVE,
        Change::Trim(trim) if trim.rows.iter().any(|row| row.blob.is_some()) => TRIM_WITH_BLOBS,
        Change::Trim(_) => TRIM,
    };
    let is_put = matches!(kind, PUT | PUT_BLOB);
    let times = write.times.filter(|_| is_put);
    out.push(if times.is_some() { PUT_WITH_TIMES } else { kind });
    out.push(write.collection.as_str().len() as u8);
    out.extend_from_slice(write.collection.as_str().as_bytes());
    put_short(write.key.as_str().as_bytes(), out);
    if let Some(Times { created, updated }) = times {
        out.extend_from_slice(&created.0.to_le_bytes());
        out.extend_from_slice(&updated.0.to_le_bytes());
        out.push(kind);
    }
    match &write.change {
        Change::Put { media_type, blob: Some(blob), expires, .. } => {
            put_representation(media_type, *expires, out);
            out.extend_from_slice(&blob.encode());
        }
        Change::Put { media_type, body, expires, blob: None } => {
            put_representation(media_type, *expires, out);
            out.extend_from_slice(&(body.len() as u32).to_le_bytes());
            out.extend_from_slice(body);
        }
        Change::Delete | Change::Reindex => {}
        Change::Expire(at) => out.extend_from_slice(&at.0.to_le_bytes()),
        Change::Remove(id) => out.extend_from_slice(&id.to_le_bytes()),
        Change::Configure(change) => encode_configure(change, out),
        Change::Clear { index, rows } => {
            out.extend_from_slice(&index.to_le_bytes());
            out.extend_from_slice(&(rows.len() as u16).to_le_bytes());
            rows.iter().for_each(|row| put_short(row.as_str().as_bytes(), out));
        }
        Change::Trim(trim) => encode_trim(trim, kind == TRIM_WITH_BLOBS, out),
        Change::Merge(operations) => {
            out.extend_from_slice(&(operations.len() as u16).to_le_bytes());
            for operation in operations {
                merge::encode(operation, out);
            }
        }
    }
}

fn encode_configure(change: &Configure, out: &mut Vec<u8>) {
    match change {
        Configure::Settings(settings) => {
            let text = settings.to_json();
            out.push(CONFIGURE_SETTINGS);
            out.extend_from_slice(&(text.len() as u32).to_le_bytes());
            out.extend_from_slice(text.as_bytes());
        }
        Configure::Built(id) => {
            out.push(CONFIGURE_BUILT);
            out.extend_from_slice(&id.to_le_bytes());
        }
        Configure::Cleared(id) => {
            out.push(CONFIGURE_CLEARED);
            out.extend_from_slice(&id.to_le_bytes());
        }
        Configure::End(Ending::Drop) => out.push(CONFIGURE_DROP),
        Configure::End(Ending::Empty) => out.push(CONFIGURE_EMPTY),
        Configure::Trimmed(id) => {
            out.push(CONFIGURE_TRIMMED);
            out.extend_from_slice(&id.to_le_bytes());
        }
    }
}

fn encode_trim(trim: &Trim, has_blobs: bool, out: &mut Vec<u8>) {
    out.extend_from_slice(&trim.history.to_le_bytes());
    out.push(u8::from(trim.floor.is_some()));
    if let Some((key, floor)) = &trim.floor {
        put_short(key.as_str().as_bytes(), out);
        out.extend_from_slice(&floor.commit.0.to_le_bytes());
        out.extend_from_slice(&floor.time.0.to_le_bytes());
    }
    out.extend_from_slice(&(trim.rows.len() as u16).to_le_bytes());
    for TrimmedRow { row, expires, blob } in &trim.rows {
        put_short(row.as_str().as_bytes(), out);
        // No row expires at the beginning of 1970.
        out.extend_from_slice(&expires.map_or(0, |at| at.0).to_le_bytes());
        if has_blobs {
            out.push(u8::from(blob.is_some()));
            out.extend(blob.iter().flat_map(BlobReference::encode));
        }
    }
}

fn decode_trim(reader: &mut Reader, has_blobs: bool) -> Result<Trim, DecodeError> {
    let history = reader.u32()?;
    let floor = match reader.u8()? {
        0 => None,
        1 => {
            let length = usize::from(reader.u16()?);
            let key = Key::generated(reader.text(length)?);
            let (commit, time) = (CommitNumber(reader.u64()?), Timestamp(reader.u64()?));
            Some((key, Floor { commit, time }))
        }
        other => return Err(reader.error(format!("expected 0 or 1, got {other}"))),
    };
    let count = reader.u16()?;
    let row = |_| {
        let length = usize::from(reader.u16()?);
        let row = Key::generated(reader.text(length)?);
        let expires = Timestamp(reader.u64()?);
        let expires = (expires > Timestamp(0)).then_some(expires);
        let blob = match if has_blobs { reader.u8()? } else { 0 } {
            0 => None,
            1 => Some(reader.reference()?),
            other => return Err(reader.error(format!("expected 0 or 1, got {other}"))),
        };
        Ok(TrimmedRow { row, expires, blob })
    };
    Ok(Trim { history, floor, rows: (0..count).map(row).collect::<Result<_, _>>()? })
}

fn decode_configure(reader: &mut Reader) -> Result<Configure, DecodeError> {
    match reader.u8()? {
        CONFIGURE_SETTINGS => {
            let length = reader.u32()? as usize;
            let text = reader.text(length)?;
            let settings = Settings::from_json(&text);
            settings.map(Configure::Settings).map_err(|e| reader.error(format!("settings: {e}")))
        }
        CONFIGURE_BUILT => Ok(Configure::Built(reader.u32()?)),
        CONFIGURE_CLEARED => Ok(Configure::Cleared(reader.u32()?)),
        CONFIGURE_DROP => Ok(Configure::End(Ending::Drop)),
        CONFIGURE_EMPTY => Ok(Configure::End(Ending::Empty)),
        CONFIGURE_TRIMMED => Ok(Configure::Trimmed(reader.u32()?)),
        other => Err(reader.error(format!("unknown change of settings {other}"))),
    }
}

/// The length in two bytes, then the bytes.
pub(crate) fn put_short(bytes: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&(bytes.len() as u16).to_le_bytes());
    out.extend_from_slice(bytes);
}

/// Flags, then what they announce: a media type that is not JSON, and an expiry.
pub(crate) fn put_representation(
    media_type: &MediaType,
    expires: Option<Timestamp>,
    out: &mut Vec<u8>,
) {
    let json = if *media_type == MediaType::Json { FLAG_JSON } else { 0 };
    out.push(json | if expires.is_some() { FLAG_EXPIRES } else { 0 });
    if let MediaType::Other(name) = media_type {
        out.push(name.len() as u8);
        out.extend_from_slice(name.as_bytes());
    }
    if let Some(at) = expires {
        out.extend_from_slice(&at.0.to_le_bytes());
    }
}

/// As [`put_representation`], of a document at rest, with its content after it.
pub(crate) fn put_at_rest(document: &Document, out: &mut Vec<u8>) {
    let flags = out.len();
    put_representation(&document.media_type, document.expires, out);
    match &document.blob {
        Some(blob) => {
            out[flags] |= FLAG_BLOB;
            out.extend_from_slice(&blob.encode());
        }
        None => out.extend_from_slice(&document.body),
    }
}

/// Bytes that are not what the format says.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("at byte {at}: {why}")]
pub(crate) struct DecodeError {
    pub at: usize,
    pub why: String,
}

/// Decodes one record.
pub(crate) fn decode(record: &Bytes) -> Result<(Timestamp, Vec<Write>), DecodeError> {
    let mut reader = Reader::new(record.clone());
    let time = Timestamp(reader.u64()?);
    let count = reader.u32()? as usize;
    // A write takes at least six bytes, so a damaged count cannot ask for much memory.
    if count > record.len() / 6 {
        return Err(reader.error(format!("{count} writes cannot be in {} bytes", record.len())));
    }
    let writes = (0..count).map(|_| decode_write(&mut reader)).collect::<Result<_, _>>()?;
    reader.end()?;
    Ok((time, writes))
}

fn decode_write(reader: &mut Reader) -> Result<Write, DecodeError> {
    let mut kind = reader.u8()?;
    let length = usize::from(reader.u8()?);
    let name = reader.text(length)?;
    let collection =
        CollectionName::new(&name).map_err(|e| reader.error(format!("collection: {e}")))?;
    let length = usize::from(reader.u16()?);
    let key = reader.text(length)?;
    let key = Key::new(&key).map_err(|e| reader.error(format!("key: {e}")))?;
    let mut times = None;
    if kind == PUT_WITH_TIMES {
        let (created, updated) = (Timestamp(reader.u64()?), Timestamp(reader.u64()?));
        times = Some(Times { created, updated });
        kind = reader.u8()?;
        if !matches!(kind, PUT | PUT_BLOB) {
            return Err(reader.error(format!("expected a put with these times, got {kind}")));
        }
    }
    let change = match kind {
        PUT => {
            let (media_type, expires) = reader.representation()?;
            let length = reader.u32()? as usize;
            Change::Put { media_type, expires, body: tight(&reader.bytes(length)?), blob: None }
        }
        PUT_BLOB => {
            let (media_type, expires) = reader.representation()?;
            let blob = Some(reader.blob(&media_type)?);
            Change::Put { media_type, expires, body: Bytes::new(), blob }
        }
        DELETE => Change::Delete,
        MERGE => {
            let count = reader.u16()?;
            let operations = (0..count).map(|_| merge::decode(reader)).collect::<Result<_, _>>()?;
            Change::Merge(operations)
        }
        EXPIRE => Change::Expire(Timestamp(reader.u64()?)),
        REINDEX => Change::Reindex,
        CONFIGURE => Change::Configure(decode_configure(reader)?),
        CLEAR => {
            let index = reader.u32()?;
            let count = reader.u16()?;
            let row = |_| {
                let length = usize::from(reader.u16()?);
                reader.text(length).map(Key::generated)
            };
            Change::Clear { index, rows: (0..count).map(row).collect::<Result<_, _>>()? }
        }
        REMOVE => Change::Remove(reader.u32()?),
        TRIM | TRIM_WITH_BLOBS => Change::Trim(decode_trim(reader, kind == TRIM_WITH_BLOBS)?),
        other => return Err(reader.error(format!("unknown kind of write {other}"))),
    };
    Ok(Write { collection, key, change, times })
}

/// Reads fields from the front of some bytes; never past their end.
pub(crate) struct Reader {
    bytes: Bytes,
    at: usize,
}

impl Reader {
    pub(crate) fn new(bytes: Bytes) -> Self {
        Self { bytes, at: 0 }
    }

    pub(crate) fn error(&self, why: String) -> DecodeError {
        DecodeError { at: self.at, why }
    }

    pub(crate) fn bytes(&mut self, length: usize) -> Result<Bytes, DecodeError> {
        let left = self.bytes.len() - self.at;
        if length > left {
            return Err(self.error(format!("expected {length} bytes, {left} are left")));
        }
        let taken = self.bytes.slice(self.at..self.at + length);
        self.at += length;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let mut array = [0; N];
        array.copy_from_slice(&self.bytes(N)?);
        Ok(array)
    }

    pub(crate) fn u8(&mut self) -> Result<u8, DecodeError> {
        self.array::<1>().map(|[byte]| byte)
    }

    pub(crate) fn u16(&mut self) -> Result<u16, DecodeError> {
        self.array().map(u16::from_le_bytes)
    }

    pub(crate) fn u32(&mut self) -> Result<u32, DecodeError> {
        self.array().map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self) -> Result<u64, DecodeError> {
        self.array().map(u64::from_le_bytes)
    }

    pub(crate) fn text(&mut self, length: usize) -> Result<String, DecodeError> {
        let bytes = self.bytes(length)?;
        String::from_utf8(bytes.into()).map_err(|e| self.error(format!("expected UTF-8: {e}")))
    }

    pub(crate) fn representation(&mut self) -> Result<(MediaType, Option<Timestamp>), DecodeError> {
        let flags = self.u8()?;
        self.flagged(flags)
    }

    /// The representation of a row, and whether its content is a blob.
    pub(crate) fn representation_at_rest(
        &mut self,
    ) -> Result<(MediaType, Option<Timestamp>, bool), DecodeError> {
        let flags = self.u8()?;
        let (media_type, expires) = self.flagged(flags & !FLAG_BLOB)?;
        Ok((media_type, expires, flags & FLAG_BLOB != 0))
    }

    /// A reference to a blob, which no JSON is.
    pub(crate) fn blob(&mut self, media_type: &MediaType) -> Result<BlobReference, DecodeError> {
        if *media_type == MediaType::Json {
            return Err(self.error("a blob cannot be JSON".to_owned()));
        }
        self.reference()
    }

    fn reference(&mut self) -> Result<BlobReference, DecodeError> {
        let reference = BlobReference::decode(&self.bytes(REFERENCE_BYTES)?);
        reference.ok_or_else(|| self.error("expected a reference to a blob".to_owned()))
    }

    fn flagged(&mut self, flags: u8) -> Result<(MediaType, Option<Timestamp>), DecodeError> {
        if flags & !(FLAG_JSON | FLAG_EXPIRES) != 0 {
            return Err(self.error(format!("unknown flags {flags:#04x}")));
        }
        let media_type = if flags & FLAG_JSON != 0 {
            MediaType::Json
        } else {
            let length = usize::from(self.u8()?);
            MediaType::Other(self.text(length)?.into())
        };
        let expires = if flags & FLAG_EXPIRES != 0 { Some(Timestamp(self.u64()?)) } else { None };
        Ok((media_type, expires))
    }

    pub(crate) fn rest(&mut self) -> Bytes {
        let rest = self.bytes.slice(self.at..);
        self.at = self.bytes.len();
        rest
    }

    fn end(&self) -> Result<(), DecodeError> {
        match self.bytes.len() - self.at {
            0 => Ok(()),
            left => Err(self.error(format!("{left} bytes are left over"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blobs::BlobHash;

    fn write(key: &str, change: Change) -> Write {
        let collection = CollectionName::new("notes").unwrap();
        Write { collection, key: Key::new(key).unwrap(), change, times: None }
    }

    fn samples() -> Vec<Write> {
        let png = MediaType::Other("image/png".into());
        let blob = BlobReference { hash: BlobHash::of(b"x"), length: 1 << 40 };
        let put =
            |media_type, blob| Change::Put { media_type, body: Bytes::new(), blob, expires: None };
        let key = |text: &str| Key::generated(text.to_owned());
        let row = |row, expires, blob| TrimmedRow { row: key(row), expires, blob };
        let expires = Some(Timestamp(9));
        let rows = vec![row("a\u{1}1", None, None), row("b\u{1}2", expires, None)];
        let named = vec![row("a", None, Some(blob)), row("b", expires, None)];
        let trim_named = Change::Trim(Trim { history: 4, floor: None, rows: named });
        let trim = |floor| Change::Trim(Trim { history: 4, floor, rows: rows.clone() });
        let floor = Floor { commit: CommitNumber(3), time: Timestamp(5) };
        let add = |path: &str, delta| Merge::Add { path: path.to_owned(), delta };
        let times = Some(Times { created: Timestamp(3), updated: Timestamp(4) });
        vec![
            Write { times, ..write("times", put(MediaType::Json, None)) },
            Write { times, ..write("both", put(png.clone(), Some(blob))) },
            write(
                "a",
                Change::Put {
                    media_type: MediaType::Json,
                    body: Bytes::from_static(b"{}"),
                    blob: None,
                    expires: Some(Timestamp(77)),
                },
            ),
            write("ü", put(png.clone(), None)),
            write("blob", put(png, Some(blob))),
            write("c", Change::Delete),
            write("d", Change::Merge(vec![add("", 1.0), add("/n", -0.5)])),
            write("e", Change::Expire(Timestamp(5))),
            write("f", Change::Reindex),
            write("g", Change::Configure(Configure::Settings(Settings::default()))),
            write("h", Change::Configure(Configure::Built(7))),
            write("i", Change::Configure(Configure::Cleared(8))),
            write("j", Change::Clear { index: 9, rows: vec![Key::new("row").unwrap()] }),
            write("k", Change::Configure(Configure::End(Ending::Drop))),
            write("l", Change::Configure(Configure::End(Ending::Empty))),
            write("m", Change::Remove(10)),
            write("n", Change::Configure(Configure::Trimmed(7))),
            write("named", trim_named),
            write("o", trim(None)),
            write("p", trim(Some((key(""), floor)))),
        ]
    }

    #[test]
    fn a_record_comes_back_as_it_was() {
        let writes = samples();
        let mut record = encode(writes.len(), writes.iter());
        set_time(&mut record, Timestamp(1234));
        assert_eq!(decode(&record.into()), Ok((Timestamp(1234), writes)));
    }

    #[test]
    fn every_truncation_is_refused() {
        let record = Bytes::from(encode(samples().len(), samples().iter()));
        for length in 0..record.len() {
            assert!(decode(&record.slice(..length)).is_err(), "{length} bytes");
        }
        let longer = Bytes::from([&record[..], b"x"].concat());
        assert_eq!(decode(&longer).unwrap_err().why, "1 bytes are left over");
    }

    #[test]
    fn no_byte_flip_panics() {
        let record = encode(samples().len(), samples().iter());
        for i in 0..record.len() {
            for bit in 0..8 {
                let mut flipped = record.clone();
                flipped[i] ^= 1 << bit;
                // Any result is right (the frame's checksum guards the content); no panic is.
                let _ = decode(&flipped.into());
            }
        }
    }
}
