//! Feeds for readers in Atom, RSS 2.0 and JSON Feed: the same entries of one reading, and who sees
//! them.

use crate::site::{Site, bare, get, with_json, with_type};
use crate::support::*;
use wire::xml::{Event, Reader};

const FORMS: [(&str, &str); 3] = [
    ("feed", "application/atom+xml;type=feed"),
    ("feed.rss", "application/rss+xml"),
    ("feed.json", "application/feed+json"),
];

/// The text of each element of that name.
fn elements(xml: &str, name: &str) -> Vec<String> {
    let mut reader = Reader::new(xml).unwrap();
    let (mut found, mut is_in) = (Vec::new(), false);
    while let Some(event) = reader.read().unwrap() {
        match event {
            Event::Start(element) => {
                is_in = element.name.local == name;
                if is_in {
                    found.push(String::new());
                }
            }
            Event::Text(text) if is_in => found.last_mut().unwrap().push_str(&text),
            Event::End => is_in = false,
            Event::Text(_) | Event::Aside => {}
        }
    }
    found
}

#[test]
fn one_reading_is_told_in_three_formats() {
    let site = Site::start();
    make(
        &site,
        r#"{"title":"Notes & more","subtitle":"Of \"all\" kinds","author":"Zoë","lang":"en"}"#,
    );
    let html = an_entry("First", "").replace(
        "<content>It was open until nine.</content>",
        "<content type=\"html\">&lt;p onclick='x'>Hello &lt;a href='../b'>you&lt;/a></content>\
         <category term=\"t\" label=\"Tests\"/><summary>s</summary>",
    );
    assert_eq!(site.ask(&post("notes-more", "Slug: first\r\n", &html)).status, 201);
    publish(&site, "notes-more", "Second &lt;b&gt;");
    for (form, media_type) in FORMS {
        let reply = site.ask(&get(&format!("/atom/notes-more/{form}")));
        assert_eq!((reply.status, reply.field("content-type")), (200, Some(media_type)));
        assert_eq!(reply.field("x-content-type-options"), Some("nosniff"));
        assert!(!reply.body.contains("onclick") || form == "feed", "{}", reply.body);
    }
    let atom = site.ask(&get("/atom/notes-more/feed")).body;
    assert_eq!(of_feed(&atom), ["Second <b>", "First"]);
    let feed = read_feed(&atom);
    assert_eq!(feed.href("self"), Some("/atom/notes-more/feed"));
    assert_eq!(feed.href("alternate"), Some("/atom/notes-more"));
    assert!(atom.contains("onclick"), "what was sent stays as it was sent");
    let rss = site.ask(&get("/atom/notes-more/feed.rss")).body;
    assert_eq!(elements(&rss, "title"), ["Notes & more", "Second <b>", "First"]);
    assert_eq!(
        elements(&rss, "encoded"),
        ["<p>Hello <a href=\"http://localhost/atom/notes-more/b\" rel=\"noopener nofollow\">\
          you</a></p>"]
    );
    let links = elements(&rss, "link");
    assert_eq!(links[0], "http://localhost/atom/notes-more");
    assert_eq!(links.last().unwrap(), "http://localhost/atom/notes-more/pages/first");
    let json = site.ask(&get("/atom/notes-more/feed.json")).json();
    assert_eq!(json["version"], "https://jsonfeed.org/version/1.1");
    assert_eq!(json["feed_url"], "http://localhost/atom/notes-more/feed.json");
    assert_eq!(json["items"][0]["title"], "Second <b>");
    assert_eq!(json["items"][0]["content_text"], "It was open until nine.");
    assert_eq!(json["items"][1]["content_html"], elements(&rss, "encoded")[0].as_str());
    assert_eq!(json["items"][1]["tags"], serde_json::json!(["Tests"]));
    assert_eq!(json["items"][1]["authors"][0]["name"], "Zoë");
    assert_eq!(json["items"][1]["id"], read_feed(&atom).entries[1].id.as_deref().unwrap());
}

