//! `sarsen backup` and `sarsen restore` on real processes: with a server under load and without
//! one, as a folder and as a stream, and killed at any moment, each of them.

use crate::backups::{backup, folder, restore, result};
use crate::harness::{Ends, Server, Site};
use crate::http::Client;
use crate::patience::Deadline;
use crate::random::{Random, seed};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Kills of each kind.
const KILLS: usize = 6;

fn succeeded(output: Output) -> Output {
    assert!(output.status.success(), "{output:?}");
    output
}

/// All documents of a collection with their versions.
fn documents(server: &Server, collection: &str) -> BTreeMap<String, String> {
    let mut documents = BTreeMap::new();
    let mut client = server.connect();
    for i in 0..KEYS {
        let path = format!("/db/{collection}/k{i}");
        let reply = client.get(&path).expect("a reply");
        if reply.status == 200 {
            let etag = reply.header("etag").expect("an ETag").to_owned();
            documents.insert(path, format!("{etag} {}", reply.text()));
        }
    }
    documents
}

const KEYS: u64 = 40;

fn put(client: &mut Client, random: &mut Random, number: u64) {
    let path = format!("/db/notes/k{}", random.below(KEYS));
    let filler = "x".repeat(2_000);
    let body = format!("{{\"n\":{number},\"filler\":\"{filler}\"}}");
    let reply = client.put_json(&path, &body).expect("a reply");
    assert!(matches!(reply.status, 200 | 201 | 204), "{reply:?}");
}

fn fill(server: &Server, count: u64) {
    let (mut client, mut random) = (server.connect(), Random::new(seed()));
    (0..count).for_each(|number| put(&mut client, &mut random, number));
}

#[test]
fn a_server_that_runs_is_backed_up_and_comes_back() {
    let (site, copy) = (Site::bare(), Site::bare());
    let (_folder, backups) = folder();
    let server = site.start();
    fill(&server, 100);
    let made = result(&mut backup(&site, &backups, &[]));
    assert_eq!(made["added"], "full", "{made}");
    let before = documents(&server, "notes");
    fill(&server, 50);
    let restored = result(&mut restore(&backups, &copy, &[]));
    assert_eq!(restored["commit"], made["commit"]);
    copy.assert_clean();
    assert_eq!(documents(&copy.start(), "notes"), before);
    assert!(server.stop().success());
    // And where none runs.
    let made = result(&mut backup(&site, &backups, &["--full"]));
    assert_eq!(made["added"], "full", "{made}");
    let again = Site::bare();
    let said = succeeded(restore(&backups, &again, &[]).ends());
    let said = String::from_utf8(said.stdout).expect("UTF-8");
    assert!(said.contains("verified: ") && said.contains("back it up to a folder"), "{said}");
    assert_eq!(documents(&again.start(), "notes"), documents(&site.start(), "notes"));
    let listed = succeeded(backup(&site, &backups, &["--verify"]).ends());
    let listed = String::from_utf8(listed.stdout).expect("UTF-8");
    assert_eq!(listed.matches("full ").count(), 2, "{listed}");
    assert!(listed.contains("everything up to commit "), "{listed}");
}

#[test]
fn a_stream_goes_through_a_pipe() {
    let (site, copy) = (Site::bare(), Site::bare());
    let server = site.start();
    fill(&server, 60);
    let mut from = backup(&site, Path::new("-"), &[]);
    let mut from = from.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let stream = from.stdout.take().expect("stdout is a pipe");
    let to = restore(Path::new("-"), &copy, &[]).stdin(stream).spawn().expect("it starts");
    let _deadlines =
        [Deadline::of(&from, "backup".to_owned()), Deadline::of(&to, "restore".into())];
    let to = to.wait_with_output().expect("its output");
    let from = from.wait_with_output().expect("its output");
    assert!(from.status.success() && to.status.success(), "{from:?} {to:?}");
    assert!(String::from_utf8_lossy(&from.stderr).contains("full backup"), "{from:?}");
    assert_eq!(documents(&copy.start(), "notes"), documents(&server, "notes"));
    // As a file.
    let (_folder, backups) = folder();
    let file = backups.with_extension("tar");
    succeeded(backup(&site, &file, &[]).ends());
    let again = Site::bare();
    succeeded(restore(&file, &again, &[]).ends());
    assert_eq!(documents(&again.start(), "notes"), documents(&server, "notes"));
}

