//! Doors to private parts for the targets in `tests/fuzz`. Nothing else may use them.

use crate::body;
use crate::cookie::{self, NewCookie};
use crate::exchange::Request;
use crate::multipart::Content;
use crate::route::{Entry, Kind, Pattern, Routes, Steps};
use bytes::Bytes;

/// A field of a form: its name, and the text, or of a file its name, media type and content.
pub type Field = (String, Result<String, (String, String, Vec<u8>)>);

/// The fields of a body with this Content-Type, or why there are none.
pub fn form(content_type: &str, body: &[u8]) -> Result<Vec<Field>, String> {
    let request = Request {
        method: "POST".to_owned(),
        path: "/".to_owned(),
        query: String::new(),
        headers: vec![("content-type".to_owned(), content_type.to_owned())],
        body: Bytes::copy_from_slice(body),
    };
    let parts = body::form(&request).map_err(|error| error.to_string())?;
    let fields = parts.into_iter().map(|part| {
        let content = match part.content {
            Content::Text(text) => Ok(text),
            Content::File { name, media_type, place } => {
                Err((name, media_type, body[place].into()))
            }
        };
        (part.name, content)
    });
    Ok(fields.collect())
}

/// The places of the patterns that a path is of, as requests are led to them, and as each pattern
/// says for itself; `None` if a pattern is none or the path cannot be decoded.
pub fn routes(patterns: &[&str], path: &str) -> Option<(Vec<u32>, Vec<u32>)> {
    let parsed: Result<Vec<Pattern>, _> =
        patterns.iter().map(|text| Pattern::parse(text)).collect();
    let parsed = parsed.ok()?;
    let mut fit = Vec::new();
    for (place, pattern) in (0..).zip(&parsed) {
        if pattern.read(path).ok()?.is_some() {
            fit.push(place);
        }
    }
    let entries = parsed.into_iter().map(|pattern| Entry { kind: Kind::Middleware, pattern });
    let found = Routes::new(entries.collect()).find("POST", path).ok()?;
    let led = match found.steps {
        Steps::None => Vec::new(),
        Steps::One(place) => vec![place],
        Steps::Many(places) => places.into(),
    };
    Some((led, fit))
}

/// The value of a cookie in a Cookie field.
pub fn cookie(field: &str, name: &str) -> Option<String> {
    cookie::raw([field].into_iter(), name).map(cookie::decoded)
}

/// The Set-Cookie field of a cookie, or why it cannot be set.
pub fn set_cookie(name: &str, value: &str, path: &str) -> Result<String, String> {
    let new = NewCookie {
        name: name.to_owned(),
        value: value.to_owned(),
        path: path.to_owned(),
        domain: None,
        max_age: None,
        is_http_only: false,
        is_secure: true,
        same_site: "Lax".to_owned(),
    };
    new.field(None).map_err(|error| error.to_string())
}
