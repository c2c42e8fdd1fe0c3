//! A publication: what it is called, what it takes, and how it is read from and written to its
//! document.

use super::rows::{self, Names};
use super::{Atom, Edited, clean};
use crate::preconditions::Preconditions;
use crate::problem::{Kind, Problem};
use bytes::Bytes;
use repository::{Document, KeyRandomness, MediaType, ReadError, Transaction};
use serde::Deserialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::borrow::Cow;
use std::sync::Arc;
use wire::atom::feed_document::HeadText;
use wire::atom::service::Collection;
use wire::atom::{Categories, Category, media_type};

/// A publication.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Publication {
    /// Its part of paths.
    pub name: String,
    /// `atom:id` of its feeds.
    pub id: String,
    /// As text.
    pub title: String,
    /// The same with its markup, if it has some.
    pub title_html: Option<String>,
    pub subtitle: Option<String>,
    pub subtitle_html: Option<String>,
    /// The author of entries that name none; its title, if it has none.
    pub author: Option<String>,
    /// The language of title and subtitle.
    pub lang: Option<String>,
    /// Media ranges that its media collection takes.
    pub accepts: Vec<String>,
    /// The categories that its entries may have, or must.
    pub categories: Categories,
    /// Whether writes over what is there need If-Match.
    pub is_strict: bool,
    /// Whether who reads it needs a token, too.
    pub is_private: bool,
    /// Microseconds since 1970.
    pub made: u64,
    /// Whether each of its feeds has a UUID of its own as its id. Those that earlier versions made
    /// keep the ids that their readers know: that of the publication and a fragment.
    pub has_feed_uuids: bool,
}

impl Publication {
    /// One of this name with nothing but a title.
    pub(crate) fn new(name: &str, title: &str) -> Self {
        Self {
            name: name.to_owned(),
            title: title.to_owned(),
            accepts: vec!["*/*".to_owned()],
            ..Self::default()
        }
    }

    /// Who an entry is by that says nothing about it.
    pub(crate) fn author(&self) -> &str {
        self.author.as_deref().unwrap_or(&self.title)
    }

    /// Where its things are: `of` is `entries`, `media` and so on.
    pub(crate) fn path(&self, of: &str) -> String {
        path(&self.name, of)
    }

    /// These settings for a publication that is there: what it is told by stays.
    pub(crate) fn in_place_of(self, old: Self) -> Self {
        let Self { name, id, made, has_feed_uuids, .. } = old;
        Self { name, id, made, has_feed_uuids, ..self }
    }

    /// `atom:id` of one of its feeds, told from the others by a word.
    pub(crate) fn id_of(&self, feed: &str) -> String {
        let name = format!("{}#{feed}", self.id);
        if self.has_feed_uuids { urn_by_name(&name) } else { name }
    }

