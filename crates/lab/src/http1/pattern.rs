//! Bytes with places left open: `{key}`, `{other}` and `{nonce}`, filled in anew for every hit. It
//! draws no numbers itself.

/// What one hit fills in.
#[derive(Clone, Copy)]
pub(crate) struct Draw {
    /// For `{key}`, in decimal.
    pub(crate) key: u64,
    /// For `{other}`, in decimal.
    pub(crate) other: u64,
    /// For `{nonce}`, as 16 hexadecimal digits.
    pub(crate) nonce: u64,
}

/// Bytes in which every `{key}`, `{other}` and `{nonce}` stands for a number.
pub(crate) struct Pattern {
    pieces: Vec<Piece>,
}

enum Piece {
    Text(Vec<u8>),
    Key,
    Other,
    Nonce,
}

const NONCE_DIGITS: usize = 16;

impl Pattern {
    /// Finds the open places. Other braces are ordinary bytes.
    pub(crate) fn parse(source: &[u8]) -> Self {
        let mut pieces = Vec::new();
        let (mut text_start, mut at) = (0, 0);
        while let Some(brace) = source[at..].iter().position(|byte| *byte == b'{') {
            at += brace;
            let Some((place, bytes)) = place(&source[at..]) else {
                at += 1;
                continue;
            };
            pieces.push(Piece::Text(source[text_start..at].to_vec()));
            pieces.push(place);
            at += bytes;
            text_start = at;
        }
        pieces.push(Piece::Text(source[text_start..].to_vec()));
        Self { pieces }
    }

    /// How many bytes [`Pattern::render`] appends for the same draw.
    pub(crate) fn rendered_bytes(&self, draw: Draw) -> usize {
        let bytes = |piece: &Piece| match piece {
            Piece::Text(text) => text.len(),
            Piece::Key => decimal_digits(draw.key),
            Piece::Other => decimal_digits(draw.other),
            Piece::Nonce => NONCE_DIGITS,
        };
        self.pieces.iter().map(bytes).sum()
    }

    /// Appends the bytes with the numbers filled in.
    pub(crate) fn render(&self, out: &mut Vec<u8>, draw: Draw) {
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => out.extend_from_slice(text),
                Piece::Key => push_decimal(out, draw.key),
                Piece::Other => push_decimal(out, draw.other),
                Piece::Nonce => push_nonce(out, draw.nonce),
            }
        }
    }
}

/// The open place that `source` begins with, and its length in bytes.
fn place(source: &[u8]) -> Option<(Piece, usize)> {
    let places = [(Piece::Key, "{key}"), (Piece::Other, "{other}"), (Piece::Nonce, "{nonce}")];
    let mut found = places.into_iter().filter(|(_, name)| source.starts_with(name.as_bytes()));
    found.next().map(|(place, name)| (place, name.len()))
}

fn decimal_digits(number: u64) -> usize {
    number.checked_ilog10().unwrap_or(0) as usize + 1
}

/// Appends a number in decimal. The formatting machinery would cost more than the request.
pub(crate) fn push_decimal(out: &mut Vec<u8>, mut number: u64) {
    let start = out.len();
    loop {
        out.push(b'0' + (number % 10) as u8);
        number /= 10;
        if number == 0 {
            break;
        }
    }
    out[start..].reverse();
}

fn push_nonce(out: &mut Vec<u8>, nonce: u64) {
    let digit = |place: usize| b"0123456789abcdef"[(nonce >> (4 * place)) as usize & 0xF];
    out.extend((0..NONCE_DIGITS).rev().map(digit));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rendered(source: &str, key: u64, nonce: u64) -> String {
        let pattern = Pattern::parse(source.as_bytes());
        let draw = Draw { key, other: key / 2, nonce };
        let mut out = b">".to_vec();
        pattern.render(&mut out, draw);
        assert_eq!(out.len() - 1, pattern.rendered_bytes(draw), "{source}");
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn fills_in_every_place() {
        assert_eq!(rendered("/db/{key}/{key}", 907, 0), ">/db/907/907");
        assert_eq!(rendered("{nonce}{key}", 0, 0xAB), ">00000000000000ab0");
        assert_eq!(rendered("{key}>{other}", 24, 0), ">24>12");
        assert_eq!(rendered("{nonce}", 0, u64::MAX), ">ffffffffffffffff");
        assert_eq!(rendered("{key}", u64::MAX, 0), format!(">{}", u64::MAX));
    }

    #[test]
    fn leaves_other_braces_alone() {
        for text in ["", "{", "{}", "{\"key\":{\"a\":1}}", "{keys}", "{key", "{ key}"] {
            assert_eq!(rendered(text, 1, 2), format!(">{text}"));
        }
        assert_eq!(rendered("{{key}}", 5, 0), ">{5}");
    }

    #[test]
    fn counts_decimal_digits() {
        for key in [0, 9, 10, 99, 100, 12345] {
            assert_eq!(rendered("{key}", key, 0), format!(">{key}"));
        }
    }
}
