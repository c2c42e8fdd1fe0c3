//! The server's own links lead to the server, whatever base a client states (RFC 4287 §2).

use crate::site::{Site, get, with_type};
use crate::support::*;
use wire::atom::{Content, Entry};

const BASES: [&str; 8] = [
    "http://evil.example/",
    "https://evil.example/atom/blog/entries/a",
    "//evil.example/",
    "///evil.example/",
    "HTTP:x",
    "x-scheme:y",
    "sub/../other/",
    "/elsewhere/",
];

/// Where its own links lead.
#[track_caller]
fn check(entry: &Entry<'_>, within: &str) {
    let of = |rel: &str| entry.links.iter().find(|link| link.rel == rel);
    let is_page = |link: &&wire::atom::Link| link.media_type.as_deref() == Some("text/html");
    let page = entry.links.iter().filter(|link| link.rel == "alternate").find(is_page);
    let mut own = vec![of("edit"), page];
    if let Some(media) = of("edit-media") {
        own.push(Some(media));
        let Some(Content::Away { src, .. }) = &entry.content else { panic!("{within}") };
        assert!(src.starts_with("/atom/blog/media/"), "{src}: {within}");
    }
    for link in own {
        let href = &link.unwrap_or_else(|| panic!("a link is missing: {within}")).href;
        assert!(href.starts_with("/atom/blog/"), "{href}: {within}");
    }
}

#[test]
fn rfc4287_2_a_base_does_not_hold_for_the_servers_links() {
    let site = Site::start();
    let picture = with_type("POST", "/atom/blog/media", ("image/png", "Slug: m\r\n"), "x");
    assert_eq!(site.ask(&picture).status, 201);
    for (number, base) in BASES.iter().enumerate() {
        let entry = format!(
            "<a:entry xmlns:a='http://www.w3.org/2005/Atom' xml:base='{base}'>\
             <a:title>t</a:title><a:summary/>\
             <a:link rel='related' href='r'/><a:link rel='via' xml:base='inner/' href='v'/>\
             <a:link rel='license' href='l' xml:base='http://own.example/' />\
             <a:author><a:name>n</a:name><a:uri>u</a:uri></a:author>\
             <a:content type='html'>&lt;a href='h'>x&lt;/a></a:content></a:entry>"
        );
        let sent = read_entry(&entry);
        let posted = site.ask(&post("blog", &format!("Slug: e{number}\r\n"), &entry));
        let member = path(&posted);
        let edited = site.ask(&put("/atom/blog/entries/m", "", &entry));
        assert_eq!((posted.status, edited.status), (201, 200), "{base}");
        for (text, at) in [
            (posted.body.clone(), member.as_str()),
            (site.ask(&get(&member)).body, &member),
            (edited.body, "/atom/blog/entries/m"),
            (site.ask(&get("/atom/blog/entries/m")).body, "/atom/blog/entries/m"),
        ] {
            let shown = read_entry(&text);
            check(&shown, &text);
            // What the client sent means what it meant.
            for rel in ["related", "via", "license"] {
                let meant = wire::uri::resolve(at, &sent.link(rel).unwrap().href);
                assert_eq!(shown.link(rel).unwrap().href, meant, "{rel} of {base}: {text}");
            }
            let uri = wire::uri::resolve(at, sent.authors[0].uri.as_deref().unwrap());
            assert_eq!(shown.authors[0].uri.as_deref(), Some(uri.as_str()), "{base}");
            let again = site.ask(&put(at, "", &text));
            let without_times = |text: &str| {
                text.lines()
                    .filter(|line| !line.contains("Z<"))
                    .map(str::to_owned)
                    .collect::<Vec<_>>()
            };
            assert_eq!(without_times(&again.body), without_times(&text), "{base}");
        }
        for of in ["entries", "media", "feed", "changes", "archive/1"] {
            let text = site.ask(&get(&format!("/atom/blog/{of}"))).body;
            read_feed(&text).entries.iter().for_each(|entry| check(entry, &text));
        }
    }
}

/// The base of an entry is stated by each piece that needs it: their number is bounded.
#[test]
fn policy_a_long_base_for_many_links_is_refused() {
    let site = Site::start();
    let base = format!("http://a.example/{}/", "b".repeat(1_000));
    let entry = |links: usize| {
        format!(
            "<entry xmlns='http://www.w3.org/2005/Atom' xml:base='{base}'><title/>{}</entry>",
            "<link rel='related' href='r'/>".repeat(links)
        )
    };
    let most = wire::limits::ATOM_BASES_BYTES_MAX / base.len();
    assert_eq!(site.ask(&post("blog", "", &entry(most))).status, 201);
    assert_eq!(site.ask(&post("blog", "", &entry(most + 1))).status, 422);
}
