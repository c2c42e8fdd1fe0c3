//! Why a text is no XML that is read here, and where.

use std::fmt;
use thiserror::Error;

/// A place in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// From 1.
    pub line: usize,
    /// In characters, from 1.
    pub column: usize,
}

impl Place {
    /// Where `offset`, in bytes, is in `text`.
    pub fn of(text: &str, offset: usize) -> Place {
        let before = &text.as_bytes()[..offset.min(text.len())];
        let line_start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let is_first = |byte: &&u8| **byte & 0xC0 != 0x80;
        Place {
            line: before.iter().filter(|byte| **byte == b'\n').count() + 1,
            column: before[line_start..].iter().filter(is_first).count() + 1,
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}", self.line, self.column)
    }
}

/// A document that is not read.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{place}: {reason}")]
pub struct Refused {
    /// Where.
    pub place: Place,
    /// Why.
    pub reason: Reason,
}

/// Why a document is not read. All of these are the sender's to mend.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum Reason {
    /// The bytes are not in the encoding that they are said to be in.
    #[error("expected text in {encoding}, found bytes that are none; send UTF-8")]
    NotEncoded {
        /// The encoding that was stated, or UTF-8.
        encoding: &'static str,
    },
    /// An encoding that is not read.
    #[error("expected the encoding UTF-8 or UTF-16, found \"{found}\"; send UTF-8")]
    Encoding {
        /// Its name, at most so long as the limit of names.
        found: String,
    },
    /// The byte order mark, the `charset` parameter and the XML declaration do not agree.
    #[error("{by} says {says}, but the text is in {is}; let them agree")]
    Contradiction {
        /// Who is contradicted.
        by: &'static str,
        /// What it says.
        says: String,
        /// What the bytes are.
        is: &'static str,
    },
    /// A document type.
    #[error("a DOCTYPE is not read here; leave it out")]
    Doctype,
    /// A character that XML does not allow.
    #[error("the character U+{0:04X} is none that XML allows")]
    Character(u32),
    /// An entity that is not one of the five.
    #[error("expected &amp;, &lt;, &gt;, &quot;, &apos; or a character's number, found \"&{0};\"")]
    Entity(String),
    /// The markup is broken.
    #[error("{0}")]
    Syntax(String),
    /// A name that is none.
    #[error("expected a name, found \"{0}\"")]
    Name(String),
    /// Attributes that are none.
    #[error("expected attributes as name=\"value\", found \"{0}\"")]
    Attributes(String),
    /// Two attributes of one name.
    #[error("the attribute \"{0}\" is there twice")]
    AttributeTwice(String),
    /// A prefix that no declaration binds.
    #[error("the prefix \"{0}\" has no namespace; declare it with xmlns:{0}=\"...\"")]
    Prefix(String),
    /// A namespace declaration that is not allowed.
    #[error("xmlns:{0} cannot be declared so")]
    Declaration(String),
    /// The XML declaration is broken.
    #[error("expected <?xml version=\"1.0\" encoding=\"UTF-8\"?>, found \"{0}\"")]
    XmlDeclaration(String),
    /// Something outside of the one element of the document.
    #[error("expected one element in the document, found {0} beside it")]
    Outside(&'static str),
    /// Nothing, or no element.
    #[error("expected an element, found the end of the document")]
    Empty,
    /// A bound was passed.
    #[error("{what}: at most {max} are read")]
    Limit {
        /// What there is too much of.
        what: &'static str,
        /// How much is allowed.
        max: usize,
    },
}

impl Reason {
    /// This reason, at that place of `text`.
    pub(crate) fn at(self, text: &str, offset: usize) -> Refused {
        Refused { place: Place::of(text, offset), reason: self }
    }
}

/// So much of a text as an error shows.
pub(crate) fn shown(text: &str) -> String {
    text.chars().take(60).collect()
}
