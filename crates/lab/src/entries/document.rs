//! An entry as an Atom document (RFC 4287): head, categories, content up to the size that was
//! drawn, and the mark by which it is found again.

use super::Which;
use super::prose::{Markup, Prose, escape};
use super::words::Words;
use crate::plan::{ContentKind, Entries};
use crate::random::Random;
use std::io::Write;

/// The namespace of the mark, an element of nobody's vocabulary: a server has to keep it as it is
/// (RFC 4287 §6).
pub(crate) const MARK_NAMESPACE: &str = "tag:lab.example,2026:made";

/// The numbers in a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    pub(crate) run: u64,
    pub(crate) worker: u64,
    pub(crate) number: u64,
}

impl Mark {
    /// From the values of the attributes `run`, `worker` and `seq`.
    pub(crate) fn of<'a>(attribute: impl Fn(&str) -> Option<&'a str>) -> Option<Self> {
        let number = |name| attribute(name)?.parse().ok();
        Some(Self { run: number("run")?, worker: number("worker")?, number: number("seq")? })
    }
}

/// The first second of the entries' dates: 2026-01-01, in days.
const FIRST_DAY: u64 = 1;

pub(super) fn write(entries: &Entries, which: Which, out: &mut Vec<u8>) {
    let mut random = which.draws(false);
    let start = out.len();
    let size = entries.bytes.draw(&mut random);
    let kind = entries.content_kind(&mut random);
    let is_foreign = entries.foreign_every > 0
        && which.number % entries.foreign_every == entries.foreign_every - 1;
    let words = if is_foreign { Words::foreign() } else { Words::of(entries.words.as_deref()) };
    head(which, &words, &mut random, out);
    let categories = random.below(entries.categories_max as u64 + 1);
    for _ in 0..categories {
        out.extend_from_slice(b"<category term=\"");
        escape(words.draw(&mut random), out);
        out.extend_from_slice(b"\"/>\n");
    }
    let is_summed_up = random.unit() < entries.summary_share;
    if is_summed_up || matches!(kind, ContentKind::Base64 | ContentKind::Source) {
        out.extend_from_slice(b"<summary>");
        some_words(&words, 8 + random.below(8), &mut random, out);
        out.extend_from_slice(b"</summary>\n");
    }
    if entries.is_marked {
        mark(which, out);
    }
    // What comes after the content is its end tag and the entry's.
    let until = (start + size).saturating_sub("</content>\n</entry>\n".len());
    content(kind, until, &words, &mut random, out);
    out.extend_from_slice(b"</entry>\n");
}

/// What is in the entry but its id, without the tags around it.
pub(super) fn write_inside(entries: &Entries, which: Which, out: &mut Vec<u8>) {
    let mut whole = Vec::with_capacity(1024);
    write(entries, which, &mut whole);
    let find = |text: &str| memchr::memmem::find(&whole, text.as_bytes());
    if let (Some(title), Some(id), Some(updated), Some(end)) =
        (find("<title>"), find("<id>"), find("<updated>"), find("</entry>"))
    {
        out.extend_from_slice(&whole[title..id]);
        out.extend_from_slice(&whole[updated..end]);
    }
}

fn head(which: Which, words: &Words<'_>, random: &mut Random, out: &mut Vec<u8>) {
    out.extend_from_slice(
        b"<?xml version=\"1.0\" encoding=\"utf-8\"?>\n\
          <entry xmlns=\"http://www.w3.org/2005/Atom\">\n<title>",
    );
    let count = 3 + random.below(4);
    some_words(words, count, random, out);
    out.extend_from_slice(b"</title>\n<id>urn:uuid:");
    uuid(random, out);
    // A second later with each entry of a worker, from January 2026 on, over and over.
    let second = which.number % (28 * 24 * 60 * 60);
    let (day, rest) = (second / 86_400 + FIRST_DAY, second % 86_400);
    let (hour, minute, second) = (rest / 3_600, rest / 60 % 60, rest % 60);
    let _a_vector_takes_all = write!(
        out,
        "</id>\n<updated>2026-01-{day:02}T{hour:02}:{minute:02}:{second:02}Z</updated>\n\
         <author><name>"
    );
    some_words(words, 2, random, out);
    out.extend_from_slice(b"</name></author>\n");
}

/// A UUID of random numbers (RFC 9562 §5.4).
fn uuid(random: &mut Random, out: &mut Vec<u8>) {
    let (high, low) = (random.number(), random.number());
    let high = (high & !0xF000) | 0x4000;
    let low = (low >> 2) | (1 << 63);
    let _a_vector_takes_all = write!(
        out,
        "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
        high >> 32,
        high >> 16 & 0xFFFF,
        high & 0xFFFF,
        low >> 48,
        low & 0xFFFF_FFFF_FFFF
    );
}

fn some_words(words: &Words<'_>, count: u64, random: &mut Random, out: &mut Vec<u8>) {
    for number in 0..count {
        if number > 0 {
            out.push(b' ');
        }
        escape(words.draw(random), out);
    }
}

fn mark(which: Which, out: &mut Vec<u8>) {
    let Which { seed, worker, number } = which;
    let _a_vector_takes_all = writeln!(
        out,
        "<m:made xmlns:m=\"{MARK_NAMESPACE}\" run=\"{seed}\" worker=\"{worker}\" seq=\"{number}\"/>"
    );
}

/// The content, until there are so many bytes; at least a word.
fn content(
    kind: ContentKind,
    until: usize,
    words: &Words<'_>,
    random: &mut Random,
    out: &mut Vec<u8>,
) {
    let prose = |markup, random: &mut Random, out: &mut Vec<u8>| {
        Prose { markup, words, until }.write(random, out);
    };
    match kind {
        ContentKind::Text => {
            out.extend_from_slice(b"<content type=\"text\">");
            prose(Markup::None, random, out);
        }
        ContentKind::Html => {
            out.extend_from_slice(b"<content type=\"html\">");
            prose(Markup::Escaped, random, out);
        }
        ContentKind::Xhtml => {
            out.extend_from_slice(
                b"<content type=\"xhtml\"><div xmlns=\"http://www.w3.org/1999/xhtml\">",
            );
            prose(Markup::Elements, random, out);
            out.extend_from_slice(b"</div>");
        }
        ContentKind::Base64 => {
            out.extend_from_slice(b"<content type=\"application/octet-stream\">");
            loop {
                base64_group(random, out);
                if out.len() + 4 > until {
                    break;
                }
            }
        }
        ContentKind::Source => {
            let _a_vector_takes_all = writeln!(
                out,
                "<content type=\"image/png\" src=\"http://www.example.com/{:016x}.png\"/>",
                random.number()
            );
            return;
        }
    }
    out.extend_from_slice(b"</content>\n");
}

/// Three bytes as four letters (RFC 4648 §4).
fn base64_group(random: &mut Random, out: &mut Vec<u8>) {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let bits = random.number();
    out.extend((0..4).map(|place| LETTERS[(bits >> (6 * place) & 63) as usize]));
}
