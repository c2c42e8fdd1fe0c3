//! The lines of an export: how each is written, and how it is read again, strictly. Every line is
//! one canonical JSON text; `docs/export.md` has them one by one. No file and no repository here.

use crate::blobs::{BlobHash, BlobReference};
use crate::document::{CommitNumber, Document, MediaType, Timestamp};
use crate::json;
use crate::limits::MEDIA_TYPE_BYTES_MAX;
use crate::name::{CollectionName, Key, excerpt};
use crate::settings::Settings;
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use bytes::Bytes;
use std::borrow::Cow;
use std::io::Write;
use thiserror::Error;

/// The version of the format that this build writes and reads.
const FORMAT: u64 = 1;

/// The first line: where all of it comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// The commit that all of it is.
    pub commit: CommitNumber,
    /// The time of that commit.
    pub time: Timestamp,
    /// The collections that were asked for; empty: all.
    pub collections: Vec<CollectionName>,
    /// Whether Sarsen's own collections are in it.
    pub system: bool,
}

/// The last line: what must have come before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Trailer {
    /// Lines of collections.
    pub collections: u64,
    /// Lines of documents.
    pub documents: u64,
    /// Lines of pieces of blobs.
    pub pieces: u64,
    /// CRC32C of every line between the first and this one, their ends included.
    pub checksum: u32,
}

/// A document with its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Exported {
    /// Its collection.
    pub collection: CollectionName,
    /// Its key.
    pub key: Key,
    /// The rest.
    pub document: Document,
}

/// A line.
#[derive(Clone, Debug, PartialEq)]
pub enum Line {
    /// The first.
    Header(Header),
    /// A collection and its settings; its documents follow.
    Collection(CollectionName, Box<Settings>),
    /// A document.
    Document(Box<Exported>),
    /// A part of the blob of the document before it.
    Piece(Piece),
    /// The last.
    Trailer(Trailer),
}

/// Bytes of a blob.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Where in it they begin.
    pub at: u64,
    /// The bytes; at least one.
    pub bytes: Bytes,
}

/// Why a line cannot be read.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{why}")]
pub struct LineError {
    /// In which byte of the line, counted from 1, if that can be said.
    pub column: Option<u32>,
    /// What was expected and what came.
    pub why: String,
}

impl From<json::Error> for LineError {
    fn from(error: json::Error) -> Self {
        Self { column: Some(error.column), why: error.why }
    }
}

/// Appends `line` and its end.
pub fn write(line: &Line, out: &mut Vec<u8>) {
    match line {
        Line::Header(header) => write_header(header, out),
        Line::Collection(name, settings) => write_collection(name, settings, out),
        Line::Document(line) => write_document((&line.collection, &line.key), &line.document, out),
        Line::Piece(piece) => write_piece(piece.at, &piece.bytes, out),
        Line::Trailer(trailer) => write_trailer(*trailer, out),
    }
}

pub(super) fn write_header(header: &Header, out: &mut Vec<u8>) {
    let Header { commit, time, collections, system } = header;
    put(out, format_args!("{{\"sarsen\":\"export\",\"format\":{FORMAT},\"commit\":{commit},"));
    put(out, format_args!("\"time\":\"{}\"", time.rfc3339()));
    if !collections.is_empty() {
        let names: Vec<String> = collections.iter().map(|name| format!("\"{name}\"")).collect();
        put(out, format_args!(",\"collections\":[{}]", names.join(",")));
    }
    if *system {
        put(out, format_args!(",\"system\":true"));
    }
    out.extend_from_slice(b"}\n");
}

pub(super) fn write_collection(name: &CollectionName, settings: &Settings, out: &mut Vec<u8>) {
    put(out, format_args!("{{\"collection\":\"{name}\",\"settings\":{}}}\n", settings.to_json()));
}

