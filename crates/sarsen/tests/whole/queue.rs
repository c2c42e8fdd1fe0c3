//! The queue by the real binary: runs submitted, carried out by a runner that starts by itself,
//! waited for, cancelled, and found again after the runner was killed. Its order and its states are
//! tested in the lab.

use crate::harness::sarsen;
use crate::null_server::NullServer;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// After it a test that waits says what it waited for.
const PATIENCE: Duration = Duration::from_secs(180);

/// A queue with its folder of runs, and a server to be loaded.
struct Site {
    folder: TempDir,
    server: NullServer,
}

impl Site {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        Self { folder, server: NullServer::start(&["--latency", "fixed:1ms"]) }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A scenario that measures for so long.
    fn scenario(&self, name: &str, duration: &str) -> PathBuf {
        let path = self.file(&format!("{name}.toml"));
        let text = format!(
            "name = \"{name}\"\n[servers]\nmain = \"{}\"\n[load]\nusers = 2\n\
             warm_up = \"1s\"\nduration = \"{duration}\"\n[operation.hit]\nget = \"/\"\n",
            self.server.url.trim_end_matches('/')
        );
        fs::write(&path, text).expect("a file");
        path
    }

    /// A command of the queue.
    fn command(&self, words: &[&str]) -> Command {
        let mut command = sarsen();
        command.args(words).arg("--queue").arg(self.file("queue"));
        command
    }

    fn ask(&self, words: &[&str]) -> Output {
        self.command(words).output().expect("it runs")
    }

    /// Submits a scenario; gives the id.
    fn submit(&self, scenario: &PathBuf, more: &[&str]) -> String {
        let mut command = self.command(&["submit"]);
        command.arg(scenario).arg("--runs").arg(self.file("runs")).args(more);
        let output = command.output().expect("it runs");
        assert!(output.status.success(), "{output:?}");
        text(&output.stdout).trim().to_owned()
    }

    fn state(&self, id: &str) -> String {
        let output = self.ask(&["status", id, "--json"]);
        let job: Value = serde_json::from_slice(&output.stdout).expect("a line of JSON");
        job["state"].as_str().expect("a state").to_owned()
    }

    fn outcome(&self, id: &str) -> String {
        let path = self.file("runs").join(id).join("verdict.json");
        let verdict = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{error}: {id}"));
        let verdict: Value = serde_json::from_str(&verdict).expect("JSON");
        verdict["outcome"].as_str().expect("a word").to_lowercase()
    }

    /// Waits until the run of a job has rows of some seconds.
    fn wait_for_rows(&self, id: &str) {
        let rows = self.file("runs").join(format!("{id}.running")).join("client.csv");
        self.wait_for("rows of the run", || {
            fs::read_to_string(&rows).is_ok_and(|text| text.lines().count() > 1)
        });
    }

