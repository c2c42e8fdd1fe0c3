//! Connections to caches: one for each user, or one that several share, with a command of each
//! under way.

use super::failure::Failure;
use super::turn::{Answer, Turn, Wanted};
use super::values::Maker;
use crate::http1::Deadline;
use crate::limits::ITEM_BYTES_MAX;
use crate::transport::{self, Server, Stream};
use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};
use std::future::{Future, poll_fn};
use std::io;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::Mutex;
use tokio::time::Instant;
use wire::memcached::reply::{self, Parsed};

/// Memory of a connection that is kept while nothing is under way.
const KEPT_BYTES: usize = 4 << 10;

/// The connections of one thread that users share, by server and group of users.
pub(crate) type Sharing = RefCell<HashMap<(usize, usize), Rc<Shared>>>;

/// One user's connections.
pub(crate) struct Places {
    by_server: Vec<Place>,
    deadline: Deadline,
    maker: Arc<Maker>,
    /// Room for a key.
    pub(crate) key: Vec<u8>,
    /// Connections opened so far.
    pub(crate) opened: u64,
    /// Bytes received so far.
    pub(crate) received: u64,
}

/// A user's connection to one server.
struct Place {
    server: Rc<Server>,
    shared: Rc<Shared>,
    line: Option<Rc<Line>>,
    turn: Rc<RefCell<Turn>>,
}

/// The connection of some users: none, or the one that is open.
#[derive(Default)]
pub(crate) struct Shared {
    /// Whether there are other users of it.
    is_common: bool,
    /// Locked while one of them opens it.
    line: Mutex<Option<Rc<Line>>>,
}

/// An open connection.
struct Line(RefCell<Traffic>);

struct Traffic {
    stream: Stream,
    /// Commands that are not with the kernel yet, from `written` on.
    out: Vec<u8>,
    written: usize,
    /// Whose answers are to come, in order.
    waiting: VecDeque<Rc<RefCell<Turn>>>,
    /// What came of a reply that is not complete.
    pending: Vec<u8>,
    is_over: bool,
    /// Wakes the task that reads and writes, if users share the connection.
    driver: Option<Waker>,
}

impl Places {
    /// Of the user `number`; `sharing` has those of the same thread. Must be made inside a runtime.
    pub(crate) fn new(
        servers: &[Rc<Server>],
        sharing: &Sharing,
        maker: &Arc<Maker>,
        number: usize,
    ) -> Self {
        let place = |(i, server): (usize, &Rc<Server>)| {
            let users = server.route.protocol.users_per_connection();
            let shared = match users {
                1 => Rc::default(),
                _ => {
                    let mut sharing = sharing.borrow_mut();
                    let common = || Rc::new(Shared { is_common: true, ..Shared::default() });
                    Rc::clone(sharing.entry((i, number / users)).or_insert_with(common))
                }
            };
            Place { server: Rc::clone(server), shared, line: None, turn: Rc::default() }
        };
        Self {
            by_server: servers.iter().enumerate().map(place).collect(),
            deadline: Deadline::new(Instant::now()),
            maker: Arc::clone(maker),
            key: Vec::new(),
            opened: 0,
            received: 0,
        }
    }

    pub(crate) fn maker(&self) -> &Arc<Maker> {
        &self.maker
    }

    /// Sees to it that there is a connection. Whatever happens next must be over at `deadline`.
    ///
    /// # Errors
    /// That none can be made, or not in time.
    pub(crate) async fn connect(
        &mut self,
        server: usize,
        deadline: Instant,
    ) -> Result<(), Failure> {
        self.deadline.move_to(deadline);
        let place = &mut self.by_server[server];
        if place.line.as_ref().is_some_and(|line| line.is_ready(place.shared.is_common)) {
            return Ok(());
        }
        let opening = place.open(&self.maker);
        let is_new = within(&mut self.deadline, opening).await?;
        self.opened += u64::from(is_new);
        Ok(())
    }

