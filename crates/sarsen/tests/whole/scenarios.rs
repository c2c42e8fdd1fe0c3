//! `sarsen run`: each scenario that ships, shortly, against a real server; and what is said of a
//! scenario that cannot be run.

use crate::harness::{Site, root, run, sarsen};
use crate::on_terminal::OnTerminal;
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::Output;
use std::sync::{Arc, Mutex};
use std::thread;

/// Runs a scenario for a moment and gives its report. A short run on a busy machine may well be
/// INVALID; what is looked at here does not hang on that.
pub fn short(name: &str, url: &str, more: &[&str]) -> Value {
    let server = format!("--server={url}");
    let brief = ["--duration", "700ms", "--warm-up", "100ms", "--json"];
    let runs = tempfile::tempdir().expect("a folder");
    let mut command = sarsen();
    command.env("SARSEN_RUNS", runs.path()).args(["run", name, &server]).args(brief).args(more);
    let output = command.output();
    let output = output.expect("the binary runs");
    let text = String::from_utf8_lossy(&output.stdout);
    let report = serde_json::from_str(&text);
    report.unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

/// Nothing failed, and these operations succeeded.
pub fn assert_done(report: &Value, operations: &[&str]) {
    let errors = report["errors"].as_object().expect("errors by class");
    assert!(errors.values().all(|count| count == 0), "{report:#}");
    assert!(report["successes"].as_u64() > Some(0), "{report:#}");
    for operation in operations {
        let successes = report["operations"][operation]["successes"].as_u64();
        assert!(successes > Some(0), "{operation}: {report:#}");
    }
}

/// What was acknowledged was looked for, and found.
pub fn assert_audited(report: &Value) {
    let audit = &report["audit"];
    assert!(audit["checked"].as_u64() > Some(0) && audit["lost"] == 0, "{audit:#}");
    assert_eq!(audit["first"], serde_json::json!([]));
}

#[test]
fn documents() {
    let server = Site::bare().start();
    let few = ["--set", "documents=30", "--users", "4"];
    let report = short("documents", &server.url("/"), &few);
    let all = ["get", "revalidate", "query", "put", "patch", "add", "post"];
    assert_done(&report, &all);
    assert!(report["statuses"]["304"].as_u64() > Some(0), "{report:#}");
    assert!(report["latency_by_status_ms"]["3xx"]["count"].as_u64() > Some(0), "{report:#}");
    assert_audited(&report);
}

#[test]
fn olio_mix() {
    let server = Site::bare().start();
    // 25 users in 700 ms: enough for the first operation, which is always home.
    let report = short("olio-mix", &server.url("/"), &["--set", "events=20", "--users", "200"]);
    assert_done(&report, &["home"]);
}

#[test]
fn counter() {
    let server = Site::with_app(root().join("apps/counter")).start();
    for mode in [&["--users", "2"][..], &["--set", "think=20ms"]] {
        assert_done(&short("counter", &server.url("/"), mode), &[]);
    }
}

#[test]
fn counter_clicks() {
    let server = Site::with_app(root().join("apps/counter")).start();
    assert_done(&short("counter-clicks", &server.url("/"), &["--users", "3"]), &[]);
}

#[test]
fn spike_and_diurnal() {
    let server = Site::bare().start();
    let few = ["--set", "documents=30", "--rate", "500"];
    assert_done(&short("spike", &server.url("/"), &few), &["read"]);
    assert_done(&short("diurnal", &server.url("/"), &few), &["read", "write"]);
}

#[test]
fn transfers_make_and_lose_no_money() {
    let server = Site::with_app(root().join("apps/bank")).start();
    for skew in ["skew=0", "skew=1.5"] {
        let few = ["--set", "accounts=12", "--set", skew, "--users", "4"];
        let report = short("transfer", &server.url("/"), &few);
        assert_done(&report, &["transfer", "look"]);
        assert_audited(&report);
        let page = server.get("/").text();
        // 12 accounts with a million each.
        assert!(page.contains("id=\"sum\">12000000.00"), "{page}");
    }
}

#[test]
fn atompub_post() {
    let (address, publications) = atompub();
    let url = format!("http://{address}/");
    let atompub_few = ["--users", "3", "--set", "posts=20", "--warm-up", "1ms"];
    let report = short("atompub-post", &url, &atompub_few);
    assert_done(&report, &[]);
    assert_audited(&report);
    assert_eq!(report["audit"]["checked"], 60);
    let publications = publications.lock().expect("no thread of the server panicked");
    // Each worker its own, and then it goes.
    assert_eq!(publications.iter().map(Vec::len).collect::<Vec<_>>(), [20; 3]);
    let entries: Vec<&String> = publications.iter().flatten().collect();
    let mean = entries.iter().map(|entry| entry.len()).sum::<usize>() / entries.len();
    assert!((580..680).contains(&mean), "{mean} bytes");
    for entry in entries {
        assert!(entry.starts_with("<?xml") && entry.trim_end().ends_with("</entry>"), "{entry}");
    }
}

#[test]
fn every_scenario_of_atompub_says_what_it_would_do() {
    let names = [
        "mix",
        "blog-farm",
        "newsroom",
        "deposit",
        "lost-update",
        "spiky",
        "hostile",
        "archive-walk",
    ];
    for name in names {
        let output = run(&["run", &format!("atompub-{name}"), "--check"]);
        assert_eq!(output.status.code(), Some(0), "{name}: {output:?}");
    }
}

/// By publication, what was posted to it.
type Publications = Arc<Mutex<Vec<Vec<String>>>>;

/// A server of publications that takes whatever is posted to it.
fn atompub() -> (SocketAddr, Publications) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("its address");
    let publications = Publications::default();
    let kept = Arc::clone(&publications);
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (mut stream, kept) = (stream.expect("a connection"), Arc::clone(&kept));
            thread::spawn(move || {
                let mut reader = BufReader::new(stream.try_clone().expect("a second handle"));
                while let Some((line, body)) = request(&mut reader) {
                    let reply = publish(&kept, &line, body);
                    if stream.write_all(reply.as_bytes()).is_err() {
                        return;
                    }
                }
            });
        }
    });
    (address, publications)
}

