//! Base64 with padding (RFC 4648 §4): keys of memcached, handshakes of WebSocket, passwords and
//! content of Atom. The algorithm is the `base64` crate's.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// Appends `bytes` as text.
pub fn encode(out: &mut Vec<u8>, bytes: &[u8]) {
    let begin = out.len();
    out.resize(begin + bytes.len().div_ceil(3) * 4, 0);
    let written = STANDARD.encode_slice(bytes, &mut out[begin..]);
    debug_assert_eq!(written.ok(), Some(out.len() - begin));
}

/// Writes the bytes that `text` stands for to `out` and gives their number; none if it is no
/// Base64, stands for nothing, or does not fit.
pub(crate) fn decode(text: &[u8], out: &mut [u8]) -> Option<usize> {
    STANDARD.decode_slice(text, out).ok().filter(|length| *length > 0)
}

/// The bytes that `text` stands for; none if it is no Base64, or stands for nothing.
pub fn to_bytes(text: &[u8]) -> Option<Vec<u8>> {
    STANDARD.decode(text).ok().filter(|bytes| !bytes.is_empty())
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
