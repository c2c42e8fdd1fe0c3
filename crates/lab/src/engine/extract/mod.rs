//! Values in replies: where they are, and which of several is taken. A thread has one finder, so
//! that looking needs no memory of its own.

mod json;
mod page;
mod select;
mod tree;

pub(crate) use page::{Kind, parts};

use crate::plan::{ExtractFrom, JsonPath, Selector};
use crate::random::Random;
use regex::bytes::Regex;
use tree::Tree;

/// A reply to be looked at.
#[derive(Clone, Copy)]
pub(crate) struct Seen<'a> {
    pub(crate) status: u16,
    /// Lines `name: value`.
    pub(crate) fields: &'a [u8],
    pub(crate) body: &'a [u8],
    /// The server and the path that it came from.
    pub(crate) base: (usize, &'a [u8]),
}

/// Finds values.
#[derive(Default)]
pub(crate) struct Finder {
    /// Where the values are that were found, in what was looked through.
    ranges: Vec<(usize, usize)>,
    /// What of a page was found: attributes and texts are not in it as they are.
    texts: Vec<u8>,
    /// The body as a page, if it was needed.
    page: Option<Tree>,
    value: Vec<u8>,
}

impl Finder {
    /// Begins with another reply.
    pub(crate) fn begin(&mut self) {
        self.page = None;
    }

    /// Gives memory back that an unusual reply needed.
    pub(crate) fn end(&mut self) {
        self.page = None;
        super::variables::give_back(&mut self.texts);
        super::variables::give_back(&mut self.value);
        if self.ranges.capacity() > RANGES_IDLE_MAX {
            self.ranges = Vec::new();
        }
    }

    /// The value, as text: the first of several, or with `picks` any of them.
    ///
    /// # Errors
    /// What was to be looked through is not what it should be; in words.
    pub(crate) fn find(
        &mut self,
        from: &ExtractFrom,
        seen: Seen<'_>,
        picks: Option<&mut Random>,
    ) -> Result<Option<&[u8]>, String> {
        self.ranges.clear();
        self.value.clear();
        let one = picks.is_none();
        let source = match from {
            ExtractFrom::Status => {
                super::fill::push_decimal(&mut self.value, u64::from(seen.status));
                return Ok(Some(&self.value));
            }
            ExtractFrom::Body => {
                self.value.extend_from_slice(seen.body);
                return Ok(Some(&self.value));
            }
            ExtractFrom::Header(name) => {
                values(seen.fields, name).for_each(|range| self.ranges.push(range));
                seen.fields
            }
            ExtractFrom::Json(path) => {
                let found = json::find(seen.body, &path.steps, one, &mut self.ranges);
                found.map_err(|at| not_json(at, seen.body))?;
                seen.body
            }
            ExtractFrom::Regex(regex) => {
                matches(regex, seen.body, one, &mut self.ranges);
                seen.body
            }
            ExtractFrom::Atom(place) => {
                self.texts.clear();
                for address in crate::atompub::addresses(seen.body, place)? {
                    let begin = self.texts.len();
                    self.texts.extend_from_slice(address.as_bytes());
                    self.ranges.push((begin, self.texts.len()));
                }
                &self.texts
            }
            ExtractFrom::Css(selector) => {
                self.select(selector, seen.body, one);
                &self.texts
            }
        };
        let count = self.ranges.len() as u64;
        let place = picks.map_or(0, |picks| picks.below(count)) as usize;
        let Some((begin, end)) = self.ranges.get(place) else { return Ok(None) };
        let value = &source[*begin..*end];
        if let ExtractFrom::Json(_) = from {
            json::push_text(value, &mut self.value).map_err(|at| not_json(at, seen.body))?;
        } else {
            self.value.extend_from_slice(value);
        }
        Ok(Some(&self.value))
    }

    fn select(&mut self, selector: &Selector, body: &[u8], one: bool) {
        let Self { ranges, texts, page, .. } = self;
        texts.clear();
        let page = page.get_or_insert_with(|| Tree::new(body));
        for element in select::select(page, selector) {
            let begin = texts.len();
            match &selector.attribute {
                Some(name) => match select::attribute(page, element, name) {
                    Some(value) => texts.extend_from_slice(value.as_bytes()),
                    None => continue,
                },
                None => texts.extend_from_slice(page.text(element).trim().as_bytes()),
            }
            ranges.push((begin, texts.len()));
            if one {
                return;
            }
        }
    }
}

/// The values that a path leads to, as they stand in the text; or the byte at which it shows that
/// it is not JSON.
pub(crate) fn json_values<'a>(text: &'a [u8], path: &JsonPath) -> Result<Vec<&'a [u8]>, usize> {
    let mut ranges = Vec::new();
    json::find(text, &path.steps, false, &mut ranges).map_err(|json::NotJson(at)| at)?;
    Ok(ranges.into_iter().map(|(begin, end)| &text[begin..end]).collect())
}

/// Ranges for which room stays between replies.
const RANGES_IDLE_MAX: usize = 4096;

fn not_json(json::NotJson(at): json::NotJson, body: &[u8]) -> String {
    let from = at.saturating_sub(20).min(body.len());
    let to = (at + 20).min(body.len());
    let near = String::from_utf8_lossy(&body[from..to]);
    format!("the body is not JSON: byte {at} is not what it should be, near {near:?}")
}

