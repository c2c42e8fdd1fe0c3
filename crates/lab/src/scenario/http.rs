//! A request as a step.

use super::operations::Around;
use super::replies;
use super::section::{Section, Value};
use crate::limits::{PARALLEL_MAX, REDIRECTS_MAX};
use crate::plan::{Body, HttpStep, Part, Resources, Template};

/// Keys that name a method; their value is the path.
const METHODS: [&str; 7] = ["get", "head", "post", "put", "patch", "delete", "options"];

pub(super) fn is_request(section: &Section<'_>) -> bool {
    !section.which(&METHODS).is_empty() || !section.which(&["method", "path"]).is_empty()
}

pub(super) fn read(section: &Section<'_>, around: &Around<'_>) -> Option<HttpStep> {
    let server = around.servers.of(section.get("server").as_ref());
    let target = target(section);
    let path = target.as_ref().and_then(|(_, value)| path(value, around));
    let fields = fields(section, around);
    let body = body(section, around);
    let redirects = section.whole("redirects", 0..=u64::from(REDIRECTS_MAX)).unwrap_or(0);
    let conditional = section.truth("conditional").unwrap_or(false);
    let is_cut = section.truth("cut").unwrap_or(false);
    let resources = section.get("resources").and_then(|value| resources(&value));
    // What the reply gives is there after the request.
    let checks = replies::checks(section, around);
    let extract = replies::extracts(section, around);
    let (origin, prefix) = server?;
    let (method, _) = target?;
    let mut path = path?;
    // What a reply said is a whole path.
    if !prefix.is_empty() && !around.scope.begins_with_url(&path) {
        path = path.after(&prefix);
    }
    let (body, media_type) = body?;
    let mut headers = fields?;
    let is_typed = |(name, _): &(String, Template)| name.eq_ignore_ascii_case("content-type");
    if let Some(media_type) = media_type.filter(|_| !headers.iter().any(is_typed)) {
        headers.push(("Content-Type".to_owned(), Template::fixed(media_type)));
    }
    Some(HttpStep {
        origin,
        method,
        path,
        headers,
        body,
        redirects: redirects as u32,
        conditional,
        checks,
        extract,
        is_cut,
        resources,
    })
}

/// The method, and the value that has the path.
fn target<'a>(section: &Section<'a>) -> Option<(String, Value<'a>)> {
    let methods = section.which(&METHODS);
    let (method, path) = (section.get("method"), section.get("path"));
    match (methods.as_slice(), method, path) {
        ([key], None, None) => Some((key.to_ascii_uppercase(), section.get(key)?)),
        ([], Some(method), Some(path)) => Some((method.text()?, path)),
        ([], _, _) => {
            let what = format!("`{}`: expected both `method` and `path`", section.name);
            section.book.missing(&section.span, what);
            None
        }
        _ => {
            let what = format!("`{}`: expected one request; got several", section.name);
            section.book.wrong(&section.span, what);
            None
        }
    }
}

pub(super) fn path(value: &Value<'_>, around: &Around<'_>) -> Option<Template> {
    let raw = value.raw_text()?;
    let is_sendable = raw.bytes().all(|byte| byte.is_ascii_graphic());
    // A place may bring the slash.
    if !(raw.starts_with('/') || raw.starts_with('{')) || !is_sendable {
        value.expected("a path that begins with / and is percent-encoded");
        return None;
    }
    around.scope.template(value)
}

pub(super) fn fields(
    section: &Section<'_>,
    around: &Around<'_>,
) -> Option<Vec<(String, Template)>> {
    let Some(headers) = section.get("headers") else { return Some(Vec::new()) };
    let read = headers.section()?.entries().into_iter().map(|entry| {
        if let Err(error) = crate::plan::check_field(&entry.key) {
            section.book.wrong(&entry.span, error.to_string());
        }
        let value = around.scope.template(&entry.value)?;
        Some((entry.key, value))
    });
    read.collect::<Vec<_>>().into_iter().collect()
}

