//! JSON text as values: members sorted by their names, so that equal objects are equal and a member
//! is found by its name. A member that is there twice counts as its last.

use crate::limits::DEPTH_MAX;
use std::borrow::Cow;

/// A value of a document or a schema.
#[derive(Clone, Debug)]
pub(crate) enum Value<'a> {
    Null,
    Boolean(bool),
    /// With its text, which has every digit.
    Number(f64, Cow<'a, str>),
    Text(Cow<'a, str>),
    Array(Vec<Value<'a>>),
    /// In the order of the names.
    Object(Vec<(Cow<'a, str>, Value<'a>)>),
}

impl PartialEq for Value<'_> {
    /// Numbers are equal by value (core §4.2.2).
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Null, Self::Null) => true,
            (Self::Boolean(a), Self::Boolean(b)) => a == b,
            (Self::Number(a, _), Self::Number(b, _)) => a == b,
            (Self::Text(a), Self::Text(b)) => a == b,
            (Self::Array(a), Self::Array(b)) => a == b,
            (Self::Object(a), Self::Object(b)) => a == b,
            _ => false,
        }
    }
}

impl<'a> Value<'a> {
    /// The value that is all of `text`; or what is wrong with that.
    pub(crate) fn parse(text: &'a str) -> Result<Self, String> {
        let mut parser = Parser { text, at: 0 };
        let value = parser.value(0)?;
        parser.space();
        match parser.at == text.len() {
            true => Ok(value),
            false => Err(parser.unexpected()),
        }
    }

