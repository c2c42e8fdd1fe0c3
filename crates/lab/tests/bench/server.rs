//! A server of plain threads that reads requests strictly and answers as a test tells it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// A request as it came.
#[derive(Clone, Debug)]
pub struct Request {
    /// Which of all requests this is, from 0.
    pub number: usize,
    /// Which of all connections that sent anything it came on, from 0.
    pub connection: usize,
    /// The request line.
    pub line: String,
    /// The fields.
    pub fields: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

impl Request {
    pub fn field(&self, name: &str) -> Option<&str> {
        let mut found = self.fields.iter().filter(|(other, _)| other.eq_ignore_ascii_case(name));
        let value = found.next().map(|(_, value)| value.as_str());
        assert_eq!(found.next(), None, "{name} comes twice");
        value
    }
}

/// What a server does after it answered.
#[derive(PartialEq, Eq)]
pub enum Then {
    Keep,
    Close,
}

pub struct Server {
    address: SocketAddr,
    seen: Arc<Mutex<Vec<Request>>>,
}

/// A reply with a length.
pub const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

/// Starts a server that answers every request with `answer`. It lives until the test ends.
pub fn serve(answer: impl Fn(&Request, &mut TcpStream) -> Then + Send + Sync + 'static) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let server = Server { address, seen: Arc::clone(&seen) };
    let (answer, connections) = (Arc::new(answer), Arc::new(AtomicUsize::new(0)));
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let (answer, seen) = (Arc::clone(&answer), Arc::clone(&seen));
            let connections = Arc::clone(&connections);
            std::thread::spawn(move || {
                stream.set_nodelay(true).unwrap();
                let mut input = BufReader::new(stream.try_clone().unwrap());
                let mut connection = None;
                while let Some(mut request) = read(&mut input) {
                    let next = || connections.fetch_add(1, Ordering::Relaxed);
                    request.connection = *connection.get_or_insert_with(next);
                    let mut seen = seen.lock().unwrap();
                    request.number = seen.len();
                    seen.push(request.clone());
                    drop(seen);
                    if answer(&request, &mut stream) == Then::Close {
                        break;
                    }
                }
            });
        }
    });
    server
}

/// Starts a server that answers every request with the same bytes and keeps the connection.
pub fn serve_bytes(reply: &'static [u8]) -> Server {
    serve(move |_, stream| send(stream, reply))
}

/// Starts a server that answers the first request well and every other with `answer`.
pub fn serve_one_then(
    answer: impl Fn(&Request, &mut TcpStream) -> Then + Send + Sync + 'static,
) -> Server {
    serve(move |request, stream| match request.number {
        0 => send(stream, OK),
        _ => answer(request, stream),
    })
}

/// Sends bytes; the client may have gone.
pub fn send(stream: &mut TcpStream, bytes: &[u8]) -> Then {
    match stream.write_all(bytes) {
        Ok(()) => Then::Keep,
        Err(_) => Then::Close,
    }
}

/// Waits until the client has gone.
pub fn wait_for_close(stream: &mut TcpStream) -> Then {
    let mut rest = [0; 4096];
    while stream.read(&mut rest).is_ok_and(|bytes| bytes > 0) {}
    Then::Close
}

impl Server {
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// Every request so far, in the order they came.
    pub fn seen(&self) -> Vec<Request> {
        self.seen.lock().unwrap().clone()
    }

    /// Connections that sent a request so far.
    pub fn connections(&self) -> u64 {
        self.seen().iter().map(|request| request.connection as u64 + 1).max().unwrap_or(0)
    }
}

/// Reads one request, or nothing at the end of the connection.
fn read(input: &mut impl BufRead) -> Option<Request> {
    let line = read_line(input)?;
    let mut fields = Vec::new();
    loop {
        let field = read_line(input)?;
        if field.is_empty() {
            break;
        }
        let (name, value) = field.split_once(": ").unwrap();
        fields.push((name.to_owned(), value.to_owned()));
    }
    let mut request = Request { number: 0, connection: 0, line, fields, body: Vec::new() };
    let length = request.field("content-length").map_or(0, |length| length.parse().unwrap());
    request.body.resize(length, 0);
    input.read_exact(&mut request.body).ok()?;
    Some(request)
}

fn read_line(input: &mut impl BufRead) -> Option<String> {
    let mut line = String::new();
    let bytes = input.read_line(&mut line).ok()?;
    (bytes > 0).then(|| line.strip_suffix("\r\n").unwrap().to_owned())
}
