//! From JSON text to values. The engine's parser is native and nothing interrupts it, and names in
//! a text decide how long it takes. So names that hash alike are refused, and long texts are
//! parsed in pieces, with a look at the request's CPU time before each.

use super::{Natives, Slot, throw};
use crate::limits::{JSON_NESTING_MAX, JSON_PIECE_BYTES, JSON_PLAIN_BYTES_MAX};
use repository::json::{check_names, depth};
use rquickjs::object::{Filter, Property};
use rquickjs::{Array, Ctx, Exception, Object, Result, String as JsString, Value};
use serde::de::IgnoredAny;
use std::ops::Range;

impl<'js> Natives<'js, '_> {
    pub(super) fn json(&self) -> Result<()> {
        let slot = self.slot.clone();
        // Undefined: the text is not UTF-8, having half a surrogate pair in it.
        self.add("parse", move |ctx: Ctx<'js>, text: JsString<'js>| match text.to_string() {
            Ok(text) => parse_any((&ctx, &slot), &text),
            Err(rquickjs::Error::Utf8(_)) => Ok(Value::new_undefined(ctx)),
            Err(error) => Err(error),
        })?;
        let slot = self.slot.clone();
        // False: it is not UTF-8.
        self.add("checkJson", move |ctx: Ctx<'js>, text: JsString<'js>| match text.to_string() {
            Ok(text) => check((&ctx, &slot), &text).map(|()| true),
            Err(rquickjs::Error::Utf8(_)) => Ok(false),
            Err(error) => Err(error),
        })
    }
}

/// The value of any text, as `JSON.parse` gives it.
fn parse_any<'js>((ctx, slot): (&Ctx<'js>, &Slot), text: &str) -> Result<Value<'js>> {
    if text.len() <= JSON_PLAIN_BYTES_MAX {
        slot.charge(ctx, text.len())?;
        return ctx.json_parse(text);
    }
    check((ctx, slot), text)?;
    whole((ctx, slot), text)
}

/// Checks a text that the engine is to parse in one go.
fn check(at: (&Ctx<'_>, &Slot), text: &str) -> Result<()> {
    let (ctx, slot) = at;
    slot.charge(ctx, text.len())?;
    if text.len() <= JSON_PLAIN_BYTES_MAX {
        return Ok(());
    }
    check_names(text).map_err(|error| throw(ctx, error))?;
    if let Err(error) = serde_json::from_str::<IgnoredAny>(text) {
        return Err(Exception::throw_syntax(ctx, &error.to_string()));
    }
    if depth(text) > JSON_NESTING_MAX {
        let why = format!("expected at most {JSON_NESTING_MAX} levels of nesting");
        return Err(Exception::throw_syntax(ctx, &why));
    }
    Ok(())
}

/// The value of a document's text.
pub(super) fn parse<'js>((ctx, slot): (&Ctx<'js>, &Slot), text: &str) -> Result<Value<'js>> {
    if text.len() > JSON_PLAIN_BYTES_MAX {
        check_names(text).map_err(|error| throw(ctx, format!("the document has {error}")))?;
    }
    whole((ctx, slot), text)
}

/// The value of a text that is well formed and not nested deeper than a document.
fn whole<'js>((ctx, slot): (&Ctx<'js>, &Slot), text: &str) -> Result<Value<'js>> {
    slot.charge(ctx, text.len())?;
    let text = text.trim_matches([' ', '\t', '\n', '\r']);
    match text.as_bytes().first() {
        Some(b'[') if text.len() > JSON_PIECE_BYTES => array((ctx, slot), text),
        Some(b'{') if text.len() > JSON_PIECE_BYTES => object((ctx, slot), text),
        _ => ctx.json_parse(text),
    }
}

fn array<'js>((ctx, slot): (&Ctx<'js>, &Slot), text: &str) -> Result<Value<'js>> {
    let whole_array = Array::new(ctx.clone())?;
    let mut length = 0;
    for piece in pieces(text) {
        if piece.len() > JSON_PIECE_BYTES {
            whole_array.set(length, whole((ctx, slot), &text[piece])?)?;
            length += 1;
            continue;
        }
        slot.charge(ctx, piece.len())?;
        let part: Array = ctx.json_parse(format!("[{}]", &text[piece]))?.get()?;
        for element in part.iter::<Value>() {
            whole_array.set(length, element?)?;
            length += 1;
        }
    }
    Ok(whole_array.into_value())
}

