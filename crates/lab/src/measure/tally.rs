//! What became of the operations of one kind in one phase: latencies, errors by class, statuses,
//! bytes, and how their starts were spaced. It judges nothing.

use super::errors::{ErrorClass, Errors};
use super::latency::Latency;
use super::statuses::{StatusClass, Statuses};
use std::fmt::Display;
use std::time::Duration;

/// One operation that is over.
pub(crate) struct Done<'a> {
    /// From when the first byte was sent to the last one received.
    pub(crate) service: Duration,
    /// From when it was to be sent to the last byte received.
    pub(crate) response: Duration,
    /// From the start of the user's operation before it, if it is paced.
    pub(crate) cycle: Option<Duration>,
    /// From when it began, a connection perhaps yet to be made, to its end.
    pub(crate) busy: Duration,
    /// From when the user's operation before it began, in the closed model.
    pub(crate) lap: Option<Duration>,
    /// Bytes received.
    pub(crate) received: u64,
    /// Of its complete replies.
    pub(crate) statuses: &'a [u16],
    /// Items that a cache had, and those that it had not.
    pub(crate) cached: (u64, u64),
    /// The class of the failure, and in words, if it failed.
    pub(crate) failure: Option<(ErrorClass, &'a dyn Display)>,
}

/// What became of the operations of one kind in one phase.
#[derive(Clone, Debug)]
pub struct Tally {
    service: Latency,
    response: Latency,
    errors: Errors,
    statuses: Statuses,
    received: u64,
    cached: (u64, u64),
    cycles: u64,
    cycle_time: Duration,
    busy: Spans,
    laps: Spans,
    /// By the class of the last reply; none while there are none.
    by_status: [Option<Box<Latency>>; StatusClass::ALL.len()],
    /// Of paced operations, from start to start: as planned, and as it was. None while there are
    /// none.
    spacing: [Option<Box<Latency>>; 2],
    /// None while there are none: most operations wait for none.
    messages: Option<Box<Latency>>,
}

/// Times of which only the sum and that of the squares are kept.
#[derive(Clone, Copy, Debug, Default)]
pub struct Spans {
    /// How many.
    pub count: u64,
    /// In seconds.
    pub sum_s: f64,
    /// In square seconds.
    squares: f64,
}

impl Spans {
    fn add(&mut self, time: Duration) {
        let seconds = time.as_secs_f64();
        self.merge(&Self { count: 1, sum_s: seconds, squares: seconds * seconds });
    }

    fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.sum_s += other.sum_s;
        self.squares += other.squares;
    }

    /// What is left, on average, of one that is going on at a moment chosen at random, in seconds.
    pub fn residual_s(&self) -> f64 {
        if self.sum_s > 0.0 { self.squares / (2.0 * self.sum_s) } else { 0.0 }
    }
}

impl Tally {
    /// Nothing yet.
    pub(crate) fn new() -> Self {
        Self {
            service: Latency::new(),
            response: Latency::new(),
            errors: Errors::default(),
            statuses: Statuses::new(),
            received: 0,
            cached: (0, 0),
            cycles: 0,
            cycle_time: Duration::ZERO,
            busy: Spans::default(),
            laps: Spans::default(),
            by_status: [const { None }; StatusClass::ALL.len()],
            spacing: [const { None }; 2],
            messages: None,
        }
    }

    /// Adds a message that came so long after it began to be waited for.
    pub(crate) fn record_message(&mut self, waited: Duration) {
        self.messages.get_or_insert_with(|| Box::new(Latency::new())).record(waited);
    }

    /// Adds an operation.
    pub(crate) fn record(&mut self, done: &Done<'_>) {
        self.received += done.received;
        self.add_cached(done.cached);
        done.statuses.iter().for_each(|status| self.statuses.add(*status));
        self.busy.add(done.busy);
        done.lap.iter().for_each(|lap| self.laps.add(*lap));
        if let Some(class) = StatusClass::of(done.statuses, done.failure.is_some()) {
            let latency = &mut self.by_status[class as usize];
            latency.get_or_insert_with(|| Box::new(Latency::new())).record(done.service);
        }
        if let Some(cycle) = done.cycle {
            self.cycles += 1;
            self.cycle_time += cycle;
            for (latency, time) in self.spacing.iter_mut().zip([Some(cycle), done.lap]) {
                let Some(time) = time else { continue };
                latency.get_or_insert_with(|| Box::new(Latency::new())).record(time);
            }
        }
        match done.failure {
            Some((class, why)) => self.errors.add(class, why),
            None => {
                self.service.record(done.service);
                self.response.record(done.response);
            }
        }
    }

