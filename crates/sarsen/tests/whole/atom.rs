//! Publishing and kill -9: what was acknowledged is there with the same tag, what was not is there
//! as a whole or not at all, and collections, members, media, feeds and archives agree. And the
//! lab's scenarios of publishing, with their audits, shortly.

use crate::harness::{Server, Site};
use crate::http::Client;
use crate::scenarios::{assert_audited, assert_done, short};
use std::collections::{HashMap, HashSet};
use std::io;
use std::net::SocketAddr;
use std::time::Duration;
use wire::atom::{Content, entry, feed};

const KILLS: u64 = 8;
const WRITERS: u64 = 3;
const PICTURE_BYTES: usize = 100_000;

/// What a writer was told: paths of members and the tag that each had last.
type Told = HashMap<String, String>;

fn an_entry(text: &str) -> String {
    format!(
        "<entry xmlns=\"http://www.w3.org/2005/Atom\"><title>{text}</title>\
         <content>{text}</content></entry>"
    )
}

const ENTRY: (&str, &str) = ("content-type", "application/atom+xml;type=entry");

/// Writes until the server is gone. What was being written then is nobody's promise any more.
fn write(address: SocketAddr, writer: u64, told: &mut Told) {
    let Ok(mut client) = Client::connect(address) else { return };
    for step in 0.. {
        if self::step(&mut client, (writer, step), told).is_err() {
            return;
        }
    }
}

fn step(client: &mut Client, (writer, step): (u64, u64), told: &mut Told) -> io::Result<()> {
    let text = format!("{writer}-{step}");
    let mine = |told: &Told| told.keys().find(|path| path.contains("entry")).cloned();
    match (step % 5, mine(told)) {
        (0, _) => {
            let picture = vec![u8::try_from(step % 251).unwrap_or(0); PICTURE_BYTES];
            let headers = [("content-type", "image/png"), ("slug", "picture")];
            let reply = client.request("POST", "/atom/blog/media", &headers, &picture)?;
            assert_eq!(reply.status, 201, "{}", reply.text());
        }
        (3, Some(path)) => {
            // Whether it comes through is not known until the reply is there.
            told.remove(&path);
            let reply = client.request("PUT", &path, &[ENTRY], an_entry(&text).as_bytes())?;
            assert_eq!(reply.status, 200, "{}", reply.text());
            told.insert(path, reply.header("etag").unwrap_or_default().to_owned());
        }
        (4, Some(path)) if step % 10 == 9 => {
            told.remove(&path);
            assert_eq!(client.request("DELETE", &path, &[], b"")?.status, 204);
        }
        _ => {
            let headers = [ENTRY, ("slug", "entry")];
            let body = an_entry(&text);
            let reply = client.request("POST", "/atom/blog/entries", &headers, body.as_bytes())?;
            assert_eq!(reply.status, 201, "{}", reply.text());
            let path = reply.header("location").unwrap_or_default();
            let path = path.trim_start_matches("http://localhost").to_owned();
            told.insert(path, reply.header("etag").unwrap_or_default().to_owned());
        }
    }
    Ok(())
}

/// Follows `next` through a collection and gives the paths of its members.
fn walk(client: &mut Client, collection: &str) -> io::Result<HashSet<String>> {
    let (mut members, mut next) = (HashSet::new(), Some(format!("{collection}?limit=100")));
    while let Some(at) = next {
        let reply = client.get(&at)?;
        assert_eq!(reply.status, 200, "{}", reply.text());
        let text = reply.text();
        let page = feed::read(&text).expect("the server's feeds can be read");
        for entry in &page.entries {
            let edit = entry.link("edit").expect("each has an edit link").href.clone();
            assert!(members.insert(edit), "nobody is there twice");
        }
        next = page.href("next").map(str::to_owned);
    }
    Ok(members)
}

/// Follows `prev-archive` from the feed on and gives the paths of all members.
fn walk_archive(client: &mut Client) -> io::Result<HashSet<String>> {
    let (mut members, mut next) = (HashSet::new(), Some("/atom/blog/feed".to_owned()));
    while let Some(at) = next {
        let reply = client.get(&at)?;
        assert_eq!(reply.status, 200, "{}", reply.text());
        let text = reply.text();
        let part = feed::read(&text).expect("the server's feeds can be read");
        let edit = |entry: &wire::atom::Entry<'_>| entry.link("edit").map(|link| link.href.clone());
        members.extend(part.entries.iter().filter_map(edit));
        next = part.href("prev-archive").map(str::to_owned);
    }
    Ok(members)
}

