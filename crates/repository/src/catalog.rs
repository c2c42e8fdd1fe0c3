//! The collection of collections: what each document in it says, and how configuring changes it.
//! `docs/format.md`, "Catalog".

use crate::document::Document;
use crate::durability::Durability;
use crate::ended::Ending;
use crate::json;
use crate::settings::{History, Settings};

/// Its name. Only [`crate::Repository::configure`] and the creation of collections write to it.
pub(crate) const COLLECTIONS: &str = "_collections";

/// Its own id; it is there from the start.
pub(crate) const COLLECTIONS_ID: u32 = 1;

/// The rows that say when documents expire, of collections that are logged and of those that are
/// not. They have no name and are there from the start.
pub(crate) const EXPIRY_ID: u32 = 2;
pub(crate) const VOLATILE_EXPIRY_ID: u32 = 3;

/// The rows that say which documents name which blobs, of collections that are logged and of those
/// that are not. Ids are given from below, and never come so far.
pub(crate) const BLOBS_ID: u32 = 0xffff_fffe;
pub(crate) const VOLATILE_BLOBS_ID: u32 = 0xffff_fffd;

/// A change of a collection's settings or of the state of its indexes: an intent, resolved in
/// `apply`, where ids are given.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Configure {
    /// These settings from now on.
    Settings(Settings),
    /// The index with this id has all its rows.
    Built(u32),
    /// Nothing is left of the index, the history, or the ended collection, with this id.
    Cleared(u32),
    /// All its documents are gone from now on.
    End(Ending),
    /// Of the history with this id, nothing is left that is too much.
    Trimmed(u32),
}

impl Configure {
    /// At most the bytes that it takes in a record.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Settings(settings) => 8 + settings.to_json().len(),
            Self::Built(_) | Self::Cleared(_) | Self::Trimmed(_) | Self::End(_) => 8,
        }
    }
}

/// What the catalog says of one collection.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Catalog {
    pub id: u32,
    pub settings: Settings,
    /// The ids of the indexes, in the order of the settings.
    pub indexes: Vec<u32>,
    /// Those of them that do not have all rows yet.
    pub building: Vec<u32>,
    /// The id of the versions that are kept, if any are.
    pub history: Option<u32>,
    /// The same, where more may be kept than the settings say: there were to be more before.
    pub trimming: Vec<u32>,
    /// Indexes and histories that are no longer wanted and still have rows.
    pub dropped: Vec<u32>,
    /// Ids that were used once. No id is given twice, or replaying the log could mix them up.
    pub retired: Vec<u32>,
    /// The name that it had, if it has ended: its documents are being cleared away.
    pub ended: Option<String>,
}

/// What a document of the catalog says.
pub(crate) fn of(document: &Document) -> Result<Catalog, String> {
    let text = std::str::from_utf8(&document.body).map_err(|error| error.to_string())?;
    Catalog::from_text(text)
}

impl Catalog {
    /// A collection with default settings.
    pub(crate) fn new(id: u32) -> Self {
        Self { id, ..Self::default() }
    }

    /// The body of its document: canonical JSON without what is empty.
    pub(crate) fn to_text(&self) -> String {
        let mut text = format!("{{\"id\":{}", self.id);
        if self.settings != Settings::default() {
            text.push_str(&format!(",\"settings\":{}", self.settings.to_json()));
        }
        if let Some(id) = self.history {
            text.push_str(&format!(",\"history\":{id}"));
        }
        for (name, ids) in self.lists() {
            if !ids.is_empty() {
                let ids: Vec<String> = ids.iter().map(u32::to_string).collect();
                text.push_str(&format!(",\"{name}\":[{}]", ids.join(",")));
            }
        }
        if let Some(name) = &self.ended {
            text.push_str(&format!(",\"ended\":{}", json::quote(name)));
        }
        text + "}"
    }

