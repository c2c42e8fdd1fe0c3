//! Where in a JSON text a value is: what of JSONPath (RFC 9535) leads straight to values (names,
//! indexes, wildcards), and JSON Pointer (RFC 6901). It reads no JSON.

use std::fmt;
use thiserror::Error;

/// A path into a JSON text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonPath {
    source: String,
    pub(crate) steps: Vec<JsonStep>,
}

/// A step of a path, from a value to one or more in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum JsonStep {
    /// The member of that name; in an array the element of that index, if it is one.
    Name(String, Option<usize>),
    /// The element of an array.
    Index(usize),
    /// Every element of an array, every member's value of an object.
    Every,
}

/// Why a text is no path.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error(
    "expected a path like $.items[0].id, $.items[*]['a b'] or /items/0/id, got \"{path}\": \
     {reason} at byte {at}"
)]
pub struct JsonPathError {
    path: String,
    reason: &'static str,
    at: usize,
}

impl JsonPath {
    /// Reads a path: `$` and what follows it, or a pointer, which is empty or begins with `/`.
    ///
    /// # Errors
    /// Where it is neither.
    pub fn parse(text: &str) -> Result<Self, JsonPathError> {
        let steps = match text.strip_prefix('$') {
            Some(_) => Reader { text, at: 1 }.steps(),
            None if text.is_empty() || text.starts_with('/') => pointer(text),
            None => Err(("it begins with neither $ nor /", 0)),
        };
        match steps {
            Ok(steps) => Ok(Self { source: text.to_owned(), steps }),
            Err((reason, at)) => Err(JsonPathError { path: text.to_owned(), reason, at }),
        }
    }
}

impl fmt::Display for JsonPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.source)
    }
}

type Fault = (&'static str, usize);

fn pointer(text: &str) -> Result<Vec<JsonStep>, Fault> {
    let mut at = 0;
    let tokens = text.split('/').skip(1).map(|token| {
        at += 1 + token.len();
        let escapes = token.match_indices('~').all(|(i, _)| {
            let next = token.as_bytes().get(i + 1);
            matches!(next, Some(b'0' | b'1'))
        });
        if !escapes {
            return Err(("~ is not followed by 0 or 1", at - token.len()));
        }
        let name = token.replace("~1", "/").replace("~0", "~");
        let index = index(&name);
        Ok(JsonStep::Name(name, index))
    });
    tokens.collect()
}

/// Digits without a leading zero.
fn index(text: &str) -> Option<usize> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit());
    let leading = text.len() > 1 && text.starts_with('0');
    if plain && !leading { text.parse().ok() } else { None }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl Reader<'_> {
    fn steps(mut self) -> Result<Vec<JsonStep>, Fault> {
        let mut steps = Vec::new();
        while let Some(byte) = self.peek() {
            steps.push(match byte {
                b'.' => self.after_dot()?,
                b'[' => self.in_brackets()?,
                _ => return Err(("expected . or [", self.at)),
            });
        }
        Ok(steps)
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn after_dot(&mut self) -> Result<JsonStep, Fault> {
        self.at += 1;
        match self.peek() {
            Some(b'*') => {
                self.at += 1;
                return Ok(JsonStep::Every);
            }
            Some(b'.') => return Err(("descendants (..) are not supported", self.at)),
            _ => {}
        }
        let rest = &self.text[self.at..];
        let is_name = |c: char| c.is_alphanumeric() || c == '_' || c == '-' || !c.is_ascii();
        let end = rest.find(|c| !is_name(c)).unwrap_or(rest.len());
        if end == 0 {
            return Err(("expected a name; write others as ['a name']", self.at));
        }
        self.at += end;
        Ok(JsonStep::Name(rest[..end].to_owned(), None))
    }

    fn in_brackets(&mut self) -> Result<JsonStep, Fault> {
        self.at += 1;
        let step = match self.peek() {
            Some(b'*') => {
                self.at += 1;
                JsonStep::Every
            }
            Some(quote @ (b'\'' | b'"')) => self.quoted(quote)?,
            _ => {
                let rest = &self.text[self.at..];
                let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
                let number = index(&rest[..end]).filter(|_| end > 0);
                self.at += end;
                let fault = ("expected *, an index from 0 or a quoted name", self.at - end);
                JsonStep::Index(number.ok_or(fault)?)
            }
        };
        if self.peek() != Some(b']') {
            return Err(("expected ]", self.at));
        }
        self.at += 1;
        Ok(step)
    }

    fn quoted(&mut self, quote: u8) -> Result<JsonStep, Fault> {
        let begin = self.at;
        self.at += 1;
        let mut name = String::new();
        let mut chars = self.text[self.at..].char_indices();
        while let Some((i, c)) = chars.next() {
            match c {
                '\\' => match chars.next() {
                    Some((_, escaped @ ('\\' | '\'' | '"' | '/'))) => name.push(escaped),
                    _ => return Err(("only a quote or \\ may follow \\", self.at + i)),
                },
                c if c == char::from(quote) => {
                    self.at += i + 1;
                    return Ok(JsonStep::Name(name, None));
                }
                c => name.push(c),
            }
        }
        Err(("the quoted name has no end", begin))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(path: &str) -> Vec<JsonStep> {
        JsonPath::parse(path).unwrap().steps
    }

    fn name(text: &str) -> JsonStep {
        JsonStep::Name(text.to_owned(), None)
    }

    #[test]
    fn reads_paths() {
        assert_eq!(steps("$"), []);
        let items = [name("items"), JsonStep::Index(10), name("id_1")];
        assert_eq!(steps("$.items[10].id_1"), items);
        assert_eq!(steps("$[*].*"), [JsonStep::Every, JsonStep::Every]);
        assert_eq!(steps("$['a b'][\"c'\"]"), [name("a b"), name("c'")]);
        assert_eq!(steps("$['it\\'s ]']"), [name("it's ]")]);
        assert_eq!(steps("$.größe"), [name("größe")]);
    }

    #[test]
    fn reads_pointers() {
        let step = |text: &str, index| JsonStep::Name(text.to_owned(), index);
        assert_eq!(steps(""), []);
        assert_eq!(steps("/"), [step("", None)]);
        assert_eq!(steps("/a/0/01"), [step("a", None), step("0", Some(0)), step("01", None)]);
        assert_eq!(steps("/a~1b/~01"), [step("a/b", None), step("~1", None)]);
    }

    #[test]
    fn says_what_is_wrong_and_where() {
        let refusals = [
            ("items", "neither $ nor /", 0),
            ("$items", "expected . or [", 1),
            ("$..a", "descendants", 2),
            ("$.", "expected a name", 2),
            ("$[", "expected *", 2),
            ("$[-1]", "expected *", 2),
            ("$[01]", "expected *", 2),
            ("$[1", "expected ]", 3),
            ("$['a]", "has no end", 2),
            ("$['\\n']", "may follow", 3),
            ("/a~2", "not followed", 1),
        ];
        for (path, reason, at) in refusals {
            let error = JsonPath::parse(path).unwrap_err();
            assert!(error.to_string().contains(reason), "{path}: {error}");
            assert_eq!(error.at, at, "{path}: {error}");
        }
    }
}
