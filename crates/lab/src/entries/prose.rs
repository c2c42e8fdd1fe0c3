//! Paragraphs, lists and links of words, as plain text, as HTML in escaped form or as XHTML.

use super::words::Words;
use crate::random::Random;

/// How elements are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Markup {
    /// Not at all.
    None,
    /// As text that is HTML (RFC 4287 §4.1.3.3, type html).
    Escaped,
    /// As elements (type xhtml).
    Elements,
}

/// See above.
pub(super) struct Prose<'a> {
    pub(super) markup: Markup,
    pub(super) words: &'a Words<'a>,
    /// It ends when there are so many bytes, about.
    pub(super) until: usize,
}

impl Prose<'_> {
    pub(super) fn write(&self, random: &mut Random, out: &mut Vec<u8>) {
        loop {
            match (self.markup, random.below(4)) {
                (Markup::None, _) => self.sentence(random, out),
                (_, 0) => self.list(random, out),
                (_, _) => self.paragraph(random, out),
            }
            if out.len() >= self.until {
                return;
            }
            if self.markup == Markup::None {
                out.push(b' ');
            }
        }
    }

    fn paragraph(&self, random: &mut Random, out: &mut Vec<u8>) {
        self.tag("<p>", out);
        let count = 20 + random.below(40);
        let linked = random.below(count);
        for number in 0..count {
            if number > 0 {
                if out.len() >= self.until {
                    break;
                }
                out.push(b' ');
            }
            if number == linked {
                self.tag("<a href=\"http://www.example.com/\">", out);
                self.word(random, out);
                self.tag("</a>", out);
            } else {
                self.word(random, out);
            }
        }
        self.tag("</p>", out);
    }

    fn list(&self, random: &mut Random, out: &mut Vec<u8>) {
        self.tag("<ul>", out);
        for _ in 0..3 + random.below(3) {
            self.tag("<li>", out);
            self.word(random, out);
            out.push(b' ');
            self.word(random, out);
            self.tag("</li>", out);
            if out.len() >= self.until {
                break;
            }
        }
        self.tag("</ul>", out);
    }

    fn sentence(&self, random: &mut Random, out: &mut Vec<u8>) {
        for number in 0..5 + random.below(15) {
            if number > 0 {
                if out.len() >= self.until {
                    break;
                }
                out.push(b' ');
            }
            self.word(random, out);
        }
        out.push(b'.');
    }

    fn word(&self, random: &mut Random, out: &mut Vec<u8>) {
        let word = self.words.draw(random);
        match self.markup {
            Markup::Escaped if word.contains(['&', '<', '>']) => {
                let mut html = Vec::with_capacity(word.len() + 8);
                escape(word, &mut html);
                escape(&String::from_utf8_lossy(&html), out);
            }
            _ => escape(word, out),
        }
    }

    fn tag(&self, tag: &str, out: &mut Vec<u8>) {
        match self.markup {
            Markup::None => {}
            Markup::Escaped => escape(tag, out),
            Markup::Elements => out.extend_from_slice(tag.as_bytes()),
        }
    }
}

/// Text as it stands between tags, and between quotation marks.
pub(super) fn escape(text: &str, out: &mut Vec<u8>) {
    for byte in text.bytes() {
        match byte {
            b'&' => out.extend_from_slice(b"&amp;"),
            b'<' => out.extend_from_slice(b"&lt;"),
            b'>' => out.extend_from_slice(b"&gt;"),
            b'"' => out.extend_from_slice(b"&quot;"),
            byte => out.push(byte),
        }
    }
}
