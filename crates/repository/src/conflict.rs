//! The decision whether a transaction may commit: pure, so that every server that sees the same
//! commits in the same order decides the same.

use crate::document::CommitNumber;
use crate::name::{CollectionName, Key};

/// One document.
pub(crate) type Place = (CollectionName, Key);

/// What a transaction lost to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// The documents fought over (collection, key), at least one.
    pub documents: Vec<(CollectionName, Key)>,
    /// The latest competing commit.
    pub competitor: CommitNumber,
}

/// Backward validation (Kung and Robinson 1981, §3): everything that was read must still be as
/// the view saw it. `last_change` gives the newest commit that wrote a place, or `None` when it
/// has not changed since any open view.
pub(crate) fn find(
    reads: &[Place],
    view: CommitNumber,
    last_change: impl Fn(&Place) -> Option<CommitNumber>,
) -> Option<Conflict> {
    let mut conflict: Option<Conflict> = None;
    for place in reads {
        let Some(change) = last_change(place).filter(|change| *change > view) else { continue };
        let found =
            conflict.get_or_insert_with(|| Conflict { documents: Vec::new(), competitor: change });
        found.competitor = found.competitor.max(change);
        if !found.documents.contains(place) {
            found.documents.push(place.clone());
        }
    }
    conflict
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_reads_that_changed_after_the_view_conflict() {
        let notes = CollectionName::new("notes").unwrap();
        let place = |key: &str| (notes.clone(), Key::new(key).unwrap());
        let last_change = |p: &Place| match p.1.as_str() {
            "old" => Some(CommitNumber(3)),
            "at" => Some(CommitNumber(5)),
            "new" => Some(CommitNumber(6)),
            "newer" => Some(CommitNumber(9)),
            _ => None,
        };
        let view = CommitNumber(5);
        assert_eq!(find(&[place("old"), place("at"), place("never")], view, last_change), None);
        let reads = [place("new"), place("at"), place("newer"), place("new")];
        let conflict = find(&reads, view, last_change).unwrap();
        assert_eq!(conflict.documents, [place("new"), place("newer")]);
        assert_eq!(conflict.competitor, CommitNumber(9));
    }
}
