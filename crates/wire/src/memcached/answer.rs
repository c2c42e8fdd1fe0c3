//! What a server answers, appended to a buffer. Lines that never change are constants.

use super::key::Key;
use super::meta::Meta;
use super::number::{push, push_signed};
use super::reply::Code;
use crate::base64;
use crate::limits::KEY_BYTES_MAX;

/// To a command that stored.
pub const STORED: &[u8] = b"STORED\r\n";
/// To one whose condition was not met.
pub const NOT_STORED: &[u8] = b"NOT_STORED\r\n";
/// To `cas`, if somebody else has stored since.
pub const EXISTS: &[u8] = b"EXISTS\r\n";
/// To a command whose item is not there.
pub const NOT_FOUND: &[u8] = b"NOT_FOUND\r\n";
/// To `delete`.
pub const DELETED: &[u8] = b"DELETED\r\n";
/// To `touch`.
pub const TOUCHED: &[u8] = b"TOUCHED\r\n";
/// To `flush_all`, `verbosity` and others.
pub const OK: &[u8] = b"OK\r\n";
/// Behind items and statistics.
pub const END: &[u8] = b"END\r\n";
/// To `stats reset`.
pub const RESET: &[u8] = b"RESET\r\n";
/// To `mn`.
pub const MN: &[u8] = b"MN\r\n";
/// To `me`, if there is no item.
pub const EN: &[u8] = b"EN\r\n";
/// Behind each data block.
pub const END_OF_DATA: &[u8] = b"\r\n";

/// An item of `get`, `gets`, `gat` and `gats`, whole; `cas` for those with an s. [`END`] follows
/// the last.
#[inline]
pub fn value(out: &mut Vec<u8>, key: &[u8], flags: u32, cas: Option<u64>, data: &[u8]) {
    out.reserve(key.len() + data.len() + 64);
    value_line(out, key, flags, cas, data.len());
    out.extend_from_slice(data);
    out.extend_from_slice(END_OF_DATA);
}

/// The line of an item alone: `bytes` bytes of data and [`END_OF_DATA`] follow.
#[inline]
pub fn value_line(out: &mut Vec<u8>, key: &[u8], flags: u32, cas: Option<u64>, bytes: usize) {
    out.extend_from_slice(b"VALUE ");
    out.extend_from_slice(key);
    out.push(b' ');
    push(out, u64::from(flags));
    out.push(b' ');
    push(out, bytes as u64);
    if let Some(cas) = cas {
        out.push(b' ');
        push(out, cas);
    }
    out.extend_from_slice(b"\r\n");
}

/// To `incr` and `decr`: the new value.
pub fn number(out: &mut Vec<u8>, number: u64) {
    push(out, number);
    out.extend_from_slice(b"\r\n");
}

/// To `version`.
pub fn version(out: &mut Vec<u8>, version: &str) {
    out.extend_from_slice(b"VERSION ");
    out.extend_from_slice(version.as_bytes());
    out.extend_from_slice(b"\r\n");
}

/// A line of `stats`; [`END`] follows the last.
pub fn statistic(out: &mut Vec<u8>, name: &str, value: &[u8]) {
    out.extend_from_slice(b"STAT ");
    out.extend_from_slice(name.as_bytes());
    out.push(b' ');
    out.extend_from_slice(value);
    out.extend_from_slice(b"\r\n");
}

/// What the flags of a meta command may ask about an item.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Item {
    /// `c`: its unique number.
    pub cas: u64,
    /// `f`: the client's own.
    pub client_flags: u32,
    /// `s`: bytes of data.
    pub bytes: usize,
    /// `t`: seconds left; none: it does not expire.
    pub ttl: Option<u32>,
    /// If the command changes that: what `t` tells where it stands before the flag that does.
    pub ttl_before: Option<Option<u32>>,
    /// `l`: seconds since it was used, before this command.
    pub idle: u32,
    /// `h`: whether it was fetched before.
    pub is_fetched: bool,
    /// Whether it was stored under a binary key.
    pub is_binary: bool,
    /// `Z`: whether somebody is making it anew already.
    pub is_taken: bool,
    /// `X`: whether it is stale.
    pub is_stale: bool,
    /// `W`: whether this client is to make it anew.
    pub is_won: bool,
}

