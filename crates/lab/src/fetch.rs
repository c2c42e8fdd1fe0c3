//! One GET at a time, beside the load: pages of metrics, and what an audit looks for. It blocks,
//! reads whole bodies within a bound, and measures nothing.

use crate::limits::{HEAD_BYTES_MAX, HEADERS_MAX};
use crate::plan::{Transport, Trust};
use crate::target::Origin;
use crate::transport::{explain, tls_config};
use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::time::Duration;
use thiserror::Error;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{ClientConnection, StreamOwned};

/// What came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Page {
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
}

/// Why nothing came.
#[derive(Debug, Error)]
pub(crate) enum FetchError {
    #[error("cannot connect: {0}")]
    Connect(#[source] io::Error),
    #[error("{0}")]
    Tls(String),
    #[error("the connection broke: {0}")]
    Broken(#[source] io::Error),
    #[error("the reply is no HTTP/1.1: {0}")]
    Malformed(&'static str),
    #[error("the reply has more than {0} bytes")]
    TooLarge(usize),
}

/// Somebody who asks one server.
pub(crate) struct Fetcher {
    origin: Origin,
    /// Whose certificates are accepted.
    trust: Trust,
    headers: Vec<(String, String)>,
    timeout: Duration,
    bytes_max: usize,
    /// The connection, if the server has kept it.
    stream: Option<Connection>,
}

/// A connection, with TLS or without.
enum Connection {
    Plain(TcpStream),
    Tls(Box<StreamOwned<ClientConnection, TcpStream>>),
}

impl Read for Connection {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(stream) => stream.read(buffer),
            Self::Tls(stream) => stream.read(buffer),
        }
    }
}

impl Write for Connection {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(stream) => stream.write(bytes),
            Self::Tls(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(stream) => stream.flush(),
            Self::Tls(stream) => stream.flush(),
        }
    }
}

impl Fetcher {
    pub(crate) fn new(
        (origin, trust): (Origin, &Trust),
        headers: Vec<(String, String)>,
        timeout: Duration,
        bytes_max: usize,
    ) -> Self {
        Self { origin, trust: trust.clone(), headers, timeout, bytes_max, stream: None }
    }

    /// Asks for a path. A kept connection that the server has closed meanwhile is made anew.
    ///
    /// # Errors
    /// See [`FetchError`].
    pub(crate) fn get(&mut self, path: &str) -> Result<Page, FetchError> {
        if let Some(stream) = self.stream.take() {
            match self.ask(stream, path) {
                Err(FetchError::Broken(_)) => {}
                answer => return answer,
            }
        }
        let stream = self.open()?;
        self.ask(stream, path)
    }

    /// TLS as the load speaks it, whatever it speaks beyond.
    fn shake_hands(&self, mut stream: TcpStream) -> Result<Connection, FetchError> {
        let failed = |why: &dyn std::fmt::Display| FetchError::Tls(why.to_string());
        let transport = Transport { trust: self.trust.clone(), ..Transport::default() };
        let config = tls_config(&transport).map_err(|error| failed(&error))?;
        let name = ServerName::try_from(self.origin.host.clone()).map_err(|why| failed(&why))?;
        let connection = ClientConnection::new(Arc::clone(&config), name);
        let mut connection = connection.map_err(|error| failed(&error))?;
        while connection.is_handshaking() {
            connection.complete_io(&mut stream).map_err(|why| failed(&explain(&why)))?;
        }
        Ok(Connection::Tls(Box::new(StreamOwned::new(connection, stream))))
    }

    /// Sends a whole request and gives the head of the reply as it came, interim ones before it.
    /// The connection is not used again.
    ///
    /// # Errors
    /// See [`FetchError`].
    pub(crate) fn exchange(&mut self, request: &[u8]) -> Result<Vec<u8>, FetchError> {
        let mut stream = self.open()?;
        let sent = stream.write_all(request).and_then(|()| stream.flush());
        sent.map_err(FetchError::Broken)?;
        let mut input = Input { stream: &mut stream, bytes: Vec::new(), read: 0 };
        input.head()?;
        input.bytes.truncate(input.read);
        Ok(input.bytes)
    }

    fn open(&self) -> Result<Connection, FetchError> {
        let stream = self.connect().map_err(FetchError::Connect)?;
        match self.origin.tls {
            true => self.shake_hands(stream),
            false => Ok(Connection::Plain(stream)),
        }
    }

