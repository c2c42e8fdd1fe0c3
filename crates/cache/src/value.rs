//! A value, read where it is.

use crate::entry::{Header, Place};
use crate::pages::Pages;

/// A value under its shard's lock: one piece if it is small, several if it is large.
pub struct Value<'s> {
    pages: &'s Pages,
    /// Numbers of the pages that it has for itself.
    own: &'s [u8],
    /// What comes after those.
    first: &'s [u8],
    second: &'s [u8],
    length: usize,
}

impl<'s> Value<'s> {
    #[inline]
    pub(crate) fn new(pages: &'s Pages, place: Place, header: &Header) -> Self {
        let front = header.front_bytes();
        let own = place.offset() + front - 4 * usize::from(header.pages);
        let (first, second) = pages.across(place, front, header.inline_bytes());
        Self {
            pages,
            own: &pages.bytes(place.page())[own..place.offset() + front],
            first,
            second,
            length: header.value_bytes as usize,
        }
    }

    /// Its length, in bytes.
    #[expect(clippy::len_without_is_empty, reason = "a length in bytes, not a collection")]
    pub fn len(&self) -> usize {
        self.length
    }

    /// Its pieces, in order; some may be empty.
    pub fn pieces(&self) -> impl Iterator<Item = &'s [u8]> {
        let pages = self.pages;
        let own = page_numbers(self.own).map(|page| pages.bytes(page));
        own.chain([self.first, self.second])
    }

    /// Appends it.
    #[inline]
    pub fn append_to(&self, out: &mut Vec<u8>) {
        if self.own.is_empty() && self.second.is_empty() {
            out.extend_from_slice(self.first);
            return;
        }
        out.reserve(self.length);
        for piece in self.pieces() {
            out.extend_from_slice(piece);
        }
    }

    /// A copy.
    pub fn to_vec(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.append_to(&mut out);
        out
    }
}

/// Reads numbers of pages as an entry has them.
pub(crate) fn page_numbers(bytes: &[u8]) -> impl Iterator<Item = u32> {
    bytes.chunks_exact(4).map(|four| u32::from_le_bytes([four[0], four[1], four[2], four[3]]))
}
