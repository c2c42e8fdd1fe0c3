//! Numbers: the one way a double is written, and which literals are taken.
//!
//! A whole number, however it is written, is taken only if its canonical form is the same number:
//! whoever reads it gets what was sent, even with integers of more bits than a double has. Any
//! other number is rounded to the nearest double, as all who read JSON into doubles do; it is
//! refused if that is infinite, or 0 where the literal is not.

use super::Error;
use super::scan::skip_quoted;
use crate::excerpt::excerpt;

/// Digits that always fit a double exactly.
const EXACT_DIGITS: usize = 15;

/// Characters of a literal that a message shows.
const SHOWN_CHARS: usize = 40;

/// A finite double as ECMAScript prints it (ECMA-262 §6.1.6.1.20). `-0` is `0`.
pub fn format_number(value: f64) -> String {
    debug_assert!(value.is_finite());
    ryu_js::Buffer::new().format_finite(value).to_owned()
}

/// Checks the numbers of `text` by the rule above, for those who read it by other means than
/// `canonicalize`. What is not JSON is theirs to refuse.
pub fn check_numbers(text: &str) -> Result<(), Error> {
    let bytes = text.as_bytes();
    let mut out = Vec::new();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => at = skip_quoted(bytes, at),
            b'-' | b'0'..=b'9' => {
                let belongs = |b: &u8| b.is_ascii_digit() || b"+-.eE".contains(b);
                let length = bytes[at..].iter().take_while(|b| belongs(b)).count();
                let literal = &text[at..at + length];
                out.clear();
                if let Err(why) = append_literal(literal, &mut out)
                    && literal.parse::<f64>().is_ok()
                {
                    return Err(Error::at(bytes, at, why));
                }
                at += length;
            }
            _ => at += 1,
        }
    }
    Ok(())
}

/// Appends the canonical form of a literal that already matches JSON's grammar.
pub(super) fn append_literal(literal: &str, out: &mut Vec<u8>) -> Result<(), String> {
    let digits = literal.strip_prefix('-').unwrap_or(literal);
    let is_plain = digits.bytes().all(|b| b.is_ascii_digit());
    if is_plain && digits.len() <= EXACT_DIGITS && literal != "-0" {
        out.extend_from_slice(literal.as_bytes());
        return Ok(());
    }
    let shown = || excerpt(literal, SHOWN_CHARS);
    let value: f64 = literal.parse().map_err(|_| format!("expected a number, got {}", shown()))?;
    let written = Decimal::of(digits);
    if !value.is_finite() || (value == 0.0 && !written.is_zero()) {
        return Err(format!("{} is beyond the range of a double", shown()));
    }
    let mut buffer = ryu_js::Buffer::new();
    let printed = buffer.format_finite(value);
    if written.is_whole() && printed != literal {
        let stored = Decimal::of(printed.strip_prefix('-').unwrap_or(printed));
        if !stored.is(&written) {
            return Err(format!(
                "a double cannot hold the integer {} exactly: it would become {printed}; send it \
                 as a string",
                shown()
            ));
        }
    }
    out.extend_from_slice(printed.as_bytes());
    Ok(())
}

/// What a literal without a sign means: its significant digits, without zeros at either end, and
/// the power of ten of the last of them.
struct Decimal<'a> {
    whole: &'a str,
    fraction: &'a str,
    /// Zeros before the significant digits.
    leading: usize,
    /// How many significant digits there are; none: it is 0.
    count: usize,
    exponent: i64,
}

