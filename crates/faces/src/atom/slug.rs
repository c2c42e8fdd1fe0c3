//! A text as a part of a path: what Slug asks for (RFC 5023 §9.7), and what a title gives.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;
use unicode_segmentation::UnicodeSegmentation;

/// Letters and digits of any script with their marks, in lower case and composed (Unicode's form
/// C), and one `-` for whatever lies between them; at most so many bytes, cut between characters as
/// people see them. Empty if nothing is left.
pub(crate) fn of(text: &str, bytes_max: usize) -> String {
    let mut slug = String::new();
    for c in text.nfc().flat_map(char::to_lowercase).nfc() {
        let is_within = !slug.is_empty() && !slug.ends_with('-');
        match c {
            // They say how letters are joined, and are not seen.
            '\u{200c}' | '\u{200d}' => {}
            mark if is_combining_mark(mark) && !is_within => {}
            kept if is_of_name(kept) => slug.push(kept),
            _ if is_within => slug.push('-'),
            _ => {}
        }
    }
    // Without what was between them, a letter and a mark may be one.
    let composed: String = slug.nfc().collect();
    cut(&composed, bytes_max).trim_end_matches('-').to_owned()
}

/// Whether it is a letter or a digit, or a mark of one.
fn is_of_name(c: char) -> bool {
    c.is_alphanumeric() || is_combining_mark(c)
}

/// Whether `of` gives it for some text, now or in an earlier version, which cut names elsewhere and
/// left them as they were composed.
pub(crate) fn is_one(text: &str, bytes_max: usize) -> bool {
    let is_edged = text.starts_with('-') || text.ends_with('-');
    let is_of = |c: char| is_of_name(c) || c == '-';
    let is_lower = text.chars().flat_map(char::to_lowercase).eq(text.chars());
    (1..=bytes_max).contains(&text.len()) && !is_edged && is_lower && text.chars().all(is_of)
}

/// The beginning of a text, at most so many bytes, cut between characters as people see them.
pub(crate) fn cut(text: &str, bytes_max: usize) -> &str {
    let ends = text.grapheme_indices(true).map(|(at, grapheme)| at + grapheme.len());
    &text[..ends.take_while(|end| *end <= bytes_max).last().unwrap_or(0)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_keep_their_marks_and_are_composed() {
        for (text, slug) in [
            ("The Beach at S\u{e8}te", "the-beach-at-s\u{e8}te"),
            ("Se\u{300}te", "s\u{e8}te"),
            (
                "\u{928}\u{92e}\u{938}\u{94d}\u{924}\u{947}",
                "\u{928}\u{92e}\u{938}\u{94d}\u{924}\u{947}",
            ),
            (
                "\u{e2a}\u{e27}\u{e31}\u{e2a}\u{e14}\u{e35}",
                "\u{e2a}\u{e27}\u{e31}\u{e2a}\u{e14}\u{e35}",
            ),
            ("\u{1112}\u{1161}\u{11ab}", "\u{d55c}"),
            ("\u{212b}", "\u{e5}"),
            ("a\u{1f468}\u{200d}\u{1f469}b", "a-b"),
            ("  ../..//etc ", "etc"),
            ("\u{301}", ""),
            ("e\u{200c}\u{300}", "\u{e8}"),
            ("a\n\u{903}b", "a-b"),
            ("\u{d4e}\n\u{915}", "\u{d4e}-\u{915}"),
            ("--", ""),
        ] {
            assert_eq!(of(text, 64), slug, "{text}");
            assert_eq!(of(slug, 64), slug, "{text}");
            assert!(slug.is_empty() || is_one(slug, 64), "{text}");
        }
        for none in ["", "A", "-a", "a-", "a/b", "a b", ".."] {
            assert!(!is_one(none, 64), "{none}");
        }
        assert!(is_one("a--b", 64) && is_one("\u{1112}\u{1161}", 64), "of an earlier version");
    }

    #[test]
    fn names_are_cut_between_graphemes() {
        // Each is five letters of which a reader sees one.
        let one = "q\u{307}\u{323}";
        let long = one.repeat(30);
        let slug = of(&long, 12);
        assert!(slug.len() <= 12 && slug.graphemes(true).all(|g| g.chars().count() == 3), "{slug}");
        assert_eq!(of(&format!("ab-{long}"), 3), "ab");
        assert_eq!(cut(&long, 7), one);
        assert_eq!(cut("\u{1f468}\u{200d}\u{1f469}", 7), "");
        assert_eq!(cut("abc", 3), "abc");
    }
}