#[test]
fn rfc5023_13_drafts_are_in_no_feed_and_on_no_page() {
    let site = Site::start();
    publish(&site, "blog", "Public");
    let hidden = an_entry("Hidden", DRAFT);
    let member = path(&site.ask(&post("blog", "Slug: hidden\r\n", &hidden)));
    // Its entries may be in two parts of the archive: archive.rs has that.
    let places = ["feed", "feed.rss", "feed.json", "changes", ""];
    let is_told = |title: &str| {
        places.map(|of| {
            let at = format!("/atom/blog/{of}");
            let reply = site.ask(&get(at.trim_end_matches('/')));
            assert_eq!(reply.status, 200, "{at}: {reply:?}");
            reply.body.contains(title)
        })
    };
    assert_eq!(is_told("Hidden"), [false; 5]);
    assert_eq!(is_told("Public"), [true; 5]);
    assert_eq!(site.ask(&get("/atom/blog/pages/hidden")).status, 404);
    assert_eq!(site.ask(&put(&member, "", &an_entry("Hidden", ""))).status, 200);
    assert_eq!(is_told("Hidden"), [true; 5], "published");
    assert_eq!(site.ask(&get("/atom/blog/pages/hidden")).status, 200);
    assert_eq!(site.ask(&put(&member, "", &hidden)).status, 200);
    assert_eq!(is_told("Hidden"), [false; 5], "withdrawn");
    assert_eq!(site.ask(&get("/atom/blog/pages/hidden")).status, 404);
    site.ask(&delete(&member, ""));
    assert_eq!(site.ask(&get(&member)).status, 410, "RFC 5023 §5.4.3");
    // Who may not see drafts learns nothing of what becomes of them.
    assert_eq!(site.ask(&get("/atom/blog/pages/hidden")).status, 404);
}

#[test]
fn rfc5005_2_complete_is_what_is_whole() {
    let site = Site::start();
    publish(&site, "blog", "0");
    let whole = site.ask(&get("/atom/blog/feed"));
    assert!(read_feed(&whole.body).is_complete && read_feed(&whole.body).href("next").is_none());
    for number in 1..260 {
        publish(&site, "blog", &number.to_string());
    }
    let part = site.ask(&get("/atom/blog/feed"));
    let part = read_feed(&part.body);
    assert!(!part.is_complete && part.href("next").is_some(), "{:?}", part.links);
    assert!(!read_feed(&site.ask(&get("/atom/blog/feed?limit=100")).body).is_complete);
}

#[test]
fn media_are_enclosures() {
    let site = Site::start();
    let picture = with_type("POST", "/atom/blog/media", ("image/png", "Slug: a b\r\n"), "12345");
    assert_eq!(site.ask(&picture).status, 201);
    let json = site.ask(&get("/atom/blog/feed.json")).json();
    let item = &json["items"][0];
    let attached = &item["attachments"][0];
    assert_eq!(attached["url"], "http://localhost/atom/blog/media/a-b");
    assert_eq!(
        (&attached["mime_type"], &attached["size_in_bytes"]),
        (&"image/png".into(), &5.into())
    );
    let shown = "<p><img src=\"http://localhost/atom/blog/media/a-b\" alt=\"a b\"></p>";
    assert_eq!(item["content_html"], shown);
    let rss = site.ask(&get("/atom/blog/feed.rss")).body;
    assert!(rss.contains("length=\"5\" type=\"image/png\""), "{rss}");
}

#[test]
fn feeds_are_paged() {
    let site = Site::start();
    for number in 0..7 {
        publish(&site, "blog", &number.to_string());
    }
    let mut at = "/atom/blog/feed.json?limit=3".to_owned();
    let mut seen = Vec::new();
    loop {
        let json = site.ask(&get(&at)).json();
        let titles = json["items"].as_array().unwrap().iter();
        seen.extend(titles.map(|item| item["title"].as_str().unwrap().to_owned()));
        let Some(next) = json["next_url"].as_str() else { break };
        at = next.strip_prefix("http://localhost").unwrap().to_owned();
    }
    assert_eq!(seen, ["6", "5", "4", "3", "2", "1", "0"]);
    for query in ["limit=101", "limit=0", "after=x"] {
        assert_eq!(site.ask(&get(&format!("/atom/blog/feed?{query}"))).status, 400, "{query}");
    }
    assert_eq!(site.ask(&get("/atom/none/feed")).status, 404);
    assert_eq!(site.ask(&bare("POST", "/atom/blog/feed", "")).status, 405);
    assert_eq!(
        site.ask(&bare("POST", "/atom/blog/feed", "")).field("allow"),
        Some("GET, HEAD, OPTIONS")
    );
}

