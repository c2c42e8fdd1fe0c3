//! The server as a service of systemd: it says when it is ready and when it stops, and its unit is
//! one that systemd understands.

use crate::harness::{Ends, Site, root};
use crate::patience::PATIENCE;
use std::os::unix::net::UnixDatagram;
use std::process::Command;

fn hear(manager: &UnixDatagram) -> String {
    let mut message = [0; 256];
    let bytes = manager.recv(&mut message).expect("a message in time");
    String::from_utf8_lossy(&message[..bytes]).into_owned()
}

#[test]
fn the_manager_is_told_when_it_is_ready_and_when_it_stops() {
    let folder = tempfile::tempdir().expect("a folder");
    let socket = folder.path().join("notify");
    let manager = UnixDatagram::bind(&socket).expect("a socket");
    manager.set_read_timeout(Some(PATIENCE)).expect("a bound");
    let site = Site::bare();
    let server = site.start_by(site.serve().env("NOTIFY_SOCKET", &socket));
    assert_eq!(hear(&manager), "READY=1\n");
    assert_eq!(server.get("/healthz").status, 200);
    assert_eq!(server.stop().code(), Some(0));
    assert_eq!(hear(&manager), "STOPPING=1\n");
}

/// `systemd-analyze verify` knows every directive, and finds the binary.
#[test]
fn the_unit_is_one() {
    let unit = std::fs::read_to_string(root().join("packaging/sarsen.service")).expect("the unit");
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("sarsen.service");
    let binary = env!("CARGO_BIN_EXE_sarsen");
    let installed = unit.replace("/usr/local/bin/sarsen", binary);
    assert_ne!(installed, unit, "the unit starts the binary that is installed");
    std::fs::write(&path, installed).expect("a file");
    let output = Command::new("systemd-analyze").args(["verify", "--man=no"]).arg(&path).ends();
    let said = String::from_utf8_lossy(&output.stderr);
    let about_it: Vec<&str> = said.lines().filter(|line| line.contains("sarsen")).collect();
    assert!(output.status.success() && about_it.is_empty(), "{said}");
}
