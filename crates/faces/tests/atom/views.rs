//! All that can be read of a publication, and that it can be.

use crate::site::{Reply, Site, get};
use std::path::Path;
use std::process::Command;
use wire::xml::Reader;

/// Reads all documents of a publication, with all pages of each and what its members have. Each is
/// there and well-formed. Gives them by their paths.
#[track_caller]
pub fn read_all(site: &Site, publication: &str) -> Vec<(String, Reply)> {
    let mut read = Vec::new();
    let mut due: Vec<String> = ["/atom", "/atom/opml"].map(str::to_owned).into();
    let home = format!("/atom/{publication}");
    for of in ["service", "categories", "settings", "feed.rss", "feed.json"] {
        due.push(format!("{home}/{of}"));
    }
    for of in ["entries", "media", "feed", "changes"] {
        due.push(format!("{home}/{of}"));
        due.push(format!("{home}/{of}?limit=7"));
    }
    due.push(home);
    let mut client = site.connect();
    while let Some(at) = due.pop() {
        if read.iter().any(|(known, _)| *known == at) {
            continue;
        }
        let reply = client.ask(&get(&at));
        assert_eq!(reply.status, 200, "{at}: {reply:?}");
        check_form(&at, &reply);
        if reply.field("content-type") == Some("application/atom+xml;type=feed") {
            due.extend(linked(&reply.body));
        }
        read.push((at, reply));
    }
    read
}

/// What a feed of members leads to: pages of it, parts of its archive, and what each entry has.
fn linked(feed: &str) -> Vec<String> {
    let feed = lenient_feed(feed);
    let around = ["next", "prev-archive"].into_iter().filter_map(|rel| feed.href(rel));
    let mut found: Vec<String> = around.map(str::to_owned).collect();
    for entry in &feed.entries {
        let of = |rel| entry.link(rel).map(|link| link.href.clone());
        let edit = of("edit").expect("a link to edit it");
        if !entry.is_draft {
            found.push(edit.replacen("/entries/", "/pages/", 1));
        }
        found.extend(of("edit-media"));
        found.push(edit);
    }
    found
}

/// A feed that may have entries of earlier versions.
fn lenient_feed(text: &str) -> wire::atom::Feed<'_> {
    wire::atom::feed::read_stored(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[track_caller]
fn check_form(at: &str, reply: &Reply) {
    let media_type = reply.field("content-type").expect("a media type").to_owned();
    let is_own = !at.contains("/media/");
    if is_own && media_type.contains("json") {
        assert!(reply.json().is_object(), "{at}");
    } else if is_own && (media_type.contains("xml") || media_type == "text/x-opml") {
        let mut reader = Reader::trusted(&reply.body).unwrap_or_else(|e| panic!("{at}: {e}"));
        while reader.read().unwrap_or_else(|e| panic!("{at}: {e}: {}", reply.body)).is_some() {}
    }
}

/// What jing says of documents of Atom, which are valid if that is nothing.
pub fn complaints<'a>(documents: impl IntoIterator<Item = &'a (String, Reply)>) -> String {
    let folder = tempfile::tempdir().unwrap();
    let mut names = Vec::new();
    for (at, reply) in documents {
        let media_type = reply.field("content-type").unwrap_or_default();
        if media_type.starts_with("application/atom") && !at.contains("/media/") {
            let name = folder.path().join(format!("{}.xml", names.len()));
            std::fs::write(&name, &reply.body).unwrap();
            names.push(name);
        }
    }
    assert!(!names.is_empty());
    let schema = "../wire/tests/atom/schemas/atom.rnc";
    let said = Command::new("jing")
        .arg("-c")
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join(schema))
        .args(names)
        .output()
        .expect("jing starts; scripts/setup.sh jing installs it");
    let text = String::from_utf8_lossy(&said.stdout).into_owned();
    assert_eq!(said.status.success(), text.is_empty(), "{}", String::from_utf8_lossy(&said.stderr));
    text
}
