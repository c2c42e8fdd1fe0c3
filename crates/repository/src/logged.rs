//! What a record of the log says, for those who read it from outside.

use crate::blobs::BlobReference;
use crate::catalog::{COLLECTIONS, Configure};
use crate::document::{CommitNumber, MediaType, Timestamp};
use crate::ended::Ending;
use crate::json::{format_number, quote};
use crate::merge::Merge;
use crate::name::{CollectionName, Key};
use crate::record::{self, Change, Write};
use crate::tranlog::LogRecord;
use bytes::Bytes;

/// A commit as the log has it.
#[derive(Clone, Debug, PartialEq)]
pub struct LoggedCommit {
    /// Its number.
    pub number: CommitNumber,
    /// Its time.
    pub time: Timestamp,
    /// What it did, in order. What only the repository needs is left out, so it may be empty.
    pub changes: Vec<LoggedChange>,
}

/// What a commit did to one document, or to a collection.
#[derive(Clone, Debug, PartialEq)]
pub struct LoggedChange {
    /// The collection.
    pub collection: CollectionName,
    /// The document; `None`: it is about the collection as a whole.
    pub key: Option<Key>,
    /// What was done.
    pub action: LoggedAction,
}

/// See [`LoggedChange`].
#[derive(Clone, Debug, PartialEq)]
pub enum LoggedAction {
    /// The document is this now.
    Put {
        /// What its bytes are.
        media_type: MediaType,
        /// Its bytes; empty if they are a blob.
        body: Bytes,
        /// The blob that its bytes are, if they are one.
        blob: Option<BlobReference>,
        /// When it expires.
        expires: Option<Timestamp>,
    },
    /// There is no document.
    Delete,
    /// These operations, one after the other, were done to what was there.
    Merge(Vec<Merge>),
    /// There is no document, if it was due at this time: the time it expires, or that of its last
    /// change if that was later. One that was written anew meanwhile stays.
    Expire(Timestamp),
    /// The collection has other settings.
    Configure,
    /// All documents of the collection are gone.
    Empty,
    /// The collection is gone, with its documents.
    Drop,
}

impl LogRecord {
    /// What it says; `Err`: what was expected and what was found.
    pub fn decode(&self) -> Result<LoggedCommit, String> {
        let (time, writes) = record::decode(&self.record)
            .map_err(|error| format!("the record of commit {} {error}", self.number))?;
        let changes = writes.into_iter().filter_map(logged).collect();
        Ok(LoggedCommit { number: self.number, time, changes })
    }
}

fn logged(write: Write) -> Option<LoggedChange> {
    let Write { collection, key, change, times: _ } = write;
    let action = match change {
        Change::Put { media_type, body, blob, expires } => {
            LoggedAction::Put { media_type, body, blob, expires }
        }
        Change::Delete => LoggedAction::Delete,
        Change::Merge(operations) => LoggedAction::Merge(operations),
        Change::Expire(due) => LoggedAction::Expire(due),
        Change::Configure(change) => return configured(&collection, &key, &change),
        Change::Reindex | Change::Clear { .. } | Change::Remove(_) | Change::Trim(_) => {
            return None;
        }
    };
    Some(LoggedChange { collection, key: Some(key), action })
}

/// Of the catalog's documents the key names the collection that it is about.
fn configured(collection: &CollectionName, key: &Key, change: &Configure) -> Option<LoggedChange> {
    let action = match change {
        Configure::Settings(_) => LoggedAction::Configure,
        Configure::End(Ending::Empty) => LoggedAction::Empty,
        Configure::End(Ending::Drop) => LoggedAction::Drop,
        Configure::Built(_) | Configure::Cleared(_) | Configure::Trimmed(_) => return None,
    };
    let name = CollectionName::new(key.as_str()).ok()?;
    let is_catalog = collection.as_str() == COLLECTIONS;
    is_catalog.then_some(LoggedChange { collection: name, key: None, action })
}

impl Merge {
    /// The operation as JSON, as requests have it.
    pub fn to_json(&self) -> String {
        let value = match self {
            Self::Add { delta: number, .. }
            | Self::Min { value: number, .. }
            | Self::Max { value: number, .. } => format_number(*number),
            Self::Append { value, .. }
            | Self::InsertIfAbsent { value, .. }
            | Self::SetAdd { value, .. }
            | Self::SetRemove { value, .. } => value.clone(),
        };
        let (name, path) = (self.name(), quote(self.path()));
        format!("{{\"op\":\"{name}\",\"path\":{path},\"value\":{value}}}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Settings;

    #[test]
    fn what_only_the_repository_needs_is_left_out() {
        let name = |name: &str| CollectionName::generated(name);
        let write = |collection: &str, key: &str, change| Write {
            collection: name(collection),
            key: Key::new(key).unwrap(),
            change,
            times: None,
        };
        let add = Merge::Add { path: "/a\"b".to_owned(), delta: 1.0 };
        let append = Merge::Append { path: "/l".to_owned(), value: "{\"x\":[]}".to_owned() };
        let writes = [
            write("notes", "a", Change::Merge(vec![add.clone(), append.clone()])),
            write("notes", "b", Change::Reindex),
            write(COLLECTIONS, "notes", Change::Configure(Configure::Built(7))),
            write(
                COLLECTIONS,
                "notes",
                Change::Configure(Configure::Settings(Settings::default())),
            ),
            write(COLLECTIONS, "old", Change::Configure(Configure::End(Ending::Drop))),
            write("notes", "c", Change::Expire(Timestamp(5))),
            write("notes", "d", Change::Remove(9)),
        ];
        let mut record = record::encode(writes.len(), writes.iter());
        record::set_time(&mut record, Timestamp(1234));
        let record = LogRecord { number: CommitNumber(3), record: record.into() };
        let commit = record.decode().unwrap();
        assert_eq!((record.time(), commit.number), (Some(Timestamp(1234)), CommitNumber(3)));
        let found: Vec<(&str, Option<&str>, &LoggedAction)> = commit
            .changes
            .iter()
            .map(|c| (c.collection.as_str(), c.key.as_ref().map(Key::as_str), &c.action))
            .collect();
        let merge = LoggedAction::Merge(vec![add.clone(), append.clone()]);
        assert_eq!(
            found,
            [
                ("notes", Some("a"), &merge),
                ("notes", None, &LoggedAction::Configure),
                ("old", None, &LoggedAction::Drop),
                ("notes", Some("c"), &LoggedAction::Expire(Timestamp(5))),
            ]
        );
        assert_eq!(add.to_json(), "{\"op\":\"add\",\"path\":\"/a\\\"b\",\"value\":1}");
        assert_eq!(append.to_json(), "{\"op\":\"append\",\"path\":\"/l\",\"value\":{\"x\":[]}}");
        let cut = LogRecord { record: record.record.slice(..9), ..record };
        assert!(cut.decode().is_err());
    }
}
