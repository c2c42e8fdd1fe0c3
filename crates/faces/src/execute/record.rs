//! Outcomes as bytes, to be remembered: a line of JSON, then the bodies of the documents that it
//! names, one after the other. The version of what the operation wrote itself is that of the
//! document that holds the bytes, because both are of one commit.

use crate::operation::{Granted, Outcome, Place, Version, Written};
use bytes::Bytes;
use repository::{
    BlobHash, BlobReference, CollectionName, CommitNumber, Document, Key, MediaType, Timestamp,
};
use serde_json::{Value, json};
use std::sync::Arc;

/// What was remembered.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Answer {
    pub fingerprint: u128,
    pub outcome: Outcome,
}

pub(super) fn encode(fingerprint: u128, outcome: &Outcome) -> Vec<u8> {
    let mut bodies = Vec::new();
    let head = json!({
        "fingerprint": format!("{fingerprint:032x}"),
        "outcome": outcome_json(outcome, &mut bodies),
    });
    let mut bytes = head.to_string().into_bytes();
    bytes.push(b'\n');
    bodies.iter().for_each(|body| bytes.extend_from_slice(body));
    bytes
}

pub(super) fn decode(bytes: &Bytes) -> Result<Answer, String> {
    let end = bytes.iter().position(|byte| *byte == b'\n').ok_or("an answer without a head")?;
    let head: Value = serde_json::from_slice(&bytes[..end]).map_err(|error| error.to_string())?;
    let mut bodies = bytes.slice(end + 1..);
    let mut decoded = || {
        let fingerprint = u128::from_str_radix(head["fingerprint"].as_str()?, 16).ok()?;
        let outcome = outcome(&head["outcome"], &mut bodies)?;
        Some(Answer { fingerprint, outcome })
    };
    decoded().ok_or_else(|| "an answer that is not understood".to_owned())
}

fn outcome_json(outcome: &Outcome, bodies: &mut Vec<Bytes>) -> Value {
    match outcome {
        Outcome::Found(document) | Outcome::FoundBlob(document, _) => {
            json!({ "found": document_json(document, bodies) })
        }
        Outcome::NotModified { version } => json!({ "not_modified": version.0 }),
        Outcome::Absent => json!("absent"),
        Outcome::Page(_) => unreachable!("only what writes is performed once"),
        Outcome::Deleted => json!("deleted"),
        Outcome::Written(written) => json!({ "written": {
            "new": written.is_new,
            "version": match written.version {
                Version::Own => json!("own"),
                Version::Known(version) => json!(version.0),
                Version::Unknown => Value::Null,
            },
            "made_at": written.made_at.as_ref().map(place_json),
            "shown": written.shown.as_ref().map(|document| document_json(document, bodies)),
            "granted": written.granted.map(granted_json),
        } }),
        Outcome::Listed(list) => {
            let listed = list
                .iter()
                .map(|(place, outcome)| json!([place_json(place), outcome_json(outcome, bodies)]));
            json!({ "listed": listed.collect::<Vec<_>>() })
        }
    }
}

fn granted_json(granted: Granted) -> &'static str {
    match granted {
        Granted::Minimal => "minimal",
        Granted::Representation => "representation",
    }
}

fn place_json(place: &Place) -> Value {
    json!([place.collection.as_str(), place.key.as_str()])
}

fn document_json(document: &Document, bodies: &mut Vec<Bytes>) -> Value {
    bodies.push(document.body.clone());
    json!({
        "media_type": document.media_type.as_str(),
        "bytes": document.body.len(),
        "blob": document.blob.map(|blob| json!([blob.hash.to_string(), blob.length])),
        "version": document.version.0,
        "created": document.created.0,
        "updated": document.updated.0,
        "expires": document.expires.map(|time| time.0),
    })
}

fn outcome(json: &Value, bodies: &mut Bytes) -> Option<Outcome> {
    match json.as_str() {
        Some("absent") => return Some(Outcome::Absent),
        Some("deleted") => return Some(Outcome::Deleted),
        _ => {}
    }
    let (kind, inside) = json.as_object()?.iter().next()?;
    Some(match kind.as_str() {
        "found" => Outcome::Found(document(inside, bodies)?),
        "not_modified" => Outcome::NotModified { version: CommitNumber(inside.as_u64()?) },
        "written" => Outcome::Written(written(inside, bodies)?),
        "listed" => {
            let listed = inside.as_array()?.iter();
            let entry = |entry: &Value| Some((place(&entry[0])?, outcome(&entry[1], bodies)?));
            Outcome::Listed(listed.map(entry).collect::<Option<_>>()?)
        }
        _ => return None,
    })
}

