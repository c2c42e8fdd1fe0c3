//! Whose turn it is to write the engine's next list of tables. Checkpoints and merges take turns,
//! so that after a write that failed nobody writes before it is known which list counts.
//!
//! The engine writes the list after its newest as `vN`, and makes `current` name it by a rename. If
//! anything fails, it goes on with the list that it had, and writes `vN` anew the next time: in
//! place, although `current` may name it, if the rename had happened. So a turn first reads that
//! `current` names the engine's newest list. A turn that failed leaves a doubt, and the next begins
//! by settling it: `current` is made to name the list that the engine has, and `vN` is removed.

use super::lists::List;
use crate::at_rest::EngineError;
use crate::disk::{Disk, Files};
use lsm_tree::compaction::filter::Context;
use lsm_tree::compaction::{CompactionFilter, Factory, ItemAccessor, Verdict};
use std::io::{self, ErrorKind};
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// Who writes lists. Of each there is one at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Work {
    Checkpoint,
    Merge,
}

/// See the module.
#[derive(Debug)]
pub(super) struct Turns {
    engine: PathBuf,
    state: Mutex<State>,
    ended: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// Who may write the next list.
    taken: Option<Work>,
    /// The number of the engine's newest list.
    newest: u64,
    /// The list that `current` must name, if it is not certain that it does.
    doubt: Option<Doubt>,
}

#[derive(Clone, Copy, Debug)]
struct Doubt {
    list: List,
    /// `current` was not seen to name it since: then only writing it anew helps, whatever is read.
    has_moved: bool,
}

/// A turn; ends when it is dropped, with a doubt unless it was said how the work went.
pub(super) struct Turn<'a> {
    turns: &'a Turns,
    work: Work,
}

impl Turns {
    /// Of the engine in this folder, which is being opened.
    pub(super) fn new(engine: &Path) -> Self {
        let (state, ended) = (Mutex::default(), Condvar::new());
        Self { engine: engine.to_owned(), state, ended }
    }

    /// Says which list is the newest, once the engine is open.
    pub(super) fn begin_after(&self, newest: u64) {
        self.lock().newest = newest;
    }