fn check(server: &Server, told: &Told) -> io::Result<()> {
    let mut client = server.connect();
    let entries = walk(&mut client, "/atom/blog/entries")?;
    for (path, tag) in told {
        assert!(entries.contains(path), "{path} was acknowledged");
        let reply = client.get(path)?;
        assert_eq!((reply.status, reply.header("etag")), (200, Some(tag.as_str())), "{path}");
    }
    for path in &entries {
        let text = client.get(path)?.text();
        let entry = entry::read(&text).expect("the server's entries can be read");
        let Some(Content::Text(content)) = &entry.content else { panic!("{text}") };
        let title = entry.title.as_ref().map(|title| title.value.as_str());
        assert_eq!(title, Some(content.value.as_str()), "no mixture");
    }
    let media = walk(&mut client, "/atom/blog/media")?;
    let both: HashSet<String> = entries.union(&media).cloned().collect();
    assert_eq!(walk(&mut client, "/atom/blog/feed")?, both, "all is public");
    assert_eq!(walk_archive(&mut client)?, both, "all is in the archive");
    for path in &entries {
        assert_eq!(client.get(&path.replace("/entries/", "/pages/"))?.status, 200, "{path}");
    }
    for path in media {
        let media = client.get(&path.replace("/entries/", "/media/"))?;
        let is_whole = media.body.len() == PICTURE_BYTES
            && media.body.iter().all(|byte| *byte == media.body[0]);
        assert!(media.status == 200 && is_whole, "{path} has its media");
    }
    Ok(())
}

#[test]
fn what_was_published_outlives_kill_9() {
    let site = Site::bare();
    let mut told = Told::new();
    // The first kill may come before anything else is written.
    let server = site.start();
    let mut client = Client::connect(server.address()).expect("the server answers");
    step(&mut client, (WRITERS, 1), &mut told).expect("an entry is taken");
    server.kill();
    for kill in 0..KILLS {
        let server = site.start();
        let address = server.address();
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                // Each changes what it was told itself in this round.
                std::thread::spawn(move || {
                    let mut told = Told::new();
                    write(address, writer, &mut told);
                    told
                })
            })
            .collect();
        std::thread::sleep(Duration::from_millis(100 + 60 * kill));
        server.kill();
        for writer in writers {
            told.extend(writer.join().expect("a writer was told the truth"));
        }
        let server = site.start();
        check(&server, &told).expect("the server answers");
        server.kill();
    }
    assert!(!told.is_empty(), "something was acknowledged");
    site.assert_clean();
}

#[test]
fn readers_and_writers_of_a_farm_of_blogs() {
    let server = Site::bare().start();
    let few = ["--set", "farm=5", "--users", "8"];
    let report = short("atompub-blog-farm", &server.url("/"), &few);
    assert_done(&report, &["again", "feed"]);
    assert!(report["statuses"]["304"].as_u64() > Some(0), "{report:#}");
    assert_audited(&report);
}

#[test]
fn a_newsroom() {
    let server = Site::bare().start();
    let report = short("atompub-newsroom", &server.url("/"), &["--users", "6"]);
    assert_done(&report, &["again", "entry"]);
    assert_audited(&report);
}

#[test]
fn no_update_is_lost() {
    let server = Site::bare().start();
    let report = short("atompub-lost-update", &server.url("/"), &["--users", "8"]);
    assert_done(&report, &["fight"]);
    let count = |status: &str| report["statuses"][status].as_u64().unwrap_or(0);
    assert!(count("200") > 0, "{report:#}");
}

#[test]
fn a_collection_is_walked_while_others_post() {
    let server = Site::bare().start();
    let few = ["--set", "members=120", "--set", "pages=100000", "--set", "posts=20"];
    let report = short("atompub-archive-walk", &server.url("/"), &few);
    assert_done(&report, &["walk"]);
    assert_audited(&report);
}
