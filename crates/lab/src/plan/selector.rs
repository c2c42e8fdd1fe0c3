//! Which elements of a page are meant: the CSS selectors (Selectors Level 4) that scenarios need.
//! Types, `*`, ids, classes, attributes (`=`, `~=`, `|=`, `^=`, `$=`, `*=`), `:first-child`,
//! `:last-child`, `:nth-child()`, `:not()` of these, the four combinators, and lists. It looks at
//! no page.

use std::fmt;
use thiserror::Error;

/// A CSS selector, and what of the elements is taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selector {
    source: String,
    /// An element fits that fits one of them.
    pub(crate) alternatives: Vec<Chain>,
    pub(crate) attribute: Option<String>,
}

/// Compound selectors with what is between them, from right to left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Chain {
    /// Of the element itself.
    pub(crate) last: Vec<Test>,
    pub(crate) before: Vec<(Combinator, Vec<Test>)>,
}

/// Where the element is that the next compound selector to the left is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Combinator {
    /// Any around it.
    Descendant,
    /// The one around it.
    Child,
    /// The one before it.
    Next,
    /// Any before it, in the same element.
    Subsequent,
}

/// What must hold of an element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Test {
    /// Its name, in lower case.
    Type(String),
    Id(String),
    Class(String),
    Attribute(String, Match),
    /// It is the (a n + b)th child, for some n from 0, counted from the first or from the last.
    Nth {
        a: i32,
        b: i32,
        from_last: bool,
    },
    /// Not all of these hold.
    Not(Vec<Self>),
}

/// What an attribute's value must be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Match {
    Any,
    Is(String),
    /// One of its words is.
    HasWord(String),
    /// It is, or begins with it and a hyphen.
    Begins(String),
    StartsWith(String),
    EndsWith(String),
    Contains(String),
}

/// Why a text is no selector.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error(
    "expected a CSS selector like \"ul.events a[href]\", got \"{selector}\": {reason} at byte {at}"
)]
pub struct SelectorError {
    selector: String,
    reason: &'static str,
    at: usize,
}

impl Selector {
    /// Reads a selector. Of the elements, the attribute is taken; none: their text.
    ///
    /// # Errors
    /// It is none, or has something that is not supported.
    pub fn new(selector: &str, attribute: Option<&str>) -> Result<Self, SelectorError> {
        let mut reader = Reader { text: selector, at: 0 };
        let alternatives = reader.list().map_err(|reason| SelectorError {
            selector: selector.to_owned(),
            reason,
            at: reader.at,
        })?;
        Ok(Self {
            source: selector.to_owned(),
            alternatives,
            attribute: attribute.map(str::to_ascii_lowercase),
        })
    }
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.attribute {
            Some(attribute) => write!(f, "{} @{attribute}", self.source),
            None => f.write_str(&self.source),
        }
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

type Read<T> = Result<T, &'static str>;

impl Reader<'_> {
    fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    fn takes(&mut self, token: &str) -> bool {
        let is_it = self.text[self.at..].starts_with(token);
        self.at += if is_it { token.len() } else { 0 };
        is_it
    }

    fn pass_space(&mut self) -> bool {
        let rest = &self.text[self.at..];
        let space = rest.len() - rest.trim_start_matches([' ', '\t', '\r', '\n']).len();
        self.at += space;
        space > 0
    }

    fn list(&mut self) -> Read<Vec<Chain>> {
        let mut chains = Vec::new();
        loop {
            self.pass_space();
            chains.push(self.chain()?);
            if self.peek().is_none() {
                return Ok(chains);
            }
            if !self.takes(",") {
                return Err("expected a combinator, a comma or the end");
            }
        }
    }

    fn chain(&mut self) -> Read<Chain> {
        let (mut last, mut before) = (self.compound()?, Vec::new());
        loop {
            let spaced = self.pass_space();
            let combinator = match self.peek() {
                Some('>') => Combinator::Child,
                Some('+') => Combinator::Next,
                Some('~') => Combinator::Subsequent,
                None | Some(',') => break,
                Some(_) if spaced => Combinator::Descendant,
                Some(_) => return Err("expected a combinator, a comma or the end"),
            };
            if combinator != Combinator::Descendant {
                self.at += 1;
                self.pass_space();
            }
            before.push((combinator, std::mem::replace(&mut last, self.compound()?)));
        }
        before.reverse();
        Ok(Chain { last, before })
    }

    fn compound(&mut self) -> Read<Vec<Test>> {
        let (begin, mut tests) = (self.at, Vec::new());
        if !self.takes("*") && self.peek().is_some_and(is_name) {
            tests.push(Test::Type(self.name()?.to_ascii_lowercase()));
        }
        loop {
            tests.push(match self.peek() {
                Some('#') => {
                    self.at += 1;
                    Test::Id(self.name()?)
                }
                Some('.') => {
                    self.at += 1;
                    Test::Class(self.name()?)
                }
                Some('[') => self.attribute()?,
                Some(':') => self.pseudo_class()?,
                _ if self.at == begin => return Err("expected a selector"),
                _ => return Ok(tests),
            });
        }
    }

    fn name(&mut self) -> Read<String> {
        let mut name = String::new();
        while let Some(char) = self.peek() {
            self.at += char.len_utf8();
            match char {
                '\\' => {
                    let escaped = self.peek().filter(|c| !c.is_ascii_hexdigit() && *c != '\n');
                    let escaped = escaped.ok_or("only a sign may follow \\")?;
                    self.at += escaped.len_utf8();
                    name.push(escaped);
                }
                char if is_name(char) => name.push(char),
                char => {
                    self.at -= char.len_utf8();
                    break;
                }
            }
        }
        if name.is_empty() { Err("expected a name") } else { Ok(name) }
    }