/// The line of an answer to a meta command. With `bytes`, which goes with [`Code::Value`], so many
/// bytes of data and [`END_OF_DATA`] follow. Flags stand in the order in which they were asked;
/// without an item only those that the command itself answers. `mg` is told all of an item, `ms`
/// its number and size, `ma` its number and time to live.
pub fn meta_line(
    out: &mut Vec<u8>,
    code: Code,
    bytes: Option<usize>,
    meta: &Meta<'_>,
    item: Option<&Item>,
) {
    out.extend_from_slice(code.as_bytes());
    if let Some(bytes) = bytes {
        out.push(b' ');
        push(out, bytes as u64);
    }
    let told: &[u8] = match (meta.command, item) {
        (_, None) => b"",
        (b'g', _) => b"cfhlst",
        (b's', _) => b"cs",
        _ => b"ct",
    };
    let mut is_changed = false;
    for word in meta.words {
        match (word[0], item) {
            (b'O', _) => {
                out.push(b' ');
                out.extend_from_slice(word);
            }
            (b'k', Some(item)) => push_key(out, meta.key, item.is_binary),
            (b'k', None) => push_key(out, meta.key, meta.key.is_binary),
            (b'T' | b'N', _) => is_changed = true,
            (b't', Some(Item { ttl_before: Some(ttl), .. })) if !is_changed => {
                push_flag(out, b't', &Item { ttl: *ttl, ..Item::default() });
            }
            (flag, Some(item)) if told.contains(&flag) => push_flag(out, flag, item),
            _ => {}
        }
    }
    if let Some(item) = item.filter(|_| meta.command == b'g') {
        for (is_there, flag) in
            [(item.is_taken, b" Z"), (item.is_stale, b" X"), (item.is_won, b" W")]
        {
            if is_there {
                out.extend_from_slice(flag);
            }
        }
    }
    out.extend_from_slice(b"\r\n");
}

fn push_flag(out: &mut Vec<u8>, flag: u8, item: &Item) {
    let number = match flag {
        b'c' => item.cas,
        b'f' => u64::from(item.client_flags),
        b's' => item.bytes as u64,
        b'l' => u64::from(item.idle),
        b'h' => u64::from(item.is_fetched),
        b't' => {
            out.extend_from_slice(b" t");
            push_signed(out, item.ttl.map_or(-1, i64::from));
            return;
        }
        _ => return,
    };
    out.extend_from_slice(&[b' ', flag]);
    push(out, number);
}

/// The key as the item has it, whichever way it was named.
fn push_key(out: &mut Vec<u8>, key: Key<'_>, is_binary: bool) {
    out.extend_from_slice(b" k");
    if is_binary {
        base64::encode(out, key.bytes(&mut [0; KEY_BYTES_MAX]));
        out.extend_from_slice(b" b");
    } else {
        out.extend_from_slice(key.bytes(&mut [0; KEY_BYTES_MAX]));
    }
}

/// To `me`: names and values; `out` gets the whole line.
pub fn meta_debug(out: &mut Vec<u8>, key: Key<'_>, is_binary: bool, fields: &[(&str, &str)]) {
    let start = out.len() + 2;
    push_key(out, key, is_binary);
    // The key stands for itself here.
    out.drain(start - 1..start);
    if is_binary {
        out.truncate(out.len() - 2);
    }
    out.splice(start - 2..start - 2, *b"ME");
    for (name, value) in fields {
        out.push(b' ');
        out.extend_from_slice(name.as_bytes());
        out.push(b'=');
        out.extend_from_slice(value.as_bytes());
    }
    out.extend_from_slice(b"\r\n");
}

#[cfg(test)]
mod tests {
    use super::super::parser::{Parsed, Parser};
    use super::super::request::Request;
    use super::*;

    fn text(write: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = b"|".to_vec();
        write(&mut out);
        String::from_utf8(out).unwrap()
    }

