//! What the backups of a run have reported, and so must be there.

use crate::trace::{Finding, expect};
use repository::{Added, BackupListing, BackupOptions, BackupReport, CommitNumber, SetKind};

/// A set that was reported.
#[derive(Debug)]
struct Reported {
    name: String,
    to: u64,
    is_full: bool,
    /// A later backup was told to keep fewer, and may have removed it.
    may_be_gone: bool,
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Promise {
    sets: Vec<Reported>,
    /// A backup was not reported; it may have left a set that counts all the same.
    has_failed: bool,
    archived: u64,
}

impl Promise {
    /// The last commit that can be restored.
    pub(super) fn commit(&self) -> u64 {
        self.sets.iter().map(|set| set.to).max().unwrap_or(0)
    }

    /// A backup begins, which may remove sets.
    pub(super) fn begins(&mut self, options: &BackupOptions) {
        let Some(keep) = options.keep else { return };
        // It may add a full set itself.
        let fulls = self.sets.iter().filter(|set| set.is_full).rev();
        let oldest = match keep {
            1 => u64::MAX,
            _ if self.has_failed => u64::MAX,
            _ => fulls.map(|set| set.to).nth(keep - 2).unwrap_or(0),
        };
        for set in &mut self.sets {
            set.may_be_gone |= set.to < oldest || (set.to == oldest && !set.is_full);
        }
    }

    /// A backup has not said that it is done.
    pub(super) fn failed(&mut self) {
        self.has_failed = true;
    }

    /// A backup has said that it is done.
    pub(super) fn reported(&mut self, report: &BackupReport) {
        self.sets.retain(|set| !report.removed.contains(&set.name) && set.name != report.set);
        let is_full = match report.added {
            Added::Nothing => report.set.starts_with("full-"),
            added => added == Added::Full,
        };
        let (name, to) = (report.set.clone(), report.commit.0);
        self.sets.push(Reported { name, to, is_full, may_be_gone: false });
        self.sets.sort_by_key(|set| set.to);
    }

    /// The archive is so far.
    pub(super) fn archived(&mut self, commit: CommitNumber) {
        self.archived = commit.0;
    }

    /// Whether what is there holds it, and is whole.
    pub(super) fn check(&self, listing: &BackupListing) -> Result<(), Finding> {
        let names: Vec<&str> = listing.sets.iter().map(|set| set.name.as_str()).collect();
        for set in self.sets.iter().filter(|set| !set.may_be_gone) {
            expect(names.contains(&set.name.as_str()), || {
                format!("{} was reported, there are {names:?}", set.name)
            })?;
        }
        let to = listing.archive.map_or(0, |(_, to)| to.0);
        expect(to >= self.archived, || {
            format!("{} was archived, the archive goes to {to}", self.archived)
        })?;
        // What comes before the archive, and after the last set, is in neither.
        let full = listing.sets.iter().rfind(|set| set.kind == SetKind::Full);
        let last = listing.sets.iter().map(|set| set.to).max();
        let is_apart = listing.archive.is_some_and(|(after, _)| last.is_none_or(|to| to < after));
        if is_apart || full.is_none() {
            return Ok(());
        }
        let findings = &listing.findings;
        expect(findings.is_empty(), || format!("the backups are not whole: {findings:?}"))?;
        let reachable = listing.reachable.map_or(0, |commit| commit.0);
        let least = self.commit().max(self.archived);
        expect(reachable >= least, || format!("up to {reachable}, {least} was reported"))
    }
}
