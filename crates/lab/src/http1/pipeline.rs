//! HTTP/1.1 with several requests under way on a connection (RFC 9112 §9.3.2): the users that share
//! it put their requests into one buffer, and a task of its own writes that and hands each reply to
//! the user whose turn it is.

use super::head::{Malformed, Taking};
use super::reply::ReplyReader;
use crate::transport::{Failure, Kept, Reading, Reply, Server, Stream};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::Mutex;

/// The connection of some users: none, or the one that is open.
#[derive(Default)]
pub(crate) struct Pipeline {
    /// Locked while one of them opens it.
    line: Mutex<Option<Rc<Line>>>,
}

/// An open connection.
struct Line(RefCell<Traffic>);

struct Traffic {
    stream: Stream,
    /// Requests that are not with the kernel yet.
    out: Vec<u8>,
    /// Whose replies are to come, in order.
    waiting: VecDeque<Rc<RefCell<Turn>>>,
    /// What came of a head that is not complete.
    pending: Vec<u8>,
    /// Whether it takes no more requests.
    is_over: bool,
    /// Wakes the task that reads and writes.
    driver: Option<Waker>,
}

/// A request under way.
#[derive(Default)]
struct Turn {
    is_head: bool,
    /// Values of `Set-Cookie`, which the user takes when its turn is over.
    cookies: Vec<Vec<u8>>,
    /// Taken along from the user, and given back with the reply.
    kept: Option<Kept>,
    reader: Option<ReplyReader>,
    outcome: Option<Result<Reply, Failure>>,
    received: u64,
    waker: Option<Waker>,
}

/// A user's place at a pipeline.
pub(crate) struct Place {
    pipeline: Rc<Pipeline>,
    line: Option<Rc<Line>>,
    turn: Rc<RefCell<Turn>>,
}

impl Place {
    pub(crate) fn new(pipeline: Rc<Pipeline>) -> Self {
        Self { pipeline, line: None, turn: Rc::default() }
    }

    /// Sees to it that the connection is open, and says whether this opened it.
    ///
    /// # Errors
    /// [`Failure::Connect`] or [`Failure::Tls`].
    pub(crate) async fn open(&mut self, server: &Rc<Server>) -> Result<bool, Failure> {
        if self.line.as_ref().is_some_and(|line| line.is_open()) {
            return Ok(false);
        }
        let mut line = self.pipeline.line.lock().await;
        if let Some(open) = line.as_ref().filter(|line| line.is_open()) {
            self.line = Some(Rc::clone(open));
            return Ok(false);
        }
        let opened = Rc::new(Line(RefCell::new(Traffic::new(server.open().await?))));
        let (driven, server) = (Rc::clone(&opened), Rc::clone(server));
        tokio::task::spawn_local(poll_fn(move |cx| driven.0.borrow_mut().drive(&server, cx)));
        *line = Some(Rc::clone(&opened));
        self.line = Some(opened);
        Ok(true)
    }

    /// Takes its turn. If it is given up, the connection is: replies come in order, and this one
    /// would be taken for the next.
    pub(crate) async fn exchange(
        &mut self,
        request: &[u8],
        reading: &mut Reading<'_>,
    ) -> Result<Reply, Failure> {
        let line = self.line.as_ref().filter(|line| line.is_open());
        let line = Rc::clone(line.ok_or(Failure::Unprocessed(1))?);
        *self.turn.borrow_mut() = Turn {
            is_head: reading.is_head,
            kept: reading.kept.as_deref_mut().map(std::mem::take),
            reader: Some(ReplyReader::new()),
            ..Turn::default()
        };
        line.enter(request, Rc::clone(&self.turn));
        let given_up = GivenUp(Some(line));
        let turn = &self.turn;
        let outcome = poll_fn(|cx| turn.borrow_mut().poll(cx)).await;
        given_up.not();
        outcome
    }

    /// Gives back what the turn took along, and says how many bytes came for it.
    ///
    /// # Errors
    /// The cookies do not fit the user's jar.
    pub(crate) fn settle(&mut self, reading: &mut Reading<'_>) -> (u64, Result<(), Malformed>) {
        let mut turn = self.turn.borrow_mut();
        if let (Some(kept), Some(filled)) = (reading.kept.as_deref_mut(), turn.kept.take()) {
            *kept = filled;
        }
        let mut jar = reading.jar.borrow_mut();
        let stored = turn.cookies.drain(..).try_for_each(|cookie| jar.store(&cookie));
        (std::mem::take(&mut turn.received), stored)
    }
}

/// Ends a connection unless a reply came first.
struct GivenUp(Option<Rc<Line>>);

impl GivenUp {
    fn not(mut self) {
        self.0 = None;
    }
}

impl Drop for GivenUp {
    fn drop(&mut self) {
        if let Some(line) = self.0.take() {
            let mut traffic = line.0.borrow_mut();
            traffic.end(|| Failure::GivenUp("another request on it got no reply in time"));
            traffic.wake();
        }
    }
}

impl Line {
    fn is_open(&self) -> bool {
        !self.0.borrow().is_over
    }

    fn enter(&self, request: &[u8], turn: Rc<RefCell<Turn>>) {
        let mut traffic = self.0.borrow_mut();
        traffic.out.extend_from_slice(request);
        traffic.waiting.push_back(turn);
        traffic.wake();
    }
}

impl Turn {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<Reply, Failure>> {
        if let Some(outcome) = self.outcome.take() {
            return Poll::Ready(outcome);
        }
        match &mut self.waker {
            Some(waker) => waker.clone_from(cx.waker()),
            none => *none = Some(cx.waker().clone()),
        }
        Poll::Pending
    }

    fn end(&mut self, outcome: Result<Reply, Failure>) {
        self.outcome = Some(outcome);
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }
}

