//! What is kept of an entry.

use super::{entry, owned};
use wire::atom::feed_document::{FeedKind, FeedWriter, Head, HeadLink, HeadText};
use wire::atom::{Content, Owned, OwnedContent, entry::read, feed};

fn stored(text: &str, owned: &Owned<'_>) -> String {
    read(text).unwrap().stored(owned)
}

/// The stored entry within a feed of another default namespace.
fn in_feed(stored: &str) -> String {
    let link = HeadLink { rel: "self", href: "http://h/feed", media_type: None };
    let head = Head {
        id: "urn:f",
        title: HeadText::of("f", None),
        subtitle: None,
        lang: Some("en"),
        updated: super::date("2007-10-09T12:29:29Z"),
        authors: &[],
        rights: None,
        icon: None,
        logo: None,
        links: &[link],
        kind: FeedKind::Partial,
    };
    let mut writer = FeedWriter::new(&head, stored.len());
    writer.entry(stored);
    writer.finish()
}

/// RFC 5023 §9.1, §10.2, §11.1, §11.2: what is the server's is there once, whatever was sent.
#[test]
fn what_is_the_servers_is_there_once() {
    let text = entry(
        "<id>mine</id><title>t</title><updated>2000-01-01T00:00:00Z</updated>\
         <e:edited xmlns:e='http://www.w3.org/2007/app'>never</e:edited>\
         <link rel='edit' href='http://evil/'/><link rel='edit' href='http://evil/2'/>\
         <link rel='http://www.iana.org/assignments/relation/edit' href='http://evil/3'/>\
         <link rel='edit-media' href='http://evil/'/>\
         <link type='Text/HTML' href='http://evil/'/><link href='http://mine/'/>\
         <content>c</content>",
    );
    let kept = stored(&text, &owned());
    assert!(!kept.contains("evil") && !kept.contains("never"), "{kept}");
    let again = read(&kept).unwrap();
    assert_eq!(again.id.as_deref(), Some(owned().id));
    assert_eq!(again.updated, Some(owned().updated));
    assert_eq!(again.edited, Some(owned().edited));
    assert_eq!(again.link("edit").unwrap().href, "/atom/blog/entries/first");
    assert_eq!(again.links.iter().filter(|link| link.rel == "edit").count(), 1);
    assert_eq!(again.links.iter().filter(|link| link.rel == "alternate").count(), 2);
    assert_eq!(again.authors[0].name, "Ann");
}

/// RFC 8288 §2.1.1: names of relations are the same in either case.
#[test]
fn a_relation_is_the_servers_in_either_case() {
    let text = entry(
        "<title/><link rel='EDIT' href='http://evil/'/><link rel='Edit-Media' href='http://evil/'/>\
         <link rel='HTTP://www.iana.org/assignments/RELATION/eDIT' href='http://evil/'/>\
         <link rel='Alternate' type='text/html' href='http://evil/'/>\
         <link rel='http://other/EDIT' href='http://kept/'/>",
    );
    let kept = stored(&text, &owned());
    assert!(!kept.contains("evil") && kept.contains("kept"), "{kept}");
}

