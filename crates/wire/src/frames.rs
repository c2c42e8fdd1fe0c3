//! Frames of a stream on the admin socket (`docs/admin-socket.md`): bytes, how far the work has
//! come, and how it ended. It opens no socket and knows no command.

use crate::limits::FRAME_BYTES_MAX;
use thiserror::Error;

/// Bytes of a frame's head: its kind, and the length of what follows, little-endian.
pub const HEAD_BYTES: usize = 5;

/// What a frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Bytes of what is sent.
    Data,
    /// How far the work has come: JSON.
    Progress,
    /// The last: from a server with the result, JSON; from a client, that there is no more.
    End,
    /// The last: why there is no result, text.
    Error,
}

/// Bytes that are no frame.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum FrameError {
    /// The first byte is none of a frame's.
    #[error("expected a frame (D, P, E or X), got the byte {0}")]
    Kind(u8),
    /// It claims to be longer than any is.
    #[error("expected a frame of at most {FRAME_BYTES_MAX} bytes, got one of {0}")]
    TooLong(u32),
}

impl Kind {
    fn byte(self) -> u8 {
        match self {
            Self::Data => b'D',
            Self::Progress => b'P',
            Self::End => b'E',
            Self::Error => b'X',
        }
    }
}

/// The head of a frame of `length` bytes; none if that is more than a frame has.
pub fn head(kind: Kind, length: usize) -> Option<[u8; HEAD_BYTES]> {
    let length = u32::try_from(length).ok().filter(|_| length <= FRAME_BYTES_MAX)?;
    let [a, b, c, d] = length.to_le_bytes();
    Some([kind.byte(), a, b, c, d])
}

/// What a head says: the kind, and how many bytes follow.
///
/// # Errors
/// [`FrameError`].
pub fn read_head(head: [u8; HEAD_BYTES]) -> Result<(Kind, usize), FrameError> {
    let [kind, a, b, c, d] = head;
    let kind = match kind {
        b'D' => Kind::Data,
        b'P' => Kind::Progress,
        b'E' => Kind::End,
        b'X' => Kind::Error,
        other => return Err(FrameError::Kind(other)),
    };
    let length = u32::from_le_bytes([a, b, c, d]);
    match usize::try_from(length) {
        Ok(bytes) if bytes <= FRAME_BYTES_MAX => Ok((kind, bytes)),
        _ => Err(FrameError::TooLong(length)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_come_back_and_others_are_refused() {
        for kind in [Kind::Data, Kind::Progress, Kind::End, Kind::Error] {
            let head = head(kind, FRAME_BYTES_MAX).unwrap();
            assert_eq!(read_head(head), Ok((kind, FRAME_BYTES_MAX)));
        }
        assert_eq!(head(Kind::Data, FRAME_BYTES_MAX + 1), None);
        assert_eq!(read_head([b'd', 0, 0, 0, 0]), Err(FrameError::Kind(b'd')));
        assert_eq!(read_head([b'D', 1, 0, 1, 0]), Err(FrameError::TooLong(0x1_0001)));
    }
}
