//! How a channel is opened: the request is sent and what the server answers is looked at.

use super::events::Events;
use super::line::Line;
use super::websocket::Frames;
use super::{Channel, Inbox, Speech};
use crate::engine::extract::{all_of_field, field};
use crate::http1::{Jar, Malformed};
use crate::limits::{HEAD_BYTES_MAX, HEADERS_MAX};
use crate::random::Random;
use crate::transport::{Failure, Kept};
use std::cell::RefCell;
use std::future::poll_fn;
use std::task::{Context, Poll, ready};
use wire::websocket;

/// Why a channel could not be opened.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// There was no complete answer.
    Transport(Failure),
    /// The server answered with a status that is an error.
    Status(u16),
    /// It answered something else than what opens a channel; in words.
    Wrong(String),
}

impl From<Failure> for Refusal {
    fn from(failure: Failure) -> Self {
        Self::Transport(failure)
    }
}

impl From<Malformed> for Refusal {
    fn from(malformed: Malformed) -> Self {
        Self::Transport(malformed.into())
    }
}

/// What a channel is asked for with.
pub(crate) struct Asked<'a> {
    /// Which of the plan's servers.
    pub(crate) server: usize,
    pub(crate) path: &'a [u8],
    /// The whole request.
    pub(crate) request: &'a [u8],
    /// Where cookies go.
    pub(crate) jar: &'a RefCell<Jar>,
}

impl Asked<'_> {
    fn place(&self) -> (usize, Vec<u8>) {
        (self.server, self.path.to_vec())
    }
}

impl Channel {
    /// Opens a WebSocket (RFC 6455 §4.1) on a connection of its own. The line's deadline holds.
    ///
    /// # Errors
    /// See [`Refusal`].
    pub(crate) async fn web_socket(
        mut line: Line,
        asked: &Asked<'_>,
        key: &[u8],
        subprotocols: &[String],
        masks: Random,
    ) -> Result<Self, Refusal> {
        line.outgoing().extend_from_slice(asked.request);
        let mut kept = Kept::new(0, 0);
        let status = poll_fn(|cx| poll_head(&mut line, &mut kept, cx)).await?;
        for value in all_of_field(&kept.fields, "set-cookie") {
            asked.jar.borrow_mut().store(value)?;
        }
        check_status(status, 101)?;
        check_handshake(&kept.fields, key, subprotocols).map_err(Refusal::Wrong)?;
        Ok(Self::new(asked.place(), line, Speech::Frames(Box::new(Frames::new(masks)))))
    }

    /// Opens a stream of events on a connection of its own. The line's deadline holds.
    ///
    /// # Errors
    /// See [`Refusal`].
    pub(crate) async fn events(mut line: Line, asked: &Asked<'_>) -> Result<Self, Refusal> {
        line.outgoing().extend_from_slice(asked.request);
        let mut events = Box::new(Events::new());
        let mut inbox = Inbox::default();
        let mut end = None;
        let status = poll_fn(|cx| {
            loop {
                // An end that comes with the head is told to who waits for events.
                end = events.digest(&mut line, &mut inbox).err();
                match (events.head(), end.take()) {
                    (Some(head), late) => {
                        end = late;
                        return Poll::Ready(Ok(head.status));
                    }
                    (None, Some(failure)) => return Poll::Ready(Err(failure)),
                    (None, None) => ready!(poll_more(&mut line, cx))?,
                }
            }
        });
        let status = status.await?;
        for value in std::mem::take(&mut events.cookies) {
            asked.jar.borrow_mut().store(&value)?;
        }
        check_status(status, 200)?;
        let media_type = field(events.fields(), "content-type").unwrap_or_default();
        let essence = media_type.split(|byte| *byte == b';').next().unwrap_or_default();
        if !essence.trim_ascii().eq_ignore_ascii_case(b"text/event-stream") {
            let got = String::from_utf8_lossy(media_type);
            let what = format!("expected a reply of text/event-stream, got \"{got}\"");
            return Err(Refusal::Wrong(what));
        }
        Ok(Self { inbox, end, ..Self::new(asked.place(), line, Speech::Events(events)) })
    }
}

/// Sends what is to be sent, and reads more.
fn poll_more(line: &mut Line, cx: &mut Context<'_>) -> Poll<Result<(), Failure>> {
    if let Poll::Ready(Err(failure)) = line.poll_flush(cx) {
        return Poll::Ready(Err(failure));
    }
    match line.poll_fill(cx) {
        Poll::Ready(Ok(0)) => Poll::Ready(Err(Failure::Closed("before it replied"))),
        Poll::Ready(Ok(_)) => Poll::Ready(Ok(())),
        Poll::Ready(Err(failure)) => Poll::Ready(Err(failure)),
        Poll::Pending => line.deadline.poll_past(cx).map(|()| Err(Failure::Timeout)),
    }
}

