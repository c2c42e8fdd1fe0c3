//! Archives (RFC 5005 §4): nothing is lost between the feed and its archive, and what was finished
//! stays as it is while entries arrive.

use crate::site::{Reply, SetAtEnd, Site, bare, get, until};
use crate::support::*;
use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

fn ok(site: &Site, at: &str) -> Reply {
    let reply = site.ask(&get(at));
    assert_eq!(reply.status, 200, "{at}: {reply:?}");
    reply
}

/// Follows `prev-archive` from the feed on; gives each document's path and titles.
fn walk(site: &Site) -> Vec<(String, Vec<String>)> {
    let (mut documents, mut at) = (Vec::new(), Some("/atom/blog/feed".to_owned()));
    while let Some(here) = at {
        let reply = ok(site, &here);
        let feed = read_feed(&reply.body);
        if !documents.is_empty() {
            let is_growing = documents.len() == 1 && feed.href("next-archive").is_none();
            assert!(feed.is_archive || is_growing, "{here}");
            assert_eq!(feed.href("current"), Some("/atom/blog/feed"));
        }
        at = feed.href("prev-archive").map(str::to_owned);
        documents.push((here, of_feed(&reply.body)));
        assert!(documents.len() < 200, "it goes in a circle");
    }
    documents
}

fn all(documents: &[(String, Vec<String>)]) -> BTreeSet<String> {
    documents.iter().flat_map(|(_, titles)| titles.iter().cloned()).collect()
}

fn publish_many(site: &Site, numbers: std::ops::Range<usize>) -> BTreeSet<String> {
    let mut client = site.connect();
    let titles: Vec<String> = numbers.map(|number| number.to_string()).collect();
    for title in &titles {
        let reply = client.ask(&post("blog", "", &an_entry(title, "")));
        assert_eq!(reply.status, 201, "{reply:?}");
    }
    titles.into_iter().collect()
}

#[test]
fn rfc5005_4_the_feed_and_its_archive_are_all_there_is() {
    let site = Site::start();
    let titles = publish_many(&site, 0..400);
    let documents = walk(&site);
    assert!(documents.len() > 3, "{documents:?}");
    assert_eq!(all(&documents), titles);
    for (at, titles) in &documents[1..] {
        assert!(!titles.is_empty(), "{at}");
        let next = ok(&site, at);
        if let Some(next) = read_feed(&next.body).href("next-archive") {
            let back = ok(&site, next);
            assert_eq!(read_feed(&back.body).href("prev-archive"), Some(at.as_str()));
        }
    }
    let told: usize = documents[1..].iter().map(|(_, titles)| titles.len()).sum();
    let archived = all(&documents[1..]).len();
    assert_eq!(told, archived, "no two parts have the same");
}

#[test]
fn rfc5005_4_archives_stay_as_they_are_while_entries_arrive() {
    let site = Site::start();
    let mut titles = publish_many(&site, 0..300);
    let before = walk(&site);
    let tags: Vec<_> = before[2..].iter().map(|(at, _)| etag(&ok(&site, at))).collect();
    titles.extend(publish_many(&site, 300..600));
    let after = walk(&site);
    assert_eq!(all(&after), titles);
    assert!(after.len() > before.len());
    assert_eq!(after[after.len() - (before.len() - 1)..], before[1..], "the same parts");
    for ((at, _), tag) in before[2..].iter().zip(tags) {
        let again = bare("GET", at, &format!("If-None-Match: {tag}\r\n"));
        assert_eq!(site.ask(&again).status, 304, "{at}");
    }
}

#[test]
fn rfc5005_4_an_entry_that_is_deleted_moves_no_other() {
    let site = Site::start();
    publish_many(&site, 0..300);
    let before = walk(&site);
    let (at, _) = before.last().unwrap();
    let part = ok(&site, at);
    let tag = etag(&part);
    // All but one, so that the one with which the part begins is among them.
    let members: Vec<String> = read_feed(&part.body).entries[1..]
        .iter()
        .map(|entry| entry.link("edit").unwrap().href.clone())
        .collect();
    for member in &members {
        assert_eq!(site.ask(&delete(member, "")).status, 204);
    }
    let after = walk(&site);
    assert_eq!(after.len(), before.len());
    assert_eq!(after[1..after.len() - 1], before[1..before.len() - 1]);
    assert_eq!(after.last().unwrap().1.len(), 1);
    let again = site.ask(&bare("GET", at, &format!("If-None-Match: {tag}\r\n")));
    assert_eq!(again.status, 200, "its tag is another");
}