/// RFC 4685 §3: kept as it is.
#[test]
fn rfc4685_3_what_an_entry_answers_stays_in_the_feed_and_on_the_page() {
    let site = Site::start();
    let answer = "<t:in-reply-to xmlns:t=\"http://purl.org/syndication/thread/1.0\" \
                  ref=\"tag:a\" href=\"http://example.org/a\" type=\"text/html\" \
                  source=\"http://example.org/feed\"/>\
                  <t:total xmlns:t=\"http://purl.org/syndication/thread/1.0\">3</t:total>";
    site.ask(&post("blog", "Slug: a\r\n", &an_entry("A", answer)));
    let feed = site.ask(&get("/atom/blog/feed"));
    let feed = read_feed(&feed.body);
    let told = &feed.entries[0].in_reply_to[0];
    assert_eq!(
        (told.reference.as_str(), told.href.as_deref()),
        ("tag:a", Some("http://example.org/a"))
    );
    assert_eq!(told.source.as_deref(), Some("http://example.org/feed"));
    assert_eq!(feed.entries[0].total, Some(3), "RFC 4685 §5");
    let page = site.ask(&get("/atom/blog/pages/a")).body;
    assert!(page.contains("href=\"http://example.org/a\">http://example.org/a</a>"), "{page}");
    let negative = an_entry("B", &answer.replace(">3<", ">-3<"));
    assert_eq!(site.ask(&post("blog", "", &negative)).status, 422);
}

#[test]
fn opml_lists_what_everybody_may_read() {
    let site = Site::start();
    make(&site, r#"{"title":"A & B","lang":"en"}"#);
    make(&site, r#"{"title":"C"}"#);
    let reply = site.ask(&get("/atom/opml"));
    assert_eq!((reply.status, reply.field("content-type")), (200, Some("text/x-opml")));
    for part in [
        "text=\"A &amp; B\"",
        "xmlUrl=\"http://localhost/atom/a-b/feed\"",
        "htmlUrl=\"http://localhost/atom/c\"",
    ] {
        assert!(reply.body.contains(part), "{part}: {}", reply.body);
    }
    let fields = format!("If-None-Match: {}\r\n", etag(&reply));
    assert_eq!(site.ask(&bare("GET", "/atom/opml", &fields)).status, 304);
    let settings = with_json("PUT", "/atom/c/settings", "", r#"{"title":"D"}"#);
    assert_eq!(site.ask(&settings).status, 204);
    assert_eq!(site.ask(&bare("GET", "/atom/opml", &fields)).status, 200);
}

#[test]
fn policy_pages_have_a_bound_in_bytes() {
    let site = Site::start();
    let large = "x".repeat(1_500_000);
    let mut titles = Vec::new();
    for number in 0..7 {
        let entry = an_entry(&number.to_string(), "").replace("It was open until nine.", &large);
        assert_eq!(site.ask(&post("blog", "", &entry)).status, 201);
        titles.insert(0, number.to_string());
    }
    for from in ["/atom/blog/feed", "/atom/blog/entries", "/atom/blog/archive/1"] {
        let (mut seen, mut at, mut pages) = (Vec::new(), Some(from.to_owned()), 0);
        while let Some(here) = at {
            let reply = site.ask(&get(&here));
            let feed = read_feed(&reply.body);
            seen.extend(of_feed(&reply.body));
            at = feed.href("next").map(str::to_owned);
            pages += 1;
        }
        // A part of the archive may begin with one of them, and another number is another part.
        let is_whole = !from.contains("archive") || seen.len() == titles.len();
        assert!(!is_whole || (seen == titles && pages > 2), "{from}: {pages} pages");
    }
}
