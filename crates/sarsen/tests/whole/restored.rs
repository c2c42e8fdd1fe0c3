//! What `sarsen serve --archive` and `sarsen backup` have kept of a server that is killed again and
//! again is restored, and held to the same final state as the server itself: no transfer of the
//! bank lost, made up or done twice, and everything the same byte for byte when it is exported. And
//! what becomes of an archive that could not be written for too long.

use crate::backups::{backup, folder, restore, result};
use crate::bank::{Clerk, check, open_accounts};
use crate::harness::{Ends, Server, Site, root, sarsen};
use crate::random::{Random, seed};
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const ROUNDS: usize = 6;

/// Why it failed.
fn refusal(command: &mut Command) -> String {
    let output = command.ends();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    String::from_utf8(output.stderr).expect("UTF-8")
}

/// Everything, Sarsen's own collections too.
fn export(site: &Site) -> String {
    let output = sarsen().args(["export", "--system", "--data"]).arg(site.data()).ends();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).expect("UTF-8")
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

/// More of the log than is held for the archive, and than one segment has.
fn put_much(server: &Server) {
    let (mut client, body) = (server.connect(), format!("\"{}\"", "x".repeat(60_000)));
    for number in 0..4_000 {
        let reply = client.put_json(&format!("/db/notes/n{}", number % 50), &body);
        let status = reply.expect("a reply").status;
        assert!(matches!(status, 200 | 201 | 204), "{status}");
    }
}

#[test]
fn an_archive_that_cannot_be_written_for_too_long_has_a_gap_that_is_told() {
    let (site, copy) = (Site::bare(), Site::bare());
    let (_folder, backups) = folder();
    let (_elsewhere, other) = folder();
    let held = ["--archive", backups.to_str().expect("UTF-8"), "--archive-hold", "2M"];
    let start = || site.start_with(&[&held[..], &["--retain", "0"]].concat());
    let server = start();
    server.connect().put_json("/db/notes/first", "1").expect("a reply");
    let first = result(&mut backup(&site, &backups, &[]));
    result(&mut backup(&site, &other, &[]));
    assert!(server.stop().success());
    let before = export(&site);
    // After a start it begins a file, and finds a folder there.
    let mut server = start();
    let at = archived(&backups);
    let taken = backups.join(format!("archive/{at:020}.records"));
    fs::create_dir(&taken).expect("a folder in the way");
    server.connect().put_json("/db/notes/second", "2").expect("a reply");
    server.wait_for_log("the archive does not go on");
    put_much(&server);
    let (_third, checkpoint) = folder();
    result(&mut backup(&site, &checkpoint, &[]));
    put_much(&server);
    server.wait_for_log("more than the 2 MiB that may be held");
    fs::remove_dir(&taken).expect("the folder goes");
    server.wait_for_log("the archive has a gap");
    server.connect().put_json("/db/notes/third", "3").expect("a reply");
    let (first, last) = gap(&server.logged(), first["commit"].as_u64().expect("a commit"));
    server.wait_until("the archive to go on", || archived(&backups) > last);

    // What is beyond it is refused, what is before it is there.
    let error = refusal(&mut restore(&backups, &copy, &[]));
    let expected = format!("the commits {first} to {last} are in no backup and in no archive");
    assert!(error.contains(&expected), "{error}");
    let reachable = (first - 1).to_string();
    assert!(error.contains(&format!("the latest that can be restored is {reachable}")), "{error}");
    result(&mut restore(&backups, &copy, &["--to", &reachable]));
    let restored = copy.start();
    assert_eq!(restored.get("/db/notes/second").text(), "2");
    assert_eq!(restored.get("/db/notes/third").status, 404);
    assert!(restored.stop().success());
    assert!(before.lines().count() > 2 && export(&copy).contains("second"));

    // The log has let go of what a log set would begin with.
    let refused = refusal(&mut backup(&site, &other, &["--incremental"]));
    assert!(refused.contains("are no longer in the tranlog"), "{refused}");
    let made = result(&mut backup(&site, &other, &[]));
    assert_eq!(made["added"], "full", "{made}");

    // A full backup closes it.
    result(&mut backup(&site, &backups, &["--full"]));
    server.connect().put_json("/db/notes/fourth", "4").expect("a reply");
    // However far it is behind: what was acknowledged is archived before the server has stopped.
    assert!(server.stop().success());
    let again = Site::bare();
    result(&mut restore(&backups, &again, &[]));
    assert_same(&export(&again), &export(&site));
}

/// The first and the last commit of the gap that is in the log.
fn gap(logged: &str, before: u64) -> (u64, u64) {
    let words = "the log has let go of the commits ";
    let at = logged.find(words).expect("the gap") + words.len();
    let mut numbers = logged[at..].split(|c: char| !c.is_ascii_digit()).filter(|n| !n.is_empty());
    let mut next = || numbers.next().and_then(|n| n.parse().ok()).expect("a number");
    let (first, last) = (next(), next());
    assert!(before < first && first <= last, "{before} {first} {last}");
    (first, last)
}
