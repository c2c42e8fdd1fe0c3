//! Searches in texts that take time by the length of the text alone, whatever is looked for: the
//! engine compares at each place anew. Places are counted in UTF-16 code units.

use super::{Natives, Slot};
use crate::limits::{BIGINT_CHARS_MAX, JSON_PLAIN_BYTES_MAX, MARKS_MAX, PATTERN_CHARS_MAX};
use memchr::memmem;
use rquickjs::{Ctx, Result, String as JsString, TypedArray};

impl<'js> Natives<'js, '_> {
    pub(super) fn searches(&self) -> Result<()> {
        let slot = self.slot.clone();
        // Where `sought` is in `text`, each match after the one before; `text` itself must be
        // UTF-8, and where it is not, or `sought` is not, there is no answer.
        let places = move |ctx: Ctx<'js>, text: JsString<'js>, sought: JsString<'js>| {
            let (Some(text), Some(sought)) = (utf8(&text)?, utf8(&sought)?) else {
                return Ok(None);
            };
            charge((&ctx, &slot), &text, &sought)?;
            let places = places(&text, &sought);
            TypedArray::<u32>::new(ctx, places).map(Some)
        };
        self.add("places", places)?;
        let slot = self.slot.clone();
        // The first place from `from` on, or the last one up to it; -1 if there is none.
        let place = move |ctx: Ctx<'js>,
                          text: JsString<'js>,
                          sought: JsString<'js>,
                          from: usize,
                          is_last: bool| {
            let (Some(text), Some(sought)) = (utf8(&text)?, utf8(&sought)?) else {
                return Ok(None);
            };
            charge((&ctx, &slot), &text, &sought)?;
            let found =
                if is_last { last(&text, &sought, from) } else { first(&text, &sought, from) };
            Ok::<_, rquickjs::Error>(Some(found.map_or(-1.0, |place| place as f64)))
        };
        self.add("place", place)?;
        let slot = self.slot.clone();
        self.add("isSpent", move || slot.budget.is_limited() && slot.budget.is_spent())?;
        let slot = self.slot.clone();
        self.object.set("bigintCharsMax", BIGINT_CHARS_MAX)?;
        self.object.set("patternCharsMax", PATTERN_CHARS_MAX)?;
        self.object.set("marksMax", MARKS_MAX)?;
        self.object.set("jsonPlainMax", JSON_PLAIN_BYTES_MAX)?;
        self.add("isServing", move || slot.with(|_| Ok(())).is_ok())
    }
}

fn utf8(text: &JsString<'_>) -> Result<Option<String>> {
    match text.to_string() {
        Ok(text) => Ok(Some(text)),
        Err(rquickjs::Error::Utf8(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

fn charge((ctx, slot): (&Ctx<'_>, &Slot), text: &str, sought: &str) -> Result<()> {
    slot.charge(ctx, text.len() + sought.len())
}

fn places(text: &str, sought: &str) -> Vec<u32> {
    let (mut units, mut counted) = (0_u32, 0);
    let found = memmem::find_iter(text.as_bytes(), sought.as_bytes());
    found
        .map(|at| {
            units += length(&text[counted..at]) as u32;
            counted = at;
            units
        })
        .collect()
}

fn first(text: &str, sought: &str, from: usize) -> Option<usize> {
    let from = offset(text, from);
    let found = memmem::find(&text.as_bytes()[from..], sought.as_bytes())?;
    Some(length(&text[..from + found]))
}

fn last(text: &str, sought: &str, from: usize) -> Option<usize> {
    // Up to the end of a match that begins there.
    let end = floor(text, from.saturating_add(length(sought)));
    let found = memmem::rfind(&text.as_bytes()[..end], sought.as_bytes())?;
    Some(length(&text[..found]))
}

/// In UTF-16 code units.
fn length(text: &str) -> usize {
    text.chars().map(char::len_utf16).sum()
}

/// The offset of the first character that begins at this code unit or behind it. No match begins
/// within a pair, as none is half a pair.
fn offset(text: &str, units: usize) -> usize {
    let mut left = units;
    for (at, character) in text.char_indices() {
        if left == 0 {
            return at;
        }
        left = left.saturating_sub(character.len_utf16());
    }
    text.len()
}

/// The offset of the last boundary between characters up to this code unit.
fn floor(text: &str, units: usize) -> usize {
    let up = offset(text, units);
    let is_over = length(&text[..up]) > units;
    if is_over { text[..up].char_indices().next_back().map_or(0, |(at, _)| at) } else { up }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_counted_in_code_units() {
        let text = "aé😀aé😀a";
        assert_eq!(places(text, "aé"), [0, 4]);
        assert_eq!(places("aaaa", "aa"), [0, 2]);
        assert_eq!(
            (first(text, "a", 1), first(text, "a", 9), first(text, "x", 0)),
            (Some(4), None, None)
        );
        assert_eq!((first(text, "😀", 3), first(text, "😀", 2)), (Some(6), Some(2)));
        assert_eq!(
            (last(text, "a", 7), last(text, "a", 99), last(text, "é", 0)),
            (Some(4), Some(8), None)
        );
        assert_eq!(last(text, "😀a", 2), Some(2));
    }
}
