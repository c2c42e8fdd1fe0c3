//! What comes back: a reply in short, and as much of it as somebody asked for.

use crate::http1::Jar;
use std::cell::RefCell;

/// A complete reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reply {
    /// 200 to 599.
    pub(crate) status: u16,
    /// Whether the connection may carry another request.
    pub(crate) keep_alive: bool,
    /// Length of the body, without its framing.
    pub(crate) body_bytes: u64,
}

/// How a reply is to be read.
pub(crate) struct Reading<'a> {
    /// Whether the request's method was HEAD, so that there is no body whatever the fields say.
    pub(crate) is_head: bool,
    /// Where its cookies go. Borrowed only while one is put there, because a user may have several
    /// requests under way.
    pub(crate) jar: &'a RefCell<Jar>,
    /// Where fields and body are copied to; none: nowhere.
    pub(crate) kept: Option<&'a mut Kept>,
}

/// Fields and body of a reply.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    /// Lines such as `name: value`, each with CR and LF at its end; names as the server writes
    /// them.
    pub(crate) fields: Vec<u8>,
    /// The body without its framing, up to `max` bytes of it.
    pub(crate) body: Vec<u8>,
    /// See above.
    pub(crate) max: usize,
    /// Of replies with a lower status nothing is kept.
    pub(crate) from_status: u16,
    /// Whether this one is.
    is_wanted: bool,
}

impl Kept {
    /// One with room for so many bytes of a body, for replies from a status on.
    #[allow(dead_code, reason = "what reads replies comes with the steps")]
    pub(crate) fn new(max: usize, from_status: u16) -> Self {
        Self { max, from_status, ..Self::default() }
    }

    /// Forgets what it has.
    pub(crate) fn clear(&mut self) {
        self.fields.clear();
        self.body.clear();
        self.is_wanted = false;
    }

    /// A final reply has this status.
    pub(crate) fn begin(&mut self, status: u16) {
        self.clear();
        self.is_wanted = status >= self.from_status;
    }

    pub(crate) fn push_field(&mut self, name: &[u8], value: &[u8]) {
        if self.is_wanted {
            for part in [name, b": ", value, b"\r\n"] {
                self.fields.extend_from_slice(part);
            }
        }
    }

    pub(crate) fn push_body(&mut self, bytes: &[u8]) {
        if self.is_wanted {
            let room = self.max.saturating_sub(self.body.len());
            self.body.extend_from_slice(&bytes[..bytes.len().min(room)]);
        }
    }
}
