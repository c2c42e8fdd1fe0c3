//! The event loop of one thread: it waits until something can be done for one of its connections,
//! and does it. The kernel tells as long as there is something (level-triggered), so nothing has to
//! be remembered but what must wait.

use crate::bell::Bell;
use crate::connection::{Connection, Course, Gone, Received};
use crate::executor::Executor;
use crate::figures::{Shared, Traffic, count};
use crate::limits::{EVENTS_MAX, KEPT_BYTES_FREE, RECEIVE_BYTES};
use crate::out::Out;
use crate::session::{Next, Ran};
use rustix::buffer::spare_capacity;
use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

/// What an event of the bell is marked with; connections have their place and its generation.
const BELL: u64 = u64::MAX;

/// How often a thread looks around when it has a reason to.
const LOOK_AROUND: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };
const LOOK_AROUND_AT_END: Timespec = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };

/// One thread's connections.
pub(crate) struct Turn<E> {
    epoll: OwnedFd,
    bell: Arc<Bell>,
    shared: Arc<Shared>,
    executor: E,
    seats: Vec<Seat>,
    /// Empty seats.
    free: Vec<u32>,
    /// Seats of connections whose answers wait for commits.
    held: Vec<u32>,
    /// Where everything is received.
    room: Vec<u8>,
    out: Out,
    /// Which of the face's threads this is.
    number: usize,
    /// Seconds since the face began, when the thread woke.
    now: u32,
    looked_around: u32,
}

/// A place for a connection. Events of one that has gone must not reach the next.
#[derive(Default)]
struct Seat {
    generation: u32,
    connection: Option<Box<Connection>>,
}

impl<E: Executor> Turn<E> {
    pub fn new(number: usize, shared: Arc<Shared>, executor: E) -> io::Result<Self> {
        let bell = Arc::clone(&shared.bells[number]);
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        epoll::add(&epoll, &*bell, EventData::new_u64(BELL), EventFlags::IN)?;
        Ok(Self {
            epoll,
            bell,
            shared,
            executor,
            seats: Vec::new(),
            free: Vec::new(),
            held: Vec::new(),
            room: vec![0; RECEIVE_BYTES],
            out: Out::default(),
            number,
            now: 0,
            looked_around: 0,
        })
    }

    /// Serves until the face ends. Gives how many connections were cut off then.
    pub fn run(mut self) -> io::Result<usize> {
        let mut events: Vec<Event> = Vec::with_capacity(EVENTS_MAX);
        loop {
            let deadline = self.bell.deadline();
            if let Some(deadline) = deadline {
                self.close_finished();
                let open = self.seats.len() - self.free.len();
                if open == 0 || Instant::now() >= deadline {
                    self.seats.clear();
                    return Ok(open);
                }
            }
            let timeout = match deadline {
                Some(_) => Some(&LOOK_AROUND_AT_END),
                None => self.shared.limits.idle_timeout_s.map(|_| &LOOK_AROUND),
            };
            events.clear();
            match epoll::wait(&self.epoll, spare_capacity(&mut events), timeout) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            self.now = self.shared.seconds();
            for event in &events {
                let (mark, flags) = (event.data.u64(), event.flags);
                match mark {
                    BELL => self.answer_bell(),
                    mark => self.attend(mark, flags),
                }
            }
            self.close_idle();
        }
    }

    fn traffic(&self) -> &Traffic {
        &self.shared.traffic[self.number]
    }

    fn answer_bell(&mut self) {
        self.bell.hear();
        for connection in self.bell.arrivals() {
            self.seat(connection);
        }
        self.release();
    }

    fn seat(&mut self, mut connection: Connection) {
        let place = self.free.pop().unwrap_or_else(|| {
            self.seats.push(Seat::default());
            (self.seats.len() - 1) as u32
        });
        let seat = &mut self.seats[place as usize];
        let mark = u64::from(seat.generation) << 32 | u64::from(place);
        connection.interest = EventFlags::IN;
        let added = epoll::add(
            &self.epoll,
            &connection.socket,
            EventData::new_u64(mark),
            connection.interest,
        );
        seat.connection = Some(Box::new(connection));
        if let Err(error) = added {
            log::warn!("a connection cannot be waited for: {error}; it is closed");
            self.leave(place);
        }
    }

