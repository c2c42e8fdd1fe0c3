//! Filling templates in, from what a user has at that moment.

use super::variables::Variables;
use crate::entries::Which;
use crate::plan::{Coding, DataFile, Entries, Piece, Template, Variable};
use crate::random::Random;
use std::fmt;

/// What an operation fills in.
pub(crate) struct Fill<'a> {
    pub(crate) key: u64,
    pub(crate) other: u64,
    pub(crate) nonce: u64,
    pub(crate) user: u64,
    pub(crate) iteration: u64,
    pub(crate) random: &'a mut Random,
    pub(crate) entries: &'a Entries,
    /// Of what is made of those.
    pub(crate) which: Which,
    pub(crate) variables: &'a Variables,
    pub(crate) data: &'a [DataFile],
    /// By data file.
    pub(crate) rows: &'a [usize],
    /// What is filled in.
    pub(crate) place: Place,
    /// The first thing that could not be filled in.
    pub(crate) fault: Option<Fault>,
}

/// What a template is part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// A path: no spaces, no control characters.
    Path,
    /// A field's value: no control characters but tabs.
    Field,
    /// A body, or anything else: whatever it is.
    Body,
}

/// Why a template cannot be filled in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The variable of this number has no value yet.
    Unset(usize),
    /// A byte must not be at that place.
    Byte(u8, Place),
}

impl Fault {
    /// In words, for somebody who knows the plan's variables.
    pub(crate) fn describe(self, variables: &[Variable]) -> String {
        match self {
            Self::Unset(number) => {
                format!("the variable \"{}\" has no value yet", variables[number].name)
            }
            Self::Byte(byte, place) => format!(
                "a value that was to be filled into {place} holds the byte {byte:#04x}, which \
                 must not be there; write it percent-encoded"
            ),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Path => "a path",
            Self::Field => "a header",
            Self::Body => "a body",
        })
    }
}

const LETTERS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

impl Fill<'_> {
    /// Appends `template`, filled in.
    pub(crate) fn render(&mut self, template: &Template, out: &mut Vec<u8>) {
        for piece in &template.pieces {
            self.push(piece, out);
        }
    }

    fn push(&mut self, piece: &Piece, out: &mut Vec<u8>) {
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
            Piece::Zipf(zipf) => push_decimal(out, zipf.draw(self.random)),
            Piece::Made(kind) => self.entries.make(*kind, self.which, out),
            Piece::Variable(number) => match self.variables.get(*number) {
                Some(value) => self.push_foreign(value, out),
                None => self.fail(Fault::Unset(*number)),
            },
            Piece::Data { file, column } => {
                let cell = self.data[*file].rows.cell(self.rows[*file], *column);
                self.push_foreign(cell, out);
            }
            Piece::Coded(coding, piece) => {
                let (start, place) = (out.len(), std::mem::replace(&mut self.place, Place::Body));
                self.push(piece, out);
                self.place = place;
                encode(*coding, start, out);
            }
        }
    }

    /// What comes from elsewhere could end a field, or a request's first line.
    fn push_foreign(&mut self, value: &[u8], out: &mut Vec<u8>) {
        let place = self.place;
        let forbidden = |byte: &&u8| match place {
            Place::Path => **byte <= b' ' || **byte == 0x7F,
            Place::Field => (**byte < b' ' && **byte != b'\t') || **byte == 0x7F,
            Place::Body => false,
        };
        if place != Place::Body
            && let Some(byte) = value.iter().find(forbidden)
        {
            self.fail(Fault::Byte(*byte, place));
        }
        out.extend_from_slice(value);
    }

    fn fail(&mut self, fault: Fault) {
        self.fault.get_or_insert(fault);
    }
}

/// Encodes what stands from `start` on.
fn encode(coding: Coding, start: usize, out: &mut Vec<u8>) {
    let plain = |byte: &u8| match coding {
        Coding::Percent => byte.is_ascii_alphanumeric() || b"-._~".contains(byte),
        Coding::Word => byte.is_ascii_lowercase(),
        Coding::Json => (b' '..0x7F).contains(byte) && *byte != b'"' && *byte != b'\\',
    };
    if out[start..].iter().all(plain) {
        return;
    }
    let raw = out.split_off(start);
    match coding {
        Coding::Percent => percent_encode(&raw, plain, out),
        Coding::Word => out.extend(raw.into_iter().filter_map(letter)),
        Coding::Json => json_escape(&raw, out),
    }
}

/// The small letter that stands for a byte in a word.
fn letter(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0' + b'a'),
        b'a'..=b'z' => Some(byte),
        _ => None,
    }
}

fn percent_encode(raw: &[u8], plain: impl Fn(&u8) -> bool, out: &mut Vec<u8>) {
    for byte in raw {
        if plain(byte) {
            out.push(*byte);
        } else {
            let digit = |half: u8| b"0123456789ABCDEF"[usize::from(half)];
            out.extend_from_slice(&[b'%', digit(byte >> 4), digit(byte & 0xF)]);
        }
    }
}

