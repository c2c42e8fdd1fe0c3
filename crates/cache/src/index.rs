//! Where the item of a key is: buckets of one cache line, and linear hashing (Litwin, 1980): the
//! index grows by one bucket at a time, so that nobody waits for it to be made anew.

use crate::entry::Place;
use crate::limits::{ITEMS_PER_BUCKET, PAGE_BYTES};

/// Places of a bucket; the word behind them leads to another bucket.
const PLACES: usize = 7;
const LINK: usize = 7;

/// Buckets that are made at once, in a page's worth of memory.
const CHUNK: usize = PAGE_BYTES / size_of::<Bucket>();

/// Words of tag and place; 0: nothing. Pages are counted from 1, so no word is 0.
#[repr(align(64))]
#[derive(Clone, Copy)]
struct Bucket([u64; 8]);

/// There is no bucket left; [`Index::grow_spill`] first.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Full;

pub(crate) struct Index {
    chunks: Vec<Box<[Bucket]>>,
    /// Buckets in use.
    buckets: usize,
    /// Buckets for what does not fit into those, linked to them by number, counted from 1.
    spill: Vec<Box<[Bucket]>>,
    /// Those of them that were ever in use.
    spilled: usize,
    /// The first free one of those, by number; they are linked.
    spill_free: u64,
    items: usize,
    /// Room for what a bucket holds while it is parted.
    parted: Vec<u64>,
}

fn chunk() -> Box<[Bucket]> {
    vec![Bucket([0; 8]); CHUNK].into_boxed_slice()
}

#[inline]
fn word(tag: u32, place: Place) -> u64 {
    u64::from(tag) << Place::BITS | place.bits()
}

impl Index {
    /// An empty one, of one page's worth of memory.
    pub fn new() -> Self {
        Self {
            chunks: vec![chunk()],
            buckets: CHUNK,
            spill: Vec::new(),
            spilled: 0,
            spill_free: 0,
            items: 0,
            parted: Vec::new(),
        }
    }

    pub fn items(&self) -> usize {
        self.items
    }

    /// Pages' worth of memory that it has.
    pub fn pages(&self) -> usize {
        self.chunks.len() + self.spill.len()
    }

    #[inline]
    fn home(&self, tag: u32) -> usize {
        let mask = self.buckets.next_power_of_two() - 1;
        let bucket = tag as usize & mask;
        if bucket < self.buckets { bucket } else { bucket & (mask >> 1) }
    }

    #[inline]
    fn bucket(&self, number: usize) -> &Bucket {
        &self.chunks[number / CHUNK][number % CHUNK]
    }

    #[inline]
    fn spilled(&self, link: u64) -> &Bucket {
        let number = link as usize - 1;
        &self.spill[number / CHUNK][number % CHUNK]
    }

    fn at(&mut self, home: usize, link: u64) -> &mut Bucket {
        match link {
            0 => &mut self.chunks[home / CHUNK][home % CHUNK],
            _ => &mut self.spill[(link as usize - 1) / CHUNK][(link as usize - 1) % CHUNK],
        }
    }

    /// The place with this tag that `is_it`.
    #[inline]
    pub fn find(&self, tag: u32, mut is_it: impl FnMut(Place) -> bool) -> Option<Place> {
        let mut bucket = self.bucket(self.home(tag));
        loop {
            for word in &bucket.0[..PLACES] {
                if word >> Place::BITS == u64::from(tag) && *word != 0 {
                    let place = Place::from_bits(*word);
                    if is_it(place) {
                        return Some(place);
                    }
                }
            }
            match bucket.0[LINK] {
                0 => return None,
                link => bucket = self.spilled(link),
            }
        }
    }

    /// Notes a place of a key that has none.
    pub fn insert(&mut self, tag: u32, place: Place) -> Result<(), Full> {
        let home = self.home(tag);
        self.put(home, word(tag, place))?;
        self.items += 1;
        Ok(())
    }

    fn put(&mut self, home: usize, word: u64) -> Result<(), Full> {
        let mut link = 0;
        loop {
            let bucket = self.at(home, link);
            if let Some(hole) = bucket.0[..PLACES].iter_mut().find(|word| **word == 0) {
                *hole = word;
                return Ok(());
            }
            match bucket.0[LINK] {
                0 => break,
                next => link = next,
            }
        }
        let next = self.take_spill()?;
        let mut bucket = Bucket([0; 8]);
        bucket.0[0] = word;
        *self.at(home, next) = bucket;
        self.at(home, link).0[LINK] = next;
        Ok(())
    }

    fn take_spill(&mut self) -> Result<u64, Full> {
        if self.spill_free != 0 {
            let link = self.spill_free;
            self.spill_free = self.spilled(link).0[LINK];
            return Ok(link);
        }
        if self.spilled == self.spill.len() * CHUNK {
            return Err(Full);
        }
        self.spilled += 1;
        Ok(self.spilled as u64)
    }

