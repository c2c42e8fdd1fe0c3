//! The commands `backup` and `restore`, as tests call them.

use crate::harness::{Ends, Site, sarsen};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

pub fn backup(site: &Site, to: &Path, more: &[&str]) -> Command {
    let mut command = sarsen();
    command.arg("backup").arg("--data").arg(site.data()).arg("--to").arg(to).args(more);
    command
}

pub fn restore(from: &Path, site: &Site, more: &[&str]) -> Command {
    let mut command = sarsen();
    command.arg("restore").arg("--from").arg(from).arg("--data").arg(site.data()).args(more);
    command
}

/// What it printed, which is JSON.
pub fn result(command: &mut Command) -> Value {
    let output = command.arg("--json").ends();
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// Where a folder of backups can be made.
pub fn folder() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("backups");
    (folder, path)
}
