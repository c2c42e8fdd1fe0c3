//! Patches of JSON documents: JSON Merge Patch (RFC 7396), JSON Patch (RFC 6902) and lists of merge
//! operations. Pure: text goes in and text comes out. Where a patch comes from, and what becomes of
//! its result, is in `http/rest` and `execute`.
//!
//! All texts are canonical (`repository::json`), so a number has one way to be written and two
//! numbers are equal if their texts are. Documents are edited as text: what a patch does not touch
//! is copied and never parsed into anything.

pub(crate) mod element;
pub(crate) mod json_patch;
pub(crate) mod merge_patch;
pub(crate) mod operations;
pub(crate) mod text;

pub(crate) use json_patch::JsonPatch;
pub(crate) use merge_patch::MergePatch;

use crate::limits::PATCH_WORK_BYTES_MAX;
use repository::json::PointerError;
use repository::limits::{DOCUMENT_BYTES_MAX, JSON_DEPTH_MAX};
use repository::{Merge, json};

/// A patch that was understood.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Patch {
    /// RFC 7396.
    Merge(MergePatch),
    /// RFC 6902.
    Json(JsonPatch),
    /// Merge operations, which the repository carries out.
    Operations(Vec<Merge>),
}

/// Why a body is no patch of its media type.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Malformed {
    #[error(transparent)]
    Json(#[from] json::Error),
    /// `at` is a JSON Pointer into the body.
    #[error("at \"{at}\": {why}")]
    Structure { at: String, why: String },
    #[error("a list has at most {max} operations; got {got}")]
    TooMany { got: usize, max: usize },
}

/// Why a patch cannot be applied to a document. The document stays as it is.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refused {
    /// The document is not as the patch expects: with another document it may go.
    #[error("{}{why}", place(*operation))]
    Mismatch { operation: Option<usize>, why: String },
    /// It looks at more than it may. `operation` is the first that it may not carry out.
    #[error("{}{why}", place(*operation))]
    Work { operation: Option<usize>, why: String },
    /// What would come of it is beyond a bound.
    #[error("{}{why}", place(*operation))]
    Bound { operation: Option<usize>, why: String },
}

fn place(operation: Option<usize>) -> String {
    operation.map_or_else(String::new, |index| format!("operation {index}: "))
}

/// Why one step cannot be done.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Misfit {
    #[error(transparent)]
    Pointer(#[from] PointerError),
    #[error("{0}")]
    State(String),
    #[error("the document would be nested deeper than {JSON_DEPTH_MAX}")]
    Depth,
    #[error("the document would have more than {DOCUMENT_BYTES_MAX} bytes")]
    Size,
    #[error(
        "there are too many operations for a document of this size: together they may look at \
         {PATCH_WORK_BYTES_MAX} bytes; send fewer at a time"
    )]
    Work,
}

impl Misfit {
    /// What it means for the operation with this index.
    pub(crate) fn of(self, operation: usize) -> Refused {
        let (operation, why) = (Some(operation), self.to_string());
        match self {
            Self::Pointer(_) | Self::State(_) => Refused::Mismatch { operation, why },
            Self::Depth | Self::Size => Refused::Bound { operation, why },
            Self::Work => Refused::Work { operation, why },
        }
    }
}

/// The canonical text of a body.
pub(crate) fn canonical(body: &[u8]) -> Result<String, json::Error> {
    let text = json::canonicalize(body)?;
    Ok(String::from_utf8(text).expect("canonical text is UTF-8"))
}
