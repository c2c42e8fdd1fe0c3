//! Queries: which documents of a collection, in which order, a page at a time. Faces and gems use
//! it; it speaks neither HTTP nor JavaScript. `run` is the body of a transaction, or a part of one.
//! `docs/queries.md` says what holds.

mod bound;
mod bounds;
mod cursor;
mod explain;
mod field;
mod filter;
#[doc(hidden)]
pub mod fuzzing;
pub mod limits;
mod order;
mod parameters;
mod parser;
mod plan;
mod projection;
mod render;
mod run;
mod scanner;
mod select;
mod suggest;
#[cfg(test)]
pub(crate) mod tests {
    pub(crate) mod model;
    mod plans;
}
pub(crate) mod timestamp;

pub use bound::{Asked, Bound};
pub use parameters::{Pairs, ParameterError, limit, pairs, reference};
pub use render::Listed;
pub use run::{Budget, Count, Found, QueryError, count, find, run};
pub use suggest::TooBroad;
pub use timestamp::parse as timestamp_ms;

use filter::Filter;
use order::{Order, Place};
use projection::Projection;
use repository::CollectionName;

/// A query.
#[derive(Clone, Debug)]
pub struct Query {
    pub(crate) collection: CollectionName,
    pub(crate) filter: Filter,
    pub(crate) order: Order,
    /// Documents of a page.
    pub(crate) limit: usize,
    /// Where the page before ended.
    pub(crate) after: Option<Place>,
    /// `None`: whole documents.
    pub(crate) fields: Option<Projection>,
    pub(crate) counts: bool,
    pub(crate) explains: bool,
    /// What its cursors belong to.
    pub(crate) fingerprint: u64,
    /// The parameters but `after`, for the reference to the next page.
    pub(crate) echo: Vec<(&'static str, String)>,
}

impl Query {
    /// Whose documents it is about.
    pub fn collection(&self) -> &CollectionName {
        &self.collection
    }
}
