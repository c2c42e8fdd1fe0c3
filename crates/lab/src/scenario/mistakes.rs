//! What is wrong with a scenario, with its places. Reading goes on after a mistake, so that all of
//! them are told at once.

use crate::nearest;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

/// Something that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mistake {
    /// Line and column, both from 1, the column in characters; none if it is not in the file but
    /// on the command line.
    pub place: Option<(usize, usize)>,
    /// What was expected and what came.
    pub what: String,
}

/// A scenario that cannot be run: every mistake that is in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistakes {
    /// The file, as it was named.
    pub file: String,
    /// In the order of the file. Never empty.
    pub all: Vec<Mistake>,
}

impl fmt::Display for Mistakes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for mistake in &self.all {
            match mistake.place {
                Some((line, column)) => {
                    writeln!(f, "{}:{line}:{column}: {}", self.file, mistake.what)?;
                }
                None => writeln!(f, "{}", mistake.what)?,
            }
        }
        let count = self.all.len();
        write!(f, "{count} mistake{} in {}", if count == 1 { "" } else { "s" }, self.file)
    }
}

impl std::error::Error for Mistakes {}

/// The mistakes so far, and the constants that texts are filled in from.
pub(super) struct Book<'a> {
    text: &'a str,
    found: RefCell<Vec<Found>>,
    /// Of `[variables]` and `--set`.
    constants: BTreeMap<String, String>,
}

struct Found {
    at: Option<usize>,
    what: String,
    /// Something is not there: it may be there where the file cannot be read.
    is_missing: bool,
    is_syntax: bool,
}

impl<'a> Book<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, found: RefCell::default(), constants: BTreeMap::new() }
    }

    pub(super) fn constants(&self) -> &BTreeMap<String, String> {
        &self.constants
    }

    pub(super) fn define(&mut self, name: &str, value: String) {
        self.constants.insert(name.to_owned(), value);
    }

    /// Whether nothing is wrong so far.
    pub(super) fn is_empty(&self) -> bool {
        self.found.borrow().is_empty()
    }

    /// Notes what is wrong at a place.
    pub(super) fn wrong(&self, span: &Range<usize>, what: impl Into<String>) {
        self.note(Some(span.start), what.into(), false, false);
    }

    /// Notes that something is not there.
    pub(super) fn missing(&self, span: &Range<usize>, what: impl Into<String>) {
        self.note(Some(span.start), what.into(), true, false);
    }

    /// Notes a place that is not TOML.
    pub(super) fn unreadable(&self, span: &Range<usize>, what: impl Into<String>) {
        self.note(Some(span.start), what.into(), false, true);
    }

    /// Notes what is wrong with the command line.
    pub(super) fn outside(&self, what: impl Into<String>) {
        self.note(None, what.into(), false, false);
    }

    fn note(&self, at: Option<usize>, what: String, is_missing: bool, is_syntax: bool) {
        self.found.borrow_mut().push(Found { at, what, is_missing, is_syntax });
    }

    /// All of it, in the order of the file. Beside what cannot be read, nothing is called missing,
    /// and of a line that cannot be read nothing else is said.
    pub(super) fn close(self) -> Vec<Mistake> {
        let found = self.found.into_inner();
        let unreadable = found.iter().filter(|found| found.is_syntax);
        let lines: Vec<Option<usize>> =
            unreadable.map(|found| found.at.map(|at| position(self.text, at).0)).collect();
        let mistakes = found.into_iter().filter_map(|Found { at, what, is_missing, is_syntax }| {
            let place = at.map(|at| position(self.text, at));
            let line = place.map(|(line, _)| line);
            let doubtful = !lines.is_empty() && (is_missing || lines.contains(&line));
            (is_syntax || !doubtful).then_some(Mistake { place, what })
        });
        let mut mistakes: Vec<Mistake> = mistakes.collect();
        mistakes.sort();
        mistakes.dedup();
        mistakes
    }
}

/// "; did you mean `x`?", or the names that there are.
pub(super) fn hint<'n>(got: &str, names: impl IntoIterator<Item = &'n str> + Clone) -> String {
    match nearest::of(got, names.clone()) {
        Some(name) => format!("; did you mean `{name}`?"),
        None => {
            let names: Vec<&str> = names.into_iter().collect();
            match names.is_empty() {
                true => String::new(),
                false => format!("; expected one of {}", names.join(", ")),
            }
        }
    }
}

/// Line and column of a byte, both from 1, the column in characters.
fn position(text: &str, at: usize) -> (usize, usize) {
    let at = (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let before = &text[..at];
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
    (line, before[line_start..].chars().count() + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_count_lines_and_characters() {
        let text = "aä\nbc\n";
        let places = [0, 1, 2, 3, 4, 6, 7, 99].map(|at| position(text, at));
        let expected = [(1, 1), (1, 2), (1, 2), (1, 3), (2, 1), (2, 3), (3, 1), (3, 1)];
        assert_eq!(places, expected);
    }

    #[test]
    fn what_cannot_be_read_hides_only_what_hangs_on_it() {
        let book = Book::new("a\nb\nc\n");
        book.wrong(&(4..5), "c is wrong");
        book.wrong(&(2..3), "b is wrong");
        book.unreadable(&(2..3), "not TOML");
        book.missing(&(0..0), "d is missing");
        book.outside("no server");
        let said: Vec<(Option<(usize, usize)>, String)> =
            book.close().into_iter().map(|mistake| (mistake.place, mistake.what)).collect();
        let expected = [
            (None, "no server".to_owned()),
            (Some((2, 1)), "not TOML".to_owned()),
            (Some((3, 1)), "c is wrong".to_owned()),
        ];
        assert_eq!(said, expected);
    }
}
