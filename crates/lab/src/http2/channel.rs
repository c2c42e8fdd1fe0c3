//! A connection of HTTP/2 that users share, opened when one needs it and given up when the server
//! ends it. Each request is a stream of its own; none waits for another's reply.

use super::request::Parsed;
use crate::http1::Malformed;
use crate::limits::{HEAD_BYTES_MAX, HTTP2_CONNECTION_WINDOW_BYTES, HTTP2_STREAM_WINDOW_BYTES};
use crate::transport::{Failure, Reading, Reply, Server};
use bytes::Bytes;
use h2::client::SendRequest;
use h2::{Reason, RecvStream};
use http::Request;
use http::response::Parts;
use std::cell::RefCell;
use std::future::poll_fn;
use std::rc::Rc;
use tokio::sync::Mutex;

/// The connection of some users: none, or the one that is open.
#[derive(Default)]
pub(crate) struct Channel {
    /// Locked while one of them opens it.
    open: Mutex<Option<Open>>,
    parsed: RefCell<Parsed>,
}

/// An open connection.
#[derive(Clone)]
struct Open {
    send: SendRequest<Bytes>,
    /// What the server gave as the reason of its end; streams that it had begun with are not told.
    ended: Rc<RefCell<Option<String>>>,
}

/// A user's side of it.
pub(crate) struct Sender {
    channel: Rc<Channel>,
    open: Option<Open>,
}

impl Sender {
    pub(crate) fn new(channel: Rc<Channel>) -> Self {
        Self { channel, open: None }
    }

    /// Sees to it that the connection is open, and says whether this opened it.
    ///
    /// # Errors
    /// [`Failure::Connect`] or [`Failure::Tls`], or that it was closed at once.
    pub(crate) async fn open(&mut self, server: &Server) -> Result<bool, Failure> {
        if is_open(&mut self.open).await {
            return Ok(false);
        }
        let mut open = self.channel.open.lock().await;
        if is_open(&mut open).await {
            self.open.clone_from(&open);
            return Ok(false);
        }
        let stream = server.open().await?;
        let handshake = h2::client::Builder::new()
            .enable_push(false)
            .initial_window_size(HTTP2_STREAM_WINDOW_BYTES)
            .initial_connection_window_size(HTTP2_CONNECTION_WINDOW_BYTES)
            .max_header_list_size(HEAD_BYTES_MAX as u32)
            .handshake(stream);
        let (send, connection) = handshake.await.map_err(failure)?;
        let opened = Open { send, ended: Rc::default() };
        let ended = Rc::clone(&opened.ended);
        tokio::task::spawn_local(async move {
            if let Err(error) = connection.await
                && error.is_go_away()
            {
                *ended.borrow_mut() = Some(go_away(&error));
            }
        });
        *open = Some(opened.clone());
        self.open = Some(opened);
        Ok(true)
    }

    /// Sends a request and reads its reply. Giving it up resets the stream and no more.
    pub(crate) async fn exchange(
        &mut self,
        server: &Server,
        request: &[u8],
        reading: &mut Reading<'_>,
        received: &mut u64,
    ) -> Result<Reply, Failure> {
        let is_tls = server.route.tls.is_some();
        let taken = self.channel.parsed.borrow_mut().take_apart(request, is_tls);
        let (request, body) = taken.map_err(|why| Failure::Malformed(Malformed::Http2(why)))?;
        let open = self.open.as_mut().ok_or(Failure::Unprocessed(1))?;
        let reply = exchange(&mut open.send, server, (request, body), (reading, received)).await;
        match (reply, open.ended.borrow().clone()) {
            (Err(Failure::Broken(_)), Some(reason)) => Err(Failure::Reset(reason)),
            (reply, _) => reply,
        }
    }
}

async fn exchange(
    send: &mut SendRequest<Bytes>,
    server: &Server,
    (request, body): (Request<()>, Bytes),
    (reading, received): (&mut Reading<'_>, &mut u64),
) -> Result<Reply, Failure> {
    let is_bodiless = body.is_empty();
    let (response, mut stream) = send.send_request(request, is_bodiless).map_err(failure)?;
    if !is_bodiless {
        stream.send_data(body, true).map_err(failure)?;
    }
    let (parts, body) = response.await.map_err(failure)?.into_parts();
    if let Some(software) = parts.headers.get(http::header::SERVER) {
        server.heads.borrow_mut().note_software(software.as_bytes());
    }
    *received += take_fields(&parts, reading)?;
    let body_bytes = read_body(body, reading, received).await?;
    match parts.status.as_u16() {
        status @ 200..600 => Ok(Reply { status, keep_alive: true, body_bytes }),
        status => Err(Malformed::Status(status).into()),
    }
}

async fn is_open(open: &mut Option<Open>) -> bool {
    let Some(Open { send, .. }) = open else { return false };
    let is_open = poll_fn(|cx| send.poll_ready(cx)).await.is_ok();
    if !is_open {
        *open = None;
    }
    is_open
}

/// How many bytes the fields have, uncompressed.
fn take_fields(parts: &Parts, reading: &mut Reading<'_>) -> Result<u64, Failure> {
    let mut bytes = 0;
    if let Some(kept) = &mut reading.kept {
        kept.begin(parts.status.as_u16());
    }
    for (name, value) in &parts.headers {
        bytes += name.as_str().len() + value.len();
        if name == http::header::SET_COOKIE {
            reading.jar.borrow_mut().store(value.as_bytes())?;
        }
        if let Some(kept) = &mut reading.kept {
            kept.push_field(name.as_str().as_bytes(), value.as_bytes());
        }
    }
    Ok(bytes as u64)
}

/// To its end, and says how long it is. h2 sees to it that there is as much as the fields say.
async fn read_body(
    mut body: RecvStream,
    reading: &mut Reading<'_>,
    received: &mut u64,
) -> Result<u64, Failure> {
    let mut bytes = 0;
    while !body.is_end_stream() {
        let Some(data) = body.data().await else { break };
        let data = data.map_err(failure)?;
        bytes += data.len() as u64;
        *received += data.len() as u64;
        if let Some(kept) = &mut reading.kept {
            kept.push_body(&data);
        }
        body.flow_control().release_capacity(data.len()).map_err(failure)?;
    }
    // Trailer fields, if there are any, end the stream.
    body.trailers().await.map_err(failure)?;
    Ok(bytes)
}

/// What it means that the connection or the stream ended.
fn failure(error: h2::Error) -> Failure {
    if error.is_io() {
        return match error.into_io() {
            Some(error) => Failure::of_io(error),
            None => Failure::Closed("before it replied"),
        };
    }
    let reason = error.reason();
    let name = reason.as_ref().map_or("no reason", Reason::description);
    match () {
        // It told by the GOAWAY frame that it will not look at this stream (RFC 9113 §6.8).
        () if error.is_go_away() && error.is_remote() && reason == Some(Reason::NO_ERROR) => {
            Failure::Unprocessed(1)
        }
        () if error.is_go_away() && error.is_remote() => Failure::Reset(go_away(&error)),
        () if error.is_reset() && error.is_remote() => {
            Failure::Reset(format!("reset the stream: {name}"))
        }
        () => Failure::Malformed(Malformed::Http2(error.to_string())),
    }
}

fn go_away(error: &h2::Error) -> String {
    let reason = error.reason();
    let name = reason.as_ref().map_or("no reason", Reason::description);
    format!("ended the connection (GOAWAY): {name}")
}
