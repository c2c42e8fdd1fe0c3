//! Publications, their entries and their media as documents of the repository (RFC 4287, RFC 5023;
//! `docs/atompub.md`): what each request does in its transaction. No HTTP here, which is in
//! `http/atom`, and no XML but through `wire::atom`.
//!
//! `rows` knows where everything is and in which order. `publication`, `member` and `media` are
//! what there is, `earlier` shows what other versions stored, `slug` makes names, `run` runs
//! their transactions. For readers, `archive` knows in which parts all is
//! told, `reader` writes feeds and pages, `clean` makes HTML harmless, and `rendered` keeps what
//! was written.

pub(crate) mod archive;
pub(crate) mod clean;
pub(crate) mod earlier;
mod edits;
pub(crate) mod media;
pub(crate) mod member;
pub(crate) mod proposal;
pub(crate) mod publication;
pub(crate) mod reader;
pub(crate) mod rendered;
pub(crate) mod rows;
pub(crate) mod run;
pub(crate) mod slug;

pub(crate) use edits::{Edited, Edits};
pub(crate) use publication::Publication;
pub(crate) use rows::{Place, Row};

use repository::MediaType;
use rows::Names;

/// What all publishing of a server shares.
pub(crate) struct Atom {
    pub edits: Edits,
    pub names: Names,
    /// Of entries, as they are stored.
    pub entry_type: MediaType,
    /// Whether the first entry for a publication makes it.
    pub is_on_demand: bool,
    /// What was written for readers.
    pub rendered: rendered::Rendered,
}

impl Atom {
    pub(crate) fn new(is_on_demand: bool) -> Self {
        Self {
            edits: Edits::default(),
            names: Names::new(),
            entry_type: MediaType::Other(wire::atom::ENTRY_TYPE.into()),
            is_on_demand,
            rendered: rendered::Rendered::default(),
        }
    }
}
