//! Path patterns: what an application writes, and the values that one finds in a path.

use crate::limits::PATTERN_SEGMENTS_MAX;
use crate::route::constraint::Constraint;
use crate::urlencoded::{DecodeError, decode_segment};
use std::sync::Arc;
use thiserror::Error;

/// Why a pattern is refused.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub(crate) enum PatternError {
    #[error("a path starts with \"/\"; got \"{0}\"")]
    Start(String),
    #[error("a path has no query, fragment or control character; got {0:?}")]
    Character(String),
    #[error("a parameter is a : and a name such as :id; got \"{0}\"")]
    Parameter(String),
    #[error(
        "a parameter's braces hold a class such as [0-9]+, \\d+ or [a-z]{{2,8}}, words such as \
         en|de, or .+ for the rest of the path; got \"{0}\""
    )]
    Constraint(String),
    #[error("the parameter \"{0}\" is named twice")]
    Twice(String),
    #[error("what may be missing, or is the rest of the path, is the last segment; got \"{0}\"")]
    Last(String),
    #[error("\"*\" stands alone in its segment; got \"{0}\"")]
    Star(String),
    #[error("a path has at most {PATTERN_SEGMENTS_MAX} segments; got {0}")]
    Segments(usize),
}

/// A part of a pattern between two slashes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Segment {
    Literal(Box<str>),
    /// One segment that is not empty and keeps to the constraint; nameless for a `*`.
    One(Option<Arc<str>>, Option<Constraint>),
    /// The rest of the path, which may be empty, and may be missing with its slash, unless `least`
    /// says one character; always last.
    Rest {
        name: Arc<str>,
        least: usize,
    },
}

/// A path pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pattern {
    pub(super) segments: Vec<Segment>,
    /// Whether the last segment may be missing, with the slash before it.
    pub(super) is_last_optional: bool,
}

/// The values that a pattern found in a path, by name; decoded.
pub(crate) type Params = Vec<(Arc<str>, String)>;

/// What the rest of a path is called that `*` stands for.
const REST: &str = "*";

impl Pattern {
    /// Reads a pattern.
    pub(crate) fn parse(pattern: &str) -> Result<Self, PatternError> {
        let Some(path) = pattern.strip_prefix('/') else {
            return Err(PatternError::Start(pattern.to_owned()));
        };
        if path.contains(|c: char| c == '#' || c.is_control()) {
            return Err(PatternError::Character(pattern.to_owned()));
        }
        let texts: Vec<&str> = path.split('/').collect();
        if texts.len() > PATTERN_SEGMENTS_MAX {
            return Err(PatternError::Segments(texts.len()));
        }
        let mut read = Self { segments: Vec::with_capacity(texts.len()), is_last_optional: false };
        for (at, &text) in texts.iter().enumerate() {
            let is_last = at + 1 == texts.len();
            let (segment, is_optional) = Segment::parse(text, is_last)?;
            if !is_last && (is_optional || matches!(segment, Segment::Rest { .. })) {
                return Err(PatternError::Last(text.to_owned()));
            }
            if segment.name().is_some_and(|name| read.names().any(|other| other == name)) {
                return Err(PatternError::Twice(text.to_owned()));
            }
            read.segments.push(segment);
            read.is_last_optional = is_optional;
        }
        Ok(read)
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.segments.iter().filter_map(Segment::name)
    }

    /// The only path that it is for, decoded; `None` if there may be others.
    pub(super) fn only_path(&self) -> Option<String> {
        let literal = |segment: &Segment| match segment {
            Segment::Literal(text) => Some(format!("/{text}")),
            Segment::One(..) | Segment::Rest { .. } => None,
        };
        self.segments.iter().map(literal).collect()
    }

    /// Whether nothing but `/` is left of it without its last segment.
    pub(super) fn is_optional_root(&self) -> bool {
        self.is_last_optional && self.segments.len() == 1
    }

    /// The values in `path`, which is known to be of this pattern.
    pub(super) fn params(&self, path: &str) -> Result<Params, DecodeError> {
        if self.names().next().is_none() {
            return Ok(Params::new());
        }
        Ok(self.read(path)?.unwrap_or_default())
    }

