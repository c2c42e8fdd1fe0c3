//! The lines of the application around a place, with the place marked.

use crate::limits::{CODE_LINE_CHARS_MAX, CODE_LINES_AROUND};

/// A few lines of a module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeFrame {
    /// The number of the first of `lines`, from 1.
    pub first_line: usize,
    /// The lines, without their ends. A long one is cut on both sides, as the others are then: all
    /// begin with the same column.
    pub lines: Vec<String>,
    /// The line of the place.
    pub line: usize,
    /// The place in that line as it is shown, in characters, from 1.
    pub column: usize,
}

impl CodeFrame {
    /// The lines around `line` and `column`, from 1, of `text`; `None` if there is no such line.
    pub fn around(text: &str, line: usize, column: usize) -> Option<Self> {
        let first_line = line.saturating_sub(CODE_LINES_AROUND).max(1);
        let last_line = line + CODE_LINES_AROUND;
        let lines = || text.lines().skip(first_line - 1).take(last_line - first_line + 1);
        lines().nth(line.checked_sub(first_line)?)?;
        // A module may be one line of a million characters.
        let left = column.saturating_sub(CODE_LINE_CHARS_MAX / 2);
        let left = if column > CODE_LINE_CHARS_MAX { left } else { 0 };
        let cut = |line: &str| -> String {
            let shown = line.chars().skip(left).take(CODE_LINE_CHARS_MAX);
            shown.map(|c| if c.is_control() { ' ' } else { c }).collect()
        };
        let lines = lines().map(cut).collect();
        Some(Self { first_line, lines, line, column: column.saturating_sub(left).max(1) })
    }

    /// As text: numbered lines, the one of the place with `>`, and `^` below the place.
    pub fn text(&self) -> String {
        let last = self.first_line + self.lines.len() - 1;
        let width = last.to_string().len();
        let mut text = String::new();
        for (number, line) in (self.first_line..).zip(&self.lines) {
            let mark = if number == self.line { '>' } else { ' ' };
            text.push_str(format!("{mark} {number:width$} | {line}").trim_end());
            text.push('\n');
            if number == self.line {
                let before = " ".repeat(self.column - 1);
                text.push_str(&format!("  {:width$} | {before}^\n", ""));
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "one\ntwo\nthree\n\tfour;\nfive\nsix\nseven\neight\nnine\nten\n";

    #[test]
    fn the_place_is_marked_among_its_neighbours() {
        let frame = CodeFrame::around(TEXT, 4, 2).unwrap();
        let expected = "  1 | one\n  2 | two\n  3 | three\n> 4 |  four;\n    |  ^\n  5 | five\n\
                        \x20 6 | six\n  7 | seven\n";
        assert_eq!(frame.text(), expected);
        let last = CodeFrame::around(TEXT, 10, 1).unwrap().text();
        assert!(last.starts_with("   7 | seven\n") && last.contains("> 10 | ten\n     | ^\n"));
        assert!(CodeFrame::around(TEXT, 1, 9).unwrap().text().starts_with("> 1 | one\n"));
    }

    #[test]
    fn what_is_not_there_has_no_frame() {
        assert_eq!(CodeFrame::around(TEXT, 11, 1), None);
        assert_eq!(CodeFrame::around(TEXT, 0, 1), None);
        assert_eq!(CodeFrame::around("", 1, 1), None);
    }

    #[test]
    fn long_lines_are_cut_around_the_place() {
        let text = format!("{}X{}", "ü".repeat(5_000), "ü".repeat(5_000));
        let frame = CodeFrame::around(&text, 1, 5_001).unwrap();
        assert_eq!(frame.lines[0].chars().count(), CODE_LINE_CHARS_MAX);
        assert_eq!(frame.lines[0].chars().nth(frame.column - 1), Some('X'));
    }
}
