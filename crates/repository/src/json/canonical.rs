//! One pass from JSON text to canonical text. Builds no tree.

use super::Error;
use super::number::append_literal;
use crate::limits::JSON_DEPTH_MAX;

/// Objects with at most this many members are checked for repeated names pair by pair.
const PAIRWISE_MEMBERS: usize = 12;

/// Checks `text` and returns its canonical form (see the module's documentation).
pub fn canonicalize(text: &[u8]) -> Result<Vec<u8>, Error> {
    let checked = std::str::from_utf8(text)
        .map_err(|e| Error::at(text, e.valid_up_to(), "expected UTF-8, got another byte"))?;
    let mut writer =
        Writer { text: checked, at: 0, out: Vec::with_capacity(text.len()), members: Vec::new() };
    let end = writer.document();
    end.map_err(|(offset, why)| Error::at(text, offset, why))?;
    Ok(writer.out)
}

/// The offset of a mistake in the text, and what it is.
type Mistake = (usize, String);

/// One member of an object that is open now, as ranges of `out`.
#[derive(Clone, Copy)]
struct Member {
    /// Where the name's opening quote is.
    start: usize,
    /// After the name's closing quote.
    name_end: usize,
    /// After the value.
    end: usize,
}

struct Writer<'a> {
    text: &'a str,
    at: usize,
    out: Vec<u8>,
    /// Members of all open objects; each object knows where its own begin.
    members: Vec<Member>,
}