fn object<'js>((ctx, slot): (&Ctx<'js>, &Slot), text: &str) -> Result<Value<'js>> {
    let whole_object = Object::new(ctx.clone())?;
    // Defined, not set: a name may be `__proto__`.
    let define = |name: JsString<'js>, value: Value<'js>| {
        let member = Property::from(value).writable().enumerable().configurable();
        whole_object.prop(name, member)
    };
    for piece in pieces(text) {
        if piece.len() > JSON_PIECE_BYTES {
            let member = &text[piece];
            let colon = name_end(member);
            let name: JsString = ctx.json_parse(&member[..colon])?.get()?;
            let value = member[colon..].trim_start_matches([' ', '\t', '\n', '\r', ':']);
            define(name, whole((ctx, slot), value)?)?;
            continue;
        }
        slot.charge(ctx, piece.len())?;
        let part: Object = ctx.json_parse(format!("{{{}}}", &text[piece]))?.get()?;
        for member in part.own_props::<JsString, Value>(Filter::default()) {
            let (name, value) = member?;
            define(name, value)?;
        }
    }
    Ok(whole_object.into_value())
}

/// The children of the array or object `text`, in order: those that are small as many together as
/// fit into a piece, with the commas between them; a large one by itself.
fn pieces(text: &str) -> Vec<Range<usize>> {
    let mut pieces: Vec<Range<usize>> = Vec::new();
    let mut start = 1;
    for end in ends(text.as_bytes()) {
        match pieces.last_mut() {
            Some(last) if end - last.start <= JSON_PIECE_BYTES => last.end = end,
            _ => pieces.push(start..end),
        }
        start = end + 1;
    }
    pieces
}

/// Where the children of the array or object that `text` is end: at commas, and at its bracket.
fn ends(text: &[u8]) -> impl Iterator<Item = usize> + '_ {
    let (mut at, mut nesting) = (1, 1_usize);
    std::iter::from_fn(move || {
        while let Some(byte) = text.get(at) {
            let here = at;
            at += 1;
            match byte {
                b'"' => at = string_end(text, here),
                b'{' | b'[' => nesting += 1,
                b'}' | b']' if nesting == 1 => {
                    at = text.len();
                    return Some(here);
                }
                b'}' | b']' => nesting -= 1,
                b',' if nesting == 1 => return Some(here),
                _ => {}
            }
        }
        None
    })
}

/// The offset after the string that opens at `open`.
fn string_end(text: &[u8], open: usize) -> usize {
    let mut at = open + 1;
    while text.get(at).is_some_and(|byte| *byte != b'"') {
        at += if text[at] == b'\\' { 2 } else { 1 };
    }
    at + 1
}

/// The offset after the name of the member that `text` is.
fn name_end(text: &str) -> usize {
    let open = text.find('"').unwrap_or(0);
    string_end(text.as_bytes(), open)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn children_are_grouped_into_pieces() {
        let large = format!("\"{}\"", "x".repeat(JSON_PIECE_BYTES));
        let text = format!("[1, \"],\\\"\" ,[2,3],{large},{{\"a\":[4]}},5 ]");
        let found: Vec<&str> = pieces(&text).into_iter().map(|piece| &text[piece]).collect();
        assert_eq!(found, ["1, \"],\\\"\" ,[2,3]", &large, "{\"a\":[4]},5 "]);
        let member = format!("{{ \"a\\\"\" : {large}}}");
        let found = pieces(&member);
        assert_eq!(found.len(), 1);
        assert_eq!(&member[1..][..name_end(&member[1..])], " \"a\\\"\"");
    }

    /// What an earlier build has stored, or what was restored.
    #[test]
    fn a_document_whose_names_hash_alike_is_refused() {
        let runtime = rquickjs::Runtime::new().unwrap();
        let context = rquickjs::Context::full(&runtime).unwrap();
        let slot = Slot::default();
        context.with(|ctx| {
            let document = |names: &[String]| {
                let members =
                    names.iter().map(|name| format!("\"{name}\":\"{}\"", "x".repeat(300)));
                format!("{{{}}}", members.collect::<Vec<_>>().join(","))
            };
            let names = alike();
            let value = parse((&ctx, &slot), &document(&names[1..])).unwrap();
            assert_eq!(value.into_object().unwrap().len(), names.len() - 1);
            parse((&ctx, &slot), &document(&names)).unwrap_err();
            let thrown = ctx.catch().into_exception().unwrap().message().unwrap();
            assert!(thrown.starts_with("the document has more than 16 names"), "{thrown}");
        });
    }

    /// One more than may be, which are filed in the same of 2^12 places, as texts of this length
    /// need no more.
    fn alike() -> Vec<String> {
        let hash = |name: &str| {
            name.bytes().fold(1_u32, |h, b| h.wrapping_mul(263).wrapping_add(u32::from(b)))
        };
        let names = (0_u32..).map(|n| format!("{n:08x}"));
        let alike = names.filter(|name| hash(name) % 4096 == 77);
        alike.take(repository::limits::NAMES_ALIKE_MAX + 1).collect()
    }

    #[test]
    fn small_children_fill_pieces() {
        let text = format!("[{}0]", "12345678,".repeat(50_000));
        let found = pieces(&text);
        assert!(found.iter().all(|piece| piece.len() <= JSON_PIECE_BYTES));
        assert_eq!(found.len(), (text.len() - 2).div_ceil(JSON_PIECE_BYTES - 4));
    }
}
