//! Commands out of what was received, at their begin and as often as there is one. It keeps
//! nothing but how far it has looked for the end of a line.

use super::key::Key;
use super::meta::Meta;
use super::number::{signed, unsigned, unsigned_32};
use super::refusal::Refusal;
use super::request::{
    Administration, Arithmetic, Delete, Flush, Get, Mode, Report, Request, Store, Touch,
};
use super::tokens::Tokens;
use crate::limits::{DATA_BYTES_MAX, GET_LINE_BYTES_MAX, KEY_BYTES_MAX, LINE_BYTES_MAX};
use memchr::{memchr, memchr2};

/// Reads the commands of one connection.
#[derive(Debug, Default)]
pub struct Parser {
    /// Bytes at the begin of the buffer that hold no end of line, so that a line that comes in
    /// small pieces is not searched again and again.
    searched: usize,
}

/// What is at the begin of a buffer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Parsed<'a> {
    /// Not a whole line yet.
    Incomplete,
    /// A command, whose line has so many bytes.
    Request(Request<'a>, usize),
    /// A command that is not carried out.
    Refused(Refused),
    /// What no client of memcached sends: the connection is to be closed without a word.
    Close,
}

/// A command that is not carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused {
    /// Why.
    pub refusal: Refusal,
    /// Whether the client is not told, because it wanted no answer.
    pub is_silent: bool,
    /// Bytes of its line. What follows is a command again,
    pub line: usize,
    /// but for so many bytes, which are to be passed over as they come.
    pub swallow: usize,
}

/// What follows the line of a command that stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Block<'a> {
    /// Not all of it is there yet; this many bytes are missing.
    Incomplete(usize),
    /// The data, and how many bytes they are with their end.
    Whole(&'a [u8], usize),
    /// It does not end as it should: [`Refusal::Data`], after passing over so many bytes.
    Bad(usize),
}

/// Takes a data block of `bytes` bytes from the begin of `buffer`.
#[inline]
pub fn block(buffer: &[u8], bytes: usize) -> Block<'_> {
    let end = bytes + 2;
    match buffer.get(..end) {
        None => Block::Incomplete(end - buffer.len()),
        Some([data @ .., b'\r', b'\n']) => Block::Whole(data, end),
        Some(_) => Block::Bad(end),
    }
}

/// A refusal within a line, before it is known how long that is.
struct No {
    refusal: Refusal,
    is_silent: bool,
    swallow: usize,
}

impl From<Refusal> for No {
    fn from(refusal: Refusal) -> Self {
        Self { refusal, is_silent: false, swallow: 0 }
    }
}

/// A refusal that is not told if no answer is wanted.
fn quietly(refusal: Refusal, noreply: bool) -> No {
    No { refusal, is_silent: noreply, swallow: 0 }
}

impl Parser {
    /// Reads the command at the begin of `buffer`. If it is incomplete, `buffer` must begin with
    /// the same bytes in the next call.
    #[inline]
    pub fn parse<'a>(&mut self, buffer: &'a [u8]) -> Parsed<'a> {
        let rest = buffer.get(self.searched..).unwrap_or_default();
        let Some(found) = memchr2(b'\n', 0, rest) else {
            return self.incomplete(buffer);
        };
        let found = self.searched + found;
        let (end, next) = match buffer[found] {
            b'\n' if found > 1 && buffer[found - 1] == b'\r' => (found - 1, found + 1),
            b'\n' => (found, found + 1),
            // A command ends at a zero byte, its line does not.
            _ => match memchr(b'\n', &buffer[found..]) {
                Some(line) => (found, found + line + 1),
                None => return self.incomplete(buffer),
            },
        };
        self.searched = 0;
        if next > LINE_BYTES_MAX && !may_be_so_long(&buffer[..next - 1]) {
            return Parsed::Close;
        }
        match command(&buffer[..end]) {
            Ok(Some(request)) => Parsed::Request(request, next),
            Ok(None) => Parsed::Close,
            Err(No { refusal, is_silent, swallow }) => {
                Parsed::Refused(Refused { refusal, is_silent, line: next, swallow })
            }
        }
    }

    #[cold]
    fn incomplete(&mut self, buffer: &[u8]) -> Parsed<'static> {
        // A zero byte is looked for again, or it would be passed over with the rest.
        self.searched = memchr(0, buffer).unwrap_or(buffer.len());
        match may_be_so_long(buffer) {
            true => Parsed::Incomplete,
            false => Parsed::Close,
        }
    }
}

