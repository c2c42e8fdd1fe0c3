//! What a repository holds, read by one transaction, to be compared with the model.

use crate::model::{COLLECTIONS, Found, Version};
use crate::photo;
use repository::{CollectionName, Direction, KeyRange, Repository};

/// More documents than a collection of the simulation has.
const DOCUMENTS_MAX: usize = 1000;

/// Reads all collections.
pub fn found(repository: &Repository) -> Result<Found, String> {
    let mut found = Found::new();
    let mut transaction = repository.begin().map_err(|error| error.to_string())?;
    for (i, (name, _)) in COLLECTIONS.iter().enumerate() {
        let name = CollectionName::new(name).map_err(|error| error.to_string())?;
        let all = transaction.range(&name, &KeyRange::all(), Direction::Ascending, DOCUMENTS_MAX);
        for (key, document) in all.map_err(|error| error.to_string())? {
            let text = photo::text(&transaction, &document);
            let value = text.map_err(|error| format!("{key}: {error}"))?.parse();
            let value = value.map_err(|error| format!("{key}: {error}"))?;
            let expires_ms = document.expires.map(|at| at.0);
            let version = Version { value, number: document.version.0, expires_ms };
            found.insert((i, key.as_str().to_owned()), version);
        }
    }
    Ok(found)
}
