//! Which full set and which commits after it lead to what is wanted.

use super::archive::{self, ArchiveFile};
use super::errors::{BackupFolderError, RestoreError};
use super::manifest::{Manifest, SetKind};
use super::place::Place;
use super::restore::RestoreGoal;
use crate::document::CommitNumber;

/// Commits after one and up to another, and where they are.
pub(super) enum Stretch<'a> {
    Set(&'a Place, Manifest),
    Archive(&'a Place, ArchiveFile),
}

impl Stretch<'_> {
    pub(super) fn after(&self) -> CommitNumber {
        match self {
            Self::Set(_, manifest) => manifest.after,
            Self::Archive(_, file) => file.after,
        }
    }

    /// The last commit in it, of the archive's last file as far as it could be read.
    pub(super) fn to(&self) -> CommitNumber {
        match self {
            Self::Set(_, manifest) => manifest.to,
            Self::Archive(_, file) => file.to,
        }
    }
}

/// Everything that the places hold.
#[derive(Default)]
pub(super) struct Holdings<'a> {
    fulls: Vec<(&'a Place, Manifest)>,
    stretches: Vec<Stretch<'a>>,
}

/// What is to be restored: a full set, none for the empty repository, and what follows it.
pub(super) struct Chain<'a> {
    pub full: Option<(&'a Place, Manifest)>,
    pub stretches: Vec<Stretch<'a>>,
    /// Where the commits go on that could not be reached.
    pub beyond: Option<CommitNumber>,
}

impl<'a> Holdings<'a> {
    /// Adds what is in `place`.
    pub(super) fn add(&mut self, place: &'a Place) -> Result<(), BackupFolderError> {
        for set in place.sets()?.whole {
            match set.kind {
                SetKind::Full => self.fulls.push((place, set)),
                SetKind::Log => self.stretches.push(Stretch::Set(place, set)),
            }
        }
        let files = archive::files(place)?.into_iter();
        self.stretches.extend(files.map(|file| Stretch::Archive(place, file)));
        Ok(())
    }

    /// The way from the newest full set that is not beyond `goal`.
    pub(super) fn chain(
        mut self,
        goal: Option<RestoreGoal>,
        path: &std::path::Path,
    ) -> Result<Chain<'a>, RestoreError> {
        self.fulls.sort_by_key(|(_, set)| set.to);
        let earliest = self.fulls.first().map(|(_, set)| set.to);
        let fits = |(_, set): &(&Place, Manifest)| match goal {
            None => true,
            Some(RestoreGoal::Commit(commit)) => set.to <= commit,
            Some(RestoreGoal::Time(time)) => set.time <= time,
        };
        let full = std::mem::take(&mut self.fulls).into_iter().rfind(fits);
        self.follow(full, goal, (path, earliest))
    }

    /// The way from a full set that comes from elsewhere.
    pub(super) fn follow(
        self,
        full: Option<(&'a Place, Manifest)>,
        goal: Option<RestoreGoal>,
        (path, earliest): (&std::path::Path, Option<CommitNumber>),
    ) -> Result<Chain<'a>, RestoreError> {
        let begin = full.as_ref().map_or(CommitNumber(0), |(_, set)| set.to);
        let none = full.is_none() && !self.stretches.iter().any(|s| s.after() == begin);
        if none {
            return Err(RestoreError::NoFull { path: path.to_owned(), earliest });
        }
        self.after(begin, goal).map(|chain| Chain { full, ..chain })
    }

    /// The way from `begin` on.
    pub(super) fn after(
        mut self,
        begin: CommitNumber,
        goal: Option<RestoreGoal>,
    ) -> Result<Chain<'a>, RestoreError> {
        let mut stretches = Vec::new();
        let mut at = begin;
        let is_reached = |at| matches!(goal, Some(RestoreGoal::Commit(commit)) if at >= commit);
        while !is_reached(at) {
            // Of those that go on from here, the one that goes furthest.
            let leads_on = |s: &Stretch<'_>| s.after() <= at && s.to() > at;
            let next = self.stretches.iter().enumerate().filter(|(_, s)| leads_on(s));
            let Some((next, _)) = next.max_by_key(|(_, s)| s.to()) else { break };
            let next = self.stretches.swap_remove(next);
            at = next.to();
            stretches.push(next);
        }
        let beyond = self.stretches.iter().map(Stretch::after).filter(|after| *after > at).min();
        match (goal, beyond) {
            (Some(RestoreGoal::Commit(asked)), beyond) if at < asked => {
                Err(missing(at, beyond, asked))
            }
            // The newest is asked for, and there is something newer that cannot be reached.
            (None, Some(beyond)) => Err(missing(at, Some(beyond), beyond)),
            _ => Ok(Chain { full: None, stretches, beyond }),
        }
    }
}

/// Why what comes after `reachable` cannot be restored.
pub(super) fn missing(
    reachable: CommitNumber,
    beyond: Option<CommitNumber>,
    asked: CommitNumber,
) -> RestoreError {
    match beyond {
        Some(last) => RestoreError::Gap { first: reachable.next(), last, reachable },
        None => RestoreError::Beyond { asked, reachable },
    }
}
