//! HTTP/2 (RFC 9113) on one connection. hyper and h2 keep to the protocol and to the bounds they
//! are given; here is what they have no bound for: clients that hold a connection and ask nothing,
//! that do not take the replies they asked for, and that take requests back as fast as they send
//! them.

use crate::http::connection::{Closing, Connection, misbehaved, split};
use crate::http::framing::Framed;
use crate::http::outgoing::Outgoing;
use crate::http::visit::respond;
use crate::limits;
use crate::replies::Replies;
use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::header::CONTENT_LENGTH;
use hyper::rt::Executor;
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper::{Method, Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until, timeout};

/// Why serving ended early.
type Ended = Box<dyn std::error::Error>;

/// Serves until the client, an error or `closing` ends it.
pub(crate) async fn serve(
    io: impl AsyncRead + AsyncWrite + Unpin,
    connection: Connection,
    mut closing: Closing,
) -> Result<(), Ended> {
    let streams = Rc::new(Streams::default());
    let sent = Rc::clone(&connection.sent_bytes);
    let replies = Rc::clone(&connection.reactor.replies);
    let (idle, stall) = {
        let timeouts = &connection.reactor.timeouts;
        (timeouts.header, timeouts.write_stall)
    };
    let protocol = protocol();
    let service = {
        let (connection, streams) = (Rc::new(connection), Rc::clone(&streams));
        // In a box: hyper and the runtime move a stream's future several times, and it is large.
        service_fn(move |request| {
            Box::pin(answer(request, Rc::clone(&connection), Rc::clone(&streams)))
        })
    };
    let mut serving = pin!(protocol.serve_connection(TokioIo::new(io), service));
    let mut is_closing = false;
    let mut next_idle = Instant::now() + idle;
    let mut next_stall = Instant::now() + stall;
    loop {
        tokio::select! {
            biased;
            ended = serving.as_mut() => return Ok(ended?),
            _ = closing.wait_for(|closing| *closing), if !is_closing => {
                is_closing = true;
                serving.as_mut().graceful_shutdown();
            }
            () = streams.abandoned_too_many.notified() => {
                return Err(misbehaved("it took back too many requests").into());
            }
            () = sleep_until(next_stall) => {
                if streams.is_stalled(&replies, sent.take()) {
                    return Err(misbehaved("it takes its replies too slowly").into());
                }
                next_stall = Instant::now() + stall;
            }
            () = sleep_until(next_idle) => {
                if !streams.is_quiet() {
                    next_idle = Instant::now() + idle;
                    continue;
                }
                if is_closing {
                    return Err(misbehaved("it did not end when it was told to").into());
                }
                is_closing = true;
                serving.as_mut().graceful_shutdown();
                next_idle = Instant::now() + idle;
            }
        }
    }
}

fn protocol() -> http2::Builder<OnReactor> {
    let mut protocol = http2::Builder::new(OnReactor);
    protocol
        .timer(TokioTimer::new())
        .max_concurrent_streams(limits::STREAMS_MAX)
        .initial_stream_window_size(limits::STREAM_WINDOW_BYTES)
        .initial_connection_window_size(limits::CONNECTION_WINDOW_BYTES)
        .max_send_buf_size(limits::STREAM_SEND_BYTES_MAX)
        .max_header_list_size(limits::FIELD_LIST_BYTES_MAX)
        .max_pending_accept_reset_streams(limits::STREAMS_RESET_UNSEEN_MAX)
        .max_local_error_reset_streams(limits::STREAM_ERRORS_MAX)
        .keep_alive_interval(limits::PING_INTERVAL)
        .keep_alive_timeout(limits::PING_TIMEOUT);
    protocol
}

/// Each stream is a task of the reactor that has the connection. Those that a durable advance or a
/// read wakes run before the connection is polled again, so their replies leave in one write.
#[derive(Clone, Copy)]
struct OnReactor;

impl<F: Future<Output = ()> + 'static> Executor<F> for OnReactor {
    fn execute(&self, stream: F) {
        tokio::task::spawn_local(stream);
    }
}

async fn answer(
    request: Request<Incoming>,
    connection: Rc<Connection>,
    streams: Rc<Streams>,
) -> Result<Response<Paced>, Infallible> {
    let running = streams.begin();
    let (parts, mut body) = split(request);
    let is_head = parts.method == Method::HEAD;
    let mut response = respond(parts, &mut body, &connection).await;
    if is_head {
        strip_content(&mut response);
    }
    if let Some(unread) = body {
        tokio::task::spawn_local(discard(unread));
    }
    Ok(response.map(|body| running.reply(body)))
}

