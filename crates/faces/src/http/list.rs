//! The body of `POST /tx`: a JSON list of operations, as a list of operations on documents.
//! `docs/documents.md` describes it; what the list does is in `execute/transact`.

use crate::http::conditions;
use crate::limits::STEPS_MAX;
use crate::operation::{Content, NewKey, Operation, Place, Returns, Transact};
use crate::patch::element::{Element, elements};
use crate::patch::{self, JsonPatch, Malformed, MergePatch, Patch};
use crate::preconditions::{Preconditions, Versions};
use crate::problem::{Kind, Problem};
use repository::{CollectionName, Isolation, Key, KeyRandomness, MediaType};

const NAMES: &str = "\"get\", \"put\", \"create\", \"delete\", \"merge-patch\", \"json-patch\" or \
                     \"merge\"";

/// How the list is to be performed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Manner {
    pub isolation: Isolation,
    pub reports_conflicts: bool,
}

impl Manner {
    /// Reads the query of the URI.
    pub(crate) fn parse(query: Option<&str>) -> Result<Self, Problem> {
        let mut manner = Self::default();
        for parameter in query.unwrap_or_default().split('&').filter(|p| !p.is_empty()) {
            match parameter {
                "isolation=serializable" => manner.isolation = Isolation::Serializable,
                "isolation=snapshot" => manner.isolation = Isolation::Snapshot,
                "conflict=retry" => manner.reports_conflicts = false,
                "conflict=report" => manner.reports_conflicts = true,
                other => {
                    let detail = format!(
                        "/tx takes isolation=serializable or snapshot, and conflict=retry or \
                         report; got {other}"
                    );
                    return Err(Problem::new(Kind::BadRequest, detail));
                }
            }
        }
        Ok(manner)
    }
}

/// Reads a canonical text. `returns` is for operations that do not say it themselves.
pub(crate) fn parse(
    text: &str,
    manner: Manner,
    (returns, randomness): (Returns, KeyRandomness),
) -> Result<Transact, Malformed> {
    let listed = elements(text, STEPS_MAX)?;
    let mut reader = Reader { returns, randomness };
    let steps = listed.iter().map(|element| reader.step(element)).collect::<Result<_, _>>()?;
    let Manner { isolation, reports_conflicts } = manner;
    Ok(Transact { steps, isolation, reports_conflicts })
}

struct Reader {
    returns: Returns,
    /// Of the next key.
    randomness: KeyRandomness,
}

/// Of operations on a document that is written.
const WRITE: [&str; 6] = ["op", "collection", "key", "if_match", "if_none_match", "return"];

impl Reader {
    fn step(&mut self, element: &Element<'_>) -> Result<Operation, Malformed> {
        let name = element.string("op")?;
        let known: &[&str] = match name.as_str() {
            "get" | "delete" => &WRITE[..5],
            "put" => &["op", "collection", "key", "if_match", "if_none_match", "return", "value"],
            "merge-patch" | "json-patch" | "merge" => {
                &["op", "collection", "key", "if_match", "if_none_match", "return", "patch"]
            }
            "create" => &["op", "collection", "value", "return"],
            _ => return Err(element.wrong("op", format!("expected {NAMES}"))),
        };
        element.check_members(known)?;
        let returns = self.returns(element)?;
        if name == "create" {
            let name = NewKey { wish: None, randomness: self.randomness };
            self.randomness = self.randomness.next();
            let (collection, content) = (collection(element)?, content(element)?);
            let preconditions = Preconditions::default();
            return Ok(Operation::Create { collection, content, name, preconditions, returns });
        }
        let (place, preconditions) = (place(element)?, preconditions(element)?);
        Ok(match name.as_str() {
            "get" => Operation::Get { place, preconditions, acceptable: None },
            "delete" => Operation::Delete { place, preconditions },
            "put" => Operation::Put { place, content: content(element)?, preconditions, returns },
            kind => {
                Operation::Patch { place, patch: patch(kind, element)?, preconditions, returns }
            }
        })
    }

