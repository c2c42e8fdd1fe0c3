//! Values of a JSON text (RFC 8259), found without building a tree: what lies beside the path is
//! passed over, and only as much of it is checked as is needed for that.

use crate::plan::JsonStep;

/// A text that is not JSON, or not up to where it was looked at; the byte at which that shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NotJson(pub(crate) usize);

/// Adds to `found` where the values are that `path` leads to, in the order of the text; only the
/// first if `one` is enough. If an object has a name twice, the first counts.
pub(crate) fn find(
    text: &[u8],
    path: &[JsonStep],
    one: bool,
    found: &mut Vec<(usize, usize)>,
) -> Result<(), NotJson> {
    let one = one || !path.contains(&JsonStep::Every);
    Scan { text, at: 0, one, found }.walk(path).map(drop)
}

/// Appends a value as text: a string without quotes and escapes, all else as it stands.
pub(crate) fn push_text(value: &[u8], out: &mut Vec<u8>) -> Result<(), NotJson> {
    match value.strip_prefix(b"\"").and_then(|value| value.strip_suffix(b"\"")) {
        Some(content) => unescape(content, out),
        None => {
            out.extend_from_slice(value);
            Ok(())
        }
    }
}

struct Scan<'a, 'b> {
    text: &'a [u8],
    at: usize,
    one: bool,
    found: &'b mut Vec<(usize, usize)>,
}

impl Scan<'_, '_> {
    /// Follows the path from the value that begins here, and says whether enough was found. If not,
    /// the value has been passed over.
    fn walk(&mut self, path: &[JsonStep]) -> Result<bool, NotJson> {
        self.pass_space();
        let Some((step, rest)) = path.split_first() else {
            let begin = self.at;
            self.pass_value()?;
            self.found.push((begin, self.at));
            return Ok(self.one);
        };
        match self.peek() {
            Some(b'{') => self.walk_object(step, rest),
            Some(b'[') => self.walk_array(step, rest),
            _ => self.pass_value().map(|()| false),
        }
    }

    fn walk_object(&mut self, step: &JsonStep, rest: &[JsonStep]) -> Result<bool, NotJson> {
        let mut wanted = !matches!(step, JsonStep::Index(_));
        self.at += 1;
        self.pass_space();
        if self.passes(b'}') {
            return Ok(false);
        }
        loop {
            self.pass_space();
            let begin = self.at + 1;
            self.pass_string()?;
            let name = &self.text[begin..self.at - 1];
            self.pass_space();
            self.expect(b':')?;
            let is_it = wanted
                && match step {
                    JsonStep::Name(wanted, _) => is_name(name, wanted),
                    _ => true,
                };
            if is_it {
                wanted = *step == JsonStep::Every;
                if self.walk(rest)? {
                    return Ok(true);
                }
            } else {
                self.pass_space();
                self.pass_value()?;
            }
            self.pass_space();
            if self.passes(b'}') {
                return Ok(false);
            }
            self.expect(b',')?;
        }
    }

    fn walk_array(&mut self, step: &JsonStep, rest: &[JsonStep]) -> Result<bool, NotJson> {
        self.at += 1;
        self.pass_space();
        if self.passes(b']') {
            return Ok(false);
        }
        for i in 0.. {
            let is_it = match step {
                JsonStep::Index(index) | JsonStep::Name(_, Some(index)) => *index == i,
                JsonStep::Name(_, None) => false,
                JsonStep::Every => true,
            };
            if is_it {
                if self.walk(rest)? {
                    return Ok(true);
                }
            } else {
                self.pass_space();
                self.pass_value()?;
            }
            self.pass_space();
            if self.passes(b']') {
                break;
            }
            self.expect(b',')?;
        }
        Ok(false)
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn pass_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
    }

    fn passes(&mut self, byte: u8) -> bool {
        let is_it = self.peek() == Some(byte);
        self.at += usize::from(is_it);
        is_it
    }

    fn expect(&mut self, byte: u8) -> Result<(), NotJson> {
        if self.passes(byte) { Ok(()) } else { Err(NotJson(self.at)) }
    }

    /// Passes over a value, however deep it is.
    fn pass_value(&mut self) -> Result<(), NotJson> {
        match self.peek() {
            Some(b'"') => self.pass_string(),
            Some(b'{' | b'[') => self.pass_nested(),
            Some(b'-' | b'0'..=b'9') => {
                let part =
                    |byte: u8| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E');
                while self.peek().is_some_and(part) {
                    self.at += 1;
                }
                Ok(())
            }
            _ => {
                let rest = &self.text[self.at..];
                let words: [&[u8]; 3] = [b"true", b"false", b"null"];
                let word = words.into_iter().find(|word| rest.starts_with(word));
                self.at += word.ok_or(NotJson(self.at))?.len();
                Ok(())
            }
        }
    }

