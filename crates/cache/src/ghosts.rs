//! Keys that were thrown out lately before they had proved themselves: who comes back was missed.
//! Marks of 16 bits in a table; a newer one in the same place takes over, which forgets the old.

use crate::key::Hash;

/// Bytes of memory for which there is one mark.
const BYTES_PER_MARK: usize = 256;

pub(crate) struct Ghosts(Box<[u16]>);

impl Ghosts {
    /// Bytes that those of a shard take.
    pub fn bytes(memory: usize) -> usize {
        memory / BYTES_PER_MARK * size_of::<u16>()
    }

    pub fn new(memory: usize) -> Self {
        Self(vec![0; (memory / BYTES_PER_MARK).max(1)].into_boxed_slice())
    }

    pub fn note(&mut self, hash: Hash) {
        self.0[hash.ghost(self.0.len())] = hash.print();
    }

    /// Whether it was thrown out lately; it is not any more.
    pub fn take(&mut self, hash: Hash) -> bool {
        let mark = &mut self.0[hash.ghost(self.0.len())];
        let is_known = *mark == hash.print();
        if is_known {
            *mark = 0;
        }
        is_known
    }

    pub fn clear(&mut self) {
        self.0.fill(0);
    }
}
