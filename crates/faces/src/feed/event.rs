//! What the feed says of a commit: JSON of one line, made once for all who read and put together
//! for each from the changes that concern it.

use crate::access::{Need, Principal};
use crate::limits::{FEED_DOCUMENT_BYTES_MAX, FEED_EVENT_BYTES_MAX};
use repository::json::quote;
use repository::{CommitNumber, LoggedAction, LoggedChange, LoggedCommit, MediaType, Merge};
use std::fmt::Write;

/// What one who reads wants to know and may.
#[derive(Clone, Debug)]
pub(crate) struct Filter {
    /// Only these collections; none: all.
    pub collections: Vec<String>,
    pub principal: Principal,
}

impl Filter {
    fn admits(&self, collection: &str) -> bool {
        // What is Sarsen's own is nobody's business.
        !collection.starts_with('_')
            && (self.collections.is_empty() || self.collections.iter().any(|c| c == collection))
            && self.principal.allows(collection, Need::Read)
    }
}

/// A commit, told.
#[derive(Debug, Default)]
pub(crate) struct Rendered {
    /// The object up to its changes.
    head: String,
    /// Each with its collection.
    changes: Vec<(String, String)>,
    bytes: usize,
}

/// What a change takes beside its text.
const CHANGE_BYTES: usize = 64;

impl Rendered {
    pub(crate) fn of(commit: &LoggedCommit) -> Self {
        let head = format!("{{\"commit\":{},\"time\":\"{}\"", commit.number, commit.time.rfc3339());
        let mut rendered = Self { bytes: head.len(), head, changes: Vec::new() };
        let mut left = FEED_EVENT_BYTES_MAX;
        for change in &commit.changes {
            let text = text(change, &mut left);
            let collection = change.collection.as_str().to_owned();
            rendered.bytes += text.len() + collection.len() + CHANGE_BYTES;
            rendered.changes.push((collection, text));
        }
        rendered
    }

    #[cfg(test)]
    pub(crate) fn with_bytes(bytes: usize) -> Self {
        Self { bytes, ..Self::default() }
    }

    /// Memory that it takes, about.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Appends the object with what `filter` admits. `false`: that is nothing, and so is this.
    pub(crate) fn append(&self, filter: &Filter, out: &mut String) -> bool {
        let mut admitted = self.changes.iter().filter(|(c, _)| filter.admits(c)).peekable();
        if admitted.peek().is_none() {
            return false;
        }
        out.push_str(&self.head);
        let mut before = ",\"changes\":[";
        for (_, change) in admitted {
            out.push_str(before);
            out.push_str(change);
            before = ",";
        }
        out.push_str("]}");
        true
    }

    /// Appends it as an event of a stream.
    pub(crate) fn append_event(
        &self,
        number: CommitNumber,
        filter: &Filter,
        out: &mut String,
    ) -> bool {
        let begun = out.len();
        let _ = write!(out, "event: commit\nid: {number}\ndata: ");
        if !self.append(filter, out) {
            out.truncate(begun);
            return false;
        }
        out.push_str("\n\n");
        true
    }
}

/// A change as JSON. Of `left` bytes for content the event keeps what is not used.
fn text(change: &LoggedChange, left: &mut usize) -> String {
    let mut text = format!("{{\"collection\":\"{}\"", change.collection);
    if let Some(key) = &change.key {
        text.push_str(",\"key\":");
        text.push_str(&quote(key.as_str()));
    }
    let name = name(&change.action);
    let _ = write!(text, ",\"change\":\"{name}\"");
    match &change.action {
        LoggedAction::Put { media_type, body, blob, expires } => {
            let _ = write!(text, ",\"media_type\":{}", quote(media_type.as_str()));
            if let Some(at) = expires {
                let _ = write!(text, ",\"expires\":\"{}\"", at.rfc3339());
            }
            match std::str::from_utf8(body) {
                Ok(json) if *media_type == MediaType::Json && takes(body.len(), left) => {
                    let _ = write!(text, ",\"document\":{json}");
                }
                _ => {
                    let size = blob.as_ref().map_or(body.len() as u64, |blob| blob.length);
                    let _ = write!(text, ",\"size\":{size}");
                }
            }
        }
        LoggedAction::Merge(operations) => {
            let listed = operations.iter().map(Merge::to_json).collect::<Vec<_>>().join(",");
            if takes(listed.len(), left) {
                let _ = write!(text, ",\"operations\":[{listed}]");
            }
        }
        LoggedAction::Expire(due) => {
            let _ = write!(text, ",\"due\":\"{}\"", due.rfc3339());
        }
        LoggedAction::Delete
        | LoggedAction::Configure
        | LoggedAction::Empty
        | LoggedAction::Drop => {}
    }
    text.push('}');
    text
}

