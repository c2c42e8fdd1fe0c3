//! What a list of operations came to, as JSON.

use crate::http::path;
use crate::operation::{Outcome, Place};
use crate::status;
use repository::json::quote;
use repository::{CommitNumber, Document, MediaType};

/// `{"commit":9,"results":[...]}`, one result for each operation, in their order.
pub(super) fn write(outcomes: &[(Place, Outcome)], commit: Option<CommitNumber>) -> String {
    let mut text = String::from("{");
    if let Some(commit) = commit {
        text.push_str(&format!("\"commit\":{commit},"));
    }
    text.push_str("\"results\":[");
    for (i, (place, outcome)) in outcomes.iter().enumerate() {
        if i > 0 {
            text.push(',');
        }
        result(place, outcome, commit, &mut text);
    }
    text + "]}"
}

fn result(place: &Place, outcome: &Outcome, commit: Option<CommitNumber>, text: &mut String) {
    let status = status::of(outcome).as_u16();
    let (collection, key) = (quote(place.collection.as_str()), quote(place.key.as_str()));
    text.push_str(&format!("{{\"status\":{status},\"collection\":{collection},\"key\":{key}"));
    let (version, shown) = match outcome {
        Outcome::Found(document) | Outcome::FoundBlob(document, _) => {
            (Some(document.version), Some(document))
        }
        Outcome::NotModified { version } => (Some(*version), None),
        Outcome::Written(written) => (written.version.known(commit), written.shown.as_ref()),
        Outcome::Absent | Outcome::Deleted | Outcome::Listed(_) | Outcome::Page(_) => (None, None),
    };
    if matches!(outcome, Outcome::Written(written) if written.made_at.is_some()) {
        text.push_str(&format!(",\"location\":{}", quote(&path::of(place))));
    }
    // What an earlier operation of the list wrote has the number of the commit.
    let own = |version: CommitNumber| if version.0 == 0 { commit } else { Some(version) };
    if let Some(version) = version.and_then(own) {
        text.push_str(&format!(",\"etag\":{}", quote(&format!("\"{version}\""))));
    }
    if let Some(document) = shown {
        self::document(document, text);
    }
    text.push('}');
}

/// JSON as it is; text as a string. Other bytes are left to GET.
fn document(document: &Document, text: &mut String) {
    let content = std::str::from_utf8(&document.body);
    match (&document.media_type, content) {
        (MediaType::Json, Ok(json)) => text.push_str(&format!(",\"document\":{json}")),
        (other, content) => {
            text.push_str(&format!(",\"media_type\":{}", quote(other.as_str())));
            if let Some(blob) = document.blob {
                text.push_str(&format!(",\"size\":{}", blob.length));
            } else if let Ok(content) = content {
                text.push_str(&format!(",\"text\":{}", quote(content)));
            }
        }
    }
}
