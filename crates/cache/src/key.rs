//! A key with its hash, which says everything about where it is.

use foldhash::SharedSeed;
use foldhash::quality::FoldHasher;
use std::hash::Hasher;

/// A key, hashed. It belongs to the cache that made it.
#[derive(Clone, Copy, Debug)]
pub struct Key<'k> {
    bytes: &'k [u8],
    pub(crate) hash: Hash,
}

impl<'k> Key<'k> {
    pub(crate) fn new(bytes: &'k [u8], hash: Hash) -> Self {
        Self { bytes, hash }
    }

    /// The key itself.
    #[inline]
    pub fn bytes(&self) -> &'k [u8] {
        self.bytes
    }
}

/// A key's hash. The parts that are used for different things overlap as little as they can.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hash(u64);

impl Hash {
    /// Bits of a tag.
    pub const TAG_BITS: u32 = 31;

    #[inline]
    pub fn tag(self) -> u32 {
        (self.0 as u32) & ((1 << Self::TAG_BITS) - 1)
    }

    #[inline]
    pub fn shard(self, mask: usize) -> usize {
        (self.0 >> 56) as usize & mask
    }

    /// What a ghost is known by.
    #[inline]
    pub fn print(self) -> u16 {
        (self.0 >> 40) as u16
    }

    /// Where a ghost is among `places`.
    #[inline]
    pub fn ghost(self, places: usize) -> usize {
        (self.0 & 0xFF_FFFF_FFFF) as usize % places
    }
}

/// How keys are hashed: with a seed that nobody outside knows, so that nobody can choose keys that
/// meet in one bucket.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hashing {
    seed: u64,
}

impl Hashing {
    pub fn new(seed: u64) -> Self {
        Self { seed }
    }

    #[inline]
    pub fn hash(self, key: &[u8]) -> Hash {
        let mut hasher = FoldHasher::with_seed(self.seed, SharedSeed::global_fixed());
        hasher.write(key);
        Hash(hasher.finish())
    }
}
