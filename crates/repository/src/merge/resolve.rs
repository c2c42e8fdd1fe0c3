//! What a merge operation makes of a document. Depends on the two and on nothing else, so every
//! recovery makes the same of it.

use super::{Merge, check_finite};
use crate::document::{Document, MediaType};
use crate::json::{self, PointerError, Span};
use crate::limits::JSON_DEPTH_MAX;
use bytes::Bytes;

impl Merge {
    /// The body after the operation; `None` if it changes nothing, where there is no document too.
    /// Or why it does not fit what is there.
    pub(crate) fn resolve(&self, current: Option<&Document>) -> Result<Option<Bytes>, String> {
        if let (Self::InsertIfAbsent { path, .. }, Some(_)) = (self, current) {
            // The document is there, whatever it is.
            if path.is_empty() {
                return Ok(None);
            }
        }
        let text = current.map(json_text).transpose()?;
        let resolved = match edit(text, self) {
            // Nothing to remove from, however far up it is missing.
            Err(Misfit::Pointer(PointerError::Missing(_)))
                if matches!(self, Self::SetRemove { .. }) =>
            {
                None
            }
            other => other.map_err(|misfit| misfit.to_string())?,
        };
        Ok(resolved.map(|text| Bytes::from(text.into_boxed_str().into_boxed_bytes())))
    }

    /// What the value at the path becomes; `None`: it stays as it is.
    fn next(&self, old: Option<&str>) -> Result<Option<String>, Misfit> {
        match self {
            Self::Add { path, delta } => {
                let sum = number(old, path)?.unwrap_or(0.0) + finite(*delta)?;
                match sum.is_finite() {
                    true => Ok(Some(json::format_number(sum))),
                    false => Err(PointerError::Overflow(path.clone()).into()),
                }
            }
            Self::Min { path, value } => {
                let (old, value) = (number(old, path)?, finite(*value)?);
                Ok(old.is_none_or(|old| value < old).then(|| json::format_number(value)))
            }
            Self::Max { path, value } => {
                let (old, value) = (number(old, path)?, finite(*value)?);
                Ok(old.is_none_or(|old| value > old).then(|| json::format_number(value)))
            }
            Self::InsertIfAbsent { value, .. } => Ok(old.is_none().then(|| value.clone())),
            Self::Append { path, value } => Ok(Some(append(array(old, path)?, value))),
            Self::SetAdd { path, value } => {
                let array = array(old, path)?;
                let is_there = json::children(array).any(|element| element.value == value);
                Ok((!is_there).then(|| append(array, value)))
            }
            Self::SetRemove { path, value } => Ok(remove(array(old, path)?, value)),
        }
    }
}

/// Why an operation does not fit.
#[derive(Debug, thiserror::Error)]
enum Misfit {
    #[error(transparent)]
    Pointer(#[from] PointerError),
    #[error("{0}")]
    Number(String),
    #[error("the document would be nested deeper than {JSON_DEPTH_MAX}")]
    Depth,
}

fn json_text(document: &Document) -> Result<&str, String> {
    match document.media_type {
        MediaType::Json => std::str::from_utf8(&document.body).map_err(|e| e.to_string()),
        MediaType::Other(ref name) => Err(format!("expected a JSON document, it is {name}")),
    }
}

/// The document `text` after the operation; `None` if it changes nothing.
fn edit(text: Option<&str>, operation: &Merge) -> Result<Option<String>, Misfit> {
    let path = operation.path();
    let (text, place) = match text {
        None if path.is_empty() => return operation.next(None),
        None => ("{}", json::locate("{}", path)?),
        Some(text) => (text, json::locate(text, path)?),
    };
    let old = match &place {
        Span::Value(span) => Some(&text[span.clone()]),
        Span::Vacant { .. } => None,
    };
    let Some(new) = operation.next(old)? else { return Ok(None) };
    // Each token of the path leads into one more object or array.
    let around = path.bytes().filter(|b| *b == b'/').count();
    if around + json::depth(&new) > JSON_DEPTH_MAX {
        return Err(Misfit::Depth);
    }
    Ok(Some(json::splice(text, &place, &new)))
}

fn finite(number: f64) -> Result<f64, Misfit> {
    check_finite(number).map(|()| number).map_err(Misfit::Number)
}

fn number(old: Option<&str>, path: &str) -> Result<Option<f64>, PointerError> {
    old.map(|text| text.parse().map_err(|_| PointerError::NotANumber(path.to_owned()))).transpose()
}

/// The array that is there; an empty one if nothing is.
fn array<'a>(old: Option<&'a str>, path: &str) -> Result<&'a str, PointerError> {
    match old.unwrap_or("[]") {
        text if text.starts_with('[') => Ok(text),
        _ => Err(PointerError::NotAnArray(path.to_owned())),
    }
}