    /// Its title as feeds have it.
    pub(crate) fn head_title(&self) -> HeadText<'_> {
        HeadText::of(&self.title, self.title_html.as_deref())
    }

    /// Its subtitle as feeds have it.
    pub(crate) fn head_subtitle(&self) -> Option<HeadText<'_>> {
        let subtitle = self.subtitle.as_deref()?;
        Some(HeadText::of(subtitle, self.subtitle_html.as_deref()))
    }

    /// Where its page is.
    pub(crate) fn home(&self) -> String {
        format!("/atom/{}", segment(&self.name))
    }

    /// The collection of entries, as its service document has it.
    pub(crate) fn entries(&self) -> Collection {
        let has_categories = self.categories.is_fixed || !self.categories.list.is_empty();
        Collection {
            title: self.title.clone(),
            href: self.path("entries"),
            accepts: vec![wire::atom::ENTRY_TYPE.to_owned()],
            categories: if has_categories { vec![self.categories.clone()] } else { Vec::new() },
        }
    }

    /// The collection of media, as its service document has it.
    pub(crate) fn media(&self) -> Collection {
        let accepts = match self.accepts.is_empty() {
            // One that takes nothing has one empty element (RFC 5023 §8.3.4).
            true => vec![String::new()],
            false => self.accepts.clone(),
        };
        Collection {
            title: format!("{} (media)", self.title),
            href: self.path("media"),
            accepts,
            categories: Vec::new(),
        }
    }

    /// Its settings, as they may be sent to change it: JSON.
    pub(crate) fn settings(&self) -> String {
        let mut json = self.to_json();
        let members = json.as_object_mut().expect("it is an object");
        for own in ["id", "made", "feed_uuids"] {
            members.remove(own);
        }
        json.to_string()
    }

    fn to_json(&self) -> Value {
        let category =
            |one: &Category| json!({ "term": one.term, "scheme": one.scheme, "label": one.label });
        let list: Vec<Value> = self.categories.list.iter().map(category).collect();
        let kind = |html: &Option<String>| if html.is_some() { "html" } else { "text" };
        json!({
            "id": self.id,
            "title": self.title_html.as_ref().unwrap_or(&self.title),
            "title_type": kind(&self.title_html),
            "subtitle": self.subtitle_html.as_ref().or(self.subtitle.as_ref()),
            "subtitle_type": kind(&self.subtitle_html),
            "author": self.author,
            "lang": self.lang,
            "accepts": self.accepts,
            "categories": {
                "fixed": self.categories.is_fixed,
                "scheme": self.categories.scheme,
                "list": list,
            },
            "strict": self.is_strict,
            "private": self.is_private,
            "made": self.made,
            "feed_uuids": self.has_feed_uuids,
        })
    }

    fn from_document(name: &str, document: &Document) -> Self {
        let stored: Stored = serde_json::from_slice(&document.body).unwrap_or_default();
        let StoredCategories { fixed: is_fixed, scheme, list } = stored.categories;
        let category = |StoredCategory { term, scheme, label }| Category { term, scheme, label };
        let list = list.into_iter().map(category).collect();
        // Earlier versions took any text for these.
        let accepts = stored.accepts.into_iter().filter(|range| is_accept(range)).collect();
        let lang = stored.lang.filter(|lang| wire::atom::is_language(lang));
        let (title, title_html) = marked_up(stored.title, &stored.title_type);
        let subtitle = stored.subtitle.map(|text| marked_up(text, &stored.subtitle_type));
        let (subtitle, subtitle_html) = subtitle.map_or((None, None), |(t, html)| (Some(t), html));
        Self {
            name: name.to_owned(),
            id: stored.id,
            title,
            title_html,
            subtitle,
            subtitle_html,
            author: stored.author,
            lang,
            accepts,
            categories: Categories { href: None, is_fixed, scheme, list },
            is_strict: stored.strict,
            is_private: stored.private,
            made: stored.made,
            has_feed_uuids: stored.feed_uuids,
        }
    }
}

/// A text as it is kept, and its HTML if it is of that type.
pub(crate) fn marked_up(kept: String, kind: &str) -> (String, Option<String>) {
    if kind == "html" { (clean::text(&kept), Some(kept)) } else { (kept, None) }
}

/// Whether a media collection may take such a range (RFC 5023 §8.3.4). Entries of Atom have a
/// collection of their own.
pub(crate) fn is_accept(range: &str) -> bool {
    let is_short = range.len() <= repository::limits::MEDIA_TYPE_BYTES_MAX;
    let is_atom = media_type::essence(range).eq_ignore_ascii_case("application/atom+xml");
    is_short && media_type::is_range(range) && !is_atom
}

