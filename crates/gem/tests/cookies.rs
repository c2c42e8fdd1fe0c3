//! Cookies as handlers get, set, sign and delete them. The fields themselves are tested where they
//! are written.

use crate::support::{self, Setup, Site, request, site, site_with, text};
use gem::limits::{COOKIES_MAX, SIGNING_KEY_AGE, SIGNING_KEYS_MAX};
use gem::{Reply, Request};

const APP: &str = r#"
    app.get("/get", ({ cookies, query }) => [cookies.get(query.name) ?? null]);
    app.get("/signed", ({ cookies, query }) => [cookies.get(query.name, { signed: true }) ?? null]);
    app.get("/set", ({ cookies }) => { cookies.set("theme", "dark blue"); });
    app.get("/sign", ({ cookies, query }) => {
      cookies.set("user", query.value, { signed: true, maxAge: "400d" });
    });
    app.get("/delete", ({ cookies }) => { cookies.delete("theme", { path: "/a" }); });
    app.get("/options", ({ cookies, request }) => {
      cookies.set("a", "1", JSON.parse(request.header("x-options")));
    });
    app.get("/many", ({ cookies, query }) => {
      for (let i = 0; i < Number(query.n); i++) cookies.set(`c${i}`, "x");
    });
    app.get("/again", ({ cookies, session }) => {
      session.seen = true;
      cookies.set("a", "1"); cookies.set("b", "2"); cookies.set("a", "3");
      cookies.set("a", "4", { path: "/x" });
    });
    app.get("/fail", ({ cookies }) => {
      cookies.set("a", "1", { signed: true });
      throw new Error("no");
    });"#;

fn set_cookies(reply: &Reply) -> Vec<&str> {
    let fields = reply.headers.iter().filter(|(name, _)| name == "set-cookie");
    fields.map(|(_, value)| value.as_str()).collect()
}

fn with(target: &str, name: &str, value: &str) -> Request {
    let mut request = request("GET", target);
    request.headers.push((name.to_owned(), value.to_owned()));
    request
}

fn ask(site: &Site, target: &str, cookie: &str) -> String {
    text(&site.send(with(target, "cookie", cookie)).unwrap())
}

/// `user=...` as a browser sends back what `/sign` sets.
fn signed(site: &Site, value: &str) -> String {
    let reply = site.get(&format!("/sign?value={value}"));
    set_cookies(&reply)[0].split(';').next().unwrap().to_owned()
}

