//! Texts with open places, and what may stand in them. What is used and what is extracted is noted
//! in its order, so that `reach` can tell what is used too early.

use super::files::Files;
use super::mistakes::{Book, hint};
use super::section::Value;
use super::text::{Part, parts};
use crate::limits::{LETTERS_MAX, ZIPF_EXPONENT_MAX, ZIPF_KEYS_MAX};
use crate::plan::{Coding, DataFile, MadeKind, Piece, Template, Zipf};
use std::cell::RefCell;
use std::fmt::Write;
use std::ops::Range;

/// How deep constants may name constants.
const DEPTH_MAX: usize = 8;

/// Places that are always there, as they are written.
const PLACES: [&str; 13] = [
    "key",
    "other",
    "nonce",
    "user",
    "iteration",
    "random:FROM-TO",
    "letters:COUNT",
    "zipf:COUNT,EXPONENT",
    "made:entry",
    "byte:HEX",
    "percent:NAME",
    "json:NAME",
    "word:NAME",
];

/// What may be made.
const MADE: [MadeKind; 5] =
    [MadeKind::Entry, MadeKind::Inside, MadeKind::Media, MadeKind::Type, MadeKind::Slug];

/// What templates may name.
pub(super) struct Scope<'a> {
    book: &'a Book<'a>,
    files: &'a Files<'a>,
    /// What is extracted somewhere; the numbers are those of the plan.
    variables: &'a [String],
    /// Those of them that are addresses.
    urls: &'a [String],
    data: &'a [DataFile],
    trail: RefCell<Vec<Event>>,
}

/// Something that a step does with a variable.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Event {
    pub(super) variable: usize,
    /// Where it stands.
    pub(super) span: Range<usize>,
    /// Whether it has a value afterwards; otherwise, it is used.
    pub(super) is_set: bool,
}

/// Whether a name is taken by a place that is always there.
pub(super) fn is_taken(name: &str) -> bool {
    PLACES.iter().any(|place| word(place) == name)
}

fn word(place: &str) -> &str {
    place.split(':').next().unwrap_or(place)
}

impl<'a> Scope<'a> {
    pub(super) fn new(
        book: &'a Book<'a>,
        files: &'a Files<'a>,
        (variables, urls): (&'a [String], &'a [String]),
        data: &'a [DataFile],
    ) -> Self {
        Self { book, files, variables, urls, data, trail: RefCell::default() }
    }

    pub(super) fn files(&self) -> &Files<'a> {
        self.files
    }

    /// Whether a path begins with an address that a reply has said.
    pub(super) fn begins_with_url(&self, path: &Template) -> bool {
        match path.pieces.first() {
            Some(Piece::Variable(number)) => self.urls.contains(&self.variables[*number]),
            _ => false,
        }
    }

    /// How much was done with variables since the last call of [`Self::take_trail`].
    pub(super) fn trail_len(&self) -> usize {
        self.trail.borrow().len()
    }

    /// What was done with variables since the last call.
    pub(super) fn take_trail(&self) -> Vec<Event> {
        self.trail.take()
    }

    pub(super) fn add_trail(&self, events: impl IntoIterator<Item = Event>) {
        self.trail.borrow_mut().extend(events);
    }

    /// The number of a variable that is extracted at `span`.
    pub(super) fn extracted(&self, name: &str, span: &Range<usize>, is_set: bool) -> Option<usize> {
        let variable = self.variables.iter().position(|known| known == name)?;
        if is_set {
            self.add_trail([Event { variable, span: span.clone(), is_set }]);
        }
        Some(variable)
    }

    /// A text as it is sent.
    pub(super) fn template(&self, value: &Value<'_>) -> Option<Template> {
        self.read(value, None)
    }

    /// A text of which everything but the letters, digits and `-._~` is percent-encoded.
    pub(super) fn percent_encoded(&self, value: &Value<'_>) -> Option<Template> {
        self.read(value, Some(Coding::Percent))
    }

    /// A text of the author's own, not of the file: the first value of a variable.
    pub(super) fn of_text(&self, text: &str) -> Result<Template, Vec<String>> {
        let reading = Reading {
            scope: self,
            coding: None,
            span: 0..0,
            pieces: RefCell::default(),
            faults: RefCell::default(),
        };
        reading.add(text, 0);
        let (pieces, faults) = (reading.pieces.into_inner(), reading.faults.into_inner());
        if faults.is_empty() { Ok(Template { pieces: joined(pieces) }) } else { Err(faults) }
    }

    fn read(&self, value: &Value<'_>, coding: Option<Coding>) -> Option<Template> {
        let raw = value.raw_text()?;
        let reading = Reading {
            scope: self,
            coding,
            span: value.span(),
            pieces: RefCell::default(),
            faults: RefCell::default(),
        };
        reading.add(raw, 0);
        let (pieces, faults) = (reading.pieces.into_inner(), reading.faults.into_inner());
        faults.iter().for_each(|fault| value.wrong(fault));
        faults.is_empty().then(|| Template { pieces: joined(pieces) })
    }
}

