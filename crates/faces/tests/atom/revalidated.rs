//! Feeds and pages asked for again (RFC 9110 §13), and compressed (§8.4).

use crate::site::{Site, bare, get};
use crate::support::*;

const ALL: [&str; 6] = ["/feed", "/feed.rss", "/feed.json", "/changes", "/pages/a", ""];

fn conditional(of: &str, tag: &str) -> String {
    bare("GET", &format!("/atom/blog{of}"), &format!("If-None-Match: {tag}\r\n"))
}

#[test]
fn rfc9110_13_1_2_who_has_the_newest_is_told_so() {
    let site = Site::start();
    site.ask(&post("blog", "Slug: a\r\n", &an_entry("A", "")));
    let tags = ALL.map(|of| etag(&site.ask(&get(&format!("/atom/blog{of}")))));
    site.pass(3_000);
    for (of, tag) in ALL.iter().zip(&tags) {
        for same in [tag.clone(), format!("W/{tag}"), format!("\"999999\", {tag}"), "*".to_owned()]
        {
            let reply = site.ask(&conditional(of, &same));
            assert_eq!((reply.status, reply.body.as_str()), (304, ""), "{of} {same}");
            assert_eq!(etag(&reply), *tag);
            assert_eq!(reply.field("vary"), Some("Accept-Encoding"));
        }
        assert_eq!(site.ask(&conditional(of, "\"999999\"")).status, 200, "{of}");
        let since = site.ask(&get(&format!("/atom/blog{of}")));
        let since = since.field("last-modified").unwrap();
        let fields = format!("If-Modified-Since: {since}\r\n");
        assert_eq!(site.ask(&bare("GET", &format!("/atom/blog{of}"), &fields)).status, 304);
    }
    publish(&site, "other", "Elsewhere");
    for (of, tag) in ALL.iter().zip(&tags) {
        assert_eq!(site.ask(&conditional(of, tag)).status, 304, "{of}: another publication's");
    }
    publish(&site, "blog", "B");
    for (of, tag) in ALL.iter().zip(&tags) {
        let expected = if *of == "/pages/a" { 304 } else { 200 };
        assert_eq!(site.ask(&conditional(of, tag)).status, expected, "{of}");
    }
}

#[test]
fn rfc9110_13_1_3_a_date_alone_sees_each_write() {
    let site = Site::start();
    site.ask(&post("blog", "Slug: a\r\n", &an_entry("A", "")));
    for round in 0..8 {
        let at = ALL.map(|of| format!("/atom/blog{of}"));
        let date = |at: &String| site.ask(&get(at)).field("last-modified").unwrap().to_owned();
        let dates = at.each_ref().map(date);
        let fields = "Prefer: return=minimal\r\n";
        let changed = put("/atom/blog/entries/a", fields, &an_entry(&round.to_string(), ""));
        assert_eq!(site.ask(&changed).status, 204);
        for (at, date) in at.iter().zip(&dates) {
            let fields = format!("If-Modified-Since: {date}\r\n");
            assert_eq!(site.ask(&bare("GET", at, &fields)).status, 200, "{at} {round}");
        }
        site.pass(if round % 2 == 0 { 3_000 } else { 130 });
    }
}

#[test]
fn rfc9110_8_8_3_another_version_is_another_document() {
    let site = Site::start();
    let member = publish(&site, "blog", "A");
    let mut seen: Vec<(String, String)> = Vec::new();
    for round in 0..6 {
        for of in ["/feed", "/feed.json", ""] {
            let at = format!("/atom/blog{of}");
            // The second is the one that was kept.
            let (one, two) = (site.ask(&get(&at)), site.ask(&get(&at)));
            assert_eq!((&one.body, etag(&one)), (&two.body, etag(&two)), "{of}");
            let mine = (format!("{of} {}", etag(&one)), one.body);
            assert!(seen.iter().all(|other| other.0 != mine.0 && other.1 != mine.1), "{of}");
            seen.push(mine);
        }
        assert_eq!(site.ask(&put(&member, "", &an_entry(&round.to_string(), ""))).status, 200);
    }
}

#[test]
fn rfc9110_9_3_2_head_is_get_without_a_body() {
    let site = Site::start();
    publish(&site, "blog", "A");
    for of in ["/feed", "/feed.rss", ""] {
        let at = format!("/atom/blog{of}");
        let (head, got) = (site.ask(&bare("HEAD", &at, "")), site.ask(&get(&at)));
        let told = |reply: &crate::site::Reply| {
            let mut fields = reply.fields.clone();
            fields.retain(|(name, _)| name != "date");
            fields
        };
        assert_eq!((head.status, told(&head)), (200, told(&got)));
    }
}

#[test]
fn rfc9110_8_4_gzip_where_it_is_taken() {
    let site = Site::start();
    for number in 0..20 {
        publish(&site, "blog", &format!("Entry {number}"));
    }
    for of in ["/feed", "/feed.rss", "/feed.json", ""] {
        let at = format!("/atom/blog{of}");
        let plain = site.ask(&get(&at));
        assert_eq!(plain.field("content-encoding"), None);
        let mut client = site.connect();
        client.send(bare("GET", &at, "Accept-Encoding: gzip\r\nConnection: close\r\n"));
        let raw = client.rest();
        let end = raw.windows(4).position(|four| four == b"\r\n\r\n").unwrap() + 4;
        let head = String::from_utf8(raw[..end].to_vec()).unwrap().to_lowercase();
        assert!(head.contains("content-encoding: gzip") && head.contains("vary: accept-encoding"));
        let mut decoded = String::new();
        let mut decoder = flate2::read::GzDecoder::new(&raw[end..]);
        std::io::Read::read_to_string(&mut decoder, &mut decoded).unwrap();
        assert_eq!(decoded, plain.body);
        assert!(raw.len() - end < plain.body.len() / 2);
        let weak = format!("W/{}", etag(&plain));
        assert!(head.contains(&format!("etag: {}", weak.to_lowercase())), "{head}");
        let fields = format!("If-None-Match: {weak}\r\nAccept-Encoding: gzip\r\n");
        let again = site.ask(&bare("GET", &at, &fields));
        assert_eq!((again.status, etag(&again)), (304, weak));
    }
}

#[test]
fn rfc9110_8_4_what_is_sent_compressed_is_refused() {
    let site = Site::start();
    make(&site, r#"{"title":"Blog"}"#);
    let entry = an_entry("A", "");
    let fields = "Content-Encoding: gzip\r\n";
    for at in ["/atom/blog/entries", "/atom/blog/media", "/atom"] {
        let media_type = match at {
            "/atom" => "application/json",
            "/atom/blog/media" => "image/png",
            _ => ENTRY,
        };
        let request = crate::site::with_type("POST", at, (media_type, fields), &entry);
        assert_eq!(site.ask(&request).status, 415, "{at}");
    }
    let member = publish(&site, "blog", "A");
    assert_eq!(site.ask(&put(&member, fields, &entry)).status, 415);
    assert_eq!(titles(&site, "/atom/blog/entries"), ["A"]);
}

#[test]
fn policy_feeds_of_one_server_have_the_name_that_it_was_asked_by() {
    let site = Site::start();
    publish(&site, "blog", "A");
    let ask = |host: &str| {
        let request =
            get("/atom/blog/feed.json").replace("Host: localhost", &format!("Host: {host}"));
        site.ask(&request)
    };
    for host in ["localhost", "localhost:1", "127.0.0.1"] {
        assert_eq!(ask(host).json()["feed_url"], format!("http://{host}/atom/blog/feed.json"));
    }
}
