//! Requests that fail in the application: what the client sees, in development and in production,
//! and what `sarsen errors` finds of them, beside a server and without.

use crate::harness::{Ends, Server, Site, sarsen, test_app};
use crate::http::Reply;
use serde_json::Value;
use std::process::Output;

const BROWSER: &[(&str, &str)] =
    &[("Accept", "text/html,application/xhtml+xml,*/*;q=0.8"), ("Cookie", "theme=cookie-secret")];

fn get(server: &Server, target: &str, headers: &[(&str, &str)]) -> Reply {
    server.connect().request("GET", target, headers, b"").expect("a reply")
}

fn errors(site: &Site, arguments: &[&str]) -> Output {
    let data = site.data();
    sarsen().arg("errors").arg("--data").arg(data).args(arguments).ends()
}

fn stdout(output: Output) -> String {
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// The newest that are kept, once there are `count`: the file is written by a thread of its own.
fn kept(site: &Site, count: usize) -> Vec<Value> {
    site.wait_for(&format!("{count} failed requests"), || {
        let text = stdout(errors(site, &["--json", "--limit", "1000"]));
        let lines = text.lines().map(|line| serde_json::from_str(line).expect("a line of JSON"));
        Some(lines.collect::<Vec<Value>>()).filter(|lines| lines.len() >= count)
    })
}

#[test]
fn developers_see_where_and_why() {
    let site = Site::with_app(test_app("failing"));
    let server = site.start_with(&["--development"]);
    let reply = get(&server, "/missing/7?q=query-secret", &[]);
    assert_eq!(reply.status, 500);
    assert_eq!(reply.header("content-type"), Some("application/problem+json"));
    let problem: Value = serde_json::from_slice(&reply.body).expect("JSON");
    assert_eq!(problem["type"], "/errors/handler-failed");
    assert!(problem["place"].as_str().is_some_and(|p| p.ends_with("app.js:7:10")), "{problem}");
    assert_eq!(problem["handler"], "GET /missing/:id");
    assert_eq!(problem["stack"].as_array().map(Vec::len), Some(2), "{problem}");
    assert_eq!(problem["code_frame"]["line"], 7);
    assert_eq!(problem["code_frame"]["lines"][3], "  return note.title.length;");

    let page = get(&server, "/missing/7", BROWSER);
    assert_eq!(page.status, 500);
    assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"));
    let policy = page.header("content-security-policy").expect("a policy");
    assert!(policy.starts_with("default-src 'none';") && !policy.contains("unsafe"), "{policy}");
    let text = String::from_utf8(page.body).expect("UTF-8");
    for shown in ["TypeError: ", "app.js:7:10", "7 |   return note.title.length;"] {
        assert!(text.contains(shown), "expected {shown} in {text}");
    }
    for hidden in ["cookie-secret", "<script", "http://", "https://", "src="] {
        assert!(!text.contains(hidden), "found {hidden} in {text}");
    }
    assert!(server.stop().success());
}

#[test]
fn in_production_there_is_an_id_and_no_more() {
    let site = Site::with_app(test_app("failing"));
    let server = site.start();
    let reply = server.connect().request("POST", "/writes?q=query-secret", &[], b"").unwrap();
    let problem: Value = serde_json::from_slice(&reply.body).expect("JSON");
    let id = problem["id"].as_str().expect("an id").to_owned();
    let names: Vec<_> = problem.as_object().expect("an object").keys().collect();
    assert_eq!(names, ["type", "title", "status", "detail", "id"]);
    let text = String::from_utf8(reply.body).expect("UTF-8");
    assert!(!text.contains("after a write"), "{text}");
    let page = get(&server, "/missing/1", BROWSER);
    let page = String::from_utf8(page.body).expect("UTF-8");
    assert!(page.contains("say this id: ") && !page.contains("TypeError"), "{page}");

    assert_eq!(kept(&site, 2).len(), 2);
    let full = stdout(errors(&site, &[&id]));
    for words in ["after a write", "caused by\n  ", "RangeError: </code><script>", "POST /writes"] {
        assert!(full.contains(words), "expected {words} in {full}");
    }
    assert!(full.contains("> 13 |   throw new Error(\"after a write\""), "{full}");
    assert_eq!(get(&server, "/db/notes/a", &[]).status, 404, "nothing was written");
    assert!(server.stop().success());

    let list = stdout(errors(&site, &["--limit", "1"]));
    assert_eq!(list.lines().count(), 2, "{list}");
    assert!(list.contains("500  view 0  GET /missing/1  (GET /missing/:id)\n"), "{list}");
    let file = std::fs::read_to_string(site.data().join("errors.jsonl")).expect("the file");
    assert!(!file.contains("secret"), "{file}");
    let unknown = errors(&site, &["0000"]);
    assert_eq!(unknown.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&unknown.stderr).contains("no failed request 0000"));
    site.assert_clean();
}

#[test]
fn each_limit_is_a_problem_of_its_own_and_others_go_on() {
    let site = Site::with_app(test_app("failing"));
    let server = site.start();
    for (target, kind, words) in [
        ("/spins", "cpu-limit", "100 ms of CPU time"),
        ("/large", "reply-limit", "at most 16777216 bytes"),
        ("/deep", "stack-limit", "Maximum call stack size exceeded"),
        ("/wrong", "handler-failed", "a status from 200 to 599"),
    ] {
        let reply = server.get(target);
        let problem: Value = serde_json::from_slice(&reply.body).expect("JSON");
        assert_eq!(problem["type"], format!("/errors/{kind}"), "{target}");
        let id = problem["id"].as_str().expect("an id");
        let line = site.wait_for(id, || kept(&site, 1).into_iter().find(|line| line["id"] == id));
        assert!(line["message"].as_str().is_some_and(|m| m.contains(words)), "{target}: {line}");
        assert_eq!(server.get("/fine").status, 200);
    }
    assert!(server.stop().success());
}

#[test]
fn without_a_folder_there_is_a_clear_refusal() {
    let site = Site::bare();
    let output = errors(&site, &[]);
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.starts_with("sarsen: cannot read the failed requests in "), "{said}");
    assert!(said.contains("(--data)"), "{said}");
    std::fs::create_dir(site.data()).expect("a folder");
    assert_eq!(stdout(errors(&site, &[])), "no request has failed\n");
}