pub(super) fn write_document(
    (collection, key): (&CollectionName, &Key),
    document: &Document,
    out: &mut Vec<u8>,
) {
    let Document { version, created, updated, expires, media_type, body, blob } = document;
    let key = json::quote(key.as_str());
    put(out, format_args!("{{\"collection\":\"{collection}\",\"key\":{key},"));
    let (created, updated) = (created.rfc3339(), updated.rfc3339());
    put(out, format_args!("\"version\":{version},\"created\":\"{created}\","));
    put(out, format_args!("\"updated\":\"{updated}\","));
    if let Some(at) = expires {
        put(out, format_args!("\"expires\":\"{}\",", at.rfc3339()));
    }
    match media_type {
        MediaType::Json => {
            out.extend_from_slice(b"\"document\":");
            out.extend_from_slice(body);
            out.extend_from_slice(b"}\n");
        }
        MediaType::Other(name) => {
            put(out, format_args!("\"media_type\":{},", json::quote(name)));
            if let Some(BlobReference { hash, length }) = blob {
                put(out, format_args!("\"blob\":\"{hash}\",\"length\":{length}}}\n"));
                return;
            }
            out.extend_from_slice(b"\"base64\":\"");
            append_base64(body, out);
            out.extend_from_slice(b"\"}\n");
        }
    }
}

/// Base64 is ASCII: a line stays UTF-8.
fn append_base64(bytes: &[u8], out: &mut Vec<u8>) {
    let begin = out.len();
    out.resize(begin + bytes.len().div_ceil(3) * 4, 0);
    let written = BASE64.encode_slice(bytes, &mut out[begin..]);
    debug_assert_eq!(written.ok(), Some(out.len() - begin));
}

pub(super) fn write_piece(at: u64, bytes: &[u8], out: &mut Vec<u8>) {
    put(out, format_args!("{{\"at\":{at},\"base64\":\""));
    append_base64(bytes, out);
    out.extend_from_slice(b"\"}\n");
}

pub(super) fn write_trailer(trailer: Trailer, out: &mut Vec<u8>) {
    let Trailer { collections, documents, pieces, checksum } = trailer;
    put(out, format_args!("{{\"end\":\"export\",\"collections\":{collections},"));
    put(out, format_args!("\"documents\":{documents},"));
    if pieces > 0 {
        put(out, format_args!("\"pieces\":{pieces},"));
    }
    put(out, format_args!("\"crc32c\":\"{checksum:08x}\"}}\n"));
}

fn put(out: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    out.write_fmt(text).expect("memory takes what is written to it");
}

/// Reads a line, without its end.
///
/// # Errors
/// What is wrong with it and where. Nothing that is unknown is passed over.
pub fn read(line: &[u8]) -> Result<Line, LineError> {
    let canonical = json::canonicalize(line)?;
    let text = String::from_utf8_lossy(&canonical);
    let mut members = Members::new(&text, canonical == line)?;
    let read = if members.has("sarsen") {
        read_header(&mut members).map(Line::Header)
    } else if members.has("end") {
        read_trailer(&mut members).map(Line::Trailer)
    } else if members.has("settings") {
        read_collection(&mut members)
    } else if members.has("at") {
        read_piece(&mut members).map(Line::Piece)
    } else if members.has("key") {
        read_document(&mut members).map(|line| Line::Document(Box::new(line)))
    } else {
        let why = "expected a line of an export: with the member \"sarsen\", \"settings\", \
                   \"key\", \"at\" or \"end\"";
        Err(LineError { column: Some(1), why: format!("{why}; got {}", excerpt(&text)) })
    }?;
    members.end()?;
    Ok(read)
}

/// Whether a line begins an export, well formed or not.
pub(super) fn is_header(line: &[u8]) -> bool {
    let Ok(canonical) = json::canonicalize(line) else { return false };
    let text = String::from_utf8_lossy(&canonical);
    text.starts_with('{') && json::children(&text).any(|child| child.name == Some("\"sarsen\""))
}

