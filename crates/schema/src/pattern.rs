//! Regular expressions as JSON Schema has them, which is ECMA-262's syntax with its `u` flag (core
//! §6.4), on an engine whose time is linear in the text: what that cannot do, looking ahead or
//! behind and referring back, is refused.

use crate::limits::{PATTERN_BYTES_MAX, PATTERN_PROGRAM_BYTES_MAX};
use regex::{Regex, RegexBuilder};

/// A regular expression that is looked for anywhere in a text.
#[derive(Debug)]
pub(crate) struct Pattern {
    pub source: Box<str>,
    regex: Regex,
    /// Steps that 32 bytes of text cost at least: a large program is slow.
    cost: u64,
}

/// Programs up to this size are as fast as they get.
const SMALL_PROGRAM_BYTES: usize = 16 << 10;

/// By how much larger ones may be slower.
const LARGE_COST: u64 = 16;

/// Deepest nesting of groups and classes.
const NEST_MAX: u32 = 50;

/// ECMA-262's white space (§22.2.2.9), as a class's content.
const SPACE: &str = concat!(
    r"\t\n\x0b\x0c\r \u{a0}\u{1680}\u{2000}-\u{200a}",
    r"\u{2028}\u{2029}\u{202f}\u{205f}\u{3000}\u{feff}"
);

impl Pattern {
    pub(crate) fn new(source: &str) -> Result<Self, String> {
        if source.len() > PATTERN_BYTES_MAX {
            let bytes = source.len();
            return Err(format!("a pattern has at most {PATTERN_BYTES_MAX} bytes; got {bytes}"));
        }
        let translated = translate(source);
        let build = |bytes| {
            RegexBuilder::new(&translated)
                .size_limit(bytes)
                .dfa_size_limit(1 << 20)
                .nest_limit(NEST_MAX)
                .build()
        };
        let (regex, cost) = match build(SMALL_PROGRAM_BYTES) {
            Ok(regex) => (regex, 1),
            Err(_) => (build(PATTERN_PROGRAM_BYTES_MAX).map_err(|error| told(&error))?, LARGE_COST),
        };
        Ok(Self { source: source.into(), regex, cost })
    }

    pub(crate) fn is_in(&self, text: &str) -> bool {
        self.regex.is_match(text)
    }

    /// The steps that looking for it in so many bytes counts.
    pub(crate) fn steps(&self, bytes: usize) -> u64 {
        1 + bytes as u64 / 32 * self.cost
    }
}

fn told(error: &regex::Error) -> String {
    match error {
        regex::Error::CompiledTooBig(bytes) => {
            format!("expected a pattern whose program has at most {bytes} bytes")
        }
        error => {
            let text = error.to_string();
            let why = text.lines().rev().find_map(|line| line.strip_prefix("error: "));
            format!(
                "expected a regular expression without looking ahead, looking behind and \
                 back-references; {}",
                why.unwrap_or("it is none")
            )
        }
    }
}

/// What means the same to the engine: its classes are Unicode's, and its sets nest.
fn translate(source: &str) -> String {
    let mut out = String::with_capacity(source.len() + 16);
    let mut chars = source.chars().peekable();
    let mut in_class = false;
    while let Some(c) = chars.next() {
        match c {
            '\\' => {
                let Some(escaped) = chars.next() else {
                    out.push('\\');
                    break;
                };
                escape(escaped, in_class, &mut chars, &mut out);
            }
            '[' if in_class => out.push_str("\\["),
            '&' | '~' if in_class => {
                out.push('\\');
                out.push(c);
            }
            '[' => {
                in_class = true;
                out.push(c);
            }
            ']' if in_class => {
                in_class = false;
                out.push(c);
            }
            c => out.push(c),
        }
    }
    out
}

fn escape(
    escaped: char,
    in_class: bool,
    chars: &mut std::iter::Peekable<std::str::Chars<'_>>,
    out: &mut String,
) {
    let mut class = |is_not: bool, content: &str| {
        let not = if is_not { "^" } else { "" };
        match in_class {
            false => out.push_str(&format!("[{not}{content}]")),
            true if is_not => out.push_str(&format!("[^{content}]")),
            true => out.push_str(content),
        }
    };
    match escaped {
        'd' => class(false, "0-9"),
        'D' => class(true, "0-9"),
        'w' => class(false, "A-Za-z0-9_"),
        'W' => class(true, "A-Za-z0-9_"),
        's' => class(false, SPACE),
        'S' => class(true, SPACE),
        'b' if !in_class => out.push_str(r"(?-u:\b)"),
        'B' if !in_class => out.push_str(r"(?-u:\B)"),
        'b' => out.push_str(r"\x08"),
        '0' => out.push_str(r"\x00"),
        'c' => {
            let letter = chars.next().unwrap_or('@');
            out.push_str(&format!("\\x{:02x}", u32::from(letter) % 32));
        }
        'u' if chars.peek() != Some(&'{') => {
            let digits: String = chars.by_ref().take(4).collect();
            out.push_str(&format!("\\u{{{digits}}}"));
        }
        other => {
            out.push('\\');
            out.push(other);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_mean_what_they_mean_in_ecmascript() {
        for (pattern, text, is_in) in [
            ("a+", "xaay", true),
            ("^a*$", "aa\n", false),
            (r"^\d$", "߀", false),
            (r"^\D$", "߀", true),
            (r"^[\d.-]+$", "1.2-3", true),
            (r"^[^\w]$", "é", true),
            (r"^\w$", "é", false),
            (r"^\s$", "\u{a0}", true),
            (r"^\S$", "\u{200b}", true),
            (r"^\u00e9$", "é", true),
            (r"^\u{1f600}$", "😀", true),
            (r"^\cA$", "\u{1}", true),
            (r"^[[a&&b~]+$", "[&b~a", true),
            (r"^[\b]$", "\u{8}", true),
            (r"\bfoo\b", "a foo b", true),
            (r"^\/\-$", "/-", true),
            (r"^\p{Letter}+$", "né", true),
            (r"^(?<year>\d{4})$", "2026", true),
            ("^.$", "😀", true),
        ] {
            let compiled = Pattern::new(pattern).unwrap_or_else(|why| panic!("{pattern}: {why}"));
            assert_eq!(compiled.is_in(text), is_in, "{pattern} {text:?}");
        }
    }

    #[test]
    fn what_could_take_for_ever_is_refused() {
        for pattern in ["(?=a)", "(?<!a)b", r"(a)\1", "(", "[b-a]", "a{2}{3}{9999999}", "\\"] {
            assert!(Pattern::new(pattern).is_err(), "{pattern}");
        }
        assert!(Pattern::new(&"a".repeat(PATTERN_BYTES_MAX)).is_ok());
        assert!(Pattern::new(&"a".repeat(PATTERN_BYTES_MAX + 1)).is_err());
        assert!(Pattern::new("(x{100}){100}").is_err(), "PATTERN_PROGRAM_BYTES_MAX");
        let slow = Pattern::new("^(a+)+$").unwrap();
        assert!(!slow.is_in(&("a".repeat(100_000) + "b")));
    }
}