/// As `Publication::to_json` writes it. Each request reads it: by its type, since a tree of values
/// takes longer.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Stored {
    id: String,
    title: String,
    title_type: String,
    subtitle: Option<String>,
    subtitle_type: String,
    author: Option<String>,
    lang: Option<String>,
    accepts: Vec<String>,
    categories: StoredCategories,
    strict: bool,
    private: bool,
    made: u64,
    feed_uuids: bool,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct StoredCategories {
    fixed: bool,
    scheme: Option<String>,
    list: Vec<StoredCategory>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct StoredCategory {
    term: String,
    scheme: Option<String>,
    label: Option<String>,
}

/// The path of something of a publication.
pub(crate) fn path(name: &str, of: &str) -> String {
    let name = segment(name);
    format!("/atom/{name}/{of}")
}

/// A name as a part of a path: whatever is not unreserved (RFC 3986 §2.3) is percent-encoded.
pub(crate) fn segment(name: &str) -> Cow<'_, str> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    if name.bytes().all(is_plain) {
        return Cow::Borrowed(name);
    }
    let mut encoded = String::with_capacity(3 * name.len());
    for byte in name.bytes() {
        match is_plain(byte) {
            true => encoded.push(char::from(byte)),
            false => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    Cow::Owned(encoded)
}

/// Finds a publication, and its document.
pub(crate) fn find(
    tx: &mut Transaction,
    names: &Names,
    name: &str,
) -> Result<Option<(Publication, Arc<Document>)>, ReadError> {
    let Some(key) = rows::publication_key(name) else { return Ok(None) };
    let found = tx.get(&names.publications, &key)?;
    Ok(found.map(|found| (Publication::from_document(name, &found), found)))
}

/// Finds a publication, and what changes with all that is in it.
pub(crate) fn with_head(
    tx: &mut Transaction,
    names: &Names,
    name: &str,
) -> Result<(Publication, Arc<Document>), Problem> {
    let (publication, _) = find(tx, names, name)?.ok_or_else(|| missing(name))?;
    let key = rows::publication_key(name).ok_or_else(|| missing(name))?;
    let head = tx.get(&names.heads, &key)?.ok_or_else(|| missing(name))?;
    Ok((publication, head))
}

/// All publications, by name, and what changes with their list.
pub(crate) fn list(
    tx: &mut Transaction,
    names: &Names,
) -> Result<(Vec<Publication>, Option<Arc<Document>>), ReadError> {
    let range = repository::KeyRange::all();
    let most = crate::limits::PUBLICATIONS_TOLD_MAX;
    let found = tx.range(&names.publications, &range, repository::Direction::Ascending, most)?;
    let read = |(key, document): &(repository::Key, Arc<Document>)| {
        Publication::from_document(key.as_str(), document)
    };
    let publications = found.iter().map(read).collect();
    Ok((publications, tx.get(&names.heads, &rows::all())?))
}

/// There is none of that name.
pub(crate) fn missing(name: &str) -> Problem {
    let detail = format!("there is no publication {name}; POST a title to /atom to make one");
    Problem::new(Kind::NotFound, detail)
}

/// Makes a publication, whose name, title and settings are given.
pub(crate) fn make(
    tx: &mut Transaction,
    atom: &Atom,
    (given, drawn): (&Publication, Drawn),
) -> Result<Publication, Problem> {
    let edited = atom.edits.next(tx.time());
    let id = urn(edited, drawn);
    let made = Publication { id, made: edited.0, has_feed_uuids: true, ..given.clone() };
    write(tx, atom, &made)?;
    rows::touch(tx, &atom.names, &rows::all())?;
    Ok(made)
}

/// Writes a publication as it is.
pub(crate) fn write(tx: &mut Transaction, atom: &Atom, made: &Publication) -> Result<(), Problem> {
    let key = rows::publication_key(&made.name).ok_or_else(|| missing(&made.name))?;
    // Text, lists and whole numbers look the same in canonical JSON.
    let (publications, body) = (&atom.names.publications, Bytes::from(made.to_json().to_string()));
    tx.put(publications, &key, MediaType::Json, body, None)?;
    Ok(rows::touch(tx, &atom.names, &key)?)
}

/// How far the deletion of a publication is.
#[derive(Clone, Copy)]
pub(crate) enum Deletion<'a> {
    /// It begins, under these conditions.
    New(&'a Preconditions),
    /// It goes on with the publication of this id.
    Begun(&'a str),
}

/// Deletes some of what is in a publication, and itself when nothing is left. Gives its id while
/// there is more to delete.
pub(crate) fn delete(
    tx: &mut Transaction,
    names: &Names,
    (name, deletion): (&str, Deletion<'_>),
) -> Result<Option<String>, Problem> {
    let publication = match (find(tx, names, name)?, deletion) {
        (None, Deletion::New(_)) => return Err(missing(name)),
        (Some((found, document)), Deletion::New(conditions)) => {
            super::member::check(conditions, &document, found.is_strict)?;
            found
        }
        (Some((found, _)), Deletion::Begun(id)) if found.id == id => found,
        // Somebody else has finished it; what has its name now is another.
        (_, Deletion::Begun(_)) => return Ok(None),
    };
    let most = crate::limits::PUBLICATION_DELETED_AT_ONCE;
    let key = rows::publication_key(name).ok_or_else(|| missing(name))?;
    if rows::delete_some(tx, names, name, most)? > 0 {
        rows::touch(tx, names, &key)?;
        return Ok(Some(publication.id));
    }
    tx.delete(&names.publications, &key)?;
    tx.delete(&names.heads, &key)?;
    rows::touch(tx, names, &rows::all())?;
    Ok(None)
}

/// What is drawn for a request before its transaction, so that it comes out the same in each try.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Drawn {
    /// For the part of its path.
    pub key: KeyRandomness,
    /// For the id.
    pub id: u64,
}

impl Drawn {
    pub(crate) fn draw() -> Result<Self, Problem> {
        let mut bits = [0; 24];
        getrandom::fill(&mut bits).map_err(|error| Problem::internal(&error))?;
        let (key, id) = bits.split_at(16);
        let (key, id) = (key.try_into().unwrap_or_default(), id.try_into().unwrap_or_default());
        Ok(Self { key: KeyRandomness::new(u128::from_ne_bytes(key)), id: u64::from_ne_bytes(id) })
    }
}

/// A name that nobody else has: a UUID of version 7, whose bits below a millisecond are
/// microseconds (RFC 9562 §5.7, §6.2).
pub(crate) fn urn(edited: Edited, drawn: Drawn) -> String {
    let (ms, us) = (edited.0 / 1_000, edited.0 % 1_000);
    let bits = drawn.id;
    let fraction = us * 4096 / 1_000;
    let low = (bits >> 48) as u16 & 0x3fff | 0x8000;
    format!(
        "urn:uuid:{:08x}-{:04x}-7{fraction:03x}-{low:04x}-{:012x}",
        ms >> 16 & 0xffff_ffff,
        ms & 0xffff,
        bits & 0xffff_ffff_ffff
    )
}

/// A UUID of version 8 that always is the same for a name (RFC 9562 §5.8, and Appendix B.2).
fn urn_by_name(name: &str) -> String {
    let hash = Sha256::digest(name);
    let mut bits = u128::from_be_bytes(hash.first_chunk().copied().unwrap_or_default());
    bits = bits & !(0xf << 76) | 0x8 << 76;
    bits = bits & !(0x3 << 62) | 0x2 << 62;
    let hex = format!("{bits:032x}");
    let (a, b, c, d, e) = (&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]);
    format!("urn:uuid:{a}-{b}-{c}-{d}-{e}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rfc9562_5_8_a_name_gives_one_uuid() {
        let urn = urn_by_name("a#changes");
        assert_eq!(urn, urn_by_name("a#changes"));
        assert_ne!(urn, urn_by_name("a#media"));
        let parts: Vec<&str> = urn.strip_prefix("urn:uuid:").unwrap().split('-').collect();
        assert_eq!(parts.iter().map(|part| part.len()).collect::<Vec<_>>(), [8, 4, 4, 4, 12]);
        assert!(parts[2].starts_with('8') && parts[3].starts_with(['8', '9', 'a', 'b']), "{urn}");
    }

    /// Settings of earlier versions were not checked.
    #[test]
    fn what_an_earlier_version_took_is_read() {
        let of = |json: &str| {
            let document = Document {
                media_type: MediaType::Json,
                body: Bytes::from(json.to_owned()),
                blob: None,
                version: repository::CommitNumber(1),
                created: repository::Timestamp(1),
                updated: repository::Timestamp(1),
                expires: None,
            };
            Publication::from_document("a", &document)
        };
        let old = of(r#"{"id":"urn:uuid:x","title":"<b>","lang":"e n","made":1,
            "accepts":["image/*","\u0001","x","application/atom+xml;type=entry"]}"#);
        assert_eq!((old.title.as_str(), old.head_title().is_html), ("<b>", false));
        assert_eq!((old.lang.clone(), old.accepts.clone()), (None, vec!["image/*".to_owned()]));
        assert_eq!(old.id_of("changes"), "urn:uuid:x#changes", "readers know it");
        let again = of(&old.to_json().to_string());
        assert_eq!(again, old);
        let marked = of(r#"{"title":"a &amp; <b>c</b>","title_type":"html","feed_uuids":true}"#);
        assert_eq!((marked.title.as_str(), marked.head_title().is_html), ("a & c", true));
        assert_eq!(of(&marked.to_json().to_string()), marked);
    }
}