fn publish(kept: &Publications, line: &str, body: String) -> String {
    let mut all = kept.lock().expect("no other thread panicked");
    let mut words = line.split(' ');
    let (method, path) = (words.next().unwrap_or(""), words.next().unwrap_or(""));
    let number = || path.split('/').nth(2)?.parse::<usize>().ok();
    let (location, reply) = match (method, path) {
        ("POST", "/atom") => {
            all.push(Vec::new());
            (format!("/atom/{}", all.len() - 1), String::new())
        }
        ("POST", path) => {
            let entries = &mut all[number().expect("a number")];
            entries.push(body);
            (format!("{path}/{}", entries.len() - 1), String::new())
        }
        (_, path) if path.ends_with("/entries") => {
            let entries = all[number().expect("a number")].iter().enumerate().rev();
            let entries = entries.map(|(place, entry)| {
                let own = format!(
                    "<link rel='edit' href='{path}/{place}'/>\
                     <e:edited xmlns:e='http://www.w3.org/2007/app'>2026-01-01T00:00:{place:02}Z\
                     </e:edited></entry>"
                );
                let text = entry.split_once("?>").map_or("", |(_, text)| text);
                text.replace("</entry>", &own)
            });
            let entries: String = entries.collect();
            let feed = format!("<feed xmlns='http://www.w3.org/2005/Atom'>{entries}</feed>");
            (String::new(), feed)
        }
        (_, path) => (
            String::new(),
            format!(
                "<service xmlns='http://www.w3.org/2007/app'><workspace>\
                 <collection href='{path}/entries'/></workspace></service>"
            ),
        ),
    };
    let status = if method == "POST" { "201 Created" } else { "200 OK" };
    format!(
        "HTTP/1.1 {status}\r\nLocation: {location}\r\nContent-Length: {}\r\n\r\n{reply}",
        reply.len()
    )
}

fn request(reader: &mut BufReader<TcpStream>) -> Option<(String, String)> {
    let mut first = String::new();
    reader.read_line(&mut first).ok().filter(|read| *read > 0)?;
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        if line.trim_end().is_empty() {
            break;
        }
        let (name, value) = line.split_once(':').expect("a field");
        if name.eq_ignore_ascii_case("content-length") {
            length = value.trim().parse().expect("a length");
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some((first.trim_end().to_owned(), String::from_utf8(body).expect("UTF-8")))
}

fn said(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr))
}

