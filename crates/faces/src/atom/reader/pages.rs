//! Pages: that of a publication, with its newest entries, and that of each entry. No script, one
//! style that is the server's, light or dark as the reader has it. What strangers wrote is clean
//! HTML or escaped.

use super::{Post, Reading};
use crate::atom::Publication;
use crate::problem::Problem;
use wire::atom::{Date, json_feed, rss};
use wire::xml::{escape_attribute, escape_text};

/// What a page may load: pictures and sounds, which entries may have from anywhere, and the style
/// whose hash this is. Nothing runs, nothing is sent, and no other page shows it within itself.
pub(crate) const CONTENT_SECURITY_POLICY: &str = concat!(
    "default-src 'none'; img-src 'self' http: https:; media-src 'self' http: https:; ",
    "style-src 'sha256-vQhyB3nadZQyBTfIRvF+oNZsvIIsbrRfnX4LHfuwxy4='; ",
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
);

const STYLE: &str = include_str!("page.css");

/// The page of a publication.
pub(crate) fn home(reading: &Reading) -> Result<String, Problem> {
    let publication = &reading.publication;
    let mut page = Page::begin(publication, (&publication.title, publication.lang.as_deref()));
    for (rel, path) in &reading.links {
        if matches!(*rel, "next" | "prev") {
            page.raw("<link rel=\"").raw(rel).raw("\" href=\"").attribute(path).raw("\">\n");
        }
    }
    page.head(publication);
    let posts = reading.posts("");
    if posts.is_empty() {
        page.raw("<p>Nothing has been published yet.</p>\n");
    }
    for post in &posts {
        page.article(post, "h2");
    }
    page.raw("</main>\n");
    let (newer, older) = (reading.link("prev"), reading.link("next"));
    if newer.is_some() || older.is_some() {
        page.raw("<nav>");
        for (rel, path, words) in [("prev", newer, "Newer"), ("next", older, "Older")] {
            page.raw("<span>");
            if let Some(path) = path {
                page.raw("<a rel=\"").raw(rel).raw("\" href=\"").attribute(path).raw("\">");
                page.raw(words).raw("</a>");
            }
            page.raw("</span>");
        }
        page.raw("</nav>\n");
    }
    Ok(page.end(publication))
}

/// The page of an entry, which is the only one that was read.
pub(crate) fn entry(reading: &Reading) -> Result<String, Problem> {
    let publication = &reading.publication;
    let posts = reading.posts("");
    let post = posts.first().ok_or_else(Problem::not_found)?;
    let title = match post.title.is_empty() {
        true => publication.title.clone(),
        false => format!("{} \u{b7} {}", post.title, publication.title),
    };
    let lang = post.lang.as_deref().or(publication.lang.as_deref());
    let mut page = Page::begin(publication, (&title, lang));
    page.raw("<link rel=\"canonical\" href=\"").attribute(&post.page).raw("\">\n");
    page.head(publication);
    page.article(post, "h1");
    page.raw("</main>\n");
    Ok(page.end(publication))
}

/// A page that is being written.
struct Page {
    out: String,
}

