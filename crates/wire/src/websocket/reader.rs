//! Frames into messages: parts are put together, what comes between them is given at once, and
//! what breaks the protocol is refused with the code that RFC 6455 §7.4.1 has for it.

use super::frame::{Head, Opcode, Side, apply, head};
use crate::limits::WEBSOCKET_MESSAGE_BYTES_MAX;
use thiserror::Error;

/// What breaks the protocol. The connection is to be closed.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum WebSocketError {
    /// A bit is set that only extensions use.
    #[error("a frame uses an extension, and none was agreed on")]
    Reserved,
    /// A kind of frame that there is not.
    #[error("a frame of kind {0}; expected 0, 1, 2, 8, 9 or 10")]
    Opcode(u8),
    /// A client's is not masked, or a server's is.
    #[error("{}", masked(*.0))]
    Masked(bool),
    /// A close, ping or pong in several parts, or too long.
    #[error("a close, ping or pong has more than 125 bytes, or comes in parts")]
    Control,
    /// A length that is not written as it must be.
    #[error("a frame's length is not written in the fewest bytes")]
    Length,
    /// A part of a message that has not begun, or a second message within the first.
    #[error("parts of messages are out of order")]
    Order,
    /// More than can be taken.
    #[error("a message has more than {WEBSOCKET_MESSAGE_BYTES_MAX} bytes")]
    TooLarge,
    /// A text that is none.
    #[error("a text is not UTF-8")]
    Utf8,
    /// A close with a code that must not be sent, or half of one.
    #[error("a close has no code that may be sent")]
    Code,
}

fn masked(is_masked: bool) -> &'static str {
    match is_masked {
        true => "a server's frame is masked",
        false => "a client's frame is not masked",
    }
}

impl WebSocketError {
    /// The code that a close on this account has.
    pub fn code(self) -> u16 {
        match self {
            Self::TooLarge => 1009,
            Self::Utf8 => 1007,
            _ => 1002,
        }
    }
}

