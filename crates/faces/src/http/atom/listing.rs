//! Collections as feeds (RFC 5023 §10): partial lists of members, drafts among them, those that
//! were edited last first. A page begins after a member, not at a number, so that who follows
//! `next` while others write passes no member over that is not edited.

use super::answer::{self, Reply};
use super::path::Part;
use super::{Request, shown};
use crate::atom::rows::{self, Names, Page};
use crate::atom::{Edited, Place, Publication, Row, earlier, publication, run};
use crate::limits::{ATOM_PAGE, ATOM_PAGE_MAX};
use crate::problem::Problem;
use bytes::Bytes;
use query::ParameterError;
use repository::{ReadError, Transaction};
use wire::atom::feed_document::{FeedKind, FeedWriter, Head, HeadLink, HeadText};
use wire::atom::{FEED_TYPE, Person};

/// The parameters of a page.
const KNOWN: [&str; 2] = ["after", "limit"];

/// Which part of an order is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Asked {
    /// After whom it begins; none: from the newest on.
    pub after: Option<Edited>,
    /// How many at most.
    pub most: usize,
}

impl Asked {
    /// By the query of a URI: `?after=...&limit=...`.
    pub(crate) fn parse(query: Option<&str>) -> Result<Self, ParameterError> {
        let mut asked = Self { after: None, most: ATOM_PAGE };
        for (name, value) in query::pairs(query, &KNOWN)? {
            if name == "after" {
                let wrong = || ParameterError::value("after", "what a link of a page has", &value);
                asked.after = Some(Edited::parse(&value).ok_or_else(wrong)?);
            } else {
                let expected = || format!("a whole number from 1 to {ATOM_PAGE_MAX}");
                let wrong = || ParameterError::value("limit", expected(), &value);
                let most = query::limit(&value, ATOM_PAGE_MAX).ok().filter(|most| *most > 0);
                asked.most = most.ok_or_else(wrong)?;
            }
        }
        Ok(asked)
    }

    /// The same for what the public reads, whose links are passed on with more parameters, as to
    /// count who follows them.
    pub(crate) fn parse_public(query: Option<&str>) -> Result<Self, ParameterError> {
        let is_known = |part: &&str| KNOWN.contains(&part.split('=').next().unwrap_or_default());
        let known = query.unwrap_or_default().split('&').filter(is_known);
        Self::parse(Some(&known.collect::<Vec<_>>().join("&")))
    }

    /// The URI of the page of as many that begins after `after`.
    pub(crate) fn link(self, path: &str, after: Option<Edited>) -> String {
        let mut link = path.to_owned();
        let mut mark = '?';
        if self.most != ATOM_PAGE {
            link.push_str(&format!("{mark}limit={}", self.most));
            mark = '&';
        }
        if let Some(after) = after {
            link.push_str(&format!("{mark}after={after}"));
        }
        link
    }
}

