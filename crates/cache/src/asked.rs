//! Keys that were asked for lately and not found. What is stored under one of them is a fill: its
//! reader has just had it. What is stored under another key is there to be read later.

use crate::key::Hash;
use crate::limits::ASKED_KEYS;

/// A print of each key in the place that its hash gives; a newer one takes over.
pub(crate) struct AskedKeys([u16; ASKED_KEYS]);

impl AskedKeys {
    pub fn new() -> Self {
        Self([0; ASKED_KEYS])
    }

    /// A key was asked for that is not there.
    #[inline]
    pub fn note(&mut self, hash: Hash) {
        self.0[hash.ghost(ASKED_KEYS)] = hash.print();
    }

    /// Whether a key was asked for; it is not known any more.
    #[inline]
    pub fn take(&mut self, hash: Hash) -> bool {
        let known = &mut self.0[hash.ghost(ASKED_KEYS)];
        let is_known = *known == hash.print();
        if is_known {
            *known = 0;
        }
        is_known
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::Hashing;

    #[test]
    fn a_key_that_was_asked_for_is_known_once() {
        let hash = |n: u32| Hashing::new(1).hash(&n.to_le_bytes());
        let mut asked = AskedKeys::new();
        asked.note(hash(7));
        let known = [8, 7, 7].map(|n| asked.take(hash(n)));
        assert_eq!(known, [false, true, false]);
    }
}
