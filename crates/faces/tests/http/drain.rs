//! Ending a server: what is in flight finishes, what is idle is closed, what hangs is cut off.

use crate::site::{Client, Site, bare, get, put, until};
use faces::{ListenError, Server, ServerOptions};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

const LONG: Duration = Duration::from_secs(20);

/// A client whose request the server has begun to serve.
fn in_flight(site: &Site) -> Client {
    let mut client = site.connect();
    let fields = "Content-Type: a/b\r\nContent-Length: 4\r\nExpect: 100-continue\r\n";
    client.send(bare("PUT", "/db/notes/a", fields));
    assert_eq!(client.reply(false).status, 100);
    client
}

#[test]
fn what_is_in_flight_finishes_and_what_is_idle_is_closed() {
    let site = Site::start();
    let mut busy = in_flight(&site);
    let mut used = site.connect();
    assert_eq!(used.ask(&get("/healthz")).status, 200);
    let mut unused = site.connect();
    let address = site.server.local_addr();
    let repository = Arc::clone(&site.repository);
    let drain = thread::spawn(move || site.server.drain(LONG));
    assert!(used.is_at_end());
    assert!(unused.is_at_end());
    until(|| TcpStream::connect(address).is_err());
    busy.send("body");
    let reply = busy.reply(false);
    assert_eq!((reply.status, reply.field("connection")), (201, Some("close")));
    assert!(busy.is_at_end());
    assert_eq!(drain.join().unwrap(), 0);
    assert_eq!(repository.stats().commits, 1);
}

#[test]
fn what_hangs_is_cut_off_and_counted() {
    let site = Site::start();
    let mut hanging = in_flight(&site);
    assert_eq!(site.server.drain(Duration::from_millis(50)), 1);
    assert!(hanging.is_at_end());
}

#[test]
fn a_dropped_server_frees_its_port_and_its_repository() {
    let site = Site::start();
    let mut idle = site.connect();
    assert_eq!(idle.ask(&put("/db/notes/a", "", "1")).status, 201);
    let address = site.server.local_addr();
    let repository = Arc::clone(&site.repository);
    drop(site.server);
    assert!(idle.is_at_end());
    let again = Server::start(ServerOptions::new(address), Arc::clone(&repository), None).unwrap();
    assert_eq!(Client::to(address).ask(&get("/db/notes/a")).body, "1");
    drop((again, site.repository));
    assert_eq!(Arc::strong_count(&repository), 1);
}

#[test]
fn a_server_that_cannot_start_says_why() {
    let site = Site::start();
    let start = |options| Server::start(options, Arc::clone(&site.repository), None).err().unwrap();
    let busy = start(ServerOptions::new(site.server.local_addr()));
    assert!(matches!(busy, ListenError::Busy { .. }), "{busy}");
    let free = SocketAddr::from(([127, 0, 0, 1], 0));
    let none = start(ServerOptions { reactors: 0, ..ServerOptions::new(free) });
    assert!(matches!(none, ListenError::Reactors { got: 0 }), "{none}");
}
