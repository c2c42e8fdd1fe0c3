//! Service documents (RFC 5023 §8): a workspace for each publication; and lists of publications,
//! which are others for each asker.

use crate::atom::Publication;
use crate::preconditions::Preconditions;
use bytes::Bytes;
use repository::{CommitNumber, Document, MediaType, Timestamp};
use sha2::{Digest, Sha256};
use wire::atom::service::{self, Workspace};

/// The document of these publications.
pub(super) fn service(publications: &[Publication]) -> String {
    let workspace = |one: &Publication| Workspace {
        title: one.title.clone(),
        collections: vec![one.entries(), one.media()],
    };
    let mut workspaces: Vec<Workspace> = publications.iter().map(workspace).collect();
    if workspaces.is_empty() {
        // There must be one (§8.3.1).
        workspaces.push(Workspace { title: "Publications".to_owned(), collections: Vec::new() });
    }
    service::document(&workspaces)
}

/// A list of publications as conditions see it.
pub(super) struct List {
    /// It has no content. Its version stands for what is listed: a list of others has another,
    /// though nothing was written between the two.
    pub tag: Document,
}

impl List {
    /// `head` changes with each publication of the server, seen or not.
    pub(super) fn of(listed: &[Publication], head: Option<&Document>) -> Self {
        let mut hash = Sha256::new();
        hash.update(head.map_or(0, |head| head.version.0).to_be_bytes());
        for one in listed {
            // No name has a slash.
            hash.update(one.name.as_bytes());
            hash.update(b"/");
        }
        let hash = hash.finalize();
        let first = hash.first_chunk().copied().unwrap_or_default();
        let updated = head.map_or(Timestamp(0), |head| head.updated);
        let tag = Document {
            media_type: MediaType::Json,
            body: Bytes::new(),
            blob: None,
            version: CommitNumber(u64::from_be_bytes(first)),
            created: updated,
            updated,
            expires: None,
        };
        Self { tag }
    }

    /// Those that can hold for it. A date says nothing of which publications are listed.
    pub(super) fn conditions(&self, sent: &Preconditions) -> Preconditions {
        Preconditions { modified_since_s: None, unmodified_since_s: None, ..sent.clone() }
    }
}
