//! Sessions: made on the first change, found by the cookie, prolonged by use, renewed at a log-in,
//! gone when they expire or end, never adopted. And the messages that wait in them.

use crate::support::{self, START_MS, Setup, Site, header, request, site, site_with, text};
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use gem::{Reply, Request};
use repository::MediaType;
use sha2::{Digest, Sha256};

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

/// What the visitor's cookie holds.
fn id(cookie: &str) -> &str {
    cookie.strip_prefix("sarsen_session=").unwrap()
}

/// Where the session of this cookie is stored.
fn key(cookie: &str) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(Sha256::digest(id(cookie)))
}

/// With sessions that live for 8 minutes after a use, and for 2 hours.
fn short(routes: &str) -> Site {
    let settings = "[session]\nidle_minutes = 8\nlifetime_minutes = 120\n";
    site_with(routes, Setup { settings, ..Setup::default() })
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
    assert_eq!(id(&cookie_1).len(), 22);
    let second = get(&site, "/count", &cookie_1);
    assert_eq!(text(&second), "[2]");
    assert_eq!(cookie(&second), None, "the visitor has it already");
    assert_eq!(site.stored("_sessions", &key(&cookie_1)).as_deref(), Some(r#"{"count":2}"#));
    assert_eq!(site.stored("_sessions", id(&cookie_1)), None, "a key is no cookie");
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
    assert_ne!(id(&given), planted);
    let planted = key(&format!("sarsen_session={planted}"));
    assert_eq!(site.stored("_sessions", &planted), None);
    for bad in ["", "=", "sarsen_session=", "sarsen_session=../../etc", "sarsen_session=%00", ";;;"]
    {
        let reply = get(&site, "/count", bad);
        assert_eq!(text(&reply), "[1]", "{bad}");
        assert!(cookie(&reply).is_some(), "{bad}");
    }
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
        assert!(!message.contains(id(&cookie)), "{message}");
    }
    site.store_as(("_sessions", &key(&cookie)), MediaType::Other("text/x".into()), "", None);
    let message = failure("/read");
    assert!(message.ends_with("session: expected a JSON document, found text/x"), "{message}");
}

/// `_sessions` of the visitor with this cookie: when it expires.
fn expires(site: &Site, cookie: &str) -> u64 {
    site.document("_sessions", &key(cookie)).unwrap().expires.unwrap().0
}

const MINUTE: u64 = 60_000;

#[test]
fn a_session_is_prolonged_without_a_write_per_hit() {
    let site = short(APP);
    let cookie_1 = cookie(&site.get("/count")).unwrap();
    assert_eq!(expires(&site, &cookie_1), START_MS + 10 * MINUTE, "8 and a quarter of it");
    let mut writes = 0;
    for minute in 1..=60 {
        site.pass(MINUTE);
        let before = site.written();
        assert_eq!(text(&get(&site, "/look", &cookie_1)), r#"{"count":1}"#, "minute {minute}");
        writes += usize::from(site.written() != before);
        let left = expires(&site, &cookie_1) - (START_MS + minute * MINUTE);
        assert!((8 * MINUTE..=10 * MINUTE).contains(&left), "minute {minute}: {left}");
    }
    assert_eq!(writes, 20, "once in three hits: when less than 8 of 10 minutes are left");
    // Pages that do not look at the session do not prolong it.
    for _ in 0..10 {
        site.pass(MINUTE);
        site.get("/none");
        get(&site, "/none", &cookie_1);
    }
    assert_eq!(text(&get(&site, "/look", &cookie_1)), "{}");
}

#[test]
fn a_session_ends_when_it_was_not_used_for_the_idle_time_and_a_quarter() {
    let site = short(APP);
    let cookie_1 = cookie(&site.get("/count")).unwrap();
    site.pass(2 * MINUTE);
    assert_eq!(text(&get(&site, "/look", &cookie_1)), r#"{"count":1}"#, "8 are left: no write");
    assert_eq!(expires(&site, &cookie_1), START_MS + 10 * MINUTE);
    site.pass(8 * MINUTE - 1);
    assert_eq!(text(&get(&site, "/look", &cookie_1)), r#"{"count":1}"#);
    assert_eq!(expires(&site, &cookie_1), START_MS + 20 * MINUTE - 1, "prolonged");
    site.pass(10 * MINUTE);
    assert_eq!(text(&get(&site, "/look", &cookie_1)), "{}");
    let next = get(&site, "/count", &cookie_1);
    assert_eq!(text(&next), "[1]");
    assert_ne!(cookie(&next).expect("a new session"), cookie_1);
}

#[test]
fn the_lifetime_ends_a_session_that_is_used() {
    let site = short(APP);
    let cookie_1 = cookie(&site.get("/count")).unwrap();
    for _ in 0..119 {
        site.pass(MINUTE);
        assert_eq!(text(&get(&site, "/same", &cookie_1)), "");
    }
    let before = site.written();
    assert_eq!(expires(&site, &cookie_1), START_MS + 120 * MINUTE);
    site.pass(MINUTE - 1);
    assert_eq!(text(&get(&site, "/look", &cookie_1)), r#"{"count":1}"#);
    assert_eq!(site.written(), before, "at its end it is not stored for each hit either");
    site.pass(1);
    assert_eq!(text(&get(&site, "/look", &cookie_1)), "{}");
}

#[test]
fn a_persistent_cookie_lives_as_long_as_the_session() {
    let settings = "[session]\nidle_minutes = 8\nlifetime_minutes = 12\npersistent = true\n";
    let site = site_with(APP, Setup { settings, ..Setup::default() });
    let first = site.get("/count");
    let age = |reply: &Reply| header(reply, "set-cookie").map(|field| field.to_owned());
    assert!(age(&first).unwrap().ends_with("; SameSite=Lax; Max-Age=600"), "{first:?}");
    let cookie_1 = cookie(&first).unwrap();
    assert_eq!(age(&get(&site, "/look", &cookie_1)), None, "nothing was stored");
    site.pass(5 * MINUTE);
    let prolonged = get(&site, "/look", &cookie_1);
    assert_eq!(cookie(&prolonged).as_deref(), Some(cookie_1.as_str()));
    assert!(age(&prolonged).unwrap().ends_with("Max-Age=420"), "the lifetime's end");
    let written = get(&site, "/count", &cookie_1);
    assert!(age(&written).unwrap().ends_with("Max-Age=420"));
}

const LOGIN: &str = r#"
    app.get("/visit", ({ session }) => { session.cart = ["book"]; });
    app.get("/login", ({ session, login, query }) => {
      login({ user: query.user, cart: session.cart });
      return session;
    });
    app.get("/fail", ({ login }) => { login({ user: "a" }); throw new Error("no"); });
    app.get("/logout", ({ session, logout }) => { logout(); return session; });
    app.get("/bye", ({ logout, flash, session }) => { flash("Bye"); logout(); session.seen = 1; });
    app.get("/renew", ({ renewSession }) => { renewSession(); });
    app.get("/wrong", ({ login }) => login(["a"]));
    app.get("/look", ({ session }) => session);"#;

/// What an attacker tries who has planted a session of his own in the victim's browser.
#[test]
fn a_log_in_gives_a_new_id_and_the_old_one_is_dead() {
    let site = short(LOGIN);
    let planted = cookie(&site.get("/visit")).unwrap();
    let before = site.repository.stats().commits;
    let reply = get(&site, "/login?user=victim", &planted);
    assert_eq!(text(&reply), r#"{"user":"victim","cart":["book"]}"#);
    assert_eq!(site.repository.stats().commits, before + 1, "in one transaction");
    let own = cookie(&reply).expect("a new id");
    assert_ne!(own, planted);
    assert_eq!(site.stored("_sessions", &key(&planted)), None);
    assert_eq!(text(&get(&site, "/look", &planted)), "{}");
    assert_eq!(text(&get(&site, "/look", &own)), r#"{"user":"victim","cart":["book"]}"#);
    assert_eq!(cookie(&get(&site, "/look", &own)), None);
}

#[test]
fn a_log_in_of_a_visitor_without_a_session_and_one_after_another() {
    let site = short(LOGIN);
    let first = cookie(&site.get("/login?user=a")).unwrap();
    let second = get(&site, "/login?user=b", &first);
    assert_eq!(text(&second), r#"{"user":"b"}"#);
    let second = cookie(&second).unwrap();
    assert_eq!(text(&get(&site, "/look", &first)), "{}");
    let renewed = cookie(&get(&site, "/renew", &second)).unwrap();
    assert_eq!(text(&get(&site, "/look", &renewed)), r#"{"user":"b"}"#);
    assert_eq!(text(&get(&site, "/look", &second)), "{}");
    let message = site.failure("/wrong");
    assert!(message.contains("login: expected an object for the session to hold"), "{message}");
}

#[test]
fn a_log_in_that_fails_changes_nothing() {
    let site = short(LOGIN);
    let visitor = cookie(&site.get("/visit")).unwrap();
    let before = site.written();
    assert!(site.send(with_cookie("/fail", &visitor)).is_err());
    assert_eq!(site.written(), before);
    assert_eq!(text(&get(&site, "/look", &visitor)), r#"{"cart":["book"]}"#);
}

#[test]
fn a_log_out_deletes_session_and_cookie() {
    let site = short(LOGIN);
    let user = cookie(&site.get("/login?user=a")).unwrap();
    let reply = get(&site, "/logout", &user);
    assert_eq!(text(&reply), "{}");
    let field = header(&reply, "set-cookie").unwrap();
    assert_eq!(field, "sarsen_session=; Path=/; HttpOnly; SameSite=Lax; Max-Age=0");
    assert_eq!(text(&get(&site, "/look", &user)), "{}");
    assert_eq!(site.stored("_sessions", &key(&user)), None);
    // Twice is once, and without a session there is nothing to delete.
    assert_eq!(cookie(&get(&site, "/logout", &user)), None);
    let user = cookie(&site.get("/login?user=a")).unwrap();
    let reply = get(&site, "/bye", &user);
    let next = cookie(&reply).unwrap();
    assert_eq!(text(&get(&site, "/look", &user)), "{}");
    let rest = r#"{"_flashes":[{"message":"Bye","kind":"info"}],"seen":1}"#;
    assert_eq!(
        text(&get(&site, "/look", &next)),
        rest,
        "what was said after it is another session"
    );
}

#[test]
fn requests_of_one_session_at_once_lose_nothing() {
    let setup = Setup { workers: 4, queue: 256, ..Setup::default() };
    let site = site_with(APP, setup);
    let visitor = cookie(&site.get("/count")).unwrap();
    let (sender, outcomes) = std::sync::mpsc::channel();
    for _ in 0..100 {
        let sender = sender.clone();
        let respond = Box::new(move |outcome: support::Outcome| sender.send(outcome).unwrap());
        site.pool.submit(with_cookie("/count", &visitor), respond).map_err(|_| "full").unwrap();
    }
    drop(sender);
    for outcome in outcomes {
        assert_eq!(cookie(&outcome.unwrap()), None);
    }
    assert_eq!(text(&get(&site, "/look", &visitor)), r#"{"count":101}"#);
}

#[test]
fn a_flash_is_shown_once_on_the_next_page() {
    let site = short(
        r#"app.post("/save", ({ flash }) => {
             flash("Saved"); flash("Nearly full", "warning");
             return redirect("/page");
           });
           app.get("/page", ({ flashes }) => flashes());
           app.get("/other", () => "no look");
           app.get("/many", ({ flash }) => { for (let i = 0; i < 25; i++) flash(`${i}`); });
           app.get("/long", ({ flash }) => { flash("x".repeat(2000)); });
           app.get("/html", ({ flash }) => { flash(html`<b>`); });"#,
    );
    assert_eq!(text(&site.get("/page")), "[]");
    let saved = site.post("/save");
    assert_eq!(saved.status, 303);
    let visitor = cookie(&saved).unwrap();
    get(&site, "/other", &visitor);
    let both = r#"[{"message":"Saved","kind":"info"},{"message":"Nearly full","kind":"warning"}]"#;
    assert_eq!(text(&get(&site, "/page", &visitor)), both);
    assert_eq!(text(&get(&site, "/page", &visitor)), "[]");
    get(&site, "/many", &visitor);
    let shown = text(&get(&site, "/page", &visitor));
    let count = shown.matches("message").count();
    assert_eq!((count, shown.contains(r#""5""#), shown.contains(r#""4""#)), (20, true, false));
    assert!(site.failure("/long").contains("flash: expected at most 2000 characters"));
    assert!(site.failure("/html").contains("flash: expected texts, got object, string"));
}

/// What a client sends may be handed to `login` as it came.
#[test]
fn a_member_called_proto_is_data() {
    let site = site(
        r#"app.post("/in", ({ login, session, request }) => {
             login(request.json());
             return [session.admin ?? "none", Object.keys(session)];
           });
           app.get("/look", ({ session }) => [session.admin ?? "none", Object.keys(session)]);"#,
    );
    let mut post = request("POST", "/in");
    post.body = r#"{"name":"a","__proto__":{"admin":true}}"#.into();
    let reply = site.send(post).unwrap();
    assert_eq!(text(&reply), r#"["none",["name","__proto__"]]"#);
    let kept = get(&site, "/look", &cookie(&reply).unwrap());
    assert_eq!(text(&kept), r#"["none",["name","__proto__"]]"#);
}