fn matches(regex: &Regex, body: &[u8], one: bool, ranges: &mut Vec<(usize, usize)>) {
    let mut places = regex.capture_locations();
    let mut from = 0;
    while from <= body.len()
        && let Some(whole) = regex.captures_read_at(&mut places, body, from)
    {
        let group = places.len() - 1;
        let range = places.get(group.min(1)).or(if group == 0 { places.get(0) } else { None });
        ranges.extend(range);
        if one && !ranges.is_empty() {
            return;
        }
        // An empty match must not be found again.
        from = whole.end() + usize::from(whole.is_empty());
    }
}

/// Where the values of a field are.
fn values<'a>(fields: &'a [u8], name: &'a str) -> impl Iterator<Item = (usize, usize)> + 'a {
    let mut at = 0;
    std::iter::from_fn(move || {
        while at < fields.len() {
            let begin = at;
            let length = memchr::memchr(b'\n', &fields[at..]).unwrap_or(fields.len() - at);
            at += length + 1;
            let line = &fields[begin..begin + length];
            let after = line.get(name.len()..).and_then(|rest| rest.strip_prefix(b":"));
            let Some(value) =
                after.filter(|_| line[..name.len()].eq_ignore_ascii_case(name.as_bytes()))
            else {
                continue;
            };
            let start = begin + name.len() + 1 + (value.len() - value.trim_ascii_start().len());
            return Some((start, start + value.trim_ascii().len()));
        }
        None
    })
}

/// The values of a field, one for each line of it.
pub(crate) fn all_of_field<'a>(fields: &'a [u8], name: &'a str) -> impl Iterator<Item = &'a [u8]> {
    values(fields, name).map(|(begin, end)| &fields[begin..end])
}

/// The first value of a field.
pub(crate) fn field<'a>(fields: &'a [u8], name: &str) -> Option<&'a [u8]> {
    values(fields, name).next().map(|(begin, end)| &fields[begin..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIELDS: &[u8] =
        b"Content-Type: text/html\r\nset-cookie:a=1\r\nX:  \r\nSet-Cookie: b=2 \r\n";
    const PAGE: &[u8] = b"<!DOCTYPE html><p class=a>one <b>&amp; two</b></p>\
        <ul><li><a href='/1?a&amp;b'>first<li><a HREF=/2>second</a><li><a>third</a></ul>";

    fn all(from: &ExtractFrom, body: &[u8]) -> Vec<String> {
        let seen = Seen { status: 201, fields: FIELDS, body, base: (0, b"/") };
        let mut found = Vec::new();
        let (mut finder, mut picks) = (Finder::default(), Random::of_user(1, 1));
        // Every value is picked sooner or later, and nothing else.
        for _ in 0..200 {
            let value = finder.find(from, seen, Some(&mut picks)).unwrap();
            let value = value.map(|value| String::from_utf8(value.to_vec()).unwrap());
            found.extend(value);
        }
        let first = finder.find(from, seen, None).unwrap();
        let first = first.map(|value| String::from_utf8(value.to_vec()).unwrap());
        found.sort();
        found.dedup();
        assert_eq!(first.is_some(), !found.is_empty());
        assert!(first.is_none_or(|first| found.contains(&first)));
        found
    }

    #[test]
    fn values_are_found_wherever_they_are() {
        let css = |selector, attribute| {
            all(&ExtractFrom::Css(Selector::new(selector, attribute).unwrap()), PAGE)
        };
        assert_eq!(css("p.a", None), ["one & two"]);
        assert_eq!(css("li > a[href]", Some("HREF")), ["/1?a&b", "/2"]);
        assert_eq!(css("li:last-child a:last-child", None), ["third"]);
        assert_eq!(css("table", None), Vec::<String>::new());

        let regex = |regex| all(&ExtractFrom::Regex(Regex::new(regex).unwrap()), b"a1b22c333");
        assert_eq!(regex("[a-z]([0-9]+)"), ["1", "22", "333"]);
        assert_eq!(regex("[0-9]{2}"), ["22", "33"]);
        assert_eq!(regex("(x)?b"), Vec::<String>::new());
        assert_eq!(regex("$"), [""]);

        let header = |name: &str| all(&ExtractFrom::Header(name.to_owned()), b"");
        assert_eq!(header("SET-COOKIE"), ["a=1", "b=2"]);
        assert_eq!(header("x"), [""]);
        assert_eq!(header("Content"), Vec::<String>::new());

        let json = ExtractFrom::Json(JsonPath::parse("$[*].a").unwrap());
        assert_eq!(all(&json, br#"[{"a":"x\n"},{"b":1},{"a":[2]}]"#), ["[2]", "x\n"]);
        assert_eq!(all(&ExtractFrom::Status, b""), ["201"]);
        assert_eq!(all(&ExtractFrom::Body, b"b"), ["b"]);
    }

    #[test]
    fn what_is_not_json_is_said_with_its_surroundings() {
        let from = ExtractFrom::Json(JsonPath::parse("$.a").unwrap());
        let seen = Seen { status: 200, fields: b"", body: b"<html>oops", base: (0, b"/") };
        let fault = Finder::default().find(&from, seen, None).unwrap_err();
        assert!(fault.contains("byte 0") && fault.contains("<html>oops"), "{fault}");
    }
}
