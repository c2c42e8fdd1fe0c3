//! Takes secrets out of text that is archived: what stands beside a name that sounds like one, in
//! headers, URLs, forms and files, credentials of HTTP authentication, and passwords in URLs. It
//! guesses by names, so it may take more than it must.

use serde_json::Value;

/// Stands for what was taken out.
pub const MASK: &str = "***";

/// Words that make a name sound like a secret's.
const WORDS: [&str; 12] = [
    "token",
    "secret",
    "passw",
    "pwd",
    "apikey",
    "api_key",
    "api-key",
    "authorization",
    "cookie",
    "credential",
    "signature",
    "session_id",
];

/// Names of schemes that are followed by credentials (RFC 9110 §11.4).
const SCHEMES: [&str; 2] = ["bearer ", "basic "];

/// Whether the value of a field, parameter or member of this name is a secret.
pub fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    WORDS.iter().any(|word| name.contains(word))
}

/// The text without the secrets in it.
pub fn text(source: &str) -> String {
    credentials(&passwords(&values(source)))
}

/// The same of every text in `value`, and of every member whose name sounds like a secret's.
pub fn json(value: &mut Value) {
    match value {
        Value::String(string) => *string = text(string),
        Value::Array(items) => items.iter_mut().for_each(json),
        Value::Object(members) => {
            for (name, member) in members.iter_mut() {
                match member {
                    Value::String(secret) if is_secret(name) => *secret = masked(secret),
                    other => json(other),
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Masks what follows a name that sounds like a secret's: `token=a`, `"token": "a"`,
/// `X-Token: a`, `token = "a"`.
fn values(source: &str) -> String {
    let mut out = String::with_capacity(source.len());
    let mut rest = source;
    while let Some((name, after)) = next_name(rest) {
        out.push_str(&rest[..rest.len() - after.len()]);
        rest = after;
        if !is_secret(name) {
            continue;
        }
        if let Some((start, end)) = value_after(rest) {
            out.push_str(&rest[..start]);
            out.push_str(&masked(&rest[start..end]));
            rest = &rest[end..];
        }
    }
    out.push_str(rest);
    out
}

/// The next run of characters that a name is made of, and what is behind it.
fn next_name(text: &str) -> Option<(&str, &str)> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let start = text.find(is_part)?;
    let length = text[start..].find(|c| !is_part(c)).unwrap_or(text.len() - start);
    Some((&text[start..start + length], &text[start + length..]))
}

/// Where the value of the name before `text` is.
fn value_after(text: &str) -> Option<(usize, usize)> {
    // The quote that ends a quoted name.
    let unquoted = text.strip_prefix(['"', '\'']).unwrap_or(text);
    let spaced = unquoted.trim_start_matches([' ', '\t']);
    let behind = spaced.strip_prefix(['=', ':'])?;
    let is_tight = spaced.len() == unquoted.len() && spaced.starts_with('=');
    let value = behind.trim_start_matches([' ', '\t']);
    let start = text.len() - value.len();
    let length = match value.chars().next()? {
        quote @ ('"' | '\'') => {
            let inside = &value[1..];
            return Some((start + 1, start + 1 + end_of_quoted(inside, quote)));
        }
        _ if is_tight => value.find(is_end_of_parameter),
        // A member of JSON: a number.
        _ if unquoted.len() < text.len() => value.find([',', '}', ']', ' ', '\n']),
        // A field of a head: to the end of the line, or of the text it is quoted in.
        _ if spaced.starts_with(':') => value.find(['\r', '\n', '"', '\'']),
        _ => return None,
    };
    Some((start, start + length.unwrap_or(value.len())))
}

fn is_end_of_parameter(c: char) -> bool {
    c.is_whitespace() || matches!(c, '&' | ';' | '#' | '"' | '\'' | ',')
}

fn end_of_quoted(inside: &str, quote: char) -> usize {
    let mut escaped = false;
    for (place, c) in inside.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return place,
            _ => {}
        }
    }
    inside.len()
}

/// A value without what is secret in it. One that is an open place only is none.
fn masked(value: &str) -> String {
    let lower = value.to_ascii_lowercase();
    let scheme = SCHEMES.iter().find(|scheme| lower.starts_with(**scheme));
    let (scheme, rest) = value.split_at(scheme.map_or(0, |scheme| scheme.len()));
    match rest {
        "" => scheme.to_owned(),
        rest if is_place(rest) => value.to_owned(),
        _ => format!("{scheme}{MASK}"),
    }
}

fn is_place(value: &str) -> bool {
    let inside = value.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
    inside.is_some_and(|inside| !inside.contains(['{', '}', ' ', '"']))
}

/// Masks `user:password@` of URLs.
fn passwords(source: &str) -> String {
    let mut out = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(place) = rest.find("://") {
        let (before, after) = rest.split_at(place + 3);
        out.push_str(before);
        let end = after.find(|c: char| c.is_whitespace() || matches!(c, '/' | '?' | '#' | '"'));
        let authority = &after[..end.unwrap_or(after.len())];
        rest = after;
        if let Some((user, _)) = authority.rsplit_once('@') {
            out.push_str(MASK);
            rest = &after[user.len()..];
        }
    }
    out.push_str(rest);
    out
}

/// Masks what follows `Bearer` and `Basic`, wherever that stands.
fn credentials(source: &str) -> String {
    let lower = source.to_ascii_lowercase();
    let mut out = String::with_capacity(source.len());
    let mut from = 0;
    let starts = |at: usize| SCHEMES.iter().find(|scheme| lower[at..].starts_with(**scheme));
    for at in lower.char_indices().map(|(at, _)| at) {
        let Some(scheme) = starts(at).filter(|_| at >= from) else { continue };
        let start = at + scheme.len();
        let length = source[start..].find(|c: char| c.is_whitespace() || matches!(c, '"' | '\''));
        let value = &source[start..start + length.unwrap_or(source.len() - start)];
        if value.len() < 8 || is_place(value) || value == MASK {
            continue;
        }
        out.push_str(&source[from..start]);
        out.push_str(MASK);
        from = start + value.len();
    }
    out.push_str(&source[from..]);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn secrets_are_taken_out() {
        for (source, expected) in [
            ("Authorization: Bearer abc.def", "Authorization: Bearer ***"),
            ("Authorization: Basic dXNlcjpwYXNz", "Authorization: Basic ***"),
            ("X-Api-Key: 1\r\nAccept: a", "X-Api-Key: ***\r\nAccept: a"),
            ("Cookie: a=1; b=2", "Cookie: ***"),
            ("http://h/?token=abc&b=1", "http://h/?token=***&b=1"),
            ("http://h/?b=1&access_token=abc#x", "http://h/?b=1&access_token=***#x"),
            ("user=a&password=b", "user=a&password=***"),
            ("{\"password\": \"a\\\"b\", \"n\": 1}", "{\"password\": \"***\", \"n\": 1}"),
            ("{\"pwd\": 5, \"n\": 1}", "{\"pwd\": ***, \"n\": 1}"),
            ("token = \"abc\" # mine", "token = \"***\" # mine"),
            ("headers = { Authorization = 'a b' }", "headers = { Authorization = '***' }"),
            ("[\"Authorization: Bearer a\"]", "[\"Authorization: Bearer ***\"]"),
            ("https://me:pass@h:1/x@y", "https://***@h:1/x@y"),
            ("say Bearer 0123456789 now", "say Bearer *** now"),
            ("client_secret=x", "client_secret=***"),
        ] {
            assert_eq!(text(source), expected);
        }
    }

    #[test]
    fn members_are_masked_by_their_name() {
        let mut value = json!({
            "headers": { "Authorization": "Bearer a", "Accept": "b" },
            "list": ["http://a:b@c/", 1],
            "token": "{token}",
        });
        json(&mut value);
        let expected = json!({
            "headers": { "Authorization": "Bearer ***", "Accept": "b" },
            "list": ["http://***@c/", 1],
            "token": "{token}",
        });
        assert_eq!(value, expected);
    }

    #[test]
    fn what_is_none_stays() {
        for source in [
            "",
            "http://h:1/a@b?key={key}&tokens",
            "Authorization: Bearer {token}",
            "Authorization = \"{token}\"",
            "the token is { json = \"/a\" }",
            "token = { json = \"/token\" }",
            "input[name=csrf_token]",
            "Accept: text/html",
            "basic set of words",
            "ä Bearer ö",
        ] {
            assert_eq!(text(source), source);
        }
    }
}