/// Kills backups, servers in the middle of one, and restores, while writers write.
#[test]
fn killed_at_any_moment_it_starts_over() {
    let site = Site::bare();
    let (_folder, backups) = folder();
    let mut random = Random::new(seed());
    let mut server = site.start();
    fill(&server, 300);
    for kill in 0..3 * KILLS {
        let stop = AtomicBool::new(false);
        let address = server.address();
        let killed = std::thread::scope(|scope| {
            scope.spawn(|| write_until(address, &stop));
            let mut command = backup(&site, &backups, &["--full"]);
            let command = command.stdout(Stdio::null()).stderr(Stdio::null());
            let mut running = command.spawn().expect("it starts");
            std::thread::sleep(Duration::from_micros(random.below(40_000)));
            if kill % 3 == 0 {
                server.signal(rustix::process::Signal::KILL);
            } else {
                // It may have ended by itself.
                let _ended = running.kill();
            }
            running.wait().expect("its status");
            stop.store(true, Ordering::Relaxed);
            kill % 3 == 0
        });
        if killed {
            server.kill();
            server = site.start();
        }
    }
    // The server goes on with a backup until it notices that nobody is there any more.
    site.wait_for("a backup", || {
        let output = backup(&site, &backups, &["--full", "--keep", "1"]).ends();
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success() || error.contains("another process makes"), "{error}");
        output.status.success().then_some(())
    });
    let before = documents(&server, "notes");
    let copy = Site::bare();
    for _ in 0..KILLS {
        let mut command = restore(&backups, &copy, &[]);
        let mut running = command.stdout(Stdio::null()).spawn().expect("it starts");
        std::thread::sleep(Duration::from_micros(random.below(60_000)));
        let _ended = running.kill();
        running.wait().expect("its status");
        if copy.data().join("format").exists() {
            break;
        }
    }
    if !copy.data().join("format").exists() {
        succeeded(restore(&backups, &copy, &[]).ends());
    }
    copy.assert_clean();
    assert_eq!(documents(&copy.start(), "notes"), before);
}

/// Until it is told to stop, or the server is gone.
fn write_until(address: std::net::SocketAddr, stop: &AtomicBool) {
    let Ok(mut client) = Client::connect(address) else { return };
    for number in 0.. {
        let path = format!("/db/notes/w{}", number % 7);
        let is_over = client.put_json(&path, &number.to_string()).is_err();
        if is_over || stop.load(Ordering::Relaxed) {
            return;
        }
    }
}

#[test]
fn what_cannot_be_done_is_said() {
    let site = Site::bare();
    let (_folder, backups) = folder();
    for (mut command, code, words) in [
        (backup(&site, &backups, &[]), 3, "no repository in"),
        (restore(&backups, &site, &[]), 1, "cannot read"),
        (backup(&site, &backups, &["--list"]), 1, "no file named backup"),
    ] {
        let output = command.ends();
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{error}");
        assert!(error.contains(words), "{error}");
    }
    let server = site.start();
    fill(&server, 3);
    let refused = backup(&site, &backups, &["--incremental"]).ends();
    let error = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(1), "{error}");
    assert!(error.contains("has no full backup"), "{error}");
    result(&mut backup(&site, &backups, &[]));
    let into = restore(&backups, &site, &[]).ends();
    let error = String::from_utf8_lossy(&into.stderr).into_owned();
    assert_eq!(into.status.code(), Some(3), "{error}");
    assert!(error.contains("expected an empty folder to restore to"), "{error}");
    // Another repository, and the same folder.
    let other = Site::bare();
    let _running = other.start();
    let refused = backup(&other, &backups, &[]).ends();
    let error = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(error.contains("holds backups of the repository"), "{error}");
}
