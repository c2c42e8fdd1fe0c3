//! Queries: which documents of a collection, in which order, a page at a time. Nothing here knows
//! HTTP; `run` is the body of a transaction, or a part of one. `docs/queries.md` says what holds.

mod bounds;
mod cursor;
mod explain;
mod field;
mod filter;
pub(crate) mod fuzzing;
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

pub(crate) use parameters::{Pairs, ParameterError, limit, pairs, reference};
pub(crate) use render::Listed;
pub(crate) use run::{Budget, QueryError, run};

use filter::Filter;
use order::{Order, Place};
use projection::Projection;
use repository::CollectionName;

/// A query.
#[derive(Clone, Debug)]
pub(crate) struct Query {
    pub collection: CollectionName,
    pub filter: Filter,
    pub order: Order,
    /// Documents of a page.
    pub limit: usize,
    /// Where the page before ended.
    pub after: Option<Place>,
    /// `None`: whole documents.
    pub fields: Option<Projection>,
    pub counts: bool,
    pub explains: bool,
    /// What its cursors belong to.
    pub fingerprint: u64,
    /// The parameters but `after`, for the reference to the next page.
    pub echo: Vec<(&'static str, String)>,
}
