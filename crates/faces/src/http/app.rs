//! The application's requests and replies as HTTP. Fields that concern one connection only (RFC
//! 9110 §7.6.1) are hyper's affair and are passed on in neither direction.

use crate::http::forwarded::Asker;
use crate::http::outgoing::Outgoing;
use crate::problem::Problem;
use bytes::Bytes;
use hyper::header::{CONNECTION, CONTENT_LENGTH, HeaderMap, HeaderName, HeaderValue};
use hyper::http::request::Parts;
use hyper::{Response, StatusCode};

const HOP_BY_HOP: [&str; 8] = [
    "connection",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "transfer-encoding",
    "upgrade",
];

/// What tells who asks. The application gets what is known of it, not what anybody may write.
const FORWARDED: [&str; 4] =
    ["forwarded", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto"];

/// The request as the application sees it. `x-forwarded-for` is the client's address and
/// `x-forwarded-proto` the scheme it used, whether there was a proxy or not.
pub(crate) fn request(parts: &Parts, asker: &Asker, body: Bytes) -> gem::Request {
    let mut headers = fields(&parts.headers);
    headers.push(("x-forwarded-for".to_owned(), asker.address.to_string()));
    headers.push(("x-forwarded-proto".to_owned(), asker.scheme.as_str().to_owned()));
    gem::Request {
        method: parts.method.as_str().to_owned(),
        path: parts.uri.path().to_owned(),
        query: parts.uri.query().unwrap_or_default().to_owned(),
        headers,
        body,
    }
}

/// Names are in lower case already. A value may hold any byte; what is not UTF-8 is replaced.
fn fields(headers: &HeaderMap) -> Vec<(String, String)> {
    let dropped: Vec<_> = named_by_connection(headers).collect();
    let is_passed_on = |name: &HeaderName| {
        !is_hop_by_hop(name.as_str())
            && !FORWARDED.contains(&name.as_str())
            && !dropped.iter().any(|dropped| dropped.eq_ignore_ascii_case(name.as_str()))
    };
    headers
        .iter()
        .filter(|(name, _)| is_passed_on(name))
        .map(|(name, value)| {
            let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
            (name.as_str().to_owned(), value)
        })
        .collect()
}

fn named_by_connection(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    let lines = headers.get_all(CONNECTION).iter().filter_map(|line| line.to_str().ok());
    lines.flat_map(|line| line.split(',').map(str::trim))
}

fn is_hop_by_hop(name: &str) -> bool {
    HOP_BY_HOP.iter().any(|hop| name.eq_ignore_ascii_case(hop))
}

/// The application's reply as a response; `headers` is empty. A reply that HTTP cannot express is
/// the application's mistake: it goes to the log, and the client gets a 500.
pub(crate) fn response(
    reply: gem::Reply,
    headers: HeaderMap,
) -> Result<Response<Outgoing>, Problem> {
    let status = StatusCode::from_u16(reply.status)
        .ok()
        .filter(|status| !status.is_informational())
        .ok_or_else(|| {
            let what = format!("the application's status is 200 to 599; got {}", reply.status);
            Problem::internal(&what)
        })?;
    // RFC 9110 §15.3.5, §15.3.6, §15.4.5: these have no content.
    let is_bodyless = matches!(
        status,
        StatusCode::NO_CONTENT | StatusCode::RESET_CONTENT | StatusCode::NOT_MODIFIED
    );
    let body = if is_bodyless { Bytes::new() } else { reply.body };
    let mut response = Response::new(Outgoing::from(body));
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    for (name, value) in &reply.headers {
        append(response.headers_mut(), name, value)?;
    }
    Ok(response)
}

/// The length is written from the body itself.
fn append(headers: &mut HeaderMap, name: &str, value: &str) -> Result<(), Problem> {
    if is_hop_by_hop(name) || name.eq_ignore_ascii_case(CONTENT_LENGTH.as_str()) {
        return Ok(());
    }
    let refused = |error: &dyn std::fmt::Display| {
        Problem::internal(&format!("the application's header field {name:?} is refused: {error}"))
    };
    let field = HeaderName::from_bytes(name.as_bytes()).map_err(|error| refused(&error))?;
    let value = HeaderValue::from_str(value).map_err(|error| refused(&error))?;
    headers.append(field, value);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::forwarded::Scheme;
    use hyper::Request;
    use hyper::body::Body;
    use repository::CommitNumber;
    use std::net::IpAddr;

    #[test]
    fn a_request_keeps_what_is_the_applications() {
        let request_head = Request::builder()
            .method("POST")
            .uri("http://h/a%20b?c=d%26")
            .header("Host", "h")
            .header("Cookie", "a=1")
            .header("Cookie", "b=2")
            .header("Connection", "close, X-Hop")
            .header("X-Hop", "1")
            .header("Transfer-Encoding", "chunked")
            .header("X-Latin", HeaderValue::from_bytes(b"\xe4").unwrap())
            .header("X-Forwarded-For", "198.51.100.1")
            .header("Forwarded", "for=198.51.100.1")
            .body(())
            .unwrap();
        let address = IpAddr::from([192, 0, 2, 1]);
        let asker = Asker { address, scheme: Scheme::Https, is_forwarded: false };
        let request = request(&request_head.into_parts().0, &asker, Bytes::from_static(b"x"));
        assert_eq!((request.method.as_str(), request.path.as_str()), ("POST", "/a%20b"));
        assert_eq!(request.query, "c=d%26");
        let fields: Vec<_> =
            request.headers.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
        let expected = [
            ("host", "h"),
            ("cookie", "a=1"),
            ("cookie", "b=2"),
            ("x-latin", "\u{fffd}"),
            ("x-forwarded-for", "192.0.2.1"),
            ("x-forwarded-proto", "https"),
        ];
        assert_eq!(fields, expected);
    }

    fn reply(status: u16, headers: &[(&str, &str)]) -> gem::Reply {
        gem::Reply {
            status,
            headers: headers.iter().map(|(n, v)| ((*n).into(), (*v).into())).collect(),
            body: Bytes::from_static(b"body"),
            blob: None,
            wait_for: CommitNumber(0),
        }
    }

    #[test]
    fn a_reply_keeps_its_fields_but_not_the_connections() {
        let reply = reply(
            201,
            &[("Set-Cookie", "a"), ("set-cookie", "b"), ("Content-Length", "9"), ("TE", "x")],
        );
        let response = response(reply, HeaderMap::new()).unwrap();
        assert_eq!(response.status(), 201);
        let cookies: Vec<_> = response.headers().get_all("set-cookie").iter().collect();
        assert_eq!(cookies, ["a", "b"]);
        assert_eq!(response.headers().len(), 2);
    }

    #[test]
    fn statuses_without_content_have_none() {
        for status in [204, 205, 304] {
            let response = response(reply(status, &[]), HeaderMap::new()).unwrap();
            assert_eq!(response.body().size_hint().exact(), Some(0), "{status}");
        }
    }

    #[test]
    fn what_http_cannot_express_is_a_500() {
        for wrong in [
            reply(42, &[]),
            reply(101, &[]),
            reply(200, &[("a b", "c")]),
            reply(200, &[("a", "b\r\nset-cookie: c")]),
        ] {
            let problem = response(wrong, HeaderMap::new()).unwrap_err();
            assert_eq!(problem.kind.row().status, 500);
        }
    }
}
