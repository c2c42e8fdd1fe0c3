//! The smallest HTTP/1.1 client that the tests need: one connection, one request at a time.

use crate::patience::PATIENCE;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};

/// One connection.
pub struct Client {
    stream: BufReader<TcpStream>,
}

/// A reply.
#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Reply {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str())
    }

    pub fn text(&self) -> String {
        String::from_utf8(self.body.clone()).expect("the body is text")
    }

    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| {
            panic!("expected JSON, got {:?}: {error}", String::from_utf8_lossy(&self.body))
        })
    }

    /// `name=value` of the cookie that the reply sets.
    pub fn cookie(&self) -> Option<&str> {
        self.header("set-cookie").and_then(|cookie| cookie.split(';').next())
    }
}

impl Client {
    pub fn connect(address: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        Ok(Self { stream: BufReader::new(stream) })
    }

    /// Sends a request as it stands in `head` (without the line ends) and reads its reply.
    pub fn request(
        &mut self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> io::Result<Reply> {
        let mut request = format!("{method} {path} HTTP/1.1\r\nhost: localhost\r\n");
        for (name, value) in headers {
            request.push_str(&format!("{name}: {value}\r\n"));
        }
        if !body.is_empty() || matches!(method, "PUT" | "POST") {
            request.push_str(&format!("content-length: {}\r\n", body.len()));
        }
        request.push_str("\r\n");
        let bytes = [request.as_bytes(), body].concat();
        self.send(&bytes)?;
        self.read_reply(method == "HEAD")
    }

    pub fn get(&mut self, path: &str) -> io::Result<Reply> {
        self.request("GET", path, &[], b"")
    }

    pub fn put_json(&mut self, path: &str, body: &str) -> io::Result<Reply> {
        self.request("PUT", path, &[("content-type", "application/json")], body.as_bytes())
    }

    pub fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.get_mut().write_all(bytes)
    }

    pub fn read_reply(&mut self, head_only: bool) -> io::Result<Reply> {
        let status_line = self.line()?;
        let status = status_line.split(' ').nth(1).and_then(|status| status.parse().ok());
        let status = status.ok_or_else(|| invalid(format!("status line {status_line:?}")))?;
        let mut headers = Vec::new();
        loop {
            let line = self.line()?;
            if line.is_empty() {
                break;
            }
            let (name, value) = line.split_once(':').ok_or_else(|| invalid(line.clone()))?;
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        let mut reply = Reply { status, headers, body: Vec::new() };
        if !head_only {
            let length = reply.header("content-length").map_or(Ok(0), str::parse::<usize>);
            reply.body = vec![0; length.map_err(|error| invalid(error.to_string()))?];
            self.stream.read_exact(&mut reply.body)?;
        }
        Ok(reply)
    }

    /// Everything until the server closes, or an error if it resets.
    pub fn read_to_end(&mut self) -> io::Result<Vec<u8>> {
        let mut rest = Vec::new();
        self.stream.read_to_end(&mut rest).map(|_| rest)
    }

    fn line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        if self.stream.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(line.trim_end().to_owned())
    }
}

fn invalid(what: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}
