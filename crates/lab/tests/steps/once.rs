//! Scenarios in which users go through some steps once, follow addresses that a reply says, send
//! what is made for them, and hang up in the middle of a body.

use crate::server::serve;
use crate::{carried_out, reply};
use lab::scenario::{Overrides, Scenario, Source};
use std::io::Read;
use std::net::TcpListener;
use std::sync::mpsc;
use std::time::Duration;

fn scenario(text: &str, url: &str) -> Result<Scenario, String> {
    let text = format!("[servers]\nweb = \"{url}\"\n{text}");
    let source = Source { name: "test.toml", text: &text, folder: None };
    Scenario::read(source, &Overrides::default()).map_err(|mistakes| mistakes.to_string())
}

const LOAD: &str = "[load]\nusers = 2\nwarm_up = \"0s\"\nduration = \"2m\"\nrepetitions = 3\n";

const POSTS: &str = r#"
[operation.begin]
steps = [
  { post = "/new", extract = { service = { header = "Location", url = true } } },
  { get = "{service}", extract = { entries = { regex = 'href="([^"]*)"', url = true } } },
]

[operation.post]
steps = [
  { once = "begin" },
  { post = "{entries}", headers = { Slug = "{made:slug}" }, body = "{made:entry}" },
]
"#;

#[test]
fn a_user_goes_once_through_what_is_done_once_and_to_where_replies_say() {
    let server = serve(|request, stream| match request.line.as_str() {
        "POST /x/new HTTP/1.1" => {
            let host = request.field("host").unwrap();
            let location = format!("Location: http://{host}/p/{}/\r\n", request.connection);
            reply(stream, "201 Created", &location, "")
        }
        // Each fails once, and is done again with the user's next operation.
        line if line.starts_with("GET /p/") && request.number < 4 => {
            reply(stream, "500 Not yet", "", "")
        }
        line if line.starts_with("GET /p/") => reply(stream, "200 OK", "", "href=\"entries?a\""),
        _ => reply(stream, "201 Created", "", ""),
    });
    let plan = scenario(&format!("{LOAD}{POSTS}"), &server.url("/x/")).unwrap().plan;
    let (report, _) = carried_out(&plan);
    let failed = report.measured.errors().total();
    assert!((1..=2).contains(&failed), "{failed}");
    let seen = server.seen();
    let count = |line: &str| seen.iter().filter(|request| request.line.starts_with(line)).count();
    // Each user has made one that it could use, and those of the failures.
    assert_eq!(count("POST /x/new") as u64, 2 + failed);
    let posts: Vec<_> =
        seen.iter().filter(|request| request.line.starts_with("POST /p/")).collect();
    assert_eq!(posts.len() as u64, 6 - failed);
    for post in posts {
        assert!(post.line.ends_with("/entries?a HTTP/1.1"), "{}", post.line);
        let slug = post.field("slug").unwrap().to_owned();
        let (worker, number) = slug[1..].split_once('s').unwrap();
        let mark = format!("worker=\"{worker}\" seq=\"{number}\"/>");
        let body = String::from_utf8(post.body.clone()).unwrap();
        assert!(body.contains(&mark) && body.ends_with("</entry>\n"), "{slug}: {body}");
    }
}

#[test]
fn an_address_elsewhere_is_a_failed_check() {
    let server =
        serve(|_, stream| reply(stream, "200 OK", "Location: http://127.0.0.1:1/there\r\n", ""));
    let text =
        "[operation.only]\nget = \"/\"\nextract = { a = { header = \"Location\", url = true } }\n";
    let plan = scenario(&format!("{LOAD}{text}"), &server.url("/")).unwrap().plan;
    let (report, samples) = carried_out(&plan);
    assert_eq!(report.measured.successes(), 0);
    assert!(
        samples[0].reason.contains("expected an address on the same server"),
        "{}",
        samples[0].reason
    );
}

#[test]
fn half_a_body_is_sent_and_nothing_after_it() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let (send, received) = mpsc::channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut bytes = Vec::new();
            stream.unwrap().read_to_end(&mut bytes).unwrap();
            send.send(bytes).unwrap();
        }
    });
    let text = "[operation.only]\npost = \"/c\"\ncut = true\nbody = \"0123456789\"\n";
    let plan = scenario(&format!("{LOAD}{text}"), &url).unwrap().plan;
    let (report, _) = carried_out(&plan);
    assert_eq!((report.measured.successes(), report.measured.errors().total()), (6, 0));
    let mut requests = Vec::new();
    // The connection with which the server was looked for has nothing on it.
    while requests.len() < 6 {
        let bytes = received.recv_timeout(Duration::from_secs(120)).expect("six requests came");
        if !bytes.is_empty() {
            requests.push(String::from_utf8(bytes).unwrap());
        }
    }
    for request in requests {
        assert!(request.contains("Content-Length: 10\r\n"), "{request}");
        assert!(request.ends_with("\r\n\r\n01234"), "{request}");
    }
}

#[test]
fn what_cannot_be_done_once_or_made_is_told() {
    let said = |text: &str| scenario(&format!("{LOAD}{text}"), "http://127.0.0.1:1/").unwrap_err();
    let circle = "[operation.a]\nsteps = [{ once = \"a\" }]\n[operation.b]\nget = \"/\"\n";
    assert!(said(circle).contains("\"a\" is done once"), "{}", said(circle));
    let nobody = "[operation.b]\nsteps = [{ once = \"c\" }, { get = \"/\" }]\n";
    assert!(said(nobody).contains("there is no operation `c`"), "{}", said(nobody));
    let alone =
        "[operation.a]\nget = \"/\"\n[operation.b]\nsteps = [{ once = \"a\" }, { once = \"b\" }]\n";
    assert!(said(alone).contains("the run itself has none"), "{}", said(alone));
    let early = "[operation.a]\nsteps = [{ get = \"{x}\" }, { once = \"b\" }]\n\
        [operation.b]\nget = \"/\"\nextract = { x = { body = true } }\n";
    assert!(said(early).contains("used here before it is extracted"), "{}", said(early));
    let made = "[operation.a]\nbody = \"{made:page}\"\npost = \"/\"\n";
    assert!(said(made).contains("{made:entry}"), "{}", said(made));
    for (entries, what) in [
        ("bytes = { normal = -1 }", "expected a number from 0"),
        ("bytes = \"many\"", "expected a whole number"),
        ("bytes = 100000000", "expected a whole number from 0 to 67108864"),
        ("content = { txt = 1 }", "there is no key `txt`"),
        ("content = { text = 0 }", "expected a weight above 0"),
        ("media_bytes = { uniform = [5, 4] }", "a size is from 0"),
        ("words = \"/usr/share/dict/words\"", "a scenario that ships has no files"),
        ("categories = 101", "expected a whole number from 0 to 100"),
    ] {
        let text = format!("[entries]\n{entries}\n[operation.a]\nget = \"/\"\n");
        assert!(said(&text).contains(what), "{entries}: {}", said(&text));
    }
}