    pub(crate) fn member(&self, name: &str) -> Option<&Value<'a>> {
        let Self::Object(members) = self else { return None };
        let at = members.binary_search_by(|(known, _)| (**known).cmp(name)).ok()?;
        Some(&members[at].1)
    }

    /// How JSON Schema calls what it is (validation §6.1.1).
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Boolean(_) => "boolean",
            Self::Number(..) => "number",
            Self::Text(_) => "string",
            Self::Array(_) => "array",
            Self::Object(_) => "object",
        }
    }

    /// About how many bytes comparing it looks at.
    pub(crate) fn size(&self) -> usize {
        match self {
            Self::Null | Self::Boolean(_) | Self::Number(..) => 8,
            Self::Text(text) => 8 + text.len(),
            Self::Array(all) => 8 + all.iter().map(Self::size).sum::<usize>(),
            Self::Object(all) => {
                8 + all.iter().map(|(name, value)| name.len() + value.size()).sum::<usize>()
            }
        }
    }

    /// The same, independent of the text that it came from.
    pub(crate) fn into_owned(self) -> Value<'static> {
        let own = |text: Cow<'_, str>| Cow::Owned(text.into_owned());
        match self {
            Self::Null => Value::Null,
            Self::Boolean(is) => Value::Boolean(is),
            Self::Number(number, text) => Value::Number(number, own(text)),
            Self::Text(text) => Value::Text(own(text)),
            Self::Array(all) => Value::Array(all.into_iter().map(Self::into_owned).collect()),
            Self::Object(all) => Value::Object(
                all.into_iter().map(|(name, value)| (own(name), value.into_owned())).collect(),
            ),
        }
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Parser<'a> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn unexpected(&self) -> String {
        format!("expected JSON; there is none at byte {}", self.at)
    }

    fn expect(&mut self, byte: u8) -> Result<(), String> {
        self.space();
        match self.peek() == Some(byte) {
            true => {
                self.at += 1;
                Ok(())
            }
            false => Err(self.unexpected()),
        }
    }

    fn value(&mut self, depth: usize) -> Result<Value<'a>, String> {
        if depth > DEPTH_MAX {
            return Err(format!("expected at most {DEPTH_MAX} levels of arrays and objects"));
        }
        self.space();
        match self.peek() {
            Some(b'{') => self.object(depth),
            Some(b'[') => self.array(depth),
            Some(b'"') => self.string().map(Value::Text),
            Some(b't') => self.word("true", Value::Boolean(true)),
            Some(b'f') => self.word("false", Value::Boolean(false)),
            Some(b'n') => self.word("null", Value::Null),
            _ => self.number(),
        }
    }

    fn word(&mut self, word: &str, value: Value<'a>) -> Result<Value<'a>, String> {
        if !self.text[self.at..].starts_with(word) {
            return Err(self.unexpected());
        }
        self.at += word.len();
        Ok(value)
    }

    fn number(&mut self) -> Result<Value<'a>, String> {
        let rest = &self.text[self.at..];
        let is_part = |c: char| c.is_ascii_digit() || matches!(c, '+' | '-' | '.' | 'e' | 'E');
        let length = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        let text = &rest[..length];
        let number = text.parse::<f64>().ok().filter(|number| number.is_finite());
        let number = number.ok_or_else(|| self.unexpected())?;
        self.at += length;
        Ok(Value::Number(number, Cow::Borrowed(text)))
    }

    fn array(&mut self, depth: usize) -> Result<Value<'a>, String> {
        let mut all = Vec::new();
        self.expect(b'[')?;
        self.space();
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(Value::Array(all));
        }
        loop {
            all.push(self.value(depth + 1)?);
            self.space();
            if self.peek() == Some(b']') {
                self.at += 1;
                return Ok(Value::Array(all));
            }
            self.expect(b',')?;
        }
    }

    fn object(&mut self, depth: usize) -> Result<Value<'a>, String> {
        let mut all: Vec<(Cow<'a, str>, Value<'a>)> = Vec::new();
        self.expect(b'{')?;
        self.space();
        let mut is_done = self.peek() == Some(b'}');
        while !is_done {
            self.space();
            let name = self.string()?;
            self.expect(b':')?;
            all.push((name, self.value(depth + 1)?));
            self.space();
            is_done = self.peek() == Some(b'}');
            if !is_done {
                self.expect(b',')?;
            }
        }
        self.at += 1;
        // The last of those with one name comes first, and stays.
        all.reverse();
        all.sort_by(|a, b| a.0.cmp(&b.0));
        all.dedup_by(|a, b| a.0 == b.0);
        Ok(Value::Object(all))
    }

    fn string(&mut self) -> Result<Cow<'a, str>, String> {
        if self.peek() != Some(b'"') {
            return Err(self.unexpected());
        }
        self.at += 1;
        let start = self.at;
        let plain = self.text[start..].find(['"', '\\']).ok_or_else(|| self.unexpected())?;
        self.at += plain;
        if self.peek() == Some(b'"') {
            self.at += 1;
            return Ok(Cow::Borrowed(&self.text[start..start + plain]));
        }
        let mut text = self.text[start..start + plain].to_owned();
        loop {
            let rest = &self.text[self.at..];
            let plain = rest.find(['"', '\\']).ok_or_else(|| self.unexpected())?;
            text.push_str(&rest[..plain]);
            self.at += plain + 1;
            if rest.as_bytes()[plain] == b'"' {
                return Ok(Cow::Owned(text));
            }
            text.push(self.escape()?);
        }
    }

    /// What stands after a backslash. A lone surrogate counts as U+FFFD.
    fn escape(&mut self) -> Result<char, String> {
        let byte = self.peek().ok_or_else(|| self.unexpected())?;
        self.at += 1;
        Ok(match byte {
            b'"' | b'\\' | b'/' => char::from(byte),
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                let high = self.unit()?;
                let is_pair =
                    (0xd800..0xdc00).contains(&high) && self.text[self.at..].starts_with("\\u");
                if !is_pair {
                    return Ok(char::from_u32(high).unwrap_or(char::REPLACEMENT_CHARACTER));
                }
                let before = self.at;
                self.at += 2;
                let low = self.unit()?;
                if !(0xdc00..0xe000).contains(&low) {
                    self.at = before;
                    return Ok(char::REPLACEMENT_CHARACTER);
                }
                let code = 0x1_0000 + ((high - 0xd800) << 10) + (low - 0xdc00);
                char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER)
            }
            _ => return Err(self.unexpected()),
        })
    }

    fn unit(&mut self) -> Result<u32, String> {
        let digits = self.text.get(self.at..self.at + 4);
        let unit = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
        let unit = unit.ok_or_else(|| self.unexpected())?;
        self.at += 4;
        Ok(unit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_are_equal_however_they_are_written() {
        let same = |a: &str, b: &str| Value::parse(a) == Value::parse(b);
        assert!(same("{\"a\":1,\"b\":[null]}", " { \"b\" : [ null ], \"a\" : 1.0 } "));
        assert!(same("\"\\u00e9\\ud83d\\ude00\\n\"", "\"é😀\\u000a\""));
        assert!(same("{\"a\":1,\"a\":2}", "{\"a\":2}"), "the last counts");
        assert!(!same("[1,2]", "[2,1]") && !same("0", "false") && !same("\"1\"", "1"));
    }

    #[test]
    fn what_is_no_json_is_refused() {
        for text in
            ["", "{", "[1,]", "{\"a\"}", "{\"a\":1,}", "\"", "\"\\x\"", "1 2", "nul", "-", "é"]
        {
            assert!(Value::parse(text).is_err(), "{text}");
        }
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(Value::parse(&nested(DEPTH_MAX)).is_ok());
        assert!(Value::parse(&nested(DEPTH_MAX + 2)).is_err());
    }
}
