//! Feeds: Atom (RFC 4287, 5005, 6721), RSS 2.0 and JSON Feed, and OPML of all publications.

use super::Reading;
use crate::atom::{Place, Publication, earlier};
use crate::problem::Problem;
use wire::atom::feed_document::{FeedWriter, Head, HeadLink};
use wire::atom::opml::Outline;
use wire::atom::{Channel, Date, FEED_TYPE, Item, json_feed, opml, rss};

/// The feed in Atom. `of` tells it from other feeds of the publication by its id.
pub(crate) fn atom(reading: &Reading, of: Option<&str>) -> Result<String, Problem> {
    let publication = &reading.publication;
    let page = publication.home();
    let link = |rel, href, media_type| HeadLink { rel, href, media_type };
    let mut links = vec![
        link("self", reading.here.as_str(), Some(FEED_TYPE)),
        link("alternate", page.as_str(), Some("text/html")),
    ];
    let around = reading.links.iter().map(|(rel, href)| link(rel, href, Some(FEED_TYPE)));
    links.extend(around);
    let authors = reading.authors();
    let id = of.map_or_else(|| publication.id.clone(), |of| publication.id_of(of));
    let head = Head {
        id: &id,
        title: publication.head_title(),
        subtitle: publication.head_subtitle(),
        lang: publication.lang.as_deref(),
        updated: reading.updated()?,
        authors: &authors,
        rights: None,
        icon: None,
        logo: None,
        links: &links,
        kind: reading.kind,
    };
    let mut feed = FeedWriter::new(&head, reading.bytes());
    for tombstone in &reading.tombstones {
        feed.tombstone(tombstone);
    }
    for one in &reading.shown {
        let (publication, member) = (publication.name.clone(), one.member.clone());
        feed.entry(&earlier::current(&one.document, &Place { publication, member })?);
    }
    Ok(feed.finish())
}

/// The feed in RSS 2.0.
pub(crate) fn rss(reading: &Reading, origin: &str) -> Result<String, Problem> {
    written(reading, origin, rss::document)
}

/// The feed in JSON Feed 1.1.
pub(crate) fn json(reading: &Reading, origin: &str) -> Result<String, Problem> {
    written(reading, origin, json_feed::document)
}

fn written(
    reading: &Reading,
    origin: &str,
    document: fn(&Channel<'_>, &[Item<'_>]) -> String,
) -> Result<String, Problem> {
    let publication = &reading.publication;
    let (page, here) =
        (format!("{origin}{}", publication.home()), format!("{origin}{}", reading.here));
    let feed = here.split('?').next().unwrap_or_default().to_owned();
    let next = reading.link("next").map(|next| format!("{origin}{next}"));
    let authors = reading.authors();
    let channel = Channel {
        title: &publication.title,
        description: publication.subtitle.as_deref(),
        page: &page,
        feed: &feed,
        here: &here,
        next: next.as_deref(),
        lang: publication.lang.as_deref(),
        updated: reading.updated()?,
        authors: &authors,
        icon: None,
    };
    let posts = reading.posts(origin);
    let items: Vec<Item<'_>> = posts.iter().map(super::Post::item).collect();
    Ok(document(&channel, &items))
}

/// The list of publications.
pub(crate) fn opml(publications: &[Publication], updated: Date, origin: &str) -> String {
    let places: Vec<(String, String)> = publications
        .iter()
        .map(|one| (format!("{origin}{}", one.path("feed")), format!("{origin}{}", one.home())))
        .collect();
    let outlines: Vec<Outline<'_>> = publications
        .iter()
        .zip(&places)
        .map(|(one, (feed, page))| Outline {
            title: &one.title,
            feed,
            page,
            lang: one.lang.as_deref(),
        })
        .collect();
    opml::document("Publications", updated, &outlines)
}
