//! A text as a stream of events, which borrow from it. Well-formedness that `quick-xml` does not
//! look at (names, attributes, characters, references, what stands beside the root) is checked
//! here, so are the bounds. A tree is nobody's need.

use super::attributes::{Attribute, Written, normalized, referred, split};
use super::characters::{check, is_plain_name, is_space, qualified};
use super::refused::{Place, Reason, Refused, shown};
use super::scope::{Name, Scope};
use super::{XML, XMLNS};
use crate::limits::{
    XML_ATTRIBUTE_BYTES_MAX, XML_ATTRIBUTES_MAX, XML_DEPTH_MAX, XML_DOCUMENT_BYTES_MAX,
    XML_ELEMENTS_MAX,
};
use quick_xml::events::Event as Token;
use std::borrow::Cow;
use std::ops::Range;

/// What comes next in a document.
#[derive(Clone, Debug)]
pub enum Event<'a> {
    /// An element begins. An empty one begins and ends.
    Start(Element<'a>),
    /// The innermost open element ends.
    End,
    /// Some of the text of the innermost open element; what belongs together may come in pieces.
    Text(Cow<'a, str>),
    /// A comment or a processing instruction.
    Aside,
}

/// A start tag.
#[derive(Clone, Debug)]
pub struct Element<'a> {
    /// Its name.
    pub name: Name<'a>,
    /// The prefix with which it is written; empty if there is none.
    pub prefix: &'a str,
    /// Its attributes, without namespace declarations.
    pub attributes: Vec<Attribute<'a>>,
}

impl<'a> Element<'a> {
    /// The value of an attribute in no namespace.
    pub fn get(&self, name: &str) -> Option<&str> {
        let found = self.attributes.iter().find(|attribute| attribute.name.is("", name));
        found.map(|attribute| &*attribute.value)
    }

    /// Its attributes in no namespace.
    pub fn unqualified(&self) -> impl Iterator<Item = &Attribute<'a>> {
        self.attributes.iter().filter(|attribute| attribute.name.namespace.is_empty())
    }
}

/// Reads a document.
#[derive(Debug)]
pub struct Reader<'a> {
    text: &'a str,
    tokens: quick_xml::Reader<&'a [u8]>,
    scope: Scope<'a>,
    /// Where the last event is.
    span: Range<usize>,
    /// Whether the last start tag was that of an empty element, whose end is still to be told.
    is_empty: bool,
    has_root: bool,
    /// Elements that have begun.
    elements: usize,
    /// Whether the text was taken before.
    is_trusted: bool,
}

