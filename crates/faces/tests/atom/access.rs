//! Who may publish, and who may read.

use crate::guarded::{Guarded, bearer};
use crate::site::{Reply, Site, bare, get, with_json};
use crate::support::*;
use faces::access::Scope;

/// The text of a token that the server knows already.
fn token(guarded: &Guarded, scope: Scope, pattern: &str) -> String {
    guarded.token(scope, &[pattern]).1
}

fn basic(user: &str, password: &str) -> String {
    let mut encoded = Vec::new();
    wire::base64::encode(&mut encoded, format!("{user}:{password}").as_bytes());
    format!("Authorization: Basic {}\r\n", String::from_utf8(encoded).unwrap())
}

fn challenges(reply: &Reply) -> Vec<&str> {
    let fields = reply.fields.iter().filter(|(name, _)| name == "www-authenticate");
    fields.filter_map(|(_, value)| value.split(' ').next()).collect()
}

#[test]
fn rfc5023_14_a_token_is_the_password_of_basic() {
    let guarded = Guarded::start();
    let token = token(&guarded, Scope::Write, "atom/blog");
    let entry = an_entry("A", "");
    for fields in [bearer(&token), basic("anybody", &token), basic("", &token)] {
        assert_eq!(guarded.site.ask(&post("blog", &fields, &entry)).status, 201, "{fields}");
    }
}