fn append(array: &str, value: &str) -> String {
    let comma = if array == "[]" { "" } else { "," };
    [&array[..array.len() - 1], comma, value, "]"].concat()
}

/// `array` without `value`; `None` if it is not in there.
fn remove(array: &str, value: &str) -> Option<String> {
    let elements = || json::children(array).map(|element| element.value);
    elements().any(|element| element == value).then(|| {
        let left: Vec<&str> = elements().filter(|element| *element != value).collect();
        format!("[{}]", left.join(","))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::{CommitNumber, Timestamp};

    fn document(media_type: MediaType, text: &str) -> Document {
        Document {
            media_type,
            body: Bytes::copy_from_slice(text.as_bytes()),
            blob: None,
            version: CommitNumber(1),
            created: Timestamp(0),
            updated: Timestamp(0),
            expires: None,
        }
    }

    /// An operation as the tables below write it: its name, then its number or value.
    fn operation(name: &str, path: &str) -> Merge {
        let (name, operand) = name.split_once(' ').unwrap();
        let (path, value) = (path.to_owned(), operand.to_owned());
        let number = || operand.parse().unwrap();
        match name {
            "add" => Merge::Add { path, delta: number() },
            "min" => Merge::Min { path, value: number() },
            "max" => Merge::Max { path, value: number() },
            "append" => Merge::Append { path, value },
            "insert" => Merge::InsertIfAbsent { path, value },
            "set-add" => Merge::SetAdd { path, value },
            _ => Merge::SetRemove { path, value },
        }
    }

    /// What becomes of the document `text`, "" being none; `None`: nothing changes.
    fn resolve(text: &str, path: &str, name: &str) -> Result<Option<String>, String> {
        let document = (!text.is_empty()).then(|| document(MediaType::Json, text));
        let resolved = operation(name, path).resolve(document.as_ref())?;
        let text = resolved.map(|body| String::from_utf8(body.into()).unwrap());
        if let Some(text) = &text {
            assert_eq!(json::canonicalize(text.as_bytes()).unwrap(), text.as_bytes());
        }
        Ok(text)
    }

    #[test]
    fn operations_change_what_their_path_says() {
        for (text, path, name, expected) in [
            ("", "", "add 1", "1"),
            ("", "/n", "add 1", r#"{"n":1}"#),
            ("41", "", "add 1", "42"),
            (
                r#"{"a":"}","b":[1,{"c":2.5}]}"#,
                "/b/1/c",
                "add -0.5",
                r#"{"a":"}","b":[1,{"c":2}]}"#,
            ),
            (r#"{"n":1}"#, "/7", "add 3", r#"{"7":3,"n":1}"#),
            ("", "/n", "min 3", r#"{"n":3}"#),
            (r#"{"n":4}"#, "/n", "min 3", r#"{"n":3}"#),
            (r#"{}"#, "/n", "max 3", r#"{"n":3}"#),
            ("2", "", "max 3", "3"),
            ("", "", "append {}", "[{}]"),
            ("", "/l", "append 1", r#"{"l":[1]}"#),
            (r#"{"l":[]}"#, "/l", "append 1", r#"{"l":[1]}"#),
            (r#"{"l":[1]}"#, "/l", "append 1", r#"{"l":[1,1]}"#),
            ("[[1],2]", "/0", "append [3]", "[[1,[3]],2]"),
            ("", "", "insert [1]", "[1]"),
            ("", "/a", "insert [1]", r#"{"a":[1]}"#),
            (r#"{"b":1}"#, "/a", "insert 2", r#"{"b":1,"a":2}"#),
            ("", "/s", "set-add 1", r#"{"s":[1]}"#),
            (r#"[1,"1"]"#, "", "set-add 2", r#"[1,"1",2]"#),
            (r#"{"s":[1,2,1]}"#, "/s", "set-remove 1", r#"{"s":[2]}"#),
            ("[1]", "", "set-remove 1", "[]"),
        ] {
            let resolved = resolve(text, path, name);
            assert_eq!(resolved.as_ref().unwrap().as_deref(), Some(expected), "{text} {name}");
        }
    }

    #[test]
    fn operations_may_change_nothing() {
        for (text, path, name) in [
            (r#"{"n":3}"#, "/n", "min 3"),
            (r#"{"n":3}"#, "/n", "max 2"),
            (r#"{"a":null}"#, "/a", "insert 1"),
            ("1", "", "insert 2"),
            ("[0]", "/0", "insert 1"),
            (r#"{"s":[1,{"a":[]}]}"#, "/s", r#"set-add {"a":[]}"#),
            (r#"{"s":["1"]}"#, "/s", "set-remove 1"),
            ("{}", "/s", "set-remove 1"),
            ("{}", "/s/t/u", "set-remove 1"),
            ("", "", "set-remove 1"),
            ("", "/s", "set-remove 1"),
            ("", "/s/t", "set-remove 1"),
        ] {
            assert_eq!(resolve(text, path, name), Ok(None), "{text} {path} {name}");
        }
        let other = document(MediaType::Other("text/plain".into()), "x");
        assert_eq!(operation("insert 1", "").resolve(Some(&other)), Ok(None));
    }

    #[test]
    fn misfits_say_what_is_there() {
        let deep = format!("{}{}", "[".repeat(JSON_DEPTH_MAX), "]".repeat(JSON_DEPTH_MAX));
        let deepest = "/0".repeat(JSON_DEPTH_MAX - 1);
        for (text, path, name, expected) in [
            (r#"{"n":"1"}"#, "/n", "add 1", "\"/n\" holds no number"),
            ("true", "", "min 1", "\"\" holds no number"),
            ("1.7e+308", "", "add 1e308", "the sum at \"\" is beyond"),
            ("{}", "/a", "max inf", "expected a finite number, got inf"),
            (r#"{"l":{}}"#, "/l", "append 1", "\"/l\" holds no array"),
            ("null", "", "set-add 1", "\"\" holds no array"),
            (r#"{"l":1}"#, "/l", "set-remove 1", "\"/l\" holds no array"),
            (r#"{"l":1}"#, "/l/m", "set-remove 1", "\"/l\" is neither an object nor an array"),
            ("{}", "/a/b", "insert 1", "there is nothing at \"/a\""),
            ("[]", "/0", "insert 1", "there is nothing at \"/0\""),
            ("", "/a/b", "append 1", "there is nothing at \"/a\""),
            ("", "/a", &format!("insert {deep}"), "nested deeper than 128"),
            (&deep, &deepest, "append []", "nested deeper than 128"),
        ] {
            let why = resolve(text, path, name).unwrap_err();
            assert!(why.contains(expected), "{text} {path} {name}: {why}");
        }
        assert!(resolve(&deep, &deepest, "append 1").is_ok());
        let other = document(MediaType::Other("text/plain".into()), "x");
        let why = operation("append 1", "").resolve(Some(&other)).unwrap_err();
        assert_eq!(why, "expected a JSON document, it is text/plain");
    }
}
