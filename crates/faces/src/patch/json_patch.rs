//! JSON Patch (RFC 6902).

use super::element::{Element, elements, excerpt};
use super::{Malformed, Misfit, Refused, canonical, text};
use crate::limits::{PATCH_OPERATIONS_MAX, PATCH_WORK_BYTES_MAX};

/// A list of operations that take effect together or not at all (§5).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct JsonPatch {
    operations: Vec<Operation>,
    bytes: usize,
}

/// An operation (§4). Paths are JSON Pointers, values canonical text.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Operation {
    Add { path: String, value: String },
    Remove { path: String },
    Replace { path: String, value: String },
    Move { from: String, path: String },
    Copy { from: String, path: String },
    Test { path: String, value: String },
}

const NAMES: &str = "\"add\", \"remove\", \"replace\", \"move\", \"copy\" or \"test\"";

impl JsonPatch {
    /// Reads a body.
    pub(crate) fn parse(body: &[u8]) -> Result<Self, Malformed> {
        Self::of(&canonical(body)?)
    }

    /// The patch that a canonical text is.
    pub(crate) fn of(text: &str) -> Result<Self, Malformed> {
        let listed = elements(text, PATCH_OPERATIONS_MAX)?;
        let operations = listed.iter().map(operation).collect::<Result<_, _>>()?;
        Ok(Self { operations, bytes: text.len() })
    }

    /// Its size in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The document after the patch.
    pub(crate) fn apply(&self, document: &str) -> Result<String, Refused> {
        let mut left = PATCH_WORK_BYTES_MAX;
        self.apply_within(document, &mut left)
    }

    /// The document after the patch, which takes the bytes that it looks at from `left_bytes`.
    pub(crate) fn apply_within(
        &self,
        document: &str,
        left_bytes: &mut usize,
    ) -> Result<String, Refused> {
        let mut current = document.to_owned();
        for (index, operation) in self.operations.iter().enumerate() {
            let next = match left_bytes.checked_sub(current.len()) {
                None => Err(Misfit::Work),
                Some(left) => {
                    *left_bytes = left;
                    operation.apply(&current)
                }
            };
            if let Some(next) = next.map_err(|misfit| misfit.of(index))? {
                current = next;
            }
        }
        Ok(current)
    }
}

impl Operation {
    /// The document after it; `None`: as it was.
    fn apply(&self, document: &str) -> Result<Option<String>, Misfit> {
        match self {
            Self::Add { path, value } => text::add(document, path, value),
            Self::Remove { path } => text::remove(document, path).map(|(rest, _)| rest),
            Self::Replace { path, value } => text::replace(document, path, value),
            Self::Copy { from, path } => text::add(document, path, text::find(document, from)?),
            Self::Move { from, path } if from == path => {
                text::find(document, from)?;
                return Ok(None);
            }
            Self::Move { from, path } => {
                let (rest, value) = text::remove(document, from)?;
                text::add(&rest, path, value)
            }
            Self::Test { path, value } => {
                let found = text::find(document, path)?;
                if text::equal(found, value) {
                    return Ok(None);
                }
                let (found, value) = (excerpt(found), excerpt(value));
                let why = format!("the test failed: \"{path}\" is {found}, expected {value}");
                return Err(Misfit::State(why));
            }
        }
        .map(Some)
    }
}

