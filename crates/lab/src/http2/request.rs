//! A request as HTTP/1.1 writes it, taken apart for HTTP/2: what users send is written once, for
//! whichever protocol carries it.

use crate::limits::HEADERS_MAX;
use bytes::Bytes;
use http::header::{HeaderName, HeaderValue};
use http::uri::{Authority, PathAndQuery, Scheme};
use http::{HeaderMap, Method, Request, Uri, Version};

/// The last request that was taken apart: one-liners send the same again and again.
#[derive(Default)]
pub(super) struct Parsed {
    /// Its head, as in HTTP/1.1.
    head: Vec<u8>,
    request: Option<Request<()>>,
}

impl Parsed {
    /// The request and its body.
    ///
    /// # Errors
    /// What of it cannot be sent.
    pub(super) fn take_apart(
        &mut self,
        request: &[u8],
        is_tls: bool,
    ) -> Result<(Request<()>, Bytes), String> {
        if let Some(same) = &self.request
            && request.starts_with(&self.head)
        {
            return Ok((same.clone(), Bytes::copy_from_slice(&request[self.head.len()..])));
        }
        let (parsed, head) = parse(request, is_tls)?;
        self.head.clear();
        self.head.extend_from_slice(&request[..head]);
        self.request = Some(parsed.clone());
        Ok((parsed, Bytes::copy_from_slice(&request[head..])))
    }
}

/// The request, and how long its head is.
fn parse(bytes: &[u8], is_tls: bool) -> Result<(Request<()>, usize), String> {
    let mut fields = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut parsed = httparse::Request::new(&mut fields);
    let status = parsed.parse(bytes).map_err(|error| format!("the request's head: {error}"))?;
    let httparse::Status::Complete(head) = status else {
        return Err("the request's head has no end".to_owned());
    };
    let invalid = |what: &str| format!("the request's {what} cannot be sent by HTTP/2");
    let mut headers = HeaderMap::with_capacity(parsed.headers.len());
    let mut authority = None;
    for field in parsed.headers.iter() {
        if field.name.eq_ignore_ascii_case("host") {
            authority = Some(Authority::try_from(field.value).map_err(|_| invalid("host"))?);
            continue;
        }
        // Of one connection, which HTTP/2 manages itself (RFC 9113 §8.2.2).
        if field.name.eq_ignore_ascii_case("connection") {
            continue;
        }
        let name = HeaderName::from_bytes(field.name.as_bytes()).map_err(|_| invalid("field"))?;
        let value = HeaderValue::from_bytes(field.value).map_err(|_| invalid("field's value"))?;
        headers.append(name, value);
    }
    let path = parsed.path.unwrap_or("/");
    let path = PathAndQuery::try_from(path).map_err(|_| invalid("path"))?;
    let scheme = if is_tls { Scheme::HTTPS } else { Scheme::HTTP };
    let authority = authority.ok_or_else(|| invalid("host"))?;
    let uri = Uri::builder().scheme(scheme).authority(authority).path_and_query(path).build();
    let method = parsed.method.unwrap_or("GET").as_bytes();
    let mut request = Request::new(());
    *request.method_mut() = Method::from_bytes(method).map_err(|_| invalid("method"))?;
    *request.uri_mut() = uri.map_err(|_| invalid("path"))?;
    *request.version_mut() = Version::HTTP_2;
    *request.headers_mut() = headers;
    Ok((request, head))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_keeps_its_meaning() {
        let mut parsed = Parsed::default();
        let text = b"PUT /a?b={c} HTTP/1.1\r\nHost: h:81\r\nX-Y: 1\r\nConnection: close\r\n\
            Cookie: a=1\r\nX-Y: 2\r\nContent-Length: 2\r\n\r\nhi";
        for _ in 0..2 {
            let (request, body) = parsed.take_apart(text, true).unwrap();
            assert_eq!(request.uri(), "https://h:81/a?b={c}");
            assert_eq!((request.method(), body.as_ref()), (&Method::PUT, &b"hi"[..]));
            let all: Vec<_> = request.headers().get_all("x-y").iter().collect();
            assert_eq!(all, ["1", "2"]);
            assert_eq!(
                (request.headers().len(), &request.headers()["cookie"]),
                (4, &"a=1".parse().unwrap())
            );
        }
        let other = b"GET / HTTP/1.1\r\nHost: h\r\n\r\n";
        let (request, body) = parsed.take_apart(other, false).unwrap();
        assert_eq!((request.uri().to_string(), body.len()), ("http://h/".to_owned(), 0));
    }

    #[test]
    fn what_cannot_be_sent_is_told() {
        for (text, part) in [
            (&b"GET / HTTP/1.1\r\n\r\n"[..], "host"),
            (b"GET / HTTP/1.1\r\nHost: a b\r\n\r\n", "host"),
            (b"GET / HTTP/1.1\r\nHost: a\r\n", "no end"),
        ] {
            let refusal = Parsed::default().take_apart(text, false).unwrap_err();
            assert!(refusal.contains(part), "{refusal}");
        }
    }
}
