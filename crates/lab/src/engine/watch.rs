//! Who is told how a run goes on, and may end it before its time. What they make of it is theirs.

use crate::measure::{Interval, Row, SeriesHead};
use crate::progress::Tick;
use std::time::{Duration, SystemTime};

/// What a run tells while it goes on. All of it is called on the thread that called
/// [`run`](super::run), which does nothing of the load itself.
pub trait Watch {
    /// Before anything is sent: when second 0 of the run begins.
    fn begin(&mut self, _start: SystemTime) {}

    /// About once a second: how it stands.
    fn tick(&mut self, tick: &Tick);

    /// Each second of the run, of all threads, when all of them have told it.
    fn second(&mut self, interval: &Interval);

    /// Each second of the run and series: what was read of a process, this machine or an endpoint.
    /// The head of a series is always the same.
    fn observed(&mut self, _head: &SeriesHead, _row: &Row) {}

    /// Asked some times a second: whether the run is to end now. Then nothing is started any more,
    /// what is in flight is waited for, and the run is INVALID unless all was measured already.
    fn stops(&mut self) -> bool {
        false
    }

    /// Asked some times a second: by how much longer than until now the measured interval is to be.
    /// Nothing becomes of it in its last second. A report says that the run was extended.
    fn extends(&mut self) -> Duration {
        Duration::ZERO
    }
}

/// Several, each of which is told everything; one of them is enough to end the run.
pub struct All<'a>(pub Vec<&'a mut dyn Watch>);

impl Watch for All<'_> {
    fn begin(&mut self, start: SystemTime) {
        self.0.iter_mut().for_each(|watch| watch.begin(start));
    }

    fn tick(&mut self, tick: &Tick) {
        self.0.iter_mut().for_each(|watch| watch.tick(tick));
    }

    fn second(&mut self, interval: &Interval) {
        self.0.iter_mut().for_each(|watch| watch.second(interval));
    }

    fn observed(&mut self, head: &SeriesHead, row: &Row) {
        self.0.iter_mut().for_each(|watch| watch.observed(head, row));
    }

    fn stops(&mut self) -> bool {
        let mut stops = false;
        for watch in &mut self.0 {
            // Every one is asked, also after the first that says so.
            stops |= watch.stops();
        }
        stops
    }

    fn extends(&mut self) -> Duration {
        self.0.iter_mut().map(|watch| watch.extends()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct One {
        seconds: Vec<u64>,
        asked: u32,
        stops: bool,
    }

    impl Watch for One {
        fn tick(&mut self, _: &Tick) {}

        fn second(&mut self, interval: &Interval) {
            self.seconds.push(interval.second);
        }

        fn stops(&mut self) -> bool {
            self.asked += 1;
            self.stops
        }
    }

    #[test]
    fn everyone_is_told_and_one_is_enough_to_stop() {
        let (mut first, mut second) = (One { stops: true, ..One::default() }, One::default());
        let mut all = All(vec![&mut first, &mut second]);
        all.second(&Interval::new(7, 1));
        assert!(all.stops());
        assert_eq!((first.seconds, first.asked), (vec![7], 1));
        assert_eq!((second.seconds, second.asked), (vec![7], 1));
        assert!(!All(vec![&mut One::default()]).stops() && !All(Vec::new()).stops());
    }
}
