//! JSON Schema, draft 2020-12 (<https://json-schema.org/draft/2020-12>): whether a document fits a
//! schema, and where it does not.
//!
//! Both come from clients, so everything is bounded: the size of a schema, how deep a check goes
//! and how many steps it takes. Nothing is ever fetched; a schema stands for itself. This crate
//! knows no collections and no HTTP. `docs/collections.md` says what of the draft is taken.

mod apply;
mod checker;
mod compile;
mod decimal;
mod keyword;
pub mod limits;
mod pattern;
mod references;
mod value;

use keyword::Node;
use thiserror::Error;

/// A schema that is ready to be used.
#[derive(Debug)]
pub struct Schema {
    /// The first is the whole schema.
    nodes: Vec<Node>,
}

/// Why a text is no schema that is taken here.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("the schema at \"{at}\": {why}")]
pub struct SchemaError {
    /// A JSON Pointer into the schema; empty: the whole.
    pub at: String,
    /// What was expected and what came.
    pub why: String,
}

/// One way in which a document does not fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Where in the document, as a JSON Pointer; empty: the whole.
    pub path: String,
    /// The keyword that failed, as a JSON Pointer into the schema.
    pub schema: String,
    /// What was expected and what came.
    pub reason: String,
}

impl Schema {
    /// Reads a schema from JSON text.
    pub fn compile(text: &str) -> Result<Self, SchemaError> {
        Ok(Self { nodes: compile::compile(text)? })
    }

    /// Checks a document, which is JSON text. At most [`limits::FAILURES_MAX`] failures are told.
    pub fn check(&self, document: &str) -> Result<(), Vec<Failure>> {
        checker::check(&self.nodes, document)
    }
}
