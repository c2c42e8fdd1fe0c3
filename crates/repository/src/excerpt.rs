//! The beginning of a text for a message, shortened so that it says nothing that the text does not.

use std::borrow::Cow;

/// At most about `chars_max` characters of `text`, with `…` where more follows. A number is not
/// cut, because its beginning is another number: the excerpt ends before it. One at the beginning
/// of the text is told by its length.
pub fn excerpt(text: &str, chars_max: usize) -> Cow<'_, str> {
    let Some((end, _)) = text.char_indices().nth(chars_max) else { return Cow::Borrowed(text) };
    let (before, after) = text.split_at(end);
    let start = before.trim_end_matches(is_numeric).len();
    let is_cut = before[start..].contains(is_digit) && after.starts_with(is_numeric);
    if !is_cut {
        return Cow::Owned(format!("{before}…"));
    }
    if start > 0 {
        return Cow::Owned(format!("{}…", &before[..start]));
    }
    let length = text.find(|c| !is_numeric(c)).unwrap_or(text.len());
    let more = if length < text.len() { "…" } else { "" };
    Cow::Owned(format!("(a number of {length} characters){more}"))
}

fn is_digit(c: char) -> bool {
    c.is_ascii_digit()
}

/// Whether a number can have `c`.
fn is_numeric(c: char) -> bool {
    is_digit(c) || matches!(c, '.' | '-' | '+' | 'e' | 'E')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_whole_or_not_there() {
        for (text, expected) in [
            ("", ""),
            ("1234567", "1234567"),
            ("12345678", "12345678"),
            ("abcdefgh", "abcdefgh"),
            ("abcdefghi", "abcdefgh…"),
            ("n = 12345678", "n = …"),
            ("n = 12.345", "n = …"),
            ("n = 1234 or", "n = 1234…"),
            ("ä = 1e+10", "ä = …"),
            ("äöüäöüäöü", "äöüäöüäö…"),
            ("123456789", "(a number of 9 characters)"),
            ("-1.5e+300", "(a number of 9 characters)"),
            ("123456789 a", "(a number of 9 characters)…"),
        ] {
            assert_eq!(excerpt(text, 8), expected, "{text}");
        }
    }

    #[test]
    fn no_cut_anywhere_leaves_the_beginning_of_a_number() {
        let text = "x12 -34.5e6,[7,89012345678901234567890] y 1";
        let numbers = |text: &str| -> Vec<String> {
            text.split(|c| !is_numeric(c))
                .filter(|p| p.contains(is_digit))
                .map(str::to_owned)
                .collect()
        };
        let all = numbers(text);
        for chars in 0..text.len() {
            let shown = excerpt(text, chars);
            let shown = numbers(shown.split(" characters)").next().unwrap());
            assert!(all.starts_with(&shown), "{chars}: {shown:?}");
        }
    }
}