    fn connect(&self) -> io::Result<TcpStream> {
        let mut refusal = io::Error::new(io::ErrorKind::NotFound, "the host has no address");
        for address in (self.origin.host.as_str(), self.origin.port).to_socket_addrs()? {
            match TcpStream::connect_timeout(&address, self.timeout) {
                Ok(stream) => {
                    stream.set_nodelay(true)?;
                    stream.set_read_timeout(Some(self.timeout))?;
                    stream.set_write_timeout(Some(self.timeout))?;
                    return Ok(stream);
                }
                Err(error) => refusal = error,
            }
        }
        Err(refusal)
    }

    fn ask(&mut self, mut stream: Connection, path: &str) -> Result<Page, FetchError> {
        let mut request = format!("GET {path} HTTP/1.1\r\nHost: {}\r\n", self.origin.authority());
        for (name, value) in &self.headers {
            request.push_str(&format!("{name}: {value}\r\n"));
        }
        request.push_str("\r\n");
        let sent = stream.write_all(request.as_bytes()).and_then(|()| stream.flush());
        sent.map_err(FetchError::Broken)?;
        let mut input = Input { stream: &mut stream, bytes: Vec::new(), read: 0 };
        let head = input.head()?;
        let body = input.body(&head, self.bytes_max)?;
        // More than the reply would be taken for the next.
        if head.keeps && input.read == input.bytes.len() {
            self.stream = Some(stream);
        }
        Ok(Page { status: head.status, body })
    }
}

/// What of a head must be known to read what follows.
struct Head {
    status: u16,
    length: Option<usize>,
    is_chunked: bool,
    keeps: bool,
}

struct Input<'a> {
    stream: &'a mut Connection,
    bytes: Vec<u8>,
    /// How many of them are done with.
    read: usize,
}

impl Input<'_> {
    /// Reads more; false at the end of the connection.
    fn more(&mut self) -> Result<bool, FetchError> {
        let mut buffer = [0; 16 << 10];
        let count = self.stream.read(&mut buffer).map_err(FetchError::Broken)?;
        self.bytes.extend_from_slice(&buffer[..count]);
        Ok(count > 0)
    }

    /// The head of the final reply; interim ones (RFC 9110 §15.2) are passed over.
    fn head(&mut self) -> Result<Head, FetchError> {
        loop {
            if let Some((length, head)) = parse_head(&self.bytes[self.read..])? {
                self.read += length;
                if head.status >= 200 {
                    return Ok(head);
                }
                continue;
            }
            if self.bytes.len() - self.read > HEAD_BYTES_MAX {
                return Err(FetchError::Malformed("its head is too large"));
            }
            if !self.more()? {
                let closed = io::Error::new(io::ErrorKind::UnexpectedEof, "closed before a reply");
                return Err(FetchError::Broken(closed));
            }
        }
    }

    fn body(&mut self, head: &Head, max: usize) -> Result<Vec<u8>, FetchError> {
        match head {
            Head { status: 204 | 304, .. } => Ok(Vec::new()),
            Head { is_chunked: true, .. } => self.chunks(max),
            Head { length: Some(length), .. } => self.take(*length, max),
            Head { .. } => {
                while self.bytes.len() - self.read <= max && self.more()? {}
                if self.bytes.len() - self.read > max {
                    return Err(FetchError::TooLarge(max));
                }
                Ok(self.bytes.split_off(self.read))
            }
        }
    }

    fn take(&mut self, count: usize, max: usize) -> Result<Vec<u8>, FetchError> {
        if count > max {
            return Err(FetchError::TooLarge(max));
        }
        while self.bytes.len() - self.read < count {
            if !self.more()? {
                let closed = io::Error::new(io::ErrorKind::UnexpectedEof, "closed in the body");
                return Err(FetchError::Broken(closed));
            }
        }
        let taken = self.bytes[self.read..self.read + count].to_vec();
        self.read += count;
        Ok(taken)
    }

    /// A body in chunks (RFC 9112 §7.1).
    fn chunks(&mut self, max: usize) -> Result<Vec<u8>, FetchError> {
        let mut body = Vec::new();
        loop {
            let line = self.line()?;
            let digits = line.split(';').next().unwrap_or_default().trim();
            let size = usize::from_str_radix(digits, 16)
                .map_err(|_| FetchError::Malformed("the size of a chunk is no number"))?;
            if size == 0 {
                while !self.line()?.is_empty() {}
                return Ok(body);
            }
            body.extend(self.take(size, max.saturating_sub(body.len()))?);
            if !self.line()?.is_empty() {
                return Err(FetchError::Malformed("a chunk is longer than its size"));
            }
        }
    }

    fn line(&mut self) -> Result<String, FetchError> {
        loop {
            let rest = &self.bytes[self.read..];
            if let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
                let line = String::from_utf8_lossy(&rest[..end]).trim_end().to_owned();
                self.read += end + 1;
                return Ok(line);
            }
            if rest.len() > HEAD_BYTES_MAX {
                return Err(FetchError::Malformed("a line is too long"));
            }
            if !self.more()? {
                return Err(FetchError::Malformed("it ends within a line"));
            }
        }
    }
}