#[test]
fn a_cookie_is_for_the_host_and_hidden_from_scripts_unless_asked_otherwise() {
    let site = site(APP);
    let before = site.written();
    let set = site.get("/set");
    assert_eq!(set_cookies(&set), ["theme=dark%20blue; Path=/; HttpOnly; SameSite=Lax"]);
    assert_eq!(ask(&site, "/get?name=theme", "a=b; theme=dark%20blue"), r#"["dark blue"]"#);
    assert_eq!(ask(&site, "/get?name=other", "a=b; theme=dark%20blue"), "[null]");
    assert_eq!(site.text("/get?name=theme"), "[null]");
    let deleted = site.get("/delete");
    assert_eq!(set_cookies(&deleted), ["theme=; Path=/a; Max-Age=0; HttpOnly; SameSite=Lax"]);
    let over_https = site.send(with("/set", "x-forwarded-proto", "https")).unwrap();
    assert!(set_cookies(&over_https)[0].ends_with("; Secure"));
    assert_eq!(site.written(), before, "nothing is stored for it");
}

#[test]
fn options_are_checked() {
    let site = site(APP);
    let options = |options: &str| site.send(with("/options", "x-options", options));
    let all = r#"{"path":"/x","domain":"example.org","maxAge":90000,"httpOnly":false,
                  "secure":true,"sameSite":"Strict"}"#;
    let reply = options(all).unwrap();
    let expected = "a=1; Path=/x; Domain=example.org; Max-Age=90; SameSite=Strict; Secure";
    assert_eq!(set_cookies(&reply), [expected]);
    for (given, why) in [
        (r#"{"maxage":1}"#, "cookies.set: unknown option maxage; there are path, domain,"),
        (r#"{"secure":"yes"}"#, "cookies.set: secure is a boolean; got a string"),
        (r#"{"maxAge":"soon"}"#, "cookies.set: maxAge"),
        (r#"{"maxAge":"401d"}"#, "a cookie lives for at most 400 days"),
        (r#"{"path":"/;domain=evil.example"}"#, "a cookie's path starts with /"),
        (r#"{"sameSite":"None"}"#, "has to be secure"),
    ] {
        let message = options(given).unwrap_err().to_string();
        assert!(message.contains(why), "{given}: {message}");
    }
}

#[test]
fn the_last_of_equal_cookies_is_set_and_their_number_is_bounded() {
    let site = site(APP);
    let reply = site.get("/again");
    let cookies = set_cookies(&reply);
    assert!(cookies[0].starts_with("sarsen_session="));
    let tail = "; Path=/; HttpOnly; SameSite=Lax";
    let expected = [
        format!("b=2{tail}"),
        format!("a=3{tail}"),
        "a=4; Path=/x; HttpOnly; SameSite=Lax".to_owned(),
    ];
    assert_eq!(cookies[1..], expected);
    assert_eq!(set_cookies(&site.get(&format!("/many?n={COOKIES_MAX}"))).len(), COOKIES_MAX);
    let message = site.failure(&format!("/many?n={}", COOKIES_MAX + 1));
    assert!(message.contains("a reply sets at most 50 cookies"), "{message}");
}

#[test]
fn a_signed_cookie_that_was_changed_is_not_there() {
    let site = site(APP);
    let cookie = signed(&site, "anna");
    assert!(
        cookie.starts_with("user=anna.") && cookie.len() == "user=anna.".len() + 43,
        "{cookie}"
    );
    assert_eq!(ask(&site, "/signed?name=user", &cookie), r#"["anna"]"#);
    let other = signed(&site, "otto");
    let signature = |cookie: &str| cookie.rsplit_once('.').unwrap().1.to_owned();
    let last = if cookie.ends_with('A') { "B" } else { "A" };
    for changed in [
        cookie.replace("anna", "otto"),
        format!("user=anna.{}", signature(&other)),
        format!("{}{last}", &cookie[..cookie.len() - 1]),
        cookie.trim_end_matches(&signature(&cookie)).to_owned(),
        "user=anna".to_owned(),
        "user=".to_owned(),
    ] {
        assert_eq!(ask(&site, "/signed?name=user", &changed), "[null]", "{changed}");
    }
    // The signature is for a name, too.
    let renamed = cookie.replace("user=", "admin=");
    assert_eq!(ask(&site, "/signed?name=admin", &renamed), "[null]");
}

#[test]
fn the_key_is_made_with_the_first_signature_and_followed_by_others() {
    let site = site(APP);
    let before = site.written();
    assert_eq!(ask(&site, "/signed?name=user", "user=anna.AAAA"), "[null]");
    assert!(site.send(request("GET", "/fail")).is_err());
    assert_eq!(site.written(), before, "no key without a signature that leaves");
    let first = signed(&site, "anna");
    let made = site.written();
    assert_ne!(made, before);
    assert_eq!(signed(&site, "anna"), first);
    assert_eq!(site.written(), made, "one key");
    let age = u64::try_from(SIGNING_KEY_AGE.as_millis()).unwrap();
    for _ in 1..SIGNING_KEYS_MAX {
        site.pass(age - 1);
        assert_eq!(ask(&site, "/signed?name=user", &first), r#"["anna"]"#);
        site.pass(1);
        assert_ne!(signed(&site, "anna"), first, "a new key signs");
        assert_eq!(ask(&site, "/signed?name=user", &first), r#"["anna"]"#, "the old one counts");
    }
    site.pass(age);
    signed(&site, "anna");
    assert_eq!(ask(&site, "/signed?name=user", &first), "[null]", "older than any cookie may be");
}

#[test]
fn all_gems_sign_alike() {
    let site = site_with(APP, Setup { workers: 3, ..Setup::default() });
    let (sender, outcomes) = std::sync::mpsc::channel();
    for _ in 0..30 {
        let sender = sender.clone();
        let respond = Box::new(move |outcome: support::Outcome| sender.send(outcome).unwrap());
        let first = request("GET", "/sign?value=anna");
        site.pool.submit(first, respond).map_err(|_| "full").unwrap();
    }
    drop(sender);
    let mut cookies: Vec<_> =
        outcomes.iter().map(|outcome| set_cookies(&outcome.unwrap())[0].to_owned()).collect();
    cookies.dedup();
    assert_eq!(cookies.len(), 1, "also of those that came first and at once");
}
