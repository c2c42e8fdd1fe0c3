//! Patterns by their segments, so that a path is led to those that fit it and the others are not
//! asked.

use crate::route::constraint::Constraint;
use crate::route::pattern::{Pattern, Segment, split};
use crate::urlencoded::{DecodeError, decode_segment};

/// Patterns, each with a number. A node stands for the segments on the way to it; each is reached
/// in one way at most, so a search visits no node twice.
#[derive(Debug, Default)]
pub(super) struct Trie {
    /// Sorted by the segment.
    literals: Vec<(Box<str>, Trie)>,
    constrained: Vec<(Constraint, Trie)>,
    /// Below one segment, whatever it is.
    one: Option<Box<Trie>>,
    /// Patterns that end here.
    ends: Vec<u32>,
    /// Patterns with any rest from here on.
    rests: Vec<u32>,
    /// Patterns with a rest from here on that is not empty.
    full_rests: Vec<u32>,
}

impl Trie {
    /// Adds `pattern` under `number`.
    pub(super) fn insert(&mut self, pattern: &Pattern, number: u32) {
        if pattern.is_optional_root() {
            self.literal("").ends.push(number);
        }
        let mut node = self;
        for (at, segment) in pattern.segments.iter().enumerate() {
            let is_last = at + 1 == pattern.segments.len();
            if is_last && pattern.is_last_optional && at > 0 {
                node.ends.push(number);
            }
            node = match segment {
                Segment::Literal(literal) => node.literal(literal),
                Segment::One(_, None) => node.one.get_or_insert_default(),
                Segment::One(_, Some(constraint)) => node.constrained(constraint),
                Segment::Rest { least: 0, .. } => return node.rests.push(number),
                Segment::Rest { .. } => return node.full_rests.push(number),
            };
        }
        node.ends.push(number);
    }

    fn literal(&mut self, literal: &str) -> &mut Self {
        let place = self.literals.binary_search_by(|(known, _)| (**known).cmp(literal));
        let place = place.unwrap_or_else(|place| {
            self.literals.insert(place, (literal.into(), Self::default()));
            place
        });
        &mut self.literals[place].1
    }

    fn constrained(&mut self, constraint: &Constraint) -> &mut Self {
        let known = self.constrained.iter().position(|(known, _)| known == constraint);
        let place = known.unwrap_or_else(|| {
            self.constrained.push((constraint.clone(), Self::default()));
            self.constrained.len() - 1
        });
        &mut self.constrained[place].1
    }

    /// Adds the numbers of the patterns of which a path is to `found`. The path is percent-encoded
    /// and without its leading slash; `None` behind its last segment. As deep as patterns are long.
    pub(super) fn collect(
        &self,
        path: Option<&str>,
        found: &mut Vec<u32>,
    ) -> Result<(), DecodeError> {
        found.extend_from_slice(&self.rests);
        let Some(path) = path else {
            found.extend_from_slice(&self.ends);
            return Ok(());
        };
        if !path.is_empty() {
            found.extend_from_slice(&self.full_rests);
        }
        if self.literals.is_empty() && self.one.is_none() && self.constrained.is_empty() {
            return Ok(());
        }
        let (segment, rest) = split(path);
        let segment = decode_segment(segment)?;
        let literal = self.literals.binary_search_by(|(known, _)| (**known).cmp(&segment));
        if let Ok(place) = literal {
            self.literals[place].1.collect(rest, found)?;
        }
        if segment.is_empty() {
            return Ok(());
        }
        for (constraint, node) in &self.constrained {
            if constraint.fits(&segment) {
                node.collect(rest, found)?;
            }
        }
        match &self.one {
            Some(node) => node.collect(rest, found),
            None => Ok(()),
        }
    }
}
