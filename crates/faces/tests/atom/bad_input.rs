//! What is sent by mistake or in malice: the statuses of docs/atompub.md, and nothing is stored.

use crate::site::{Site, get};
use crate::support::*;

fn refused(site: &Site, fields: &str, body: &[u8]) -> u16 {
    let mut client = site.connect();
    client.send(format!(
        "POST /atom/blog/entries HTTP/1.1\r\nHost: localhost\r\n{fields}Content-Length: {}\r\n\r\n",
        body.len()
    ));
    client.send(body);
    client.reply(false).status
}

fn as_entry(site: &Site, body: &str) -> u16 {
    refused(site, &format!("Content-Type: {ENTRY}\r\n"), body.as_bytes())
}

const ATOM: &str = "xmlns=\"http://www.w3.org/2005/Atom\"";

#[test]
fn policy_documents_that_are_not_taken() {
    let site = Site::start();
    let bomb = "<!DOCTYPE a [<!ENTITY a \"aaaa\"><!ENTITY b \"&a;&a;\">]>";
    let deep = "<x>".repeat(200);
    let wide: String = (0..100).map(|n| format!(" a{n}=\"\"")).collect();
    let control = "<control xmlns=\"http://www.w3.org/2007/app\">";
    for (body, status) in [
        (String::new(), 400),
        ("<entry".to_owned(), 400),
        (an_entry("A", "").replace("</entry>", ""), 400),
        (format!("{bomb}{}", an_entry("&b;", "")), 400),
        (an_entry("A", &deep), 400),
        (an_entry("A", &format!("<x{wide}/>")), 400),
        (an_entry("A", "&nbsp;"), 400),
        (an_entry("A\u{fffe}", ""), 400),
        (format!("<feed {ATOM}><title>F</title></feed>"), 400),
        ("<entry><title>A</title></entry>".to_owned(), 400),
        (an_entry("A", &format!("{control}<draft>maybe</draft></control>")), 400),
        (format!("<entry {ATOM}><title/><content type=\"image/png\">?</content></entry>"), 400),
        (an_entry("A", "<id>urn:a</id><id>urn:b</id>"), 422),
        (an_entry("A", "<updated>yesterday</updated>"), 422),
        (an_entry("A", "<link/>"), 422),
        (format!("<entry {ATOM}><content>x</content></entry>"), 422),
        (format!("<entry {ATOM}><title type=\"html\"><b/></title></entry>"), 422),
    ] {
        assert_eq!(as_entry(&site, &body), status, "{}", &body[..body.len().min(300)]);
    }
    assert_eq!(site.ask(&get("/atom/blog/entries")).status, 404, "not even the publication");
}

#[test]
fn rfc7303_3_encodings() {
    let site = Site::start();
    let declared = format!("<?xml version=\"1.0\" encoding=\"utf-16\"?>{}", an_entry("Zoë", ""));
    let utf16: Vec<u8> =
        std::iter::once(0xfeff).chain(declared.encode_utf16()).flat_map(u16::to_be_bytes).collect();
    let plain = format!("Content-Type: {ENTRY}\r\n");
    assert_eq!(refused(&site, &plain, &utf16), 201);
    assert_eq!(titles(&site, "/atom/blog/entries"), ["Zoë"]);
    assert_eq!(refused(&site, &plain, declared.as_bytes()), 400, "it says utf-16, and is not");
    assert_eq!(refused(&site, &plain, b"<entry>\xff</entry>"), 400);
    let latin = format!("Content-Type: {ENTRY};charset=iso-8859-1\r\n");
    assert_eq!(refused(&site, &latin, an_entry("A", "").as_bytes()), 400);
    let marked = format!("\u{feff}{}", an_entry("\u{10348} \u{5d0}", ""));
    assert_eq!(refused(&site, &plain, marked.as_bytes()), 201);
    assert_eq!(titles(&site, "/atom/blog/entries")[0], "\u{10348} \u{5d0}");
}

#[test]
fn rfc9110_8_4_coded_content_is_not_taken() {
    let site = Site::start();
    let fields = format!("Content-Type: {ENTRY}\r\nContent-Encoding: gzip\r\n");
    assert_eq!(refused(&site, &fields, b"x"), 415);
}

#[test]
fn rfc9110_15_5_12_content_has_a_length() {
    let site = Site::start();
    let request = format!(
        "POST /atom/blog/entries HTTP/1.1\r\nHost: localhost\r\nContent-Type: {ENTRY}\r\n\r\n"
    );
    assert_eq!(site.ask(&request).status, 411);
}

#[test]
fn rfc9110_10_1_1_what_is_refused_is_refused_before_it_is_sent() {
    let site = Site::start();
    for (at, kind, length, status) in [
        ("/atom/blog/entries", ENTRY, 1 << 30, 413),
        ("/atom/blog/entries", "image/png", 10, 415),
        ("/atom/blog/service", ENTRY, 10, 405),
    ] {
        let mut client = site.connect();
        client.send(format!(
            "POST {at} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {kind}\r\n\
             Expect: 100-continue\r\nContent-Length: {length}\r\n\r\n"
        ));
        assert_eq!(client.reply(false).status, status, "{at} {kind}");
    }
}

#[test]
fn policy_half_a_body_stores_nothing() {
    let site = Site::start();
    publish(&site, "blog", "A");
    let mut client = site.connect();
    let whole = an_entry("Half", "");
    let (half, _) = whole.split_at(60);
    client.send(format!(
        "POST /atom/blog/entries HTTP/1.1\r\nHost: localhost\r\nContent-Type: {ENTRY}\r\n\
         Content-Length: {}\r\n\r\n{half}",
        whole.len()
    ));
    client.end_sending();
    assert!(client.try_reply(false).is_none_or(|reply| reply.status == 400));
    assert_eq!(titles(&site, "/atom/blog/entries"), ["A"]);
}

#[test]
fn policy_an_entry_may_be_large() {
    let site = Site::start();
    let long = format!("<rights>{}</rights>", "word ".repeat(100_000));
    let reply = site.ask(&post("blog", "", &an_entry("Long", &long)));
    assert_eq!(reply.status, 201, "it is read on another thread");
    assert!(site.ask(&get(&path(&reply))).body.contains(&long));
}

#[test]
fn policy_paths_that_name_nothing() {
    let site = Site::start();
    publish(&site, "blog", "A");
    for (at, status) in [
        ("/atom/", 404),
        ("/atom/blog/", 404),
        ("/atom/blog/other", 404),
        ("/atom/blog/entries/%2e%2e", 400),
        ("/atom/blog/entries/a%2Fb", 400),
        ("/atom/blog/entries/%FF", 400),
        ("/atom/%2e%2e/entries", 400),
    ] {
        assert_eq!(site.ask(&get(at)).status, status, "{at}");
    }
}
