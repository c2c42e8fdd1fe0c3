//! What is refused, and as what: broken (400), another document (400), not valid (422).

use super::entry;
use wire::atom::{Class, ReadError, categories, entry::read, feed, service};
use wire::limits::{
    ATOM_CHILDREN_MAX, XML_ATTRIBUTE_BYTES_MAX, XML_ATTRIBUTES_MAX, XML_BASE_BYTES_MAX,
    XML_DEPTH_MAX, XML_DOCUMENT_BYTES_MAX, XML_ELEMENTS_MAX, XML_NAMESPACES_MAX,
};

fn class(text: &str) -> Option<Class> {
    read(text).err().map(|error| error.class())
}

/// RFC 5023 §9.2, XML 1.0, Namespaces in XML 1.0.
#[test]
fn what_is_not_well_formed_is_malformed() {
    for text in [
        "",
        "x",
        "<entry",
        "<entry xmlns='http://www.w3.org/2005/Atom'>",
        "<entry xmlns='http://www.w3.org/2005/Atom'></entri>",
        "<entry xmlns='http://www.w3.org/2005/Atom'/><entry/>",
        "<entry xmlns='http://www.w3.org/2005/Atom'/>x",
        "<entry xmlns='http://www.w3.org/2005/Atom'/>&amp;",
        "<entry xmlns='http://www.w3.org/2005/Atom'/><![CDATA[]]>",
        " <?xml version='1.0'?><entry xmlns='http://www.w3.org/2005/Atom'/>",
        "<?xml version='2.0'?><entry xmlns='http://www.w3.org/2005/Atom'/>",
        "<?xml encoding='utf-8' version='1.0'?><entry xmlns='http://www.w3.org/2005/Atom'/>",
        "<?xml?><entry xmlns='http://www.w3.org/2005/Atom'/>",
        "<!DOCTYPE entry><entry xmlns='http://www.w3.org/2005/Atom'/>",
        "<!DOCTYPE e [<!ENTITY a 'aa'>]><entry xmlns='http://www.w3.org/2005/Atom'>&a;</entry>",
    ] {
        assert_eq!(class(text), Some(Class::Malformed), "{text}");
    }
    for inner in [
        "&nbsp;",
        "&#0;",
        "&#xFFFE;",
        "&",
        "&amp",
        "a ]]> b",
        "<a b='1' b='2'/>",
        "<a b='1'c='2'/>",
        "<a b=1/>",
        "<a b='<'/>",
        "<a b='&x;'/>",
        "<a b/>",
        "<p:a/>",
        "<a p:b='1'/>",
        "<a xmlns:p=''/>",
        "<a xmlns:xml='urn:x'/>",
        "<a xmlns:xmlns='urn:x'/>",
        "<a xmlns:p='u' xmlns:q='u' p:b='1' q:b='2'/>",
        "<a:b:c xmlns:a='urn:x'/>",
        "<9/>",
        "< a/>",
        "</a>",
        "<!-- -- -->",
        "<!-- --->",
        "<!---->x<!-",
        "<![CDATA[",
        "<?xml version='1.0'?>",
        "<?XML x?>",
        "<?a:b x?>",
        "<??>",
        "<!ELEMENT a ANY>",
        "\u{0}",
        "\u{b}",
        "\u{ffff}",
    ] {
        let text = entry(&format!("<x>{inner}</x>"));
        assert_eq!(class(&text), Some(Class::Malformed), "{inner}");
    }
}

/// RFC 5023 §12.1.1: a feed is no entry.
#[test]
fn another_document_is_the_wrong_root() {
    for text in [
        "<feed xmlns='http://www.w3.org/2005/Atom'/>",
        "<entry/>",
        "<entry xmlns='http://purl.org/atom/ns#'/>",
        "<html/>",
    ] {
        assert_eq!(class(text), Some(Class::WrongRoot), "{text}");
    }
    let error = read("\n <feed xmlns='urn:x'/>").unwrap_err().to_string();
    assert!(error.starts_with("line 2, column 2: expected the element entry of"), "{error}");
    assert_eq!(service::read("<a/>").unwrap_err().class(), Class::WrongRoot);
    assert_eq!(categories::read("<a/>").unwrap_err().class(), Class::WrongRoot);
    assert_eq!(feed::read(&entry("")).unwrap_err().class(), Class::WrongRoot);
}

