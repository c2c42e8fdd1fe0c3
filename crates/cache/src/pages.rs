//! The memory of a shard: so many pages of one size, taken from the allocator when they are first
//! needed and never given back but to the index. What is on them is not known here, except how much
//! of it is alive.

use crate::entry::{Header, Place};
use crate::limits::PAGE_BYTES;

/// What a page costs: itself, what is kept about it, and what an allocator may round up.
pub(crate) const PAGE_COST: usize =
    PAGE_BYTES + size_of::<Box<[u8]>>() + size_of::<About>() + 2 * size_of::<u32>() + 64;

/// What is known about a page. Page 0 is none.
#[derive(Clone, Copy, Debug)]
pub(crate) struct About {
    /// Its neighbours in a queue.
    pub before: u32,
    pub after: u32,
    /// Bytes of items that are alive.
    pub live: u32,
    /// Where the first entry begins: before it is the end of the one on the page before.
    pub first: u32,
    /// Where entries end.
    pub end: u32,
    /// The earliest second at which an item here expires; `u32::MAX`: none does.
    pub expires: u32,
    /// Whether its last entry goes on on the page after it.
    pub is_parted: bool,
    /// The number of the queue that has it, if one has.
    pub queue: Option<u8>,
}

impl About {
    const NONE: Self = Self {
        before: 0,
        after: 0,
        live: 0,
        first: 0,
        end: 0,
        expires: u32::MAX,
        is_parted: false,
        queue: None,
    };
}

pub(crate) struct Pages {
    /// By number; empty: the page has no memory.
    bytes: Vec<Box<[u8]>>,
    pub about: Vec<About>,
    /// Pages that nobody has.
    free: Vec<u32>,
    /// Pages without memory.
    bare: Vec<u32>,
    /// How many of those can still get memory.
    unallocated: usize,
}

impl Pages {
    /// As many as `count`, none of which takes memory yet.
    pub fn new(count: usize) -> Self {
        let mut bytes = Vec::with_capacity(count + 1);
        bytes.resize_with(count + 1, Box::default);
        let mut about = Vec::with_capacity(count + 1);
        about.resize(count + 1, About::NONE);
        let mut free = Vec::new();
        free.reserve_exact(count);
        Self { bytes, about, free, bare: (1..=count as u32).rev().collect(), unallocated: count }
    }

    /// How many there are, those given to the index not counted.
    pub fn count(&self) -> usize {
        self.allocated() + self.unallocated
    }

    /// How many have memory.
    pub fn allocated(&self) -> usize {
        self.bytes.len() - 1 - self.bare.len()
    }

    /// How many nobody has.
    #[inline]
    pub fn spare(&self) -> usize {
        self.free.len() + self.unallocated
    }

    /// One that nobody has.
    pub fn take(&mut self) -> Option<u32> {
        if let Some(page) = self.free.pop() {
            return Some(page);
        }
        if self.unallocated == 0 {
            return None;
        }
        let page = self.bare.pop()?;
        self.unallocated -= 1;
        self.bytes[page as usize] = vec![0; PAGE_BYTES].into_boxed_slice();
        Some(page)
    }

    /// Gives one back.
    pub fn release(&mut self, page: u32) {
        self.about[page as usize] = About::NONE;
        self.free.push(page);
    }

    /// Gives the memory of a page away; whether there was one.
    pub fn give_up(&mut self) -> bool {
        if self.unallocated > 0 {
            self.unallocated -= 1;
            return true;
        }
        let Some(page) = self.free.pop() else { return false };
        self.bytes[page as usize] = Box::default();
        self.bare.push(page);
        true
    }

    /// Nobody has any of them any more, nor those `returned` that were given away.
    pub fn clear(&mut self, returned: usize) {
        self.about.fill(About::NONE);
        let pages = self.bytes.iter().enumerate();
        self.free.clear();
        self.free.extend(pages.filter(|(_, bytes)| !bytes.is_empty()).map(|(page, _)| page as u32));
        self.unallocated += returned;
    }

    #[inline]
    pub fn bytes(&self, page: u32) -> &[u8] {
        &self.bytes[page as usize]
    }

    #[inline]
    pub fn bytes_mut(&mut self, page: u32) -> &mut [u8] {
        &mut self.bytes[page as usize]
    }

    #[inline]
    pub fn header(&self, place: Place) -> Header {
        Header::read(self.bytes(place.page()), place.offset())
    }

    #[inline]
    pub fn set_header(&mut self, place: Place, header: &Header) {
        header.write(self.bytes_mut(place.page()), place.offset());
    }

    /// The bytes from `from` on of the entry at a place, on its page and on the one after it.
    #[inline]
    pub fn across(&self, place: Place, from: usize, length: usize) -> (&[u8], &[u8]) {
        let start = place.offset() + from;
        if start + length <= PAGE_BYTES {
            return (&self.bytes(place.page())[start..start + length], &[]);
        }
        let first = PAGE_BYTES - start;
        let after = self.about[place.page() as usize].after;
        (&self.bytes(place.page())[start..], &self.bytes(after)[..length - first])
    }

    /// Writes bytes of an entry from `from` on.
    #[inline]
    pub fn write_across(&mut self, place: Place, from: usize, value: &[u8]) {
        let start = place.offset() + from;
        let first = (PAGE_BYTES - start).min(value.len());
        self.bytes_mut(place.page())[start..start + first].copy_from_slice(&value[..first]);
        if first < value.len() {
            let after = self.about[place.page() as usize].after;
            self.bytes_mut(after)[..value.len() - first].copy_from_slice(&value[first..]);
        }
    }

    /// Copies `length` bytes of the entry at one place to the entry at another.
    pub fn copy(&mut self, from: Place, to: Place, length: usize) {
        let mut done = 0;
        while done < length {
            let (source, at) = self.spot(from, done);
            let (target, into) = self.spot(to, done);
            let run = (length - done).min(PAGE_BYTES - at).min(PAGE_BYTES - into);
            if source == target {
                self.bytes_mut(source).copy_within(at..at + run, into);
            } else if let Ok([source, target]) =
                self.bytes.get_disjoint_mut([source as usize, target as usize])
            {
                target[into..into + run].copy_from_slice(&source[at..at + run]);
            }
            done += run;
        }
    }

    /// The page and offset of a byte of an entry.
    fn spot(&self, place: Place, from: usize) -> (u32, usize) {
        let at = place.offset() + from;
        match at < PAGE_BYTES {
            true => (place.page(), at),
            false => (self.about[place.page() as usize].after, at - PAGE_BYTES),
        }
    }
}
