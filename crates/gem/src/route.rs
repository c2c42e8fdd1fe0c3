//! Which handler a request is for. Pure: patterns in, decisions out.

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
    #[error("the parameter \"{0}\" is named twice")]
    Twice(String),
    #[error("\"*\" stands alone as the last segment; got \"{0}\"")]
    Star(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Segment {
    Literal(String),
    Parameter(Arc<str>),
    /// The rest of the path, which may be empty; always last.
    Rest,
}

/// A path pattern: literal segments, `:name` for one that is not empty, `*` for the rest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pattern(Vec<Segment>);

/// The values that a pattern found in a path, by name; decoded.
pub(crate) type Params = Vec<(Arc<str>, String)>;

impl Pattern {
    /// Reads a pattern.
    pub(crate) fn parse(pattern: &str) -> Result<Self, PatternError> {
        let Some(path) = pattern.strip_prefix('/') else {
            return Err(PatternError::Start(pattern.to_owned()));
        };
        if path.contains(|c: char| c == '?' || c == '#' || c.is_control()) {
            return Err(PatternError::Character(pattern.to_owned()));
        }
        let mut segments: Vec<Segment> = Vec::new();
        for text in path.split('/') {
            if segments.last() == Some(&Segment::Rest) {
                return Err(PatternError::Star(pattern.to_owned()));
            }
            let segment = Segment::parse(text)?;
            if matches!(segment, Segment::Parameter(_)) && segments.contains(&segment) {
                return Err(PatternError::Twice(text.to_owned()));
            }
            segments.push(segment);
        }
        Ok(Self(segments))
    }

    /// The values in `path`, which is percent-encoded; `None` if it is not of this pattern.
    fn read(&self, path: &str) -> Result<Option<Params>, DecodeError> {
        let Some(mut rest) = path.strip_prefix('/') else { return Ok(None) };
        let mut params = Params::new();
        for (i, segment) in self.0.iter().enumerate() {
            let (text, tail) = match rest.split_once('/') {
                Some((text, tail)) => (text, Some(tail)),
                None => (rest, None),
            };
            match segment {
                Segment::Literal(literal) if *decode_segment(text)? == **literal => {}
                Segment::Parameter(name) if !text.is_empty() => {
                    params.push((name.clone(), decode_segment(text)?.into_owned()));
                }
                Segment::Rest => {
                    params.push(("*".into(), decode_segment(rest)?.into_owned()));
                    return Ok(Some(params));
                }
                _ => return Ok(None),
            }
            match tail {
                Some(tail) if i + 1 < self.0.len() => rest = tail,
                None if i + 1 == self.0.len() => return Ok(Some(params)),
                _ => return Ok(None),
            }
        }
        Ok(None)
    }
}

impl Segment {
    fn parse(text: &str) -> Result<Self, PatternError> {
        if text == "*" {
            return Ok(Self::Rest);
        }
        if text.contains('*') {
            return Err(PatternError::Star(text.to_owned()));
        }
        let Some(name) = text.strip_prefix(':') else {
            return Ok(Self::Literal(text.to_owned()));
        };
        let good = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if good {
            Ok(Self::Parameter(name.into()))
        } else {
            Err(PatternError::Parameter(text.to_owned()))
        }
    }
}

/// What an application registers a handler for. GET answers HEAD too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    Get,
    Post,
}

impl Method {
    fn of(request: &str) -> Option<Self> {
        match request {
            "GET" | "HEAD" => Some(Self::Get),
            "POST" => Some(Self::Post),
            _ => None,
        }
    }
}

/// A pattern under a method.
#[derive(Clone, Debug)]
pub(crate) struct Route {
    pub(crate) method: Method,
    pub(crate) pattern: Pattern,
}

/// What became of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// The route at this place.
    Route(usize, Params),
    /// The path exists under these methods only: the value of an Allow field.
    OtherMethods(&'static str),
    /// No route has the path.
    Nothing,
}

/// Finds the first of `routes` for a request.
pub(crate) fn find(routes: &[Route], method: &str, path: &str) -> Result<Found, DecodeError> {
    let wanted = Method::of(method);
    let (mut get, mut post) = (false, false);
    for (place, route) in routes.iter().enumerate() {
        let Some(params) = route.pattern.read(path)? else { continue };
        if wanted == Some(route.method) {
            return Ok(Found::Route(place, params));
        }
        get |= route.method == Method::Get;
        post |= route.method == Method::Post;
    }
    Ok(match (get, post) {
        (true, true) => Found::OtherMethods("GET, HEAD, POST"),
        (true, false) => Found::OtherMethods("GET, HEAD"),
        (false, true) => Found::OtherMethods("POST"),
        (false, false) => Found::Nothing,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn routes(list: &[(Method, &str)]) -> Vec<Route> {
        let route = |&(method, pattern): &(Method, &str)| Route {
            method,
            pattern: Pattern::parse(pattern).unwrap(),
        };
        list.iter().map(route).collect()
    }

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
        assert_eq!(params("/f/*", "/f/x/y%20z"), named(&[("*", "x/y z")]));
        assert_eq!(params("/f/*", "/f/"), named(&[("*", "")]));
        assert_eq!(params("/f/*", "/f"), None);
        assert_eq!(params("/*", "/"), named(&[("*", "")]));
    }

    #[test]
    fn bad_patterns_are_refused() {
        for bad in ["", "a", "/a?b", "/a#b", "/:", "/:9", "/:a-b", "/:a/:a", "/*/a", "/a*", "/\n"] {
            assert!(Pattern::parse(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn the_first_match_wins() {
        let routes = routes(&[(Method::Get, "/n/new"), (Method::Get, "/n/:id")]);
        let found = |path| find(&routes, "GET", path).unwrap();
        assert_eq!(found("/n/new"), Found::Route(0, vec![]));
        assert!(matches!(found("/n/other"), Found::Route(1, _)));
        assert_eq!(found("/m"), Found::Nothing);
    }

    #[test]
    fn methods() {
        let routes = routes(&[(Method::Get, "/a"), (Method::Post, "/a"), (Method::Post, "/p")]);
        let found = |method, path| find(&routes, method, path).unwrap();
        assert_eq!(found("HEAD", "/a"), Found::Route(0, vec![]));
        assert_eq!(found("POST", "/a"), Found::Route(1, vec![]));
        assert_eq!(found("PUT", "/a"), Found::OtherMethods("GET, HEAD, POST"));
        assert_eq!(found("GET", "/p"), Found::OtherMethods("POST"));
        assert_eq!(found("get", "/a"), Found::OtherMethods("GET, HEAD, POST"));
    }

    #[test]
    fn a_path_that_cannot_be_decoded_is_an_error() {
        let routes = routes(&[(Method::Get, "/n/:id")]);
        assert_eq!(find(&routes, "GET", "/n/%"), Err(DecodeError::Percent));
    }
}
