//! The chunked transfer coding (RFC 9112 §7.1): finds where a body ends and what of it is data. It
//! keeps nothing and reads no trailer fields.

use crate::limits::CHUNK_OVERHEAD_BYTES_MAX;
use thiserror::Error;

/// Bytes that are not the chunked coding.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub(crate) enum ChunkError {
    #[error("expected the size of a chunk in hexadecimal, got byte {0:#04x}")]
    Size(u8),
    #[error("a chunk's size does not fit 64 bits")]
    SizeTooLarge,
    #[error("expected the end of a line, got byte {0:#04x}")]
    LineEnd(u8),
    #[error("more than {CHUNK_OVERHEAD_BYTES_MAX} bytes of extensions or trailer fields")]
    Overhead,
}

/// Where in a chunked body the next byte falls.
pub(crate) struct Chunked {
    place: Place,
    /// Of the chunk being read: its size so far while reading it, then what is left of it.
    size: u64,
    /// Bytes of extensions and trailer fields so far.
    overhead: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    FirstDigit,
    Size,
    Extension,
    SizeLf,
    Data,
    DataCr,
    DataLf,
    /// At the start of a trailer line, the empty one included.
    Trailer,
    TrailerLine,
    TrailerLf,
    LastLf,
    End,
}

impl Chunked {
    pub(crate) fn new() -> Self {
        Self { place: Place::FirstDigit, size: 0, overhead: 0 }
    }

    /// Whether the body is complete.
    pub(crate) fn is_complete(&self) -> bool {
        self.place == Place::End
    }

    /// Reads on and says how many bytes belong to the body: all, unless it is complete. `take` is
    /// given the data among them.
    ///
    /// # Errors
    /// The bytes are not the chunked coding.
    pub(crate) fn advance(
        &mut self,
        input: &[u8],
        mut take: impl FnMut(&[u8]),
    ) -> Result<usize, ChunkError> {
        let mut used = 0;
        while used < input.len() && self.place != Place::End {
            if self.place == Place::Data {
                let rest = (input.len() - used) as u64;
                let taken = self.size.min(rest);
                self.size -= taken;
                take(&input[used..used + taken as usize]);
                used += taken as usize;
                if self.size == 0 {
                    self.place = Place::DataCr;
                }
            } else {
                self.place = self.after(input[used])?;
                used += 1;
            }
        }
        Ok(used)
    }

    /// The place after one byte that is not chunk data.
    fn after(&mut self, byte: u8) -> Result<Place, ChunkError> {
        match (self.place, byte) {
            (Place::FirstDigit, _) => {
                self.size = 0;
                self.add_digit(byte)
            }
            (Place::Size | Place::Extension, b'\r') => Ok(Place::SizeLf),
            (Place::Size, b';' | b' ' | b'\t') => Ok(Place::Extension),
            (Place::Size, _) => self.add_digit(byte),
            (Place::SizeLf, b'\n') if self.size == 0 => Ok(Place::Trailer),
            (Place::SizeLf, b'\n') => Ok(Place::Data),
            (Place::DataCr, b'\r') => Ok(Place::DataLf),
            (Place::DataLf, b'\n') => Ok(Place::FirstDigit),
            (Place::Trailer, b'\r') => Ok(Place::LastLf),
            (Place::TrailerLine, b'\r') => Ok(Place::TrailerLf),
            (Place::TrailerLf, b'\n') => Ok(Place::Trailer),
            (Place::LastLf, b'\n') => Ok(Place::End),
            (Place::Extension, byte) if byte != b'\n' => self.add_overhead(Place::Extension),
            (Place::Trailer | Place::TrailerLine, byte) if byte != b'\n' => {
                self.add_overhead(Place::TrailerLine)
            }
            (_, byte) => Err(ChunkError::LineEnd(byte)),
        }
    }

    fn add_digit(&mut self, byte: u8) -> Result<Place, ChunkError> {
        let digit = (byte as char).to_digit(16).ok_or(ChunkError::Size(byte))?;
        let size = self.size.checked_mul(16).ok_or(ChunkError::SizeTooLarge)?;
        self.size = size + u64::from(digit);
        Ok(Place::Size)
    }

