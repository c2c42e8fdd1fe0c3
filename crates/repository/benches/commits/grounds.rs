//! On what is measured: repositories with the documents that a case needs.

use crate::measure::documents::{fill, key, notes, open, run};
use crate::measure::process;
use repository::{
    Durability, IndexDefinition, IndexKind, IndexPath, IndexState, MediaType, Repository, Settings,
    limits,
};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Enough for every data set here.
const MEMORY_BYTES: u64 = 2 << 30;

/// Each account's balance at first.
pub const BALANCE: i64 = 1_000;

/// A repository before the first case.
#[derive(Clone, Copy, PartialEq)]
pub enum Ground {
    /// No document.
    Empty { durability: Durability, indexes: usize },
    /// Documents in memory.
    Documents { documents: u64, durability: Durability },
    /// Documents in the engine's tables, and the smallest memory there can be. The tables are in
    /// the operating system's page cache.
    AtRest { documents: u64 },
    /// Documents in memory, with three indexes.
    Indexed { documents: u64 },
    /// Accounts with a balance.
    Accounts { accounts: u64 },
}

impl Ground {
    pub fn documents(self) -> u64 {
        match self {
            Self::Empty { .. } => 0,
            Self::Documents { documents, .. }
            | Self::AtRest { documents }
            | Self::Indexed { documents }
            | Self::Accounts { accounts: documents } => documents,
        }
    }

    pub fn durability(self) -> Durability {
        match self {
            Self::Empty { durability, .. } | Self::Documents { durability, .. } => durability,
            Self::AtRest { .. } | Self::Indexed { .. } | Self::Accounts { .. } => {
                Durability::Synced
            }
        }
    }

    pub fn is_costly(self) -> bool {
        self.documents() > 100_000 || matches!(self, Self::Indexed { .. })
    }

    /// The same with fewer documents.
    pub fn smaller(mut self, divisor: u64) -> Self {
        match &mut self {
            Self::Empty { .. } => {}
            Self::Documents { documents, .. }
            | Self::AtRest { documents }
            | Self::Indexed { documents }
            | Self::Accounts { accounts: documents } => {
                *documents = (*documents / divisor).max(128);
            }
        }
        self
    }

    /// Makes it in `folder`.
    pub fn prepare(self, folder: &Path) -> Arc<Repository> {
        let repository = open(folder, MEMORY_BYTES).0;
        let indexes = match self {
            Self::Empty { indexes, .. } => indexes,
            Self::Indexed { .. } => 3,
            _ => 0,
        };
        let settings = Settings {
            durability: self.durability(),
            indexes: definitions().into_iter().take(indexes).collect(),
            ..Settings::default()
        };
        let number = repository.configure(&notes(), &settings).unwrap();
        repository.wait_durable(number).unwrap();
        let is_ready = || repository.indexes().iter().all(|i| i.state == IndexState::Ready);
        while !is_ready() {
            std::thread::sleep(Duration::from_millis(10));
        }
        match self {
            Self::Accounts { accounts } => open_accounts(&repository, accounts),
            _ => fill(&repository, &notes(), self.documents()),
        }
        if !matches!(self, Self::AtRest { .. }) {
            return repository;
        }
        process::settle(&repository);
        repository.close().unwrap();
        drop(repository);
        open(folder, limits::MEMORY_BYTES_MIN).0
    }
}

/// By owner (10,000 of them), by price (nearly unique), and by both.
fn definitions() -> [IndexDefinition; 3] {
    let path = |path: &str, kind| IndexPath { path: path.into(), kind, each: false };
    let owner = || path("/owner", IndexKind::Text);
    let price = || path("/price", IndexKind::Number);
    let index = |name: &str, paths| IndexDefinition { name: name.into(), paths, unique: false };
    [
        index("by_price", vec![price()]),
        index("by_owner", vec![owner()]),
        index("by_both", vec![owner(), price()]),
    ]
}

fn open_accounts(repository: &Repository, accounts: u64) {
    let mut last = repository.durable().unwrap();
    for first in (0..accounts).step_by(1_000) {
        let (ran, _) = run(repository, |transaction| {
            for account in first..accounts.min(first + 1_000) {
                let body = format!("{{\"balance\":{BALANCE}}}").into();
                transaction.put(&notes(), &key(account), MediaType::Json, body, None).unwrap();
            }
        });
        last = ran.wait_for;
    }
    repository.wait_durable(last).unwrap();
}
