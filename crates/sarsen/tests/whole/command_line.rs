//! What the command line refuses and how: one clear line on stderr, nothing on stdout, and the exit
//! code of `docs/exit-codes.md`.

use crate::harness::{Ends, Site, plain_file, root, run, sarsen, test_app};
use std::net::TcpListener;
use std::process::Output;

/// Fails unless `output` is `code`, an empty stdout, and one line of stderr that holds `words`.
fn assert_refused(output: &Output, code: i32, words: &[&str]) {
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{stderr}");
    assert!(output.stdout.is_empty(), "{output:?}");
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
    assert!(stderr.starts_with("sarsen: "), "{stderr}");
    for word in words {
        assert!(stderr.contains(word), "expected {word:?} in: {stderr}");
    }
}

#[test]
fn mistakes_on_the_command_line() {
    let cases: &[(&[&str], &[&str])] = &[
        (&[], &["expected a command", "sarsen help"]),
        (&["sevre"], &["no command `sevre`", "`serve`"]),
        (&["serve", "--lisen", "x"], &["no flag `--lisen`", "`--listen`"]),
        (&["serve", "--listen", "8000"], &["--listen", "127.0.0.1:8000", "\"8000\""]),
        (&["serve", "--gems", "0"], &["--gems", "from 1 to", "\"0\""]),
        (&["serve", "--memory", "1.5G"], &["--memory", "512M", "\"1.5G\""]),
        (&["serve", "--data"], &["`--data DIR`"]),
        (&["serve", "--data", ""], &["--data", "a folder"]),
        (&["serve", "a", "b"], &["\"b\""]),
        (&["bench"], &["a URL"]),
        (&["bench", "ftp://localhost/"], &["ftp"]),
        (&["bench", "http://localhost/", "-d", "15"], &["-d", "15s", "\"15\""]),
        (&["bench", "http://localhost/", "--body", "@missing"], &["missing"]),
        (&["verify"], &["--data DIR"]),
        (&["version", "2"], &["\"2\""]),
    ];
    for (arguments, words) in cases {
        assert_refused(&run(arguments), 2, words);
    }
}

#[test]
fn too_little_memory_is_a_usage_error() {
    let site = Site::bare();
    let output = site.serve().args(["--memory", "1M"]).ends();
    assert_refused(&output, 2, &["--memory", "1048576"]);
}

#[test]
fn help_and_version_go_to_stdout() {
    for arguments in [&["help"][..], &["--help"], &["serve", "--help"], &["help", "bench"]] {
        let output = run(arguments);
        assert_eq!(output.status.code(), Some(0), "{arguments:?}");
        assert!(output.stderr.is_empty(), "{output:?}");
        assert!(String::from_utf8_lossy(&output.stdout).contains("usage: sarsen"), "{output:?}");
    }
    let version = String::from_utf8(run(&["version"]).stdout).unwrap();
    assert_eq!(version, concat!("sarsen ", env!("CARGO_PKG_VERSION"), "\n"));
}

#[test]
fn a_busy_port() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let output = Site::bare().serve().args(["--listen", &address]).ends();
    assert_refused(&output, 4, &[&address]);
}

#[test]
fn a_public_address() {
    let output = Site::bare().serve().args(["--listen", "0.0.0.0:0"]).ends();
    assert_refused(&output, 4, &["0.0.0.0"]);
}

#[test]
fn a_data_folder_that_cannot_be_made() {
    let folder = tempfile::tempdir().unwrap();
    let data = plain_file(folder.path()).join("data");
    let output = sarsen().arg("serve").arg("--data").arg(&data).ends();
    assert_refused(&output, 3, &[data.to_str().unwrap()]);
}

#[test]
fn a_data_folder_with_something_else_in_it() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("letter.txt"), "dear reader").unwrap();
    let output = sarsen().arg("serve").arg("--data").arg(folder.path()).ends();
    assert_refused(&output, 3, &[folder.path().to_str().unwrap()]);
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
    assert_eq!(left.len(), 1, "nothing was added: {left:?}");
}

#[test]
fn an_application_that_is_not_there() {
    let site = Site::with_app("missing/app".into());
    assert_refused(&site.serve().ends(), 5, &["missing/app"]);
    assert!(!site.data().exists(), "a refused application leaves no trace");
}

#[test]
fn an_application_that_does_not_parse() {
    let site = Site::with_app(test_app("broken"));
    assert_refused(&site.serve().ends(), 5, &["broken/app.js:4:"]);
}

#[test]
fn verify_without_a_repository() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("missing");
    let output = sarsen().arg("verify").arg("--data").arg(&missing).ends();
    assert_refused(&output, 3, &[missing.to_str().unwrap()]);
    assert!(!missing.exists(), "verify makes nothing");
}

#[test]
fn a_server_that_is_not_there() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", free.local_addr().unwrap());
    drop(free);
    assert_refused(&run(&["bench", &url, "-c", "1", "-d", "200ms"]), 6, &[]);
}

#[test]
fn serve_without_arguments_says_what_it_made() {
    // In a folder of its own, and stopped by the port if 8000 is taken: then it must say so.
    let folder = tempfile::tempdir().unwrap();
    let taken = TcpListener::bind("127.0.0.1:8000");
    let output = sarsen().current_dir(folder.path()).arg("serve").ends();
    assert_refused(&output, 4, &["127.0.0.1:8000"]);
    assert!(folder.path().join("sarsen-data").is_dir(), "the default data folder");
    drop(taken);
}

#[test]
fn the_example_application_loads() {
    let server = Site::with_app(root().join("apps/counter")).start();
    assert!(server.said.iter().any(|line| line.starts_with("app         counter")));
}
