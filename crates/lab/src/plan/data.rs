//! Data files: rows that templates are filled in from. A file is read once and shared by all users;
//! a cell costs eight bytes beside its text. It opens no file.

use crate::limits::{DATA_BYTES_MAX, DATA_COLUMNS_MAX};
use std::sync::Arc;
use thiserror::Error;

/// A data file of a plan.
#[derive(Clone, Debug)]
pub struct DataFile {
    /// In messages.
    pub name: String,
    /// What is in it.
    pub rows: Arc<Rows>,
    /// Which row an operation takes.
    pub order: Order,
}

/// Which row of a data file an operation takes. Throughout the operation it is the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The user of number u takes rows u, u + users, u + 2 users, ..., from the beginning again
    /// when they are over: as long as they last, no row is taken twice. In the open model the
    /// arrival of number n takes row n.
    Next,
    /// Each as likely as the other.
    Random,
    /// Always the one of the user's number, or the rest of that divided by the number of rows.
    ByUser,
}

/// The rows of a data file.
#[derive(Debug, PartialEq, Eq)]
pub struct Rows {
    /// The names of the columns; one without a name if the file is one of lines.
    columns: Vec<String>,
    text: Vec<u8>,
    /// Where in `text` each cell begins and ends, row by row.
    cells: Vec<(u32, u32)>,
}

/// Why bytes are no data file.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum DataError {
    /// There is no row.
    #[error("expected at least one row, got none")]
    Empty,
    /// It is too large.
    #[error("expected at most {DATA_BYTES_MAX} bytes, got {0}")]
    TooLarge(usize),
    /// There are too many columns.
    #[error("expected at most {DATA_COLUMNS_MAX} columns, got {0}")]
    Columns(usize),
    /// A row is as wide as the first line is not.
    #[error("line {line}: expected {expected} cells like the first line, got {got}")]
    Cells {
        /// Where the row begins, from 1.
        line: usize,
        /// What the first line has.
        expected: usize,
        /// What came.
        got: usize,
    },
    /// Two columns have one name.
    #[error("line 1: the column \"{0}\" is named twice")]
    Twice(String),
    /// A quote that was opened is not closed.
    #[error("line {0}: the quote that opens here is never closed")]
    Open(usize),
    /// Something follows a closing quote.
    #[error("line {0}: expected a comma or the end of the line after a closing quote")]
    AfterQuote(usize),
}

impl Rows {
    /// A file of lines: each is a row of one cell. Empty lines are passed over.
    ///
    /// # Errors
    /// There are none, or too many bytes.
    pub fn lines(file: &[u8]) -> Result<Self, DataError> {
        check_size(file)?;
        let mut rows = Self { columns: vec![String::new()], text: Vec::new(), cells: Vec::new() };
        for line in file.split(|byte| *byte == b'\n') {
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            if !line.is_empty() {
                rows.push(line);
            }
        }
        rows.checked()
    }

    /// A CSV file (RFC 4180) whose first line has the names of the columns. Lines may end with CRLF
    /// or LF; empty ones are passed over.
    ///
    /// # Errors
    /// The first thing that is wrong, with its line.
    pub fn csv(file: &[u8]) -> Result<Self, DataError> {
        check_size(file)?;
        let file = file.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(file);
        let mut rows = Self { columns: Vec::new(), text: Vec::new(), cells: Vec::new() };
        let mut reader = Csv::new(file);
        let mut first = Vec::new();
        while let Some(last) = reader.cell()? {
            first.push(String::from_utf8_lossy(&reader.cell).into_owned());
            if last {
                break;
            }
        }
        if first.len() > DATA_COLUMNS_MAX {
            return Err(DataError::Columns(first.len()));
        }
        for (i, name) in first.iter().enumerate() {
            if first[..i].contains(name) {
                return Err(DataError::Twice(name.clone()));
            }
        }
        rows.columns = first;
        let (expected, mut got) = (rows.columns.len(), 0);
        while let Some(last) = reader.cell()? {
            got += 1;
            rows.push(&reader.cell);
            if last && got != expected {
                return Err(DataError::Cells { line: reader.row, expected, got });
            }
            got = if last { 0 } else { got };
        }
        rows.checked()
    }

    fn push(&mut self, cell: &[u8]) {
        // The file's size is bounded below 4 GiB, and cells are never longer than what they are of.
        let begin = self.text.len() as u32;
        self.text.extend_from_slice(cell);
        self.cells.push((begin, self.text.len() as u32));
    }

    fn checked(mut self) -> Result<Self, DataError> {
        self.text.shrink_to_fit();
        self.cells.shrink_to_fit();
        if self.cells.is_empty() { Err(DataError::Empty) } else { Ok(self) }
    }

    /// How many rows there are; at least one.
    pub fn count(&self) -> usize {
        self.cells.len() / self.columns.len()
    }

    /// The place of a column; nothing if there is none of that name. The one of a file of lines has
    /// the empty name.
    pub fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column == name)
    }

    /// The names of the columns.
    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    /// A cell.
    pub(crate) fn cell(&self, row: usize, column: usize) -> &[u8] {
        let (begin, end) = self.cells[row * self.columns.len() + column];
        &self.text[begin as usize..end as usize]
    }
}

fn check_size(file: &[u8]) -> Result<(), DataError> {
    if file.len() > DATA_BYTES_MAX { Err(DataError::TooLarge(file.len())) } else { Ok(()) }
}

