//! Which file a read failed on, which the engine's errors do not say: the tables that it may have
//! been reading are read as a whole, and compared with their checksums.

use super::{lists, shown};
use crate::errors::ReadError;
use crate::range::Direction;
use lsm_tree::{AbstractTree, AnyTree, Table};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// What was read.
#[derive(Clone, Copy)]
pub(super) enum Place<'a> {
    /// The row with this key.
    At(&'a [u8]),
    /// The row behind this key, in a direction.
    From(&'a [u8], Direction),
}

/// Damaged tables that were found, with what is wrong, so that each is read as a whole only once.
#[derive(Default)]
pub(super) struct Unreadable(Mutex<BTreeMap<PathBuf, String>>);

impl Unreadable {
    /// The error, with the name of the damaged file, or those of the files that were read.
    pub(super) fn name(&self, tree: &AnyTree, at: Place<'_>, error: lsm_tree::Error) -> ReadError {
        let tables = tables(tree, at);
        // Locked while tables are read: others that fail meanwhile wait for what is found.
        let mut known = self.0.lock();
        for table in &tables {
            if let Some(why) = known.get(&**table.path) {
                return ReadError::Engine(why.as_str().into());
            }
            if let Some(why) = check(table) {
                known.insert(table.path.to_path_buf(), why.clone());
                return ReadError::Engine(why.into());
            }
        }
        let paths: Vec<String> = tables.iter().map(|t| t.path.display().to_string()).collect();
        ReadError::Engine(format!("{}: {error}", paths.join(" or ")).into())
    }
}

/// What is wrong with a table as its checksum tells, and what it holds.
pub(super) fn check(table: &Table) -> Option<String> {
    let damage = lists::check_table(&table.path, table.checksum().into_u128())?;
    let range = &table.metadata.key_range;
    let (first, last) = (shown(range.min()), shown(range.max()));
    Some(format!("{damage}; it holds rows from {first} to {last}"))
}

/// The tables in which a row may stand.
fn tables(tree: &AnyTree, at: Place<'_>) -> Vec<Table> {
    let version = tree.current_version();
    let runs = version.iter_levels().flat_map(|level| level.iter());
    let in_run = runs.filter_map(|run| {
        let mut tables = run.iter();
        let range = |table: &&Table| {
            let range = &table.metadata.key_range;
            (range.min().to_vec(), range.max().to_vec())
        };
        match at {
            Place::At(key) => tables.find(|table| {
                let (min, max) = range(table);
                *min <= *key && *key <= *max
            }),
            Place::From(key, Direction::Ascending) => tables.find(|table| *range(table).1 >= *key),
            Place::From(key, Direction::Descending) => {
                tables.rfind(|table| *range(table).0 <= *key)
            }
        }
    });
    in_run.cloned().collect()
}