    fn add_overhead(&mut self, place: Place) -> Result<Place, ChunkError> {
        self.overhead += 1;
        match self.overhead <= CHUNK_OVERHEAD_BYTES_MAX {
            true => Ok(place),
            false => Err(ChunkError::Overhead),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads the body in two pieces.
    fn read(body: &str, split: usize) -> Result<(usize, bool, Vec<u8>), ChunkError> {
        let (first, second) = body.as_bytes().split_at(split);
        let (mut chunked, mut data) = (Chunked::new(), Vec::new());
        let mut used = chunked.advance(first, |bytes| data.extend_from_slice(bytes))?;
        used += chunked.advance(second, |bytes| data.extend_from_slice(bytes))?;
        Ok((used, chunked.is_complete(), data))
    }

    fn skip(body: &str, split: usize) -> Result<(usize, bool), ChunkError> {
        read(body, split).map(|(used, complete, _)| (used, complete))
    }

    #[test]
    fn data_is_what_stands_in_the_chunks() {
        let body = "5\r\nhello\r\nA;a=\"b\"\r\n, 9 bytes \r\n0\r\nX: y\r\n\r\n";
        for split in 0..=body.len() {
            let (used, complete, data) = read(body, split).unwrap();
            assert_eq!((used, complete), (body.len(), true));
            assert_eq!(data, b"hello, 9 bytes ", "at {split}");
        }
    }

    #[test]
    fn finds_the_end_at_every_split() {
        let bodies = [
            "0\r\n\r\n",
            "5\r\nhello\r\n0\r\n\r\n",
            "A;a=\"b\"\r\n0123456789\r\n1 \r\nx\r\n000;last\r\n\r\n",
            "0\r\nExpires: never\r\nX: y\r\n\r\n",
        ];
        for body in bodies {
            let followed = format!("{body}HTTP");
            for split in 0..=body.len() {
                assert_eq!(skip(&followed, split), Ok((body.len(), true)), "{body:?} at {split}");
                assert_eq!(skip(&body[..split], split / 2), Ok((split, split == body.len())));
            }
        }
    }

    #[test]
    fn refuses_what_is_not_chunked() {
        assert_eq!(skip("x\r\n", 0), Err(ChunkError::Size(b'x')));
        assert_eq!(skip("\r\n", 0), Err(ChunkError::Size(b'\r')));
        assert_eq!(skip("1g\r\n", 0), Err(ChunkError::Size(b'g')));
        assert_eq!(skip("1\nx", 0), Err(ChunkError::Size(b'\n')));
        assert_eq!(skip("1\rx", 0), Err(ChunkError::LineEnd(b'x')));
        assert_eq!(skip("1;\n", 0), Err(ChunkError::LineEnd(b'\n')));
        assert_eq!(skip("1\r\nxy", 0), Err(ChunkError::LineEnd(b'y')));
        assert_eq!(skip("0\r\n\n", 0), Err(ChunkError::LineEnd(b'\n')));
        assert_eq!(skip("0\r\na\n", 0), Err(ChunkError::LineEnd(b'\n')));
        assert_eq!(skip("10000000000000000\r\n", 0), Err(ChunkError::SizeTooLarge));
        assert_eq!(skip("ffffffffffffffff\r\n", 0), Ok((18, false)));
    }

    #[test]
    fn bounds_extensions_and_trailers() {
        let most = "x".repeat(CHUNK_OVERHEAD_BYTES_MAX);
        assert_eq!(skip(&format!("1;{most}\r\n"), 0).map(|(_, complete)| complete), Ok(false));
        assert_eq!(skip(&format!("1;{most}x\r\n"), 0), Err(ChunkError::Overhead));
        assert_eq!(skip(&format!("0\r\n{most}\r\n\r\n"), 0).map(|(_, end)| end), Ok(true));
        assert_eq!(skip(&format!("0\r\n{most}x"), 0), Err(ChunkError::Overhead));
    }
}
