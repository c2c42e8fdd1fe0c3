//! HTTP/2 frame by frame (RFC 9113 §4): a client that sends exactly the frames it is told.

use crate::patience::PATIENCE;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};

pub const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

pub const DATA: u8 = 0;
pub const HEADERS: u8 = 1;
pub const RST_STREAM: u8 = 3;
pub const SETTINGS: u8 = 4;
pub const PING: u8 = 6;
pub const GOAWAY: u8 = 7;
pub const WINDOW_UPDATE: u8 = 8;
pub const CONTINUATION: u8 = 9;

pub const ACK: u8 = 0x1;
pub const END_STREAM: u8 = 0x1;
pub const END_HEADERS: u8 = 0x4;

/// Error codes (RFC 9113 §7).
pub const NO_ERROR: u32 = 0;
pub const PROTOCOL_ERROR: u32 = 1;
pub const FLOW_CONTROL_ERROR: u32 = 3;
pub const FRAME_SIZE_ERROR: u32 = 6;
pub const REFUSED_STREAM: u32 = 7;
pub const CANCEL: u32 = 8;
pub const ENHANCE_YOUR_CALM: u32 = 11;

/// Identifiers of settings (RFC 9113 §6.5.2).
pub const INITIAL_WINDOW_SIZE: u16 = 4;

#[derive(Debug)]
pub struct Frame {
    pub kind: u8,
    pub flags: u8,
    pub stream: u32,
    pub payload: Vec<u8>,
}

impl Frame {
    /// The error code of RST_STREAM or GOAWAY.
    pub fn code(&self) -> u32 {
        let at = if self.kind == GOAWAY { 4 } else { 0 };
        u32::from_be_bytes(self.payload[at..at + 4].try_into().unwrap())
    }

    /// The status of a reply, which is the first of its fields (RFC 7541 §6, appendices A and B).
    pub fn status(&self) -> u16 {
        assert_eq!(self.kind, HEADERS, "{self:?}");
        const INDEXED: [u16; 7] = [200, 204, 206, 304, 400, 404, 500];
        match self.payload[0] {
            indexed @ 0x88..=0x8e => INDEXED[usize::from(indexed - 0x88)],
            // A literal with the name of the static table's entry for `:status`.
            0x48 | 0x08 => {
                let length = self.payload[1];
                let value = &self.payload[2..2 + usize::from(length & 0x7f)];
                if length & 0x80 == 0 {
                    std::str::from_utf8(value).unwrap().parse().unwrap()
                } else {
                    huffman_digits(value)
                }
            }
            other => panic!("a reply that begins with {other:#x}"),
        }
    }
}

/// Three digits: 0 to 2 have codes of five bits, 3 to 9 of six.
fn huffman_digits(bytes: &[u8]) -> u16 {
    let mut bits = bytes.iter().flat_map(|byte| (0..8).rev().map(move |bit| byte >> bit & 1));
    let mut number = 0;
    for _ in 0..3 {
        let five = (0..5).fold(0, |code, _| code << 1 | u16::from(bits.next().unwrap()));
        let digit = if five < 3 {
            five
        } else {
            let six = five << 1 | u16::from(bits.next().unwrap());
            six - 0x19 + 3
        };
        number = number * 10 + digit;
    }
    number
}

/// Fields as HPACK writes them without any table or code: what is said is what is meant.
pub fn block(fields: &[(&str, &str)]) -> Vec<u8> {
    let mut block = Vec::new();
    for (name, value) in fields {
        block.push(0);
        for text in [name, value] {
            // An integer with a prefix of seven bits (RFC 7541 §5.1).
            if text.len() < 127 {
                block.push(text.len() as u8);
            } else {
                block.push(127);
                let mut rest = text.len() - 127;
                while rest >= 128 {
                    block.push((rest % 128) as u8 | 0x80);
                    rest /= 128;
                }
                block.push(rest as u8);
            }
            block.extend_from_slice(text.as_bytes());
        }
    }
    block
}

