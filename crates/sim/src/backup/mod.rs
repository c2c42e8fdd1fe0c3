//! Somebody who backs up the simulated repository while it is used: full sets, log sets, an
//! archive, with crashes and failures of the disk that they are on. What was reported as done must
//! be whole, and lead to what the model says, whatever happened since.

mod baton;
mod promise;
mod restoring;

pub(crate) use baton::Baton;

use crate::disk::SimDisk;
use crate::model::Model;
use crate::random::Random;
use crate::trace::{Finding, expect};
use baton::{PausingDisk, Runner};
use promise::Promise;
use repository::parts::{Stepped, SteppedArchive, verify_backups};
use repository::{
    BackupError, BackupKind, BackupListing, BackupOptions, BackupReport, CommitNumber, Hold,
    SetKind,
};
use std::io::ErrorKind;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

/// The folder of backups.
const FOLDER: &str = "/backups";

/// More than the log of a run comes to.
const HOLD_BYTES_MAX: u64 = 1 << 40;

type Ended = std::thread::Result<Result<BackupReport, BackupError>>;

/// A backup that goes on.
struct Running {
    runner: Runner<Result<BackupReport, BackupError>>,
    options: BackupOptions,
    /// It gives up by itself.
    is_given_up: bool,
}

/// See the module.
pub(crate) struct Keeper {
    random: Random,
    disk: SimDisk,
    baton: Arc<Baton>,
    running: Option<Running>,
    has_archive: bool,
    archive: Option<SteppedArchive>,
    /// Whether a call of its disk may fail, or has failed, since it was last healed.
    may_fail: bool,
    promise: Promise,
}

impl Keeper {
    /// One who has not begun.
    pub(crate) fn new(random: &mut Random) -> Self {
        let mut random = random.split();
        Self {
            disk: SimDisk::new(random.split()),
            baton: Arc::default(),
            running: None,
            has_archive: random.percent(40),
            archive: None,
            may_fail: false,
            promise: Promise::default(),
            random,
        }
    }

    /// What whoever is to be interleaved with it waits at.
    pub(crate) fn baton(&self) -> Arc<Baton> {
        Arc::clone(&self.baton)
    }

    /// Whether its disk has seen the crash.
    pub(crate) fn has_crashed(&self) -> bool {
        self.disk.has_crashed()
    }

    /// Whether the log is held for an archive, however little room there is.
    pub(crate) fn holds_log(&self) -> bool {
        self.has_archive
    }

    /// The last commit that an opening must find, because it is in a backup.
    pub(crate) fn least(&self) -> u64 {
        self.promise.commit()
    }

    /// What the next opening is to hold of the log.
    pub(crate) fn hold(&mut self) -> Option<Hold> {
        self.heal();
        let listing = verify_backups(Arc::new(self.disk.clone()), Path::new(FOLDER)).ok()?;
        let (_, after) = listing.archive.filter(|_| self.has_archive)?;
        Some(Hold { after, bytes_max: HOLD_BYTES_MAX })
    }

    fn heal(&mut self) {
        self.disk.heal();
        self.may_fail = false;
    }

    /// Does the next thing; `has_cause` says whether the repository itself may fail.
    pub(crate) fn step(
        &mut self,
        opened: &Arc<Stepped>,
        has_cause: &dyn Fn() -> bool,
    ) -> Result<String, Finding> {
        if self.random.percent(3) {
            let calls = self.random.below(20);
            self.disk.crash_after(calls);
        } else if self.random.percent(3) {
            let kind = *self.random.pick(&[ErrorKind::Other, ErrorKind::StorageFull]);
            let calls = self.random.below(20);
            self.disk.fail_after(calls, kind);
            self.may_fail = true;
        }
        if self.has_archive && self.random.percent(30) {
            return self.archive(opened, has_cause);
        }
        let Some(mut running) = self.running.take() else { return Ok(self.begin(opened)) };
        for _ in 0..self.random.between(1, 6) {
            if let Some(ended) = running.runner.turn() {
                return self.ended(
                    opened,
                    (&running.options, running.is_given_up),
                    ended,
                    has_cause,
                );
            }
        }
        self.running = Some(running);
        Ok("the backup goes on".to_owned())
    }

    fn begin(&mut self, opened: &Arc<Stepped>) -> String {
        if !self.random.percent(60) {
            self.heal();
            return "no backup now".to_owned();
        }
        let kinds = [BackupKind::Automatic, BackupKind::Full, BackupKind::Commits];
        let keep = self.random.percent(30).then(|| self.random.between(1, 2) as usize);
        let options = BackupOptions { kind: *self.random.pick(&kinds), keep };
        let is_given_up = self.random.percent(5);
        self.promise.begins(&options);
        let disk = PausingDisk { disk: self.disk.clone(), baton: self.baton() };
        let opened = Arc::clone(opened);
        let runner = Runner::new(&self.baton, move || {
            let to = (Arc::new(disk) as Arc<_>, Path::new(FOLDER));
            opened.back_up(to, &options, &mut |_| match is_given_up {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            })
        });
        self.running = Some(Running { runner, options, is_given_up });
        format!("a backup begins: {options:?}")
    }

