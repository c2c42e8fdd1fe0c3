//! The feed: every commit once and in order, from any number on, of what is asked for and allowed
//! and no more; streams that end, and bounds.

use crate::patience::PATIENCE;
use crate::site::{Client, Site, bare, get, put, until};
use crate::tools;
use faces::limits::{FEED_PAGE_BATCHES_MAX, FEED_READERS_MAX};
use serde_json::Value;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::thread;
use std::time::Duration;

/// A stream of events.
pub struct Stream {
    lines: BufReader<TcpStream>,
}

/// An event's name, id and data.
pub type Event = (String, String, Value);

impl Stream {
    /// Opens it; `fields` are whole lines. HTTP/1.0 has no chunks.
    pub fn open(address: SocketAddr, path: &str, fields: &str) -> Self {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let request = format!("GET {path} HTTP/1.0\r\nHost: localhost\r\n{fields}\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        let mut lines = BufReader::new(stream);
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert!(lines.read_line(&mut head).unwrap() > 0, "half a head: {head}");
        }
        assert!(head.starts_with("HTTP/1.0 200"), "{head}");
        assert!(head.contains("content-type: text/event-stream\r\n"), "{head}");
        Self { lines }
    }

    /// The next event but those that only tell where the stream is; `None`: it has ended.
    pub fn next(&mut self) -> Option<Event> {
        loop {
            let event = self.any()?;
            if event.0 != "position" {
                return Some(event);
            }
        }
    }

    fn any(&mut self) -> Option<Event> {
        let (mut name, mut id, mut data) = (String::new(), String::new(), String::new());
        loop {
            let mut line = String::new();
            if self.lines.read_line(&mut line).unwrap() == 0 {
                return None;
            }
            let line = line.strip_suffix('\n').unwrap();
            match line.split_once(": ") {
                Some(("event", value)) => name = value.to_owned(),
                Some(("id", value)) => id = value.to_owned(),
                Some(("data", value)) => data = value.to_owned(),
                None if line.is_empty() && !data.is_empty() => {
                    return Some((name, id, serde_json::from_str(&data).unwrap()));
                }
                _ => {}
            }
        }
    }

    /// The next commit: its number, and collection and key of each change.
    pub fn commit(&mut self) -> (u64, Vec<String>) {
        let (name, id, data) = self.next().expect("the stream goes on");
        assert_eq!((name.as_str(), id), ("commit", data["commit"].to_string()));
        (data["commit"].as_u64().unwrap(), places(&data))
    }
}

/// What a commit changed.
fn places(commit: &Value) -> Vec<String> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let place =
        |change: &Value| format!("{}/{}", text(&change["collection"]), text(&change["key"]));
    commit["changes"].as_array().unwrap().iter().map(place).collect()
}

fn page(site: &Site, path: &str) -> Value {
    let reply = site.ask(&bare("GET", path, "Accept: application/json\r\n"));
    assert_eq!(reply.status, 200, "{reply:?}");
    reply.json()
}

#[test]
fn commits_are_told_as_they_happen_to_those_who_asked_for_them() {
    let site = Site::start();
    site.put("/db/notes/before", "1");
    let address = site.server.local_addr();
    let mut all = Stream::open(address, "/feed", "");
    let mut notes = Stream::open(address, "/db/notes?feed", "");
    let mut two = Stream::open(address, "/feed?collections=notes,other", "");
    let tag = site.put("/db/notes/a%2Fb", "{\"n\":1}");
    site.put("/db/third/c", "1");
    let list = r#"[{"op":"put","collection":"other","key":"d","value":[1]},
                   {"op":"delete","collection":"notes","key":"before"},
                   {"op":"merge","collection":"notes","key":"m",
                    "patch":[{"op":"add","path":"/hits","value":2}]}]"#;
    assert_eq!(site.transact("", "", list).status, 200);
    let (name, id, first) = all.next().unwrap();
    assert_eq!((name.as_str(), format!("\"{id}\"")), ("commit", tag));
    let change = &first["changes"][0];
    assert_eq!(change["document"], serde_json::json!({"n": 1}));
    assert_eq!((&change["change"], &change["key"]), (&"put".into(), &"a/b".into()));
    assert_eq!(change["media_type"], "application/json");
    assert_eq!(all.commit().1, ["third/c"]);
    let (_, _, last) = all.next().unwrap();
    assert_eq!(places(&last), ["other/d", "notes/before", "notes/m"]);
    let operation = serde_json::json!([{"op": "add", "path": "/hits", "value": 2}]);
    assert_eq!(last["changes"][2]["operations"], operation);
    assert_eq!(last["changes"][1]["change"], "delete");
    assert_eq!(notes.commit().1, ["notes/a/b"]);
    assert_eq!(notes.commit().1, ["notes/before", "notes/m"]);
    assert_eq!(two.commit().1, ["notes/a/b"]);
    assert_eq!(two.commit().1, ["other/d", "notes/before", "notes/m"]);
}

