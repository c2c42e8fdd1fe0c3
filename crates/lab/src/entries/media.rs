//! Bytes that look like a picture from their beginning: as much of a format's head as programs look
//! at to tell what it is, and noise behind it.

use crate::random::Random;

/// A format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MediaKind {
    Jpeg,
    Png,
    Gif,
}

/// JFIF 1.01 with one dot for each (ISO/IEC 10918-5 §6.1), then the begin of a comment that takes
/// the rest for one of 65,533 bytes.
const JPEG: &[u8] =
    b"\xFF\xD8\xFF\xE0\x00\x10JFIF\x00\x01\x01\x00\x00\x01\x00\x01\x00\x00\xFF\xFE\xFF\xFF";

/// The signature and the header of 16 by 16 dots of grey, with its check sum (ISO/IEC 15948 §5.2,
/// §11.2.2).
const PNG: &[u8] = b"\x89PNG\r\n\x1A\n\x00\x00\x00\x0DIHDR\x00\x00\x00\x10\x00\x00\x00\x10\
    \x08\x00\x00\x00\x00\x3A\x98\xA0\xBD";

/// The header of 16 by 16 dots without a table of colours (GIF89a §17, §18).
const GIF: &[u8] = b"GIF89a\x10\x00\x10\x00\x00\x00\x00";

impl MediaKind {
    /// In the order of the plan's weights.
    pub(super) const ALL: [Self; 3] = [Self::Jpeg, Self::Png, Self::Gif];

    pub(super) fn media_type(self) -> &'static str {
        match self {
            Self::Jpeg => "image/jpeg",
            Self::Png => "image/png",
            Self::Gif => "image/gif",
        }
    }

    pub(super) fn head(self) -> &'static [u8] {
        match self {
            Self::Jpeg => JPEG,
            Self::Png => PNG,
            Self::Gif => GIF,
        }
    }
}

/// Appends so many bytes, and at least the head.
pub(super) fn write(kind: MediaKind, size: usize, random: &mut Random, out: &mut Vec<u8>) {
    let end = out.len() + size.max(kind.head().len());
    out.reserve(end - out.len() + 8);
    out.extend_from_slice(kind.head());
    while out.len() < end {
        out.extend_from_slice(&random.number().to_le_bytes());
    }
    out.truncate(end);
}
