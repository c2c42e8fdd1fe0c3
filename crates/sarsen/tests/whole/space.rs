//! A disk that fills up, on the real binary and a real file system of a bounded size: writes are
//! refused in time, everything else goes on, a kill at the worst moment loses nothing, and when
//! there is room again nobody has to be told.

use crate::harness::{Ends, Server, Site};
use crate::http::Client;
use crate::patience::{Deadline, wait_for};
use std::collections::BTreeSet;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

/// The file system, and what is to stay free on it.
const DISK_MIB: u64 = 320;
const RESERVE_MIB: u64 = 128;

const BODY_BYTES: usize = 256 << 10;

/// A file system of a bounded size in a mount namespace of its own, which lives as long as this.
struct SmallDisk {
    keeper: Child,
    folder: PathBuf,
}

impl SmallDisk {
    /// Mounted on `folder`, for those who are started in it.
    fn on(folder: &Path) -> Self {
        std::fs::create_dir_all(folder).expect("a folder");
        let script = format!("mount -t tmpfs -o size={DISK_MIB}m none \"$DIR\" && echo . && cat");
        let mut command = Command::new("unshare");
        command.args(["-Urm", "sh", "-c", &script]).env("DIR", folder);
        let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut keeper = piped.spawn().expect("unshare of util-linux");
        let deadline = Deadline::of(&keeper, "the mount".to_owned());
        let mut said = [0; 1];
        keeper.stdout.as_mut().expect("a pipe").read_exact(&mut said).expect("it is mounted");
        drop(deadline);
        Self { keeper, folder: folder.to_owned() }
    }

    /// The same command, where the file system is to be seen.
    fn inside(&self, command: &Command) -> Command {
        let mut inside = Command::new("nsenter");
        inside.args(["--user", "--mount", "--preserve-credentials", "--target"]);
        inside.arg(self.keeper.id().to_string()).arg("--");
        inside.arg(command.get_program()).args(command.get_args()).stdin(Stdio::null());
        inside
    }

    fn sh(&self, script: &str) -> Output {
        let mut command = Command::new("sh");
        command.args(["-c", script, "sh"]).arg(&self.folder);
        self.inside(&command).ends()
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _gone = self.keeper.kill();
        let _reaped = self.keeper.wait();
    }
}

fn start(site: &Site, disk: &SmallDisk) -> Server {
    let mut command = site.serve();
    command.args(["--reserve", &format!("{RESERVE_MIB}M")]);
    site.start_by(&mut disk.inside(&command))
}

fn put(client: &mut Client, key: u64) -> u16 {
    let body =
        format!("\"{}\"", char::from(b'a' + (key % 26) as u8).to_string().repeat(BODY_BYTES));
    client.put_json(&format!("/db/notes/{key}"), &body).expect("a reply").status
}

fn delete(client: &mut Client, key: u64) -> u16 {
    client.request("DELETE", &format!("/db/notes/{key}"), &[], &[]).expect("a reply").status
}

/// Puts until that is refused; the keys that were acknowledged.
fn fill(client: &mut Client, from: u64) -> BTreeSet<u64> {
    let mut there = BTreeSet::new();
    for key in from.. {
        match put(client, key) {
            201 => drop(there.insert(key)),
            503 => std::thread::yield_now(),
            status => {
                assert_eq!(status, 507);
                return there;
            }
        }
    }
    there
}

fn check(server: &Server, name: &str) -> bool {
    server.get("/readyz").json()["checks"][name][0]["status"] == "pass"
}

fn assert_there(server: &Server, there: &BTreeSet<u64>, gone: &BTreeSet<u64>) {
    let mut client = server.connect();
    let mut status = |key: &u64| client.get(&format!("/db/notes/{key}")).expect("a reply").status;
    for key in there {
        assert_eq!(status(key), 200, "{key} was acknowledged");
    }
    for key in gone {
        assert_eq!(status(key), 404, "{key} was deleted");
    }
}

#[test]
fn a_disk_that_fills_up_refuses_writes_in_time_and_recovers_by_itself() {
    let site = Site::bare();
    let disk = SmallDisk::on(&site.data());
    let server = start(&site, &disk);
    let mut client = server.connect();
    let settings = client.put_json("/db/short?settings", r#"{"expiry":1000}"#).expect("a reply");
    assert!(matches!(settings.status, 200 | 201 | 204), "{settings:?}");
    assert_eq!(client.put_json("/db/short/a", "1").expect("a reply").status, 201);
    let mut there = fill(&mut client, 0);
    assert!(there.len() > 100, "{} documents fit", there.len());

    // Writes are refused, and nothing else is.
    let refused = client.put_json("/db/notes/more", "1").expect("a reply");
    assert_eq!((refused.status, refused.json()["type"].as_str()), (507, Some("/errors/no-space")));
    assert!(!check(&server, "repository:space") && check(&server, "repository:commits"));
    assert!(server.get("/metrics").text().contains("sarsen_writes_refused_for_space_total"));
    server.wait_until("the end of what expires", || server.get("/db/short/a").status == 404);
    let mut gone: BTreeSet<u64> = there.iter().copied().take(20).collect();
    for key in &gone {
        assert_eq!(delete(&mut client, *key), 204);
    }
    there.retain(|key| !gone.contains(key));

    // It dies, and comes back to a disk that is as full as before.
    drop(client);
    server.kill();
    let server = start(&site, &disk);
    assert_there(&server, &there, &gone);

    // What is deleted gives its room back, once it has left the tables as well.
    let mut client = server.connect();
    for key in there.clone().into_iter().filter(|key| key % 8 != 0) {
        assert_eq!(delete(&mut client, key), 204);
        there.remove(&key);
        gone.insert(key);
    }
    server.wait_until("writes to be taken again", || {
        let is_taken = put(&mut client, 1_000_000) < 300;
        there.extend(is_taken.then_some(1_000_000));
        is_taken
    });
    assert!(check(&server, "repository:space"));
    there.extend(fill(&mut client, 2_000_000));
    server.kill();
    let server = start(&site, &disk);
    assert_there(&server, &there, &gone);
    drop(server);
    let mut verify = crate::harness::sarsen();
    let verified = disk.inside(verify.arg("verify").arg("--data").arg(site.data())).ends();
    assert!(verified.status.success(), "{verified:?}");
}

#[test]
fn a_disk_that_another_program_fills_poisons_nothing() {
    let site = Site::bare();
    let disk = SmallDisk::on(&site.data());
    let server = start(&site, &disk);
    let mut client = server.connect();
    let mut there: BTreeSet<u64> = (0..20).filter(|key| put(&mut client, *key) == 201).collect();
    // All of it, down to the last block.
    drop(disk.sh("dd if=/dev/zero of=\"$1/taken\" bs=64k 2>/dev/null"));
    wait_for("a refusal", || server.logged(), || (put(&mut client, 100) == 507).then_some(()));
    assert!(check(&server, "repository:commits"));
    assert_there(&server, &there, &BTreeSet::new());
    assert_eq!(delete(&mut client, 3), 204, "the segment that is there has room for it");
    there.remove(&3);
    let removed = disk.sh("rm \"$1/taken\"");
    assert!(removed.status.success(), "{removed:?}");
    server.wait_until("writes to be taken again", || put(&mut client, 200) < 300);
    there.insert(200);
    server.kill();
    let server = start(&site, &disk);
    assert_there(&server, &there, &BTreeSet::from([3]));
    assert!(server.stop().success());
}