    fn returns(&self, element: &Element<'_>) -> Result<Returns, Malformed> {
        match element.optional("return")? {
            None => Ok(self.returns),
            Some("\"minimal\"") => Ok(Returns::Minimal),
            Some("\"representation\"") => Ok(Returns::Representation),
            Some(_) => Err(element.wrong("return", "expected \"minimal\" or \"representation\"")),
        }
    }
}

fn collection(element: &Element<'_>) -> Result<CollectionName, Malformed> {
    let text = element.string("collection")?;
    let wrong = |why: String| element.wrong("collection", why);
    let name = CollectionName::new(&text).map_err(|error| wrong(error.to_string()))?;
    match name.is_system() {
        true => Err(wrong("names that start with _ are Sarsen's own".to_owned())),
        false => Ok(name),
    }
}

fn place(element: &Element<'_>) -> Result<Place, Malformed> {
    let key = Key::new(&element.string("key")?)
        .map_err(|error| element.wrong("key", error.to_string()))?;
    Ok(Place { collection: collection(element)?, key })
}

fn content(element: &Element<'_>) -> Result<Content, Malformed> {
    let body = element.member("value")?.to_owned().into();
    Ok(Content { media_type: MediaType::Json, body, blob: None })
}

fn patch(kind: &str, element: &Element<'_>) -> Result<Patch, Malformed> {
    let text = element.member("patch")?;
    let inside = |error| match error {
        Malformed::Structure { at, why } => element.wrong(&format!("patch{at}"), why),
        other => other,
    };
    Ok(match kind {
        "merge-patch" => Patch::Merge(MergePatch::of(text.to_owned())),
        "json-patch" => Patch::Json(JsonPatch::of(text).map_err(inside)?),
        _ => Patch::Operations(patch::operations::of(text).map_err(inside)?),
    })
}

fn preconditions(element: &Element<'_>) -> Result<Preconditions, Malformed> {
    Ok(Preconditions {
        matches: versions(element, "if_match")?,
        none_matches: versions(element, "if_none_match")?,
        ..Preconditions::default()
    })
}