/// A stream whose request was not read to its end is reset when nobody reads it (RFC 9113 §8.1),
/// and there are clients that lose the reply to that. So the rest is read for a while, as a
/// socket's is.
async fn discard(mut unread: Framed) {
    let mut left = limits::LINGER_BYTES_MAX;
    let reading = async {
        while let Some(Ok(frame)) = unread.frame().await {
            let bytes = frame.data_ref().map_or(0, Bytes::len);
            match left.checked_sub(bytes) {
                Some(rest) => left = rest,
                None => break,
            }
        }
    };
    // Either way the rest is not wanted.
    let _ended = timeout(limits::LINGER_TIMEOUT, reading).await;
}

/// In HTTP/1 hyper does it. The length stays (RFC 9110 §9.3.2).
fn strip_content(response: &mut Response<Outgoing>) {
    let body = std::mem::take(response.body_mut());
    if let Some(bytes) = body.left().filter(|bytes| *bytes > 0) {
        response.headers_mut().insert(CONTENT_LENGTH, bytes.into());
    }
}

/// What is going on in the streams of one connection.
#[derive(Default)]
struct Streams {
    /// Requests that are being answered.
    running: Cell<usize>,
    /// Whether a request has begun, or some of a reply was taken, since `is_quiet` last looked.
    moved: Cell<bool>,
    /// Requests that the client took back, less those that were answered since.
    abandoned: Cell<usize>,
    abandoned_too_many: Notify,
    /// Replies that are being sent, in the order in which they began.
    sending: RefCell<BTreeMap<u64, Sending>>,
    next_id: Cell<u64>,
    tails: Arc<Tails>,
    /// Which of the counts of tails the next one goes to: 0 or 1.
    turn: Cell<usize>,
}

/// Last pieces of replies that h2 holds because the client has no room for them, by the look before
/// which they were handed over: the next one, or an earlier one. A reply whose last piece was
/// handed over is none that is being sent.
#[derive(Default)]
struct Tails([AtomicUsize; 2]);

/// One of them.
struct Tail {
    bytes: Bytes,
    /// Atomic only because bytes have to be able to leave their thread.
    tails: Arc<Tails>,
    turn: usize,
}

impl AsRef<[u8]> for Tail {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Tail {
    fn drop(&mut self) {
        self.tails.0[self.turn].fetch_sub(1, Ordering::Relaxed);
    }
}

/// A reply on its way.
#[derive(Default)]
struct Sending {
    /// What the client took of it since the last look, in bytes.
    taken: usize,
    /// Whether there has been a look since it began.
    was_seen: bool,
}

impl Streams {
    fn begin(self: &Rc<Self>) -> Running {
        self.moved.set(true);
        self.running.set(self.running.get() + 1);
        Running { streams: Rc::clone(self), has_reply: false }
    }

    /// Nothing has happened since the last call, and nothing is going on that is the server's turn.
    fn is_quiet(&self) -> bool {
        !self.moved.replace(false) && self.running.get() == 0
    }

    /// Whether the client has taken too little of a reply since the last call. `sent_bytes` is what
    /// it has taken on the whole connection.
    fn is_stalled(&self, replies: &Replies, sent_bytes: usize) -> bool {
        let least = replies.least_bytes();
        let earlier = 1 - self.turn.get();
        let has_old_tail = self.tails.0[earlier].load(Ordering::Relaxed) > 0;
        self.turn.set(earlier);
        if has_old_tail && sent_bytes < least {
            return true;
        }
        self.sending.borrow_mut().values_mut().any(|sending| {
            let taken = std::mem::take(&mut sending.taken);
            std::mem::replace(&mut sending.was_seen, true) && taken < least
        })
    }

    /// The last piece of a reply, counted until h2 has let go of it.
    fn tail(&self, bytes: Bytes) -> Bytes {
        if bytes.len() <= limits::REPLY_UNWATCHED_BYTES_MAX {
            return bytes;
        }
        let turn = self.turn.get();
        self.tails.0[turn].fetch_add(1, Ordering::Relaxed);
        Bytes::from_owner(Tail { bytes, tails: Arc::clone(&self.tails), turn })
    }

    fn abandon(&self) {
        let abandoned = self.abandoned.get() + 1;
        self.abandoned.set(abandoned);
        if abandoned > limits::STREAMS_ABANDONED_MAX {
            self.abandoned_too_many.notify_one();
        }
    }

