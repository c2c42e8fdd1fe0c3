//! One line of the access log: JSON (RFC 8259) on one line, whatever a client sends.

use repository::Timestamp;
use std::io::Write;
use std::net::IpAddr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// What is written down of a request. The query is not: it may hold what only the client and the
/// server should know.
pub(crate) struct Entry<'a> {
    pub client: IpAddr,
    pub method: &'a str,
    pub path: &'a str,
    pub protocol: &'static str,
    pub status: u16,
    /// Of the reply's body.
    pub bytes: u64,
    pub took: Duration,
    /// The Sarsen-Commit of the reply.
    pub commit: Option<&'a [u8]>,
    /// The id of the token that the request came with.
    pub principal: Option<&'a str>,
    pub user_agent: Option<&'a [u8]>,
    pub request_id: Option<&'a [u8]>,
    pub trace: Option<&'a str>,
}

impl Entry<'_> {
    /// Appends the line. Writing to memory does not fail.
    pub(super) fn write(&self, into: &mut Vec<u8>) {
        into.extend_from_slice(b"{\"time\":\"");
        into.extend_from_slice(now().as_bytes());
        let _infallible = write!(into, "\",\"client\":\"{}\"", self.client);
        field(into, "method", Some(self.method.as_bytes()));
        field(into, "path", Some(self.path.as_bytes()));
        field(into, "protocol", Some(self.protocol.as_bytes()));
        let _infallible = write!(
            into,
            ",\"status\":{},\"bytes\":{},\"duration_us\":{}",
            self.status,
            self.bytes,
            self.took.as_micros()
        );
        field(into, "commit", self.commit);
        field(into, "principal", self.principal.map(str::as_bytes));
        field(into, "user_agent", self.user_agent);
        field(into, "request_id", self.request_id);
        field(into, "trace", self.trace.map(str::as_bytes));
        into.extend_from_slice(b"}\n");
    }
}

/// A member with a text; what is missing is left out.
fn field(into: &mut Vec<u8>, name: &str, value: Option<&[u8]>) {
    let Some(value) = value else { return };
    let _infallible = write!(into, ",\"{name}\":\"");
    escape(into, value);
    into.push(b'"');
}

/// Control characters, quotes and backslashes by their escapes, and whatever is not ASCII by its
/// code: a terminal that shows the log sees only what is printed.
fn escape(into: &mut Vec<u8>, text: &[u8]) {
    for character in String::from_utf8_lossy(text).chars() {
        match character {
            '"' | '\\' => into.extend_from_slice(&[b'\\', character as u8]),
            ' '..='~' => into.push(character as u8),
            _ => {
                for unit in character.encode_utf16(&mut [0; 2]) {
                    let _infallible = write!(into, "\\u{unit:04x}");
                }
            }
        }
    }
}

/// The time, as RFC 3339 writes it.
pub(super) fn now() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(u64::try_from(since.as_millis()).unwrap_or(u64::MAX)).rfc3339()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};
    use std::net::Ipv4Addr;

    fn entry() -> Entry<'static> {
        Entry {
            client: Ipv4Addr::LOCALHOST.into(),
            method: "GET",
            path: "/db/notes/a",
            protocol: "HTTP/1.1",
            status: 200,
            bytes: 2,
            took: Duration::from_micros(12),
            commit: None,
            principal: None,
            user_agent: None,
            request_id: None,
            trace: None,
        }
    }

    fn written(entry: &Entry<'_>) -> (String, Value) {
        let mut text = Vec::new();
        entry.write(&mut text);
        let text = String::from_utf8(text).unwrap();
        let value = serde_json::from_str(&text).unwrap();
        (text, value)
    }

    #[test]
    fn a_line_has_what_there_is() {
        let (_, mut short) = written(&entry());
        short["time"].take();
        let expected = json!({
            "time": null, "client": "127.0.0.1", "method": "GET", "path": "/db/notes/a",
            "protocol": "HTTP/1.1", "status": 200, "bytes": 2, "duration_us": 12,
        });
        assert_eq!(short, expected);
        let (_, full) = written(&Entry {
            commit: Some(b"7"),
            principal: Some("abc"),
            user_agent: Some(b"curl/8"),
            request_id: Some(b"r1"),
            trace: Some("4bf9"),
            ..entry()
        });
        for (name, value) in [
            ("commit", "7"),
            ("principal", "abc"),
            ("user_agent", "curl/8"),
            ("request_id", "r1"),
            ("trace", "4bf9"),
        ] {
            assert_eq!(full[name], value, "{name}");
        }
    }

    #[test]
    fn whatever_a_client_sends_is_one_line_of_json() {
        let wild = b"a\"b\\c\nd\r\x1b[31m\x00\x7f\xff\xc3\xa4\xf0\x9f\x98\x80\xe2\x80\xa8";
        let (text, value) = written(&Entry { user_agent: Some(wild), ..entry() });
        assert_eq!(text.matches('\n').count(), 1);
        assert!(text.trim_end().bytes().all(|byte| (b' '..=b'~').contains(&byte)), "{text}");
        assert_eq!(value["user_agent"], String::from_utf8_lossy(wild).as_ref());
    }
}
