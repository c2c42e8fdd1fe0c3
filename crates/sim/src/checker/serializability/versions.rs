//! Which versions a history has: who wrote each, and in which order those of a key came.

use crate::checker::history::{End, History, Operation, Version};
use std::collections::{BTreeMap, BTreeSet};

/// A write.
#[derive(Clone, Copy, Debug)]
pub(super) struct Write {
    pub transaction: usize,
    pub version: Version,
    /// Whoever reads it sees nothing.
    pub deletes: bool,
    /// The commit that installed it, if that is known.
    pub number: Option<u64>,
    /// Whether its transaction did not write the key again.
    pub is_last: bool,
}

/// All writes of a history.
#[derive(Debug, Default)]
pub(super) struct Versions {
    writes: BTreeMap<Version, (String, Write)>,
    /// What was installed per key, in order. Before the first there is nothing.
    installed: BTreeMap<String, Vec<Write>>,
}

impl Versions {
    pub fn of(history: &History) -> Self {
        let mut versions = Self::default();
        for (index, transaction) in history.transactions.iter().enumerate() {
            let number = match transaction.end {
                End::Committed(number) => Some(number),
                End::Unknown(number) => number,
                End::Unchanged | End::Aborted => None,
            };
            let mut later = BTreeSet::new();
            for operation in transaction.operations.iter().rev() {
                let Operation::Write { key, version, deletes } = operation else { continue };
                let is_last = later.insert(key);
                let (version, deletes) = (*version, *deletes);
                let write = Write { transaction: index, version, deletes, number, is_last };
                let twice = versions.writes.insert(version, (key.clone(), write));
                assert!(twice.is_none(), "the recorder gave two writes the name {version:?}");
                if is_last && number.is_some() {
                    versions.installed.entry(key.clone()).or_default().push(write);
                }
            }
        }
        versions.installed.values_mut().for_each(|writes| writes.sort_by_key(|w| w.number));
        versions
    }

    /// The write that made `version` of `key`.
    pub fn writer(&self, key: &str, version: Version) -> Option<Write> {
        self.writes.get(&version).filter(|(of, _)| of == key).map(|(_, write)| *write)
    }

    /// What was installed for `key`, in order.
    pub fn installed(&self, key: &str) -> &[Write] {
        self.installed.get(key).map_or(&[], Vec::as_slice)
    }

    /// Every key with what was installed for it.
    pub fn keys(&self) -> impl Iterator<Item = (&String, &[Write])> {
        self.installed.iter().map(|(key, writes)| (key, writes.as_slice()))
    }
}
