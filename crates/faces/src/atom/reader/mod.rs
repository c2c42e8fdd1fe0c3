//! What readers get of a publication: feeds in Atom, RSS and JSON Feed of one reading, and pages.
//! Only writing is done here; what is in them was read before, at one view.
//!
//! `post` is an entry in words that all of them have, `feeds` and `pages` write.

pub(crate) mod feeds;
pub(crate) mod pages;
mod post;

pub(crate) use post::Post;

use crate::atom::{Edited, Publication, member};
use crate::problem::Problem;
use repository::Document;
use std::sync::Arc;
use wire::atom::feed_document::FeedKind;
use wire::atom::{Date, Person, Tombstone};

/// What a document for readers is made of.
#[derive(Clone, Debug)]
pub(crate) struct Reading {
    pub publication: Publication,
    pub shown: Vec<Shown>,
    pub tombstones: Vec<Tombstone>,
    /// Where the document is, as a path with its query.
    pub here: String,
    /// Relations and paths of what is around it.
    pub links: Vec<(&'static str, String)>,
    pub kind: FeedKind,
    /// When what is in it was edited last, where the order says it.
    pub newest: Option<Edited>,
}

/// A public entry.
#[derive(Clone, Debug)]
pub(crate) struct Shown {
    pub member: String,
    pub document: Arc<Document>,
    /// How long its media is, if it has some.
    pub media_bytes: Option<u64>,
}

impl Reading {
    /// How many bytes the entries have as they are stored.
    pub(crate) fn bytes(&self) -> usize {
        self.shown.iter().map(|one| one.document.body.len()).sum()
    }

    /// Where a link of that relation leads.
    fn link(&self, rel: &str) -> Option<&str> {
        self.links.iter().find(|(found, _)| *found == rel).map(|(_, path)| path.as_str())
    }

    /// When something of it was changed last.
    fn updated(&self) -> Result<Date, Problem> {
        let mut updated = Edited(self.publication.made).date();
        if let Some(newest) = self.newest {
            return Ok(newest.date().max(updated));
        }
        for one in &self.shown {
            let entry = wire::atom::entry::read_stored(member::text(&one.document)?);
            let found = entry.ok().and_then(|entry| entry.updated);
            updated = found.map_or(updated, |found| found.max(updated));
        }
        Ok(updated)
    }

    /// What is shown, in the words of readers. One that cannot be read is left out, and the log has
    /// why: the others are not to go with it.
    fn posts(&self, origin: &str) -> Vec<Post> {
        let read = |one| Post::read(one, &self.publication.name, origin).ok();
        self.shown.iter().filter_map(read).collect()
    }

    fn authors(&self) -> [Person; 1] {
        [Person { name: self.publication.author().to_owned(), uri: None, email: None }]
    }
}