impl<'a> Decimal<'a> {
    fn of(literal: &'a str) -> Self {
        let (mantissa, exponent) = literal.split_once(['e', 'E']).unwrap_or((literal, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits = || whole.bytes().chain(fraction.bytes());
        let zeros =
            |digits: &mut dyn Iterator<Item = u8>| digits.take_while(|d| *d == b'0').count();
        let (leading, trailing) = (zeros(&mut digits()), zeros(&mut digits().rev()));
        let count = (whole.len() + fraction.len()).saturating_sub(leading + trailing);
        // With so many digits it is out of range whatever stands before it.
        let huge = if exponent.starts_with('-') { i64::MIN / 2 } else { i64::MAX / 2 };
        let exponent = exponent.parse().ok().filter(|e: &i64| e.abs() < i64::MAX / 2);
        let exponent = exponent.unwrap_or(huge) + trailing as i64 - fraction.len() as i64;
        Self { whole, fraction, leading, count, exponent }
    }

    fn digits(&self) -> impl Iterator<Item = u8> + use<'a> {
        self.whole.bytes().chain(self.fraction.bytes()).skip(self.leading).take(self.count)
    }

    fn is(&self, other: &Decimal<'_>) -> bool {
        let is_zero = self.is_zero() && other.is_zero();
        is_zero || (self.exponent == other.exponent && self.digits().eq(other.digits()))
    }

    fn is_zero(&self) -> bool {
        self.count == 0
    }

    fn is_whole(&self) -> bool {
        self.is_zero() || self.exponent >= 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::canonicalize;

    fn stored(literal: &str) -> Option<String> {
        let text = canonicalize(literal.as_bytes()).ok()?;
        Some(String::from_utf8(text).unwrap())
    }

    #[test]
    fn a_whole_number_is_kept_as_it_is_or_refused() {
        for (literal, expected) in [
            ("9007199254740992", "9007199254740992"),
            ("9007199254740992.0", "9007199254740992"),
            ("9007199254740994", "9007199254740994"),
            ("0.9007199254740994e16", "9007199254740994"),
            ("-9007199254740991", "-9007199254740991"),
            ("9223372036854776000", "9223372036854776000"),
            ("9.223372036854776e18", "9223372036854776000"),
            ("6.02214076e23", "6.02214076e+23"),
            ("1e308", "1e+308"),
            ("100000000000000000000000", "1e+23"),
            ("0e999999999999999999999", "0"),
            ("-0.000e-99999999999999999999", "0"),
            ("5.00e1", "50"),
            ("00000000000000000e1", ""),
        ] {
            assert_eq!(stored(literal).unwrap_or_default(), expected, "{literal}");
        }
        for literal in [
            "9007199254740993",
            "9007199254740993.0",
            "9007199254740993.000000000000000000000000000",
            "900719925474099300e-2",
            "9.007199254740993e15",
            "-9007199254740993",
            "9223372036854775807",
            "9223372036854775808",
            "-9223372036854775808",
            "9.223372036854775808e18",
            "18446744073709551615",
            "18446744073709551616",
            "590295810358705651712",
            "1e400",
            "-1e400",
            "1e99999999999999999999",
            "1e-400",
            "1e-99999999999999999999",
            "123.456e-789",
        ] {
            assert_eq!(stored(literal), None, "{literal}");
            assert!(check_numbers(&format!("[\"{literal}\",{literal}]")).is_err(), "{literal}");
        }
    }

    #[test]
    fn a_fraction_becomes_the_nearest_double() {
        for (literal, expected) in [
            ("0.1", "0.1"),
            ("-65.613616999999977", "-65.61361699999998"),
            ("3.14159265358979323846", "3.141592653589793"),
            ("0.1000000000000000055511151231257827", "0.1"),
            ("9007199254740992.5", "9007199254740992"),
            ("5e-324", "5e-324"),
            ("1.7976931348623157e308", "1.7976931348623157e+308"),
        ] {
            assert_eq!(stored(literal).as_deref(), Some(expected), "{literal}");
            assert_eq!(check_numbers(literal), Ok(()), "{literal}");
        }
    }

    /// Bits of doubles of all sizes, by a multiplicative generator (Knuth, volume 2, §3.3.4).
    fn doubles() -> impl Iterator<Item = f64> {
        let next = |bits: &u64| Some(bits.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
        std::iter::successors(Some(1_u64), next).map(f64::from_bits).filter(|v| v.is_finite())
    }

    #[test]
    fn what_is_printed_is_taken_again() {
        for value in doubles().take(20_000) {
            for value in [value, value.round(), value.fract() * 1e17] {
                let printed = format_number(value);
                assert_eq!(stored(&printed).as_deref(), Some(printed.as_str()));
            }
        }
    }

    #[test]
    fn whole_numbers_near_doubles_are_the_same_or_refused() {
        let whole = doubles().filter(|value| (1e15..1e37).contains(&value.abs()));
        let mut taken = 0;
        for value in whole.take(2_000) {
            let exact = value as i128;
            for integer in (exact - 2)..=(exact + 2) {
                let Some(text) = stored(&integer.to_string()) else { continue };
                taken += 1;
                let (mantissa, exponent) = text.split_once("e+").unwrap_or((&text, "0"));
                let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
                let zeros = exponent.parse::<usize>().unwrap() - fraction.len();
                let plain = format!("{whole}{fraction}{}", "0".repeat(zeros));
                assert_eq!(plain, integer.to_string());
            }
        }
        assert!(taken > 0, "some are held exactly");
    }

    #[test]
    fn a_message_shows_no_other_number() {
        let long = "1234567890".repeat(6);
        let error = canonicalize(long.as_bytes()).unwrap_err().to_string();
        assert!(error.contains("a number of 60 characters"), "{error}");
        assert!(!error.contains(&long[..40]), "{error}");
    }
}
