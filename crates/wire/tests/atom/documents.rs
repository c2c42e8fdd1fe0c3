//! The other documents: feeds, service and category documents, tombstones, RSS, JSON Feed, OPML.

use super::{date, entry, owned};
use wire::atom::feed_document::{
    FeedKind, FeedWriter, Head, HeadLink, HeadText, tombstone_document,
};
use wire::atom::service::{Collection, Workspace};
use wire::atom::{
    Categories, Category, Channel, Enclosure, Item, Person, Text, TextKind, Tombstone, categories,
    entry, feed, json_feed, opml, rss, service,
};

const ODD: &str = "<\"&'> \u{5e9} \u{1f600}";

/// RFC 4287 §4.1.1, RFC 5005 §2 to §4, RFC 6721 §3.
pub fn a_feed(kind: FeedKind) -> String {
    let links = ["self", "alternate", "first", "previous", "next", "last", "current"];
    let links = links.map(|rel| HeadLink { rel, href: "http://h/f?a=1&b=2", media_type: None });
    let person = Person {
        name: ODD.to_owned(),
        uri: Some("http://h/a".to_owned()),
        email: Some("a@b".to_owned()),
    };
    let head = Head {
        id: "urn:x:f",
        title: HeadText::of(ODD, None),
        subtitle: Some(HeadText::of("s", None)),
        lang: Some("en"),
        updated: date("2007-10-09T12:29:29Z"),
        authors: std::slice::from_ref(&person),
        rights: Some("r"),
        icon: Some("/i.png"),
        logo: Some("/l.png"),
        links: &links,
        kind,
    };
    let mut writer = FeedWriter::new(&head, 1000);
    writer.tombstone(&a_tombstone());
    let text = entry("<title>t</title><content>c</content><x xmlns='urn:x'/>");
    let stored = entry::read(&text).unwrap().stored(&owned());
    writer.entry(&stored).entry(&stored);
    writer.finish()
}

pub fn a_tombstone() -> Tombstone {
    let comment = Text { kind: TextKind::Text, value: ODD.to_owned(), base: None, lang: None };
    let by = Person { name: "Ann".to_owned(), ..Person::default() };
    Tombstone {
        reference: "urn:x:gone".to_owned(),
        when: date("2007-10-09T12:29:29Z"),
        by: Some(by),
        comment: Some(comment),
    }
}

pub fn workspaces() -> Vec<Workspace> {
    let known = Category {
        term: ODD.to_owned(),
        scheme: Some("http://s/".to_owned()),
        label: Some("L".to_owned()),
    };
    let plain = Category { term: "t".to_owned(), ..Category::default() };
    let away = Categories { href: Some("/cats".to_owned()), ..Categories::default() };
    let here = Categories {
        href: None,
        is_fixed: true,
        scheme: Some("http://d/".to_owned()),
        list: vec![known, plain],
    };
    let entries = Collection {
        title: "Entries".to_owned(),
        href: "/atom/blog/entries".to_owned(),
        accepts: vec!["application/atom+xml;type=entry".to_owned()],
        categories: vec![away, here],
    };
    let closed = Collection {
        title: "Old".to_owned(),
        href: "/old".to_owned(),
        accepts: vec![String::new()],
        categories: Vec::new(),
    };
    vec![
        Workspace { title: ODD.to_owned(), collections: vec![entries, closed] },
        Workspace { title: "empty".to_owned(), collections: Vec::new() },
    ]
}

#[test]
fn a_feed_is_read_as_it_was_written() {
    for kind in [FeedKind::Partial, FeedKind::Complete, FeedKind::Archive] {
        let document = a_feed(kind);
        let feed = feed::read(&document).unwrap();
        assert_eq!(feed.title.as_ref().unwrap().value, ODD);
        assert_eq!(feed.title.as_ref().unwrap().lang.as_deref(), Some("en"));
        assert_eq!(
            (feed.is_complete, feed.is_archive),
            match kind {
                FeedKind::Partial => (false, false),
                FeedKind::Complete => (true, false),
                FeedKind::Archive => (false, true),
            }
        );
        assert_eq!(feed.href("next"), Some("http://h/f?a=1&b=2"));
        assert_eq!(feed.authors[0].name, ODD);
        assert_eq!(feed.tombstones, [a_tombstone()]);
        assert_eq!(feed.entries.len(), 2);
        assert_eq!(document, a_feed(kind));
    }
    let document = tombstone_document(&a_tombstone());
    assert_eq!(feed::read_tombstone(&document).unwrap(), a_tombstone());
}

