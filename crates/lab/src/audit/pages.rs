//! Reads numbers and lists from pages of JSON, one page after the other. It judges nothing.

use crate::fetch::{FetchError, Fetcher, Page};
use crate::limits::{AUDIT_PAGE_BYTES_MAX, AUDIT_PAGES_MAX, AUDIT_TIMEOUT};
use crate::plan::{Number, Pages, Plan};
use serde_json::Value;
use std::time::{Duration, Instant};
use thiserror::Error;

/// Why something could not be read.
#[derive(Debug, Error)]
pub(super) enum ReadError {
    #[error("{0}")]
    Fetch(#[from] FetchError),
    #[error("status {0}")]
    Status(u16),
    #[error("the page is no JSON: {0}")]
    Json(#[from] serde_json::Error),
    #[error("there is no array at \"{0}\" of the page")]
    Each(String),
    #[error("there is no number at \"{0}\"")]
    Value(String),
    #[error("there are more than {AUDIT_PAGES_MAX} pages")]
    Pages,
}

/// Pause before a server that is not there is asked again.
const AGAIN: Duration = Duration::from_millis(100);

/// Somebody who asks one server and gives it time to come back.
pub(super) struct Reader {
    fetcher: Fetcher,
    /// Until when it is asked again.
    patience: Instant,
}

impl Reader {
    pub(super) fn new(
        plan: &Plan,
        origin: usize,
        headers: &[(String, String)],
        patience: Instant,
    ) -> Self {
        let origin = plan.origins[origin].clone();
        let fetcher = Fetcher::new(
            (origin, &plan.transport.trust),
            headers.to_vec(),
            AUDIT_TIMEOUT,
            AUDIT_PAGE_BYTES_MAX,
        );
        Self { fetcher, patience }
    }

    /// Asks until there is a reply that says something: a server that has just been started again
    /// may refuse for a while.
    pub(super) fn get(&mut self, path: &str) -> Result<Page, ReadError> {
        loop {
            let answer = self.fetcher.get(path);
            let is_away = match &answer {
                Ok(page) => page.status >= 500,
                Err(FetchError::Connect(_) | FetchError::Broken(_)) => true,
                Err(_) => false,
            };
            if !is_away || Instant::now() >= self.patience {
                return Ok(answer?);
            }
            std::thread::sleep(AGAIN);
        }
    }
}

/// Gives every element of some pages to `take`.
pub(super) fn each(
    plan: &Plan,
    pages: &Pages,
    patience: Instant,
    mut take: impl FnMut(&Value) -> Result<(), ReadError>,
) -> Result<(), ReadError> {
    let mut reader = Reader::new(plan, pages.origin, &pages.headers, patience);
    let mut path = pages.path.clone();
    for _ in 0..AUDIT_PAGES_MAX {
        let page = reader.get(&path)?;
        match page.status {
            200 => {}
            // A collection without anything in it may not be there at all.
            404 if pages.each.is_some() => return Ok(()),
            status => return Err(ReadError::Status(status)),
        }
        let page: Value = serde_json::from_slice(&page.body)?;
        let Some(place) = &pages.each else { return take(&page) };
        let elements = page.pointer(place).and_then(Value::as_array);
        elements.ok_or_else(|| ReadError::Each(place.clone()))?.iter().try_for_each(&mut take)?;
        let Some((next, parameter)) = &pages.next else { return Ok(()) };
        match page.pointer(next) {
            None | Some(Value::Null) => return Ok(()),
            Some(cursor) => {
                let separator = if pages.path.contains('?') { '&' } else { '?' };
                let cursor = percent_encoded(&text(cursor));
                path = format!("{}{separator}{parameter}={cursor}", pages.path);
            }
        }
    }
    Err(ReadError::Pages)
}

/// A number as it is now.
pub(super) fn number(plan: &Plan, number: &Number, patience: Instant) -> Result<f64, ReadError> {
    let mut sum = 0.0;
    each(plan, &number.pages, patience, |element| {
        sum += match &number.value {
            None => 1.0,
            Some(place) => {
                let value = element.pointer(place).and_then(Value::as_f64);
                value.ok_or_else(|| ReadError::Value(place.clone()))?
            }
        };
        Ok(())
    })?;
    Ok(sum)
}

/// The id of an element: its parts, joined.
pub(super) fn id(element: &Value, parts: &[String]) -> Vec<u8> {
    let part = |place: &String| element.pointer(place).map(text).unwrap_or_default();
    parts.iter().map(part).collect::<Vec<_>>().join("|").into_bytes()
}

/// A text as it is, anything else as JSON.
fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn percent_encoded(text: &str) -> String {
    let encoded = |byte: u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
            char::from(byte).to_string()
        }
        _ => format!("%{byte:02X}"),
    };
    text.bytes().map(encoded).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_joined_of_their_parts() {
        let element = serde_json::json!({"key": "k", "value": {"cents": 1200, "to": "a|b"}});
        let parts = ["/value/cents", "/value/to", "/none"].map(str::to_owned);
        assert_eq!(id(&element, &parts), b"1200|a|b|");
        assert_eq!(id(&serde_json::json!(7), &[String::new()]), b"7");
    }

    #[test]
    fn cursors_are_encoded() {
        assert_eq!(percent_encoded("aZ9-._~"), "aZ9-._~");
        assert_eq!(percent_encoded("a+b/=&\u{e9}"), "a%2Bb%2F%3D%26%C3%A9");
    }
}
