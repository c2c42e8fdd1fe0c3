//! Every kind of Atom document that is written is valid, says jing (Debian's package; `make test`
//! installs it).

use super::documents::{a_feed, a_tombstone, workspaces};
use super::made_up::Made;
use super::{entry, owned};
use std::path::Path;
use std::process::Command;
use wire::atom::feed_document::{FeedKind, tombstone_document};
use wire::atom::{Owned, OwnedContent, entry, service};

/// What jing says of these documents; nothing if they are valid.
fn complaints(documents: &[String]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let mut paths = Vec::new();
    for (i, document) in documents.iter().enumerate() {
        let path = folder.path().join(format!("{i}.xml"));
        std::fs::write(&path, document).unwrap();
        paths.push(path);
    }
    let schema = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/atom/schemas/atom.rnc");
    let said = Command::new("jing")
        .arg("-c")
        .arg(&schema)
        .args(&paths)
        .output()
        .expect("jing starts; scripts/setup.sh jing installs it");
    let said_out = String::from_utf8_lossy(&said.stdout).into_owned();
    let said_err = String::from_utf8_lossy(&said.stderr);
    assert_eq!(said.status.success(), said_out.is_empty(), "{said_out}{said_err}");
    assert!(!said_out.contains(".rnc:"), "the schema is broken: {said_out}");
    said_out
}

/// RFC 4287 and RFC 5023, Appendix B; RFC 6721 §3.
#[test]
fn what_is_written_is_valid() {
    let mut documents: Vec<String> =
        [FeedKind::Partial, FeedKind::Complete, FeedKind::Archive].map(a_feed).into();
    documents.push(tombstone_document(&a_tombstone()));
    let spaces = workspaces();
    documents.push(service::document(&spaces));
    let lists = spaces.iter().flat_map(|space| &space.collections);
    documents.extend(lists.flat_map(|collection| &collection.categories).map(|c| c.document()));
    let media = Owned {
        edit_media: Some("/m/1"),
        title: Some("One"),
        summary: Some("S"),
        published: Some(owned().updated),
        content: Some(OwnedContent { src: "/m/1.png", media_type: "image/png" }),
        ..owned()
    };
    documents.push(entry::read(&entry("")).unwrap().stored(&media));
    for seed in 0..200 {
        let text = Made::new(seed).entry();
        documents.push(entry::read(&text).unwrap().stored(&owned()));
    }
    let said = complaints(&documents);
    assert!(said.is_empty(), "{said}");
}

/// The schema refuses what it should, or it would show nothing.
#[test]
fn what_is_not_valid_is_refused() {
    let good = entry::read(&entry("<title/>")).unwrap().stored(&owned());
    let without = |part: &str| {
        assert!(good.contains(part), "{part} in {good}");
        good.replace(part, "")
    };
    let bad = [
        without("<title/>"),
        without("<id>urn:uuid:1225c695-cfb8-4ebb-aaaa-80da344efa6a</id>"),
        good.replace("<title/>", "<title/><title/>"),
        good.replace("<title/>", "<title type='x'/>"),
        service::document(&[]),
        a_feed(FeedKind::Partial).replace("rel=\"self\"", "unknown=\"self\""),
    ];
    for document in &bad {
        assert!(!complaints(std::slice::from_ref(document)).is_empty(), "{document}");
    }
}
