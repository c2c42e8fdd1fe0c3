//! Publishing as its clients meet it (RFC 5023, RFC 4287): a real server on a real repository. The
//! tests are named by RFC and section; `policy_` where the RFC leaves it open.

#![allow(clippy::unwrap_used)]

mod access;
mod bad_input;
mod conditional;
mod creating;
mod deleting;
mod documents;
mod editing;
mod listing;
mod media;
#[allow(dead_code, reason = "others use the rest")]
#[path = "../http/patience.rs"]
mod patience;
mod publications;
#[allow(dead_code, reason = "others use the rest")]
#[path = "../http/site.rs"]
mod site;
mod support;
