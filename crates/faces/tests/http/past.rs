//! The past of documents: read, listed, and written again.

use crate::site::{Reply, Site, bare, get, put, with_json, with_type};
use serde_json::{Value, json};

fn commit(reply: &Reply) -> u64 {
    reply.field("sarsen-commit").unwrap().parse().unwrap()
}

/// A collection with this history; the commit since which it keeps it.
fn keep(site: &Site, history: &str) -> u64 {
    let settings = format!(r#"{{"history":{history}}}"#);
    commit(&site.ask(&with_json("PUT", "/db/notes?settings", "", &settings)))
}

fn write(site: &Site, body: &str) -> u64 {
    commit(&site.ask(&put("/db/notes/a", "", body)))
}

fn at(site: &Site, number: u64) -> Reply {
    site.ask(&get(&format!("/db/notes/a?at={number}")))
}

fn versions(site: &Site, rest: &str) -> (Reply, Value) {
    let reply = site.ask(&get(&format!("/db/notes/a?versions{rest}")));
    let page = serde_json::from_str(&reply.body).unwrap();
    (reply, page)
}

#[test]
fn every_version_is_there_with_its_entity_tag() {
    let site = Site::start();
    let since = keep(&site, r#"{"versions":10}"#);
    let first = write(&site, "1");
    let second = write(&site, "2");
    let removed = commit(&site.ask(&bare("DELETE", "/db/notes/a", "")));
    let old = at(&site, first);
    assert_eq!((old.status, old.body.as_str()), (200, "1"));
    assert_eq!(old.field("etag"), Some(format!("\"{first}\"").as_str()));
    assert!(old.field("last-modified").is_some());
    let known = format!("If-None-Match: \"{second}\"\r\n");
    let again = site.ask(&bare("GET", &format!("/db/notes/a?at={second}"), &known));
    assert_eq!(again.status, 304);
    assert_eq!(at(&site, removed).problem(), "not-found");
    assert_eq!(at(&site, since).problem(), "not-found");
    let gone = at(&site, since - 1);
    assert_eq!((gone.status, gone.problem()), (410, "not-kept"));
    let told: Value = serde_json::from_str(&gone.body).unwrap();
    assert_eq!(told["since"], json!(since));
    let future = at(&site, removed + 1);
    assert_eq!((future.status, future.problem()), (400, "invalid-parameter"));
    assert!(future.body.contains(&format!("a commit up to {removed}")), "{}", future.body);
    // By time, to the millisecond.
    let (_, page) = versions(&site, "");
    let time = page["versions"][2]["updated"].as_str().unwrap().to_owned();
    let then = site.ask(&get(&format!("/db/notes/a?at={time}")));
    assert!(then.status == 200 || then.status == 404, "{then:?}");
    let wrong = site.ask(&get("/db/notes/a?at=yesterday"));
    assert_eq!(wrong.problem(), "invalid-parameter");
    let other = site.ask(&get(&format!("/db/others/a?at={removed}")));
    assert_eq!(other.problem(), "not-kept", "it may have been there and dropped");
}

#[test]
fn versions_are_listed_page_by_page() {
    let site = Site::start();
    let since = keep(&site, r#"{"versions":10}"#);
    let first = write(&site, "1");
    let removed = commit(&site.ask(&bare("DELETE", "/db/notes/a", "")));
    let last = write(&site, "[1,2]");
    let (_, page) = versions(&site, "");
    let listed: Vec<_> = page["versions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|v| v["commit"].as_u64().unwrap())
        .collect();
    assert_eq!((listed, page["since"].as_u64()), (vec![last, removed, first], Some(since)));
    assert_eq!(page["versions"][0]["etag"], json!(format!("\"{last}\"")));
    assert_eq!(page["versions"][0]["size"], json!(5));
    assert_eq!(page["versions"][1]["deleted"], json!(true));
    let (reply, page) = versions(&site, "&limit=1");
    assert_eq!(page["next"], json!(last));
    let next = reply.field("link").unwrap();
    assert_eq!(next, format!("<?versions&limit=1&after={last}>; rel=\"next\""));
    let (_, page) = versions(&site, &format!("&limit=2&after={last}"));
    assert_eq!(page["versions"][1]["commit"], json!(first));
    assert_eq!(page.get("next"), None);
    assert_eq!(site.ask(&get("/db/notes/b?versions")).problem(), "not-found");
}

#[test]
fn limits_of_a_list_of_versions() {
    let site = Site::start();
    site.put("/db/notes/a", "1");
    let ask = |limit: usize| site.ask(&get(&format!("/db/notes/a?versions&limit={limit}"))).status;
    assert_eq!(ask(faces::limits::VERSIONS_LISTED_MAX), 200);
    assert_eq!(ask(faces::limits::VERSIONS_LISTED_MAX + 1), 400);
}

#[test]
fn a_version_is_written_again_as_a_commit_of_its_own() {
    let site = Site::start();
    keep(&site, r#"{"versions":10}"#);
    let first = write(&site, r#"{"n":1}"#);
    let second = write(&site, r#"{"n":2}"#);
    let restore = |number: u64, fields: &str| {
        site.ask(&bare("POST", &format!("/db/notes/a?restore={number}"), fields))
    };
    let stale = restore(first, &format!("If-Match: \"{first}\"\r\n"));
    assert_eq!(stale.problem(), "precondition-failed");
    let condition = format!("If-Match: \"{second}\"\r\nPrefer: return=representation\r\n");
    let restored = restore(first, &condition);
    assert_eq!((restored.status, restored.body.as_str()), (200, r#"{"n":1}"#));
    let third = commit(&restored);
    assert!(third > second);
    assert_eq!(restored.field("etag"), Some(format!("\"{third}\"").as_str()));
    assert_eq!(at(&site, second).body, r#"{"n":2}"#, "what it replaced is kept");
    // Of a document that is gone, once.
    site.ask(&bare("DELETE", "/db/notes/a", ""));
    let once = "Idempotency-Key: \"r\"\r\n";
    let back = restore(second, once);
    assert_eq!(back.status, 201);
    assert_eq!(commit(&restore(second, once)), commit(&back));
    assert_eq!(site.ask(&get("/db/notes/a")).body, r#"{"n":2}"#);
    assert_eq!(restore(0, "").problem(), "not-kept");
    assert_eq!(site.ask(&bare("POST", "/db/notes/a", "")).problem(), "invalid-parameter");
}

#[test]
fn a_collection_without_a_history_says_so() {
    let site = Site::start();
    let first = write(&site, "1");
    let second = write(&site, "2");
    assert_eq!((at(&site, first).status, at(&site, second).status), (410, 200));
    let (_, page) = versions(&site, "");
    assert_eq!(page["since"], Value::Null);
    assert_eq!(page["versions"].as_array().unwrap().len(), 1);
}

#[test]
fn large_versions_are_streamed_and_written_again() {
    let site = Site::start();
    keep(&site, r#"{"versions":10}"#);
    let content = |n: usize| format!("{n:07} ").repeat(12_000);
    let upload = |n| with_type("PUT", "/db/notes/a", ("video/x-test", ""), &content(n));
    let first = commit(&site.ask(&upload(1)));
    let second = commit(&site.ask(&upload(2)));
    write(&site, "3");
    for (number, n) in [(first, 1), (second, 2)] {
        let old = at(&site, number);
        assert!((old.status, old.body.len()) == (200, 96_000) && old.body == content(n), "{n}");
        assert_eq!(old.field("content-type"), Some("video/x-test"));
        assert_eq!(old.field("etag"), Some(format!("\"{number}\"").as_str()));
    }
    let (_, page) = versions(&site, "");
    assert_eq!(
        (&page["versions"][1]["size"], &page["versions"][2]["size"]),
        (&json!(96_000), &json!(96_000))
    );
    let restored = site.ask(&bare("POST", &format!("/db/notes/a?restore={first}"), ""));
    assert_eq!(restored.status, 204, "{restored:?}");
    assert!(site.ask(&get("/db/notes/a")).body == content(1));
    assert_eq!(site.repository.blob_stats().written, 2, "the content is there already");
}
