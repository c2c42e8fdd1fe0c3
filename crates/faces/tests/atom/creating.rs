//! POST of entries.

use crate::site::{Site, get, with_type};
use crate::support::*;

#[test]
fn rfc5023_9_2_a_post_makes_a_member_and_says_where_it_is() {
    let site = Site::start();
    let reply = site.ask(&post("blog", "", &an_entry("First", "")));
    assert_eq!(reply.status, 201, "{reply:?}");
    let member = path(&reply);
    assert!(member.starts_with("/atom/blog/entries/"), "{member}");
    assert_eq!(reply.field("content-location"), reply.field("location"));
    assert_eq!(reply.field("content-type"), Some(ENTRY));
    assert_eq!(reply.field("sarsen-durability"), Some("synced"));
    let got = site.ask(&get(&member));
    assert_eq!((got.status, &got.body), (200, &reply.body), "read your write");
    assert_eq!(got.field("etag"), reply.field("etag"));
}

#[test]
fn rfc5023_9_1_and_11_1_the_stored_entry_has_one_edit_link() {
    let site = Site::start();
    let own = "<link rel=\"edit\" href=\"http://elsewhere/\"/><link rel=\"edit\" href=\"/x\"/>";
    let reply = site.ask(&post("blog", "", &an_entry("First", own)));
    let entry = read_entry(&reply.body);
    let edits: Vec<_> = entry.links.iter().filter(|link| link.rel == "edit").collect();
    assert_eq!(edits.len(), 1, "{}", reply.body);
    assert_eq!(edits[0].href, path(&reply));
}

#[test]
fn rfc5023_10_2_app_edited_is_the_servers() {
    let site = Site::start();
    let own = "<edited xmlns=\"http://www.w3.org/2007/app\">1999-01-01T00:00:00Z</edited>";
    let reply = site.ask(&post("blog", "", &an_entry("First", own)));
    assert_eq!(reply.body.matches("app:edited").count(), 2, "one element: {}", reply.body);
    assert!(!reply.body.contains("1999"), "{}", reply.body);
    let entry = read_entry(&reply.body);
    assert!(entry.edited.unwrap().ms() > 1_700_000_000_000);
    assert_eq!(entry.edited, entry.updated);
}

