//! Lists of merge operations as JSON: `[{"op":"add","path":"/hits","value":1}]`. What they do is
//! the repository's affair (`repository::Merge`).

use super::element::{Element, elements};
use super::{Malformed, canonical};
use crate::limits::PATCH_OPERATIONS_MAX;
use repository::Merge;

const NAMES: &str =
    "\"add\", \"min\", \"max\", \"append\", \"insert-if-absent\", \"set-add\" or \"set-remove\"";

/// Reads a body.
pub(crate) fn parse(body: &[u8]) -> Result<Vec<Merge>, Malformed> {
    of(&canonical(body)?)
}

/// The operations that a canonical text lists, at least one.
pub(crate) fn of(text: &str) -> Result<Vec<Merge>, Malformed> {
    let listed = elements(text, PATCH_OPERATIONS_MAX)?;
    if listed.is_empty() {
        let why = "expected at least one operation".to_owned();
        return Err(Malformed::Structure { at: String::new(), why });
    }
    listed.iter().map(operation).collect()
}

fn operation(element: &Element<'_>) -> Result<Merge, Malformed> {
    let path = element.pointer("path")?;
    let text = element.member("value")?;
    let value = || text.to_owned();
    let number = || {
        let number = text.parse::<f64>().ok().filter(|number| number.is_finite());
        number.ok_or_else(|| element.wrong("value", "expected a number"))
    };
    let name = element.string("op")?;
    Ok(match name.as_str() {
        "add" => Merge::Add { path, delta: number()? },
        "min" => Merge::Min { path, value: number()? },
        "max" => Merge::Max { path, value: number()? },
        "append" => Merge::Append { path, value: value() },
        "insert-if-absent" => Merge::InsertIfAbsent { path, value: value() },
        "set-add" => Merge::SetAdd { path, value: value() },
        "set-remove" => Merge::SetRemove { path, value: value() },
        _ => return Err(element.wrong("op", format!("expected {NAMES}"))),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_is_read() {
        let path = || "/a~1b".to_owned();
        let value = || r#"{"x":1}"#.to_owned();
        let body = br#"[
            {"op":"add","path":"/a~1b","value":-1.50},
            {"op":"min","path":"","value":0},
            {"op":"max","path":"","value":1e3},
            {"op":"append","path":"/a~1b","value":{"x": 1.0}},
            {"op":"insert-if-absent","path":"/a~1b","value":{"x":1}},
            {"op":"set-add","path":"/a~1b","value":{"x":1}},
            {"op":"set-remove","path":"/a~1b","value":{"x":1}}
        ]"#;
        let expected = [
            Merge::Add { path: path(), delta: -1.5 },
            Merge::Min { path: String::new(), value: 0.0 },
            Merge::Max { path: String::new(), value: 1_000.0 },
            Merge::Append { path: path(), value: value() },
            Merge::InsertIfAbsent { path: path(), value: value() },
            Merge::SetAdd { path: path(), value: value() },
            Merge::SetRemove { path: path(), value: value() },
        ];
        assert_eq!(parse(body).unwrap(), expected);
    }

    #[test]
    fn mistakes_are_located() {
        for (body, at) in [
            ("{}", "at \"\": expected a list"),
            ("[]", "at \"\": expected at least one"),
            ("[1]", "at \"/0\": expected an object"),
            (r#"[{"op":"add","path":"/a"}]"#, "at \"/0\": the operation needs \"value\""),
            (r#"[{"op":"add","path":"/a","value":"1"}]"#, "at \"/0/value\": expected a number"),
            (r#"[{"op":"add","path":"a","value":1}]"#, "at \"/0/path\": a JSON Pointer"),
            (r#"[{"op":"sub","path":"","value":1}]"#, "at \"/0/op\": expected \"add\""),
            (r#"[{"op":"add","path":"","path":"","value":1}]"#, "occurs twice"),
        ] {
            let why = parse(body.as_bytes()).unwrap_err().to_string();
            assert!(why.contains(at), "{body}: {why}");
        }
    }
}
