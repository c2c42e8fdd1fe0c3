//! The collections of a service document (RFC 5023 §8).

use super::{APP, resolved};
use wire::xml::{Event, Reader};

/// The addresses of the collections whose `accept` elements are as `takes` wants them.
pub(super) fn collections(
    text: &str,
    takes: impl Fn(&[String]) -> bool,
) -> Result<Vec<String>, String> {
    let mut reader = Reader::new(text).map_err(|why| why.to_string())?;
    let mut found = Vec::new();
    while let Some(event) = reader.read().map_err(|why| why.to_string())? {
        let Event::Start(element) = event else { continue };
        if !element.name.is(APP, "collection") {
            continue;
        }
        let href = element.get("href").map(|href| resolved(reader.base(), href));
        let accepts = accepts(&mut reader)?;
        if takes(&accepts) {
            found.extend(href);
        }
    }
    Ok(found)
}

/// Reads to the end of a collection.
fn accepts(reader: &mut Reader<'_>) -> Result<Vec<String>, String> {
    let depth = reader.depth();
    let (mut accepts, mut is_accept) = (Vec::new(), false);
    while let Some(event) = reader.read().map_err(|why| why.to_string())? {
        match event {
            Event::Start(element) => {
                is_accept = element.name.is(APP, "accept") && reader.depth() == depth + 1;
                if is_accept {
                    accepts.push(String::new());
                }
            }
            Event::Text(text) if is_accept => {
                if let Some(last) = accepts.last_mut() {
                    last.push_str(&text);
                }
            }
            Event::End if reader.depth() < depth => return Ok(accepts),
            Event::End => is_accept = false,
            Event::Text(_) | Event::Aside => {}
        }
    }
    Ok(accepts)
}

/// No `accept` means entries (§8.3.4).
pub(super) fn takes_entries(accepts: &[String]) -> bool {
    accepts.is_empty() || accepts.iter().any(|accept| is_entry(accept))
}

pub(super) fn takes_media(accepts: &[String]) -> bool {
    accepts.iter().any(|accept| {
        let accept = accept.trim().to_ascii_lowercase();
        accept == "*/*" || accept.starts_with("image/")
    })
}

fn is_entry(accept: &str) -> bool {
    let accept: String = accept.split_ascii_whitespace().collect();
    let accept = accept.to_ascii_lowercase().replace('"', "");
    let feed = "application/atom+xml;type=feed";
    accept.starts_with("application/atom+xml") && accept != feed
}
