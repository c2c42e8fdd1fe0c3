//! One user: what it remembers, and its way through operations, one at a time.

use super::desk::{Brief, Desk};
use super::fill::Fill;
use super::prepared::Action;
use super::step::{Failure, Trip};
use super::timetable::Timetable;
use crate::http1::Jar;
use crate::limits::RECONNECT_PAUSE;
use crate::measure::{Done, ErrorClass};
use crate::plan::{Load, Pacing, Plan, Position, Stage};
use crate::random::Random;
use crate::transport::Client;
use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;
use tokio::time::Instant;

/// How often a user that the ramp has sent away looks whether it is wanted again.
const AWAY: Duration = Duration::from_millis(50);

/// Numbers that an operation draws before its first step, so that they do not depend on what the
/// server answers.
#[derive(Clone, Copy)]
pub(crate) struct Draw {
    key: u64,
    other: u64,
    nonce: u64,
}

impl Draw {
    /// `key` and `other` are two numbers below `keys`, every pair as likely as any; if there is one
    /// number only, they are the same.
    pub(crate) fn new(random: &mut Random, keys: u64) -> Self {
        let (key, nonce) = (random.below(keys), random.number());
        let distance = if keys > 1 { 1 + nonce % (keys - 1) } else { 0 };
        Self { key, other: (key + distance) % keys, nonce }
    }
}

/// A user of the servers.
pub(crate) struct User {
    pub(super) desk: Rc<Desk>,
    pub(super) number: usize,
    /// Chooses operations.
    choice: Random,
    /// Fills in what they send.
    pub(super) content: Random,
    /// Draws pauses.
    pauses: Random,
    position: Position,
    pub(super) iteration: u64,
    /// By server.
    pub(super) clients: Vec<Client>,
    pub(super) jars: Vec<RefCell<Jar>>,
    draw: Draw,
    /// The request as it is sent, and its body; kept so that the next needs no memory.
    pub(super) buffers: (Vec<u8>, Vec<u8>),
    /// Of the replies in the operation so far.
    pub(super) statuses: Vec<u16>,
    /// When its last operation was to start.
    last_start: Option<Instant>,
}

impl User {
    /// The user of this number. Must be made inside a runtime.
    pub(crate) fn new(desk: Rc<Desk>, number: usize) -> Self {
        let Brief { plan, .. } = &desk.brief;
        let servers = &desk.servers;
        let stream = |stream| Random::of_stream(plan.seed, number as u64, stream);
        let mut content = stream(1);
        Self {
            number,
            choice: stream(0),
            pauses: stream(2),
            draw: Draw::new(&mut content, plan.keys),
            content,
            position: Position::default(),
            iteration: 0,
            clients: servers.iter().map(|server| Client::new(server, number)).collect(),
            jars: servers.iter().map(|_| RefCell::default()).collect(),
            buffers: (Vec::new(), Vec::new()),
            statuses: Vec::new(),
            last_start: None,
            desk,
        }
    }

    pub(super) fn plan(&self) -> &Plan {
        &self.desk.brief.plan
    }

    /// The closed model: one operation after the other, from the user's start to the end.
    pub(crate) async fn live(mut self, users: &[Stage], start: Instant) {
        self.desk.sleep_until(start).await;
        let mut intended = Instant::now();
        let last = self.desk.brief.timetable.last;
        while intended < last && !self.desk.is_over() {
            let now = Instant::now();
            if !self.desk.is_active(users, self.number, now) {
                tokio::time::sleep_until((now + AWAY).min(last)).await;
                intended = Instant::now();
                self.last_start = None;
                continue;
            }
            if !self.desk.may_start(now) {
                break;
            }
            let desk = Rc::clone(&self.desk);
            let operation = desk.brief.plan.mix.next(&mut self.position, &mut self.choice);
            self.perform(operation, intended).await;
            intended = self.pause(operation, intended).await;
        }
        self.leave();
    }

    /// Takes an arrival of the open model: what it sends goes by the number of that, not by who
    /// happened to be free.
    pub(crate) fn arrive(&mut self, number: u64) {
        self.content = Random::of_stream(self.plan().seed, number, 1);
        self.pauses = Random::of_stream(self.plan().seed, number, 2);
    }

    pub(crate) fn timetable(&self) -> Timetable {
        self.desk.brief.timetable
    }

