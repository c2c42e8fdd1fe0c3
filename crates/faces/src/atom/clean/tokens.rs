//! HTML taken apart: text and tags, as the HTML standard's tokenizer (§13.2.5) finds them, but for
//! errors that only concern looks. Comments, document types and elements whose content is no HTML
//! are passed over with what is in them. One pass over the text, nothing is kept.

use std::borrow::Cow;

/// What comes next.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Token<'a> {
    /// Text; character references stand in it as they came.
    Text(&'a str),
    Start(Tag<'a>),
    /// An end tag, by its name in lower case.
    End(Cow<'a, str>),
}

/// A start tag.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Tag<'a> {
    /// In lower case.
    pub name: Cow<'a, str>,
    /// The first of them: no element of the list has more.
    pub attributes: Vec<Attribute<'a>>,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Attribute<'a> {
    /// In lower case.
    pub name: Cow<'a, str>,
    /// As it came, without quotes.
    pub value: &'a str,
}

/// Attributes of a tag that are looked at. Others are passed over.
const ATTRIBUTES_MAX: usize = 64;

/// Elements whose content is another language, or none that a page of ours should show.
const PASSED_OVER: [&str; 12] = [
    "script", "style", "iframe", "noembed", "noframes", "title", "textarea", "xmp", "svg", "math",
    "template", "select",
];

/// The tokens of a text.
pub(super) struct Tokens<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Tokens<'a> {
    pub(super) fn of(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// Goes on while it is so; gives what was passed.
    fn take_while(&mut self, is_so: impl Fn(u8) -> bool) -> &'a str {
        let rest = self.rest();
        let end = rest.bytes().position(|byte| !is_so(byte)).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    /// Goes past the next `mark`, or to the end.
    fn pass(&mut self, mark: &str) {
        self.at = self.rest().find(mark).map_or(self.text.len(), |at| self.at + at + mark.len());
    }

    /// What begins with `<`; none if it was passed over.
    fn markup(&mut self) -> Option<Token<'a>> {
        let rest = self.rest();
        let second = rest.as_bytes().get(1).copied().unwrap_or(0);
        let third = rest.as_bytes().get(2).copied().unwrap_or(0);
        match second {
            b'!' if rest.starts_with("<!--") => {
                self.at += 4;
                // `<!-->` and `<!--->` are whole comments.
                match self.rest() {
                    short if short.starts_with('>') => self.at += 1,
                    short if short.starts_with("->") => self.at += 2,
                    _ => self.pass("-->"),
                }
                None
            }
            b'!' | b'?' => {
                self.pass(">");
                None
            }
            b'/' if third.is_ascii_alphabetic() => {
                self.at += 2;
                self.tag().map(|tag| Token::End(tag.name))
            }
            b'/' => {
                self.pass(">");
                None
            }
            _ => {
                self.at += 1;
                let tag = self.tag()?;
                if tag.name == "plaintext" {
                    self.at = self.text.len();
                    return None;
                }
                if PASSED_OVER.contains(&&*tag.name) {
                    self.pass_content(&tag.name);
                    return None;
                }
                Some(Token::Start(tag))
            }
        }
    }

    /// A tag from its name on. None if the text ends within it.
    fn tag(&mut self) -> Option<Tag<'a>> {
        let name = lower(self.take_while(|b| !is_space(b) && b != b'/' && b != b'>'));
        let mut attributes = Vec::new();
        loop {
            self.take_while(|b| is_space(b) || b == b'/');
            if self.byte()? == b'>' {
                self.at += 1;
                return Some(Tag { name, attributes });
            }
            let attribute = self.attribute();
            if attributes.len() < ATTRIBUTES_MAX {
                attributes.push(attribute);
            }
        }
    }

    fn attribute(&mut self) -> Attribute<'a> {
        let start = self.at;
        // One may begin with an equals sign (§13.2.5.32).
        if self.byte() == Some(b'=') {
            self.at += 1;
        }
        self.take_while(|b| !is_space(b) && !matches!(b, b'/' | b'>' | b'='));
        let name = lower(&self.text[start..self.at]);
        self.take_while(is_space);
        if self.byte() != Some(b'=') {
            return Attribute { name, value: "" };
        }
        self.at += 1;
        self.take_while(is_space);
        let value = match self.byte() {
            Some(quote @ (b'"' | b'\'')) => {
                self.at += 1;
                let value = self.take_while(|b| b != quote);
                self.at = (self.at + 1).min(self.text.len());
                value
            }
            _ => self.take_while(|b| !is_space(b) && b != b'>'),
        };
        Attribute { name, value }
    }

    /// Goes past the end tag of `name`, or to the end.
    fn pass_content(&mut self, name: &str) {
        loop {
            self.pass("</");
            let rest = self.rest().as_bytes();
            if rest.is_empty() {
                return;
            }
            let is_name = rest.len() > name.len()
                && rest[..name.len()].eq_ignore_ascii_case(name.as_bytes())
                && (is_space(rest[name.len()]) || matches!(rest[name.len()], b'/' | b'>'));
            if is_name {
                return self.pass(">");
            }
        }
    }
}

impl<'a> Iterator for Tokens<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        while self.at < self.text.len() {
            let rest = self.rest();
            let end = rest.match_indices('<').map(|(at, _)| at).find(|at| is_markup(&rest[*at..]));
            match end {
                Some(0) => {
                    if let Some(token) = self.markup() {
                        return Some(token);
                    }
                }
                end => {
                    let end = end.unwrap_or(rest.len());
                    self.at += end;
                    return Some(Token::Text(&rest[..end]));
                }
            }
        }
        None
    }
}

/// Whether what begins with `<` is more than that.
fn is_markup(text: &str) -> bool {
    let second = text.as_bytes().get(1).copied().unwrap_or(0);
    second.is_ascii_alphabetic() || matches!(second, b'!' | b'?' | b'/')
}

/// White space of HTML.
fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0c)
}

fn lower(name: &str) -> Cow<'_, str> {
    match name.bytes().any(|byte| byte.is_ascii_uppercase()) {
        true => Cow::Owned(name.to_ascii_lowercase()),
        false => Cow::Borrowed(name),
    }
}