const BODIES: [&str; 4] = ["body", "body_file", "form", "multipart"];

/// The body and its media type, if it tells.
fn body(section: &Section<'_>, around: &Around<'_>) -> Option<(Body, Option<String>)> {
    let media_type = section.text("type");
    let body = match section.which(&BODIES).as_slice() {
        [] => return Some((Body::Empty, media_type)),
        ["body"] => around.scope.template(&section.get("body")?)?,
        ["body_file"] => Template::fixed(around.scope.files().body(&section.get("body_file")?)?),
        ["form"] => {
            let form = form(&section.get("form")?, around)?;
            let media_type = media_type.unwrap_or_else(|| FORM.to_owned());
            return Some((Body::Template(form), Some(media_type)));
        }
        ["multipart"] => {
            let parts = parts(&section.get("multipart")?, around)?;
            return Some((Body::Multipart(parts), media_type));
        }
        _ => {
            let what = format!("`{}`: expected one of {}", section.name, BODIES.join(", "));
            section.book.wrong(&section.span, format!("{what}; got several"));
            return None;
        }
    };
    Some((Body::Template(body), media_type))
}

const FORM: &str = "application/x-www-form-urlencoded";

/// Fields as a browser sends them.
fn form(value: &Value<'_>, around: &Around<'_>) -> Option<Template> {
    let mut pieces = Vec::new();
    let mut is_whole = true;
    for entry in value.section()?.entries() {
        let lead = if pieces.is_empty() { "" } else { "&" };
        let name = super::template::percent_encoded(entry.key.as_bytes());
        pieces.extend(Template::fixed(format!("{lead}{name}=")).pieces);
        match around.scope.percent_encoded(&entry.value) {
            Some(value) => pieces.extend(value.pieces),
            None => is_whole = false,
        }
    }
    is_whole.then_some(Template { pieces })
}

/// The parts of a form with files (RFC 7578).
fn parts(value: &Value<'_>, around: &Around<'_>) -> Option<Vec<Part>> {
    let list = value.list()?;
    if list.is_empty() {
        value.expected("at least one part");
        return None;
    }
    let read = list.iter().map(|value| {
        let section = value.section()?;
        let part = part(&section, around);
        section.close();
        part
    });
    read.collect::<Vec<_>>().into_iter().collect()
}

fn part(section: &Section<'_>, around: &Around<'_>) -> Option<Part> {
    let name = section.need("name", "the field's name").and_then(|name| name.text());
    let media_type = section.text("type");
    let file_name = section.text("file_name");
    let (text, file) = (section.get("text"), section.get("file"));
    let (content, of_file) = match (text, file) {
        (Some(text), None) => (around.scope.template(&text)?, None),
        (None, Some(file)) => {
            let last = file.raw().and_then(|path| path.rsplit('/').next().map(str::to_owned));
            (Template::fixed(around.scope.files().body(&file)?), last)
        }
        _ => {
            let what = format!("`{}`: expected either `text` or `file`", section.name);
            section.book.wrong(&section.span, what);
            return None;
        }
    };
    Some(Part { name: name?, file_name: file_name.or(of_file), media_type, content })
}

/// Connections and the share of empty caches, if nothing is said: a browser's, and Olio's.
const RESOURCES: Resources = Resources { connections: 6, cold: 0.4 };

/// `true`, or `{ connections = 6, cold_percent = 40 }`.
fn resources(value: &Value<'_>) -> Option<Resources> {
    if !value.is_table() {
        return value.truth()?.then_some(RESOURCES);
    }
    let section = value.section()?;
    let connections = section.whole("connections", 1..=PARALLEL_MAX as u64);
    let cold = section.number("cold_percent", 0.0..=100.0);
    section.close();
    Some(Resources {
        connections: connections.map_or(RESOURCES.connections, |number| number as usize),
        cold: cold.map_or(RESOURCES.cold, |percent| percent / 100.0),
    })
}
