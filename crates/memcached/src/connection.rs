//! A connection: its socket, what was received and is not carried out yet, and answers that are
//! not sent yet. Both are empty most of the time, and then take no memory.

use crate::figures::ConnectionFigures;
use crate::limits::{HELD_BYTES_MAX, RECEIVE_BYTES};
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
    pub received: Vec<u8>,
    /// Answers; the first `sendable` bytes may be sent.
    unsent: Vec<u8>,
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
    /// Memory that it was last found to keep, in bytes.
    pub kept_bytes: usize,
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

impl Connection {
    pub fn new(socket: OwnedFd, figures: Arc<ConnectionFigures>, session: Session) -> Self {
        Self {
            socket,
            figures,
            session,
            received: Vec::new(),
            unsent: Vec::new(),
            sendable: 0,
            held: VecDeque::new(),
            is_awaited: false,
            course: Course::Open,
            is_paused: false,
            is_stalled: false,
            interest: EventFlags::empty(),
            kept_bytes: 0,
        }
    }

    /// Receives what there is, at most as much as `room` takes.
    pub fn receive(&self, room: &mut [u8]) -> Result<Received, Gone> {
        match recv(&self.socket, room, RecvFlags::empty()) {
            Ok((0, _)) => Ok(Received::End),
            Ok((bytes, _)) => Ok(Received::Bytes(bytes)),
            Err(Errno::AGAIN | Errno::INTR) => Ok(Received::Nothing),
            Err(_) => Err(Gone),
        }
    }

    /// Sends answers that may leave when `wait_for` is durable, as far as the kernel takes them,
    /// and keeps the rest. Gives how many bytes were sent.
    pub fn answer(&mut self, answers: &[u8], wait_for: u64, durable: u64) -> Result<usize, Gone> {
        if wait_for > durable || !self.held.is_empty() {
            self.unsent.extend_from_slice(answers);
            self.held.push_back((wait_for, answers.len()));
            return Ok(0);
        }
        let sent = if self.unsent.is_empty() { self.send(answers)? } else { 0 };
        self.unsent.extend_from_slice(&answers[sent..]);
        self.sendable += answers.len() - sent;
        Ok(sent)
    }

    /// Lets go of what waited for commits up to this one.
    pub fn release(&mut self, durable: u64) {
        while let Some((_, bytes)) = self.held.pop_front_if(|(commit, _)| *commit <= durable) {
            self.sendable += bytes;
        }
    }

    /// What is held will never be durable: gives the client the reason instead, and no more.
    pub fn give_up(&mut self, reason: &str) {
        self.held.clear();
        self.unsent.truncate(self.sendable);
        let line = format!("SERVER_ERROR {reason}\r\n");
        self.unsent.extend_from_slice(line.as_bytes());
        self.sendable += line.len();
        self.received.clear();
        (self.course, self.is_paused) = (Course::Closing, false);
    }

    /// Sends what was kept, as far as the kernel takes it. Gives how many bytes were sent.
    pub fn flush(&mut self) -> Result<usize, Gone> {
        self.is_stalled = false;
        let mut kept = std::mem::take(&mut self.unsent);
        let sent = self.send(&kept[..self.sendable])?;
        self.sendable -= sent;
        kept.drain(..sent);
        if !kept.is_empty() {
            self.unsent = kept;
        }
        Ok(sent)
    }

    fn send(&mut self, bytes: &[u8]) -> Result<usize, Gone> {
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

    /// Gives memory back that is not in use, and says how much it keeps.
    pub fn settle(&mut self) -> usize {
        if self.received.is_empty() && self.received.capacity() > 0 {
            self.received = Vec::new();
        }
        if self.unsent.is_empty() && self.unsent.capacity() > 0 {
            self.unsent = Vec::new();
        }
        if self.held.is_empty() && self.held.capacity() > 0 {
            self.held = VecDeque::new();
        }
        self.received.capacity() + self.unsent.capacity()
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