    fn pass_nested(&mut self) -> Result<(), NotJson> {
        let mut depth = 0_usize;
        while let Some(byte) = self.peek() {
            match byte {
                b'"' => {
                    self.pass_string()?;
                    continue;
                }
                b'{' | b'[' => depth += 1,
                b'}' | b']' => depth -= 1,
                _ => {}
            }
            self.at += 1;
            if depth == 0 {
                return Ok(());
            }
        }
        Err(NotJson(self.at))
    }

    fn pass_string(&mut self) -> Result<(), NotJson> {
        self.expect(b'"')?;
        loop {
            let rest = &self.text[self.at..];
            let Some(end) = memchr::memchr2(b'"', b'\\', rest) else {
                return Err(NotJson(self.text.len()));
            };
            self.at += end + 1;
            if rest[end] == b'"' {
                return Ok(());
            }
            if self.peek().is_none() {
                return Err(NotJson(self.at));
            }
            self.at += 1;
        }
    }
}

/// Whether the inside of a string is this name.
fn is_name(content: &[u8], name: &str) -> bool {
    if !content.contains(&b'\\') {
        return content == name.as_bytes();
    }
    let mut plain = Vec::with_capacity(content.len());
    unescape(content, &mut plain).is_ok() && plain == name.as_bytes()
}

/// Appends the inside of a string without its escapes. A half of a surrogate pair that stands
/// alone becomes U+FFFD.
fn unescape(content: &[u8], out: &mut Vec<u8>) -> Result<(), NotJson> {
    let mut at = 0;
    while let Some(plain) = memchr::memchr(b'\\', &content[at..]) {
        out.extend_from_slice(&content[at..at + plain]);
        at += plain + 2;
        let byte = match content.get(at - 1) {
            Some(byte @ (b'"' | b'\\' | b'/')) => *byte,
            Some(b'b') => 8,
            Some(b'f') => 12,
            Some(b'n') => b'\n',
            Some(b'r') => b'\r',
            Some(b't') => b'\t',
            Some(b'u') => {
                let (char, used) = escaped_char(&content[at..]).ok_or(NotJson(at))?;
                out.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes());
                at += used;
                continue;
            }
            _ => return Err(NotJson(at)),
        };
        out.push(byte);
    }
    out.extend_from_slice(&content[at..]);
    Ok(())
}

/// The character whose four digits, and maybe another escape, these bytes begin with; and how many
/// of them it takes.
fn escaped_char(bytes: &[u8]) -> Option<(char, usize)> {
    let first = four_digits(bytes)?;
    if (0xD800..0xDC00).contains(&first) && bytes[4..].starts_with(b"\\u") {
        let second = four_digits(&bytes[6..])?;
        if (0xDC00..0xE000).contains(&second) {
            let char = 0x1_0000 + ((first - 0xD800) << 10) + (second - 0xDC00);
            return Some((char::from_u32(char)?, 10));
        }
    }
    Some((char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER), 4))
}

