//! The example application on the real server: what a person clicks is never lost and never
//! doubled, and the tally that all share equals the number of hits.

use crate::harness::{Server, Site, root, run};
use crate::http::Client;

fn counter() -> Site {
    Site::with_app(root().join("apps/counter"))
}

/// One person's browser: a connection and the session's cookie.
struct Person {
    client: Client,
    cookie: Option<String>,
}

impl Person {
    fn visit(server: &Server) -> Self {
        let mut person = Self { client: server.connect(), cookie: None };
        assert_eq!(person.count(), 0);
        assert!(person.cookie.is_some(), "the first visit begins a session");
        person
    }

    /// The same browser after the server was started again.
    fn reconnect(&mut self, server: &Server) {
        self.client = server.connect();
    }

    fn request(&mut self, method: &str, path: &str) -> crate::http::Reply {
        let cookie = self.cookie.clone();
        let headers: Vec<_> = cookie.iter().map(|cookie| ("cookie", cookie.as_str())).collect();
        let reply = self.client.request(method, path, &headers, b"").expect("a reply");
        if let Some(cookie) = reply.cookie() {
            self.cookie = Some(cookie.to_owned());
        }
        reply
    }

    /// The number on the page.
    fn count(&mut self) -> i64 {
        let page = self.request("GET", "/");
        assert_eq!(page.status, 200);
        number_on(&page.text())
    }

    fn click(&mut self, button: &str) {
        let reply = self.request("POST", button);
        assert_eq!(reply.status, 303, "a click leads back to the page");
    }
}

/// The number in the page's one `<output>`.
fn number_on(page: &str) -> i64 {
    let (_, rest) = page.split_once("<output").expect("the page shows a number");
    let (_, rest) = rest.split_once('>').expect("a tag");
    let (number, _) = rest.split_once('<').expect("its end");
    number.trim().replace('\u{2212}', "-").parse().expect("a number")
}

/// Hits by everyone; each hit adds one.
fn tally(server: &Server) -> u64 {
    server.get("/db/tally/hits").json().as_u64().expect("a whole number")
}

const UP: &str = "/increment";
const DOWN: &str = "/decrement";

#[test]
fn a_click_survives_kill_9() {
    let site = counter();
    let mut server = site.start();
    let mut person = Person::visit(&server);
    for expected in 1..=5 {
        person.click(UP);
        server.kill();
        server = site.start();
        person.reconnect(&server);
        assert_eq!(person.count(), expected);
    }
    person.click(DOWN);
    assert_eq!(person.count(), 4);
}

#[test]
fn two_people_count_for_themselves() {
    let server = counter().start();
    let (mut one, mut other) = (Person::visit(&server), Person::visit(&server));
    assert_ne!(one.cookie, other.cookie);
    one.click(UP);
    one.click(UP);
    other.click(DOWN);
    assert_eq!((one.count(), other.count()), (2, -1));
}

#[test]
fn a_made_up_session_is_not_adopted() {
    let server = counter().start();
    let made_up = "sarsen_session=AAAAAAAAAAAAAAAAAAAAAA";
    let mut person = Person { client: server.connect(), cookie: Some(made_up.into()) };
    assert_eq!(person.count(), 0);
    assert_ne!(person.cookie.as_deref(), Some(made_up), "it was given a session of its own");
}

#[test]
fn many_hands_on_one_session_lose_no_click() {
    const HANDS: i64 = 4;
    const CLICKS: i64 = 25;
    let server = counter().start();
    let cookie = Person::visit(&server).cookie;
    std::thread::scope(|scope| {
        for _ in 0..HANDS {
            let mut hand = Person { client: server.connect(), cookie: cookie.clone() };
            scope.spawn(move || (0..CLICKS).for_each(|_| hand.click(UP)));
        }
    });
    let mut person = Person { client: server.connect(), cookie };
    assert_eq!(person.count(), HANDS * CLICKS);
}

/// Every hit of a run without errors, ramp-up and end included.
fn hits(report: &serde_json::Value) -> u64 {
    let outside = &report["outside"];
    [report, &outside["ramp_up"], &outside["drain"]]
        .map(|part| part["requests"].as_u64().expect("a whole number"))
        .iter()
        .sum()
}

#[test]
fn the_tally_equals_the_hits_of_a_load() {
    for new_session in [true, false] {
        let site = counter();
        let server = site.start();
        let url = server.url("/");
        let mut arguments =
            vec!["bench", &url, "-c", "10", "--warm-up", "1s", "-d", "1s", "--json"];
        arguments.extend(new_session.then_some("--new-session"));
        let output = run(&arguments);
        let report = String::from_utf8(output.stdout).expect("text");
        // INVALID where the machine is busy: then the figures are doubtful, and the hits are not.
        assert!(matches!(output.status.code(), Some(0 | 9)), "{report}");
        let report: serde_json::Value = serde_json::from_str(&report).expect("JSON");
        let hits = hits(&report);
        assert!(hits > 0, "{report}");
        assert_eq!(tally(&server), hits, "with new sessions: {new_session}");
        server.kill();
        assert_eq!(tally(&site.start()), hits, "after kill -9");
        site.assert_clean();
    }
}
