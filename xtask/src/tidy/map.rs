//! The table of allowed dependencies in ARCHITECTURE.md against what the crates declare: neither
//! may have an edge that the other lacks. Which edges are wise is for people to decide.

use super::ARCHITECTURE;
use super::metadata::{Crate, Dependency};
use crate::finding::{Finding, Rule};
use std::collections::BTreeSet;

/// The table's heading, by which it is found.
const HEADING: [&str; 3] = ["crate", "may use of ours", "third-party"];

/// One row of the table.
struct Row {
    line: usize,
    name: String,
    allowed: BTreeSet<Dependency>,
}

/// Compares the table in `text` with `crates`.
pub fn check(text: &str, crates: &[Crate]) -> Vec<Finding> {
    let Some(rows) = rows(text) else {
        let what = format!("expected a table headed | {} |", HEADING.join(" | "));
        return vec![Finding::new(ARCHITECTURE, 1, Rule::Dependency, what)];
    };
    let mut findings = Vec::new();
    for row in &rows {
        match crates.iter().find(|one| one.name == row.name) {
            Some(one) => findings.extend(compare(row, one)),
            None => findings.push(at(row.line, format!("there is no crate `{}`", row.name))),
        }
    }
    let missing = crates.iter().filter(|one| !rows.iter().any(|row| row.name == one.name));
    findings.extend(missing.map(|one| at(1, format!("the table has no row for `{}`", one.name))));
    findings
}

fn compare(row: &Row, one: &Crate) -> Vec<Finding> {
    let declared: BTreeSet<Dependency> = one.dependencies.iter().cloned().collect();
    let extra = declared.difference(&row.allowed).map(|dependency| {
        at(row.line, format!("`{}` uses {}, not in its row", one.name, show(dependency)))
    });
    let stale = row.allowed.difference(&declared).map(|dependency| {
        at(row.line, format!("`{}` does not use {}; take it out", one.name, show(dependency)))
    });
    extra.chain(stale).collect()
}

fn at(line: usize, what: String) -> Finding {
    Finding::new(ARCHITECTURE, line, Rule::Dependency, what)
}

/// A dependency as the table writes it.
fn show(dependency: &Dependency) -> String {
    let kind = if dependency.ours { "our" } else { "third-party" };
    let suffix = if dependency.tests_only { " (tests)" } else { "" };
    format!("{kind} `{}`{suffix}", dependency.name)
}

fn rows(text: &str) -> Option<Vec<Row>> {
    let mut lines = text.lines().enumerate();
    lines.find(|(_, line)| cells(line) == HEADING)?;
    let body = lines.skip(1).take_while(|(_, line)| line.trim_start().starts_with('|'));
    Some(body.map(|(index, line)| row(index + 1, line)).collect())
}

fn row(line: usize, text: &str) -> Row {
    let cells = cells(text);
    let cell = |index: usize| cells.get(index).copied().unwrap_or_default();
    let ours = names(cell(1)).map(|(name, tests_only)| Dependency { name, tests_only, ours: true });
    let theirs =
        names(cell(2)).map(|(name, tests_only)| Dependency { name, tests_only, ours: false });
    Row { line, name: cell(0).trim_matches('`').to_owned(), allowed: ours.chain(theirs).collect() }
}

fn cells(line: &str) -> Vec<&str> {
    line.trim().trim_matches('|').split('|').map(str::trim).collect()
}

/// The names in a cell, `a, b (tests)`; "(tests)" marks what only tests use, a dash nothing.
fn names(cell: &str) -> impl Iterator<Item = (String, bool)> {
    let entries = cell.split(',').map(str::trim);
    entries.filter(|entry| !matches!(*entry, "" | "-" | "—")).map(|entry| {
        let test = entry.strip_suffix("(tests)").map(str::trim);
        (test.unwrap_or(entry).trim_matches('`').to_owned(), test.is_some())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "# Map\n\n| crate | may use of ours | third-party |\n|---|---|---|\n\
        | `gem` | repository | `bytes`, tempfile (tests) |\n| repository | — | — |\n\nMore.\n";

    fn dependency(name: &str, tests_only: bool, ours: bool) -> Dependency {
        Dependency { name: name.into(), tests_only, ours }
    }

    fn gem(dependencies: &[Dependency]) -> Vec<Crate> {
        let repository = Crate { name: "repository".into(), dependencies: Vec::new() };
        vec![Crate { name: "gem".into(), dependencies: dependencies.to_vec() }, repository]
    }

    fn whats(text: &str, crates: &[Crate]) -> Vec<String> {
        check(text, crates).iter().map(ToString::to_string).collect()
    }

    fn declared() -> Vec<Dependency> {
        vec![
            dependency("repository", false, true),
            dependency("bytes", false, false),
            dependency("tempfile", true, false),
        ]
    }

    #[test]
    fn a_table_that_says_what_is_so_has_no_findings() {
        assert_eq!(whats(TABLE, &gem(&declared())), [""; 0]);
    }

    #[test]
    fn an_edge_that_is_not_in_the_table_is_found() {
        let mut all = declared();
        all.push(dependency("faces", false, true));
        let found = whats(TABLE, &gem(&all));
        assert_eq!(
            found,
            ["ARCHITECTURE.md:5: dependency: `gem` uses our `faces`, not in its row"]
        );
    }

    #[test]
    fn a_row_that_is_out_of_date_is_found() {
        let found = whats(TABLE, &gem(&declared()[..2]));
        let expected = "`gem` does not use third-party `tempfile` (tests); take it out";
        assert_eq!(found, [format!("ARCHITECTURE.md:5: dependency: {expected}")]);
    }

    #[test]
    fn a_test_only_dependency_may_not_move_into_the_build() {
        let mut all = declared();
        all[2].tests_only = false;
        assert_eq!(whats(TABLE, &gem(&all)).len(), 2);
    }

    #[test]
    fn rows_and_crates_match() {
        let mut crates = gem(&declared());
        crates[1].name = "wire".into();
        let found = whats(TABLE, &crates).join("\n");
        assert!(found.contains(":6: dependency: there is no crate `repository`"), "{found}");
        assert!(found.contains("no row for `wire`"), "{found}");
        assert_eq!(whats("no table", &crates).len(), 1);
    }
}
