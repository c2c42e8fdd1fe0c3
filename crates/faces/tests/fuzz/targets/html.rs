//! HTML of strangers, cleaned for pages.

use crate::target::Target;
use faces::fuzzing::{clean_html, text_of_html};

pub(super) const TARGETS: &[Target] = &[Target {
    name: "html",
    run: html,
    seeds: &[
        b"<p>One <b>and</b> <a href=\"/x?a=1&amp;b\" title=y>two</a>.<p>three",
        b"<script>alert(1)</script><svg><a xlink:href=javascript:x><style></svg>",
        b"<svg/><img src=x onerror=y>",
        b"<a href=' java\tscript&colon;alert(1)'>x</a><!--><b>--><!-- x --!>",
        b"<ul><li>a<li>b<table><tr><td colspan=2>c</ul></table><noscript><p title=\"</noscript>",
        b"&lt;script&#62; &amp;amp; & &#x0; <![CDATA[x]]><?y?><x:y z='\"'>",
        b"<IMG SRC=\"&#106;avascript:x\"/ / =y ='z'><template><b></template></p></b>",
    ],
}];

const BASE: &str = "http://example.org/a/b";

/// Elements that a browser may run, or after which it reads on in another way, and attributes that
/// run or style.
const NEVER: [&str; 16] = [
    "<script",
    "<style",
    "<iframe",
    "<svg",
    "<math",
    "<object",
    "<embed",
    "<noscript",
    "<template",
    "<textarea",
    "<title",
    "<plaintext",
    "<form",
    "<base",
    "<meta",
    "<link",
];

/// What comes out is made of tags that are written as here, all closed, and is clean itself.
fn html(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let clean = clean_html(text, BASE);
    for wrong in NEVER {
        assert!(!clean.contains(wrong), "{wrong}: {clean}");
    }
    let mut open = Vec::new();
    let mut rest = clean.as_str();
    while let Some(at) = rest.find('<') {
        assert!(!rest[..at].contains('>'), "loose: {clean}");
        let end = tag_end(&rest[at..]).unwrap_or_else(|| panic!("unclosed: {clean}")) + at;
        let tag = &rest[at + 1..end];
        match tag.strip_prefix('/') {
            Some(name) => assert_eq!(open.pop(), Some(name), "{clean}"),
            None => open.extend(start(tag, &clean)),
        }
        rest = &rest[end + 1..];
    }
    assert!(open.is_empty(), "{open:?}: {clean}");
    assert_eq!(clean_html(&clean, BASE), clean, "it is clean itself");
    assert!(!text_of_html(text).contains('\n'));
}

/// Where the tag ends that a text begins with: `>` stands in no value, since it is escaped there.
fn tag_end(text: &str) -> Option<usize> {
    text.find('>')
}

/// The name of a start tag that needs an end tag.
fn start<'a>(tag: &'a str, clean: &str) -> Option<&'a str> {
    let (name, mut attributes) = tag.split_once(' ').unwrap_or((tag, ""));
    let is_name = !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric());
    assert!(is_name, "{name:?}: {clean}");
    while !attributes.is_empty() {
        let Some((name, after)) = attributes.split_once("=\"") else {
            assert_eq!(attributes, "controls", "{clean}");
            break;
        };
        let is_safe = name.bytes().all(|b| b.is_ascii_lowercase())
            && !name.starts_with("on")
            && !["style", "class", "id", "srcdoc", "srcset", "name"].contains(&name);
        assert!(is_safe, "{name:?}: {clean}");
        let (value, rest) = after.split_once('"').unwrap_or_else(|| panic!("{clean}"));
        let is_reference = ["href", "src", "cite", "poster"].contains(&name);
        let scheme = value.split([':', '/', '?', '#']).next().unwrap_or_default();
        let has_scheme = value[scheme.len()..].starts_with(':');
        let is_harmless = !["javascript", "data", "vbscript"]
            .iter()
            .any(|wrong| scheme.eq_ignore_ascii_case(wrong));
        assert!(!is_reference || !has_scheme || is_harmless, "{value:?}: {clean}");
        attributes = rest.trim_start_matches(' ');
    }
    let is_void = ["br", "hr", "img", "col", "wbr", "source"].contains(&name);
    (!is_void).then_some(name)
}