fn read_header(members: &mut Members<'_>) -> Result<Header, LineError> {
    let kind = members.text("sarsen")?;
    if kind != "export" {
        return Err(members.wrong("sarsen", "\"export\""));
    }
    if members.number("format")? != FORMAT {
        return Err(members.wrong("format", "1: this build reads no other"));
    }
    let commit = CommitNumber(members.number("commit")?);
    let time = members.time("time")?;
    let mut collections = Vec::new();
    if let Some(list) = members.take("collections") {
        let expected = "an array of names of collections";
        if !list.starts_with('[') {
            return Err(members.wrong_value("collections", list, expected));
        }
        for child in json::children(list) {
            let name = text_of(child.value).and_then(|name| CollectionName::new(&name).ok());
            let name = name.ok_or_else(|| members.wrong_value("collections", list, expected))?;
            collections.push(name);
        }
    }
    let system = match members.take("system") {
        None => false,
        Some("true") => true,
        Some(other) => return Err(members.wrong_value("system", other, "true, or nothing")),
    };
    Ok(Header { commit, time, collections, system })
}

fn read_trailer(members: &mut Members<'_>) -> Result<Trailer, LineError> {
    if members.text("end")? != "export" {
        return Err(members.wrong("end", "\"export\""));
    }
    let (collections, documents) = (members.number("collections")?, members.number("documents")?);
    let pieces = match members.has("pieces") {
        true => members.number("pieces")?,
        false => 0,
    };
    if pieces == 0 && members.taken.iter().any(|(name, _)| name == "pieces") {
        return Err(members.wrong("pieces", "a number above 0, or nothing"));
    }
    let text = members.text("crc32c")?;
    let is_hex = text.len() == 8 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    let checksum = u32::from_str_radix(&text, 16).ok().filter(|_| is_hex);
    let checksum =
        checksum.ok_or_else(|| members.wrong("crc32c", "8 hexadecimal digits in lower case"))?;
    Ok(Trailer { collections, documents, pieces, checksum })
}

fn read_collection(members: &mut Members<'_>) -> Result<Line, LineError> {
    let name = members.collection()?;
    let text = members.take("settings").unwrap_or_default();
    let settings = Settings::from_json(text).and_then(|settings| {
        settings.check()?;
        Ok(settings)
    });
    let settings = settings.map_err(|error| members.at("settings", error.to_string()))?;
    Ok(Line::Collection(name, Box::new(settings)))
}

fn read_document(members: &mut Members<'_>) -> Result<Exported, LineError> {
    let collection = members.collection()?;
    let key = members.text("key")?;
    let key = Key::new(&key).map_err(|error| members.at("key", error.to_string()))?;
    let version = CommitNumber(members.number("version")?);
    let (created, updated) = (members.time("created")?, members.time("updated")?);
    if created > updated {
        return Err(members.wrong("updated", "no earlier than \"created\""));
    }
    let expires = match members.has("expires") {
        true => Some(members.time("expires")?),
        false => None,
    };
    let (media_type, body, blob) = read_body(members)?;
    let document = Document { media_type, body, blob, version, created, updated, expires };
    Ok(Exported { collection, key, document })
}

/// The media type, and the content or where it is.
type Body = (MediaType, Bytes, Option<BlobReference>);

fn read_body(members: &mut Members<'_>) -> Result<Body, LineError> {
    if let Some(document) = members.take("document") {
        return Ok((MediaType::Json, Bytes::copy_from_slice(document.as_bytes()), None));
    }
    let name = members.text("media_type")?;
    if name.len() > MEDIA_TYPE_BYTES_MAX || name == MediaType::Json.as_str() {
        let expected = "a media type of at most 255 bytes, and \"document\" instead for JSON";
        return Err(members.wrong("media_type", expected));
    }
    let media_type = MediaType::Other(name.as_ref().into());
    if members.has("blob") {
        let hash = BlobHash::parse(&members.text("blob")?);
        let hash = hash.ok_or_else(|| members.wrong("blob", "64 hexadecimal digits"))?;
        let length = members.number("length")?;
        if length == 0 {
            return Err(members.wrong("length", "at least 1"));
        }
        return Ok((media_type, Bytes::new(), Some(BlobReference { hash, length })));
    }
    Ok((media_type, read_bytes(members)?, None))
}

fn read_bytes(members: &mut Members<'_>) -> Result<Bytes, LineError> {
    let text = members.text("base64")?;
    let bytes = BASE64.decode(text.as_bytes());
    let bytes = bytes.map_err(|_| members.wrong("base64", "Base64 with padding"))?;
    Ok(bytes.into())
}