    /// Sends what `write` appends and takes the answer. [`Places::connect`] must have been called
    /// before. After anything that breaks the order of answers the connection is not used again.
    ///
    /// # Errors
    /// See [`Failure`].
    pub(crate) async fn exchange(
        &mut self,
        server: usize,
        wanted: Wanted,
        key: &[u8],
        write: impl FnOnce(&mut Vec<u8>),
    ) -> Result<Answer, Failure> {
        let place = &mut self.by_server[server];
        let Some(line) = place.line.as_ref().map(Rc::clone) else {
            return Err(transport::Failure::Closed("before it was used").into());
        };
        place.turn.borrow_mut().begin(wanted, key);
        line.enter(write, Rc::clone(&place.turn));
        let given_up = GivenUp(Some(Rc::clone(&line)));
        let (turn, is_own) = (&place.turn, !place.shared.is_common);
        let (maker, server) = (&self.maker, &place.server);
        let answer = poll_fn(|cx| {
            if is_own {
                // Nobody else looks after it. That it is over is in the turn.
                let _over = line.0.borrow_mut().drive(server, maker, cx);
            }
            turn.borrow_mut().poll(cx)
        });
        let outcome = within(&mut self.deadline, answer).await;
        self.received += std::mem::take(&mut place.turn.borrow_mut().received);
        if !matches!(outcome, Err(Failure::Transport(transport::Failure::Timeout))) {
            given_up.not();
        }
        outcome
    }
}

impl Place {
    /// Opens the connection unless another user has; says whether this one did.
    async fn open(&mut self, maker: &Arc<Maker>) -> Result<bool, Failure> {
        let mut line = self.shared.line.lock().await;
        if let Some(open) = line.as_ref().filter(|line| line.is_ready(self.shared.is_common)) {
            self.line = Some(Rc::clone(open));
            return Ok(false);
        }
        let opened = Rc::new(Line(RefCell::new(Traffic::new(self.server.open().await?))));
        if self.shared.is_common {
            let driven = Rc::clone(&opened);
            let (server, maker) = (Rc::clone(&self.server), Arc::clone(maker));
            tokio::task::spawn_local(poll_fn(move |cx| {
                let mut traffic = driven.0.borrow_mut();
                traffic.driver = Some(cx.waker().clone());
                traffic.drive(&server, &maker, cx)
            }));
        }
        *line = Some(Rc::clone(&opened));
        self.line = Some(opened);
        Ok(true)
    }
}

/// Does something until the deadline.
async fn within<T>(
    deadline: &mut Deadline,
    work: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    let mut work = pin!(work);
    poll_fn(|cx| match work.as_mut().poll(cx) {
        Poll::Ready(outcome) => Poll::Ready(outcome),
        Poll::Pending => deadline.poll_past(cx).map(|()| Err(transport::Failure::Timeout.into())),
    })
    .await
}

/// Ends a connection unless an answer came first: answers come in order, and a late one would be
/// taken for the next.
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
            let why = "another command on it got no answer in time";
            traffic.end(|| transport::Failure::GivenUp(why).into());
            traffic.driver.iter().for_each(Waker::wake_by_ref);
        }
    }
}

impl Line {
    /// Whether a command can be sent. A shared connection is watched by its task; one's own is
    /// looked at before it is used.
    fn is_ready(&self, is_common: bool) -> bool {
        let mut traffic = self.0.borrow_mut();
        if !is_common && !traffic.is_over {
            traffic.is_over = traffic.stream.is_over();
        }
        !traffic.is_over
    }

    fn enter(&self, write: impl FnOnce(&mut Vec<u8>), turn: Rc<RefCell<Turn>>) {
        let mut traffic = self.0.borrow_mut();
        write(&mut traffic.out);
        traffic.waiting.push_back(turn);
        traffic.driver.iter().for_each(Waker::wake_by_ref);
    }
}

impl Traffic {
    fn new(stream: Stream) -> Self {
        Self {
            stream,
            out: Vec::new(),
            written: 0,
            waiting: VecDeque::new(),
            pending: Vec::new(),
            is_over: false,
            driver: None,
        }
    }

    /// Ends it for all that still wait.
    fn end(&mut self, why: impl Fn() -> Failure) {
        self.is_over = true;
        self.waiting.drain(..).for_each(|turn| turn.borrow_mut().end(Err(why())));
    }

