//! Requests: prepared once for a run, and written for each operation as HTTP/1.1 has them. It does
//! not check that method and fields are well formed; the plan does.

use super::fill::{Fill, Place, push_decimal};
use super::multipart;
use super::validators::Validator;
use crate::plan::{Body, HttpStep, Piece, Template, Transport};
use crate::target::Origin;
use std::ops::Range;

/// A request with its fixed parts already in wire form.
pub(crate) struct Prepared {
    /// The method and a space.
    method: Vec<u8>,
    path: Template,
    /// The `Host` and the step's own, up to the ones that change.
    fields: Template,
    body: Option<Template>,
    sends_length: bool,
    /// Whether replies come without a body, whatever their fields say (RFC 9110 §9.3.2).
    pub(crate) is_head: bool,
}

impl Prepared {
    /// Of a step.
    pub(crate) fn new(origin: &Origin, step: &HttpStep, transport: &Transport) -> Self {
        let mut fields = Template::default();
        if !step.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
            push_text(&mut fields, host(origin).as_bytes());
        }
        if !transport.keep_alive {
            push_text(&mut fields, CLOSE);
        }
        let mut push = |name: &str, value: &Template| {
            push_text(&mut fields, format!("{name}: ").as_bytes());
            value.pieces.iter().for_each(|piece| push_piece(&mut fields, piece));
            push_text(&mut fields, b"\r\n");
        };
        step.headers.iter().for_each(|(name, value)| push(name, value));
        let body = match &step.body {
            Body::Empty => None,
            Body::Template(template) => Some(template.clone()),
            Body::Multipart(parts) => {
                let (media_type, body) = multipart::template(parts);
                push("Content-Type", &Template::fixed(media_type));
                Some(body)
            }
        };
        let body = body.filter(|body| body.as_fixed() != Some(b""));
        Self {
            method: format!("{} ", step.method).into_bytes(),
            path: step.path.clone(),
            fields,
            sends_length: body.is_some() || expects_body(step.method.as_bytes()),
            body,
            is_head: step.method == "HEAD",
        }
    }
}

/// A request as it is sent. What it was written into is kept, so that the next needs no memory.
#[derive(Debug, Default)]
pub(crate) struct Written {
    bytes: Vec<u8>,
    /// What comes after the head.
    body: Vec<u8>,
    path: Range<usize>,
    /// The fields that do not depend on what the user remembers.
    fields: Range<usize>,
    sends_length: bool,
    pub(crate) is_head: bool,
}

impl Written {
    /// Begins a request. Fields may follow, and then [`Written::finish`].
    pub(crate) fn begin(&mut self, prepared: &Prepared, fill: &mut Fill<'_>) {
        self.clear();
        self.bytes.extend_from_slice(&prepared.method);
        fill.place = Place::Path;
        let start = self.bytes.len();
        fill.render(&prepared.path, &mut self.bytes);
        self.path = start..self.bytes.len();
        self.bytes.extend_from_slice(b" HTTP/1.1\r\n");
        fill.place = Place::Field;
        let start = self.bytes.len();
        fill.render(&prepared.fields, &mut self.bytes);
        self.fields = start..self.bytes.len();
        fill.place = Place::Body;
        if let Some(template) = &prepared.body {
            fill.render(template, &mut self.body);
        }
        self.sends_length = prepared.sends_length;
        self.is_head = prepared.is_head;
    }

    /// Begins a GET without anything of its own.
    pub(crate) fn begin_get(&mut self, origin: &Origin, path: &[u8], transport: &Transport) {
        self.clear();
        self.line(b"GET", path);
        self.bytes.extend_from_slice(host(origin).as_bytes());
        if !transport.keep_alive {
            self.bytes.extend_from_slice(CLOSE);
        }
        self.fields.end = self.bytes.len();
        self.is_head = false;
    }

    /// Begins the request that follows a redirect with this status (RFC 9110 §15.4): a POST becomes
    /// a GET but for 307 and 308, and without its body goes what describes it. Another server is
    /// told no credentials.
    pub(crate) fn redirect(&mut self, status: u16, to: &Origin, path: &[u8], same_server: bool) {
        let (old, old_fields) = (std::mem::take(&mut self.bytes), self.fields.clone());
        let method = old.split(|byte| *byte == b' ').next().unwrap_or_default();
        let becomes_get = match status {
            303 => method != b"HEAD",
            301 | 302 => method == b"POST",
            _ => false,
        };
        self.line(if becomes_get { b"GET" } else { method }, path);
        if becomes_get {
            self.body.clear();
            self.sends_length = false;
        }
        if !same_server {
            self.bytes.extend_from_slice(host(to).as_bytes());
        }
        for line in old[old_fields].split_inclusive(|byte| *byte == b'\n') {
            let name = line.split(|byte| *byte == b':').next().unwrap_or_default();
            let is = |other: &str| name.eq_ignore_ascii_case(other.as_bytes());
            let of_server = is("host") || is("authorization");
            let of_body = name.len() > 8 && name[..8].eq_ignore_ascii_case(b"content-");
            if !(of_server && !same_server || of_body && becomes_get) {
                self.bytes.extend_from_slice(line);
            }
        }
        self.fields.end = self.bytes.len();
    }

