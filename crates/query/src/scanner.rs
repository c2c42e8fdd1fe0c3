//! Taking a text apart: the words of filters, orders and lists of fields, and where a mistake is.

use crate::bound::MARK;
use crate::field::{Field, Meta, Path};
use repository::excerpt;
use std::borrow::Cow;
use thiserror::Error;

/// Most characters of what came that a message shows.
pub(crate) const SHOWN_CHARS: usize = 24;

/// A text that does not follow the grammar.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("at character {at}: expected {expected}; got {got}")]
pub struct Mistake {
    /// Which character is the first that does not fit; they count from 1.
    pub at: usize,
    pub expected: Cow<'static, str>,
    pub got: String,
}

/// A text and how far it has been read.
#[derive(Clone, Debug)]
pub(crate) struct Scanner<'a> {
    text: &'a str,
    /// In bytes.
    at: usize,
    /// Whether a mark stands for a value.
    has_marks: bool,
}

/// A text in quotes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Quoted {
    pub text: String,
    /// Whether a `*` followed it inside of the quotes.
    pub is_prefix: bool,
}

impl<'a> Scanner<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self { text, at: 0, has_marks: false }
    }

    /// For a text in which [`MARK`] stands for a value.
    pub(crate) fn with_marks(text: &'a str) -> Self {
        Self { text, at: 0, has_marks: true }
    }

    /// Takes the mark that comes next, if one does: how many there are before it.
    pub(crate) fn take_mark(&mut self) -> Option<usize> {
        let before = self.text[..self.at].matches(MARK).count();
        (self.has_marks && self.take(MARK.encode_utf8(&mut [0; 4]))).then_some(before)
    }

    /// Where it is, in bytes; for [`Self::mistake_at`].
    pub(crate) fn place(&self) -> usize {
        self.at
    }

    /// What there is from here to where `other` is, which has come from here.
    pub(crate) fn until(&self, other: &Self) -> &'a str {
        &self.text[self.at..other.at]
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    pub(crate) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    pub(crate) fn is_at_end(&self) -> bool {
        self.rest().is_empty()
    }

    pub(crate) fn skip_space(&mut self) {
        let rest = self.rest().trim_start_matches([' ', '\t', '\r', '\n']);
        self.at = self.text.len() - rest.len();
    }

    /// Takes `symbol` if it comes next.
    pub(crate) fn take(&mut self, symbol: &str) -> bool {
        let is_next = self.rest().starts_with(symbol);
        if is_next {
            self.at += symbol.len();
        }
        is_next
    }

    /// Takes characters for as long as they belong.
    pub(crate) fn take_while(&mut self, belongs: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let end = rest.find(|c| !belongs(c)).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    /// Whether `word` comes next, and is not the beginning of a longer one.
    pub(crate) fn is_word(&self, word: &str) -> bool {
        let after = self.rest().strip_prefix(word);
        after.is_some_and(|after| !after.starts_with(|c| is_name_char(c) || c == '.'))
    }

    pub(crate) fn take_word(&mut self, word: &str) -> bool {
        self.is_word(word) && self.take(word)
    }

    pub(crate) fn mistake(&self, expected: impl Into<Cow<'static, str>>) -> Mistake {
        self.mistake_at(self.at, expected)
    }

    /// A mistake at a place given by its byte.
    pub(crate) fn mistake_at(
        &self,
        place: usize,
        expected: impl Into<Cow<'static, str>>,
    ) -> Mistake {
        let (before, after) = self.text.split_at(place);
        let got = match after {
            "" => "the end".to_owned(),
            after => format!("\"{}\"", excerpt(after, SHOWN_CHARS)),
        };
        let got = if self.has_marks { got.replace(MARK, "${…}") } else { got };
        Mistake { at: before.chars().count() + 1, expected: expected.into(), got }
    }

    /// A member or metadata: `author.name`, `"first name"`, `@key`.
    pub(crate) fn field(&mut self) -> Result<Field, Mistake> {
        if self.peek() == Some('@') {
            return self.meta().map(Field::Meta);
        }
        if ["AND", "OR", "NOT"].iter().any(|word| self.is_word(word)) {
            let expected = "a name; AND, OR and NOT as names are written in quotes";
            return Err(self.mistake(expected));
        }
        let mut names = vec![self.name("a name")?];
        while self.take(".") {
            names.push(self.name("a name after the \".\"")?);
        }
        Ok(Field::Member(Path::new(names)))
    }

    fn meta(&mut self) -> Result<Meta, Mistake> {
        let start = self.at;
        self.take("@");
        let name = self.take_while(is_name_char);
        let known = Meta::ALL.iter().find(|(known, _)| *known == name);
        known.map(|(_, meta)| *meta).ok_or_else(|| {
            let names: Vec<String> = Meta::ALL.iter().map(|(name, _)| format!("@{name}")).collect();
            let names = names.join(", ");
            self.mistake_at(start, format!("one of {names}, or a name in quotes"))
        })
    }

    fn name(&mut self, expected: &'static str) -> Result<String, Mistake> {
        if matches!(self.peek(), Some('"' | '\'')) {
            return self.quoted(false).map(|quoted| quoted.text);
        }
        match self.take_while(is_name_char) {
            "" => Err(self.mistake(expected)),
            name => Ok(name.to_owned()),
        }
    }

    /// A text in quotes, which comes next. With `takes_star`, a `*` says that it is a prefix, and
    /// can only be the last.
    pub(crate) fn quoted(&mut self, takes_star: bool) -> Result<Quoted, Mistake> {
        let Some(quote) = self.next() else { return Err(self.mistake("a text in quotes")) };
        let mut quoted = Quoted::default();
        loop {
            let place = self.at;
            match self.next() {
                None => return Err(self.mistake(format!("the {quote} that ends the text"))),
                Some(c) if c == quote => return Ok(quoted),
                Some(MARK) if self.has_marks => {
                    let expected = "a ${value} without quotes around it: it is a whole value";
                    return Err(self.mistake_at(place, expected));
                }
                Some('*') if takes_star => {
                    if self.peek() != Some(quote) {
                        return Err(self.mistake_at(place, STAR_AT_END));
                    }
                    quoted.is_prefix = true;
                }
                Some('\\') => quoted.text.push(self.escape(place)?),
                Some(c) => quoted.text.push(c),
            }
        }
    }

    fn next(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.at += next.len_utf8();
        Some(next)
    }

    /// What comes after a backslash at `place`.
    fn escape(&mut self, place: usize) -> Result<char, Mistake> {
        match self.next() {
            Some(c @ ('"' | '\'' | '\\' | '*')) => Ok(c),
            Some('n') => Ok('\n'),
            Some('r') => Ok('\r'),
            Some('t') => Ok('\t'),
            Some('u') => self.unicode(place),
            _ => Err(self.mistake_at(place, "\\\", \\', \\\\, \\*, \\n, \\r, \\t or \\u0000")),
        }
    }
}