/// The fields of a request, which more may follow.
pub fn request<'a>(method: &'a str, path: &'a str) -> Vec<(&'a str, &'a str)> {
    vec![(":method", method), (":scheme", "http"), (":path", path), (":authority", "localhost")]
}

pub struct Frames {
    stream: TcpStream,
}

impl Frames {
    /// A connection on which both sides have said hello.
    pub fn open(address: SocketAddr) -> Self {
        Self::open_with(address, &[])
    }

    /// The same, with settings of the client's.
    pub fn open_with(address: SocketAddr, settings: &[(u16, u32)]) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        // Frames go out one by one, and not when the one before was acknowledged.
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        let mut frames = Self { stream };
        frames.raw(PREFACE);
        let payload: Vec<u8> = settings
            .iter()
            .flat_map(|(id, value)| [&id.to_be_bytes()[..], &value.to_be_bytes()].concat())
            .collect();
        frames.send(SETTINGS, 0, 0, &payload);
        assert_eq!(frames.next().unwrap().kind, SETTINGS);
        frames.send(SETTINGS, ACK, 0, &[]);
        frames
    }

    pub fn raw(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).unwrap();
    }

    /// As `raw`, but the server may have closed the connection.
    pub fn try_raw(&mut self, bytes: &[u8]) -> bool {
        self.stream.write_all(bytes).is_ok()
    }

    /// From now on a write that would wait fails.
    pub fn never_wait(&self) {
        self.stream.set_nonblocking(true).unwrap();
    }

    pub fn send(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
        self.raw(&frame(kind, flags, stream, payload));
    }

    /// A request without a body.
    pub fn ask(&mut self, stream: u32, fields: &[(&str, &str)]) {
        self.send(HEADERS, END_HEADERS | END_STREAM, stream, &block(fields));
    }

    /// The next frame, or `None` at the end of the connection.
    pub fn next(&mut self) -> Option<Frame> {
        let mut head = [0; 9];
        if !self.fill(&mut head) {
            return None;
        }
        let length = usize::from(head[0]) << 16 | usize::from(head[1]) << 8 | usize::from(head[2]);
        let stream = u32::from_be_bytes(head[5..9].try_into().unwrap()) & 0x7fff_ffff;
        let mut payload = vec![0; length];
        if !self.fill(&mut payload) {
            return None;
        }
        Some(Frame { kind: head[3], flags: head[4], stream, payload })
    }

    /// A reset is an end, too.
    fn fill(&mut self, into: &mut [u8]) -> bool {
        match self.stream.read_exact(into) {
            Ok(()) => true,
            Err(error)
                if matches!(
                    error.kind(),
                    ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset
                ) =>
            {
                false
            }
            Err(error) => panic!("nothing within {PATIENCE:?}: {error}"),
        }
    }

    /// The next frame of a kind; others are passed over.
    pub fn next_of(&mut self, kind: u8) -> Option<Frame> {
        loop {
            let frame = self.next()?;
            if frame.kind == kind {
                return Some(frame);
            }
        }
    }

    /// The next frame that says something about `stream`.
    pub fn next_on(&mut self, stream: u32) -> Frame {
        loop {
            let frame = self.next().expect("a frame, not the end of the connection");
            if frame.stream == stream && frame.kind != WINDOW_UPDATE {
                return frame;
            }
        }
    }

    /// Passes over everything until the connection ends, and gives the code of the last GOAWAY.
    pub fn until_end(&mut self) -> Option<u32> {
        let mut code = None;
        while let Some(frame) = self.next() {
            if frame.kind == GOAWAY {
                code = Some(frame.code());
            }
        }
        code
    }

    /// Whether the connection still serves, shown by a request on `stream`.
    pub fn assert_serves(&mut self, stream: u32) {
        self.ask(stream, &request("GET", "/healthz"));
        assert_eq!(self.next_on(stream).status(), 200);
    }
}

pub fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    let head = [&length[1..], &[kind, flags], &stream.to_be_bytes()].concat();
    [&head, payload].concat()
}
