//! What a client asks, appended to a buffer. Keys are those that [`super::check_key`] lets pass.

use super::number::{push, push_signed};
use super::request::Mode;
use crate::base64;

/// `get` or, for the unique numbers too, `gets`.
#[inline]
pub fn get<'a>(out: &mut Vec<u8>, keys: impl IntoIterator<Item = &'a [u8]>, cas: bool) {
    out.extend_from_slice(if cas { b"gets" } else { b"get" });
    words(out, keys);
}

/// `gat` or, for the unique numbers too, `gats`.
pub fn get_and_touch<'a>(
    out: &mut Vec<u8>,
    exptime: i64,
    keys: impl IntoIterator<Item = &'a [u8]>,
    cas: bool,
) {
    out.extend_from_slice(if cas { b"gats " } else { b"gat " });
    push_signed(out, exptime);
    words(out, keys);
}

fn words<'a>(out: &mut Vec<u8>, words: impl IntoIterator<Item = &'a [u8]>) {
    for word in words {
        out.push(b' ');
        out.extend_from_slice(word);
    }
    out.extend_from_slice(b"\r\n");
}

/// What is stored, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Put<'a> {
    /// On which condition.
    pub mode: Mode,
    /// Of the item.
    pub key: &'a [u8],
    /// The client's own.
    pub flags: u32,
    /// Time to live, as in [`super::Expiry::new`].
    pub exptime: i64,
    /// For [`Mode::Cas`]: the number that the item must have.
    pub cas: u64,
    /// Whether no answer is wanted.
    pub noreply: bool,
}

/// `set`, `add`, `replace`, `append`, `prepend` or `cas`, with the data.
#[inline]
pub fn store(out: &mut Vec<u8>, put: &Put<'_>, data: &[u8]) {
    out.reserve(put.key.len() + data.len() + 96);
    store_line(out, put, data.len());
    out.extend_from_slice(data);
    out.extend_from_slice(b"\r\n");
}

/// The line of it alone: `bytes` bytes of data and an end of line follow.
pub fn store_line(out: &mut Vec<u8>, put: &Put<'_>, bytes: usize) {
    out.extend_from_slice(put.mode.name().as_bytes());
    out.push(b' ');
    out.extend_from_slice(put.key);
    out.push(b' ');
    push(out, u64::from(put.flags));
    out.push(b' ');
    push_signed(out, put.exptime);
    out.push(b' ');
    push(out, bytes as u64);
    if put.mode == Mode::Cas {
        out.push(b' ');
        push(out, put.cas);
    }
    end(out, put.noreply);
}

/// `delete`.
pub fn delete(out: &mut Vec<u8>, key: &[u8], noreply: bool) {
    out.extend_from_slice(b"delete ");
    out.extend_from_slice(key);
    end(out, noreply);
}

/// `incr`.
pub fn increment(out: &mut Vec<u8>, key: &[u8], delta: u64, noreply: bool) {
    with_number(out, b"incr ", key, delta);
    end(out, noreply);
}

/// `decr`.
pub fn decrement(out: &mut Vec<u8>, key: &[u8], delta: u64, noreply: bool) {
    with_number(out, b"decr ", key, delta);
    end(out, noreply);
}

fn with_number(out: &mut Vec<u8>, command: &[u8], key: &[u8], number: u64) {
    out.extend_from_slice(command);
    out.extend_from_slice(key);
    out.push(b' ');
    push(out, number);
}

/// `touch`.
pub fn touch(out: &mut Vec<u8>, key: &[u8], exptime: i64, noreply: bool) {
    out.extend_from_slice(b"touch ");
    out.extend_from_slice(key);
    out.push(b' ');
    push_signed(out, exptime);
    end(out, noreply);
}

/// `flush_all`: at once, or after so many seconds.
pub fn flush(out: &mut Vec<u8>, delay_s: u32, noreply: bool) {
    out.extend_from_slice(b"flush_all");
    if delay_s > 0 {
        out.push(b' ');
        push(out, u64::from(delay_s));
    }
    end(out, noreply);
}

/// `verbosity`.
pub fn verbosity(out: &mut Vec<u8>, level: u32, noreply: bool) {
    out.extend_from_slice(b"verbosity ");
    push(out, u64::from(level));
    end(out, noreply);
}

fn end(out: &mut Vec<u8>, noreply: bool) {
    out.extend_from_slice(if noreply { b" noreply\r\n" } else { b"\r\n" });
}

