//! Base64 with padding (RFC 4648 §4), in which the engine hands over bytes: it gives no other safe
//! access to them. The algorithm is the `base64` crate's.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// The bytes of a text; `None` if it is none.
pub(crate) fn decode(text: &str) -> Option<Vec<u8>> {
    STANDARD.decode(text).ok()
}
