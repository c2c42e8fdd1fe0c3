//! Fields: the members and the metadata of a document that a query can speak of.

use repository::{Document, IndexValue, Key, MediaType, Timestamp, json};
use std::borrow::Cow;
use std::cmp::Ordering;

/// What a query can speak of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Field {
    Meta(Meta),
    Member(Path),
}

/// What is known of every document, whatever it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Meta {
    Key,
    Version,
    Created,
    Updated,
    Expires,
}

impl Meta {
    pub(crate) const ALL: [(&'static str, Self); 5] = [
        ("key", Self::Key),
        ("version", Self::Version),
        ("created", Self::Created),
        ("updated", Self::Updated),
        ("expires", Self::Expires),
    ];
}

/// A way into a JSON document: names of members, numbers of elements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Path {
    names: Vec<String>,
    pointer: String,
}

impl Path {
    pub(crate) fn new(names: Vec<String>) -> Self {
        let escaped = names.iter().map(|name| name.replace('~', "~0").replace('/', "~1"));
        let pointer = escaped.fold(String::new(), |pointer, name| pointer + "/" + &name);
        Self { names, pointer }
    }

    /// Where the text of a date is that is there.
    pub(crate) fn date(mut self) -> Self {
        self.names.push("$date".to_owned());
        Self::new(self.names)
    }

    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }

    /// The same as a JSON Pointer (RFC 6901), as indexes have it.
    pub(crate) fn pointer(&self) -> &str {
        &self.pointer
    }
}

/// A document that a query looks at.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Record<'a> {
    key: &'a Key,
    document: &'a Document,
    /// Its text, if it is JSON.
    text: Option<&'a str>,
}

/// What a field is in a document.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Found<'a> {
    Nothing,
    Scalar(Scalar<'a>),
    /// The text of an array.
    Array(&'a str),
    Object,
}

/// A value that can be compared.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Scalar<'a> {
    Null,
    Boolean(bool),
    Number(f64),
    Text(Cow<'a, str>),
}

impl<'a> Record<'a> {
    pub(crate) fn new(key: &'a Key, document: &'a Document) -> Self {
        let text = match document.media_type {
            MediaType::Json => std::str::from_utf8(&document.body).ok(),
            MediaType::Other(_) => None,
        };
        Self { key, document, text: text.filter(|text| !text.is_empty()) }
    }

    /// What `field` is in this document.
    pub(crate) fn find(&self, field: &Field) -> Found<'a> {
        match field {
            Field::Meta(meta) => self.meta(*meta),
            Field::Member(path) => match self.text.map(|text| (text, path.pointer())) {
                Some((text, pointer)) => match json::locate(text, pointer) {
                    Ok(json::Span::Value(span)) => Found::json(&text[span]),
                    Ok(json::Span::Vacant { .. }) | Err(_) => Found::Nothing,
                },
                None => Found::Nothing,
            },
        }
    }

    fn meta(&self, meta: Meta) -> Found<'a> {
        let time = |time: Timestamp| Found::Scalar(Scalar::Number(time.0 as f64));
        match meta {
            Meta::Key => Found::Scalar(Scalar::Text(Cow::Borrowed(self.key.as_str()))),
            Meta::Version => Found::Scalar(Scalar::Number(self.document.version.0 as f64)),
            Meta::Created => time(self.document.created),
            Meta::Updated => time(self.document.updated),
            Meta::Expires => self.document.expires.map_or(Found::Nothing, time),
        }
    }
}

impl<'a> Found<'a> {
    /// The value with the canonical text `value`.
    fn json(value: &'a str) -> Self {
        match value.as_bytes()[0] {
            b'{' => Self::Object,
            b'[' => Self::Array(value),
            b'"' => Self::Scalar(Scalar::Text(json::unquote(value))),
            b't' | b'f' => Self::Scalar(Scalar::Boolean(value == "true")),
            b'n' => Self::Scalar(Scalar::Null),
            _ => value.parse().map_or(Self::Nothing, |number| Self::Scalar(Scalar::Number(number))),
        }
    }

    pub(crate) fn scalar(&self) -> Option<&Scalar<'a>> {
        match self {
            Self::Scalar(scalar) => Some(scalar),
            Self::Nothing | Self::Array(_) | Self::Object => None,
        }
    }

    /// The value itself, or the elements of an array, as far as they can be compared.
    pub(crate) fn any(&self, mut holds: impl FnMut(&Scalar<'_>) -> bool) -> bool {
        match self {
            Self::Scalar(scalar) => holds(scalar),
            Self::Array(text) => json::children(text)
                .any(|child| Found::json(child.value).scalar().is_some_and(&mut holds)),
            Self::Nothing | Self::Object => false,
        }
    }
}

impl Scalar<'_> {
    /// Compares with `value`; not with one of another type.
    pub(crate) fn compare(&self, value: &IndexValue) -> Option<Ordering> {
        match (self, value) {
            (Self::Null, IndexValue::Null) => Some(Ordering::Equal),
            (Self::Boolean(a), IndexValue::Boolean(b)) => Some(a.cmp(b)),
            (Self::Number(a), IndexValue::Number(b)) => a.partial_cmp(b),
            (Self::Text(a), IndexValue::Text(b)) => Some((**a).cmp(b)),
            _ => None,
        }
    }

    /// The value by which documents are ordered: of a text, the first `bytes_max` bytes.
    pub(crate) fn to_order(&self, bytes_max: usize) -> IndexValue {
        match self {
            Self::Null => IndexValue::Null,
            Self::Boolean(value) => IndexValue::Boolean(*value),
            // One zero, as indexes have it.
            Self::Number(value) => IndexValue::Number(*value + 0.0),
            Self::Text(text) => {
                IndexValue::Text(text[..text.floor_char_boundary(bytes_max)].to_owned())
            }
        }
    }
}
