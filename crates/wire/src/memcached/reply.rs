//! Answers, as a client gets them. Each can be read without knowing what was asked.

use super::number::plain;
use super::tokens::Tokens;
use crate::limits::REPLY_LINE_BYTES_MAX;
use memchr::memchr;
use thiserror::Error;

/// An answer, or a part of one: to `get` come its items and an [`Reply::End`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Reply<'a> {
    /// An item.
    Value(Value<'a>),
    /// The end of items or statistics.
    End,
    /// It is stored.
    Stored,
    /// It is not; a condition was not met.
    NotStored,
    /// It is not; somebody else has stored since.
    Exists,
    /// There is no such item.
    NotFound,
    /// It is deleted.
    Deleted,
    /// Its time to live is changed.
    Touched,
    /// Done.
    Ok,
    /// Statistics begin at 0 again.
    Reset,
    /// The new value, after `incr` and `decr`.
    Number(u64),
    /// The server's version.
    Version(&'a [u8]),
    /// A figure.
    Statistic {
        /// Its name.
        name: &'a [u8],
        /// What it is.
        value: &'a [u8],
    },
    /// To `mg`, `ms`, `md` and `ma`.
    Meta(Answer<'a>),
    /// To `mn`.
    MetaNoop,
    /// To `me`: key and fields.
    MetaDebug(Tokens<'a>),
    /// `ERROR`: no such command.
    Error,
    /// `CLIENT_ERROR`: a mistake in the command.
    ClientError(&'a [u8]),
    /// `SERVER_ERROR`: the server could not.
    ServerError(&'a [u8]),
    /// A line that is none of these: to commands for the operator.
    Other(&'a [u8]),
}

/// An item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Value<'a> {
    /// Its key.
    pub key: &'a [u8],
    /// The client's own.
    pub flags: u32,
    /// Its unique number, if it was asked for.
    pub cas: Option<u64>,
    /// What is in it.
    pub data: &'a [u8],
}

/// An answer to a meta command.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Answer<'a> {
    /// What came of it.
    pub code: Code,
    /// The data, with [`Code::Value`].
    pub data: Option<&'a [u8]>,
    /// The flags, each as it came.
    pub flags: Tokens<'a>,
}

impl<'a> Answer<'a> {
    /// What stands behind a flag; none if it is not there.
    pub fn flag(&self, flag: u8) -> Option<&'a [u8]> {
        let mut flags = self.flags;
        flags.find(|word| word[0] == flag).map(|word| &word[1..])
    }
}

/// What came of a meta command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// `VA`: the item, with its data.
    Value,
    /// `HD`: done.
    Hit,
    /// `EN`: there is no such item, to `mg`.
    Miss,
    /// `NF`: there is no such item, to others.
    NotFound,
    /// `NS`: not stored; a condition was not met.
    NotStored,
    /// `EX`: not done; somebody else has stored since.
    Exists,
}

impl Code {
    /// As it stands on the wire.
    pub fn as_bytes(self) -> &'static [u8] {
        match self {
            Self::Value => b"VA",
            Self::Hit => b"HD",
            Self::Miss => b"EN",
            Self::NotFound => b"NF",
            Self::NotStored => b"NS",
            Self::Exists => b"EX",
        }
    }
}

/// What is at the begin of a buffer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Parsed<'a> {
    /// Not all of a reply is there: at least so many bytes must come still.
    Incomplete(usize),
    /// A reply of so many bytes.
    Reply(Reply<'a>, usize),
}

/// A reply that no server gives.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum Malformed {
    /// A line that does not end.
    #[error("a line of the reply has more than {REPLY_LINE_BYTES_MAX} bytes")]
    LineTooLong,
    /// A line that does not end with both.
    #[error("a line of the reply ends without a carriage return")]
    LineEnd,
    /// An item's line that cannot be read.
    #[error("the line of an item is none: expected VALUE KEY FLAGS BYTES, or VA BYTES")]
    Value,
    /// Data that are longer than stated, or than the client takes.
    #[error("an item is stated to have {0} bytes, more than this client takes")]
    TooLarge(u64),
    /// Data that do not end where they should.
    #[error("the data of an item do not end after the stated length")]
    Data,
}

