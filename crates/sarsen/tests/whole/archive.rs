//! The archive by the real binary: what is kept when all goes well, when the disk is full, when the
//! server is away and when the run is killed. What is in a folder is tested in the lab.

use crate::harness::{plain_file, run, sarsen};
use crate::null_server::NullServer;
use serde_json::Value;
use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// After it a test that waits says what it waited for.
const PATIENCE: Duration = Duration::from_secs(120);

/// A folder of runs.
struct Site {
    folder: TempDir,
}

impl Site {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().expect("a temporary folder") }
    }

    fn runs(&self) -> PathBuf {
        self.folder.path().join("runs")
    }

    /// `sarsen runs` on the folder.
    fn ask(&self, arguments: &[&str]) -> Output {
        let runs = self.runs();
        run(&[&["runs"], arguments, &["--runs", runs.to_str().expect("UTF-8")]].concat())
    }

    /// The only run there is.
    fn only(&self) -> Value {
        let output = self.ask(&["list", "--json"]);
        let text = text(&output.stdout);
        assert_eq!(text.lines().count(), 1, "{output:?}");
        serde_json::from_str(&text).expect("a line of JSON")
    }

    fn bench(&self, url: &str, arguments: &[&str]) -> Command {
        let mut command = sarsen();
        command.args(["bench", url, "-q", "-c", "2", "--runs"]).arg(self.runs()).args(arguments);
        command
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < end, "waited for {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// The folder of a run that goes on, once it has rows of so many seconds.
fn written(runs: &Path, seconds: usize) -> Option<PathBuf> {
    let mut entries = fs::read_dir(runs).ok()?.flatten().map(|entry| entry.path());
    let folder = entries.find(|path| path.extension().is_some_and(|ending| ending == "running"))?;
    let rows = fs::read_to_string(folder.join("client.csv")).ok()?;
    (rows.lines().count() > seconds).then_some(folder)
}

#[test]
fn a_run_is_found_again() {
    let (site, server) = (Site::new(), NullServer::start(&["--latency", "fixed:1ms"]));
    let secret = ["--header", "Authorization: Bearer s3cr3t-0123"];
    let measured = [&["--warm-up", "1s", "-d", "2s"][..], &secret].concat();
    let output = site.bench(&server.url, &measured).output().expect("it runs");
    let run = site.only();
    let id = run["id"].as_str().expect("an id");
    assert_eq!(run["outcome"].as_str().map(|word| text(&output.stdout).contains(word)), Some(true));
    assert!(run["requests_per_second"].as_f64() > Some(0.0), "{run}");
    let folder = site.runs().join(id);
    let kept = |name: &str| fs::read_to_string(folder.join(name)).expect(name);
    assert_eq!(kept("report.txt"), text(&output.stdout));
    assert!(!kept("plan.json").contains("s3cr3t") && !kept("spec.json").contains("s3cr3t"));
    assert!(!kept("environment.json").contains("s3cr3t"));

    assert_eq!(text(&site.ask(&["path", id]).stdout), format!("{}\n", folder.display()));
    assert!(site.ask(&["tag", id, "+baseline", "+old"]).status.success());
    assert_eq!(text(&site.ask(&["tag", id, "-old"]).stdout), format!("{id}  baseline\n"));
    assert!(site.ask(&["note", id, "first of many"]).status.success());
    let shown = text(&site.ask(&["show", &id[..20]]).stdout);
    for words in ["baseline", "first of many", "requests/s", &kept("report.txt")] {
        assert!(shown.contains(words), "{words} in {shown}");
    }
    let listed = |flag: &str, value: &str| {
        text(&site.ask(&["list", "--json", flag, value]).stdout).lines().count()
    };
    assert_eq!((listed("--tag", "baseline"), listed("--tag", "old")), (1, 0));
    assert_eq!((listed("--name", "127.0.0.1"), listed("--name", "other")), (1, 0));
    assert_eq!(listed("--verdict", "killed"), 0);
    let table = text(&site.ask(&["list"]).stdout);
    assert!(table.starts_with("id ") && table.contains(id), "{table}");

    assert_eq!(text(&site.ask(&["verify"]).stdout), format!("{id}  unchanged\n"));
    let path = folder.join("client.csv");
    let whole = kept("client.csv");
    make_writable(&path);
    fs::write(&path, whole.replacen(',', ";", 1)).expect("a change");
    let changed = site.ask(&["verify", id]);
    assert_eq!(changed.status.code(), Some(1));
    assert_eq!(text(&changed.stdout), format!("{id}  CHANGED\n  client.csv was changed\n"));

    assert!(site.ask(&["delete", id]).status.success());
    assert_eq!(fs::read_dir(site.runs()).expect("the folder").count(), 0);
    let gone = site.ask(&["show", id]);
    assert_eq!(gone.status.code(), Some(1));
    assert!(text(&gone.stderr).contains("no run"), "{gone:?}");
}

fn make_writable(path: &Path) {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(0o644)).expect("it is ours");
}

