//! HTTP/2 and TLS as `sarsen serve` speaks them, with clients that are not ours.

use crate::frames::{
    self, ACK, DATA, END_HEADERS, END_STREAM, Frames, GOAWAY, HEADERS, NO_ERROR, PING,
};
use crate::harness::{Ends, Site, run};
use rustix::process::Signal;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

fn tool(program: &str, arguments: &[&str]) -> Output {
    Command::new(program).args(arguments).stdin(Stdio::null()).ends()
}

/// A certificate for localhost and its key.
fn identity(folder: &Path, name: &str) -> [PathBuf; 2] {
    let [certificate, key] = ["crt", "key"].map(|kind| folder.join(format!("{name}.{kind}")));
    let made = tool(
        "openssl",
        &[
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:prime256v1",
            "-nodes",
            "-days",
            "2",
            "-subj",
            "/CN=localhost",
            "-addext",
            "subjectAltName=DNS:localhost,IP:127.0.0.1",
            "-keyout",
            text(&key),
            "-out",
            text(&certificate),
        ],
    );
    assert!(made.status.success(), "{made:?}");
    [certificate, key]
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a path of text")
}

#[test]
fn tls_beside_the_plain_port() {
    let folder = tempfile::tempdir().expect("a folder");
    let [certificate, key] = identity(folder.path(), "one");
    let site = Site::bare();
    let files = ["--tls-cert", text(&certificate), "--tls-key", text(&key)];
    let mut server = site.start_with(&[&files[..], &["--tls-listen", "127.0.0.1:0"]].concat());
    let line = server.said.iter().find(|line| line.starts_with("tls")).expect("a line on TLS");
    let url = line.split_whitespace().last().expect("the URL").to_owned() + "healthz";
    let of = |version: &str| {
        let format = "%{http_version}";
        let output =
            tool("curl", &["-sS", "--cacert", text(&certificate), version, "-w", format, &url]);
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    assert_eq!(of("--http2"), "ok\n2");
    assert_eq!(of("--http1.1"), "ok\n1.1");
    assert_eq!(server.get("/healthz").status, 200);
    // Two days are soon.
    server.wait_for_log("expires on");
    // Another pair in the same files is taken, without a restart.
    let [new_certificate, new_key] = identity(folder.path(), "two");
    for (new, old) in [(&new_certificate, &certificate), (&new_key, &key)] {
        std::fs::rename(new, old).expect("a rename");
    }
    server.wait_for_log("is in use");
    assert_eq!(of("--http2"), "ok\n2");
    std::fs::write(&key, "nothing").expect("a write");
    server.wait_for_log("going on with the certificate from before");
    assert_eq!(server.stop().code(), Some(0));
}

#[test]
fn a_certificate_that_cannot_be_used_is_a_clear_end() {
    let folder = tempfile::tempdir().expect("a folder");
    let [certificate, key] = identity(folder.path(), "one");
    let [_, other_key] = identity(folder.path(), "two");
    let absent = folder.path().join("absent");
    let start = |certificate: &Path, key: &Path| {
        let site = Site::bare();
        let files = ["--tls-cert", text(certificate), "--tls-key", text(key)];
        site.serve().args(files).args(["--tls-listen", "127.0.0.1:0"]).ends()
    };
    for (output, words) in [
        (start(&certificate, &other_key), "is not that of the first certificate"),
        (start(&absent, &key), "No such file"),
        (start(&key, &key), "has no certificate"),
    ] {
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(4), "{stderr}");
        assert!(stderr.contains(words), "{stderr}");
    }
    let half = run(&["serve", "--tls-cert", text(&certificate)]);
    assert_eq!(half.status.code(), Some(2), "{half:?}");
}

#[test]
fn tls_on_the_plain_port_is_one_line_in_the_log_and_a_problem() {
    let site = Site::bare();
    let server = site.start();
    let address = server.address().to_string();
    for _ in 0..20 {
        let output = tool("openssl", &["s_client", "-connect", &address]);
        assert!(!output.status.success(), "{output:?}");
    }
    let url = format!("https://{address}/healthz");
    assert!(!tool("curl", &["-sS", "--insecure", &url]).status.success());
    // Whatever was to be said was said when a later request is answered.
    assert_eq!(server.get("/healthz").status, 200);
    let log = server.logged();
    let lines: Vec<&str> = log.lines().filter(|line| line.contains("TLS")).collect();
    assert_eq!(lines.len(), 1, "{log}");
    assert!(lines[0].contains("--tls-listen"), "{log}");
    assert_eq!(server.stop().code(), Some(0));
}

#[test]
fn a_signal_ends_http2_after_what_is_in_flight() {
    let site = Site::bare();
    let mut server = site.start();
    let mut client = Frames::open(server.address());
    let fields = [frames::request("PUT", "/db/notes/late"), vec![("content-type", "a/b")]].concat();
    client.send(HEADERS, END_HEADERS, 1, &frames::block(&fields));
    client.send(DATA, 0, 1, b"half");
    // The answer shows that what was sent before has arrived.
    client.send(PING, 0, 0, &[0; 8]);
    client.next_of(PING).expect("an answer");
    server.signal(Signal::TERM);
    server.wait_for_log("finishing requests in flight");
    assert_eq!(client.next_of(GOAWAY).expect("GOAWAY").code(), NO_ERROR);
    let ping = client.next_of(PING).expect("a ping after it");
    client.send(PING, ACK, 0, &ping.payload);
    client.send(DATA, END_STREAM, 1, b" and half");
    assert_eq!(client.next_on(1).status(), 201);
    client.until_end();
    assert_eq!(server.wait().code(), Some(0));
    assert_eq!(site.start().get("/db/notes/late").text(), "half and half");
}
