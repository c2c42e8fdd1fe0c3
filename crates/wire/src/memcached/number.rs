//! Decimal numbers, read and written by hand: they are in every command, and the general routines
//! cost more than the rest of it.

/// The number of a token, or of an item that is counted, as memcached reads it with `strtoull`:
/// spaces before it and anything behind a space or a zero byte are passed over, and there may be a
/// sign. None if there is no number or it does not fit; memcached wraps some of those around.
pub fn unsigned(token: &[u8]) -> Option<u64> {
    let (negative, magnitude) = magnitude(token)?;
    (!negative || magnitude == 0).then_some(magnitude)
}

/// The same with 32 bits.
pub(super) fn unsigned_32(token: &[u8]) -> Option<u32> {
    unsigned(token).and_then(|number| u32::try_from(number).ok())
}

/// The number of a token, as memcached reads it with `strtol`.
pub(super) fn signed(token: &[u8]) -> Option<i64> {
    let (negative, magnitude) = magnitude(token)?;
    if negative { 0_i64.checked_sub_unsigned(magnitude) } else { i64::try_from(magnitude).ok() }
}

fn magnitude(token: &[u8]) -> Option<(bool, u64)> {
    let mut rest = token;
    while let [b'\t'..=b'\r' | b' ', after @ ..] = rest {
        rest = after;
    }
    let negative = matches!(rest, [b'-', ..]);
    if let [b'-' | b'+', after @ ..] = rest {
        rest = after;
    }
    let mut number = 0_u64;
    let mut digits = 0;
    for byte in rest {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            break;
        }
        number = number.checked_mul(10)?.checked_add(u64::from(digit))?;
        digits += 1;
    }
    let ends = matches!(rest.get(digits), None | Some(0 | b'\t'..=b'\r' | b' '));
    (digits > 0 && ends).then_some((negative, number))
}

/// The number of a token that is nothing but digits.
pub(super) fn plain(token: &[u8]) -> Option<u64> {
    let mut number = 0_u64;
    for byte in token {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        number = number.checked_mul(10)?.checked_add(u64::from(digit))?;
    }
    (!token.is_empty()).then_some(number)
}

const PAIRS: [u8; 200] = {
    let mut pairs = [0; 200];
    let mut number = 0;
    while number < 100 {
        pairs[2 * number] = b'0' + (number / 10) as u8;
        pairs[2 * number + 1] = b'0' + (number % 10) as u8;
        number += 1;
    }
    pairs
};

/// Appends a number in decimal.
pub(super) fn push(out: &mut Vec<u8>, mut number: u64) {
    let mut digits = [0; 20];
    let mut start = digits.len();
    while number >= 100 {
        let pair = 2 * (number % 100) as usize;
        number /= 100;
        start -= 2;
        digits[start..start + 2].copy_from_slice(&PAIRS[pair..pair + 2]);
    }
    if number >= 10 {
        let pair = 2 * number as usize;
        start -= 2;
        digits[start..start + 2].copy_from_slice(&PAIRS[pair..pair + 2]);
    } else {
        start -= 1;
        digits[start] = b'0' + number as u8;
    }
    out.extend_from_slice(&digits[start..]);
}

/// Appends a number that may be below zero.
pub(super) fn push_signed(out: &mut Vec<u8>, number: i64) {
    if number < 0 {
        out.push(b'-');
    }
    push(out, number.unsigned_abs());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_memcached_reads() {
        let read = |token: &str| unsigned(token.as_bytes());
        for (token, number) in [
            ("0", Some(0)),
            ("007", Some(7)),
            ("+5", Some(5)),
            ("-0", Some(0)),
            ("\t5", Some(5)),
            ("5\tand more", Some(5)),
            ("18446744073709551615", Some(u64::MAX)),
            ("18446744073709551616", None),
            ("-1", None),
            ("", None),
            ("+", None),
            ("x", None),
            ("5x", None),
            ("0x5", None),
        ] {
            assert_eq!(read(token), number, "{token:?}");
        }
        assert_eq!(unsigned_32(b"4294967295"), Some(u32::MAX));
        assert_eq!(unsigned_32(b"4294967296"), None);
        assert_eq!(signed(b"-1"), Some(-1));
        assert_eq!(signed(b"-9223372036854775808"), Some(i64::MIN));
        assert_eq!(signed(b"9223372036854775808"), None);
    }

    #[test]
    fn plain_numbers_have_no_ornaments() {
        assert_eq!(plain(b"0123"), Some(123));
        for token in ["", "+1", " 1", "1 ", "-0", "99999999999999999999"] {
            assert_eq!(plain(token.as_bytes()), None, "{token:?}");
        }
    }

    #[test]
    fn writes_every_length() {
        let mut numbers = vec![0, u64::MAX];
        let powers = std::iter::successors(Some(1_u64), |power| power.checked_mul(10));
        numbers.extend(powers.flat_map(|power| [power - 1, power, power + 1]));
        for number in numbers {
            let mut out = b"<".to_vec();
            push(&mut out, number);
            assert_eq!(out, format!("<{number}").as_bytes());
            assert_eq!(plain(&out[1..]), Some(number));
        }
        let mut out = Vec::new();
        push_signed(&mut out, i64::MIN);
        assert_eq!(out, i64::MIN.to_string().as_bytes());
    }
}
