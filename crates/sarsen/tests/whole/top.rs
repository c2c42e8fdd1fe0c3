//! `sarsen top`, on a terminal and without one, beside a server that has work: a storm of
//! conflicts, which always finishes.

use crate::harness::{Ends, Server, Site, sarsen, test_app};
use crate::on_terminal::OnTerminal;
use serde_json::Value;
use std::thread;

const CLIENTS: usize = 100;
const HITS: usize = 5;

/// Every client hits the one document; all of them at once.
fn storm(server: &Server) {
    thread::scope(|scope| {
        for _ in 0..CLIENTS {
            scope.spawn(|| {
                let mut client = server.connect();
                for _ in 0..HITS {
                    let reply = client.request("POST", "/hit", &[], b"").expect("a reply");
                    assert_eq!(reply.status, 200, "{}", reply.text());
                }
            });
        }
    });
}

fn top(site: &Site, arguments: &[&str]) -> String {
    let data = site.data();
    let output = sarsen().arg("top").arg("--data").arg(data).args(arguments).ends();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

#[test]
fn a_storm_of_a_hundred_clients_on_one_document_finishes_and_is_seen() {
    let site = Site::with_app(test_app("storm"));
    let server = site.start();
    storm(&server);
    let hits = CLIENTS * HITS;
    assert_eq!(server.get("/hits").json()["hits"], hits, "every acknowledged hit is there");

    let told: Value = serde_json::from_str(&top(&site, &["--json", "--every", "1s"])).unwrap();
    assert_eq!(told["commits"], hits);
    assert_eq!(told["gems"]["workers"], 2);
    let handlers = told["handlers"].as_array().expect("a list");
    let hit = handlers.iter().find(|one| one["name"] == "POST /hit").expect("the handler");
    let count: u64 =
        hit["took"]["buckets"].as_array().unwrap().iter().flat_map(Value::as_u64).sum();
    assert_eq!((count, &hit["writes"]), (hits as u64, &Value::from(hits)));
    assert_eq!(hit["conflicts"].as_u64() > Some(0), told["conflicts"].as_u64() > Some(0));

    let text = top(&site, &["--once", "--every", "1s"]);
    assert!(text.starts_with("requests ") && text.contains("gems     0 of 2 busy"), "{text}");
    assert!(!text.contains('\u{1b}'), "no terminal, so nothing that steers one");
    assert!(server.stop().success());
    let gone = sarsen().args(["top", "--once", "--data"]).arg(site.data()).ends();
    assert_eq!(gone.status.code(), Some(6));
    assert!(String::from_utf8_lossy(&gone.stderr).contains("no server runs on"), "{gone:?}");
}

#[test]
fn on_a_terminal_it_shows_look_after_look_until_q() {
    let site = Site::with_app(test_app("storm"));
    let server = site.start();
    storm(&server);
    let mut top = sarsen();
    top.args(["top", "--every", "1s", "--data"]).arg(site.data());
    let mut terminal = OnTerminal::start(top, (12, 70));
    terminal.wait_for("\u{1b}[?1049h");
    terminal.wait_for("POST /hit");
    terminal.wait_for("q quit");
    let widest = terminal.shown.split("\r\n").map(|line| {
        let text = line.rsplit('H').next().unwrap_or(line);
        text.trim_end_matches("\u{1b}[K").chars().count()
    });
    assert!(widest.max() <= Some(70), "{:?}", terminal.shown);
    terminal.press(b"n");
    terminal.wait_for("HANDLER");
    terminal.press(b"q");
    terminal.wait_for("\u{1b}[?1049l");
    assert!(terminal.wait().success());
    assert!(server.stop().success());
}
