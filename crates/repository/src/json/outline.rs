//! A text with the ends of its arrays and objects, for walks that go down into them: finding the
//! end of a value anew at each level would read a deep text once per level.

use super::members::Members;
use super::scan::{Child, children_between, scalar_length, skip_string};

/// A canonical text and where its arrays and objects end.
pub(super) struct Outline<'a> {
    text: &'a str,
    /// Offsets of each opening bracket and of what comes after the closing one, ascending.
    ends: Vec<(u32, u32)>,
}

impl<'a> Outline<'a> {
    /// `text` is shorter than 4 GiB, as every document is.
    pub(super) fn new(text: &'a str) -> Self {
        assert!(u32::try_from(text.len()).is_ok(), "a text of {} bytes", text.len());
        let bytes = text.as_bytes();
        let mut ends = Vec::new();
        let mut open = Vec::new();
        let mut at = 0;
        while at < bytes.len() {
            match bytes[at] {
                b'"' => at = skip_string(bytes, at) - 1,
                b'{' | b'[' => {
                    open.push(ends.len());
                    ends.push((at as u32, 0));
                }
                b'}' | b']' => {
                    if let Some(opened) = open.pop() {
                        ends[opened].1 = at as u32 + 1;
                    }
                }
                _ => {}
            }
            at += 1;
        }
        Self { text, ends }
    }

    /// As [`super::children`], of a value that is part of this text.
    pub(super) fn children(&self, value: &'a str) -> impl Iterator<Item = Child<'a>> {
        let start = value.as_ptr() as usize - self.text.as_ptr() as usize;
        children_between(self.text, start..start + value.len(), |at| self.end(at))
    }

    /// The members of an object in this text.
    pub(super) fn members(&self, object: &'a str) -> Members<'a> {
        let member = |child: Child<'a>| Some((child.name?, child.value));
        Members::new(self.children(object).filter_map(member).collect())
    }

    /// The offset after the value that starts at `at`.
    fn end(&self, at: usize) -> usize {
        let bytes = self.text.as_bytes();
        match bytes[at] {
            b'{' | b'[' => match self.ends.binary_search_by_key(&(at as u32), |(open, _)| *open) {
                Ok(i) => self.ends[i].1 as usize,
                Err(_) => unreachable!("no bracket opens at {at}"),
            },
            b'"' => skip_string(bytes, at),
            _ => at + scalar_length(&bytes[at..]),
        }
    }
}

pub(super) fn is_object(value: &str) -> bool {
    value.starts_with('{')
}

pub(super) fn is_array(value: &str) -> bool {
    value.starts_with('[')
}
