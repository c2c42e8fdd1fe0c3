//! Pages of other origins (the Fetch standard, "CORS protocol"): which may read and write documents
//! from a browser. None, unless the operator names them. Requests that are not from a browser are
//! not concerned; `origin` refuses the writes of pages that are not named.

use crate::http::authority::Authority;
use crate::http::path::{self, Resource};
use crate::limits::{CORS_MAX_AGE_S, CORS_ORIGINS_MAX};
use crate::surface::Template;
use hyper::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_METHOD,
    HeaderMap, HeaderValue, ORIGIN, VARY,
};
use hyper::http::request::Parts;
use hyper::{Method, Uri};

/// The origins whose pages may use the documents.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Origins {
    named: Vec<HeaderValue>,
    /// `*` is among them.
    any: bool,
}

/// Fields that a page may send beside those that the browser lets through.
const REQUEST_FIELDS: HeaderValue = HeaderValue::from_static(
    "Authorization, Content-Type, If-Match, If-Modified-Since, If-None-Match, \
     If-Unmodified-Since, Idempotency-Key, Prefer, Slug",
);

/// Fields that a page may read beside those that the browser shows.
const REPLY_FIELDS: HeaderValue = HeaderValue::from_static(
    "Accept, Accept-Encoding, Accept-Patch, Allow, Content-Location, ETag, Location, \
     Preference-Applied, Retry-After, Sarsen-Commit, Sarsen-Durability, WWW-Authenticate",
);

const VARIES: HeaderValue = HeaderValue::from_static("Origin");
const PREFLIGHT_VARIES: HeaderValue = HeaderValue::from_static(
    "Origin, Access-Control-Request-Method, Access-Control-Request-Headers",
);

impl Origins {
    /// Reads origins as a browser writes them: scheme, host, and port if it is not the scheme's.
    pub(crate) fn new(origins: &[String]) -> Result<Self, String> {
        if origins.len() > CORS_ORIGINS_MAX {
            return Err(format!("at most {CORS_ORIGINS_MAX} origins; got {}", origins.len()));
        }
        let mut all = Self::default();
        for origin in origins {
            match origin.as_str() {
                "*" => all.any = true,
                text => {
                    let checked = checked(text);
                    all.named.push(checked.ok_or_else(|| format!("{EXPECTED}; got {text}"))?);
                }
            }
        }
        Ok(all)
    }

    fn is_empty(&self) -> bool {
        self.named.is_empty() && !self.any
    }

    /// Whether the pages that the request names as its origin may use the documents.
    pub(crate) fn allow(&self, headers: &HeaderMap) -> bool {
        !self.is_empty() && headers.get(ORIGIN).is_some_and(|origin| self.have(origin))
    }

    fn have(&self, origin: &HeaderValue) -> bool {
        self.any || self.named.contains(origin)
    }

    /// What the reply to this request says to the browser. The application's pages are its own
    /// affair.
    pub(crate) fn grant(&self, parts: &Parts) -> Grant {
        if self.is_empty() {
            return Grant::Nothing;
        }
        let template = match path::locate(parts.uri.path()) {
            // What publishing shows is for programs and readers, not for pages of others.
            Ok(Resource::App | Resource::Atom) => return Grant::Nothing,
            Ok(Resource::Document(_)) => Some(Template::Document),
            Ok(Resource::Collections) => Some(Template::Collections),
            Ok(Resource::Collection(_)) => Some(Template::Collection),
            Ok(Resource::Transactions) => Some(Template::Transactions),
            Ok(Resource::Feed) => Some(Template::Feed),
            Ok(Resource::Page(page)) => Some(page.template()),
            Ok(Resource::Server) | Err(_) => None,
        };
        let Some(origin) = parts.headers.get(ORIGIN).filter(|origin| self.have(origin)) else {
            return Grant::Varies;
        };
        let origin = if self.any { HeaderValue::from_static("*") } else { origin.clone() };
        let asks = parts.headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD);
        match template {
            Some(template) if asks && parts.method == Method::OPTIONS => {
                Grant::Preflight(origin, template)
            }
            _ => Grant::Reply(origin),
        }
    }
}

/// What an origin looks like.
const EXPECTED: &str = "an origin in lower case, such as https://app.example, or *";

/// Checks one origin of [`crate::ServerOptions::cors_origins`]; otherwise says what is expected.
pub fn check_origin(origin: &str) -> Result<(), &'static str> {
    if origin == "*" || checked(origin).is_some() { Ok(()) } else { Err(EXPECTED) }
}

fn checked(text: &str) -> Option<HeaderValue> {
    let uri: Uri = text.parse().ok()?;
    let authority = uri.authority()?.as_str();
    let same = format!("{}://{authority}", uri.scheme_str()?);
    let is_written_so = same == text && text.to_ascii_lowercase() == text;
    let value = HeaderValue::from_str(text).ok()?;
    (is_written_so && Authority::parse(authority).is_some()).then_some(value)
}

/// See [`Origins::grant`].
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Grant {
    /// No origin is named anywhere.
    Nothing,
    /// This origin is not, but the reply would be another one if it were.
    Varies,
    /// The page may read the reply.
    Reply(HeaderValue),
    /// The browser asks before it sends the page's request to this resource.
    Preflight(HeaderValue, Template),
}

impl Grant {
    /// Adds the fields.
    pub(crate) fn add(self, headers: &mut HeaderMap) {
        let (origin, varies) = match self {
            Self::Nothing => return,
            Self::Varies => (None, VARIES),
            Self::Reply(origin) => {
                headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, REPLY_FIELDS);
                (Some(origin), VARIES)
            }
            Self::Preflight(origin, template) => {
                if let Ok(methods) = HeaderValue::try_from(template.allow()) {
                    headers.insert(ACCESS_CONTROL_ALLOW_METHODS, methods);
                }
                headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, REQUEST_FIELDS);
                headers.insert(ACCESS_CONTROL_MAX_AGE, CORS_MAX_AGE_S.into());
                (Some(origin), PREFLIGHT_VARIES)
            }
        };
        headers.append(VARY, varies);
        if let Some(origin) = origin {
            headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origins_are_written_as_browsers_write_them() {
        let one = |text: &str| Origins::new(&[text.to_owned()]);
        for good in ["https://app.example", "http://localhost:3000", "http://[::1]:80", "*"] {
            assert!(one(good).is_ok(), "{good}");
        }
        for bad in [
            "",
            "app.example",
            "https://app.example/",
            "https://App.example",
            "https://u@app.example",
            "https://app.example/a",
            "null",
        ] {
            assert!(one(bad).is_err(), "{bad}");
        }
        let many = vec!["https://app.example".to_owned(); CORS_ORIGINS_MAX + 1];
        assert!(Origins::new(&many[1..]).is_ok() && Origins::new(&many).is_err());
    }
}
