//! JSON text: one canonical form for every face, and edits at a path without a tree.
//!
//! The canonical form is exactly what ECMAScript's `JSON.stringify(JSON.parse(text))` gives, so a
//! handler that changes nothing finds nothing changed: no white space, members in order except
//! that array-index names come first in ascending order (ECMA-262 §10.1.11), numbers as
//! `Number.prototype.toString` prints them, the shortest escapes. On top of RFC 8259 the rules of
//! I-JSON (RFC 7493) hold: names are unique, and no whole number is silently rounded (`number`).

mod canonical;
mod changes;
mod members;
mod names;
mod number;
mod outline;
mod pointer;
mod scan;
mod text;
mod three_way;

pub use canonical::canonicalize;
pub use changes::changed_paths;
pub use names::{NamesAlike, check_name_list, check_names};
pub use number::{check_numbers, format_number};
pub use pointer::{PointerError, Span, check_pointer, locate, splice};
pub use scan::{Child, children, depth};
pub use text::{append_quoted, quote, unquote};
pub use three_way::three_way;

/// Where and why a text is not JSON.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[error("not JSON at line {line}, column {column}: {why}")]
pub struct Error {
    /// 1-based line.
    pub line: u32,
    /// 1-based column, in bytes.
    pub column: u32,
    /// What was expected and what came.
    pub why: String,
}

impl Error {
    fn at(text: &[u8], offset: usize, why: impl Into<String>) -> Self {
        let before = &text[..offset.min(text.len())];
        let line = before.iter().filter(|b| **b == b'\n').count();
        let column = before.iter().rev().take_while(|b| **b != b'\n').count();
        Self { line: line as u32 + 1, column: column as u32 + 1, why: why.into() }
    }
}
