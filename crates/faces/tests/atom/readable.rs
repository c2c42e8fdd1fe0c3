//! Nothing that was taken makes anything unreadable: whatever is stored of it, by this version or
//! an earlier one, all views are there, and it can be edited and deleted.

use crate::site::{Reply, Site, get, with_type};
use crate::support::*;
use crate::views::{complaints, read_all};
use bytes::Bytes;
use repository::{CollectionName, Key};
use wire::limits::{
    ATOM_CHILDREN_MAX, XML_ATTRIBUTE_BYTES_MAX, XML_ATTRIBUTES_MAX, XML_BASE_BYTES_MAX,
    XML_NAMESPACES_MAX,
};

const MEDIA_TYPES: [&str; 24] = [
    "image/png",
    "IMAGE/PNG",
    "application/octet-stream",
    "message/rfc822",
    "Message/RFC822",
    "message/http; version=1.1",
    "multipart/mixed; boundary=x",
    "multipart/form-data; boundary=\"a b\"",
    "Multipart/x-mixed-replace;boundary=x",
    "text/plain; charset=\"utf-8\"",
    "text/html",
    "text",
    "text/xml",
    "image/svg+xml",
    "application/xml-dtd",
    "application/atom+xml",
    "application/atomsvc+xml",
    "audio/ogg; codecs=\"a<b>&'\"",
    "video/mp4;;",
    "a/b; c*=utf-8''%E2%82%AC",
    "!#$&-^_.+'%`|~/x",
    "image/*",
    "x/y;z=\"\\\"",
    "font/woff2 ; q",
];

const SLUGS: [&str; 14] = [
    "",
    "A Picture",
    "%00%01%1F%7F",
    "%EF%BF%BF%EF%BF%BE",
    "a%EF%BF%BFb%C2%85c",
    "%3Cscript%3E%26%22'",
    "..",
    "../../x",
    "%E0%A4%A8%E0%A4%AE%E0%A4%B8%E0%A5%8D%E0%A4%A4%E0%A5%87",
    "Se%CC%80te",
    "%F0%9F%91%A8%E2%80%8D%F0%9F%91%A9",
    "%D7%A9%D7%9C%D7%95%D7%9D",
    "]]%3E%3C%21--",
    "%",
];