/// Reads the reply at the begin of `buffer`. Items of more than `data_bytes_max` bytes are not
/// taken.
///
/// # Errors
/// See [`Malformed`]. What follows cannot be told any more: the connection is of no use.
#[inline]
pub fn parse(buffer: &[u8], data_bytes_max: usize) -> Result<Parsed<'_>, Malformed> {
    let searched = &buffer[..buffer.len().min(REPLY_LINE_BYTES_MAX)];
    let Some(end) = memchr(b'\n', searched) else {
        return match buffer.len() {
            REPLY_LINE_BYTES_MAX.. => Err(Malformed::LineTooLong),
            _ => Ok(Parsed::Incomplete(1)),
        };
    };
    let [line @ .., b'\r'] = &buffer[..end] else { return Err(Malformed::LineEnd) };
    let after = Rest { buffer, at: end + 1, data_bytes_max };
    if let Some(item) = line.strip_prefix(b"VALUE ") {
        return value(item, after);
    }
    if let [code @ .., b' '] | code = &line[..line.len().min(3)]
        && code.len() == 2
    {
        match code {
            b"VA" => return meta_value(&line[2..], after),
            b"MN" if line.len() == 2 => return Ok(Parsed::Reply(Reply::MetaNoop, end + 1)),
            b"ME" => {
                let fields = Reply::MetaDebug(Tokens::new(&line[2..]));
                return Ok(Parsed::Reply(fields, end + 1));
            }
            _ => {}
        }
        let codes = [Code::Hit, Code::Miss, Code::NotFound, Code::NotStored, Code::Exists];
        if let Some(code) = codes.into_iter().find(|known| known.as_bytes() == code) {
            let flags = Tokens::new(&line[2..]);
            return Ok(Parsed::Reply(Reply::Meta(Answer { code, data: None, flags }), end + 1));
        }
    }
    Ok(Parsed::Reply(simple(line), end + 1))
}

/// What follows the line of an item.
struct Rest<'a> {
    buffer: &'a [u8],
    at: usize,
    data_bytes_max: usize,
}

impl<'a> Rest<'a> {
    /// The data, and where they end in the buffer; or how many bytes are missing.
    fn data(&self, bytes: u64) -> Result<Result<(&'a [u8], usize), usize>, Malformed> {
        let length = usize::try_from(bytes).ok().filter(|bytes| *bytes <= self.data_bytes_max);
        let end = self.at + length.ok_or(Malformed::TooLarge(bytes))? + 2;
        match self.buffer.get(self.at..end) {
            None => Ok(Err(end - self.buffer.len())),
            Some([data @ .., b'\r', b'\n']) => Ok(Ok((data, end))),
            Some(_) => Err(Malformed::Data),
        }
    }
}

#[inline]
fn value<'a>(item: &'a [u8], after: Rest<'a>) -> Result<Parsed<'a>, Malformed> {
    let ([key, flags, bytes, cas, _], count) = Tokens::new(item).take_array::<5>();
    let numbers = || {
        let flags = u32::try_from(plain(flags)?).ok()?;
        let cas = if count == 4 { Some(plain(cas)?) } else { None };
        (count == 3 || count == 4).then_some((flags, plain(bytes)?, cas))
    };
    let (flags, bytes, cas) = numbers().ok_or(Malformed::Value)?;
    Ok(match after.data(bytes)? {
        Ok((data, end)) => Parsed::Reply(Reply::Value(Value { key, flags, cas, data }), end),
        Err(missing) => Parsed::Incomplete(missing),
    })
}

fn meta_value<'a>(words: &'a [u8], after: Rest<'a>) -> Result<Parsed<'a>, Malformed> {
    let mut flags = Tokens::new(words);
    let bytes = flags.next().and_then(plain).ok_or(Malformed::Value)?;
    Ok(match after.data(bytes)? {
        Ok((data, end)) => {
            let answer = Answer { code: Code::Value, data: Some(data), flags };
            Parsed::Reply(Reply::Meta(answer), end)
        }
        Err(missing) => Parsed::Incomplete(missing),
    })
}

/// A line with nothing behind it.
fn simple(line: &[u8]) -> Reply<'_> {
    match line {
        b"END" => Reply::End,
        b"STORED" => Reply::Stored,
        b"NOT_STORED" => Reply::NotStored,
        b"EXISTS" => Reply::Exists,
        b"NOT_FOUND" => Reply::NotFound,
        b"DELETED" => Reply::Deleted,
        b"TOUCHED" => Reply::Touched,
        b"OK" => Reply::Ok,
        b"RESET" => Reply::Reset,
        b"ERROR" => Reply::Error,
        [b'0'..=b'9', ..] => match plain(line.trim_ascii_end()) {
            Some(number) => Reply::Number(number),
            None => Reply::Other(line),
        },
        _ => with_text(line),
    }
}

