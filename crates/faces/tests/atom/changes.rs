//! The feed of changes: edits, and deletions as tombstones (RFC 6721).

use crate::site::{Site, get};
use crate::support::*;
use std::collections::BTreeSet;

#[test]
fn rfc6721_3_what_was_deleted_is_told_by_its_id() {
    let site = Site::start();
    let member = publish(&site, "blog", "A");
    publish(&site, "blog", "B");
    let entry = site.ask(&get(&member)).body;
    let id = read_entry(&entry).id.unwrap();
    site.ask(&delete(&member, ""));
    let reply = site.ask(&get("/atom/blog/changes"));
    assert_eq!(reply.field("content-type"), Some("application/atom+xml;type=feed"));
    let feed = read_feed(&reply.body);
    assert_eq!(of_feed(&reply.body), ["B"]);
    assert_eq!(feed.tombstones.len(), 1);
    assert_eq!(feed.tombstones[0].reference, id);
    assert_eq!(feed.updated, Some(feed.tombstones[0].when));
    let public = site.ask(&get("/atom/blog/feed"));
    assert!(read_feed(&public.body).tombstones.is_empty() && !public.body.contains(&id));
    assert_ne!(read_feed(&public.body).id, feed.id);
}

#[test]
fn rfc6721_3_an_entry_that_comes_back_is_newer_than_its_tombstone() {
    let site = Site::start();
    let member = publish(&site, "blog", "A");
    for _ in 0..2 {
        assert_eq!(site.ask(&put(&member, "", &an_entry("A", DRAFT))).status, 200);
        let reply = site.ask(&get("/atom/blog/changes"));
        assert!(read_feed(&reply.body).entries.is_empty());
        assert_eq!(site.ask(&put(&member, "", &an_entry("A", ""))).status, 200);
    }
    let reply = site.ask(&get("/atom/blog/changes"));
    let feed = read_feed(&reply.body);
    assert_eq!((feed.entries.len(), feed.tombstones.len()), (1, 2));
    assert!(feed.tombstones.iter().all(|one| one.when < feed.entries[0].updated.unwrap()));
    let both: BTreeSet<_> =
        feed.tombstones.iter().map(|one| (one.reference.clone(), one.when)).collect();
    assert_eq!(both.len(), 2, "no two with the same ref and when");
}

#[test]
fn policy_changes_are_told_page_by_page_each_once() {
    let site = Site::start();
    let mut kept = BTreeSet::new();
    let mut deleted = BTreeSet::new();
    for number in 0..23 {
        let member = publish(&site, "blog", &number.to_string());
        let entry = site.ask(&get(&member)).body;
        let id = read_entry(&entry).id.unwrap();
        if number % 3 == 0 {
            site.ask(&delete(&member, ""));
            deleted.insert(id);
        } else {
            kept.insert(id);
        }
    }
    for size in [1, 2, 4, 5, 7, 30] {
        let (mut entries, mut tombstones) = (Vec::new(), Vec::new());
        let mut at = Some(format!("/atom/blog/changes?limit={size}"));
        let mut oldest = None;
        while let Some(here) = at {
            let reply = site.ask(&get(&here));
            let page = read_feed(&reply.body);
            let times = page.entries.iter().filter_map(|entry| entry.updated);
            let times: Vec<_> = times.chain(page.tombstones.iter().map(|one| one.when)).collect();
            assert!(times.len() <= size && !times.is_empty(), "{here}");
            assert!(oldest.is_none_or(|oldest| times.iter().all(|time| *time < oldest)));
            oldest = times.into_iter().min();
            entries.extend(page.entries.iter().filter_map(|entry| entry.id.clone()));
            tombstones.extend(page.tombstones.iter().map(|one| one.reference.clone()));
            at = page.href("next").map(str::to_owned);
        }
        assert_eq!((entries.len(), tombstones.len()), (kept.len(), deleted.len()), "{size}");
        assert_eq!(entries.into_iter().collect::<BTreeSet<_>>(), kept);
        assert_eq!(tombstones.into_iter().collect::<BTreeSet<_>>(), deleted);
    }
}
