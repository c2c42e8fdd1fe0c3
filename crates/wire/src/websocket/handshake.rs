//! The two values of the opening handshake (RFC 6455 §4.1, §4.2.2) that show that the server
//! understood it. The rest of it is HTTP.

use crate::base64;
use sha1::{Digest, Sha1};

/// Bytes of a client's nonce.
pub const KEY_BYTES: usize = 16;

/// What is hashed with the key (§1.3).
const GUID: &[u8] = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/// The value of `Sec-WebSocket-Key` of a nonce.
pub fn key(nonce: [u8; KEY_BYTES]) -> Vec<u8> {
    let mut text = Vec::with_capacity(24);
    base64::encode(&mut text, &nonce);
    text
}

/// The value of `Sec-WebSocket-Accept` that belongs to a key.
pub fn accept(key: &[u8]) -> Vec<u8> {
    let mut text = Vec::with_capacity(28);
    base64::encode(&mut text, &Sha1::new().chain_update(key).chain_update(GUID).finalize());
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of §1.3.
    #[test]
    fn the_example_of_the_rfc() {
        assert_eq!(key(*b"the sample nonce"), b"dGhlIHNhbXBsZSBub25jZQ==");
        assert_eq!(accept(b"dGhlIHNhbXBsZSBub25jZQ=="), b"s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    }
}
