//! Maps and sets by hash. Clients choose keys and names of documents, so the hash has a seed that
//! differs in each process: without it, somebody could find keys that all fall into one chain and
//! have each look-up walk through it, under the locks of commits.
//!
//! What is walked through in an order that others see is no such map: the order differs as well.

use foldhash::fast::RandomState;
use std::collections::{HashMap, HashSet};

/// A map whose keys may come from clients.
pub(crate) type SeededMap<K, V> = HashMap<K, V, RandomState>;

/// A set of what may come from clients.
pub(crate) type SeededSet<T> = HashSet<T, RandomState>;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::name::Key;
    use std::hash::BuildHasher;

    /// Which of 4,096 chains a key falls into.
    fn chain(hashing: &RandomState, key: &Key) -> u64 {
        hashing.hash_one(key) & 0xfff
    }

    /// Somebody who knows how keys are hashed on a machine of his own gathers keys of one chain.
    #[test]
    fn keys_that_fall_together_in_one_process_do_not_in_another() {
        let (own, other) = (RandomState::default(), RandomState::default());
        let keys = (0..400_000).map(|i| Key::new(&format!("k{i}")).expect("a key"));
        let together: Vec<Key> = keys.filter(|key| chain(&own, key) == 7).collect();
        assert!(together.len() > 50, "{} keys", together.len());
        let mut chains: SeededMap<u64, usize> = SeededMap::default();
        for key in &together {
            *chains.entry(chain(&other, key)).or_default() += 1;
        }
        let longest = chains.values().max().copied().unwrap_or_default();
        assert!(longest < 10, "{longest} of {} keys share a chain", together.len());
    }
}
