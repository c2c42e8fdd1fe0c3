//! What strangers' clients, readers and links send that is not quite as it should be.

use crate::site::{Site, get, with_type};
use crate::support::*;

#[test]
fn policy_what_is_added_to_public_links_is_passed_over() {
    let site = Site::start();
    for number in 0..3 {
        publish(&site, "blog", &number.to_string());
    }
    for of in ["", "/feed", "/feed.rss", "/feed.json", "/changes", "/archive/1"] {
        let at = format!("/atom/blog{of}");
        let plain = site.ask(&get(&at));
        for added in ["utm_source=x", "a=%&%ff&=&&page=2", "utm_source=a&utm_source=b"] {
            let reply = site.ask(&get(&format!("{at}?{added}")));
            assert_eq!((reply.status, &reply.body), (200, &plain.body), "{at}?{added}");
        }
        if !of.starts_with("/archive") {
            let paged = site.ask(&get(&format!("{at}?limit=2"))).body;
            let same = site.ask(&get(&format!("{at}?utm_medium=%&limit=2&fbclid"))).body;
            assert_eq!(paged, same, "{at}");
            assert_eq!(site.ask(&get(&format!("{at}?limit=0&utm_source=x"))).status, 400, "{at}");
        }
    }
    let page = path(&site.ask(&post("blog", "Slug: p\r\n", &an_entry("P", ""))));
    let page = page.replace("/entries/", "/pages/");
    assert_eq!(site.ask(&get(&format!("{page}?utm_source=%"))).status, 200);
    for of in ["entries", "media"] {
        for wrong in ["utm_source=x", "limit=0"] {
            assert_eq!(
                site.ask(&get(&format!("/atom/blog/{of}?{wrong}"))).status,
                400,
                "{of} {wrong}"
            );
        }
    }
}

/// JSON Feed 1.1: what is a URL there is absolute, and has no character that a URL cannot have.
#[test]
fn policy_urls_in_json_feed_and_rss_are_urls() {
    let site = Site::start();
    make(&site, r#"{"title":"Bücher"}"#);
    let bases = ["", " xml:base='http://h.example/\u{e9}/'", " xml:base='sub/'"];
    for (number, base) in bases.iter().enumerate() {
        let entry = format!(
            "<entry xmlns='http://www.w3.org/2005/Atom'{base}><title>{number}</title>\
             <author><name>A</name><uri>m\u{e9}</uri></author>\
             <author><name>B</name><uri>//h.example/\u{65e5}</uri></author>\
             <author><name>C</name><uri>javascript:x</uri></author>\
             <link rel='enclosure' href='t\u{f6}ne/1.ogg' type='audio/ogg' length='1'/>\
             <link rel='enclosure' href='/\u{e9}?\u{e9}#x'/>\
             <content type='html'>&lt;a href='x'>y&lt;/a></content></entry>"
        );
        let reply = site.ask(&post("b%C3%BCcher", "Slug: %E6%97%A5\r\n", &entry));
        assert_eq!(reply.status, 201, "{reply:?}");
    }
    let picture =
        with_type("POST", "/atom/b%C3%BCcher/media", ("image/png", "Slug: %C3%A9\r\n"), "x");
    assert_eq!(site.ask(&picture).status, 201);
    let first = site.ask(&get("/atom/b%C3%BCcher/feed.json?limit=2")).json();
    let next = first["next_url"].as_str().unwrap().strip_prefix("http://localhost").unwrap();
    let second = site.ask(&get(next)).json();
    assert_eq!(second["feed_url"], "http://localhost/atom/b%C3%BCcher/feed.json");
    let mut urls = Vec::new();
    for feed in [&first, &second] {
        assert_eq!(feed["feed_url"], second["feed_url"], "one feed, whichever page");
        collect(feed, &mut urls);
    }
    assert!(urls.len() > 20, "{urls:?}");
    let rss = site.ask(&get("/atom/b%C3%BCcher/feed.rss")).body;
    let of_rss = rss.split("url=\"").skip(1).filter_map(|after| after.split('"').next());
    urls.extend(of_rss.map(str::to_owned));
    for url in &urls {
        let is_absolute =
            ["http://localhost/", "http://h.example/"].iter().any(|o| url.starts_with(o));
        let is_plain = url.is_ascii() && wire::uri::is_reference(url);
        assert!(is_absolute && is_plain, "{url}");
        assert!(!url.contains("/sub/sub/"), "{url}");
    }
}

/// What JSON Feed has URLs in.
fn collect(json: &serde_json::Value, urls: &mut Vec<String>) {
    match json {
        serde_json::Value::Object(members) => {
            for (name, value) in members {
                match (name.as_str(), value.as_str()) {
                    ("url" | "home_page_url" | "feed_url" | "next_url", Some(url)) => {
                        urls.push(url.to_owned());
                    }
                    _ => collect(value, urls),
                }
            }
        }
        serde_json::Value::Array(list) => list.iter().for_each(|one| collect(one, urls)),
        _ => {}
    }
}

#[test]
fn rfc5023_9_7_names_keep_letters_whole() {
    let site = Site::start();
    let named = |slug: &str| {
        let fields = format!("Slug: {slug}\r\n");
        path(&site.ask(&post("blog", &fields, &an_entry("A", ""))))
    };
    // As some systems write it, decomposed; it is the same name.
    assert_eq!(named("Se%CC%80te"), "/atom/blog/entries/s%C3%A8te");
    assert_eq!(named("S%C3%A8te"), "/atom/blog/entries/s%C3%A8te-2");
    let hindi = "%E0%A4%B9%E0%A4%BF%E0%A4%A8%E0%A5%8D%E0%A4%A6%E0%A5%80";
    assert_eq!(named(hindi), format!("/atom/blog/entries/{hindi}"));
    // Cut at the bound, no letter loses its mark.
    let long = format!("a{}", "q%CC%A3%CC%87".repeat(100));
    let cut = named(&long);
    assert!(cut.ends_with("q%CC%A3%CC%87"), "{cut}");
    let fields = format!("Slug: {long}\r\n");
    let media = site.ask(&with_type("POST", "/atom/blog/media", ("image/png", &fields), "x"));
    let title = read_entry(&media.body).title.unwrap().value;
    assert!(title.ends_with("q\u{323}\u{307}") && title.len() <= 200, "{title}");
    assert_eq!(make(&site, "{\"title\":\"Se\u{300}te\"}"), "s%C3%A8te");
}

#[test]
fn rfc5023_13_drafts_of_old_clients_are_drafts() {
    let site = Site::start();
    publish(&site, "blog", "Public");
    let old = |draft: &str| {
        format!(
            "<c:control xmlns:c='http://purl.org/atom/app#'><c:draft>{draft}</c:draft></c:control>"
        )
    };
    let hidden = an_entry("Hidden", &old("yes"));
    let reply = site.ask(&post("blog", "Slug: h\r\n", &hidden));
    assert!(read_entry(&reply.body).is_draft, "{}", reply.body);
    let is_told = || site.ask(&get("/atom/blog/feed")).body.contains("Hidden");
    assert!(!is_told());
    // It sends back what it got, with its own element beside that of the RFC.
    let again = reply.body.replace("</entry>", &format!("{}</entry>", old("no")));
    assert_eq!(site.ask(&put("/atom/blog/entries/h", "", &again)).status, 200);
    assert!(is_told());
    assert_eq!(site.ask(&put("/atom/blog/entries/h", "", &hidden)).status, 200);
    assert!(!is_told());
}
