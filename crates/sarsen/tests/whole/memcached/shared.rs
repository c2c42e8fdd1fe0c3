//! One cache for applications and memcached clients.

use super::server::{PATIENCE, place};
use crate::harness::{Site, test_app};
use crate::http::Client;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;

struct Memcached(BufReader<TcpStream>);

impl Memcached {
    /// Sends a command and gives the answer's lines, of which the last is `last`.
    fn ask(&mut self, command: &str, last: &str) -> Vec<String> {
        self.0.get_mut().write_all(command.as_bytes()).expect("it takes commands");
        let mut lines = Vec::new();
        while lines.last().is_none_or(|line| line != last) {
            let mut line = String::new();
            let length = self.0.read_line(&mut line).expect("an answer");
            assert!(length > 0, "it ended after {lines:?}");
            lines.push(line.trim_end().to_owned());
        }
        lines
    }
}

#[test]
fn what_an_application_stores_memcached_clients_read_and_the_other_way_round() {
    let site = Site::with_app(test_app("board"));
    let server = site.start_with(&["--memcached", "127.0.0.1:0"]);
    let stream = TcpStream::connect(place(&server)).expect("a connection");
    stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    let mut memcached = Memcached(BufReader::new(stream));
    let mut client = Client::connect(server.address()).expect("a connection");
    // Whoever has seen the reply sees what the request has written.
    for n in 0..100 {
        let put = client.put_json(&format!("/scores/{n}"), "{}").expect("a reply");
        assert_eq!(put.status, 200, "{}", put.text());
        assert_eq!(client.get("/last").expect("a reply").text(), format!("[{n}]"));
        assert_eq!(client.get("/board").expect("a reply").text(), format!("[{n}]"));
    }
    let answer = memcached.ask("get last board\r\n", "END");
    assert_eq!(answer, ["VALUE last 0 2", "99", "VALUE board 0 2", "99", "END"]);
    memcached.ask("set visits 0 0 2\r\n41\r\n", "STORED");
    memcached.ask("set greeting 0 0 5\r\nhello\r\n", "STORED");
    assert_eq!(client.get("/theirs").expect("a reply").text(), r#"[42,"hello"]"#);
    assert_eq!(memcached.ask("get visits\r\n", "END"), ["VALUE visits 0 2", "42", "END"]);
    memcached.ask("flush_all\r\n", "OK");
    assert_eq!(client.get("/last").expect("a reply").text(), "[-1]");
    assert_eq!(client.get("/board").expect("a reply").text(), "[99]");
    assert!(server.stop().success());
}