fn read_piece(members: &mut Members<'_>) -> Result<Piece, LineError> {
    let at = members.number("at")?;
    let bytes = read_bytes(members)?;
    match bytes.is_empty() {
        true => Err(members.wrong("base64", "some bytes")),
        false => Ok(Piece { at, bytes }),
    }
}

/// The meaning of a string of canonical text.
fn text_of(value: &str) -> Option<Cow<'_, str>> {
    value.starts_with('"').then(|| json::unquote(value))
}

/// The members of a line that were not asked for yet.
struct Members<'a> {
    text: &'a str,
    left: Vec<(Cow<'a, str>, &'a str)>,
    /// Those that were, for what is said of them.
    taken: Vec<(Cow<'a, str>, &'a str)>,
    /// Whether the line came as it is here, so that places are right.
    is_as_it_came: bool,
}

impl<'a> Members<'a> {
    fn new(text: &'a str, is_as_it_came: bool) -> Result<Self, LineError> {
        if !text.starts_with('{') {
            let why = format!("expected a JSON object, got {}", excerpt(text));
            return Err(LineError { column: Some(1), why });
        }
        let member = |child: json::Child<'a>| Some((json::unquote(child.name?), child.value));
        let left = json::children(text).filter_map(member).collect();
        Ok(Self { text, left, taken: Vec::new(), is_as_it_came })
    }

    fn has(&self, name: &str) -> bool {
        self.left.iter().any(|(known, _)| known == name)
    }

