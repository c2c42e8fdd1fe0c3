//! Paths: which resource a URI names.
//!
//! - `/db/{collection}` is a collection, `/db/{collection}/{key}` a document. Both parts are one
//!   segment, percent-decoded to UTF-8 after the path is split, so a slash in a key is `%2F`.
//! - `/db` is the list of collections. No other shape under it names anything: `/db/`, an empty
//!   part, a trailing slash and a third segment are 404.
//! - The segments `.` and `..`, however they are written, are 400: clients and proxies remove them
//!   on the way (RFC 3986 §6.2.2.3), so a document there would answer some and not others.
//! - Collections whose name starts with `_` are Sarsen's own. They are 404 and not 403: what is in
//!   them, and whether they exist, is nobody's business.
//! - `/tx` takes lists of operations, `/feed` tells what was committed.
//! - `/atom` and what is below it belong to publishing (`atom/path`).
//! - Every other path belongs to the application and is passed on as it came.

use crate::http::atom;
use crate::http::page::Page;
use crate::operation::Place;
use crate::problem::{Kind, Problem};
use repository::{CollectionName, Key};
use std::borrow::Cow;

/// The path of a document, as a reply names it: whatever is not unreserved (RFC 3986 §2.3) is
/// percent-encoded.
pub(crate) fn of(place: &Place) -> String {
    let mut path = format!("/db/{}/", place.collection);
    for &byte in place.key.as_str().as_bytes() {
        match byte {
            b'-' | b'.' | b'_' | b'~' => path.push(char::from(byte)),
            byte if byte.is_ascii_alphanumeric() => path.push(char::from(byte)),
            byte => path.push_str(&format!("%{byte:02X}")),
        }
    }
    path
}

/// What a path names.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Resource {
    Document(Place),
    Collection(CollectionName),
    /// The list of collections.
    Collections,
    /// One of the server's own pages.
    Page(Page),
    /// Where lists of operations go.
    Transactions,
    /// What was committed.
    Feed,
    /// Something of publishing.
    Atom,
    /// `*`, the server as a whole (RFC 9110 §9.3.7).
    Server,
    /// Something of the application's.
    App,
}

/// Finds what `path`, still percent-encoded, names.
pub(crate) fn locate(path: &str) -> Result<Resource, Problem> {
    let Some(below) = path.strip_prefix("/db/") else { return elsewhere(path) };
    let Some((collection, key)) = below.split_once('/') else {
        return self::collection(below).map(Resource::Collection);
    };
    let collection = self::collection(collection)?;
    if key.is_empty() {
        return Err(Problem::not_found());
    }
    if key.contains('/') {
        let detail = "a document's path is /db/{collection}/{key}; a slash in a key is written %2F";
        return Err(Problem::new(Kind::NotFound, detail));
    }
    let key = Key::new(&segment(key)?).map_err(|error| invalid(error.to_string()))?;
    Ok(Resource::Document(Place { collection, key }))
}

fn elsewhere(path: &str) -> Result<Resource, Problem> {
    match path {
        "*" => Ok(Resource::Server),
        "/tx" => Ok(Resource::Transactions),
        "/feed" => Ok(Resource::Feed),
        _ if atom::path::owns(path) => Ok(Resource::Atom),
        "/db" => Ok(Resource::Collections),
        _ => Ok(Page::at(path).map_or(Resource::App, Resource::Page)),
    }
}

fn collection(encoded: &str) -> Result<CollectionName, Problem> {
    if encoded.is_empty() {
        return Err(Problem::not_found());
    }
    let name =
        CollectionName::new(&segment(encoded)?).map_err(|error| invalid(error.to_string()))?;
    if name.is_system() { Err(Problem::not_found()) } else { Ok(name) }
}

fn segment(encoded: &str) -> Result<Cow<'_, str>, Problem> {
    let decoded = decode(encoded)?;
    if matches!(&*decoded, "." | "..") {
        return Err(invalid("\".\" and \"..\" cannot be names in a path".to_owned()));
    }
    Ok(decoded)
}

