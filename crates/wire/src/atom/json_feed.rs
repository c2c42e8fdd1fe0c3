//! Writing JSON Feed 1.1 (jsonfeed.org/version/1.1).

use super::{Channel, Item, Person};
use std::fmt::Write;

/// The media type of the document.
pub const JSON_FEED_TYPE: &str = "application/feed+json";

/// The document of a channel and its items, newest first.
pub fn document(channel: &Channel<'_>, items: &[Item<'_>]) -> String {
    let mut json = Json::default();
    json.open('{');
    json.text("version", "https://jsonfeed.org/version/1.1");
    json.text("title", channel.title);
    json.text("home_page_url", channel.page);
    json.text("feed_url", channel.feed);
    json.maybe("description", channel.description);
    json.maybe("next_url", channel.next);
    json.maybe("icon", channel.icon);
    json.maybe("language", channel.lang);
    authors(&mut json, channel.authors);
    json.name("items").open('[');
    for one in items {
        item(&mut json, one);
    }
    json.close(']').close('}');
    json.out.push('\n');
    json.out
}

fn item(json: &mut Json, item: &Item<'_>) {
    json.open('{');
    json.text("id", item.id);
    json.text("url", item.page);
    json.text("title", item.title);
    json.maybe("content_html", item.html);
    let text = match (item.html, item.text) {
        (None, None) => Some(item.summary.unwrap_or("")),
        (_, text) => text,
    };
    json.maybe("content_text", text);
    json.maybe("summary", item.summary);
    json.text("date_published", &item.published.unwrap_or(item.updated).to_string());
    json.text("date_modified", &item.updated.to_string());
    json.maybe("language", item.lang);
    authors(json, item.authors);
    if !item.categories.is_empty() {
        json.name("tags").open('[');
        for category in item.categories {
            json.value(category);
        }
        json.close(']');
    }
    if !item.enclosures.is_empty() {
        json.name("attachments").open('[');
        for enclosure in item.enclosures {
            json.open('{');
            json.text("url", &enclosure.url);
            json.text("mime_type", &enclosure.media_type);
            if enclosure.length > 0 {
                json.name("size_in_bytes").raw(&enclosure.length.to_string());
            }
            json.close('}');
        }
        json.close(']');
    }
    json.close('}');
}

fn authors(json: &mut Json, authors: &[Person]) {
    if authors.is_empty() {
        return;
    }
    json.name("authors").open('[');
    for author in authors {
        json.open('{');
        json.text("name", &author.name);
        json.maybe("url", author.uri.as_deref());
        json.close('}');
    }
    json.close(']');
}

/// JSON that is being written.
#[derive(Default)]
struct Json {
    out: String,
    /// Whether a comma is due before the next member or element.
    is_next: bool,
}

impl Json {
    fn comma(&mut self) {
        if std::mem::replace(&mut self.is_next, true) {
            self.out.push(',');
        }
    }

    fn open(&mut self, bracket: char) -> &mut Json {
        self.comma();
        self.out.push(bracket);
        self.is_next = false;
        self
    }

    fn close(&mut self, bracket: char) -> &mut Json {
        self.out.push(bracket);
        self.is_next = true;
        self
    }

    fn raw(&mut self, json: &str) {
        self.comma();
        self.out.push_str(json);
    }

    fn name(&mut self, name: &str) -> &mut Json {
        self.value(name);
        self.out.push(':');
        self.is_next = false;
        self
    }

    fn text(&mut self, name: &str, text: &str) {
        self.name(name).value(text);
    }

    fn maybe(&mut self, name: &str, text: Option<&str>) {
        if let Some(text) = text {
            self.text(name, text);
        }
    }

    fn value(&mut self, text: &str) {
        self.comma();
        self.out.push('"');
        for c in text.chars() {
            match c {
                '"' => self.out.push_str("\\\""),
                '\\' => self.out.push_str("\\\\"),
                '\n' => self.out.push_str("\\n"),
                '\r' => self.out.push_str("\\r"),
                '\t' => self.out.push_str("\\t"),
                c if c < ' ' => {
                    // Writing to a String cannot fail.
                    _ = write!(self.out, "\\u{:04x}", u32::from(c));
                }
                c => self.out.push(c),
            }
        }
        self.out.push('"');
    }
}
