//! Base64 with padding (RFC 4648 §4): keys of memcached, handshakes of WebSocket.

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
pub fn encode(out: &mut Vec<u8>, bytes: &[u8]) {
    for group in bytes.chunks(3) {
        let at = |place: usize| u32::from(group.get(place).copied().unwrap_or(0));
        let bits = at(0) << 16 | at(1) << 8 | at(2);
        let digit = |shift: u32| ALPHABET[(bits >> shift) as usize & 63];
        let mut text = [digit(18), digit(12), digit(6), digit(0)];
        text[group.len() + 1..].fill(b'=');
        out.extend_from_slice(&text);
    }
}

/// Writes the bytes that `text` stands for to `out` and gives their number; none if it is no
/// Base64, stands for nothing, or does not fit.
pub(crate) fn decode(text: &[u8], out: &mut [u8]) -> Option<usize> {
    let (groups, []) = text.as_chunks::<4>() else { return None };
    let (last, whole) = groups.split_last()?;
    let mut length = 0;
    for group in whole {
        let bytes = decode_group(*group)?;
        out.get_mut(length..length + 3)?.copy_from_slice(&bytes);
        length += 3;
    }
    let (padding, digits) = match *last {
        [a, b, b'=', b'='] => (2, [a, b, b'A', b'A']),
        [a, b, c, b'='] => (1, [a, b, c, b'A']),
        digits => (0, digits),
    };
    let bytes = decode_group(digits)?;
    let end = length + 3 - padding;
    out.get_mut(length..end)?.copy_from_slice(&bytes[..3 - padding]);
    Some(end)
}

/// The bytes that `text` stands for; none if it is no Base64, or stands for nothing.
pub fn to_bytes(text: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = vec![0; text.len() / 4 * 3];
    let length = decode(text, &mut bytes)?;
    bytes.truncate(length);
    Some(bytes)
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
    fn vectors_of_rfc_4648() {
        for (bytes, text) in [
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ] {
            let mut out = Vec::new();
            encode(&mut out, bytes.as_bytes());
            assert_eq!(out, text.as_bytes());
            let mut back = [0; 6];
            let length = decode(text.as_bytes(), &mut back).unwrap();
            assert_eq!(&back[..length], bytes.as_bytes());
        }
    }

    #[test]
    fn every_byte_comes_back() {
        let bytes: Vec<u8> = (0..=255).collect();
        let mut text = Vec::new();
        encode(&mut text, &bytes);
        let mut back = [0; 256];
        assert_eq!(decode(&text, &mut back), Some(256));
        assert_eq!(back[..], bytes[..]);
    }

    #[test]
    fn what_is_no_base64_is_refused() {
        let mut out = [0; 6];
        for text in ["", "Z", "Zg", "Zg=", "Z===", "====", "Zm9*", "Zg==Zg==", "Zm9vYmFyZm9v"] {
            assert_eq!(decode(text.as_bytes(), &mut out), None, "{text}");
        }
    }
}
