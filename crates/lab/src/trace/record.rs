//! One line of a trace: seven fields with commas between, as in Twitter's published traces (Yang et
//! al., OSDI 2020): second, key, length of the key, length of the value, client, operation, time to
//! live. A key may hold commas: the other fields are counted from both ends.

use crate::limits::{ITEM_BYTES_MAX, TRACE_LINE_BYTES_MAX};
use thiserror::Error;
use wire::memcached::{KeyError, Mode, check_key};

/// What is asked of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operation {
    Get,
    Store(Mode),
    Delete,
    Increment,
    Decrement,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Record<'a> {
    /// The second of the trace's own time.
    pub second: u64,
    pub key: &'a [u8],
    pub value_bytes: usize,
    pub operation: Operation,
}

/// A line that is no record.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum Mistake {
    /// It is too long.
    #[error("the line has more than {TRACE_LINE_BYTES_MAX} bytes")]
    TooLong,
    /// Fields are missing.
    #[error(
        "expected seven fields: second, key, length of the key, length of the value, client, \
         operation, time to live"
    )]
    Fields,
    /// The second is no number.
    #[error("the first field is no second: expected a whole number")]
    Second,
    /// The key cannot be sent.
    #[error("the key cannot be sent: {0}")]
    Key(KeyError),
    /// The length of the value is none.
    #[error("the length of the value is none: expected 0 to {ITEM_BYTES_MAX}")]
    Value,
    /// The operation is not known.
    #[error(
        "the operation is not known: expected get, gets, set, add, replace, cas, append, \
         prepend, delete, incr or decr"
    )]
    Operation,
}

impl<'a> Record<'a> {
    /// Reads a line without its end.
    pub fn read(line: &'a [u8]) -> Result<Self, Mistake> {
        let mut from_left = line.splitn(2, |byte| *byte == b',');
        let (Some(second), Some(rest)) = (from_left.next(), from_left.next()) else {
            return Err(Mistake::Fields);
        };
        let mut from_right = rest.rsplitn(6, |byte| *byte == b',');
        let mut field = || from_right.next().ok_or(Mistake::Fields);
        let [_ttl, operation, _client, value_bytes, _key_bytes, key] =
            [field()?, field()?, field()?, field()?, field()?, field()?];
        let second = number(second).ok_or(Mistake::Second)?;
        check_key(key).map_err(Mistake::Key)?;
        let value_bytes = number(value_bytes).filter(|bytes| *bytes <= ITEM_BYTES_MAX as u64);
        let value_bytes = value_bytes.ok_or(Mistake::Value)? as usize;
        let operation = match operation {
            b"get" | b"gets" => Operation::Get,
            // A trace does not tell the unique number.
            b"set" | b"cas" => Operation::Store(Mode::Set),
            b"add" => Operation::Store(Mode::Add),
            b"replace" => Operation::Store(Mode::Replace),
            b"append" => Operation::Store(Mode::Append),
            b"prepend" => Operation::Store(Mode::Prepend),
            b"delete" => Operation::Delete,
            b"incr" => Operation::Increment,
            b"decr" => Operation::Decrement,
            _ => return Err(Mistake::Operation),
        };
        Ok(Self { second, key, value_bytes, operation })
    }
}

fn number(text: &[u8]) -> Option<u64> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_a_published_trace_is_read() {
        let expected = Record {
            second: 7,
            key: b"nz:u:eeW5,11W3",
            value_bytes: 273,
            operation: Operation::Get,
        };
        assert_eq!(Record::read(b"7,nz:u:eeW5,11W3,14,273,1,get,0"), Ok(expected));
        for (word, operation) in [
            ("gets", Operation::Get),
            ("set", Operation::Store(Mode::Set)),
            ("add", Operation::Store(Mode::Add)),
            ("replace", Operation::Store(Mode::Replace)),
            ("cas", Operation::Store(Mode::Set)),
            ("append", Operation::Store(Mode::Append)),
            ("prepend", Operation::Store(Mode::Prepend)),
            ("delete", Operation::Delete),
            ("incr", Operation::Increment),
            ("decr", Operation::Decrement),
        ] {
            let line = format!("0,k,1,1,0,{word},60");
            let read = Record::read(line.as_bytes()).map(|record| record.operation);
            assert_eq!(read, Ok(operation), "{word}");
        }
    }

    #[test]
    fn what_is_no_record_is_refused() {
        let long = format!("0,{},1,1,0,get,0", "k".repeat(251));
        let large = format!("0,k,1,{},0,set,0", ITEM_BYTES_MAX + 1);
        for (line, mistake) in [
            ("", Mistake::Fields),
            ("0,k,1,1,0,get", Mistake::Fields),
            ("x,k,1,1,0,get,0", Mistake::Second),
            ("0,,1,1,0,get,0", Mistake::Key(KeyError::Empty)),
            ("0,a b,1,1,0,get,0", Mistake::Key(KeyError::Byte(b' '))),
            (&long, Mistake::Key(KeyError::TooLong(251))),
            ("0,k,1,-1,0,get,0", Mistake::Value),
            (&large, Mistake::Value),
            ("0,k,1,1,0,fetch,0", Mistake::Operation),
        ] {
            assert_eq!(Record::read(line.as_bytes()), Err(mistake), "{line}");
        }
    }
}