/// Where the pages around one are.
#[derive(Debug)]
pub(crate) struct Around {
    /// Of each: its relation (RFC 5005 §3) and where it is.
    pub links: Vec<(&'static str, String)>,
}

/// Finds the pages around `page`.
pub(crate) fn around(
    tx: &mut Transaction,
    names: &Names,
    (publication, row): (&str, Row),
    (page, asked, path): (&Page, Asked, &str),
) -> Result<Around, ReadError> {
    let mut links = vec![("first", asked.link(path, None))];
    let first = page.rows.first().map(|row| row.edited);
    if let (Some(first), true) = (first, asked.after.is_some()) {
        let before = rows::before(tx, names, (publication, row), (first, asked.most))?;
        if let Some(after) = before {
            links.push(("previous", asked.link(path, after)));
        }
    }
    if page.next.is_some() {
        links.push(("next", asked.link(path, page.next)));
    }
    if page.next.is_some() || asked.after.is_some() {
        let last = rows::last(tx, names, (publication, row), asked.most)?;
        links.push(("last", asked.link(path, last)));
    }
    Ok(Around { links })
}

/// Shows a collection.
pub(super) async fn serve(
    request: Request<'_>,
    name: String,
    part: Part,
) -> Result<Reply, Problem> {
    let (atom, conditions) = (request.atom(), request.conditions()?);
    let asked = Asked::parse(request.parts.uri.query())?;
    let (row, segment) = match part {
        Part::Media => (Row::Media, "media"),
        _ => (Row::Entries, "entries"),
    };
    let done = run::read(request.reactor, |tx| {
        let (publication, head) = publication::with_head(tx, &atom.names, &name)?;
        let write = || {
            let at = (publication.name.as_str(), row);
            let page = rows::page(tx, &atom.names, at, (asked.after, asked.most))?;
            let path = publication.path(segment);
            let around = around(tx, &atom.names, at, (&page, asked, &path))?;
            feed((&publication, segment), &page, (asked, &around))
        };
        shown(&head, &conditions, (FEED_TYPE, write))
    });
    Ok(answer::shown(done.await?))
}

fn feed(
    (publication, segment): (&Publication, &str),
    page: &Page,
    (asked, around): (Asked, &Around),
) -> Result<Bytes, Problem> {
    let path = publication.path(segment);
    let here = asked.link(&path, asked.after);
    let service = publication.path("service");
    let link = |rel, href, media_type| HeadLink { rel, href, media_type };
    let mut links = vec![
        link("self", here.as_str(), Some(FEED_TYPE)),
        link("service", service.as_str(), Some(wire::atom::SERVICE_TYPE)),
    ];
    links.extend(around.links.iter().map(|(rel, href)| link(rel, href, Some(FEED_TYPE))));
    let newest = page.rows.first().map_or(Edited(publication.made), |row| row.edited);
    let author = Person { name: publication.author().to_owned(), uri: None, email: None };
    let is_media = segment == "media";
    let of_media = publication.media().title;
    let title = if is_media { HeadText::of(&of_media, None) } else { publication.head_title() };
    // Each feed has an id of its own.
    let id = publication.id_of(segment);
    let head = Head {
        id: &id,
        title,
        subtitle: publication.head_subtitle(),
        lang: publication.lang.as_deref(),
        updated: newest.date(),
        authors: std::slice::from_ref(&author),
        rights: None,
        icon: None,
        logo: None,
        links: &links,
        kind: FeedKind::Partial,
    };
    let bytes = page.rows.iter().filter_map(|row| row.document.as_ref());
    let mut feed = FeedWriter::new(&head, bytes.map(|document| document.body.len()).sum());
    for row in &page.rows {
        let place = Place { publication: publication.name.clone(), member: row.member.clone() };
        if let Some(document) = &row.document {
            feed.entry(&earlier::current(document, &place)?);
        }
    }
    Ok(Bytes::from(feed.finish()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_asked_for_as_it_is_linked() {
        let asked = Asked::parse(Some("limit=10")).unwrap();
        let link = asked.link("/atom/a/entries", Some(Edited(255)));
        assert_eq!(link, "/atom/a/entries?limit=10&after=000000000000ff");
        let (_, query) = link.split_once('?').unwrap();
        assert_eq!(Asked::parse(Some(query)), Ok(Asked { after: Some(Edited(255)), most: 10 }));
        assert_eq!(Asked::parse(None).unwrap().link("/a", None), "/a");
        for wrong in ["after=x", "limit=101", "limit=0", "limit=-1", "page=2", "after=0&after=0"] {
            assert!(Asked::parse(Some(wrong)).is_err(), "{wrong}");
            let is_unknown = wrong == "page=2";
            assert_eq!(Asked::parse_public(Some(wrong)).is_ok(), is_unknown, "{wrong}");
        }
        let followed = "utm_source=a%&limit=10&%&=&after=000000000000ff&page";
        assert_eq!(Asked::parse_public(Some(followed)), Asked::parse(Some(query)));
    }
}