struct Reading<'r, 'a> {
    scope: &'r Scope<'a>,
    coding: Option<Coding>,
    span: Range<usize>,
    pieces: RefCell<Vec<Piece>>,
    faults: RefCell<Vec<String>>,
}

impl Reading<'_, '_> {
    fn add(&self, text: &str, depth: usize) {
        for part in parts(text) {
            match part {
                Part::Text(text) => self.push(Piece::Text(text.into_bytes())),
                Part::Place { name, arguments } => self.place(name, arguments, depth),
            }
        }
    }

    fn push(&self, piece: Piece) {
        let coded = match (self.coding, piece) {
            (Some(Coding::Percent), Piece::Text(text)) => {
                Piece::Text(percent_encoded(&text).into_bytes())
            }
            // These have letters and digits only.
            (Some(coding), piece @ (Piece::Variable(_) | Piece::Data { .. })) => {
                Piece::Coded(coding, Box::new(piece))
            }
            (_, piece) => piece,
        };
        self.pieces.borrow_mut().push(coded);
    }

    fn fault(&self, fault: String) {
        self.faults.borrow_mut().push(fault);
    }

    fn place(&self, name: &str, arguments: Option<&str>, depth: usize) {
        let constant = self.scope.book.constants().get(name).filter(|_| arguments.is_none());
        let is_variable = self.scope.variables.iter().any(|variable| variable == name);
        if let Some(constant) = constant.filter(|_| !is_variable) {
            if depth == DEPTH_MAX {
                self.fault(format!("`{{{name}}}`: variables name each other too deeply"));
                return;
            }
            return self.add(constant, depth + 1);
        }
        match self.piece(name, arguments) {
            Ok(piece) => self.push(piece),
            Err(why) => self.fault(why),
        }
    }

    fn piece(&self, name: &str, arguments: Option<&str>) -> Result<Piece, String> {
        let how = |name: &str| {
            let place = PLACES.iter().find(|place| word(place) == name);
            format!("expected a place like {{{}}}", place.unwrap_or(&name))
        };
        Ok(match (name, arguments) {
            ("key", None) => Piece::Key,
            ("other", None) => Piece::Other,
            ("nonce", None) => Piece::Nonce,
            ("user", None) => Piece::User,
            ("iteration", None) => Piece::Iteration,
            ("random", Some(range)) => self.random(range).ok_or_else(|| how(name))?,
            ("letters", Some(count)) => {
                let count = self.argument(count).parse().ok();
                let count = count.filter(|count| (1..=LETTERS_MAX).contains(count));
                let most = || format!("{}, with 1 to {LETTERS_MAX}", how(name));
                Piece::Letters(count.ok_or_else(most)?)
            }
            ("zipf", Some(both)) => self.zipf(both).ok_or_else(|| {
                format!("{}, with 1 to {ZIPF_KEYS_MAX} and 0 to {ZIPF_EXPONENT_MAX}", how(name))
            })?,
            ("made", Some(kind)) => {
                MADE.into_iter().find(|made| made.name() == kind).map(Piece::Made).ok_or_else(
                    || format!("{}, or inside, media, type or slug for entry", how(name)),
                )?
            }
            ("byte", Some(digits)) if digits.len() == 2 => {
                let byte = u8::from_str_radix(digits, 16).map_err(|_| how(name))?;
                Piece::Text(vec![byte])
            }
            ("percent", Some(name)) => self.coded(Coding::Percent, name)?,
            ("json", Some(name)) => self.coded(Coding::Json, name)?,
            ("word", Some(name)) => self.coded(Coding::Word, name)?,
            _ if is_taken(name) => return Err(how(name)),
            _ => return self.named(name, arguments),
        })
    }

