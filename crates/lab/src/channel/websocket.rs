//! The client's side of a WebSocket that is open: frames into messages, pings answered, and the
//! closing handshake.

use super::line::Line;
use super::{Inbox, Message};
use crate::http1::Malformed;
use crate::random::Random;
use crate::transport::Failure;
use tokio::time::Instant;
use wire::websocket::{self, Mask, Opcode, Side};

/// See above.
pub(super) struct Frames {
    reader: websocket::Reader,
    masks: Random,
    /// Whether a close was sent, after which nothing may be.
    has_closed: bool,
    is_closed_by_server: bool,
}

/// "Nothing is wrong" (RFC 6455 §7.4.1).
const NORMAL: u16 = 1000;

impl Frames {
    /// What is sent is masked by these numbers.
    pub(super) fn new(masks: Random) -> Self {
        let reader = websocket::Reader::new(Side::Client);
        Self { reader, masks, has_closed: false, is_closed_by_server: false }
    }

    pub(super) fn is_closed_by_server(&self) -> bool {
        self.is_closed_by_server
    }

    /// Has a message sent.
    pub(super) fn send(&mut self, line: &mut Line, message: &[u8], is_binary: bool) {
        let opcode = if is_binary { Opcode::Binary } else { Opcode::Text };
        let mask = self.mask();
        websocket::write(line.outgoing(), opcode, true, Some(mask), message);
    }

    /// Has the close sent.
    pub(super) fn close(&mut self, line: &mut Line) {
        self.say_goodbye(line, &NORMAL.to_be_bytes());
    }

    fn say_goodbye(&mut self, line: &mut Line, payload: &[u8]) {
        if !std::mem::replace(&mut self.has_closed, true) {
            let mask = self.mask();
            websocket::write(line.outgoing(), Opcode::Close, true, Some(mask), payload);
        }
    }

    fn mask(&mut self) -> Mask {
        let [mask @ .., _, _, _, _] = self.masks.number().to_be_bytes();
        mask
    }

    /// Takes one message of what has come, and says whether there was any.
    pub(super) fn digest(&mut self, line: &mut Line, inbox: &mut Inbox) -> Result<bool, Failure> {
        let (used, message) = match self.reader.read(&line.incoming) {
            Ok(read) => read,
            Err(error) => {
                self.say_goodbye(line, &error.code().to_be_bytes());
                return Err(Malformed::WebSocket(error).into());
            }
        };
        let mut push = |body: &[u8]| {
            let (fields, body) = (Vec::new(), body.to_vec());
            inbox.push(Message { fields, body, at: Instant::now() });
        };
        let mut answer = None;
        let is_any = message.is_some();
        match message {
            Some(websocket::Message::Text(text)) => push(text.as_bytes()),
            Some(websocket::Message::Binary(bytes)) => push(bytes),
            Some(websocket::Message::Ping(bytes)) => answer = Some(bytes.to_vec()),
            Some(websocket::Message::Pong(_)) | None => {}
            Some(websocket::Message::Close(code, why)) => {
                let end = farewell(code, why);
                self.is_closed_by_server = true;
                line.use_up(used);
                let echo = code.map(u16::to_be_bytes);
                self.say_goodbye(line, echo.as_ref().map_or(&[], |code| code.as_slice()));
                return Err(end);
            }
        }
        line.use_up(used);
        if let Some(bytes) = answer.filter(|_| !self.has_closed) {
            let mask = self.mask();
            websocket::write(line.outgoing(), Opcode::Pong, true, Some(mask), &bytes);
        }
        Ok(is_any)
    }
}

fn farewell(code: Option<u16>, why: &str) -> Failure {
    Failure::Reset(match code {
        None => "closed the WebSocket without a code".to_owned(),
        Some(code) if why.is_empty() => format!("closed the WebSocket with code {code}"),
        Some(code) => format!("closed the WebSocket with code {code}: {why:?}"),
    })
}
