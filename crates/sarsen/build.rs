//! Tells the binary which commit it is built from, so that the archive can say which program a run
//! came from. Without git it is told nothing.

use std::io::{self, Write};
use std::path::Path;
use std::process::Command;

fn main() -> io::Result<()> {
    let mut lines = String::new();
    // Whatever moves the commit, and whatever may differ from it.
    for path in ["../../.git/HEAD", "../../.git/logs/HEAD", "../../crates", "../../Cargo.lock"] {
        if Path::new(path).exists() {
            lines.push_str(&format!("cargo:rerun-if-changed={path}\n"));
        }
    }
    if let Some(commit) = git(&["rev-parse", "HEAD"]) {
        lines.push_str(&format!("cargo:rustc-env=SARSEN_COMMIT={commit}\n"));
    }
    if let Some(changes) = git(&["status", "--porcelain", "--untracked-files=no"]) {
        lines.push_str(&format!("cargo:rustc-env=SARSEN_CHANGED={}\n", !changes.is_empty()));
    }
    io::stdout().write_all(lines.as_bytes())
}

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}
