//! The schema that the documents of a collection are to fit. What a schema may ask for is the crate
//! `schema`'s; this keeps one that is a setting, compiled when it is first needed.

use schema::{Failure, Schema, SchemaError};
use std::fmt;
use std::sync::{Arc, OnceLock};
use thiserror::Error;

/// See the module. Cheap to copy; copies share what was compiled.
#[derive(Clone)]
pub struct DocumentSchema {
    /// Canonical JSON text.
    text: Arc<str>,
    compiled: Arc<OnceLock<Result<Schema, SchemaError>>>,
}

/// A document does not fit the schema of its collection.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("the document does not fit the schema of {collection}: {}", told(.failures))]
pub struct SchemaMisfit {
    /// The collection.
    pub collection: String,
    /// Where and why; at least one.
    pub failures: Vec<Failure>,
}

fn told(failures: &[Failure]) -> String {
    let Some(first) = failures.first() else { return String::new() };
    let more = match failures.len() - 1 {
        0 => String::new(),
        more => format!(" (and {more} more)"),
    };
    format!("at \"{}\": {}{more}", first.path, first.reason)
}

impl DocumentSchema {
    /// The schema with this canonical JSON text, which may be none: see [`Self::compile`].
    pub fn new(text: &str) -> Self {
        Self { text: text.into(), compiled: Arc::default() }
    }

    /// Its text.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether it is a schema that is taken.
    pub fn compile(&self) -> Result<(), SchemaError> {
        self.compiled().as_ref().map(drop).map_err(Clone::clone)
    }

    fn compiled(&self) -> &Result<Schema, SchemaError> {
        self.compiled.get_or_init(|| Schema::compile(&self.text))
    }

    /// Whether a document with this JSON text fits.
    pub(crate) fn check(&self, collection: &str, document: &str) -> Result<(), SchemaMisfit> {
        let failures = match self.compiled() {
            Ok(schema) => schema.check(document),
            // It was a schema when it was set, to a build that took other schemas.
            Err(error) => Err(vec![Failure {
                path: String::new(),
                schema: error.at.clone(),
                reason: format!("the collection's schema is not taken any more: {}", error.why),
            }]),
        };
        let collection = || collection.to_owned();
        failures.map_err(|failures| SchemaMisfit { collection: collection(), failures })
    }
}

impl PartialEq for DocumentSchema {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for DocumentSchema {}

impl fmt::Debug for DocumentSchema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
