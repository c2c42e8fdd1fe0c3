//! The server: one thread, HTTP/1.1 with connections that are kept, requests one after the other on
//! each. It reads requests only as far as it must to know where they end.

use super::delay::Delays;
use super::law::{self, Law};
use std::cell::Cell;
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::str::FromStr;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::Instant;

/// How it answers.
#[derive(Clone, Debug)]
pub struct Options {
    /// When.
    pub law: Law,
    /// How many bytes; the body is that of every reply.
    pub body_bytes: usize,
    /// When it stands still.
    pub stall: Option<Stall>,
}

/// A time in which nothing is read and nothing sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stall {
    /// After the first request.
    pub after: Duration,
    /// How long.
    pub length: Duration,
}

impl FromStr for Stall {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.split_once('@');
        let stall = parts.and_then(|(length, after)| {
            Some(Self { length: law::time(length)?, after: law::time(after)? })
        });
        stall.ok_or_else(|| format!("expected a stall such as 2s@10s; got \"{text}\""))
    }
}

/// A server that listens.
pub struct NullServer {
    listener: std::net::TcpListener,
    options: Options,
}

/// Largest head of a request. Larger: the connection is closed.
const HEAD_BYTES_MAX: usize = 64 << 10;

impl NullServer {
    /// Listens at `address`.
    ///
    /// # Errors
    /// What the operating system says.
    pub fn bind(address: SocketAddr, options: Options) -> io::Result<Self> {
        let listener = std::net::TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        Ok(Self { listener, options })
    }

    /// Where it listens.
    ///
    /// # Errors
    /// What the operating system says.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves on the calling thread, for ever.
    ///
    /// # Errors
    /// The runtime could not be built, or no connection can be accepted any more.
    pub fn serve(self) -> io::Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build_local(Default::default())?;
        runtime.block_on(async move {
            let listener = TcpListener::from_std(self.listener)?;
            let shared = Rc::new(Shared::new(self.options));
            tokio::task::spawn_local(shared.delays.clone().attend());
            loop {
                let (stream, _) = listener.accept().await?;
                stream.set_nodelay(true)?;
                let shared = Rc::clone(&shared);
                tokio::task::spawn_local(async move {
                    // A client that goes away is none of its business.
                    let _gone = shared.attend(stream).await;
                });
            }
        })
    }
}

struct Shared {
    law: Law,
    stall: Option<Stall>,
    reply: Vec<u8>,
    delays: Delays,
    /// Requests so far.
    count: Cell<u64>,
}

impl Shared {
    fn new(options: Options) -> Self {
        let length = options.body_bytes;
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: {length}\r\n\r\n"
        );
        let mut reply = head.into_bytes();
        reply.resize(reply.len() + length, b'x');
        let Options { law, stall, .. } = options;
        Self { law, stall, reply, delays: Delays::default(), count: Cell::new(0) }
    }

    async fn attend(&self, mut stream: TcpStream) -> io::Result<()> {
        let mut buffer = Vec::with_capacity(HEAD_BYTES_MAX);
        loop {
            let Some(request) = read_request(&mut stream, &mut buffer).await? else {
                return Ok(());
            };
            let began = Instant::now();
            let number = self.count.replace(self.count.get() + 1);
            if number == 0
                && let Some(stall) = self.stall
            {
                tokio::task::spawn_local(stand_still(self.delays.clone(), began, stall));
            }
            let delay = self.law.draw(number);
            if !delay.is_zero() {
                self.delays.wait(began + delay).await;
            }
            stream.write_all(&self.reply).await?;
            buffer.drain(..request);
        }
    }
}

/// Blocks the thread, and so everything that the server does.
async fn stand_still(delays: Delays, began: Instant, stall: Stall) {
    delays.wait(began + stall.after).await;
    std::thread::sleep(stall.length);
}

/// Reads until `buffer` begins with a whole request, and gives its length; nothing if the client
/// closes before the next.
async fn read_request(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> io::Result<Option<usize>> {
    loop {
        if let Some(length) = request_length(buffer)? {
            return Ok(Some(length));
        }
        if stream.read_buf(buffer).await? == 0 {
            return Ok(None);
        }
    }
}

/// The length of the request that `buffer` begins with, if it is complete.
fn request_length(buffer: &[u8]) -> io::Result<Option<usize>> {
    let mut headers = [httparse::EMPTY_HEADER; crate::limits::HEADERS_MAX];
    let mut request = httparse::Request::new(&mut headers);
    let refused = |why: &str| io::Error::new(io::ErrorKind::InvalidData, why.to_owned());
    let parsed = request.parse(buffer).map_err(|error| refused(&error.to_string()))?;
    let httparse::Status::Complete(head) = parsed else {
        let is_small = buffer.len() < HEAD_BYTES_MAX;
        return if is_small { Ok(None) } else { Err(refused("a head that is too large")) };
    };
    let length = request.headers.iter().find(|h| h.name.eq_ignore_ascii_case("content-length"));
    let body = match length {
        None => 0,
        Some(field) => {
            let number = std::str::from_utf8(field.value).ok().and_then(|text| text.parse().ok());
            number.ok_or_else(|| refused("a length that is none"))?
        }
    };
    let whole = head.saturating_add(body);
    Ok((buffer.len() >= whole).then_some(whole))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_end_where_they_say() {
        let get = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n";
        assert_eq!(request_length(get).unwrap(), Some(get.len()));
        let post = b"POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nabcGET";
        assert_eq!(request_length(post).unwrap(), Some(post.len() - 3));
        assert_eq!(request_length(&post[..post.len() - 4]).unwrap(), None);
        assert_eq!(request_length(b"GET / HT").unwrap(), None);
        assert!(request_length(b"\0").is_err());
        assert!(request_length(b"POST / HTTP/1.1\r\nContent-Length: x\r\n\r\n").is_err());
    }

    #[test]
    fn stalls_are_read() {
        let (after, length) = (Duration::from_secs(10), Duration::from_secs(2));
        assert_eq!("2s@10s".parse(), Ok(Stall { after, length }));
        assert!("2s".parse::<Stall>().unwrap_err().contains("2s@10s"));
    }
}