    fn meta(line: &str) -> Meta<'_> {
        match Parser::default().parse(line.as_bytes()) {
            Parsed::Request(
                Request::MetaGet(meta)
                | Request::MetaSet(meta)
                | Request::MetaDelete(meta)
                | Request::MetaArithmetic(meta),
                _,
            ) => meta,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn classic_answers() {
        assert_eq!(text(|out| value(out, b"k", 5, None, b"ab")), "|VALUE k 5 2\r\nab\r\n");
        assert_eq!(text(|out| value(out, b"k", 0, Some(9), b"")), "|VALUE k 0 0 9\r\n\r\n");
        assert_eq!(text(|out| number(out, 12)), "|12\r\n");
        assert_eq!(text(|out| version(out, "1")), "|VERSION 1\r\n");
        assert_eq!(text(|out| statistic(out, "pid", b"7")), "|STAT pid 7\r\n");
    }

    #[test]
    fn flags_are_answered_in_the_order_they_were_asked() {
        let item = Item { cas: 7, client_flags: 3, bytes: 2, idle: 4, ..Item::default() };
        let line = |line: &str, item: &Item| {
            text(|out| meta_line(out, Code::Hit, None, &meta(line), Some(item)))
        };
        assert_eq!(line("mg key\r\n", &item), "|HD\r\n");
        assert_eq!(line("mg key c f s l h t\r\n", &item), "|HD c7 f3 s2 l4 h0 t-1\r\n");
        assert_eq!(line("mg key t h k Oxy q\r\n", &item), "|HD t-1 h0 kkey Oxy\r\n");
        let item = Item {
            ttl: Some(0),
            is_fetched: true,
            is_taken: true,
            is_stale: true,
            is_won: true,
            ..item
        };
        assert_eq!(line("mg key t h\r\n", &item), "|HD t0 h1 Z X W\r\n");
    }

    #[test]
    fn time_to_live_is_told_as_it_is_where_it_is_asked() {
        let item = Item { ttl: Some(30), ttl_before: Some(None), ..Item::default() };
        let line =
            |line: &str| text(|out| meta_line(out, Code::Hit, None, &meta(line), Some(&item)));
        assert_eq!(line("mg key t T30\r\n"), "|HD t-1\r\n");
        assert_eq!(line("mg key T30 t\r\n"), "|HD t30\r\n");
    }

    #[test]
    fn each_command_tells_what_it_knows() {
        let item = Item { cas: 7, bytes: 2, is_won: true, ..Item::default() };
        let line =
            |line: &str| text(|out| meta_line(out, Code::Hit, None, &meta(line), Some(&item)));
        assert_eq!(line("ms key 1 c f h l s t\r\n"), "|HD c7 s2\r\n");
        assert_eq!(line("ma key c f h l s t\r\n"), "|HD c7 t-1\r\n");
    }

    #[test]
    fn data_follow_their_length() {
        let meta = meta("mg key v k\r\n");
        let item = Item::default();
        let line = text(|out| meta_line(out, Code::Value, Some(12), &meta, Some(&item)));
        assert_eq!(line, "|VA 12 kkey\r\n");
    }

    #[test]
    fn a_key_is_told_as_it_was_stored() {
        let stored = |line: &str, is_binary| {
            let item = Item { is_binary, ..Item::default() };
            text(|out| meta_line(out, Code::Hit, None, &meta(line), Some(&item)))
        };
        assert_eq!(stored("mg foo k\r\n", true), "|HD kZm9v b\r\n");
        assert_eq!(stored("mg Zm9v k b\r\n", true), "|HD kZm9v b\r\n");
        assert_eq!(stored("mg Zm9v k b\r\n", false), "|HD kfoo\r\n");
        let miss = text(|out| meta_line(out, Code::Miss, None, &meta("mg Zm9v b k c\r\n"), None));
        assert_eq!(miss, "|EN kZm9v b\r\n");
    }

    #[test]
    fn debug_lines() {
        let debug = |text_of: &'static [u8], is_binary| {
            let key = Key { text: text_of, is_binary: false };
            text(|out| meta_debug(out, key, is_binary, &[("exp", "-1"), ("cas", "2")]))
        };
        assert_eq!(debug(b"foo", false), "|ME foo exp=-1 cas=2\r\n");
        assert_eq!(debug(b"foo", true), "|ME Zm9v exp=-1 cas=2\r\n");
    }
}
