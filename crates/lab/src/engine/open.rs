//! The open model: what arrives is given to a user that is free, whatever the server does. A user
//! is a task that waits for what it is given; none is made for an arrival, which would cost as much
//! as the request.

use super::alarm::Alarm;
use super::desk::Desk;
use super::schedule::Arrival;
use super::user::User;
use super::worker::join;
use crate::plan::Position;
use crate::random::Random;
use std::cell::{Cell, RefCell};
use std::ops::Range;
use std::rc::Rc;
use std::time::Duration;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::Instant;

/// What a user is given.
struct Job {
    /// Of the arrival.
    number: u64,
    operation: usize,
    at: Instant,
}

/// Where a user waits.
#[derive(Default)]
struct Seat {
    job: Cell<Option<Job>>,
    called: Notify,
}

impl Seat {
    /// Nothing: it may leave.
    fn call(&self, job: Option<Job>) {
        self.job.set(job);
        self.called.notify_one();
    }
}

/// The users that are free, and those that are not made yet.
pub(super) struct Gate {
    desk: Rc<Desk>,
    /// The last that came back is the first to go: as few are busy as the load needs.
    free: RefCell<Vec<Rc<Seat>>>,
    unmade: RefCell<Range<usize>>,
    /// Nothing arrives any more.
    is_closed: Cell<bool>,
}

impl Gate {
    pub(super) fn new(desk: Rc<Desk>, users: Range<usize>) -> Rc<Self> {
        let (free, unmade) = (RefCell::default(), RefCell::new(users));
        Rc::new(Self { desk, free, unmade, is_closed: Cell::new(false) })
    }

    /// One that is free; it lives in `users`.
    fn take(self: &Rc<Self>, users: &mut JoinSet<()>) -> Option<Rc<Seat>> {
        let free = self.free.borrow_mut().pop();
        free.or_else(|| {
            let number = self.unmade.borrow_mut().next()?;
            let user = User::new(Rc::clone(&self.desk), number);
            let seat = Rc::new(Seat::default());
            users.spawn_local(Rc::clone(self).live(user, Rc::clone(&seat)));
            Some(seat)
        })
    }

    async fn live(self: Rc<Self>, mut user: User, seat: Rc<Seat>) {
        loop {
            seat.called.notified().await;
            let Some(Job { number, operation, at }) = seat.job.take() else { break };
            user.arrive(number);
            user.perform(operation, at, Instant::now()).await;
            if self.is_closed.get() {
                break;
            }
            self.free.borrow_mut().push(Rc::clone(&seat));
        }
        user.leave();
    }

    fn close(&self) {
        self.is_closed.set(true);
        self.free.borrow_mut().drain(..).for_each(|seat| seat.call(None));
    }
}

/// A wait for an arrival that is not slept through in one go, so that the run can end meanwhile.
const LONG: Duration = Duration::from_millis(100);

/// Starts an operation for each arrival, and waits for all of them.
pub(super) async fn come(gate: Rc<Gate>, alarm: Alarm, schedule: impl Iterator<Item = Arrival>) {
    let desk = Rc::clone(&gate.desk);
    let plan = &desk.brief.plan;
    let mut users = JoinSet::new();
    let mut position = Position::default();
    for arrival in schedule {
        let at = desk.brief.timetable.start + arrival.offset;
        while Instant::now() + LONG < at.min(desk.timetable().last) && !desk.is_over() {
            desk.sleep_until(at.min(desk.timetable().last) - LONG).await;
        }
        if at >= desk.timetable().last {
            // Nothing is extended in what is left; that none comes in it is a part of the load.
            desk.sleep_until(desk.timetable().last).await;
            break;
        }
        if desk.is_over() || alarm.wait(at).await.is_err() {
            // Without a timer it would be another load.
            break;
        }
        if !desk.may_start(at) {
            break;
        }
        // By the number of the arrival, so that it does not depend on what came before.
        let mut choice = Random::of_stream(plan.seed, arrival.number, 3);
        let operation = plan.mix.next(&mut position, &mut choice);
        match gate.take(&mut users) {
            Some(seat) => seat.call(Some(Job { number: arrival.number, operation, at })),
            None => desk.dropped(at),
        }
    }
    gate.close();
    join(&mut users).await;
}
