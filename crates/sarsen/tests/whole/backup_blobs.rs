//! Backups of large content by the real binary: while it is uploaded and deleted, killed at any
//! moment, archived and added bit by bit; what is restored is what was there, as exports tell.

use crate::backups::{backup, restore, result};
use crate::harness::{Ends, Site, sarsen};
use crate::http::Client;
use crate::random::{Random, seed};
use serde_json::Value;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const KILLS: u64 = 5;
const KEYS: u64 = 6;
const BLOB_BYTES: usize = 400_000;

/// Content of its own for each number.
fn content(number: u64) -> Vec<u8> {
    let mut random = Random::new(number);
    (0..BLOB_BYTES / 8).flat_map(|_| random.below(u64::MAX).to_le_bytes()).collect()
}

/// Uploads and deletes, few different ones, until it is told to stop or the server is gone.
fn write_until(server: SocketAddr, writer: u64, stop: &AtomicBool) {
    let Ok(mut client) = Client::connect(server) else { return };
    let mut random = Random::new(seed() + writer);
    while !stop.load(Ordering::Relaxed) {
        let path = format!("/db/clips/{writer}-{}", random.below(KEYS));
        let replied = match random.below(3) {
            0 => client.request("DELETE", &path, &[], b""),
            _ => {
                let fields = [("content-type", "video/x-test")];
                client.request("PUT", &path, &fields, &content(random.below(20)))
            }
        };
        match replied {
            Ok(reply) => assert!(matches!(reply.status, 200..=204 | 404), "{path}: {reply:?}"),
            Err(_) => return,
        }
    }
}

fn restored(from: &Path, more: &[&str]) -> (Site, Value) {
    let site = Site::bare();
    let restored = result(&mut restore(from, &site, more));
    site.assert_clean();
    (site, restored)
}

/// Every document with its content; without the first line, which is about the export.
fn exported(site: &Site) -> Vec<String> {
    let output = sarsen().arg("export").arg("--data").arg(site.data()).ends();
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    text.lines().skip(1).map(str::to_owned).collect()
}

fn assert_same(found: &[String], expected: &[String], what: &str) {
    // They are large: which line is another says enough.
    let other = found.iter().zip(expected).position(|(found, expected)| found != expected);
    let counts = (found.len(), expected.len());
    assert!(other.is_none() && counts.0 == counts.1, "{what}: {counts:?}, line {other:?}");
}

#[test]
fn uploads_are_backed_up_under_kills_and_come_back() {
    let site = Site::bare();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let backups = folder.path().join("backups");
    let archive = backups.to_str().expect("UTF-8").to_owned();
    let mut random = Random::new(seed());
    let mut middle = None;
    for round in 0..KILLS {
        let server = site.start_with(&["--archive", &archive]);
        let stop = AtomicBool::new(false);
        let address = server.address();
        std::thread::scope(|scope| {
            for writer in 0..2 {
                let stop = &stop;
                scope.spawn(move || write_until(address, writer, stop));
            }
            std::thread::sleep(Duration::from_millis(100 + random.below(300)));
            let kinds: [&[&str]; 2] = [&["--full"], &["--keep", "1"]];
            let kind = kinds.get(round as usize).copied().unwrap_or_default();
            let made = backup(&site, &backups, kind).ends();
            assert!(made.status.success(), "{made:?}");
            // In the midst of another.
            let mut command = backup(&site, &backups, &["--full"]);
            command.stdout(Stdio::null()).stderr(Stdio::null());
            let mut running = command.spawn().expect("it starts");
            std::thread::sleep(Duration::from_millis(random.below(60)));
            if round == 2 {
                stop.store(true, Ordering::Relaxed);
            } else {
                server.signal(rustix::process::Signal::KILL);
            }
            running.wait().expect("its status");
        });
        if round == 2 {
            // A moment at which nothing goes on, to come back to.
            let known = server.connect().put_json("/db/notes/quiet", "1");
            assert_eq!(known.expect("a reply").status, 201);
            let before = exported(&site);
            let at = server.get("/db/notes/quiet").header("etag").expect("an ETag").to_owned();
            middle = Some((at.trim_matches('"').to_owned(), before));
            assert!(server.stop().success());
        } else {
            server.kill();
        }
    }
    let server = site.start_with(&["--archive", &archive]);
    let made = backup(&site, &backups, &[]).ends();
    assert!(made.status.success(), "{made:?}");
    write_some(server.address());
    assert!(server.stop().success());
    let checked = backup(&site, &backups, &["--verify"]).ends();
    assert!(checked.status.success(), "{checked:?}");
    let (copy, told) = restored(&backups, &[]);
    assert!(told["blobs"].as_u64().is_some_and(|blobs| blobs > 0), "{told}");
    assert_same(&exported(&copy), &exported(&site), "the newest");
    let (at, before) = middle.expect("a middle");
    let (copy, _) = restored(&backups, &["--to", &at]);
    assert_same(&exported(&copy), &before, &format!("commit {at}"));
    // As a stream.
    let tar = folder.path().join("all.tar");
    let made = backup(&site, &tar, &[]).ends();
    assert!(made.status.success(), "{made:?}");
    let (copy, _) = restored(&tar, &[]);
    assert_same(&exported(&copy), &exported(&site), "the stream");
}

/// What only the archive has.
fn write_some(server: SocketAddr) {
    let mut client = Client::connect(server).expect("the server accepts");
    for number in 100..104 {
        let fields = [("content-type", "video/x-test")];
        let path = format!("/db/clips/{}", number % 3);
        let reply = client.request("PUT", &path, &fields, &content(number)).expect("a reply");
        assert!(matches!(reply.status, 201 | 204), "{reply:?}");
    }
}
