//! Requests that change something and that a page of another site had a browser send (cross-site
//! request forgery) are refused. Browsers say where a page is from, so no form needs a token;
//! docs/sessions.md has the argument. Pure.

use crate::exchange::Request;
use crate::route::Pattern;

/// `[csrf]` of `sarsen.toml`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rules {
    /// Whether anything is checked.
    pub(crate) is_on: bool,
    /// Origins whose pages may do what the application's own may, as browsers write them.
    pub(crate) trusted_origins: Vec<String>,
    /// Paths that are not checked.
    pub(crate) exempt: Vec<Pattern>,
}

impl Default for Rules {
    fn default() -> Self {
        Self { is_on: true, trusted_origins: Vec::new(), exempt: Vec::new() }
    }
}

impl Rules {
    /// Whether `request` may be served; if not, why.
    pub(crate) fn check(&self, request: &Request) -> Result<(), String> {
        // RFC 9110 §9.2.1: these change nothing.
        if matches!(request.method.as_str(), "GET" | "HEAD" | "OPTIONS") || !self.is_on {
            return Ok(());
        }
        let Some(origin) = foreign_origin(request) else { return Ok(()) };
        if self.trusted_origins.iter().any(|trusted| trusted == origin) || self.exempts(request) {
            return Ok(());
        }
        Err(format!(
            "the request comes from a page of {origin}; only pages of this site, and of the \
             trusted_origins in the application's sarsen.toml, may send what changes something"
        ))
    }

    fn exempts(&self, request: &Request) -> bool {
        self.exempt.iter().any(|pattern| matches!(pattern.read(&request.path), Ok(Some(_))))
    }
}

/// The origin of the page that had a browser send the request, if it is not of this site, as far
/// as it is told. A program that is no browser tells nothing.
fn foreign_origin(request: &Request) -> Option<&str> {
    let origin = request.header("origin").next();
    match request.header("sec-fetch-site").next() {
        // The browser compared scheme, host and port itself; `none` is a visitor's own doing.
        Some("same-origin" | "none") => None,
        Some(_) => Some(origin.unwrap_or("another site")),
        // To a plain http address browsers do not send that field, but they send an Origin.
        None => {
            let authority = origin?.split_once("://").map(|(_, authority)| authority);
            let host = request.header("host").next();
            let is_own = authority.is_some() && authority == host;
            if is_own { None } else { origin }
        }
    }
}

/// An origin as a browser writes it: scheme, host in lower case, and port if it is not the
/// scheme's. `None` if `text` is none.
pub(crate) fn origin(text: &str) -> Option<String> {
    let (scheme, authority) = text.split_once("://")?;
    let default_port = match scheme {
        "https" => ":443",
        "http" => ":80",
        _ => return None,
    };
    let is_of_a_host = |b: u8| b.is_ascii_alphanumeric() || b"-._:[]".contains(&b);
    if authority.is_empty() || !authority.bytes().all(is_of_a_host) {
        return None;
    }
    let authority = authority.strip_suffix(default_port).unwrap_or(authority);
    Some(format!("{scheme}://{}", authority.to_ascii_lowercase()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;

    fn post(headers: &[(&str, &str)]) -> Request {
        let own = |&(name, value): &(&str, &str)| (name.to_owned(), value.to_owned());
        Request {
            method: "POST".to_owned(),
            path: "/hooks/a%20b".to_owned(),
            query: String::new(),
            headers: headers.iter().map(own).collect(),
            body: Bytes::new(),
        }
    }

    fn is_allowed(rules: &Rules, headers: &[(&str, &str)]) -> bool {
        rules.check(&post(headers)).is_ok()
    }

    const HOST: (&str, &str) = ("host", "app.example:8000");

    #[test]
    fn own_pages_and_programs_may() {
        let rules = Rules::default();
        for headers in [
            &[HOST][..],
            &[HOST, ("sec-fetch-site", "same-origin"), ("origin", "null")],
            &[HOST, ("sec-fetch-site", "none")],
            &[HOST, ("origin", "http://app.example:8000")],
            &[HOST, ("origin", "https://app.example:8000")],
        ] {
            assert!(is_allowed(&rules, headers), "{headers:?}");
        }
    }

    #[test]
    fn pages_of_others_may_not() {
        let rules = Rules::default();
        for headers in [
            &[HOST, ("sec-fetch-site", "cross-site"), ("origin", "https://evil.example")][..],
            &[HOST, ("sec-fetch-site", "same-site"), ("origin", "https://a.app.example")],
            &[HOST, ("sec-fetch-site", "cross-site")],
            &[HOST, ("sec-fetch-site", "unheard-of"), ("origin", "http://app.example:8000")],
            &[HOST, ("origin", "http://app.example")],
            &[HOST, ("origin", "http://evil.example")],
            &[HOST, ("origin", "null")],
            &[HOST, ("origin", "")],
            &[("origin", "http://app.example:8000")],
        ] {
            assert!(!is_allowed(&rules, headers), "{headers:?}");
            let get = Request { method: "GET".to_owned(), ..post(headers) };
            assert_eq!(rules.check(&get), Ok(()));
        }
        let why = rules.check(&post(&[HOST, ("origin", "http://evil.example")])).unwrap_err();
        assert!(why.starts_with("the request comes from a page of http://evil.example;"), "{why}");
    }

    #[test]
    fn what_is_named_may() {
        let evil = [HOST, ("sec-fetch-site", "cross-site"), ("origin", "https://other.example")];
        let trusting =
            |origin: &str| Rules { trusted_origins: vec![origin.to_owned()], ..Rules::default() };
        assert!(is_allowed(&trusting("https://other.example"), &evil));
        assert!(!is_allowed(&trusting("http://other.example"), &evil));
        let exempting = |pattern: &str| Rules {
            exempt: vec![Pattern::parse(pattern).unwrap()],
            ..Rules::default()
        };
        assert!(is_allowed(&exempting("/hooks/:name"), &evil));
        assert!(!is_allowed(&exempting("/hooks"), &evil));
        assert!(is_allowed(&Rules { is_on: false, ..Rules::default() }, &evil));
    }

    #[test]
    fn origins() {
        let known = |text: &str| origin(text).unwrap_or_default();
        assert_eq!(known("https://Admin.example:443"), "https://admin.example");
        assert_eq!(known("http://localhost:8000"), "http://localhost:8000");
        assert_eq!(known("http://[::1]:80"), "http://[::1]");
        for text in
            ["", "admin.example", "ftp://a", "https://", "https://a/", "https://a b", "null"]
        {
            assert_eq!(origin(text), None, "{text}");
        }
    }
}