/// Reads the head that answers a handshake, and gives its status. What comes after it stays.
fn poll_head(line: &mut Line, kept: &mut Kept, cx: &mut Context<'_>) -> Poll<Result<u16, Failure>> {
    loop {
        let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
        let mut response = httparse::Response::new(&mut headers);
        let parsed = response.parse(&line.incoming).map_err(Malformed::Head)?;
        match parsed {
            httparse::Status::Complete(bytes) if bytes <= HEAD_BYTES_MAX => {
                let status = response.code.unwrap_or(0);
                // An interim reply that is none to this (RFC 9110 §15.2).
                let is_interim = (102..200).contains(&status) || status == 100;
                kept.begin(status);
                for header in response.headers.iter() {
                    kept.push_field(header.name.as_bytes(), header.value);
                }
                line.use_up(bytes);
                if !is_interim {
                    return Poll::Ready(Ok(status));
                }
            }
            httparse::Status::Partial if line.incoming.len() < HEAD_BYTES_MAX => {
                ready!(poll_more(line, cx))?;
            }
            _ => return Poll::Ready(Err(Malformed::HeadTooLarge.into())),
        }
    }
}

fn check_status(status: u16, expected: u16) -> Result<(), Refusal> {
    match status {
        _ if status == expected => Ok(()),
        400.. => Err(Refusal::Status(status)),
        _ => Err(Refusal::Wrong(format!("expected status {expected}, got {status}"))),
    }
}

/// Whether the server understood what it was asked (RFC 6455 §4.1).
fn check_handshake(fields: &[u8], key: &[u8], subprotocols: &[String]) -> Result<(), String> {
    let wrong = |name: &str, expected: &str| {
        let got = field(fields, name).map_or("nothing".into(), String::from_utf8_lossy);
        Err(format!("the answer to the handshake: expected {name}: {expected}, got {got}"))
    };
    let has = |name: &str, option: &[u8]| {
        let mut options =
            all_of_field(fields, name).flat_map(|value| value.split(|byte| *byte == b','));
        options.any(|value| value.trim_ascii().eq_ignore_ascii_case(option))
    };
    if !has("upgrade", b"websocket") {
        return wrong("upgrade", "websocket");
    }
    if !has("connection", b"upgrade") {
        return wrong("connection", "upgrade");
    }
    let accept = websocket::accept(key);
    if field(fields, "sec-websocket-accept") != Some(accept.as_slice()) {
        return wrong("sec-websocket-accept", &String::from_utf8_lossy(&accept));
    }
    if field(fields, "sec-websocket-extensions").is_some() {
        return wrong("sec-websocket-extensions", "nothing");
    }
    let chosen = field(fields, "sec-websocket-protocol");
    let is_offered =
        chosen.is_none_or(|chosen| subprotocols.iter().any(|name| name.as_bytes() == chosen));
    match is_offered && (chosen.is_some() || subprotocols.is_empty()) {
        true => Ok(()),
        false if subprotocols.is_empty() => wrong("sec-websocket-protocol", "nothing"),
        false => wrong("sec-websocket-protocol", &subprotocols.join(" or ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &[u8] = b"dGhlIHNhbXBsZSBub25jZQ==";

    fn checked(fields: &str, subprotocols: &[&str]) -> Result<(), String> {
        let subprotocols: Vec<String> = subprotocols.iter().map(|&name| name.to_owned()).collect();
        check_handshake(fields.as_bytes(), KEY, &subprotocols)
    }

    const GOOD: &str = "Upgrade: WebSocket\r\nConnection: keep-alive, Upgrade\r\n\
        Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n";

    #[test]
    fn a_handshake_is_looked_at() {
        assert_eq!(checked(GOOD, &[]), Ok(()));
        let chosen = format!("{GOOD}Sec-WebSocket-Protocol: b\r\n");
        assert_eq!(checked(&chosen, &["a", "b"]), Ok(()));
        for (fields, subprotocols, part) in [
            ("", &[][..], "expected upgrade: websocket, got nothing"),
            ("Upgrade: websocket\r\nConnection: close\r\n", &[], "connection: upgrade, got close"),
            (&GOOD.replace("s3p", "x"), &[], "sec-websocket-accept: s3p"),
            (&format!("{GOOD}Sec-WebSocket-Extensions: x\r\n"), &[], "nothing, got x"),
            (&chosen, &[], "sec-websocket-protocol: nothing, got b"),
            (&chosen, &["a"], "sec-websocket-protocol: a, got b"),
            (GOOD, &["a"], "sec-websocket-protocol: a, got nothing"),
        ] {
            let why = checked(fields, subprotocols).unwrap_err();
            assert!(why.contains(part), "{why}");
        }
    }
}