    fn lists(&self) -> [(&'static str, &Vec<u32>); 5] {
        [
            ("indexes", &self.indexes),
            ("building", &self.building),
            ("trimming", &self.trimming),
            ("dropped", &self.dropped),
            ("retired", &self.retired),
        ]
    }

    /// Reads what `to_text` wrote.
    pub(crate) fn from_text(text: &str) -> Result<Self, String> {
        let member = |pointer: &str| match json::locate(text, pointer) {
            Ok(json::Span::Value(span)) => Ok(Some(&text[span])),
            Ok(json::Span::Vacant { .. }) => Ok(None),
            Err(error) => Err(error.to_string()),
        };
        let number = |text: &str| {
            text.parse::<u32>().map_err(|_| format!("expected the id of a collection, got {text}"))
        };
        let ids = |pointer: &str| -> Result<Vec<u32>, String> {
            let list = member(pointer)?.unwrap_or("[]").trim_matches(['[', ']']);
            list.split(',').filter(|id| !id.is_empty()).map(number).collect()
        };
        let settings = member("/settings")?.map(Settings::from_json).transpose();
        let catalog = Self {
            id: number(member("/id")?.unwrap_or("nothing"))?,
            settings: settings.map_err(|error| error.to_string())?.unwrap_or_default(),
            indexes: ids("/indexes")?,
            building: ids("/building")?,
            history: member("/history")?.map(number).transpose()?,
            trimming: ids("/trimming")?,
            dropped: ids("/dropped")?,
            retired: ids("/retired")?,
            ended: member("/ended")?.map(|name| json::unquote(name).into_owned()),
        };
        if catalog.indexes.len() != catalog.settings.indexes.len() {
            return Err("expected one id for each index of the settings".to_owned());
        }
        if catalog.history.is_some() == (catalog.settings.history == History::None) {
            return Err("expected an id for the history of the settings, or neither".to_owned());
        }
        Ok(catalog)
    }

    /// Every id that it has ever used.
    pub(crate) fn ids(&self) -> impl Iterator<Item = u32> {
        let lists = [&self.indexes, &self.dropped, &self.retired];
        lists.into_iter().flatten().copied().chain([self.id]).chain(self.history)
    }

    /// Carries out `change`; `next_id` is the first id that is free.
    pub(crate) fn configure(&mut self, change: &Configure, mut next_id: u32) -> Result<(), String> {
        let forget = |ids: &mut Vec<u32>, id: u32| {
            let before = ids.len();
            ids.retain(|other| *other != id);
            ids.len() < before
        };
        match change {
            Configure::Built(id) => {
                forget(&mut self.building, *id);
            }
            Configure::Cleared(id) => {
                if forget(&mut self.dropped, *id) {
                    self.retired.push(*id);
                }
            }
            // What has ended is another collection, `ended` makes it.
            Configure::End(_) => {}
            Configure::Trimmed(id) => {
                forget(&mut self.trimming, *id);
            }
            Configure::Settings(settings) => {
                let mut indexes = Vec::with_capacity(settings.indexes.len());
                for definition in &settings.indexes {
                    let same = self.settings.indexes.iter().position(|old| old == definition);
                    let id = same.map(|at| self.indexes[at]).unwrap_or_else(|| {
                        self.building.push(next_id);
                        next_id += 1;
                        next_id - 1
                    });
                    indexes.push(id);
                }
                let unwanted = self.indexes.iter().filter(|id| !indexes.contains(id));
                self.dropped.extend(unwanted);
                self.building.retain(|id| indexes.contains(id));
                self.indexes = indexes;
                self.configure_history(settings.history, next_id);
                self.settings = settings.clone();
            }
        }
        Ok(())
    }

    /// A history of another kind begins anew: versions are kept by one rule.
    fn configure_history(&mut self, history: History, next_id: u32) {
        let before = self.settings.history;
        if before.is_same_kind(history) {
            let is_less = match (before, history) {
                (History::Versions(before), History::Versions(count)) => count < before,
                _ => false,
            };
            self.trimming.extend(self.history.filter(|id| is_less && !self.trimming.contains(id)));
            return;
        }
        self.trimming.clear();
        self.dropped.extend(self.history);
        self.history = (history != History::None).then_some(next_id);
    }

    /// Whether an existing collection may take `settings`, and why not.
    pub(crate) fn check(&self, settings: &Settings) -> Result<(), String> {
        let is_volatile = |settings: &Settings| settings.durability == Durability::Volatile;
        if is_volatile(&self.settings) == is_volatile(settings) {
            return Ok(());
        }
        let expected = if is_volatile(settings) { "synced or written" } else { "volatile" };
        Err(format!(
            "expected durability {expected}: a collection is made volatile, or not, once and for \
             all; copy its documents into another one"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::{IndexDefinition, IndexKind, IndexPath};

    fn index(name: &str, unique: bool) -> IndexDefinition {
        let path = IndexPath { path: "/a".to_owned(), kind: IndexKind::Any, each: false };
        IndexDefinition { name: name.to_owned(), paths: vec![path], unique }
    }

    #[test]
    fn a_catalog_comes_back_as_it_was() {
        let mut catalog = Catalog::new(7);
        assert_eq!(catalog.to_text(), "{\"id\":7}");
        let settings = Settings { indexes: vec![index("a", false)], ..Settings::default() };
        catalog.configure(&Configure::Settings(settings), 8).unwrap();
        assert_eq!(Catalog::from_text(&catalog.to_text()), Ok(catalog.clone()));
        for wrong in ["{}", "[]", "{\"id\":\"7\"}", "{\"id\":7,\"indexes\":[1]}"] {
            assert!(Catalog::from_text(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_history_of_another_kind_is_another_history() {
        let mut catalog = Catalog::new(7);
        let mut set = |history, next| {
            let settings = Settings { history, ..Settings::default() };
            catalog.configure(&Configure::Settings(settings), next).unwrap();
            assert_eq!(Catalog::from_text(&catalog.to_text()), Ok(catalog.clone()));
            let lists = (catalog.trimming.clone(), catalog.dropped.clone());
            (catalog.history, lists.0, lists.1)
        };
        assert_eq!(set(History::Versions(3), 8), (Some(8), vec![], vec![]));
        assert_eq!(set(History::Versions(9), 9), (Some(8), vec![], vec![]));
        assert_eq!(set(History::Versions(2), 9), (Some(8), vec![8], vec![]));
        assert_eq!(set(History::Versions(1), 9), (Some(8), vec![8], vec![]));
        assert_eq!(set(History::AgeMs(5), 9), (Some(9), vec![], vec![8]));
        assert_eq!(set(History::AgeMs(1), 10), (Some(9), vec![], vec![8]));
        assert_eq!(set(History::None, 10), (None, vec![], vec![8, 9]));
        assert_eq!(catalog.ids().max(), Some(9));
        catalog.configure(&Configure::Trimmed(8), 10).unwrap();
        assert!(Catalog::from_text("{\"id\":7,\"history\":8}").is_err());
    }

    #[test]
    fn an_index_that_changes_is_another_index() {
        let mut catalog = Catalog::new(7);
        let mut set = |indexes: Vec<IndexDefinition>, next| {
            let settings = Settings { indexes, ..Settings::default() };
            catalog.configure(&Configure::Settings(settings), next).unwrap();
            catalog.clone()
        };
        let first = set(vec![index("a", false), index("b", false)], 8);
        assert_eq!((first.indexes, first.building), (vec![8, 9], vec![8, 9]));
        let second = set(vec![index("b", false), index("a", true)], 10);
        assert_eq!(second.indexes, [9, 10]);
        assert_eq!((&second.building, &second.dropped), (&vec![9, 10], &vec![8]));
        let mut third = second;
        third.configure(&Configure::Built(10), 11).unwrap();
        third.configure(&Configure::Cleared(8), 11).unwrap();
        third.configure(&Configure::Cleared(8), 11).unwrap();
        assert_eq!((&third.building, third.dropped.len()), (&vec![9], 0));
        assert_eq!(third.retired, [8]);
        assert_eq!(third.ids().max(), Some(10));
    }
}