    /// Reads and writes what it can. Ready when the connection is over.
    fn drive(&mut self, server: &Server, maker: &Maker, cx: &mut Context<'_>) -> Poll<()> {
        let broken = match self.write(cx) {
            Poll::Ready(Err(error)) => Some(error),
            _ => None,
        };
        // Before giving up: a server that refuses early may have closed its side.
        while !self.is_over && self.read(server, maker, cx).is_ready() {
            if self.waiting.is_empty() && self.driver.is_none() {
                return Poll::Pending;
            }
        }
        if let Some(error) = broken.filter(|_| !self.is_over) {
            self.break_off(&error);
        }
        if self.is_over { Poll::Ready(()) } else { Poll::Pending }
    }

    fn break_off(&mut self, error: &io::Error) {
        let (kind, reason) = (error.kind(), error.to_string());
        self.end(|| transport::Failure::Broken(io::Error::new(kind, reason.clone())).into());
    }

    fn write(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.written < self.out.len() {
            match Pin::new(&mut self.stream).poll_write(cx, &self.out[self.written..]) {
                Poll::Ready(Ok(0)) => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                Poll::Ready(Ok(bytes)) => self.written += bytes,
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Pending => return Poll::Pending,
            }
        }
        self.written = 0;
        self.out.clear();
        give_back(&mut self.out);
        match self.stream.holds_back() {
            true => Pin::new(&mut self.stream).poll_flush(cx),
            false => Poll::Ready(Ok(())),
        }
    }

    /// Reads once. Ready if there may be more.
    fn read(&mut self, server: &Server, maker: &Maker, cx: &mut Context<'_>) -> Poll<()> {
        let mut buffer = server.buffer.borrow_mut();
        let mut unfilled = ReadBuf::new(&mut buffer);
        match Pin::new(&mut self.stream).poll_read(cx, &mut unfilled) {
            Poll::Pending => return Poll::Pending,
            Poll::Ready(Err(error)) => self.break_off(&error),
            Poll::Ready(Ok(())) if unfilled.filled().is_empty() => {
                let when = match self.pending.is_empty() {
                    true => "before it answered",
                    false => "within an answer",
                };
                self.end(|| transport::Failure::Closed(when).into());
            }
            Poll::Ready(Ok(())) => self.take(unfilled.filled(), maker),
        }
        Poll::Ready(())
    }

    /// Hands out the answers in what was left and what has come.
    fn take(&mut self, new: &[u8], maker: &Maker) {
        if let Some(first) = self.waiting.front() {
            first.borrow_mut().received += new.len() as u64;
        }
        if self.pending.is_empty() {
            let used = self.hand_out(new, maker);
            self.pending.extend_from_slice(&new[used..]);
            return;
        }
        let mut pending = std::mem::take(&mut self.pending);
        pending.extend_from_slice(new);
        let used = self.hand_out(&pending, maker);
        pending.drain(..used);
        give_back(&mut pending);
        self.pending = pending;
    }

    /// Gives how many bytes were answers.
    fn hand_out(&mut self, input: &[u8], maker: &Maker) -> usize {
        let mut used = 0;
        while used < input.len() && !self.is_over {
            let Some(first) = self.waiting.front() else {
                // Nobody asked for it, so nobody can be told; the next opens another.
                self.is_over = true;
                break;
            };
            let mut turn = first.borrow_mut();
            let outcome = match reply::parse(&input[used..], ITEM_BYTES_MAX) {
                Ok(Parsed::Incomplete(_)) => break,
                Ok(Parsed::Reply(reply, bytes)) => {
                    used += bytes;
                    match turn.take(&reply, maker) {
                        Some(outcome) => outcome,
                        None => continue,
                    }
                }
                Err(malformed) => Err(malformed.into()),
            };
            let is_in_step = turn.is_in_step(&outcome);
            turn.end(outcome);
            drop(turn);
            self.waiting.pop_front();
            if !is_in_step {
                let why = "an answer on it was not what it should be";
                self.end(|| transport::Failure::GivenUp(why).into());
            }
        }
        used
    }
}

/// Gives back the memory of a large one that is empty: thousands of users would hold as much.
fn give_back(buffer: &mut Vec<u8>) {
    if buffer.is_empty() && buffer.capacity() > KEPT_BYTES {
        *buffer = Vec::new();
    }
}