#[test]
fn a_stream_goes_on_where_it_broke() {
    let site = Site::start();
    let address = site.server.local_addr();
    (0..60).for_each(|i| drop(site.put(&format!("/db/notes/{i}"), "1")));
    let mut found = Vec::new();
    let mut after = "0".to_owned();
    while found.len() < 60 {
        // What the URI says is what the stream began with.
        let field = format!("Last-Event-ID: {after}\r\n");
        let mut stream = Stream::open(address, "/feed?after=0", &field);
        for _ in 0..7.min(60 - found.len()) {
            let (number, places) = stream.commit();
            after = number.to_string();
            found.extend(places);
        }
    }
    let expected: Vec<String> = (0..60).map(|i| format!("notes/{i}")).collect();
    assert_eq!(found, expected);
    // And in pages.
    let first = page(&site, "/db/notes?feed&after=0");
    let told = first["commits"].as_array().unwrap().iter().flat_map(places);
    assert_eq!(told.collect::<Vec<_>>(), expected);
    let next = format!("/feed?after={}", first["next"]);
    assert_eq!(page(&site, &next)["commits"], serde_json::json!([]));
    site.put("/db/notes/new", "1");
    assert_eq!(page(&site, &next)["commits"][0]["changes"][0]["key"], "new");
    assert_eq!(page(&site, "/feed")["commits"], serde_json::json!([]), "from now on");
}

/// A reader of one collection goes through megabytes of another, which it is not told of.
#[test]
fn an_empty_page_says_whether_there_is_more() {
    let site = Site::start();
    let body = format!("\"{}\"", "x".repeat(1 << 20));
    // Each page looks through so much and no more.
    (0..FEED_PAGE_BATCHES_MAX + 3).for_each(|i| drop(site.put(&format!("/db/large/{i}"), &body)));
    site.put("/db/notes/last", "1");
    let (mut after, mut pages, mut told) = (0, 0, Vec::new());
    loop {
        let page = page(&site, &format!("/db/notes?feed&after={after}"));
        pages += 1;
        told.extend(page["commits"].as_array().unwrap().iter().flat_map(places));
        let next = page["next"].as_u64().unwrap();
        if page["more"] == false {
            break;
        }
        assert!(next > after, "it gets on: {page}");
        after = next;
    }
    assert_eq!(told, ["notes/last"]);
    assert!(pages >= 2, "{pages} pages");
    // What is there is told at once, however little it is, and nothing is more than all.
    let all = page(&site, "/db/notes?feed&after=0");
    assert_eq!(all["more"], true, "{all}");
    let end = page(&site, "/feed");
    assert_eq!((&end["commits"], &end["more"]), (&serde_json::json!([]), &false.into()));
}

#[test]
fn many_writers_are_told_of_once_each_and_in_order() {
    let site = Site::start();
    let address = site.server.local_addr();
    let mut streams: Vec<_> = (0..3).map(|_| Stream::open(address, "/feed", "")).collect();
    thread::scope(|scope| {
        for writer in 0..4 {
            let site = &site;
            scope.spawn(move || {
                let mut client = site.connect();
                for i in 0..50 {
                    let path = format!("/db/notes/{writer}-{i}");
                    assert_eq!(client.ask(&put(&path, "", "1")).status, 201);
                }
            });
        }
        for stream in &mut streams {
            let told: Vec<_> = (0..200).map(|_| stream.commit()).collect();
            assert!(told.windows(2).all(|pair| pair[0].0 < pair[1].0));
            let mut places: Vec<String> = told.into_iter().flat_map(|(_, places)| places).collect();
            places.sort();
            places.dedup();
            assert_eq!(places.len(), 200);
        }
    });
    let metrics = site.ask(&get("/metrics")).body;
    assert!(metrics.contains("sarsen_feed_readers 3\n"), "{metrics}");
    assert!(metrics.contains("sarsen_feed_events_total 600\n"), "{metrics}");
    drop(streams);
    until(|| site.ask(&get("/metrics")).body.contains("sarsen_feed_readers 0\n"));
}