/// Whether a line may be as long as this without its end: it is short, or it has many keys. So it
/// is the same for a line that comes at once and for one that comes in pieces.
fn may_be_so_long(line: &[u8]) -> bool {
    if line.len() <= LINE_BYTES_MAX {
        return true;
    }
    let start = line.iter().position(|byte| *byte != b' ').unwrap_or(line.len());
    let is_get = GETS.iter().any(|name| line[start..].starts_with(name));
    start <= SPACES_MAX && is_get && line.len() <= GET_LINE_BYTES_MAX
}

/// Commands with any number of keys.
const GETS: [&[u8]; 4] = [b"get ", b"gets ", b"gat ", b"gats "];

/// Spaces before the name of such a command.
const SPACES_MAX: usize = 100;

/// The command in a line without its end; none: the connection is to be closed.
fn command(line: &[u8]) -> Result<Option<Request<'_>>, No> {
    // The two that matter most.
    if let Some(rest) = line.strip_prefix(b"get ") {
        return get(rest, false).map(Some);
    }
    if let Some(rest) = line.strip_prefix(b"mg ") {
        return meta(b'g', rest).map(Some);
    }
    let mut words = Tokens::new(line);
    let name = words.next().unwrap_or_default();
    let request = match name {
        b"get" | b"bget" => get(words.rest(), false),
        b"gets" => get(words.rest(), true),
        b"gat" => get_and_touch(words, false),
        b"gats" => get_and_touch(words, true),
        b"set" => store(Mode::Set, words),
        b"add" => store(Mode::Add, words),
        b"replace" => store(Mode::Replace, words),
        b"append" => store(Mode::Append, words),
        b"prepend" => store(Mode::Prepend, words),
        b"cas" => store(Mode::Cas, words),
        b"mg" | b"ms" | b"md" | b"ma" => meta(name[1], words.rest()),
        b"mn" => Ok(Request::MetaNoop),
        b"me" => meta_debug(words),
        b"delete" => delete(words),
        b"incr" => arithmetic(words, false),
        b"decr" => arithmetic(words, true),
        b"touch" => touch(words),
        b"flush_all" => flush(words),
        b"version" => Ok(Request::Version),
        b"verbosity" => verbosity(words),
        b"stats" => stats(words),
        b"quit" => Ok(Request::Quit),
        b"cache_memlimit" | b"extstore" | b"lru" | b"lru_crawler" | b"shutdown" | b"slabs"
        | b"watch" => administration(name, words),
        _ if is_http(name, words) => return Ok(None),
        _ => Err(Refusal::Error.into()),
    };
    request.map(Some)
}

/// Whether it is the first line of a request by HTTP: a page that a browser shows must not be able
/// to have it carry on with commands.
fn is_http(name: &[u8], words: Tokens<'_>) -> bool {
    let may_be = match name {
        [] | [_] | [b'm', _] => false,
        [first, ..] => !b"gsacidt".contains(first),
    };
    may_be && words.last().unwrap_or(name).starts_with(b"HTTP/")
}

#[inline]
fn get(keys: &[u8], cas: bool) -> Result<Request<'_>, No> {
    let keys = Tokens::new(keys);
    let mut words = keys;
    let first = words.next().ok_or(Refusal::Error)?;
    if first.len() > KEY_BYTES_MAX || words.any(|key| key.len() > KEY_BYTES_MAX) {
        return Err(Refusal::Format.into());
    }
    Ok(Request::Get(Get { keys, cas, exptime: None }))
}

