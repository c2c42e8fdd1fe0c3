//! Targets for Atom's codecs: any bytes as a document of XML, as an entry, and as a document of the
//! publishing protocol.

use crate::target::Target;
use wire::atom::feed_document::tombstone_document;
use wire::atom::{Content, Date, Entry, Owned, categories, entry, feed, service};
use wire::xml::{Event, Reader, Writer, decode};

pub const XML: Target = Target { name: "xml", run: events, seeds: DOCUMENTS };
pub const ATOM_ENTRY: Target = Target { name: "atom-entry", run: entries, seeds: ENTRIES };
pub const ATOM_SERVICE: Target = Target { name: "atom-service", run: protocol, seeds: PROTOCOL };

const DOCUMENTS: &[&[u8]] = &[
    b"<?xml version='1.0' encoding='UTF-8' standalone='yes'?><a xmlns='urn:a' b='&lt;&#65;'>\
      x<!-- c --><p:b xmlns:p='urn:b' p:c=\"\n\"/><![CDATA[<]]>&amp;<?p i?></a>",
    b"\xfe\xff\0<\0a\0/\0>",
    b"\xff\xfe<\0a\0>\0\x3d\xd8\x00\xde<\0/\0a\0>\0",
    b"<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>",
    b"<a xml:base='http://h/../x' xml:lang='en'><b xml:base='y'></b>]]&gt;</a>\r\n",
];

const ENTRIES: &[&[u8]] = &[
    b"<entry xmlns='http://www.w3.org/2005/Atom' xml:base='b'><id>i</id><title type='html'>&lt;b>\
      </title><updated>2003-12-13T18:30:02.25+01:00</updated><author><name>n</name></author>\
      <link href='x'/><category term='t'/><content type='xhtml'><div \
      xmlns='http://www.w3.org/1999/xhtml'><p>a<br/><img src='i'/></p></div></content></entry>",
    b"<a:entry xmlns:a='http://www.w3.org/2005/Atom' xmlns:p='http://www.w3.org/2007/app'>\
      <p:control><p:draft>yes</p:draft></p:control><p:edited>x</p:edited><x/><a:title/>\
      <a:content type='image/png'>aGk=</a:content><a:summary/></a:entry>",
    b"<entry xmlns='http://www.w3.org/2005/Atom' xml:lang='fr'><content src='http://h/' \
      type='image/png'/><t:in-reply-to xmlns:t='http://purl.org/syndication/thread/1.0' ref='r'/>\
      </entry>",
];

const PROTOCOL: &[&[u8]] = &[
    b"<service xmlns='http://www.w3.org/2007/app' xmlns:a='http://www.w3.org/2005/Atom'><workspace>\
      <a:title>t</a:title><collection href='c'><a:title>c</a:title><accept> image/* </accept>\
      <categories fixed='yes' scheme='s'><a:category term='t'/></categories></collection>\
      </workspace></service>",
    b"<c:categories xmlns:c='http://www.w3.org/2007/app' href='x'/>",
    b"<d:deleted-entry xmlns:d='http://purl.org/atompub/tombstones/1.0' ref='r' \
      when='2003-12-13T18:30:02Z' xmlns='http://www.w3.org/2005/Atom'><d:by><name>n</name></d:by>\
      <d:comment>c</d:comment></d:deleted-entry>",
    b"<feed xmlns='http://www.w3.org/2005/Atom'><title>t</title><entry><id>i</id></entry></feed>",
];

/// Whatever is read, written again, is read the same.
fn events(input: &[u8]) {
    let Ok(text) = decode(input, None) else { return };
    let Some(first) = read(&text) else { return };
    let mut writer = Writer::document();
    let mut open = Vec::new();
    for one in &first {
        match one {
            Seen::Start(name, namespace, attributes) => {
                let local = name.clone();
                writer.start(&local).attribute("xmlns", namespace);
                for (i, (name, namespace, value)) in attributes.iter().enumerate() {
                    if namespace == wire::xml::XML {
                        writer.attribute(&format!("xml:{name}"), value);
                    } else if namespace.is_empty() {
                        writer.attribute(name, value);
                    } else {
                        writer.attribute(&format!("xmlns:p{i}"), namespace);
                        writer.attribute(&format!("p{i}:{name}"), value);
                    }
                }
                open.push(local);
            }
            Seen::End => _ = writer.end(&open.pop().expect("as many ends as starts")),
            Seen::Text(text) => _ = writer.text(text),
        }
    }
    // Declarations of its own may be too many for the bounds.
    if let Some(again) = read(&writer.finish()) {
        assert_eq!(first, again);
    }
}

