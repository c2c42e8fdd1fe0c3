//! What a client of AtomPub reads (RFC 5023, RFC 4287): where a service document says that entries
//! go, where links lead, and what is in the pages of a collection. It sends nothing and judges
//! nothing.

mod page;
mod service;

pub(crate) use page::{Found, Page};

use crate::plan::AtomPlace;
use wire::xml::{Event, Reader, decode};

const ATOM: &str = "http://www.w3.org/2005/Atom";
const APP: &str = "http://www.w3.org/2007/app";

/// The addresses that a document names at a place, resolved as far as the document tells; in its
/// order.
///
/// # Errors
/// In words: it is not XML.
pub(crate) fn addresses(body: &[u8], place: &AtomPlace) -> Result<Vec<String>, String> {
    let text = decode(body, None).map_err(|why| why.to_string())?;
    match place {
        AtomPlace::Entries => service::collections(&text, service::takes_entries),
        AtomPlace::Media => service::collections(&text, service::takes_media),
        AtomPlace::Members => {
            let page = Page::of_text(&text)?;
            Ok(page.entries.into_iter().filter_map(|entry| entry.edit).collect())
        }
        AtomPlace::Link(relation) => links(&text, relation),
    }
}

/// The links of the document's root.
fn links(text: &str, relation: &str) -> Result<Vec<String>, String> {
    let mut reader = Reader::new(text).map_err(|why| why.to_string())?;
    let mut found = Vec::new();
    while let Some(event) = reader.read().map_err(|why| why.to_string())? {
        let Event::Start(element) = event else { continue };
        if reader.depth() != 2 || !element.name.is(ATOM, "link") {
            continue;
        }
        let is = |rel: &str| rel.eq_ignore_ascii_case(relation);
        if is(element.get("rel").unwrap_or("alternate"))
            && let Some(href) = element.get("href")
        {
            found.push(resolved(reader.base(), href));
        }
    }
    Ok(found)
}

/// A reference as far as the document says what it means.
fn resolved(base: Option<&str>, href: &str) -> String {
    base.map_or_else(|| href.to_owned(), |base| wire::uri::resolve(base, href))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SERVICE: &[u8] = b"<?xml version='1.0'?>
<a:service xmlns:a='http://www.w3.org/2007/app' xmlns='http://www.w3.org/2005/Atom'
    xml:base='http://h/atom/'>
<a:workspace><title>one</title>
<a:collection href='p/media'><title>m</title><a:accept> image/* </a:accept></a:collection>
<a:collection href='p/comments'><title>c</title><a:accept/></a:collection>
<a:collection xml:base='/x/' href='entries'><title>e</title>
<a:accept>application/atom+xml; Type=Entry</a:accept></a:collection>
<a:collection href='/p/all'><title>e</title></a:collection>
</a:workspace></a:service>";

    fn at(body: &[u8], place: AtomPlace) -> Vec<String> {
        addresses(body, &place).unwrap()
    }

    #[test]
    fn a_service_document_says_where_entries_and_media_go() {
        assert_eq!(at(SERVICE, AtomPlace::Entries), ["http://h/x/entries", "http://h/p/all"]);
        assert_eq!(at(SERVICE, AtomPlace::Media), ["http://h/atom/p/media"]);
        assert!(addresses(b"<a>", &AtomPlace::Media).is_err());
        assert!(addresses(b"\xFF", &AtomPlace::Media).is_err());
    }

    #[test]
    fn links_are_the_root_s() {
        let feed = b"<feed xmlns='http://www.w3.org/2005/Atom'><link rel='next' href='?after=2'/>\
            <link href='/b'/><entry><link rel='next' href='/c'/></entry></feed>";
        let link = |relation: &str| at(feed, AtomPlace::Link(relation.to_owned()));
        assert_eq!(link("next"), ["?after=2"]);
        assert_eq!(link("alternate"), ["/b"]);
        assert_eq!(link("edit"), Vec::<String>::new());
    }
}