    /// The first line.
    fn line(&mut self, method: &[u8], path: &[u8]) {
        self.bytes.extend_from_slice(method);
        self.bytes.push(b' ');
        let start = self.bytes.len();
        self.bytes.extend_from_slice(path);
        self.path = start..self.bytes.len();
        self.bytes.extend_from_slice(b" HTTP/1.1\r\n");
        self.fields = self.bytes.len()..self.bytes.len();
    }

    /// Adds what of the user's the server is to see.
    pub(crate) fn push_memory(&mut self, cookies: &[u8], validator: Option<&Validator>) {
        self.push_field(b"Cookie: ", cookies);
        if let Some(validator) = validator {
            self.push_field(b"If-None-Match: ", &validator.tag);
            self.push_field(b"If-Modified-Since: ", &validator.date);
        }
    }

    /// Adds a field, unless its value is empty. The name has its colon and space.
    pub(crate) fn push_field(&mut self, name: &[u8], value: &[u8]) {
        if !value.is_empty() {
            self.bytes.extend_from_slice(name);
            self.bytes.extend_from_slice(value);
            self.bytes.extend_from_slice(b"\r\n");
        }
    }

    /// Ends the head and adds the body.
    pub(crate) fn finish(&mut self) {
        if self.sends_length {
            self.bytes.extend_from_slice(b"Content-Length: ");
            push_decimal(&mut self.bytes, self.body.len() as u64);
            self.bytes.extend_from_slice(b"\r\n");
        }
        self.bytes.extend_from_slice(b"\r\n");
        self.bytes.extend_from_slice(&self.body);
    }

    /// The whole request, once it is finished.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The finished request without the last half of its body, and a byte at least.
    pub(crate) fn half(&self) -> &[u8] {
        &self.bytes[..self.bytes.len() - (self.body.len() / 2).max(1)]
    }

    /// What comes after the head.
    pub(crate) fn body(&self) -> &[u8] {
        &self.body
    }

    /// Its path and query.
    pub(crate) fn path(&self) -> &[u8] {
        &self.bytes[self.path.clone()]
    }

    /// Gives memory back that an unusual request needed.
    pub(crate) fn give_back(&mut self) {
        super::variables::give_back(&mut self.bytes);
        super::variables::give_back(&mut self.body);
        if self.bytes.is_empty() {
            self.path = 0..0;
            self.fields = 0..0;
        }
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.body.clear();
        self.sends_length = false;
    }
}

/// That the connection is to carry no other request (RFC 9112 §9.6).
const CLOSE: &[u8] = b"Connection: close\r\n";

/// The `Host` field of a server.
fn host(origin: &Origin) -> String {
    format!("Host: {}\r\n", origin.authority())
}

fn push_text(template: &mut Template, text: &[u8]) {
    match template.pieces.last_mut() {
        Some(Piece::Text(last)) => last.extend_from_slice(text),
        _ => template.pieces.push(Piece::Text(text.to_vec())),
    }
}

fn push_piece(template: &mut Template, piece: &Piece) {
    match piece {
        Piece::Text(text) => push_text(template, text),
        other => template.pieces.push(other.clone()),
    }
}

/// Methods that say their length even when it is 0 (RFC 9110 §8.6).
fn expects_body(method: &[u8]) -> bool {
    matches!(method, b"POST" | b"PUT" | b"PATCH")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::Target;

    fn origin(url: &str) -> Origin {
        url.parse::<Target>().unwrap().origin()
    }

    /// A POST with a body and credentials.
    fn posted() -> Written {
        let mut written = Written::default();
        written.line(b"POST", b"/a?b");
        let fields = b"Host: a\r\nAuthorization: x\r\nContent-Type: t\r\nAccept: y\r\n";
        written.bytes.extend_from_slice(fields);
        written.fields.end = written.bytes.len();
        written.body.extend_from_slice(b"body");
        written.sends_length = true;
        written
    }

    fn after(status: u16, same_server: bool) -> String {
        let mut written = posted();
        written.push_memory(b"c=1", None);
        written.finish();
        written.redirect(status, &origin("http://b:81/"), b"/z", same_server);
        written.push_memory(b"d=2", None);
        written.finish();
        assert_eq!(written.path(), b"/z");
        String::from_utf8(written.bytes).unwrap()
    }

    #[test]
    fn redirects_keep_what_may_be_kept() {
        let seen = "GET /z HTTP/1.1\r\nHost: a\r\nAuthorization: x\r\nAccept: y\r\n\
            Cookie: d=2\r\n\r\n";
        for status in [301, 302, 303] {
            assert_eq!(after(status, true), seen, "{status}");
        }
        let kept = "POST /z HTTP/1.1\r\nHost: b:81\r\nContent-Type: t\r\nAccept: y\r\n\
            Cookie: d=2\r\nContent-Length: 4\r\n\r\nbody";
        for status in [307, 308] {
            assert_eq!(after(status, false), kept, "{status}");
        }
    }

    #[test]
    fn a_request_says_what_the_user_remembers() {
        let mut written = Written::default();
        written.begin_get(&origin("http://[::1]:8080/"), b"/x?y", &Transport::default());
        assert_eq!(written.path(), b"/x?y");
        let validator = Validator::new(Some(b"\"t\""), Some(b"then"));
        written.push_memory(b"", validator.as_ref());
        written.finish();
        let expected = "GET /x?y HTTP/1.1\r\nHost: [::1]:8080\r\nIf-None-Match: \"t\"\r\n\
            If-Modified-Since: then\r\n\r\n";
        assert_eq!(written.bytes(), expected.as_bytes());
    }
}
