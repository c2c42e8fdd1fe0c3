//! Names that the JavaScript engine would file in one place. It finds a property's name by a hash
//! without a key, so anyone can make names that all hash alike: each then costs a walk past all
//! others. They are counted here by the same hash, before the engine sees them.
//!
//! The hashes are those of QuickJS-ng 0.16: `hash_string8` and `__JS_NewAtom` in `quickjs.c` for
//! texts, `hash_atom` for array indexes, which are no texts there.

use crate::limits::{NAMES_ALIKE_MAX, NAMES_TEXT_BYTES_MIN, NAMES_WINDOW};

/// Too many names hash alike.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[error(
    "more than {NAMES_ALIKE_MAX} names hash to one value, as those of no ordinary text do; one \
     begins with {name:?}"
)]
pub struct NamesAlike {
    /// The beginning of one of them.
    pub name: String,
}

/// Characters of a name that a refusal shows.
const SHOWN_CHARS: usize = 40;

/// Checks the names of all members in `text`, which need not be well formed: what follows a mistake
/// is checked as far as it looks like JSON.
///
/// # Errors
/// More than [`NAMES_ALIKE_MAX`] of them hash alike.
pub fn check_names(text: &str) -> Result<(), NamesAlike> {
    if text.len() < NAMES_TEXT_BYTES_MIN {
        return Ok(());
    }
    // A member takes six bytes at least.
    let mut seen = Seen::new(text.len() / 6);
    names(text).try_for_each(|name| seen.add(name, true))
}

/// The same for names that are not in a text of JSON.
///
/// # Errors
/// As above.
pub fn check_name_list<'a>(
    names: impl ExactSizeIterator<Item = &'a str>,
) -> Result<(), NamesAlike> {
    if names.len() <= NAMES_ALIKE_MAX {
        return Ok(());
    }
    let mut seen = Seen::new(names.len());
    let mut names = names;
    names.try_for_each(|name| seen.add(name, false))
}

/// The strings in `text` before a colon, without their quotes and with their escapes.
fn names(text: &str) -> impl Iterator<Item = &str> {
    let bytes = text.as_bytes();
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            let start = at + bytes.get(at..)?.iter().position(|b| *b == b'"')? + 1;
            let mut end = start;
            while *bytes.get(end)? != b'"' {
                end += if bytes[end] == b'\\' { 2 } else { 1 };
            }
            at = end + 1;
            let is_space = |b: &&u8| matches!(b, b' ' | b'\t' | b'\n' | b'\r');
            let after = bytes[at..].iter().find(|b| !is_space(b));
            if after == Some(&b':') {
                return Some(&text[start..end]);
            }
        }
    })
}

/// Distinct names by where they are filed.
struct Seen<'a> {
    /// One more than the place in `names` of the last one filed there; 0 if there is none.
    heads: Vec<u32>,
    /// Each with the one that was filed there before it.
    names: Vec<(&'a str, u32)>,
    bits: u32,
}

impl<'a> Seen<'a> {
    /// For at most `count` names.
    fn new(count: usize) -> Self {
        let size = count.clamp(1 << 4, NAMES_WINDOW).next_power_of_two();
        Self { heads: vec![0; size], names: Vec::new(), bits: size.trailing_zeros() }
    }

    fn add(&mut self, name: &'a str, has_escapes: bool) -> Result<(), NamesAlike> {
        let place = place(name, has_escapes, self.bits);
        let head = self.heads[place];
        let (mut at, mut alike) = (head, 0);
        while at != 0 {
            let (other, before) = self.names[at as usize - 1];
            if other == name {
                return Ok(());
            }
            (at, alike) = (before, alike + 1);
        }
        if alike >= NAMES_ALIKE_MAX {
            return Err(NamesAlike { name: name.chars().take(SHOWN_CHARS).collect() });
        }
        if self.names.len() == NAMES_WINDOW {
            // So many fill the table, and each place would soon have its share by chance.
            self.heads.fill(0);
            self.names.clear();
        }
        self.names.push((name, self.heads[place]));
        self.heads[place] = self.names.len() as u32;
        Ok(())
    }
}