/// What an entry has beside its title; some of it is taken.
const CHILDREN: [&str; 46] = [
    "<content>text &amp; &lt;b> ]]&gt; \u{85}\u{fffd}</content>",
    "<content type='html'>&lt;a href='x'&gt;&lt;script&gt;</content>",
    "<content type='xhtml'><div xmlns='http://www.w3.org/1999/xhtml'><p>a<br/></p></div></content>",
    "<content type='text/markdown'># a</content>",
    "<content type='image/svg+xml'><svg xmlns='http://www.w3.org/2000/svg'/></content>",
    "<content type='image/png'>aGk=</content><summary>s</summary>",
    "<content type='message/rfc822'>aGk=</content><summary>s</summary>",
    "<content type='multipart/mixed' src='http://a/'/><summary>s</summary>",
    "<content src='http://a/'/><summary>s</summary>",
    "<content src='/\u{e9}' type='image/png'/><summary type='html'>&lt;b&gt;</summary>",
    "<content xml:base='http://b/c/' xml:lang='de' type='html'>&lt;img src='d'&gt;</content>",
    "<content type='xhtml'><div xmlns='http://www.w3.org/1999/xhtml'><title \
     xmlns='http://www.w3.org/2005/Atom'/></div></content>",
    "<source><id>urn:x</id><title>s</title><updated>2003-12-13T18:30:02Z</updated></source>",
    "<source/><source/>",
    "<source><id>urn:x</id><id>urn:y</id></source>",
    "<published>2003-12-13T18:30:02.123456789+23:59</published>",
    "<published>0000-01-01T00:00:00Z</published>",
    "<published> 2003-12-13T18:30:02Z</published>",
    "<updated>9999-12-31T23:59:59Z</updated>",
    "<id>mine</id>",
    "<id> urn:x </id>",
    "<link href='x' rel='EDIT'/><link href='x' rel='Edit-Media' type='message/rfc822'/>",
    "<link href='http://a/' rel='alternate' type='text/html'/><link href='b' hreflang='de'/>",
    "<link href='http://a/' rel='enclosure' length='12' type='audio/ogg'/>",
    "<link href='http://\u{e9}/{x}' rel='enclosure' length='many'/>",
    "<link href='//b/\u{e9}' rel='enclosure' length='99999999999999999999'/>",
    "<link href='javascript:x' rel='related' hreflang='x y'/>",
    "<link href='' rel='related' title='&#9;&#10;'/>",
    "<link href='a b' rel='related'/>",
    "<link rel='' href='http://a/'/>",
    "<category term='' scheme='' label=''/><category term='&lt;\u{202e}'/>",
    "<category term='x' scheme='a b'/>",
    "<author><name></name><uri>javascript:x</uri><email>a@b</email></author>",
    "<author><name>\u{1f600}</name><uri>http://\u{e9}.example/\u{e9}</uri></author>",
    "<author><name>n</name><email>none</email></author>",
    "<contributor><name>c</name><x xmlns='urn:x'>y</x></contributor>",
    "<rights type='xhtml'><div xmlns='http://www.w3.org/1999/xhtml'/></rights>",
    "<control xmlns='http://www.w3.org/2007/app'><draft>yes</draft></control>",
    "<control xmlns='http://purl.org/atom/app#'><draft>yes</draft></control>",
    "<control xmlns='http://purl.org/atom/app#'><draft>no</draft></control>\
     <control xmlns='http://www.w3.org/2007/app'><draft>yes</draft></control>",
    "<edited xmlns='http://www.w3.org/2007/app'>never</edited>\
     <edited xmlns='http://purl.org/atom/app#'>never</edited>",
    "<t:in-reply-to xmlns:t='http://purl.org/syndication/thread/1.0' ref='urn:x' href='y' \
     type='a/b'/>",
    "<t:total xmlns:t='http://purl.org/syndication/thread/1.0'>18446744073709551615</t:total>",
    "<edit-media rel=\"edit-media\" type=\"message/x\" xmlns='urn:other'/>",
    "<x xmlns='' xml:lang='' xml:base='a b'><![CDATA[<]]>&#x10FFFF;<?p i?><!-- c --></x>",
    "<unknown><id/></unknown>",
];

const TITLES: [&str; 6] = [
    "<title/>",
    "<title>A &amp; \u{1f468}\u{200d}\u{1f469} <![CDATA[<]]></title>",
    "<title type='html'>&lt;b onclick=x&gt;A &amp;amp; &amp;#1; &lt;/b</title>",
    "<title type='xhtml'><div xmlns='http://www.w3.org/1999/xhtml'><em>A</em></div></title>",
    "<title xml:lang='ar' xml:base='http://t/'>\u{202e}A</title>",
    "<title xml:lang='not a language'>A</title>",
];

const ROOTS: [&str; 7] = [
    "",
    " xml:lang='fr'",
    " xml:lang='a_b'",
    " xml:base='sub/'",
    " xml:base='http://evil.example/'",
    " xml:base='//evil.example/x/'",
    " xml:base='/\\evil'",
];

/// Draws by a seed (SplitMix64, Steele, Lea and Flood 2014).
struct Drawn(u64);

impl Drawn {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        usize::try_from((z ^ (z >> 31)) % bound as u64).unwrap()
    }

    fn of<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all[self.below(all.len())]
    }

    fn entry(&mut self, children: &str) -> String {
        let (root, title) = (self.of(&ROOTS), self.of(&TITLES));
        format!("<entry xmlns='http://www.w3.org/2005/Atom'{root}>{title}{children}</entry>")
    }
}

/// Whether it was taken. What was not is the sender's to mend.
#[track_caller]
fn is_taken(reply: &Reply, sent: &str) -> bool {
    let is_refused = matches!(reply.status, 400 | 415 | 422);
    assert!(reply.status / 100 == 2 || is_refused, "{reply:?}: {sent}");
    !is_refused
}

