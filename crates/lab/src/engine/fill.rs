//! Filling templates in, from what a user has at that moment.

use crate::plan::{Piece, Template};
use crate::random::Random;

/// What an operation fills in.
pub(crate) struct Fill<'a> {
    pub(crate) key: u64,
    pub(crate) other: u64,
    pub(crate) nonce: u64,
    pub(crate) user: u64,
    pub(crate) iteration: u64,
    pub(crate) random: &'a mut Random,
}

const LETTERS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

impl Fill<'_> {
    /// Appends `template`, filled in.
    pub(crate) fn render(&mut self, template: &Template, out: &mut Vec<u8>) {
        for piece in &template.pieces {
            match piece {
                Piece::Text(text) => out.extend_from_slice(text),
                Piece::Key => push_decimal(out, self.key),
                Piece::Other => push_decimal(out, self.other),
                Piece::Nonce => push_nonce(out, self.nonce),
                Piece::User => push_decimal(out, self.user),
                Piece::Iteration => push_decimal(out, self.iteration),
                Piece::Random(from, to) => {
                    let count = (to - from).saturating_add(1);
                    push_decimal(out, from + self.random.below(count));
                }
                Piece::Letters(count) => {
                    let letter = |random: &mut Random| LETTERS[random.below(62) as usize];
                    out.extend((0..*count).map(|_| letter(self.random)));
                }
            }
        }
    }
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
    out.extend((0..16).rev().map(digit));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rendered(pieces: Vec<Piece>) -> String {
        let mut random = Random::of_user(1, 1);
        let mut fill =
            Fill { key: 907, other: 0, nonce: 0xAB, user: 7, iteration: 12, random: &mut random };
        let mut out = b">".to_vec();
        fill.render(&Template { pieces }, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn every_piece_has_its_value() {
        let text = |text: &str| Piece::Text(text.as_bytes().to_vec());
        assert_eq!(rendered(vec![text("a"), Piece::Key, text("/"), Piece::Other]), ">a907/0");
        assert_eq!(rendered(vec![Piece::Nonce]), ">00000000000000ab");
        assert_eq!(rendered(vec![Piece::User, text(","), Piece::Iteration]), ">7,12");
        assert_eq!(rendered(vec![Piece::Random(5, 5)]), ">5");
        let letters = rendered(vec![Piece::Letters(40)]);
        assert_eq!(letters.len(), 41);
        assert!(letters[1..].bytes().all(|byte| byte.is_ascii_alphanumeric()));
    }

    #[test]
    fn decimal_digits() {
        for number in [0, 9, 10, 99, 100, 12345, u64::MAX] {
            let mut out = Vec::new();
            push_decimal(&mut out, number);
            assert_eq!(String::from_utf8(out).unwrap(), number.to_string());
        }
    }
}
