//! What one reactor counts: its requests by what they were for, how they ended and how long they
//! took. Only the reactor's own thread writes, so a count is a load and a store.

use hyper::StatusCode;
use repository::{DurationCounts, Durations};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// What a request is for, as far as its path tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Document,
    Collection,
    Collections,
    Transaction,
    Feed,
    Atom,
    Health,
    Readiness,
    Metrics,
    Description,
    Problems,
    Other,
}

impl Kind {
    /// Every one, in order.
    pub(crate) const ALL: [Self; 12] = [
        Self::Document,
        Self::Collection,
        Self::Collections,
        Self::Transaction,
        Self::Feed,
        Self::Atom,
        Self::Health,
        Self::Readiness,
        Self::Metrics,
        Self::Description,
        Self::Problems,
        Self::Other,
    ];

    /// By the path alone: a path that turns out to name nothing counts where it was meant for.
    pub(crate) fn of(path: &str) -> Self {
        if let Some(below) = path.strip_prefix("/db/") {
            let is_collection = below.bytes().all(|byte| byte != b'/');
            return if is_collection { Self::Collection } else { Self::Document };
        }
        match path {
            "/db" => Self::Collections,
            "/tx" => Self::Transaction,
            "/feed" => Self::Feed,
            "/healthz" => Self::Health,
            "/readyz" => Self::Readiness,
            "/metrics" => Self::Metrics,
            "/openapi.json" => Self::Description,
            "/errors" => Self::Problems,
            "/atom" => Self::Atom,
            _ if path.starts_with("/atom/") => Self::Atom,
            _ if path.starts_with("/errors/") => Self::Problems,
            _ => Self::Other,
        }
    }

    /// The label's value.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Document => "document",
            Self::Collection => "collection",
            Self::Collections => "collections",
            Self::Transaction => "transaction",
            Self::Feed => "feed",
            Self::Atom => "atom",
            Self::Health => "health",
            Self::Readiness => "readiness",
            Self::Metrics => "metrics",
            Self::Description => "description",
            Self::Problems => "problems",
            Self::Other => "application",
        }
    }
}

/// The methods that are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    Get,
    Head,
    Post,
    Put,
    Patch,
    Delete,
    Options,
    Other,
}

impl Method {
    pub(crate) const ALL: [Self; 8] = [
        Self::Get,
        Self::Head,
        Self::Post,
        Self::Put,
        Self::Patch,
        Self::Delete,
        Self::Options,
        Self::Other,
    ];

    pub(crate) fn of(method: &hyper::Method) -> Self {
        match *method {
            hyper::Method::GET => Self::Get,
            hyper::Method::HEAD => Self::Head,
            hyper::Method::POST => Self::Post,
            hyper::Method::PUT => Self::Put,
            hyper::Method::PATCH => Self::Patch,
            hyper::Method::DELETE => Self::Delete,
            hyper::Method::OPTIONS => Self::Options,
            _ => Self::Other,
        }
    }

    /// The label's value.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::Head => "head",
            Self::Post => "post",
            Self::Put => "put",
            Self::Patch => "patch",
            Self::Delete => "delete",
            Self::Options => "options",
            Self::Other => "other",
        }
    }
}

/// The first digits of statuses.
const CLASSES: usize = 5;

/// What a request was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Visit {
    pub kind: Kind,
    pub method: Method,
}

impl Visit {
    fn at(self, class: usize) -> usize {
        (self.kind as usize * Method::ALL.len() + self.method as usize) * CLASSES + class
    }
}

/// See the module.
pub(crate) struct Meter {
    requests: Box<[Durations]>,
    /// Requests whose client went before they were answered. They are in none of the others.
    pub abandoned: AtomicUsize,
    /// Bytes of request bodies in memory.
    pub body_bytes: AtomicUsize,
    /// Bytes of replies that wait for their clients.
    pub reply_bytes: AtomicUsize,
    /// Requests on the threads that may block, and those that wait for one.
    pub off_thread: AtomicUsize,
}

impl Meter {
    pub(crate) fn new() -> Self {
        let slots = Kind::ALL.len() * Method::ALL.len() * CLASSES;
        Self {
            requests: (0..slots).map(|_| Durations::default()).collect(),
            abandoned: AtomicUsize::new(0),
            body_bytes: AtomicUsize::new(0),
            reply_bytes: AtomicUsize::new(0),
            off_thread: AtomicUsize::new(0),
        }
    }

    /// Counts a request. On the reactor's thread only.
    pub(crate) fn count(&self, visit: Visit, status: StatusCode, took: Duration) {
        let class = usize::from(status.as_u16() / 100).clamp(1, CLASSES) - 1;
        self.requests[visit.at(class)].record_alone(took);
    }

    /// What requests of one kind came to with a status of `class` (1 to 5).
    pub(crate) fn counts(&self, visit: Visit, class: usize) -> DurationCounts {
        self.requests[visit.at(class - 1)].counts()
    }
}

/// Counts one in a gauge for as long as this lives.
pub(crate) struct Counted<'a>(&'a AtomicUsize);

impl<'a> Counted<'a> {
    pub(crate) fn new(gauge: &'a AtomicUsize) -> Self {
        gauge.fetch_add(1, Ordering::Relaxed);
        Self(gauge)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_method_and_class_has_a_place_of_its_own() {
        let meter = Meter::new();
        let mut places = std::collections::BTreeSet::new();
        for (number, kind) in Kind::ALL.into_iter().enumerate() {
            assert_eq!(number, kind as usize);
            for (number, method) in Method::ALL.into_iter().enumerate() {
                assert_eq!(number, method as usize);
                places.extend((0..CLASSES).map(|class| Visit { kind, method }.at(class)));
            }
        }
        assert_eq!(places.len(), meter.requests.len());
        assert_eq!(places.last(), Some(&(meter.requests.len() - 1)));
    }

    #[test]
    fn requests_are_counted_by_class() {
        let meter = Meter::new();
        let visit = Visit { kind: Kind::Document, method: Method::Get };
        for status in [200, 204, 304, 404, 503] {
            let status = StatusCode::from_u16(status).unwrap();
            meter.count(visit, status, Duration::from_millis(1));
        }
        let counts = [1, 2, 3, 4, 5].map(|class| meter.counts(visit, class).count());
        assert_eq!(counts, [0, 2, 1, 1, 1]);
        assert_eq!(meter.counts(visit, 2).total_ns, 2_000_000);
    }

    #[test]
    fn kinds_by_path() {
        for (path, kind) in [
            ("/db/notes/a", Kind::Document),
            ("/db/notes", Kind::Collection),
            ("/db", Kind::Collections),
            ("/tx", Kind::Transaction),
            ("/errors/not-found", Kind::Problems),
            ("/dbx", Kind::Other),
            ("/", Kind::Other),
            ("*", Kind::Other),
        ] {
            assert_eq!(Kind::of(path), kind, "{path}");
        }
    }
}
