//! A stream of server-sent events that is open: the body of a reply, however it is framed, into
//! events.

use super::line::Line;
use super::{Inbox, Message};
use crate::http1::{Malformed, ReplyReader, Taking};
use crate::transport::{Failure, Kept, Reply};
use std::rc::Rc;
use tokio::time::Instant;
use wire::events;

/// See above.
pub(super) struct Events {
    reply: ReplyReader,
    /// Fields of the head, and of the body what is not yet read as events.
    kept: Kept,
    reader: events::Reader,
    /// Values of `Set-Cookie`.
    pub(super) cookies: Vec<Vec<u8>>,
}

impl Events {
    pub(super) fn new() -> Self {
        let (reply, kept) = (ReplyReader::new(), Kept::new(usize::MAX, 0));
        Self { reply, kept, reader: events::Reader::default(), cookies: Vec::new() }
    }

    /// The head, once it is complete.
    pub(super) fn head(&self) -> Option<Reply> {
        self.reply.head()
    }

    /// The head's fields.
    pub(super) fn fields(&self) -> &[u8] {
        &self.kept.fields
    }

    /// The last id that an event stated.
    pub(super) fn last_id(&self) -> &[u8] {
        self.reader.last_id()
    }

    /// Makes events of what has come, and says whether any of it was used.
    pub(super) fn digest(&mut self, line: &mut Line, inbox: &mut Inbox) -> Result<bool, Failure> {
        let Self { reply, kept, reader, cookies } = self;
        let server = Rc::clone(&line.server);
        let mut taking = Taking {
            is_head: false,
            set_cookie: &mut |value| {
                cookies.push(value.to_vec());
                Ok(())
            },
            kept: Some(kept),
            heads: &mut server.heads.borrow_mut(),
        };
        let (used, whole) = reply.advance(&line.incoming, &mut taking).map_err(Failure::from)?;
        line.use_up(used);
        read_events(&kept.body, reader, inbox)?;
        kept.body.clear();
        match whole {
            Some(_) => Err(Failure::Closed("and ended the event stream")),
            None => Ok(used > 0),
        }
    }
}

fn read_events(
    mut body: &[u8],
    reader: &mut events::Reader,
    inbox: &mut Inbox,
) -> Result<(), Malformed> {
    let at = Instant::now();
    loop {
        let (used, is_event) = reader.read(body)?;
        body = &body[used..];
        if !is_event {
            return Ok(());
        }
        let event = reader.event();
        let fields = [b"event: ", event.name, b"\r\nid: ", event.id, b"\r\n"].concat();
        inbox.push(Message { fields, body: event.data.to_vec(), at });
    }
}
