//! An entry as RSS, JSON Feed and pages tell it: what Atom has more ways to say, said in one, and
//! HTML cleaned.

use super::Shown;
use crate::atom::{clean, member, publication};
use crate::problem::Problem;
use std::borrow::Cow;
use wire::atom::{Content, Date, Enclosure, Entry, Item, Person, Text, TextKind, entry};
use wire::uri::of_iri;

/// An entry for readers.
#[derive(Clone, Debug)]
pub(crate) struct Post {
    pub id: String,
    /// Its page.
    pub page: String,
    /// As text.
    pub title: String,
    /// Clean.
    pub html: Option<String>,
    /// What it says, if that is text only.
    pub text: Option<String>,
    /// As text.
    pub summary: Option<String>,
    pub published: Option<Date>,
    pub updated: Date,
    pub authors: Vec<Person>,
    /// Categories as people read them.
    pub categories: Vec<String>,
    pub lang: Option<String>,
    pub enclosures: Vec<Enclosure>,
    /// Where what it answers can be read (RFC 4685 §3).
    pub answers: Vec<String>,
}

impl Post {
    /// Reads an entry of a publication. `origin` is put before paths of the server's; it may be
    /// empty.
    pub(super) fn read(shown: &Shown, name: &str, origin: &str) -> Result<Self, Problem> {
        let entry = entry::read_stored(member::text(&shown.document)?);
        let entry = entry.map_err(|error| Problem::internal(&error))?;
        let segment = publication::segment(&shown.member);
        let path = |of: &str| format!("{origin}{}", publication::path(name, of));
        let (html, text) = content(&entry, origin);
        let mut post = Self {
            id: entry.id.clone().unwrap_or_default(),
            page: path(&format!("pages/{segment}")),
            title: entry.title.as_ref().map(clean::words).unwrap_or_default(),
            html,
            text,
            summary: entry.summary.as_ref().map(clean::words).filter(|text| !text.is_empty()),
            published: entry.published,
            updated: entry.updated.unwrap_or_else(|| crate::atom::Edited(0).date()),
            authors: entry.authors.iter().map(|author| person(author, origin)).collect(),
            categories: entry
                .categories
                .iter()
                .map(|one| one.label.clone().unwrap_or_else(|| one.term.clone()))
                .collect(),
            lang: entry.lang.clone(),
            enclosures: enclosures(&entry, origin),
            answers: entry
                .in_reply_to
                .iter()
                .filter_map(|one| clean::link(one.href.as_deref()?, Some(origin)))
                .collect(),
        };
        if let Some(bytes) = shown.media_bytes {
            post.add_media(&entry, &path(&format!("media/{segment}")), bytes);
        }
        Ok(post)
    }

    /// Media of the server's own: shown if browsers can.
    fn add_media(&mut self, entry: &Entry<'_>, url: &str, length: u64) {
        let Some(media_type) = entry.media_type() else { return };
        let element = match media_type.split_once('/').map(|(kind, _)| kind) {
            Some("image") => "img",
            Some("audio") => "audio",
            Some("video") => "video",
            _ => "a",
        };
        let (mut source, mut words) = (String::new(), String::new());
        wire::xml::escape_attribute(&mut source, url);
        wire::xml::escape_attribute(&mut words, &self.title);
        self.html = Some(match element {
            "img" => format!("<p><img src=\"{source}\" alt=\"{words}\"></p>"),
            "a" => format!("<p><a href=\"{source}\">{words}</a></p>"),
            _ => format!("<p><{element} src=\"{source}\" controls></{element}></p>"),
        });
        let media_type = media_type.to_owned();
        self.enclosures.insert(0, Enclosure { url: url.to_owned(), media_type, length });
    }

    /// As RSS and JSON Feed have it.
    pub(super) fn item(&self) -> Item<'_> {
        Item {
            id: &self.id,
            page: &self.page,
            title: &self.title,
            html: self.html.as_deref(),
            text: self.text.as_deref(),
            summary: self.summary.as_deref(),
            published: self.published,
            updated: self.updated,
            authors: &self.authors,
            categories: &self.categories,
            lang: self.lang.as_deref(),
            enclosures: &self.enclosures,
        }
    }
}

/// HTML, and text if it is that.
fn content(entry: &Entry<'_>, origin: &str) -> (Option<String>, Option<String>) {
    match &entry.content {
        Some(Content::Text(Text { kind: TextKind::Text, value, .. })) => {
            (None, Some(value.clone()))
        }
        Some(Content::OtherText { text, .. }) => (None, Some(text.clone())),
        Some(Content::Text(text)) => {
            let base = text.base.as_deref().map_or(Cow::Borrowed(origin), |b| absolute(b, origin));
            (Some(clean::html(&text.value, Some(&base))), None)
        }
        Some(Content::Xml { .. } | Content::Binary { .. } | Content::Away { .. }) | None => {
            (None, None)
        }
    }
}

/// A path of the server's with its name before it.
fn absolute<'a>(reference: &'a str, origin: &str) -> Cow<'a, str> {
    match reference.starts_with('/') && !reference.starts_with("//") {
        true => Cow::Owned(format!("{origin}{reference}")),
        false => Cow::Borrowed(reference),
    }
}

fn person(person: &Person, origin: &str) -> Person {
    let uri = person.uri.as_deref().and_then(|uri| clean::link(uri, Some(origin)));
    let uri = uri.map(|uri| of_iri(&uri).into_owned());
    // Addresses are for who publishes, not for whoever collects them from pages.
    Person { name: person.name.clone(), uri, email: None }
}

fn enclosures(entry: &Entry<'_>, origin: &str) -> Vec<Enclosure> {
    let links = entry.links.iter().filter(|link| link.rel == "enclosure");
    let enclosure = |link: &wire::atom::Link| {
        Some(Enclosure {
            url: of_iri(&clean::link(&absolute(&link.href, origin), Some(origin))?).into_owned(),
            media_type: link
                .media_type
                .clone()
                .unwrap_or_else(|| "application/octet-stream".to_owned()),
            length: link.length.as_ref().and_then(|text| text.parse().ok()).unwrap_or(0),
        })
    };
    links.filter_map(enclosure).collect()
}