    fn leave(&mut self, place: u32) {
        let seat = &mut self.seats[place as usize];
        let Some(connection) = seat.connection.take() else { return };
        // The marks of the bell and of a seat must differ for ever.
        seat.generation = (seat.generation + 1) & (u32::MAX >> 1);
        self.free.push(place);
        self.bell.open.fetch_sub(1, Ordering::Relaxed);
        self.shared.kept_bytes.fetch_sub(connection.kept_bytes, Ordering::Relaxed);
        self.shared.leave(&connection.figures);
    }

    /// Does what can be done for a connection.
    fn attend(&mut self, mark: u64, flags: EventFlags) {
        let place = mark as u32;
        let Some(seat) = self.seats.get_mut(place as usize) else { return };
        if u64::from(seat.generation) != mark >> 32 {
            return;
        }
        let Some(mut connection) = seat.connection.take() else { return };
        let served = self.serve(&mut connection, flags);
        self.conclude(place, connection, served);
    }

    /// Puts a connection back, or ends it.
    fn conclude(&mut self, place: u32, mut connection: Box<Connection>, served: Result<(), Gone>) {
        let is_over = served.is_err() || connection.is_done() || !self.settle(&mut connection);
        if is_over && served.is_ok() && connection.course == Course::Closing {
            connection.drop_input(&mut self.room);
        }
        let wishes = connection.wishes();
        let mut is_lost = false;
        if !is_over && wishes != connection.interest {
            let seat = &self.seats[place as usize];
            let mark = u64::from(seat.generation) << 32 | u64::from(place);
            let changed =
                epoll::modify(&self.epoll, &connection.socket, EventData::new_u64(mark), wishes);
            is_lost = changed.is_err();
            connection.interest = wishes;
        }
        let waits = connection.holds() && !connection.is_awaited;
        connection.is_awaited |= waits;
        self.seats[place as usize].connection = Some(connection);
        if is_over || is_lost {
            self.leave(place);
        } else if waits {
            self.held.push(place);
            // What became durable before that was known rang no bell.
            if self.executor.wake_on_advance() {
                self.bell.ring();
            }
        }
    }

    fn serve(&mut self, connection: &mut Connection, flags: EventFlags) -> Result<(), Gone> {
        let has_gone = flags.intersects(EventFlags::HUP | EventFlags::ERR);
        if connection.may_send() && (has_gone || flags.contains(EventFlags::OUT)) {
            let sent = connection.flush()?;
            self.traffic().sent(sent);
        }
        if connection.is_paused && connection.has_room() {
            return self.carry_out(connection, 0);
        }
        if connection.is_paused || connection.course != Course::Open || !connection.has_room() {
            // The kernel would tell it again and again, and nobody takes the answers any more.
            return if has_gone { Err(Gone) } else { Ok(()) };
        }
        // That a client has gone is told by receiving, behind what it has sent.
        if !has_gone && !flags.contains(EventFlags::IN) {
            return Ok(());
        }
        match connection.receive(&mut self.room)? {
            Received::Nothing => Ok(()),
            Received::End => {
                connection.course = Course::HalfClosed;
                Ok(())
            }
            Received::Bytes(bytes) => {
                self.traffic().received(bytes);
                connection.figures.used.store(self.now, Ordering::Relaxed);
                self.carry_out(connection, bytes)
            }
        }
    }

