//! What a folder of backups holds, and whether its files are what was written.

use super::archive;
use super::blobs::{Shelf, said};
use super::chain::Holdings;
use super::errors::BackupFolderError;
use super::file::Decoder;
use super::manifest::{Manifest, SetKind};
use super::place::Place;
use super::retention::{named_by_archive, named_by_set};
use crate::blobs::{BlobError, BlobReference};
use crate::disk::{Disk, Files};
use crate::document::{CommitNumber, Timestamp};
use crate::folder::hex;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// A set in a folder of backups.
#[derive(Clone, Debug)]
pub struct ListedSet {
    /// The name of its folder.
    pub name: String,
    /// What it holds.
    pub kind: SetKind,
    /// Of commits, the one that the first follows.
    pub after: CommitNumber,
    /// The last commit.
    pub to: CommitNumber,
    /// The time of that commit.
    pub time: Timestamp,
    /// When it was made.
    pub made: Timestamp,
    /// Rows or commits.
    pub items: u64,
    /// Bytes of its files.
    pub bytes: u64,
    /// Blobs that were copied for it: not those that were there already.
    pub blobs: u64,
    /// Bytes of them.
    pub blob_bytes: u64,
}

/// What a folder of backups holds.
#[derive(Clone, Debug)]
pub struct BackupListing {
    /// The id of the repository.
    pub repository: String,
    /// The sets, in the order of their last commits.
    pub sets: Vec<ListedSet>,
    /// What backups that were cut short have left.
    pub unfinished: Vec<String>,
    /// The commit that the archive begins after, and the last in it, if there is one.
    pub archive: Option<(CommitNumber, CommitNumber)>,
    /// Blobs that are there.
    pub blobs: u64,
    /// Bytes of them.
    pub blob_bytes: u64,
    /// Blobs that commits name and that were removed before they could be copied: commits that name
    /// them cannot be restored, those after them can.
    pub blobs_gone: u64,
    /// The newest commit that can be restored from the folder; `None`: there is none, or something
    /// that is newer cannot be reached.
    pub reachable: Option<CommitNumber>,
    /// What is wrong, one line each; by listing alone only that something cannot be reached.
    pub findings: Vec<String>,
}

/// Lists what the folder of backups `path` holds.
pub fn list_backups(path: &Path) -> Result<BackupListing, BackupFolderError> {
    list(&Place::new(Arc::new(Files), path))
}

/// The same, after every file was read and compared with what was written.
pub fn verify_backups(path: &Path) -> Result<BackupListing, BackupFolderError> {
    verify(Arc::new(Files), path)
}

pub(crate) fn verify(disk: Arc<dyn Disk>, path: &Path) -> Result<BackupListing, BackupFolderError> {
    let place = Place::new(disk, path);
    let mut listing = list(&place)?;
    let mut findings = Vec::new();
    for set in place.sets()?.whole {
        findings.extend(check_set(&place, &set)?);
    }
    findings.extend(check_archive(&place)?);
    findings.extend(check_blobs(&place)?);
    listing.findings.extend(findings);
    Ok(listing)
}

fn list(place: &Place) -> Result<BackupListing, BackupFolderError> {
    let repository = hex(&place.repository()?);
    let sets = place.sets()?;
    let files = archive::files(place)?;
    let archive = files.first().zip(files.last()).map(|(first, last)| (first.after, last.to));
    let mut holdings = Holdings::default();
    holdings.add(place)?;
    let (reachable, findings) = match holdings.chain(None, &place.path) {
        Ok(chain) => {
            let end = chain.stretches.last().map(|stretch| stretch.to());
            (end.or(chain.full.map(|(_, full)| full.to)), Vec::new())
        }
        Err(error) => (None, vec![error.to_string()]),
    };
    let listed = |set: &Manifest| ListedSet {
        name: set.folder(),
        kind: set.kind,
        after: set.after,
        to: set.to,
        time: set.time,
        made: set.made,
        items: set.items,
        bytes: set.bytes(),
        blobs: set.blobs,
        blob_bytes: set.blob_bytes,
    };
    let unfinished = sets.unfinished;
    let sets = sets.whole.iter().map(listed).collect();
    let shelf = Shelf::of(place);
    let there = shelf.list()?;
    Ok(BackupListing {
        repository,
        sets,
        unfinished,
        archive,
        blobs: there.len() as u64,
        blob_bytes: there.values().sum(),
        blobs_gone: shelf.list_gone()?.iter().filter(|hash| !there.contains_key(hash)).count()
            as u64,
        reachable,
        findings,
    })
}

