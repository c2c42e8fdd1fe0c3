//! What an index is: its name, the paths it looks at, and whether a value may occur twice.

use crate::json::{PointerError, check_pointer};
use crate::limits::{INDEX_NAME_BYTES_MAX, INDEX_PATH_BYTES_MAX, INDEX_PATHS_MAX};
use crate::name::excerpt;
use thiserror::Error;

/// An index of a collection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexDefinition {
    /// `[a-z_][a-z0-9_-]*`, at most 64 bytes; unique within the collection.
    pub name: String,
    /// The values of a row, in this order. At most one of the paths has `each`.
    pub paths: Vec<IndexPath>,
    /// Whether no two documents may have the same values.
    pub unique: bool,
}

/// One value of an index's rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexPath {
    /// Where the value is in a document: a JSON Pointer (RFC 6901).
    pub path: String,
    /// Which values count. One of another kind gives no row, as a missing one does.
    pub kind: IndexKind,
    /// Whether each element of an array gives a row; a value that is no array counts as it is.
    pub each: bool,
}

/// Which values an index takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IndexKind {
    /// Strings.
    Text,
    /// Numbers.
    Number,
    /// `true` and `false`.
    Boolean,
    /// All of these, and `null`.
    #[default]
    Any,
}

impl IndexKind {
    /// As settings write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Number => "number",
            Self::Boolean => "boolean",
            Self::Any => "any",
        }
    }
}

/// Why an index cannot be defined so.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum IndexDefinitionError {
    /// The name breaks the rule for names.
    #[error(
        "the name of an index is a-z, 0-9, _ and -, starts with a letter or _ and has at most \
         {INDEX_NAME_BYTES_MAX} bytes; got \"{got}\""
    )]
    Name {
        /// The start of what came.
        got: String,
    },
    /// No path, or too many.
    #[error("the index {name} needs 1 to {INDEX_PATHS_MAX} paths; got {got}")]
    PathCount {
        /// The index.
        name: String,
        /// How many.
        got: usize,
    },
    /// A path is too long.
    #[error("a path of the index {name} has at most {INDEX_PATH_BYTES_MAX} bytes; got {bytes}")]
    PathTooLong {
        /// The index.
        name: String,
        /// Its size.
        bytes: usize,
    },
    /// A path is no JSON Pointer.
    #[error("a path of the index {name}: {why}")]
    Path {
        /// The index.
        name: String,
        /// What was expected and what came.
        why: PointerError,
    },
    /// More than one path has `each`.
    #[error("at most one path of the index {name} may have \"each\"; got {got}")]
    EachTwice {
        /// The index.
        name: String,
        /// How many.
        got: usize,
    },
}

impl IndexDefinition {
    /// Checks the rules above.
    pub fn check(&self) -> Result<(), IndexDefinitionError> {
        if !is_index_name(&self.name) {
            return Err(IndexDefinitionError::Name { got: excerpt(&self.name) });
        }
        let name = || self.name.clone();
        if !(1..=INDEX_PATHS_MAX).contains(&self.paths.len()) {
            return Err(IndexDefinitionError::PathCount { name: name(), got: self.paths.len() });
        }
        for IndexPath { path, .. } in &self.paths {
            if path.len() > INDEX_PATH_BYTES_MAX {
                return Err(IndexDefinitionError::PathTooLong { name: name(), bytes: path.len() });
            }
            check_pointer(path).map_err(|why| IndexDefinitionError::Path { name: name(), why })?;
        }
        match self.paths.iter().filter(|path| path.each).count() {
            0 | 1 => Ok(()),
            got => Err(IndexDefinitionError::EachTwice { name: name(), got }),
        }
    }
}

fn is_index_name(name: &str) -> bool {
    let mut bytes = name.bytes();
    name.len() <= INDEX_NAME_BYTES_MAX
        && bytes.next().is_some_and(|b| b.is_ascii_lowercase() || b == b'_')
        && bytes.all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(path: &str, each: bool) -> IndexPath {
        IndexPath { path: path.to_owned(), kind: IndexKind::Any, each }
    }

    fn check(name: &str, paths: Vec<IndexPath>) -> Result<(), IndexDefinitionError> {
        IndexDefinition { name: name.to_owned(), paths, unique: false }.check()
    }

    #[test]
    fn names_follow_the_rule() {
        let long = "a".repeat(INDEX_NAME_BYTES_MAX + 1);
        for good in ["by_mail", "_x", "a-9", &long[1..]] {
            assert_eq!(check(good, vec![path("/a", false)]), Ok(()), "{good}");
        }
        for bad in ["", "A", "9a", "-a", "a b", "ä", long.as_str()] {
            let refused = check(bad, vec![path("/a", false)]);
            assert!(matches!(refused, Err(IndexDefinitionError::Name { .. })), "{bad}");
        }
    }

    #[test]
    fn paths_follow_the_rules() {
        use IndexDefinitionError::{EachTwice, Path, PathCount, PathTooLong};
        let at_the_limit = format!("/{}", "a".repeat(INDEX_PATH_BYTES_MAX - 1));
        assert_eq!(check("i", vec![path("", true), path(&at_the_limit, false)]), Ok(()));
        assert_eq!(check("i", vec![path("/a", false); INDEX_PATHS_MAX]), Ok(()));
        let too_many = vec![path("/a", false); INDEX_PATHS_MAX + 1];
        let too_long = vec![path(&format!("{at_the_limit}b"), false)];
        assert!(matches!(check("i", vec![]), Err(PathCount { got: 0, .. })));
        assert!(matches!(check("i", too_many), Err(PathCount { got: 9, .. })));
        assert!(matches!(check("i", too_long), Err(PathTooLong { bytes: 1025, .. })));
        for bad in ["a", "/~", "/a/~2"] {
            assert!(matches!(check("i", vec![path(bad, false)]), Err(Path { .. })), "{bad}");
        }
        let twice = vec![path("/a", true), path("/b", true)];
        assert!(matches!(check("i", twice), Err(EachTwice { got: 2, .. })));
    }
}
