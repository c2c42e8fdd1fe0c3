//! Somebody joins, logs in and out on the real server, across kill -9; a page of another site
//! cannot do it for them.

use crate::harness::{Server, Site, test_app};
use crate::http::{Client, Reply};
use std::collections::BTreeMap;

/// A browser: a connection, and the cookies that it was given.
struct Browser {
    client: Client,
    cookies: BTreeMap<String, String>,
}

impl Browser {
    fn open(server: &Server) -> Self {
        Self { client: server.connect(), cookies: BTreeMap::new() }
    }

    fn ask(&mut self, method: &str, path: &str, (field, value): (&str, &str), body: &str) -> Reply {
        let cookies: Vec<_> = self.cookies.iter().map(|(n, v)| format!("{n}={v}")).collect();
        let cookies = cookies.join("; ");
        let form = ("content-type", "application/x-www-form-urlencoded");
        let fields = [("cookie", cookies.as_str()), form, (field, value)];
        let reply = self.client.request(method, path, &fields, body.as_bytes()).expect("a reply");
        for (_, field) in reply.headers.iter().filter(|(name, _)| name == "set-cookie") {
            let (cookie, attributes) = field.split_once(';').expect("attributes");
            let (name, value) = cookie.split_once('=').expect("a name and a value");
            if attributes.contains("Max-Age=0") {
                self.cookies.remove(name);
            } else {
                self.cookies.insert(name.to_owned(), value.to_owned());
            }
        }
        reply
    }

    fn post(&mut self, path: &str, body: &str) -> Reply {
        self.ask("POST", path, ("sec-fetch-site", "same-origin"), body)
    }

    fn page(&mut self) -> String {
        self.ask("GET", "/", ("sec-fetch-site", "none"), "").text()
    }
}

const ANNA: &str = "name=anna&secret=gr%C3%BCn%20und%20blau";

#[test]
fn a_log_in_survives_kill_9_and_ends_with_the_log_out() {
    let site = Site::with_app(test_app("login"));
    let server = site.start();
    let mut browser = Browser::open(&server);
    assert_eq!(browser.post("/join", ANNA).status, 204);
    let again = browser.post("/join", ANNA);
    assert_eq!(again.status, 500, "the name is taken");
    assert_eq!(browser.post("/login", "name=anna&secret=green").status, 303);
    let said = r#"{"user":null,"last":null,"said":["Wrong name or password."]}"#;
    assert_eq!(browser.page(), said);
    assert_eq!(browser.post("/login", "name=otto&secret=green").status, 303);
    assert_eq!(browser.page(), said, "nobody is told whether there is an otto");
    let before = browser.cookies["sarsen_session"].clone();
    assert_eq!(browser.post("/login", ANNA).status, 303);
    assert_ne!(browser.cookies["sarsen_session"], before, "a new id");
    let in_ = r#"{"user":"anna","last":"anna","said":[]}"#;
    assert_eq!(browser.page(), in_);
    server.kill();
    let server = site.start();
    browser.client = server.connect();
    assert_eq!(browser.page(), in_, "session, signature and its key are durable");
    let dead = browser.cookies.clone();
    assert_eq!(browser.post("/logout", "").status, 303);
    assert_eq!(browser.page(), r#"{"user":null,"last":"anna","said":["Bye."]}"#);
    browser.cookies = dead;
    assert_eq!(browser.page(), r#"{"user":null,"last":"anna","said":[]}"#);
    browser.cookies.insert("last".to_owned(), "otto.AAAA".to_owned());
    assert_eq!(browser.page(), r#"{"user":null,"last":null,"said":[]}"#);
    let hash = server.get("/db/users/anna").json()["hash"].as_str().map(str::to_owned);
    assert!(hash.is_some_and(|hash| hash.starts_with("$argon2id$v=19$m=19456,t=2,p=1$")));
    assert!(!server.logged().contains("und blau"), "no log holds a password");
}

#[test]
fn a_page_of_another_site_cannot_log_in() {
    let site = Site::with_app(test_app("login"));
    let server = site.start();
    let mut browser = Browser::open(&server);
    assert_eq!(browser.post("/join", ANNA).status, 204);
    for foreign in [
        ("sec-fetch-site", "cross-site"),
        ("sec-fetch-site", "same-site"),
        ("origin", "https://evil.example"),
        ("origin", "null"),
    ] {
        let reply = browser.ask("POST", "/login", foreign, ANNA);
        let problem = reply.json();
        assert_eq!((reply.status, problem["type"].as_str()), (403, Some("/errors/cross-site")));
        assert!(problem["detail"].as_str().is_some_and(|why| why.contains("trusted_origins")));
        assert_eq!(browser.cookies, BTreeMap::new());
    }
    // What the client sends as Host.
    let own = ("origin", "http://localhost");
    assert_eq!(browser.ask("POST", "/login", own, ANNA).status, 303);
    assert_eq!(browser.ask("POST", "/login", ("accept", "*/*"), ANNA).status, 303, "a program");
}

/// More at once than there are threads for passwords: each gets in, and the server stays awake.
#[test]
fn many_log_in_at_once() {
    let site = Site::with_app(test_app("login"));
    let server = site.start();
    assert_eq!(Browser::open(&server).post("/join", ANNA).status, 204);
    std::thread::scope(|scope| {
        let visitors: Vec<_> = (0..20)
            .map(|_| {
                scope.spawn(|| {
                    let mut browser = Browser::open(&server);
                    assert_eq!(browser.post("/login", ANNA).status, 303);
                    (browser.page(), browser.cookies["sarsen_session"].clone())
                })
            })
            .collect();
        let mut ids = Vec::new();
        for visitor in visitors {
            let (page, id) = visitor.join().expect("a visitor");
            assert_eq!(page, r#"{"user":"anna","last":"anna","said":[]}"#);
            ids.push(id);
        }
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), 20);
    });
}