/// The namespace of the drafts before RFC 5023: what its clients send is meant, and is stored as
/// the RFC has it.
#[test]
fn drafts_in_the_old_namespace_are_drafts() {
    let old = |draft: &str| {
        format!(
            "<o:control xmlns:o='http://purl.org/atom/app#'><o:draft>{draft}</o:draft></o:control>"
        )
    };
    let new = |draft: &str| {
        format!(
            "<n:control xmlns:n='http://www.w3.org/2007/app'><n:draft>{draft}</n:draft></n:control>"
        )
    };
    for (children, is_draft) in [
        (old("yes"), true),
        (old("no"), false),
        (new("yes"), true),
        // What was got from here has the new one; a client of then edits its own.
        (old("yes") + &new("no"), true),
        (new("yes") + &old("no"), false),
    ] {
        let edited = "<o:edited xmlns:o='http://purl.org/atom/app#'>x</o:edited>";
        let author = "<author><name>a</name></author>";
        let text = entry(&(author.to_owned() + &children + edited));
        assert_eq!(read(&text).unwrap().is_draft, is_draft, "{text}");
        let kept = stored(&text, &owned());
        assert!(!kept.contains("purl.org"), "{kept}");
        assert_eq!(read(&kept).unwrap().is_draft, is_draft, "{kept}");
        assert_eq!(stored(&kept, &owned()), kept);
    }
    for wrong in [old("maybe"), old("yes") + &old("yes")] {
        assert!(read(&entry(&wrong)).is_err(), "{wrong}");
    }
    // An earlier version took it for foreign markup, and the entry was public.
    assert!(!wire::atom::entry::read_stored(&entry(&old("yes"))).unwrap().is_draft);
}

/// RFC 4287 §2: the base that a client states does not hold for what is the server's.
#[test]
fn a_base_of_another_server_is_not_the_servers() {
    for base in ["http://evil/x/", "//evil/x/", "urn:x"] {
        let text = format!(
            "<entry xmlns='http://www.w3.org/2005/Atom' xml:base='{base}'>\
             <title type='html'>t</title><author><name>n</name><uri>u</uri></author>\
             <link rel='a' href='r'/><link rel='b' href='r' xml:base='../y/'/><category term='t'/>\
             <link rel='c' xml:base='/z' href='r'/><x/><!-- c --></entry>"
        );
        let sent = read(&text).unwrap();
        let kept = stored(&text, &owned());
        let got = read(&kept).unwrap();
        assert_eq!(got.base, None, "{kept}");
        assert_eq!(got.link("edit").unwrap().href, owned().edit);
        assert_eq!(got.link("alternate").unwrap().href, owned().page.unwrap());
        for rel in ["a", "b", "c"] {
            assert_eq!(got.link(rel), sent.link(rel), "{kept}");
        }
        assert_eq!((&got.title, &got.authors), (&sent.title, &sent.authors));
        assert!(kept.contains("<category term='t'/>") && kept.contains("<!-- c -->"), "{kept}");
        assert_eq!(stored(&kept, &owned()), kept);
        let alone = in_feed(&kept);
        assert_eq!(feed::read(&alone).unwrap().entries[0].links, got.links);
    }
}

/// RFC 5023 §9.6, RFC 4287 §4.1.3.1: a type that content cannot state is stated by the link.
#[test]
fn composite_media_has_content_without_a_type() {
    for media_type in ["message/rfc822", "Multipart/Mixed; boundary=\"a b\""] {
        let media = OwnedContent { src: "/m/1", media_type };
        let owned = Owned { edit_media: Some("/m/1"), content: Some(media), ..owned() };
        let kept = stored(&entry("<title/><summary/>"), &owned);
        let got = read(&kept).unwrap();
        assert_eq!(got.content, Some(Content::Away { src: "/m/1".to_owned(), media_type: None }));
        assert_eq!(got.media_type(), Some(media_type));
    }
}

/// RFC 5023 §9.6, RFC 4287 §4.1.3.2: of media the server says where it is.
#[test]
fn media_is_where_the_server_says() {
    let media = OwnedContent { src: "/m/1.png", media_type: "image/png" };
    let owned = Owned {
        edit_media: Some("/m/1"),
        title: Some("One"),
        summary: Some(""),
        content: Some(media),
        ..owned()
    };
    let kept = stored(&entry("<content type='text/html' src='http://evil/'/>"), &owned);
    let again = read(&kept).unwrap();
    let expected =
        Content::Away { src: "/m/1.png".to_owned(), media_type: Some("image/png".to_owned()) };
    assert_eq!(again.content, Some(expected));
    assert_eq!(again.check_complete(), Ok(()));
    assert_eq!(again.link("edit-media").unwrap().href, "/m/1");
}