impl<'a> Reader<'a> {
    /// For a text as `decode` gives it.
    ///
    /// # Errors
    ///
    /// Characters that XML does not allow, or a text that is too long.
    pub fn new(text: &'a str) -> Result<Reader<'a>, Refused> {
        if text.len() > XML_DOCUMENT_BYTES_MAX {
            let (what, max) = ("bytes of a document", XML_DOCUMENT_BYTES_MAX);
            return Err(Reason::Limit { what, max }.at(text, 0));
        }
        Reader::of(text, false)
    }

    /// For a text that is made of what `new` has read, now or in an earlier version: bounds are not
    /// looked at. What was added to a text at the bound must not make it unreadable.
    ///
    /// # Errors
    ///
    /// Characters that XML does not allow.
    pub fn trusted(text: &'a str) -> Result<Reader<'a>, Refused> {
        Reader::of(text, true)
    }

    fn of(text: &'a str, is_trusted: bool) -> Result<Reader<'a>, Refused> {
        if text.starts_with('\u{feff}') {
            return Err(Reason::Outside("text").at(text, 0));
        }
        check(text)?;
        let mut tokens = quick_xml::Reader::from_str(text);
        tokens.config_mut().check_comments = true;
        let scope = Scope::new(!is_trusted);
        Ok(Reader {
            text,
            tokens,
            scope,
            span: 0..0,
            is_empty: false,
            has_root: false,
            elements: 0,
            is_trusted,
        })
    }

    /// What comes next; none at the end of the document.
    ///
    /// # Errors
    ///
    /// The document is not well-formed, has a DOCTYPE, or passes a bound.
    pub fn read(&mut self) -> Result<Option<Event<'a>>, Refused> {
        if std::mem::take(&mut self.is_empty) {
            self.scope.leave();
            self.span.start = self.span.end;
            return Ok(Some(Event::End));
        }
        loop {
            self.span.start = self.position();
            let token = self.tokens.read_event();
            self.span.end = self.position();
            let event = match token {
                Ok(token) => self.event(token),
                Err(error) => Err(Reason::Syntax(shown_error(&error))),
            };
            match event {
                Ok(Found::Event(event)) => return Ok(Some(event)),
                Ok(Found::Nothing) => {}
                Ok(Found::End) => return Ok(None),
                Err(reason) => return Err(reason.at(self.text, self.span.start)),
            }
        }
    }

    fn position(&self) -> usize {
        usize::try_from(self.tokens.buffer_position()).map_or(self.text.len(), |position| {
            self.text.floor_char_boundary(position.min(self.text.len()))
        })
    }

    fn raw(&self) -> &'a str {
        self.text.get(self.span.clone()).unwrap_or("")
    }

    fn event(&mut self, token: Token<'a>) -> Result<Found<'a>, Reason> {
        let raw = self.raw();
        let inside = self.scope.depth() > 0;
        let within = |from: usize, to: usize| raw.get(from..raw.len().wrapping_sub(to));
        match token {
            Token::Start(_) => self.start(within(1, 1).unwrap_or("")).map(Found::Event),
            Token::Empty(_) => {
                let event = self.start(within(1, 2).unwrap_or(""))?;
                self.is_empty = true;
                Ok(Found::Event(event))
            }
            Token::End(_) => {
                self.scope.leave();
                Ok(Found::Event(Event::End))
            }
            Token::Text(_) if raw.contains("]]>") => {
                Err(Reason::Syntax("\"]]>\" may stand at the end of a CDATA section only".into()))
            }
            Token::Text(_) if inside => Ok(Found::Event(Event::Text(lines(raw)))),
            Token::Text(_) if raw.chars().all(is_space) => Ok(Found::Nothing),
            Token::Text(_) | Token::CData(_) | Token::GeneralRef(_) if !inside => {
                Err(Reason::Outside("text"))
            }
            Token::CData(_) => Ok(Found::Event(Event::Text(lines(within(9, 3).unwrap_or(""))))),
            Token::GeneralRef(_) => {
                let mut buffer = [0; 4];
                let c = referred(within(1, 1).unwrap_or(""))?;
                let text = c.encode_utf8(&mut buffer).to_owned();
                Ok(Found::Event(Event::Text(Cow::Owned(text))))
            }
            Token::Comment(_) if raw.ends_with("--->") => {
                Err(Reason::Syntax("\"--\" may not stand in a comment".into()))
            }
            Token::Comment(_) => Ok(Found::Event(Event::Aside)),
            Token::PI(_) => {
                let content = within(2, 2).unwrap_or("");
                let target = content.split(is_space).next().unwrap_or("");
                let is_one = is_plain_name(target) && !target.eq_ignore_ascii_case("xml");
                is_one.then_some(Found::Event(Event::Aside)).ok_or_else(|| {
                    Reason::Syntax(format!("no processing instruction is \"{}\"", shown(target)))
                })
            }
            Token::Decl(_) if self.span.start > 0 => {
                Err(Reason::Syntax("the XML declaration may stand at the beginning only".into()))
            }
            Token::Decl(_) => declaration(within(5, 2).unwrap_or("")).map(|()| Found::Nothing),
            Token::DocType(_) => Err(Reason::Doctype),
            Token::Eof if inside => Err(Reason::Syntax("an element has no end tag".into())),
            Token::Eof if !self.has_root => Err(Reason::Empty),
            Token::Eof => Ok(Found::End),
            Token::Text(_) => Ok(Found::Nothing),
        }
    }

    /// A start tag, without its brackets.
    fn start(&mut self, tag: &'a str) -> Result<Event<'a>, Reason> {
        if self.scope.depth() == 0 && std::mem::replace(&mut self.has_root, true) {
            return Err(Reason::Outside("another one"));
        }
        if !self.is_trusted && self.scope.depth() == XML_DEPTH_MAX {
            return Err(Reason::Limit { what: "elements within each other", max: XML_DEPTH_MAX });
        }
        if !self.is_trusted && self.elements == XML_ELEMENTS_MAX {
            return Err(Reason::Limit { what: "elements", max: XML_ELEMENTS_MAX });
        }
        self.elements += 1;
        let (name, rest) = tag.split_at(tag.find(is_space).unwrap_or(tag.len()));
        let (prefix, local) = qualified(name)?;
        let written = split(rest, self.most(XML_ATTRIBUTES_MAX))?;
        let at = self.span.start + "<".len() + name.len();
        self.scope.enter();
        for one in &written {
            let declared = match one.name.strip_prefix("xmlns:") {
                Some(prefix) if is_plain_name(prefix) => prefix,
                Some(prefix) => return Err(Reason::Name(shown(prefix))),
                None if one.name == "xmlns" => "",
                None => continue,
            };
            self.scope.bind(declared, self.value(one)?)?;
        }
        let mut attributes: Vec<Attribute<'a>> = Vec::new();
        for one in written.iter().filter(|one| !is_declaration(one.name)) {
            let attribute = self.attribute(one, at)?;
            if attributes.iter().any(|other| other.name == attribute.name) {
                return Err(Reason::AttributeTwice(shown(one.name)));
            }
            attributes.push(attribute);
        }
        let namespace = self.namespace(prefix)?;
        Ok(Event::Start(Element { name: Name { namespace, local }, prefix, attributes }))
    }

    /// An attribute of a tag whose attributes begin at `at`.
    fn attribute(&mut self, written: &Written<'a>, at: usize) -> Result<Attribute<'a>, Reason> {
        let (prefix, local) = qualified(written.name)?;
        let namespace = if prefix.is_empty() { Cow::Borrowed("") } else { self.namespace(prefix)? };
        let value = self.value(written)?;
        match (&*namespace, local) {
            (XML, "base") => self.scope.set_base(&value)?,
            (XML, "lang") => self.scope.set_lang(&value),
            _ => {}
        }
        let (raw, at) = (written.raw, at + written.at);
        Ok(Attribute { name: Name { namespace, local }, value, raw, at })
    }

    fn value(&self, written: &Written<'a>) -> Result<Cow<'a, str>, Reason> {
        let max = self.most(XML_ATTRIBUTE_BYTES_MAX);
        if written.value.len() > max {
            return Err(Reason::Limit { what: "bytes of an attribute", max });
        }
        normalized(written.value)
    }

    /// A bound, if bounds are looked at.
    fn most(&self, bound: usize) -> usize {
        if self.is_trusted { usize::MAX } else { bound }
    }

    fn namespace(&self, prefix: &str) -> Result<Cow<'a, str>, Reason> {
        self.scope
            .resolve(prefix)
            .filter(|namespace| namespace != XMLNS)
            .ok_or_else(|| Reason::Prefix(shown(prefix)))
    }

    /// Reads to the end of the innermost open element.
    ///
    /// # Errors
    ///
    /// Those of `read`.
    pub fn skip(&mut self) -> Result<(), Refused> {
        let depth = self.depth();
        while self.depth() >= depth && self.read()?.is_some() {}
        Ok(())
    }

    /// Where the last event stands in the text, in bytes.
    pub fn span(&self) -> Range<usize> {
        self.span.clone()
    }

    /// The place of the last event.
    pub fn place(&self) -> Place {
        Place::of(self.text, self.span.start)
    }

    /// Whether the text was taken before (`trusted`).
    pub fn is_trusted(&self) -> bool {
        self.is_trusted
    }

    /// The whole text.
    pub fn text(&self) -> &'a str {
        self.text
    }

    /// Open elements.
    pub fn depth(&self) -> usize {
        self.scope.depth()
    }

    /// What `xml:base` states for the innermost open element, as far as the document tells.
    pub fn base(&self) -> Option<&str> {
        self.scope.base()
    }

    /// What `xml:lang` states for the innermost open element.
    pub fn lang(&self) -> Option<&str> {
        self.scope.lang()
    }

    /// Prefixes (empty for the default) and namespaces that the innermost open element may use.
    pub fn bindings(&self) -> Vec<(&'a str, Cow<'a, str>)> {
        self.scope.bindings()
    }
}

/// What a token is.
enum Found<'a> {
    Event(Event<'a>),
    /// Nothing that is told.
    Nothing,
    /// The end of the document.
    End,
}

fn is_declaration(name: &str) -> bool {
    name == "xmlns" || name.starts_with("xmlns:")
}

/// Text with its lines' ends as XML has them (§2.11).
fn lines(raw: &str) -> Cow<'_, str> {
    if !raw.contains('\r') {
        return Cow::Borrowed(raw);
    }
    Cow::Owned(raw.replace("\r\n", "\n").replace('\r', "\n"))
}

/// What is in `<?xml ... ?>` (§2.8).
fn declaration(content: &str) -> Result<(), Reason> {
    let refused = || Reason::XmlDeclaration(shown(content));
    let attributes = split(content, XML_ATTRIBUTES_MAX).map_err(|_| refused())?;
    let named = |name| move |one: &&Written<'_>| one.name == name;
    let mut rest = attributes.iter().peekable();
    let version = rest.next_if(named("version")).ok_or_else(refused)?.value;
    let minor = version.strip_prefix("1.").unwrap_or("");
    let is_version = !minor.is_empty() && minor.bytes().all(|byte| byte.is_ascii_digit());
    let encoding = rest.next_if(named("encoding")).map_or("UTF-8", |one| one.value);
    let is_encoding = encoding.starts_with(|c: char| c.is_ascii_alphabetic())
        && encoding.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte));
    let standalone = rest.next_if(named("standalone")).map_or("no", |one| one.value);
    let is_standalone = matches!(standalone, "yes" | "no");
    let is_good = is_version && is_encoding && is_standalone && rest.next().is_none();
    is_good.then_some(()).ok_or_else(refused)
}

fn shown_error(error: &quick_xml::Error) -> String {
    error.to_string().chars().take(200).collect()
}
