//! What `sarsen serve --archive` and `sarsen backup` have kept of a server that is killed again and
//! again is restored, and held to the same final state as the server itself: no transfer of the
//! bank lost, made up or done twice, and everything the same byte for byte when it is exported.

use crate::bank::{Clerk, check, open_accounts};
use crate::harness::{Ends, Server, Site, root, sarsen};
use crate::random::{Random, seed};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tempfile::TempDir;

const ROUNDS: usize = 6;

fn backup(site: &Site, to: &Path, more: &[&str]) -> Command {
    let mut command = sarsen();
    command.arg("backup").arg("--data").arg(site.data()).arg("--to").arg(to).args(more);
    command
}

fn restore(from: &Path, site: &Site, more: &[&str]) -> Command {
    let mut command = sarsen();
    command.arg("restore").arg("--from").arg(from).arg("--data").arg(site.data()).args(more);
    command
}

/// What it printed, which is JSON.
fn result(command: &mut Command) -> Value {
    let output = command.arg("--json").ends();
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// Everything, Sarsen's own collections too.
fn export(site: &Site) -> String {
    let output = sarsen().args(["export", "--system", "--data"]).arg(site.data()).ends();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

fn folder() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("backups");
    (folder, path)
}

/// The last commit in the archive.
fn archived(backups: &Path) -> u64 {
    let listed = result(sarsen().arg("backup").arg("--to").arg(backups).arg("--list"));
    listed["archive"]["to"].as_u64().unwrap_or(0)
}

/// The bank under load for a moment. `kill`: until its server is killed, which is consumed.
fn load(server: Server, clerks: &mut [Clerk], moment: Duration, kill: bool) -> Option<Server> {
    let (stop, address) = (AtomicBool::new(false), server.address());
    std::thread::scope(|scope| {
        for clerk in clerks {
            scope.spawn(|| clerk.work(address, &stop));
        }
        std::thread::sleep(moment);
        if kill {
            server.kill();
            return None;
        }
        stop.store(true, Ordering::Relaxed);
        Some(server)
    })
}

/// What was there at some commit.
struct Known {
    commit: u64,
    clerks: Vec<Clerk>,
    export: String,
}

impl Known {
    /// Restores up to it, and compares.
    fn check(&self, backups: &Path) {
        let copy = Site::with_app(root().join("apps/bank"));
        result(&mut restore(backups, &copy, &["--to", &self.commit.to_string()]));
        assert_same(&export(&copy), &self.export);
        let server = copy.start();
        check(&server, &self.clerks);
        assert!(server.stop().success());
        copy.assert_clean();
    }
}

/// But for the first line, which names the commit that the export is of: numbers without a change
/// may lie between the two.
fn assert_same(restored: &str, original: &str) {
    let rest = |text: &str| text.split_once('\n').expect("a first line").1.to_owned();
    let (restored, original) = (rest(restored), rest(original));
    for (line, (a, b)) in restored.lines().zip(original.lines()).enumerate() {
        assert_eq!(a, b, "line {}", line + 2);
    }
    assert_eq!(restored, original);
}

#[test]
fn what_is_restored_holds_up_to_what_the_server_was_held_to() {
    let seed = seed();
    println!("to repeat: SARSEN_SEED={seed} cargo test -p sarsen what_is_restored_holds");
    let mut random = Random::new(seed);
    let site = Site::with_app(root().join("apps/bank"));
    let (_folder, backups) = folder();
    let archive = ["--archive", backups.to_str().expect("UTF-8")];
    let mut server = site.start_with(&archive);
    open_accounts(&server);
    let mut clerks = Clerk::all(seed);
    let mut known: Vec<Known> = Vec::new();
    for round in 0..ROUNDS {
        let moment = Duration::from_millis(100 + random.below(200));
        server = load(server, &mut clerks, moment, false).expect("it was not killed");
        if round != 1 {
            let export = export(&site);
            let made = result(&mut backup(&site, &backups, &[]));
            let commit = made["commit"].as_u64().expect("a commit");
            known.push(Known { commit, clerks: clerks.clone(), export });
        }
        assert!(load(server, &mut clerks, moment, true).is_none());
        server = site.start_with(&archive);
        check(&server, &clerks);
    }
    assert!(server.stop().success());
    // The newest is what stopping has left, and one that no backup was made at.
    let newest = Site::with_app(root().join("apps/bank"));
    let restored = result(&mut restore(&backups, &newest, &[]));
    assert_same(&export(&newest), &export(&site));
    check(&newest.start(), &clerks);
    assert!(restored["commits"].as_u64() > Some(0), "{restored}");
    for known in &known {
        known.check(&backups);
    }
    // In the middle of a load: no half a transfer is there.
    let (first, last) = (known[1].commit, known[2].commit);
    let middle = (first + random.below(last - first)).to_string();
    let some = Site::with_app(root().join("apps/bank"));
    result(&mut restore(&backups, &some, &["--to", &middle]));
    let earlier: Vec<Clerk> = known[2]
        .clerks
        .iter()
        .zip(&known[1].clerks)
        .map(|(now, before)| now.in_doubt_since(before))
        .collect();
    check(&some.start(), &earlier);
}

#[test]
fn a_data_folder_that_is_lost_comes_back_up_to_what_was_archived() {
    let seed = seed();
    println!("to repeat: SARSEN_SEED={seed} cargo test -p sarsen a_data_folder_that_is_lost");
    let site = Site::with_app(root().join("apps/bank"));
    let (_folder, backups) = folder();
    let archive = ["--archive", backups.to_str().expect("UTF-8")];
    let server = site.start_with(&archive);
    open_accounts(&server);
    let mut clerks = Clerk::all(seed);
    let moment = Duration::from_millis(200);
    let server = load(server, &mut clerks, moment, false).expect("it was not killed");
    result(&mut backup(&site, &backups, &[]));
    let server = load(server, &mut clerks, moment, false).expect("it was not killed");
    // The promise is half a second; the test waits for as long as it takes.
    let (_elsewhere, other) = folder();
    let made = result(&mut backup(&site, &other, &[]));
    let commit = made["commit"].as_u64().expect("a commit");
    server.wait_until("the archive to follow", || archived(&backups) >= commit);
    let promised = clerks.clone();
    assert!(load(server, &mut clerks, 5 * moment, true).is_none());
    fs::remove_dir_all(site.data()).expect("the data folder");
    let copy = Site::with_app(root().join("apps/bank"));
    let restored = result(&mut restore(&backups, &copy, &[]));
    assert!(restored["commit"].as_u64() > Some(commit), "it was archived meanwhile: {restored}");
    let since: Vec<Clerk> =
        clerks.iter().zip(&promised).map(|(now, then)| now.in_doubt_since(then)).collect();
    check(&copy.start(), &since);
    copy.assert_clean();
}
