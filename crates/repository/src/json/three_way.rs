//! Two changes of one text made into one, where they are at different places.

use super::canonical::array_index;
use super::outline::{Outline, is_object};
use super::pointer::Trail;
use crate::limits::CONTESTED_PATHS_MAX;

/// Merges the changes from `base` to `mine` into `theirs`. All are canonical, and so is the result.
///
/// A change is to a member of an object, at any depth: another value, a new member, or a deletion.
/// An array is one value. Where both sides changed the same member, they must have made the same
/// of it, unless both made an object of an object, whose members are then looked at. Members keep
/// the order of `theirs`, new ones of `mine` follow. If that fails: the JSON Pointers of the
/// places that both sides changed, at most `CONTESTED_PATHS_MAX`.
pub fn three_way(base: &str, mine: &str, theirs: &str) -> Result<String, Vec<String>> {
    let mut merge = ThreeWay {
        outlines: [base, mine, theirs].map(Outline::new),
        trail: Trail::default(),
        out: String::with_capacity(mine.len().max(theirs.len())),
        contested: Vec::new(),
    };
    merge.value([Some(base), Some(mine), Some(theirs)]);
    if merge.contested.is_empty() { Ok(merge.out) } else { Err(merge.contested) }
}

/// A value in base, mine and theirs; `None` where it is not there.
type Versions<'a> = [Option<&'a str>; 3];

struct ThreeWay<'a> {
    /// Of base, mine and theirs.
    outlines: [Outline<'a>; 3],
    /// Where the merge is.
    trail: Trail,
    out: String,
    contested: Vec<String>,
}

impl<'a> ThreeWay<'a> {
    /// Appends what the value becomes; false if it is not there any more.
    fn value(&mut self, versions: Versions<'a>) -> bool {
        let [base, mine, theirs] = versions;
        let chosen = if mine == theirs || base == theirs {
            mine
        } else if base == mine {
            theirs
        } else {
            match versions {
                [Some(base), Some(mine), Some(theirs)]
                    if [base, mine, theirs].into_iter().all(is_object) =>
                {
                    self.object([base, mine, theirs]);
                }
                _ => self.contest(),
            }
            return true;
        };
        self.out.push_str(chosen.unwrap_or_default());
        chosen.is_some()
    }

