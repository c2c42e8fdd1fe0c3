//! Base64 (RFC 4648 §4), in which the engine hands over bytes: it gives no other safe access to
//! them.

/// The bytes of a padded text; `None` if it is none.
pub(crate) fn decode(text: &str) -> Option<Vec<u8>> {
    let text = text.as_bytes();
    if !text.len().is_multiple_of(4) {
        return None;
    }
    let padding = text.iter().rev().take(2).take_while(|&&byte| byte == b'=').count();
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    for group in text[..text.len() - padding].chunks(4) {
        let mut bits = 0u32;
        for &digit in group {
            bits = bits << 6 | u32::from(VALUES[usize::from(digit)]);
        }
        if group.iter().any(|&digit| VALUES[usize::from(digit)] == NONE) {
            return None;
        }
        // Two digits are one byte, three are two, four are three.
        bits <<= 6 * (4 - group.len());
        let [_, all @ ..] = bits.to_be_bytes();
        bytes.extend_from_slice(&all[..group.len() - 1]);
    }
    Some(bytes)
}

const NONE: u8 = 64;

/// The value of each digit.
const VALUES: [u8; 256] = {
    let digits = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut values = [NONE; 256];
    let mut value = 0;
    while value < digits.len() {
        values[digits[value] as usize] = value as u8;
        value += 1;
    }
    values
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rfc4648_10_test_vectors() {
        for (text, bytes) in [
            ("", ""),
            ("Zg==", "f"),
            ("Zm8=", "fo"),
            ("Zm9v", "foo"),
            ("Zm9vYg==", "foob"),
            ("Zm9vYmE=", "fooba"),
            ("Zm9vYmFy", "foobar"),
        ] {
            assert_eq!(decode(text).as_deref(), Some(bytes.as_bytes()));
        }
        assert_eq!(decode("/+8A").unwrap(), [0xff, 0xef, 0]);
        for bad in ["Z", "Zg=", "Zg", "Zm9v\n", "Z=9v", "====", "Zm-_", "Zé="] {
            assert_eq!(decode(bad), None, "{bad:?}");
        }
    }
}