impl Scanner<'_> {
    /// What follows `\u`: a character, or the first half of one whose second half follows (RFC 8259
    /// §7). Half a character is refused: no text has one.
    fn unicode(&mut self, place: usize) -> Result<char, Mistake> {
        let Some(first) = self.take_unit() else {
            let expected = "\\u and four hexadecimal digits";
            return Err(self.mistake_at(place, expected));
        };
        let second = match first {
            0xd800..0xdc00 if self.take("\\u") => self.take_unit(),
            _ => None,
        };
        let mut decoded = char::decode_utf16(std::iter::once(first).chain(second));
        match (decoded.next(), decoded.next()) {
            (Some(Ok(c)), None) => Ok(c),
            _ => {
                let expected = "a whole character: one above \\uFFFF is written as two \\u, a high \
                                surrogate and a low one";
                Err(self.mistake_at(place, expected))
            }
        }
    }

    /// Takes the four hexadecimal digits of a UTF-16 code unit.
    fn take_unit(&mut self) -> Option<u16> {
        let digits = self.rest().get(..4)?;
        let is_hex = digits.bytes().all(|b| b.is_ascii_hexdigit());
        let unit = u16::from_str_radix(digits, 16).ok().filter(|_| is_hex)?;
        self.at += 4;
        Some(unit)
    }
}

/// What to say of a star in the wrong place.
pub(crate) const STAR_AT_END: &str =
    "* only at the end, where it means any text that starts so; a star itself is \\* in quotes";

/// Whether a name without quotes can have `c`.
pub(crate) fn is_name_char(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '$' | '-') || (!c.is_ascii() && !c.is_whitespace())
}
