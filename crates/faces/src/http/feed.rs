//! The feed over HTTP: what a request asks for, and the reply: a stream of events (HTML Living
//! Standard §9.2), or one page of JSON. What is told is in `feed`.

use crate::access::Principal;
use crate::feed::event::Filter;
use crate::feed::stream::Stream;
use crate::http::outgoing::Outgoing;
use crate::http::{accept, bearer};
use crate::limits::{FEED_COLLECTIONS_MAX, FEED_PAGE_BATCHES_MAX};
use crate::problem::{Kind, Problem};
use crate::reactor::Reactor;
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, VARY};
use hyper::http::request::Parts;
use hyper::{Method, Response};
use query::{ParameterError, pairs};
use repository::{CollectionName, CommitNumber, LogError, LogReader};
use std::net::IpAddr;
use std::rc::Rc;
use std::sync::Arc;
use tokio::sync::mpsc;

/// What a request asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wanted {
    /// The commit to go on after; none: what is committed from now on.
    after: Option<CommitNumber>,
    /// Only these collections; none: all.
    collections: Vec<String>,
    is_page: bool,
}

/// The forms of the feed, the one for those who ask for none first.
const EVENTS: &str = "text/event-stream";
const JSON: &str = "application/json";

/// Asks for the feed of a collection.
const FEED: &str = "feed";

/// Said by a client whose stream broke. It goes before `after`, which is still in its URI.
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// Whether a collection's query component asks for its feed.
pub(super) fn is_asked(component: Option<&str>) -> bool {
    let first = component.and_then(|component| component.split('&').next());
    first.is_some_and(|first| first == FEED)
}

impl Wanted {
    /// `/feed`.
    pub(super) fn of_all(parts: &Parts) -> Result<Self, Problem> {
        let given = pairs(parts.uri.query(), &["after", "collections"])?;
        let value = |name| given.iter().find(|(n, _)| *n == name).map(|(_, value)| value.as_ref());
        let collections = value("collections").map_or(Ok(Vec::new()), collections)?;
        Self::new(value("after"), collections, &parts.headers)
    }

    /// `/db/{collection}?feed`.
    pub(super) fn of_collection(parts: &Parts, name: &CollectionName) -> Result<Self, Problem> {
        let given = pairs(parts.uri.query(), &[FEED, "after"])?;
        let value = |name| given.iter().find(|(n, _)| *n == name).map(|(_, value)| value.as_ref());
        if value(FEED) != Some("") {
            let expected = "no value";
            return Err(ParameterError::value(FEED, expected, value(FEED).unwrap_or("")).into());
        }
        Self::new(value("after"), vec![name.to_string()], &parts.headers)
    }

    fn new(
        after: Option<&str>,
        collections: Vec<String>,
        headers: &HeaderMap,
    ) -> Result<Self, Problem> {
        let last = headers.get(LAST_EVENT_ID).map(|id| id.to_str().unwrap_or("?"));
        let after = last.filter(|id| !id.is_empty()).or(after).map(number).transpose()?;
        let best = accept::best(headers, &[EVENTS, JSON]).ok_or_else(|| {
            let detail = format!("the feed is {EVENTS} or {JSON}");
            let mut problem = Problem::new(Kind::NotAcceptable, detail);
            problem.more().varies_by_accept = true;
            problem
        })?;
        Ok(Self { after, collections, is_page: best == 1 })
    }
}

fn number(text: &str) -> Result<CommitNumber, Problem> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let number = text.parse().ok().filter(|_| is_number).map(CommitNumber);
    let wrong = || ParameterError::value("after", "the number of a commit", text).into();
    number.ok_or_else(wrong)
}

