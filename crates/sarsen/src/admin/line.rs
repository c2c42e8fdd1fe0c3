//! Lines of JSON within a bound, as both sides of the socket read and write them.

use serde_json::Value;
use std::io::{self, BufRead, Write};
use thiserror::Error;

/// Why a line could not be read.
#[derive(Debug, Error)]
pub enum LineError {
    /// The other side is gone, or said nothing for too long.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The line does not end where it must.
    #[error("expected a line of at most {max} bytes")]
    TooLong {
        /// The bound.
        max: usize,
    },
    /// The line is not what it must be.
    #[error("expected a line of JSON: {0}")]
    NotJson(#[from] serde_json::Error),
}

/// Reads a line of at most `max` bytes; `None` where the other side has ended.
pub fn read(from: &mut impl BufRead, max: usize) -> Result<Option<Value>, LineError> {
    let mut line = Vec::new();
    let bound = u64::try_from(max).unwrap_or(u64::MAX).saturating_add(1);
    io::Read::take(&mut *from, bound).read_until(b'\n', &mut line)?;
    match line.pop() {
        None => Ok(None),
        Some(b'\n') => Ok(Some(serde_json::from_slice(&line)?)),
        Some(_) if line.len() >= max => Err(LineError::TooLong { max }),
        Some(_) => Err(LineError::Io(io::ErrorKind::UnexpectedEof.into())),
    }
}

/// Writes a line.
pub fn write(to: &mut impl Write, value: &Value) -> io::Result<()> {
    // Compact JSON has no line breaks; those in texts are escaped.
    let mut line = value.to_string();
    line.push('\n');
    to.write_all(line.as_bytes())?;
    to.flush()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn lines_come_back() {
        let mut bytes = Vec::new();
        write(&mut bytes, &json!({ "text": "a\nb" })).unwrap();
        write(&mut bytes, &json!(2)).unwrap();
        let mut from = bytes.as_slice();
        assert_eq!(read(&mut from, 100).unwrap(), Some(json!({ "text": "a\nb" })));
        assert_eq!(read(&mut from, 100).unwrap(), Some(json!(2)));
        assert_eq!(read(&mut from, 100).unwrap(), None);
    }

    #[test]
    fn a_line_is_bounded_and_whole() {
        assert_eq!(read(&mut b"1234\n".as_slice(), 4).unwrap(), Some(json!(1234)));
        let longer = read(&mut b"12345\n".as_slice(), 4);
        assert!(matches!(longer, Err(LineError::TooLong { max: 4 })), "{longer:?}");
        let cut_off = read(&mut b"123".as_slice(), 4);
        assert!(matches!(cut_off, Err(LineError::Io(_))), "{cut_off:?}");
        let other = read(&mut b"abc\n".as_slice(), 4);
        assert!(matches!(other, Err(LineError::NotJson(_))), "{other:?}");
    }
}