#[test]
fn a_run_that_is_killed_keeps_its_seconds() {
    let (site, server) = (Site::new(), NullServer::start(&["--latency", "fixed:1ms"]));
    let mut command = site.bench(&server.url, &["--warm-up", "1s", "-d", "10m"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it runs");
    let folder = wait_for("two seconds of the run", || written(&site.runs(), 2));
    assert_eq!(site.only()["outcome"], "RUNNING");
    let id = site.only()["id"].as_str().expect("an id").to_owned();
    assert_eq!(site.ask(&["delete", &id]).status.code(), Some(1), "not while it goes on");
    child.kill().expect("it goes on");
    child.wait().expect("its end");
    assert_eq!(site.only()["outcome"], "KILLED");
    let rows = fs::read_to_string(folder.join("client.csv")).expect("the rows");
    let columns = rows.lines().map(|row| row.split(',').count()).collect::<Vec<_>>();
    assert!(columns.len() > 2 && columns.iter().all(|count| *count == columns[0]), "{rows}");
    assert!(text(&site.ask(&["show", &id]).stdout).contains("KILLED"));
    assert!(site.ask(&["delete", &id]).status.success());
}

/// Runs a script in a world of its own, where `$DIR` is an empty disk of so many MiB.
fn on_a_disk_of(mebibytes: u32, url: &str, script: &str) -> String {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut command = Command::new("unshare");
    let mount = format!("mount -t tmpfs -o size={mebibytes}m none \"$DIR\"\n");
    command.args(["-rm", "sh", "-c"]).arg(mount + script);
    command.env("DIR", folder.path()).env("SARSEN", env!("CARGO_BIN_EXE_sarsen")).env("URL", url);
    let output = command.stdin(Stdio::null()).output().expect("unshare of util-linux");
    format!("{}{}", text(&output.stdout), text(&output.stderr))
}

#[test]
fn a_disk_that_becomes_full_ends_the_run_as_invalid() {
    let server = NullServer::start(&["--latency", "fixed:1ms"]);
    let said = on_a_disk_of(
        16,
        &server.url,
        r#"
        "$SARSEN" bench "$URL" --warm-up 1s -d 10m -c 2 --runs "$DIR/runs" &
        tries=0
        until [ -s "$DIR"/runs/*.running/client.csv ]; do
            tries=$((tries + 1)); [ $tries -lt 2000 ] || { echo "nothing was written"; exit 1; }
            sleep 0.05
        done
        dd if=/dev/zero of="$DIR/fill" bs=4096 2> /dev/null
        wait $!
        echo "exit code $?"
        "$SARSEN" runs verify --runs "$DIR/runs"
        "$SARSEN" runs list --runs "$DIR/runs" --json
        cd "$DIR"/runs/*Z-*[0-9a-f]/ && awk -F, '{ print "columns", NF }' client.csv | uniq -c
        "#,
    );
    for words in ["INVALID", "No space left on device", "exit code 9", "  unchanged\n"] {
        assert!(said.contains(words), "{words} in {said}");
    }
    assert!(said.contains("\"outcome\":\"INVALID\""), "{said}");
    let widths = said.lines().filter(|line| line.contains("columns")).count();
    assert_eq!(widths, 1, "every row is whole: {said}");
}

#[test]
fn a_disk_that_is_too_small_is_told_before() {
    let said = on_a_disk_of(
        4,
        "http://127.0.0.1:9/",
        r#"
        "$SARSEN" bench "$URL" -d 10s --runs "$DIR/runs"
        echo "exit code $?"
        ls "$DIR/runs"
        "#,
    );
    let expected = "MiB free; this run may need";
    assert!(said.contains(expected) && said.contains("exit code 1\n"), "{said}");
    assert!(!said.contains(".running"), "nothing is left: {said}");
}

#[test]
fn a_folder_that_cannot_be_written_is_told_before() {
    let site = Site::new();
    plain_file(site.folder.path());
    let runs = site.folder.path().join("plain").join("runs");
    let output = run(&["bench", "http://127.0.0.1:9/", "--runs", runs.to_str().expect("UTF-8")]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("cannot write"), "{output:?}");
}

#[test]
fn a_server_that_is_away_leaves_an_invalid_run() {
    let free = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/", free.local_addr().expect("its address"));
    drop(free);
    let site = Site::new();
    let output = site.bench(&url, &["-d", "1s"]).output().expect("it runs");
    assert_eq!(output.status.code(), Some(6), "{output:?}");
    let run = site.only();
    assert_eq!(run["outcome"], "INVALID");
    assert!(run["reasons"][0].as_str().is_some_and(|why| why.contains("cannot connect")), "{run}");
    assert_eq!(site.ask(&["verify"]).status.code(), Some(0));
}
