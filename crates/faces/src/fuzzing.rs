//! Doors to private parts for the targets in `tests/fuzz`. Nothing else may use them.

use crate::patch::{JsonPatch, MergePatch, Refused};

/// Why a patch came to nothing.
#[derive(Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It is none.
    Malformed(String),
    /// The document is not as it expects.
    Mismatch(String),
    /// Something is beyond its bound.
    Bound(String),
}

impl From<Refused> for Refusal {
    fn from(refused: Refused) -> Self {
        let why = refused.to_string();
        match refused {
            Refused::Mismatch { .. } => Self::Mismatch(why),
            Refused::Bound { .. } | Refused::Work { .. } => Self::Bound(why),
        }
    }
}

/// The canonical text `document` after a JSON Patch.
pub fn json_patch(document: &str, patch: &[u8]) -> Result<String, Refusal> {
    let patch = JsonPatch::parse(patch).map_err(|error| Refusal::Malformed(error.to_string()))?;
    Ok(patch.apply(document)?)
}

/// The canonical text `document` after a merge patch.
pub fn merge_patch(document: Option<&str>, patch: &[u8]) -> Result<String, Refusal> {
    let patch = MergePatch::parse(patch).map_err(|error| Refusal::Malformed(error.to_string()))?;
    Ok(patch.apply(document)?)
}