fn collections(text: &str) -> Result<Vec<String>, Problem> {
    let wrong = || {
        let expected = format!("1 to {FEED_COLLECTIONS_MAX} names of collections, with commas");
        Problem::from(ParameterError::value("collections", expected, text))
    };
    let name = |text: &str| {
        let name = CollectionName::new(text).ok().filter(|name| !name.is_system());
        name.map(|name| name.to_string()).ok_or_else(wrong)
    };
    let names: Vec<String> = text.split(',').map(name).collect::<Result<_, _>>()?;
    if names.len() > FEED_COLLECTIONS_MAX { Err(wrong()) } else { Ok(names) }
}

/// Answers a request for the feed. `who` asks, from where.
pub(super) async fn serve(
    wanted: Wanted,
    parts: &Parts,
    (principal, address): (&Principal, IpAddr),
    reactor: &Rc<Reactor>,
) -> Result<Response<Outgoing>, Problem> {
    let Wanted { after, collections, is_page } = wanted;
    let repository = &reactor.repository;
    let after = after.unwrap_or_else(|| repository.log_end());
    check(after, reactor)?;
    let filter = Filter { collections, principal: principal.clone() };
    if is_page {
        return page(after, filter, reactor).await;
    }
    if parts.method == Method::HEAD {
        return Ok(response(EVENTS, Outgoing::default()));
    }
    let full = || Problem::new(Kind::Busy, "as many read the feed as may");
    let place = reactor.observer.feeds.enter().ok_or_else(full)?;
    let (pieces, coming) = mpsc::channel(1);
    let reader = Some(repository.log(after));
    let stream = Stream { reactor: Rc::clone(reactor), reader, filter, pieces };
    let (parts, guard) = (parts.clone(), Rc::clone(reactor));
    tokio::task::spawn_local(async move {
        let _place = place;
        stream.run(|| bearer::recognised(&parts, &guard.guard, address)).await;
    });
    Ok(response(EVENTS, Outgoing::pieces(coming, None)))
}

/// What is not kept is told before a stream begins.
fn check(after: CommitNumber, reactor: &Reactor) -> Result<(), Problem> {
    let oldest = reactor.repository.retained().after;
    if after < oldest {
        return Err(gone(oldest, reactor));
    }
    if after > reactor.repository.visible() {
        let end = reactor.repository.log_end();
        let detail = format!(
            "there is no commit {after}: this may be another repository than before, or one that \
             was restored. Read what is there, and go on after {end}"
        );
        return Err(Problem::new(Kind::FeedGone, detail).with("after", end.0));
    }
    Ok(())
}

fn gone(oldest: CommitNumber, reactor: &Reactor) -> Problem {
    reactor.observer.feeds.count_gone();
    let detail = format!(
        "what comes next is not kept any more. Read what is there, and go on after {oldest} or \
         later"
    );
    Problem::new(Kind::FeedGone, detail).with("after", oldest.0)
}

/// What is there, up to about 1 MiB of the log; more of it while nothing of that is told.
async fn page(
    after: CommitNumber,
    filter: Filter,
    reactor: &Rc<Reactor>,
) -> Result<Response<Outgoing>, Problem> {
    let reader = reactor.repository.log(after);
    let (observer, repository) = (Arc::clone(&reactor.observer), Arc::clone(&reactor.repository));
    let told = reactor.off_thread(move || {
        let mut reader: LogReader = reader;
        let mut text = "{\"commits\":[".to_owned();
        let mut events = 0;
        let mut has_more = true;
        for _ in 0..FEED_PAGE_BATCHES_MAX {
            for record in &reader.take()? {
                let rendered = observer.feeds.render(record).map_err(|why| unreadable(&why))?;
                let length = text.len();
                if events > 0 {
                    text.push(',');
                }
                match rendered.append(&filter, &mut text) {
                    true => events += 1,
                    false => text.truncate(length),
                }
            }
            has_more = reader.position() < repository.log_end();
            // What was read may be nothing that this reader is told of.
            if events > 0 || !has_more {
                break;
            }
        }
        let next = reader.position();
        text.push_str(&format!("],\"next\":{next},\"more\":{has_more}}}"));
        observer.feeds.count(events, text.len());
        Ok(text)
    });
    match told.await? {
        Ok(text) => Ok(response(JSON, Outgoing::from(text))),
        Err(LogError::Gone { after }) => Err(gone(after, reactor)),
        Err(LogError::Poisoned(poisoned)) => Err(poisoned.into()),
        Err(LogError::Closed) => Err(Problem::new(Kind::Unavailable, "the server ends")),
        Err(error) => Err(Problem::internal(&error)),
    }
}

