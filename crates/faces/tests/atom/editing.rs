//! PUT of entries.

use crate::site::{Site, get, with_type};
use crate::support::*;

#[test]
fn rfc5023_5_4_2_a_put_replaces_the_entry() {
    let site = Site::start();
    let member = publish(&site, "blog", "Before");
    let before = site.ask(&get(&member));
    let reply = site.ask(&put(&member, "", &an_entry("After", "")));
    assert_eq!(reply.status, 200, "{reply:?}");
    let got = site.ask(&get(&member));
    assert_eq!(got.body, reply.body);
    assert_eq!(got.field("etag"), reply.field("etag"));
    assert_ne!(got.field("etag"), before.field("etag"));
    let (old, new) = (read_entry(&before.body), read_entry(&got.body));
    assert_eq!(new.title.as_ref().unwrap().value, "After");
    assert_eq!((&old.id, old.published), (&new.id, new.published));
    assert_eq!(old.link("edit"), new.link("edit"));
    assert!(new.edited > old.edited, "RFC 5023 §10.2");
}

#[test]
fn rfc5023_10_a_put_moves_the_entry_to_the_front() {
    let site = Site::start();
    let member = publish(&site, "blog", "A");
    publish(&site, "blog", "B");
    publish(&site, "blog", "C");
    assert_eq!(titles(&site, "/atom/blog/entries"), ["C", "B", "A"]);
    site.ask(&put(&member, "", &an_entry("A2", "")));
    assert_eq!(titles(&site, "/atom/blog/entries"), ["A2", "C", "B"]);
}

#[test]
fn rfc4287_4_2_6_the_id_never_changes() {
    let site = Site::start();
    let member = publish(&site, "blog", "A");
    let other = an_entry("B", "<id>urn:uuid:60a76c80-d399-11d9-b91c-0003939e0af6</id>");
    let reply = site.ask(&put(&member, "", &other));
    assert_eq!((reply.status, reply.problem()), (409, "identity-conflict"));
    assert_eq!(titles(&site, "/atom/blog/entries"), ["A"]);
    let id = read_entry(&site.ask(&get(&member)).body).id.unwrap();
    assert_eq!(site.ask(&put(&member, "", &an_entry("B", &format!("<id>{id}</id>")))).status, 200);
}

#[test]
fn rfc5023_4_3_a_put_does_not_create() {
    let site = Site::start();
    publish(&site, "blog", "A");
    let reply = site.ask(&put("/atom/blog/entries/new", "", &an_entry("B", "")));
    assert_eq!((reply.status, reply.problem()), (404, "not-found"));
}

#[test]
fn rfc5023_9_3_get_change_and_put_lose_no_foreign_markup() {
    let site = Site::start();
    let foreign = "<x:a xmlns:x=\"urn:x\" x:b=\"c\"><x:d/>text</x:a>";
    let member = path(&site.ask(&post("blog", "", &an_entry("Before", foreign))));
    for (from, to) in [("Before", "After"), ("After", "Later")] {
        let text = site.ask(&get(&member)).body.replace(from, to);
        assert_eq!(site.ask(&put(&member, "", &text)).status, 200);
    }
    let text = site.ask(&get(&member)).body;
    assert!(text.contains("x:b=\"c\"><x:d/>text</x:a>") && text.contains("Later"), "{text}");
    assert_eq!(text.matches("rel=\"edit\"").count(), 1);
    assert_eq!(text.matches("<id>").count(), 1);
}

#[test]
fn policy_a_put_that_is_refused_changes_nothing() {
    let site = Site::start();
    let member = publish(&site, "blog", "A");
    let before = site.ask(&get(&member)).body;
    for (media_type, body, status) in [
        ("image/png", an_entry("B", ""), 415),
        (ENTRY, "<entry".to_owned(), 400),
        (ENTRY, an_entry("B", "<title>C</title>"), 422),
        (ENTRY, "<entry xmlns=\"http://www.w3.org/2005/Atom\"/>".to_owned(), 422),
    ] {
        let reply = site.ask(&with_type("PUT", &member, (media_type, ""), &body));
        assert_eq!(reply.status, status, "{body}");
    }
    assert_eq!(site.ask(&get(&member)).body, before);
}

#[test]
fn rfc7240_2_a_put_may_be_answered_without_the_entry() {
    let site = Site::start();
    let member = publish(&site, "blog", "A");
    let reply = site.ask(&put(&member, "Prefer: return=minimal\r\n", &an_entry("B", "")));
    assert_eq!((reply.status, reply.body.as_str()), (204, ""));
    assert_eq!(reply.field("etag"), site.ask(&get(&member)).field("etag"));
}
