//! Live reload over HTTP: a script that pages get while their application is edited, and where it
//! asks for news. These are server-sent events (HTML Living Standard §9.2), but each reply ends
//! after one: the browser asks again by itself, with the id of what it was told last, and so hears
//! also from a server that was started again.

use crate::http::connection::Connection;
use crate::http::forwarded::Asker;
use crate::http::origin;
use crate::http::outgoing::Outgoing;
use crate::limits::{LIVE_HOLD, LIVE_RETRY};
use crate::live::Live;
use crate::problem::{Kind, Problem};
use bytes::Bytes;
use hyper::header::{
    CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY as CSP, CONTENT_TYPE, ETAG, HeaderMap,
    HeaderValue,
};
use hyper::http::request::Parts;
use hyper::{Method, Response, StatusCode};

const SCRIPT: &str = "/_sarsen/live.js";
const NEWS: &str = "/_sarsen/live";

/// Whether `path` is not the application's while it is edited.
pub(crate) fn owns(path: &str) -> bool {
    path.starts_with("/_sarsen/")
}

/// Answers a request for such a path.
pub(crate) async fn serve(
    live: &Live,
    parts: &Parts,
    (asker, connection): (&Asker, &Connection),
) -> Result<Response<Outgoing>, Problem> {
    let site = connection.site(asker);
    origin::check(parts, site.is_local, site.origins)?;
    if !site.is_local {
        return Err(Problem::not_found());
    }
    if !matches!(parts.method, Method::GET | Method::HEAD) {
        return Err(Problem::not_found());
    }
    match parts.uri.path() {
        SCRIPT => Ok(response("text/javascript; charset=utf-8", include_str!("live.js").into())),
        NEWS => news(live, &parts.headers).await,
        _ => Err(Problem::not_found()),
    }
}

async fn news(live: &Live, headers: &HeaderMap) -> Result<Response<Outgoing>, Problem> {
    let full = || Problem::new(Kind::Busy, "too many pages wait for edits");
    let _place = live.waiters.try_acquire().map_err(|_| full())?;
    let known = headers.get("last-event-id").and_then(|id| id.to_str().ok());
    let retry = LIVE_RETRY.as_millis();
    let text = match tokio::time::timeout(LIVE_HOLD, live.news(known)).await {
        Ok(Some((id, told))) => format!("retry: {retry}\nid: {id}\ndata: {told}\n\n"),
        Ok(None) | Err(_) => format!("retry: {retry}\n\n"),
    };
    Ok(response("text/event-stream", text.into()))
}