    /// More buckets for what does not fit. Takes a page's worth of memory.
    pub fn grow_spill(&mut self) {
        self.spill.push(chunk());
    }

    /// Forgets a place.
    pub fn remove(&mut self, tag: u32, place: Place) {
        let (home, wanted) = (self.home(tag), word(tag, place));
        let (mut link, mut before) = (0, 0);
        loop {
            let bucket = self.at(home, link);
            let next = bucket.0[LINK];
            if let Some(word) = bucket.0[..PLACES].iter_mut().find(|word| **word == wanted) {
                *word = 0;
                let is_empty = bucket.0[..PLACES].iter().all(|word| *word == 0);
                if is_empty && link != 0 {
                    self.at(home, before).0[LINK] = next;
                    self.free_spill(link);
                }
                self.items -= 1;
                return;
            }
            debug_assert!(next != 0, "what is removed was noted");
            if next == 0 {
                return;
            }
            (before, link) = (link, next);
        }
    }

    fn free_spill(&mut self, link: u64) {
        let free = self.spill_free;
        self.at(0, link).0[LINK] = free;
        self.spill_free = link;
    }

    /// Notes that an item has moved.
    pub fn replace(&mut self, tag: u32, from: Place, to: Place) {
        let (home, wanted) = (self.home(tag), word(tag, from));
        let mut link = 0;
        loop {
            let bucket = self.at(home, link);
            if let Some(found) = bucket.0[..PLACES].iter_mut().find(|word| **word == wanted) {
                *found = word(tag, to);
                return;
            }
            link = bucket.0[LINK];
            debug_assert!(link != 0, "what is moved was noted");
            if link == 0 {
                return;
            }
        }
    }

    /// Whether another bucket would do it good.
    pub fn is_crowded(&self) -> bool {
        self.items > self.buckets * ITEMS_PER_BUCKET
    }

    /// Whether the next bucket takes a page's worth of memory.
    pub fn is_at_chunk_end(&self) -> bool {
        self.buckets == self.chunks.len() * CHUNK
    }

    /// One more bucket, with what belongs there of the one that it is split off.
    pub fn split(&mut self) {
        if self.is_at_chunk_end() {
            self.chunks.push(chunk());
        }
        let half = (self.buckets + 1).next_power_of_two() >> 1;
        let source = self.buckets & (half - 1);
        let mut parted = std::mem::take(&mut self.parted);
        let mut link = 0;
        loop {
            let bucket = self.at(source, link);
            parted.extend(bucket.0[..PLACES].iter().filter(|word| **word != 0));
            let next = bucket.0[LINK];
            *bucket = Bucket([0; 8]);
            if link != 0 {
                self.free_spill(link);
            }
            if next == 0 {
                break;
            }
            link = next;
        }
        self.buckets += 1;
        for word in parted.drain(..) {
            let home = self.home((word >> Place::BITS) as u32);
            let put = self.put(home, word);
            debug_assert_eq!(put, Ok(()), "two buckets have room for what one had");
        }
        self.parted = parted;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn insert(index: &mut Index, tag: u32, place: Place) {
        if index.insert(tag, place) == Err(Full) {
            index.grow_spill();
            assert_eq!(index.insert(tag, place), Ok(()));
        }
    }

    fn tag_of(n: u32) -> u32 {
        n.wrapping_mul(0x9E37_79B1) >> 1
    }

    #[test]
    fn everything_is_found_while_it_grows_and_shrinks() {
        let mut index = Index::new();
        let place = |n: u32| Place::new(1 + n / 4096, (n % 4096) as usize * 8);
        for n in 0..50_000 {
            insert(&mut index, tag_of(n), place(n));
            if index.is_crowded() {
                index.split();
            }
        }
        assert_eq!(index.items(), 50_000);
        assert!(index.buckets > 50_000 / ITEMS_PER_BUCKET - 2);
        for n in 0..50_000 {
            assert_eq!(index.find(tag_of(n), |found| found == place(n)), Some(place(n)));
        }
        for n in (0..50_000).step_by(2) {
            index.remove(tag_of(n), place(n));
        }
        for n in 0..50_000 {
            let there = index.find(tag_of(n), |found| found == place(n)).is_some();
            assert_eq!(there, n % 2 == 1, "{n}");
        }
    }

    #[test]
    fn many_of_one_tag_are_linked_and_their_buckets_used_again() {
        let mut index = Index::new();
        for round in 0..3 {
            for n in 0..2_000 {
                insert(&mut index, 5, Place::new(1, n * 8));
            }
            index.replace(5, Place::new(1, 8), Place::new(2, 8));
            assert!(index.find(5, |place| place == Place::new(2, 8)).is_some());
            index.replace(5, Place::new(2, 8), Place::new(1, 8));
            for n in 0..2_000 {
                index.remove(5, Place::new(1, n * 8));
            }
            assert_eq!((index.items(), index.pages()), (0, 2), "round {round}");
        }
    }
}
