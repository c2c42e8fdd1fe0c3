//! JSON Lines of others: each line is a document of one collection, and its key is in it.

use super::line::{Exported, LineError};
use crate::document::{CommitNumber, Document, MediaType, Timestamp};
use crate::json;
use crate::name::{CollectionName, Key, excerpt};

/// How lines become documents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plain {
    /// Where they go.
    pub collection: CollectionName,
    /// The JSON Pointer (RFC 6901) to a text or number in each that is its key.
    pub key: String,
}

impl Plain {
    /// The document that a line is. It has no times.
    pub(super) fn read(&self, line: &[u8]) -> Result<Exported, LineError> {
        let body = json::canonicalize(line)?;
        let text = String::from_utf8_lossy(&body);
        let wrong = |why: String| LineError { column: Some(1), why };
        let found = json::locate(&text, &self.key).map_err(|error| wrong(error.to_string()))?;
        let json::Span::Value(span) = found else {
            let (key, got) = (&self.key, excerpt(&text));
            return Err(wrong(format!(
                "expected the key at \"{key}\", where nothing is; got {got}"
            )));
        };
        let key = match &text[span] {
            value if value.starts_with('"') => json::unquote(value).into_owned(),
            value if value.starts_with(|c: char| c == '-' || c.is_ascii_digit()) => {
                value.to_owned()
            }
            other => {
                let (key, got) = (&self.key, excerpt(other));
                let why = format!("expected the key, a text or a number, at \"{key}\"; got {got}");
                return Err(wrong(why));
            }
        };
        let key = Key::new(&key).map_err(|error| wrong(error.to_string()))?;
        let document = Document {
            media_type: MediaType::Json,
            body: body.into(),
            blob: None,
            version: CommitNumber(0),
            created: Timestamp(0),
            updated: Timestamp(0),
            expires: None,
        };
        Ok(Exported { collection: self.collection.clone(), key, document })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_texts_or_numbers() {
        let collection = CollectionName::new("notes").unwrap();
        let plain = Plain { collection, key: "/id".to_owned() };
        for (line, key) in [(r#"{"id": "a\n"}"#, None), (r#"{"id":"a"}"#, Some("a"))] {
            assert_eq!(plain.read(line.as_bytes()).ok().map(|e| e.key.to_string()).as_deref(), key);
        }
        let read = plain.read(br#" {"b":1.0, "id":-7} "#).unwrap();
        assert_eq!(
            (read.key.as_str(), &read.document.body[..]),
            ("-7", &br#"{"b":1,"id":-7}"#[..])
        );
        for (line, why) in [
            (r#"{"ID":1}"#, "expected the key at \"/id\""),
            (r#"{"id":null}"#, "a text or a number"),
            (r#"{"id":""}"#, "a key is 1 to 512 bytes"),
            ("[1]", "/id"),
            (r#"{"id":"a","n":9007199254740993.0}"#, "cannot hold the integer"),
            (r#"{"id":9223372036854775808}"#, "cannot hold the integer"),
            ("{", "expected"),
        ] {
            let error = plain.read(line.as_bytes()).unwrap_err();
            assert!(error.why.contains(why), "{line}: {error}");
        }
    }
}
