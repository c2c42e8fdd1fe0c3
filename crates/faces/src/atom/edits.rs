//! The points in time at which members were edited (`app:edited`, RFC 5023 §10.2): each later than
//! all before it, so that they order a collection without ties and without reading it.

use repository::Timestamp;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use wire::atom::Date;

/// When a member was edited, in microseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Edited(pub u64);

impl Edited {
    /// As it stands in keys and in cursors, where it sorts: 14 hexadecimal digits.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let is_one =
            text.len() == 14 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        u64::from_str_radix(text, 16).ok().filter(|_| is_one).map(Self)
    }

    /// The same as a date.
    pub(crate) fn date(self) -> Date {
        let us = i64::try_from(self.0).ok().and_then(Date::of_us);
        us.unwrap_or_else(|| Date::of_us(0).expect("1970 can be written"))
    }

    /// That a date stands for.
    pub(crate) fn of(date: Date) -> Self {
        Self(u64::try_from(date.us()).unwrap_or(0))
    }
}

impl fmt::Display for Edited {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:014x}", self.0)
    }
}

/// Gives each edit its time. There is one for a repository, so that edits of one publication by
/// several threads do not conflict over who is the last.
///
/// A new process goes on later than the one before: the time of views never runs back, what is
/// below a millisecond of it is counted here, and a process does not start within one.
#[derive(Debug, Default)]
pub(crate) struct Edits {
    last_us: AtomicU64,
}

impl Edits {
    /// The time of an edit by a transaction whose view has this time.
    pub(crate) fn next(&self, view: Timestamp) -> Edited {
        let now_us = view.0.saturating_mul(1_000);
        let after = |last: u64| now_us.max(last.saturating_add(1));
        let last = self
            .last_us
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |last| Some(after(last)));
        Edited(after(last.unwrap_or_else(|last| last)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_edit_is_later_than_all_before_it() {
        let edits = Edits::default();
        let times = [5, 5, 5, 4, 6].map(|ms| edits.next(Timestamp(ms)).0);
        assert_eq!(times, [5_000, 5_001, 5_002, 5_003, 6_000]);
    }

    #[test]
    fn times_sort_as_text() {
        let (early, late) = (Edited(0x0f), Edited(1_763_800_000_000_000));
        assert!(early.to_string() < late.to_string());
        assert_eq!(Edited::parse(&late.to_string()), Some(late));
        assert_eq!(Edited::of(late.date()), late);
        for wrong in ["", "0000000000000F", "00000000000000f", "0000000000000+"] {
            assert_eq!(Edited::parse(wrong), None, "{wrong}");
        }
    }
}