/// RFC 5023 §8.3, RFC 5023 §6.2: foreign markup is no error.
#[test]
fn a_service_document_is_read_as_it_was_written() {
    let document = service::document(&workspaces());
    assert_eq!(service::read(&document).unwrap(), workspaces());
    let text = "<s:workspace xmlns:s='http://www.w3.org/2007/app' xml:base='http://h/x/' \
                xmlns:a='http://www.w3.org/2005/Atom'><z/><a:title type='html'>T</a:title>\
                <s:collection href='c'><a:title>C</a:title><z>y</z><s:accept> image/* </s:accept>\
                </s:collection></s:workspace>";
    let found = &service::read(text).unwrap()[0];
    assert_eq!((&*found.title, &*found.collections[0].href), ("T", "http://h/x/c"));
    // §8.3.4: white space around it does not count.
    assert!(found.collections[0].admits("image/png"));
    assert!(!found.collections[0].admits("application/atom+xml"));
    assert!(Collection::default().admits("application/atom+xml"));
    assert!(!workspaces()[0].collections[1].admits("image/png"));
}

/// RFC 5023 §7.2, §8.3.6.
#[test]
fn categories_are_open_or_fixed() {
    let text = "<c:categories xmlns:c='http://www.w3.org/2007/app' fixed='yes' scheme='http://d/' \
                xmlns='http://www.w3.org/2005/Atom'><category term='a'/>\
                <category term='b' scheme='http://o/'/></c:categories>";
    let fixed = categories::read(text).unwrap();
    let category = |term: &str, scheme: Option<&str>| Category {
        term: term.to_owned(),
        scheme: scheme.map(str::to_owned),
        label: None,
    };
    assert!(fixed.admit(&category("a", Some("http://d/"))));
    assert!(fixed.admit(&category("b", Some("http://o/"))));
    assert!(!fixed.admit(&category("a", None)));
    assert!(!fixed.admit(&category("b", Some("http://d/"))));
    assert_eq!(categories::read(&fixed.document()).unwrap(), fixed);
    let open = categories::read("<categories xmlns='http://www.w3.org/2007/app'/>").unwrap();
    assert!(open.admit(&category("z", None)));
    let collection =
        |lists: Vec<Categories>| Collection { categories: lists, ..Collection::default() };
    assert!(!collection(vec![fixed.clone()]).admits_categories(&[category("z", None)]));
    assert!(collection(vec![fixed]).admits_categories(&[category("a", Some("http://d/"))]));
    assert!(collection(vec![open]).admits_categories(&[category("z", None)]));
}

pub fn a_channel<R>(then: impl FnOnce(&Channel<'_>, &[Item<'_>]) -> R) -> R {
    let people = [Person { name: ODD.to_owned(), uri: Some("http://h/a".to_owned()), email: None }];
    let channel = Channel {
        title: ODD,
        description: None,
        page: "http://h/",
        feed: "http://h/feed",
        here: "http://h/feed?after=0",
        next: Some("http://h/feed?after=1"),
        lang: Some("en"),
        updated: date("2007-10-09T12:29:29Z"),
        authors: &people,
        icon: Some("http://h/i.png"),
    };
    let sound = Enclosure {
        url: "http://h/1.mp3".to_owned(),
        media_type: "audio/mpeg".to_owned(),
        length: 9,
    };
    let categories = ["a\\b".to_owned()];
    let item = Item {
        id: "urn:1",
        page: "http://h/1",
        title: ODD,
        html: Some("<p>&amp;</p>"),
        text: None,
        summary: Some("s & t\n"),
        published: None,
        updated: date("2007-10-09T12:29:29Z"),
        authors: &people,
        categories: &categories,
        lang: Some("fr"),
        enclosures: std::slice::from_ref(&sound),
    };
    let bare = Item {
        id: "urn:2",
        html: None,
        text: Some("\u{1}1 < 2"),
        summary: None,
        enclosures: &[],
        categories: &[],
        ..item.clone()
    };
    then(&channel, &[item, bare])
}

