//! What an entry means.

use super::entry;
use wire::atom::{Content, TextKind, entry::read};

/// RFC 4287 §4.1.2.
#[test]
fn an_entry_has_all_that_was_sent() {
    let text = entry(
        "<id>urn:x:1</id><title>A &amp; B</title><updated>2003-12-13T18:30:02Z</updated>\
         <published>2003-12-12T00:00:00+01:00</published>\
         <author><name>Ann</name><uri>http://a/</uri><email>a@b</email></author>\
         <contributor><name>Bob</name></contributor>\
         <category term='t' scheme='http://s/' label='T'/>\
         <link href='http://a/1'/><link rel='enclosure' type='audio/mpeg' href='x' length='9'/>\
         <summary type='html'>&lt;b>s&lt;/b></summary><content>c<![CDATA[<c>]]></content>\
         <rights>r</rights>",
    );
    let read = read(&text).unwrap();
    assert_eq!(read.id.as_deref(), Some("urn:x:1"));
    assert_eq!(read.title.unwrap().value, "A & B");
    assert_eq!(read.updated.unwrap().to_string(), "2003-12-13T18:30:02.000Z");
    assert_eq!(read.published.unwrap().to_string(), "2003-12-11T23:00:00.000Z");
    assert_eq!(read.authors[0].email.as_deref(), Some("a@b"));
    assert_eq!(read.contributors[0].name, "Bob");
    assert_eq!(read.categories[0].scheme.as_deref(), Some("http://s/"));
    // §4.2.7.2: a link without rel is alternate.
    assert_eq!(read.links[0].rel, "alternate");
    assert_eq!(read.links[1].length.as_deref(), Some("9"));
    let summary = read.summary.unwrap();
    assert_eq!((summary.kind, &*summary.value), (TextKind::Html, "<b>s</b>"));
    let Some(Content::Text(content)) = read.content else { panic!("text") };
    assert_eq!((content.kind, &*content.value), (TextKind::Text, "c<c>"));
    assert!(!read.is_draft);
}

/// RFC 4287 §4.2.7.2: a registered relation is the same written as an IRI.
#[test]
fn a_relation_may_be_an_iri() {
    let text =
        entry("<link rel='http://www.iana.org/assignments/relation/edit' href='http://a/'/>");
    assert_eq!(read(&text).unwrap().links[0].rel, "edit");
}

/// RFC 4287 §3.1.1.3: XHTML is one div, and becomes HTML with its references resolved.
#[test]
fn xhtml_becomes_html() {
    let text = entry(
        "<content type='xhtml' xml:base='http://h/a/' xml:lang='fr'>\n\
         <x:div xmlns:x='http://www.w3.org/1999/xhtml' xmlns:m='urn:m'>\
         <x:p class='&quot;' m:y='1'>1 &lt; 2<x:br/><x:img src='../i.png'/>\
         <m:math>x</m:math></x:p><x:i xml:base='b/'><x:a href='c'/></x:i></x:div>\n</content>",
    );
    let Some(Content::Text(content)) = read(&text).unwrap().content else { panic!("text") };
    assert_eq!(content.kind, TextKind::Xhtml);
    assert_eq!(content.lang.as_deref(), Some("fr"));
    let expected = "<p class=\"&quot;\">1 &lt; 2<br><img src=\"http://h/i.png\">x</p>\
                    <i><a href=\"http://h/a/b/c\"></a></i>";
    assert_eq!(content.value, expected);
}

/// RFC 4287 §4.1.3.3: XML stays, text is text, other types are Base64.
#[test]
fn content_is_told_apart_by_its_type() {
    let content = |xml: &str| read(&entry(xml)).unwrap().content.unwrap();
    let xml = content("<content type='image/svg+xml'><svg xmlns='urn:s'/></content>");
    assert_eq!(xml, Content::Xml { media_type: "image/svg+xml".to_owned() });
    let Content::OtherText { text, .. } = content("<content type='text/plain'>\u{1f600}</content>")
    else {
        panic!("text");
    };
    assert_eq!(text, "\u{1f600}");
    let Content::Binary { bytes, .. } = content("<content type='image/png'> aG\n k= </content>")
    else {
        panic!("bytes");
    };
    assert_eq!(bytes, b"hi");
    let away = content("<content type='image/png' src='http://h/i'/>");
    assert!(away.needs_summary());
}

/// RFC 5023 §13.1.1: no app:draft means published.
#[test]
fn a_draft_says_so() {
    let control = |inner: &str| {
        let text = format!("<c:control xmlns:c='http://www.w3.org/2007/app'>{inner}</c:control>");
        read(&entry(&text)).unwrap().is_draft
    };
    assert!(control("<c:draft>yes</c:draft>"));
    assert!(!control("<c:draft>no</c:draft>"));
    assert!(!control("") && !control("<x/>"));
}

/// RFC 4287 §6.3, RFC 4685 §3 and §5.
#[test]
fn foreign_markup_and_threads_are_told() {
    let text = entry(
        "<dc:subject xmlns:dc='urn:dc' a='1'>x<b>y</b></dc:subject><unknown>z</unknown>\
         <t:in-reply-to xmlns:t='http://purl.org/syndication/thread/1.0' ref='urn:1' \
         href='http://h/'/>\
         <t:total xmlns:t='http://purl.org/syndication/thread/1.0'>7</t:total>",
    );
    let read = read(&text).unwrap();
    assert_eq!((&*read.foreign[0].namespace, &*read.foreign[0].text), ("urn:dc", "xy"));
    assert_eq!(read.foreign[0].attributes, [("a".to_owned(), "1".to_owned())]);
    assert_eq!(read.foreign[1].name, "unknown");
    assert_eq!(read.in_reply_to[0].reference, "urn:1");
    assert_eq!(read.total, Some(7));
}

/// RFC 7303 §3, XML 1.0 §2.11: what was UTF-16 is the same text; lines end in LF.
#[test]
fn text_is_the_same_in_either_encoding() {
    let text = entry("<title>\u{5e9}\u{5dc}\u{5d5}\u{5dd} \u{1f600}\r\nx</title>");
    let bytes: Vec<u8> =
        format!("\u{feff}{text}").encode_utf16().flat_map(u16::to_le_bytes).collect();
    let decoded = wire::xml::decode(&bytes, None).unwrap();
    let title = read(&decoded).unwrap().title.unwrap().value;
    assert_eq!(title, "\u{5e9}\u{5dc}\u{5d5}\u{5dd} \u{1f600}\nx");
}

/// RFC 4287 §2: what xml:base states holds for references.
#[test]
fn references_are_resolved_by_the_base() {
    let text = "<entry xmlns='http://www.w3.org/2005/Atom' xml:base='http://h/a/'>\
                <link xml:base='b/' href='c'/><author><name>A</name><uri>/me</uri></author>\
                <content type='image/png' src='../i.png'/></entry>";
    let read = read(text).unwrap();
    assert_eq!(read.links[0].href, "http://h/a/b/c");
    assert_eq!(read.authors[0].uri.as_deref(), Some("http://h/me"));
    let Some(Content::Away { src, .. }) = read.content else { panic!("away") };
    assert_eq!(src, "http://h/i.png");
}
