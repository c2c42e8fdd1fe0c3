//! The result of a query as JSON text. What documents hold is copied, not encoded again.

use crate::explain::Explain;
use crate::run::Count;
use crate::select::Selected;
use crate::{Query, reference, timestamp};
use bytes::Bytes;
use repository::{Document, Key, MediaType, json};
use std::fmt::Write;

/// A page, ready to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// A JSON object.
    pub body: Bytes,
    /// A reference to the next page, relative to the collection: `?filter=…&after=…`.
    pub next: Option<String>,
}

/// Bytes around a document's own, at most, but for its key.
const ENTRY_BYTES: usize = 160;

pub(crate) fn render(
    query: &Query,
    selected: &Selected,
    next: Option<String>,
    count: Option<Count>,
    explain: Option<Explain>,
) -> Listed {
    let bytes = |(key, document): &(Key, _)| {
        let document: &std::sync::Arc<Document> = document;
        ENTRY_BYTES + key.as_str().len() + document.body.len()
    };
    let mut out = String::with_capacity(selected.documents.iter().map(bytes).sum::<usize>() + 256);
    out.push_str("{\"documents\":[");
    for (i, (key, document)) in selected.documents.iter().enumerate() {
        if i > 0 {
            out.push(',');
        }
        append_entry(query, key, document, &mut out);
    }
    out.push(']');
    if let Some(next) = &next {
        out.push_str(",\"next\":");
        out.push_str(&json::quote(next));
    }
    if let Some(count) = count {
        append(
            &mut out,
            format_args!(",\"count\":{{\"value\":{},\"exact\":{}}}", count.value, count.is_exact),
        );
    }
    if let Some(explain) = explain {
        out.push_str(",\"explain\":");
        out.push_str(&explain.to_json());
    }
    out.push('}');
    let next = next.map(|cursor| {
        let echo = query.echo.iter().map(|(name, value)| (*name, value.as_str()));
        reference(echo.chain([("after", cursor.as_str())]))
    });
    Listed { body: out.into(), next }
}

fn append_entry(query: &Query, key: &Key, document: &Document, out: &mut String) {
    append(
        out,
        format_args!(
            "{{\"key\":{},\"version\":{},\"created\":\"{}\",\"updated\":\"{}\"",
            json::quote(key.as_str()),
            document.version,
            timestamp::format(document.created),
            timestamp::format(document.updated),
        ),
    );
    if let Some(expires) = document.expires {
        append(out, format_args!(",\"expires\":\"{}\"", timestamp::format(expires)));
    }
    append_value(query, document, out);
    out.push('}');
}

fn append_value(query: &Query, document: &Document, out: &mut String) {
    let text = match document.media_type {
        MediaType::Json => std::str::from_utf8(&document.body).ok(),
        MediaType::Other(_) => None,
    };
    let before = out.len();
    match (text, &query.fields) {
        (None, _) => append(
            out,
            format_args!(
                ",\"media_type\":{},\"size\":{}",
                json::quote(document.media_type.as_str()),
                document.length()
            ),
        ),
        (Some(text), None) => {
            out.push_str(",\"value\":");
            out.push_str(text);
        }
        // Only metadata was asked for.
        (Some(_), Some(fields)) if fields.is_empty() => {}
        (Some(text), Some(fields)) => {
            out.push_str(",\"value\":");
            if !fields.append(text, out) {
                out.truncate(before);
            }
        }
    }
}

fn append(out: &mut String, text: std::fmt::Arguments<'_>) {
    out.write_fmt(text).expect("a string takes all that is written to it");
}
