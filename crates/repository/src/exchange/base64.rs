//! Base64 with padding (RFC 4648 §4), for bytes in lines of JSON.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// What a byte stands for; 64 and more: nothing.
const VALUES: [u8; 256] = {
    let mut values = [0xFF; 256];
    let mut i = 0;
    while i < 64 {
        values[ALPHABET[i] as usize] = i as u8;
        i += 1;
    }
    values
};

/// Appends `bytes` as text.
pub(super) fn encode(bytes: &[u8], out: &mut Vec<u8>) {
    out.reserve(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let at = |place: usize| u32::from(group.get(place).copied().unwrap_or(0));
        let bits = at(0) << 16 | at(1) << 8 | at(2);
        let digit = |shift: u32| ALPHABET[(bits >> shift) as usize & 63];
        let mut text = [digit(18), digit(12), digit(6), digit(0)];
        text[group.len() + 1..].fill(b'=');
        out.extend_from_slice(&text);
    }
}

/// The bytes that `text` stands for; none if it is no Base64, or not in the one form that `encode`
/// gives.
pub(super) fn decode(text: &[u8]) -> Option<Vec<u8>> {
    let (groups, []) = text.as_chunks::<4>() else { return None };
    let Some((last, whole)) = groups.split_last() else { return Some(Vec::new()) };
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    for group in whole {
        out.extend_from_slice(&decode_group(*group)?);
    }
    let (length, digits) = match *last {
        [a, b, b'=', b'='] => (1, [a, b, b'A', b'A']),
        [a, b, c, b'='] => (2, [a, b, c, b'A']),
        digits => (3, digits),
    };
    let bytes = decode_group(digits)?;
    // Bits behind the last byte must be zero, so that one text stands for one value.
    let is_exact = bytes[length..].iter().all(|byte| *byte == 0);
    out.extend_from_slice(&bytes[..length]);
    is_exact.then_some(out)
}

fn decode_group(digits: [u8; 4]) -> Option<[u8; 3]> {
    let [a, b, c, d] = digits.map(|digit| u32::from(VALUES[usize::from(digit)]));
    if (a | b | c | d) > 63 {
        return None;
    }
    let [_, bytes @ ..] = (a << 18 | b << 12 | c << 6 | d).to_be_bytes();
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_of_rfc_4648_come_back() {
        for (bytes, text) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("foobar", "Zm9vYmFy"),
        ] {
            let mut out = Vec::new();
            encode(bytes.as_bytes(), &mut out);
            assert_eq!(out, text.as_bytes());
            assert_eq!(decode(text.as_bytes()).unwrap(), bytes.as_bytes());
        }
    }

    #[test]
    fn what_is_no_base64_is_refused() {
        for text in ["Z", "Zg", "Zg=", "Z===", "====", "Zm9*", "Zg==Zg==", "Zh==", "Zm9="] {
            assert_eq!(decode(text.as_bytes()), None, "{text}");
        }
    }
}
