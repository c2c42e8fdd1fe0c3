//! What goes to the server: a request prepared once, rendered for each hit. It does not check
//! that method and fields are well formed; the plan does.

use super::pattern::{Draw, Pattern, push_decimal};
use crate::bench::Request;
use crate::target::Target;

/// A request with its fixed parts already in wire form.
pub(crate) struct Template {
    /// Request line and fields, up to the ones that change.
    head: Pattern,
    body: Pattern,
    sends_length: bool,
    /// Whether replies come without a body, whatever their fields say (RFC 9110 §9.3.2).
    pub(crate) is_head: bool,
}

impl Template {
    pub(crate) fn new(target: &Target, request: &Request) -> Self {
        let mut head = format!("{} {} HTTP/1.1\r\n", request.method, target.path());
        if !request.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
            head.push_str(&format!("Host: {}\r\n", target.authority()));
        }
        for (name, value) in &request.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        Self {
            head: Pattern::parse(head.as_bytes()),
            body: Pattern::parse(&request.body),
            sends_length: !request.body.is_empty() || expects_body(&request.method),
            is_head: request.method == "HEAD",
        }
    }

    /// Writes the request of one hit over what `out` held.
    pub(crate) fn render(&self, out: &mut Vec<u8>, draw: Draw, cookies: &[u8]) {
        out.clear();
        self.head.render(out, draw);
        if !cookies.is_empty() {
            out.extend_from_slice(b"Cookie: ");
            out.extend_from_slice(cookies);
            out.extend_from_slice(b"\r\n");
        }
        if self.sends_length {
            out.extend_from_slice(b"Content-Length: ");
            push_decimal(out, self.body.rendered_bytes(draw) as u64);
            out.extend_from_slice(b"\r\n");
        }
        out.extend_from_slice(b"\r\n");
        self.body.render(out, draw);
    }
}

/// Methods that say their length even when it is 0 (RFC 9110 §8.6).
fn expects_body(method: &str) -> bool {
    matches!(method, "POST" | "PUT" | "PATCH")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rendered(request: Request, cookies: &str) -> String {
        let target = "http://a:8080/x/{key}".parse().unwrap();
        let mut out = b"left over".to_vec();
        let draw = Draw { key: 12, other: 13, nonce: 1 };
        Template::new(&target, &request).render(&mut out, draw, cookies.as_bytes());
        String::from_utf8(out).unwrap()
    }

    fn request(method: &str, headers: &[(&str, &str)], body: &str) -> Request {
        let own = |(name, value): &(&str, &str)| (name.to_string(), value.to_string());
        let headers = headers.iter().map(own).collect();
        Request { method: method.into(), headers, body: body.as_bytes().to_vec() }
    }

    #[test]
    fn a_get_has_neither_length_nor_body() {
        let get = request("GET", &[("Accept", "*/*")], "");
        assert_eq!(
            rendered(get, "s=1"),
            "GET /x/12 HTTP/1.1\r\nHost: a:8080\r\nAccept: */*\r\nCookie: s=1\r\n\r\n"
        );
    }

    #[test]
    fn a_put_states_the_length_of_what_is_filled_in() {
        let put = request("PUT", &[("host", "b")], "[{key},\"{nonce}\"]");
        assert_eq!(
            rendered(put, ""),
            "PUT /x/12 HTTP/1.1\r\nhost: b\r\nContent-Length: 23\r\n\r\n[12,\"0000000000000001\"]"
        );
    }

    #[test]
    fn an_empty_post_states_that_it_is_empty() {
        let sent = rendered(request("POST", &[], ""), "");
        assert!(sent.ends_with("Content-Length: 0\r\n\r\n"), "{sent}");
    }
}
