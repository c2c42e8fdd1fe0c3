//! Restores to a disk of their own, cut at any call and begun again, and what they have made,
//! compared with the model.

use super::{FOLDER, Keeper};
use crate::at_rest::Shelf;
use crate::disk::SimDisk;
use crate::found::found;
use crate::model::Model;
use crate::trace::{Finding, expect};
use repository::limits::MEMORY_BYTES_MIN;
use repository::parts::{Parts, RestoreParts, SegmentSizes, Stepped};
use repository::{
    BackupListing, CollectionName, CommitNumber, Key, MediaType, OpenError, Options, Outcome,
    RestoreError, RestoreGoal, RestoreOptions, Restored, Retention, Timestamp,
};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Where it is restored to.
const NEW: &str = "/restored";

/// Cuts of one restore.
const CUTS_MAX: u64 = 6;

/// Restores up to `goal`, the newest if there is none, and compares.
pub(super) fn check(
    keeper: &mut Keeper,
    (listing, goal): (&BackupListing, Option<CommitNumber>),
    model: &Model,
    now_ms: u64,
) -> Result<String, Finding> {
    let disk = SimDisk::new(keeper.random.split());
    let new = New { shelf: Shelf::new(disk.clone()), disk, now_ms };
    let mut cuts = keeper.random.below(CUTS_MAX);
    let restored = loop {
        if cuts > 0 {
            new.disk.crash_after(keeper.random.below(30));
        }
        let ended = new.restore(&keeper.disk, goal);
        let is_cut = new.disk.has_crashed();
        let power_goes = cuts > 0 && keeper.random.percent(70);
        match power_goes {
            true => new.disk.cut_power(),
            false => new.disk.kill(),
        }
        match ended {
            Ok(restored) => break restored,
            Err(error) => expect(is_cut, || format!("no restore up to {goal:?}: {error}"))?,
        }
        cuts = cuts.saturating_sub(1);
        if new.look_at_cut()? {
            // Everything was done but for saying so.
            let commit = goal.or(listing.reachable).unwrap_or_default();
            new.compare(model, commit.0)?;
            return Ok(format!("up to {commit}, unsaid"));
        }
    };
    expect(goal.is_none_or(|goal| restored.commit <= goal), || {
        format!("{} was restored, {goal:?} asked for", restored.commit)
    })?;
    let commit = goal.or(listing.reachable).unwrap_or_default();
    new.compare(model, commit.0)?;
    Ok(format!("up to {commit}: {} rows, {} commits", restored.rows, restored.commits))
}

/// A repository being made.
struct New {
    disk: SimDisk,
    shelf: Arc<Shelf>,
    now_ms: u64,
}

impl New {
    fn restore(
        &self,
        backups: &SimDisk,
        goal: Option<CommitNumber>,
    ) -> Result<Restored, RestoreError> {
        let now_ms = self.now_ms;
        let options = RestoreOptions {
            folder: PathBuf::from(NEW),
            archive: None,
            goal: goal.map(RestoreGoal::Commit),
            clock: Arc::new(move || Timestamp(now_ms)),
        };
        let (opened, cleared) = (Arc::clone(&self.shelf), Arc::clone(&self.shelf));
        let parts = RestoreParts {
            disk: Arc::new(self.disk.clone()),
            backups: Arc::new(backups.clone()),
            open: Box::new(move || opened.open()),
            clear: Box::new(move || cleared.clear()),
        };
        parts.restore(Path::new(FOLDER), &options, &mut |_| ControlFlow::Continue(()))
    }

    fn open(&self) -> Result<Stepped, OpenError> {
        let now_ms = self.now_ms;
        let options = Options {
            folder: PathBuf::from(NEW),
            memory_bytes: MEMORY_BYTES_MIN,
            clock: Arc::new(move || Timestamp(now_ms)),
        };
        let sizes = SegmentSizes { first_bytes: 4 * 4096, bytes: 16 * 4096 };
        let retention = Retention { bytes: 0, hold: None };
        let (disk, at_rest) = (Arc::new(self.disk.clone()), self.shelf.open());
        let reserve_bytes = repository::limits::RESERVE_BYTES;
        let parts = Parts { disk, at_rest, sizes, retention, reserve_bytes };
        Stepped::open(&options, parts).map(|(opened, _)| opened)
    }

    /// What a restore that was cut leaves is no repository; or it is the whole one, which `true`
    /// says.
    fn look_at_cut(&self) -> Result<bool, Finding> {
        let files = self.disk.files(Path::new(NEW));
        let has = |name: &str| files.contains(&Path::new(NEW).join(name));
        if has("format") {
            return Ok(true);
        }
        if has("restoring") {
            match self.open() {
                Err(OpenError::NotARepository { .. }) => {}
                Err(error) => return Err(Finding(format!("a cut restore: {error}"))),
                Ok(_) => return Err(Finding("a cut restore was opened".to_owned())),
            }
        }
        Ok(false)
    }

    /// It holds what the model says was there after `commit`, and takes commits.
    fn compare(&self, model: &Model, commit: u64) -> Result<(), Finding> {
        let failed = |what: String| Finding(format!("restored up to {commit}: {what}"));
        let opened = self.open().map_err(|error| failed(format!("it does not open: {error}")))?;
        let found = found(opened.repository()).map_err(failed)?;
        let mut expected = model.was(commit);
        expected.retain(|_, version| version.is_alive(self.now_ms));
        for place in expected.keys().chain(found.keys()) {
            let (expected, found) = (expected.get(place), found.get(place));
            expect(expected == found, || {
                let Finding(what) = failed(format!("{place:?}: expected {expected:?}"));
                format!("{what}, found {found:?}")
            })?;
        }
        let last = opened.repository().stats().visible;
        let next = commit_one(&opened).map_err(failed)?;
        expect(next > last && next.0 > commit, || format!("{next} came after {last}, {commit}"))
    }
}

fn commit_one(opened: &Stepped) -> Result<CommitNumber, String> {
    let name = CollectionName::new("notes").map_err(|error| error.to_string())?;
    let key = Key::new("after the restore").map_err(|error| error.to_string())?;
    let mut transaction = opened.repository().begin().map_err(|error| error.to_string())?;
    let staged = transaction.put(&name, &key, MediaType::Json, b"1"[..].into(), None);
    staged.map_err(|error| error.to_string())?;
    match transaction.commit() {
        Ok(Outcome::Committed(number)) => Ok(number),
        Ok(other) => Err(format!("{other:?}")),
        Err(error) => Err(error.to_string()),
    }
}
