//! What a token allows: a scope, and the collections it is for.

use crate::limits;
use repository::CollectionName;
use std::fmt;
use std::str::FromStr;

/// How much may be done. Each allows what those before it allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// Documents may be read.
    Read,
    /// And written.
    Write,
    /// And the settings of collections changed.
    Admin,
}

impl Scope {
    /// As it is written in files and on command lines.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Admin => "admin",
        }
    }
}

impl FromStr for Scope {
    type Err = GrantError;

    fn from_str(text: &str) -> Result<Self, GrantError> {
        let all = [Self::Read, Self::Write, Self::Admin];
        let found = all.into_iter().find(|scope| scope.as_str() == text);
        found.ok_or_else(|| GrantError::Scope { got: text.to_owned() })
    }
}

/// What an operation needs of its collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    Read,
    Write,
    Admin,
}

impl Need {
    pub(crate) fn scope(self) -> Scope {
        match self {
            Self::Read => Scope::Read,
            Self::Write => Scope::Write,
            Self::Admin => Scope::Admin,
        }
    }
}

/// Names one collection or several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// `*`: every collection, those that are not there yet too.
    Every,
    /// `prefix*`: those whose names start so.
    Prefix(String),
    /// One.
    Exact(CollectionName),
    /// `atom/name`: a publication.
    Publication(String),
    /// `atom/prefix*`: publications whose names start so.
    Publications(String),
}

impl Pattern {
    fn covers(&self, collection: &str) -> bool {
        match self {
            Self::Every => true,
            // A publication is none of the collections.
            Self::Prefix(prefix) => {
                collection.starts_with(prefix.as_str()) && !collection.contains('/')
            }
            Self::Exact(name) => name.as_str() == collection,
            Self::Publication(name) => {
                collection.strip_prefix(PUBLICATIONS).is_some_and(|found| found == name)
            }
            Self::Publications(prefix) => {
                let found = collection.strip_prefix(PUBLICATIONS);
                found.is_some_and(|found| found.starts_with(prefix.as_str()))
            }
        }
    }
}

/// How names of publications begin among those of collections.
const PUBLICATIONS: &str = "atom/";

fn publication(text: &str) -> Option<Pattern> {
    let stem = text.strip_suffix('*').unwrap_or(text);
    // The start of a name may end with what lies between words.
    let is_name = crate::atom::proposal::is_name(stem.trim_end_matches('-'));
    match stem.len() == text.len() {
        true => is_name.then(|| Pattern::Publication(stem.to_owned())),
        false => (is_name || stem.is_empty()).then(|| Pattern::Publications(stem.to_owned())),
    }
}

impl FromStr for Pattern {
    type Err = GrantError;

    fn from_str(text: &str) -> Result<Self, GrantError> {
        if text == "*" {
            return Ok(Self::Every);
        }
        if let Some(publications) = text.strip_prefix(PUBLICATIONS) {
            return publication(publications)
                .ok_or_else(|| GrantError::Pattern { got: text.to_owned() });
        }
        let stem = text.strip_suffix('*').unwrap_or(text);
        // The start of a collection's name can be one itself.
        let name = CollectionName::new(stem).ok().filter(|name| !name.is_system());
        let name = name.ok_or_else(|| GrantError::Pattern { got: text.to_owned() })?;
        Ok(if stem.len() == text.len() { Self::Exact(name) } else { Self::Prefix(stem.to_owned()) })
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Every => f.write_str("*"),
            Self::Prefix(prefix) => write!(f, "{prefix}*"),
            Self::Exact(name) => name.fmt(f),
            Self::Publication(name) => write!(f, "{PUBLICATIONS}{name}"),
            Self::Publications(prefix) => write!(f, "{PUBLICATIONS}{prefix}*"),
        }
    }
}

/// A scope on collections.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    scope: Scope,
    collections: Vec<Pattern>,
}

impl Grant {
    /// `scope` on `collections`; on none of them it would allow nothing and is refused.
    pub fn new(scope: Scope, collections: Vec<Pattern>) -> Result<Self, GrantError> {
        if !(1..=limits::TOKEN_PATTERNS_MAX).contains(&collections.len()) {
            return Err(GrantError::Patterns { got: collections.len() });
        }
        Ok(Self { scope, collections })
    }