/// `stats`, with the words of a report.
pub fn stats<'a>(out: &mut Vec<u8>, report: impl IntoIterator<Item = &'a [u8]>) {
    out.extend_from_slice(b"stats");
    words(out, report);
}

/// `version`.
pub const VERSION: &[u8] = b"version\r\n";
/// `quit`.
pub const QUIT: &[u8] = b"quit\r\n";
/// `mn`.
pub const MN: &[u8] = b"mn\r\n";

/// A meta command, written word by word. The line ends with [`Line::end`], or with the data.
#[derive(Debug)]
pub struct Line<'a> {
    out: &'a mut Vec<u8>,
}

impl<'a> Line<'a> {
    /// `mg`.
    pub fn get(out: &'a mut Vec<u8>, key: &[u8]) -> Self {
        Self::new(out, b"mg ", key)
    }

    /// `ms`, with the length of its data, which end the line.
    pub fn set(out: &'a mut Vec<u8>, key: &[u8], bytes: usize) -> Self {
        let line = Self::new(out, b"ms ", key);
        line.out.push(b' ');
        push(line.out, bytes as u64);
        line
    }

    /// `md`.
    pub fn delete(out: &'a mut Vec<u8>, key: &[u8]) -> Self {
        Self::new(out, b"md ", key)
    }

    /// `ma`.
    pub fn arithmetic(out: &'a mut Vec<u8>, key: &[u8]) -> Self {
        Self::new(out, b"ma ", key)
    }

    /// `me`.
    pub fn debug(out: &'a mut Vec<u8>, key: &[u8]) -> Self {
        Self::new(out, b"me ", key)
    }

    /// `mg` and the like for a key of any bytes, at most 186.
    pub fn binary(out: &'a mut Vec<u8>, command: &[u8; 2], key: &[u8]) -> Self {
        out.extend_from_slice(command);
        out.push(b' ');
        base64::encode(out, key);
        Self { out }
    }

    fn new(out: &'a mut Vec<u8>, command: &[u8; 3], key: &[u8]) -> Self {
        out.extend_from_slice(command);
        out.extend_from_slice(key);
        Self { out }
    }

    /// A flag without anything to it.
    pub fn flag(self, flag: u8) -> Self {
        self.out.extend_from_slice(&[b' ', flag]);
        self
    }

    /// A flag with a number.
    pub fn number(self, flag: u8, number: u64) -> Self {
        self.out.extend_from_slice(&[b' ', flag]);
        push(self.out, number);
        self
    }

    /// A flag with a time to live.
    pub fn time(self, flag: u8, seconds: i64) -> Self {
        self.out.extend_from_slice(&[b' ', flag]);
        push_signed(self.out, seconds);
        self
    }

    /// A flag with a word: an opaque token, a mode.
    pub fn word(self, flag: u8, word: &[u8]) -> Self {
        self.out.extend_from_slice(&[b' ', flag]);
        self.out.extend_from_slice(word);
        self
    }

    /// So many bytes of data, for a line that does not begin with it.
    pub fn bytes(self, bytes: usize) -> Self {
        self.out.push(b' ');
        push(self.out, bytes as u64);
        self
    }

    /// Ends the line.
    pub fn end(self) {
        self.out.extend_from_slice(b"\r\n");
    }

    /// Ends the line and appends the data.
    pub fn data(self, data: &[u8]) {
        self.out.reserve(data.len() + 4);
        self.out.extend_from_slice(b"\r\n");
        self.out.extend_from_slice(data);
        self.out.extend_from_slice(b"\r\n");
    }
}

#[cfg(test)]
mod tests {
    use super::super::parser::{Block, Parsed, Parser, block};
    use super::super::request::{Arithmetic, Delete, Flush, Report, Request, Touch};
    use super::*;