    fn object(&mut self, objects: [&'a str; 3]) {
        self.out.push('{');
        let first = self.out.len();
        for (name, versions) in self.members(objects) {
            let start = self.out.len();
            if start > first {
                self.out.push(',');
            }
            self.out.push_str(name);
            self.out.push(':');
            let length = self.trail.enter_member(name);
            if !self.value(versions) {
                self.out.truncate(start);
            }
            self.trail.leave(length);
        }
        self.out.push('}');
    }

    /// The members that mine or theirs have, in canonical order.
    fn members(&self, [base, mine, theirs]: [&'a str; 3]) -> Vec<(&'a str, Versions<'a>)> {
        let [of_base, of_mine, of_theirs] = &self.outlines;
        let (mut in_base, mut in_mine) = (of_base.members(base), of_mine.members(mine));
        let mut in_theirs = of_theirs.members(theirs);
        let mut merged = Vec::with_capacity(in_theirs.listed().len());
        for (name, value) in in_theirs.listed() {
            merged.push((*name, [in_base.find(name), in_mine.find(name), Some(*value)]));
        }
        for (name, value) in in_mine.listed() {
            if in_theirs.find(name).is_none() {
                merged.push((*name, [in_base.find(name), Some(*value), None]));
            }
        }
        let index = |name: &str| array_index(&name.as_bytes()[1..name.len() - 1]);
        merged.sort_by_key(|(name, _)| index(name).map_or(u64::MAX, u64::from));
        merged
    }

    fn contest(&mut self) {
        let pointer = self.trail.pointer();
        let is_noted = self.contested.last().is_some_and(|last| last == pointer);
        if self.contested.len() < CONTESTED_PATHS_MAX && !is_noted {
            self.contested.push(pointer.to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::{Span, canonicalize, changed_paths, children, locate, splice};
    use crate::random::Random;

    #[test]
    fn changes_at_different_places_are_merged() {
        for (base, mine, theirs, expected) in [
            (r#"{"a":1,"b":2}"#, r#"{"a":3,"b":2}"#, r#"{"a":1,"b":4}"#, r#"{"a":3,"b":4}"#),
            (r#"{"a":1,"b":2}"#, r#"{"b":2}"#, r#"{"a":1,"b":2,"c":3}"#, r#"{"b":2,"c":3}"#),
            ("{}", r#"{"1":1,"m":2}"#, r#"{"2":1,"t":2}"#, r#"{"1":1,"2":1,"t":2,"m":2}"#),
            ("{}", r#"{"a":[1]}"#, r#"{"a":[1]}"#, r#"{"a":[1]}"#),
            (
                r#"{"o":{"p":{"a":1,"b":1},"c":1}}"#,
                r#"{"o":{"p":{"a":2,"b":1},"c":1}}"#,
                r#"{"o":{"p":{"a":1},"c":3}}"#,
                r#"{"o":{"p":{"a":2},"c":3}}"#,
            ),
            (r#"{"a":1}"#, "{}", "{}", "{}"),
            (r#"{"a":1,"b":2}"#, r#"{"b":2}"#, r#"{"a":1}"#, "{}"),
            ("1", "2", "2", "2"),
            ("[1]", "[1]", "{}", "{}"),
        ] {
            assert_eq!(three_way(base, mine, theirs).as_deref(), Ok(expected), "{mine} {theirs}");
        }
    }

    #[test]
    fn changes_at_the_same_place_are_named() {
        for (base, mine, theirs, expected) in [
            ("1", "2", "3", vec![""]),
            (r#"{"a":1,"b":1}"#, r#"{"a":2,"b":2}"#, r#"{"a":3,"b":3}"#, vec!["/a", "/b"]),
            (r#"{"a":1}"#, "{}", r#"{"a":2}"#, vec!["/a"]),
            (r#"{"a":{"b":1}}"#, "{}", r#"{"a":{"b":2}}"#, vec!["/a"]),
            ("{}", r#"{"a":{"x":1}}"#, r#"{"a":{"y":1}}"#, vec!["/a"]),
            (r#"{"a":[1]}"#, r#"{"a":[1,2]}"#, r#"{"a":[0,1]}"#, vec!["/a"]),
            (r#"{"a":{"/":1}}"#, r#"{"a":{"/":2}}"#, r#"{"a":{"/":3}}"#, vec!["/a/~1"]),
        ] {
            let paths: Vec<String> = expected.into_iter().map(str::to_owned).collect();
            assert_eq!(three_way(base, mine, theirs), Err(paths), "{mine} {theirs}");
        }
    }

    #[test]
    fn the_number_of_places_named_is_bounded() {
        let numbered = |value: usize| {
            let members: Vec<_> = (0..200).map(|i| format!("\"m{i}\":{value}")).collect();
            format!("{{{}}}", members.join(","))
        };
        let contested = three_way(&numbered(1), &numbered(2), &numbered(3)).unwrap_err();
        assert_eq!(contested.len(), CONTESTED_PATHS_MAX);
    }

    const NAMES: &[&str] = &["a", "b", "c", "7", "10", "", "~", "/", "é\\n"];

    fn value(random: &mut Random, depth: usize) -> String {
        let length = random.below(5);
        match random.below(if depth == 0 { 3 } else { 8 }) {
            0 => random.below(3).to_string(),
            1 => "null".to_owned(),
            2 => "\"x,}\"".to_owned(),
            3 => {
                let elements: Vec<_> = (0..length).map(|_| value(random, depth - 1)).collect();
                format!("[{}]", elements.join(","))
            }
            _ => {
                let mut members = Vec::new();
                for name in NAMES {
                    if random.below(3) == 0 {
                        members.push(format!("\"{name}\":{}", value(random, depth - 1)));
                    }
                }
                format!("{{{}}}", members.join(","))
            }
        }
    }

    fn canonical(text: &str) -> String {
        String::from_utf8(canonicalize(text.as_bytes()).unwrap()).unwrap()
    }

    /// `text` with some members changed, deleted, added.
    fn edited(random: &mut Random, text: &str, depth: usize) -> String {
        if random.below(8) == 0 {
            return value(random, 2);
        }
        if depth == 0 || !is_object(text) {
            return text.to_owned();
        }
        let mut members = Vec::new();
        for child in children(text).filter(|_| random.below(8) > 0).collect::<Vec<_>>() {
            let value = edited(random, child.value, depth - 1);
            members.push(format!("{}:{value}", child.name.unwrap()));
        }
        let new = format!("\"{}\"", NAMES[random.below(NAMES.len())]);
        if random.below(3) == 0 && !members.iter().any(|member| member.starts_with(&new)) {
            members.push(format!("{new}:{}", value(random, 1)));
        }
        format!("{{{}}}", members.join(","))
    }

    /// `text` with the members of each object sorted.
    fn sorted(text: &str) -> String {
        if is_object(text) {
            let mut members: Vec<_> = children(text)
                .map(|child| format!("{}:{}", child.name.unwrap(), sorted(child.value)))
                .collect();
            members.sort();
            return format!("{{{}}}", members.join(","));
        }
        text.to_owned()
    }

    fn leads_to_or_through(path: &str, other: &str) -> bool {
        let (short, long) = if path.len() < other.len() { (path, other) } else { (other, path) };
        long.strip_prefix(short).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    #[test]
    fn the_laws_of_merging_hold() {
        let mut random = Random::new(4);
        let (mut merged, mut contested) = (0, 0);
        for round in 0..5_000 {
            let base = canonical(&value(&mut random, 4));
            let mine = canonical(&edited(&mut random, &base, 3));
            let theirs = canonical(&edited(&mut random, &base, 3));
            assert_eq!(three_way(&base, &mine, &base).as_ref(), Ok(&mine));
            assert_eq!(three_way(&base, &base, &theirs).as_ref(), Ok(&theirs));
            assert_eq!(three_way(&base, &mine, &mine).as_ref(), Ok(&mine));
            let forward = three_way(&base, &mine, &theirs);
            let backward = three_way(&base, &theirs, &mine);
            match (forward, backward) {
                (Ok(forward), Ok(backward)) => {
                    assert_eq!(canonical(&forward), forward);
                    assert_eq!(sorted(&forward), sorted(&backward), "round {round}");
                    let changes = changed_paths(&base, &mine, 1_000);
                    for path in changed_paths(&theirs, &forward, 1_000) {
                        let of_mine = changes.iter().any(|mine| leads_to_or_through(mine, &path));
                        assert!(of_mine, "round {round}: {path} was not changed");
                    }
                    merged += usize::from(mine != base && theirs != base && mine != theirs);
                }
                (Err(mut forward), Err(mut backward)) => {
                    forward.sort();
                    backward.sort();
                    assert_eq!(forward, backward, "round {round}");
                    contested += 1;
                }
                (forward, backward) => panic!("round {round}: {forward:?}, {backward:?}"),
            }
        }
        assert!(merged > 100 && contested > 100, "{merged} merged, {contested} contested");
    }

    /// The pointers of all values in `text` that are no objects.
    fn leaves(text: &str) -> Vec<String> {
        changed_paths(text, &text.replace("\"leaf\"", "0"), 1_000)
    }

    #[test]
    fn every_one_of_disjoint_changes_is_there() {
        let inner: Vec<_> = NAMES.iter().map(|name| format!("\"{name}\":\"leaf\"")).collect();
        let inner = format!("{{{}}}", inner.join(","));
        let outer: Vec<_> = NAMES.iter().map(|name| format!("\"{name}\":{inner}")).collect();
        let base = canonical(&format!("{{{}}}", outer.join(",")));
        let leaves = leaves(&base);
        assert_eq!(leaves.len(), NAMES.len() * NAMES.len());
        let mut random = Random::new(5);
        for _ in 0..100 {
            let (mut mine, mut theirs, mut expected) = (base.clone(), base.clone(), Vec::new());
            for (i, path) in leaves.iter().enumerate() {
                let side = match random.below(3) {
                    0 => &mut mine,
                    1 => &mut theirs,
                    _ => continue,
                };
                *side = splice(side, &locate(side, path).unwrap(), &i.to_string());
                expected.push((path, i.to_string()));
            }
            let merged = three_way(&base, &mine, &theirs).unwrap();
            for (path, value) in &expected {
                let Ok(Span::Value(span)) = locate(&merged, path) else { panic!("no {path}") };
                assert_eq!(merged[span], **value);
            }
            assert_eq!(changed_paths(&base, &merged, 1_000).len(), expected.len());
        }
    }
}