#[test]
fn what_is_sarsens_own_is_not_told() {
    let site = Site::start();
    site.put("/db/notes/a", "1");
    let once = "Idempotency-Key: \"k\"\r\n";
    assert_eq!(site.ask(&put("/db/notes/b", once, "1")).status, 201);
    site.configure("notes", "{\"conflict\":\"merge\"}");
    assert_eq!(site.ask(&bare("DELETE", "/db/notes", "")).status, 204);
    let told = page(&site, "/feed?after=0");
    assert!(!told.to_string().contains("\"_"), "{told}");
    let changes = |i: usize| told["commits"][i]["changes"].as_array().unwrap().clone();
    assert_eq!((changes(1).len(), &changes(1)[0]["key"]), (1, &"b".into()));
    assert_eq!((&changes(2)[0]["change"], changes(2)[0].get("key")), (&"configure".into(), None));
    assert_eq!(changes(3)[0]["change"], "drop");
    for path in ["/db/_collections?feed", "/feed?collections=_tasks"] {
        assert!(matches!(site.ask(&get(path)).status, 400 | 404), "{path}");
    }
}

#[test]
fn what_is_not_there_is_gone() {
    let site = Site::start();
    site.put("/db/notes/a", "1");
    let reply = site.ask(&get("/feed?after=1000000"));
    assert_eq!((reply.status, reply.problem()), (410, "feed-gone"));
    assert_eq!(reply.json()["after"], site.repository.log_end().0);
    assert_eq!(site.ask(&get("/feed?after=x")).status, 400);
    assert_eq!(site.ask(&bare("GET", "/feed", "Accept: text/html\r\n")).status, 406);
    assert_eq!(site.ask(&bare("POST", "/feed", "Content-Length: 0\r\n")).status, 405);
    assert_eq!(site.ask(&bare("HEAD", "/feed", "")).status, 200);
}

#[test]
fn streams_end_when_the_server_does() {
    let site = Site::start();
    let address = site.server.local_addr();
    let mut idle = Stream::open(address, "/feed", "");
    let mut told = Stream::open(address, "/feed", "");
    site.put("/db/notes/a", "1");
    told.commit();
    idle.commit();
    assert_eq!(site.server.drain(Duration::from_secs(60)), 0, "none has to be cut off");
    assert_eq!((idle.next(), told.next()), (None, None));
}

#[test]
fn so_many_may_read_at_once() {
    let site = Site::start();
    let address = site.server.local_addr();
    let streams: Vec<_> =
        (0..FEED_READERS_MAX).map(|_| Stream::open(address, "/feed", "")).collect();
    let refused = site.ask(&get("/feed"));
    assert_eq!((refused.status, refused.problem()), (503, "busy"));
    assert!(refused.field("retry-after").is_some());
    assert_eq!(page(&site, "/feed?after=0")["commits"], serde_json::json!([]), "pages go on");
    drop(streams);
    until(|| Client::to(address).ask(&bare("HEAD", "/feed", "")).status == 200);
    until(|| site.ask(&get("/metrics")).body.contains("sarsen_feed_readers 0\n"));
    drop(Stream::open(address, "/feed", ""));
}

#[test]
fn http2_has_streams_as_well() {
    let site = Site::start();
    site.put("/db/notes/a", "{\"n\":7}");
    let url = format!("http://{}/feed?after=0", site.server.local_addr());
    // The stream has no end: curl leaves after two seconds, with what came until then.
    let arguments = ["-sS", "--no-buffer", "--http2-prior-knowledge", "--max-time", "2", &url];
    let output = tools::run("curl", &arguments);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("event: commit\nid: 1\n") && text.contains("{\"n\":7}"), "{output:?}");
}
