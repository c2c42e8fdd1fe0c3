//! `sarsen serve --memcached` for a test, with its data in a folder of its own.

use crate::harness::{self, Site};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// Longest wait for an answer.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// A connection to it.
pub trait Stream: Read + Write {}
impl<T: Read + Write> Stream for T {}

pub struct Server {
    pub process: harness::Server,
    address: SocketAddr,
    site: Site,
}

impl Server {
    /// On a free port, with more flags.
    pub fn start(flags: &[&str]) -> Self {
        let site = Site::bare();
        let process = site.start_with(&[&["--memcached", "127.0.0.1:0"], flags].concat());
        let address = place(&process);
        Self { process, address, site }
    }

    /// Waits until something is so, and fails with what it waited for.
    pub fn wait_for<T>(&self, what: &str, is_so: impl FnMut() -> Option<T>) -> T {
        self.site.wait_for(what, is_so)
    }

    /// Where it is, as a flag has it.
    pub fn place(&self) -> String {
        self.address.to_string()
    }

    pub fn connect(&self) -> Box<dyn Stream> {
        let stream = TcpStream::connect(self.address).expect("a connection");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        stream.set_nodelay(true).expect("no delay");
        Box::new(stream)
    }
}

/// Where a server says that memcached clients find it.
pub fn place(process: &harness::Server) -> SocketAddr {
    let line = process.said.iter().find_map(|line| line.strip_prefix("memcached "));
    let line = line.unwrap_or_else(|| panic!("it says where: {:?}", process.said)).trim();
    let address = line.split(": ").next().and_then(|text| text.parse().ok());
    address.unwrap_or_else(|| panic!("an address in \"{line}\""))
}
