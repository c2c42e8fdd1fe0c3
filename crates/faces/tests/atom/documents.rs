//! Service and category documents.

use crate::site::{Site, bare, get};
use crate::support::*;
use wire::atom::{categories, service};

#[test]
fn rfc5023_8_the_service_document() {
    let site = Site::start();
    make(&site, r#"{"title":"Notes & more"}"#);
    let reply = site.ask(&get("/atom/notes-more/service"));
    assert_eq!(reply.field("content-type"), Some("application/atomsvc+xml"));
    let workspaces = service::read(&reply.body).unwrap();
    assert_eq!((workspaces.len(), workspaces[0].title.as_str()), (1, "Notes & more"));
    let [entries, media] = &workspaces[0].collections[..] else { panic!("{workspaces:?}") };
    assert_eq!(entries.href, "/atom/notes-more/entries");
    assert_eq!(entries.accepts, [ENTRY]);
    assert!(media.admits("image/jpeg") && !entries.admits("image/jpeg"));
    for collection in [entries, media] {
        let feed = site.ask(&get(&collection.href));
        assert_eq!(feed.status, 200, "RFC 5023 §10");
        assert_eq!(read_feed(&feed.body).title.unwrap().value, collection.title);
    }
}

#[test]
fn policy_the_service_document_of_all() {
    let site = Site::start();
    assert_eq!(service::read(&site.ask(&get("/atom")).body).unwrap().len(), 1, "RFC 5023 §8.3.1");
    make(&site, r#"{"title":"B"}"#);
    make(&site, r#"{"title":"A"}"#);
    let workspaces = service::read(&site.ask(&get("/atom")).body).unwrap();
    let titles: Vec<_> = workspaces.iter().map(|one| one.title.as_str()).collect();
    assert_eq!(titles, ["A", "B"]);
}

#[test]
fn rfc5023_7_the_category_document() {
    let site = Site::start();
    make(
        &site,
        r#"{"title":"A","categories":{"fixed":true,"scheme":"urn:s",
            "list":[{"term":"x","label":"X"}]}}"#,
    );
    let reply = site.ask(&get("/atom/a/categories"));
    assert_eq!(reply.field("content-type"), Some("application/atomcat+xml"));
    let found = categories::read(&reply.body).unwrap();
    assert!(found.is_fixed && found.scheme.as_deref() == Some("urn:s"));
    assert_eq!(found.list[0].label.as_deref(), Some("X"));
    let service = service::read(&site.ask(&get("/atom/a/service")).body).unwrap();
    assert_eq!(service[0].collections[0].categories, [found]);
}

#[test]
fn rfc5023_8_3_4_a_collection_that_takes_nothing() {
    let site = Site::start();
    make(&site, r#"{"title":"A","accepts":[]}"#);
    let service = service::read(&site.ask(&get("/atom/a/service")).body).unwrap();
    assert_eq!(service[0].collections[1].accepts, [""]);
    let picture = crate::site::with_type("POST", "/atom/a/media", ("image/png", ""), "x");
    let reply = site.ask(&picture);
    assert_eq!((reply.status, reply.field("allow")), (405, Some("GET, HEAD, OPTIONS")));
}

#[test]
fn rfc9110_15_5_6_what_each_resource_takes() {
    let site = Site::start();
    let member = publish(&site, "blog", "A");
    for (at, other, allow) in [
        ("/atom", "PUT", "GET, HEAD, POST, OPTIONS"),
        ("/atom/blog/entries", "PUT", "GET, HEAD, POST, OPTIONS"),
        (member.as_str(), "POST", "GET, HEAD, PUT, DELETE, OPTIONS"),
        ("/atom/blog/service", "DELETE", "GET, HEAD, OPTIONS"),
        ("/atom/blog/settings", "PATCH", "GET, HEAD, PUT, OPTIONS"),
    ] {
        let refused = site.ask(&bare(other, at, "Content-Length: 0\r\n"));
        assert_eq!((refused.status, refused.field("allow")), (405, Some(allow)), "{at}");
        let options = site.ask(&bare("OPTIONS", at, ""));
        assert_eq!((options.status, options.field("allow")), (204, Some(allow)), "{at}");
    }
}

#[test]
fn rfc9110_9_3_2_head_is_get_without_the_content() {
    let site = Site::start();
    let member = publish(&site, "blog", "A");
    for at in ["/atom", "/atom/blog/service", "/atom/blog/entries", &member] {
        let (get, head) = (site.ask(&get(at)), site.ask(&bare("HEAD", at, "")));
        assert_eq!((head.status, head.field("etag")), (200, get.field("etag")), "{at}");
        assert_eq!(head.field("content-length"), get.field("content-length"), "{at}");
    }
}
