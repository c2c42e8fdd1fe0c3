//! The file of URLs that siege reads: one a line, with comments, variables, methods and bodies, as
//! urls_txt(5) and siege(1) of siege 4.0.7 have it. It reads no other file and sends nothing.
//!
//! ```text
//! # a comment
//! HOST=www.example.com
//! $(HOST)/
//! http://$(HOST):8080/form POST a=1&b=2
//! http://$(HOST)/upload PUT <photo.jpg
//! ```

use crate::limits::{SIEGE_FILE_BYTES_MAX, SIEGE_URLS_MAX};
use crate::target::Target;
use std::collections::BTreeMap;
use thiserror::Error;

/// A request of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its line, from 1.
    pub line: usize,
    /// Where it goes.
    pub target: Target,
    /// "GET" unless one is named.
    pub method: String,
    /// What is sent with it.
    pub body: Content,
}

/// A body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// None.
    None,
    /// As it stands in the line.
    Text(String),
    /// What a file holds; its path.
    File(String),
}

/// A line that cannot be followed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("line {line}: {what}")]
pub struct Mistake {
    /// Which, from 1; 0: the file as a whole.
    pub line: usize,
    /// What was expected and what came.
    pub what: String,
}

/// Methods that may follow a URL.
const METHODS: [&str; 7] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

/// Reads a file. `outside` gives variables that it does not set itself: those of the environment.
///
/// # Errors
/// Every mistake, in the order of the lines.
pub fn read(
    text: &str,
    outside: &dyn Fn(&str) -> Option<String>,
) -> Result<Vec<Entry>, Vec<Mistake>> {
    if text.len() > SIEGE_FILE_BYTES_MAX {
        let what = format!("the file has at most {SIEGE_FILE_BYTES_MAX} bytes; got {}", text.len());
        return Err(vec![Mistake { line: 0, what }]);
    }
    let mut variables = BTreeMap::new();
    let (mut entries, mut mistakes) = (Vec::new(), Vec::new());
    for (i, line) in text.lines().enumerate() {
        let line_number = i + 1;
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some((name, value)) = assignment(line) {
            variables.insert(name, value);
            continue;
        }
        let of = |name: &str| variables.get(name).cloned().or_else(|| outside(name));
        match filled(line, &of).and_then(|line| entry(line_number, &line)) {
            Ok(entry) => entries.push(entry),
            Err(what) => mistakes.push(Mistake { line: line_number, what }),
        }
    }
    if entries.len() > SIEGE_URLS_MAX {
        let what = format!("at most {SIEGE_URLS_MAX} URLs are taken; got {}", entries.len());
        mistakes.push(Mistake { line: 0, what });
    }
    if entries.is_empty() && mistakes.is_empty() {
        let what = "expected at least one URL; got comments and variables only".to_owned();
        mistakes.push(Mistake { line: 0, what });
    }
    if mistakes.is_empty() { Ok(entries) } else { Err(mistakes) }
}

/// A single URL, as it may stand on a command line: with a method and a body, too.
///
/// # Errors
/// What was expected and what came.
pub fn read_one(text: &str) -> Result<Entry, String> {
    entry(1, text.trim())
}

/// `NAME = VALUE`, where the name is of letters, digits and underscores.
fn assignment(line: &str) -> Option<(String, String)> {
    let (name, value) = line.split_once('=')?;
    let name = name.trim_end();
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let is_one = !name.is_empty() && name.chars().all(is_name);
    is_one.then(|| (name.to_owned(), value.trim().to_owned()))
}

/// The line with `$(NAME)`, `${NAME}` and `$NAME` replaced; `\$` stands for a dollar.
fn filled(line: &str, of: &dyn Fn(&str) -> Option<String>) -> Result<String, String> {
    let mut out = String::new();
    let mut rest = line;
    while let Some(at) = rest.find('$') {
        let (before, after) = rest.split_at(at);
        let after = &after[1..];
        if let Some(before) = before.strip_suffix('\\') {
            out.push_str(before);
            out.push('$');
            rest = after;
            continue;
        }
        out.push_str(before);
        let (name, left) = reference(after)?;
        let value = of(name).ok_or_else(|| {
            format!("the variable \"{name}\" is not set; set it in a line before: {name}=...")
        })?;
        out.push_str(&value);
        rest = left;
    }
    out.push_str(rest);
    Ok(out)
}

/// The name at the beginning of what follows a dollar, and the rest.
fn reference(text: &str) -> Result<(&str, &str), String> {
    let closing = match text.chars().next() {
        Some('(') => Some(')'),
        Some('{') => Some('}'),
        _ => None,
    };
    match closing {
        Some(closing) => text[1..].split_once(closing).ok_or_else(|| {
            format!("expected \"{closing}\" after \"${text}\"; write \\$ for a dollar")
        }),
        None => {
            let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
            let end = text.find(|c| !is_name(c)).unwrap_or(text.len());
            Ok(text.split_at(end))
        }
    }
}

