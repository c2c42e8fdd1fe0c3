//! Pages of HTML: that of a publication and that of an entry.

use crate::site::{Site, bare, get};
use crate::support::*;

const PAGE: &str = "text/html; charset=utf-8";

#[test]
fn rfc5023_15_7_nothing_of_strangers_runs_on_a_page() {
    let site = Site::start();
    let dirty = "<content type=\"html\">&lt;p style='x' onclick='y'>A\
                 &lt;script>alert(1)&lt;/script>\
                 &lt;a href='javascript:z'>b&lt;/a>&lt;iframe src='w'>&lt;/iframe>&lt;/p></content>\
                 <category term=\"&quot;>&lt;script>\"/>\
                 <author><name>&lt;script>n&lt;/script></name><uri>javascript:u</uri></author>";
    let entry = an_entry("T &lt;script>t&lt;/script>", dirty)
        .replace("<content>It was open until nine.</content>", "");
    let member = path(&site.ask(&post("blog", "Slug: a\r\n", &entry)));
    for at in ["/atom/blog/pages/a", "/atom/blog"] {
        let reply = site.ask(&get(at));
        assert_eq!((reply.status, reply.field("content-type")), (200, Some(PAGE)));
        for wrong in ["<script", "onclick", "javascript:", "<iframe", "alert(1)", "style='"] {
            assert!(!reply.body.contains(wrong), "{wrong}: {}", reply.body);
        }
        let policy = reply.field("content-security-policy").unwrap();
        assert!(policy.starts_with("default-src 'none'") && !policy.contains("script-src"));
        assert_eq!(reply.field("referrer-policy"), Some("no-referrer"));
        assert!(reply.body.contains("<p>A<a rel=\"noopener nofollow\">b</a></p>"));
        assert!(reply.body.contains("T &lt;script&gt;t&lt;/script&gt;</a>"), "{}", reply.body);
    }
    let stored = site.ask(&get(&member)).body;
    assert!(stored.contains("alert(1)") && stored.contains("onclick"), "the entry stays as sent");
}

#[test]
fn rfc5023_8_clients_find_the_service_and_readers_the_feeds() {
    let site = Site::start();
    make(&site, r#"{"title":"Notes","subtitle":"<all>","lang":"fr"}"#);
    let empty = site.ask(&get("/atom/notes")).body;
    assert!(empty.contains("Nothing has been published yet."));
    site.ask(&post("notes", "Slug: a\r\n", &an_entry("A", "")));
    for at in ["/atom/notes", "/atom/notes/pages/a"] {
        let page = site.ask(&get(at)).body;
        for part in [
            "rel=\"service\" type=\"application/atomsvc+xml\" href=\"/atom/notes/service\"",
            "type=\"application/atom+xml\" title=\"Notes\" href=\"/atom/notes/feed\"",
            "type=\"application/rss+xml\" title=\"Notes\" href=\"/atom/notes/feed.rss\"",
            "type=\"application/feed+json\" title=\"Notes\" href=\"/atom/notes/feed.json\"",
            "<html lang=\"fr\">",
            "&lt;all&gt;",
            "color-scheme: light dark",
        ] {
            assert!(page.contains(part), "{part}: {page}");
        }
    }
    // Where an entry says its page is, it is.
    let entry = site.ask(&get("/atom/notes/entries/a")).body;
    let page = read_entry(&entry).link("alternate").unwrap().href.clone();
    assert_eq!(page, "/atom/notes/pages/a");
    assert!(site.ask(&get(&page)).body.contains("It was open until nine."));
    assert_eq!(site.ask(&get("/atom/notes/pages/a?utm_source=x")).status, 200);
    assert_eq!(site.ask(&get("/atom/notes/pages/never")).status, 404);
    assert_eq!(site.ask(&get("/atom/never")).status, 404);
}

#[test]
fn policy_a_publication_has_pages() {
    let site = Site::start();
    for number in 0..60 {
        publish(&site, "blog", &format!("Entry {number}."));
    }
    let (mut seen, mut at) = (0, "/atom/blog".to_owned());
    loop {
        let page = site.ask(&get(&at)).body;
        seen += page.matches("<article").count();
        let Some((_, next)) = page.split_once("<a rel=\"next\" href=\"") else { break };
        at = next.split_once('"').unwrap().0.to_owned();
    }
    assert_eq!(seen, 60);
    let last = site.ask(&get(&at)).body;
    let (_, newer) = last.split_once("<a rel=\"prev\" href=\"").unwrap();
    assert_eq!(site.ask(&get(newer.split_once('"').unwrap().0)).status, 200);
}

#[test]
fn rfc4287_8_1_xhtml_is_cleaned_as_html_is() {
    let site = Site::start();
    let entry = "<entry xmlns=\"http://www.w3.org/2005/Atom\" xml:base=\"http://example.org/a/\">\
                 <title type=\"xhtml\"><div xmlns=\"http://www.w3.org/1999/xhtml\">T &lt;<b>u</b>\
                 </div></title><content type=\"xhtml\"><div xmlns=\"http://www.w3.org/1999/xhtml\">\
                 <script>alert(1)</script><p onclick=\"x\" style=\"y\">A <a href=\"b\">c</a>\
                 <a href=\"javascript:z\">d</a></p><svg xmlns=\"http://www.w3.org/2000/svg\">\
                 <script>alert(2)</script></svg>&lt;script></div></content></entry>";
    assert_eq!(site.ask(&post("blog", "Slug: a\r\n", entry)).status, 201);
    for of in ["/pages/a", "", "/feed.json"] {
        let body = site.ask(&get(&format!("/atom/blog{of}"))).body.replace("\\\"", "\"");
        for wrong in ["<script", "onclick", "style=\"", "javascript:", "alert(1)", "<svg"] {
            assert!(!body.contains(wrong), "{wrong}: {body}");
        }
        let link = "<p>A <a href=\"http://example.org/a/b\" rel=\"noopener nofollow\">c</a>";
        assert!(body.contains(link) && body.contains("&lt;script"), "{body}");
    }
    let json = site.ask(&get("/atom/blog/feed.json")).json();
    assert_eq!(json["items"][0]["title"], "T <u");
}

#[test]
fn rfc9110_15_5_6_what_readers_may_ask_for() {
    let site = Site::start();
    publish(&site, "blog", "A");
    for (of, allow) in [
        ("", "GET, HEAD, DELETE, OPTIONS"),
        ("/feed", "GET, HEAD, OPTIONS"),
        ("/archive/1", "GET, HEAD, OPTIONS"),
    ] {
        let at = format!("/atom/blog{of}");
        let options = site.ask(&bare("OPTIONS", &at, ""));
        assert_eq!((options.status, options.field("allow")), (204, Some(allow)), "{at}");
        let put = site.ask(&put(&at, "", &an_entry("B", "")));
        assert_eq!((put.status, put.field("allow")), (405, Some(allow)), "{at}");
    }
}