impl Traffic {
    fn new(stream: Stream) -> Self {
        Self {
            stream,
            out: Vec::new(),
            waiting: VecDeque::new(),
            pending: Vec::new(),
            is_over: false,
            driver: None,
        }
    }

    fn wake(&mut self) {
        self.driver.iter().for_each(Waker::wake_by_ref);
    }

    /// Ends it for all that still wait.
    fn end(&mut self, why: impl Fn() -> Failure) {
        self.is_over = true;
        self.waiting.drain(..).for_each(|turn| turn.borrow_mut().end(Err(why())));
    }

    /// Reads and writes what it can. Ready when the connection is over.
    fn drive(&mut self, server: &Server, cx: &mut Context<'_>) -> Poll<()> {
        self.driver = Some(cx.waker().clone());
        // Reading first: a server that refuses early may have closed its side.
        let broken = match self.write(cx) {
            Poll::Ready(Err(error)) => Some(error),
            _ => None,
        };
        while !self.is_over && self.read(server, cx).is_ready() {}
        if let Some(error) = broken.filter(|_| !self.is_over) {
            let reason = error.to_string();
            self.end(|| Failure::Broken(io::Error::new(error.kind(), reason.clone())));
        }
        if self.is_over { Poll::Ready(()) } else { Poll::Pending }
    }

    fn write(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut written = 0;
        let outcome = loop {
            if written == self.out.len() {
                break Pin::new(&mut self.stream).poll_flush(cx);
            }
            match Pin::new(&mut self.stream).poll_write(cx, &self.out[written..]) {
                Poll::Ready(Ok(0)) => break Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                Poll::Ready(Ok(bytes)) => written += bytes,
                Poll::Ready(Err(error)) => break Poll::Ready(Err(error)),
                Poll::Pending => break Poll::Pending,
            }
        };
        self.out.drain(..written);
        outcome
    }

    /// Reads once. Ready if there may be more.
    fn read(&mut self, server: &Server, cx: &mut Context<'_>) -> Poll<()> {
        let mut buffer = server.buffer.borrow_mut();
        let pending = self.pending.len();
        buffer[..pending].copy_from_slice(&self.pending);
        let mut unfilled = ReadBuf::new(&mut buffer[pending..]);
        match Pin::new(&mut self.stream).poll_read(cx, &mut unfilled) {
            Poll::Pending => return Poll::Pending,
            Poll::Ready(Err(error)) => {
                let (kind, reason) = (error.kind(), error.to_string());
                self.fail_first(Failure::of_io(error));
                self.end(|| Failure::Broken(io::Error::new(kind, reason.clone())));
            }
            Poll::Ready(Ok(())) => {
                let bytes = unfilled.filled().len();
                match bytes {
                    0 => self.close(),
                    _ => self.take(server, &buffer[..pending + bytes], bytes),
                }
            }
        }
        Poll::Ready(())
    }

    /// The server has closed the connection.
    fn close(&mut self) {
        let pending = self.pending.len();
        if let Some(first) = self.waiting.pop_front() {
            let mut turn = first.borrow_mut();
            let closed =
                turn.reader.as_ref().map_or(Err("before it replied"), |r| r.close(pending));
            turn.end(closed.map_err(Failure::Closed));
        }
        self.end(|| Failure::Closed("before it replied"));
    }

    fn fail_first(&mut self, failure: Failure) {
        if let Some(first) = self.waiting.pop_front() {
            first.borrow_mut().end(Err(failure));
        }
    }

    /// Hands out the replies in `input`, of which the last `bytes` are new.
    fn take(&mut self, server: &Server, input: &[u8], bytes: usize) {
        let (mut rest, mut old) = (input, input.len() - bytes);
        while !rest.is_empty() && !self.is_over {
            let Some(first) = self.waiting.front().cloned() else {
                // Nobody asked for it, so nobody can be told; the next opens another.
                self.is_over = true;
                return;
            };
            let mut turn = first.borrow_mut();
            match turn.advance(server, rest) {
                Ok((used, reply)) => {
                    turn.received += (used - old.min(used)) as u64;
                    old -= old.min(used);
                    rest = &rest[used..];
                    match reply {
                        Some(reply) => self.hand_over(&mut turn, reply, rest.len()),
                        None => break,
                    }
                }
                Err(malformed) => {
                    turn.end(Err(malformed.into()));
                    self.waiting.pop_front();
                    drop(turn);
                    self.end(|| Failure::GivenUp("a reply on it was malformed"));
                }
            }
        }
        self.pending.clear();
        self.pending.extend_from_slice(rest);
    }

    fn hand_over(&mut self, turn: &mut Turn, reply: Reply, surplus: usize) {
        self.waiting.pop_front();
        if self.waiting.is_empty() && surplus > 0 {
            self.is_over = true;
            turn.end(Err(Malformed::Surplus(surplus).into()));
            return;
        }
        turn.end(Ok(reply));
        if !reply.keep_alive {
            // It has said that it reads no further (RFC 9112 §9.6).
            self.end(|| Failure::Unprocessed(1));
        }
    }
}

impl Turn {
    fn advance(
        &mut self,
        server: &Server,
        input: &[u8],
    ) -> Result<(usize, Option<Reply>), Malformed> {
        let Self { is_head, cookies, kept, reader, .. } = self;
        let mut taking = Taking {
            is_head: *is_head,
            set_cookie: &mut |value| {
                cookies.push(value.to_vec());
                Ok(())
            },
            kept: kept.as_mut(),
            heads: &mut server.heads.borrow_mut(),
        };
        match reader {
            Some(reader) => reader.advance(input, &mut taking),
            None => Ok((0, None)),
        }
    }
}