    fn take(&mut self, name: &str) -> Option<&'a str> {
        let at = self.left.iter().position(|(known, _)| known == name)?;
        let member = self.left.remove(at);
        let value = member.1;
        self.taken.push(member);
        Some(value)
    }

    fn need(&mut self, name: &'static str) -> Result<&'a str, LineError> {
        self.take(name).ok_or_else(|| LineError {
            column: Some(1),
            why: format!("expected a member \"{name}\", which is missing"),
        })
    }

    fn text(&mut self, name: &'static str) -> Result<Cow<'a, str>, LineError> {
        let value = self.need(name)?;
        text_of(value).ok_or_else(|| self.wrong_value(name, value, "a text"))
    }

    /// A whole number that JSON holds exactly.
    fn number(&mut self, name: &'static str) -> Result<u64, LineError> {
        let value = self.need(name)?;
        value.parse().map_err(|_| self.wrong_value(name, value, "a whole number"))
    }

    fn time(&mut self, name: &'static str) -> Result<Timestamp, LineError> {
        let text = self.text(name)?;
        let time = Timestamp::from_rfc3339(&text);
        time.ok_or_else(|| self.wrong(name, "a time such as \"2026-01-31T12:00:00.000Z\""))
    }

    fn collection(&mut self) -> Result<CollectionName, LineError> {
        let name = self.text("collection")?;
        CollectionName::new(&name).map_err(|error| self.at("collection", error.to_string()))
    }

    /// Whatever is left is unknown.
    fn end(&self) -> Result<(), LineError> {
        match self.left.first() {
            None => Ok(()),
            Some((name, value)) => {
                let why = format!("no line of this kind has a member \"{}\"", excerpt(name));
                Err(LineError { column: self.column(value), why })
            }
        }
    }

    fn wrong(&self, name: &str, expected: &str) -> LineError {
        let value = self.taken.iter().find(|(known, _)| known == name);
        self.wrong_value(name, value.map_or("", |(_, value)| value), expected)
    }

    fn wrong_value(&self, name: &str, value: &str, expected: &str) -> LineError {
        let why = format!("\"{name}\": expected {expected}; got {}", excerpt(value));
        LineError { column: self.column(value), why }
    }

    fn at(&self, name: &str, why: String) -> LineError {
        let value = self.taken.iter().find(|(known, _)| known == name);
        LineError {
            column: value.and_then(|(_, value)| self.column(value)),
            why: format!("\"{name}\": {why}"),
        }
    }

    fn column(&self, value: &str) -> Option<u32> {
        let offset = (value.as_ptr() as usize).checked_sub(self.text.as_ptr() as usize)?;
        let is_inside = self.is_as_it_came && offset < self.text.len();
        is_inside.then(|| u32::try_from(offset + 1).ok())?
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples() -> Vec<Line> {
        let name = |name: &str| CollectionName::new(name).unwrap();
        let document = |media_type, body: &'static [u8], expires| Document {
            media_type,
            body: Bytes::from_static(body),
            blob: None,
            version: CommitNumber(7),
            created: Timestamp(1_000),
            updated: Timestamp(951_782_400_000),
            expires,
        };
        let exported = |key: &str, document| {
            let (collection, key) = (name("notes"), Key::new(key).unwrap());
            Line::Document(Box::new(Exported { collection, key, document }))
        };
        let settings = Settings { expiry_ms: Some(5), ..Settings::default() };
        let (commit, time) = (CommitNumber(18), Timestamp(951_782_400_001));
        let png = MediaType::Other("image/png".into());
        let gif = MediaType::Other("image/gif".into());
        let blob = Some(BlobReference { hash: BlobHash::of(b"abc"), length: 100_000 });
        vec![
            Line::Header(Header { commit, time, collections: Vec::new(), system: false }),
            Line::Header(Header { commit, time, collections: vec![name("a")], system: true }),
            Line::Collection(name("notes"), Box::new(settings)),
            exported("a\"b\\ü", document(MediaType::Json, b"{\"a\":[1,null]}", None)),
            exported("p", document(png, &[0, 255, 3, 4], Some(Timestamp(u64::MAX)))),
            exported("b", Document { blob, ..document(gif, b"", None) }),
            Line::Piece(Piece { at: 9, bytes: Bytes::from_static(b"abc") }),
            Line::Trailer(Trailer { collections: 1, documents: 2, pieces: 0, checksum: 0xABC }),
            Line::Trailer(Trailer { collections: 1, documents: 2, pieces: 3, checksum: 0 }),
        ]
    }

    #[test]
    fn lines_come_back_as_they_were() {
        for line in samples() {
            let mut text = Vec::new();
            write(&line, &mut text);
            let content = text.strip_suffix(b"\n").unwrap();
            assert_eq!(json::canonicalize(content).unwrap(), content, "canonical");
            assert_eq!(read(content), Ok(line));
        }
    }

    #[test]
    fn mistakes_have_a_place_and_say_what_was_expected() {
        let document = "{\"collection\":\"notes\",\"key\":\"a\",\"version\":1,\
             \"created\":\"1970-01-01T00:00:00.000Z\",\
             \"updated\":\"1970-01-01T00:00:00.000Z\",\"document\":1}";
        assert!(read(document.as_bytes()).is_ok());
        for (from, to, column, why) in [
            ("\"notes\"", "7", 15, "\"collection\": expected a text; got 7"),
            ("notes", "Notes", 15, "\"collection\": a collection name is"),
            ("\"a\"", "\"\"", 29, "\"key\": a key is 1 to 512 bytes"),
            (":1,", ":1.5,", 43, "\"version\": expected a whole number; got 1.5"),
            ("00.000Z\",\"u", "00Z\",\"u", 55, "\"created\": expected a time such as"),
            ("\"document\":1", "\"dokument\":1", 1, "expected a member \"media_type\""),
            ("\"document\":1", "\"document\":1,\"x\":2", 136, "has a member \"x\""),
            ("\"document\":1", "\"document\":01", 131, "expected ',' or '}', got '1'"),
            ("1970", "1971", 92, "\"updated\": expected no earlier than \"created\""),
        ] {
            let line = document.replacen(from, to, 1);
            let error = read(line.as_bytes()).unwrap_err();
            assert!(error.why.contains(why), "{line}: {error}");
            assert_eq!(error.column, Some(column), "{line}: {error}");
        }
        // Its members are elsewhere than in the canonical text.
        let spaced = document.replacen(":1,", ": 1.5,", 1);
        assert_eq!(read(spaced.as_bytes()).unwrap_err().column, None);
        for line in ["", "[]", "{}", "{\"sarsen\":\"import\"}", "{\"end\":1}", "nul"] {
            assert!(read(line.as_bytes()).is_err(), "{line}");
        }
    }
}
