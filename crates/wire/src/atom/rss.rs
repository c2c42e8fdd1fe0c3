//! Writing RSS 2.0 (RSS Advisory Board, 2.0.11): a channel and its items, with the elements of
//! other namespaces that readers know (`content:encoded`, `dc:creator`, `atom:link`).

use super::{ATOM, Channel, Item};
use crate::xml::Writer;

/// The media type of the document.
pub const RSS_TYPE: &str = "application/rss+xml";

const CONTENT: &str = "http://purl.org/rss/1.0/modules/content/";
const DUBLIN_CORE: &str = "http://purl.org/dc/elements/1.1/";

/// The document of a channel and its items, newest first.
pub fn document(channel: &Channel<'_>, items: &[Item<'_>]) -> String {
    let mut writer = Writer::document();
    writer.start("rss").attribute("version", "2.0").attribute("xmlns:atom", ATOM);
    writer.attribute("xmlns:content", CONTENT).attribute("xmlns:dc", DUBLIN_CORE).raw("\n");
    writer.start("channel").raw("\n").line("title", channel.title).line("link", channel.page);
    writer.line("description", channel.description.unwrap_or(channel.title));
    writer.maybe_line("language", channel.lang);
    writer.line("lastBuildDate", &channel.updated.rfc822()).line("generator", "Sarsen");
    link(&mut writer, "self", channel.here);
    if let Some(next) = channel.next {
        link(&mut writer, "next", next);
    }
    if let Some(icon) = channel.icon {
        writer.start("image").line("url", icon).line("title", channel.title);
        writer.line("link", channel.page).end("image").raw("\n");
    }
    for one in items {
        item(&mut writer, one);
    }
    writer.end("channel").end("rss").raw("\n").finish()
}

fn link(writer: &mut Writer, rel: &str, href: &str) {
    writer.start("atom:link").attribute("rel", rel).attribute("type", RSS_TYPE);
    writer.attribute("href", href).end("atom:link").raw("\n");
}

fn item(writer: &mut Writer, item: &Item<'_>) {
    writer.start("item").raw("\n").line("title", item.title).line("link", item.page);
    writer.start("guid").attribute("isPermaLink", "false").text(item.id).end("guid").raw("\n");
    writer.line("pubDate", &item.published.unwrap_or(item.updated).rfc822());
    for author in item.authors {
        writer.line("dc:creator", &author.name);
    }
    for category in item.categories {
        writer.line("category", category);
    }
    // Readers take `description` for HTML, so that text is escaped twice.
    let summary = item.summary.or(item.text.filter(|_| item.html.is_none()));
    if let Some(text) = summary {
        let mut html = String::new();
        crate::xml::escape_text(&mut html, text);
        writer.line("description", &html);
    }
    writer.maybe_line("content:encoded", item.html);
    // More than one is not allowed.
    if let Some(enclosure) = item.enclosures.first() {
        writer.start("enclosure").attribute("url", &enclosure.url);
        writer.attribute("length", &enclosure.length.to_string());
        writer.attribute("type", &enclosure.media_type).end("enclosure").raw("\n");
    }
    writer.end("item").raw("\n");
}
