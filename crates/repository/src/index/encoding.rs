//! The text of an index row: values so written that texts compare as the values do.
//!
//! `docs/format.md`, "Index rows", has the bytes. No encoded value is the beginning of another, so
//! the values of a row can be told apart, and from the document's key that follows them.

const NULL: u8 = b'1';
const BOOLEAN: u8 = b'2';
const NUMBER: u8 = b'3';
const TEXT: u8 = b'4';

/// Hexadecimal digits of a number.
const NUMBER_DIGITS: usize = 16;

/// Ends a text.
const TEXT_END: &str = "\0\u{1}";

/// Stands for a zero character in a text. Comes after `TEXT_END`: a longer text comes later.
const TEXT_ZERO: &str = "\0\u{2}";

/// The bit of a double that says that it is negative.
const SIGN: u64 = 1 << 63;

/// A value that an index holds. Null, then booleans, then numbers, then texts by their bytes.
#[derive(Clone, Debug, PartialEq, PartialOrd)]
pub enum IndexValue {
    /// `null`.
    Null,
    /// `false`, then `true`.
    Boolean(bool),
    /// A number; not NaN.
    Number(f64),
    /// A string.
    Text(String),
}

impl IndexValue {
    /// Appends the encoded value. -0 is 0.
    pub(crate) fn encode(&self, out: &mut String) {
        match self {
            Self::Null => out.push(char::from(NULL)),
            Self::Boolean(value) => encode_boolean(*value, out),
            Self::Number(value) => encode_number(*value, out),
            Self::Text(value) => encode_text(value, out),
        }
    }
}

pub(super) fn encode_null(out: &mut String) {
    out.push(char::from(NULL));
}

pub(super) fn encode_boolean(value: bool, out: &mut String) {
    out.push(char::from(BOOLEAN));
    out.push(if value { '1' } else { '0' });
}

pub(super) fn encode_number(value: f64, out: &mut String) {
    // Negative doubles order the wrong way round and before the others: so all of their bits are
    // flipped, and of the others the sign.
    let bits = if value == 0.0 { 0 } else { value.to_bits() };
    let ordered = if bits & SIGN == 0 { bits | SIGN } else { !bits };
    out.push(char::from(NUMBER));
    out.push_str(&format!("{ordered:0NUMBER_DIGITS$x}"));
}

pub(super) fn encode_text(value: &str, out: &mut String) {
    out.push(char::from(TEXT));
    for (i, part) in value.split('\0').enumerate() {
        if i > 0 {
            out.push_str(TEXT_ZERO);
        }
        out.push_str(part);
    }
    out.push_str(TEXT_END);
}

/// The row of a document with `key`, whose values are encoded already.
pub(crate) fn row_key(values: &str, key: &str) -> String {
    [values, key].concat()
}

/// The values of a row, and the document's key; `None` if the text is no row of so many columns.
pub(crate) fn split_row(row: &str, columns: usize) -> Option<(Vec<IndexValue>, &str)> {
    let mut values = Vec::new();
    let mut rest = row;
    for _ in 0..columns {
        let (value, after) = split_value(rest)?;
        values.push(value);
        rest = after;
    }
    (!rest.is_empty()).then_some((values, rest))
}

fn split_value(text: &str) -> Option<(IndexValue, &str)> {
    let (tag, rest) = (*text.as_bytes().first()?, text.get(1..)?);
    match tag {
        NULL => Some((IndexValue::Null, rest)),
        BOOLEAN => match rest.as_bytes().first()? {
            b'0' => Some((IndexValue::Boolean(false), &rest[1..])),
            b'1' => Some((IndexValue::Boolean(true), &rest[1..])),
            _ => None,
        },
        NUMBER => {
            let digits = rest.get(..NUMBER_DIGITS)?;
            Some((IndexValue::Number(decode_number(digits)?), &rest[NUMBER_DIGITS..]))
        }
        TEXT => {
            let (text, rest) = rest.split_once(TEXT_END)?;
            Some((IndexValue::Text(decode_text(text)?), rest))
        }
        _ => None,
    }
}

fn decode_number(digits: &str) -> Option<f64> {
    if !digits.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')) {
        return None;
    }
    let ordered = u64::from_str_radix(digits, 16).ok()?;
    let bits = if ordered & SIGN == 0 { !ordered } else { ordered & !SIGN };
    let value = f64::from_bits(bits);
    let is_negative_zero = bits == SIGN;
    (!value.is_nan() && !is_negative_zero).then_some(value)
}

fn decode_text(encoded: &str) -> Option<String> {
    let mut text = String::with_capacity(encoded.len());
    for (i, part) in encoded.split('\0').enumerate() {
        match i {
            0 => text.push_str(part),
            _ => {
                text.push('\0');
                text.push_str(part.strip_prefix('\u{2}')?);
            }
        }
    }
    Some(text)
}