    /// The values in `path`, which is percent-encoded; `None` if it is not of this pattern.
    pub(crate) fn read(&self, path: &str) -> Result<Option<Params>, DecodeError> {
        let mut rest = path.strip_prefix('/');
        if rest.is_none() {
            return Ok(None);
        }
        let mut params = Params::new();
        for (at, segment) in self.segments.iter().enumerate() {
            if let Segment::Rest { name, least } = segment {
                let text = rest.unwrap_or_default();
                if text.len() < *least {
                    return Ok(None);
                }
                params.push((name.clone(), decode_segment(text)?.into_owned()));
                return Ok(Some(params));
            }
            let Some(left) = rest else {
                let may_end = self.is_last_optional && at + 1 == self.segments.len();
                return Ok(may_end.then_some(params));
            };
            if left.is_empty() && self.is_optional_root() {
                return Ok(Some(params));
            }
            let (text, tail) = split(left);
            let decoded = decode_segment(text)?;
            if !segment.fits(&decoded) {
                return Ok(None);
            }
            if let Segment::One(Some(name), _) = segment {
                params.push((name.clone(), decoded.into_owned()));
            }
            rest = tail;
        }
        Ok(rest.is_none().then_some(params))
    }
}

/// The first segment of a path without its leading slash, and what comes after the next slash.
pub(super) fn split(path: &str) -> (&str, Option<&str>) {
    match path.split_once('/') {
        Some((segment, rest)) => (segment, Some(rest)),
        None => (path, None),
    }
}

impl Segment {
    /// A segment, and whether it may be missing.
    fn parse(text: &str, is_last: bool) -> Result<(Self, bool), PatternError> {
        if text == REST {
            let rest = Self::Rest { name: REST.into(), least: 0 };
            return Ok((if is_last { rest } else { Self::One(None, None) }, false));
        }
        let Some(named) = text.strip_prefix(':') else {
            return match text.chars().find(|c| "*?{}".contains(*c)) {
                Some('*') => Err(PatternError::Star(text.to_owned())),
                Some(_) => Err(PatternError::Character(text.to_owned())),
                None => Ok((Self::Literal(text.into()), false)),
            };
        };
        let (named, is_optional) = match named.strip_suffix('?') {
            Some(named) => (named, true),
            None => (named, false),
        };
        let (name, braces) = match named.split_once('{') {
            Some((name, braces)) => (name, braces.strip_suffix('}').map(Some)),
            None => (named, Some(None)),
        };
        let good = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if !good {
            return Err(PatternError::Parameter(text.to_owned()));
        }
        let unknown = || PatternError::Constraint(text.to_owned());
        let segment = match braces.ok_or_else(unknown)? {
            None => Self::One(Some(name.into()), None),
            Some(".+") => Self::Rest { name: name.into(), least: 1 },
            Some(".*") => Self::Rest { name: name.into(), least: 0 },
            Some(braces) => {
                let constraint = Constraint::parse(braces).ok_or_else(unknown)?;
                Self::One(Some(name.into()), Some(constraint))
            }
        };
        if is_optional && matches!(segment, Self::Rest { .. }) {
            return Err(unknown());
        }
        Ok((segment, is_optional))
    }

    fn name(&self) -> Option<&str> {
        match self {
            Self::Literal(_) | Self::One(None, _) => None,
            Self::One(Some(name), _) | Self::Rest { name, .. } => Some(name),
        }
    }

