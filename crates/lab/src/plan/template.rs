//! Text with places left open, filled in for each request with numbers drawn for the operation,
//! rows of data files and what was taken of replies. It is taken apart once; filling it in copies
//! bytes.

use super::entries::MadeKind;
use super::zipf::Zipf;

/// A text with places left open.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Template {
    /// In the order of the text.
    pub pieces: Vec<Piece>,
}

/// A part of a template.
#[derive(Clone, Debug, PartialEq)]
pub enum Piece {
    /// As it stands.
    Text(Vec<u8>),
    /// A number below the plan's `keys`, the same throughout the operation.
    Key,
    /// Another one; the same if there is no other.
    Other,
    /// 16 hexadecimal digits, another in each operation.
    Nonce,
    /// The user's number, from 0.
    User,
    /// How many operations the user has started before this one.
    Iteration,
    /// A whole number from the first to the second, drawn anew at each place.
    Random(u64, u64),
    /// So many letters and digits, drawn anew at each place.
    Letters(usize),
    /// A number by Zipf's law, drawn anew at each place.
    Zipf(Zipf),
    /// An entry or a medium that is made from the seed, the worker and the operation's number.
    Made(MadeKind),
    /// What the user has in one of the plan's variables.
    Variable(usize),
    /// A cell of the row that the operation has of one of the plan's data files.
    Data {
        /// Which file.
        file: usize,
        /// Which column.
        column: usize,
    },
    /// Something, written as its surroundings ask for.
    Coded(Coding, Box<Piece>),
}

/// How what is filled in is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coding {
    /// All but letters, digits and `-._~` percent-encoded (RFC 3986 §2.1): for paths, queries and
    /// forms.
    Percent,
    /// Digits as the letters a to j, and all else that is no small letter left out: names that are
    /// made of numbers.
    Word,
    /// Escaped for the inside of a JSON string (RFC 8259 §7). What is not UTF-8 becomes U+FFFD.
    Json,
}

impl Template {
    /// One that is always the same.
    pub fn fixed(text: impl Into<Vec<u8>>) -> Self {
        Self { pieces: vec![Piece::Text(text.into())] }
    }

    /// The text, if nothing is left open.
    pub fn as_fixed(&self) -> Option<&[u8]> {
        match self.pieces.as_slice() {
            [] => Some(b""),
            [Piece::Text(text)] => Some(text),
            _ => None,
        }
    }

    /// A text in which `{key}`, `{other}` and `{nonce}` are open places and all other braces are
    /// ordinary: what `sarsen bench` takes.
    pub fn of_hit(source: &[u8]) -> Self {
        let places = [("{key}", Piece::Key), ("{other}", Piece::Other), ("{nonce}", Piece::Nonce)];
        let mut pieces = Vec::new();
        let (mut text, mut rest) = (Vec::new(), source);
        while let Some((first, after)) = rest.split_first() {
            let found = places.iter().find(|(name, _)| rest.starts_with(name.as_bytes()));
            let Some((name, piece)) = found else {
                text.push(*first);
                rest = after;
                continue;
            };
            if !text.is_empty() {
                pieces.push(Piece::Text(std::mem::take(&mut text)));
            }
            pieces.push(piece.clone());
            rest = &rest[name.len()..];
        }
        if !text.is_empty() {
            pieces.push(Piece::Text(text));
        }
        Self { pieces }
    }

    /// What it may look like filled in, with one character in each open place.
    pub(super) fn sample(&self) -> Vec<u8> {
        let text = |piece: &Piece| match piece {
            Piece::Text(text) => text.clone(),
            _ => b"0".to_vec(),
        };
        self.pieces.iter().flat_map(text).collect()
    }

    /// The bytes that are there whatever is filled in.
    pub fn fixed_bytes(&self) -> usize {
        let bytes = |piece: &Piece| match piece {
            Piece::Text(text) => text.len(),
            Piece::Letters(letters) => *letters,
            _ => 0,
        };
        self.pieces.iter().map(bytes).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_places_of_a_hit() {
        let text = |text: &str| Piece::Text(text.as_bytes().to_vec());
        let pieces = |source: &str| Template::of_hit(source.as_bytes()).pieces;
        assert_eq!(
            pieces("/db/{key}/{other}"),
            [text("/db/"), Piece::Key, text("/"), Piece::Other]
        );
        assert_eq!(pieces("{nonce}"), [Piece::Nonce]);
        for plain in ["{", "{}", "{\"key\":{\"a\":1}}", "{keys}", "{key", "{ key}"] {
            assert_eq!(pieces(plain), [text(plain)]);
        }
        assert_eq!(pieces("{{key}}"), [text("{"), Piece::Key, text("}")]);
        assert_eq!(Template::of_hit(b"").as_fixed(), Some(&b""[..]));
        assert_eq!(Template::of_hit(b"a").as_fixed(), Some(&b"a"[..]));
        assert_eq!(Template::of_hit(b"{key}").as_fixed(), None);
    }
}