fn with_text(line: &[u8]) -> Reply<'_> {
    if let Some(text) = line.strip_prefix(b"CLIENT_ERROR ") {
        return Reply::ClientError(text);
    }
    if let Some(text) = line.strip_prefix(b"SERVER_ERROR ") {
        return Reply::ServerError(text);
    }
    if let Some(version) = line.strip_prefix(b"VERSION ") {
        return Reply::Version(version);
    }
    match line.strip_prefix(b"STAT ") {
        Some(figure) => {
            let end = memchr(b' ', figure).unwrap_or(figure.len());
            let (name, value) = figure.split_at(end);
            Reply::Statistic { name, value: value.get(1..).unwrap_or_default() }
        }
        None => Reply::Other(line),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAX: usize = 1 << 20;

    /// The reply, which must be all of the bytes, and incomplete until the last.
    fn whole(bytes: &str) -> Reply<'_> {
        let bytes = bytes.as_bytes();
        for end in 0..bytes.len() {
            match parse(&bytes[..end], MAX) {
                Ok(Parsed::Incomplete(missing)) => assert!(end + missing <= bytes.len()),
                other => panic!("{other:?} at {end}"),
            }
        }
        match parse(bytes, MAX) {
            Ok(Parsed::Reply(reply, end)) if end == bytes.len() => reply,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn lines_of_the_classic_commands() {
        for (line, reply) in [
            ("END\r\n", Reply::End),
            ("STORED\r\n", Reply::Stored),
            ("NOT_STORED\r\n", Reply::NotStored),
            ("EXISTS\r\n", Reply::Exists),
            ("NOT_FOUND\r\n", Reply::NotFound),
            ("DELETED\r\n", Reply::Deleted),
            ("TOUCHED\r\n", Reply::Touched),
            ("OK\r\n", Reply::Ok),
            ("RESET\r\n", Reply::Reset),
            ("ERROR\r\n", Reply::Error),
            ("18446744073709551615\r\n", Reply::Number(u64::MAX)),
            ("VERSION 1.6.18\r\n", Reply::Version(b"1.6.18")),
            ("CLIENT_ERROR no no\r\n", Reply::ClientError(b"no no")),
            ("SERVER_ERROR oh\r\n", Reply::ServerError(b"oh")),
            ("STAT pid 7\r\n", Reply::Statistic { name: b"pid", value: b"7" }),
            ("STAT x \r\n", Reply::Statistic { name: b"x", value: b"" }),
            ("BUSY no\r\n", Reply::Other(b"BUSY no")),
            ("12x\r\n", Reply::Other(b"12x")),
        ] {
            assert_eq!(whole(line), reply, "{line}");
        }
    }

    #[test]
    fn items() {
        let value = |cas, data| Reply::Value(Value { key: b"k", flags: 5, cas, data });
        assert_eq!(whole("VALUE k 5 2\r\nab\r\n"), value(None, b"ab"));
        assert_eq!(whole("VALUE k 5 4 9\r\na\r\nb\r\n"), value(Some(9), b"a\r\nb"));
        assert_eq!(whole("VALUE k 5 0\r\n\r\n"), value(None, b""));
    }

    #[test]
    fn meta_answers() {
        let Reply::Meta(answer) = whole("VA 2 f5 kkey W\r\nab\r\n") else { panic!() };
        assert_eq!((answer.code, answer.data), (Code::Value, Some(&b"ab"[..])));
        assert_eq!(answer.flag(b'f'), Some(&b"5"[..]));
        assert_eq!(answer.flag(b'W'), Some(&b""[..]));
        assert_eq!(answer.flag(b'X'), None);
        for (line, code) in [
            ("HD\r\n", Code::Hit),
            ("HD O1\r\n", Code::Hit),
            ("EN\r\n", Code::Miss),
            ("NF k1\r\n", Code::NotFound),
            ("NS\r\n", Code::NotStored),
            ("EX\r\n", Code::Exists),
        ] {
            let Reply::Meta(answer) = whole(line) else { panic!("{line}") };
            assert_eq!((answer.code, answer.data), (code, None));
        }
        assert_eq!(whole("MN\r\n"), Reply::MetaNoop);
        let Reply::MetaDebug(fields) = whole("ME key exp=-1\r\n") else { panic!() };
        assert!(fields.eq([&b"key"[..], b"exp=-1"]));
    }

    #[test]
    fn what_no_server_says_is_malformed() {
        for (bytes, malformed) in [
            ("END\n", Malformed::LineEnd),
            ("\n", Malformed::LineEnd),
            ("VALUE k 5\r\n", Malformed::Value),
            ("VALUE k 5 x\r\n", Malformed::Value),
            ("VALUE k 5 1 2 3\r\n", Malformed::Value),
            ("VALUE k 4294967296 1\r\n", Malformed::Value),
            ("VA\r\n", Malformed::Value),
            ("VA x\r\n", Malformed::Value),
            ("VALUE k 5 2\r\nabc\r\n", Malformed::Data),
            ("VA 2\r\nabc\r\n", Malformed::Data),
            ("VALUE k 5 1048577\r\n", Malformed::TooLarge(1_048_577)),
            ("VA 18446744073709551615\r\n", Malformed::TooLarge(u64::MAX)),
        ] {
            assert_eq!(parse(bytes.as_bytes(), MAX), Err(malformed), "{bytes}");
        }
    }

    #[test]
    fn a_line_is_bounded() {
        let mut bytes = vec![b'x'; REPLY_LINE_BYTES_MAX - 1];
        assert_eq!(parse(&bytes, MAX), Ok(Parsed::Incomplete(1)));
        bytes.push(b'x');
        assert_eq!(parse(&bytes, MAX), Err(Malformed::LineTooLong));
    }
}
