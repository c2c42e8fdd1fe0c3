//! What may stay of HTML: elements, their attributes, and what these may hold. What is not named is
//! not there; the text in it stays.

/// An element that may stay.
#[derive(Debug)]
pub(super) struct Allowed {
    pub name: &'static str,
    pub is_void: bool,
    attributes: &'static [(&'static str, Value)],
    /// Attributes that the server adds.
    pub always: &'static str,
}

/// What an attribute may hold.
#[derive(Clone, Copy, Debug)]
pub(super) enum Value {
    Text,
    Number,
    /// Letters, digits and hyphens.
    Word,
    /// Where a link may lead.
    Link,
    /// Where a picture or a sound may come from.
    Source,
}

/// Of links.
pub(super) const LINK_SCHEMES: &[&str] =
    &["http", "https", "mailto", "ftp", "tel", "sms", "xmpp", "irc", "ircs", "geo", "gemini"];

/// Of what is loaded without being asked for.
pub(super) const SOURCE_SCHEMES: &[&str] = &["http", "https"];

/// Attributes that each element may have.
const EVERYWHERE: &[(&str, Value)] =
    &[("lang", Value::Word), ("dir", Value::Word), ("title", Value::Text)];

const CITE: &[(&str, Value)] = &[("cite", Value::Link)];
const EDIT: &[(&str, Value)] = &[("cite", Value::Link), ("datetime", Value::Text)];
const CELL: &[(&str, Value)] = &[
    ("colspan", Value::Number),
    ("rowspan", Value::Number),
    ("scope", Value::Word),
    ("align", Value::Word),
];
const SPAN: &[(&str, Value)] = &[("span", Value::Number)];

/// Elements without attributes of their own.
const PLAIN: [&str; 62] = [
    "abbr",
    "address",
    "article",
    "aside",
    "b",
    "bdi",
    "bdo",
    "big",
    "caption",
    "center",
    "cite",
    "code",
    "dd",
    "dfn",
    "div",
    "dl",
    "dt",
    "em",
    "figcaption",
    "figure",
    "footer",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "header",
    "i",
    "kbd",
    "main",
    "mark",
    "nav",
    "p",
    "picture",
    "pre",
    "rp",
    "rt",
    "ruby",
    "s",
    "samp",
    "section",
    "small",
    "span",
    "strike",
    "strong",
    "sub",
    "summary",
    "sup",
    "table",
    "tbody",
    "tfoot",
    "thead",
    "tr",
    "tt",
    "u",
    "ul",
    "var",
    "acronym",
    "hgroup",
    "search",
    "menu",
];

static PLAIN_ELEMENTS: [Allowed; PLAIN.len()] = {
    let mut elements = [const { of("", &[]) }; PLAIN.len()];
    let mut at = 0;
    while at < PLAIN.len() {
        elements[at] = of(PLAIN[at], &[]);
        at += 1;
    }
    elements
};

static OTHERS: [Allowed; 21] = [
    Allowed {
        always: " rel=\"noopener nofollow\"",
        ..of("a", &[("href", Value::Link), ("hreflang", Value::Word)])
    },
    Allowed { always: " controls", ..of("audio", &[("src", Value::Source)]) },
    of("blockquote", CITE),
    void("br", &[]),
    void("col", SPAN),
    of("colgroup", SPAN),
    of("data", &[("value", Value::Text)]),
    of("del", EDIT),
    of("details", &[]),
    void("hr", &[]),
    Allowed {
        always: " loading=\"lazy\"",
        ..void(
            "img",
            &[
                ("src", Value::Source),
                ("alt", Value::Text),
                ("width", Value::Number),
                ("height", Value::Number),
            ],
        )
    },
    of("ins", EDIT),
    of("li", &[("value", Value::Number)]),
    of("ol", &[("start", Value::Number), ("type", Value::Word)]),
    of("q", CITE),
    void("source", &[("src", Value::Source), ("type", Value::Text)]),
    of("td", CELL),
    of("th", CELL),
    of("time", &[("datetime", Value::Text)]),
    Allowed {
        always: " controls",
        ..of(
            "video",
            &[
                ("src", Value::Source),
                ("poster", Value::Source),
                ("width", Value::Number),
                ("height", Value::Number),
            ],
        )
    },
    void("wbr", &[]),
];

