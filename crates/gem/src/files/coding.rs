//! Content codings (RFC 9110 §8.4.1): a file is compressed once, when it is first asked for so, and
//! kept.

use super::File;
use crate::limits::{CODED_FILE_BYTES_MAX, CODED_FILE_BYTES_MIN};
use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::Write;

/// A content coding. The better one first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Coding {
    /// RFC 7932.
    Brotli,
    /// RFC 1952.
    Gzip,
}

impl Coding {
    /// Every one.
    pub const ALL: [Self; 2] = [Self::Brotli, Self::Gzip];

    /// As Content-Encoding names it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Brotli => "br",
            Self::Gzip => "gzip",
        }
    }
}

impl File {
    /// Whether it may be sent in a content coding: of its kind it gains by it, and it is neither so
    /// small nor so large that it would not be worth the while.
    pub fn is_codable(&self) -> bool {
        self.gains && (CODED_FILE_BYTES_MIN..=CODED_FILE_BYTES_MAX).contains(&self.bytes.len())
    }

    /// The file in `coding`, if it was asked for before; `Some(None)` if it does not get smaller.
    pub fn coded_already(&self, coding: Coding) -> Option<Option<Bytes>> {
        self.place(coding).get().cloned()
    }

    /// The file in `coding`; `None` if it does not get smaller. The first call compresses it, which
    /// may take some tenths of a second; calls beside it wait for that.
    pub fn coded(&self, coding: Coding) -> Option<Bytes> {
        let code = || {
            let coded = match coding {
                Coding::Brotli => brotli(&self.bytes),
                Coding::Gzip => gzip(&self.bytes),
            };
            coded.filter(|coded| coded.len() < self.bytes.len()).map(Bytes::from)
        };
        self.place(coding).get_or_init(code).clone()
    }

    fn place(&self, coding: Coding) -> &std::sync::OnceLock<Option<Bytes>> {
        match coding {
            Coding::Brotli => &self.brotli,
            Coding::Gzip => &self.gzip,
        }
    }
}

fn gzip(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).ok()?;
    encoder.finish().ok()
}

/// Of the qualities, 0 to 11, the last two take ten times as long for some percent.
const BROTLI_QUALITY: i32 = 9;

fn brotli(bytes: &[u8]) -> Option<Vec<u8>> {
    let parameters = brotli::enc::BrotliEncoderParams {
        quality: BROTLI_QUALITY,
        size_hint: bytes.len(),
        ..Default::default()
    };
    let mut coded = Vec::new();
    brotli::BrotliCompress(&mut &*bytes, &mut coded, &parameters).ok()?;
    Some(coded)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    fn decoded(coding: Coding, coded: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        match coding {
            Coding::Gzip => flate2::read::GzDecoder::new(coded).read_to_end(&mut bytes).unwrap(),
            Coding::Brotli => {
                brotli::Decompressor::new(coded, 4096).read_to_end(&mut bytes).unwrap()
            }
        };
        bytes
    }

    #[test]
    fn what_is_coded_is_what_was_there() {
        let text = "a line of text\n".repeat(1_000);
        let file = File::new("/a.txt", text.clone().into());
        for coding in Coding::ALL {
            assert_eq!(file.coded_already(coding), None);
            let coded = file.coded(coding).unwrap();
            assert!(coded.len() < text.len() / 10);
            assert_eq!(decoded(coding, &coded), text.as_bytes());
            assert_eq!(file.coded_already(coding), Some(Some(coded)));
        }
    }

    #[test]
    fn what_does_not_get_smaller_stays_as_it_is() {
        // Text by its name, and noise by its bytes.
        let mut state = 1_u32;
        let noise: Vec<u8> = std::iter::repeat_with(|| {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            state.to_le_bytes()[0]
        })
        .take(4_096)
        .collect();
        let file = File::new("/a.txt", noise.into());
        assert!(file.is_codable());
        for coding in Coding::ALL {
            assert_eq!(file.coded(coding), None);
            assert_eq!(file.coded_already(coding), Some(None));
        }
    }

    #[test]
    fn small_large_and_compressed_files_are_not_coded() {
        let codable =
            |name: &str, bytes: usize| File::new(name, vec![0; bytes].into()).is_codable();
        assert!(codable("/a.css", CODED_FILE_BYTES_MIN));
        assert!(!codable("/a.css", CODED_FILE_BYTES_MIN - 1));
        assert!(codable("/a.css", CODED_FILE_BYTES_MAX));
        assert!(!codable("/a.css", CODED_FILE_BYTES_MAX + 1));
        assert!(!codable("/a.png", CODED_FILE_BYTES_MIN));
    }
}
