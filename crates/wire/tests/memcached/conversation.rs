//! Conversations with a server, written as text:
//!
//! ```text
//! # about what
//! > set a 0 0 1        a line to send
//! < STORED             the line that must come
//! <~ VERSION           a line that begins so
//! <... END             any lines, up to this one
//! < VALUE a 0 1 {cas}  a word of any kind, which {cas} stands for from here on
//! | a\r\n              to send as it stands
//! wait 2               seconds
//! another              from here on another connection
//! closed               the server has closed the connection
//! ```
//!
//! `\r`, `\n`, `\0`, `\\`, `\xNN` and `\{` are bytes; `{k*250}` is a letter repeated.

use super::model::{Link, Model};
use super::server::{Server, Stream};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::{BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

pub struct Conversation {
    file: PathBuf,
    text: String,
}

/// Who it is held with.
pub enum Peer {
    Server(BufReader<Box<dyn Stream>>),
    Model(Rc<RefCell<Model>>, Link),
}

impl Peer {
    pub fn connect(server: &Server) -> Self {
        Self::of(server.connect())
    }

    pub fn of(stream: Box<dyn Stream>) -> Self {
        Self::Server(BufReader::new(stream))
    }

    fn send(&mut self, bytes: &[u8]) {
        match self {
            // A server that has closed shows that in what can be read.
            Self::Server(stream) => drop(stream.get_mut().write_all(bytes)),
            Self::Model(model, link) => model.borrow_mut().receive(link, bytes),
        }
    }

    /// The next line, its end included; nothing if the connection is closed.
    fn line(&mut self) -> Vec<u8> {
        let mut line = Vec::new();
        while !line.ends_with(b"\n") {
            let mut byte = [0];
            let read = match self {
                Self::Server(stream) => stream.read(&mut byte).unwrap_or_else(|error| {
                    assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset, "{error}");
                    0
                }),
                Self::Model(_, link) => match link.answers.pop_front() {
                    Some(answer) => {
                        byte = [answer];
                        1
                    }
                    None => {
                        assert!(link.is_closed, "the model says nothing more");
                        0
                    }
                },
            };
            if read == 0 {
                break;
            }
            line.push(byte[0]);
        }
        line
    }

    fn wait(&mut self, seconds: u32) {
        match self {
            Self::Server(_) => std::thread::sleep(Duration::from_secs(u64::from(seconds))),
            Self::Model(model, _) => model.borrow_mut().now += i64::from(seconds),
        }
    }
}

impl Conversation {
    pub fn read(file: &Path) -> Self {
        Self { file: file.to_owned(), text: std::fs::read_to_string(file).unwrap() }
    }

    /// Holds it, with connections to an empty server.
    pub fn hold(&self, connect: &mut dyn FnMut() -> Peer) {
        let mut peer = connect();
        let mut words = BTreeMap::new();
        peer.send(b"flush_all\r\n");
        assert_eq!(peer.line(), b"OK\r\n");
        for (number, line) in self.text.lines().enumerate() {
            let place = format!("{}:{}: {line}", self.file.display(), number + 1);
            let (verb, rest) = line.split_once(' ').unwrap_or((line, ""));
            match verb {
                "" | "#" => {}
                ">" => peer.send(&[bytes(rest, &words, &place), b"\r\n".to_vec()].concat()),
                "|" => peer.send(&bytes(rest, &words, &place)),
                "<" => expect(&peer.line(), rest, &mut words, &place),
                "<~" => {
                    let line = peer.line();
                    let expected = bytes(rest, &words, &place);
                    assert!(line.starts_with(&expected), "{place}\ngot {}", line.escape_ascii());
                }
                "<..." => {
                    let last = [bytes(rest, &words, &place), b"\r\n".to_vec()].concat();
                    while peer.line() != last {}
                }
                "wait" => peer.wait(rest.parse().unwrap()),
                "another" => peer = connect(),
                "closed" => assert_eq!(peer.line().escape_ascii().to_string(), "", "{place}"),
                _ => panic!("{place}\nwhat is \"{verb}\"?"),
            }
        }
        // Nothing came that nobody expected.
        peer.send(b"mn\r\n");
        let last = peer.line();
        assert!(last == b"MN\r\n" || last.is_empty(), "{:?}: {}", self.file, last.escape_ascii());
    }
}

/// Compares a line word by word, and keeps those in braces.
fn expect(line: &[u8], pattern: &str, words: &mut BTreeMap<String, Vec<u8>>, place: &str) {
    let got = line.escape_ascii();
    let Some(text) = line.strip_suffix(b"\r\n") else { panic!("{place}\ngot {got}") };
    let parts: Vec<&[u8]> = text.split(|byte| *byte == b' ').collect();
    let expected: Vec<&str> = pattern.split(' ').collect();
    assert_eq!(parts.len(), expected.len(), "{place}\ngot {got}");
    for (part, expected) in parts.iter().zip(expected) {
        let name = expected.find('{').filter(|_| expected.ends_with('}'));
        match name.map(|start| (&expected[..start], &expected[start + 1..expected.len() - 1])) {
            Some((before, name)) if !words.contains_key(name) && !name.contains('*') => {
                let rest = part.strip_prefix(before.as_bytes());
                let Some(rest) = rest else { panic!("{place}\ngot {got}") };
                words.insert(name.to_owned(), rest.to_vec());
            }
            _ => {
                let wanted = bytes(expected, words, place);
                assert_eq!(
                    part.escape_ascii().to_string(),
                    wanted.escape_ascii().to_string(),
                    "{place}\ngot {got}"
                );
            }
        }
    }
}

/// What a text stands for.
fn bytes(text: &str, words: &BTreeMap<String, Vec<u8>>, place: &str) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(['\\', '{']) {
        out.extend_from_slice(&rest.as_bytes()[..at]);
        rest = &rest[at..];
        if let Some(inside) = rest.strip_prefix('{') {
            let (name, after) = inside.split_once('}').unwrap();
            match name.split_once('*') {
                Some((text, times)) => out.extend(text.repeat(times.parse().unwrap()).bytes()),
                None => out.extend_from_slice(words.get(name).unwrap_or_else(|| panic!("{place}"))),
            }
            rest = after;
            continue;
        }
        let (byte, length) = match &rest[1..2] {
            "r" => (b'\r', 2),
            "n" => (b'\n', 2),
            "0" => (0, 2),
            "x" => (u8::from_str_radix(&rest[2..4], 16).unwrap(), 4),
            _ => (rest.as_bytes()[1], 2),
        };
        out.push(byte);
        rest = &rest[length..];
    }
    out.extend_from_slice(rest.as_bytes());
    out
}
