//! Small texts of a scenario: times, names, and constants that are filled in before the run.

use super::mistakes::hint;
use std::collections::BTreeMap;
use std::time::Duration;

/// "500ms", "1.5s", "2m", "1h".
pub(super) fn duration(text: &str) -> Option<Duration> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit_s = match &text[digits.len()..] {
        "us" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        _ => return None,
    };
    let is_plain = digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let number: f64 = digits.parse().ok().filter(|_| is_plain)?;
    Duration::try_from_secs_f64(number * unit_s).ok()
}

/// "1 Mbit/s", "64kbit/s", "2 MB/s" in bytes a second. Prefixes are decimal.
pub(super) fn rate(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic() || c == '/');
    let unit = match &text[digits.len()..] {
        "bit/s" => 0.125,
        "kbit/s" => 125.0,
        "Mbit/s" => 125e3,
        "Gbit/s" => 125e6,
        "B/s" => 1.0,
        "kB/s" => 1e3,
        "MB/s" => 1e6,
        "GB/s" => 1e9,
        _ => return None,
    };
    let digits = digits.trim_end_matches(' ');
    let is_plain = digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let number: f64 = digits.parse().ok().filter(|_| is_plain)?;
    Some((number * unit) as u64)
}

/// Whether it can name an operation, a server or a variable: it stands in templates, too.
pub(super) fn is_name(text: &str) -> bool {
    let mut letters = text.bytes();
    letters.next().is_some_and(|first| first.is_ascii_alphabetic() || first == b'_')
        && letters.all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
}

/// What [`is_name`] asks for, in words.
pub(super) const NAME: &str = "a name of letters, digits, `_` and `-` that begins with a letter";

/// A part of a text with open places.
#[derive(Debug, PartialEq)]
pub(super) enum Part<'t> {
    Text(String),
    /// `{name}` or `{name:arguments}`.
    Place {
        name: &'t str,
        arguments: Option<&'t str>,
    },
}

/// Takes a text apart. A brace that no name and closing brace follow is an ordinary one, so that
/// JSON can be written as it is; `\{` is one whatever follows.
pub(super) fn parts(text: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let (mut plain, mut rest) = (String::new(), text);
    while let Some(at) = rest.find(['{', '\\']) {
        plain.push_str(&rest[..at]);
        rest = &rest[at..];
        if let Some(after) = rest.strip_prefix("\\{") {
            plain.push('{');
            rest = after;
            continue;
        }
        let Some((place, after)) = rest.strip_prefix('{').and_then(place) else {
            plain.push_str(&rest[..1]);
            rest = &rest[1..];
            continue;
        };
        if !plain.is_empty() {
            parts.push(Part::Text(std::mem::take(&mut plain)));
        }
        parts.push(place);
        rest = after;
    }
    plain.push_str(rest);
    if !plain.is_empty() {
        parts.push(Part::Text(plain));
    }
    parts
}

/// The place that `text` begins with, behind its opening brace.
fn place(text: &str) -> Option<(Part<'_>, &str)> {
    let (inside, after) = text.split_once('}')?;
    let (name, arguments) = match inside.split_once(':') {
        Some((name, arguments)) => (name, Some(arguments)),
        None => (inside, None),
    };
    let is_place = name.split('.').all(is_name)
        && arguments.is_none_or(|text| !text.contains(['{', '"', ' ', '\n']));
    is_place.then_some((Part::Place { name, arguments }, after))
}

/// The text with the constants that it names.
pub(super) fn fill_in(text: &str, constants: &BTreeMap<String, String>) -> Result<String, String> {
    let mut filled = String::new();
    for part in parts(text) {
        match part {
            Part::Text(text) => filled.push_str(&text),
            Part::Place { name, arguments } => match constants.get(name) {
                Some(value) if arguments.is_none() => filled.push_str(value),
                _ => {
                    let hint = hint(name, constants.keys().map(String::as_str));
                    return Err(format!(
                        "[variables] has no `{name}`, and nothing else is known \
                                        before the run{hint}"
                    ));
                }
            },
        }
    }
    Ok(filled)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        let ms = |text| duration(text).map(|time| time.as_micros());
        assert_eq!(ms("500ms"), Some(500_000));
        assert_eq!(ms("1.5s"), Some(1_500_000));
        assert_eq!(ms("20us"), Some(20));
        assert_eq!(ms("2m"), Some(120_000_000));
        for bad in ["", "5", "s", "-1s", "+1s", "1 s", "1d", "1e3s", "inf s", "nans", "1..2s"] {
            assert_eq!(ms(bad), None, "{bad}");
        }
        assert_eq!(duration(&format!("{}s", "9".repeat(40))), None);
    }

    #[test]
    fn rates() {
        assert_eq!(rate("1 Mbit/s"), Some(125_000));
        assert_eq!(rate("64kbit/s"), Some(8_000));
        assert_eq!(rate("1.5 MB/s"), Some(1_500_000));
        for bad in ["", "1", "Mbit/s", "-1 Mbit/s", "1 mbit/s", "1 Mbit", "1e3 B/s", "1  /s"] {
            assert_eq!(rate(bad), None, "{bad}");
        }
    }

    #[test]
    fn braces_of_json_are_ordinary() {
        let text = |text: &str| Part::Text(text.to_owned());
        let place = |name| Part::Place { name, arguments: None };
        for plain in ["{\"a\":{\"b\":1}}", "{}", "{ a }", "{", "}{", "a\\b", "{a:\"b\"}", "{1}"] {
            assert_eq!(parts(plain), [text(plain)], "{plain}");
        }
        assert_eq!(parts("{\"a\":{b}}"), [text("{\"a\":"), place("b"), text("}")]);
        assert_eq!(parts("{{b}}"), [text("{"), place("b"), text("}")]);
        assert_eq!(parts("\\{b}"), [text("{b}")]);
        assert_eq!(parts("{a.b}"), [place("a.b")]);
        let random = Part::Place { name: "random", arguments: Some("1-6") };
        assert_eq!(parts("{random:1-6}"), [random]);
        assert_eq!(parts(""), []);
    }

    #[test]
    fn constants_are_filled_in() {
        let constants: BTreeMap<String, String> =
            [("users".to_owned(), "10".to_owned())].into_iter().collect();
        assert_eq!(fill_in("{users}0", &constants), Ok("100".to_owned()));
        let wrong = fill_in("{user}", &constants).unwrap_err();
        assert!(wrong.ends_with("did you mean `users`?"), "{wrong}");
    }
}
