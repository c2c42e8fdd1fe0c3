//! Clients that are not ours: curl, nghttp, h2load, openssl. `scripts/setup.sh` installs them; a
//! test that lacks one fails and says so.

use crate::patience::Deadline;
use std::io::Write;
use std::process::{Command, Output, Stdio};

/// Runs a program to its end.
pub fn run(program: &str, arguments: &[&str]) -> Output {
    run_with(program, arguments, "")
}

/// Runs a program to its end, with something to read.
pub fn run_with(program: &str, arguments: &[&str], input: &str) -> Output {
    let child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut child = child.unwrap_or_else(|error| {
        panic!("{program} does not run ({error}); scripts/setup.sh {program} installs it")
    });
    // A program that does not read what it is given is not a failure of this test.
    let _ended = child.stdin.take().unwrap().write_all(input.as_bytes());
    let _deadline = Deadline::of(&child, format!("{program} {arguments:?}"));
    child.wait_with_output().unwrap()
}

/// What a program that must succeed writes to stdout.
pub fn text(program: &str, arguments: &[&str]) -> String {
    let output = run(program, arguments);
    assert!(output.status.success(), "{program} {arguments:?}: {output:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// `curl` on one URL: the version of HTTP and the status, then the body.
pub fn curl(arguments: &[&str]) -> (String, String) {
    const END: &str = "\n%{http_version} %{response_code}";
    let all = [&["--silent", "--show-error", "--max-time", "20", "-w", END], arguments].concat();
    let text = text("curl", &all);
    let (body, end) = text.rsplit_once('\n').unwrap();
    (end.to_owned(), body.to_owned())
}
