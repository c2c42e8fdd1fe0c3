//! Each history has collections of its own in one repository: their real names end in the number of
//! the history, which is nowhere seen.

use crate::script::{DEFAULT_COLLECTION, Place};
use repository::{CollectionName, Key};

#[derive(Default)]
pub struct Names {
    /// The number of the present history, from 1.
    pub history: usize,
}

impl Names {
    pub fn real_collection(&self, collection: &str) -> Result<CollectionName, String> {
        let name = format!("{collection}{}", self.suffix());
        CollectionName::new(&name).map_err(|error| error.to_string())
    }

    pub fn real(&self, place: &Place) -> Result<(CollectionName, Key), String> {
        let key = Key::new(&place.key).map_err(|error| error.to_string())?;
        Ok((self.real_collection(&place.collection)?, key))
    }

    /// A document as the history writes it. The catalog's keys are names of collections.
    pub fn shown(&self, collection: &CollectionName, key: &Key) -> String {
        let (collection, key) = (self.written(collection.as_str()), self.written(key.as_str()));
        match collection {
            DEFAULT_COLLECTION => key.to_owned(),
            other => format!("{other}:{key}"),
        }
    }

    /// A message with the names that the history uses.
    pub fn as_written(&self, message: &str) -> String {
        message.replace(&self.suffix(), "")
    }

    fn written<'a>(&self, name: &'a str) -> &'a str {
        name.strip_suffix(&self.suffix()).unwrap_or(name)
    }

    fn suffix(&self) -> String {
        format!("-h{}", self.history)
    }
}
