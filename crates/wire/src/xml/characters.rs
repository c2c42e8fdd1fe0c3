//! Which characters XML allows, and where (XML 1.0, fifth edition, §2.2 and §2.3).

use super::refused::{Reason, Refused, shown};

/// Whether it may be in a document (`Char`).
pub(crate) fn is_character(c: char) -> bool {
    match c {
        '\t' | '\n' | '\r' => true,
        '\u{FFFE}' | '\u{FFFF}' => false,
        _ => c >= ' ',
    }
}

/// White space (`S`).
pub(super) fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r')
}

fn is_name_start(c: char) -> bool {
    matches!(c,
        'A'..='Z' | '_' | 'a'..='z'
        | '\u{C0}'..='\u{D6}' | '\u{D8}'..='\u{F6}' | '\u{F8}'..='\u{2FF}' | '\u{370}'..='\u{37D}'
        | '\u{37F}'..='\u{1FFF}' | '\u{200C}'..='\u{200D}' | '\u{2070}'..='\u{218F}'
        | '\u{2C00}'..='\u{2FEF}' | '\u{3001}'..='\u{D7FF}' | '\u{F900}'..='\u{FDCF}'
        | '\u{FDF0}'..='\u{FFFD}' | '\u{10000}'..='\u{EFFFF}')
}

fn is_name_character(c: char) -> bool {
    is_name_start(c)
        || matches!(c, '-' | '.' | '0'..='9' | '\u{B7}' | '\u{300}'..='\u{36F}'
            | '\u{203F}'..='\u{2040}')
}

/// Whether it is a name without a colon (`NCName`).
pub(super) fn is_plain_name(text: &str) -> bool {
    let mut characters = text.chars();
    characters.next().is_some_and(is_name_start) && characters.all(is_name_character)
}

/// Splits a name into prefix (empty if there is none) and local part.
pub(super) fn qualified(name: &str) -> Result<(&str, &str), Reason> {
    let (prefix, local) = match name.split_once(':') {
        Some((prefix, local)) if is_plain_name(prefix) => (prefix, local),
        Some(_) => return Err(Reason::Name(shown(name))),
        None => ("", name),
    };
    if is_plain_name(local) { Ok((prefix, local)) } else { Err(Reason::Name(shown(name))) }
}

/// Whether all characters of `text` are allowed.
pub(super) fn check(text: &str) -> Result<(), Refused> {
    // Bytes first: hardly a text has one of these.
    let is_suspect = |byte: &u8| *byte < b' ' || *byte == 0xEF;
    if !text.as_bytes().iter().any(is_suspect) {
        return Ok(());
    }
    match text.char_indices().find(|(_, c)| !is_character(*c)) {
        Some((offset, c)) => Err(Reason::Character(c.into()).at(text, offset)),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_xml() {
        for name in ["a", "_", "é", "a-b.c9", "日本"] {
            assert!(is_plain_name(name), "{name}");
        }
        for name in ["", "-a", "9", "a b", "a:b", "a\u{d7}", "<"] {
            assert!(!is_plain_name(name), "{name}");
        }
        assert_eq!(qualified("dc:title"), Ok(("dc", "title")));
        for name in ["a:b:c", ":a", "a:", ":"] {
            assert!(qualified(name).is_err(), "{name}");
        }
    }

    #[test]
    fn forbidden_characters_are_found() {
        for bad in ["a\0", "\u{b}", "\u{fffe}", "x\n\u{ffff}", "\u{1f}"] {
            assert!(check(bad).is_err(), "{bad:?}");
        }
        for good in ["", "a\tb\r\n", "\u{feff}x", "\u{10ffff}\u{7f}\u{ff01}"] {
            assert!(check(good).is_ok(), "{good:?}");
        }
    }
}