#[test]
fn rss_is_what_readers_of_it_expect() {
    let document = a_channel(rss::document);
    for part in [
        "<title>&lt;\"&amp;'&gt; \u{5e9} \u{1f600}</title>",
        "<pubDate>Tue, 09 Oct 2007 12:29:29 GMT</pubDate>",
        "<guid isPermaLink=\"false\">urn:1</guid>",
        "<content:encoded>&lt;p&gt;&amp;amp;&lt;/p&gt;</content:encoded>",
        "<description>\u{fffd}1 &amp;lt; 2</description>",
        "<enclosure url=\"http://h/1.mp3\" length=\"9\" type=\"audio/mpeg\"/>",
    ] {
        assert!(document.contains(part), "{part} in {document}");
    }
    let mut reader = wire::xml::Reader::new(&document).unwrap();
    while reader.read().unwrap().is_some() {}
}

#[test]
fn json_feed_is_json() {
    let expected = concat!(
        "{\"version\":\"https://jsonfeed.org/version/1.1\",",
        "\"title\":\"<\\\"&'> \u{5e9} \u{1f600}\",\"home_page_url\":\"http://h/\",",
        "\"feed_url\":\"http://h/feed\",\"next_url\":\"http://h/feed?after=1\",",
        "\"icon\":\"http://h/i.png\",\"language\":\"en\",",
        "\"authors\":[{\"name\":\"<\\\"&'> \u{5e9} \u{1f600}\",\"url\":\"http://h/a\"}],",
        "\"items\":[",
        "{\"id\":\"urn:1\",\"url\":\"http://h/1\",\"title\":\"<\\\"&'> \u{5e9} \u{1f600}\",",
        "\"content_html\":\"<p>&amp;</p>\",\"summary\":\"s & t\\n\",",
        "\"date_published\":\"2007-10-09T12:29:29.000Z\",",
        "\"date_modified\":\"2007-10-09T12:29:29.000Z\",\"language\":\"fr\",",
        "\"authors\":[{\"name\":\"<\\\"&'> \u{5e9} \u{1f600}\",\"url\":\"http://h/a\"}],",
        "\"tags\":[\"a\\\\b\"],\"attachments\":[{\"url\":\"http://h/1.mp3\",",
        "\"mime_type\":\"audio/mpeg\",\"size_in_bytes\":9}]},",
        "{\"id\":\"urn:2\",\"url\":\"http://h/1\",\"title\":\"<\\\"&'> \u{5e9} \u{1f600}\",",
        "\"content_text\":\"\\u00011 < 2\",\"date_published\":\"2007-10-09T12:29:29.000Z\",",
        "\"date_modified\":\"2007-10-09T12:29:29.000Z\",\"language\":\"fr\",",
        "\"authors\":[{\"name\":\"<\\\"&'> \u{5e9} \u{1f600}\",\"url\":\"http://h/a\"}]}]}\n",
    );
    assert_eq!(a_channel(json_feed::document), expected);
}

#[test]
fn opml_is_a_list_of_feeds() {
    let outline =
        opml::Outline { title: ODD, feed: "http://h/f", page: "http://h/", lang: Some("en") };
    let document = opml::document("All", date("2007-10-09T12:29:29Z"), &[outline]);
    let expected = "<outline type=\"rss\" text=\"&lt;&quot;&amp;'&gt; \u{5e9} \u{1f600}\" \
                    title=\"&lt;&quot;&amp;'&gt; \u{5e9} \u{1f600}\" xmlUrl=\"http://h/f\" \
                    htmlUrl=\"http://h/\" language=\"en\"/>";
    assert!(document.contains(expected), "{document}");
}
