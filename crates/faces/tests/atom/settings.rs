//! Settings of publications: what is refused, and what feeds make of them.

use crate::site::{Site, get, with_json, with_type};
use crate::support::*;

#[test]
fn policy_accepts_and_lang_are_what_others_read() {
    let site = Site::start();
    make(&site, r#"{"title":"Notes"}"#);
    for wrong in [
        r#""accepts":[1]"#,
        r#""accepts":[null]"#,
        r#""accepts":["image/*",["video/*"]]"#,
        r#""accepts":["a\u0001/b"]"#,
        r#""accepts":["a/b;\u0000"]"#,
        r#""accepts":["a/b\r\nX: y"]"#,
        r#""accepts":["image"]"#,
        r#""accepts":[""]"#,
        r#""accepts":["*/png"]"#,
        r#""accepts":["application/atom+xml;type=entry"]"#,
        r#""accepts":["Application/Atom+XML"]"#,
        r#""accepts":"image/*""#,
        r#""lang":"e n""#,
        r#""lang":"\u0001""#,
        r#""lang":"""#,
        r#""lang":"en_US""#,
        r#""lang":1"#,
        r#""categories":["a"]"#,
        r#""categories":{"scheme":"a b"}"#,
        r#""categories":{"list":[{"term":"a","scheme":"\u0001"}]}"#,
        r#""title_type":"xhtml""#,
    ] {
        let json = format!("{{\"title\":\"A\",{wrong}}}");
        for (method, at) in [("POST", "/atom"), ("PUT", "/atom/notes/settings")] {
            let reply = site.ask(&with_json(method, at, "", &json));
            assert_eq!((reply.status, reply.problem()), (422, "invalid-entry"), "{method} {wrong}");
        }
    }
    let feed =
        "<feed xmlns=\"http://www.w3.org/2005/Atom\" xml:lang=\"e n\"><title>F</title></feed>";
    let reply = site.ask(&with_type("POST", "/atom", ("application/atom+xml;type=feed", ""), feed));
    assert_eq!(reply.status, 422, "{reply:?}");
    let good =
        r#"{"title":"A","accepts":[" image/* ","a/b;c=d"],"lang":"pt-BR","categories":null}"#;
    assert_eq!(site.ask(&with_json("PUT", "/atom/notes/settings", "", good)).status, 204);
    let reply = site.ask(&with_type("POST", "/atom/notes/media", ("video/mp4", ""), "x"));
    assert_eq!((reply.status, reply.field("accept")), (415, Some("image/*, a/b;c=d")));
}

#[test]
fn policy_a_refusal_lists_some_of_many_media_ranges() {
    let site = Site::start();
    let ranges: Vec<String> = (0..1_000).map(|n| format!("\"a/b{n}\"")).collect();
    make(&site, &format!("{{\"title\":\"Notes\",\"accepts\":[{}]}}", ranges.join(",")));
    let reply = site.ask(&with_type("POST", "/atom/notes/media", ("c/d", ""), "x"));
    assert_eq!(reply.status, 415);
    assert_eq!(reply.field("accept").unwrap().split(", ").count(), 20);
}

#[test]
fn rfc4287_3_1_the_markup_of_titles_is_kept_for_feeds() {
    let site = Site::start();
    let feed = "<feed xmlns=\"http://www.w3.org/2005/Atom\">\
                <title type=\"html\">Less &amp;lt; &lt;em onclick=\"x\">more&lt;/em></title>\
                <subtitle type=\"xhtml\"><div xmlns=\"http://www.w3.org/1999/xhtml\">A <b>B</b>\
                </div></subtitle></feed>";
    let made = site.ask(&with_type("POST", "/atom", ("application/atom+xml;type=feed", ""), feed));
    assert_eq!((made.status, path(&made)), (201, "/atom/less-more/service".to_owned()));
    publish(&site, "less-more", "A");
    let check = || {
        for of in ["feed", "entries", "changes", "archive/1"] {
            let text = site.ask(&get(&format!("/atom/less-more/{of}"))).body;
            let feed = read_feed(&text);
            let (title, subtitle) = (feed.title.unwrap(), feed.subtitle.unwrap());
            assert_eq!(title.kind, wire::atom::TextKind::Html, "{of}");
            assert_eq!(title.value, "Less &lt; <em>more</em>", "{of}");
            assert_eq!(subtitle.value, "A <b>B</b>", "{of}");
        }
        let json = site.ask(&get("/atom/less-more/feed.json")).json();
        assert_eq!((&json["title"], &json["description"]), (&"Less < more".into(), &"A B".into()));
        let rss = site.ask(&get("/atom/less-more/feed.rss")).body;
        assert!(rss.contains("<title>Less &lt; more</title>"), "{rss}");
        let page = site.ask(&get("/atom/less-more")).body;
        assert!(page.contains("<title>Less &lt; more</title>"), "{page}");
        assert!(made.body.contains("<atom:title>Less &lt; more</atom:title>"));
    };
    check();
    // The settings are as they were when they are sent back.
    let settings = site.ask(&get("/atom/less-more/settings")).body;
    let again = with_json("PUT", "/atom/less-more/settings", "", &settings);
    assert_eq!(site.ask(&again).status, 204);
    assert_eq!(site.ask(&get("/atom/less-more/settings")).body, settings);
    check();
}

/// RFC 4287 §4.2.6: an IRI; a URN has no fragment (RFC 8141 §2.3.3 gives it to the document).
#[test]
fn rfc9562_each_feed_has_a_uuid_of_its_own() {
    let site = Site::start();
    publish(&site, "blog", "A");
    let settings = site.ask(&get("/atom/blog/settings")).body;
    let ids = || {
        ["feed", "entries", "media", "changes"].map(|of| {
            let text = site.ask(&get(&format!("/atom/blog/{of}"))).body;
            read_feed(&text).id.unwrap()
        })
    };
    let first = ids();
    for (at, id) in first.iter().enumerate() {
        let uuid = id.strip_prefix("urn:uuid:").unwrap();
        let parts: Vec<usize> = uuid.split('-').map(str::len).collect();
        assert_eq!(parts, [8, 4, 4, 4, 12], "{id}");
        assert!(uuid.bytes().all(|b| b == b'-' || b.is_ascii_hexdigit()), "{id}");
        assert!(!first[..at].contains(id), "{first:?}");
    }
    assert_eq!(site.ask(&with_json("PUT", "/atom/blog/settings", "", &settings)).status, 204);
    assert_eq!(ids(), first, "for ever");
}
