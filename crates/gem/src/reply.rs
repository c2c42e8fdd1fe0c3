//! What a handler's reply may be, and the replies gems make themselves.

use crate::exchange::Reply;
use crate::limits::REPLY_FIELDS_MAX;
use crate::route::Ending;
use bytes::Bytes;
use repository::{CommitNumber, PinnedBlob};
use thiserror::Error;

/// Why a reply cannot be sent.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub(crate) enum ReplyError {
    #[error("a header name is letters, digits and !#$%&'*+-.^_`|~; got {0:?}")]
    Name(String),
    #[error("the header {0} belongs to the server; leave it out")]
    Reserved(String),
    #[error("the header {name} holds {found:?}: a value is visible ASCII, spaces and tabs")]
    Value { name: String, found: char },
    #[error("a reply has at most {REPLY_FIELDS_MAX} header fields; got {0}")]
    Fields(usize),
    #[error("a reply's body has at most {most} bytes; got {got}")]
    Bytes { most: usize, got: usize },
    #[error("a reply's status is from 200 to 599; got {0}")]
    Status(u16),
    #[error("a reply with status {0} has no body")]
    Body(u16),
}

/// A handler's reply before its commit is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Bytes,
    /// What is sent in the place of `body`.
    pub(crate) blob: Option<PinnedBlob>,
}

impl Answer {
    /// The answer if it can be sent with a body of at most `most` bytes; its fields were checked
    /// one by one.
    pub(crate) fn checked(self, most: usize) -> Result<Self, ReplyError> {
        if self.headers.len() > REPLY_FIELDS_MAX {
            return Err(ReplyError::Fields(self.headers.len()));
        }
        if self.body.len() > most {
            return Err(ReplyError::Bytes { most, got: self.body.len() });
        }
        if !(200..=599).contains(&self.status) {
            return Err(ReplyError::Status(self.status));
        }
        // RFC 9110 §15.3.5, §15.3.6 and §15.4.5.
        if matches!(self.status, 204 | 205 | 304) && (!self.body.is_empty() || self.blob.is_some())
        {
            return Err(ReplyError::Body(self.status));
        }
        Ok(self)
    }

    /// The answer to what no function of the application answers; `query` is the request's.
    pub(crate) fn of(ending: &Ending, query: &str) -> Self {
        match ending {
            Ending::NotFound => Self::page(404, "Not Found"),
            Ending::OtherMethods(methods) => {
                Self::page(405, "Method Not Allowed").with("allow", methods.allow())
            }
            Ending::Options(methods) => Self::empty(204).with("allow", methods.allow()),
            Ending::Slash(path) => {
                let query = if query.is_empty() { String::new() } else { format!("?{query}") };
                Self::empty(308).with("location", format!("{path}{query}"))
            }
        }
    }

    fn empty(status: u16) -> Self {
        Self { status, headers: Vec::new(), body: Bytes::new(), blob: None }
    }

    /// The reply, which reveals no commit after `wait_for`.
    pub(crate) fn reply(self, wait_for: CommitNumber) -> Reply {
        let Self { status, headers, body, blob } = self;
        Reply { status, headers, body, blob, wait_for }
    }

    /// A small page for a request that no handler took.
    pub(crate) fn page(status: u16, title: &str) -> Self {
        Self {
            status,
            headers: vec![("content-type".to_owned(), "text/html; charset=utf-8".to_owned())],
            body: format!(
                "<!doctype html><meta name=viewport content=\"width=device-width\">\
                 <title>{title}</title><h1>{title}</h1>\n"
            )
            .into(),
            blob: None,
        }
    }

    /// Adds a header field.
    pub(crate) fn with(mut self, name: &str, value: String) -> Self {
        self.headers.push((name.to_owned(), value));
        self
    }
}

/// What frames a message or belongs to the connection (RFC 9110 §7.6.1, §8.6).
const RESERVED: [&str; 8] = [
    "connection",
    "content-length",
    "keep-alive",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Checks a header field (RFC 9110 §5). Values with CR, LF or NUL would let a visitor's text become
/// a header of its own.
pub(crate) fn check_field(name: &str, value: &str) -> Result<(), ReplyError> {
    let token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    if name.is_empty() || !name.chars().all(token) {
        return Err(ReplyError::Name(name.to_owned()));
    }
    if RESERVED.contains(&name.to_ascii_lowercase().as_str()) {
        return Err(ReplyError::Reserved(name.to_owned()));
    }
    match value.chars().find(|&c| c != '\t' && !(' '..='~').contains(&c)) {
        Some(found) => Err(ReplyError::Value { name: name.to_owned(), found }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields() {
        assert_eq!(check_field("Location", "/a?b=c%20\td"), Ok(()));
        for value in ["a\r\nset-cookie: x", "a\n", "\0", "ü", "\u{7f}"] {
            assert!(matches!(check_field("x", value), Err(ReplyError::Value { .. })), "{value:?}");
        }
        for name in ["", "a b", "a:", "ü", "a\n"] {
            assert!(matches!(check_field(name, ""), Err(ReplyError::Name(_))), "{name:?}");
        }
        let framing = check_field("Content-Length", "3");
        assert_eq!(framing, Err(ReplyError::Reserved("Content-Length".to_owned())));
    }

    const MOST: usize = 1_000;

    fn answer(status: u16, fields: usize, bytes: usize) -> Result<Answer, ReplyError> {
        let headers = vec![(String::new(), String::new()); fields];
        let body = vec![b'a'; bytes].into();
        Answer { status, headers, body, blob: None }.checked(MOST)
    }

    #[test]
    fn answers() {
        assert!(answer(200, REPLY_FIELDS_MAX, MOST).is_ok());
        assert!(answer(204, 0, 0).is_ok());
        for status in [204, 205, 304] {
            assert_eq!(answer(status, 0, 1), Err(ReplyError::Body(status)));
        }
        for status in [0, 100, 199, 600] {
            assert_eq!(answer(status, 0, 0), Err(ReplyError::Status(status)));
        }
        let many = REPLY_FIELDS_MAX + 1;
        assert_eq!(answer(200, many, 0), Err(ReplyError::Fields(many)));
        let large = ReplyError::Bytes { most: MOST, got: MOST + 1 };
        assert_eq!(answer(200, 0, MOST + 1), Err(large));
    }
}
