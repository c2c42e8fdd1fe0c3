//! Whether one use is enough to be taken for proven. What is written once and read once (a session,
//! a code, a job's result) would fill the queue of proven items with what nobody wants any more; of
//! other items most are used again. Those that were taken by as few uses as can be are on trial:
//! how many of them were used again decides about the next.

use crate::key::Hash;
use crate::limits::{TRIAL_PERCENT_MIN, TRIALS_OF_SIXTEEN};

/// What stands for all.
const ALL: u32 = 1 << 16;

/// Trials over which the share is a mean, about.
const MEAN_OF: u32 = 256;

pub(crate) struct Trials {
    /// The share of them that were used again, of [`ALL`].
    share: u32,
}

impl Trials {
    pub fn new() -> Self {
        Self { share: ALL }
    }

    /// One is over: was it used again?
    pub fn note(&mut self, was_used: bool) {
        let kept = self.share - self.share.div_ceil(MEAN_OF);
        self.share = if was_used { kept + ALL / MEAN_OF } else { kept };
    }

    /// Whether an item may be taken on trial: some always may, or a change would not be noticed.
    pub fn may_begin(&self, hash: Hash) -> bool {
        self.share >= ALL / 100 * TRIAL_PERCENT_MIN || hash.print() % 16 < TRIALS_OF_SIXTEEN
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::Hashing;

    fn may_begin(trials: &Trials) -> usize {
        let hash = |n: u32| Hashing::new(1).hash(&n.to_le_bytes());
        (0..1_600).filter(|n| trials.may_begin(hash(*n))).count()
    }

    #[test]
    fn few_may_begin_while_few_are_used_again_and_all_when_more_are() {
        let mut trials = Trials::new();
        assert_eq!(may_begin(&trials), 1_600);
        for n in 0..4_000 {
            trials.note(n % 3 == 0);
            assert_eq!(may_begin(&trials), 1_600, "after {n}");
        }
        (0..4_000).for_each(|n| trials.note(n % 50 == 0));
        let some = may_begin(&trials);
        assert!((50..200).contains(&some), "{some}");
        (0..4_000).for_each(|n| trials.note(n % 3 == 0));
        assert_eq!(may_begin(&trials), 1_600);
    }

    #[test]
    fn the_share_stays_a_share() {
        let mut trials = Trials::new();
        (0..10_000).for_each(|_| trials.note(true));
        assert!(trials.share <= ALL, "{}", trials.share);
        (0..10_000).for_each(|_| trials.note(false));
        assert_eq!(trials.share, 0);
    }
}