/// Where the engine files a name in a table of 2 to the power of `bits` places.
fn place(name: &str, has_escapes: bool, bits: u32) -> usize {
    if has_escapes && name.contains('\\') {
        return place_of(units(name).iter().copied(), bits);
    }
    if name.is_ascii() {
        return place_of(name.bytes().map(u16::from), bits);
    }
    place_of(name.encode_utf16(), bits)
}

fn place_of(units: impl Iterator<Item = u16> + Clone, bits: u32) -> usize {
    if let Some(index) = index(units.clone()) {
        return (u64::from(index | 1 << 31).wrapping_mul(0x61c8_8646_80b5_83eb) >> (64 - bits))
            as usize;
    }
    let (mut hash, mut length) = (1_u32, 0_u32);
    for unit in units {
        hash = hash.wrapping_mul(263).wrapping_add(u32::from(unit));
        length = length.wrapping_add(1);
    }
    hash ^= length.wrapping_mul(0x61c8_8647);
    hash as usize & ((1 << bits) - 1)
}

/// The number that the engine has in place of a name of digits.
fn index(units: impl Iterator<Item = u16>) -> Option<u32> {
    let mut value = None;
    for unit in units {
        let digit = char::from_u32(u32::from(unit))?.to_digit(10)?;
        value = match value {
            None => Some(digit),
            Some(0) => return None,
            Some(value) => {
                let next = u64::from(value) * 10 + u64::from(digit);
                Some(u32::try_from(next).ok().filter(|next| *next < 1 << 31)?)
            }
        };
    }
    value
}

