//! Merge operations: intents that are resolved in `apply` and never conflict with each other.

use crate::document::{Document, MediaType};
use crate::json::{self, PointerError};
use bytes::Bytes;

/// An intent staged on one document.
#[derive(Clone, Debug, PartialEq)]
pub enum Merge {
    /// Adds `delta` to the number at `path` (RFC 6901 JSON Pointer; empty for the whole document).
    /// A missing document, or a missing last member of the path, counts as 0.
    Add {
        /// Where.
        path: String,
        /// How much; a finite double. Sums are those of IEEE 754 doubles.
        delta: f64,
    },
}

impl Merge {
    /// The operation's name in messages.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Add { .. } => "add",
        }
    }

    /// Takes `next` in, if the two together are exactly one operation.
    pub(crate) fn absorb(&mut self, next: &Self) -> bool {
        let (Self::Add { path, delta }, Self::Add { path: next_path, delta: next_delta }) =
            (self, next);
        let sum = *delta + next_delta;
        let is_exact = delta.fract() == 0.0
            && next_delta.fract() == 0.0
            && sum.abs() <= (1_u64 << f64::MANTISSA_DIGITS) as f64;
        let fits = path == next_path && is_exact;
        if fits {
            *delta = sum;
        }
        fits
    }

    /// The path it works at.
    pub(crate) fn path(&self) -> &str {
        match self {
            Self::Add { path, .. } => path,
        }
    }

    /// The body after the operation, or why it does not fit what is there.
    pub(crate) fn resolve(&self, current: Option<&Document>) -> Result<Bytes, String> {
        match self {
            Self::Add { path, delta } => add(current, path, *delta),
        }
    }
}

fn add(current: Option<&Document>, path: &str, delta: f64) -> Result<Bytes, String> {
    if !delta.is_finite() {
        return Err(format!("expected a finite number to add, got {delta}"));
    }
    let text = match current {
        None if path.is_empty() => return Ok(json::format_number(delta).into()),
        None => "{}",
        Some(document) if document.media_type == MediaType::Json => {
            std::str::from_utf8(&document.body).map_err(|e| e.to_string())?
        }
        Some(document) => {
            return Err(format!(
                "expected a JSON document, it is {}",
                document.media_type.as_str()
            ));
        }
    };
    json::splice_number(text, path, delta).map(Bytes::from).map_err(|e: PointerError| e.to_string())
}