    fn answered(&self) {
        self.abandoned.set(self.abandoned.get().saturating_sub(1));
    }
}

/// A request that is being answered. Dropped without a reply, it was taken back.
struct Running {
    streams: Rc<Streams>,
    has_reply: bool,
}

impl Running {
    /// The reply, which may still be taken back.
    fn reply(mut self, body: Outgoing) -> Paced {
        self.has_reply = true;
        let id = self.streams.next_id.get();
        if !body.is_end_stream() {
            self.streams.next_id.set(id + 1);
            self.streams.sending.borrow_mut().insert(id, Sending::default());
        }
        Paced { body, id, has_ended: false, streams: Rc::clone(&self.streams) }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.streams.running.set(self.streams.running.get() - 1);
        if !self.has_reply {
            self.streams.abandon();
        }
    }
}

/// A body that is handed over in pieces, so that it shows how much of it the client takes. h2 asks
/// for a piece only when the client's window has room.
struct Paced {
    body: Outgoing,
    id: u64,
    /// Its end was seen, which is not known beforehand of every body.
    has_ended: bool,
    streams: Rc<Streams>,
}

impl Body for Paced {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let polled = self.body.poll_bytes(cx, limits::STREAM_SEND_BYTES_MAX);
        let Poll::Ready(next) = polled else { return Poll::Pending };
        Poll::Ready(match next {
            None => {
                self.has_ended = true;
                None
            }
            Some(Err(error)) => Some(Err(error)),
            Some(Ok(piece)) => {
                self.streams.moved.set(true);
                if let Some(sending) = self.streams.sending.borrow_mut().get_mut(&self.id) {
                    sending.taken += piece.len();
                }
                let is_last = self.body.is_end_stream();
                Some(Ok(Frame::data(if is_last { self.streams.tail(piece) } else { piece })))
            }
        })
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for Paced {
    fn drop(&mut self) {
        self.streams.sending.borrow_mut().remove(&self.id);
        // Of a stream that was taken back, nothing is asked for any more.
        if self.has_ended || self.body.is_end_stream() {
            self.streams.answered();
        } else {
            self.streams.abandon();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::task::Waker;

    fn nobody() -> Context<'static> {
        Context::from_waker(Waker::noop())
    }

    fn piece(body: &mut Paced) -> usize {
        let polled = Pin::new(body).poll_frame(&mut nobody());
        match polled {
            Poll::Ready(Some(Ok(frame))) => frame.into_data().unwrap().len(),
            Poll::Ready(_) | Poll::Pending => 0,
        }
    }

    #[test]
    fn a_reply_that_is_not_taken_stalls_after_a_full_stretch() {
        let (streams, replies) = (Rc::new(Streams::default()), Replies::new(usize::MAX));
        let large = Bytes::from(vec![0; 4 * limits::STREAM_SEND_BYTES_MAX]);
        let mut body = streams.begin().reply(Outgoing::from(large));
        assert!(!streams.is_stalled(&replies, 0), "it has just begun");
        assert_eq!(piece(&mut body), limits::STREAM_SEND_BYTES_MAX);
        assert!(!streams.is_stalled(&replies, 0), "a piece was taken");
        assert!(streams.is_stalled(&replies, 0));
        drop(body);
        assert!(!streams.is_stalled(&replies, 0));
        assert!(streams.sending.borrow().is_empty());
    }

    #[test]
    fn a_last_piece_that_is_held_stalls_unless_others_are_taken() {
        let (streams, replies) = (Rc::new(Streams::default()), Replies::new(usize::MAX));
        let small = Bytes::from(vec![0; limits::REPLY_UNWATCHED_BYTES_MAX + 1]);
        let mut body = streams.begin().reply(Outgoing::from(small));
        let Poll::Ready(Some(Ok(held))) = Pin::new(&mut body).poll_frame(&mut nobody()) else {
            panic!("no piece");
        };
        drop(body);
        assert!(!streams.is_stalled(&replies, 0), "it has just begun");
        assert!(!streams.is_stalled(&replies, limits::WRITE_BYTES_MIN), "others are taken");
        assert!(!streams.is_stalled(&replies, 0), "those handed over since");
        assert!(streams.is_stalled(&replies, limits::WRITE_BYTES_MIN - 1));
        drop(held);
        assert!(!(0..3).any(|_| streams.is_stalled(&replies, 0)));
    }

    #[test]
    fn answers_make_up_for_requests_taken_back() {
        let streams = Rc::new(Streams::default());
        for _ in 0..limits::STREAMS_ABANDONED_MAX {
            drop(streams.begin());
        }
        drop(streams.begin().reply(Outgoing::default()));
        assert_eq!(streams.abandoned.get(), limits::STREAMS_ABANDONED_MAX - 1);
        drop(streams.begin().reply(Outgoing::from(Bytes::from_static(b"nobody asks for it"))));
        assert_eq!(streams.abandoned.get(), limits::STREAMS_ABANDONED_MAX);
        assert_eq!(streams.running.get(), 0);
    }

    #[test]
    fn a_connection_is_quiet_when_nothing_moves_and_nothing_runs() {
        let streams = Rc::new(Streams::default());
        let running = streams.begin();
        assert!(!streams.is_quiet());
        assert!(!streams.is_quiet(), "a request is being answered");
        drop(running.reply(Outgoing::default()));
        assert!(streams.is_quiet());
    }
}