fn name(action: &LoggedAction) -> &'static str {
    match action {
        LoggedAction::Put { .. } => "put",
        LoggedAction::Delete => "delete",
        LoggedAction::Merge(_) => "merge",
        LoggedAction::Expire(_) => "expire",
        LoggedAction::Configure => "configure",
        LoggedAction::Empty => "empty",
        LoggedAction::Drop => "drop",
    }
}

/// Whether content of so many bytes is told.
fn takes(bytes: usize, left: &mut usize) -> bool {
    let fits = bytes <= FEED_DOCUMENT_BYTES_MAX && bytes <= *left;
    if fits {
        *left -= bytes;
    }
    fits
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use repository::{CollectionName, Key, Timestamp};

    fn change(collection: &str, key: Option<&str>, action: LoggedAction) -> LoggedChange {
        let collection = CollectionName::new(collection).unwrap();
        LoggedChange { collection, key: key.map(|key| Key::new(key).unwrap()), action }
    }

    fn put(body: String, media_type: MediaType) -> LoggedAction {
        let expires = Some(Timestamp(0));
        LoggedAction::Put { media_type, body: Bytes::from(body), blob: None, expires }
    }

    fn told(changes: Vec<LoggedChange>, collections: &[&str]) -> String {
        let commit = LoggedCommit { number: CommitNumber(7), time: Timestamp(1), changes };
        let filter = Filter {
            collections: collections.iter().map(|name| (*name).to_owned()).collect(),
            principal: Principal::Anyone,
        };
        let mut out = String::new();
        Rendered::of(&commit).append_event(CommitNumber(7), &filter, &mut out);
        out
    }

    fn samples() -> Vec<LoggedChange> {
        vec![
            change("_sessions", Some("s"), LoggedAction::Delete),
            change("notes", Some("a\"\u{fc}"), put("{\"n\":1}".to_owned(), MediaType::Json)),
            change("photos", Some("p"), put("abc".into(), MediaType::Other("image/png".into()))),
            change("notes", Some("b"), LoggedAction::Expire(Timestamp(2))),
            change("notes", None, LoggedAction::Empty),
        ]
    }

    #[test]
    fn an_event_tells_what_is_wanted_and_nothing_of_sarsens_own() {
        let all = told(samples(), &[]);
        assert_eq!(
            all,
            "event: commit\nid: 7\ndata: {\"commit\":7,\"time\":\"1970-01-01T00:00:00.001Z\",\
             \"changes\":[{\"collection\":\"notes\",\"key\":\"a\\\"\u{fc}\",\"change\":\"put\",\
             \"media_type\":\"application/json\",\"expires\":\"1970-01-01T00:00:00.000Z\",\
             \"document\":{\"n\":1}},{\"collection\":\"photos\",\"key\":\"p\",\"change\":\"put\",\
             \"media_type\":\"image/png\",\"expires\":\"1970-01-01T00:00:00.000Z\",\"size\":3},\
             {\"collection\":\"notes\",\"key\":\"b\",\"change\":\"expire\",\
             \"due\":\"1970-01-01T00:00:00.002Z\"},{\"collection\":\"notes\",\
             \"change\":\"empty\"}]}\n\n"
        );
        let photos = told(samples(), &["photos"]);
        assert!(photos.contains("\"photos\"") && !photos.contains("notes"), "{photos}");
        assert_eq!(told(samples(), &["other"]), "");
        assert_eq!(told(samples(), &["_sessions"]), "");
        assert!(told(vec![], &[]).is_empty());
    }

    #[test]
    fn content_is_told_up_to_its_bounds() {
        let large = |bytes: usize| put(format!("\"{}\"", "x".repeat(bytes - 2)), MediaType::Json);
        let of = |bytes| told(vec![change("notes", Some("a"), large(bytes))], &[]);
        assert!(of(FEED_DOCUMENT_BYTES_MAX).contains("\"document\":"));
        let size = format!("\"size\":{}", FEED_DOCUMENT_BYTES_MAX + 1);
        assert!(of(FEED_DOCUMENT_BYTES_MAX + 1).contains(&size));
        let count = FEED_EVENT_BYTES_MAX / FEED_DOCUMENT_BYTES_MAX + 3;
        let many: Vec<_> = (0..count)
            .map(|i| change("notes", Some(&i.to_string()), large(FEED_DOCUMENT_BYTES_MAX)))
            .collect();
        let told = told(many, &[]);
        assert_eq!(told.matches("\"size\":").count(), 3);
        assert_eq!(told.matches("\"key\":").count(), count, "each change is told");
    }
}
