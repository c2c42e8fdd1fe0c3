//! The admin socket of a server that runs, is stopped, and is killed. What it answers is tested in
//! the files of the commands that ask.

use crate::harness::Site;
use crate::patience::PATIENCE;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;

fn ask(site: &Site, request: &str) -> std::io::Result<String> {
    let mut stream = UnixStream::connect(site.data().join("admin.sock"))?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.write_all(format!("{request}\n").as_bytes())?;
    let mut reply = String::new();
    BufReader::new(stream).read_line(&mut reply)?;
    Ok(reply)
}

#[test]
fn it_is_there_while_a_server_runs() {
    let site = Site::bare();
    let socket = site.data().join("admin.sock");
    let server = site.start();
    let mode = std::fs::metadata(&socket).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let reply = ask(&site, "{\"command\":\"server\"}").unwrap();
    assert!(reply.contains(&format!("\"pid\":{},", server.id())), "{reply}");
    server.kill();
    assert!(socket.exists(), "nothing is tidied up after kill -9");
    ask(&site, "{\"command\":\"server\"}").expect_err("nobody answers");

    let server = site.start();
    let reply = ask(&site, "{\"command\":\"server\"}").unwrap();
    assert!(reply.contains(&format!("\"pid\":{},", server.id())), "{reply}");
    assert_eq!(server.stop().code(), Some(0));
    assert!(!socket.exists());
    site.assert_clean();
}