/// `URL [METHOD [TEXT | <FILE]]`
fn entry(line: usize, text: &str) -> Result<Entry, String> {
    let (url, rest) = text.split_once([' ', '\t']).unwrap_or((text, ""));
    let (method, body) = match rest.trim_start() {
        "" => ("GET".to_owned(), Content::None),
        rest => {
            let (method, content) = rest.split_once([' ', '\t']).unwrap_or((rest, ""));
            (known_method(method)?, content_of(content.trim_start()))
        }
    };
    let target = with_scheme(url).parse().map_err(|error| format!("{error}"))?;
    Ok(Entry { line, target, method, body })
}

fn known_method(text: &str) -> Result<String, String> {
    let known = METHODS.iter().find(|method| method.eq_ignore_ascii_case(text));
    known.map(|method| (*method).to_owned()).ok_or_else(|| {
        format!("expected one of {} after the URL; got \"{text}\"", METHODS.join(", "))
    })
}

fn content_of(text: &str) -> Content {
    match text.strip_prefix('<') {
        Some(path) => Content::File(path.trim().to_owned()),
        None if text.is_empty() => Content::None,
        None => Content::Text(text.to_owned()),
    }
}

/// siege takes `www.example.com/page` for a URL, and sends what a URL must not hold in escapes.
fn with_scheme(url: &str) -> String {
    let mut whole = if url.contains("://") { String::new() } else { "http://".to_owned() };
    for byte in url.bytes() {
        if byte.is_ascii_graphic() {
            whole.push(char::from(byte));
        } else {
            whole.push_str(&format!("%{byte:02X}"));
        }
    }
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nothing(_: &str) -> Option<String> {
        None
    }

    fn shown(text: &str) -> Vec<String> {
        let entries = read(text, &|name| (name == "HOME").then(|| "home.example".to_owned()));
        let entry = |e: &Entry| format!("{} {} {} {:?}", e.line, e.method, e.target, e.body);
        entries.unwrap().iter().map(entry).collect()
    }

    #[test]
    fn urls_comments_variables_and_bodies() {
        let file = "\n# a comment\n  # indented\nHOST = www.example.com\nPORT=8080\n\
            http://a/\nwww.example.com/x?y=1\n$(HOST):${PORT}/b\nhttp://$HOME/c\n\
            $(HOST)/d POST a=1&b=2 3\n$(HOST)/e put <./photo.jpg\nhttp://a/\\$5\n\
            http://a/ü DELETE\n";
        assert_eq!(
            shown(file),
            [
                "6 GET http://a/ None",
                "7 GET http://www.example.com/x?y=1 None",
                "8 GET http://www.example.com:8080/b None",
                "9 GET http://home.example/c None",
                "10 POST http://www.example.com/d Text(\"a=1&b=2 3\")",
                "11 PUT http://www.example.com/e File(\"./photo.jpg\")",
                "12 GET http://a/$5 None",
                "13 DELETE http://a/%C3%BC None",
            ]
        );
    }

    #[test]
    fn a_variable_holds_from_its_line_on() {
        assert_eq!(
            shown("A=one\n$A/\nA=two\n$(A)/"),
            ["2 GET http://one/ None", "4 GET http://two/ None"]
        );
        // A query is no assignment: its name has other characters before the "=".
        assert_eq!(shown("a/?b=c"), ["1 GET http://a/?b=c None"]);
    }

    #[test]
    fn every_mistake_is_told_with_its_line() {
        let file = "ftp://a/\nhttp://a/ POTS x\n$(NOBODY)/\nhttp://a/\n$(OPEN\nhttp://:1/\n";
        let mistakes = read(file, &nothing).unwrap_err();
        let told: Vec<String> = mistakes.iter().map(Mistake::to_string).collect();
        let expected = [
            "line 1: the scheme \"ftp\"",
            "line 2: expected one of GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS after the URL",
            "line 3: the variable \"NOBODY\" is not set",
            "line 5: expected \")\" after \"$(OPEN\"",
            "line 6: \":1\" is not a host",
        ];
        assert_eq!(told.len(), expected.len(), "{told:?}");
        for (told, expected) in told.iter().zip(expected) {
            assert!(told.starts_with(expected), "{told}");
        }
    }

    #[test]
    fn a_file_without_urls_and_one_with_too_many_are_refused() {
        assert!(read("# nothing\nA=1\n", &nothing).unwrap_err()[0].what.contains("at least one"));
        let most = "http://a/\n".repeat(SIEGE_URLS_MAX);
        assert_eq!(read(&most, &nothing).unwrap().len(), SIEGE_URLS_MAX);
        let more = format!("{most}http://a/\n");
        assert!(read(&more, &nothing).unwrap_err()[0].what.contains("at most"));
        let long = "#".repeat(SIEGE_FILE_BYTES_MAX + 1);
        assert!(read(&long, &nothing).unwrap_err()[0].what.contains("bytes"));
    }
}
