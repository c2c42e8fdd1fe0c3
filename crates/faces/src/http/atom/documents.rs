//! Service documents (RFC 5023 §8): a workspace for each publication.

use crate::atom::Publication;
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