impl Writer<'_> {
    fn document(&mut self) -> Result<(), Mistake> {
        self.skip_space();
        self.value(0)?;
        self.skip_space();
        match self.peek() {
            None => Ok(()),
            Some(_) => Err(self.expected("the end of the text")),
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn expected(&self, what: &str) -> Mistake {
        let got = match self.text[self.at..].chars().next() {
            Some(c) => format!("{c:?}"),
            None => "the end of the text".to_owned(),
        };
        (self.at, format!("expected {what}, got {got}"))
    }

    fn value(&mut self, depth: usize) -> Result<(), Mistake> {
        match self.peek() {
            Some(b'{') => self.object(depth + 1),
            Some(b'[') => self.array(depth + 1),
            Some(b'"') => self.string(),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.word("true"),
            Some(b'f') => self.word("false"),
            Some(b'n') => self.word("null"),
            _ => Err(self.expected("a value")),
        }
    }

    fn word(&mut self, word: &str) -> Result<(), Mistake> {
        if !self.text[self.at..].starts_with(word) {
            return Err(self.expected("a value"));
        }
        self.at += word.len();
        self.out.extend_from_slice(word.as_bytes());
        Ok(())
    }

    fn open(&mut self, depth: usize, bracket: u8) -> Result<(), Mistake> {
        if depth > JSON_DEPTH_MAX {
            return Err((self.at, format!("nested deeper than {JSON_DEPTH_MAX}")));
        }
        self.at += 1;
        self.out.push(bracket);
        self.skip_space();
        Ok(())
    }

    fn array(&mut self, depth: usize) -> Result<(), Mistake> {
        self.open(depth, b'[')?;
        if self.peek() != Some(b']') {
            loop {
                self.value(depth)?;
                self.skip_space();
                match self.peek() {
                    Some(b',') => self.out.push(b','),
                    Some(b']') => break,
                    _ => return Err(self.expected("',' or ']'")),
                }
                self.at += 1;
                self.skip_space();
            }
        }
        self.at += 1;
        self.out.push(b']');
        Ok(())
    }

    fn object(&mut self, depth: usize) -> Result<(), Mistake> {
        let (opened_at, first) = (self.at, self.members.len());
        self.open(depth, b'{')?;
        if self.peek() != Some(b'}') {
            loop {
                self.member(depth)?;
                self.skip_space();
                match self.peek() {
                    Some(b',') => self.out.push(b','),
                    Some(b'}') => break,
                    _ => return Err(self.expected("',' or '}'")),
                }
                self.at += 1;
                self.skip_space();
            }
        }
        self.at += 1;
        if let Some(name) = self.repeated_name(first) {
            return Err((opened_at, format!("the name {name} occurs twice in this object")));
        }
        self.order_members(first);
        self.members.truncate(first);
        self.out.push(b'}');
        Ok(())
    }

    fn member(&mut self, depth: usize) -> Result<(), Mistake> {
        if self.peek() != Some(b'"') {
            return Err(self.expected("a name in double quotes"));
        }
        let start = self.out.len();
        self.string()?;
        let name_end = self.out.len();
        self.skip_space();
        if self.peek() != Some(b':') {
            return Err(self.expected("':'"));
        }
        self.at += 1;
        self.out.push(b':');
        self.skip_space();
        self.value(depth)?;
        self.members.push(Member { start, name_end, end: self.out.len() });
        Ok(())
    }

    fn name(&self, member: Member) -> &[u8] {
        &self.out[member.start..member.name_end]
    }

    fn repeated_name(&self, first: usize) -> Option<String> {
        let members = &self.members[first..];
        let repeated = if members.len() <= PAIRWISE_MEMBERS {
            members.iter().enumerate().find_map(|(i, a)| {
                members[..i].iter().any(|b| self.name(*a) == self.name(*b)).then_some(*a)
            })
        } else {
            let mut sorted = members.to_vec();
            sorted.sort_unstable_by(|a, b| self.name(*a).cmp(self.name(*b)));
            sorted.windows(2).find_map(|w| (self.name(w[0]) == self.name(w[1])).then_some(w[0]))
        };
        repeated.map(|m| String::from_utf8_lossy(self.name(m)).into_owned())
    }

    /// Moves members with array-index names to the front, in ascending order.
    fn order_members(&mut self, first: usize) {
        let members = &self.members[first..];
        let Some(start) = members.first().map(|m| m.start) else { return };
        let index_of = |m: &Member| array_index(&self.out[m.start + 1..m.name_end - 1]);
        if !members.iter().any(|m| index_of(m).is_some()) {
            return;
        }
        let mut ordered: Vec<(u64, Member)> =
            members.iter().map(|m| (index_of(m).map_or(u64::MAX, u64::from), *m)).collect();
        ordered.sort_by_key(|(index, _)| *index);
        let mut moved = Vec::with_capacity(self.out.len() - start);
        for (_, member) in ordered {
            if !moved.is_empty() {
                moved.push(b',');
            }
            moved.extend_from_slice(&self.out[member.start..member.end]);
        }
        self.out.truncate(start);
        self.out.append(&mut moved);
    }

    fn number(&mut self) -> Result<(), Mistake> {
        let start = self.at;
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        match self.peek() {
            Some(b'0') => self.at += 1,
            Some(b'1'..=b'9') => self.digits(),
            _ => return Err(self.expected("a digit")),
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.some_digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.some_digits()?;
        }
        let text = self.text;
        append_literal(&text[start..self.at], &mut self.out).map_err(|why| (start, why))
    }

    fn digits(&mut self) {
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
    }

    fn some_digits(&mut self) -> Result<(), Mistake> {
        let before = self.at;
        self.digits();
        if self.at == before { Err(self.expected("a digit")) } else { Ok(()) }
    }

    fn string(&mut self) -> Result<(), Mistake> {
        let text = self.text;
        self.at += 1;
        self.out.push(b'"');
        loop {
            let rest = &text.as_bytes()[self.at..];
            let run = rest
                .iter()
                .position(|b| *b < 0x20 || *b == b'"' || *b == b'\\')
                .unwrap_or(rest.len());
            self.out.extend_from_slice(&rest[..run]);
            self.at += run;
            match self.peek() {
                Some(b'"') => break,
                Some(b'\\') => self.escape()?,
                Some(_) => return Err(self.expected("an escaped control character")),
                None => return Err(self.expected("'\"'")),
            }
        }
        self.at += 1;
        self.out.push(b'"');
        Ok(())
    }

    fn escape(&mut self) -> Result<(), Mistake> {
        let escaped = self.text.as_bytes().get(self.at + 1).copied();
        let plain = match escaped {
            Some(c @ (b'"' | b'\\' | b'/')) => c,
            Some(b'b') => 0x08,
            Some(b'f') => 0x0c,
            Some(b'n') => b'\n',
            Some(b'r') => b'\r',
            Some(b't') => b'\t',
            Some(b'u') => return self.unicode_escape(),
            _ => {
                self.at += 1;
                return Err(self.expected("one of \"\\/bfnrtu after a backslash"));
            }
        };
        self.at += 2;
        self.push_escaped(u32::from(plain));
        Ok(())
    }

    fn unicode_escape(&mut self) -> Result<(), Mistake> {
        let first = self.hex4(self.at)?;
        self.at += 6;
        let second = if (0xd800..0xdc00).contains(&first) && self.text[self.at..].starts_with("\\u")
        {
            self.hex4(self.at).ok().filter(|unit| (0xdc00..0xe000).contains(unit))
        } else {
            None
        };
        if let Some(second) = second {
            self.at += 6;
            self.push_escaped(0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00));
        } else {
            self.push_escaped(first);
        }
        Ok(())
    }

    /// The code unit of the `\uXXXX` at `at`.
    fn hex4(&self, at: usize) -> Result<u32, Mistake> {
        let digits = self.text.as_bytes().get(at + 2..at + 6).unwrap_or_default();
        let unit = digits
            .iter()
            .try_fold(0, |unit, b| char::from(*b).to_digit(16).map(|digit| unit * 16 + digit));
        match unit {
            Some(unit) if digits.len() == 4 => Ok(unit),
            _ => Err((at, "expected four hexadecimal digits after \\u".to_owned())),
        }
    }

    /// Appends one code point with the shortest escape it needs; a lone surrogate stays escaped.
    fn push_escaped(&mut self, code: u32) {
        let short = match code {
            0x08 => b'b',
            0x09 => b't',
            0x0a => b'n',
            0x0c => b'f',
            0x0d => b'r',
            0x22 => b'"',
            0x5c => b'\\',
            _ => 0,
        };
        if short != 0 {
            self.out.extend_from_slice(&[b'\\', short]);
            return;
        }
        match char::from_u32(code) {
            Some(c) if code >= 0x20 => {
                self.out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
            }
            _ => self.out.extend_from_slice(format!("\\u{code:04x}").as_bytes()),
        }
    }
}

