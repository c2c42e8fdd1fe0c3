//! Names: collections and keys, checked once when they enter and trusted afterwards.

use crate::errors::NameError;
use crate::limits::{COLLECTION_NAME_BYTES_MAX, KEY_BYTES_MAX};
use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;

/// The name of a collection: `[a-z_][a-z0-9_-]*`, at most 64 bytes.
///
/// A name that starts with `_` belongs to Sarsen itself; faces refuse it and applications cannot
/// reach it through `db`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CollectionName(Arc<str>);

impl CollectionName {
    /// Checks `name` against the rule above.
    pub fn new(name: &str) -> Result<Self, NameError> {
        let mut bytes = name.bytes();
        let first = bytes.next().is_some_and(|b| b.is_ascii_lowercase() || b == b'_');
        let rest =
            bytes.all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'_' | b'-'));
        if !first || !rest || name.len() > COLLECTION_NAME_BYTES_MAX {
            return Err(NameError::Collection { got: excerpt(name) });
        }
        Ok(Self(name.into()))
    }

    /// A name that keeps to the rule because of how it was made.
    pub(crate) fn generated(name: &str) -> Self {
        Self(name.into())
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether the collection belongs to Sarsen itself (its name starts with `_`).
    pub fn is_system(&self) -> bool {
        self.0.starts_with('_')
    }
}

impl Borrow<str> for CollectionName {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for CollectionName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The key of a document within its collection: 1 to 512 bytes of UTF-8 without control
/// characters, ordered by its bytes.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key(Arc<str>);

impl Key {
    /// Checks `key` against the rule above.
    pub fn new(key: &str) -> Result<Self, NameError> {
        if key.is_empty() || key.len() > KEY_BYTES_MAX || key.bytes().any(|b| b < 0x20 || b == 0x7f)
        {
            return Err(NameError::Key { got: excerpt(key), bytes: key.len() });
        }
        Ok(Self(key.into()))
    }

    /// A key that keeps to the rule because of how it was made.
    pub(crate) fn generated(key: String) -> Self {
        Self(key.into())
    }

    /// The key as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Borrow<str> for Key {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// At most 40 characters of a refused name, so that an error message stays one line.
pub(crate) fn excerpt(text: &str) -> String {
    crate::excerpt::excerpt(text, 40).chars().flat_map(char::escape_debug).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn collection_names() {
        for good in ["notes", "_sessions", "a", "a-b_c9"] {
            assert!(CollectionName::new(good).is_ok(), "{good}");
        }
        let long = "a".repeat(COLLECTION_NAME_BYTES_MAX + 1);
        for bad in ["", "Notes", "9a", "-a", "a b", "a/b", "ä", long.as_str()] {
            assert!(CollectionName::new(bad).is_err(), "{bad}");
        }
        assert!(CollectionName::new(&long[1..]).is_ok(), "the limit itself is allowed");
    }

    #[test]
    fn keys() {
        for good in ["a", "ä/ö ü", "..", "%"] {
            assert!(Key::new(good).is_ok(), "{good}");
        }
        let long = "k".repeat(KEY_BYTES_MAX + 1);
        for bad in ["", "a\nb", "\u{7f}", long.as_str()] {
            assert!(Key::new(bad).is_err(), "{bad}");
        }
        assert!(Key::new(&long[1..]).is_ok(), "the limit itself is allowed");
    }
}
