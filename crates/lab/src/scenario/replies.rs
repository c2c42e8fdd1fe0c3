//! What a reply must be (`expect`), and what is taken of it (`extract`).

use super::operations::Around;
use super::section::{Section, Value};
use super::template::is_taken;
use super::text;
use crate::plan::{AtomPlace, Check, Extract, ExtractFrom, JsonPath, Selector, Template};
use regex::bytes::Regex;

/// `expect = { status = 200, contains = "x", ... }`.
pub(super) fn checks(section: &Section<'_>, around: &Around<'_>) -> Vec<Check> {
    let Some(section) = section.section("expect") else { return Vec::new() };
    let mut checks: Vec<Check> = status(&section).into_iter().chain(bytes(&section)).collect();
    let texts = |key| {
        let all = section.get(key).map_or_else(Vec::new, |value| value.one_or_more());
        all.into_iter().filter_map(|value| around.scope.template(&value)).collect::<Vec<Template>>()
    };
    checks.extend(texts("contains").into_iter().map(Check::Contains));
    checks.extend(texts("lacks").into_iter().map(Check::Lacks));
    let tables = |key| {
        let all = section.get(key).map_or_else(Vec::new, |value| value.one_or_more());
        all.into_iter().filter_map(|value| value.section()).collect::<Vec<Section<'_>>>()
    };
    for table in tables("equals") {
        let from = place(&table);
        let text = table.need("value", "the text that it must be");
        let text = text.and_then(|text| around.scope.template(&text));
        table.close();
        checks.extend(from.zip(text).map(|(from, text)| Check::Equals(from, text)));
    }
    for table in tables("within") {
        let from = place(&table);
        let least = table.number("from", f64::MIN..=f64::MAX).unwrap_or(f64::MIN);
        let most = table.number("to", least..=f64::MAX).unwrap_or(f64::MAX);
        table.close();
        checks.extend(from.map(|from| Check::Within(from, least, most)));
    }
    section.close();
    checks
}

fn status(section: &Section<'_>) -> Option<Check> {
    let value = section.get("status")?;
    let all = value.one_or_more();
    let statuses = all.iter().map(|value| value.whole(100..=599).map(|status| status as u16));
    let statuses: Option<Vec<u16>> = statuses.collect::<Vec<_>>().into_iter().collect();
    if all.is_empty() {
        value.expected("at least one status");
        return None;
    }
    statuses.map(Check::Status)
}

fn bytes(section: &Section<'_>) -> Option<Check> {
    let value = section.get("bytes")?;
    match value.one_or_more().as_slice() {
        [exact] => exact.whole(0..=u64::MAX).map(|exact| Check::Bytes(exact, exact)),
        [least, most] => {
            let least = least.whole(0..=u64::MAX)?;
            Some(Check::Bytes(least, most.whole(least..=u64::MAX)?))
        }
        _ => {
            value.expected("a number of bytes, or two: the least and the most");
            None
        }
    }
}

/// `extract = { token = { regex = "..." }, ... }`.
pub(super) fn extracts(section: &Section<'_>, around: &Around<'_>) -> Vec<Extract> {
    let Some(section) = section.section("extract") else { return Vec::new() };
    let read = section.entries().into_iter().filter_map(|entry| {
        let table = entry.value.section()?;
        if !text::is_name(&entry.key) || is_taken(&entry.key) {
            entry.wrong_key(format_args!("expected {} that means nothing else", text::NAME));
        }
        let from = place(&table);
        let is_url = table.truth("url");
        let any = table.truth("any").unwrap_or(false);
        let required = table.truth("required").unwrap_or(true);
        table.close();
        let from = from?;
        // An address is of no use but as a path.
        let is_url = is_url.unwrap_or(matches!(from, ExtractFrom::Atom(_)));
        let variable = around.scope.extracted(&entry.key, &entry.span, required)?;
        Some(Extract { variable, from, is_url, any, required })
    });
    read.collect()
}

const PLACES: [&str; 7] = ["json", "header", "regex", "css", "atom", "body", "status"];

/// A place in a reply. Keys of the table that are no place are left to the caller.
fn place(section: &Section<'_>) -> Option<ExtractFrom> {
    match section.which(&PLACES).as_slice() {
        ["json"] => {
            let value = section.get("json")?;
            parsed(&value, JsonPath::parse(value.raw_text()?)).map(ExtractFrom::Json)
        }
        ["header"] => {
            let value = section.get("header")?;
            let name = value.text()?;
            let is_name = !name.is_empty()
                && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
            if !is_name {
                value.expected("the name of a field, like \"Location\"");
            }
            is_name.then(|| ExtractFrom::Header(name.to_ascii_lowercase()))
        }
        ["regex"] => {
            let value = section.get("regex")?;
            parsed(&value, Regex::new(value.raw_text()?)).map(ExtractFrom::Regex)
        }
        ["css"] => {
            let attribute = section.text("attribute");
            let value = section.get("css")?;
            let selector = Selector::new(value.raw_text()?, attribute.as_deref());
            parsed(&value, selector).map(ExtractFrom::Css)
        }
        ["atom"] => {
            let name = section.get("atom")?.text()?;
            Some(ExtractFrom::Atom(AtomPlace::named(&name)))
        }
        [key @ ("body" | "status")] => {
            let is_body = *key == "body";
            section.truth(key)?;
            Some(if is_body { ExtractFrom::Body } else { ExtractFrom::Status })
        }
        several => {
            let got = if several.is_empty() { "none" } else { "several" };
            let what = format!("`{}`: expected one of {}", section.name, PLACES.join(", "));
            section.book.wrong(&section.span, format!("{what}; got {got}"));
            None
        }
    }
}

fn parsed<T, E: std::fmt::Display>(value: &Value<'_>, result: Result<T, E>) -> Option<T> {
    let why = |error: E| {
        // An error of a pattern has a drawing of several lines.
        let text = error.to_string();
        let lines: Vec<&str> =
            text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        value.wrong(lines.join("; "));
    };
    result.map_err(why).ok()
}