/// The value of a name that is an array index (ECMA-262 §6.1.7): 0 to 2³² − 2, no leading zero.
pub(super) fn array_index(name: &[u8]) -> Option<u32> {
    let canonical = match name {
        [b'0'] => true,
        [b'1'..=b'9', rest @ ..] => rest.len() < 10 && rest.iter().all(u8::is_ascii_digit),
        _ => false,
    };
    if !canonical {
        return None;
    }
    let value = name.iter().fold(0_u64, |value, b| value * 10 + u64::from(b - b'0'));
    u32::try_from(value).ok().filter(|index| *index != u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn canonical(text: &str) -> String {
        String::from_utf8(canonicalize(text.as_bytes()).unwrap()).unwrap()
    }

    fn mistake(text: &str) -> String {
        canonicalize(text.as_bytes()).unwrap_err().to_string()
    }

    #[test]
    fn canonical_forms() {
        for (text, expected) in [
            (" { \"b\" : 1 , \"a\" : [ ] } ", r#"{"b":1,"a":[]}"#),
            (
                "[1.0,1e2,-0,0.1e-6,1E21,123456789012345680000]",
                "[1,100,0,1e-7,1e+21,123456789012345680000]",
            ),
            (r#""\u00e9\/\u0007\b\ud83d\ude00\ud83dx""#, "\"é/\\u0007\\b😀\\ud83dx\""),
            (r#""\ud83d\ud83d\ude00""#, "\"\\ud83d😀\""),
            (r#"{"b":1,"10":2,"9":3,"01":4}"#, r#"{"9":3,"10":2,"b":1,"01":4}"#),
            (
                r#"{"x":{"4294967295":1,"4294967294":2}}"#,
                r#"{"x":{"4294967294":2,"4294967295":1}}"#,
            ),
            ("\"\u{7f}\u{2028}\"", "\"\u{7f}\u{2028}\""),
            ("null", "null"),
        ] {
            let first = canonical(text);
            assert_eq!(first, expected);
            assert_eq!(canonical(&first), first, "the canonical form is its own canonical form");
        }
    }

    #[test]
    fn mistakes_name_the_place() {
        for (text, expected) in [
            ("", "line 1, column 1: expected a value, got the end of the text"),
            ("{\"a\":1,\n }", "line 2, column 2: expected a name in double quotes, got '}'"),
            ("[1 2]", "line 1, column 4: expected ',' or ']', got '2'"),
            ("01", "line 1, column 2: expected the end of the text, got '1'"),
            ("1.", "line 1, column 3: expected a digit, got the end of the text"),
            ("\"a", "expected '\"', got the end of the text"),
            ("\"\t\"", "expected an escaped control character"),
            (r#""\x""#, "after a backslash, got 'x'"),
            (r#""\u12g4""#, "expected four hexadecimal digits"),
            (r#""\u12é""#, "expected four hexadecimal digits"),
            (r#"{"a":1,"\u0061":2}"#, "the name \"a\" occurs twice"),
            ("9007199254740993", "cannot hold the integer 9007199254740993 exactly"),
            ("1e400", "beyond the range of a double"),
            ("nul", "expected a value"),
            ("1 true", "expected the end of the text, got 't'"),
        ] {
            let message = mistake(text);
            assert!(message.contains(expected), "{text}: {message}");
        }
        assert!(canonicalize(b"\"\xff\"").unwrap_err().why.contains("UTF-8"));
    }

    #[test]
    fn repeated_names_are_found_in_large_objects() {
        let members: Vec<String> = (0..100).map(|i| format!("\"m{i}\":{i}")).collect();
        assert!(canonicalize(format!("{{{}}}", members.join(",")).as_bytes()).is_ok());
        let repeated = format!("{{{},\"m50\":0}}", members.join(","));
        assert!(mistake(&repeated).contains("\"m50\" occurs twice"));
    }

    #[test]
    fn depth_is_bounded() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(canonicalize(nested(JSON_DEPTH_MAX).as_bytes()).is_ok());
        assert!(mistake(&nested(JSON_DEPTH_MAX + 1)).contains("nested deeper"));
    }
}
