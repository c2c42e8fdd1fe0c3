//! One user: what it remembers, and its way through operations, one at a time.

use super::browser::Browser;
use super::desk::Desk;
use super::lane::{Lane, Memory};
use super::mind::Mind;
use super::prepared::Action;
use super::step::{Failure, Trip};
use super::timetable::Timetable;
use crate::channel::Channels;
use crate::http1::Jar;
use crate::limits::RECONNECT_PAUSE;
use crate::measure::{Done, ErrorClass};
use crate::memcached;
use crate::plan::{Pacing, Plan, Position, Stage};
use crate::random::Random;
use std::rc::Rc;
use std::time::Duration;
use tokio::time::Instant;

/// How often a user that the ramp has sent away looks whether it is wanted again.
const AWAY: Duration = Duration::from_millis(50);

/// A user of the servers.
pub(crate) struct User {
    pub(super) desk: Rc<Desk>,
    pub(super) number: usize,
    /// Chooses operations.
    choice: Random,
    /// Draws pauses.
    pauses: Random,
    position: Position,
    /// What its requests are filled in from.
    pub(super) mind: Mind,
    /// What its requests tell servers of those before.
    pub(super) memory: Memory,
    pub(super) browser: Browser,
    /// Its requests that are under way at the same time; the first one is always there.
    pub(super) lanes: Vec<Lane>,
    /// Connections to caches; none if the plan has no steps for them.
    pub(super) caches: Option<memcached::Places>,
    /// Its WebSocket and its event stream, once it had one.
    pub(super) channels: Option<Box<Channels>>,
    pub(super) trip: Trip,
    /// By operation: whether it has been through those that are done once.
    has_done: Vec<bool>,
    /// The operation under way.
    pub(super) operation: usize,
    /// When its last operation was to start.
    last_start: Option<Instant>,
    /// When it did.
    last_began: Option<Instant>,
    /// Whether its last operation failed.
    has_failed: bool,
}

impl User {
    /// The user of this number. Must be made inside a runtime.
    pub(crate) fn new(desk: Rc<Desk>, number: usize) -> Self {
        let plan = &desk.brief.plan;
        let stream = |stream| Random::of_stream(plan.seed, number as u64, stream);
        let servers = plan.origins.len();
        let mut mind = Mind::new(plan, number);
        Self {
            number,
            choice: stream(0),
            pauses: stream(2),
            position: Position::default(),
            browser: Browser::new(mind.content.unit()),
            mind,
            memory: Memory::new(servers, plan.transport.bandwidth),
            lanes: vec![Lane::new(number, servers)],
            caches: desk.caches(number),
            channels: None,
            trip: Trip::default(),
            has_done: Vec::new(),
            operation: 0,
            last_start: None,
            last_began: None,
            has_failed: false,
            desk,
        }
    }

    pub(super) fn plan(&self) -> &Plan {
        &self.desk.brief.plan
    }

    /// The closed model: one operation after the other, from the user's start to the end.
    pub(crate) async fn live(mut self, users: &[Stage], start: Instant) {
        self.desk.sleep_until(start).await;
        // The clock is asked as rarely as can be: without a pause an operation begins when the last
        // one ends.
        let mut now = Instant::now();
        let mut intended = now;
        let repetitions = self.plan().repetitions.unwrap_or(u64::MAX);
        let is_done = |user: &Self| user.mind.iterations() >= repetitions || user.desk.is_over();
        while intended < self.timetable().last && !is_done(&self) {
            if !self.desk.is_active(users, self.number, now) {
                let last = self.timetable().last;
                tokio::time::sleep_until((now + AWAY).min(last)).await;
                now = Instant::now();
                intended = now;
                self.last_start = None;
                self.last_began = None;
                continue;
            }
            if !self.desk.may_start(now) {
                break;
            }
            let operation = self.choose();
            let finished = self.perform(operation, intended, now).await;
            (intended, now) = self.pause(operation, intended, finished).await;
        }
        self.leave();
    }

    /// Takes an arrival of the open model: what it sends goes by the number of that, not by who
    /// happened to be free.
    pub(crate) fn arrive(&mut self, number: u64) {
        self.mind.arrive(&self.desk.brief.plan, number);
        self.pauses = Random::of_stream(self.plan().seed, number, 2);
    }

    pub(crate) fn timetable(&self) -> Timetable {
        self.desk.timetable()
    }

    /// Sleeps until `at`; false if the run ends before that.
    pub(crate) async fn sleep_until(&self, at: Instant) -> bool {
        self.desk.sleep_until(at).await;
        !self.desk.is_over()
    }

    /// Notes what it leaves behind.
    pub(crate) fn leave(mut self) {
        self.channels.iter_mut().for_each(|channels| channels.abandon());
        let to_caches = self.caches.as_ref().map_or(0, |caches| caches.opened);
        let channels = self.channels.as_ref().map_or(0, |channels| channels.opened);
        let lanes = self.lanes.iter().map(Lane::opened).sum::<u64>();
        self.desk.leave(lanes + to_caches + channels);
    }

    /// Waits until the next operation is to start, and says when that is and what time it is.
    async fn pause(
        &mut self,
        operation: usize,
        began: Instant,
        now: Instant,
    ) -> (Instant, Instant) {
        let at = match self.plan().operations[operation].pacing {
            Pacing::None => return (now, now),
            Pacing::Think(distribution) => now + distribution.draw(&mut self.pauses),
            Pacing::Cycle(distribution) => began + distribution.draw(&mut self.pauses),
        };
        // The run may be extended meanwhile.
        let mut now = now;
        while now < at.min(self.timetable().last) && !self.desk.is_over() {
            let sleep = self.desk.sleep_until(at.min(self.timetable().last));
            match &mut self.channels {
                Some(channels) => channels.beside(sleep).await,
                None => sleep.await,
            }
            now = Instant::now();
        }
        (at, Instant::now())
    }

