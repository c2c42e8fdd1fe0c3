//! The rules that need no parser: how a file opens, how long its lines are, and that no text names
//! a folder of one machine.

use crate::finding::{Finding, Rule};
use crate::limits::{COLUMNS_MAX, MACHINE_FOLDERS};

/// Applies them to one text file.
pub fn check(path: &str, text: &str) -> Vec<Finding> {
    let mut findings = machine_paths(path, text);
    if path.ends_with(".rs") || path.ends_with(".js") {
        findings.extend(opening(path, text));
        findings.extend(long_lines(path, text));
    }
    findings
}

fn opening(path: &str, text: &str) -> Option<Finding> {
    let expected: &[&str] = if path.ends_with(".rs") { &["//!"] } else { &["//", "/*"] };
    if expected.iter().any(|start| text.starts_with(start)) {
        return None;
    }
    let what = format!(
        "the first line must start with `{}` and say what the file is responsible for",
        expected.join("` or `")
    );
    Some(Finding::new(path, 1, Rule::OpeningComment, what))
}

fn long_lines(path: &str, text: &str) -> Vec<Finding> {
    let lines = text.lines().enumerate();
    let columns = lines.map(|(index, line)| (index + 1, line.chars().count()));
    columns
        .filter(|(_, columns)| *columns > COLUMNS_MAX)
        .map(|(line, columns)| {
            let what = format!("{columns} columns, at most {COLUMNS_MAX}");
            Finding::new(path, line, Rule::LineLength, what)
        })
        .collect()
}

fn machine_paths(path: &str, text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (index, line) in text.lines().enumerate() {
        for folder in MACHINE_FOLDERS.iter().filter(|folder| names_machine_folder(line, folder)) {
            let what = format!("/{folder}/ is a folder of one machine; use a relative path");
            findings.push(Finding::new(path, index + 1, Rule::MachinePath, what));
        }
    }
    findings
}

/// Whether `line` holds `/folder/` at the start of a path. Within a path or URL it is harmless.
fn names_machine_folder(line: &str, folder: &str) -> bool {
    let needle = format!("/{folder}/");
    line.match_indices(&needle).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        !before.is_some_and(|c| c.is_alphanumeric() || matches!(c, '.' | '_' | '-' | '/' | '}'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(path: &str, text: &str) -> Vec<(usize, Rule)> {
        check(path, text).into_iter().map(|finding| (finding.line, finding.rule)).collect()
    }

    #[test]
    fn a_file_opens_with_its_purpose() {
        assert_eq!(rules("a.rs", "//! Says it.\nfn f() {}\n"), []);
        assert_eq!(rules("a.rs", "// not a doc\n"), [(1, Rule::OpeningComment)]);
        assert_eq!(rules("a.rs", "\n//! too late\n"), [(1, Rule::OpeningComment)]);
        assert_eq!(rules("a.rs", ""), [(1, Rule::OpeningComment)]);
        assert_eq!(rules("a.js", "// Says it.\n"), []);
        assert_eq!(rules("a.js", "let a;\n"), [(1, Rule::OpeningComment)]);
    }

    #[test]
    fn lines_are_counted_in_columns() {
        let limit = "ä".repeat(COLUMNS_MAX - 3);
        assert_eq!(rules("a.rs", &format!("//!{limit}\n")), [], "the limit itself is allowed");
        assert_eq!(rules("a.rs", &format!("//!\n//!{limit}x\n")), [(2, Rule::LineLength)]);
        assert_eq!(rules("a.js", &format!("// {limit}x\n")), [(1, Rule::LineLength)]);
        assert_eq!(rules("a.md", &"x".repeat(900)), []);
    }

    #[test]
    fn machine_paths_are_found_where_they_start() {
        for folder in MACHINE_FOLDERS {
            let start = format!("see /{folder}/a");
            assert_eq!(rules("a.md", &start), [(1, Rule::MachinePath)], "{start}");
            for harmless in [format!("a/{folder}/b"), format!("http://host/{folder}/")] {
                assert_eq!(rules("a.md", &harmless), [], "{harmless}");
            }
        }
    }
}