#[test]
fn rfc5023_14_credentials_missing_wrong_and_not_enough() {
    let guarded = Guarded::start();
    let admin = token(&guarded, Scope::Admin, "*");
    let site = &guarded.site;
    let made = with_json("POST", "/atom", &bearer(&admin), r#"{"title":"Blog"}"#);
    assert_eq!(site.ask(&made).status, 201);
    let entry = an_entry("A", "");
    let reply = site.ask(&post("blog", "", &entry));
    assert_eq!((reply.status, challenges(&reply)), (401, vec!["Bearer", "Basic"]));
    let wrong = site.ask(&post("blog", &basic("a", "wrong"), &entry));
    assert_eq!((wrong.status, challenges(&wrong)), (401, vec!["Bearer", "Basic"]));
    for (scope, pattern, status) in [
        (Scope::Write, "atom/blog", 201),
        (Scope::Write, "atom/b*", 201),
        (Scope::Write, "*", 201),
        (Scope::Read, "atom/blog", 403),
        (Scope::Write, "atom/other", 403),
        (Scope::Write, "blog", 403),
        (Scope::Write, "a*", 403),
    ] {
        let token = token(&guarded, scope, pattern);
        let reply = site.ask(&post("blog", &basic("a", &token), &entry));
        assert_eq!(reply.status, status, "{scope:?} {pattern}: {reply:?}");
    }
}

#[test]
fn policy_what_each_token_may_see_and_change() {
    let guarded = Guarded::start();
    let site = &guarded.site;
    let admin = bearer(&token(&guarded, Scope::Admin, "atom/*"));
    let writer = bearer(&token(&guarded, Scope::Write, "atom/a"));
    let reader = bearer(&token(&guarded, Scope::Read, "atom/a"));
    for title in ["A", "B"] {
        let json = format!("{{\"title\":\"{title}\"}}");
        assert_eq!(site.ask(&with_json("POST", "/atom", &admin, &json)).status, 201);
    }
    let refused = with_json("POST", "/atom", &writer, r#"{"title":"C"}"#);
    assert_eq!(site.ask(&refused).status, 403);
    let member = path(&site.ask(&post("a", &writer, &an_entry("E", ""))));
    for (at, fields, status) in [
        ("/atom/a/entries", "", 401),
        ("/atom/a/entries", reader.as_str(), 200),
        ("/atom/b/entries", reader.as_str(), 403),
        ("/atom/a/service", reader.as_str(), 200),
        ("/atom/a/service", "", 401),
        (member.as_str(), reader.as_str(), 200),
        (member.as_str(), "", 401),
        ("/atom", "", 401),
    ] {
        assert_eq!(site.ask(&bare("GET", at, fields)).status, status, "{at}");
    }
    let all = site.ask(&bare("GET", "/atom", &reader));
    assert_eq!(wire::atom::service::read(&all.body).unwrap().len(), 1, "what it may read");
    assert_eq!(all.field("cache-control"), Some("private, no-cache"));
    assert_eq!(site.ask(&delete(&member, &reader)).status, 403);
    let settings = with_json("PUT", "/atom/a/settings", &writer, r#"{"title":"X"}"#);
    assert_eq!(site.ask(&settings).status, 403);
    assert_eq!(site.ask(&delete(&member, &writer)).status, 204);
}

#[test]
fn policy_media_are_for_everybody_unless_the_publication_is_private() {
    let guarded = Guarded::start();
    let site = &guarded.site;
    let admin = bearer(&token(&guarded, Scope::Admin, "*"));
    for (json, status) in
        [(r#"{"title":"Open"}"#, 200), (r#"{"title":"Closed","private":true}"#, 401)]
    {
        let made = path(&site.ask(&with_json("POST", "/atom", &admin, json)));
        let at = made.replace("service", "media");
        let fields = format!("{admin}Slug: a\r\n");
        let picture = crate::site::with_type("POST", &at, ("image/png", &fields), "x");
        assert_eq!(site.ask(&picture).status, 201);
        assert_eq!(site.ask(&get(&format!("{at}/a"))).status, status, "{json}");
        assert_eq!(site.ask(&bare("GET", &format!("{at}/a"), &admin)).status, 200, "{json}");
    }
}

#[test]
fn policy_feeds_and_pages_are_for_everybody_unless_the_publication_is_private() {
    let guarded = Guarded::start();
    let site = &guarded.site;
    let admin = bearer(&token(&guarded, Scope::Admin, "*"));
    let reader = bearer(&token(&guarded, Scope::Read, "atom/closed"));
    let other = bearer(&token(&guarded, Scope::Read, "atom/open"));
    for json in [r#"{"title":"Open"}"#, r#"{"title":"Closed","private":true}"#] {
        assert_eq!(site.ask(&with_json("POST", "/atom", &admin, json)).status, 201);
    }
    for name in ["open", "closed"] {
        let fields = format!("{admin}Slug: a\r\n");
        assert_eq!(site.ask(&post(name, &fields, &an_entry("A", ""))).status, 201);
    }
    for of in ["", "/feed", "/feed.rss", "/feed.json", "/changes", "/archive/1", "/pages/a"] {
        let (open, closed) = (format!("/atom/open{of}"), format!("/atom/closed{of}"));
        assert_eq!(site.ask(&get(&open)).status, 200, "{open}");
        // Whoever reads it first with a token opens it to no other.
        assert_eq!(site.ask(&bare("GET", &closed, &reader)).status, 200, "{closed}");
        assert_eq!(site.ask(&get(&closed)).status, 401, "{closed}");
        assert_eq!(site.ask(&bare("GET", &closed, &other)).status, 403, "{closed}");
        let tag = etag(&site.ask(&bare("GET", &closed, &reader)));
        let known = bare("GET", &closed, &format!("If-None-Match: {tag}\r\n"));
        assert_eq!(site.ask(&known).status, 401, "{closed}");
    }
    assert!(!site.ask(&get("/atom/opml")).body.contains("Closed"));
    assert!(site.ask(&bare("GET", "/atom/opml", &reader)).body.contains("Closed"));
    let writer = bearer(&token(&guarded, Scope::Write, "atom/open"));
    assert_eq!(site.ask(&delete("/atom/open", &writer)).status, 403);
    assert_eq!(site.ask(&delete("/atom/open", &admin)).status, 204);
}

#[test]
fn a_page_of_another_site_cannot_publish() {
    let site = Site::start();
    let fields = "Origin: https://evil.example\r\nSec-Fetch-Site: cross-site\r\n";
    let reply = site.ask(&post("blog", fields, &an_entry("A", "")));
    assert_eq!((reply.status, reply.problem()), (403, "cross-site"));
}
