//! One reply, read as it arrives: interim replies are passed over, the final one is followed to
//! the last byte of its body. It reads from no socket.

use super::chunked::Chunked;
use super::head::{self, Framing, Head, Malformed, Taking};
use crate::transport::{Kept, Reply};

/// Reads one reply.
pub(crate) struct ReplyReader {
    place: Place,
}

enum Place {
    Head,
    /// So many bytes of the body are still to come.
    Length(Reply, u64),
    Chunked(Reply, Chunked),
    ToClose(Reply),
}

impl ReplyReader {
    /// At the beginning.
    pub(crate) fn new() -> Self {
        Self { place: Place::Head }
    }

    /// Reads on: says how many bytes of `input` are done with, and gives the reply when it is
    /// complete. What is not done with must come again, with more after it.
    ///
    /// # Errors
    /// See [`Malformed`].
    pub(crate) fn advance(
        &mut self,
        input: &[u8],
        taking: &mut Taking<'_>,
    ) -> Result<(usize, Option<Reply>), Malformed> {
        let mut used = 0;
        while matches!(self.place, Place::Head) {
            let Some(head) = head::read(&input[used..], taking)? else {
                return Ok((used, None));
            };
            used += head.bytes;
            self.place = after_head(&head);
        }
        let (body, reply) = self.read_body(&input[used..], taking.kept.as_deref_mut())?;
        Ok((used + body, reply))
    }

    fn read_body(
        &mut self,
        input: &[u8],
        mut kept: Option<&mut Kept>,
    ) -> Result<(usize, Option<Reply>), Malformed> {
        let mut take = |bytes: &[u8]| kept.iter_mut().for_each(|kept| kept.push_body(bytes));
        match &mut self.place {
            Place::Head => Ok((0, None)),
            Place::Length(reply, left) => {
                let taken = (*left).min(input.len() as u64);
                *left -= taken;
                take(&input[..taken as usize]);
                Ok((taken as usize, (*left == 0).then_some(*reply)))
            }
            Place::Chunked(reply, chunked) => {
                let taken = chunked.advance(input, |data| {
                    reply.body_bytes += data.len() as u64;
                    take(data);
                })?;
                Ok((taken, chunked.is_complete().then_some(*reply)))
            }
            Place::ToClose(reply) => {
                reply.body_bytes += input.len() as u64;
                take(input);
                Ok((input.len(), None))
            }
        }
    }

    /// What the head says, once it is complete. Of a body it has what was stated or has come.
    pub(crate) fn head(&self) -> Option<Reply> {
        match &self.place {
            Place::Head => None,
            Place::Length(reply, _) | Place::Chunked(reply, _) | Place::ToClose(reply) => {
                Some(*reply)
            }
        }
    }

    /// What it means that the server closed the connection now: the end of the body, or where
    /// the reply broke off.
    pub(crate) fn close(&self, pending: usize) -> Result<Reply, &'static str> {
        match &self.place {
            Place::ToClose(reply) => Ok(*reply),
            Place::Head if pending == 0 => Err("before it replied"),
            Place::Head => Err("inside the head of its reply"),
            Place::Length(..) | Place::Chunked(..) => Err("inside the body of its reply"),
        }
    }
}