#[test]
fn rfc5023_9_2_1_what_is_missing_the_server_fills_in() {
    let site = Site::start();
    make(&site, r#"{"title":"Blog","author":"Zoë"}"#);
    let reply = site.ask(&post("blog", "", &an_entry("First", "")));
    let entry = read_entry(&reply.body);
    assert!(entry.id.unwrap().starts_with("urn:uuid:"));
    assert_eq!(entry.authors[0].name, "Zoë");
    assert!(entry.updated.is_some() && entry.published.is_some());
}

#[test]
fn rfc4287_4_2_6_each_member_has_an_id_of_its_own() {
    let site = Site::start();
    let same = an_entry("Twice", "<id>urn:uuid:60a76c80-d399-11d9-b91C-0003939e0af6</id>");
    let replies = [0, 1].map(|_| site.ask(&post("blog", "", &same)));
    let ids = replies.each_ref().map(|reply| read_entry(&reply.body).id.unwrap());
    assert_ne!(ids[0], ids[1]);
    assert!(!ids.contains(&"urn:uuid:60a76c80-d399-11d9-b91C-0003939e0af6".to_owned()));
    assert_ne!(path(&replies[0]), path(&replies[1]));
}

#[test]
fn rfc5023_9_6_and_12_1_media_types_of_entries() {
    let site = Site::start();
    for taken in [ENTRY, "application/atom+xml", "Application/Atom+XML;Type=ENTRY"] {
        let request = with_type("POST", "/atom/blog/entries", (taken, ""), &an_entry("A", ""));
        assert_eq!(site.ask(&request).status, 201, "{taken}");
    }
    for (other, status) in
        [("image/png", 415), ("text/xml", 415), ("application/atom+xml;type=feed", 400)]
    {
        let request = with_type("POST", "/atom/blog/entries", (other, ""), &an_entry("B", ""));
        assert_eq!(site.ask(&request).status, status, "{other}");
    }
    assert_eq!(titles(&site, "/atom/blog/entries"), ["A", "A", "A"], "nothing else was stored");
}

#[test]
fn rfc5023_12_1_1_a_feed_is_no_entry() {
    let site = Site::start();
    let feed = "<feed xmlns=\"http://www.w3.org/2005/Atom\"><title>F</title></feed>";
    assert_eq!(site.ask(&post("blog", "", feed)).problem(), "malformed-xml");
}

#[test]
fn rfc4287_6_foreign_markup_survives() {
    let site = Site::start();
    let foreign = "<dc:subject xmlns:dc=\"http://purl.org/dc/elements/1.1/\" dc:x=\"1\">a<b \
                   xmlns=\"urn:b\">c</b>d</dc:subject><!-- kept --><unknown>e</unknown>\
                   <rights><![CDATA[a & b]]></rights>";
    let reply = site.ask(&post("blog", "", &an_entry("First", foreign)));
    let feed = site.ask(&get("/atom/blog/entries"));
    for text in [&reply.body, &feed.body] {
        assert!(text.contains("dc:x=\"1\">a<b xmlns=\"urn:b\">c</b>d</dc:subject>"), "{text}");
        assert!(text.contains("<unknown>e</unknown>") && text.contains("<!-- kept -->"), "{text}");
    }
    assert_eq!(read_entry(&reply.body).rights.unwrap().value, "a & b");
}

#[test]
fn rfc5023_9_7_slugs_become_paths() {
    let site = Site::start();
    for (slug, expected) in [
        ("First Post", "first-post"),
        ("First Post", "first-post-2"),
        ("The Beach at S%C3%A8te", "the-beach-at-s%C3%A8te"),
        ("../../etc/passwd", "etc-passwd"),
        ("...a\t%00b/c", "a-b-c"),
    ] {
        let fields = format!("Slug: {slug}\r\n");
        let reply = site.ask(&post("blog", &fields, &an_entry("A", "")));
        assert_eq!(reply.status, 201, "{slug}: {reply:?}");
        assert_eq!(path(&reply), format!("/atom/blog/entries/{expected}"));
        let entry = read_entry(&reply.body);
        let alternate = format!("/atom/blog/pages/{expected}");
        assert_eq!(entry.link("alternate").unwrap().href, alternate);
        assert_eq!(site.ask(&get(&path(&reply))).status, 200);
    }
}

#[test]
fn rfc5023_9_7_1_slugs_that_cannot_be_read_are_none() {
    let site = Site::start();
    let long = "%C3%A8".repeat(680);
    for slug in ["%FF", "%", "..", "%2E%2E%2F", &long] {
        let reply = site.ask(&post("blog", &format!("Slug: {slug}\r\n"), &an_entry("A", "")));
        assert_eq!(reply.status, 201, "{slug}");
        let member = path(&reply);
        let (_, segment) = member.split_at("/atom/blog/entries/".len());
        assert!(!segment.contains('/') && !segment.is_empty() && segment.len() < 700, "{segment}");
        assert_eq!(site.ask(&get(&member)).status, 200);
    }
}

#[test]
fn rfc7240_2_a_reply_may_be_small() {
    let site = Site::start();
    let reply = site.ask(&post("blog", "Prefer: return=minimal\r\n", &an_entry("A", "")));
    assert_eq!((reply.status, reply.body.as_str()), (201, ""));
    assert!(reply.field("etag").is_some() && reply.field("location").is_some());
}

#[test]
fn rfc5023_8_3_6_categories_open_and_fixed() {
    let site = Site::start();
    let other = an_entry("A", "<category term=\"other\"/>");
    let reply = site.ask(&post("open", "", &other));
    assert_eq!(read_entry(&reply.body).categories[0].term, "other");
    make(
        &site,
        r#"{"title":"Fixed","categories":{"fixed":true,"scheme":"urn:s","list":[{"term":"a"}]}}"#,
    );
    assert_eq!(site.ask(&post("fixed", "", &other)).problem(), "invalid-entry");
    assert_eq!(titles(&site, "/atom/fixed/entries"), [""; 0]);
    let listed = an_entry("A", "<category term=\"a\" scheme=\"urn:s\"/>");
    let reply = site.ask(&post("fixed", "", &listed));
    assert_eq!(reply.status, 201, "{reply:?}");
    assert_eq!(site.ask(&put(&path(&reply), "", &other)).status, 422);
}

#[test]
fn rfc5023_13_1_drafts_are_in_the_collection() {
    let site = Site::start();
    let draft = "<control xmlns=\"http://www.w3.org/2007/app\"><draft>yes</draft></control>";
    let reply = site.ask(&post("blog", "", &an_entry("Draft", draft)));
    assert!(read_entry(&reply.body).is_draft);
    assert_eq!(titles(&site, "/atom/blog/entries"), ["Draft"]);
    let published = an_entry("No draft", "");
    assert_eq!(site.ask(&put(&path(&reply), "", &published)).status, 200);
    assert!(!read_entry(&site.ask(&get(&path(&reply))).body).is_draft);
}