    fn attribute(&mut self) -> Read<Test> {
        self.at += 1;
        self.pass_space();
        let name = self.name()?.to_ascii_lowercase();
        self.pass_space();
        if self.takes("]") {
            return Ok(Test::Attribute(name, Match::Any));
        }
        let operators = ["=", "~=", "|=", "^=", "$=", "*="];
        let operator = operators.into_iter().find(|sign| self.takes(sign));
        let operator = operator.ok_or("expected =, ~=, |=, ^=, $=, *= or ]")?;
        self.pass_space();
        let value = match self.peek() {
            Some(quote @ ('"' | '\'')) => self.quoted(quote)?,
            _ => self.name()?,
        };
        self.pass_space();
        if !self.takes("]") {
            return Err("expected ]");
        }
        let value = match operator {
            "~=" => Match::HasWord(value),
            "|=" => Match::Begins(value),
            "^=" => Match::StartsWith(value),
            "$=" => Match::EndsWith(value),
            "*=" => Match::Contains(value),
            _ => Match::Is(value),
        };
        Ok(Test::Attribute(name, value))
    }

    fn quoted(&mut self, quote: char) -> Read<String> {
        self.at += 1;
        let rest = &self.text[self.at..];
        let end = rest.find(quote).ok_or("the quote is never closed")?;
        if rest[..end].contains('\\') {
            return Err("escapes in quotes are not supported");
        }
        self.at += end + 1;
        Ok(rest[..end].to_owned())
    }

    fn pseudo_class(&mut self) -> Read<Test> {
        if self.takes(":first-child") {
            return Ok(Test::Nth { a: 0, b: 1, from_last: false });
        }
        if self.takes(":last-child") {
            return Ok(Test::Nth { a: 0, b: 1, from_last: true });
        }
        if self.takes(":nth-child(") {
            let rest = &self.text[self.at..];
            let end = rest.find(')').ok_or("expected )")?;
            let (a, b) = nth(&rest[..end]).ok_or("expected odd, even, a number or like 2n+1")?;
            self.at += end + 1;
            return Ok(Test::Nth { a, b, from_last: false });
        }
        if self.takes(":not(") {
            self.pass_space();
            let tests = self.compound()?;
            self.pass_space();
            if !self.takes(")") {
                return Err("expected )");
            }
            return Ok(Test::Not(tests));
        }
        Err("only :first-child, :last-child, :nth-child() and :not() are supported")
    }
}

fn is_name(char: char) -> bool {
    char.is_ascii_alphanumeric() || matches!(char, '-' | '_' | '\\') || !char.is_ascii()
}

/// `an + b` (CSS Syntax Level 3 §6).
fn nth(text: &str) -> Option<(i32, i32)> {
    let text: String = text.chars().filter(|c| !c.is_ascii_whitespace()).collect();
    match text.to_ascii_lowercase().as_str() {
        "odd" => Some((2, 1)),
        "even" => Some((2, 0)),
        text => match text.split_once('n') {
            None => Some((0, text.parse().ok()?)),
            Some((a, b)) => {
                let a = match a {
                    "" | "+" => 1,
                    "-" => -1,
                    a => a.parse().ok()?,
                };
                let b = if b.is_empty() { 0 } else { b.parse().ok()? };
                Some((a, b))
            }
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_selectors_from_right_to_left() {
        let selector = Selector::new("ul#x > LI.a.b [HREF^='/e'], p", Some("Href")).unwrap();
        let text = str::to_owned;
        let list = [Test::Type(text("li")), Test::Class(text("a")), Test::Class(text("b"))];
        let chain = Chain {
            last: vec![Test::Attribute(text("href"), Match::StartsWith(text("/e")))],
            before: vec![
                (Combinator::Descendant, list.to_vec()),
                (Combinator::Child, vec![Test::Type(text("ul")), Test::Id(text("x"))]),
            ],
        };
        let p = Chain { last: vec![Test::Type(text("p"))], before: Vec::new() };
        assert_eq!(selector.alternatives, [chain, p]);
        assert_eq!(selector.attribute.as_deref(), Some("href"));
        assert_eq!(selector.to_string(), "ul#x > LI.a.b [HREF^='/e'], p @href");
    }

    #[test]
    fn counts_as_the_standard_does() {
        let cases = [
            ("odd", (2, 1)),
            ("EVEN", (2, 0)),
            ("3", (0, 3)),
            ("2n + 1", (2, 1)),
            ("-n+3", (-1, 3)),
            ("n", (1, 0)),
            ("+4n-1", (4, -1)),
        ];
        for (text, expected) in cases {
            assert_eq!(nth(text), Some(expected), "{text}");
        }
        assert_eq!((nth(""), nth("x"), nth("2n+")), (None, None, None));
    }

    #[test]
    fn says_what_is_wrong_and_where() {
        let refusals = [
            ("", "expected a selector", 0),
            ("a,", "expected a selector", 2),
            ("a >", "expected a selector", 3),
            ("a..b", "expected a name", 2),
            ("a[b", "expected =", 3),
            ("a[b=c", "expected ]", 5),
            ("a[b='c]", "never closed", 5),
            ("a:hover", "only :first-child", 1),
            ("a:nth-child(x)", "expected odd", 12),
            ("a:not(b c)", "expected )", 8),
            ("a)", "expected a combinator", 1),
            ("a{}", "expected a combinator", 1),
        ];
        for (selector, reason, at) in refusals {
            let error = Selector::new(selector, None).unwrap_err();
            assert!(error.to_string().contains(reason), "{selector}: {error}");
            assert_eq!(error.at, at, "{selector}: {error}");
        }
    }
}
