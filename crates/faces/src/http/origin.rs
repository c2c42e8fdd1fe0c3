//! Who asks: without authentication, a browser on this machine must not be the hands of a web page
//! from elsewhere. Only the documents are guarded here; the application's pages are for everybody,
//! and its sessions are kept from other sites by their cookies (SameSite).

use crate::http::authority::Authority;
use crate::http::cors::Origins;
use crate::problem::{Kind, Problem};
use hyper::Method;
use hyper::header::{HOST, HeaderMap, HeaderName, HeaderValue, ORIGIN};
use hyper::http::request::Parts;

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Checks a request for documents. Pages of `origins` may do what those of this one may.
/// `is_local`: the server listens on a loopback address only, so
/// whoever names it otherwise was led here by a name that somebody else controls (DNS rebinding).
pub(crate) fn check(parts: &Parts, is_local: bool, origins: &Origins) -> Result<(), Problem> {
    let host = text(parts.headers.get(HOST));
    let is_ours = |host| Authority::parse(host).is_some_and(|host| host.is_this_machine());
    if is_local && host.is_some_and(|host| !is_ours(host)) {
        let detail = "expected localhost, 127.0.0.1 or [::1] as the Host: the server is for this \
                      machine only";
        return Err(Problem::new(Kind::ForeignHost, detail));
    }
    let is_safe = matches!(parts.method, Method::GET | Method::HEAD | Method::OPTIONS);
    if !is_safe && is_cross_site(&parts.headers, host) && !origins.allow(&parts.headers) {
        let detail = "a page of another site may not change documents; send the request from this \
                      one, without a browser, or have the operator name the other one with \
                      --cors-origin";
        return Err(Problem::new(Kind::CrossSite, detail));
    }
    Ok(())
}

fn text(value: Option<&HeaderValue>) -> Option<&str> {
    value.and_then(|value| value.to_str().ok())
}

/// Browsers say where a page is from: all of today's by Sec-Fetch-Site, older ones by Origin.
fn is_cross_site(headers: &HeaderMap, host: Option<&str>) -> bool {
    if let Some(site) = headers.get(SEC_FETCH_SITE) {
        return !matches!(site.as_bytes(), b"same-origin" | b"none");
    }
    let Some(origin) = headers.get(ORIGIN) else { return false };
    let authority = text(Some(origin)).and_then(|origin| origin.split_once("://"));
    authority.map(|(_, authority)| authority) != host
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::Request;

    fn kind(method: &str, fields: &[(&str, &str)], is_local: bool) -> Option<Kind> {
        let request = Request::builder().method(method).uri("/db/notes/a");
        let request = fields.iter().fold(request, |request, (n, v)| request.header(*n, *v));
        let parts = request.body(()).unwrap().into_parts().0;
        check(&parts, is_local, &Origins::default()).err().map(|problem| problem.kind)
    }

    #[test]
    fn a_local_server_is_asked_by_its_own_names_only() {
        for host in ["localhost", "LOCALHOST:8000", "127.0.0.1:8000", "127.8.9.1", "[::1]:80"] {
            assert_eq!(kind("GET", &[("host", host)], true), None, "{host}");
        }
        for host in ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example:8000", ""] {
            let foreign = kind("GET", &[("host", host)], true);
            assert_eq!(foreign, Some(Kind::ForeignHost), "{host}");
            assert_eq!(kind("GET", &[("host", host)], false), None, "{host}");
        }
        assert_eq!(kind("GET", &[], true), None, "HTTP/1.0");
    }

    #[test]
    fn pages_of_named_origins_may_write() {
        let origins = Origins::new(&["https://app.example".to_owned()]).unwrap();
        let kind = |origin: &str| {
            let request = Request::builder().method("PUT").uri("/db/notes/a");
            let request = request.header("host", "localhost").header("origin", origin);
            let request = request.header("sec-fetch-site", "cross-site");
            let parts = request.body(()).unwrap().into_parts().0;
            check(&parts, true, &origins).err().map(|problem| problem.kind)
        };
        assert_eq!(kind("https://app.example"), None);
        for other in ["http://app.example", "https://app.example:444", "https://evil.example"] {
            assert_eq!(kind(other), Some(Kind::CrossSite), "{other}");
        }
    }

    #[test]
    fn pages_of_other_sites_change_nothing() {
        let from = |field, value| kind("PUT", &[("host", "localhost:1"), (field, value)], true);
        for (field, value) in [
            ("sec-fetch-site", "cross-site"),
            ("sec-fetch-site", "same-site"),
            ("origin", "https://evil.example"),
            ("origin", "http://localhost:2"),
            ("origin", "null"),
        ] {
            assert_eq!(from(field, value), Some(Kind::CrossSite), "{field}: {value}");
        }
        for (field, value) in [
            ("sec-fetch-site", "same-origin"),
            ("sec-fetch-site", "none"),
            ("origin", "http://localhost:1"),
            ("accept", "*/*"),
        ] {
            assert_eq!(from(field, value), None, "{field}: {value}");
        }
        let read = [("host", "localhost"), ("sec-fetch-site", "cross-site")];
        assert_eq!(kind("GET", &read, true), None, "the browser keeps the reply from the page");
    }
}