    /// Sleeps until `at`; false if the run ends before that.
    pub(crate) async fn sleep_until(&self, at: Instant) -> bool {
        self.desk.sleep_until(at).await;
        !self.desk.is_over()
    }

    /// Notes what it leaves behind.
    pub(crate) fn leave(self) {
        self.desk.leave(self.clients.iter().map(|client| client.opened).sum());
    }

    /// Waits until the next operation is to start, and says when that is.
    async fn pause(&mut self, operation: usize, began: Instant) -> Instant {
        let now = Instant::now();
        let at = match self.plan().operations[operation].pacing {
            Pacing::None => return now,
            Pacing::Think(distribution) => now + distribution.draw(&mut self.pauses),
            Pacing::Cycle(distribution) => began + distribution.draw(&mut self.pauses),
        };
        if at > now {
            self.desk.sleep_until(at.min(self.desk.brief.timetable.last)).await;
        }
        at
    }

    /// Performs an operation that was to start at `intended`, and notes what became of it.
    pub(crate) async fn perform(&mut self, operation: usize, intended: Instant) {
        self.draw();
        let is_open = !matches!(self.plan().load, Load::Closed { .. });
        let is_paced = self.plan().operations[operation].pacing != Pacing::None;
        let cycle = self.last_start.filter(|_| is_paced).map(|last| intended - last);
        self.last_start = Some(intended);
        let now = Instant::now();
        self.desk.begin(now);
        self.statuses.clear();
        let mut trip = Trip { operation, sent: None, received: 0 };
        let result = self.walk(&mut trip).await;
        let finished = Instant::now();
        let sent = trip.sent.unwrap_or(now);
        if is_open {
            self.desk.lagged(intended, sent.saturating_duration_since(intended));
        }
        let class = result.as_ref().err().map(Failure::class);
        let failure = result.as_ref().err().map(|failure| failure as &dyn std::fmt::Display);
        let done = Done {
            service: finished - sent,
            response: finished - intended.min(sent),
            cycle,
            received: trip.received,
            statuses: &self.statuses,
            failure: class.zip(failure),
        };
        // The phase goes by when it was sent, as long as nothing else was intended.
        let from = if is_open || is_paced { intended } else { sent };
        self.desk.end(operation, from, finished, &done);
        if class == Some(ErrorClass::Connect) {
            // A server that is away is not answered with a busy loop.
            let end = self.desk.brief.timetable.last;
            tokio::time::sleep_until(end.min(finished + RECONNECT_PAUSE)).await;
        }
    }

    fn draw(&mut self) {
        let desk = Rc::clone(&self.desk);
        let plan = &desk.brief.plan;
        self.draw = Draw::new(&mut self.content, plan.keys);
        if plan.new_session {
            self.jars.iter_mut().for_each(|jar| jar.get_mut().forget());
        }
        self.iteration += 1;
    }

    /// The steps, one after the other, until one fails.
    async fn walk(&mut self, trip: &mut Trip) -> Result<(), Failure> {
        let desk = Rc::clone(&self.desk);
        for action in &desk.brief.prepared.operations[trip.operation] {
            match action {
                Action::Http(server, request) => self.request(*server, request, trip).await?,
                Action::Pause(distribution) => {
                    tokio::time::sleep(distribution.draw(&mut self.pauses)).await;
                }
            }
        }
        Ok(())
    }

    /// What its templates are filled in from, and the buffers for requests.
    pub(super) fn fill(&mut self) -> (Fill<'_>, (&mut Vec<u8>, &mut Vec<u8>)) {
        let fill = Fill {
            key: self.draw.key,
            other: self.draw.other,
            nonce: self.draw.nonce,
            user: self.number as u64,
            iteration: self.iteration - 1,
            random: &mut self.content,
        };
        (fill, (&mut self.buffers.0, &mut self.buffers.1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_key_is_never_the_same_one() {
        let mut random = Random::of_user(1, 2);
        let draws: Vec<Draw> = (0..10_000).map(|_| Draw::new(&mut random, 3)).collect();
        for key in 0..3 {
            for other in (0..3).filter(|other| *other != key) {
                let found = draws.iter().filter(|d| d.key == key && d.other == other).count();
                assert!((1_400..1_950).contains(&found), "{key} and {other}: {found}");
            }
        }
        assert!(draws.iter().all(|d| d.key != d.other && d.other < 3));
        assert_eq!(Draw::new(&mut random, 1).other, 0);
    }
}
