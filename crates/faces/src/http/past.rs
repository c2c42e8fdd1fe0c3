//! The past of a document over HTTP: which of its versions a request names, by the query component
//! of its URI. `docs/history.md`.

use crate::http::{accept, conditions, once, wishes};
use crate::limits::VERSIONS_LISTED_MAX;
use crate::operation::{Operation, Place};
use crate::problem::{Kind, Problem};
use crate::surface::Template;
use hyper::http::request::Parts;
use query::ParameterError;
use repository::{CommitNumber, Moment, Timestamp};

const AT: &str = "at";
const VERSIONS: &str = "versions";
const LIMIT: &str = "limit";
const AFTER: &str = "after";
const RESTORE: &str = "restore";

/// Versions that are listed if the request does not say how many.
const LISTED: usize = 50;

/// What a GET asks of the past, if it does. Other parameters mean nothing to a document.
pub(crate) fn get(parts: &Parts, place: &Place) -> Result<Option<Operation>, Problem> {
    let Some(component) = parts.uri.query() else { return Ok(None) };
    let has = |name| component.split('&').any(|part| part.split('=').next() == Some(name));
    if has(VERSIONS) {
        return versions(component, place).map(Some);
    }
    if !has(AT) {
        return Ok(None);
    }
    let pairs = query::pairs(Some(component), &[AT])?;
    let at = pairs.first().map_or("", |(_, value)| value.as_str());
    Ok(Some(Operation::Past {
        place: place.clone(),
        at: moment(at)?,
        preconditions: conditions::preconditions(&parts.headers)?,
        acceptable: accept::acceptable(&parts.headers),
    }))
}

fn moment(text: &str) -> Result<Moment, Problem> {
    if let Some(number) = whole_number(text) {
        return Ok(Moment::Commit(CommitNumber(number)));
    }
    match query::timestamp_ms(text).filter(|ms| *ms >= 0.0) {
        Some(ms) => Ok(Moment::Time(Timestamp(ms as u64))),
        None => Err(ParameterError::value(
            AT,
            "the number of a commit, or a time such as 2026-01-31T12:00:00Z",
            text,
        )
        .into()),
    }
}

fn versions(component: &str, place: &Place) -> Result<Operation, Problem> {
    let pairs = query::pairs(Some(component), &[VERSIONS, LIMIT, AFTER])?;
    let value = |name| pairs.iter().find(|(known, _)| *known == name).map(|(_, v)| v.as_str());
    if let Some(text) = value(VERSIONS).filter(|text| !text.is_empty()) {
        return Err(ParameterError::value(VERSIONS, "no value", text).into());
    }
    let limit = value(LIMIT).map(|text| query::limit(text, VERSIONS_LISTED_MAX)).transpose()?;
    let before = value(AFTER).map(|text| commit(AFTER, text)).transpose()?;
    let limit = limit.unwrap_or(LISTED).max(1);
    Ok(Operation::Versions { place: place.clone(), before, limit })
}

/// What a POST to a document asks: that a version be written again.
pub(crate) fn restore(parts: &Parts, place: Place) -> Result<Operation, Problem> {
    let pairs = query::pairs(parts.uri.query(), &[RESTORE])?;
    let Some((_, from)) = pairs.first() else {
        let detail = format!("{} takes POST with ?restore=N only", Template::Document.path());
        return Err(Problem::new(Kind::InvalidParameter, detail));
    };
    let operation = Operation::Restore {
        place,
        from: commit(RESTORE, from)?,
        preconditions: conditions::preconditions(&parts.headers)?,
        returns: wishes::returns(&parts.headers),
    };
    match once::name(parts)? {
        Some(name) => name.of(operation, b""),
        None => Ok(operation),
    }
}

fn commit(name: &'static str, text: &str) -> Result<CommitNumber, ParameterError> {
    let number = whole_number(text).map(CommitNumber);
    number.ok_or_else(|| ParameterError::value(name, "the number of a commit", text))
}

fn whole_number(text: &str) -> Option<u64> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::Request;
    use repository::{CollectionName, Key};

    fn place() -> Place {
        Place { collection: CollectionName::new("notes").unwrap(), key: Key::new("a").unwrap() }
    }

    fn asked(query: &str) -> Result<Option<Operation>, Problem> {
        let uri = format!("/db/notes/a?{query}");
        let parts = Request::builder().uri(uri).body(()).unwrap().into_parts().0;
        get(&parts, &place())
    }

    fn at(query: &str) -> Option<Moment> {
        match asked(query) {
            Ok(Some(Operation::Past { at, .. })) => Some(at),
            _ => None,
        }
    }

    #[test]
    fn a_moment_is_a_commit_or_a_time() {
        assert_eq!(at("at=7"), Some(Moment::Commit(CommitNumber(7))));
        let noon = Some(Moment::Time(Timestamp(43_200_000)));
        assert_eq!(at("at=1970-01-01T12:00:00Z"), noon);
        assert_eq!(at("at=1970-01-01T14:00:00%2B02:00"), noon);
        for wrong in
            ["at=", "at", "at=-1", "at=x", "at=1&x=1", "at=1&at=2", "at=1969-01-01T00:00:00Z"]
        {
            let kind = asked(wrong).unwrap_err().kind;
            assert_eq!(kind, Kind::InvalidParameter, "{wrong}");
        }
        assert!(asked("x=1").unwrap().is_none());
    }

    #[test]
    fn versions_come_in_pages() {
        let page = |query| match asked(query) {
            Ok(Some(Operation::Versions { before, limit, .. })) => {
                Some((before.map(|commit| commit.0), limit))
            }
            _ => None,
        };
        assert_eq!(page("versions"), Some((None, LISTED)));
        assert_eq!(page("versions&limit=2&after=9"), Some((Some(9), 2)));
        assert_eq!(page("limit=1000&versions="), Some((None, VERSIONS_LISTED_MAX)));
        for wrong in ["versions=1", "versions&limit=1001", "versions&after=x", "versions&at=1"] {
            let kind = asked(wrong).unwrap_err().kind;
            assert_eq!(kind, Kind::InvalidParameter, "{wrong}");
        }
    }
}
