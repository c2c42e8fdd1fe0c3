//! XHTML, as it stands in an entry, as HTML: for pages, and for readers that know no XML.
//! References are resolved by the `xml:base` in scope. It is not cleaned here: what stands on a
//! page must be.

use super::refused::{Invalid, ReadError};
use super::rules::broken;
use super::{ATOM, XHTML};
use crate::uri;
use crate::xml::{Element, Event, Reader, XML, escape_attribute, escape_text};

/// Attributes whose values are references.
const REFERENCES: [&str; 9] =
    ["href", "src", "cite", "action", "longdesc", "poster", "data", "formaction", "background"];

/// Elements that have no end tag in HTML.
const VOID: [&str; 14] = [
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source",
    "track", "wbr",
];

/// Reads the rest of the innermost open element, and gives what is in it. Elements of other
/// namespaces leave what is in them.
pub(super) fn content(reader: &mut Reader<'_>) -> Result<String, ReadError> {
    let mut out = String::new();
    // Of each open element, the name whose end tag is due.
    let mut open: Vec<&str> = Vec::new();
    let depth = reader.depth();
    while let Some(event) = reader.read()? {
        match event {
            Event::Start(element) => {
                if element.name.namespace == ATOM {
                    let found = element.name.local.chars().take(60).collect();
                    broken(reader, Invalid::AtomWithinXhtml(found))?;
                }
                open.push(start(&mut out, &element, reader));
            }
            Event::End if reader.depth() < depth => break,
            Event::End => {
                if let Some(name) = open.pop().filter(|name| !name.is_empty()) {
                    out.push_str("</");
                    out.push_str(name);
                    out.push('>');
                }
            }
            Event::Text(text) => escape_text(&mut out, &text),
            Event::Aside => {}
        }
    }
    Ok(out)
}

/// Writes a start tag; gives the name whose end tag is due, or nothing.
fn start<'a>(out: &mut String, element: &Element<'a>, reader: &Reader<'_>) -> &'a str {
    let local = element.name.local;
    let is_name = local.bytes().all(|byte| byte.is_ascii_alphanumeric());
    if element.name.namespace != XHTML || !is_name {
        return "";
    }
    out.push('<');
    out.push_str(local);
    for attribute in &element.attributes {
        let name = attribute.name.local;
        if attribute.name.is(XML, "lang") && element.get("lang").is_none() {
            push(out, "lang", &attribute.value);
        }
        let is_name = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        if !attribute.name.namespace.is_empty() || !is_name {
            continue;
        }
        match reader.base().filter(|_| REFERENCES.contains(&name)) {
            Some(base) => push(out, name, &uri::resolve(base, &attribute.value)),
            None => push(out, name, &attribute.value),
        }
    }
    out.push('>');
    if VOID.contains(&local) { "" } else { local }
}

fn push(out: &mut String, name: &str, value: &str) {
    out.push(' ');
    out.push_str(name);
    out.push_str("=\"");
    escape_attribute(out, value);
    out.push('"');
}
