//! `sarsen siege` beside Debian's siege: the same options and files against the same nginx, which
//! writes down what it was asked for. What must agree is compared; times are not.

use crate::harness::{run, sarsen};
use crate::nginx::Nginx;
use serde_json::Value;
use std::path::PathBuf;
use std::process::{Command, Output};
use tempfile::TempDir;

const SITE: &str = r#"
    log_format asked '$request_method $request_uri $content_length $content_type "$http_x_mark"';
    server {
        listen ADDRESS;
        access_log FOLDER/asked.log asked;
        location / { return 200 "hello, hello\n"; }
        location /missing { return 404 "no\n"; }
        location /moved { return 302 /there; }
    }
"#;

/// A web server, a folder for files, and a home where siege finds its settings.
struct Ground {
    nginx: Nginx,
    folder: TempDir,
}

impl Ground {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let settings = "json_output = false\nverbose = false\nlogging = false\nparser = true\n\
            connection = close\naccept-encoding = identity\n";
        std::fs::write(folder.path().join("siege.conf"), settings).expect("a file");
        Self { nginx: Nginx::start(SITE), folder }
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.nginx.address)
    }

    fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        std::fs::write(&path, text).expect("a file");
        path
    }

    fn theirs(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new("siege");
        command
            .env("HOME", self.folder.path())
            .arg("-R")
            .arg(self.folder.path().join("siege.conf"));
        command.args(arguments).output().expect("siege runs; scripts/setup.sh siege installs it")
    }

    fn ours(&self, arguments: &[&str]) -> Output {
        run(&[&["siege"], arguments].concat())
    }

    /// What nginx was asked for since the last call.
    fn asked(&self) -> Vec<String> {
        let asked = self.nginx.take_log("asked.log");
        asked.lines().map(str::to_owned).collect()
    }
}

/// Siege's lines: each name with its value. They are on stderr there.
fn lines(text: &[u8]) -> Vec<(String, String)> {
    let text = String::from_utf8_lossy(text);
    let line = |line: &str| {
        let (name, value) = line.split_once(':')?;
        let value = value.split_whitespace().next()?;
        Some((name.to_owned(), value.to_owned()))
    };
    let from = text.lines().skip_while(|line| !line.starts_with("Transactions:"));
    from.filter_map(line).collect()
}

fn value<'a>(lines: &'a [(String, String)], name: &str) -> &'a str {
    let found = lines.iter().find(|(given, _)| given == name);
    found.map(|(_, value)| value.as_str()).unwrap_or_else(|| panic!("{name} in {lines:?}"))
}

/// Runs both; the names and what does not hang on time must be the same. Gives what nginx was
/// asked for by theirs and by ours.
fn compare(ground: &Ground, arguments: &[&str]) -> [Vec<String>; 2] {
    let theirs = ground.theirs(arguments);
    let asked_by_theirs = ground.asked();
    let ours = ground.ours(arguments);
    let asked_by_ours = ground.asked();
    assert_eq!(ours.status.code(), theirs.status.code(), "{arguments:?}: {ours:?}");
    let (their_lines, our_lines) = (lines(&theirs.stderr), lines(&ours.stdout));
    let names = |lines: &[(String, String)]| -> Vec<String> {
        lines.iter().take(12).map(|(name, _)| name.clone()).collect()
    };
    assert_eq!(names(&our_lines), names(&their_lines), "{theirs:?}");
    let same = [
        "Transactions",
        "Availability",
        "Successful transactions",
        "Failed transactions",
        "Data transferred",
    ];
    for name in same {
        let (ours, theirs) = (value(&our_lines, name), value(&their_lines, name));
        assert_eq!(ours, theirs, "{arguments:?}: {name}: {our_lines:?} beside {their_lines:?}");
    }
    assert!(our_lines.len() > 12, "percentiles are added: {our_lines:?}");
    [asked_by_theirs, asked_by_ours]
}

#[test]
fn repetitions_of_several_users() {
    let ground = Ground::new();
    for path in ["/", "/missing"] {
        let [theirs, ours] = compare(&ground, &["-b", "-c", "3", "-r", "4", &ground.url(path)]);
        assert_eq!((theirs.len(), &ours), (12, &theirs));
    }
}

#[test]
fn a_file_of_urls_is_read_and_walked_through_as_siege_does() {
    let ground = Ground::new();
    // Without an ending: siege takes the first dot of the whole path for that of the name.
    let body = ground.file("upload", "from a file");
    let text = format!(
        "# a comment\nSERVER={}\nhttp://$(SERVER)/a?b=1\n${{SERVER}}/b\n\
         http://$(SERVER)/form POST a=1&b=2\nhttp://$(SERVER)/upload POST <{}\n",
        ground.nginx.address,
        body.display()
    );
    let file = ground.file("urls.txt", &text);
    let file = file.to_str().expect("UTF-8");
    for arguments in [
        &["-c", "1", "-r", "once", "-f", file][..],
        &["-c", "1", "-r", "6", "-f", file],
        &["-c1", "-r3", "-f", file, "-H", "X-Mark: us", "-T", "text/x-own"],
    ] {
        let [theirs, ours] = compare(&ground, arguments);
        assert_eq!(ours, theirs, "{arguments:?}");
    }
    let [theirs, ours] = compare(&ground, &["-c", "2", "-r", "once", "-f", file]);
    assert_eq!((ours.len(), theirs.len()), (8, 8));
}

