//! Connections by which servers send messages unasked: WebSockets and streams of server-sent
//! events, on connections of a user's own. What comes is read whenever the user waits for
//! anything, so that pings are answered and each message has the time at which it came. It decides
//! nothing about what is sent when, and measures nothing.

mod events;
mod ids;
mod line;
mod opening;
mod websocket;

pub(crate) use line::Line;
pub(crate) use opening::{Asked, Refusal};

use crate::engine::extract::field;
use crate::limits::INBOX_BYTES_MAX;
use crate::plan::ChannelKind;
use crate::random::Random;
use crate::transport::Failure;
use events::Events;
use ids::LastIds;
use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use tokio::time::Instant;
use websocket::Frames;

/// A message that has come.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Message {
    /// Of an event, its type and id as fields of a head; of a WebSocket nothing.
    pub(crate) fields: Vec<u8>,
    pub(crate) body: Vec<u8>,
    pub(crate) at: Instant,
}

impl Message {
    /// Whether it is an event of this type.
    pub(crate) fn is_event(&self, name: &str) -> bool {
        field(&self.fields, "event") == Some(name.as_bytes())
    }
}

/// A user's channel to a server.
pub(crate) struct Channel {
    /// Which of the plan's servers, and where there.
    place: (usize, Vec<u8>),
    line: Line,
    speech: Speech,
    inbox: Inbox,
    /// Why nothing more comes.
    end: Option<Failure>,
}

enum Speech {
    Frames(Box<Frames>),
    Events(Box<Events>),
}

/// What has come and nobody has looked at.
#[derive(Default)]
struct Inbox {
    messages: VecDeque<Message>,
    bytes: usize,
}

/// What a message costs beside its bytes.
const MESSAGE_BYTES: usize = size_of::<Message>();

impl Inbox {
    fn push(&mut self, message: Message) {
        self.bytes += MESSAGE_BYTES + message.body.len() + message.fields.len();
        self.messages.push_back(message);
    }

    fn pop(&mut self) -> Option<Message> {
        let message = self.messages.pop_front()?;
        self.bytes -= MESSAGE_BYTES + message.body.len() + message.fields.len();
        Some(message)
    }

    fn is_full(&self) -> bool {
        self.bytes >= INBOX_BYTES_MAX
    }
}

impl Channel {
    fn new(place: (usize, Vec<u8>), line: Line, speech: Speech) -> Self {
        Self { place, line, speech, inbox: Inbox::default(), end: None }
    }

    pub(crate) fn kind(&self) -> ChannelKind {
        match self.speech {
            Speech::Frames(_) => ChannelKind::WebSocket,
            Speech::Events(_) => ChannelKind::Events,
        }
    }

    /// Whether it leads there.
    pub(crate) fn is_to(&self, server: usize, path: &[u8]) -> bool {
        self.place.0 == server && self.place.1 == path
    }

    /// The server and the path, and the last id that an event of it stated.
    pub(crate) fn last_event(&self) -> Option<(usize, &[u8], &[u8])> {
        match &self.speech {
            Speech::Events(events) => Some((self.place.0, &self.place.1, events.last_id())),
            Speech::Frames(_) => None,
        }
    }

    /// Looks at what has come, and says why nothing more does if that is so.
    pub(crate) fn ended(&mut self) -> Option<&Failure> {
        let mut context = Context::from_waker(Waker::noop());
        let _whether_it_ended = self.poll_tend(&mut context);
        self.end.as_ref()
    }

    /// Bytes received since the last call.
    pub(crate) fn take_received(&mut self) -> u64 {
        std::mem::take(&mut self.line.received)
    }

    /// The next message.
    ///
    /// # Errors
    /// None comes: the reason, or [`Failure::Timeout`] at the deadline.
    pub(crate) async fn next(&mut self, deadline: Instant) -> Result<Message, Failure> {
        self.line.deadline.move_to(deadline);
        poll_fn(|cx| {
            if let Some(message) = self.inbox.pop() {
                return Poll::Ready(Ok(message));
            }
            let tended = self.poll_tend(cx);
            match self.inbox.pop() {
                Some(message) => Poll::Ready(Ok(message)),
                None if tended.is_ready() => Poll::Ready(Err(self.take_end())),
                None => self.line.deadline.poll_past(cx).map(|()| Err(Failure::Timeout)),
            }
        })
        .await
    }

    /// Sends a message on a WebSocket, and reads meanwhile, so that neither side waits for the
    /// other.
    ///
    /// # Errors
    /// Nothing more can be sent.
    pub(crate) async fn send(
        &mut self,
        message: &[u8],
        is_binary: bool,
        deadline: Instant,
    ) -> Result<(), Failure> {
        if let Speech::Frames(frames) = &mut self.speech {
            frames.send(&mut self.line, message, is_binary);
        }
        self.line.deadline.move_to(deadline);
        poll_fn(|cx| match self.poll_tend(cx) {
            Poll::Ready(()) => Poll::Ready(Err(self.take_end())),
            Poll::Pending if self.line.is_flushed() => Poll::Ready(Ok(())),
            Poll::Pending => self.line.deadline.poll_past(cx).map(|()| Err(Failure::Timeout)),
        })
        .await
    }

    /// Closes it; a WebSocket by the closing handshake (RFC 6455 §7.1.2), for whose end it waits.
    ///
    /// # Errors
    /// The server does not close its side.
    pub(crate) async fn close(&mut self, deadline: Instant) -> Result<(), Failure> {
        let Speech::Frames(frames) = &mut self.speech else { return Ok(()) };
        frames.close(&mut self.line);
        loop {
            match self.next(deadline).await {
                Ok(_passed_over) => {}
                Err(_) if self.has_said_goodbye() => return Ok(()),
                Err(failure) => return Err(failure),
            }
        }
    }