/// `"*"`, a version as a number, an entity tag as a string, or a list of such.
fn versions(element: &Element<'_>, name: &str) -> Result<Option<Versions>, Malformed> {
    let Some(text) = element.optional(name)? else { return Ok(None) };
    if text == "\"*\"" {
        return Ok(Some(Versions::Any));
    }
    let wrong = || {
        let why = "expected \"*\", an entity tag such as \"\\\"7\\\"\", a version such as 7, or a \
                   list of tags and versions";
        element.wrong(name, why)
    };
    let one = |text: &str| match text.parse::<u64>() {
        Ok(number) => Ok(Some(repository::CommitNumber(number))),
        Err(_) if text.starts_with('"') => {
            conditions::tag(&repository::json::unquote(text)).ok_or_else(wrong)
        }
        Err(_) => Err(wrong()),
    };
    let listed = match text.starts_with('[') {
        true => repository::json::children(text).map(|child| one(child.value)).collect(),
        false => one(text).map(|version| vec![version]),
    };
    // A tag that no document here can have equals nothing.
    Ok(Some(Versions::Listed(listed?.into_iter().flatten().collect())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Transact, Malformed> {
        let canonical = patch::canonical(text.as_bytes()).unwrap();
        parse(&canonical, Manner::default(), (Returns::Unasked, KeyRandomness::new(0)))
    }

    #[test]
    fn every_operation_is_read() {
        let steps = read(
            r#"[
            {"op":"get","collection":"notes","key":"a/b","if_match":"*"},
            {"op":"put","collection":"notes","key":"b","value":{"x":1.0},"if_none_match":"*"},
            {"op":"create","collection":"notes","value":[],"return":"representation"},
            {"op":"delete","collection":"notes","key":"c","if_match":7},
            {"op":"merge-patch","collection":"notes","key":"d","patch":{"a":null},
             "if_match":"\"7\""},
            {"op":"json-patch","collection":"notes","key":"e","patch":[],
             "if_match":[7,"\"8\"","\"x\""]},
            {"op":"merge","collection":"notes","key":"f","patch":[{"op":"add","path":"","value":1}]}
            ]"#,
        )
        .unwrap()
        .steps;
        let listed = |versions: &[u64]| {
            let versions = versions.iter().copied().map(repository::CommitNumber);
            Some(Versions::Listed(versions.collect()))
        };
        let matches = |step: usize| steps[step].preconditions().unwrap().matches.clone();
        assert_eq!(matches(0), Some(Versions::Any));
        assert_eq!(steps[0].place().unwrap().key.as_str(), "a/b");
        assert_eq!(steps[1].preconditions().unwrap().none_matches, Some(Versions::Any));
        let Operation::Put { content, .. } = &steps[1] else { panic!("{steps:?}") };
        assert_eq!(&content.body[..], br#"{"x":1}"#);
        let Operation::Create { returns, .. } = &steps[2] else { panic!("{steps:?}") };
        assert_eq!(*returns, Returns::Representation);
        assert_eq!((matches(3), matches(4)), (listed(&[7]), listed(&[7])));
        assert_eq!(matches(5), listed(&[7, 8]));
        let Operation::Patch { patch: Patch::Operations(merges), .. } = &steps[6] else {
            panic!("{steps:?}")
        };
        assert_eq!(merges.len(), 1);
    }

    #[test]
    fn mistakes_are_located() {
        for (text, expected) in [
            ("{}", "at \"\": expected a list"),
            ("[[]]", "at \"/0\": expected an object"),
            (r#"[{"op":"post"}]"#, "at \"/0/op\": expected \"get\""),
            (r#"[{"op":"get","collection":"notes"}]"#, "at \"/0\": the operation needs \"key\""),
            (r#"[{"op":"get","collection":"_x","key":"a"}]"#, "at \"/0/collection\": names"),
            (r#"[{"op":"get","collection":"X","key":"a"}]"#, "at \"/0/collection\": "),
            (r#"[{"op":"get","collection":"notes","key":""}]"#, "at \"/0/key\": "),
            (r#"[{"op":"get","collection":"notes","key":"a","value":1}]"#, "it can have op, "),
            (r#"[{"op":"put","collection":"notes","key":"a"}]"#, "needs \"value\""),
            (
                r#"[{"op":"put","collection":"notes","key":"a","value":1,"if_macth":1}]"#,
                "at \"/0\": it can have op, collection, key, if_match",
            ),
            (
                r#"[{"op":"delete","collection":"notes","key":"a","if_match":"7"}]"#,
                "at \"/0/if_match\": expected",
            ),
            (
                r#"[{"op":"json-patch","collection":"notes","key":"a","patch":[{"op":"x"}]}]"#,
                "at \"/0/patch/0/op\": expected",
            ),
            (
                r#"[{"op":"put","collection":"notes","key":"a","value":1,"return":"all"}]"#,
                "at \"/0/return\": expected",
            ),
        ] {
            let why = read(text).unwrap_err().to_string();
            assert!(why.contains(expected), "{text}: {why}");
        }
    }

    #[test]
    fn a_list_may_have_its_limit_and_no_more() {
        let step = r#"{"op":"delete","collection":"notes","key":"a"}"#;
        let list = |count: usize| format!("[{}]", vec![step; count].join(","));
        assert_eq!(read(&list(STEPS_MAX)).unwrap().steps.len(), STEPS_MAX);
        let refused = read(&list(STEPS_MAX + 1)).unwrap_err();
        assert_eq!(refused, Malformed::TooMany { got: STEPS_MAX + 1, max: STEPS_MAX });
    }

    #[test]
    fn the_manner_is_in_the_query() {
        let manner = |query| Manner::parse(Some(query)).ok();
        assert_eq!(Manner::parse(None), Ok(Manner::default()));
        let both = Manner { isolation: Isolation::Snapshot, reports_conflicts: true };
        assert_eq!(manner("isolation=snapshot&conflict=report"), Some(both));
        assert_eq!(manner("isolation=serializable&conflict=retry"), Some(Manner::default()));
        assert_eq!(manner("isolation=none"), None);
    }
}
