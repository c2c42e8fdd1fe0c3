//! A connection: its socket, what was received and is not carried out yet, and answers that are
//! not sent yet. Both are empty most of the time, and then take no memory.

use crate::buffer::Buffer;
use crate::figures::ConnectionFigures;
use crate::limits::{HELD_BYTES_MAX, RECEIVE_BYTES};
use crate::memory::Share;
use crate::session::Session;
use rustix::event::epoll::EventFlags;
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use std::collections::VecDeque;
use std::sync::Arc;

/// One client's.
pub(crate) struct Connection {
    pub socket: OwnedFd,
    pub figures: Arc<ConnectionFigures>,
    pub session: Session,
    /// The begin of a command, or commands that wait for room for their answers.
    pub received: Buffer,
    /// Answers; the first `sendable` bytes may be sent.
    unsent: Buffer,
    sendable: usize,
    /// The rest of the answers in their order: how many bytes may be sent once which commit is
    /// durable.
    held: VecDeque<(u64, usize)>,
    /// Whether the thread has noted that it waits for a commit.
    pub is_awaited: bool,
    pub course: Course,
    /// Whether commands wait for room for their answers.
    pub is_paused: bool,
    /// Whether the kernel took less than it was given.
    is_stalled: bool,
    /// What the kernel is asked to tell.
    pub interest: EventFlags,
    /// What both take of the memory of all connections.
    pub share: Share,
    /// Since when it has had some, in seconds since the face began.
    pub kept_since: u32,
}

/// How far a connection has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Course {
    Open,
    /// The client sends nothing more; it gets its answers.
    HalfClosed,
    /// Nothing more is carried out.
    Closing,
}

/// Something went wrong that ends the connection: the client has gone.
#[derive(Debug)]
pub(crate) struct Gone;

/// What came of receiving.
pub(crate) enum Received {
    Bytes(usize),
    Nothing,
    End,
}

fn receive(socket: &OwnedFd, room: &mut [u8]) -> Result<Received, Gone> {
    match recv(socket, room, RecvFlags::empty()) {
        Ok((0, _)) => Ok(Received::End),
        Ok((bytes, _)) => Ok(Received::Bytes(bytes)),
        Err(Errno::AGAIN | Errno::INTR) => Ok(Received::Nothing),
        Err(_) => Err(Gone),
    }
}

impl Connection {
    pub fn new(socket: OwnedFd, figures: Arc<ConnectionFigures>, session: Session) -> Self {
        Self {
            socket,
            figures,
            session,
            received: Buffer::default(),
            unsent: Buffer::default(),
            sendable: 0,
            held: VecDeque::new(),
            is_awaited: false,
            course: Course::Open,
            is_paused: false,
            is_stalled: false,
            interest: EventFlags::empty(),
            share: Share::default(),
            kept_since: 0,
        }
    }

    /// Receives what there is, at most as much as `room` takes.
    pub fn receive(&self, room: &mut [u8]) -> Result<Received, Gone> {
        receive(&self.socket, room)
    }

    /// Receives what there is of a large command behind what is there of it.
    pub fn receive_more(&mut self) -> Result<Received, Gone> {
        let received = receive(&self.socket, self.received.spare())?;
        if let Received::Bytes(bytes) = received {
            self.received.extend(bytes);
        }
        Ok(received)
    }

    /// Sends answers as far as the kernel takes them and nothing is to be sent before them. Gives
    /// how many bytes were sent; the rest is for [`Connection::keep`].
    pub fn offer(&mut self, answers: &[u8]) -> Result<usize, Gone> {
        if self.unsent.is_empty() { self.send(answers) } else { Ok(0) }
    }

    /// Keeps answers, until this commit is durable if it is told.
    pub fn keep(&mut self, answers: &[u8], held_for: Option<u64>) -> Result<(), Gone> {
        self.unsent.append(answers).map_err(|_| Gone)?;
        match held_for {
            Some(commit) => self.held.push_back((commit, answers.len())),
            None => self.sendable += answers.len(),
        }
        Ok(())
    }

    /// Lets go of what waited for commits up to this one.
    pub fn release(&mut self, durable: u64) {
        while let Some((_, bytes)) = self.held.pop_front_if(|(commit, _)| *commit <= durable) {
            self.sendable += bytes;
        }
    }

    /// What is held will never be durable: gives the client the reason instead, and no more.
    pub fn give_up(&mut self, reason: &str) -> Result<(), Gone> {
        self.held.clear();
        self.unsent.truncate(self.sendable);
        self.received = Buffer::default();
        (self.course, self.is_paused) = (Course::Closing, false);
        self.keep(format!("SERVER_ERROR {reason}\r\n").as_bytes(), None)
    }

    /// Sends what was kept, as far as the kernel takes it. Gives how many bytes were sent.
    pub fn flush(&mut self) -> Result<usize, Gone> {
        let kept = std::mem::take(&mut self.unsent);
        let sent = self.send(&kept.bytes()[..self.sendable]);
        self.unsent = kept;
        let sent = sent?;
        self.sendable -= sent;
        self.unsent.consume(sent);
        Ok(sent)
    }

    fn send(&mut self, bytes: &[u8]) -> Result<usize, Gone> {
        self.is_stalled = false;
        if bytes.is_empty() {
            return Ok(0);
        }
        let sent = match send(&self.socket, bytes, SendFlags::NOSIGNAL) {
            Ok(sent) => sent,
            Err(Errno::AGAIN | Errno::INTR) => 0,
            Err(_) => return Err(Gone),
        };
        self.is_stalled = sent < bytes.len();
        Ok(sent)
    }

    /// Whether commands may be carried out: their answers find room.
    pub fn has_room(&self) -> bool {
        !self.is_stalled && self.unsent.len() < HELD_BYTES_MAX
    }

    pub fn holds(&self) -> bool {
        !self.held.is_empty()
    }

    pub fn may_send(&self) -> bool {
        self.sendable > 0
    }

    /// Whether nothing is left to be done for it.
    pub fn is_done(&self) -> bool {
        let has_ended = self.course != Course::Open && !self.is_paused;
        has_ended && self.unsent.is_empty()
    }

    /// What the kernel is to tell of it.
    pub fn wishes(&self) -> EventFlags {
        let mut wishes = EventFlags::empty();
        // The socket takes more at once if it is not full: so one that is paused goes on after the
        // others have had their turn.
        wishes.set(EventFlags::OUT, self.may_send() || (self.is_paused && self.has_room()));
        let may_receive = self.course == Course::Open && !self.is_paused && self.has_room();
        wishes.set(EventFlags::IN, may_receive);
        wishes
    }

    /// Memory that it has.
    pub fn size(&self) -> usize {
        self.received.size() + self.unsent.size()
    }

    /// Memory that it will have with so many bytes more of answers.
    pub fn size_with(&self, answers: usize) -> usize {
        self.received.size() + self.unsent.size_with(answers)
    }

    /// Memory that it will have if this is the memory for what was received.
    pub fn size_if(&self, received: usize) -> usize {
        received + self.unsent.size()
    }

    /// Gives memory back that is not in use.
    pub fn settle(&mut self) {
        if self.held.is_empty() && self.held.capacity() > 0 {
            self.held = VecDeque::new();
        }
    }

    /// Takes what was sent and nobody will read: closing with that in the kernel's hands would
    /// have it take back answers that are on their way (RFC 1122 §4.2.2.13).
    pub fn drop_input(&self, room: &mut [u8]) {
        for _ in 0..(1 << 20) / RECEIVE_BYTES {
            if !matches!(self.receive(room), Ok(Received::Bytes(_))) {
                return;
            }
        }
    }
}
