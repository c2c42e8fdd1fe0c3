//! What a parameter's segment may be: the part in braces of `:id{[0-9]+}`. Not regular expressions:
//! one class of characters and how many of them, or a list of words. So a segment is decided in one
//! walk over it, whatever the application and its visitors write.

use crate::limits::CONSTRAINT_CHARS_MAX;

/// Which segments fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Constraint {
    /// So many characters of a set, which has a bit for each ASCII character.
    Class { set: u128, least: usize, most: usize },
    /// One of these words.
    Words(Vec<Box<str>>),
}

impl Constraint {
    /// Reads what stands between the braces; `None` if it is not of the forms known here.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        if text.contains('[') || text.contains('\\') {
            return Self::class(text);
        }
        let words: Vec<Box<str>> = text.split('|').map(Box::from).collect();
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        let good = |word: &str| !word.is_empty() && word.chars().all(plain);
        words.iter().all(|word| good(word)).then_some(Self::Words(words))
    }

    fn class(text: &str) -> Option<Self> {
        let (set, count) = match text.strip_prefix('[') {
            Some(rest) => {
                let (members, count) = rest.split_once(']')?;
                (members_of(members)?, count)
            }
            None => {
                let mut rest = text.strip_prefix('\\')?.chars();
                (shorthand(rest.next()?)?, rest.as_str())
            }
        };
        let (least, most) = counts(count)?;
        let good = set != 0 && least <= most && most >= 1;
        good.then_some(Self::Class { set, least, most })
    }

    /// Whether a decoded segment fits.
    pub(crate) fn fits(&self, segment: &str) -> bool {
        match self {
            Self::Words(words) => words.iter().any(|word| **word == *segment),
            Self::Class { set, least, most } => {
                (*least..=*most).contains(&segment.len())
                    && segment.bytes().all(|byte| byte < 128 && set >> byte & 1 == 1)
            }
        }
    }
}

/// How many: nothing for one, `+`, `{n}`, `{n,}` or `{n,m}`.
fn counts(text: &str) -> Option<(usize, usize)> {
    match text {
        "" => return Some((1, 1)),
        "+" => return Some((1, usize::MAX)),
        _ => {}
    }
    let number = |text: &str| {
        let number = text.parse::<usize>().ok()?;
        (text.bytes().all(|b| b.is_ascii_digit()) && number <= CONSTRAINT_CHARS_MAX)
            .then_some(number)
    };
    let inside = text.strip_prefix('{')?.strip_suffix('}')?;
    match inside.split_once(',') {
        None => number(inside).map(|n| (n, n)),
        Some((least, "")) => Some((number(least)?, usize::MAX)),
        Some((least, most)) => Some((number(least)?, number(most)?)),
    }
}

fn bits(from: u8, to: u8) -> u128 {
    (from..=to).fold(0, |set, byte| set | 1 << byte)
}

fn shorthand(letter: char) -> Option<u128> {
    match letter {
        'd' => Some(bits(b'0', b'9')),
        'w' => Some(bits(b'0', b'9') | bits(b'a', b'z') | bits(b'A', b'Z') | bits(b'_', b'_')),
        _ => None,
    }
}

/// The members of a class: characters, ranges, `\d`, `\w`, and after a backslash any sign itself.
fn members_of(text: &str) -> Option<u128> {
    if text.starts_with('^') || !text.is_ascii() {
        return None;
    }
    let mut set = 0;
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        rest = tail;
        let from = match (*first, tail) {
            (b'\\', [escaped, more @ ..]) => {
                rest = more;
                if escaped.is_ascii_alphanumeric() {
                    set |= shorthand(char::from(*escaped))?;
                    continue;
                }
                *escaped
            }
            (b'\\', []) => return None,
            (plain, _) => plain,
        };
        match rest {
            [b'-', to, more @ ..] if *to != b'\\' => {
                if *to < from {
                    return None;
                }
                set |= bits(from, *to);
                rest = more;
            }
            _ => set |= bits(from, from),
        }
    }
    Some(set)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fits(constraint: &str, segment: &str) -> bool {
        Constraint::parse(constraint).unwrap().fits(segment)
    }

    #[test]
    fn classes() {
        for (constraint, good, bad) in [
            ("[0-9]+", &["0", "123"][..], &["", "12a", "१"][..]),
            (r"\d+", &["7"], &["x"]),
            (r"\w{2,3}", &["a_", "aB9"], &["a", "abcd", "a-"]),
            ("[a-z]{2}", &["ab"], &["a", "abc", "Ab"]),
            ("[a-z0-9-]+", &["a-1"], &["a_1", "é"]),
            (r"[\w.\-]+", &["a.b-"], &["a b"]),
            ("[abc]", &["a"], &["ab", "d"]),
            ("[0-9]{4,}", &["1234", "123456"], &["123"]),
        ] {
            assert!(good.iter().all(|segment| fits(constraint, segment)), "{constraint}");
            assert!(!bad.iter().any(|segment| fits(constraint, segment)), "{constraint}");
        }
    }

    #[test]
    fn words() {
        assert!(fits("en|de|pt-BR", "pt-BR"));
        assert!(!fits("en|de", "end"));
    }

    #[test]
    fn what_is_not_known_is_refused() {
        for bad in [
            "",
            "a||b",
            "a+",
            ".+x",
            "(a|b)",
            "[a-z",
            "[z-a]",
            "[^a]+",
            "[]+",
            "[a]+b",
            "[a]*",
            "[a]{}",
            "[a]{3,2}",
            "[a]{0}",
            "[a]{999999999}",
            "[a]{+3}",
            r"\s+",
            r"[\n]",
            r"[a\",
            "[é]",
            "a b",
        ] {
            assert_eq!(Constraint::parse(bad), None, "{bad:?}");
        }
    }
}
