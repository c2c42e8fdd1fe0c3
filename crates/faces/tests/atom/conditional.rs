//! Conditional requests (RFC 9110 §13) on members and collections.

use crate::site::{Site, bare, get};
use crate::support::*;
use std::sync::atomic::{AtomicUsize, Ordering};

#[test]
fn rfc9110_13_1_2_who_has_it_is_told_so() {
    let site = Site::start();
    let member = publish(&site, "blog", "A");
    for at in [member.as_str(), "/atom/blog/entries", "/atom/blog/service", "/atom"] {
        let tag = etag(&site.ask(&get(at)));
        for fields in [format!("If-None-Match: {tag}\r\n"), "If-None-Match: *\r\n".to_owned()] {
            let reply = site.ask(&bare("GET", at, &fields));
            assert_eq!((reply.status, reply.body.as_str()), (304, ""), "{at}");
            assert_eq!(etag(&reply), tag);
        }
        let reply = site.ask(&bare("GET", at, "If-None-Match: \"0\"\r\n"));
        assert_eq!(reply.status, 200, "{at}");
    }
}

#[test]
fn policy_each_write_changes_the_tag_of_the_collection() {
    let site = Site::start();
    let member = publish(&site, "blog", "A");
    let tag = || etag(&site.ask(&get("/atom/blog/entries")));
    let first = tag();
    assert_eq!(tag(), first);
    publish(&site, "other", "B");
    assert_eq!(tag(), first, "another publication is another list");
    site.ask(&put(&member, "", &an_entry("B", "")));
    let second = tag();
    assert_ne!(second, first);
    site.ask(&delete(&member, ""));
    assert_ne!(tag(), second);
}

#[test]
fn rfc9110_13_1_1_if_match_keeps_updates_from_being_lost() {
    let site = Site::start();
    let member = publish(&site, "blog", "A");
    let tag = etag(&site.ask(&get(&member)));
    let weak = format!("W/{tag}");
    for stale in ["\"999\"", weak.as_str()] {
        let fields = format!("If-Match: {stale}\r\n");
        assert_eq!(site.ask(&put(&member, &fields, &an_entry("B", ""))).status, 412, "{stale}");
        assert_eq!(site.ask(&delete(&member, &fields)).status, 412, "{stale}");
    }
    assert_eq!(titles(&site, "/atom/blog/entries"), ["A"]);
    let several = format!("If-Match: \"1\", {tag}\r\n");
    assert_eq!(site.ask(&put(&member, &several, &an_entry("B", ""))).status, 200);
    let absent = "/atom/blog/entries/absent";
    assert_eq!(site.ask(&put(absent, "If-Match: *\r\n", &an_entry("B", ""))).status, 412);
}

#[test]
fn rfc9110_13_2_2_if_none_match_goes_before_if_modified_since() {
    let site = Site::start();
    let member = publish(&site, "blog", "A");
    let later = "If-Modified-Since: Fri, 31 Dec 2100 00:00:00 GMT\r\n";
    assert_eq!(site.ask(&bare("GET", &member, later)).status, 304);
    let both = format!("If-None-Match: \"0\"\r\n{later}");
    assert_eq!(site.ask(&bare("GET", &member, &both)).status, 200);
}

#[test]
fn rfc6585_3_a_strict_publication_wants_conditions() {
    let site = Site::start();
    make(&site, r#"{"title":"Strict","strict":true}"#);
    let member = publish(&site, "strict", "A");
    let refused = site.ask(&put(&member, "", &an_entry("B", "")));
    assert_eq!((refused.status, refused.problem()), (428, "precondition-required"));
    assert_eq!(site.ask(&delete(&member, "")).status, 428);
    let fields = format!("If-Match: {}\r\n", etag(&site.ask(&get(&member))));
    assert_eq!(site.ask(&put(&member, &fields, &an_entry("B", ""))).status, 200);
}

#[test]
fn policy_of_many_puts_with_one_tag_exactly_one_wins() {
    let site = Site::start();
    let member = publish(&site, "blog", "A");
    let fields = format!("If-Match: {}\r\n", etag(&site.ask(&get(&member))));
    let (won, lost) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let winners = std::thread::scope(|scope| {
        let put = |number: usize| {
            let title = format!("Writer {number}");
            let reply = site.ask(&put(&member, &fields, &an_entry(&title, "")));
            match reply.status {
                200 => _ = won.fetch_add(1, Ordering::Relaxed),
                412 => _ = lost.fetch_add(1, Ordering::Relaxed),
                other => panic!("{other}: {reply:?}"),
            }
            (reply.status == 200).then_some(title)
        };
        let threads: Vec<_> = (0..16).map(|number| scope.spawn(move || put(number))).collect();
        threads.into_iter().filter_map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
    });
    assert_eq!((won.into_inner(), lost.into_inner()), (1, 15));
    assert_eq!(titles(&site, "/atom/blog/entries"), winners);
}

#[test]
fn rfc5023_10_2_edits_of_many_at_once_are_in_one_order() {
    let site = Site::start();
    std::thread::scope(|scope| {
        for writer in 0..8 {
            let site = &site;
            scope.spawn(move || {
                for entry in 0..5 {
                    publish(site, "blog", &format!("{writer}-{entry}"));
                }
            });
        }
    });
    let reply = site.ask(&get("/atom/blog/entries?limit=100"));
    let feed = read_feed(&reply.body);
    let edited: Vec<_> = feed.entries.iter().map(|entry| entry.edited.unwrap()).collect();
    assert_eq!(edited.len(), 40);
    assert!(edited.is_sorted_by(|a, b| a > b), "strictly descending: {edited:?}");
}
