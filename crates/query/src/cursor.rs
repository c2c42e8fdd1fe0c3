//! Cursors: the place in an order after which the next page begins, as an opaque text.
//!
//! The bytes, before base64url (RFC 4648 §5, without padding):
//!
//! | bytes | what |
//! | --- | --- |
//! | 1 | version, 1 |
//! | 8 | fingerprint of the query |
//! | 1 | number of values |
//! | … | the values: 0 null, 1 false, 2 true, 3 a number (8 bytes), 4 a text (2-byte length) |
//! | … | the key (2-byte length) |
//! | 8 | checksum of everything before |
//!
//! Numbers are little-endian, those among the values IEEE 754 doubles. Fingerprint and checksum
//! tell mistakes, not attacks: a cursor grants nothing that a filter does not.

use crate::limits::{CURSOR_CHARS_MAX, ORDER_FIELDS_MAX, ORDER_TEXT_BYTES_MAX};
use crate::order::Place;
use repository::{IndexValue, Key};
use thiserror::Error;

const VERSION: u8 = 1;

/// Bytes of the checksum.
const SUM_BYTES: usize = 8;

/// Why a text is no cursor for a query.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub(crate) enum CursorError {
    #[error("the \"next\" of a page, as it came")]
    Damaged,
    #[error("a \"next\" of this version of the server; begin again without it")]
    Version,
    #[error(
        "the \"next\" of a page of the same query: collection, filter and order are as they were"
    )]
    OtherQuery,
}

/// What tells queries apart whose cursors must not be mixed up.
pub(crate) fn fingerprint(parts: [&str; 3]) -> u64 {
    let mut bytes = Vec::new();
    for part in parts {
        bytes.extend_from_slice(&(part.len() as u64).to_le_bytes());
        bytes.extend_from_slice(part.as_bytes());
    }
    sum(&bytes)
}

/// `place` as a cursor of the query with this fingerprint.
pub(crate) fn encode(place: &Place, fingerprint: u64) -> String {
    let mut bytes = vec![VERSION];
    bytes.extend_from_slice(&fingerprint.to_le_bytes());
    bytes.push(place.values.len() as u8);
    for value in &place.values {
        match value {
            IndexValue::Null => bytes.push(0),
            IndexValue::Boolean(value) => bytes.push(1 + u8::from(*value)),
            IndexValue::Number(number) => {
                bytes.push(3);
                bytes.extend_from_slice(&number.to_le_bytes());
            }
            IndexValue::Text(text) => {
                bytes.push(4);
                push_text(&mut bytes, text);
            }
        }
    }
    push_text(&mut bytes, place.key.as_str());
    sealed(bytes)
}

/// The text of these bytes, with their checksum.
pub(crate) fn sealed(mut bytes: Vec<u8>) -> String {
    bytes.extend_from_slice(&sum(&bytes).to_le_bytes());
    to_base64(&bytes)
}

/// The place that a cursor stands for, of the query with this fingerprint and so many fields in
/// its order.
pub(crate) fn decode(text: &str, fingerprint: u64, fields: usize) -> Result<Place, CursorError> {
    let bytes = Some(text).filter(|text| text.len() <= CURSOR_CHARS_MAX).and_then(from_base64);
    let bytes = bytes.ok_or(CursorError::Damaged)?;
    let (body, checksum) = bytes.split_last_chunk::<SUM_BYTES>().ok_or(CursorError::Damaged)?;
    if sum(body) != u64::from_le_bytes(*checksum) {
        return Err(CursorError::Damaged);
    }
    let (version, rest) = body.split_first().ok_or(CursorError::Damaged)?;
    if *version != VERSION {
        return Err(CursorError::Version);
    }
    let (of, rest) = rest.split_first_chunk().ok_or(CursorError::Damaged)?;
    if u64::from_le_bytes(*of) != fingerprint {
        return Err(CursorError::OtherQuery);
    }
    place(rest).filter(|place| place.values.len() == fields).ok_or(CursorError::Damaged)
}

fn place(mut rest: &[u8]) -> Option<Place> {
    let mut values = Vec::new();
    for _ in 0..take_byte(&mut rest)? {
        values.push(match take_byte(&mut rest)? {
            0 => IndexValue::Null,
            1 => IndexValue::Boolean(false),
            2 => IndexValue::Boolean(true),
            3 => {
                let (number, after) = rest.split_first_chunk()?;
                rest = after;
                let number = f64::from_le_bytes(*number);
                IndexValue::Number(Some(number).filter(|number| number.is_finite())?)
            }
            4 => {
                let text = take_text(&mut rest).filter(|t| t.len() <= ORDER_TEXT_BYTES_MAX)?;
                IndexValue::Text(text.to_owned())
            }
            _ => return None,
        });
    }
    let key = Key::new(take_text(&mut rest)?).ok()?;
    (rest.is_empty() && values.len() <= ORDER_FIELDS_MAX).then_some(Place { values, key })
}

fn take_byte(rest: &mut &[u8]) -> Option<u8> {
    let (first, after) = rest.split_first()?;
    *rest = after;
    Some(*first)
}

fn take_text<'a>(rest: &mut &'a [u8]) -> Option<&'a str> {
    let (length, after) = rest.split_first_chunk()?;
    let (text, after) = after.split_at_checked(usize::from(u16::from_le_bytes(*length)))?;
    *rest = after;
    std::str::from_utf8(text).ok()
}

fn push_text(bytes: &mut Vec<u8>, text: &str) {
    // Keys and values of an order are far shorter: `limits` says so.
    bytes.extend_from_slice(&(text.len() as u16).to_le_bytes());
    bytes.extend_from_slice(text.as_bytes());
}

/// FNV-1a, 64 bits.
fn sum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |sum, byte| {
        (sum ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

fn to_base64(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let byte = |i: usize| u32::from(chunk.get(i).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for i in 0..=chunk.len() {
            text.push(char::from(DIGITS[(bits >> (18 - 6 * i) & 63) as usize]));
        }
    }
    text
}

/// The bytes of a text that `to_base64` wrote; of no other.
fn from_base64(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    for chunk in text.as_bytes().chunks(4) {
        let mut bits = 0_u32;
        for (i, digit) in chunk.iter().enumerate() {
            let value = DIGITS.iter().position(|known| known == digit)? as u32;
            bits |= value << (18 - 6 * i);
        }
        let [_, all @ ..] = bits.to_be_bytes();
        let (taken, rest) = all.split_at_checked(chunk.len().checked_sub(1)?)?;
        if taken.is_empty() || rest.iter().any(|byte| *byte != 0) {
            return None;
        }
        bytes.extend_from_slice(taken);
    }
    Some(bytes)
}

#[cfg(test)]
#[path = "tests/cursor.rs"]
mod tests;