    /// Adds all of another's.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.service.merge(&other.service);
        self.response.merge(&other.response);
        self.errors.merge(&other.errors);
        self.statuses.merge(&other.statuses);
        self.received += other.received;
        self.add_cached(other.cached);
        self.cycles += other.cycles;
        self.cycle_time += other.cycle_time;
        self.busy.merge(&other.busy);
        self.laps.merge(&other.laps);
        for (latency, more) in self.by_status.iter_mut().zip(&other.by_status) {
            merge_some(latency, more.as_deref());
        }
        for (latency, more) in self.spacing.iter_mut().zip(&other.spacing) {
            merge_some(latency, more.as_deref());
        }
        merge_some(&mut self.messages, other.messages.as_deref());
    }

    fn add_cached(&mut self, (hits, misses): (u64, u64)) {
        self.cached.0 += hits;
        self.cached.1 += misses;
    }

    /// Items that were asked of a cache and there.
    pub fn hits(&self) -> u64 {
        self.cached.0
    }

    /// Items that were asked of a cache and not there.
    pub fn misses(&self) -> u64 {
        self.cached.1
    }

    /// The share of hits; nothing if nothing was asked of a cache.
    pub fn hit_ratio(&self) -> Option<f64> {
        let all = self.cached.0 + self.cached.1;
        (all > 0).then(|| self.cached.0 as f64 / all as f64)
    }

    /// How many operations there were.
    pub fn operations(&self) -> u64 {
        self.successes() + self.errors.total()
    }

    /// How many of them were as they should be.
    pub fn successes(&self) -> u64 {
        self.service.count()
    }

    /// The successes' times from when they were sent.
    pub fn service(&self) -> &Latency {
        &self.service
    }

    /// The successes' times from when they were to be sent: what somebody who came at that time
    /// waited.
    pub fn response(&self) -> &Latency {
        &self.response
    }

    /// The service times of all operations that got an answer of this class, failed ones included;
    /// nothing if there were none.
    pub fn by_status(&self, class: StatusClass) -> Option<&Latency> {
        self.by_status[class as usize].as_deref()
    }

    /// The times of messages of WebSockets and of events, from when their operation had last sent
    /// something; none if none came.
    pub fn messages(&self) -> Option<&Latency> {
        self.messages.as_deref()
    }

    /// The others, by class.
    pub fn errors(&self) -> &Errors {
        &self.errors
    }

    /// The complete replies by status; an operation may have several.
    pub fn statuses(&self) -> &Statuses {
        &self.statuses
    }

    /// Bytes received, heads included.
    pub fn bytes_received(&self) -> u64 {
        self.received
    }

    /// The times that all operations took, failed ones and connections to be made included.
    pub fn busy(&self) -> &Spans {
        &self.busy
    }

    /// The times from a user's start of the operation before to that of this one, in the closed
    /// model.
    pub fn laps(&self) -> &Spans {
        &self.laps
    }

    /// The times from a user's planned start of the operation before to that of this one; nothing
    /// if none is paced.
    pub fn planned_cycles(&self) -> Option<&Latency> {
        self.spacing[0].as_deref()
    }

    /// The same from when they did start, of the closed model.
    pub fn actual_cycles(&self) -> Option<&Latency> {
        self.spacing[1].as_deref()
    }

    /// The mean time from a user's planned start of the operation before to that of this one;
    /// nothing if none is paced.
    pub fn cycle(&self) -> Option<Duration> {
        (self.cycles > 0).then(|| self.cycle_time.div_f64(self.cycles as f64))
    }
}

