//! Doors to private parts for the targets in `tests/fuzz`. Nothing else may use them.

use crate::atom::{clean, proposal, publication};
use crate::http::atom::path::{Resource, locate};
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

/// The publication and the name of the entry that a path names, and the path that the server gives
/// it.
pub fn atom_member(path: &str) -> Option<(String, String, String)> {
    let Ok(Resource::Entry(place)) = locate(path) else { return None };
    let of = format!("entries/{}", publication::segment(&place.member));
    let path = publication::path(&place.publication, &of);
    Some((place.publication, place.member, path))
}

/// The name that a publication gets by its title.
pub fn atom_name(title: &str) -> Option<String> {
    proposal::name_of(title)
}

/// What may be shown of HTML, resolved by a base.
pub fn clean_html(html: &str, base: &str) -> String {
    clean::html(html, Some(base))
}

/// The text of HTML.
pub fn text_of_html(html: &str) -> String {
    clean::text(html)
}