/// Members that an operation does not define are ignored (§4).
fn operation(element: &Element<'_>) -> Result<Operation, Malformed> {
    let path = || element.pointer("path");
    let value = || element.member("value").map(str::to_owned);
    let from = || element.pointer("from");
    let name = element.string("op")?;
    Ok(match name.as_str() {
        "add" => Operation::Add { path: path()?, value: value()? },
        "remove" => Operation::Remove { path: path()? },
        "replace" => Operation::Replace { path: path()?, value: value()? },
        "test" => Operation::Test { path: path()?, value: value()? },
        "copy" => Operation::Copy { from: from()?, path: path()? },
        "move" => {
            let (from, path) = (from()?, path()?);
            // §4.4: what is moved cannot go into itself.
            if path.strip_prefix(&from).is_some_and(|below| below.starts_with('/')) {
                return Err(element.wrong("path", "a value cannot be moved into itself"));
            }
            Operation::Move { from, path }
        }
        other => {
            let why = format!("expected {NAMES}, got \"{}\"", excerpt(other));
            return Err(element.wrong("op", why));
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patched(document: &str, patch: &str) -> Result<String, Refused> {
        let document = canonical(document.as_bytes()).unwrap();
        JsonPatch::parse(patch.as_bytes()).unwrap().apply(&document)
    }

    /// One case for each of A.1 to A.16 that can be applied, with other names and values.
    #[test]
    fn rfc6902_appendix_a_what_can_be_applied() {
        for (section, document, patch, expected) in [
            ("A.1", r#"{"k":1}"#, r#"[{"op":"add","path":"/n","value":2}]"#, r#"{"k":1,"n":2}"#),
            (
                "A.2",
                r#"{"k":["x","z"]}"#,
                r#"[{"op":"add","path":"/k/1","value":"y"}]"#,
                r#"{"k":["x","y","z"]}"#,
            ),
            ("A.3", r#"{"k":1,"n":2}"#, r#"[{"op":"remove","path":"/k"}]"#, r#"{"n":2}"#),
            ("A.4", r#"{"k":[1,2,3]}"#, r#"[{"op":"remove","path":"/k/1"}]"#, r#"{"k":[1,3]}"#),
            (
                "A.5",
                r#"{"k":1,"n":2}"#,
                r#"[{"op":"replace","path":"/k","value":[]}]"#,
                r#"{"k":[],"n":2}"#,
            ),
            (
                "A.6",
                r#"{"k":{"a":1,"b":2},"n":{"c":3}}"#,
                r#"[{"op":"move","from":"/k/b","path":"/n/d"}]"#,
                r#"{"k":{"a":1},"n":{"c":3,"d":2}}"#,
            ),
            (
                "A.7",
                r#"{"k":[1,2,3,4]}"#,
                r#"[{"op":"move","from":"/k/1","path":"/k/3"}]"#,
                r#"{"k":[1,3,4,2]}"#,
            ),
            (
                "A.8",
                r#"{"k":"v","n":[1,"w",3]}"#,
                r#"[{"op":"test","path":"/k","value":"v"},
                    {"op":"test","path":"/n/1","value":"w"}]"#,
                r#"{"k":"v","n":[1,"w",3]}"#,
            ),
            (
                "A.10",
                r#"{"k":1}"#,
                r#"[{"op":"add","path":"/n","value":{"m":{}}}]"#,
                r#"{"k":1,"n":{"m":{}}}"#,
            ),
            (
                "A.11",
                r#"{"k":1}"#,
                r#"[{"op":"add","path":"/n","value":2,"unknown":3}]"#,
                r#"{"k":1,"n":2}"#,
            ),
            (
                "A.14",
                r#"{"/":9,"~1":10}"#,
                r#"[{"op":"test","path":"/~01","value":10}]"#,
                r#"{"/":9,"~1":10}"#,
            ),
            (
                "A.16",
                r#"{"k":["x"]}"#,
                r#"[{"op":"add","path":"/k/-","value":["y","z"]}]"#,
                r#"{"k":["x",["y","z"]]}"#,
            ),
        ] {
            assert_eq!(patched(document, patch).as_deref(), Ok(expected), "{section}");
        }
    }

    #[test]
    fn rfc6902_appendix_a_what_cannot_be_applied() {
        for (section, document, patch, expected) in [
            ("A.9", r#"{"k":"v"}"#, r#"[{"op":"test","path":"/k","value":"w"}]"#, "test failed"),
            ("A.12", r#"{"k":1}"#, r#"[{"op":"add","path":"/n/m","value":2}]"#, "nothing at"),
            ("A.15", r#"{"k":10}"#, r#"[{"op":"test","path":"/k","value":"10"}]"#, "test failed"),
        ] {
            let refused = patched(document, patch).unwrap_err();
            assert!(matches!(refused, Refused::Mismatch { .. }), "{section}");
            assert!(refused.to_string().contains(expected), "{section}: {refused}");
        }
        // A.13: a member that is given twice.
        let twice = br#"[{"op":"add","op":"remove","path":"/k","value":1}]"#;
        assert!(matches!(JsonPatch::parse(twice), Err(Malformed::Json(_))));
    }

    #[test]
    fn rfc6902_4_1_add() {
        for (document, patch, expected) in [
            ("1", r#"[{"op":"add","path":"","value":{}}]"#, "{}"),
            ("[]", r#"[{"op":"add","path":"/0","value":1}]"#, "[1]"),
            ("[1]", r#"[{"op":"add","path":"/1","value":2}]"#, "[1,2]"),
            ("[1]", r#"[{"op":"add","path":"/0","value":2}]"#, "[2,1]"),
            (r#"{"k":1}"#, r#"[{"op":"add","path":"/k","value":2}]"#, r#"{"k":2}"#),
            (r#"{"k":1}"#, r#"[{"op":"add","path":"/","value":2}]"#, r#"{"k":1,"":2}"#),
            (r#"{"k":1}"#, r#"[{"op":"add","path":"/3","value":2}]"#, r#"{"3":2,"k":1}"#),
        ] {
            assert_eq!(patched(document, patch).as_deref(), Ok(expected), "{document} {patch}");
        }
        for (document, path) in [
            ("[1]", "/2"),
            ("[1]", "/01"),
            ("[1]", "/+1"),
            ("[1]", "/x"),
            ("[1]", "/"),
            ("1", "/a"),
        ] {
            let patch = format!(r#"[{{"op":"add","path":"{path}","value":2}}]"#);
            assert!(patched(document, &patch).is_err(), "{document} {path}");
        }
    }

    #[test]
    fn rfc6902_4_2_to_4_5_sources_must_be_there() {
        for (document, patch) in [
            (r#"{"k":1}"#, r#"[{"op":"remove","path":"/n"}]"#),
            ("[1]", r#"[{"op":"remove","path":"/1"}]"#),
            ("[1]", r#"[{"op":"remove","path":"/-"}]"#),
            ("[1]", r#"[{"op":"remove","path":""}]"#),
            (r#"{"k":1}"#, r#"[{"op":"replace","path":"/n","value":1}]"#),
            ("[1]", r#"[{"op":"replace","path":"/1","value":1}]"#),
            ("[1]", r#"[{"op":"replace","path":"/-","value":1}]"#),
            (r#"{"k":1}"#, r#"[{"op":"move","from":"/n","path":"/m"}]"#),
            (r#"{"k":1}"#, r#"[{"op":"move","from":"/n","path":"/n"}]"#),
            (r#"{"k":1}"#, r#"[{"op":"copy","from":"/n","path":"/m"}]"#),
            ("[1]", r#"[{"op":"test","path":"/1","value":1}]"#),
        ] {
            assert!(patched(document, patch).is_err(), "{document} {patch}");
        }
        let patch =
            r#"[{"op":"copy","from":"/a","path":"/b"},{"op":"replace","path":"/a","value":2}]"#;
        assert_eq!(patched(r#"{"a":[1]}"#, patch).as_deref(), Ok(r#"{"a":2,"b":[1]}"#));
        let same = r#"[{"op":"move","from":"/a","path":"/a"}]"#;
        assert_eq!(patched(r#"{"a":1}"#, same).as_deref(), Ok(r#"{"a":1}"#));
        let into = r#"[{"op":"copy","from":"/a","path":"/a/b"}]"#;
        assert_eq!(patched(r#"{"a":{}}"#, into).as_deref(), Ok(r#"{"a":{"b":{}}}"#));
    }

    #[test]
    fn rfc6902_4_6_numbers_are_equal_by_value() {
        for (value, expected) in [
            ("1.0", "1"),
            ("1e2", "100"),
            ("-0", "0"),
            (r#"{"b":1.0,"a":[]}"#, r#"{"a":[],"b":1}"#),
        ] {
            let patch = format!(r#"[{{"op":"test","path":"/k","value":{value}}}]"#);
            assert!(patched(&format!(r#"{{"k":{expected}}}"#), &patch).is_ok(), "{value}");
        }
    }

    #[test]
    fn rfc6902_5_a_patch_takes_effect_as_a_whole() {
        let patch = r#"[{"op":"add","path":"/n","value":2},{"op":"test","path":"/k","value":0}]"#;
        let refused = patched(r#"{"k":1}"#, patch).unwrap_err();
        assert!(refused.to_string().starts_with("operation 1: "), "{refused}");
        assert_eq!(patched(r#"{"k":1}"#, "[]").as_deref(), Ok(r#"{"k":1}"#));
    }

    #[test]
    fn what_is_no_patch() {
        for (body, expected) in [
            ("{}", "expected a list"),
            ("[1]", "at \"/0\": expected an object"),
            (r#"[{"path":"/a"}]"#, "needs \"op\""),
            (r#"[{"op":"add","value":1}]"#, "needs \"path\""),
            (r#"[{"op":"add","path":"/a"}]"#, "needs \"value\""),
            (r#"[{"op":"move","path":"/a"}]"#, "needs \"from\""),
            (r#"[{"op":1,"path":"/a"}]"#, "at \"/0/op\": expected a string"),
            (r#"[{"op":"put","path":"/a"}]"#, "at \"/0/op\": expected \"add\""),
            (r#"[{"op":"remove","path":"a"}]"#, "at \"/0/path\": a JSON Pointer"),
            (r#"[{"op":"remove","path":"/~2"}]"#, "at \"/0/path\": a JSON Pointer"),
            (r#"[{"op":"move","from":"/a","path":"/a/b"}]"#, "into itself"),
            (r#"[{"op":"move","from":"","path":"/a"}]"#, "into itself"),
        ] {
            let why = JsonPatch::parse(body.as_bytes()).unwrap_err().to_string();
            assert!(why.contains(expected), "{body}: {why}");
        }
    }

    fn bound(document: &str, patch: &str, expected: &str) {
        let refused = patched(document, patch).unwrap_err();
        assert!(matches!(refused, Refused::Bound { .. }), "{refused}");
        assert!(refused.to_string().contains(expected), "{refused}");
    }

    #[test]
    fn patches_are_bounded() {
        let many = |count: usize| {
            format!("[{}]", vec![r#"{"op":"test","path":"","value":1}"#; count].join(","))
        };
        assert!(patched("1", &many(PATCH_OPERATIONS_MAX)).is_ok());
        let refused = JsonPatch::parse(many(PATCH_OPERATIONS_MAX + 1).as_bytes());
        assert_eq!(
            refused,
            Err(Malformed::TooMany { got: PATCH_OPERATIONS_MAX + 1, max: PATCH_OPERATIONS_MAX })
        );
        let double = r#"{"op":"copy","from":"","path":"/a"}"#;
        let doubles = |count: usize| format!("[{}]", vec![double; count].join(","));
        bound(&format!(r#"{{"b":"{}"}}"#, "x".repeat(5 << 20)), &doubles(1), "bytes");
        bound("{}", &doubles(200), "deeper");
        let large = format!(r#"[1,"{}"]"#, "x".repeat(4 << 20));
        let work = many(1_000).replace(r#""path":"""#, r#""path":"/0""#);
        let refused = patched(&large, &work).unwrap_err();
        assert!(matches!(refused, Refused::Work { .. }), "{refused}");
        assert!(refused.to_string().contains("fewer at a time"), "{refused}");
    }
}