fn json_escape(raw: &[u8], out: &mut Vec<u8>) {
    for char in String::from_utf8_lossy(raw).chars() {
        match char {
            '"' | '\\' => out.extend_from_slice(&[b'\\', char as u8]),
            '\n' => out.extend_from_slice(b"\\n"),
            '\r' => out.extend_from_slice(b"\\r"),
            '\t' => out.extend_from_slice(b"\\t"),
            control if control < ' ' => {
                out.extend_from_slice(format!("\\u{:04x}", u32::from(control)).as_bytes());
            }
            char => out.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes()),
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
    use crate::plan::{Order, Rows, Zipf};
    use std::sync::Arc;

    /// Of the user 7, whose variables are "a b\n" and none.
    fn filled(pieces: Vec<Piece>, place: Place) -> (String, Option<Fault>) {
        let mut random = Random::of_user(1, 1);
        let mut variables = Variables::new(2);
        variables.set(0, b"a b\n");
        let rows = Arc::new(Rows::csv(b"x,y\n1,2\n3,\xC3\xBC\"\n").unwrap());
        let data = [DataFile { name: "d".into(), rows, order: Order::Next }];
        let mut fill = Fill {
            key: 907,
            other: 0,
            nonce: 0xAB,
            user: 7,
            iteration: 12,
            random: &mut random,
            entries: &Entries::default(),
            which: Which { seed: 1, worker: 7, number: 12 },
            variables: &variables,
            data: &data,
            rows: &[1],
            place,
            fault: None,
        };
        let mut out = b">".to_vec();
        fill.render(&Template { pieces }, &mut out);
        (String::from_utf8(out).unwrap(), fill.fault)
    }

    fn rendered(pieces: Vec<Piece>) -> String {
        filled(pieces, Place::Body).0
    }

    #[test]
    fn every_piece_has_its_value() {
        let text = |text: &str| Piece::Text(text.as_bytes().to_vec());
        assert_eq!(rendered(vec![text("a"), Piece::Key, text("/"), Piece::Other]), ">a907/0");
        assert_eq!(rendered(vec![Piece::Nonce]), ">00000000000000ab");
        assert_eq!(rendered(vec![Piece::User, text(","), Piece::Iteration]), ">7,12");
        assert_eq!(rendered(vec![Piece::Random(5, 5)]), ">5");
        assert_eq!(rendered(vec![Piece::Zipf(Zipf::new(1, 1.5))]), ">0");
        assert_eq!(rendered(vec![Piece::Made(crate::plan::MadeKind::Slug)]), ">w7s12");
        let letters = rendered(vec![Piece::Letters(40)]);
        assert_eq!(letters.len(), 41);
        assert!(letters[1..].bytes().all(|byte| byte.is_ascii_alphanumeric()));
        assert_eq!(rendered(vec![Piece::Variable(0)]), ">a b\n");
        let cell = |column| Piece::Data { file: 0, column };
        assert_eq!(rendered(vec![cell(0), cell(1)]), ">3ü\"");
    }

    #[test]
    fn values_are_written_for_their_surroundings() {
        let coded = |coding, piece| rendered(vec![Piece::Coded(coding, Box::new(piece))]);
        let cell = Piece::Data { file: 0, column: 1 };
        assert_eq!(coded(Coding::Percent, Piece::Variable(0)), ">a%20b%0A");
        assert_eq!(coded(Coding::Percent, cell.clone()), ">%C3%BC%22");
        assert_eq!(coded(Coding::Word, Piece::Text(b"907 zA-".to_vec())), ">jahz");
        assert_eq!(coded(Coding::Json, Piece::Variable(0)), ">a b\\n");
        assert_eq!(coded(Coding::Json, cell), ">ü\\\"");
        let all: Vec<u8> = (0..=0x7F).collect();
        let json = coded(Coding::Json, Piece::Text(all.clone()));
        let back: String = serde_json::from_str(&format!("\"{}\"", &json[1..])).unwrap();
        assert_eq!(back.as_bytes(), all);
    }

    #[test]
    fn what_cannot_be_filled_in_is_told() {
        let fault = |piece, place| filled(vec![piece], place).1;
        assert_eq!(fault(Piece::Variable(1), Place::Body), Some(Fault::Unset(1)));
        assert_eq!(fault(Piece::Variable(0), Place::Body), None);
        assert_eq!(fault(Piece::Variable(0), Place::Path), Some(Fault::Byte(b' ', Place::Path)));
        assert_eq!(fault(Piece::Variable(0), Place::Field), Some(Fault::Byte(b'\n', Place::Field)));
        let coded = Piece::Coded(Coding::Percent, Box::new(Piece::Variable(0)));
        assert_eq!(fault(coded, Place::Path), None);
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
