//! Whether a number is a multiple of another, by their decimal digits: 0.3 is one of 0.1, which
//! doubles would deny.

/// `digits` × 10^`exponent`, without its sign.
struct Decimal {
    digits: u128,
    exponent: i32,
}

impl Decimal {
    /// Reads a JSON number; `None` if it has more digits than a double can have.
    fn parse(text: &str) -> Option<Self> {
        let text = text.trim_start_matches('-');
        let (mantissa, exponent) = match text.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
            None => (text, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let mut digits: u128 = 0;
        for digit in whole.bytes().chain(fraction.bytes()) {
            digits = digits.checked_mul(10)?.checked_add(u128::from(digit.checked_sub(b'0')?))?;
        }
        let exponent = exponent.checked_sub(i32::try_from(fraction.len()).ok()?)?;
        Some(Self { digits, exponent }.shortest())
    }

    fn shortest(mut self) -> Self {
        while self.digits != 0 && self.digits.is_multiple_of(10) {
            self.digits /= 10;
            self.exponent = self.exponent.saturating_add(1);
        }
        self
    }
}

/// Whether `number` is a whole multiple of `of`; both are JSON numbers, and `of` is not 0.
pub(crate) fn is_multiple((number, text): (f64, &str), (of, of_text): (f64, &str)) -> bool {
    let exact = || {
        let (number, of) = (Decimal::parse(text)?, Decimal::parse(of_text)?);
        if number.digits == 0 {
            return Some(true);
        }
        if of.digits == 0 || of.digits > u128::from(u64::MAX) {
            return None;
        }
        let shift = number.exponent.checked_sub(of.exponent)?;
        if shift < 0 {
            // Its digits do not end with a zero, and a multiple's would.
            return Some(false);
        }
        let mut rest = number.digits % of.digits;
        for _ in 0..shift.min(800) {
            rest = rest * 10 % of.digits;
        }
        Some(rest == 0)
    };
    exact().unwrap_or_else(|| (number / of).fract() == 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn multiples_are_told_by_digits() {
        let check =
            |a: &str, b: &str| is_multiple((a.parse().unwrap(), a), (b.parse().unwrap(), b));
        for (a, b) in [
            ("0.3", "0.1"),
            ("0.0075", "0.0001"),
            ("4.35", "0.01"),
            ("-10", "5"),
            ("0", "3"),
            ("1e308", "1e-300"),
            ("12391239123", "1e-8"),
            ("9007199254740991", "1"),
        ] {
            assert!(check(a, b), "{a} {b}");
        }
        for (a, b) in [("0.00751", "0.0001"), ("35", "1.5"), ("0.5", "1"), ("1e-300", "1e300")] {
            assert!(!check(a, b), "{a} {b}");
        }
    }
}
