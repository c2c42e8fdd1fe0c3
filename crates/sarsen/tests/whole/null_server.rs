//! A null server of the lab, for what is loaded.

use crate::harness::sarsen;
use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

/// A null server, killed when it is dropped.
pub struct NullServer {
    child: Child,
    pub url: String,
}

impl NullServer {
    pub fn start(arguments: &[&str]) -> Self {
        let mut command = sarsen();
        command.args(["null-server", "--listen", "127.0.0.1:0"]).args(arguments);
        let mut child = command.stdout(Stdio::piped()).spawn().expect("it starts");
        let mut said = String::new();
        let stdout = child.stdout.take().expect("a pipe");
        BufReader::new(stdout).read_line(&mut said).expect("a line");
        let url = said.split_whitespace().nth(1).expect("its URL").to_owned();
        Self { child, url }
    }
}

impl Drop for NullServer {
    fn drop(&mut self) {
        let _gone = self.child.kill();
        let _reaped = self.child.wait();
    }
}