struct Csv<'a> {
    file: &'a [u8],
    at: usize,
    /// The line that is read, from 1.
    line: usize,
    /// The line in which the row begins.
    row: usize,
    /// Whether the next cell is the first of a row.
    starts_row: bool,
    /// The cell that was read.
    cell: Vec<u8>,
}

impl<'a> Csv<'a> {
    fn new(file: &'a [u8]) -> Self {
        Self { file, at: 0, line: 1, row: 1, starts_row: true, cell: Vec::new() }
    }

    /// Reads a cell, and says whether it is the last of its row; nothing at the end of the file.
    fn cell(&mut self) -> Result<Option<bool>, DataError> {
        if self.starts_row {
            self.pass_empty_lines();
            if self.at == self.file.len() {
                return Ok(None);
            }
            self.row = self.line;
        }
        self.cell.clear();
        if self.file.get(self.at) == Some(&b'"') {
            self.quoted()?;
        } else {
            let rest = &self.file[self.at..];
            let end = rest.iter().position(|byte| matches!(byte, b',' | b'\n'));
            let mut cell = &rest[..end.unwrap_or(rest.len())];
            self.at += cell.len();
            if self.file.get(self.at) != Some(&b',') {
                cell = cell.strip_suffix(b"\r").unwrap_or(cell);
            }
            self.cell.extend_from_slice(cell);
        }
        self.starts_row = self.after_cell()?;
        Ok(Some(self.starts_row))
    }

    fn pass_empty_lines(&mut self) {
        loop {
            let rest = &self.file[self.at..];
            let bytes = match rest {
                [b'\n', ..] => 1,
                [b'\r', b'\n', ..] => 2,
                _ => return,
            };
            self.at += bytes;
            self.line += 1;
        }
    }

    fn quoted(&mut self) -> Result<(), DataError> {
        let opened = self.line;
        self.at += 1;
        loop {
            match self.file.get(self.at) {
                None => return Err(DataError::Open(opened)),
                Some(b'"') if self.file.get(self.at + 1) == Some(&b'"') => {
                    self.cell.push(b'"');
                    self.at += 2;
                }
                Some(b'"') => {
                    self.at += 1;
                    return Ok(());
                }
                Some(byte) => {
                    self.line += usize::from(*byte == b'\n');
                    self.cell.push(*byte);
                    self.at += 1;
                }
            }
        }
    }

    /// Passes over what ends a cell.
    fn after_cell(&mut self) -> Result<bool, DataError> {
        let bytes = match &self.file[self.at..] {
            [b',', ..] => {
                self.at += 1;
                return Ok(false);
            }
            [] => return Ok(true),
            [b'\n', ..] => 1,
            [b'\r', b'\n', ..] => 2,
            _ => return Err(DataError::AfterQuote(self.line)),
        };
        self.at += bytes;
        self.line += 1;
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cells(rows: &Rows) -> Vec<Vec<&str>> {
        let cell = |row, column| std::str::from_utf8(rows.cell(row, column)).unwrap();
        let row = |row| (0..rows.columns.len()).map(|column| cell(row, column)).collect();
        (0..rows.count()).map(row).collect()
    }

    fn csv(text: &str) -> Vec<Vec<String>> {
        let rows = Rows::csv(text.as_bytes()).unwrap();
        cells(&rows).into_iter().map(|row| row.into_iter().map(str::to_owned).collect()).collect()
    }

    #[test]
    fn lines_are_rows() {
        let rows = Rows::lines(b"one\r\n\ntwo \nthree").unwrap();
        assert_eq!(cells(&rows), [["one"], ["two "], ["three"]]);
        assert_eq!(rows.column(""), Some(0));
        assert_eq!(Rows::lines(b"\n\r\n"), Err(DataError::Empty));
    }

    #[test]
    fn cells_may_be_quoted() {
        assert_eq!(csv("a,b\n1,2\n"), [["1", "2"]]);
        assert_eq!(csv("\u{FEFF}a,b\r\n1,2"), [["1", "2"]]);
        assert_eq!(csv("a,b\n\"x,\"\"y\"\"\nz\",\n,\"\"\n"), [["x,\"y\"\nz", ""], ["", ""]]);
        assert_eq!(csv("a\n\n\r\n1\n\n2\n\n"), [["1"], ["2"]]);
        assert_eq!(csv("a,b\n1,"), [["1", ""]]);
        let rows = Rows::csv(b"id,name\n1,x").unwrap();
        assert_eq!((rows.column("name"), rows.column("no")), (Some(1), None));
    }

    #[test]
    fn says_what_is_wrong_in_which_line() {
        let refusal = |text: &str| Rows::csv(text.as_bytes()).unwrap_err();
        assert_eq!(refusal(""), DataError::Empty);
        assert_eq!(refusal("a,b\n"), DataError::Empty);
        let short = DataError::Cells { line: 5, expected: 2, got: 1 };
        assert_eq!(refusal("a,b\n\"1\n\",2\n\n3\n"), short);
        assert_eq!(refusal("a\n1,2"), DataError::Cells { line: 2, expected: 1, got: 2 });
        assert_eq!(refusal("a,a\n1,2"), DataError::Twice("a".into()));
        assert_eq!(refusal("a\n1\n\"2\n3"), DataError::Open(3));
        assert_eq!(refusal("a\n\"1\"2"), DataError::AfterQuote(2));
        let large = vec![0; DATA_BYTES_MAX + 1];
        assert_eq!(Rows::lines(&large), Err(DataError::TooLarge(large.len())));
        let many = vec!["c"; DATA_COLUMNS_MAX + 1].join(",");
        assert_eq!(refusal(&many), DataError::Columns(DATA_COLUMNS_MAX + 1));
    }
}
