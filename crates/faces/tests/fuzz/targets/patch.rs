//! Patches against a model: the algorithms of the RFCs written out on trees.

use crate::target::{SEPARATOR, Target};
use faces::fuzzing::{self, Refusal};
use repository::json::{self, canonicalize, children, quote, unquote};
use serde_json::{Map, Value};

pub(super) const TARGETS: &[Target] = &[
    Target {
        name: "json-patch",
        run: json_patch,
        seeds: &[
            b"{\"a\":{\"b\":[1,2,{\"c\":null}]},\"10\":\"x\"}\xff\
              [{\"op\":\"test\",\"path\":\"/a/b/2\",\
              \"value\":{\"c\":null}},{\"op\":\"move\",\"from\":\"/a/b/0\",\"path\":\"/a/b/-\"},\
              {\"op\":\"copy\",\"from\":\"/10\",\"path\":\"/7\"}]",
            b"[1,[2],3]\xff[{\"op\":\"add\",\"path\":\"/1/0\",\"value\":[]},\
              {\"op\":\"remove\",\"path\":\"/0\"},\
              {\"op\":\"replace\",\"path\":\"/1\",\"value\":{}}]",
            b"{\"~\":{\"/\":0},\"\":1}\xff[{\"op\":\"add\",\"path\":\"/~0/~1\",\"value\":true},\
              {\"op\":\"remove\",\"path\":\"/\"},{\"op\":\"add\",\"path\":\"\",\"value\":[0]}]",
            b"{\"o\":{\"x\":1,\"y\":2}}\xff[{\"op\":\"test\",\"path\":\"/o\",\
              \"value\":{\"y\":2.0,\"x\":1}},{\"op\":\"copy\",\"from\":\"\",\"path\":\"/o/z\"}]",
        ],
    },
    Target {
        name: "merge-patch",
        run: merge_patch,
        seeds: &[
            b"{\"a\":{\"b\":1,\"c\":[1]},\"d\":null,\"9\":0}\xff\
              {\"a\":{\"b\":null,\"e\":{\"f\":null}},\"d\":[null],\"1\":{\"2\":3}}",
            b"[1]\xff{\"a\":{\"b\":null}}",
            b"{\"a\":1}\xffnull",
            b"\xff{\"a\":{\"b\":{\"c\":null,\"d\":1}}}",
        ],
    },
];

fn canonical(text: &[u8]) -> Option<String> {
    String::from_utf8(canonicalize(text).ok()?).ok()
}

/// The text as a tree. Numbers and strings stay as they are written, and so do names: two are equal
/// if their texts are.
fn tree(text: &str) -> Value {
    match text.as_bytes()[0] {
        b'[' => children(text).map(|child| tree(child.value)).collect(),
        b'{' => {
            let member = |child: json::Child<'_>| {
                (child.name.unwrap_or_default().to_owned(), tree(child.value))
            };
            Value::Object(children(text).map(member).collect())
        }
        _ => Value::String(text.to_owned()),
    }
}

fn null() -> Value {
    Value::String("null".to_owned())
}

fn json_patch(input: &[u8]) {
    let Some(at) = input.iter().position(|byte| *byte == SEPARATOR) else { return };
    let Some(document) = canonical(&input[..at]) else { return };
    let applied = fuzzing::json_patch(&document, &input[at + 1..]);
    if let Ok(text) = &applied {
        assert_eq!(canonical(text.as_bytes()).as_ref(), Some(text), "it is canonical");
    }
    // The model has no bounds.
    if matches!(applied, Err(Refusal::Malformed(_) | Refusal::Bound(_))) {
        return;
    }
    let Some(patch) = canonical(&input[at + 1..]) else { panic!("a patch that is not JSON") };
    let mut model = tree(&document);
    let expected = children(&patch).try_for_each(|operation| apply(&mut model, operation.value));
    match (&applied, expected) {
        (Ok(text), Some(())) => assert_eq!(tree(text), model),
        (Err(Refusal::Mismatch(_)), None) => {}
        (applied, expected) => panic!("{applied:?}, and the model says {expected:?}"),
    }
}