    /// A number, or the constant of that name.
    fn argument(&self, text: &str) -> String {
        let constant = self.scope.book.constants().get(text);
        constant.cloned().unwrap_or_else(|| text.to_owned())
    }

    fn random(&self, range: &str) -> Option<Piece> {
        let (from, to) = range.split_once('-')?;
        let (from, to) = (self.argument(from).parse().ok()?, self.argument(to).parse().ok()?);
        (from <= to).then_some(Piece::Random(from, to))
    }

    fn zipf(&self, both: &str) -> Option<Piece> {
        let (count, exponent) = both.split_once(',')?;
        let count: u64 = self.argument(count).parse().ok()?;
        let exponent: f64 = self.argument(exponent).parse().ok()?;
        let fits =
            (1..=ZIPF_KEYS_MAX).contains(&count) && (0.0..=ZIPF_EXPONENT_MAX).contains(&exponent);
        fits.then(|| Piece::Zipf(Zipf::new(count, exponent)))
    }

    fn coded(&self, coding: Coding, name: &str) -> Result<Piece, String> {
        let piece = self.piece(name, None)?;
        Ok(Piece::Coded(coding, Box::new(piece)))
    }

    /// A variable, or a column of a data file.
    fn named(&self, name: &str, arguments: Option<&str>) -> Result<Piece, String> {
        let scope = self.scope;
        if arguments.is_none() {
            if let Some(variable) = scope.variables.iter().position(|known| known == name) {
                let span = self.span.clone();
                scope.add_trail([Event { variable, span, is_set: false }]);
                return Ok(Piece::Variable(variable));
            }
            let (file, column) = name.split_once('.').unwrap_or((name, ""));
            if let Some(number) = scope.data.iter().position(|data| data.name == file) {
                let rows = &scope.data[number].rows;
                let column = rows.column(column).ok_or_else(|| {
                    let hint = hint(column, rows.columns().iter().map(String::as_str));
                    format!("`{{{name}}}`: the data `{file}` has no column `{column}`{hint}")
                })?;
                return Ok(Piece::Data { file: number, column });
            }
        }
        let known = PLACES.iter().map(|place| word(place));
        let known = known.chain(scope.book.constants().keys().map(String::as_str));
        let known = known.chain(scope.variables.iter().map(String::as_str));
        let known = known.chain(scope.data.iter().map(|data| data.name.as_str()));
        let hint = hint(name, known.collect::<Vec<&str>>());
        let what = "is nothing that can be filled in";
        Err(format!("`{{{name}}}` {what}{hint}; write \\{{ for a brace"))
    }
}

impl Template {
    /// With `text` before it.
    pub(super) fn after(self, text: &str) -> Self {
        let first = Piece::Text(text.as_bytes().to_vec());
        Self { pieces: joined(std::iter::once(first).chain(self.pieces)) }
    }
}

/// Texts that follow each other are one.
fn joined(pieces: impl IntoIterator<Item = Piece>) -> Vec<Piece> {
    let mut joined: Vec<Piece> = Vec::new();
    for piece in pieces {
        match (joined.last_mut(), piece) {
            (Some(Piece::Text(text)), Piece::Text(more)) => text.extend(more),
            (_, piece) => joined.push(piece),
        }
    }
    joined
}

/// All but RFC 3986's unreserved characters as `%XX` (§2.1, §2.3).
pub(super) fn percent_encoded(text: &[u8]) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text {
        match byte.is_ascii_alphanumeric() || b"-._~".contains(byte) {
            true => encoded.push(char::from(*byte)),
            false => {
                let _a_string_takes_all = write!(encoded, "%{byte:02X}");
            }
        }
    }
    encoded
}