fn written(json: &Value, bodies: &mut Bytes) -> Option<Written> {
    let version = match &json["version"] {
        Value::Null => Version::Unknown,
        Value::Number(number) => Version::Known(CommitNumber(number.as_u64()?)),
        _ => Version::Own,
    };
    let made_at = match &json["made_at"] {
        Value::Null => None,
        json => Some(place(json)?),
    };
    let shown = match &json["shown"] {
        Value::Null => None,
        json => Some(document(json, bodies)?),
    };
    let granted = match json["granted"].as_str() {
        Some("minimal") => Some(Granted::Minimal),
        Some(_) => Some(Granted::Representation),
        None => None,
    };
    Some(Written { is_new: json["new"].as_bool()?, version, made_at, shown, granted })
}

fn place(json: &Value) -> Option<Place> {
    let collection = CollectionName::new(json[0].as_str()?).ok()?;
    Some(Place { collection, key: Key::new(json[1].as_str()?).ok()? })
}

fn document(json: &Value, bodies: &mut Bytes) -> Option<Arc<Document>> {
    let bytes = usize::try_from(json["bytes"].as_u64()?).ok()?;
    if bytes > bodies.len() {
        return None;
    }
    let media_type = match json["media_type"].as_str()? {
        name if name == MediaType::Json.as_str() => MediaType::Json,
        other => MediaType::Other(other.into()),
    };
    Some(Arc::new(Document {
        media_type,
        body: bodies.split_to(bytes),
        blob: blob(&json["blob"]),
        version: CommitNumber(json["version"].as_u64()?),
        created: Timestamp(json["created"].as_u64()?),
        updated: Timestamp(json["updated"].as_u64()?),
        expires: json["expires"].as_u64().map(Timestamp),
    }))
}

fn blob(json: &Value) -> Option<BlobReference> {
    let hash = BlobHash::parse(json[0].as_str()?)?;
    Some(BlobReference { hash, length: json[1].as_u64()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_comes_back_as_it_was() {
        let place = |key: &str| Place {
            collection: CollectionName::new("notes").unwrap(),
            key: Key::new(key).unwrap(),
        };
        let document = |media_type, body: &'static [u8]| {
            Arc::new(Document {
                media_type,
                body: Bytes::from_static(body),
                blob: None,
                version: CommitNumber(u64::MAX),
                created: Timestamp(1),
                updated: Timestamp(2),
                expires: Some(Timestamp(3)),
            })
        };
        let blob = BlobReference { hash: BlobHash([7; 32]), length: 1 << 40 };
        let stored = document(MediaType::Other("image/png".into()), b"");
        let stored = Arc::new(Document { blob: Some(blob), ..Document::clone(&stored) });
        let written = |version, made_at, shown, granted| {
            Outcome::Written(Written { is_new: true, version, made_at, shown, granted })
        };
        let text = || document(MediaType::Other("text/plain".into()), b"\n\xff\n");
        let outcome = Outcome::Listed(vec![
            (place("a/\""), Outcome::Found(document(MediaType::Json, b"[1]"))),
            (place("a"), Outcome::Found(stored)),
            (place("b"), Outcome::NotModified { version: CommitNumber(7) }),
            (place("c"), Outcome::Absent),
            (place("d"), Outcome::Deleted),
            (place("e"), written(Version::Unknown, None, None, Some(Granted::Minimal))),
            (place("f"), written(Version::Own, Some(place("f")), Some(text()), None)),
            (
                place("g"),
                written(
                    Version::Known(CommitNumber(8)),
                    None,
                    Some(document(MediaType::Json, b"2")),
                    Some(Granted::Representation),
                ),
            ),
        ]);
        for fingerprint in [0, 1, u128::MAX] {
            let bytes = encode(fingerprint, &outcome).into();
            let expected = Answer { fingerprint, outcome: outcome.clone() };
            assert_eq!(decode(&bytes), Ok(expected));
            assert!(decode(&bytes.slice(..bytes.len() - 1)).is_err(), "a body is cut short");
        }
    }
}
