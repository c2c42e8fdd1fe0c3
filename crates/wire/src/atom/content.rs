//! The content of an entry (RFC 4287 §4.1.3): told apart by its type, and checked.

use super::construct::{Text, TextKind, div, plain, resolved};
use super::media_type;
use super::refused::{Invalid, ReadError};
use super::rules::{Form, broken, check_attributes, invalid};
use crate::base64;
use crate::xml::{Element, Event, Reader};

/// What an entry holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// Text, HTML or XHTML.
    Text(Text),
    /// Text of another media type.
    OtherText {
        /// `text/...`.
        media_type: String,
        /// What it says.
        text: String,
    },
    /// XML within the entry; it stays where it is.
    Xml {
        /// Of a media type of XML.
        media_type: String,
    },
    /// Bytes, which the entry has in Base64.
    Binary {
        /// Of any other media type.
        media_type: String,
        /// What they are.
        bytes: Vec<u8>,
    },
    /// It is elsewhere.
    Away {
        /// Where, resolved as far as the document says.
        src: String,
        /// Of this media type, if it is stated.
        media_type: Option<String>,
    },
}

impl Content {
    /// Whether a reader may be unable to show it, so that the entry needs a summary (§4.1.2).
    pub fn needs_summary(&self) -> bool {
        matches!(self, Content::Away { .. } | Content::Binary { .. })
    }
}

/// Content, whose start tag was read.
pub(super) fn read(reader: &mut Reader<'_>, element: &Element<'_>) -> Result<Content, ReadError> {
    let stated = element.get("type");
    if let Some(src) = element.get("src") {
        check_attributes(reader, element, &[("src", Form::Iri)])?;
        return away(reader, src, stated);
    }
    let base = reader.base().map(str::to_owned);
    let lang = reader.lang().map(str::to_owned);
    let text = |kind, value| Content::Text(Text { kind, value, base, lang });
    let media_type = match stated.unwrap_or("text") {
        "text" => return Ok(text(TextKind::Text, plain(reader, "content")?)),
        "html" => return Ok(text(TextKind::Html, plain(reader, "content")?)),
        "xhtml" => return Ok(text(TextKind::Xhtml, div(reader, "content")?)),
        other => media_type_of(reader, other)?,
    };
    if media_type::is_xml(&media_type) {
        reader.skip()?;
        return Ok(Content::Xml { media_type });
    }
    if media_type::is_text(&media_type) {
        return Ok(Content::OtherText { text: plain(reader, "content")?, media_type });
    }
    let place = reader.place();
    let text = plain(reader, "content")?;
    let bytes = decoded(&text).ok_or(ReadError::Base64 { place })?;
    Ok(Content::Binary { media_type, bytes })
}

fn media_type_of(reader: &Reader<'_>, text: &str) -> Result<String, ReadError> {
    if !media_type::is_one(text) || media_type::is_composite(text) {
        let found = text.chars().take(60).collect();
        broken(reader, Invalid::ContentType(found))?;
    }
    Ok(text.to_owned())
}

/// §4.1.3.2.
fn away(reader: &mut Reader<'_>, src: &str, stated: Option<&str>) -> Result<Content, ReadError> {
    let src = resolved(reader, src);
    let media_type = stated.map(|stated| media_type_of(reader, stated)).transpose()?;
    while let Some(event) = reader.read()? {
        match event {
            Event::Text(text) if text.trim().is_empty() => {}
            Event::Aside => {}
            Event::End => break,
            Event::Text(_) | Event::Start(_) => {
                return Err(invalid(reader, Invalid::SourceAndContent));
            }
        }
    }
    Ok(Content::Away { src, media_type })
}

/// The bytes of Base64, white space passed over; none if it is not.
fn decoded(text: &str) -> Option<Vec<u8>> {
    let dense: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    if dense.is_empty() {
        return Some(Vec::new());
    }
    let mut bytes = vec![0; dense.len() / 4 * 3];
    let length = base64::decode(&dense, &mut bytes)?;
    bytes.truncate(length);
    Some(bytes)
}