    /// Waits for a turn. `Err`: it is not certain which list counts; nothing may be written.
    pub(super) fn take(&self, work: Work) -> Result<Turn<'_>, EngineError> {
        self.begin(work)?;
        Ok(Turn { turns: self, work })
    }

    fn begin(&self, work: Work) -> Result<(), EngineError> {
        let mut state = self.lock();
        while state.taken.is_some() {
            state = self.ended.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.settle(&self.engine)?;
        let list = List::current(&self.engine).map_err(|damage| EngineError(damage.to_string()))?;
        if list.number != state.newest {
            return Err(EngineError(format!(
                "{} names list {}, and the newest is {}: somebody else has changed it",
                self.engine.join("current").display(),
                list.number,
                state.newest
            )));
        }
        state.doubt = Some(Doubt { list, has_moved: false });
        state.taken = Some(work);
        Ok(())
    }

    /// Gives a turn back in which nothing was written.
    fn pause(&self, work: Work) {
        let mut state = self.lock();
        if state.taken == Some(work) {
            state.doubt = None;
        }
        drop(state);
        self.end(work);
    }

    fn end(&self, work: Work) {
        let mut state = self.lock();
        if state.taken == Some(work) {
            state.taken = None;
            self.ended.notify_all();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Turn<'_> {
    /// Says how the work went, and which list is the engine's newest now. One that the engine has
    /// taken on is on disk with its name, whatever failed afterwards.
    pub(super) fn done(self, is_done: bool, newest: u64) {
        let mut state = self.turns.lock();
        if state.taken == Some(self.work) && (is_done || newest != state.newest) {
            state.doubt = None;
            state.newest = newest;
        }
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.turns.end(self.work);
    }
}

impl State {
    /// Makes certain that `current` names the engine's newest list, and that there is none after.
    fn settle(&mut self, engine: &Path) -> Result<(), EngineError> {
        let Some(doubt) = &mut self.doubt else { return Ok(()) };
        let list = doubt.list;
        doubt.has_moved |= List::current(engine) != Ok(list);
        let has_moved = doubt.has_moved;
        let settled = || -> io::Result<()> {
            if has_moved {
                list.tables(engine).map_err(io::Error::other)?;
                list.make_current(engine)?;
            }
            match Files.remove(&engine.join(format!("v{}", list.number + 1))) {
                Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
                _ => {}
            }
            Files.sync_folder(engine)
        };
        settled().map_err(|error| {
            let current = engine.join("current");
            EngineError(format!("it is not certain what {} says: {error}", current.display()))
        })?;
        if has_moved {
            log::warn!("a list of tables could not be made durable: list {} stays", list.number);
        }
        self.doubt = None;
        Ok(())
    }
}

/// Lets checkpoints go on while tables are merged: a merge gives its turn back when it begins to
/// read its tables, and takes one again before it names the new ones. The engine has no other place
/// for that than a filter of rows.
pub(super) struct Pauses(pub AssertUnwindSafe<Arc<Turns>>);

impl Factory for Pauses {
    fn name(&self) -> &str {
        "turns"
    }

    fn make_filter(&self, _: &Context) -> Box<dyn CompactionFilter> {
        self.0.pause(Work::Merge);
        Box::new(Merging(Arc::clone(&self.0)))
    }
}

struct Merging(Arc<Turns>);

impl CompactionFilter for Merging {
    fn filter_item(&mut self, _: ItemAccessor<'_>, _: &Context) -> lsm_tree::Result<Verdict> {
        Ok(Verdict::Keep)
    }

    /// # Panics
    ///
    /// If it is not certain which list counts: a checkpoint failed meanwhile, and the disk still
    /// does. The engine asks for no result, and would go on to write; its locks are not held here.
    fn finish(self: Box<Self>) {
        if let Err(error) = self.0.begin(Work::Merge) {
            panic!("merged tables cannot take the place of the old ones: {error}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Engine, lists};

    fn numbers(engine: &Path) -> Vec<String> {
        let mut names = Files.names(engine).unwrap();
        names.retain(|name| name.starts_with('v'));
        names.sort();
        names
    }

    /// An engine whose first list another one has replaced, and turns that do not know of it.
    fn moved() -> (tempfile::TempDir, Turns, List) {
        let folder = tempfile::tempdir().unwrap();
        drop(Engine::open(folder.path(), 1 << 20).unwrap());
        let first = lists::check(folder.path()).unwrap();
        let turns = Turns::new(folder.path());
        turns.begin_after(first.number);
        let turn = turns.take(Work::Checkpoint).unwrap();
        let mut next = first;
        next.number += 1;
        std::fs::copy(first.path(folder.path()), next.path(folder.path())).unwrap();
        next.make_current(folder.path()).unwrap();
        // It failed.
        drop(turn);
        (folder, turns, first)
    }

    #[test]
    fn a_list_that_may_count_is_taken_back_before_the_next_turn() {
        let (folder, turns, first) = moved();
        let turn = turns.take(Work::Merge).unwrap();
        assert_eq!(List::current(folder.path()), Ok(first));
        assert_eq!(numbers(folder.path()), ["v0"]);
        turn.done(true, first.number);
        drop(turns.take(Work::Checkpoint).unwrap());
    }

    #[test]
    fn while_it_cannot_be_taken_back_nobody_has_a_turn() {
        let (folder, turns, first) = moved();
        let (list, aside) = (first.path(folder.path()), folder.path().join("aside"));
        std::fs::rename(&list, &aside).unwrap();
        let error = turns.take(Work::Checkpoint).err().unwrap().to_string();
        assert!(error.contains("it is not certain what") && error.contains("current"), "{error}");
        let turns = Arc::new(turns);
        let merging = Box::new(Merging(Arc::clone(&turns)));
        let merged = std::panic::catch_unwind(AssertUnwindSafe(|| merging.finish()));
        assert!(merged.is_err(), "its tables would be named");
        assert_eq!(numbers(folder.path()), ["v1"], "nothing is removed");
        std::fs::rename(&aside, &list).unwrap();
        drop(turns.take(Work::Checkpoint).unwrap());
        assert_eq!(List::current(folder.path()), Ok(first));
    }

    #[test]
    fn a_merge_lets_checkpoints_go_on_until_it_names_its_tables() {
        let folder = tempfile::tempdir().unwrap();
        drop(Engine::open(folder.path(), 1 << 20).unwrap());
        let turns = Arc::new(Turns::new(folder.path()));
        let merge = turns.take(Work::Merge).unwrap();
        turns.pause(Work::Merge);
        let checkpoint = turns.take(Work::Checkpoint).unwrap();
        let merging = Box::new(Merging(Arc::clone(&turns)));
        std::thread::scope(|scope| {
            let finish = scope.spawn(|| merging.finish());
            // Whether it waits already or not: it does not go on before the checkpoint.
            assert!(!finish.is_finished(), "a checkpoint has its turn");
            checkpoint.done(true, 0);
        });
        assert_eq!(turns.lock().taken, Some(Work::Merge));
        merge.done(true, 0);
        assert_eq!(turns.lock().taken, None);
    }
}
