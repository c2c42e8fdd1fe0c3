//! A text in which ranges are to be blanked and single characters put: what is done to it, apart
//! from why.

/// What becomes of a byte that begins a character.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mark {
    Kept,
    Blank,
    /// This ASCII character stands there instead.
    Put(u8),
}

/// The text with its marks.
pub(super) struct Marks<'a> {
    text: &'a str,
    marks: Vec<Mark>,
}

impl<'a> Marks<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, marks: vec![Mark::Kept; text.len()] }
    }

    /// Blanks from byte `start` up to `end`. What was put stays.
    pub(super) fn blank(&mut self, start: usize, end: usize) {
        for mark in &mut self.marks[start..end] {
            if *mark == Mark::Kept {
                *mark = Mark::Blank;
            }
        }
    }

    /// Puts an ASCII character in the place of the one at `at`.
    pub(super) fn put(&mut self, at: usize, character: u8) {
        self.marks[at] = Mark::Put(character);
    }

    /// Whether there is a line terminator (ECMA-262 §12.3) from byte `start` up to `end`.
    pub(super) fn has_line_break(&self, start: usize, end: usize) -> bool {
        self.text[start..end].contains(is_line_break)
    }

    /// The text as it is marked. Each character that is blanked becomes one space: lines and
    /// columns are counted in characters. Line terminators stay.
    pub(super) fn into_text(self) -> String {
        let mut text = String::with_capacity(self.text.len());
        for (at, character) in self.text.char_indices() {
            text.push(match self.marks[at] {
                Mark::Put(put) => char::from(put),
                Mark::Blank if !is_line_break(character) => ' ',
                _ => character,
            });
        }
        text
    }
}

fn is_line_break(character: char) -> bool {
    matches!(character, '\n' | '\r' | '\u{2028}' | '\u{2029}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_become_spaces_and_lines_stay() {
        let mut marks = Marks::new("a: ü𝒳\n\tb");
        marks.put(1, b';');
        marks.blank(1, 11);
        assert!(marks.has_line_break(1, 11));
        assert!(!marks.has_line_break(0, 9));
        assert_eq!(marks.into_text(), "a;   \n b");
    }
}