/// RFC 4287 §3.1, §3.2, §3.3, §4.1.2, §4.1.3, §4.2; RFC 4685 §3, §5.
#[test]
fn what_is_against_a_rule_of_atom_is_invalid() {
    for children in [
        "<title/><title/>",
        "<id>a</id><id>b</id>",
        "<updated>2003-12-13T18:30:02Z</updated><updated>2003-12-13T18:30:02Z</updated>",
        "<published>2003-12-13</published>",
        "<updated>2003-12-13t18:30:02z</updated>",
        "<content/><content/>",
        "<summary/><summary/>",
        "<rights/><rights/>",
        "<title type='markdown'/>",
        "<title type='text/plain'/>",
        "<title>a<b/></title>",
        "<title type='html'>a<b/></title>",
        "<summary type='xhtml'>x</summary>",
        "<summary type='xhtml'><div/></summary>",
        "<summary type='xhtml'><div xmlns='http://www.w3.org/1999/xhtml'/>x</summary>",
        "<content type='xhtml'><a xmlns='http://www.w3.org/1999/xhtml'/></content>",
        "<content type='xhtml'><d:div xmlns:d='http://www.w3.org/1999/xhtml'/><d:div \
         xmlns:d='http://www.w3.org/1999/xhtml'/></content>",
        "<content type='png'/>",
        "<content type='multipart/mixed'/>",
        "<content type='message/rfc822' src='http://a/'/>",
        "<content src='http://a/' type='html'/>",
        "<content src='http://a/'>x</content>",
        "<content src='http://a/'><x/></content>",
        "<content type='text/plain'><x/></content>",
        "<content type='image/png'><x/></content>",
        "<author/>",
        "<author><name>a</name><name>b</name></author>",
        "<author><name>a</name><uri/><uri/></author>",
        "<category/>",
        "<link/>",
        "<link href='http://a/'/><link href='http://b/' rel='alternate'/>",
        "<link type='A/B' href='http://a/'/><link type='a/b' href='http://b/'/>",
        "text",
        "<r:in-reply-to xmlns:r='http://purl.org/syndication/thread/1.0'/>",
        "<r:total xmlns:r='http://purl.org/syndication/thread/1.0'>-1</r:total>",
    ] {
        assert_eq!(class(&entry(children)), Some(Class::Invalid), "{children}");
    }
}

