//! A recorded history: what each transaction did and saw, as its client knows it.

use std::collections::Bound;
use std::ops::RangeBounds;

/// Names one write of a history. No two writes of a history share one, so a read that tells which
/// version it saw tells which write it saw.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Version(pub u64);

/// A range of keys.
#[derive(Clone, Debug)]
pub struct Span {
    /// Where it starts.
    pub from: Bound<String>,
    /// Where it ends.
    pub to: Bound<String>,
}

impl Span {
    /// The keys from `from` to `to`, both included.
    pub fn closed(from: &str, to: &str) -> Self {
        Self { from: Bound::Included(from.to_owned()), to: Bound::Included(to.to_owned()) }
    }

    /// Whether `key` is in it.
    pub fn contains(&self, key: &str) -> bool {
        (self.from.clone(), self.to.clone()).contains(&key.to_owned())
    }
}

/// One step of a transaction.
#[derive(Clone, Debug)]
pub enum Operation {
    /// A read of one key.
    Read {
        /// Which.
        key: String,
        /// The version that was seen, or `None` where nothing was.
        saw: Option<Version>,
    },
    /// A read of all keys of a range. A read that stopped at a limit covers the range up to the
    /// last key that it saw.
    Scan {
        /// The range that the read covered.
        span: Span,
        /// Everything that was seen in it.
        saw: Vec<(String, Version)>,
    },
    /// A write.
    Write {
        /// Of which key.
        key: String,
        /// The version that it makes.
        version: Version,
        /// Whether it deletes: whoever reads this version sees nothing.
        deletes: bool,
    },
}

/// How a transaction ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Committed, under this number.
    Committed(u64),
    /// It wrote nothing.
    Unchanged,
    /// Nothing of it took effect.
    Aborted,
    /// Nobody told. The number is known if somebody has read what it wrote.
    Unknown(Option<u64>),
}

/// One transaction.
#[derive(Clone, Debug)]
pub struct Transaction {
    /// For messages.
    pub name: String,
    /// An instant before its first step, on a clock that all transactions share.
    pub began: u64,
    /// An instant after its end was known.
    pub ended: u64,
    /// The last commit that it says it saw. It is believed only where the data cannot tell: which
    /// of several deletions a read of nothing saw, and where one that wrote nothing stands among
    /// the commits.
    pub view: u64,
    /// What it did, in order.
    pub operations: Vec<Operation>,
    /// See [`End`].
    pub end: End,
}

/// Transactions, in any order.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// See [`Transaction`].
    pub transactions: Vec<Transaction>,
}
