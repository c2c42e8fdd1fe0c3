//! What each side is asked: the same operation in the words of each. Nothing is sent here.

use super::row::Transport;
use super::side::Side;
use super::{FOUND, KEYS};

/// What a client wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// A document.
    Get,
    /// The same, by a client that has it.
    NotModified,
    /// A whole document written.
    Put,
    /// A document under a new key.
    Post,
    /// One member changed.
    Patch,
    /// One added to a number in one document that all connections share.
    Add,
    /// The documents with one value of an indexed member.
    Query,
}

impl Operation {
    /// Every one, in the order of the tables.
    pub const ALL: [Self; 7] =
        [Self::Get, Self::NotModified, Self::Put, Self::Post, Self::Patch, Self::Add, Self::Query];

    /// Its name in the tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::NotModified => "GET, 304",
            Self::Put => "PUT",
            Self::Post => "POST",
            Self::Patch => "PATCH one member",
            Self::Add => "add 1 in one document",
            Self::Query => "query, 20 of an index",
        }
    }

    /// Whether it changes something, so that its reply promises durability.
    pub fn writes(self) -> bool {
        matches!(self, Self::Put | Self::Post | Self::Patch | Self::Add)
    }

    /// Whether `status` is what was asked for. Anything else is no throughput.
    pub fn is_success(self, status: u16) -> bool {
        match self {
            Self::NotModified => status == 304,
            _ => (200..300).contains(&status),
        }
    }
}

/// Bytes of a reply with the documents of a query, about those of Sarsen: 300 of each document and
/// 110 of its key, version and times.
pub const FOUND_REPLY_BYTES: usize = FOUND as usize * 410;

/// A request as the lab takes it: in `path` `{key}` is a number below `keys`, in `body` `{nonce}`
/// differs each time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Its method.
    pub method: &'static str,
    /// Path and query.
    pub path: String,
    /// What `{key}` is below.
    pub keys: u64,
    /// Header fields.
    pub fields: Vec<(&'static str, String)>,
    /// Empty: none.
    pub body: String,
}

/// Who is asked.
#[derive(Clone, Copy)]
pub struct Target<'a> {
    /// The side.
    pub side: Side,
    /// The entity tag of document 0 of the collection `listed`.
    pub etag: &'a str,
    /// Documents of a collection.
    pub keys: u64,
}

impl Target<'_> {
    /// The request of `operation`; `None` if the side has no such thing.
    pub fn request(&self, operation: Operation, transport: Transport) -> Option<Request> {
        if !self.side.speaks(transport) {
            return None;
        }
        let (method, path) = match self.side {
            Side::Sarsen => sarsen(operation),
            Side::Nginx => nginx(operation),
            Side::Xenon => xenon(operation)?,
            Side::PocketBase => pocketbase(operation)?,
        };
        let mut fields = Vec::new();
        let body = body(self.side, operation);
        if !body.is_empty() {
            fields.push(("content-type", media_type(self.side, operation).to_owned()));
        }
        if operation == Operation::NotModified {
            fields.push(("if-none-match", self.etag.to_owned()));
        }
        let keys = if operation == Operation::Query { self.keys / FOUND } else { self.keys };
        Some(Request { method, path: path.to_owned(), keys, fields, body })
    }
}

fn sarsen(operation: Operation) -> (&'static str, &'static str) {
    match operation {
        Operation::Get => ("GET", "/db/documents/{key}"),
        // One document that nobody changes: each has an entity tag of its own.
        Operation::NotModified => ("GET", "/db/listed/0"),
        Operation::Put => ("PUT", "/db/documents/{key}"),
        Operation::Post => ("POST", "/db/created"),
        Operation::Patch => ("PATCH", "/db/documents/{key}"),
        Operation::Add => ("PATCH", "/db/documents/0"),
        Operation::Query => ("GET", "/db/listed?filter=group%20%3D%20g{key}&limit=20"),
    }
}

/// The ceiling: replies that are there already.
fn nginx(operation: Operation) -> (&'static str, &'static str) {
    match operation {
        Operation::Get => ("GET", "/get/{key}"),
        Operation::NotModified => ("GET", "/not-modified"),
        Operation::Put => ("PUT", "/changed/{key}"),
        Operation::Post => ("POST", "/created"),
        Operation::Patch => ("PATCH", "/changed/{key}"),
        Operation::Add => ("PATCH", "/changed/0"),
        Operation::Query => ("GET", "/query/{key}"),
    }
}