#[derive(Debug, PartialEq)]
enum Seen {
    Start(String, String, Vec<(String, String, String)>),
    End,
    Text(String),
}

/// What a reader is told, texts that belong together as one.
fn read(text: &str) -> Option<Vec<Seen>> {
    let mut reader = Reader::new(text).ok()?;
    let mut seen = Vec::new();
    while let Some(event) = reader.read().ok()? {
        let span = reader.span();
        assert!(span.end <= text.len() && text.is_char_boundary(span.end));
        match event {
            Event::Start(element) => {
                let attributes = element.attributes.iter().map(|one| {
                    let namespace = one.name.namespace.to_string();
                    (one.name.local.to_owned(), namespace, one.value.to_string())
                });
                let namespace = element.name.namespace.to_string();
                let attributes = attributes.collect();
                seen.push(Seen::Start(element.name.local.to_owned(), namespace, attributes));
            }
            Event::End => seen.push(Seen::End),
            Event::Text(text) if text.is_empty() => {}
            Event::Text(text) => match seen.last_mut() {
                Some(Seen::Text(before)) => before.push_str(&text),
                _ => seen.push(Seen::Text(text.into_owned())),
            },
            Event::Aside => {}
        }
    }
    Some(seen)
}

/// What is stored of an entry is an entry that means the same, alone and in a feed, and stays as it
/// is when it is stored again.
fn entries(input: &[u8]) {
    let Ok(text) = decode(input, None) else { return };
    let Ok(sent) = entry::read(&text) else { return };
    let owned = Owned {
        id: "urn:x:id",
        updated: Date::of_ms(0).expect("1970 can be written"),
        edited: Date::of_ms(1).expect("1970 can be written"),
        published: None,
        edit: "/e",
        edit_media: None,
        page: Some("/p"),
        title: None,
        author: None,
        summary: None,
        content: None,
        base: "/atom/e",
    };
    let stored = sent.stored(&owned);
    // The server's own may be one too many for the bounds, which hold for what is sent.
    let got = entry::read_stored(&stored).expect("what is stored can be read");
    for (rel, href) in [("edit", "/e"), ("alternate", "/p")] {
        let links = got.links.iter().filter(|link| link.rel == rel);
        let mut links = links.map(|link| link.href.as_str());
        assert!(links.any(|found| found == href), "{rel}: {stored}");
    }
    assert_eq!(got.id.as_deref(), Some(owned.id));
    assert_eq!(got.edited, Some(owned.edited));
    same(&sent, &got);
    assert_eq!(got.stored(&owned), stored);
    let document = format!(
        "<a:feed xmlns='urn:o' xmlns:app='urn:o' xmlns:a='{}'>{stored}</a:feed>",
        wire::atom::ATOM
    );
    if let Ok(feed) = feed::read(&document) {
        same(&sent, &feed.entries[0]);
        assert_eq!(feed.entries[0].links, got.links);
        assert_eq!(feed.entries[0].content, got.content);
        assert_eq!(feed.entries[0].base, got.base);
    }
}

fn same(sent: &Entry<'_>, got: &Entry<'_>) {
    let value = |entry: &Entry<'_>| entry.title.as_ref().map(|title| title.kind);
    assert_eq!(value(sent), value(got));
    assert_eq!(sent.categories, got.categories);
    assert_eq!(sent.foreign, got.foreign);
    assert_eq!(sent.authors.len(), got.authors.len());
    assert_eq!(sent.is_draft, got.is_draft);
    assert_eq!(sent.published, got.published);
    assert_eq!(sent.lang, got.lang);
    if let Some(Content::Binary { .. } | Content::OtherText { .. }) = sent.content {
        assert_eq!(sent.content, got.content);
    }
}

/// Whatever is read, written again, is read the same.
fn protocol(input: &[u8]) {
    let Ok(text) = decode(input, None) else { return };
    if let Ok(found) = service::read(&text) {
        assert_eq!(service::read(&service::document(&found)), Ok(found));
    }
    if let Ok(found) = categories::read(&text) {
        assert_eq!(categories::read(&found.document()), Ok(found));
    }
    if let Ok(found) = feed::read_tombstone(&text) {
        let again = feed::read_tombstone(&tombstone_document(&found)).map(|one| one.reference);
        assert_eq!(again.as_ref(), Ok(&found.reference));
    }
    if let Ok(found) = feed::read(&text) {
        assert!(found.entries.len() <= wire::limits::ATOM_CHILDREN_MAX);
    }
}