    /// Carries out what a connection has sent, of which the last `fresh` bytes are in the room.
    fn carry_out(&mut self, connection: &mut Connection, fresh: usize) -> Result<(), Gone> {
        let mut fresh = fresh;
        loop {
            connection.session.is_short = self.is_short(0);
            let ran = self.run_session(connection, fresh);
            fresh = 0;
            let durable = match self.executor.durable() {
                Ok(durable) => durable,
                Err(reason) => {
                    connection.give_up(&reason);
                    self.out.clear();
                    let sent = connection.flush()?;
                    self.traffic().sent(sent);
                    return Ok(());
                }
            };
            if !self.out.bytes.is_empty() {
                let sent = connection.answer(&self.out.bytes, self.out.wait_for, durable)?;
                self.traffic().sent(sent);
                self.out.clear();
            }
            connection.is_paused = false;
            match ran.next {
                Next::Close => {
                    connection.course = Course::Closing;
                    connection.received.clear();
                    return Ok(());
                }
                Next::Input(missing) if missing > KEPT_BYTES_FREE && self.is_short(missing) => {
                    // It is told so; its data are passed over.
                    connection.session.is_short = true;
                    let ran = self.run_session(connection, 0);
                    debug_assert!(ran.next != Next::Room, "there is an answer of one line");
                }
                Next::Input(missing) => {
                    // Twice as much at a time, and in the end no more than it is.
                    let more = missing.min(connection.received.len());
                    connection.received.reserve_exact(more);
                    return Ok(());
                }
                Next::Room => {
                    connection.is_paused = true;
                    return Ok(());
                }
            }
        }
    }

    fn run_session(&mut self, connection: &mut Connection, fresh: usize) -> Ran {
        let (session, executor, out) = (&mut connection.session, &mut self.executor, &mut self.out);
        let fresh = &self.room[..fresh];
        if connection.received.is_empty() {
            let ran = session.run(fresh, executor, out);
            connection.received.extend_from_slice(&fresh[ran.used..]);
            ran
        } else {
            connection.received.extend_from_slice(fresh);
            let ran = session.run(&connection.received, executor, out);
            connection.received.drain(..ran.used);
            ran
        }
    }

    /// Whether there is no memory for so many bytes more.
    fn is_short(&self, more: usize) -> bool {
        let kept = self.shared.kept_bytes.load(Ordering::Relaxed);
        kept + more > self.shared.limits.kept_bytes_max
    }

    /// Counts what a connection keeps. False: all together keep too much, and this one not little.
    fn settle(&mut self, connection: &mut Connection) -> bool {
        let kept = connection.settle();
        if kept != connection.kept_bytes {
            let before = std::mem::replace(&mut connection.kept_bytes, kept);
            if kept > before {
                self.shared.kept_bytes.fetch_add(kept - before, Ordering::Relaxed);
            } else {
                self.shared.kept_bytes.fetch_sub(before - kept, Ordering::Relaxed);
            }
        }
        if kept <= KEPT_BYTES_FREE || !self.is_short(0) {
            return true;
        }
        count(&self.shared.counts.memory_closed, 1);
        log::debug!(
            "connections keep too much in memory: one from {} is closed",
            connection.figures.peer
        );
        false
    }

    /// Notes connections whose answers wait, and sends those that may leave.
    fn release(&mut self) {
        let held = std::mem::take(&mut self.held);
        if held.is_empty() {
            return;
        }
        let durable = self.executor.durable();
        for place in held {
            let Some(mut connection) = self.seats[place as usize].connection.take() else {
                continue;
            };
            connection.is_awaited = false;
            match &durable {
                Ok(durable) => connection.release(*durable),
                Err(reason) => connection.give_up(reason),
            }
            let sent = connection.flush();
            let served = sent.map(|sent| self.traffic().sent(sent));
            self.conclude(place, connection, served);
        }
    }

    /// Closes what has been idle for too long.
    fn close_idle(&mut self) {
        let Some(timeout) = self.shared.limits.idle_timeout_s else { return };
        if self.now == self.looked_around {
            return;
        }
        self.looked_around = self.now;
        for place in 0..self.seats.len() {
            let Some(connection) = &self.seats[place].connection else { continue };
            let idle = self.now.saturating_sub(connection.figures.used.load(Ordering::Relaxed));
            if idle > timeout {
                count(&self.shared.counts.idle_closed, 1);
                self.leave(place as u32);
            }
        }
    }

    /// The face ends: closes connections that have all their answers.
    fn close_finished(&mut self) {
        for place in 0..self.seats.len() {
            let waits = |c: &Connection| c.holds() || c.may_send() || c.is_paused;
            if self.seats[place].connection.as_deref().is_some_and(|c| !waits(c)) {
                self.leave(place as u32);
            }
        }
    }
}
