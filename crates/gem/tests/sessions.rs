//! Sessions: made on the first change, found by the cookie, gone when they expire, never adopted.
#![allow(clippy::unwrap_used)] // A test fails by panicking.

mod support;

use gem::{Reply, Request};
use repository::MediaType;
use support::{START_MS, Setup, Site, header, request, site, site_with, text};

const APP: &str = r#"
    app.get("/count", ({ session }) => {
      session.count = (session.count ?? 0) + 1;
      return [session.count];
    });
    app.get("/look", ({ session }) => session);
    app.get("/same", ({ session }) => { session.count ??= 0; });
    app.get("/none", () => "untouched");
    app.get("/bad", ({ session }) => { session.cart = [() => 1]; });
    app.get("/throw", ({ session }) => { session.count = 99; throw new Error("no"); });
    app.get("/assign", (turn) => { turn.session = {}; });"#;

fn with_cookie(target: &str, cookie: &str) -> Request {
    let mut request = request("GET", target);
    request.headers.push(("cookie".to_owned(), cookie.to_owned()));
    request
}

/// `name=value` of the session cookie that a reply sets.
fn cookie(reply: &Reply) -> Option<String> {
    header(reply, "set-cookie").map(|field| field.split(';').next().unwrap().to_owned())
}

fn get(site: &Site, target: &str, cookie: &str) -> Reply {
    site.send(with_cookie(target, cookie)).unwrap()
}

fn key(cookie: &str) -> &str {
    cookie.strip_prefix("sarsen_session=").unwrap()
}

#[test]
fn a_session_begins_with_its_first_change() {
    let site = site(APP);
    let before = site.written();
    assert_eq!(cookie(&site.get("/look")), None);
    assert_eq!(cookie(&site.get("/none")), None);
    assert_eq!(site.written(), before);
    let first = site.get("/count");
    let field = header(&first, "set-cookie").unwrap();
    assert!(field.ends_with("; Path=/; HttpOnly; SameSite=Lax"), "{field}");
    let cookie_1 = cookie(&first).unwrap();
    assert_eq!(key(&cookie_1).len(), 22);
    let second = get(&site, "/count", &cookie_1);
    assert_eq!(text(&second), "[2]");
    assert_eq!(cookie(&second), None, "the visitor has it already");
    assert_eq!(site.stored("_sessions", key(&cookie_1)).as_deref(), Some(r#"{"count":2}"#));
    assert_ne!(cookie(&site.get("/count")).unwrap(), cookie_1, "another visitor has another");
}

#[test]
fn a_request_that_only_reads_the_session_writes_nothing() {
    let site = site(APP);
    let cookie_1 = cookie(&site.get("/count")).unwrap();
    let before = site.written();
    assert_eq!(text(&get(&site, "/look", &cookie_1)), r#"{"count":1}"#);
    assert_eq!(get(&site, "/same", &cookie_1).status, 204);
    assert_eq!(site.written(), before);
}

#[test]
fn an_id_that_names_no_session_is_never_adopted() {
    let site = site(APP);
    let planted = "AAAAAAAAAAAAAAAAAAAAAA";
    let reply = get(&site, "/count", &format!("sarsen_session={planted}"));
    assert_eq!(text(&reply), "[1]");
    let given = cookie(&reply).expect("a session with an id of its own");
    assert_ne!(key(&given), planted);
    assert_eq!(site.stored("_sessions", planted), None);
    for bad in ["", "=", "sarsen_session=", "sarsen_session=../../etc", "sarsen_session=%00", ";;;"]
    {
        let reply = get(&site, "/count", bad);
        assert_eq!(text(&reply), "[1]", "{bad}");
        assert!(cookie(&reply).is_some(), "{bad}");
    }
}

#[test]
fn a_session_expires_when_it_was_not_written_for_the_idle_time() {
    let settings = "[session]\nidle_minutes = 2\n";
    let site = site_with(APP, Setup { settings, ..Setup::default() });
    let cookie_1 = cookie(&site.get("/count")).unwrap();
    let expires =
        |cookie: &str| site.document("_sessions", key(cookie)).unwrap().expires.unwrap().0;
    assert_eq!(expires(&cookie_1), START_MS + 120_000);
    site.pass(100_000);
    assert_eq!(text(&get(&site, "/count", &cookie_1)), "[2]");
    assert_eq!(expires(&cookie_1), START_MS + 220_000, "writing extends it");
    site.pass(119_999);
    assert_eq!(text(&get(&site, "/look", &cookie_1)), r#"{"count":2}"#);
    site.pass(1);
    assert_eq!(text(&get(&site, "/look", &cookie_1)), "{}");
    let next = get(&site, "/count", &cookie_1);
    assert_eq!(text(&next), "[1]");
    assert_ne!(cookie(&next).expect("a new session"), cookie_1);
}

#[test]
fn a_session_that_fails_to_be_stored_gives_no_cookie() {
    let site = site(APP);
    let before = site.written();
    let message = site.failure("/bad");
    assert!(message.contains(r#"session: the value at "/cart/0" is a function"#), "{message}");
    assert!(site.failure("/throw").ends_with("Error: no"));
    assert!(!site.failure("/assign").is_empty());
    assert_eq!(site.written(), before);
}

#[test]
fn the_cookie_is_secure_if_the_request_came_by_https() {
    let site = site(APP);
    let mut request = request("GET", "/count");
    request.headers.push(("x-forwarded-proto".to_owned(), "https".to_owned()));
    let reply = site.send(request).unwrap();
    assert!(header(&reply, "set-cookie").unwrap().ends_with("; Secure"));
}

#[test]
fn no_message_holds_the_id_of_a_session() {
    let site = site(
        r#"app.get("/deep", ({ session }) => {
             session.x = JSON.parse("[".repeat(200) + "]".repeat(200));
           });
           app.get("/count", ({ session }) => [session.count = 1]);
           app.get("/read", ({ session }) => [session.count]);"#,
    );
    let deep = "session: expected at most 128 levels of nesting";
    let cookie = cookie(&site.get("/count")).unwrap();
    let failure = |path| {
        let mut request = request("GET", path);
        request.headers.push(("cookie".to_owned(), cookie.clone()));
        site.send(request).unwrap_err().to_string()
    };
    for message in [site.failure("/deep"), failure("/deep")] {
        assert!(message.ends_with(deep) && !message.contains("_sessions"), "{message}");
        assert!(!message.contains(key(&cookie)), "{message}");
    }
    site.store_as(("_sessions", key(&cookie)), MediaType::Other("text/x".into()), "", None);
    let message = failure("/read");
    assert!(message.ends_with("session: expected a JSON document, found text/x"), "{message}");
}
