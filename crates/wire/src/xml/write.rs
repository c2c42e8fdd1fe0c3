//! Writing XML: escaping, and tags that are closed in the order in which they were opened. The same
//! calls give the same bytes. Names are the caller's and are not looked at.

use super::is_character;

/// Appends text for between tags.
pub fn escape_text(out: &mut String, text: &str) {
    escape(out, text, |c| match c {
        '&' => Some("&amp;"),
        '<' => Some("&lt;"),
        '>' => Some("&gt;"),
        '\r' => Some("&#13;"),
        _ => None,
    });
}

/// Appends text for between double quotes.
pub fn escape_attribute(out: &mut String, text: &str) {
    escape(out, text, |c| match c {
        '&' => Some("&amp;"),
        '<' => Some("&lt;"),
        '>' => Some("&gt;"),
        '"' => Some("&quot;"),
        '\t' => Some("&#9;"),
        '\n' => Some("&#10;"),
        '\r' => Some("&#13;"),
        _ => None,
    });
}

/// What XML cannot hold is written as U+FFFD.
fn escape(out: &mut String, text: &str, escaped: fn(char) -> Option<&'static str>) {
    out.reserve(text.len());
    let mut written = 0;
    for (at, c) in text.char_indices() {
        let instead = match escaped(c) {
            None if is_character(c) => continue,
            None => "\u{fffd}",
            Some(instead) => instead,
        };
        out.push_str(&text[written..at]);
        out.push_str(instead);
        written = at + c.len_utf8();
    }
    out.push_str(&text[written..]);
}

/// A document that is being written.
#[derive(Debug, Default)]
pub struct Writer {
    out: String,
    /// Whether the last start tag is not closed yet.
    in_tag: bool,
}

impl Writer {
    /// A document with an XML declaration.
    pub fn document() -> Writer {
        Writer { out: "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n".to_owned(), in_tag: false }
    }

    /// A part of a document, with room for so many bytes.
    pub fn fragment(bytes: usize) -> Writer {
        Writer { out: String::with_capacity(bytes), in_tag: false }
    }

    /// Begins an element.
    pub fn start(&mut self, name: &str) -> &mut Writer {
        self.close_tag();
        self.out.push('<');
        self.out.push_str(name);
        self.in_tag = true;
        self
    }

    /// An attribute of the element that was begun.
    pub fn attribute(&mut self, name: &str, value: &str) -> &mut Writer {
        self.out.push(' ');
        self.out.push_str(name);
        self.out.push_str("=\"");
        escape_attribute(&mut self.out, value);
        self.out.push('"');
        self
    }

    /// An attribute, if there is a value.
    pub fn maybe(&mut self, name: &str, value: Option<&str>) -> &mut Writer {
        match value {
            Some(value) => self.attribute(name, value),
            None => self,
        }
    }

    /// Text.
    pub fn text(&mut self, text: &str) -> &mut Writer {
        self.close_tag();
        escape_text(&mut self.out, text);
        self
    }

    /// What is XML already.
    pub fn raw(&mut self, xml: &str) -> &mut Writer {
        self.close_tag();
        self.out.push_str(xml);
        self
    }

    /// Raw within the start tag that was begun: an attribute as it stands elsewhere.
    pub fn raw_attribute(&mut self, xml: &str) -> &mut Writer {
        self.out.push(' ');
        self.out.push_str(xml);
        self
    }

    /// Ends an element; one in which nothing is, as an empty one.
    pub fn end(&mut self, name: &str) -> &mut Writer {
        if std::mem::take(&mut self.in_tag) {
            self.out.push_str("/>");
        } else {
            self.out.push_str("</");
            self.out.push_str(name);
            self.out.push('>');
        }
        self
    }

    /// An element that holds text, on a line of its own.
    pub fn line(&mut self, name: &str, text: &str) -> &mut Writer {
        self.start(name).text(text).end(name).raw("\n")
    }

    /// The same, if there is a text.
    pub fn maybe_line(&mut self, name: &str, text: Option<&str>) -> &mut Writer {
        match text {
            Some(text) => self.line(name, text),
            None => self,
        }
    }

    /// So many bytes are written.
    pub fn len(&self) -> usize {
        self.out.len()
    }

    /// Whether nothing is written.
    pub fn is_empty(&self) -> bool {
        self.out.is_empty()
    }

    /// What was written; nothing is there afterwards.
    pub fn finish(&mut self) -> String {
        self.close_tag();
        std::mem::take(&mut self.out)
    }

    fn close_tag(&mut self) {
        if std::mem::take(&mut self.in_tag) {
            self.out.push('>');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_attributes_are_escaped() {
        let mut writer = Writer::fragment(0);
        writer.start("a").attribute("b", "\"<&>'\n\t").text("<&>\r\0\u{fffe}\"").end("a");
        let expected =
            "<a b=\"&quot;&lt;&amp;&gt;'&#10;&#9;\">&lt;&amp;&gt;&#13;\u{fffd}\u{fffd}\"</a>";
        assert_eq!(writer.finish(), expected);
    }

    #[test]
    fn an_element_with_nothing_in_it_is_empty() {
        let mut writer = Writer::fragment(0);
        writer.start("a").start("b").end("b").end("a");
        assert_eq!(writer.finish(), "<a><b/></a>");
    }
}
