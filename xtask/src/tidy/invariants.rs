//! The numbered invariants of ARCHITECTURE.md: each names the tests that hold it, after `holds:`,
//! as `path/of/file.rs::test_name`. It checks that they exist; that they hold it is for review.

use super::ARCHITECTURE;
use crate::finding::{Finding, Rule};

/// The heading that the numbered list stands under.
const HEADING: &str = "## Invariants";

/// One numbered entry: the line it starts at, and its text.
struct Invariant {
    line: usize,
    text: String,
}

/// Checks the list in `text`; `read` gives the text of a file of the repository.
pub fn check<'a>(text: &str, read: impl Fn(&str) -> Option<&'a str>) -> Vec<Finding> {
    let invariants = invariants(text);
    if invariants.is_empty() {
        let what = format!("expected a numbered list under \"{HEADING}\"");
        return vec![Finding::new(ARCHITECTURE, 1, Rule::Invariant, what)];
    }
    let whats = invariants.iter().flat_map(|one| {
        problems(&one.text, &read).into_iter().map(|what| (one.line, what)).collect::<Vec<_>>()
    });
    whats.map(|(line, what)| Finding::new(ARCHITECTURE, line, Rule::Invariant, what)).collect()
}

fn invariants(text: &str) -> Vec<Invariant> {
    let mut found: Vec<Invariant> = Vec::new();
    let lines = text.lines().enumerate().skip_while(|(_, line)| line.trim() != HEADING).skip(1);
    for (index, line) in lines.take_while(|(_, line)| !line.starts_with('#')) {
        if starts_entry(line) {
            found.push(Invariant { line: index + 1, text: line.to_owned() });
        } else if let Some(open) = found.last_mut() {
            open.text.push('\n');
            open.text.push_str(line);
        }
    }
    found
}

/// Whether `line` starts with a number and a full stop.
fn starts_entry(line: &str) -> bool {
    let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
    rest.len() < line.len() && rest.starts_with(". ")
}

fn problems<'a>(text: &str, read: impl Fn(&str) -> Option<&'a str>) -> Vec<String> {
    let Some((_, tests)) = text.split_once("holds:") else {
        return vec!["names no test; add `holds: path/of/file.rs::test_name`".into()];
    };
    let tests: Vec<&str> = tests
        .split(|c: char| c.is_whitespace() || matches!(c, ',' | '`'))
        .filter(|word| word.contains("::"))
        .collect();
    if tests.is_empty() {
        return vec!["`holds:` is followed by no `path/of/file.rs::test_name`".into()];
    }
    tests.into_iter().filter_map(|test| problem(test, &read)).collect()
}

fn problem<'a>(test: &str, read: impl Fn(&str) -> Option<&'a str>) -> Option<String> {
    let (path, name) = test.rsplit_once("::")?;
    let name = name.trim_end_matches(['.', ';', ')']);
    match read(path) {
        None => Some(format!("`{path}` is not a file of the repository")),
        Some(text) if !text.contains(&format!("fn {name}(")) => {
            Some(format!("`{path}` has no test `{name}`"))
        }
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whats(list: &str) -> Vec<String> {
        let text =
            format!("# Map\n1. Not an invariant.\n\n## Invariants\n{list}\n## Next\n2. No.\n");
        let read = |path: &str| (path == "a/tests/b.rs").then_some("#[test]\nfn it_holds() {}");
        check(&text, read).into_iter().map(|f| format!("{} {}", f.line, f.what)).collect()
    }

    #[test]
    fn an_invariant_with_its_test_is_fine() {
        assert_eq!(whats("1. One.\n   holds: `a/tests/b.rs::it_holds`."), [""; 0]);
        assert_eq!(whats("1. One; holds: a/tests/b.rs::it_holds, a/tests/b.rs::it_holds"), [""; 0]);
    }

    #[test]
    fn what_does_not_exist_is_found() {
        assert_eq!(whats("1. One."), ["5 names no test; add `holds: path/of/file.rs::test_name`"]);
        let found =
            whats("1. Fine, holds: `a/tests/b.rs::it_holds`\n2. holds: a/tests/b.rs::it_hold");
        assert_eq!(found, ["6 `a/tests/b.rs` has no test `it_hold`"]);
        let found = whats("1. holds: `a/c.rs::it_holds`");
        assert_eq!(found, ["5 `a/c.rs` is not a file of the repository"]);
        assert_eq!(whats("1. holds: nothing").len(), 1);
        assert_eq!(whats("none").len(), 1);
    }
}