/// RFC 4287 §6: foreign markup is there as it was, byte for byte, comments and CDATA among it.
#[test]
fn what_was_sent_stays_as_it_was() {
    let foreign = "<dc:x xmlns:dc='urn:dc' dc:y=\"1\" >a<!-- c --><![CDATA[<&]]><?p i?>&#x41;\
                   <dc:z>b</dc:z> c</dc:x>";
    let text = format!(
        "<!-- before --><entry xmlns=\"http://www.w3.org/2005/Atom\" xmlns:q='urn:q' q:a='&lt;'>\
         <!-- in -->{foreign}<unknown/><title>t</title></entry>"
    );
    let kept = stored(&text, &owned());
    for part in ["<!-- in -->", foreign, "<unknown/>", " q:a='&lt;'", " xmlns:q=\"urn:q\""] {
        assert!(kept.contains(part), "{part} in {kept}");
    }
}

/// The second time nothing changes: what a client gets and sends back is what was there.
#[test]
fn what_is_got_and_put_again_is_the_same() {
    let texts = [
        entry("<title>t</title><x xmlns=''>y</x><author><name>n</name></author>"),
        "<a:entry xmlns:a='http://www.w3.org/2005/Atom' xml:lang='de' xml:base='x/y'>\
         <a:author><a:name>n</a:name></a:author><a:title>t</a:title><x/>\
         <a:content type='html'>&lt;a href='b'></a:content></a:entry>"
            .to_owned(),
    ];
    for text in texts {
        let once = stored(&text, &owned());
        assert_eq!(stored(&once, &owned()), once);
    }
}

/// RFC 4287 §2: base, language and namespaces mean the same in a feed.
#[test]
fn an_entry_means_the_same_in_a_feed() {
    let text = "<a:entry xmlns:a='http://www.w3.org/2005/Atom' xml:base='sub/'>\
                <a:author><a:name>n</a:name></a:author><a:title>t</a:title><x>y</x>\
                <a:link rel='related' href='r'/>\
                <a:content type='xhtml'><div xmlns='http://www.w3.org/1999/xhtml'>\
                <img src='i.png'/></div></a:content></a:entry>";
    let kept = stored(text, &owned());
    let document = in_feed(&kept);
    let feed = feed::read(&document).unwrap();
    let (alone, within) = (read(&kept).unwrap(), &feed.entries[0]);
    assert_eq!(alone.content, within.content);
    assert_eq!(alone.links, within.links);
    assert_eq!(alone.foreign, within.foreign);
    assert_eq!(within.foreign[0].namespace, "");
    assert_eq!(within.link("related").unwrap().href, "/atom/blog/entries/sub/r");
    assert_eq!(within.lang, None);
}

/// An entry of text alone needs no base.
#[test]
fn the_base_is_stated_where_it_matters() {
    let plain = stored(&entry("<title>t</title><content>c</content>"), &owned());
    assert!(!plain.contains("xml:base"), "{plain}");
    let html = stored(&entry("<title>t</title><content type='html'>c</content>"), &owned());
    assert!(html.contains(" xml:base=\"/atom/blog/entries/first\""), "{html}");
}

/// An entry taken out of a feed carries what held for it there.
#[test]
fn an_entry_of_a_feed_stands_alone() {
    let text = "<f:feed xmlns:f='http://www.w3.org/2005/Atom' xmlns:d='urn:d' xml:lang='fr' \
                xml:base='http://h/'><f:entry><f:title>t</f:title><d:x/>\
                <f:link rel='related' href='r'/></f:entry></f:feed>";
    let feed = feed::read(text).unwrap();
    let kept = feed.entries[0].stored(&owned());
    let alone = read(&kept).unwrap();
    assert_eq!(alone.lang.as_deref(), Some("fr"));
    assert_eq!(alone.link("related").unwrap().href, "http://h/r");
    assert_eq!(alone.foreign[0].namespace, "urn:d");
}