/// RFC 4287 §2, §3.1.1.3, §3.2.3, §3.3, §4.2.2, §4.2.7, §4.2.11. An entry of an earlier version,
/// which took such, can be read.
#[test]
fn what_is_not_in_its_form_is_invalid() {
    let source = |inner: &str| format!("<source>{inner}</source>");
    let div = |inner: &str| {
        format!(
            "<content type='xhtml'><h:div xmlns:h='http://www.w3.org/1999/xhtml'>{inner}</h:div>\
             </content>"
        )
    };
    let mut all: Vec<String> = [
        "<updated> 2003-12-13T18:30:02Z</updated>",
        "<published>2003-12-13T18:30:02Z\n</published>",
        "<id> urn:x</id>",
        "<id>urn:x y</id>",
        "<author><name>a</name><uri> http://a/</uri></author>",
        "<author><name>a</name><uri>http://a/ b</uri></author>",
        "<author><name>a</name><email>nobody</email></author>",
        "<author><name>a</name><email>a@b c</email></author>",
        "<author><name xml:lang='e n'>a</name></author>",
        "<contributor xml:lang='en_US'><name>a</name></contributor>",
        "<title xml:lang=''>t</title>",
        "<summary xml:base='a b'>s</summary>",
        "<category term='a' scheme='a b'/>",
        "<link href=' http://a/'/>",
        "<link href='http://a/&#9;b'/>",
        "<link href='a' type='html'/>",
        "<link href='a' type=' text/html'/>",
        "<link href='a' hreflang='en_US'/>",
        "<link href='a' length='1.5'/>",
        "<link href='a' length=''/>",
        "<link href='a' rel='edit self'/>",
        "<link href='a' rel=''/>",
        "<content src='http://a/ b'/>",
        "<source/><source/>",
        "<link href='a' hreflang='en'/><link href='b' hreflang='EN'/>",
        "<r:in-reply-to xmlns:r='http://purl.org/syndication/thread/1.0' ref='a b'/>",
        "<r:in-reply-to xmlns:r='http://purl.org/syndication/thread/1.0' ref='a' type='x'/>",
    ]
    .map(str::to_owned)
    .into();
    for (name, inner) in [
        ("generator", "g"),
        ("icon", "i"),
        ("id", "urn:x"),
        ("logo", "l"),
        ("rights", "r"),
        ("subtitle", "s"),
        ("title", "t"),
        ("updated", "2003-12-13T18:30:02Z"),
    ] {
        let one = format!("<{name}>{inner}</{name}>");
        assert_eq!(class(&entry(&source(&one))), None, "{one}");
        all.push(source(&one.repeat(2)));
    }
    all.push(source("<updated> 2003-12-13T18:30:02Z</updated>"));
    all.push(source("<link href='a b'/>"));
    all.push(source("<generator uri='a b'>g</generator>"));
    all.push(source("<title xml:lang='e n'/>"));
    all.push(div("<title/>"));
    all.push(div("<h:p>a<author><name>b</name></author></h:p>"));
    for children in &all {
        assert_eq!(class(&entry(children)), Some(Class::Invalid), "{children}");
        let text = entry(children);
        assert!(wire::atom::entry::read_stored(&text).is_ok(), "{children}");
    }
    assert_eq!(class(&entry(&div("<svg xmlns='http://www.w3.org/2000/svg'/>"))), None);
}

/// RFC 4287 §2: of the root, too.
#[test]
fn what_the_root_states_has_its_form() {
    for attribute in ["xml:lang='e n'", "xml:lang=''", "xml:base='a b'"] {
        let text = entry("").replacen(' ', &format!(" {attribute} "), 1);
        assert_eq!(class(&text), Some(Class::Invalid), "{text}");
        let feed = text.replace("entry", "feed");
        assert_eq!(feed::read(&feed).unwrap_err().class(), Class::Invalid, "{feed}");
    }
}

/// RFC 4287 §4.1.2: a title, and a summary for what a reader may be unable to show.
#[test]
fn what_is_missing_is_invalid() {
    for children in [
        "<summary>s</summary>",
        "<title/><content src='http://a/'/>",
        "<title/><content type='image/png'>aGk=</content>",
    ] {
        let text = entry(children);
        let error = read(&text).unwrap().check_complete().unwrap_err();
        assert_eq!(error.class(), Class::Invalid, "{children}");
    }
    for children in ["<title/>", "<title/><summary/><content src='http://a/'/>"] {
        assert_eq!(read(&entry(children)).unwrap().check_complete(), Ok(()), "{children}");
    }
}

/// RFC 5023 §13.1, RFC 4287 §4.1.3.3: said to be 400 by the table of statuses.
#[test]
fn bad_drafts_and_base64_are_malformed() {
    let control = |inner: &str| {
        format!("<c:control xmlns:c='http://www.w3.org/2007/app'>{inner}</c:control>")
    };
    for children in [
        control("") + &control(""),
        control("<c:draft>maybe</c:draft>"),
        control("<c:draft/>"),
        control("<c:draft>no</c:draft><c:draft>no</c:draft>"),
        "<content type='image/png'>a</content>".to_owned(),
        "<content type='image/png'>aGk=aGk=</content>".to_owned(),
    ] {
        assert_eq!(class(&entry(&children)), Some(Class::Malformed), "{children}");
    }
}

