//! Tables that grow by some rows a second, as comma-separated values (RFC 4180) with a head. What
//! could not be written as a whole is taken back, so that a full disk leaves no half row.

use super::error::{ArchiveError, writing};
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

/// A file that is written at its end only.
pub(super) struct Growing {
    path: PathBuf,
    file: File,
    /// Bytes that are whole.
    bytes: u64,
}

impl Growing {
    /// A new file that begins so.
    pub(super) fn create(path: &Path, head: &[u8]) -> Result<Self, ArchiveError> {
        let file = File::create(path).map_err(writing(path))?;
        let mut growing = Self { path: path.to_owned(), file, bytes: 0 };
        growing.append(head)?;
        Ok(growing)
    }

    /// Adds all of it or nothing.
    pub(super) fn append(&mut self, bytes: &[u8]) -> Result<(), ArchiveError> {
        match self.file.write_all(bytes) {
            Ok(()) => {
                self.bytes += bytes.len() as u64;
                Ok(())
            }
            Err(source) => {
                // If this fails as well there is nothing more to be done: the first error is told.
                let _half_a_row_stays = self.file.set_len(self.bytes);
                Err(ArchiveError::Write { path: self.path.clone(), source })
            }
        }
    }
}

/// Rows under construction.
#[derive(Default)]
pub(super) struct Rows {
    text: String,
    cells: Vec<String>,
}

impl Rows {
    /// A cell with a text.
    pub(super) fn text(&mut self, value: &str) -> &mut Self {
        let is_plain = !value.contains([',', '"', '\n', '\r']);
        let quoted = || format!("\"{}\"", value.replace('"', "\"\""));
        self.cells.push(if is_plain { value.to_owned() } else { quoted() });
        self
    }

    /// A cell with a whole number.
    pub(super) fn count(&mut self, value: u64) -> &mut Self {
        self.cells.push(value.to_string());
        self
    }

    /// A cell with a number; empty if there is none.
    pub(super) fn number(&mut self, value: Option<f64>) -> &mut Self {
        let written = |value: f64| {
            // Six digits behind the point: a nanosecond, where the unit is a millisecond.
            let text = format!("{value:.6}");
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        };
        self.cells.push(value.filter(|value| value.is_finite()).map(written).unwrap_or_default());
        self
    }

    /// Ends the row.
    pub(super) fn end(&mut self) {
        self.text.push_str(&self.cells.join(","));
        self.text.push('\n');
        self.cells.clear();
    }

    /// All rows.
    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.text.into_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_quoted_where_they_must() {
        let mut rows = Rows::default();
        rows.text("a").text("b,\"c\"").count(7).number(Some(0.25)).number(None).end();
        rows.number(Some(100.0)).number(Some(f64::NAN)).number(Some(0.000_000_1)).end();
        let text = String::from_utf8(rows.into_bytes()).unwrap();
        assert_eq!(text, "a,\"b,\"\"c\"\"\",7,0.25,\n100,,0\n");
    }
}
