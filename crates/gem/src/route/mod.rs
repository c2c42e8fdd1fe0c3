//! Which of an application's functions a request is for. Pure: patterns in, decisions out.
//!
//! All that an application registers is one list of entries, in the order of registration. A
//! request is for those entries whose pattern its path fits and whose methods have its method, in
//! that order, up to the first route that answers. The trie finds them; the list is never walked.

mod constraint;
mod methods;
mod pattern;
mod trie;

pub(crate) use methods::Methods;
pub(crate) use pattern::{Params, Pattern};

use crate::urlencoded::{DecodeError, decode_segment};
use std::cell::RefCell;
use trie::Trie;

/// What an entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Its functions answer these methods. If it is final, none of them asks what comes after it.
    Route { methods: Methods, is_final: bool },
    /// Its functions stand before, or around, what is registered after it.
    Middleware,
    /// Its function answers what no route takes.
    NotFound,
    /// Its function answers what failed.
    OnError,
}

/// What an application registered under a pattern.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) kind: Kind,
    pub(crate) pattern: Pattern,
}

/// What answers if no function of the application does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// 404.
    NotFound,
    /// The path has routes, but for these methods only: 405.
    OtherMethods(Methods),
    /// It was asked which these are: 204.
    Options(Methods),
    /// The path has a route with, or without, a slash at its end: 308 to this path.
    Slash(String),
}

/// The entries that a request is for, by their places in the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Steps {
    /// None: the ending answers.
    None,
    /// One entry that answers, come what may.
    One(u32),
    /// These in this order, and then the ending, should it come to that.
    Many(Box<[u32]>),
}

impl Steps {
    /// The place of the last one, which answers.
    pub(crate) fn last(&self) -> Option<usize> {
        match self {
            Self::None => None,
            Self::One(place) => Some(*place as usize),
            Self::Many(places) => places.last().map(|place| *place as usize),
        }
    }
}

/// What became of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) steps: Steps,
    pub(crate) ending: Ending,
    pub(crate) params: Params,
    /// The entry that answers if it fails.
    pub(crate) on_error: Option<u32>,
}

impl Found {
    /// The one entry, for what is no request.
    pub(crate) fn only(place: u32) -> Self {
        let (params, on_error) = (Params::new(), None);
        Self { steps: Steps::One(place), ending: Ending::NotFound, params, on_error }
    }
}

/// The entries of an application, ready for requests.
#[derive(Debug, Default)]
pub(crate) struct Routes {
    entries: Vec<Entry>,
    trie: Trie,
    /// What a search finds; kept, so that a request need not allocate.
    matched: RefCell<Vec<u32>>,
}

impl Routes {
    /// The list `entries`.
    pub(crate) fn new(entries: Vec<Entry>) -> Self {
        let mut trie = Trie::default();
        for (number, entry) in (0..).zip(&entries) {
            trie.insert(&entry.pattern, number);
        }
        Self { entries, trie, matched: RefCell::default() }
    }

    /// The routes for GET or HEAD that are for one path alone: place and path, decoded.
    pub(crate) fn fixed(&self) -> impl Iterator<Item = (usize, String)> {
        let read = Methods::taking("HEAD").unwrap_or_default();
        self.entries.iter().enumerate().filter_map(move |(place, entry)| match entry.kind {
            Kind::Route { methods, .. } if methods.meets(read) => {
                entry.pattern.only_path().map(|path| (place, path))
            }
            _ => None,
        })
    }

    /// Finds what a request is for.
    pub(crate) fn find(&self, method: &str, path: &str) -> Result<Found, DecodeError> {
        if path.contains('%') {
            // All of it: whether a request is well-formed does not depend on the routes.
            for segment in path.split('/') {
                decode_segment(segment)?;
            }
        }
        let mut matched = self.matched.borrow_mut();
        self.search(path, &mut matched)?;
        if let [only] = matched[..]
            && self.is_final(only, method)
        {
            // Most requests.
            let params = self.entries[only as usize].pattern.params(path)?;
            let (steps, ending) = (Steps::One(only), Ending::NotFound);
            return Ok(Found { steps, ending, params, on_error: None });
        }
        let sorted = self.sort(method, &matched);
        let ending = match sorted.ending(method) {
            Ending::NotFound if sorted.route.is_none() => {
                self.other_slash(method, path, &mut matched)?
            }
            ending => ending,
        };
        let params = self.params(&sorted, path)?;
        let on_error = sorted.on_error.map(|(_, number)| number);
        Ok(Found { params, steps: sorted.steps(&ending), ending, on_error })
    }