fn after_head(head: &Head) -> Place {
    let body_bytes = if let Framing::Length(length) = head.framing { length } else { 0 };
    let reply = Reply { status: head.status, keep_alive: head.keep_alive, body_bytes };
    match head.framing {
        _ if head.status < 200 => Place::Head,
        Framing::Length(length) => Place::Length(reply, length),
        Framing::Chunked => Place::Chunked(reply, Chunked::new()),
        Framing::ToClose => Place::ToClose(reply),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http1::HeadCache;

    fn advance(
        reader: &mut ReplyReader,
        input: &[u8],
        kept: Option<&mut Kept>,
    ) -> Result<(usize, Option<Reply>), Malformed> {
        let (set_cookie, mut heads) = (&mut |_: &[u8]| Ok(()), HeadCache::default());
        let mut taking = Taking { is_head: false, set_cookie, kept, heads: &mut heads };
        reader.advance(input, &mut taking)
    }

    /// Feeds `pieces` as a connection would: what is not done with comes again.
    fn read(pieces: &[&[u8]]) -> Result<(usize, Option<Reply>), Malformed> {
        let mut reader = ReplyReader::new();
        let (mut pending, mut total) = (Vec::new(), 0);
        for piece in pieces {
            pending.extend_from_slice(piece);
            let (used, reply) = advance(&mut reader, &pending, None)?;
            pending.drain(..used);
            total += used;
            if reply.is_some() {
                return Ok((total, reply));
            }
        }
        Ok((total, None))
    }

    const REPLIES: [(&str, u16, bool, u64); 6] = [
        ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", 200, true, 5),
        ("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", 200, false, 0),
        (
            "HTTP/1.1 404 No\r\nTransfer-Encoding: chunked\r\n\r\n2;x\r\nab\r\n0\r\n\r\n",
            404,
            true,
            2,
        ),
        ("HTTP/1.1 204 None\r\n\r\n", 204, true, 0),
        ("HTTP/1.1 304 Same\r\nContent-Length: 9\r\n\r\n", 304, true, 0),
        (
            "HTTP/1.1 100 Go\r\n\r\nHTTP/1.1 103 Early\r\nLink: x\r\n\r\n\
             HTTP/1.1 500 Bad\r\nContent-Length: 1\r\n\r\n!",
            500,
            true,
            1,
        ),
    ];

    #[test]
    fn reads_every_reply_at_every_split() {
        for (text, status, keep_alive, body_bytes) in REPLIES {
            let bytes = text.as_bytes();
            let whole = Some(Reply { status, keep_alive, body_bytes });
            for split in 0..=bytes.len() {
                let (first, second) = bytes.split_at(split);
                let got = read(&[first, second]).unwrap();
                assert_eq!(got, (bytes.len(), whole), "{text:?} at {split}");
            }
            let single: Vec<&[u8]> = bytes.chunks(1).collect();
            assert_eq!(read(&single).unwrap(), (bytes.len(), whole), "{text:?} by bytes");
        }
    }

    #[test]
    fn no_prefix_is_a_reply() {
        for (text, ..) in REPLIES {
            for end in 0..text.len() {
                let got = read(&[&text.as_bytes()[..end]]).unwrap();
                assert_eq!(got.1, None, "{text:?} up to {end}");
            }
        }
    }

    #[test]
    fn leaves_what_follows_the_reply() {
        for (text, ..) in REPLIES {
            let followed = format!("{text}more");
            let (used, reply) = read(&[followed.as_bytes()]).unwrap();
            assert_eq!(used, text.len(), "{text:?}");
            assert!(reply.is_some());
        }
    }

    #[test]
    fn the_close_ends_only_a_body_without_length() {
        let closed = |text: &str| {
            let mut reader = ReplyReader::new();
            let (used, reply) = advance(&mut reader, text.as_bytes(), None).unwrap();
            assert_eq!(reply, None);
            reader.close(text.len() - used)
        };
        let reply = |body_bytes| Reply { status: 200, keep_alive: false, body_bytes };
        assert_eq!(closed("HTTP/1.1 200 OK\r\n\r\n"), Ok(reply(0)));
        assert_eq!(closed("HTTP/1.1 200 OK\r\n\r\nabc"), Ok(reply(3)));
        assert_eq!(closed(""), Err("before it replied"));
        assert_eq!(closed("HTTP"), Err("inside the head of its reply"));
        let short = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell";
        assert_eq!(closed(short), Err("inside the body of its reply"));
        let open = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n";
        assert_eq!(closed(open), Err("inside the body of its reply"));
    }

    #[test]
    fn the_body_is_kept_up_to_what_was_asked_for() {
        for (max, expected) in [(0, ""), (3, "hel"), (5, "hello"), (99, "hello")] {
            let mut kept = Kept::new(max, 0);
            let text = REPLIES[0].0.as_bytes();
            advance(&mut ReplyReader::new(), text, Some(&mut kept)).unwrap();
            assert_eq!(kept.body, expected.as_bytes());
            assert_eq!(kept.fields, b"Content-Length: 5\r\n");
        }
    }
}