fn unreadable(why: &str) -> LogError {
    LogError::Read { path: "the log".into(), source: std::io::Error::other(why.to_owned()) }
}

fn response(media_type: &'static str, body: Outgoing) -> Response<Outgoing> {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(VARY, HeaderValue::from_static("Accept"));
    // nginx hands on what comes only when it has a buffer full, unless it is told.
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::Request;

    fn wanted(uri: &str, fields: &[(&str, &str)]) -> Result<Wanted, Kind> {
        let request =
            fields.iter().fold(Request::get(uri), |r, (name, value)| r.header(*name, *value));
        let parts = request.body(()).unwrap().into_parts().0;
        let wanted = match uri.starts_with("/feed") {
            true => Wanted::of_all(&parts),
            false => Wanted::of_collection(&parts, &CollectionName::new("notes").unwrap()),
        };
        wanted.map_err(|problem| problem.kind)
    }

    fn of(after: Option<u64>, collections: &[&str], is_page: bool) -> Result<Wanted, Kind> {
        let collections = collections.iter().map(|name| (*name).to_owned()).collect();
        Ok(Wanted { after: after.map(CommitNumber), collections, is_page })
    }

    #[test]
    fn what_is_asked_for() {
        assert_eq!(wanted("/feed", &[]), of(None, &[], false));
        assert_eq!(wanted("/feed?after=7&collections=a,b", &[]), of(Some(7), &["a", "b"], false));
        assert_eq!(wanted("/db/notes?feed&after=0", &[]), of(Some(0), &["notes"], false));
        let resumed = [("last-event-id", "9"), ("accept", "text/event-stream")];
        assert_eq!(wanted("/db/notes?feed&after=0", &resumed), of(Some(9), &["notes"], false));
        assert_eq!(wanted("/feed?after=3", &[("last-event-id", "")]), of(Some(3), &[], false));
        assert_eq!(wanted("/feed", &[("accept", "application/json")]), of(None, &[], true));
        assert_eq!(wanted("/feed", &[("accept", "*/*;q=0.1")]), of(None, &[], false));
        assert_eq!(wanted("/feed", &[("accept", "text/html")]), Err(Kind::NotAcceptable));
    }

    #[test]
    fn what_cannot_be_asked_for() {
        for uri in [
            "/feed?after=-1",
            "/feed?after=",
            "/feed?after=1.5",
            "/feed?after=99999999999999999999",
            "/feed?after=1&after=2",
            "/feed?before=1",
            "/feed?collections=",
            "/feed?collections=a,,b",
            "/feed?collections=_tasks",
            "/db/notes?feed=1",
            "/db/notes?feed&limit=1",
        ] {
            assert_eq!(wanted(uri, &[]), Err(Kind::InvalidParameter), "{uri}");
        }
        assert_eq!(wanted("/feed", &[("last-event-id", "x")]), Err(Kind::InvalidParameter));
        let names = |count: usize| format!("/feed?collections={}", vec!["a"; count].join(","));
        assert!(wanted(&names(FEED_COLLECTIONS_MAX), &[]).is_ok());
        assert!(wanted(&names(FEED_COLLECTIONS_MAX + 1), &[]).is_err());
    }

    #[test]
    fn a_query_of_documents_is_none() {
        for (component, is) in [
            (Some("feed"), true),
            (Some("feed&after=1"), true),
            (Some("feed=1"), false),
            (Some("filter=feed"), false),
            (Some("after=1&feed"), false),
            (None, false),
        ] {
            assert_eq!(is_asked(component), is, "{component:?}");
        }
    }
}