impl Page {
    fn begin(publication: &Publication, (title, lang): (&str, Option<&str>)) -> Self {
        let mut page = Self { out: String::with_capacity(8 << 10) };
        page.raw("<!doctype html>\n<html").lang(lang).raw(">\n<head>\n<meta charset=\"utf-8\">\n");
        page.raw("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
        page.raw("<title>").text(title).raw("</title>\n");
        for (of, media_type) in FEEDS {
            page.raw("<link rel=\"alternate\" type=\"").raw(media_type).raw("\" title=\"");
            page.attribute(&publication.title).raw("\" href=\"");
            page.attribute(&publication.path(of)).raw("\">\n");
        }
        // How clients find where to publish, by the address of the page (RFC 5023 §15.6 has none).
        page.raw("<link rel=\"service\" type=\"").raw(wire::atom::SERVICE_TYPE).raw("\" href=\"");
        page.attribute(&publication.path("service")).raw("\">\n");
        page
    }

    /// Ends the head and begins the body.
    fn head(&mut self, publication: &Publication) {
        self.raw("<style>").raw(STYLE).raw("</style>\n</head>\n<body>\n<header>\n");
        self.raw("<h2").lang(publication.lang.as_deref()).raw("><a href=\"");
        self.attribute(&publication.home()).raw("\">").text(&publication.title).raw("</a></h2>\n");
        if let Some(subtitle) = &publication.subtitle {
            self.raw("<p").lang(publication.lang.as_deref()).raw(">").text(subtitle);
            self.raw("</p>\n");
        }
        self.raw("</header>\n<main>\n");
    }

    fn article(&mut self, post: &Post, heading: &str) {
        self.raw("<article").lang(post.lang.as_deref()).raw(">\n");
        let title = if post.title.is_empty() { "Untitled" } else { &post.title };
        self.raw("<").raw(heading).raw("><a href=\"").attribute(&post.page).raw("\">").text(title);
        self.raw("</a></").raw(heading).raw(">\n");
        self.byline(post);
        for answered in &post.answers {
            self.raw("<p class=\"by\">In reply to <a rel=\"nofollow\" href=\"");
            self.attribute(answered).raw("\">").text(answered).raw("</a></p>\n");
        }
        match (&post.html, &post.text, &post.summary) {
            (Some(html), ..) => _ = self.raw(html).raw("\n"),
            (None, Some(text), _) | (None, None, Some(text)) => {
                self.raw("<p class=\"text\">").text(text).raw("</p>\n");
            }
            (None, None, None) => {}
        }
        self.enclosures(post);
        if !post.categories.is_empty() {
            self.raw("<p class=\"tags\">").text(&post.categories.join(", ")).raw("</p>\n");
        }
        self.raw("</article>\n");
    }

    fn byline(&mut self, post: &Post) {
        self.raw("<p class=\"by\">");
        for (at, author) in post.authors.iter().enumerate() {
            self.raw(if at == 0 { "" } else { ", " });
            match &author.uri {
                Some(uri) => {
                    self.raw("<a rel=\"author nofollow\" href=\"").attribute(uri).raw("\">");
                    self.text(&author.name).raw("</a>");
                }
                None => _ = self.text(&author.name),
            }
        }
        self.raw(if post.authors.is_empty() { "" } else { " \u{b7} " });
        let published = post.published.unwrap_or(post.updated);
        self.time(published);
        if day(published) != day(post.updated) {
            self.raw(" \u{b7} changed ").time(post.updated);
        }
        self.raw("</p>\n");
    }

    /// What comes with it and is not shown as what it is.
    fn enclosures(&mut self, post: &Post) {
        let shown = post.html.as_deref().unwrap_or_default();
        for enclosure in &post.enclosures {
            let mut url = String::new();
            escape_attribute(&mut url, &enclosure.url);
            if !shown.contains(&url) {
                self.raw("<p><a rel=\"nofollow\" href=\"").raw(&url).raw("\">");
                self.text(&enclosure.url).raw("</a> (").text(&enclosure.media_type);
                self.raw(")</p>\n");
            }
        }
    }

    fn end(mut self, publication: &Publication) -> String {
        self.raw("<footer>");
        for (at, (of, words)) in
            [("feed", "Atom"), ("feed.rss", "RSS"), ("feed.json", "JSON Feed")].iter().enumerate()
        {
            self.raw(if at == 0 { "" } else { " \u{b7} " }).raw("<a href=\"");
            self.attribute(&publication.path(of)).raw("\">").raw(words).raw("</a>");
        }
        self.raw("</footer>\n</body>\n</html>\n");
        self.out
    }

    fn raw(&mut self, html: &str) -> &mut Self {
        self.out.push_str(html);
        self
    }

    fn text(&mut self, text: &str) -> &mut Self {
        escape_text(&mut self.out, text);
        self
    }

    fn attribute(&mut self, text: &str) -> &mut Self {
        escape_attribute(&mut self.out, text);
        self
    }

    fn lang(&mut self, lang: Option<&str>) -> &mut Self {
        if let Some(lang) = lang {
            self.raw(" lang=\"").attribute(lang).raw("\"");
        }
        self
    }

    fn time(&mut self, date: Date) -> &mut Self {
        self.raw("<time datetime=\"").attribute(&date.to_string()).raw("\">");
        self.text(&day(date)).raw("</time>")
    }
}

/// The feeds that a page names.
const FEEDS: [(&str, &str); 3] = [
    ("feed", "application/atom+xml"),
    ("feed.rss", rss::RSS_TYPE),
    ("feed.json", json_feed::JSON_FEED_TYPE),
];

/// As people read it: `09 Oct 2007`.
fn day(date: Date) -> String {
    let text = date.rfc822();
    text.get(5..16).unwrap_or(&text).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use sha2::{Digest, Sha256};

    #[test]
    fn the_policy_allows_the_style_and_no_other() {
        let mut hash = Vec::new();
        wire::base64::encode(&mut hash, &Sha256::digest(STYLE));
        let hash = String::from_utf8(hash).unwrap();
        assert!(CONTENT_SECURITY_POLICY.contains(&format!("style-src 'sha256-{hash}'")), "{hash}");
        assert!(!STYLE.contains("url(") && !STYLE.contains("@import") && !STYLE.contains('<'));
    }

    #[test]
    fn dates_are_for_people() {
        assert_eq!(day(Date::parse("2007-10-09T14:29:29+02:00").unwrap()), "09 Oct 2007");
    }
}
