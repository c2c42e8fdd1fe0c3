//! Entries that are made up, by a seed: what is read of one is what it was made of, and what is
//! stored means the same, alone and in a feed.

use super::owned;
use std::fmt::Write;
use wire::atom::{Content, entry::read, feed};
use wire::xml::{escape_attribute, escape_text};

/// Draws by a seed (SplitMix64, Steele, Lea and Flood 2014).
pub struct Made {
    state: u64,
}

const WORDS: [&str; 12] = [
    "stone",
    "a<b",
    "x&y",
    "it's",
    "\"said\"",
    "]]>",
    "\u{e9}t\u{e9}",
    "\u{65e5}\u{672c}",
    "\u{1f600}",
    "\u{5e9}\u{5dc}",
    "--",
    "\n",
];

const ATOM: &str = "http://www.w3.org/2005/Atom";

impl Made {
    pub fn new(seed: u64) -> Made {
        Made { state: seed }
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) % bound
    }

    fn words(&mut self) -> String {
        let count = 1 + self.below(5);
        let words: Vec<&str> = (0..count).map(|_| WORDS[self.below(12) as usize]).collect();
        words.join(" ")
    }

    /// Text as it may be written: escaped, or as CDATA, or both.
    fn written(&mut self, text: &str) -> String {
        let mut out = String::new();
        if self.below(3) == 0 && !text.contains("]]>") {
            _ = write!(out, "<![CDATA[{text}]]>");
        } else {
            escape_text(&mut out, text);
        }
        if self.below(4) == 0 {
            out.push_str("<!-- beside -->");
        }
        out
    }

    fn attribute(&mut self) -> String {
        let mut out = String::new();
        escape_attribute(&mut out, &self.words());
        out
    }

    /// An entry with these parts, and others.
    fn with(&mut self, title: &str, content: &str, foreign: &str) -> String {
        let prefix = ["", "atom:", "a-1:"][self.below(3) as usize];
        let named = |name: &str, attributes: &str, inner: &str| {
            format!("<{prefix}{name}{attributes}>{inner}</{prefix}{name}>")
        };
        let mut children = Vec::new();
        let text = self.written(title);
        children.push(named("title", "", &text));
        let text = self.written(content);
        let kinds = ["", " type='html'", " type=\"text/plain\""];
        children.push(named("content", kinds[self.below(3) as usize], &text));
        let text = self.written(foreign);
        let value = self.attribute();
        children.push(format!("<f:mark xmlns:f='urn:f' f:run=\"{value}\" seq='7'>{text}</f:mark>"));
        if self.below(2) == 0 {
            let value = self.attribute();
            children.push(named("category", &format!(" term=\"{value}\""), ""));
        }
        if self.below(2) == 0 {
            children.push(named("author", "", &named("name", "", "n")));
        }
        if self.below(2) == 0 {
            children.push(named("link", " rel='related' href='r/s?t'", ""));
        }
        if self.below(2) == 0 {
            let div = "<div xmlns='http://www.w3.org/1999/xhtml'><p>a<br/></p></div>";
            children.push(named("summary", " type='xhtml'", div));
        }
        for at in (1..children.len()).rev() {
            let other = self.below(at as u64 + 1) as usize;
            children.swap(at, other);
        }
        let declared = match prefix.strip_suffix(':') {
            Some(prefix) => format!(" xmlns:{prefix}='{ATOM}'"),
            None => format!(" xmlns='{ATOM}'"),
        };
        let more = ["", " xml:base='http://b/c'", " xml:base='c'", " xml:lang='de'"];
        let more = more[self.below(4) as usize];
        let space = ["", "\n  "][self.below(2) as usize];
        named("entry", &(declared + more), &children.join(space))
    }

    /// Any entry.
    pub fn entry(&mut self) -> String {
        let (title, content, foreign) = (self.words(), self.words(), self.words());
        self.with(&title, &content, &foreign)
    }
}

fn content(entry: &wire::atom::Entry<'_>) -> String {
    match entry.content.clone().unwrap() {
        Content::Text(text) => text.value,
        Content::OtherText { text, .. } => text,
        other => panic!("{other:?}"),
    }
}

/// RFC 4287 §6.3; what a client gets is what it sent.
#[test]
fn what_was_sent_is_got() {
    for seed in 0..3000 {
        let mut made = Made::new(seed);
        let (title, words, foreign) = (made.words(), made.words(), made.words());
        let text = made.with(&title, &words, &foreign);
        let sent = read(&text).unwrap_or_else(|e| panic!("seed {seed}: {e}\n{text}"));
        let stored = sent.stored(&owned());
        let got = read(&stored).unwrap_or_else(|e| panic!("seed {seed}: {e}\n{stored}"));
        let feed_text = format!(
            "<a:feed xmlns='urn:other' xmlns:f='urn:else' xmlns:a='{ATOM}'>{stored}</a:feed>"
        );
        let feed = feed::read(&feed_text).unwrap_or_else(|e| panic!("seed {seed}: {e}"));
        for entry in [&sent, &got, &feed.entries[0]] {
            assert_eq!(entry.title.as_ref().unwrap().value, title, "seed {seed}");
            assert_eq!(content(entry), words, "seed {seed}");
            let mark = &entry.foreign[0];
            assert_eq!((&*mark.namespace, &*mark.text), ("urn:f", &*foreign), "seed {seed}");
            assert_eq!(entry.categories, sent.categories, "seed {seed}");
        }
        assert_eq!(got.links, feed.entries[0].links, "seed {seed}");
        assert_eq!(got.content, feed.entries[0].content, "seed {seed}");
        let twice = got.stored(&owned());
        let again = read(&twice).unwrap().stored(&owned());
        assert_eq!(twice, again, "seed {seed}");
    }
}
