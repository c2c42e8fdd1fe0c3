//! The server: one thread, HTTP/1.1 with connections that are kept, requests one after the other on
//! each. Those that came together are answered together if there is no latency to keep: it must not
//! be what bounds a load generator.

use super::delay::Delays;
use super::law::{self, Law};
use super::requests::{HEAD_BYTES_MAX, LastHead, Requests};
use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::rc::Rc;
use std::str::FromStr;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWriteExt, ReadBuf};
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

/// What is read at once. A head that is not complete fits in, and as much again.
const BUFFER_BYTES: usize = 2 * HEAD_BYTES_MAX;

/// How much is written at once, if a reply is no longer.
const BATCH_BYTES: usize = 16 << 10;

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
    /// Several replies, one after the other.
    replies: Vec<u8>,
    reply_bytes: usize,
    delays: Delays,
    /// Requests so far.
    count: Cell<u64>,
    /// What every connection reads into.
    buffer: RefCell<Box<[u8]>>,
    last: RefCell<LastHead>,
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
        Self {
            law,
            stall,
            replies: reply.repeat((BATCH_BYTES / reply.len()).max(1)),
            reply_bytes: reply.len(),
            delays: Delays::default(),
            count: Cell::new(0),
            buffer: RefCell::new(vec![0; BUFFER_BYTES].into_boxed_slice()),
            last: RefCell::default(),
        }
    }

    async fn attend(&self, mut stream: TcpStream) -> io::Result<()> {
        let mut requests = Requests::default();
        while !requests.is_last {
            let read = poll_fn(|cx| self.poll_read(&mut stream, &mut requests, cx)).await?;
            let Some(came) = read else { break };
            match self.law {
                Law::None => {
                    (0..came).for_each(|_| _ = self.number());
                    self.reply(&mut stream, came).await?;
                }
                _ => {
                    for _ in 0..came {
                        let began = Instant::now();
                        let delay = self.law.draw(self.number());
                        if !delay.is_zero() {
                            self.delays.wait(began + delay).await;
                        }
                        self.reply(&mut stream, 1).await?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Reads once: how many requests have ended by that; none if the client has gone.
    fn poll_read(
        &self,
        stream: &mut TcpStream,
        requests: &mut Requests,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<Option<usize>>> {
        let mut buffer = self.buffer.borrow_mut();
        let pending = requests.pending.len();
        buffer[..pending].copy_from_slice(&requests.pending);
        let mut unfilled = ReadBuf::new(&mut buffer[pending..]);
        ready!(Pin::new(stream).poll_read(cx, &mut unfilled))?;
        let bytes = unfilled.filled().len();
        if bytes == 0 {
            return Poll::Ready(Ok(None));
        }
        let came = requests.count(&buffer[..pending + bytes], &mut self.last.borrow_mut());
        Poll::Ready(came.map(Some))
    }

    /// The next request's. The first one sets the clock of the stall.
    fn number(&self) -> u64 {
        let number = self.count.replace(self.count.get() + 1);
        if number == 0
            && let Some(stall) = self.stall
        {
            let delays = self.delays.clone();
            tokio::task::spawn_local(stand_still(delays, Instant::now(), stall));
        }
        number
    }

    async fn reply(&self, stream: &mut TcpStream, mut times: usize) -> io::Result<()> {
        let most = self.replies.len() / self.reply_bytes;
        while times > 0 {
            let now = times.min(most);
            stream.write_all(&self.replies[..now * self.reply_bytes]).await?;
            times -= now;
        }
        Ok(())
    }
}

/// Blocks the thread, and so everything that the server does.
async fn stand_still(delays: Delays, began: Instant, stall: Stall) {
    delays.wait(began + stall.after).await;
    std::thread::sleep(stall.length);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stalls_are_read() {
        let (after, length) = (Duration::from_secs(10), Duration::from_secs(2));
        assert_eq!("2s@10s".parse(), Ok(Stall { after, length }));
        assert!("2s".parse::<Stall>().unwrap_err().contains("2s@10s"));
    }
}
