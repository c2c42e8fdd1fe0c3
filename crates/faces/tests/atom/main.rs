//! Publishing as its clients meet it (RFC 5023, RFC 4287): a real server on a real repository. The
//! tests are named by RFC and section; `policy_` where the RFC leaves it open.

#![allow(clippy::unwrap_used)]

mod access;
mod archive;
mod bad_input;
mod changes;
mod conditional;
mod creating;
mod deleting;
mod documents;
mod editing;
mod feeds;
#[path = "../http/guarded.rs"]
mod guarded;
mod hidden;
mod listing;
mod media;
mod own_links;
mod pages;
#[allow(dead_code, reason = "others use the rest")]
#[path = "../http/patience.rs"]
mod patience;
mod publications;
mod readable;
mod revalidated;
mod settings;
#[allow(dead_code, reason = "others use the rest")]
#[path = "../http/site.rs"]
mod site;
mod strangers;
mod support;
mod valid;
mod views;
