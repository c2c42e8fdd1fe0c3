//! The scenarios of AtomPub, and the audit of publications, against a small server that does what
//! RFC 5023 says, or almost.

// In a test a panic is the report.
#![allow(clippy::unwrap_used)]

#[allow(dead_code, reason = "the server has more than this needs")]
#[path = "bench/server.rs"]
mod server;

use lab::engine::{Watch, run};
use lab::measure::Interval;
use lab::progress::Tick;
use lab::report::Report;
use lab::scenario::{Overrides, Scenario, Source, shipped};
use lab::verdict::Outcome;
use server::{Request, Server, Then, send, serve};
use std::net::TcpStream;
use std::sync::Mutex;

/// How a server treats entries.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Manner {
    Honest,
    /// Acknowledges each fifth and forgets it.
    Forgets,
    /// Stores each fifth twice.
    Doubles,
    /// Lists each fifth twice.
    Repeats,
    /// Writes each E of each fifth as a capital.
    Shouts,
    /// Drops elements of other namespaces from each fifth.
    Strips,
    /// Lists what came first, first.
    Reverses,
    /// The last page leads to the first again.
    Circles,
    /// Keeps each second that was to be removed.
    Keeps,
    /// Keeps what was there before each second change.
    Forgetful,
}

const PAGE: usize = 4;

struct Entry {
    member: String,
    /// What was sent, from the tag `entry` on.
    text: String,
    edited: usize,
}

struct State {
    manner: Manner,
    publications: Vec<Vec<Entry>>,
    changes: usize,
}

impl State {
    fn answer(&mut self, request: &Request, host: &str) -> String {
        let mut words = request.line.split(' ');
        let (method, path) = (words.next().unwrap(), words.next().unwrap());
        let body = String::from_utf8(request.body.clone()).unwrap();
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let parts: Vec<&str> = path.trim_start_matches('/').split('/').collect();
        match (method, parts.as_slice()) {
            ("POST", ["atom"]) => {
                self.publications.push(Vec::new());
                let number = self.publications.len() - 1;
                reply("201 Made", &format!("Location: http://{host}/atom/{number}\r\n"), "")
            }
            ("GET", ["atom", _]) => reply(
                "200 OK",
                "",
                "<service xmlns='http://www.w3.org/2007/app'><workspace><collection href='m'>\
                 <accept>image/*</accept></collection>\
                 <collection xml:base='/' href='wrong/../X/entries'/></workspace></service>"
                    .replace("X", &path[1..])
                    .as_str(),
            ),
            ("POST", ["atom", number, "entries"]) => {
                let member = self.post(number.parse().unwrap(), &body);
                reply(
                    "201 Made",
                    &format!("Location: {path}/{member}\r\nETag: \"{member}\"\r\n"),
                    &body,
                )
            }
            ("GET", ["atom", number, "entries"]) => {
                reply("200 OK", "", &self.feed(path, number.parse().unwrap(), query))
            }
            (method @ ("PUT" | "DELETE"), ["atom", number, "entries", member]) => {
                self.change(method, number.parse().unwrap(), member, &body);
                reply("200 OK", "ETag: \"new\"\r\n", "")
            }
            _ => reply("404 Not found", "", ""),
        }
    }

    /// Whether it is time to do wrong.
    fn is_turn(&mut self, manner: Manner, every: usize) -> bool {
        self.manner == manner && self.changes.is_multiple_of(every)
    }

