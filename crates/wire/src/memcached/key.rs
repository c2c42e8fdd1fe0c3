//! Keys: on the wire a word, or the Base64 of any bytes.

use crate::base64;
use crate::limits::KEY_BYTES_MAX;
use thiserror::Error;

/// The key of a meta command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key<'a> {
    /// As it stands on the wire, at most [`KEY_BYTES_MAX`] bytes.
    pub text: &'a [u8],
    /// Whether that is Base64 (flag `b`). A parsed one can be decoded.
    pub is_binary: bool,
}

impl<'a> Key<'a> {
    /// The key's bytes; `room` is where they are put if they must be decoded.
    pub fn bytes<'b>(&self, room: &'b mut [u8; KEY_BYTES_MAX]) -> &'b [u8]
    where
        'a: 'b,
    {
        if !self.is_binary {
            return self.text;
        }
        let length = base64::decode(self.text, room).unwrap_or(0);
        &room[..length]
    }

    pub(super) fn is_valid(&self) -> bool {
        !self.is_binary || base64::decode(self.text, &mut [0; KEY_BYTES_MAX]).is_some()
    }
}

/// A key that cannot be sent.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum KeyError {
    /// There is nothing in it.
    #[error("a key has at least one byte")]
    Empty,
    /// It is too long.
    #[error("a key has at most {KEY_BYTES_MAX} bytes; got {0}")]
    TooLong(usize),
    /// It holds a byte that would end it.
    #[error("a key holds no space and no control character; got byte {0}")]
    Byte(u8),
}

/// Checks that a key can be sent as a word.
///
/// # Errors
/// See [`KeyError`].
pub fn check_key(key: &[u8]) -> Result<(), KeyError> {
    if key.is_empty() {
        return Err(KeyError::Empty);
    }
    if key.len() > KEY_BYTES_MAX {
        return Err(KeyError::TooLong(key.len()));
    }
    match key.iter().find(|byte| **byte <= b' ' || **byte == 0x7F) {
        Some(byte) => Err(KeyError::Byte(*byte)),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_binary_key_is_decoded() {
        let mut room = [0; KEY_BYTES_MAX];
        let key = |text, is_binary| Key { text, is_binary };
        assert_eq!(key(b"Zm9v", false).bytes(&mut room), b"Zm9v");
        assert_eq!(key(b"Zm9v", true).bytes(&mut room), b"foo");
        assert!(key(b"Zm9", false).is_valid() && !key(b"Zm9", true).is_valid());
    }

    #[test]
    fn keys_that_cannot_be_sent_are_refused() {
        assert_eq!(check_key(&[b'k'; KEY_BYTES_MAX]), Ok(()));
        assert_eq!(check_key("ü".as_bytes()), Ok(()));
        assert_eq!(check_key(b""), Err(KeyError::Empty));
        assert_eq!(check_key(&[b'k'; KEY_BYTES_MAX + 1]), Err(KeyError::TooLong(251)));
        for byte in [b' ', b'\n', b'\r', 0, 0x7F] {
            assert_eq!(check_key(&[b'k', byte]), Err(KeyError::Byte(byte)));
        }
    }
}
