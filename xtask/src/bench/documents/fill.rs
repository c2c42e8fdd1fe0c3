//! Puts a side into the state that its rows need, and looks at one reply of each before it is
//! measured: a fast server that answers something else is no use.

use super::request::{Operation, Request, document, group};
use super::running::Running;
use super::side::Side;
use super::{FOUND, keys_in};
use crate::bench::BenchError;
use crate::bench::client::{self, Reply};
use crate::bench::fill::put_all;

/// The nonce of the documents that are there from the beginning.
const NONCE: &str = "0123456789abcdef";

/// Sarsen's index; the peers make theirs themselves.
const SETTINGS: &str =
    "{\"indexes\":[{\"name\":\"by_group\",\"paths\":[{\"path\":\"/group\",\"kind\":\"text\"}]}]}";

/// What is known of a side that was filled.
pub struct Filled {
    /// The entity tag of document 0 of `listed`, or what is none.
    pub etag: String,
    /// Why queries cannot be measured.
    no_index: Option<String>,
    /// Why changes cannot.
    not_durable: Option<String>,
}

/// Makes `keys` documents in `documents` and in `listed`.
pub fn fill(server: &Running, keys: u64) -> Result<Filled, BenchError> {
    let mut filled = Filled { etag: "\"none\"".into(), no_index: None, not_durable: None };
    if server.side == Side::Nginx {
        return Ok(filled);
    }
    let authority = server.authority();
    if server.side == Side::Sarsen {
        let made = client::send(&authority, "PUT", "/db/listed?settings", SETTINGS);
        filled.no_index = made.and_then(Reply::success).err();
    }
    let all = (0..keys).map(|key| ("documents", key, document(NONCE, "g0")));
    let listed = (0..keys).map(|key| ("listed", key, document(NONCE, &group(key))));
    let requests = all.chain(listed).map(|(collection, key, text)| {
        let (method, path, body) = making(server.side, collection, key, &text);
        format!(
            "{method} {path} HTTP/1.1\r\nHost: {authority}\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\n\r\n{body}",
            body.len()
        )
    });
    put_all(&authority, requests).map_err(BenchError::Fill)?;
    if server.side == Side::Sarsen {
        filled.not_durable = check_durability(&authority).err();
    }
    if let Ok(reply) = client::send(&authority, "GET", "/db/listed/0", "")
        && let Some(etag) = reply.field("etag")
    {
        etag.clone_into(&mut filled.etag);
    }
    Ok(filled)
}

/// How a side makes the document `key`: method, path and body. The peers have their keys in it.
fn making(side: Side, collection: &str, key: u64, text: &str) -> (&'static str, String, String) {
    let with = |name: &str| format!("{{\"{name}\":\"{key}\",{}", &text[1..]);
    match side {
        Side::Sarsen | Side::Nginx => ("PUT", format!("/db/{collection}/{key}"), text.to_owned()),
        Side::Xenon => ("POST", format!("/db/{collection}"), with("documentSelfLink")),
        Side::PocketBase => ("POST", format!("/api/collections/{collection}/records"), with("id")),
    }
}

impl Filled {
    /// Whether reads give what they should, by the index where one is meant; and whether changes
    /// are as durable as they should be.
    pub fn look(
        &self,
        server: &Running,
        operation: Operation,
        request: &Request,
    ) -> Result<(), String> {
        let wanted = match operation {
            Operation::Get => 1,
            Operation::Query => FOUND as usize,
            _ if operation.writes() => return self.not_durable.clone().map_or(Ok(()), Err),
            _ => return Ok(()),
        };
        if let (Operation::Query, Some(why)) = (operation, &self.no_index) {
            return Err(format!("the index could not be made: {why}"));
        }
        if server.side == Side::Nginx {
            return Ok(());
        }
        let mut path = keys_in(&request.path, 0);
        if server.side == Side::Sarsen && operation == Operation::Query {
            path.push_str("&explain=true");
        }
        let reply = client::send(&server.authority(), "GET", &path, "")?.success()?;
        let found = reply.body.matches("\"nonce\"").count();
        if found != wanted {
            return Err(format!("expected {wanted} documents in the reply to {path}, got {found}"));
        }
        if path.ends_with("explain=true") && !reply.body.contains("\"index\":\"by_group\"") {
            return Err(format!(
                "expected {path} to use the index by_group; it said {}",
                reply.body
            ));
        }
        Ok(())
    }
}

/// Whether a change is as durable as the table says; only Sarsen tells.
fn check_durability(authority: &str) -> Result<(), String> {
    let text = document(NONCE, "g0");
    let reply = client::send(authority, "PUT", "/db/documents/0", &text)?.success()?;
    match reply.field("sarsen-durability") {
        Some("synced") => Ok(()),
        other => Err(format!("expected Sarsen-Durability: synced, got {other:?}")),
    }
}
