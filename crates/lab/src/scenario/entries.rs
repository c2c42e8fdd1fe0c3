//! `[entries]`: what made entries and media are like.

use super::files::Files;
use super::section::{Section, Value};
use crate::limits::{MADE_BYTES_MAX, MADE_CATEGORIES_MAX, WORDS_BYTES_MAX};
use crate::plan::{ContentKind, Entries, Size};
use std::sync::Arc;

/// The section as a whole.
pub(super) fn read(section: &Section<'_>, files: &Files<'_>) -> Entries {
    let usual = Entries::default();
    Entries {
        bytes: section.get("bytes").and_then(|value| size(&value)).unwrap_or(usual.bytes),
        content_weights: section.get("content").map_or(usual.content_weights, |value| {
            weights(&value, ContentKind::ALL.map(ContentKind::name))
        }),
        categories_max: section
            .whole("categories", 0..=MADE_CATEGORIES_MAX as u64)
            .map_or(usual.categories_max, |count| count as usize),
        summary_share: section
            .number("summary_percent", 0.0..=100.0)
            .map_or(usual.summary_share, |percent| percent / 100.0),
        foreign_every: section.whole("foreign_every", 0..=u64::MAX).unwrap_or(usual.foreign_every),
        is_marked: section.truth("mark").unwrap_or(usual.is_marked),
        media_bytes: section
            .get("media_bytes")
            .and_then(|value| size(&value))
            .unwrap_or(usual.media_bytes),
        media_weights: section
            .get("media")
            .map_or(usual.media_weights, |value| weights(&value, ["jpeg", "png", "gif"])),
        words: section.get("words").and_then(|value| words(&value, files)),
        first_worker: usual.first_worker,
    }
}

/// `{ text = 40, html = 60 }`; what is not named has none.
fn weights<const N: usize>(value: &Value<'_>, names: [&'static str; N]) -> [f64; N] {
    let Some(section) = value.section() else { return [1.0; N] };
    let weights = names.map(|name| section.number(name, 0.0..=1e9).unwrap_or(0.0));
    section.close();
    if weights.iter().all(|weight| *weight == 0.0) {
        value.expected(format_args!("a weight above 0 for one of {}", names.join(", ")));
    }
    weights
}

/// A number of bytes, or a table of one of the distributions.
fn size(value: &Value<'_>) -> Option<Size> {
    const KINDS: [&str; 3] = ["uniform", "normal", "log_normal"];
    const MOST: f64 = MADE_BYTES_MAX as f64;
    if !value.is_table() {
        return value.whole(0..=MADE_BYTES_MAX as u64).map(|bytes| Size::Fixed(bytes as usize));
    }
    let section = value.section()?;
    let sigma = section.get("sigma").map(|sigma| sigma.number(0.0..=MOST));
    let max = section.whole("max", 1..=MADE_BYTES_MAX as u64).map(|max| max as usize);
    let size = match section.which(&KINDS).as_slice() {
        ["uniform"] => {
            let list = section.get("uniform")?.list()?;
            let whole = |value: &Value<'_>| value.whole(0..=MADE_BYTES_MAX as u64);
            match list.as_slice() {
                [from, to] => Some(Size::Uniform(whole(from)? as usize, whole(to)? as usize)),
                _ => None,
            }
        }
        ["normal"] => {
            let mean = section.number("normal", 0.0..=MOST)?;
            Some(Size::Normal { mean, sigma: sigma.unwrap_or(Some(mean / 10.0))? })
        }
        ["log_normal"] => {
            let median = section.number("log_normal", 1.0..=MOST)?;
            let cap = (median * 64.0).min(MOST) as usize;
            let sigma = sigma.unwrap_or(Some(0.8))?;
            Some(Size::LogNormal { median, sigma, max: max.unwrap_or(cap) })
        }
        _ => None,
    };
    section.close();
    if size.is_none() {
        value.expected(
            "a number of bytes, { uniform = [FROM, TO] }, { normal = MEAN, sigma = S } or \
             { log_normal = MEDIAN, sigma = S, max = MOST }",
        );
    }
    size
}

/// A file with a word on each line.
fn words(value: &Value<'_>, files: &Files<'_>) -> Option<Arc<[String]>> {
    let bytes = files.bytes(value, WORDS_BYTES_MAX)?;
    let Ok(text) = String::from_utf8(bytes) else {
        value.wrong("its file is not UTF-8");
        return None;
    };
    // What XML forbids (XML 1.0 §2.2) could not be sent.
    let is_forbidden = |c: char| c.is_control() || matches!(c, '\u{FFFE}' | '\u{FFFF}');
    let is_word = |word: &&str| !word.is_empty() && !word.contains(is_forbidden);
    let words: Vec<String> = text.lines().filter(is_word).map(str::to_owned).collect();
    if words.is_empty() {
        value.wrong("its file has no word");
        return None;
    }
    Some(words.into())
}