/// A member of an operation.
fn member<'a>(operation: &'a str, wanted: &str) -> Option<&'a str> {
    let mut members = children(operation);
    members.find(|child| child.name.is_some_and(|name| unquote(name) == wanted)).map(|c| c.value)
}

/// RFC 6902 §4, one operation; `None`: it cannot be done.
fn apply(document: &mut Value, operation: &str) -> Option<()> {
    let pointer = |name| -> Option<Vec<String>> {
        let text = unquote(member(operation, name)?).into_owned();
        let unescape = |token: &str| token.replace("~1", "/").replace("~0", "~");
        Some(text.split('/').skip(1).map(unescape).collect())
    };
    let path = pointer("path")?;
    let value = || member(operation, "value").map(tree);
    match &*unquote(member(operation, "op")?) {
        "add" => add(document, &path, value()?),
        "remove" => remove(document, &path).map(drop),
        "replace" => {
            *find(document, &path)? = value()?;
            Some(())
        }
        "move" => {
            let from = pointer("from")?;
            if from == path {
                return find(document, &from).map(drop);
            }
            let taken = remove(document, &from)?;
            add(document, &path, taken)
        }
        "copy" => {
            let copied = find(document, &pointer("from")?)?.clone();
            add(document, &path, copied)
        }
        "test" => (*find(document, &path)? == value()?).then_some(()),
        other => panic!("{other} was understood"),
    }
}

/// RFC 6901 §4.
fn index(token: &str) -> Option<usize> {
    let is_index = token == "0" || !token.starts_with('0');
    let is_digits = !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_digit());
    token.parse().ok().filter(|_| is_index && is_digits)
}

fn find<'a>(document: &'a mut Value, path: &[String]) -> Option<&'a mut Value> {
    path.iter().try_fold(document, |value, token| match value {
        Value::Array(elements) => elements.get_mut(index(token)?),
        Value::Object(members) => members.get_mut(&quote(token)),
        _ => None,
    })
}

fn add(document: &mut Value, path: &[String], value: Value) -> Option<()> {
    let Some((last, parent)) = path.split_last() else {
        *document = value;
        return Some(());
    };
    match find(document, parent)? {
        Value::Array(elements) => {
            let at = if last == "-" { elements.len() } else { index(last)? };
            (at <= elements.len()).then(|| elements.insert(at, value))
        }
        Value::Object(members) => {
            members.insert(quote(last), value);
            Some(())
        }
        _ => None,
    }
}

fn remove(document: &mut Value, path: &[String]) -> Option<Value> {
    let (last, parent) = path.split_last()?;
    match find(document, parent)? {
        Value::Array(elements) => {
            let at = index(last)?;
            (at < elements.len()).then(|| elements.remove(at))
        }
        Value::Object(members) => members.shift_remove(&quote(last)),
        _ => None,
    }
}

/// Without a document before the separator there is none.
fn merge_patch(input: &[u8]) {
    let Some(at) = input.iter().position(|byte| *byte == SEPARATOR) else { return };
    let document = canonical(&input[..at]);
    if document.is_none() && at > 0 {
        return;
    }
    let Ok(text) = fuzzing::merge_patch(document.as_deref(), &input[at + 1..]) else { return };
    assert_eq!(canonical(text.as_bytes()).as_ref(), Some(&text), "it is canonical");
    let Some(patch) = canonical(&input[at + 1..]) else { panic!("a patch that is not JSON") };
    assert_eq!(tree(&text), merged(document.as_deref().map(tree), &tree(&patch)));
    let again = fuzzing::merge_patch(Some(&text), &input[at + 1..]);
    assert_eq!(again.as_deref(), Ok(&*text), "twice is once");
}

/// `MergePatch(Target, Patch)` of RFC 7396 §2.
fn merged(target: Option<Value>, patch: &Value) -> Value {
    let Value::Object(changes) = patch else { return patch.clone() };
    let mut members = match target {
        Some(Value::Object(members)) => members,
        _ => Map::new(),
    };
    for (name, change) in changes {
        if *change == null() {
            members.shift_remove(name);
        } else {
            let merged = merged(members.get(name).cloned(), change);
            members.insert(name.clone(), merged);
        }
    }
    Value::Object(members)
}