    /// The scope.
    pub fn scope(&self) -> Scope {
        self.scope
    }

    /// The collections.
    pub fn collections(&self) -> &[Pattern] {
        &self.collections
    }

    pub(crate) fn allows(&self, collection: &str, need: Need) -> bool {
        self.scope >= need.scope() && self.collections.iter().any(|one| one.covers(collection))
    }

    /// Whether it is for every collection.
    pub(crate) fn is_for_all(&self) -> bool {
        self.collections.contains(&Pattern::Every)
    }
}

/// A grant that is none.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum GrantError {
    /// There is no such scope.
    #[error("a scope is read, write or admin; got \"{got}\"")]
    Scope {
        /// What came.
        got: String,
    },
    /// It can be the name of no collection, nor the start of one.
    #[error(
        "a collection is given by its name (a to z, 0 to 9, - and _, starting with a letter), the \
         start of its name and *, or * for all; a publication by atom/ and the same; got \"{got}\""
    )]
    Pattern {
        /// What came.
        got: String,
    },
    /// None, or too many.
    #[error("a token is for 1 to {max} patterns of collections; got {got}",
            max = limits::TOKEN_PATTERNS_MAX)]
    Patterns {
        /// How many came.
        got: usize,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grant(scope: Scope, patterns: &[&str]) -> Grant {
        Grant::new(scope, patterns.iter().map(|text| text.parse().unwrap()).collect()).unwrap()
    }

    #[test]
    fn each_scope_allows_what_those_before_it_do() {
        let allowed = |scope| {
            let grant = grant(scope, &["notes"]);
            [Need::Read, Need::Write, Need::Admin].map(|need| grant.allows("notes", need))
        };
        assert_eq!(allowed(Scope::Read), [true, false, false]);
        assert_eq!(allowed(Scope::Write), [true, true, false]);
        assert_eq!(allowed(Scope::Admin), [true, true, true]);
    }

    #[test]
    fn patterns_cover_what_they_say() {
        let grant = grant(Scope::Read, &["notes", "img-*"]);
        for (collection, expected) in [
            ("notes", true),
            ("note", false),
            ("notes2", false),
            ("img-", true),
            ("img-a", true),
            ("img", false),
        ] {
            assert_eq!(grant.allows(collection, Need::Read), expected, "{collection}");
        }
        assert!(!grant.is_for_all());
        let grant = self::grant(Scope::Write, &["atom/blog", "atom/a-*", "ato*"]);
        for (name, expected) in [
            ("atom/blog", true),
            ("atom/blog2", false),
            ("atom/a-b", true),
            ("atom", true),
            ("atom/other", false),
            ("blog", false),
        ] {
            assert_eq!(grant.allows(name, Need::Write), expected, "{name}");
        }
        assert!(self::grant(Scope::Read, &["*"]).allows("any", Need::Read));
    }

    #[test]
    fn patterns_are_written_as_they_are_read() {
        for text in ["*", "a*", "notes", "img-*", "atom/blog", "atom/*", "atom/a-*"] {
            assert_eq!(text.parse::<Pattern>().unwrap().to_string(), text);
        }
        for text in
            ["", "**", "a*b", "*a", "Notes", "_system", "_*", "a/b", "9*", "atom/A", "atom/"]
        {
            let error = text.parse::<Pattern>().unwrap_err();
            assert!(error.to_string().contains(&format!("\"{text}\"")), "{error}");
        }
    }

    #[test]
    fn a_grant_may_have_its_bound_of_patterns_and_no_more() {
        let of = |count| Grant::new(Scope::Read, vec![Pattern::Every; count]);
        assert_eq!(of(0), Err(GrantError::Patterns { got: 0 }));
        assert!(of(limits::TOKEN_PATTERNS_MAX).is_ok());
        let more = limits::TOKEN_PATTERNS_MAX + 1;
        assert_eq!(of(more), Err(GrantError::Patterns { got: more }));
    }
}
