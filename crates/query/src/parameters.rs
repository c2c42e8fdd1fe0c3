//! Parameters: the query component of a URI (RFC 3986 §3.4) as pairs of names and values in the
//! form that HTML forms give them, and a `Query` made of them.

use crate::limits::{FILTER_BYTES_MAX, QUERY_DOCUMENTS_DEFAULT, QUERY_DOCUMENTS_MAX};
use crate::order::Order;
use crate::projection::Projection;
use crate::scanner::Mistake;
use crate::{Query, cursor, parser};
use repository::CollectionName;
use thiserror::Error;

/// Most characters of what came that a message shows.
const SHOWN_CHARS: usize = 40;

/// The names and values of parameters, each name once.
pub type Pairs = Vec<(&'static str, String)>;

/// Why parameters cannot be used.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ParameterError {
    /// There is no parameter of that name.
    #[error("the parameter \"{got}\" is not known here; there are {known}")]
    Unknown {
        /// What came, the beginning of it.
        got: String,
        /// The names of those that there are.
        known: String,
    },
    /// It came several times.
    #[error("the parameter {name} may be there once; it came several times")]
    Repeated {
        /// Its name.
        name: &'static str,
    },
    /// It came with another value than one of those expected.
    #[error("the parameter {name}: expected {expected}; got {got}")]
    Value {
        /// The parameter's name.
        name: &'static str,
        /// What would do.
        expected: String,
        /// What came, the beginning of it.
        got: String,
    },
    /// The query component is not percent-encoded UTF-8.
    #[error(
        "the query of the URI: expected \"%\" and two hexadecimal digits that make UTF-8; got {got}"
    )]
    Encoding {
        /// What came, the beginning of it.
        got: String,
    },
    /// In a text with a grammar.
    #[error("the parameter {name}, {mistake}")]
    Mistake {
        /// The parameter's name.
        name: &'static str,
        /// What is wrong, and where.
        mistake: Mistake,
    },
}

impl ParameterError {
    /// `name` came with the value `got`, where `expected` was wanted.
    pub fn value(name: &'static str, expected: impl Into<String>, got: &str) -> Self {
        Self::Value { name, expected: expected.into(), got: excerpt(got) }
    }
}

const KNOWN: [&str; 7] = ["filter", "order", "limit", "after", "fields", "count", "explain"];

/// Takes the query component of a URI apart.
pub fn pairs(component: Option<&str>, known: &[&'static str]) -> Result<Pairs, ParameterError> {
    let mut pairs = Pairs::new();
    let parts = component.unwrap_or_default().split('&').filter(|part| !part.is_empty());
    for part in parts {
        let (name, value) = part.split_once('=').unwrap_or((part, ""));
        let name = decode(name)?;
        let Some(name) = known.iter().find(|known| **known == name) else {
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            return Err(ParameterError::Unknown { got: shown(&name), known });
        };
        if pairs.iter().any(|(seen, _)| seen == name) {
            return Err(ParameterError::Repeated { name });
        }
        pairs.push((name, decode(value)?));
    }
    Ok(pairs)
}

/// A reference to the same resource with these parameters (RFC 3986 §4.2): `?a=b&c=d`.
pub fn reference<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let mut reference = String::new();
    for (name, value) in pairs {
        reference.push(if reference.is_empty() { '?' } else { '&' });
        reference.push_str(name);
        reference.push('=');
        for byte in value.bytes() {
            match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                    reference.push(char::from(byte));
                }
                byte => reference.push_str(&format!("%{byte:02X}")),
            }
        }
    }
    reference
}

impl Query {
    /// The query for the documents of `collection` that the query component of a URI asks for.
    pub fn parse(
        collection: CollectionName,
        component: Option<&str>,
    ) -> Result<Self, ParameterError> {
        let mut pairs = pairs(component, &KNOWN)?;
        let value = |name| pairs.iter().find(|(known, _)| *known == name).map(|(_, v)| v.as_str());
        let mistake = |name| move |mistake| ParameterError::Mistake { name, mistake };
        let text = value("filter").unwrap_or_default();
        if text.len() > FILTER_BYTES_MAX {
            let expected = format!("at most {FILTER_BYTES_MAX} bytes");
            let got = format!("{} bytes", text.len());
            return Err(ParameterError::Value { name: "filter", expected, got });
        }
        let filter = parser::parse(text).map_err(mistake("filter"))?;
        let order_text = value("order").unwrap_or_default();
        let order = Order::parse(order_text).map_err(mistake("order"))?;
        let fields =
            value("fields").map(Projection::parse).transpose().map_err(mistake("fields"))?;
        let limit = value("limit")
            .map_or(Ok(QUERY_DOCUMENTS_DEFAULT), |text| limit(text, QUERY_DOCUMENTS_MAX))?;
        let counts = value("count").map_or(Ok(false), |text| flag("count", text))?;
        let explains = value("explain").map_or(Ok(false), |text| flag("explain", text))?;
        let fingerprint = cursor::fingerprint([collection.as_str(), text, order_text]);
        let place = |text| cursor::decode(text, fingerprint, order.fields.len());
        let after = value("after").map(|text| {
            place(text).map_err(|error| ParameterError::value("after", error.to_string(), text))
        });
        let after = after.transpose()?;
        pairs.retain(|(name, _)| *name != "after");
        let echo = pairs;
        Ok(Self {
            collection,
            filter,
            order,
            limit,
            after,
            fields,
            counts,
            explains,
            fingerprint,
            echo,
        })
    }
}

/// The value of the parameter `limit`: a number of things to give.
pub fn limit(text: &str, max: usize) -> Result<usize, ParameterError> {
    let is_plain = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let number = text.parse().ok().filter(|number| is_plain && *number <= max);
    number.ok_or_else(|| {
        ParameterError::value("limit", format!("a whole number from 0 to {max}"), text)
    })
}

fn flag(name: &'static str, text: &str) -> Result<bool, ParameterError> {
    let expected = || ParameterError::value(name, "true or false", text);
    text.parse().map_err(|_| expected())
}

/// Percent-decoding (RFC 3986 §2.1), where a plus sign is a space, as forms write it.
fn decode(encoded: &str) -> Result<String, ParameterError> {
    let wrong = || ParameterError::Encoding { got: excerpt(encoded) };
    let mut decoded = Vec::with_capacity(encoded.len());
    let mut rest = encoded.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        decoded.push(match byte {
            b'+' => b' ',
            b'%' => {
                let (digits, after) = rest.split_first_chunk::<2>().ok_or_else(wrong)?;
                rest = after;
                let digit = |byte| char::from(byte).to_digit(16).ok_or_else(wrong);
                (digit(digits[0])? * 16 + digit(digits[1])?) as u8
            }
            byte => byte,
        });
    }
    String::from_utf8(decoded).map_err(|_| wrong())
}

fn excerpt(text: &str) -> String {
    format!("\"{}\"", shown(text))
}

fn shown(text: &str) -> String {
    repository::excerpt(text, SHOWN_CHARS).into_owned()
}

#[cfg(test)]
#[path = "tests/parameters.rs"]
mod tests;