/// All can be read, and all that can be checked from outside is valid; then each member can be
/// edited and deleted.
fn survive(site: &Site, publication: &str, members: &[String]) {
    let read = read_all(site, publication);
    // The schema knows neither what Atom does not define, which is kept, nor all dates: RFC 3339
    // has a year 0 and offsets above 14 hours.
    let is_known = |line: &&str| line.contains("\"unknown\" not") || line.contains("ISO date");
    let said = complaints(&read);
    let said: Vec<&str> = said.lines().filter(|line| !is_known(line)).collect();
    assert!(said.is_empty(), "{said:#?}");
    let editable = |member: &String| read.iter().find(|(at, _)| at == member);
    for member in members {
        let (_, shown) = editable(member).unwrap_or_else(|| panic!("{member} is in no list"));
        let again = site.ask(&put(member, "", &shown.body));
        assert_eq!(again.status, 200, "{again:?}: {}", shown.body);
        if let Some(link) = read_entry(&again.body).link("edit-media") {
            for media_type in ["image/gif", "message/rfc822"] {
                let other = with_type("PUT", &link.href, (media_type, ""), "other");
                assert_eq!(site.ask(&other).status, 204, "{member}");
                let shown = site.ask(&get(member));
                assert_eq!(read_entry(&shown.body).media_type(), Some(media_type), "{shown:?}");
            }
        }
    }
    read_all(site, publication);
    for member in members {
        assert_eq!(site.ask(&delete(member, "")).status, 204, "{member}");
    }
    for (at, reply) in read_all(site, publication) {
        assert!(!reply.body.contains("/entries/"), "{at}: {}", reply.body);
    }
}

