//! Every package of the build carries a licence that this project can live with. It understands
//! SPDX expressions as packages write them (`OR`, `AND`, `WITH`, parentheses, the old `/`).

use super::metadata::Package;
use crate::finding::{Finding, Rule};
use crate::limits::LICENCES;

/// A finding for each package without an allowed licence, at its line in `lock` (Cargo.lock).
pub fn check(packages: &[Package], lock: Option<&str>) -> Vec<Finding> {
    let refused =
        packages.iter().filter(|package| !package.licence.as_deref().is_some_and(is_allowed));
    refused
        .map(|package| {
            let entry = format!("name = \"{}\"", package.name);
            let line = lock.and_then(|text| text.lines().position(|line| line == entry));
            let licence = package.licence.as_deref().unwrap_or("no licence");
            let what = format!("{} has {licence}, allowed: {}", package.name, LICENCES.join(", "));
            Finding::new("Cargo.lock", line.map_or(1, |index| index + 1), Rule::Licence, what)
        })
        .collect()
}

/// Whether the SPDX expression `text` can be met with allowed licences only. One that is not
/// understood cannot.
fn is_allowed(text: &str) -> bool {
    let spaced = text.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let mut words = Words(spaced.split_whitespace().rev().collect());
    words.either().unwrap_or(false) && words.0.is_empty()
}

/// What is left of an expression, in reverse. Each method reads one part and says whether it is
/// allowed, or `None` if the expression ends too early.
struct Words<'a>(Vec<&'a str>);

impl Words<'_> {
    fn either(&mut self) -> Option<bool> {
        let mut allowed = self.both()?;
        while self.take("OR") {
            allowed |= self.both()?;
        }
        Some(allowed)
    }

    fn both(&mut self) -> Option<bool> {
        let mut allowed = self.one()?;
        while self.take("AND") {
            allowed &= self.one()?;
        }
        Some(allowed)
    }

    fn one(&mut self) -> Option<bool> {
        if self.take("(") {
            let allowed = self.either()?;
            return self.take(")").then_some(allowed);
        }
        let allowed = LICENCES.contains(&self.0.pop()?);
        if self.take("WITH") {
            // An SPDX exception only ever permits more.
            self.0.pop()?;
        }
        Some(allowed)
    }

    fn take(&mut self, word: &str) -> bool {
        self.0.pop_if(|next| *next == word).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions() {
        for good in [
            "MIT",
            "MIT OR Apache-2.0",
            "MIT/Apache-2.0",
            "GPL-3.0 OR MIT",
            "(MIT OR GPL-3.0) AND Unicode-3.0",
            "Apache-2.0 WITH LLVM-exception OR GPL-2.0",
            "Apache-2.0 WITH LLVM-exception AND (ISC OR X)",
        ] {
            assert!(is_allowed(good), "{good}");
        }
        for bad in [
            "",
            "GPL-3.0",
            "MPL-2.0",
            "MIT AND GPL-3.0",
            "MIT Apache-2.0",
            "(MIT",
            "MIT)",
            "MIT OR",
            "MIT WITH",
            "MIT AND (GPL-3.0 OR X)",
        ] {
            assert!(!is_allowed(bad), "{bad}");
        }
    }

    #[test]
    fn a_refused_package_is_found_at_its_line() {
        let packages = [
            Package { name: "good".into(), licence: Some("MIT".into()) },
            Package { name: "bad".into(), licence: Some("AGPL-3.0".into()) },
            Package { name: "silent".into(), licence: None },
        ];
        let lock = "[[package]]\nname = \"bad\"\nversion = \"1\"\n";
        let found = check(&packages, Some(lock));
        let lines: Vec<_> = found.iter().map(|f| (f.line, f.rule)).collect();
        assert_eq!(lines, [(2, Rule::Licence), (1, Rule::Licence)]);
        assert!(found[1].what.contains("no licence"), "{}", found[1].what);
    }
}