#[test]
fn rfc5023_13_drafts_are_in_no_part() {
    let site = Site::start();
    publish_many(&site, 0..300);
    let hidden = an_entry("Hidden", DRAFT);
    let member = path(&site.ask(&post("blog", "", &hidden)));
    publish_many(&site, 300..600);
    let is_told =
        || walk(&site)[1..].iter().any(|(_, titles)| titles.iter().any(|t| t == "Hidden"));
    assert!(!is_told());
    assert_eq!(site.ask(&put(&member, "", &an_entry("Hidden", ""))).status, 200);
    // So that the part that it is in is finished.
    publish_many(&site, 600..900);
    assert!(is_told(), "published");
    let before = walk(&site);
    assert_eq!(site.ask(&put(&member, "", &hidden)).status, 200);
    assert!(!is_told(), "withdrawn");
    let after = walk(&site);
    let without = |documents: &[(String, Vec<String>)]| {
        let kept = |(at, titles): &(String, Vec<String>)| {
            (at.clone(), titles.iter().filter(|title| *title != "Hidden").cloned().collect())
        };
        documents[1..].iter().map(kept).collect::<Vec<(String, Vec<String>)>>()
    };
    assert_eq!(without(&after), without(&before), "it moves no other");
}

#[test]
fn rfc5005_4_what_was_edited_is_in_the_feed_again() {
    let site = Site::start();
    publish_many(&site, 0..300);
    let documents = walk(&site);
    let (at, titles) = documents.last().unwrap();
    let first = ok(&site, at);
    let member = read_feed(&first.body).entries[0].link("edit").unwrap().href.clone();
    assert_eq!(site.ask(&put(&member, "", &an_entry("Edited", ""))).status, 200);
    assert_eq!(of_feed(&ok(&site, "/atom/blog/feed").body)[0], "Edited");
    let now = of_feed(&ok(&site, at).body);
    assert_eq!((now.len(), now[0].as_str()), (titles.len(), "Edited"), "and where it was");
}

/// What was acknowledged before a walk began is in it, whoever writes beside it.
#[test]
fn rfc5005_4_nothing_is_lost_while_several_publish_and_edit() {
    let site = Site::start();
    let told = Mutex::new(Vec::new());
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for writer in 0..3 {
            let (site, told, is_over) = (&site, &told, &is_over);
            scope.spawn(move || {
                let mut client = site.connect();
                let mut members = Vec::new();
                for number in 0.. {
                    if is_over.load(Ordering::Relaxed) || number == 400 {
                        break;
                    }
                    let title = format!("{writer}-{number}");
                    let reply = client.ask(&post("blog", "", &an_entry(&title, "")));
                    assert_eq!(reply.status, 201, "{reply:?}");
                    members.push((path(&reply), title.clone()));
                    told.lock().unwrap().push(title);
                    let (member, title) = &members[number * 7 % members.len()];
                    let reply = client.ask(&put(member, "", &an_entry(title, "")));
                    assert_eq!(reply.status, 200, "{reply:?}");
                }
            });
        }
        let _over = SetAtEnd(&is_over);
        until(|| told.lock().unwrap().len() > 50);
        for _ in 0..8 {
            let before = told.lock().unwrap().clone();
            let found = all(&walk(&site));
            let lost: Vec<_> = before.iter().filter(|title| !found.contains(*title)).collect();
            assert!(lost.is_empty(), "{lost:?}");
        }
    });
}

#[test]
fn rfc5005_4_many_edits_do_not_come_between_the_feed_and_its_archive() {
    let site = Site::start();
    let titles = publish_many(&site, 0..300);
    let documents = walk(&site);
    let mut client = site.connect();
    // More than the feed has at most, and all of them later than the archive's last part.
    for (at, _) in &documents[1..] {
        let part = ok(&site, at);
        for entry in &read_feed(&part.body).entries {
            let member = &entry.link("edit").unwrap().href;
            let title = &entry.title.as_ref().unwrap().value;
            let reply = client.ask(&put(member, "", &an_entry(title, "")));
            assert_eq!(reply.status, 200, "{reply:?}");
        }
    }
    let after = walk(&site);
    assert_eq!(all(&after), titles);
    let growing = ok(&site, &after[1].0);
    assert!(!read_feed(&growing.body).is_archive, "{:?}", after[1]);
    assert_eq!(after[2..], documents[1..]);
}

/// One time among 32 begins a part: of 100 publications the first entries of some do.
#[test]
fn rfc5005_4_the_first_part_is_there_whatever_its_first_entry_is() {
    let site = Site::start();
    for number in 0..100 {
        let name = format!("blog-{number}");
        publish(&site, &name, "A");
        let first = ok(&site, &format!("/atom/{name}/archive/1"));
        assert_eq!(of_feed(&first.body), ["A"], "{name}");
        assert_eq!(read_feed(&first.body).href("prev-archive"), None, "{name}");
    }
}

#[test]
fn rfc5005_4_parts_that_are_none() {
    let site = Site::start();
    publish(&site, "blog", "A");
    let one = ok(&site, "/atom/blog/archive/1");
    assert!(!read_feed(&one.body).is_archive, "it is not finished");
    for number in ["2", "3", "4", "18446744073709551615", "18446744073709551616", "0", "x"] {
        let at = format!("/atom/blog/archive/{number}");
        assert_eq!(site.ask(&get(&at)).status, 404, "{at}");
    }
    assert_eq!(site.ask(&get("/atom/blog/archive/1?limit=3")).status, 400);
}
