//! Filters: what a document must be like, and whether it is.

use crate::field::{Field, Record, Scalar};
use repository::IndexValue;
use std::cmp::Ordering;

/// A filter.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Filter {
    /// Holds if all of these do; so also if there are none.
    All(Vec<Filter>),
    /// Holds if one of these does.
    Any(Vec<Filter>),
    Not(Box<Filter>),
    Is(Condition),
}

/// One comparison.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Condition {
    pub field: Field,
    pub test: Test,
}

/// What is asked of a field. `docs/queries.md` has the rules.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Test {
    Present,
    Equal(Operand),
    NotEqual(Operand),
    Has(Operand),
    /// By a number or a text.
    Compare(Relation, IndexValue),
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Operand {
    Value(IndexValue),
    /// Any text that starts so.
    Prefix(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Relation {
    Less,
    AtMost,
    More,
    AtLeast,
}

impl Filter {
    /// Whether a document is as the filter says.
    pub(crate) fn holds(&self, record: &Record<'_>) -> bool {
        match self {
            Self::All(all) => all.iter().all(|filter| filter.holds(record)),
            Self::Any(any) => any.iter().any(|filter| filter.holds(record)),
            Self::Not(filter) => !filter.holds(record),
            Self::Is(condition) => condition.holds(record),
        }
    }

    /// The conditions that hold of every document of which the filter holds.
    pub(crate) fn conditions(&self) -> Vec<&Condition> {
        match self {
            Self::Is(condition) => vec![condition],
            Self::All(all) => all.iter().flat_map(Self::conditions).collect(),
            Self::Any(_) | Self::Not(_) => Vec::new(),
        }
    }
}

impl Condition {
    fn holds(&self, record: &Record<'_>) -> bool {
        let found = record.find(&self.field);
        let equals =
            |operand: &Operand| found.scalar().is_some_and(|scalar| operand.matches(scalar));
        let is_there = found != crate::field::Found::Nothing;
        match &self.test {
            Test::Present => is_there,
            Test::Equal(operand) => equals(operand),
            Test::NotEqual(operand) => is_there && !equals(operand),
            Test::Has(operand) => found.any(|scalar| operand.matches(scalar)),
            Test::Compare(relation, value) => {
                let order = found.scalar().and_then(|scalar| scalar.compare(value));
                order.is_some_and(|order| relation.allows(order))
            }
        }
    }
}

impl Operand {
    fn matches(&self, scalar: &Scalar<'_>) -> bool {
        match (self, scalar) {
            (Self::Value(value), scalar) => scalar.compare(value) == Some(Ordering::Equal),
            (Self::Prefix(prefix), Scalar::Text(text)) => text.starts_with(prefix),
            (Self::Prefix(_), _) => false,
        }
    }
}

impl Relation {
    pub(crate) fn allows(self, order: Ordering) -> bool {
        match self {
            Self::Less => order.is_lt(),
            Self::AtMost => order.is_le(),
            Self::More => order.is_gt(),
            Self::AtLeast => order.is_ge(),
        }
    }
}