    /// Says that it is over as far as that can be done at once, so that the server need not take
    /// the end of the connection for an accident.
    fn hang_up(&mut self) {
        if let Speech::Frames(frames) = &mut self.speech {
            frames.close(&mut self.line);
            let mut context = Context::from_waker(Waker::noop());
            let _whether_it_was_heard = self.line.poll_flush(&mut context);
        }
    }

    fn has_said_goodbye(&self) -> bool {
        match &self.speech {
            Speech::Frames(frames) => frames.is_closed_by_server(),
            Speech::Events(_) => true,
        }
    }

    /// Why nothing more comes.
    pub(crate) fn take_end(&mut self) -> Failure {
        self.end.replace(Failure::Closed("before this")).unwrap_or(Failure::Closed("before this"))
    }

    /// Reads and writes what can be. Ready if nothing more comes.
    fn poll_tend(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            if self.end.is_none() {
                self.end = self.digest().err();
            }
            let flushed = self.line.poll_flush(cx);
            if self.end.is_some() {
                return Poll::Ready(());
            }
            if let Poll::Ready(Err(failure)) = flushed {
                self.end = Some(failure);
                return Poll::Ready(());
            }
            if self.is_full() {
                return Poll::Pending;
            }
            match self.line.poll_fill(cx) {
                Poll::Ready(Ok(0)) => {
                    self.end = Some(Failure::Closed(match self.speech {
                        Speech::Frames(_) => "without closing the WebSocket",
                        Speech::Events(_) => "and ended the event stream",
                    }));
                }
                Poll::Ready(Ok(_)) => {}
                Poll::Ready(Err(failure)) => self.end = Some(failure),
                Poll::Pending => return Poll::Pending,
            }
        }
    }

    /// Whoever floods and does not listen is not read any more.
    fn is_full(&self) -> bool {
        self.inbox.is_full() || self.line.waiting_bytes() >= INBOX_BYTES_MAX
    }

    /// Makes messages of what has come.
    fn digest(&mut self) -> Result<(), Failure> {
        while !self.is_full() && !self.line.incoming.is_empty() {
            let moved = match &mut self.speech {
                Speech::Frames(frames) => frames.digest(&mut self.line, &mut self.inbox)?,
                Speech::Events(events) => events.digest(&mut self.line, &mut self.inbox)?,
            };
            if !moved {
                break;
            }
        }
        Ok(())
    }
}

/// A user's channels, one of each kind at most.
pub(crate) struct Channels {
    open: Vec<Channel>,
    /// Connections opened so far.
    pub(crate) opened: u64,
    /// Bytes received on those that are gone.
    received: u64,
    /// Keys and masks, which hang on seed and user alone.
    secrets: Random,
    ids: LastIds,
}

/// The sequence of random numbers that keys and masks are taken from.
const SECRETS: u64 = 4;

impl Channels {
    /// Of the user of this number.
    pub(crate) fn new(seed: u64, user: usize) -> Self {
        let secrets = Random::of_stream(seed, user as u64, SECRETS);
        Self { open: Vec::new(), opened: 0, received: 0, secrets, ids: LastIds::default() }
    }

    /// Random numbers for a connection.
    pub(crate) fn secret(&mut self) -> Random {
        self.secrets.split()
    }

    /// The channel of this kind, which is the caller's until it is put back or let go.
    pub(crate) fn lift(&mut self, kind: ChannelKind) -> Option<Channel> {
        let place = self.open.iter().position(|channel| channel.kind() == kind)?;
        Some(self.open.swap_remove(place))
    }

    pub(crate) fn put(&mut self, channel: Channel) {
        self.open.push(channel);
    }

    /// Ends a connection. Of a stream of events its last id is remembered.
    pub(crate) fn let_go(&mut self, mut channel: Channel) {
        self.received += channel.take_received();
        if let Some((server, path, id)) = channel.last_event() {
            self.ids.note(server, path, id);
        }
    }

    /// The last id of the stream that was there; empty if none is known.
    pub(crate) fn last_id(&self, server: usize, path: &[u8]) -> &[u8] {
        self.ids.of(server, path)
    }

    /// Closes the channel of this kind, if there is one.
    ///
    /// # Errors
    /// The server does not do its part.
    pub(crate) async fn close(
        &mut self,
        kind: ChannelKind,
        deadline: Instant,
    ) -> Result<(), Failure> {
        let Some(mut channel) = self.lift(kind) else { return Ok(()) };
        let outcome = self.beside(channel.close(deadline)).await;
        self.let_go(channel);
        outcome
    }

    /// Ends all of them without waiting for anybody, and forgets what is known of streams.
    pub(crate) fn abandon(&mut self) {
        while let Some(mut channel) = self.open.pop() {
            channel.hang_up();
            self.let_go(channel);
        }
        self.ids.forget();
    }

    /// Bytes received since the last call.
    pub(crate) fn take_received(&mut self) -> u64 {
        let open: u64 = self.open.iter_mut().map(Channel::take_received).sum();
        open + std::mem::take(&mut self.received)
    }

    /// Does something else, and sees to what comes meanwhile.
    pub(crate) async fn beside<T>(&mut self, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        poll_fn(|cx| {
            for channel in &mut self.open {
                // That it ended is told to who uses it.
                let _whether_it_ended = channel.poll_tend(cx);
            }
            work.as_mut().poll(cx)
        })
        .await
    }
}
