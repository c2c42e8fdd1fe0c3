//! Where two texts differ.

use super::outline::{Outline, is_array, is_object};
use super::pointer::Trail;

/// The JSON Pointers of the smallest places at which the canonical texts `before` and `after`
/// differ, at most `max` of them. Arrays of different lengths differ as a whole, and so do objects
/// that differ in the order of their members alone. A pointer that would be longer than
/// `MERGE_PATH_BYTES_MAX` stops at what contains the place.
pub fn changed_paths(before: &str, after: &str, max: usize) -> Vec<String> {
    if before == after {
        return Vec::new();
    }
    let mut changes = Changes {
        before: Outline::new(before),
        after: Outline::new(after),
        trail: Trail::default(),
        found: Vec::new(),
        max,
    };
    changes.compare(before, after);
    changes.found
}

struct Changes<'a> {
    before: Outline<'a>,
    after: Outline<'a>,
    /// Where the comparison is.
    trail: Trail,
    found: Vec<String>,
    max: usize,
}

impl<'a> Changes<'a> {
    fn compare(&mut self, before: &'a str, after: &'a str) {
        if before == after || self.found.len() >= self.max {
            return;
        }
        let found = self.found.len();
        if is_object(before) && is_object(after) {
            self.compare_members(before, after);
        } else if is_array(before) && is_array(after) {
            self.compare_elements(before, after);
        }
        if self.found.len() == found {
            self.note();
        }
    }

    fn compare_elements(&mut self, before: &'a str, after: &'a str) {
        let old: Vec<&str> = self.before.children(before).map(|child| child.value).collect();
        let new: Vec<&str> = self.after.children(after).map(|child| child.value).collect();
        if old.len() != new.len() {
            return;
        }
        for (i, (old, new)) in old.into_iter().zip(new).enumerate() {
            if old != new {
                let length = self.trail.enter(&i.to_string());
                self.compare(old, new);
                self.trail.leave(length);
            }
        }
    }

    fn compare_members(&mut self, before: &'a str, after: &'a str) {
        let (mut old, mut new) = (self.before.members(before), self.after.members(after));
        for (name, old) in old.listed() {
            let length = self.trail.enter_member(name);
            match new.find(name) {
                Some(new) => self.compare(old, new),
                None => self.note(),
            }
            self.trail.leave(length);
        }
        for (name, _) in new.listed() {
            if old.find(name).is_none() {
                let length = self.trail.enter_member(name);
                self.note();
                self.trail.leave(length);
            }
        }
    }

    fn note(&mut self) {
        let pointer = self.trail.pointer();
        if self.found.len() < self.max && self.found.last().is_none_or(|last| last != pointer) {
            self.found.push(pointer.to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::MERGE_PATH_BYTES_MAX;

    #[test]
    fn the_smallest_places_are_named() {
        for (before, after, expected) in [
            ("1", "1", vec![]),
            ("1", "2", vec![""]),
            ("{}", "[]", vec![""]),
            (r#"{"a":1,"b":2}"#, r#"{"a":1,"c":3}"#, vec!["/b", "/c"]),
            (r#"{"a":{"x":1,"y":[1,2]}}"#, r#"{"a":{"x":2,"y":[1,3]}}"#, vec!["/a/x", "/a/y/1"]),
            (r#"{"a":[1,2]}"#, r#"{"a":[1,2,3]}"#, vec!["/a"]),
            (r#"{"a":{"x":1,"y":2}}"#, r#"{"a":{"y":2,"x":1}}"#, vec!["/a"]),
            (r#"{"a/~\"":1,"":[]}"#, r#"{"a/~\"":2,"":{}}"#, vec!["/a~1~0\"", "/"]),
        ] {
            assert_eq!(changed_paths(before, after, 10), expected, "{before} {after}");
        }
        assert_eq!(changed_paths("[1,2,3]", "[4,5,6]", 2), ["/0", "/1"]);
    }

    #[test]
    fn a_long_pointer_stops_at_what_contains_the_place() {
        let text = |long: usize, value: usize| {
            let long = "x".repeat(long);
            format!("{{\"a\":{{\"{long}\":{{\"b\":{value},\"c\":{value}}}}}}}")
        };
        let long = MERGE_PATH_BYTES_MAX - "/a//b".len();
        let found = changed_paths(&text(long, 1), &text(long, 2), 10);
        assert_eq!(found.len(), 2);
        assert_eq!(found[0].len(), MERGE_PATH_BYTES_MAX);
        let found = changed_paths(&text(long + 3, 1), &text(long + 3, 2), 10);
        assert_eq!(found, ["/a"]);
    }
}