fn merge_some(latency: &mut Option<Box<Latency>>, more: Option<&Latency>) {
    match (latency, more) {
        (Some(latency), Some(more)) => latency.merge(more),
        (empty @ None, Some(more)) => *empty = Some(Box::new(more.clone())),
        (_, None) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn done(failure: Option<(ErrorClass, &'static dyn Display)>) -> Done<'static> {
        let statuses = &[200, 999];
        Done {
            service: MS,
            response: 2 * MS,
            cycle: Some(5 * MS),
            busy: 2 * MS,
            lap: None,
            received: 10,
            statuses,
            cached: (3, 1),
            failure,
        }
    }

    #[test]
    fn successes_and_failures_are_told_apart() {
        let mut tally = Tally::new();
        tally.record(&done(None));
        tally.record(&done(Some((ErrorClass::Timeout, &"late"))));
        assert_eq!((tally.operations(), tally.successes(), tally.bytes_received()), (2, 1, 20));
        assert_eq!(tally.errors().count(ErrorClass::Timeout), 1);
        assert_eq!(tally.statuses().iter().collect::<Vec<_>>(), [(200, 2)]);
        assert_eq!(tally.cycle(), Some(5 * MS));
        assert_eq!((tally.busy().count, tally.busy().residual_s()), (2, 0.001));
        assert_eq!((tally.laps().count, tally.laps().residual_s()), (0, 0.0));
        assert_eq!((tally.hits(), tally.misses(), tally.hit_ratio()), (6, 2, Some(0.75)));
        assert_eq!(Tally::new().hit_ratio(), None);
        let near = |got: Option<f64>, ms: f64| (got.unwrap() - ms).abs() < ms / 500.0;
        assert!(near(tally.service().max_ms(), 1.0) && near(tally.response().max_ms(), 2.0));
    }

    #[test]
    fn times_are_kept_by_the_class_of_the_last_reply() {
        let of = |statuses: &'static [u16], failure| Done { statuses, ..done(failure) };
        let mut tally = Tally::new();
        tally.record(&of(&[302, 200], None));
        tally.record(&of(&[304], None));
        tally.record(&of(&[404], None));
        tally.record(&of(&[], None));
        let mut other = Tally::new();
        other.record(&of(&[200, 503], Some((ErrorClass::Status5xx, &"busy"))));
        other.record(&of(&[200], Some((ErrorClass::Check, &"another"))));
        other.record(&of(&[], Some((ErrorClass::Timeout, &"late"))));
        tally.merge(&other);
        let counts = StatusClass::ALL.map(|class| tally.by_status(class).map(Latency::count));
        assert_eq!(counts, [Some(2), Some(1), Some(1), Some(1), Some(1)]);
        assert!(StatusClass::ALL.iter().all(|class| Tally::new().by_status(*class).is_none()));
    }

    #[test]
    fn cycles_are_kept_as_planned_and_as_they_were() {
        let mut tally = Tally::new();
        tally.record(&Done { lap: Some(7 * MS), ..done(None) });
        // Nobody planned when this was to start.
        tally.record(&Done { cycle: None, lap: Some(9 * MS), ..done(None) });
        let mut all = Tally::new();
        assert!(all.planned_cycles().is_none() && all.actual_cycles().is_none());
        all.merge(&tally);
        let longest = |cycles: Option<&Latency>| cycles.unwrap().max_ms().unwrap().round();
        assert_eq!((longest(all.planned_cycles()), longest(all.actual_cycles())), (5.0, 7.0));
    }

    #[test]
    fn messages_are_counted_apart() {
        let mut tally = Tally::new();
        assert!(tally.messages().is_none());
        tally.record_message(MS);
        let mut other = Tally::new();
        other.merge(&tally);
        other.merge(&tally);
        assert_eq!((other.messages().unwrap().count(), other.operations()), (2, 0));
    }

    #[test]
    fn merging_adds_everything_and_keeps_the_first_reason() {
        let mut all = Tally::new();
        all.record(&done(Some((ErrorClass::Closed, &"first"))));
        let mut other = Tally::new();
        other.record(&done(None));
        other.record(&done(Some((ErrorClass::Closed, &"second"))));
        all.merge(&other);
        assert_eq!((all.operations(), all.successes(), all.bytes_received()), (3, 1, 30));
        assert_eq!(all.statuses().count(200), 3);
        assert_eq!(all.errors().to_string(), "2 closed (first: first)");
    }
}