#[test]
fn rfc4287_4_1_3_1_media_of_every_type_leave_all_readable() {
    let site = Site::start();
    make(&site, r#"{"title":"Blog"}"#);
    let mut members = Vec::new();
    for (number, media_type) in MEDIA_TYPES.iter().enumerate() {
        for slug in [SLUGS[number % SLUGS.len()], SLUGS[(number + 5) % SLUGS.len()]] {
            let fields = if slug.is_empty() { String::new() } else { format!("Slug: {slug}\r\n") };
            let reply =
                site.ask(&with_type("POST", "/atom/blog/media", (media_type, &fields), "bytes"));
            if !is_taken(&reply, media_type) {
                continue;
            }
            let member = path(&reply);
            let entry = read_entry(&reply.body);
            assert_eq!(entry.media_type(), Some(*media_type));
            let media = &entry.link("edit-media").unwrap().href;
            let got = site.ask(&get(media));
            assert_eq!(
                (got.body.as_str(), got.field("content-type")),
                ("bytes", Some(*media_type))
            );
            members.push(member);
        }
    }
    assert!(members.len() > MEDIA_TYPES.len(), "{}", members.len());
    survive(&site, "blog", &members);
}

#[test]
fn rfc4287_4_every_entry_that_is_taken_leaves_all_readable() {
    let site = Site::start();
    make(&site, r#"{"title":"Blog"}"#);
    let mut members = Vec::new();
    for seed in 0..300 {
        let mut drawn = Drawn(seed);
        // Each of them alone, and then some together.
        let children = match CHILDREN.get(usize::try_from(seed).unwrap()) {
            Some(one) => (*one).to_owned(),
            None => (0..2).map(|_| drawn.of(&CHILDREN)).collect(),
        };
        let entry = drawn.entry(&children);
        let slug = drawn.of(&SLUGS);
        let fields = if slug.is_empty() { String::new() } else { format!("Slug: {slug}\r\n") };
        let reply = site.ask(&post("blog", &fields, &entry));
        if is_taken(&reply, &entry) {
            members.push(path(&reply));
        }
    }
    assert!(members.len() > 60, "{}", members.len());
    survive(&site, "blog", &members);
}

/// What the server adds to an entry at a bound does not make it one that is not read.
#[test]
fn policy_an_entry_at_each_bound_leaves_all_readable() {
    let site = Site::start();
    make(&site, r#"{"title":"Blog"}"#);
    let with = |attributes: &str, children: &str| {
        format!(
            "<entry xmlns='http://www.w3.org/2005/Atom'{attributes}><title/>{children}\
             <content type='html'>a</content></entry>"
        )
    };
    let long = |bytes: usize| "b".repeat(bytes);
    let attributes: String = (1..XML_ATTRIBUTES_MAX).map(|n| format!(" a{n}='x'")).collect();
    let namespaces: String =
        (2..XML_NAMESPACES_MAX).map(|n| format!(" xmlns:a{n}='urn:x'")).collect();
    let entries = [
        with("", &"<x/>".repeat(ATOM_CHILDREN_MAX - 2)),
        with(&attributes, ""),
        with(&namespaces, "<x xmlns:last='urn:x'/>"),
        with(&format!(" xml:base='{}'", long(XML_BASE_BYTES_MAX)), ""),
        with("", &format!("<x xml:base='{}'/>", long(XML_BASE_BYTES_MAX))),
        with(&format!(" xmlns:a='{}'", ">".repeat(XML_ATTRIBUTE_BYTES_MAX / 3)), ""),
    ];
    let mut members = Vec::new();
    for entry in &entries {
        let reply = site.ask(&post("blog", "", entry));
        assert_eq!(reply.status, 201, "{:.300}", format!("{reply:?}"));
        members.push(path(&reply));
    }
    read_all(&site, "blog");
    for member in &members {
        let shown = site.ask(&put(member, "", &with("", "")));
        assert_eq!(shown.status, 200, "{shown:?}");
        assert_eq!(site.ask(&delete(member, "")).status, 204);
    }
    read_all(&site, "blog");
}

/// Changes what is stored of a member to what an earlier version stored.
fn store(site: &Site, member: &str, change: impl Fn(&str) -> String) {
    let name = CollectionName::new("_atom-entries").unwrap();
    let key = Key::new(&member.replace("/atom/", "").replacen("/entries/", "/", 1)).unwrap();
    let done = site.repository.run(|tx| {
        let found = tx.get(&name, &key).unwrap().unwrap();
        let text = change(std::str::from_utf8(&found.body).unwrap());
        let media_type = found.media_type.clone();
        tx.put(&name, &key, media_type, Bytes::from(text), None).unwrap();
        Ok::<_, std::convert::Infallible>(())
    });
    done.unwrap();
}

#[test]
fn policy_what_an_earlier_version_took_is_readable() {
    let site = Site::start();
    make(&site, r#"{"title":"Blog"}"#);
    let mut members = Vec::new();
    for media_type in ["message/rfc822", "Multipart/Mixed; boundary=x"] {
        let posted =
            site.ask(&with_type("POST", "/atom/blog/media", ("image/png", "Slug: m\r\n"), "x"));
        let member = path(&posted);
        store(&site, &member, |text| text.replace("image/png", media_type));
        members.push((member, true));
    }
    for children in [
        "<source/><source/>",
        "<source><id>urn:x</id><id>urn:y</id></source>",
        "<published> 2003-12-13T18:30:02Z\n</published>",
        "<link href='a b' rel='related' type='html' hreflang='x y' length='many'/>",
        "<author><name>n</name><uri> http://a/ b</uri><email>none</email></author>",
        "<category term='x' scheme='a b'/><summary xml:lang='not one' xml:base='a b'>s</summary>",
        "<summary type='xhtml'><div xmlns='http://www.w3.org/1999/xhtml'><title \
         xmlns='http://www.w3.org/2005/Atom'/></div></summary>",
        "<control xmlns='http://purl.org/atom/app#'><draft>yes</draft></control>",
    ] {
        let member = publish(&site, "blog", "A");
        store(&site, &member, |text| text.replace("</entry>", &format!("{children}</entry>")));
        members.push((member, children.contains("control")));
    }
    let member = publish(&site, "blog", "A");
    store(&site, &member, |text| {
        text.replacen("2005/Atom\"", "2005/Atom\" xml:base=\"http://evil.example/\"", 1)
    });
    members.push((member, true));
    let read = read_all(&site, "blog");
    for (at, reply) in &read {
        let is_shown = !at.contains("/media/") && reply.body.contains("edit");
        assert!(!is_shown || !reply.body.contains("<content type=\"message/"), "{at}");
    }
    for (member, is_valid) in members {
        let shown = site.ask(&get(&member)).body;
        // What is against a rule now is the client's to mend when it edits the entry.
        assert_eq!(site.ask(&put(&member, "", &shown)).status == 200, is_valid, "{shown}");
        assert_eq!(site.ask(&put(&member, "", &an_entry("B", ""))).status, 200);
        assert_eq!(site.ask(&delete(&member, "")).status, 204);
    }
    read_all(&site, "blog");
}