/// What came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message<'a> {
    /// A message of UTF-8.
    Text(&'a str),
    /// A message of bytes.
    Binary(&'a [u8]),
    /// To be answered with a pong of the same bytes.
    Ping(&'a [u8]),
    /// The answer to a ping.
    Pong(&'a [u8]),
    /// The other side sends nothing more: its code, if it gave one, and why in words.
    Close(Option<u16>, &'a str),
}

/// Reads a connection.
#[derive(Debug)]
pub struct Reader {
    side: Side,
    /// The frame under way, and what of its payload has come.
    frame: Option<(Head, u64)>,
    /// The kind of the message under way.
    kind: Option<Opcode>,
    message: Vec<u8>,
    control: Vec<u8>,
    /// Whether `message` has been given.
    is_given: bool,
}

impl Reader {
    /// Reads what the other side sent to this one.
    pub fn new(side: Side) -> Self {
        let (message, control) = (Vec::new(), Vec::new());
        Self { side, frame: None, kind: None, message, control, is_given: false }
    }

    /// Reads on: says how many bytes of `input` are done with, and gives what is complete. Without
    /// that, what is left must come again with more after it: less than a frame's head.
    ///
    /// # Errors
    /// See [`WebSocketError`]. Nothing can be read afterwards.
    pub fn read(&mut self, input: &[u8]) -> Result<(usize, Option<Message<'_>>), WebSocketError> {
        if std::mem::take(&mut self.is_given) {
            self.message.clear();
            // A large one need not stay for ever.
            self.message.shrink_to(IDLE_BYTES_MAX);
        }
        let mut used = 0;
        loop {
            let (frame, done) = match self.frame {
                Some(frame) => frame,
                None => {
                    let Some((frame, bytes)) = head(&input[used..], self.side)? else {
                        return Ok((used, None));
                    };
                    self.begin(frame)?;
                    used += bytes;
                    (frame, 0)
                }
            };
            let wanted = frame.length - done;
            let taken = wanted.min((input.len() - used) as u64) as usize;
            let payload = &input[used..used + taken];
            self.take(frame, payload, done);
            used += taken;
            if (taken as u64) < wanted {
                self.frame = Some((frame, done + taken as u64));
                return Ok((used, None));
            }
            self.frame = None;
            if frame.opcode.is_control() {
                return Ok((used, Some(self.control(frame.opcode)?)));
            }
            if frame.is_final {
                return Ok((used, Some(self.whole()?)));
            }
        }
    }

    /// Whether the connection could end here without leaving anything half said.
    pub fn is_between(&self) -> bool {
        self.frame.is_none() && self.kind.is_none()
    }

    fn begin(&mut self, frame: Head) -> Result<(), WebSocketError> {
        match (frame.opcode, self.kind) {
            (Opcode::Close | Opcode::Ping | Opcode::Pong, _) => {
                self.control.clear();
                return Ok(());
            }
            (Opcode::Continuation, Some(_)) => {}
            (Opcode::Text | Opcode::Binary, None) => self.kind = Some(frame.opcode),
            _ => return Err(WebSocketError::Order),
        }
        match frame.length.saturating_add(self.message.len() as u64) {
            whole if whole > WEBSOCKET_MESSAGE_BYTES_MAX as u64 => Err(WebSocketError::TooLarge),
            _ => Ok(()),
        }
    }

    fn take(&mut self, frame: Head, payload: &[u8], done: u64) {
        let is_control = frame.opcode.is_control();
        let into = if is_control { &mut self.control } else { &mut self.message };
        let start = into.len();
        into.extend_from_slice(payload);
        if let Some(mask) = frame.mask {
            apply(mask, &mut into[start..], done);
        }
    }

    fn whole(&mut self) -> Result<Message<'_>, WebSocketError> {
        self.is_given = true;
        match self.kind.take() {
            Some(Opcode::Text) => std::str::from_utf8(&self.message)
                .map(Message::Text)
                .map_err(|_not_text| WebSocketError::Utf8),
            _ => Ok(Message::Binary(&self.message)),
        }
    }

    fn control(&self, opcode: Opcode) -> Result<Message<'_>, WebSocketError> {
        match (opcode, self.control.as_slice()) {
            (Opcode::Ping, bytes) => Ok(Message::Ping(bytes)),
            (Opcode::Pong, bytes) => Ok(Message::Pong(bytes)),
            (_, []) => Ok(Message::Close(None, "")),
            (_, [high, low, why @ ..]) => {
                let code = u16::from_be_bytes([*high, *low]);
                let why = std::str::from_utf8(why).map_err(|_not_text| WebSocketError::Utf8)?;
                match may_be_sent(code) {
                    true => Ok(Message::Close(Some(code), why)),
                    false => Err(WebSocketError::Code),
                }
            }
            _ => Err(WebSocketError::Code),
        }
    }
}

/// What of a message's memory stays for the next.
const IDLE_BYTES_MAX: usize = 4 << 10;

/// Codes of §7.4 and of IANA's registry.
fn may_be_sent(code: u16) -> bool {
    matches!(code, 1000..=1003 | 1007..=1014 | 3000..=4999)
}

#[cfg(test)]
mod tests {
    use super::super::frame::write;
    use super::*;

    fn read_in(side: Side, pieces: &[&[u8]]) -> Result<Vec<String>, WebSocketError> {
        let (mut reader, mut pending, mut read) = (Reader::new(side), Vec::new(), Vec::new());
        for piece in pieces {
            pending.extend_from_slice(piece);
            loop {
                let (used, message) = reader.read(&pending)?;
                let is_over = message.is_none();
                read.extend(message.map(|message| format!("{message:?}")));
                pending.drain(..used);
                if is_over {
                    break;
                }
            }
        }
        Ok(read)
    }

    #[test]
    fn parts_are_put_together_at_every_split() {
        for (side, mask) in [(Side::Client, None), (Side::Server, Some([9, 8, 7, 6]))] {
            let mut bytes = Vec::new();
            let mut put = |opcode, is_final, payload: &[u8]| {
                write(&mut bytes, opcode, is_final, mask, payload);
            };
            put(Opcode::Text, false, "h\u{e4}".as_bytes().split_at(2).0);
            put(Opcode::Ping, true, b"are you there");
            put(Opcode::Continuation, false, b"");
            put(Opcode::Continuation, true, "h\u{e4}".as_bytes().split_at(2).1);
            put(Opcode::Binary, true, &[0xFF; 200]);
            put(Opcode::Pong, true, b"");
            put(Opcode::Close, true, b"\x03\xe8bye");
            let bytes_of = |message: Message<'_>| format!("{message:?}");
            let expected = [
                bytes_of(Message::Ping(b"are you there")),
                bytes_of(Message::Text("h\u{e4}")),
                bytes_of(Message::Binary(&[0xFF; 200])),
                bytes_of(Message::Pong(b"")),
                bytes_of(Message::Close(Some(1000), "bye")),
            ];
            for split in 0..=bytes.len() {
                let (first, second) = bytes.split_at(split);
                assert_eq!(read_in(side, &[first, second]).unwrap(), expected, "{split}");
            }
            let single: Vec<&[u8]> = bytes.chunks(1).collect();
            assert_eq!(read_in(side, &single).unwrap(), expected);
        }
    }

    #[test]
    fn what_breaks_the_protocol_is_refused() {
        let refusal = |bytes: &[u8]| read_in(Side::Client, &[bytes]).unwrap_err();
        for (bytes, expected, code) in [
            (&b"\xC1\x00"[..], WebSocketError::Reserved, 1002),
            (b"\x83\x00", WebSocketError::Opcode(3), 1002),
            (b"\x81\x80\x00\x00\x00\x00", WebSocketError::Masked(true), 1002),
            (b"\x09\x00", WebSocketError::Control, 1002),
            (b"\x89\x7e\x00\x80", WebSocketError::Control, 1002),
            (b"\x82\x7e\x00\x7d", WebSocketError::Length, 1002),
            (b"\x82\x7f\x00\x00\x00\x00\x00\x00\xff\xff", WebSocketError::Length, 1002),
            (b"\x82\x7f\xff\xff\xff\xff\xff\xff\xff\xff", WebSocketError::Length, 1002),
            (b"\x80\x00", WebSocketError::Order, 1002),
            (b"\x01\x00\x81\x00", WebSocketError::Order, 1002),
            (b"\x81\x01\xff", WebSocketError::Utf8, 1007),
            (b"\x88\x01\x03", WebSocketError::Code, 1002),
            (b"\x88\x02\x03\xed", WebSocketError::Code, 1002),
            (b"\x88\x03\x03\xe8\xff", WebSocketError::Utf8, 1007),
        ] {
            assert_eq!(refusal(bytes), expected, "{}", bytes.escape_ascii());
            assert_eq!(expected.code(), code);
        }
        let unmasked = read_in(Side::Server, &[b"\x81\x00"]).unwrap_err();
        assert_eq!(unmasked, WebSocketError::Masked(false));
    }

    #[test]
    fn a_message_has_a_largest_size_in_one_part_or_several() {
        let frame = |is_final, opcode, bytes: usize| {
            let mut out = Vec::new();
            write(&mut out, opcode, is_final, None, &vec![b'x'; bytes]);
            out
        };
        let whole = frame(true, Opcode::Text, WEBSOCKET_MESSAGE_BYTES_MAX);
        assert_eq!(read_in(Side::Client, &[&whole]).unwrap().len(), 1);
        let more = frame(true, Opcode::Binary, WEBSOCKET_MESSAGE_BYTES_MAX + 1);
        assert_eq!(read_in(Side::Client, &[&more[..10]]), Err(WebSocketError::TooLarge));
        let first = frame(false, Opcode::Binary, WEBSOCKET_MESSAGE_BYTES_MAX);
        let second = frame(true, Opcode::Continuation, 1);
        assert_eq!(read_in(Side::Client, &[&first, &second]), Err(WebSocketError::TooLarge));
        assert_eq!(WebSocketError::TooLarge.code(), 1009);
    }
}