fn four_digits(bytes: &[u8]) -> Option<u32> {
    let digits = bytes.get(..4)?;
    let digit = |sum: u32, byte: &u8| Some(sum * 16 + char::from(*byte).to_digit(16)?);
    digits.iter().try_fold(0, digit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::JsonPath;
    use crate::random::Random;
    use serde_json::Value;

    fn all(text: &str, path: &str) -> Vec<String> {
        let mut found = Vec::new();
        find(text.as_bytes(), &JsonPath::parse(path).unwrap().steps, false, &mut found).unwrap();
        let texts = found.into_iter().map(|(begin, end)| {
            let mut out = Vec::new();
            push_text(&text.as_bytes()[begin..end], &mut out).unwrap();
            String::from_utf8(out).unwrap()
        });
        texts.collect()
    }

    #[test]
    fn finds_what_the_path_leads_to() {
        let text = r#" {"a": [1, -2.5e3, {"b": "x\n\"y\""}], "c d": {"e": null, "f": [true]},
            "a": "again", "\u00e9": "\ud83d\ude00\ud800!", "0": "zero", "": {} } "#;
        assert_eq!(all(text, "$.a[0]"), ["1"]);
        assert_eq!(all(text, "/a/1"), ["-2.5e3"]);
        assert_eq!(all(text, "$.a[2].b"), ["x\n\"y\""]);
        assert_eq!(all(text, "$['c d'].e"), ["null"]);
        assert_eq!(all(text, "/c d/f"), ["[true]"]);
        assert_eq!(all(text, "$.é"), ["\u{1F600}\u{FFFD}!"]);
        assert_eq!(all(text, "/0"), ["zero"]);
        assert_eq!(all(text, "/"), ["{}"]);
        assert_eq!(all(text, "$.a[*]").len(), 3);
        assert_eq!(all(text, "$['c d'].*"), ["null", "[true]"]);
        for nothing in ["$.a[3]", "$.b", "$[0]", "$.a.b", "$.a[0].x", "/a/01"] {
            assert_eq!(all(text, nothing), Vec::<String>::new(), "{nothing}");
        }
        assert_eq!(all("[[1,2],[],[3]]", "$[*][*]"), ["1", "2", "3"]);
        assert_eq!(all("7", "$"), ["7"]);
    }

    #[test]
    fn one_is_found_without_looking_further() {
        let mut found = Vec::new();
        let path = JsonPath::parse("$[*]").unwrap();
        find(b"[1, nonsense", &path.steps, true, &mut found).unwrap();
        assert_eq!(found, [(1, 2)]);
    }

    #[test]
    fn what_is_not_json_is_told() {
        let fault = |text: &str, path: &str| {
            let path = JsonPath::parse(path).unwrap();
            find(text.as_bytes(), &path.steps, false, &mut Vec::new()).unwrap_err().0
        };
        assert_eq!(fault("", "$"), 0);
        assert_eq!(fault("<html>", "$.a"), 0);
        assert_eq!(fault("{\"a\" 1}", "$.a"), 5);
        assert_eq!(fault("{\"a", "$.a"), 3);
        assert_eq!(fault("{\"a\":1 \"b\":2}", "$.b"), 7);
        assert_eq!(fault("[1 2]", "$[1]"), 3);
        assert_eq!(fault("[[1,2]", "$[1]"), 6);
        assert!(push_text(b"\"\\x\"", &mut Vec::new()).is_err());
        assert!(push_text(b"\"\\u12\"", &mut Vec::new()).is_err());
    }

    /// A value of some depth.
    fn value(random: &mut Random, depth: u64) -> Value {
        let count = random.below(4) as usize;
        match random.below(if depth == 0 { 5 } else { 7 }) {
            0 => Value::Null,
            1 => Value::Bool(random.below(2) == 0),
            2 => (random.number() as i64).into(),
            // Read back as it was written, to the last digit.
            3 => (random.below(1000) as f64 / 8.0).into(),
            4 => name(random).into(),
            5 => (0..count).map(|_| value(random, depth - 1)).collect(),
            _ => {
                let members = (0..count).map(|_| (name(random), value(random, depth - 1)));
                Value::Object(members.collect())
            }
        }
    }

    fn name(random: &mut Random) -> String {
        let names = ["a", "b", "0", "1", "", "\"", "\\", "\n\u{1}", "é\u{1F600}", "]}", "{["];
        names[random.below(names.len() as u64) as usize].to_owned()
    }

    /// Every pointer into a value, with what is there.
    fn pointers(value: &Value, at: &str, all: &mut Vec<(String, Value)>) {
        all.push((at.to_owned(), value.clone()));
        let below: Vec<(String, &Value)> = match value {
            Value::Array(items) => {
                items.iter().enumerate().map(|(i, item)| (i.to_string(), item)).collect()
            }
            Value::Object(members) => {
                let escaped = |name: &String| name.replace('~', "~0").replace('/', "~1");
                members.iter().map(|(name, member)| (escaped(name), member)).collect()
            }
            _ => Vec::new(),
        };
        for (token, value) in below {
            pointers(value, &format!("{at}/{token}"), all);
        }
    }

    #[test]
    fn agrees_with_a_tree_wherever_it_is_asked() {
        let mut random = Random::of_user(3, 3);
        for _ in 0..2_000 {
            let tree = value(&mut random, 4);
            let texts = [tree.to_string(), serde_json::to_string_pretty(&tree).unwrap()];
            let mut places = Vec::new();
            pointers(&tree, "", &mut places);
            for (text, (pointer, expected)) in
                texts.iter().flat_map(|text| places.iter().map(move |place| (text, place)))
            {
                let path = JsonPath::parse(pointer).unwrap();
                let mut found = Vec::new();
                find(text.as_bytes(), &path.steps, false, &mut found).unwrap();
                assert_eq!(found.len(), 1, "{pointer} in {text}");
                let raw = &text[found[0].0..found[0].1];
                let got: Value = serde_json::from_str(raw).unwrap();
                assert_eq!(&got, expected, "{pointer} in {text}");
                if let Value::String(expected) = expected {
                    let mut out = Vec::new();
                    push_text(raw.as_bytes(), &mut out).unwrap();
                    assert_eq!(out, expected.as_bytes());
                }
            }
        }
    }
}
