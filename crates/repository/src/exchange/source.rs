//! Lines of an input, one after the other, within a bound, with where each stands. What a line
//! says is not known here.

use crate::limits::IMPORT_LINE_BYTES_MAX;
use std::io::{self, BufRead, Read};

/// What is read of.
pub(super) struct Source<'a> {
    from: &'a mut dyn BufRead,
    /// The line that was read last, without its end.
    text: Vec<u8>,
    /// Lines that were read.
    pub lines: u64,
    /// Their bytes.
    pub bytes: u64,
    /// CRC32C of all of them.
    pub all: u32,
    /// The same but for the first line.
    pub content: u32,
    /// The same before the last line.
    pub content_before: u32,
}

/// What is next.
pub(super) enum Next {
    /// A line; [`Source::text`] has it.
    Line,
    /// One without an end, at the end of the input.
    Cut,
    /// One that is longer than any may be, all of which was passed over.
    TooLong,
    /// Nothing.
    End,
}

impl<'a> Source<'a> {
    pub(super) fn new(from: &'a mut dyn BufRead) -> Self {
        let text = Vec::new();
        Self { from, text, lines: 0, bytes: 0, all: 0, content: 0, content_before: 0 }
    }

    /// Reads the next line.
    pub(super) fn next(&mut self) -> io::Result<Next> {
        self.text.clear();
        self.content_before = self.content;
        let max = IMPORT_LINE_BYTES_MAX as u64 + 1;
        (&mut *self.from).take(max).read_until(b'\n', &mut self.text)?;
        if self.text.is_empty() {
            return Ok(Next::End);
        }
        self.lines += 1;
        self.count();
        let mut is_too_long = false;
        while self.text.last() != Some(&b'\n') {
            let length = self.text.len();
            if length < IMPORT_LINE_BYTES_MAX && !is_too_long {
                return Ok(Next::Cut);
            }
            is_too_long = true;
            self.text.clear();
            (&mut *self.from).take(max).read_until(b'\n', &mut self.text)?;
            if self.text.is_empty() {
                break;
            }
            self.count();
        }
        if is_too_long {
            return Ok(Next::TooLong);
        }
        self.text.pop();
        Ok(Next::Line)
    }

    fn count(&mut self) {
        self.bytes += self.text.len() as u64;
        self.all = crc32c::crc32c_append(self.all, &self.text);
        if self.lines > 1 {
            self.content = crc32c::crc32c_append(self.content, &self.text);
        }
    }

    /// The line that was read last.
    pub(super) fn text(&self) -> &[u8] {
        &self.text
    }

    /// Passes over `bytes`, which must end a line; `false`: there are not so many.
    pub(super) fn skip(&mut self, bytes: u64, lines: u64) -> io::Result<bool> {
        let mut left = bytes;
        while left > 0 {
            let buffer = self.from.fill_buf()?;
            let count = buffer.len().min(usize::try_from(left).unwrap_or(usize::MAX));
            if count == 0 {
                return Ok(false);
            }
            self.all = crc32c::crc32c_append(self.all, &buffer[..count]);
            self.content = crc32c::crc32c_append(self.content, &buffer[..count]);
            self.from.consume(count);
            left -= count as u64;
        }
        self.bytes += bytes;
        self.lines += lines;
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_bounded_and_counted() {
        let long = "x".repeat(IMPORT_LINE_BYTES_MAX);
        let text = format!("a\n{long}\n\n{long}xy\nb\nc");
        let mut from = text.as_bytes();
        let mut source = Source::new(&mut from);
        let mut seen = Vec::new();
        loop {
            seen.push(match source.next().unwrap() {
                Next::Line => source.text().len(),
                Next::Cut => 1_000,
                Next::TooLong => 2_000,
                Next::End => break,
            });
        }
        assert_eq!(seen, [1, IMPORT_LINE_BYTES_MAX, 0, 2_000, 1, 1_000]);
        assert_eq!((source.lines, source.bytes), (6, text.len() as u64));
        assert_eq!(source.all, crc32c::crc32c(text.as_bytes()));
        assert_eq!(source.content, crc32c::crc32c(&text.as_bytes()[2..]));
    }

    #[test]
    fn what_is_passed_over_counts() {
        let mut from: &[u8] = b"a\nbc\nd\n";
        let mut source = Source::new(&mut from);
        assert!(matches!(source.next(), Ok(Next::Line)));
        assert!(source.skip(3, 1).unwrap());
        assert!(matches!(source.next(), Ok(Next::Line)));
        assert_eq!((source.text(), source.lines, source.bytes), (&b"d"[..], 3, 7));
        assert_eq!(source.all, crc32c::crc32c(b"a\nbc\nd\n"));
        assert!(!source.skip(1, 1).unwrap());
    }
}
