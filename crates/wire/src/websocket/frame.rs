//! One frame (RFC 6455 §5.2): its head, and its payload under the mask.

use super::reader::WebSocketError;

/// Who reads. Clients mask what they send, servers do not (§5.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Reads what a server sent.
    Client,
    /// Reads what a client sent.
    Server,
}

/// What a frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opcode {
    /// The next part of a message.
    Continuation,
    /// A message of UTF-8, or its first part.
    Text,
    /// A message of bytes, or its first part.
    Binary,
    /// The end of the connection.
    Close,
    /// A question whether the other side is there.
    Ping,
    /// The answer to it.
    Pong,
}

/// Four bytes that payloads of a client are combined with.
pub type Mask = [u8; 4];

/// Longest payload of a frame that is no part of a message (§5.5).
pub(super) const CONTROL_BYTES_MAX: u64 = 125;

impl Opcode {
    pub(super) fn is_control(self) -> bool {
        matches!(self, Self::Close | Self::Ping | Self::Pong)
    }

    fn of(number: u8) -> Option<Self> {
        Some(match number {
            0x0 => Self::Continuation,
            0x1 => Self::Text,
            0x2 => Self::Binary,
            0x8 => Self::Close,
            0x9 => Self::Ping,
            0xA => Self::Pong,
            _ => return None,
        })
    }

    fn number(self) -> u8 {
        match self {
            Self::Continuation => 0x0,
            Self::Text => 0x1,
            Self::Binary => 0x2,
            Self::Close => 0x8,
            Self::Ping => 0x9,
            Self::Pong => 0xA,
        }
    }
}

/// What comes before a payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) is_final: bool,
    pub(super) opcode: Opcode,
    pub(super) mask: Option<Mask>,
    /// Of the payload.
    pub(super) length: u64,
}

/// Reads a head from the begin of `input`, and gives its length with it; nothing if it is not
/// complete.
pub(super) fn head(input: &[u8], side: Side) -> Result<Option<(Head, usize)>, WebSocketError> {
    let [first, second, rest @ ..] = input else { return Ok(None) };
    if first & 0x70 != 0 {
        return Err(WebSocketError::Reserved);
    }
    let opcode = Opcode::of(first & 0x0F).ok_or(WebSocketError::Opcode(first & 0x0F))?;
    let is_masked = second & 0x80 != 0;
    if is_masked != (side == Side::Server) {
        return Err(WebSocketError::Masked(is_masked));
    }
    let is_final = first & 0x80 != 0;
    let short = u64::from(second & 0x7F);
    if opcode.is_control() && (!is_final || short > CONTROL_BYTES_MAX) {
        return Err(WebSocketError::Control);
    }
    let bytes = match short {
        126 => 2,
        127 => 8,
        _ => 0,
    };
    let Some((long, rest)) = rest.split_at_checked(bytes) else { return Ok(None) };
    let long = long.iter().fold(0, |number, byte| number << 8 | u64::from(*byte));
    let (length, least) = match short {
        126 => (long, 126),
        127 => (long, 1 << 16),
        _ => (short, 0),
    };
    // The fewest bytes that will do (§5.2), and never the highest bit.
    if length < least || length >> 63 != 0 {
        return Err(WebSocketError::Length);
    }
    let mask = match (is_masked, rest.first_chunk()) {
        (false, _) => None,
        (true, Some(mask)) => Some(*mask),
        (true, None) => return Ok(None),
    };
    let whole = 2 + bytes + if is_masked { 4 } else { 0 };
    Ok(Some((Head { is_final, opcode, mask, length }, whole)))
}

/// Combines bytes with the mask, twice of which is nothing (§5.3). The first of them is byte
/// `offset` of the payload.
pub(super) fn apply(mask: Mask, bytes: &mut [u8], offset: u64) {
    let start = (offset % 4) as usize;
    for (byte, mask) in bytes.iter_mut().zip(mask.iter().cycle().skip(start)) {
        *byte ^= mask;
    }
}

/// Appends a frame, under a mask if it is a client's. Payloads of `Close`, `Ping` and `Pong` have
/// at most 125 bytes; what is beyond is left out.
pub fn write(
    out: &mut Vec<u8>,
    opcode: Opcode,
    is_final: bool,
    mask: Option<Mask>,
    payload: &[u8],
) {
    let most = if opcode.is_control() { CONTROL_BYTES_MAX as usize } else { payload.len() };
    let payload = &payload[..payload.len().min(most)];
    let masked = if mask.is_some() { 0x80 } else { 0 };
    out.push(if is_final { 0x80 } else { 0 } | opcode.number());
    match payload.len() {
        short @ 0..126 => out.push(masked | short as u8),
        middle @ 126..0x1_0000 => {
            out.push(masked | 126);
            out.extend_from_slice(&(middle as u16).to_be_bytes());
        }
        long => {
            out.push(masked | 127);
            out.extend_from_slice(&(long as u64).to_be_bytes());
        }
    }
    out.extend_from_slice(mask.as_ref().map_or(&[], |mask| mask.as_slice()));
    let start = out.len();
    out.extend_from_slice(payload);
    if let Some(mask) = mask {
        apply(mask, &mut out[start..], 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of §5.7.
    #[test]
    fn the_examples_of_the_rfc() {
        let written = |opcode, is_final, mask, payload: &[u8]| {
            let mut out = Vec::new();
            write(&mut out, opcode, is_final, mask, payload);
            out
        };
        assert_eq!(written(Opcode::Text, true, None, b"Hello"), b"\x81\x05Hello");
        let mask = Some([0x37, 0xFA, 0x21, 0x3D]);
        let masked = b"\x81\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58";
        assert_eq!(written(Opcode::Text, true, mask, b"Hello"), masked);
        assert_eq!(written(Opcode::Text, false, None, b"Hel"), b"\x01\x03Hel");
        assert_eq!(written(Opcode::Continuation, true, None, b"lo"), b"\x80\x02lo");
        let heads: [(usize, &[u8]); 4] = [
            (125, b"\x82\x7d"),
            (256, b"\x82\x7e\x01\x00"),
            (65_535, b"\x82\x7e\xff\xff"),
            (65_536, b"\x82\x7f\x00\x00\x00\x00\x00\x01\x00\x00"),
        ];
        for (length, expected) in heads {
            let frame = written(Opcode::Binary, true, None, &vec![7; length]);
            assert!(frame.starts_with(expected), "{length}");
            let (head, bytes) = head(&frame, Side::Client).unwrap().unwrap();
            assert_eq!((head.length, bytes), (length as u64, expected.len()));
        }
    }

    #[test]
    fn a_head_is_complete_or_none() {
        let mut frame = Vec::new();
        write(&mut frame, Opcode::Ping, true, Some([1, 2, 3, 4]), b"");
        for end in 0..frame.len() {
            assert_eq!(head(&frame[..end], Side::Server), Ok(None), "{end}");
        }
        assert!(head(&frame, Side::Server).unwrap().is_some());
    }

    #[test]
    fn a_mask_goes_on_where_it_was() {
        let mut whole: Vec<u8> = (0..50).collect();
        let mut parts = whole.clone();
        apply([1, 2, 3, 4], &mut whole, 0);
        let (first, second) = parts.split_at_mut(7);
        apply([1, 2, 3, 4], first, 0);
        apply([1, 2, 3, 4], second, 7);
        assert_eq!(whole, parts);
    }
}
