//! Secondary indexes: which values of a document an index holds, and the text that one row is.
//!
//! A row is one string: the encoded values, then the document's key. The order of the strings is
//! the order of the values, so a range of values is a range of rows. Everything here is a pure
//! function; where rows are kept and when they change is not decided here.

mod definition;
mod encoding;
mod extract;
mod range;
#[cfg(test)]
mod tests;

pub use definition::{IndexDefinition, IndexDefinitionError, IndexKind, IndexPath};
pub use encoding::IndexValue;
pub use extract::IndexError;
pub use range::{IndexRange, IndexRangeError};

pub(crate) use encoding::{row_key, split_row};
pub(crate) use extract::{text_values, values};
pub(crate) use range::bounds;