fn get_and_touch(mut words: Tokens<'_>, cas: bool) -> Result<Request<'_>, No> {
    let exptime = signed(words.next().ok_or(Refusal::Error)?).ok_or(Refusal::Exptime)?;
    let mut keys = words;
    if keys.any(|key| key.len() > KEY_BYTES_MAX) {
        return Err(Refusal::Format.into());
    }
    Ok(Request::Get(Get { keys: words, cas, exptime: Some(exptime) }))
}

fn store(mode: Mode, words: Tokens<'_>) -> Result<Request<'_>, No> {
    let least = if mode == Mode::Cas { 5 } else { 4 };
    let (words, count) = words.take_array::<7>();
    if count != least && count != least + 1 {
        return Err(Refusal::Error.into());
    }
    let [key, flags, exptime, bytes, cas, ..] = words;
    let noreply = words[count - 1] == b"noreply";
    let numbers = || {
        let bytes =
            usize::try_from(signed(bytes)?).ok().filter(|bytes| *bytes <= DATA_BYTES_MAX)?;
        let cas = if mode == Mode::Cas { unsigned(cas)? } else { 0 };
        Some((unsigned_32(flags)?, signed(exptime)?, bytes, cas))
    };
    match numbers() {
        Some((flags, exptime, bytes, cas)) if key.len() <= KEY_BYTES_MAX => {
            Ok(Request::Store(Store { mode, key, flags, exptime, bytes, cas, noreply }))
        }
        _ => Err(quietly(Refusal::Format, noreply)),
    }
}

fn meta(command: u8, rest: &[u8]) -> Result<Request<'_>, No> {
    let mut words = Tokens::new(rest);
    let key = words.next().ok_or(Refusal::Error)?;
    if key.len() > KEY_BYTES_MAX {
        return Err(Refusal::Format.into());
    }
    let all = words;
    let bytes = if command == b's' { Some(words.next().ok_or(Refusal::Format)?) } else { None };
    if Meta::are_too_many(all) {
        return Err(match command {
            b'g' => Refusal::GetFlagsTooLong.into(),
            _ => Refusal::FlagsTooLong.into(),
        });
    }
    let bytes = match bytes.map(signed) {
        None => 0,
        Some(bytes) => {
            let bytes = bytes.and_then(|bytes| usize::try_from(bytes).ok());
            bytes.filter(|bytes| *bytes <= DATA_BYTES_MAX).ok_or(Refusal::Format)?
        }
    };
    let meta = Meta::parse(command, key, words).map(|meta| Meta { bytes, ..meta });
    match command {
        b'g' => Ok(Request::MetaGet(meta?)),
        b's' => {
            let no = |refusal| No { refusal, is_silent: false, swallow: bytes + 2 };
            Ok(Request::MetaSet(meta.map_err(no)?))
        }
        b'd' => Ok(Request::MetaDelete(meta.map_err(vaguely)?)),
        _ => Ok(Request::MetaArithmetic(meta.map_err(vaguely)?)),
    }
}

/// `md` and `ma` do not say what is wrong with a flag.
fn vaguely(refusal: Refusal) -> Refusal {
    match refusal {
        Refusal::ArithmeticMode | Refusal::OpaqueTooLong => refusal,
        _ => Refusal::InvalidOrDuplicateFlag,
    }
}

fn meta_debug(words: Tokens<'_>) -> Result<Request<'_>, No> {
    let ([text, flag], count) = words.take_array::<2>();
    let key = Key { text, is_binary: flag == b"b" };
    if count == 0 || text.len() > KEY_BYTES_MAX || !key.is_valid() {
        return Err(Refusal::Format.into());
    }
    Ok(Request::MetaDebug(key))
}

fn delete(words: Tokens<'_>) -> Result<Request<'_>, No> {
    let ([key, first, second, _], count) = words.take_array::<4>();
    let last = if count == 3 { second } else { first };
    let noreply = count > 1 && last == b"noreply";
    let is_meant = match count {
        1 => true,
        2 => noreply || first == b"0",
        3 => noreply && first == b"0",
        _ => return Err(Refusal::Error.into()),
    };
    if !is_meant {
        return Err(quietly(Refusal::DeleteUsage, noreply));
    }
    if key.len() > KEY_BYTES_MAX {
        return Err(quietly(Refusal::Format, noreply));
    }
    Ok(Request::Delete(Delete { key, noreply }))
}

/// A key, a word, and perhaps one more.
fn key_and_word(words: Tokens<'_>) -> Result<(&[u8], &[u8], bool), No> {
    let (all, count) = words.take_array::<4>();
    if count != 2 && count != 3 {
        return Err(Refusal::Error.into());
    }
    let [key, word, ..] = all;
    let noreply = all[count - 1] == b"noreply";
    if key.len() > KEY_BYTES_MAX {
        return Err(quietly(Refusal::Format, noreply));
    }
    Ok((key, word, noreply))
}

fn arithmetic(words: Tokens<'_>, decrement: bool) -> Result<Request<'_>, No> {
    let (key, delta, noreply) = key_and_word(words)?;
    let delta = unsigned(delta).ok_or(quietly(Refusal::Delta, noreply))?;
    Ok(Request::Arithmetic(Arithmetic { key, delta, decrement, noreply }))
}

fn touch(words: Tokens<'_>) -> Result<Request<'_>, No> {
    let (key, exptime, noreply) = key_and_word(words)?;
    let exptime = signed(exptime).ok_or(quietly(Refusal::Exptime, noreply))?;
    Ok(Request::Touch(Touch { key, exptime, noreply }))
}

fn flush(words: Tokens<'_>) -> Result<Request<'_>, No> {
    let (all, count) = words.take_array::<3>();
    let noreply = count > 0 && all[count.min(2) - 1] == b"noreply";
    match count - usize::from(noreply) {
        _ if count > 2 => Err(Refusal::Error.into()),
        0 => Ok(Request::Flush(Flush { exptime: 0, noreply })),
        _ => {
            let exptime = signed(all[0]).ok_or(quietly(Refusal::Exptime, noreply))?;
            Ok(Request::Flush(Flush { exptime, noreply }))
        }
    }
}

fn verbosity(words: Tokens<'_>) -> Result<Request<'_>, No> {
    let (all, count) = words.take_array::<3>();
    if count != 1 && count != 2 {
        return Err(Refusal::Error.into());
    }
    let noreply = all[count - 1] == b"noreply";
    let level = unsigned_32(all[0]).ok_or(quietly(Refusal::Format, noreply))?;
    Ok(Request::Verbosity { level, noreply })
}

fn stats(words: Tokens<'_>) -> Result<Request<'_>, No> {
    let ([name, first, second], count) = words.take_array::<3>();
    let report = match name {
        b"" => Report::General,
        b"reset" => Report::Reset,
        b"settings" => Report::Settings,
        b"items" => Report::Items,
        b"slabs" => Report::Slabs,
        b"sizes" => Report::Sizes,
        b"conns" => Report::Connections,
        b"detail" if matches!(first, b"on" | b"off" | b"dump") => Report::Detail(first),
        b"detail" => return Err(Refusal::StatsDetailUsage.into()),
        b"cachedump" if count < 3 => return Err(Refusal::StatsFormat.into()),
        b"cachedump" => {
            let numbers = unsigned_32(first).zip(unsigned_32(second));
            let (class, limit) = numbers.ok_or(Refusal::Format)?;
            if class >= 64 {
                return Err(Refusal::SlabId.into());
            }
            Report::CacheDump { class, limit }
        }
        other => Report::Other(other),
    };
    Ok(Request::Stats(report))
}

fn administration<'a>(name: &'a [u8], arguments: Tokens<'a>) -> Result<Request<'a>, No> {
    let count = arguments.take(3).count();
    let is_wrong = match name {
        b"cache_memlimit" => count != 1 && count != 2,
        b"extstore" | b"lru" => count == 0,
        _ => false,
    };
    if is_wrong {
        return Err(Refusal::Error.into());
    }
    let noreply = arguments.last() == Some(b"noreply");
    Ok(Request::Administration(Administration { name, arguments, noreply }))
}

#[cfg(test)]
mod tests;