    fn wait_for(&self, what: &str, mut is_so: impl FnMut() -> bool) {
        let end = Instant::now() + PATIENCE;
        while !is_so() {
            let status = text(&self.ask(&["status"]).stdout);
            assert!(Instant::now() < end, "waited for {what}; the queue:\n{status}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// A runner in the foreground.
    fn runner(&self) -> Child {
        let mut command = self.command(&["queue", "run"]);
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts")
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn what_is_submitted_is_carried_out_and_archived() {
    let site = Site::new();
    let path = site.scenario("first", "1s");
    let first = site.submit(&path, &["--seed", "7"]);
    // What is submitted is a copy.
    fs::write(&path, "gone").expect("a file");
    let second = site.submit(&site.scenario("second", "1s"), &["--name", "again"]);
    for id in [&first, &second] {
        let waited = site.ask(&["wait", id]);
        let outcome = site.outcome(id);
        let code = ["passed", "failed"].iter().position(|word| *word == outcome);
        assert_eq!(waited.status.code(), Some(code.map_or(9, |code| code as i32)), "{waited:?}");
        assert_eq!(site.state(id), outcome);
        let log = text(&site.ask(&["log", id, "--follow"]).stdout);
        assert!(log.contains("requests/s"), "{log}");
    }
    assert!(second.contains("-again-"), "{second}");
    let plan = fs::read_to_string(site.file("runs").join(&first).join("plan.json")).expect("it");
    assert!(plan.contains("\"seed\": 7"), "{plan}");
    site.wait_for("the runner to end", || {
        let lock = fs::File::open(site.file("queue").join("runner.lock")).expect("the lock");
        rustix::fs::flock(&lock, rustix::fs::FlockOperation::NonBlockingLockShared).is_ok()
    });
}

#[test]
fn a_scenario_with_mistakes_is_not_queued() {
    let site = Site::new();
    let path = site.file("bad.toml");
    fs::write(&path, "[load]\nuser = 1\n").expect("a file");
    let refused = site.ask(&["submit", path.to_str().expect("UTF-8")]);
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    assert!(text(&refused.stderr).contains("user"), "{refused:?}");
    assert_eq!(text(&site.ask(&["status"]).stdout), "");
    let unknown = site.ask(&["wait", "2026"]);
    assert_eq!(unknown.status.code(), Some(1));
    assert!(text(&unknown.stderr).contains("no job 2026"), "{unknown:?}");
}

#[test]
fn a_run_that_is_cancelled_is_closed_as_invalid() {
    let site = Site::new();
    let long = site.submit(&site.scenario("long", "10m"), &[]);
    let after = site.submit(&site.scenario("after", "1s"), &["--after", &long[..24]]);
    site.wait_for_rows(&long);
    assert_eq!((site.state(&long), site.state(&after)), ("running".into(), "queued".into()));
    assert!(site.ask(&["cancel", &long]).status.success());
    assert_eq!(site.ask(&["wait", &long]).status.code(), Some(1));
    assert_eq!((site.state(&long), site.outcome(&long)), ("cancelled".into(), "invalid".into()));
    assert_eq!(site.ask(&["wait", &after]).status.code(), Some(1));
    assert_eq!(site.state(&after), "cancelled");
}

#[test]
fn a_runner_that_is_killed_is_followed_by_another() {
    let site = Site::new();
    // A runner of the test's own, so that it can be killed: the first has nothing to do yet.
    let lock = site.file("queue").join("runner.lock");
    fs::create_dir_all(site.file("queue")).expect("a folder");
    let held = fs::File::create(&lock).expect("a file");
    rustix::fs::flock(&held, rustix::fs::FlockOperation::LockExclusive).expect("a lock");
    let first = site.submit(&site.scenario("first", "4s"), &[]);
    let second = site.submit(&site.scenario("second", "1s"), &[]);
    drop(held);

    let mut runner = site.runner();
    site.wait_for_rows(&first);
    let another = site.ask(&["queue", "run"]);
    assert_eq!(another.status.code(), Some(1), "one at a time");
    assert!(text(&another.stderr).contains("another runner"), "{another:?}");
    runner.kill().expect("it goes on");
    runner.wait().expect("its end");
    // The run goes on without it, and nothing else begins beside it.
    assert_eq!((site.state(&first), site.state(&second)), ("running".into(), "queued".into()));
    let mut runner = site.runner();
    assert!(site.ask(&["wait", &second]).status.code().is_some());
    assert!(runner.wait().expect("its end").success());
    assert_eq!(site.state(&first), site.outcome(&first), "what the archive says");
    assert_eq!(site.state(&second), site.outcome(&second));
}

#[test]
fn a_run_that_is_killed_is_told_from_one_that_failed() {
    let site = Site::new();
    let id = site.submit(&site.scenario("long", "10m"), &[]);
    site.wait_for_rows(&id);
    let state = fs::read_to_string(site.file("queue").join(&id).join("state.json")).expect("it");
    let state: Value = serde_json::from_str(&state).expect("JSON");
    let pid = state["pid"].as_i64().and_then(|pid| Pid::from_raw(i32::try_from(pid).ok()?));
    kill_process(pid.expect("its process"), Signal::KILL).expect("it goes on");
    assert_eq!(site.ask(&["wait", &id]).status.code(), Some(1));
    assert_eq!(site.state(&id), "killed");
    assert!(site.file("runs").join(format!("{id}.running")).is_dir());
}