fn response(media_type: &'static str, body: Bytes) -> Response<Outgoing> {
    let mut response = Response::new(Outgoing::from(body));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// Puts the script into a page, which was made by what `served` names. It is a file of the same
/// origin, so that a page's Content-Security-Policy need not allow scripts within it. Browsers are
/// not to keep such a page: told later that it is still the same (304), they would show the one
/// that asks for what was served before, and it would load itself again for ever.
pub(crate) fn inject(response: &mut Response<Outgoing>, served: &str) {
    let headers = response.headers();
    let is_html = headers
        .get(CONTENT_TYPE)
        .is_some_and(|value| value.as_bytes().to_ascii_lowercase().starts_with(b"text/html"));
    let is_whole = response.status() != StatusCode::PARTIAL_CONTENT;
    if !is_html || !is_whole || headers.contains_key(CONTENT_ENCODING) {
        return;
    }
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response.headers_mut().remove(ETAG);
    for policy in response.headers_mut().iter_mut().filter(|(name, _)| **name == CSP) {
        let (_, value) = policy;
        let allowed = value.to_str().ok().map(allow).map(HeaderValue::try_from);
        if let Some(Ok(allowed)) = allowed {
            *value = allowed;
        }
    }
    let body = std::mem::take(response.body_mut()).into_whole();
    *response.body_mut() = Outgoing::from(with_script(&body, served));
}

/// The policies (Content Security Policy 3) with leave for a script of the same origin, and for it
/// to ask for news. A policy that allows scripts by nonce alone ('strict-dynamic') stays one.
fn allow(policies: &str) -> String {
    let allowed = policies.split(',').map(|policy| {
        let directives = policy.split(';').map(str::trim).filter(|directive| !directive.is_empty());
        let mut directives: Vec<String> = directives.map(str::to_owned).collect();
        allow_self(&mut directives, &["script-src-elem", "script-src"]);
        allow_self(&mut directives, &["connect-src"]);
        directives.join("; ")
    });
    allowed.collect::<Vec<_>>().join(", ")
}

/// Adds 'self' to the first directive of these that is there; where none is, what `default-src`
/// allows is what it has (§6.8.3).
fn allow_self(directives: &mut Vec<String>, names: &[&str]) {
    let find = |directives: &[String], name: &str| {
        let is_it = |directive: &String| {
            directive.split_whitespace().next().is_some_and(|n| n.eq_ignore_ascii_case(name))
        };
        directives.iter().position(is_it)
    };
    let with_self = |directive: &str, name: &str| {
        let sources = directive.split_whitespace().skip(1);
        let kept = sources.filter(|source| !matches!(*source, "'none'" | "'self'"));
        kept.fold(name.to_owned(), |text, source| text + " " + source) + " 'self'"
    };
    if let Some((at, name)) = names.iter().find_map(|n| Some((find(directives, n)?, n))) {
        directives[at] = with_self(&directives[at], name);
    } else if let Some(at) = find(directives, "default-src") {
        let name = names.last().copied().unwrap_or_default();
        directives.push(with_self(&directives[at], name));
    }
}

fn with_script(page: &Bytes, served: &str) -> Bytes {
    if page.is_empty() {
        return page.clone();
    }
    let script = format!("<script src=\"{SCRIPT}?{served}\"></script>\n");
    let end = page.windows(7).rposition(|tag| tag.eq_ignore_ascii_case(b"</body>"));
    let (before, after) = page.split_at(end.unwrap_or(page.len()));
    [before, script.as_bytes(), after].concat().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(html: &'static str) -> String {
        let page = with_script(&Bytes::from_static(html.as_bytes()), "a-1");
        String::from_utf8(page.to_vec()).unwrap()
    }

    #[test]
    fn the_script_is_the_last_of_the_body() {
        let script = "<script src=\"/_sarsen/live.js?a-1\"></script>\n";
        let expected = format!("<body>1</body>2{script}</BODY></html>");
        assert_eq!(page("<body>1</body>2</BODY></html>"), expected);
        assert_eq!(page("<p>1"), format!("<p>1{script}"));
        assert_eq!(page(""), "");
    }

    #[test]
    fn a_policy_lets_the_script_in_and_nothing_else() {
        for (policy, allowed) in [
            (
                "default-src 'none'; style-src 'self'",
                "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'",
            ),
            (
                "script-src https://a.example;connect-src 'none'",
                "script-src https://a.example 'self'; connect-src 'self'",
            ),
            ("frame-ancestors 'none'", "frame-ancestors 'none'"),
            (
                "default-src 'self' x:, img-src *",
                "default-src 'self' x:; script-src x: 'self'; connect-src x: 'self', img-src *",
            ),
        ] {
            assert_eq!(allow(policy), allowed);
        }
    }

    #[test]
    fn what_is_no_page_stays_as_it_is() {
        for (media_type, encoding, status) in [
            ("text/plain", None, 200),
            ("application/json", None, 200),
            ("text/html", Some("gzip"), 200),
            ("text/html", None, 206),
        ] {
            let mut response = Response::new(Outgoing::from(Bytes::from_static(b"<p>")));
            *response.status_mut() = StatusCode::from_u16(status).unwrap();
            let headers = response.headers_mut();
            headers.insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
            encoding.map(|name| headers.insert(CONTENT_ENCODING, HeaderValue::from_static(name)));
            inject(&mut response, "a-1");
            assert_eq!(response.into_body().into_whole(), "<p>", "{media_type}");
        }
    }
}
