//! Media and their entries (RFC 5023 §9.6).

use crate::site::{Site, bare, get, with_type};
use crate::support::*;
use wire::atom::Content;

fn picture(site: &Site, fields: &str) -> crate::site::Reply {
    let request = with_type("POST", "/atom/blog/media", ("image/png", fields), "not really");
    let reply = site.ask(&request);
    assert_eq!(reply.status, 201, "{reply:?}");
    reply
}

#[test]
fn rfc5023_9_6_media_gets_an_entry() {
    let site = Site::start();
    let reply = picture(&site, "Slug: A Picture\r\n");
    assert_eq!(path(&reply), "/atom/blog/entries/a-picture", "Location is the entry");
    let entry = read_entry(&reply.body);
    let Some(Content::Away { src, media_type }) = &entry.content else { panic!("{}", reply.body) };
    assert_eq!(src, "/atom/blog/media/a-picture");
    assert_eq!(media_type.as_deref(), Some("image/png"));
    assert_eq!(entry.title.as_ref().unwrap().value, "A Picture", "RFC 5023 §9.7");
    assert!(entry.summary.is_some(), "RFC 4287 §4.1.2");
    let links: Vec<_> = entry.links.iter().filter(|link| link.rel == "edit-media").collect();
    assert_eq!((links.len(), links[0].href.as_str()), (1, src.as_str()), "RFC 5023 §11.2");
    let got = site.ask(&get(src));
    assert_eq!((got.status, got.body.as_str()), (200, "not really"));
    assert_eq!(got.field("content-type"), Some("image/png"));
    assert_eq!(got.field("x-content-type-options"), Some("nosniff"));
    assert_eq!(titles(&site, "/atom/blog/media"), ["A Picture"]);
    assert_eq!(titles(&site, "/atom/blog/entries"), [""; 0]);
}

#[test]
fn rfc5023_9_6_1_media_can_be_replaced() {
    let site = Site::start();
    let member = path(&picture(&site, "Slug: a\r\n"));
    picture(&site, "Slug: b\r\n");
    let media = "/atom/blog/media/a";
    let tag = etag(&site.ask(&get(media)));
    let stale = with_type("PUT", media, ("image/gif", "If-Match: \"999\"\r\n"), "other");
    assert_eq!(site.ask(&stale).status, 412);
    let fields = format!("If-Match: {tag}\r\n");
    let reply = site.ask(&with_type("PUT", media, ("image/gif", &fields), "other"));
    assert_eq!(reply.status, 204, "{reply:?}");
    let got = site.ask(&get(media));
    assert_eq!((got.body.as_str(), got.field("content-type")), ("other", Some("image/gif")));
    assert_eq!(got.field("etag"), reply.field("etag"));
    let entry = site.ask(&get(&member));
    let Some(Content::Away { media_type, .. }) = read_entry(&entry.body).content else { panic!() };
    assert_eq!(media_type.as_deref(), Some("image/gif"));
    assert_eq!(titles(&site, "/atom/blog/media"), ["a", "b"], "it moves to the front");
}

#[test]
fn rfc5023_9_6_the_entry_of_media_can_be_edited() {
    let site = Site::start();
    let member = path(&picture(&site, "Slug: a\r\n"));
    let changed = "<entry xmlns=\"http://www.w3.org/2005/Atom\"><title>Better</title>\
                   <content src=\"http://elsewhere/\"/><summary>s</summary></entry>";
    let reply = site.ask(&put(&member, "", changed));
    assert_eq!(reply.status, 200, "{reply:?}");
    let entry = read_entry(&reply.body);
    let Some(Content::Away { src, .. }) = &entry.content else { panic!() };
    assert_eq!(src, "/atom/blog/media/a", "src is the server's");
    assert_eq!(entry.link("edit-media").unwrap().href, "/atom/blog/media/a");
    assert_eq!(titles(&site, "/atom/blog/media"), ["Better"]);
    assert_eq!(site.ask(&get("/atom/blog/media/a")).body, "not really");
}

#[test]
fn rfc5023_9_4_media_go_with_their_entry() {
    let site = Site::start();
    for at in ["/atom/blog/entries/a", "/atom/blog/media/b"] {
        picture(&site, "Slug: a\r\n");
        picture(&site, "Slug: b\r\n");
        assert_eq!(site.ask(&delete(at, "")).status, 204, "{at}");
    }
    for at in ["entries/a", "media/a", "entries/b", "media/b"] {
        assert_eq!(site.ask(&get(&format!("/atom/blog/{at}"))).status, 410, "{at}");
    }
}

#[test]
fn rfc9110_13_media_have_tags() {
    let site = Site::start();
    picture(&site, "Slug: a\r\n");
    let media = "/atom/blog/media/a";
    let fields = format!("If-None-Match: {}\r\n", etag(&site.ask(&get(media))));
    assert_eq!(site.ask(&bare("GET", media, &fields)).status, 304);
}

#[test]
fn policy_what_a_browser_would_run_is_offered_to_be_saved() {
    let site = Site::start();
    for (media_type, is_active) in [
        ("text/html", true),
        ("image/svg+xml", true),
        ("application/xhtml+xml", true),
        ("image/png", false),
    ] {
        let request = with_type("POST", "/atom/blog/media", (media_type, "Slug: x\r\n"), "<b/>");
        let entry = site.ask(&request);
        let media = path(&entry).replace("/entries/", "/media/");
        let got = site.ask(&get(&media));
        assert_eq!(got.field("content-disposition").is_some(), is_active, "{media_type}");
        assert_eq!(got.field("content-security-policy"), Some("sandbox"));
    }
}

#[test]
fn rfc5023_8_3_4_media_that_are_not_taken() {
    let site = Site::start();
    make(&site, r#"{"title":"Blog","accepts":["image/*"]}"#);
    for other in ["video/mp4", ENTRY] {
        let reply = site.ask(&with_type("POST", "/atom/blog/media", (other, ""), "x"));
        assert_eq!((reply.status, reply.problem()), (415, "unsupported-media-type"), "{other}");
    }
    picture(&site, "");
}

#[test]
fn rfc5023_9_3_put_of_media_answers_204() {
    let site = Site::start();
    picture(&site, "Slug: a\r\n");
    let request = with_type("PUT", "/atom/blog/media/a", ("image/jpeg", ""), "other");
    let reply = site.ask(&request);
    assert_eq!((reply.status, reply.body.as_str()), (204, ""));
    let got = site.ask(&get("/atom/blog/media/a"));
    assert_eq!((got.field("content-type"), got.body.as_str()), (Some("image/jpeg"), "other"));
    assert_eq!(etag(&got), etag(&reply));
}
