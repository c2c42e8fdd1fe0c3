//! What a user's browser has fetched in this session, and with that what it asks for again when a
//! page names it: Olio's rule. In a session with an empty cache every part is fetched once. In the
//! others style sheets and scripts are asked for on each page whether they have changed, if the
//! user knows them; images, which servers give long lives, are fetched once.

use super::extract::Kind;
use super::lane::Versions;
use super::reference::Location;
use crate::limits::RESOURCES_REMEMBERED_MAX;
use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};

/// See above.
pub(crate) struct Browser {
    /// Drawn for the session: it is one with an empty cache if this is below their share.
    coin: f64,
    /// The parts that it has, by their hashes: two in 2^64 may be taken for one.
    seen: HashSet<u64>,
    hashes: RandomState,
}

impl Browser {
    /// Of a session with this coin, from 0 to 1.
    pub(crate) fn new(coin: f64) -> Self {
        Self { coin, seen: HashSet::new(), hashes: RandomState::new() }
    }

    /// Begins another session.
    pub(crate) fn renew(&mut self, coin: f64) {
        self.coin = coin;
        self.seen.clear();
    }

    /// Whether a part is to be fetched, and what is said of the version that the user has; `cold`
    /// is the share of sessions with an empty cache.
    pub(crate) fn wants(&mut self, part: &Location, kind: Kind, cold: f64) -> Option<Versions> {
        if self.seen.len() == RESOURCES_REMEMBERED_MAX {
            self.seen.clear();
        }
        let is_new = self.seen.insert(self.hashes.hash_one((part.server, &part.path)));
        let is_cold = self.coin < cold;
        match kind {
            Kind::Code if is_cold => is_new.then_some(Versions::Noted),
            Kind::Code => Some(Versions::Asked),
            Kind::Image => is_new.then_some(Versions::Ignored),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(path: &str) -> Location {
        Location { server: 0, path: path.into() }
    }

    #[test]
    fn sessions_with_an_empty_cache_fetch_everything_once() {
        let mut browser = Browser::new(0.3);
        let mut wants = |kind| browser.wants(&part("/a"), kind, 0.4);
        assert_eq!(wants(Kind::Code), Some(Versions::Noted));
        assert_eq!(wants(Kind::Code), None);
        browser.renew(0.3);
        assert_eq!(browser.wants(&part("/a"), Kind::Image, 0.4), Some(Versions::Ignored));
    }

    #[test]
    fn the_others_ask_for_code_again_but_not_for_images() {
        let mut browser = Browser::new(0.4);
        for _ in 0..2 {
            assert_eq!(browser.wants(&part("/a"), Kind::Code, 0.4), Some(Versions::Asked));
        }
        assert_eq!(browser.wants(&part("/b"), Kind::Image, 0.4), Some(Versions::Ignored));
        assert_eq!(browser.wants(&part("/b"), Kind::Image, 0.4), None);
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let mut browser = Browser::new(0.0);
        for i in 0..2 * RESOURCES_REMEMBERED_MAX {
            assert!(browser.wants(&part(&i.to_string()), Kind::Image, 1.0).is_some());
            assert!(browser.seen.len() <= RESOURCES_REMEMBERED_MAX);
        }
    }
}
