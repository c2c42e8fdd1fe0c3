//! The password helper as applications use it. What the hashes are is tested where they are made.

use crate::support::{Site, request, site, text};
use gem::Request;
use gem::limits::PASSWORD_BYTES_MAX;

const APP: &str = r#"
    import { password } from "sarsen";
    app.post("/join", async ({ db, request }) => {
      const { name, secret } = request.json();
      db.users.put(name, { hash: await password.hash(secret) });
    });
    app.post("/login", async ({ db, request }) => {
      const { name, secret } = request.json();
      return [await password.verify(secret, db.users.get(name).hash)];
    });
    app.post("/rehash", ({ db, request }) => [password.needsRehash(request.json().hash)]);
    app.post("/verify", async ({ request }) => {
      const { secret, hash } = request.json();
      return [await password.verify(secret, hash)];
    });"#;

fn post(target: &str, body: &str) -> Request {
    Request { body: body.to_owned().into(), ..request("POST", target) }
}

fn ask(site: &Site, target: &str, body: &str) -> String {
    text(&site.send(post(target, body)).unwrap())
}

fn failure(site: &Site, target: &str, body: &str) -> String {
    site.send(post(target, body)).unwrap_err().to_string()
}

const OLD: &str =
    "$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc";

#[test]
fn a_password_is_verified_however_its_characters_are_typed() {
    let site = site(APP);
    // U+00FC, and u with the combining U+0308.
    ask(&site, "/join", "{\"name\":\"a\",\"secret\":\"gr\u{fc}n\"}");
    assert_eq!(ask(&site, "/login", "{\"name\":\"a\",\"secret\":\"gru\u{308}n\"}"), "[true]");
    assert_eq!(ask(&site, "/login", "{\"name\":\"a\",\"secret\":\"grun\"}"), "[false]");
    assert_eq!(ask(&site, "/login", "{\"name\":\"a\",\"secret\":\"\"}"), "[false]");
}

#[test]
fn hashes_of_other_parameters_are_verified_and_told() {
    let site = site(APP);
    assert_eq!(ask(&site, "/rehash", &format!("{{\"hash\":\"{OLD}\"}}")), "[true]");
    let body = format!("{{\"secret\":\"password\",\"hash\":\"{OLD}\"}}");
    assert_eq!(ask(&site, "/verify", &body), "[true]");
    ask(&site, "/join", r#"{"name":"a","secret":"x"}"#);
    let stored = site.stored("users", "a").unwrap();
    assert_eq!(ask(&site, "/rehash", &stored), "[false]");
}

#[test]
fn what_is_no_hash_or_no_password_is_a_clear_error() {
    let site = site(APP);
    let message = failure(&site, "/verify", r#"{"secret":"a","hash":"a"}"#);
    assert!(message.contains("expected a hash such as password.hash() gives"), "{message}");
    let planted = OLD.replace("m=65536", "m=4194304");
    let body = format!("{{\"secret\":\"a\",\"hash\":\"{planted}\"}}");
    let message = failure(&site, "/verify", &body);
    assert!(message.contains("the hash asks for m=4194304,t=2,p=1; at most m=65536"), "{message}");
    let message = failure(&site, "/verify", r#"{"secret":"a"}"#);
    assert!(message.contains("expected the hash as a string, got undefined"), "{message}");
    let message = failure(&site, "/join", r#"{"name":"a"}"#);
    assert!(message.contains("expected the password as a string, got undefined"), "{message}");
}

#[test]
fn a_password_that_is_too_long_is_the_clients_fault() {
    let site = site(APP);
    let body = |length: usize| format!("{{\"name\":\"a\",\"secret\":\"{}\"}}", "x".repeat(length));
    assert_eq!(ask(&site, "/join", &body(PASSWORD_BYTES_MAX)), "");
    assert_eq!(ask(&site, "/login", &body(PASSWORD_BYTES_MAX)), "[true]");
    let reply = site.send(post("/join", &body(PASSWORD_BYTES_MAX + 1))).unwrap();
    assert_eq!((reply.status, text(&reply).contains("at most 1024 bytes")), (400, true));
    assert_eq!(ask(&site, "/login", &body(PASSWORD_BYTES_MAX + 1)), "[false]");
}
