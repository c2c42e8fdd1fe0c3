//! Tokens with the real binary: made, listed and revoked while a server runs and while none does;
//! and that no secret is in any log, however much is logged.

use crate::harness::{Ends, Server, Site, sarsen};
use rustix::process::Signal;
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

fn token(site: &Site, arguments: &[&str]) -> Output {
    let mut command = sarsen();
    command.arg("token").args(arguments).arg("--data").arg(site.data());
    command.ends()
}

/// A new token, as a script takes it.
fn create(site: &Site, arguments: &[&str]) -> String {
    let output = token(site, &[&["create"], arguments].concat());
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).expect("a token is ASCII");
    assert_eq!(text.lines().count(), 1, "{text:?}");
    text.trim_end().to_owned()
}

fn list(site: &Site) -> Vec<Value> {
    let output = token(site, &["list", "--json"]);
    serde_json::from_slice(&output.stdout).expect("the list is JSON")
}

fn get(server: &Server, path: &str, token: &str) -> u16 {
    let field = format!("Bearer {token}");
    let reply = server.connect().request("GET", path, &[("authorization", &field)], b"");
    reply.expect("a reply").status
}

#[test]
fn made_before_the_first_start_and_revoked_while_a_server_runs() {
    let site = Site::bare();
    let admin = create(&site, &["--scope", "admin", "--name", "first"]);
    let server = site.start();
    assert_eq!(server.get("/db/notes/a").status, 401);
    assert_eq!(get(&server, "/db/notes/a", &admin), 404);

    let read =
        create(&site, &["--scope", "read", "--collections", "notes,img-*", "--expires", "1d"]);
    // Asked where a token that is not known yet costs nothing.
    server.wait_until("the token is taken over", || {
        let field = format!("Bearer {read}");
        let request = server.connect().request("GET", "/readyz", &[("authorization", &field)], b"");
        request.unwrap().text().contains("observedValue")
    });
    assert_eq!(get(&server, "/db/notes/a", &read), 404);
    assert_eq!(get(&server, "/db/other/a", &read), 403);

    let listed = list(&site);
    assert_eq!(listed.len(), 2);
    assert_eq!((&listed[0]["name"], &listed[0]["scope"]), (&"first".into(), &"admin".into()));
    assert_eq!(listed[1]["collections"], serde_json::json!(["notes", "img-*"]));
    let id = listed[1]["id"].as_str().unwrap();
    assert!(token(&site, &["revoke", id]).status.success());
    server.wait_until("the token is gone", || get(&server, "/db/notes/a", &read) == 401);
    assert_eq!(get(&server, "/db/notes/a", &admin), 404);
    assert_eq!(list(&site).len(), 1);
    assert_eq!(server.stop().code(), Some(0));
    site.assert_clean();
    assert_eq!(token(&site, &["revoke", id]).status.code(), Some(7), "it is gone");
}

#[test]
fn a_running_server_closes_when_the_first_token_is_made() {
    let site = Site::bare();
    let server = site.start();
    assert_eq!(server.get("/db/notes/a").status, 404);
    create(&site, &["--scope", "read"]);
    server.wait_until("a token is needed", || server.get("/db/notes/a").status == 401);
}

#[test]
fn a_public_address_is_refused_with_the_command_that_makes_it_possible() {
    let site = Site::bare();
    let public = |more: &[&str]| -> Command {
        let mut command = sarsen();
        command.arg("serve").arg("--data").arg(site.data());
        command.args(["--listen", "0.0.0.0:0", "--memory", "64M"]).args(more);
        command
    };
    let refused = |more: &[&str], word: &str| {
        let output = public(more).ends();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(4), "{said}");
        assert!(said.contains(word), "expected {word:?} in: {said}");
        said
    };
    let said = refused(&[], "sarsen token create");
    // The command that it names, word for word.
    let (_, command) = said.split_once("`sarsen ").unwrap();
    let words: Vec<&str> = command.split('`').next().unwrap().split_whitespace().collect();
    assert!(sarsen().args(words).ends().status.success(), "{said}");
    refused(&[], "--insecure-no-tls");
    let server = site.start_by(&mut public(&["--insecure-no-tls"]));
    assert_eq!(server.get("/db/notes/a").status, 401);
}

#[test]
fn no_log_holds_a_token() {
    let site = Site::bare();
    let secret = create(&site, &["--scope", "write"]);
    let log = site.data().join("../access.log");
    let mut command = site.serve();
    command.args(["--log", "trace", "--access-log"]).arg(&log);
    let server = site.start_by(&mut command);
    let field = format!("Bearer {secret}");
    let wrong = format!("Bearer {}x", &secret[..secret.len() - 1]);
    for (path, field) in [
        ("/db/notes/a", &field),
        ("/db/notes/a", &wrong),
        (&format!("/db/notes/a?access_token={secret}"), &field),
    ] {
        let fields = [("authorization", field.as_str()), ("content-type", "application/json")];
        server.connect().request("PUT", path, &fields, b"1").unwrap();
    }
    server.wait_until("three lines", || read(&log).lines().count() == 3);
    for text in [read(&log), server.logged()] {
        // From the ninth character on, so that a part of it would be found, too.
        assert!(!text.contains(&secret[8..40]), "{text}");
    }
    assert!(server.logged().contains("was refused"), "it was logged that a token was refused");
}

#[test]
fn a_hangup_opens_the_access_log_again() {
    let site = Site::bare();
    let log = site.data().join("../access.log");
    let mut command = site.serve();
    command.arg("--access-log").arg(&log);
    let server = site.start_by(&mut command);
    server.get("/db/notes/first");
    server.wait_until("the first line", || read(&log).contains("first"));
    let old = log.with_extension("1");
    std::fs::rename(&log, &old).unwrap();
    server.signal(Signal::HUP);
    server.get("/db/notes/second");
    server.wait_until("the second line", || read(&log).contains("second"));
    assert!(!read(&old).contains("second"));
    assert_eq!(server.stop().code(), Some(0), "a hangup does not stop it");
}

#[test]
fn a_damaged_file_of_tokens_is_named_and_nothing_starts() {
    let site = Site::bare();
    create(&site, &["--scope", "read"]);
    std::fs::write(site.data().join("tokens"), "{}").unwrap();
    for output in [site.serve().ends(), token(&site, &["list"])] {
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(7), "{said}");
        assert!(said.contains("tokens is not a list of tokens"), "{said}");
    }
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}