/// RFC 5023 §7.2.1, §8.3.1 to §8.3.3.
#[test]
fn services_and_categories_keep_their_rules() {
    let app = |inner: &str| {
        format!(
            "<service xmlns='http://www.w3.org/2007/app' xmlns:a='http://www.w3.org/2005/Atom'>\
             {inner}</service>"
        )
    };
    let collection =
        |inner: &str| app(&format!("<workspace><a:title>t</a:title>{inner}</workspace>"));
    for text in [
        app(""),
        app("<workspace/>"),
        app("<workspace><a:title/><a:title/></workspace>"),
        collection("<collection href='x'/>"),
        collection("<collection><a:title/></collection>"),
        collection("<collection href='x'><a:title/><a:title/></collection>"),
        collection("<collection href='x'><a:title/><categories fixed='x'/></collection>"),
    ] {
        assert_eq!(service::read(&text).unwrap_err().class(), Class::Invalid, "{text}");
    }
    for (attributes, inner) in [
        ("href='x' fixed='yes'", ""),
        ("href='x' scheme='y'", ""),
        ("href='x'", "<a:category xmlns:a='http://www.w3.org/2005/Atom' term='t'/>"),
    ] {
        let text = format!(
            "<categories xmlns='http://www.w3.org/2007/app' {attributes}>{inner}</categories>"
        );
        assert_eq!(categories::read(&text).unwrap_err().class(), Class::Invalid, "{text}");
    }
}

/// Every bound is reached, and passed.
#[test]
fn bounds_are_where_they_are_said_to_be() {
    let deep = |depth: usize| entry(&("<x>".repeat(depth) + &"</x>".repeat(depth)));
    assert_eq!(class(&deep(XML_DEPTH_MAX - 1)), None);
    assert_eq!(class(&deep(XML_DEPTH_MAX)), Some(Class::Malformed));
    let many = |name: &str, count: usize| {
        let attributes: String = (0..count).map(|i| format!(" {name}{i}='u'")).collect();
        entry(&format!("<x{attributes}/>"))
    };
    assert_eq!(class(&many("a", XML_ATTRIBUTES_MAX)), None);
    assert_eq!(class(&many("a", XML_ATTRIBUTES_MAX + 1)), Some(Class::Malformed));
    // The default is one of those in scope.
    assert_eq!(class(&many("xmlns:a", XML_NAMESPACES_MAX - 1)), None);
    assert_eq!(class(&many("xmlns:a", XML_NAMESPACES_MAX)), Some(Class::Malformed));
    let long = |bytes: usize| entry(&format!("<x a='{}'/>", "a".repeat(bytes)));
    assert_eq!(class(&long(XML_ATTRIBUTE_BYTES_MAX)), None);
    assert_eq!(class(&long(XML_ATTRIBUTE_BYTES_MAX + 1)), Some(Class::Malformed));
    let based = |bytes: usize| entry(&format!("<x xml:base='/{}'/>", "a".repeat(bytes - 1)));
    assert_eq!(class(&based(XML_BASE_BYTES_MAX)), None);
    assert_eq!(class(&based(XML_BASE_BYTES_MAX + 1)), Some(Class::Malformed));
    // One within another counts as what they come to.
    let half = format!("<x xml:base='/{}/'>", "a".repeat(XML_BASE_BYTES_MAX / 2));
    let inner = format!("<y xml:base='{}'/></x>", "b".repeat(XML_BASE_BYTES_MAX / 2));
    assert_eq!(class(&entry(&(half + &inner))), Some(Class::Malformed));
    let children = |count: usize| entry(&"<x/>".repeat(count));
    assert_eq!(class(&children(ATOM_CHILDREN_MAX)), None);
    assert_eq!(class(&children(ATOM_CHILDREN_MAX + 1)), Some(Class::Invalid));
    let elements = |count: usize| entry(&format!("<x>{}</x>", "<x/>".repeat(count)));
    assert_eq!(class(&elements(XML_ELEMENTS_MAX - 2)), None);
    assert_eq!(class(&elements(XML_ELEMENTS_MAX - 1)), Some(Class::Malformed));
    let large = entry(&"x".repeat(XML_DOCUMENT_BYTES_MAX));
    assert_eq!(class(&large), Some(Class::Malformed));
    assert!(wire::xml::decode(large.as_bytes(), None).is_err());
    let Err(ReadError::Xml(refused)) = read(&deep(XML_DEPTH_MAX)) else { panic!("XML") };
    assert_eq!(refused.place.line, 1);
}
