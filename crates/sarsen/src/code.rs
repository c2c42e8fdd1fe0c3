//! The lines of an application's file around a place that a message names.

use gem::CodeFrame;
use std::fs;

/// The lines around `place`, which is `file:line:column` as messages have it; `None` if it names no
/// place, or the file cannot be read any more.
pub fn frame(place: &str) -> Option<CodeFrame> {
    let mut parts = place.rsplitn(3, ':');
    let (column, line) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
    let text = fs::read_to_string(parts.next()?).ok()?;
    CodeFrame::around(&text, line, column)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_leads_to_its_lines() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("a:b.js");
        fs::write(&file, "one\ntwo\n").expect("a file");
        let shown = frame(&format!("{}:2:3", file.display())).expect("a frame");
        assert_eq!(shown.text(), "  1 | one\n> 2 | two\n    |   ^\n");
        assert_eq!(frame(&file.display().to_string()), None);
        assert_eq!(frame("nowhere.js:1:1"), None);
    }
}