#[test]
fn a_check_says_what_would_be_done_and_sends_nothing() {
    // Nobody listens there.
    let output = run(&["run", "olio-mix", "--check", "--server", "http://127.0.0.1:1"]);
    let (stdout, stderr) = said(&output);
    assert_eq!((output.status.code(), stderr.as_str()), (Some(0), ""));
    for words in ["33.45 %  tag_search", "at most 5.0 operations/s", "sarsen at http://127.0.0.1:1"]
    {
        assert!(stdout.contains(words), "{stdout}");
    }
}

#[test]
fn a_scenario_that_ships_can_be_shown_changed_and_run_from_a_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("mine.toml");
    let (text, _) = said(&run(&["run", "counter", "--show"]));
    std::fs::write(&path, &text).expect("a file");
    let path = path.to_str().expect("UTF-8");
    assert_eq!(run(&["run", path, "--check"]).status.code(), Some(0));
    std::fs::write(path, text.replace("users = 10", "users = 10\nusres = 10\nthraeds = 1"))
        .expect("a file");
    let output = run(&["run", path]);
    let (_, stderr) = said(&output);
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    for words in ["did you mean `users`?", "did you mean `threads`?", ".toml:20:1: ", "2 mistakes"]
    {
        assert!(stderr.contains(words), "{words}: {stderr}");
    }
}

#[test]
fn on_a_terminal_a_run_is_watched_and_q_ends_it() {
    let server = Site::bare().start();
    let runs = tempfile::tempdir().expect("a folder");
    let mut command = sarsen();
    command.env("SARSEN_RUNS", runs.path()).args(["run", "documents", "--server"]);
    command.arg(server.url("/")).args(["--set", "documents=20", "--users", "3"]);
    command.args(["--warm-up", "1s", "--duration", "1h"]);
    let mut terminal = OnTerminal::start(command, (24, 80));
    for words in [
        "documents   (closed)",
        "of 3601 s",
        "3 users",
        "mix        ",
        "service    now",
        "generator ",
        "q end now",
    ] {
        terminal.wait_for(words);
    }
    terminal.wait_for("measuring: ");
    terminal.press(b"+");
    terminal.wait_for("of 3631 s");
    terminal.press(b"q");
    terminal.wait_for("\u{1b}[?1049l");
    terminal.wait_for("INVALID: ");
    terminal.wait_for("made 30 s longer");
    assert_eq!(terminal.wait().code(), Some(9));
}

#[test]
fn an_unknown_scenario_names_the_nearest() {
    let output = run(&["run", "documnets"]);
    let (_, stderr) = said(&output);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr.contains("did you mean `documents`?"), "{stderr}");
}

#[test]
fn a_setup_that_fails_says_where_to_go_on_and_nothing_is_measured() {
    let server = Site::bare().start();
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("s.toml");

    let text = format!(
        "[servers]\nsarsen = \"{}\"\n[load]\nusers = 1\n[operation.get]\nget = \"/db/a/1\"\n\
         [operation.fill]\nsteps = [{{ put = \"/db/a/{{iteration}}\", body = \"{{iteration}}\", \
         type = \"application/json\" }}]\n[operation.bad]\nput = \"/nowhere/{{iteration}}\"\n\
         [[setup]]\noperation = \"fill\"\ntimes = 5\nusers = 2\n\
         [[setup]]\noperation = \"bad\"\ntimes = 5\nusers = 2\n",
        server.url("/")
    );
    std::fs::write(&path, text).expect("a file");
    let runs = folder.path().join("runs");
    let output = sarsen().env("SARSEN_RUNS", &runs).arg("run").arg(&path).output();
    let output = output.expect("the binary runs");
    let (stdout, stderr) = said(&output);
    assert_eq!((output.status.code(), stdout.as_str()), (Some(1), ""), "{stderr}");
    assert!(stderr.contains("setup `bad`"), "{stderr}");
    assert!(stderr.contains("--setup-from 0"), "{stderr}");
    assert!(!runs.exists(), "nothing was measured");
    for key in 0..5 {
        assert_eq!(server.get(&format!("/db/a/{key}")).status, 200);
    }
}
