//! Server-sent events (WHATWG HTML §9.2): a stream of bytes into events, and an event into bytes.
//! It opens no stream, and waits for nothing before another is opened.

use crate::limits::EVENT_BYTES_MAX;
use memchr::memchr2;
use std::time::Duration;
use thiserror::Error;

/// A stream that cannot be read on.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("a line or the data of an event has more than {EVENT_BYTES_MAX} bytes")]
pub struct TooLarge;

/// An event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event<'a> {
    /// Its type; "message" if the stream says nothing.
    pub name: &'a [u8],
    /// Its data, lines parted by LF.
    pub data: &'a [u8],
    /// The last id that the stream has stated; empty if none.
    pub id: &'a [u8],
}

/// Reads a stream.
#[derive(Debug, Default)]
pub struct Reader {
    /// What came of a line that is not complete.
    line: Vec<u8>,
    /// Whether the last byte was CR, so that LF after it ends no other line.
    after_cr: bool,
    /// Whether a line was read, so that there is no byte order mark any more.
    has_begun: bool,
    name: Vec<u8>,
    data: Vec<u8>,
    id: Vec<u8>,
    /// The id of the event that is being read. It counts from that event's end on.
    next_id: Vec<u8>,
    retry: Option<Duration>,
    /// Whether what is in `name` and `data` has been given.
    is_given: bool,
}

const MARK: &[u8] = b"\xEF\xBB\xBF";

impl Reader {
    /// Reads on: says how many bytes of `input` are done with, and whether an event is complete,
    /// which [`Reader::event`] has until the next call. Without one, all bytes are done with.
    ///
    /// # Errors
    /// [`TooLarge`].
    pub fn read(&mut self, input: &[u8]) -> Result<(usize, bool), TooLarge> {
        if self.is_given {
            self.name.clear();
            self.data.clear();
            self.is_given = false;
        }
        let mut used = 0;
        while used < input.len() {
            if std::mem::take(&mut self.after_cr) && input[used] == b'\n' {
                used += 1;
                continue;
            }
            let rest = &input[used..];
            let Some(end) = memchr2(b'\r', b'\n', rest) else {
                self.keep(rest)?;
                return Ok((input.len(), false));
            };
            self.after_cr = rest[end] == b'\r';
            used += end + 1;
            if self.take_line(&rest[..end])? {
                return Ok((used, true));
            }
        }
        Ok((used, false))
    }

