//! Where conflicts happen: counters by document, within a bound.

use crate::conflict::{Conflict, Place};
use crate::limits::CONTENTION_DOCUMENTS_MAX;
use crate::name::{CollectionName, Key};
use crate::seeded::SeededMap;

/// How often transactions lost over one document since opening.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContendedDocument {
    /// Its collection.
    pub collection: CollectionName,
    /// Its key.
    pub key: Key,
    /// Tries that lost: at most so many.
    pub conflicts: u64,
    /// By how many that may be too many: what was counted for documents it took the place of.
    pub uncertain: u64,
}

/// The table: the count of each document, and how much of it is inherited.
#[derive(Debug, Default)]
pub(crate) struct Contention {
    documents: SeededMap<Place, (u64, u64)>,
}

impl Contention {
    /// Counts a conflict.
    pub(crate) fn note(&mut self, conflict: &Conflict) {
        for contested in &conflict.documents {
            let place = (contested.collection.clone(), contested.key.clone());
            if let Some((count, _)) = self.documents.get_mut(&place) {
                *count += 1;
                continue;
            }
            let mut inherited = 0;
            if self.documents.len() == CONTENTION_DOCUMENTS_MAX {
                let least = self.documents.iter().min_by_key(|(_, (count, _))| *count);
                if let Some((least, (count, _))) = least.map(|(p, c)| (p.clone(), *c)) {
                    self.documents.remove(&least);
                    inherited = count;
                }
            }
            self.documents.insert(place, (inherited + 1, inherited));
        }
    }

    /// The documents of the table, the most contended first.
    pub(crate) fn list(&self) -> Vec<ContendedDocument> {
        let document = |((collection, key), &(conflicts, uncertain)): (&Place, &(u64, u64))| {
            let (collection, key) = (collection.clone(), key.clone());
            ContendedDocument { collection, key, conflicts, uncertain }
        };
        let mut list: Vec<_> = self.documents.iter().map(document).collect();
        list.sort_by(|a, b| {
            let order = b.conflicts.cmp(&a.conflicts);
            order.then_with(|| (&a.collection, &a.key).cmp(&(&b.collection, &b.key)))
        });
        list
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conflict::Contested;
    use crate::document::CommitNumber;

    #[test]
    fn the_table_is_bounded_and_keeps_the_most_contended() {
        let mut contention = Contention::default();
        let lose = |key: &str| {
            let contested = Contested {
                collection: CollectionName::new("notes").unwrap(),
                key: Key::new(key).unwrap(),
                competitor: CommitNumber(1),
                paths: Vec::new(),
            };
            Conflict { documents: vec![contested], competitor: CommitNumber(1) }
        };
        for _ in 0..3 {
            contention.note(&lose("hot"));
        }
        for i in 0..CONTENTION_DOCUMENTS_MAX {
            contention.note(&lose(&format!("k{i}")));
        }
        let list = contention.list();
        assert_eq!(list.len(), CONTENTION_DOCUMENTS_MAX);
        assert_eq!((list[0].key.as_str(), list[0].conflicts, list[0].uncertain), ("hot", 3, 0));
        assert_eq!((list[1].conflicts, list[1].uncertain), (2, 1), "it took another's place");
    }
}