/// Percent-decoding (RFC 3986 §2.1). A plus sign is a plus sign.
pub(crate) fn decode(encoded: &str) -> Result<Cow<'_, str>, Problem> {
    if !encoded.contains('%') {
        return Ok(Cow::Borrowed(encoded));
    }
    let mut decoded = Vec::with_capacity(encoded.len());
    let mut rest = encoded.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        if byte != b'%' {
            decoded.push(byte);
            rest = after;
            continue;
        }
        let digits = after.first_chunk().and_then(|[high, low]| hex(*high, *low));
        decoded.push(digits.ok_or_else(|| bad("\"%\" needs two hexadecimal digits after it"))?);
        rest = &after[2..];
    }
    let text = String::from_utf8(decoded);
    text.map(Cow::Owned).map_err(|_| bad("the decoded path is not UTF-8"))
}

fn hex(high: u8, low: u8) -> Option<u8> {
    let digit = |byte| char::from(byte).to_digit(16);
    u8::try_from(digit(high)? * 16 + digit(low)?).ok()
}

fn bad(detail: &'static str) -> Problem {
    Problem::new(Kind::BadRequest, detail)
}

fn invalid(detail: String) -> Problem {
    Problem::new(Kind::InvalidName, detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(path: &str) -> (String, String) {
        match locate(path) {
            Ok(Resource::Document(Place { collection, key })) => {
                (collection.to_string(), key.to_string())
            }
            other => panic!("{path}: {other:?}"),
        }
    }

    #[test]
    fn documents() {
        let named = |c: &str, k: &str| (c.to_owned(), k.to_owned());
        assert_eq!(document("/db/notes/a"), named("notes", "a"));
        assert_eq!(document("/db/notes/a%2Fb"), named("notes", "a/b"));
        assert_eq!(document("/db/n%6ftes/%C3%A4+%20"), named("notes", "ä+ "));
        assert_eq!(document("/db/notes/%25"), named("notes", "%"));
        assert_eq!(document("/db/notes/..."), named("notes", "..."));
        assert_eq!(document("/db/notes/a%2F..%2Fb"), named("notes", "a/../b"));
    }

    #[test]
    fn a_place_has_a_path_that_leads_to_it() {
        for key in ["a", "a/b", "ä ö", "%", "100%25", "~._-", "01ARYZ6S410000000000000000"] {
            let collection = CollectionName::new("notes").unwrap();
            let place = Place { collection, key: Key::new(key).unwrap() };
            assert_eq!(locate(&of(&place)), Ok(Resource::Document(place)), "{key}");
        }
    }

    #[test]
    fn other_resources() {
        let notes = CollectionName::new("notes").unwrap();
        assert_eq!(locate("/db/notes"), Ok(Resource::Collection(notes)));
        assert_eq!(locate("/healthz"), Ok(Resource::Page(Page::Health)));
        assert_eq!(locate("/tx"), Ok(Resource::Transactions));
        assert_eq!(locate("*"), Ok(Resource::Server));
        for path in ["/", "/dbx", "/healthz/", "//db/notes", "/a/../db", "/DB/notes", ""] {
            assert_eq!(locate(path), Ok(Resource::App), "{path}");
        }
    }

    #[test]
    fn shapes_and_names_that_are_refused() {
        let status = |path| locate(path).unwrap_err().kind.row().status;
        for path in [
            "/db/",
            "/db//",
            "/db//a",
            "/db/notes/",
            "/db/notes/a/",
            "/db/notes/a/b",
            "/db/notes//",
            "/db/_sessions",
            "/db/_sessions/a",
            "/db/%5Fsessions/a",
        ] {
            assert_eq!(status(path), 404, "{path}");
        }
        for path in [
            "/db/Notes/a",
            "/db/9/a",
            "/db/notes/.",
            "/db/notes/..",
            "/db/notes/%2e%2E",
            "/db/../a",
            "/db/.",
            "/db/notes/%",
            "/db/notes/%4",
            "/db/notes/%zz",
            "/db/notes/%+1",
            "/db/notes/%FF",
            "/db/notes/%C3",
            "/db/notes/a%00",
            "/db/notes/a%0A",
            "/db/n%2Fo",
        ] {
            assert_eq!(status(path), 400, "{path}");
        }
        let long = format!("/db/notes/{}", "k".repeat(repository::limits::KEY_BYTES_MAX + 1));
        assert_eq!(status(&long), 400);
        assert!(locate(&long[..long.len() - 1]).is_ok(), "the limit itself is allowed");
    }
}