    /// The event that is complete.
    pub fn event(&self) -> Event<'_> {
        let name = if self.name.is_empty() { b"message" } else { self.name.as_slice() };
        // Its last line's end is no part of it.
        let data = self.data.strip_suffix(b"\n").unwrap_or(&self.data);
        Event { name, data, id: &self.id }
    }

    /// The last id that a complete event stated: what `Last-Event-ID` says when the stream is
    /// opened again.
    pub fn last_id(&self) -> &[u8] {
        &self.id
    }

    /// How long the stream asks to wait before it is opened again.
    pub fn retry(&self) -> Option<Duration> {
        self.retry
    }

    fn keep(&mut self, bytes: &[u8]) -> Result<(), TooLarge> {
        if self.line.len() + bytes.len() > EVENT_BYTES_MAX {
            return Err(TooLarge);
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    /// A whole line, of which the beginning may have been kept. Gives whether an event is complete.
    fn take_line(&mut self, rest: &[u8]) -> Result<bool, TooLarge> {
        if self.line.is_empty() && rest.len() <= EVENT_BYTES_MAX {
            return self.take_whole(rest);
        }
        self.keep(rest)?;
        let line = std::mem::take(&mut self.line);
        let outcome = self.take_whole(&line);
        self.line = line;
        self.line.clear();
        outcome
    }

    fn take_whole(&mut self, mut line: &[u8]) -> Result<bool, TooLarge> {
        if !std::mem::replace(&mut self.has_begun, true) {
            line = line.strip_prefix(MARK).unwrap_or(line);
        }
        if line.is_empty() {
            return Ok(self.dispatch());
        }
        let (field, value) = match line.iter().position(|byte| *byte == b':') {
            // A comment.
            Some(0) => return Ok(false),
            Some(colon) => (&line[..colon], &line[colon + 1..]),
            None => (line, &b""[..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"event" => {
                self.name.clear();
                self.name.extend_from_slice(value);
            }
            b"data" => {
                if self.data.len() + value.len() >= EVENT_BYTES_MAX {
                    return Err(TooLarge);
                }
                self.data.extend_from_slice(value);
                self.data.push(b'\n');
            }
            b"id" if !value.contains(&0) => {
                self.next_id.clear();
                self.next_id.extend_from_slice(value);
            }
            b"retry" if !value.is_empty() && value.iter().all(u8::is_ascii_digit) => {
                let number = std::str::from_utf8(value).ok().and_then(|text| text.parse().ok());
                self.retry = number.map(Duration::from_millis).or(self.retry);
            }
            _ => {}
        }
        Ok(false)
    }

    /// The end of an event. One without data is none, but its id counts.
    fn dispatch(&mut self) -> bool {
        self.id.clone_from(&self.next_id);
        if self.data.is_empty() {
            self.name.clear();
            return false;
        }
        self.is_given = true;
        true
    }
}

/// Appends an event as a stream has it. An id and a name must have no line's end in them; those of
/// data are lines of their own.
pub fn write(out: &mut Vec<u8>, event: &Event<'_>) {
    let mut field = |name: &[u8], value: &[u8]| {
        for part in [name, b": ", value, b"\n"] {
            out.extend_from_slice(part);
        }
    };
    if event.name != b"message" {
        field(b"event", event.name);
    }
    field(b"id", event.id);
    event.data.split(|byte| *byte == b'\n').for_each(|line| field(b"data", line));
    out.push(b'\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    type Read = Vec<(String, String, String)>;

    fn read_in(pieces: &[&[u8]]) -> Read {
        let (mut reader, mut read) = (Reader::default(), Vec::new());
        for piece in pieces {
            let mut rest = *piece;
            loop {
                let (used, is_event) = reader.read(rest).unwrap();
                rest = &rest[used..];
                if !is_event {
                    break;
                }
                let Event { name, data, id } = reader.event();
                let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
                read.push((text(name), text(data), text(id)));
            }
        }
        read
    }

    /// Name, data and id of an event.
    type Expected = (&'static str, &'static str, &'static str);

    fn events(expected: &[Expected]) -> Read {
        let owned = |(a, b, c): &Expected| ((*a).to_owned(), (*b).to_owned(), (*c).to_owned());
        expected.iter().map(owned).collect()
    }

    /// The examples of the specification (§9.2.6), and each at every split.
    #[test]
    fn the_examples_of_the_specification() {
        let stocks = ("message", "YHOO\n+2\n10", "");
        let examples: [(&str, &[Expected]); 5] = [
            ("data: YHOO\ndata: +2\ndata: 10\n\n", &[stocks]),
            (
                ": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\n\
                 data:  third event\n",
                &[("message", "first event", "1"), ("message", "second event", "")],
            ),
            ("data\n\ndata\ndata\n\ndata:\n", &[("message", "", ""), ("message", "\n", "")]),
            ("data:test\n\ndata: test\n\n", &[("message", "test", ""), ("message", "test", "")]),
            (
                "\u{feff}event: add\r\ndata: 1\r\rdata: 2\r\nid: x\r\n\r\nid: y\n\nretry: 7\n\
                 retry: x\ndata: 3\n\n",
                &[("add", "1", ""), ("message", "2", "x"), ("message", "3", "y")],
            ),
        ];
        for (text, expected) in examples {
            let (bytes, expected) = (text.as_bytes(), events(expected));
            for split in 0..=bytes.len() {
                let (first, second) = bytes.split_at(split);
                assert_eq!(read_in(&[first, second]), expected, "{text:?} at {split}");
            }
            let single: Vec<&[u8]> = bytes.chunks(1).collect();
            assert_eq!(read_in(&single), expected, "{text:?} by bytes");
        }
    }

    #[test]
    fn the_id_is_that_of_the_last_event_that_is_complete() {
        let mut reader = Reader::default();
        reader.read(b"id: 1\n\nid: 2\nretry: 1500\ndata").unwrap();
        assert_eq!(reader.last_id(), b"1");
        assert_eq!(reader.retry(), Some(Duration::from_millis(1500)));
        reader.read(b"\nid: 3\0\n\n").unwrap();
        assert_eq!(reader.last_id(), b"2");
    }

    #[test]
    fn what_is_too_large_is_refused() {
        let long = vec![b'x'; EVENT_BYTES_MAX];
        let mut reader = Reader::default();
        assert_eq!(reader.read(&long), Ok((long.len(), false)));
        assert_eq!(reader.read(b"y"), Err(TooLarge));
        let mut reader = Reader::default();
        let half = [b"data:", &long[..EVENT_BYTES_MAX / 2], b"\n"].concat();
        assert!(reader.read(&half).is_ok());
        assert_eq!(reader.read(&half), Err(TooLarge));
    }
}
