//! Measures one row on one side: by the lab where that can, which is HTTP/1.1 without TLS, and by
//! h2load for all else. The same tool for all sides within a row.

use super::Documents;
use super::h2load;
use super::request::Request;
use super::row::{Row, Transport};
use super::running::Running;
use crate::bench::cpu;
use crate::bench::measured::{Measured, Sample, read_report};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Connections, each with one request at a time.
pub const CONNECTIONS: usize = 64;

/// The tools, before one server.
pub struct Generator<'a> {
    /// How long, and where files go.
    pub documents: &'a Documents,
    /// Whom they load.
    pub server: &'a Running,
}

impl Generator<'_> {
    /// Measures `row`, which asks for `request`.
    pub fn measure(&self, row: Row, request: &Request) -> Measured {
        if row.transport != Transport::Http1 {
            return h2load::measure(self, row, request);
        }
        let outcome = self.run_lab(row, request);
        Measured { command: command_line(request), outcome }
    }

    fn run_lab(&self, row: Row, request: &Request) -> Result<Sample, String> {
        let body = self.write("body.json", &request.body)?;
        let mut command = Command::new(&self.documents.sarsen);
        command.arg("bench").args(flags(request, &format!("@{}", body.display())));
        let url = format!("{}{}", self.server.origin(row.transport), request.path);
        let seconds = format!("{}s", self.documents.seconds);
        command.arg(url).args(["--warm-up", "1s", "-d", &seconds, "--json", "-q"]);
        let before = cpu::of_tree(self.server.pid());
        let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
        let used = cpu::of_tree(self.server.pid()).saturating_sub(before);
        // A run with errors ends with its report too, any other failure with words on stderr.
        let said = String::from_utf8_lossy(&output.stdout);
        let is_success = |status| row.operation.is_success(status);
        let stderr = || String::from_utf8_lossy(&output.stderr).trim().to_owned();
        let report: Value = serde_json::from_str(&said).map_err(|_no_json| stderr())?;
        read_report(&report, used, is_success).inspect(|_| {
            if report["valid"] != true {
                eprintln!("bench: the run is doubtful: {}", report["reasons"]);
            }
        })
    }

    /// A file for a tool to read.
    pub fn write(&self, name: &str, text: &str) -> Result<PathBuf, String> {
        let path = self.documents.folder.join(name);
        fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(path)
    }

    /// Where files go.
    pub fn folder(&self) -> &Path {
        &self.documents.folder
    }
}

fn flags(request: &Request, body: &str) -> Vec<String> {
    let mut flags = vec!["-c".to_owned(), CONNECTIONS.to_string()];
    if request.path.contains("{key}") {
        flags.extend(["--keys".into(), request.keys.to_string()]);
    }
    if request.method != "GET" {
        flags.extend(["--method".into(), request.method.into()]);
    }
    for (name, value) in &request.fields {
        flags.extend(["--header".into(), format!("{name}: {value}")]);
    }
    if !request.body.is_empty() {
        flags.extend(["--body".into(), body.into()]);
    }
    flags
}

fn command_line(request: &Request) -> String {
    let quoted = |flag: String| if flag.contains(' ') { format!("'{flag}'") } else { flag };
    let flags: Vec<String> = flags(request, "@body.json").into_iter().map(quoted).collect();
    format!("sarsen bench 'URL{}' {}", request.path, flags.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_can_be_typed() {
        let request = Request {
            method: "PUT",
            path: "/a/{key}".into(),
            keys: 5,
            fields: vec![("a", "b".into())],
            body: "x".into(),
        };
        let expected = "sarsen bench 'URL/a/{key}' -c 64 --keys 5 --method PUT --header 'a: b' \
            --body @body.json";
        assert_eq!(command_line(&request), expected);
    }
}