#[test]
fn redirects_are_followed_unless_that_is_not_wanted() {
    let ground = Ground::new();
    let url = ground.url("/moved");
    for arguments in [&["-c1", "-r2", &url][..], &["-c1", "-r2", "--no-follow", &url]] {
        let [theirs, ours] = compare(&ground, arguments);
        assert_eq!(ours, theirs, "{arguments:?}");
    }
}

#[test]
fn json_has_sieges_names() {
    let ground = Ground::new();
    let url = ground.url("/");
    let ours = ground.ours(&["-j", "-c2", "-r2", &url]);
    let ours: Value = serde_json::from_slice(&ours.stdout).expect("one object");
    let theirs = ground.theirs(&["-j", "-c2", "-r2", &url]);
    // The first time it says before that it has made its settings.
    let theirs = String::from_utf8_lossy(&theirs.stdout).into_owned();
    let at = theirs.find('{').expect("an object");
    let theirs: Value = serde_json::from_str(&theirs[at..]).expect("one object");
    for (name, value) in theirs.as_object().expect("an object") {
        assert!(ours[name].is_number() && value.is_number(), "{name}: {ours}");
    }
    assert_eq!((&ours["transactions"], &ours["availability"]), (&4.into(), &100.0.into()));
    assert!(ours["response_ms"]["p50"].is_null(), "four are too few for a percentile: {ours}");
}

#[test]
fn what_is_random_hangs_on_the_seed_and_quiet_says_nothing() {
    let ground = Ground::new();
    let urls = (0..20).map(|i| ground.url(&format!("/{i}\n"))).collect::<String>();
    let file = ground.file("urls.txt", &urls);
    let file = file.to_str().expect("UTF-8");
    let asked = |seed: &str| {
        let output = ground.ours(&["-i", "-q", "-c1", "-r40", "-f", file, "--seed", seed]);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        assert!(output.stdout.is_empty() && output.stderr.is_empty(), "{output:?}");
        ground.asked()
    };
    let first = asked("1");
    assert_eq!((first.len(), &asked("1")), (40, &first));
    assert_ne!(asked("2"), first);
}

#[test]
fn a_time_ends_it_and_the_delay_is_in_no_response_time() {
    let ground = Ground::new();
    let output = ground.ours(&["-c", "2", "-t", "2S", "-d", "0.5", &ground.url("/")]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let lines = lines(&output.stdout);
    let elapsed: f64 = value(&lines, "Elapsed time").parse().expect("a number");
    let mean: f64 = value(&lines, "Response time").parse().expect("a number");
    assert!(elapsed >= 2.0 && mean < 0.25, "{lines:?}");
    // Without pauses there would be thousands; with a quarter of a second on average, some.
    let hits: u64 = value(&lines, "Transactions").parse().expect("a number");
    assert!((1..200).contains(&hits), "{lines:?}");
}

#[test]
fn mistakes_in_the_file_are_all_told_and_nothing_is_sent() {
    let ground = Ground::new();
    let file = ground.file("urls.txt", "ftp://a/\nhttp://b/ POTS\n$(NOBODY)/\n");
    let output = sarsen().args(["siege", "-r1", "-f"]).arg(&file).output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{said}");
    for line in ["line 1: ", "line 2: ", "line 3: "] {
        assert!(said.contains(line), "{said}");
    }
    let missing = ground.ours(&["-r1", "-f", "/nowhere/urls.txt"]);
    assert_eq!(missing.status.code(), Some(2), "{missing:?}");
    assert!(ground.asked().is_empty());
}

#[test]
fn one_request_is_shown_with_both_heads() {
    let ground = Ground::new();
    let url = ground.url("/a?b=c");
    let ours = ground.ours(&["-g", "-A", "me", "-H", "X-Mark: m", &url]);
    let shown = String::from_utf8_lossy(&ours.stdout).into_owned();
    assert_eq!(ours.status.code(), Some(0), "{ours:?}");
    assert_eq!(ground.asked(), ["GET /a?b=c - - \"m\""]);
    let theirs = ground.theirs(&["-g", "-A", "me", "-H", "X-Mark: m", &url]);
    assert_eq!(ground.asked(), ["GET /a?b=c - - \"m\""], "{theirs:?}");
    for line in ["GET /a?b=c HTTP/1.1\n", "X-Mark: m\n", "User-Agent: me\n", "HTTP/1.1 200 OK\n"] {
        assert!(shown.contains(line), "{line}: {shown}");
    }
    assert!(shown.contains("\n\nHTTP/1.1 200") && shown.ends_with("\n\n"), "{shown}");
    let posted = format!("{url} POST x=1&y=2");
    let ours = ground.ours(&["-g", &posted]);
    assert_eq!(ground.asked(), ["POST /a?b=c 7 application/x-www-form-urlencoded \"-\""]);
    assert!(String::from_utf8_lossy(&ours.stdout).ends_with("\n\n"), "{ours:?}");
    let nobody = ground.ours(&["-g", "http://127.0.0.1:1/"]);
    assert_eq!(nobody.status.code(), Some(6), "{nobody:?}");
}
