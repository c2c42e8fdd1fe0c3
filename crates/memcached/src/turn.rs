//! The event loop of one thread: it waits until something can be done for one of its connections,
//! and does it. The kernel tells as long as there is something (level-triggered), so nothing has to
//! be remembered but what must wait.

use crate::bell::Bell;
use crate::buffer::Buffer;
use crate::connection::{Connection, Course, Gone, Received};
use crate::executor::Executor;
use crate::figures::{Shared, Traffic, count};
use crate::limits::{EVENTS_MAX, KEPT_TIME_MAX, RECEIVE_BYTES, SMALL_BYTES_MAX};
use crate::out::Out;
use crate::session::Next;
use rustix::buffer::spare_capacity;
use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;
use wire::limits::GET_LINE_BYTES_MAX;

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
    /// Where everything is received, but for the rest of a large command: behind room for the
    /// little that a connection may keep, which is put before it.
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
            room: vec![0; SMALL_BYTES_MAX + RECEIVE_BYTES],
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
                None => {
                    let limits = &self.shared.limits;
                    let has_reason =
                        limits.idle_timeout_s.is_some() || self.shared.memory.used() > 0;
                    has_reason.then_some(&LOOK_AROUND)
                }
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
            self.look_around();
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
        let Some(mut connection) = seat.connection.take() else { return };
        // The marks of the bell and of a seat must differ for ever.
        seat.generation = (seat.generation + 1) & (u32::MAX >> 1);
        self.free.push(place);
        self.bell.open.fetch_sub(1, Ordering::Relaxed);
        self.shared.memory.resize(&mut connection.share, 0, self.now);
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
        connection.settle();
        let size = connection.size();
        let is_over =
            served.is_err() || connection.is_done() || !self.count_memory(&mut connection, size);
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
            return self.carry_out(connection, 0..0);
        }
        if connection.is_paused || connection.course != Course::Open || !connection.has_room() {
            // The kernel would tell it again and again, and nobody takes the answers any more.
            return if has_gone { Err(Gone) } else { Ok(()) };
        }
        // That a client has gone is told by receiving, behind what it has sent.
        if !has_gone && !flags.contains(EventFlags::IN) {
            return Ok(());
        }
        let is_large = connection.received.size() > SMALL_BYTES_MAX;
        let received = match is_large {
            true => connection.receive_more()?,
            false => connection.receive(&mut self.room[SMALL_BYTES_MAX..])?,
        };
        match received {
            Received::Nothing => Ok(()),
            Received::End => {
                connection.course = Course::HalfClosed;
                Ok(())
            }
            Received::Bytes(bytes) => {
                self.traffic().received(bytes);
                connection.figures.used.store(self.now, Ordering::Relaxed);
                if is_large {
                    return self.carry_out(connection, 0..0);
                }
                let kept = std::mem::take(&mut connection.received);
                let start = SMALL_BYTES_MAX - kept.len();
                self.room[start..SMALL_BYTES_MAX].copy_from_slice(kept.bytes());
                self.carry_out(connection, start..SMALL_BYTES_MAX + bytes)
            }
        }
    }

    /// Carries out what a connection has sent: what it keeps of that or, if that is nothing, what
    /// is in this part of the room.
    fn carry_out(&mut self, connection: &mut Connection, fresh: Range<usize>) -> Result<(), Gone> {
        let mut fresh = fresh;
        connection.session.is_short = false;
        loop {
            let next = self.run_session(connection, &mut fresh);
            self.answer(connection)?;
            connection.is_paused = next == Next::Room;
            count(&self.shared.counts.yields, u64::from(connection.is_paused));
            let missing = match next {
                _ if connection.course == Course::Closing => return Ok(()),
                Next::Close => {
                    connection.course = Course::Closing;
                    connection.received = Buffer::default();
                    return Ok(());
                }
                Next::Room => 0,
                Next::Input(missing) => missing,
            };
            if self.keep_input(connection, fresh.clone(), missing)? {
                return Ok(());
            }
            if connection.session.is_short || next == Next::Room {
                self.note_memory_closed(connection);
                return Err(Gone);
            }
            // A value is refused then, and its data are passed over.
            connection.session.is_short = true;
        }
    }

    fn run_session(&mut self, connection: &mut Connection, fresh: &mut Range<usize>) -> Next {
        let (session, executor, out) = (&mut connection.session, &mut self.executor, &mut self.out);
        let ran = if connection.received.is_empty() {
            let ran = session.run(&self.room[fresh.clone()], executor, out);
            fresh.start += ran.used;
            ran
        } else {
            let ran = session.run(connection.received.bytes(), executor, out);
            connection.received.consume(ran.used);
            ran
        };
        if ran.used > 0 {
            connection.kept_since = self.now;
        }
        ran.next
    }

    /// Sends the answers of a turn as far as that may and can be, and keeps the rest.
    fn answer(&mut self, connection: &mut Connection) -> Result<(), Gone> {
        let durable = match self.executor.durable() {
            Ok(durable) => durable,
            Err(reason) => {
                self.out.clear();
                connection.give_up(&reason)?;
                let sent = connection.flush()?;
                self.traffic().sent(sent);
                return Ok(());
            }
        };
        if self.out.bytes.is_empty() {
            return Ok(());
        }
        let out = std::mem::take(&mut self.out);
        let kept = self.send_or_keep(connection, &out, durable);
        self.out = out;
        self.out.clear();
        kept
    }

    fn send_or_keep(
        &self,
        connection: &mut Connection,
        out: &Out,
        durable: u64,
    ) -> Result<(), Gone> {
        let is_held = out.wait_for > durable || connection.holds();
        let sent = if is_held { 0 } else { connection.offer(&out.bytes)? };
        self.traffic().sent(sent);
        let rest = &out.bytes[sent..];
        if rest.is_empty() {
            return Ok(());
        }
        if !self.count_memory(connection, connection.size_with(rest.len())) {
            count(&self.shared.counts.answers_closed, 1);
            self.note_memory_closed(connection);
            return Err(Gone);
        }
        connection.keep(rest, is_held.then_some(out.wait_for))
    }

    /// Keeps what is not carried out, with room for so many bytes more. False: there is no memory
    /// for it.
    fn keep_input(
        &self,
        connection: &mut Connection,
        fresh: Range<usize>,
        missing: usize,
    ) -> Result<bool, Gone> {
        let there = connection.received.len();
        let rest = there + fresh.len();
        let wanted = match rest + missing {
            _ if rest == 0 => 0,
            all if all <= SMALL_BYTES_MAX || missing == 0 => rest,
            // Where a long line ends is not known.
            _ if missing == 1 => (2 * rest).min(rest.max(GET_LINE_BYTES_MAX) + RECEIVE_BYTES),
            all => all,
        };
        let size = Buffer::size_for(wanted);
        let has_room = there > 0 && connection.received.spare().len() >= missing;
        if has_room && connection.received.size() <= 2 * size {
            return Ok(true);
        }
        if !self.count_memory(connection, connection.size_if(size)) {
            return Ok(false);
        }
        let received = &mut connection.received;
        if received.size() > size {
            received.shrink().map_err(|_| Gone)?;
        }
        received.reserve(wanted - there).map_err(|_| Gone)?;
        received.append(&self.room[fresh]).map_err(|_| Gone)?;
        Ok(true)
    }

    /// Counts what a connection keeps. False: it is more than there is.
    fn count_memory(&self, connection: &mut Connection, size: usize) -> bool {
        self.shared.memory.resize(&mut connection.share, size, self.now)
    }

    fn note_memory_closed(&self, connection: &Connection) {
        count(&self.shared.counts.memory_closed, 1);
        log::debug!(
            "connections keep too much in memory: one from {} is closed",
            connection.figures.peer
        );
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
            let may_leave = match &durable {
                Ok(durable) => {
                    connection.release(*durable);
                    Ok(())
                }
                Err(reason) => connection.give_up(reason),
            };
            let sent = may_leave.and_then(|()| connection.flush());
            let served = sent.map(|sent| self.traffic().sent(sent));
            self.conclude(place, connection, served);
        }
    }

    /// Closes what has been idle for too long and, if memory is short, what has kept some of it for
    /// too long.
    fn look_around(&mut self) {
        let idle_max = self.shared.limits.idle_timeout_s;
        let is_short = self.shared.memory.is_short(self.now);
        if self.now == self.looked_around || (idle_max.is_none() && !is_short) {
            return;
        }
        self.looked_around = self.now;
        for place in 0..self.seats.len() {
            let Some(connection) = self.seats[place].connection.as_deref() else { continue };
            let idle = self.now.saturating_sub(connection.figures.used.load(Ordering::Relaxed));
            let kept = u64::from(self.now.saturating_sub(connection.kept_since));
            if idle_max.is_some_and(|max| idle > max) {
                count(&self.shared.counts.idle_closed, 1);
            } else if is_short && connection.share.bytes() > 0 && kept > KEPT_TIME_MAX.as_secs() {
                self.note_memory_closed(connection);
            } else {
                continue;
            }
            self.leave(place as u32);
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
