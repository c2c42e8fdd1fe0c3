//! Writing OPML 2.0 (opml.org): a list of feeds to subscribe to.

use super::Date;
use crate::xml::Writer;

/// The media type of the document.
pub const OPML_TYPE: &str = "text/x-opml";

/// A feed in the list.
#[derive(Clone, Copy, Debug)]
pub struct Outline<'a> {
    /// The name of its publication.
    pub title: &'a str,
    /// Where the feed is.
    pub feed: &'a str,
    /// The page of its publication.
    pub page: &'a str,
    /// The language of its publication.
    pub lang: Option<&'a str>,
}

/// The document of a list.
pub fn document(title: &str, updated: Date, outlines: &[Outline<'_>]) -> String {
    let mut writer = Writer::document();
    writer.start("opml").attribute("version", "2.0").raw("\n").start("head").raw("\n");
    writer.line("title", title).line("dateModified", &updated.rfc822()).end("head").raw("\n");
    writer.start("body").raw("\n");
    for outline in outlines {
        writer.start("outline").attribute("type", "rss").attribute("text", outline.title);
        writer.attribute("title", outline.title).attribute("xmlUrl", outline.feed);
        writer.attribute("htmlUrl", outline.page).maybe("language", outline.lang);
        writer.end("outline").raw("\n");
    }
    writer.end("body").raw("\n").end("opml").raw("\n").finish()
}