    /// Whether one decoded segment of a path fits.
    fn fits(&self, segment: &str) -> bool {
        match self {
            Self::Literal(literal) => **literal == *segment,
            Self::One(_, None) => !segment.is_empty(),
            Self::One(_, Some(constraint)) => !segment.is_empty() && constraint.fits(segment),
            Self::Rest { .. } => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn params(pattern: &str, path: &str) -> Option<Vec<(String, String)>> {
        let params = Pattern::parse(pattern).unwrap().read(path).unwrap()?;
        Some(params.into_iter().map(|(name, value)| (name.to_string(), value)).collect())
    }

    fn named(list: &[(&str, &str)]) -> Option<Vec<(String, String)>> {
        Some(list.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect())
    }

    #[test]
    fn patterns_read_paths() {
        assert_eq!(params("/", "/"), named(&[]));
        assert_eq!(params("/", "/a"), None);
        assert_eq!(params("/", ""), None);
        assert_eq!(params("/a/b", "/a/b"), named(&[]));
        assert_eq!(params("/a/b", "/a/b/"), None);
        assert_eq!(params("/a/b/", "/a/b/"), named(&[]));
        assert_eq!(params("/a/b", "/a"), None);
        assert_eq!(params("/café", "/caf%C3%A9"), named(&[]));
        assert_eq!(params("/n/:id", "/n/a%2Fb"), named(&[("id", "a/b")]));
        assert_eq!(params("/n/:id", "/n/"), None);
        assert_eq!(params("/n/:id/e", "/n/7/e"), named(&[("id", "7")]));
    }

    #[test]
    fn the_rest_of_a_path() {
        assert_eq!(params("/f/*", "/f/x/y%20z"), named(&[("*", "x/y z")]));
        assert_eq!(params("/f/*", "/f/"), named(&[("*", "")]));
        assert_eq!(params("/f/*", "/f"), named(&[("*", "")]));
        assert_eq!(params("/f/*", "/fx"), None);
        assert_eq!(params("/*", "/"), named(&[("*", "")]));
        assert_eq!(params("/f/:path{.+}", "/f/x/y"), named(&[("path", "x/y")]));
        assert_eq!(params("/f/:path{.+}", "/f/"), None);
        assert_eq!(params("/f/:path{.*}", "/f"), named(&[("path", "")]));
    }

    #[test]
    fn what_may_be_missing_and_what_must_fit() {
        assert_eq!(params("/n/:id?", "/n"), named(&[]));
        assert_eq!(params("/n/:id?", "/n/7"), named(&[("id", "7")]));
        assert_eq!(params("/n/:id?", "/n/"), None);
        assert_eq!(params("/n/:id?", "/n/7/8"), None);
        assert_eq!(params("/:id?", "/"), named(&[]));
        assert_eq!(params("/:id?", "/7"), named(&[("id", "7")]));
        assert_eq!(params("/n/:id{[0-9]+}", "/n/7"), named(&[("id", "7")]));
        assert_eq!(params("/n/:id{[0-9]{4}}", "/n/%32026"), named(&[("id", "2026")]));
        assert_eq!(params("/n/:id{[0-9]{4}}", "/n/202"), None);
        assert_eq!(params("/n/:id{\\d+}?", "/n"), named(&[]));
        assert_eq!(params("/:lang{en|de}/x", "/de/x"), named(&[("lang", "de")]));
        assert_eq!(params("/:lang{en|de}/x", "/fr/x"), None);
        assert_eq!(params("/a/*/c", "/a/b/c"), named(&[]));
        assert_eq!(params("/a/*/c", "/a//c"), None);
    }

    #[test]
    fn bad_patterns_are_refused() {
        for bad in [
            "",
            "a",
            "/a?b",
            "/a#b",
            "/:",
            "/:9",
            "/:a-b",
            "/:a/:a",
            "/a*",
            "/**",
            "/\n",
            "/a?",
            "/:a?/b",
            "/:a{.+}/b",
            "/:a{.+}?",
            "/:a{(x)}",
            "/:a{[0-9]+",
            "/a{b}",
            "/:a?b",
        ] {
            assert!(Pattern::parse(bad).is_err(), "{bad:?}");
        }
        let long = "/a".repeat(PATTERN_SEGMENTS_MAX);
        assert!(Pattern::parse(&long).is_ok());
        let longer = format!("{long}/a");
        let segments = PATTERN_SEGMENTS_MAX + 1;
        assert_eq!(Pattern::parse(&longer), Err(PatternError::Segments(segments)));
    }
}