const fn of(name: &'static str, attributes: &'static [(&'static str, Value)]) -> Allowed {
    Allowed { name, is_void: false, attributes, always: "" }
}

const fn void(name: &'static str, attributes: &'static [(&'static str, Value)]) -> Allowed {
    Allowed { name, is_void: true, attributes, always: "" }
}

/// The element of that name, if it may stay.
pub(super) fn element(name: &str) -> Option<&'static Allowed> {
    PLAIN_ELEMENTS.iter().chain(&OTHERS).find(|element| element.name == name)
}

impl Allowed {
    /// The attribute of that name, if the element may have it.
    pub(super) fn attribute(&self, name: &str) -> Option<(&'static str, Value)> {
        self.attributes.iter().chain(EVERYWHERE).find(|(known, _)| *known == name).copied()
    }
}

const BLOCKS: [&str; 31] = [
    "address",
    "article",
    "aside",
    "blockquote",
    "center",
    "dd",
    "details",
    "div",
    "dl",
    "dt",
    "figcaption",
    "figure",
    "footer",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "header",
    "hr",
    "li",
    "main",
    "nav",
    "ol",
    "p",
    "pre",
    "section",
    "table",
    "ul",
    "summary",
];

/// Whether it begins on a line of its own.
pub(super) fn is_block(name: &str) -> bool {
    BLOCKS.contains(&name) || matches!(name, "tr" | "td" | "th" | "caption")
}

/// Elements that may have a paragraph of their own, apart from one around them.
const PARAGRAPHS_OF_THEIR_OWN: [&str; 26] = [
    "address",
    "article",
    "aside",
    "blockquote",
    "center",
    "dd",
    "details",
    "div",
    "dl",
    "dt",
    "figcaption",
    "figure",
    "footer",
    "header",
    "li",
    "main",
    "nav",
    "ol",
    "section",
    "table",
    "td",
    "th",
    "caption",
    "ul",
    "audio",
    "video",
];

/// What the start tag of an element ends (HTML §13.1.2.4), and within what it is looked for.
pub(super) fn ends(name: &str) -> Option<(&'static [&'static str], &'static [&'static str])> {
    Some(match name {
        "li" => (&["li"], &["ul", "ol", "menu"]),
        "dt" | "dd" => (&["dt", "dd"], &["dl"]),
        "td" | "th" => (&["td", "th"], &["tr", "table"]),
        "tr" => (&["tr"], &["table", "thead", "tbody", "tfoot"]),
        "thead" | "tbody" | "tfoot" => (&["thead", "tbody", "tfoot"], &["table"]),
        name if BLOCKS.contains(&name) => (&["p"], &PARAGRAPHS_OF_THEIR_OWN),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Those after which a browser reads on in another way, or runs something.
    #[test]
    fn no_element_of_the_list_changes_how_a_page_is_read() {
        for name in [
            "script",
            "style",
            "title",
            "textarea",
            "xmp",
            "iframe",
            "noembed",
            "noframes",
            "noscript",
            "plaintext",
            "svg",
            "math",
            "template",
            "select",
            "object",
            "embed",
            "applet",
            "base",
            "link",
            "meta",
            "form",
            "input",
            "button",
            "frame",
            "frameset",
            "html",
            "head",
            "body",
            "marquee",
            "portal",
            "annotation-xml",
            "foreignobject",
        ] {
            assert!(element(name).is_none(), "{name}");
        }
    }

    #[test]
    fn no_attribute_of_the_list_runs_or_styles() {
        for element in PLAIN_ELEMENTS.iter().chain(&OTHERS) {
            for (name, _) in element.attributes.iter().chain(EVERYWHERE) {
                let is_harmless = !name.starts_with("on")
                    && !["style", "class", "id", "name", "srcset", "srcdoc", "background"]
                        .contains(name);
                assert!(is_harmless, "{name} of {}", element.name);
            }
        }
    }
}