/// A whole head with its length, or nothing if there is more to come.
fn parse_head(bytes: &[u8]) -> Result<Option<(usize, Head)>, FetchError> {
    let mut fields = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut reply = httparse::Response::new(&mut fields);
    let parsed = reply.parse(bytes).map_err(|_| FetchError::Malformed("its head is none"))?;
    let httparse::Status::Complete(length) = parsed else { return Ok(None) };
    let mut head = Head {
        status: reply.code.unwrap_or(0),
        length: None,
        is_chunked: false,
        keeps: reply.version == Some(1),
    };
    for field in reply.headers.iter() {
        let value = std::str::from_utf8(field.value).unwrap_or_default().trim();
        if field.name.eq_ignore_ascii_case("content-length") {
            let length = value.parse().map_err(|_| FetchError::Malformed("its length is none"))?;
            head.length = Some(length);
        } else if field.name.eq_ignore_ascii_case("transfer-encoding") {
            head.is_chunked = value.to_ascii_lowercase().ends_with("chunked");
        } else if field.name.eq_ignore_ascii_case("connection") {
            head.keeps &= !value.eq_ignore_ascii_case("close");
        }
    }
    head.keeps &= head.is_chunked || head.length.is_some() || matches!(head.status, 204 | 304);
    Ok(Some((length, head)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead, BufReader};
    use std::net::TcpListener;

    const SECOND: Duration = Duration::from_secs(1);

    /// A server that answers with these, one after the other, each on a connection of its own where
    /// the client makes one.
    fn fetcher(replies: &'static [&'static [u8]]) -> Fetcher {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        std::thread::spawn(move || {
            let mut replies = replies.iter();
            for stream in listener.incoming() {
                let stream = stream.unwrap();
                let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
                while lines.by_ref().map_while(Result::ok).any(|line| line.is_empty()) {
                    let Some(reply) = replies.next() else { return };
                    (&stream).write_all(reply).unwrap();
                    let closes = b"Connection: close";
                    if reply.windows(closes.len()).any(|bytes| bytes == closes) {
                        break;
                    }
                }
            }
        });
        let target: crate::target::Target = format!("http://127.0.0.1:{port}/").parse().unwrap();
        Fetcher::new(
            (target.origin(), &Trust::default()),
            vec![("Accept".into(), "*/*".into())],
            60 * SECOND,
            10,
        )
    }

    #[test]
    fn bodies_end_where_they_say() {
        let mut fetcher = fetcher(&[
            b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc",
            b"HTTP/1.1 103 Early\r\n\r\nHTTP/1.1 404 No\r\nTransfer-Encoding: chunked\r\n\r\n\
              2;x=y\r\nab\r\n1\r\nc\r\n0\r\nA: b\r\n\r\n",
            b"HTTP/1.1 204 No\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nto the end",
            b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
        ]);
        let mut next = || {
            let page = fetcher.get("/").unwrap();
            (page.status, String::from_utf8(page.body).unwrap())
        };
        assert_eq!(next(), (200, "abc".into()));
        assert_eq!(next(), (404, "abc".into()));
        assert_eq!(next(), (204, String::new()));
        assert_eq!(next(), (200, "to the end".into()));
        assert_eq!(next(), (200, String::new()));
    }

    #[test]
    fn what_is_no_reply_or_too_large_is_refused() {
        let refused = |reply| fetcher(reply).get("/").unwrap_err().to_string();
        let large = "the reply has more than 10 bytes";
        assert_eq!(refused(&[b"HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n"]), large);
        let chunked: &[&[u8]] = &[
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n6\r\nabcdef\r\n5\r\nabcde\r\n",
        ];
        assert!(refused(chunked).starts_with("the reply has more than"));
        let endless: &[&[u8]] = &[b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nmore than ten"];
        assert_eq!(refused(endless), large);
        assert!(refused(&[b"SSH-2.0\r\n"]).starts_with("the reply is no HTTP/1.1"));
        let short: &[&[u8]] =
            &[b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nab"];
        assert!(refused(short).contains("closed in the body"));
    }

    #[test]
    fn nobody_there_is_an_error() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        drop(listener);
        let target: crate::target::Target = format!("http://127.0.0.1:{port}/").parse().unwrap();
        let mut fetcher =
            Fetcher::new((target.origin(), &Trust::default()), Vec::new(), SECOND, 10);
        assert!(matches!(fetcher.get("/"), Err(FetchError::Connect(_))));
    }
}