    /// What a server reads of it, which must be all.
    fn read(bytes: &[u8]) -> Request<'_> {
        match Parser::default().parse(bytes) {
            Parsed::Request(request, line) => {
                let data = match request {
                    Request::Store(store) => Some(store.bytes),
                    Request::MetaSet(meta) => Some(meta.bytes),
                    _ => None,
                };
                let data = data.map_or(0, |bytes_of| match block(&bytes[line..], bytes_of) {
                    Block::Whole(_, end) => end,
                    other => panic!("{other:?}"),
                });
                assert_eq!(line + data, bytes.len());
                request
            }
            other => panic!("{}: {other:?}", bytes.escape_ascii()),
        }
    }

    fn written(write: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
        let mut out = Vec::new();
        write(&mut out);
        out
    }

    #[test]
    fn a_server_reads_what_was_asked() {
        let keys = [&b"a"[..], b"b"];
        for cas in [false, true] {
            let bytes = written(|out| get(out, keys, cas));
            let Request::Get(read_get) = read(&bytes) else { panic!() };
            assert_eq!((read_get.cas, read_get.exptime), (cas, None));
            assert!(read_get.keys.eq(keys));
            let bytes = written(|out| get_and_touch(out, -5, keys, cas));
            let Request::Get(read_get) = read(&bytes) else { panic!() };
            assert_eq!((read_get.cas, read_get.exptime), (cas, Some(-5)));
            assert!(read_get.keys.eq(keys));
        }
        for noreply in [false, true] {
            let key = &b"k"[..];
            let bytes = written(|out| delete(out, key, noreply));
            assert_eq!(read(&bytes), Request::Delete(Delete { key, noreply }));
            let bytes = written(|out| increment(out, key, 7, noreply));
            let expected = Arithmetic { key, delta: 7, decrement: false, noreply };
            assert_eq!(read(&bytes), Request::Arithmetic(expected));
            let bytes = written(|out| decrement(out, key, 7, noreply));
            let expected = Arithmetic { decrement: true, ..expected };
            assert_eq!(read(&bytes), Request::Arithmetic(expected));
            let bytes = written(|out| touch(out, key, 9, noreply));
            assert_eq!(read(&bytes), Request::Touch(Touch { key, exptime: 9, noreply }));
            let bytes = written(|out| flush(out, 3, noreply));
            assert_eq!(read(&bytes), Request::Flush(Flush { exptime: 3, noreply }));
            let bytes = written(|out| flush(out, 0, noreply));
            assert_eq!(read(&bytes), Request::Flush(Flush { exptime: 0, noreply }));
            let bytes = written(|out| verbosity(out, 1, noreply));
            assert_eq!(read(&bytes), Request::Verbosity { level: 1, noreply });
        }
        assert_eq!(read(VERSION), Request::Version);
        assert_eq!(read(QUIT), Request::Quit);
        assert_eq!(read(MN), Request::MetaNoop);
        assert_eq!(read(&written(|out| stats(out, []))), Request::Stats(Report::General));
        let items = written(|out| stats(out, [&b"items"[..]]));
        assert_eq!(read(&items), Request::Stats(Report::Items));
    }

    #[test]
    fn a_server_reads_what_was_to_be_stored() {
        for mode in [Mode::Set, Mode::Add, Mode::Replace, Mode::Append, Mode::Prepend, Mode::Cas] {
            for noreply in [false, true] {
                let put = Put { mode, key: b"k", flags: 5, exptime: -1, cas: 8, noreply };
                let bytes = written(|out| store(out, &put, b"data\r\n"));
                let Request::Store(store) = read(&bytes) else { panic!() };
                assert_eq!((store.mode, store.key, store.bytes), (mode, put.key, 6));
                assert_eq!((store.flags, store.exptime, store.noreply), (5, -1, noreply));
                assert_eq!(store.cas, if mode == Mode::Cas { 8 } else { 0 });
            }
        }
    }

    #[test]
    fn a_server_reads_meta_commands() {
        let bytes = written(|out| Line::get(out, b"k").flag(b'v').time(b'T', -1).end());
        let Request::MetaGet(meta) = read(&bytes) else { panic!() };
        assert!(meta.has(b'v') && meta.exptime == -1 && meta.key.text == b"k");
        let bytes = written(|out| Line::set(out, b"k", 3).word(b'M', b"E").data(b"abc"));
        let Request::MetaSet(meta) = read(&bytes) else { panic!() };
        assert_eq!((meta.bytes, meta.store_mode()), (3, Mode::Add));
        let bytes = written(|out| Line::delete(out, b"k").number(b'C', 5).end());
        let Request::MetaDelete(meta) = read(&bytes) else { panic!() };
        assert_eq!(meta.cas, 5);
        let bytes = written(|out| Line::arithmetic(out, b"k").word(b'M', b"D").end());
        let Request::MetaArithmetic(meta) = read(&bytes) else { panic!() };
        assert!(meta.is_decrement());
        let bytes =
            written(|out| Line::binary(out, b"ms", b"\0 \n").bytes(1).flag(b'b').data(b"x"));
        let Request::MetaSet(meta) = read(&bytes) else { panic!() };
        assert_eq!(meta.key.bytes(&mut [0; 250]), b"\0 \n");
        let bytes = written(|out| Line::debug(out, b"k").end());
        let Request::MetaDebug(key) = read(&bytes) else { panic!() };
        assert_eq!(key.text, b"k");
    }
}