    fn post(&mut self, number: usize, body: &str) -> String {
        self.changes += 1;
        let mut text = body[body.find("<entry").unwrap()..].to_owned();
        let member = format!("e{}", self.changes);
        if self.is_turn(Manner::Forgets, 5) {
            return member;
        }
        if self.is_turn(Manner::Shouts, 5) {
            let at = text.find("<content").unwrap();
            let end = text[at..].find('>').unwrap() + at;
            let close = text.rfind("</content").unwrap();
            text.replace_range(end..close, &text[end..close].replace('e', "E"));
        }
        if self.is_turn(Manner::Strips, 5) {
            let at = text.find("<m:made").unwrap();
            let end = text[at..].find("/>").unwrap() + at + 2;
            text.replace_range(at..end, "");
        }
        let edited = self.changes;
        if self.is_turn(Manner::Doubles, 5) {
            let twin = format!("{member}b");
            self.publications[number].push(Entry { member: twin, text: text.clone(), edited });
        }
        self.publications[number].push(Entry { member: member.clone(), text, edited });
        member
    }

    fn change(&mut self, method: &str, number: usize, member: &str, body: &str) {
        self.changes += 1;
        let edited = self.changes;
        let is_kept = (method == "PUT" && self.is_turn(Manner::Forgetful, 2))
            || (method == "DELETE" && self.is_turn(Manner::Keeps, 2));
        let entries = &mut self.publications[number];
        let at = entries.iter().position(|entry| entry.member == member).unwrap();
        let old = entries.remove(at);
        let text = match (method, is_kept) {
            (_, true) => old.text,
            ("PUT", _) => body[body.find("<entry").unwrap()..].to_owned(),
            _ => return,
        };
        entries.push(Entry { member: member.to_owned(), text, edited });
    }

    fn feed(&self, path: &str, number: usize, query: &str) -> String {
        let from: usize = query.strip_prefix("from=").map_or(0, |from| from.parse().unwrap());
        let mut all: Vec<&Entry> = self.publications[number].iter().rev().collect();
        if self.manner == Manner::Reverses {
            all.reverse();
        }
        if self.manner == Manner::Repeats {
            all = all
                .iter()
                .flat_map(|one| vec![*one; 1 + usize::from(one.edited % 5 == 0)])
                .collect();
        }
        let next = match from + PAGE {
            next if next < all.len() => format!("<link rel='next' href='?from={next}'/>"),
            _ if self.manner == Manner::Circles => "<link rel='next' href='?from=0'/>".to_owned(),
            _ => String::new(),
        };
        let entries = all.iter().skip(from).take(PAGE).map(|entry| {
            let Entry { member, text, edited } = entry;
            let own = format!(
                "<link rel='edit' href='{path}/{member}'/>\
                 <a:edited xmlns:a='http://www.w3.org/2007/app'>2026-11-22T10:{:02}:{:02}Z\
                 </a:edited></entry>",
                edited / 60,
                edited % 60
            );
            text.replace("</entry>", &own)
        });
        let entries: String = entries.collect();
        format!("<feed xmlns='http://www.w3.org/2005/Atom'>{next}{entries}</feed>")
    }
}

fn reply(status: &str, fields: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\n{fields}Content-Length: {}\r\n\r\n{body}", body.len())
}

fn start(manner: Manner) -> Server {
    let state = Mutex::new(State { manner, publications: Vec::new(), changes: 0 });
    serve(move |request, stream: &mut TcpStream| -> Then {
        let host = request.field("host").unwrap_or_default().to_owned();
        let answer = state.lock().unwrap().answer(request, &host);
        send(stream, answer.as_bytes())
    })
}

struct Nobody;

impl Watch for Nobody {
    fn tick(&mut self, _: &Tick) {}

    fn second(&mut self, _: &Interval) {}
}

fn report(server: &Server, text: &str, variables: &[(&str, &str)]) -> Report {
    let overrides = Overrides {
        servers: vec![(None, server.url("/"))],
        variables: variables.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect(),
        users: Some(3),
        ..Overrides::default()
    };
    let source = Source { name: "test.toml", text, folder: None };
    let plan = Scenario::read(source, &overrides).unwrap_or_else(|why| panic!("{why}")).plan;
    Report::new(&plan, &run(&plan, &mut Nobody).unwrap())
}

fn shipped_text(name: &str) -> &'static str {
    shipped().iter().find(|one| one.name == name).unwrap().text
}

