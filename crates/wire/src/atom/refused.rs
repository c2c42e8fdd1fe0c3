//! Why a document is not taken: it is no XML, it is another document, or it is not valid. The
//! classes are what a server answers by.

use crate::xml::{Place, Refused};
use thiserror::Error;

/// What a server makes of a document that is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// No XML that is read here, or broken in a way that no rule of Atom names: 400.
    Malformed,
    /// A document of another kind: 400.
    WrongRoot,
    /// XML, of the kind that was expected, but against a rule of Atom: 422.
    Invalid,
}

/// A document that is not taken.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ReadError {
    /// It is not XML, or passes a bound.
    #[error(transparent)]
    Xml(#[from] Refused),
    /// It is another document.
    #[error("{place}: expected the element {expected}, found \"{found}\"")]
    WrongRoot {
        /// Where.
        place: Place,
        /// What there should be, with its namespace.
        expected: &'static str,
        /// What there is.
        found: String,
    },
    /// Content that should be Base64 is not (RFC 4287 §4.1.3.3).
    #[error("{place}: expected Base64, since the type is neither text nor XML")]
    Base64 {
        /// Where.
        place: Place,
    },
    /// `app:control` is not as RFC 5023 §13.1 has it.
    #[error(
        "{place}: expected one app:control with at most one app:draft, \"yes\" or \"no\"; {found}"
    )]
    Control {
        /// Where.
        place: Place,
        /// What was found.
        found: String,
    },
    /// It is not valid.
    #[error("{place}: {rule}")]
    Invalid {
        /// Where.
        place: Place,
        /// The rule that it breaks.
        rule: Invalid,
    },
}

impl ReadError {
    /// What to make of it.
    pub fn class(&self) -> Class {
        match self {
            ReadError::Xml(_) | ReadError::Base64 { .. } | ReadError::Control { .. } => {
                Class::Malformed
            }
            ReadError::WrongRoot { .. } => Class::WrongRoot,
            ReadError::Invalid { .. } => Class::Invalid,
        }
    }
}

/// The rule that a document breaks.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum Invalid {
    /// RFC 4287 §4.1.1, §4.1.2 and others.
    #[error("{0} may be there once, found a second one")]
    Twice(&'static str),
    /// Something that there must be.
    #[error("{within} needs {needed}")]
    Missing {
        /// Whose.
        within: &'static str,
        /// What.
        needed: &'static str,
    },
    /// RFC 4287 §3.1.1.
    #[error("the type of {within} is \"text\", \"html\" or \"xhtml\", found \"{found}\"")]
    TextType {
        /// Of what.
        within: &'static str,
        /// What there is.
        found: String,
    },
    /// RFC 4287 §3.1.1.1, §3.1.1.2, §4.1.3.3.
    #[error("{0} holds text, found an element in it; escape the markup, or use type=\"xhtml\"")]
    Markup(&'static str),
    /// RFC 4287 §3.1.1.3.
    #[error("{0} of type \"xhtml\" holds one div of XHTML and nothing beside it")]
    Div(&'static str),
    /// RFC 4287 §3.3.
    #[error("{within} is a date as 2007-10-09T12:29:29Z, found \"{found}\"")]
    Date {
        /// What.
        within: &'static str,
        /// What there is.
        found: String,
    },
    /// RFC 4287 §2, §3.2.3, §4.2.7 and others.
    #[error("{within} is {expected}; found \"{found}\"")]
    Value {
        /// What.
        within: &'static str,
        /// What it should be.
        expected: &'static str,
        /// What there is.
        found: String,
    },
    /// RFC 4287 §3.1.1.3.
    #[error("a div of XHTML holds XHTML, found the element {0} of Atom in it")]
    AtomWithinXhtml(String),
    /// RFC 4287 §4.1.3.2.
    #[error("content with src is empty")]
    SourceAndContent,
    /// RFC 4287 §4.1.3.1.
    #[error("the type of content is \"text\", \"html\", \"xhtml\" or a media type, found \"{0}\"")]
    ContentType(String),
    /// RFC 4287 §4.1.2.
    #[error("two links are alternate with the same type and hreflang")]
    Alternates,
    /// Text where only elements may be.
    #[error("{0} holds elements, found text beside them")]
    LooseText(&'static str),
    /// RFC 4685 §5.
    #[error("thr:total is a number that is not negative, found \"{0}\"")]
    Total(String),
    /// More than is read of an entry's base.
    #[error("the xml:base of the entry times the elements that need it is over {max} bytes")]
    Bases {
        /// How much is taken.
        max: usize,
    },
    /// RFC 5023 §7.2.1.
    #[error("app:categories with href is empty, and has neither fixed nor scheme")]
    CategoriesAway,
    /// RFC 5023 §7.2.1.1.
    #[error("fixed is \"yes\" or \"no\", found \"{0}\"")]
    Fixed(String),
    /// More elements than are read.
    #[error("{within} has more than {max} elements")]
    Children {
        /// Of what.
        within: &'static str,
        /// How many are read.
        max: usize,
    },
}