    /// Whether an operation may start now.
    pub(crate) fn may_start(&self, now: Instant) -> bool {
        self.desk.may_start(now)
    }

    /// The next operation of its mix.
    pub(crate) fn choose(&mut self) -> usize {
        let desk = Rc::clone(&self.desk);
        desk.brief.plan.mix.next(&mut self.position, &mut self.choice)
    }

    /// Whether its last operation failed.
    pub(crate) fn has_failed(&self) -> bool {
        self.has_failed
    }

    /// Performs an operation that was to start at `intended`, and notes what became of it. It is
    /// `now`; the end is given back.
    pub(crate) async fn perform(
        &mut self,
        operation: usize,
        intended: Instant,
        now: Instant,
    ) -> Instant {
        self.draw(operation);
        let is_open = self.plan().load.is_open();
        let is_paced = self.plan().operations[operation].pacing != Pacing::None;
        let cycle = self.last_start.filter(|_| is_paced).map(|last| intended - last);
        self.last_start = Some(intended);
        let lap = self.last_began.filter(|_| !is_open).map(|last| now - last);
        self.last_began = Some(now);
        self.desk.begin(now);
        self.trip.begin();
        let result = self.walk(operation).await;
        let finished = Instant::now();
        if let Some(channels) = &mut self.channels {
            self.trip.receive(channels.take_received());
        }
        let sent = self.trip.sent.get().unwrap_or(now);
        if is_open {
            self.desk.lagged(intended, sent.saturating_duration_since(intended));
        }
        let class = result.as_ref().err().map(Failure::class);
        let failure = result.as_ref().err().map(|failure| failure as &dyn std::fmt::Display);
        let done = Done {
            service: finished - sent,
            response: finished - intended.min(sent),
            cycle,
            received: self.trip.received.get(),
            statuses: self.trip.statuses.get_mut(),
            busy: finished - now,
            lap,
            cached: self.trip.cached.get(),
            failure: class.zip(failure),
        };
        // The phase goes by when it was sent, as long as nothing else was intended.
        let from = if is_open || is_paced { intended } else { sent };
        self.desk.end(operation, from, finished, &done);
        self.lanes.iter_mut().for_each(Lane::give_back);
        self.has_failed = class.is_some();
        if class == Some(ErrorClass::Connect) {
            // A server that is away is not answered with a busy loop.
            let end = self.timetable().last;
            tokio::time::sleep_until(end.min(finished + RECONNECT_PAUSE)).await;
            return Instant::now();
        }
        finished
    }

    fn draw(&mut self, operation: usize) {
        let desk = Rc::clone(&self.desk);
        let plan = &desk.brief.plan;
        self.operation = operation;
        self.mind.begin(plan, &desk.brief.prepared, operation);
        if plan.new_session {
            self.renew();
        }
    }

    /// Comes as somebody new.
    fn renew(&mut self) {
        self.memory.jars.iter_mut().for_each(|jar| Jar::forget(jar.get_mut()));
        self.browser.renew(self.mind.content.unit());
        self.channels.iter_mut().for_each(|channels| channels.abandon());
    }

    /// The steps, one after the other, until one fails.
    async fn walk(&mut self, operation: usize) -> Result<(), Failure> {
        let desk = Rc::clone(&self.desk);
        for action in &desk.brief.prepared.operations[operation].actions {
            match (action, self.channels.take()) {
                (Action::Channel(step), channels) => {
                    self.channels = channels;
                    self.on_channel(step).await?;
                }
                (Action::Once(other), channels) => {
                    self.channels = channels;
                    self.once(*other).await?;
                }
                (Action::NewSession, channels) => {
                    self.channels = channels;
                    self.renew();
                }
                (action, None) => self.act(action).await?,
                // Pings are answered, whatever the user is about.
                (action, Some(mut channels)) => {
                    let outcome = channels.beside(self.act(action)).await;
                    self.channels = Some(channels);
                    outcome?;
                }
            }
        }
        Ok(())
    }

    /// The steps of an operation that a user goes through once. If one fails, they are gone through
    /// again the next time.
    async fn once(&mut self, operation: usize) -> Result<(), Failure> {
        let count = self.plan().operations.len();
        self.has_done.resize(count, false);
        if !self.has_done[operation] {
            Box::pin(self.walk(operation)).await?;
            self.has_done[operation] = true;
        }
        Ok(())
    }

    /// A step that needs no channel.
    async fn act(&mut self, action: &Action) -> Result<(), Failure> {
        match action {
            Action::Http(request) => self.request(request).await,
            Action::Parallel(requests) => self.parallel(requests).await,
            Action::Memcached(command) => self.command(command).await,
            Action::OneOf(requests, turn) => {
                let one = self.mind.turn(&self.desk.brief.plan, *turn, requests.len());
                self.request(&requests[one]).await
            }
            Action::Pause(distribution) => {
                tokio::time::sleep(distribution.draw(&mut self.mind.content)).await;
                Ok(())
            }
            Action::Channel(_) | Action::Once(_) | Action::NewSession => Ok(()),
        }
    }
}
