//! Collections as partial lists (RFC 5023 §10.1, RFC 5005 §3).

use crate::site::{Site, bare, get};
use crate::support::*;
use std::collections::BTreeSet;

#[test]
fn rfc4287_4_1_1_a_collection_is_a_feed() {
    let site = Site::start();
    publish(&site, "blog", "A");
    let reply = site.ask(&get("/atom/blog/entries"));
    assert_eq!(reply.field("content-type"), Some("application/atom+xml;type=feed"));
    let feed = read_feed(&reply.body);
    assert!(feed.id.is_some() && feed.title.is_some() && feed.updated.is_some());
    assert_eq!(feed.href("self"), Some("/atom/blog/entries"));
    assert!(!feed.authors.is_empty() && feed.href("next").is_none());
    assert_eq!(feed.entries[0].link("edit").unwrap().href, path_of(&site));
}

fn path_of(site: &Site) -> String {
    let feed = site.ask(&get("/atom/blog/entries")).body;
    let feed = read_feed(&feed);
    let edit = &feed.entries[0].link("edit").unwrap().href;
    assert_eq!(site.ask(&get(edit)).status, 200);
    edit.clone()
}

/// Follows a relation from page to page, and gives the titles of each.
fn walk(site: &Site, from: &str, rel: &str) -> Vec<Vec<String>> {
    let (mut pages, mut at) = (Vec::new(), Some(from.to_owned()));
    while let Some(here) = at {
        let reply = site.ask(&get(&here));
        assert_eq!(reply.status, 200, "{reply:?}");
        pages.push(of_feed(&reply.body));
        assert!(pages.len() < 100, "it goes in a circle");
        at = read_feed(&reply.body).href(rel).map(str::to_owned);
    }
    pages
}

#[test]
fn rfc5023_10_1_next_leads_past_every_member_once() {
    let site = Site::start();
    for number in 0..10 {
        publish(&site, "blog", &number.to_string());
    }
    let pages = walk(&site, "/atom/blog/entries?limit=3", "next");
    assert_eq!(pages, [vec!["9", "8", "7"], vec!["6", "5", "4"], vec!["3", "2", "1"], vec!["0"]]);
    let whole = walk(&site, "/atom/blog/entries?limit=10", "next");
    assert_eq!(whole.len(), 1, "no next where nothing follows");
    assert_eq!(titles(&site, "/atom/blog/entries").len(), 10);
}

#[test]
fn rfc5005_3_first_previous_and_last() {
    let site = Site::start();
    for number in 0..8 {
        publish(&site, "blog", &number.to_string());
    }
    let first = site.ask(&get("/atom/blog/entries?limit=3"));
    let first = read_feed(&first.body);
    assert_eq!(first.href("previous"), None);
    assert_eq!(first.href("first"), Some("/atom/blog/entries?limit=3"));
    let last = first.href("last").unwrap().to_owned();
    let pages = walk(&site, &last, "previous");
    assert_eq!(pages, [vec!["2", "1", "0"], vec!["5", "4", "3"], vec!["7", "6", "5"]]);
    assert_eq!(walk(&site, &last, "next").len(), 1, "nothing follows the last");
}

#[test]
fn policy_who_follows_next_while_others_write_passes_nobody_over() {
    let site = Site::start();
    let kept: BTreeSet<String> = (0..30).map(|number| format!("kept {number}")).collect();
    let mut edited = Vec::new();
    for title in &kept {
        publish(&site, "blog", title);
        edited.push(publish(&site, "blog", "edited"));
    }
    let (mut seen, mut at) = (Vec::new(), Some("/atom/blog/entries?limit=5".to_owned()));
    let mut round = 0;
    while let Some(here) = at {
        let reply = site.ask(&get(&here));
        seen.extend(of_feed(&reply.body).into_iter().filter(|title| title.starts_with("kept")));
        at = read_feed(&reply.body).href("next").map(str::to_owned);
        publish(&site, "blog", "new");
        if let Some(member) = edited.get(round) {
            site.ask(&put(member, "", &an_entry("edited again", "")));
        }
        if let Some(member) = edited.get(29 - round) {
            site.ask(&delete(member, ""));
        }
        round += 1;
    }
    assert_eq!(seen.len(), kept.len());
    assert_eq!(seen.into_iter().collect::<BTreeSet<_>>(), kept);
}

#[test]
fn policy_pages_have_a_bound() {
    let site = Site::start();
    publish(&site, "blog", "A");
    for query in ["limit=101", "limit=x", "after=zzz", "page=2"] {
        let reply = site.ask(&get(&format!("/atom/blog/entries?{query}")));
        assert_eq!((reply.status, reply.problem()), (400, "invalid-parameter"), "{query}");
    }
    assert_eq!(site.ask(&get("/atom/none/entries")).status, 404);
}

#[test]
fn rfc4287_2_entries_mean_the_same_in_the_feed() {
    let site = Site::start();
    let text = "<entry xmlns=\"http://www.w3.org/2005/Atom\" xml:base=\"http://example.org/a/\" \
                xml:lang=\"fr\"><title>Titre</title><link href=\"b\"/>\
                <content type=\"xhtml\"><div xmlns=\"http://www.w3.org/1999/xhtml\" \
                xml:lang=\"de\"><a href=\"c\">d</a></div></content></entry>";
    let reply = site.ask(&post("blog", "", text));
    let alone = read_entry(&reply.body);
    let feed = site.ask(&bare("GET", "/atom/blog/entries", ""));
    let within = read_feed(&feed.body);
    let within = &within.entries[0];
    assert_eq!(alone.lang.as_deref(), Some("fr"));
    assert_eq!((&alone.lang, &alone.base), (&within.lang, &within.base));
    assert_eq!((&alone.content, &alone.links), (&within.content, &within.links));
    let made = "http://example.org/a/b";
    assert!(alone.links.iter().any(|link| link.href == made), "{:?}", alone.links);
}