    fn is_final(&self, number: u32, method: &str) -> bool {
        let wanted = Methods::taking(method).unwrap_or_default();
        matches!(self.entries[number as usize].kind,
            Kind::Route { methods, is_final: true } if methods.meets(wanted))
    }

    fn search(&self, path: &str, matched: &mut Vec<u32>) -> Result<(), DecodeError> {
        matched.clear();
        let Some(path) = path.strip_prefix('/') else { return Ok(()) };
        self.trie.collect(Some(path), matched)?;
        // Found by depth; wanted in the order of registration.
        matched.sort_unstable();
        Ok(())
    }

    fn sort(&self, method: &str, matched: &[u32]) -> Sorted {
        let wanted = Methods::taking(method).unwrap_or_default();
        let mut sorted = Sorted::default();
        for &number in matched {
            let entry = &self.entries[number as usize];
            let depth = entry.pattern.segments.len();
            match entry.kind {
                Kind::NotFound => sorted.not_found = sorted.not_found.max(Some((depth, number))),
                Kind::OnError => sorted.on_error = sorted.on_error.max(Some((depth, number))),
                _ if sorted.is_answered => {}
                Kind::Middleware => sorted.steps.push(number),
                Kind::Route { methods, is_final } if methods.meets(wanted) => {
                    sorted.steps.push(number);
                    sorted.route.get_or_insert(number);
                    sorted.is_answered = is_final;
                }
                Kind::Route { methods, .. } => sorted.others = sorted.others.and(methods),
            }
        }
        sorted
    }

    /// The values that the route found in the path; and those that middleware has names for, where
    /// the route has none.
    fn params(&self, sorted: &Sorted, path: &str) -> Result<Params, DecodeError> {
        let route = sorted.route.map(|route| &self.entries[route as usize].pattern);
        let mut params = route.map_or(Ok(Params::new()), |route| route.params(path))?;
        for &step in &sorted.steps {
            for (name, value) in self.entries[step as usize].pattern.params(path)? {
                if &*name != "*" && params.iter().all(|(known, _)| *known != name) {
                    params.push((name, value));
                }
            }
        }
        Ok(params)
    }

    /// Whether the path with, or without, a slash at its end has a route. Two slashes at the start
    /// would be taken for another site's name.
    fn other_slash(
        &self,
        method: &str,
        path: &str,
        matched: &mut Vec<u32>,
    ) -> Result<Ending, DecodeError> {
        if !matches!(method, "GET" | "HEAD") || path == "/" || path.starts_with("//") {
            return Ok(Ending::NotFound);
        }
        let other = path.strip_suffix('/').map_or_else(|| format!("{path}/"), str::to_owned);
        self.search(&other, matched)?;
        let has_route = self.sort(method, matched).route.is_some();
        Ok(if has_route { Ending::Slash(other) } else { Ending::NotFound })
    }
}

/// What a path's entries are to a request.
#[derive(Debug, Default)]
struct Sorted {
    /// Middleware and routes, up to the first that is final.
    steps: Vec<u32>,
    /// Whether the last of them is.
    is_answered: bool,
    /// The first route.
    route: Option<u32>,
    /// The methods of the routes that are not for this one.
    others: Methods,
    /// Those of the longest pattern.
    not_found: Option<(usize, u32)>,
    on_error: Option<(usize, u32)>,
}

impl Sorted {
    fn ending(&self, method: &str) -> Ending {
        match (self.route, self.others.is_empty()) {
            (None, false) if method == "OPTIONS" => Ending::Options(self.others),
            (None, false) => Ending::OtherMethods(self.others),
            _ => Ending::NotFound,
        }
    }

    fn steps(mut self, ending: &Ending) -> Steps {
        if let (Some((_, number)), Ending::NotFound, false) =
            (self.not_found, ending, self.is_answered)
        {
            self.steps.push(number);
            self.is_answered = true;
        }
        match self.steps[..] {
            [] => Steps::None,
            [only] if self.is_answered => Steps::One(only),
            _ => Steps::Many(self.steps.into()),
        }
    }
}

#[cfg(test)]
mod tests;