/// What is wrong with the files of a set. An error of the disk is an error.
fn check_set(place: &Place, set: &Manifest) -> Result<Vec<String>, BackupFolderError> {
    let mut findings = Vec::new();
    let mut items = 0;
    for file in &set.files {
        let content = match place.file(set, file) {
            Ok(content) => content,
            Err(error @ BackupFolderError::Damaged { .. }) => {
                findings.push(error.to_string());
                continue;
            }
            Err(error) => return Err(error),
        };
        let counted = Decoder::new(content).and_then(|mut read| {
            let mut counted = 0;
            while let Some(frame) = read.next()? {
                counted += match set.kind {
                    SetKind::Full => frame.rows()?.len(),
                    SetKind::Log => frame.records()?.len(),
                };
            }
            Ok(counted as u64)
        });
        match counted {
            Ok(counted) => items += counted,
            Err(why) => findings.push(format!("{}/{}: {why}", set.folder(), file.name)),
        }
    }
    if findings.is_empty() && items != set.items {
        findings.push(format!("{} has {items} items, expected {}", set.folder(), set.items));
    }
    Ok(findings)
}

/// What is wrong with the blobs that are named. What cannot be read is told already.
fn check_blobs(place: &Place) -> Result<Vec<String>, BackupFolderError> {
    let mut by: BTreeMap<BlobReference, String> = BTreeMap::new();
    for set in place.sets()?.whole {
        let named = &mut |blob: &BlobReference| {
            by.entry(*blob).or_insert_with(|| set.folder());
        };
        undamaged(named_by_set(place, &set, named))?;
    }
    for file in archive::files(place)? {
        let named = &mut |blob: &BlobReference| {
            by.entry(*blob).or_insert_with(|| archive::FOLDER.to_owned());
        };
        undamaged(named_by_archive(place, file.after, named))?;
    }
    let shelf = Shelf::of(place);
    let mut findings = Vec::new();
    for (blob, by) in by {
        match shelf.check(blob) {
            Ok(()) => {}
            Err(error @ BlobError::Damaged { .. }) => {
                findings.push(format!("{by}: {}", said(&error)));
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(findings)
}

/// Passes over damage.
fn undamaged(read: Result<(), BackupFolderError>) -> Result<(), BackupFolderError> {
    match read {
        Err(BackupFolderError::Damaged { .. }) => Ok(()),
        read => read,
    }
}

/// What is wrong with the archive: gaps between its files.
fn check_archive(place: &Place) -> Result<Vec<String>, BackupFolderError> {
    let mut findings = Vec::new();
    for file in archive::files(place)? {
        let mut last = file.after;
        let read = archive::read_file(place, file.after, |previous, records| {
            if previous != last {
                findings
                    .push(format!("archive: commits {} to {previous} are missing", last.next()));
            }
            last = records.last().map_or(last, |(number, _)| *number);
            Ok(())
        });
        match read {
            Ok(()) if last < file.to => {
                findings.push(format!(
                    "archive: commits {} to {} are missing",
                    last.next(),
                    file.to
                ));
            }
            Ok(()) => {}
            Err(error @ BackupFolderError::Damaged { .. }) => findings.push(error.to_string()),
            Err(error) => return Err(error),
        }
    }
    Ok(findings)
}
