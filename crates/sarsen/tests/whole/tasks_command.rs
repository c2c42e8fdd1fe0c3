//! `sarsen tasks` on a data folder that a server has open, and on one that none has: the same
//! answers. What a retry and a cancellation mean is tested in the gem.

use crate::harness::{Ends, Server, Site, sarsen, test_app};
use serde_json::Value;
use std::process::Output;

fn tasks(site: &Site, line: &str) -> Output {
    let words = line.split(' ');
    sarsen().arg("tasks").args(words).arg("--data").arg(site.data()).ends()
}

fn said(site: &Site, line: &str) -> String {
    let output = tasks(site, line);
    assert!(output.status.success() && output.stderr.is_empty(), "{line}: {output:?}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

fn refused(site: &Site, line: &str, code: i32, words: &str) {
    let output = tasks(site, line);
    let error = String::from_utf8(output.stderr).expect("UTF-8");
    assert_eq!(output.status.code(), Some(code), "{line}: {error}");
    assert!(output.stdout.is_empty() && error.contains(words), "{line}: {error}");
}

fn list(site: &Site, which: &str) -> Vec<Value> {
    let text = said(site, &format!("list --json --{which}"));
    text.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect()
}

/// The dead tasks, once there are `count`.
fn dead(site: &Site, count: usize) -> Vec<Value> {
    site.wait_for(&format!("{count} dead tasks"), || {
        Some(list(site, "dead")).filter(|found| found.len() == count)
    })
}

fn post(server: &Server, path: &str) -> String {
    let reply = server.connect().request("POST", path, &[], b"").expect("a reply");
    assert_eq!(reply.status, 200, "{reply:?}");
    reply.text().trim_matches('"').to_owned()
}

fn wait_for_document(server: &Server, path: &str) {
    server.wait_until(path, || server.get(path).status == 200);
}

fn metric(server: &Server, sample: &str) -> String {
    let text = server.get("/metrics").text();
    let line = text.lines().find_map(|line| line.strip_prefix(sample));
    line.unwrap_or_else(|| panic!("no {sample} in {text}")).trim().to_owned()
}

#[test]
fn a_server_that_runs_lists_retries_and_cancels() {
    let site = Site::with_app(test_app("jobs"));
    let server = site.start();
    let id = post(&server, "/jobs/a");
    post(&server, "/jobs/b");
    post(&server, "/jobs/c");
    let keyed = post(&server, "/later/later");
    let found = dead(&site, 3);
    let a = found.iter().find(|task| task["id"] == id.as_str()).expect("the first");
    assert_eq!(
        (&a["name"], &a["state"], &a["failures"]),
        (&"job".into(), &"dead".into(), &1.into())
    );
    assert!(a["error"].as_str().is_some_and(|error| error.contains("app.js:7:")), "{a}");
    assert_eq!(metric(&server, "sarsen_tasks{state=\"dead\"} "), "3");
    assert_eq!(metric(&server, "sarsen_task_failures_total "), "3");

    let text = said(&site, "list");
    assert!(text.contains("job:later  waiting  job  due "), "{text}");
    assert!(text.contains("leap:  waiting  leap  due "), "{text}");
    assert!(text.contains(&format!("{id}  dead  job  died ")), "{text}");
    assert!(text.contains("1 failure\n    "), "{text}");
    assert!(
        said(&site, "list --dead --limit 2")
            .ends_with("more tasks are dead; --limit N lists up to 1000\n")
    );

    let on = server.connect().put_json("/db/switches/on", "true").expect("a reply");
    assert_eq!(on.status, 201);
    assert_eq!(
        said(&site, &format!("retry {id}")),
        format!("the task {id} waits, and is due now\n")
    );
    wait_for_document(&server, "/db/done/a");
    refused(&site, &format!("retry {id}"), 1, "there is no dead task");
    let other = found.iter().find(|task| task["id"] != id.as_str()).expect("another");
    let other = other["id"].as_str().expect("an id");
    assert_eq!(
        said(&site, &format!("cancel {other}")),
        format!("cancelled the dead task job {other}\n")
    );
    assert_eq!(said(&site, "retry --all-dead"), "1 dead task waits again\n");
    assert_eq!(dead(&site, 0).len(), 0);

    // What is waiting is listed by the key of its document, which has the task's key.
    refused(&site, &format!("cancel {keyed}"), 1, "there is no waiting or dead task");
    assert_eq!(said(&site, "cancel job:later"), "cancelled the waiting task job job:later\n");
    assert_eq!(said(&site, "cancel leap:"), "the cron leap waits for its next time\n");
    assert_eq!(list(&site, "waiting").iter().filter(|task| task["name"] != "job").count(), 1);
    assert!(server.stop().success());
    site.assert_clean();
}

#[test]
fn without_a_server_the_repository_is_opened() {
    let site = Site::with_app(test_app("jobs"));
    let server = site.start();
    let id = post(&server, "/jobs/a");
    post(&server, "/later/later");
    dead(&site, 1);
    // A server that was killed leaves its socket, and commits to be recovered.
    server.kill();
    assert_eq!(dead(&site, 1)[0]["id"], id.as_str());
    assert_eq!(
        said(&site, &format!("retry {id}")),
        format!("the task {id} waits, and is due now\n")
    );
    assert_eq!(said(&site, "cancel job:later"), "cancelled the waiting task job job:later\n");
    assert_eq!(said(&site, "list --dead"), "no task is dead\n");
    assert_eq!(said(&site, "retry --all-dead"), "0 dead tasks wait again\n");
    refused(&site, "cancel job:later", 1, "there is no waiting or dead task job:later");
    site.assert_clean();

    let server = site.start();
    assert_eq!(dead(&site, 1)[0]["id"], id.as_str(), "it ran, and is off again");
    assert!(server.stop().success());
    site.assert_clean();
}

#[test]
fn without_a_repository_nothing_is_made() {
    let site = Site::bare();
    refused(&site, "list", 3, "there is no repository in ");
    assert!(!site.data().exists());
    std::fs::create_dir(site.data()).expect("a folder");
    refused(&site, "list", 3, "there is no repository in ");
    std::fs::write(site.data().join("letter.txt"), "dear reader").expect("a file");
    refused(&site, "list", 3, "letter.txt");
    assert_eq!(std::fs::read_dir(site.data()).expect("the folder").count(), 1);
}
