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
use std::time::Duration;
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
    let mut next_look = Instant::now() + stall;
    let mut next_tails = next_look;
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
            () = sleep_until(next_look) => match streams.look(&replies, (Instant::now(), stall)) {
                Some(next) => next_look = next,
                None => return Err(misbehaved("it takes its replies too slowly").into()),
            },
            () = sleep_until(next_tails) => {
                if streams.has_stalled_tails(&replies, sent.take()) {
                    return Err(misbehaved("it leaves the ends of its replies").into());
                }
                next_tails = Instant::now() + stall;
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
    /// Since when there has been something for the client to take. `None`: it took all there is,
    /// and who makes the reply is waited for.
    since: Option<Instant>,
    /// What it took in that time, in bytes.
    taken: usize,
    /// The piece that waits for its window, in bytes.
    handed: usize,
}

impl Sending {
    /// The next piece is asked for: of the last one the client has taken some, or soon will.
    fn was_taken(&mut self) {
        self.taken += std::mem::take(&mut self.handed);
    }

    /// A piece was handed over, or none because there is none yet. A short one that is the last may
    /// wait as long as the connection lives.
    fn hand_over(&mut self, piece: Option<usize>, is_last: bool) {
        match piece {
            Some(bytes) if !is_last || bytes > limits::REPLY_UNWATCHED_BYTES_MAX => {
                self.handed = bytes;
                self.since.get_or_insert_with(Instant::now);
            }
            _ => *self = Self::default(),
        }
    }
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

    /// Gives when to look again, each reply after a `stretch` of its own. `None`: the client has
    /// taken too little of one in such a time.
    fn look(&self, replies: &Replies, (now, stretch): (Instant, Duration)) -> Option<Instant> {
        let least = replies.least_bytes();
        let mut next = now + stretch;
        for sending in self.sending.borrow_mut().values_mut() {
            let Some(since) = sending.since else { continue };
            if since + stretch > now {
                next = next.min(since + stretch);
                continue;
            }
            if std::mem::take(&mut sending.taken) < least {
                return None;
            }
            sending.since = Some(now);
        }
        Some(next)
    }

    /// Whether the client has left the end of a reply for more than the time between two calls, and
    /// has taken too little since the last one. `sent_bytes` is what it took on the whole
    /// connection.
    fn has_stalled_tails(&self, replies: &Replies, sent_bytes: usize) -> bool {
        let earlier = 1 - self.turn.get();
        let has_old_tail = self.tails.0[earlier].load(Ordering::Relaxed) > 0;
        self.turn.set(earlier);
        has_old_tail && sent_bytes < replies.least_bytes()
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

/// A body that is handed over in pieces, so that it shows how much of it the client takes. hyper
/// asks for a piece before the client's window has room for it, and for the next one when it has.
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
        let is_last = self.body.is_end_stream();
        if let Some(sending) = self.streams.sending.borrow_mut().get_mut(&self.id) {
            sending.was_taken();
            let piece = match &polled {
                Poll::Ready(Some(Ok(piece))) => Some(piece.len()),
                Poll::Ready(_) | Poll::Pending => None,
            };
            sending.hand_over(piece, is_last);
        }
        let Poll::Ready(next) = polled else { return Poll::Pending };
        Poll::Ready(match next {
            None => {
                self.has_ended = true;
                None
            }
            Some(Err(error)) => Some(Err(error)),
            Some(Ok(piece)) => {
                self.streams.moved.set(true);
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

    const STRETCH: Duration = Duration::from_secs(30);

    /// Whether a look so many stretches from now finds nothing wrong.
    fn is_fine(streams: &Streams, replies: &Replies, stretches: u32) -> bool {
        streams.look(replies, (Instant::now() + stretches * STRETCH, STRETCH)).is_some()
    }

    #[test]
    fn a_reply_that_is_not_taken_stalls_after_a_stretch_of_its_own() {
        let (streams, replies) = (Rc::new(Streams::default()), Replies::new(usize::MAX));
        let large = Bytes::from(vec![0; 4 * limits::STREAM_SEND_BYTES_MAX]);
        let mut body = streams.begin().reply(Outgoing::from(large));
        assert!(is_fine(&streams, &replies, 1), "nothing was handed over");
        assert_eq!(piece(&mut body), limits::STREAM_SEND_BYTES_MAX);
        let next = streams.look(&replies, (Instant::now(), STRETCH)).unwrap();
        assert!(next <= Instant::now() + STRETCH, "it has just begun");
        assert_eq!(piece(&mut body), limits::STREAM_SEND_BYTES_MAX);
        assert!(is_fine(&streams, &replies, 1), "a piece was taken");
        assert!(!is_fine(&streams, &replies, 2));
        drop(body);
        assert!(is_fine(&streams, &replies, 3));
        assert!(streams.sending.borrow().is_empty());
    }

    #[test]
    fn a_client_that_took_all_there_is_is_not_stalled() {
        let (streams, replies) = (Rc::new(Streams::default()), Replies::new(usize::MAX));
        let (sender, coming) = tokio::sync::mpsc::channel(1);
        let mut body = streams.begin().reply(Outgoing::pieces(coming, None));
        sender.try_send(Ok(Bytes::from_static(b"event"))).unwrap();
        assert_eq!(piece(&mut body), 5);
        assert!(!is_fine(&streams, &replies, 1), "it waits for its client");
        sender.try_send(Ok(Bytes::from_static(b"event"))).unwrap();
        assert_eq!([piece(&mut body), piece(&mut body)], [5, 0]);
        assert!(is_fine(&streams, &replies, 1) && is_fine(&streams, &replies, 2));
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
        let is_stalled = |sent| streams.has_stalled_tails(&replies, sent);
        assert!(!is_stalled(0), "it has just begun");
        assert!(!is_stalled(limits::WRITE_BYTES_MIN), "others are taken");
        assert!(!is_stalled(0), "those handed over since");
        assert!(is_stalled(limits::WRITE_BYTES_MIN - 1));
        drop(held);
        assert!(!(0..3).any(|_| is_stalled(0)));
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