/// It has no entity tags.
fn xenon(operation: Operation) -> Option<(&'static str, &'static str)> {
    Some(match operation {
        Operation::Get => ("GET", "/db/documents/{key}"),
        Operation::NotModified => return None,
        Operation::Put => ("PUT", "/db/documents/{key}"),
        Operation::Post => ("POST", "/db/created"),
        Operation::Patch => ("PATCH", "/db/documents/{key}"),
        Operation::Add => ("PATCH", "/db/documents/0"),
        Operation::Query => ("GET", "/db/listed?$filter=group%20eq%20%27g{key}%27&expand"),
    })
}

/// It has no entity tags, and no PUT: PATCH with every member does the same.
fn pocketbase(operation: Operation) -> Option<(&'static str, &'static str)> {
    Some(match operation {
        Operation::Get => ("GET", "/api/collections/documents/records/{key}"),
        Operation::NotModified => return None,
        Operation::Put | Operation::Patch => ("PATCH", "/api/collections/documents/records/{key}"),
        Operation::Post => ("POST", "/api/collections/created/records"),
        Operation::Add => ("PATCH", "/api/collections/documents/records/0"),
        Operation::Query => (
            "GET",
            "/api/collections/listed/records?filter=group%3D%27g{key}%27&perPage=20&skipTotal=1",
        ),
    })
}

fn media_type(side: Side, operation: Operation) -> &'static str {
    match (side, operation) {
        (Side::Sarsen, Operation::Patch) => "application/merge-patch+json",
        (Side::Sarsen, Operation::Add) => "application/vnd.sarsen.merge+json",
        _ => "application/json",
    }
}

fn body(side: Side, operation: Operation) -> String {
    match operation {
        Operation::Get | Operation::NotModified | Operation::Query => String::new(),
        Operation::Put | Operation::Post => document("{nonce}", "g0"),
        Operation::Patch => "{\"nonce\":\"{nonce}\"}".into(),
        Operation::Add => match side {
            Side::Sarsen | Side::Nginx => "[{\"op\":\"add\",\"path\":\"/hits\",\"value\":1}]",
            Side::Xenon => "{\"add\":1}",
            Side::PocketBase => "{\"hits+\":1}",
        }
        .into(),
    }
}

/// A JSON document of 300 bytes, once `nonce` is 16 characters; `{nonce}` becomes so many.
pub fn document(nonce: &str, group: &str) -> String {
    let start = format!("{{\"nonce\":\"{nonce}\",\"group\":\"{group}\",\"hits\":0,\"text\":\"");
    let filler = 300 - (start.len() - nonce.len() + 16) - "\"}".len();
    format!("{start}{}\"}}", "x".repeat(filler))
}

/// The group of document `key` in the collection `listed`.
pub fn group(key: u64) -> String {
    format!("g{}", key / FOUND)
}

const _: () = assert!(KEYS.is_multiple_of(FOUND), "each group is full");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documents_have_300_bytes() {
        assert_eq!(document("0123456789abcdef", "g499").len(), 300);
        let sent = document("{nonce}", "g0").replace("{nonce}", "0123456789abcdef");
        assert_eq!(sent.len(), 300);
        assert!(serde_json::from_str::<serde_json::Value>(&sent).is_ok());
    }

    #[test]
    fn every_body_is_json_and_says_what_it_is() {
        for side in Side::ALL {
            for operation in Operation::ALL {
                let target = Target { side, etag: "\"7\"", keys: 100 };
                let Some(request) = target.request(operation, Transport::Http1) else { continue };
                let body = request.body.replace("{nonce}", "0");
                let typed = request.fields.iter().any(|(name, _)| *name == "content-type");
                assert_eq!(!body.is_empty(), typed, "{request:?}");
                if typed {
                    assert!(serde_json::from_str::<serde_json::Value>(&body).is_ok(), "{body}");
                }
            }
        }
    }

    #[test]
    fn only_what_was_asked_for_is_a_success() {
        assert!(Operation::Get.is_success(200) && !Operation::Get.is_success(304));
        assert!(Operation::NotModified.is_success(304) && !Operation::NotModified.is_success(200));
        assert!(Operation::Put.is_success(204) && !Operation::Put.is_success(503));
    }
}