    fn ended(
        &mut self,
        opened: &Stepped,
        (options, is_given_up): (&BackupOptions, bool),
        ended: Ended,
        has_cause: &dyn Fn() -> bool,
    ) -> Result<String, Finding> {
        let ended = ended.map_err(|_| Finding("a backup panicked".to_owned()))?;
        let report = match ended {
            Ok(report) => report,
            Err(error) => {
                self.promise.failed();
                let is_asked = options.kind == BackupKind::Commits;
                let may_be = match &error {
                    BackupError::Stopped => is_given_up,
                    BackupError::NothingBefore(_) | BackupError::LogGone { .. } => is_asked,
                    _ => has_cause() || self.may_fail || self.disk.has_crashed(),
                };
                expect(may_be, || format!("no backup, without a cause: {error}"))?;
                return Ok(format!("no backup: {error}"));
            }
        };
        // An earlier one may have been whole and not reported; it counts from now on.
        self.promise.reported(&report);
        // Of commits that are only volatile nothing is synced.
        let synced = opened.synced();
        expect(report.commit <= synced.max(opened.repository().stats().checkpoint), || {
            format!("{} is in a backup, {synced} is synced", report.commit)
        })?;
        Ok(format!("backed up: {report:?}"))
    }

    fn archive(
        &mut self,
        opened: &Stepped,
        has_cause: &dyn Fn() -> bool,
    ) -> Result<String, Finding> {
        let disk = Arc::new(self.disk.clone());
        let may_fail = |keeper: &Self| has_cause() || keeper.may_fail || keeper.has_crashed();
        let Some(archive) = &mut self.archive else {
            return match opened.archive((disk, Path::new(FOLDER)), HOLD_BYTES_MAX) {
                Ok(archive) => {
                    let at = archive.status().archived;
                    self.archive = Some(archive);
                    Ok(format!("archives after {at}"))
                }
                // The folder is being made.
                Err(error) => {
                    let may_be = may_fail(self) || self.running.is_some();
                    expect(may_be, || format!("no archive: {error}"))?;
                    Ok(format!("no archive: {error}"))
                }
            };
        };
        archive.step(opened);
        let status = archive.status().clone();
        let failure = status.failure.as_ref();
        expect(failure.is_none() || may_fail(self), || {
            format!("the archive does not go on: {failure:?}")
        })?;
        expect(status.gap.is_none(), || format!("the archive has a gap: {:?}", status.gap))?;
        self.promise.archived(status.archived);
        expect(status.archived <= opened.synced(), || {
            format!("{} is archived, {} is synced", status.archived, opened.synced())
        })?;
        Ok(format!("archived up to {}", status.archived))
    }

    /// Its process, which is that of the repository, dies.
    pub(crate) fn die(&mut self, of_repository: &SimDisk) {
        if let Some(running) = self.running.take() {
            // Nothing that it still does happens, or one call in part.
            self.disk.crash_after(0);
            of_repository.crash_after(0);
            // Whatever it says is not heard.
            let _unheard = running.runner.finish();
            self.promise.failed();
        }
        self.archive = None;
    }

    /// What becomes of its disk; gives what is left.
    pub(crate) fn after_death(&mut self, power_was_cut: bool) -> String {
        match power_was_cut {
            true => self.disk.cut_power(),
            false => self.disk.kill(),
        }
        self.disk.listing()
    }

    /// Looks whether everything that was reported is whole, and restores it.
    pub(crate) fn check(&mut self, model: &Model, now_ms: u64) -> Result<String, Finding> {
        if self.running.is_some() {
            return Ok("a backup goes on, no restore".to_owned());
        }
        self.heal();
        let listing = match verify_backups(Arc::new(self.disk.clone()), Path::new(FOLDER)) {
            Ok(listing) => listing,
            Err(error) => {
                let is_nothing = self.promise.commit() == 0;
                expect(is_nothing, || format!("no backups any more: {error}"))?;
                return Ok(format!("no backups yet: {error}"));
            }
        };
        self.promise.check(&listing)?;
        if listing.sets.is_empty() {
            return Ok("no sets yet".to_owned());
        }
        let goals = self.goals(&listing, model);
        let mut done = Vec::new();
        for goal in goals {
            done.push(restoring::check(self, (&listing, goal), model, now_ms)?);
        }
        Ok(format!("restored {}", done.join(", ")))
    }

    /// The newest, if nothing is missing, and some commit that must be reached.
    fn goals(&mut self, listing: &BackupListing, model: &Model) -> Vec<Option<CommitNumber>> {
        let mut goals = Vec::new();
        if listing.reachable.is_some() {
            goals.push(None);
        }
        // Of what leads on from a full set without a gap, any commit.
        let fulls = listing.sets.iter().filter(|set| set.kind == SetKind::Full);
        let fulls: Vec<CommitNumber> = fulls.map(|set| set.to).collect();
        let led_to = |after: &CommitNumber| fulls.iter().any(|full| full <= after);
        let sets = listing.sets.iter().filter_map(|set| match set.kind {
            SetKind::Full => Some((set.to, set.to)),
            SetKind::Log => led_to(&set.after).then(|| (set.after.next(), set.to)),
        });
        let begin = listing.archive.and_then(|(after, to)| {
            let first = fulls.iter().copied().filter(|full| *full >= after).min()?;
            (first <= to).then_some((first, to))
        });
        let ranges: Vec<_> = sets.chain(begin).collect();
        if ranges.is_empty() {
            return goals;
        }
        let (from, to) = *self.random.pick(&ranges);
        let commits = model.commits(from.0, to.0);
        let some = commits.get(self.random.below(commits.len() as u64) as usize);
        goals.push(Some(some.copied().map_or(to, CommitNumber)));
        goals
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        // A run that has found something leaves it in the middle.
        let disk = self.disk.clone();
        self.die(&disk);
    }
}
