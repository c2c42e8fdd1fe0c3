//! Keys that were thrown out lately: a key that is asked for again was missed. Marks of 16 bits in
//! a table; a newer one in the same place takes over, which forgets the old. A mark has the queue,
//! whether the key was asked for since, roughly when the item went, and ten bits of the key's hash.

use crate::key::Hash;
use crate::queue::{NEW, PROVEN};

/// Bytes of memory for which there is one mark.
const BYTES_PER_MARK: usize = 256;

/// Parts of the memory by which time is told: so many bytes have left the queue of what is new.
const AGES_PER_MEMORY: usize = 8;

/// Ages that are told apart; older marks look younger again.
const AGES: u16 = 16;
const AGE_SHIFT: u32 = 10;
const PROVEN_BIT: u16 = 1 << 15;
const ASKED: u16 = 1 << 14;
const AGE_MASK: u16 = (AGES - 1) << AGE_SHIFT;
const PRINT: u16 = (1 << AGE_SHIFT) - 1;

pub(crate) struct Ghosts {
    marks: Box<[u16]>,
    /// How many there are of each queue.
    counts: [usize; 2],
    /// The time, in ages.
    now: u16,
    /// Bytes until the next age.
    ahead: usize,
    bytes_per_age: usize,
}

/// An item that is missed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Missed {
    /// The queue that it was thrown out of.
    pub queue: usize,
    /// Bytes that have left the queue of what is new since then, about.
    pub bytes_ago: usize,
}

impl Ghosts {
    /// Bytes that those of a shard take.
    pub fn bytes(memory: usize) -> usize {
        memory / BYTES_PER_MARK * size_of::<u16>()
    }

    pub fn new(memory: usize) -> Self {
        let marks = vec![0; (memory / BYTES_PER_MARK).max(1)].into_boxed_slice();
        let bytes_per_age = (memory / AGES_PER_MEMORY).max(1);
        Self { marks, counts: [0; 2], now: 0, ahead: bytes_per_age, bytes_per_age }
    }

    /// How many are known of a queue.
    pub fn count(&self, queue: usize) -> usize {
        self.counts[queue]
    }

    /// So many bytes have left the queue of what is new.
    pub fn pass(&mut self, bytes: usize) {
        let mut bytes = bytes;
        while bytes >= self.ahead {
            bytes -= self.ahead;
            self.now = (self.now + 1) % AGES;
            self.ahead = self.bytes_per_age;
        }
        self.ahead -= bytes;
    }

    pub fn note(&mut self, hash: Hash, queue: usize) {
        let bit = if queue == PROVEN { PROVEN_BIT } else { 0 };
        self.put(hash.ghost(self.marks.len()), bit | self.now << AGE_SHIFT | print(hash));
    }

    /// The queue that a key was thrown out of lately, if it was asked for since; it is not known
    /// any more.
    pub fn take(&mut self, hash: Hash) -> Option<usize> {
        let at = hash.ghost(self.marks.len());
        let mark = self.marks[at];
        if mark & PRINT != print(hash) {
            return None;
        }
        self.put(at, 0);
        (mark & ASKED != 0).then(|| queue(mark))
    }

    /// Whether a key that is asked for was thrown out lately. Each is told once.
    #[inline]
    pub fn missed(&mut self, hash: Hash) -> Option<Missed> {
        let at = hash.ghost(self.marks.len());
        let mark = self.marks[at];
        if mark & (PRINT | ASKED) != print(hash) {
            return None;
        }
        self.marks[at] |= ASKED;
        let ages = (self.now + AGES - age(mark)) % AGES;
        Some(Missed { queue: queue(mark), bytes_ago: usize::from(ages) * self.bytes_per_age })
    }

    fn put(&mut self, at: usize, mark: u16) {
        let old = std::mem::replace(&mut self.marks[at], mark);
        if old != 0 {
            self.counts[queue(old)] -= 1;
        }
        if mark != 0 {
            self.counts[queue(mark)] += 1;
        }
    }

    pub fn clear(&mut self) {
        self.marks.fill(0);
        self.counts = [0; 2];
    }
}

fn queue(mark: u16) -> usize {
    if mark & PROVEN_BIT == 0 { NEW } else { PROVEN }
}

fn age(mark: u16) -> u16 {
    (mark & AGE_MASK) >> AGE_SHIFT
}

/// What a key is known by: never 0, so that no mark is.
#[inline]
fn print(hash: Hash) -> u16 {
    (hash.print() & PRINT).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::Hashing;

    const MEMORY: usize = 1 << 20;

    fn hash(n: u32) -> Hash {
        Hashing::new(1).hash(&n.to_le_bytes())
    }

    #[test]
    fn what_is_missed_is_told_once_with_its_queue_and_age() {
        let mut ghosts = Ghosts::new(MEMORY);
        for queue in [NEW, PROVEN] {
            ghosts.note(hash(7), queue);
            ghosts.pass(MEMORY / 2);
            assert_eq!(ghosts.missed(hash(8)), None);
            let missed = Missed { queue, bytes_ago: MEMORY / 2 };
            assert_eq!(ghosts.missed(hash(7)), Some(missed));
            for _ in 0..20 {
                ghosts.pass(MEMORY / 8);
                assert_eq!(ghosts.missed(hash(7)), None);
            }
            assert_eq!((ghosts.take(hash(7)), ghosts.take(hash(7))), (Some(queue), None));
        }
    }

    #[test]
    fn time_passes_by_any_number_of_bytes() {
        let mut ghosts = Ghosts::new(MEMORY);
        ghosts.note(hash(1), NEW);
        (0..MEMORY / 64).for_each(|_| ghosts.pass(16));
        assert_eq!(ghosts.missed(hash(1)).map(|missed| missed.bytes_ago), Some(MEMORY / 4));
        ghosts.note(hash(1), NEW);
        ghosts.take(hash(1));
        ghosts.note(hash(1), NEW);
        ghosts.pass(MEMORY * 3 / 2);
        assert_eq!(ghosts.missed(hash(1)).map(|missed| missed.bytes_ago), Some(MEMORY * 3 / 2));
    }

    #[test]
    fn a_key_that_nobody_asked_for_has_not_proved_itself() {
        let mut ghosts = Ghosts::new(MEMORY);
        ghosts.note(hash(1), NEW);
        assert_eq!(ghosts.take(hash(1)), None);
        assert_eq!(ghosts.missed(hash(1)), None);
    }

    #[test]
    fn the_counts_are_those_of_the_marks() {
        let mut ghosts = Ghosts::new(MEMORY);
        for n in 0..20_000 {
            ghosts.note(hash(n), (n % 3 == 0).into());
            ghosts.missed(hash(n / 2));
            ghosts.take(hash(n / 3));
            ghosts.pass(100);
        }
        for of in [NEW, PROVEN] {
            let marks = ghosts.marks.iter().filter(|mark| **mark != 0 && queue(**mark) == of);
            assert_eq!(marks.count(), ghosts.count(of));
        }
        ghosts.clear();
        assert_eq!([ghosts.count(NEW), ghosts.count(PROVEN)], [0, 0]);
    }
}
