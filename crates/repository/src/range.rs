//! Ranges of keys and the direction in which they are read.

use crate::name::Key;
use std::cmp::Ordering;
use std::ops::Bound;

/// The order in which a range is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Direction {
    /// From the smallest key on.
    #[default]
    Ascending,
    /// From the largest key on.
    Descending,
}

impl Direction {
    /// Compares as this direction reads: what comes first is less.
    pub(crate) fn compare<T: Ord + ?Sized>(self, a: &T, b: &T) -> Ordering {
        match self {
            Self::Ascending => a.cmp(b),
            Self::Descending => b.cmp(a),
        }
    }
}

/// Keys of one collection between two bounds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRange {
    /// Where the smallest keys lie.
    pub from: Bound<Key>,
    /// Where the largest keys lie.
    pub to: Bound<Key>,
}

impl KeyRange {
    /// The keys between the two.
    pub fn new(from: Bound<Key>, to: Bound<Key>) -> Self {
        Self { from, to }
    }

    /// Every key.
    pub fn all() -> Self {
        Self::new(Bound::Unbounded, Bound::Unbounded)
    }

    /// Every key that starts with `prefix`.
    pub fn prefix(prefix: &str) -> Self {
        if prefix.is_empty() {
            return Self::all();
        }
        let from = Bound::Included(Key::generated(prefix.to_owned()));
        let to = match successor(prefix) {
            Some(end) => Bound::Excluded(Key::generated(end)),
            None => Bound::Unbounded,
        };
        Self { from, to }
    }

    /// Whether no key can lie between the bounds.
    pub(crate) fn is_empty(&self) -> bool {
        match (&self.from, &self.to) {
            (Bound::Included(from), Bound::Included(to)) => from > to,
            (Bound::Excluded(from), Bound::Included(to))
            | (Bound::Included(from) | Bound::Excluded(from), Bound::Excluded(to)) => from >= to,
            _ => false,
        }
    }

    /// Whether `key` lies between the bounds.
    pub(crate) fn contains(&self, key: &Key) -> bool {
        let after = match &self.from {
            Bound::Included(from) => key >= from,
            Bound::Excluded(from) => key > from,
            Bound::Unbounded => true,
        };
        let before = match &self.to {
            Bound::Included(to) => key <= to,
            Bound::Excluded(to) => key < to,
            Bound::Unbounded => true,
        };
        after && before
    }

    /// Whether all of the range comes after `key` for a reader in `direction`.
    pub(crate) fn is_after(&self, key: &Key, direction: Direction) -> bool {
        match (direction, &self.from, &self.to) {
            (Direction::Ascending, Bound::Included(from), _) => key < from,
            (Direction::Ascending, Bound::Excluded(from), _) => key <= from,
            (Direction::Descending, _, Bound::Included(to)) => key > to,
            (Direction::Descending, _, Bound::Excluded(to)) => key >= to,
            _ => false,
        }
    }

    /// The part that a reader in `direction` has seen who stopped at `last`.
    pub(crate) fn up_to(mut self, last: &Key, direction: Direction) -> Self {
        match direction {
            Direction::Ascending => self.to = Bound::Included(last.clone()),
            Direction::Descending => self.from = Bound::Included(last.clone()),
        }
        self
    }

    /// The part that a reader in `direction` has before it who has just read `last`.
    pub(crate) fn after(mut self, last: &Key, direction: Direction) -> Self {
        match direction {
            Direction::Ascending => self.from = Bound::Excluded(last.clone()),
            Direction::Descending => self.to = Bound::Excluded(last.clone()),
        }
        self
    }
}

/// The smallest text that is larger than every text with this prefix, if there is one.
fn successor(prefix: &str) -> Option<String> {
    let mut chars: Vec<char> = prefix.chars().collect();
    while let Some(last) = chars.pop() {
        let next = (last as u32 + 1..=char::MAX as u32).find_map(char::from_u32);
        if let Some(next) = next {
            chars.push(next);
            return Some(chars.into_iter().collect());
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(key: &str) -> Key {
        Key::new(key).unwrap()
    }

    #[test]
    fn a_prefix_holds_just_its_keys() {
        let range = KeyRange::prefix("ab");
        for (inside, expected) in
            [("a", false), ("ab", true), ("ab/x", true), ("ab\u{10ffff}", true), ("ac", false)]
        {
            assert_eq!(range.contains(&key(inside)), expected, "{inside}");
        }
        assert!(KeyRange::prefix("\u{10ffff}").contains(&key("\u{10ffff}x")));
        assert!(KeyRange::prefix("a\u{d7ff}").contains(&key("a\u{d7ff}z")), "before surrogates");
        assert!(!KeyRange::prefix("a\u{d7ff}").contains(&key("a\u{e000}")));
        assert_eq!(KeyRange::prefix(""), KeyRange::all());
    }

    #[test]
    fn bounds_that_cross_hold_nothing() {
        use Bound::{Excluded, Included};
        let range = |from, to| KeyRange::new(from, to);
        assert!(range(Included(key("b")), Included(key("a"))).is_empty());
        assert!(range(Excluded(key("a")), Excluded(key("a"))).is_empty());
        assert!(range(Included(key("a")), Excluded(key("a"))).is_empty());
        assert!(!range(Included(key("a")), Included(key("a"))).is_empty());
        assert!(!KeyRange::all().is_empty());
    }

    #[test]
    fn a_reader_that_stops_has_seen_what_it_passed() {
        let all = KeyRange::all();
        let seen = all.clone().up_to(&key("m"), Direction::Descending);
        let left = all.after(&key("m"), Direction::Descending);
        assert!(seen.contains(&key("m")) && seen.contains(&key("z")) && !seen.contains(&key("a")));
        assert!(left.contains(&key("a")) && !left.contains(&key("m")));
    }
}