/// What the audit of the scenario of 2008 says of a server with this manner.
fn posted(manner: Manner) -> (u64, u64, String) {
    let server = start(manner);
    let kinds = [("posts", "10"), ("html", "1"), ("xhtml", "1")];
    let report = report(&server, shipped_text("atompub-post"), &kinds);
    assert_eq!(report.measured.errors().to_string(), "");
    assert_eq!(report.measured.successes(), 30);
    let audit = report.audit.unwrap();
    assert_eq!(report.verdict.outcome() == Outcome::Failed, audit.lost > 0, "{audit:?}");
    (audit.checked, audit.lost, format!("{:?} {:?}", audit.faults, audit.notes))
}

#[test]
fn a_server_that_keeps_everything_passes() {
    let (checked, lost, said) = posted(Manner::Honest);
    assert_eq!((checked, lost), (30, 0), "{said}");
    assert!(said.contains("30 entries of 3 collections were walked, 3 of them compared"), "{said}");
}

#[test]
fn what_was_lost_doubled_or_changed_is_found() {
    for (manner, what) in [
        (Manner::Forgets, "acknowledged entries are not in it"),
        (Manner::Forgets, "entries of this run; it must have 10"),
        (Manner::Doubles, "is there twice"),
        (Manner::Repeats, "is there twice"),
        (Manner::Strips, "has lost its foreign markup"),
        (Manner::Reverses, "comes after an entry that was edited earlier"),
        (Manner::Circles, "`next` leads in a circle"),
    ] {
        let (_, lost, said) = posted(manner);
        assert!(lost > 0 && said.contains(what), "{manner:?}: {said}");
    }
    // One of a hundred is compared, from each collection the first.
    let server = start(Manner::Shouts);
    let report = report(&server, shipped_text("atompub-post"), &[("posts", "5")]);
    let found = report.audit.unwrap();
    assert!(found.faults.iter().any(|fault| fault.contains("another content")), "{found:?}");
}

const CHANGES: &str = r#"
[servers]
web = "http://127.0.0.1:1"
[load]
users = 3
warm_up = "0s"
duration = "2m"
repetitions = 12
[mix]
sequence = ["post", "put", "put", "remove"]
[operation.begin]
steps = [
  { post = "/atom", extract = { service = { header = "Location", url = true } } },
  { get = "{service}", extract = { entries = { atom = "entries" }, media = { atom = "media" } } },
]
[operation.post]
steps = [
  { once = "begin" },
  { post = "{entries}", body = "{made:entry}", extract = { own = LOCATION } },
]
[operation.put]
put = "{own}"
body = '<entry xmlns="ATOM"><id>urn:own:{user}-{iteration}</id>{made:inside}</entry>'
[operation.remove]
steps = [
  { post = "{entries}", body = "{made:entry}", extract = { victim = LOCATION } },
  { delete = "{victim}" },
]
[audit.promises]
post = { keeps = "posted", step = 2 }
put = "edited"
remove = [{ keeps = "posted", step = 1 }, { keeps = "deleted", step = 2 }]
"#;

#[test]
fn changes_and_removals_are_looked_for() {
    let said = |manner| {
        let text = CHANGES.replace("LOCATION", "{ header = \"Location\", url = true }");
        let text = text.replace("ATOM", "http://www.w3.org/2005/Atom");
        let report = report(&start(manner), &text, &[]);
        assert_eq!(report.measured.errors().to_string(), "");
        let audit = report.audit.unwrap();
        (audit.lost, format!("{:?}", audit.faults))
    };
    let (lost, faults) = said(Manner::Honest);
    assert_eq!(lost, 0, "{faults}");
    let (_, faults) = said(Manner::Keeps);
    assert!(faults.contains("its deletion was acknowledged"), "{faults}");
    let (_, faults) = said(Manner::Forgetful);
    assert!(faults.contains("is not as it was acknowledged last"), "{faults}");
}
