//! An item's bytes in a page: a header, the key, the pages that it has for itself, the value's end.
//!
//! | bytes | |
//! | --- | --- |
//! | 0..4 | expires: seconds since 1970, 0 for never |
//! | 4..8 | used: seconds since 1970 |
//! | 8..16 | cas |
//! | 16..20 | the client's flags |
//! | 20..24 | length of the value |
//! | 24..28 | room: bytes from here to the next entry |
//! | 28..30 | pages of its own |
//! | 30 | length of the key |
//! | 31 | bits; uses in the two highest |

use crate::expires::Expires;
use crate::limits::{PAGE_BYTES, USES_MAX};

/// What an item takes besides key and value.
pub(crate) const HEADER_BYTES: usize = 32;

const DEAD: u8 = 1;
const FETCHED: u8 = 2;
const STALE: u8 = 4;
const TAKEN: u8 = 8;
const BINARY: u8 = 16;
const TRIAL: u8 = 32;
const USES_SHIFT: u32 = 6;

/// Where an entry is: page and offset in it, in 33 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place(u64);

impl Place {
    pub const BITS: u32 = 33;
    const OFFSET_BITS: u32 = (PAGE_BYTES / 8).trailing_zeros();
    /// Page numbers are below this.
    pub const PAGES_MAX: usize = 1 << (Self::BITS - Self::OFFSET_BITS);

    #[inline]
    pub fn new(page: u32, offset: usize) -> Self {
        debug_assert!(offset.is_multiple_of(8) && offset < PAGE_BYTES);
        Self(u64::from(page) << Self::OFFSET_BITS | (offset as u64 >> 3))
    }

    #[inline]
    pub fn from_bits(bits: u64) -> Self {
        Self(bits & ((1 << Self::BITS) - 1))
    }

    #[inline]
    pub fn bits(self) -> u64 {
        self.0
    }

    #[inline]
    pub fn page(self) -> u32 {
        (self.0 >> Self::OFFSET_BITS) as u32
    }

    #[inline]
    pub fn offset(self) -> usize {
        (self.0 as usize & (PAGE_BYTES / 8 - 1)) << 3
    }
}

/// An entry's header, decoded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Header {
    pub expires: Expires,
    pub used: u32,
    pub cas: u64,
    pub flags: u32,
    pub value_bytes: u32,
    pub room: u32,
    pub pages: u16,
    pub key_bytes: u8,
    pub bits: u8,
}

impl Header {
    #[inline]
    pub fn read(page: &[u8], offset: usize) -> Self {
        let mut bytes = [0; HEADER_BYTES];
        bytes.copy_from_slice(&page[offset..offset + HEADER_BYTES]);
        let four = |at: usize| {
            u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
        };
        Self {
            expires: Expires(four(0)),
            used: four(4),
            cas: u64::from(four(8)) | u64::from(four(12)) << 32,
            flags: four(16),
            value_bytes: four(20),
            room: four(24),
            pages: u16::from_le_bytes([bytes[28], bytes[29]]),
            key_bytes: bytes[30],
            bits: bytes[31],
        }
    }

    #[inline]
    pub fn write(&self, page: &mut [u8], offset: usize) {
        let mut bytes = [0; HEADER_BYTES];
        bytes[0..4].copy_from_slice(&self.expires.0.to_le_bytes());
        bytes[4..8].copy_from_slice(&self.used.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.cas.to_le_bytes());
        bytes[16..20].copy_from_slice(&self.flags.to_le_bytes());
        bytes[20..24].copy_from_slice(&self.value_bytes.to_le_bytes());
        bytes[24..28].copy_from_slice(&self.room.to_le_bytes());
        bytes[28..30].copy_from_slice(&self.pages.to_le_bytes());
        bytes[30] = self.key_bytes;
        bytes[31] = self.bits;
        page[offset..offset + HEADER_BYTES].copy_from_slice(&bytes);
    }

    /// Bytes that are never parted: header, key and the numbers of pages.
    #[inline]
    pub fn front_bytes(&self) -> usize {
        HEADER_BYTES + usize::from(self.key_bytes) + 4 * usize::from(self.pages)
    }

    /// Bytes of the value that are behind the front and not in pages of their own.
    #[inline]
    pub fn inline_bytes(&self) -> usize {
        self.value_bytes as usize - usize::from(self.pages) * PAGE_BYTES
    }

    /// All that the item takes of the pages.
    #[inline]
    pub fn total_bytes(&self) -> usize {
        self.room as usize + usize::from(self.pages) * PAGE_BYTES
    }

    fn is(&self, bit: u8) -> bool {
        self.bits & bit != 0
    }

    fn set(&mut self, bit: u8, is: bool) {
        self.bits = if is { self.bits | bit } else { self.bits & !bit };
    }

    /// Whether there is no item here any more.
    pub fn is_dead(&self) -> bool {
        self.is(DEAD)
    }

    pub fn set_dead(&mut self) {
        self.set(DEAD, true);
    }

    pub fn is_fetched(&self) -> bool {
        self.is(FETCHED)
    }

    pub fn set_fetched(&mut self, is: bool) {
        self.set(FETCHED, is);
    }

    pub fn is_stale(&self) -> bool {
        self.is(STALE)
    }

    pub fn set_stale(&mut self, is: bool) {
        self.set(STALE, is);
    }

    pub fn is_taken(&self) -> bool {
        self.is(TAKEN)
    }

    pub fn set_taken(&mut self, is: bool) {
        self.set(TAKEN, is);
    }

    pub fn is_binary(&self) -> bool {
        self.is(BINARY)
    }

    pub fn set_binary(&mut self, is: bool) {
        self.set(BINARY, is);
    }

    /// Whether it was taken for proven by as few uses as can be, and not used since.
    pub fn is_on_trial(&self) -> bool {
        self.is(TRIAL)
    }

    pub fn set_on_trial(&mut self, is: bool) {
        self.set(TRIAL, is);
    }

    /// How often it was used since somebody last asked whether it may go.
    #[inline]
    pub fn uses(&self) -> u8 {
        self.bits >> USES_SHIFT
    }

    #[inline]
    pub fn set_uses(&mut self, uses: u8) {
        let low = self.bits & ((1 << USES_SHIFT) - 1);
        self.bits = low | uses.min(USES_MAX) << USES_SHIFT;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_read_as_it_was_written() {
        let mut header = Header {
            expires: Expires(7),
            used: 8,
            cas: u64::MAX - 1,
            flags: 9,
            value_bytes: 3 * PAGE_BYTES as u32 + 5,
            room: 64,
            pages: 3,
            key_bytes: 250,
            bits: 0,
        };
        header.set_uses(9);
        header.set_stale(true);
        let mut page = vec![0; PAGE_BYTES];
        header.write(&mut page, 16);
        let read = Header::read(&page, 16);
        assert_eq!(read, header);
        assert_eq!((read.uses(), read.is_stale(), read.is_dead()), (USES_MAX, true, false));
        assert_eq!((read.inline_bytes(), read.front_bytes()), (5, 32 + 250 + 12));
    }

    #[test]
    fn a_place_holds_the_last_page_and_offset() {
        let place = Place::new(Place::PAGES_MAX as u32 - 1, PAGE_BYTES - 8);
        assert_eq!(place.page() as usize, Place::PAGES_MAX - 1);
        assert_eq!(place.offset(), PAGE_BYTES - 8);
        assert_eq!(Place::from_bits(place.bits() | 1 << Place::BITS), place);
    }
}
