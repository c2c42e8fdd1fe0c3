//! Numbers: the one way a double is written, and which literals a double can hold.

/// Digits that always fit a double exactly.
const EXACT_DIGITS: usize = 15;

/// A finite double as ECMAScript prints it (ECMA-262 §6.1.6.1.20). `-0` is `0`.
pub fn format_number(value: f64) -> String {
    debug_assert!(value.is_finite());
    ryu_js::Buffer::new().format_finite(value).to_owned()
}

/// Appends the canonical form of a literal that already matches JSON's grammar.
pub(super) fn append_literal(literal: &str, out: &mut Vec<u8>) -> Result<(), String> {
    let digits = literal.strip_prefix('-').unwrap_or(literal);
    let is_integer = digits.bytes().all(|b| b.is_ascii_digit());
    if is_integer && digits.len() <= EXACT_DIGITS && literal != "-0" {
        out.extend_from_slice(literal.as_bytes());
        return Ok(());
    }
    let value: f64 = literal.parse().map_err(|_| format!("expected a number, got {literal}"))?;
    if !value.is_finite() {
        return Err(format!("{} is beyond the range of a double", shortened(literal)));
    }
    let mut buffer = ryu_js::Buffer::new();
    let printed = buffer.format_finite(value);
    if is_integer && printed != literal && literal != "-0" && !is_exact(digits, value.abs()) {
        return Err(format!(
            "a double cannot hold the integer {} exactly; send it as a string",
            shortened(literal)
        ));
    }
    out.extend_from_slice(printed.as_bytes());
    Ok(())
}

fn is_exact(digits: &str, value: f64) -> bool {
    // 2^127 bounds the cast below; larger integers are refused unless they print as they came.
    value < 1.7e38 && digits.parse::<u128>().is_ok_and(|integer| integer == value as u128)
}

fn shortened(literal: &str) -> &str {
    &literal[..literal.len().min(40)]
}
