//! A machine whose clock is set back an hour under a server, and between two of its lives: what is
//! to happen after a while happens after that while, and no reply is older than what it tells.

use crate::harness::{Server, Site};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

const APP: &str = r#"
import { App } from "sarsen";

const app = new App();

app.task("later", {}, ({ db, payload }) => {
  db.done.put(`later-${payload.round}`, true);
});

app.task("flaky", { backoff: "1s" }, ({ db, payload, attempt }) => {
  if (attempt < 3) throw new Error("not yet");
  db.done.put(`flaky-${payload.round}`, true);
});

app.post("/begin/:round", ({ db, params, task }) => {
  task("later", { round: params.round }, { delay: "1s" });
  task("flaky", { round: params.round });
  db.short.put(params.round, true);
});

app.get("/done", ({ db }) => ({ done: [...db.done.keys()] }));

export default app;
"#;

/// A folder with the application.
fn app(folder: &Path) -> PathBuf {
    let app = folder.join("app");
    fs::create_dir_all(&app).expect("a folder");
    fs::write(app.join("app.js"), APP).expect("a file");
    fs::write(app.join("sarsen.toml"), "name = \"clock\"\n").expect("a file");
    app
}

/// The machine's time of day, as a server sees it, and what sets it. Monotonic clocks go on.
struct TimeOfDay {
    file: PathBuf,
    library: String,
}

impl TimeOfDay {
    fn new(folder: &Path) -> Self {
        let mut faketime = Command::new("faketime");
        let shown = faketime.args(["-f", "+0s", "sh", "-c", "echo \"$LD_PRELOAD\""]).output();
        let library = String::from_utf8(shown.expect("faketime").stdout).expect("UTF-8");
        let time = Self { file: folder.join("time"), library: library.trim().to_owned() };
        time.set("+0s");
        time
    }

    /// So much later or earlier than it is.
    fn set(&self, offset: &str) {
        let next = self.file.with_extension("next");
        fs::write(&next, format!("{offset}\n")).expect("a file");
        fs::rename(next, &self.file).expect("it is renamed");
    }

    fn start(&self, site: &Site) -> Server {
        let mut command = site.serve();
        command.env("LD_PRELOAD", &self.library).env("FAKETIME_TIMESTAMP_FILE", &self.file);
        command.env("FAKETIME_NO_CACHE", "1").env("FAKETIME_DONT_FAKE_MONOTONIC", "1");
        site.start_by(&mut command)
    }
}

/// Starts what is to happen some seconds later, and waits until all of it has.
fn all_happens(server: &Server, round: &str) {
    let mut client = server.connect();
    let begun = client.request("POST", &format!("/begin/{round}"), &[], b"").expect("a reply");
    assert_eq!(begun.status, 204, "{begun:?}");
    let done = |name: &str| {
        let name = format!("{name}-{round}");
        server.get("/done").json()["done"].as_array().expect("a list").contains(&name.into())
    };
    server.wait_until("a delayed task", || done("later"));
    server.wait_until("the third try of a task", || done("flaky"));
    let path = format!("/db/short/{round}");
    server.wait_until("the end of what expires", || server.get(&path).status == 404);
}

/// When a field says that it was, in seconds since 1970.
fn seconds(server: &Server, path: &str, field: &str) -> u64 {
    let reply = server.get(path);
    let text = reply.header(field).unwrap_or_else(|| panic!("no {field} in {reply:?}"));
    let read = Command::new("date").args(["-u", "-d", text, "+%s"]).output().expect("date");
    let seconds = String::from_utf8(read.stdout).expect("UTF-8");
    seconds.trim().parse().unwrap_or_else(|_| panic!("{text} is no date"))
}

/// How long the repository says that passed between two writes, in milliseconds, and how long did
/// at the least.
fn told_and_true(server: &Server) -> (u64, u64) {
    let mut client = server.connect();
    let mut write = |key: &str| {
        let path = format!("/db/ticks/{key}");
        assert!(client.put_json(&path, "1").expect("a reply").status < 300);
    };
    write("a");
    let begun = Instant::now();
    std::thread::sleep(Duration::from_secs(4));
    let passed = begun.elapsed();
    write("b");
    let list = server.get("/db/ticks").json();
    let updated = |at: usize| {
        let text = list["documents"][at]["updated"].as_str().expect("a time").to_owned();
        let read = Command::new("date").args(["-u", "-d", &text, "+%s%3N"]).output();
        let ms = String::from_utf8(read.expect("date").stdout).expect("UTF-8");
        ms.trim().parse::<u64>().unwrap_or_else(|_| panic!("{text} is no time"))
    };
    (updated(1) - updated(0), u64::try_from(passed.as_millis()).expect("seconds"))
}

/// While it is ahead of the time of day, seven eighths of the time that passes are told.
fn assert_time_passes(server: &Server) {
    let (told, passed) = told_and_true(server);
    assert!(told + 1 >= passed / 8 * 7, "{told} ms were told, {passed} ms passed");
}

#[test]
fn nothing_stands_still_when_the_clock_is_set_back_an_hour() {
    let site = Site::bare();
    let folder = site.data().with_file_name("clock");
    let site = Site::with_app(app(&folder));
    let time = TimeOfDay::new(&folder);
    let server = time.start(&site);
    let settings = server.connect().put_json("/db/short?settings", r#"{"expiry":1000}"#);
    assert!(settings.expect("a reply").status < 300);
    all_happens(&server, "before");
    assert!(server.connect().put_json("/db/notes/a", "1").expect("a reply").status < 300);
    let written = seconds(&server, "/db/notes/a", "date");
    time.set("-3600s");
    let dates = ["date", "last-modified"].map(|field| seconds(&server, "/db/notes/a", field));
    assert!(dates[1] < written - 3_000, "the clock was set back: {dates:?}");
    assert!(dates[1] <= dates[0], "{dates:?}");
    assert_time_passes(&server);
    all_happens(&server, "back");
    server.kill();
    // And by another hour while nothing runs.
    time.set("-7200s");
    let server = time.start(&site);
    assert_time_passes(&server);
    all_happens(&server, "between");
    assert!(server.logged().contains("behind the latest commit"));
    assert!(server.stop().success());
}
