//! The members of an object, found by name.

use std::collections::HashMap;

/// Objects with at most this many members are searched from the front.
const FEW: usize = 16;

/// A member's name as it stands in a text, and its value.
type Member<'a> = (&'a str, &'a str);

/// The members of an object in their order. Finding one is fastest in that same order: versions of
/// an object mostly have their members in one.
pub(super) struct Members<'a> {
    listed: Vec<Member<'a>>,
    /// Where the next name is expected.
    next: usize,
    /// Where each name is; made when one is not where it was expected.
    places: Option<HashMap<&'a str, usize>>,
}

impl<'a> Members<'a> {
    pub(super) fn new(listed: Vec<Member<'a>>) -> Self {
        Self { listed, next: 0, places: None }
    }

    pub(super) fn listed(&self) -> &[Member<'a>] {
        &self.listed
    }

    /// The value of a member.
    pub(super) fn find(&mut self, name: &str) -> Option<&'a str> {
        let place = self.place(name)?;
        self.next = place + 1;
        Some(self.listed[place].1)
    }

    fn place(&mut self, name: &str) -> Option<usize> {
        if self.listed.get(self.next).is_some_and(|(expected, _)| *expected == name) {
            return Some(self.next);
        }
        let mut names = self.listed.iter().map(|(name, _)| *name);
        if self.listed.len() <= FEW {
            return names.position(|listed| listed == name);
        }
        let places = self.places.get_or_insert_with(|| names.zip(0..).collect());
        places.get(name).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_found_in_any_order() {
        let names: Vec<String> = (0..100).map(|i| i.to_string()).collect();
        for count in [0, 1, FEW, FEW + 1, 100] {
            let listed: Vec<_> = names[..count].iter().map(|n| (n.as_str(), n.as_str())).collect();
            let mut members = Members::new(listed);
            for name in names.iter().chain(names.iter().rev()).chain(names.iter().step_by(2)) {
                let expected = names[..count].contains(name).then_some(name.as_str());
                assert_eq!(members.find(name), expected, "{name} of {count}");
            }
        }
    }
}
