//! The parts of a publication's archive (RFC 5005 §4): which entries each has, so that neither
//! their addresses nor what they have changes while entries arrive.
//!
//! A part begins with an entry whose time is one of those that `begins` picks, one among 32, and
//! ends before the next of these; the first begins with the first entry, whatever its time. So
//! nothing has to be counted or kept, to find a part takes as long whatever is before it, and an
//! entry that arrives changes the last part only. That one is not an archive yet. What is deleted
//! leaves its place, so that no part begins elsewhere for it.
//!
//! Who commits later than others that have a later time (by parts of a millisecond) may come into a
//! part that was finished. It is in the feed all the same, by its edit.

use super::rows::{self, Names};
use super::{Edited, Row};
use crate::limits::ATOM_ARCHIVE_SCANNED_MAX;
use repository::{Direction, Document, ReadError, Transaction};
use std::sync::Arc;

/// The beginning of the first part, whatever its first entry is.
pub(crate) const FIRST: Edited = Edited(1);

/// Rows that are read at once.
const BATCH: usize = 64;

/// Whether a part begins with the entry of this time.
fn begins(edited: Edited) -> bool {
    // The finalizer of SplitMix64 (Steele, Lea and Flood 2014): times that follow each other are
    // far apart in it.
    let mut bits = edited.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (bits ^ (bits >> 31)).is_multiple_of(32)
}

/// Whether there can be a part that begins so.
pub(crate) fn is_beginning(edited: Edited) -> bool {
    edited == FIRST || begins(edited)
}

/// A row of the archive.
pub(crate) type Place = (Edited, Arc<Document>);

/// A part of the archive.
#[derive(Debug)]
pub(crate) struct Part {
    /// The oldest first.
    pub rows: Vec<Place>,
    /// With what the next one begins. None: it is the last, and not finished.
    pub next: Option<Place>,
}

/// The part that begins so. It has no rows if there is none.
pub(crate) fn part(
    tx: &mut Transaction,
    names: &Names,
    publication: &str,
    beginning: Edited,
) -> Result<Part, ReadError> {
    let mut part = Part { rows: Vec::new(), next: None };
    let mut from = beginning;
    while part.rows.len() < ATOM_ARCHIVE_SCANNED_MAX {
        let at = (publication, Row::Archive);
        let ascending = (Direction::Ascending, BATCH);
        let found = rows::scan(tx, names, at, (Some(from), None), ascending)?;
        let is_last = found.len() < BATCH;
        for place in found {
            let is_first = beginning == FIRST && part.rows.is_empty();
            if place.0 > beginning && begins(place.0) && !is_first {
                part.next = Some(place);
                return Ok(part);
            }
            from = Edited(place.0.0 + 1);
            part.rows.push(place);
        }
        if is_last {
            break;
        }
    }
    Ok(part)
}

/// Where a part begins, with the row there if there is one.
pub(crate) type Beginning = (Edited, Option<Arc<Document>>);

/// Where the part before this one begins; none if this is the first.
pub(crate) fn before(
    tx: &mut Transaction,
    names: &Names,
    publication: &str,
    beginning: Option<Edited>,
) -> Result<Option<Beginning>, ReadError> {
    let (mut to, mut scanned) = (beginning, 0);
    while scanned < ATOM_ARCHIVE_SCANNED_MAX {
        let at = (publication, Row::Archive);
        let found = rows::scan(tx, names, at, (None, to), (Direction::Descending, BATCH))?;
        let count = found.len();
        for (edited, document) in found {
            if begins(edited) {
                let first = (Direction::Ascending, 1);
                let first = rows::scan(tx, names, at, (None, Some(edited)), first)?;
                return Ok(Some(match first.is_empty() {
                    true => (FIRST, None),
                    false => (edited, Some(document)),
                }));
            }
            to = Some(edited);
        }
        scanned += count;
        if count < BATCH {
            break;
        }
    }
    Ok((scanned > 0).then_some((FIRST, None)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_time_among_32_begins_a_part() {
        for step in [1, 7, 1_000, 60_000_000] {
            let now = 1_763_800_000_000_000;
            let picked = (0..100_000).filter(|n| begins(Edited(now + n * step))).count();
            assert!((2_800..3_500).contains(&picked), "{picked} of 100000 in steps of {step}");
        }
    }
}