/// The UTF-16 of a name with escapes. A mistake is left as it stands: the engine refuses it.
fn units(name: &str) -> Vec<u16> {
    let mut units = Vec::with_capacity(name.len());
    let mut rest = name;
    while let Some(at) = rest.find('\\') {
        units.extend(rest[..at].encode_utf16());
        let escape = rest.as_bytes().get(at + 1).copied();
        let (unit, length) = match escape {
            Some(b'b') => (0x08, 2),
            Some(b't') => (0x09, 2),
            Some(b'n') => (0x0a, 2),
            Some(b'f') => (0x0c, 2),
            Some(b'r') => (0x0d, 2),
            Some(b'u') => {
                let digits = rest.get(at + 2..at + 6);
                match digits.and_then(|digits| u16::from_str_radix(digits, 16).ok()) {
                    Some(unit) => (unit, 6),
                    None => (u16::from(b'\\'), 1),
                }
            }
            Some(other @ (b'"' | b'\\' | b'/')) => (u16::from(other), 2),
            _ => (u16::from(b'\\'), 1),
        };
        units.push(unit);
        rest = &rest[at + length..];
    }
    units.extend(rest.encode_utf16());
    units
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Texts of eight letters that the engine's hash cannot tell apart: one more in a letter is
    /// made up by 263 less in the next, which is 263 − 256 = 7 less where only 8 bits count.
    fn alike(count: usize) -> Vec<String> {
        let mut found = Vec::new();
        let mut number = 0_u32;
        while found.len() < count {
            let name: String = (0..6)
                .map(|place| char::from(b'a' + (number / 26_u32.pow(place) % 26) as u8))
                .collect();
            if place(&name, false, 16) == 7 {
                found.push(name);
            }
            number += 1;
        }
        found
    }

    fn object<'a>(names: impl IntoIterator<Item = &'a String>) -> String {
        let members: Vec<_> =
            names.into_iter().map(|name| format!("\"{name}\" : {}", "0".repeat(20))).collect();
        format!("{{{}}}", members.join(","))
    }

    #[test]
    fn names_that_hash_alike_are_refused() {
        let names = alike(NAMES_ALIKE_MAX + 1);
        assert_eq!(check_names(&object(&names[1..])), Ok(()));
        let refused = check_names(&object(&names)).unwrap_err();
        assert_eq!(refused.name, names[NAMES_ALIKE_MAX]);
        assert!(check_name_list(names[1..].iter().map(String::as_str)).is_ok());
        assert!(check_name_list(names.iter().map(String::as_str)).is_err());
        // Wherever in the text they are, however they are written, and however often.
        let each: Vec<_> = names.iter().map(|name| format!("[{{\"{name}\":[]}}]")).collect();
        assert!(check_names(&format!("[{}]", each.join(","))).is_err());
        assert_eq!(check_names(&format!("[{}]", [&*each[0]; 100].join(","))), Ok(()));
        let escaped = names.iter().map(|n| format!("\\u{:04x}{}", n.as_bytes()[0], &n[1..]));
        let escaped: Vec<_> = escaped.collect();
        assert!(check_names(&object(&escaped)).is_err());
        // As values they are no names.
        assert_eq!(check_names(&format!("{names:?}")), Ok(()));
    }

    #[test]
    fn short_texts_are_not_looked_at() {
        let names = alike(NAMES_ALIKE_MAX + 1);
        let members: Vec<_> = names.iter().map(|name| format!("\"{name}\":0")).collect();
        let text = members.join(",");
        let padded = |bytes: usize| format!("{text}{}", " ".repeat(bytes - text.len()));
        assert_eq!(check_names(&padded(NAMES_TEXT_BYTES_MIN - 1)), Ok(()));
        assert!(check_names(&padded(NAMES_TEXT_BYTES_MIN)).is_err());
    }

    #[test]
    fn names_are_compared_within_a_window() {
        let names = alike(NAMES_ALIKE_MAX + 1);
        let others = (0..).map(|n| format!("k{n}")).filter(|name| place(name, false, 16) != 7);
        let others: Vec<String> = others.take(NAMES_WINDOW).collect();
        let check = |between: usize| {
            let (last, first) = names.split_last().expect("names");
            let all = first.iter().chain(&others[..between]).chain([last]);
            let all: Vec<&str> = all.map(String::as_str).collect();
            check_name_list(all.into_iter())
        };
        assert!(check(NAMES_WINDOW - NAMES_ALIKE_MAX - 1).is_err());
        assert_eq!(check(NAMES_WINDOW), Ok(()));
    }

    #[test]
    fn numbers_that_are_filed_alike_are_refused() {
        let alike = (0..1_u32 << 31).filter(|n| place(&n.to_string(), false, 13) == 5);
        let names: Vec<_> = alike.take(NAMES_ALIKE_MAX + 1).map(|n| n.to_string()).collect();
        // By what the numbers are to the engine, not by their digits.
        let text = format!("{}{}", object(&names), " ".repeat(6 << 12));
        assert!(check_names(&text).is_err());
    }

    #[test]
    fn ordinary_names_pass() {
        let lists: [Vec<String>; 6] = [
            (0..200_000).map(|n| n.to_string()).collect(),
            (0..200_000).map(|n| format!("key{n:06}")).collect(),
            (0..200_000).map(|n| format!("user{n}@example.com")).collect(),
            (0..60_000).map(|n| format!("{:x}", u64::from(n + 1_u32) * 0x9e37_79b9)).collect(),
            (0..60_000).map(|n| (1_700_000_000_000_u64 + n * 60_000).to_string()).collect(),
            (0..60_000)
                .map(|n| format!("20{:02}-{:02}-{:02}", n / 372 % 100, n / 31 % 12, n % 31))
                .collect(),
        ];
        for names in lists {
            assert_eq!(check_names(&object(&names)), Ok(()), "{}", names[1]);
        }
    }

    #[test]
    fn any_text_is_taken() {
        let filler = " ".repeat(NAMES_TEXT_BYTES_MIN);
        for text in ["\"", "\"\\", "\"a\\\"", "\"\\é\":", "{\"\\u12\":1}", "\"\\ud83d\\u\":", "\":"]
        {
            assert_eq!(check_names(&format!("{filler}{text}")), Ok(()), "{text}");
        }
        assert_eq!(units("a\\u00e9\\n\\ud800\\x"), [97, 0xe9, 10, 0xd800, 92, 120]);
        assert_eq!(index("2147483647".encode_utf16()), Some(i32::MAX as u32));
        for none in ["2147483648", "01", "", "-1", "1a", "99999999999999999999"] {
            assert_eq!(index(none.encode_utf16()), None, "{none}");
        }
    }
}
