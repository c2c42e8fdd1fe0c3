//! Requests are answered the same however they come: whole, or split over two packets at any byte;
//! and as memcached answers them.

use crate::real;
use crate::server::Server;
use std::io::{Read, Write};

/// What is there before each request.
const BEFORE: &[u8] = b"flush_all\r\nset a 5 0 2\r\n17\r\nset b 0 900 3\r\nxyz\r\nmn\r\n";

/// Requests whose answers memcached gives, too.
const REQUESTS: &[&[u8]] = &[
    b"get a\r\n",
    b"get a none b\r\n",
    b"gets a b\r\n",
    b"gat 100 a\r\nmg a t\r\n",
    b"gat 100 a none b\r\n",
    b"gats 0 b a\r\nmg b t\r\n",
    b"gat -1 a\r\nget a\r\n",
    b"gat x a\r\n",
    b"set c 1 0 5\r\nhello\r\nget c\r\n",
    b"set c 1 0 0\r\n\r\nget c\r\n",
    b"set c 1 0 4\r\na\r\nb\r\nget c\r\n",
    b"set a 0 0 1 noreply\r\nz\r\nget a\r\n",
    b"add a 0 0 1\r\nz\r\nadd c 0 0 1\r\nz\r\nget a c\r\n",
    b"replace a 0 0 1\r\nz\r\nreplace c 0 0 1\r\nz\r\nget a c\r\n",
    b"append a 0 0 2\r\n89\r\nprepend a 0 0 1\r\n0\r\nappend none 0 0 1\r\nx\r\nget a\r\n",
    b"cas a 0 0 1 18446744073709551615\r\nz\r\ncas none 0 0 1 5\r\nz\r\nget a\r\n",
    b"incr a 5\r\ndecr a 2\r\nincr none 1\r\nincr b 1\r\nincr a 1 noreply\r\nget a\r\n",
    b"delete a\r\ndelete a\r\ndelete b 0\r\ndelete b noreply\r\ndelete b 5\r\n",
    b"touch a 100\r\ntouch none 1\r\ntouch b 0 noreply\r\nmg a t\r\nmg b t\r\n",
    b"flush_all\r\nget a b\r\n",
    b"flush_all 0\r\nget a b\r\n",
    b"flush_all -5\r\nget a b\r\n",
    b"flush_all 100\r\nget a b\r\n",
    b"flush_all 2592001\r\nget a b\r\n",
    b"flush_all noreply\r\nget a b\r\n",
    b"flush_all x\r\n",
    b"verbosity 1\r\nverbosity\r\nversion\r\n",
    b"mn\r\nmn\r\n",
    b"mg a v f s k Oxy\r\nmg none v\r\nmg none v q\r\nmg YQ== b v k\r\nmg b N30 v t\r\n",
    b"ms c 3 T100 F7 c\r\nabc\r\nmg c v t f\r\nms c 2 MA\r\nde\r\nms c x\r\nget c\r\n",
    b"ms c 3 w\r\nabc\r\nmg c v\r\n",
    b"md a q\r\nmd a\r\nmd b I T30\r\nmg b v\r\n",
    b"ma a v D3\r\nma none N0 J9 v\r\nma a MD v t\r\nma b\r\n",
    b"me none\r\nmg\r\nmg a b\r\nmd a v v\r\n",
    b"nothing\r\nGET a\r\n\r\nget\r\n",
    b"set c 0 0 3\r\nabcdef\r\nget c\r\n",
    b"set c 0 0 -1\r\nset c x 0 1\r\nget c\r\n",
    b"stats reset\r\nstats detail off\r\nstats detail\r\nstats nothing\r\n",
    b"stats cachedump 1\r\nstats cachedump 64 0\r\n",
    b"get a\0b c\r\nget a\n",
    b"get a\nset c 0 0 1\nz\r\nget c\n",
    b"set a 0 0 1\r\nz\r\nquit\r\nget a\r\n",
    b"GET / HTTP/1.1\r\nget a\r\n",
    b"shutdown\r\nlru\r\ncache_memlimit\r\n",
];

/// Requests that are long. memcached answers some of them only if they come at once.
fn long_requests() -> Vec<Vec<u8>> {
    let keys = format!("{} a", " none".repeat(600));
    let value = "v".repeat(100_000);
    [
        format!("get{keys}\r\nmn\r\n"),
        format!("gets b{keys}\r\nmn\r\n"),
        format!("gat 100{keys}\r\nmn\r\n"),
        format!("gats 100 b{keys}\r\nmn\r\n"),
        format!("set c 0 0 100000\r\n{value}\r\nget c\r\n"),
        format!("set c 0 0 99999\r\n{value}\r\nget c\r\n"),
        format!("ms c 100000 k\r\n{value}\r\nmg c v\r\nget a\r\n"),
        format!("set {} 0 0 1\r\nz\r\nget a\r\n", "k".repeat(251)),
        "set c 0 0 2000000\r\nget a\r\n".to_owned(),
        // Too long for a command: closed without a word.
        format!("set {} 0 0 1\r\nz\r\nget a\r\n", "k".repeat(3_000)),
        format!("{}get a\r\n", " ".repeat(2_500)),
        format!("delete{}\r\nget a\r\n", " a".repeat(1_500)),
    ]
    .map(String::into_bytes)
    .to_vec()
}

/// Where a request is split: everywhere, or in so many places if it is long.
fn places(length: usize) -> impl Iterator<Item = usize> {
    let step = move |at: usize| {
        let is_inside = at >= 60 && at + 60 < length;
        if is_inside { (length / 40).max(1) } else { 1 }
    };
    std::iter::successors(Some(1), move |at| Some(at + step(*at)))
        .take_while(move |at| *at < length)
}

/// What is answered to a request in two pieces, of which the server has had the first alone.
fn answers(server: &Server, request: &[u8], at: usize) -> String {
    let mut stream = server.stream();
    stream.write_all(BEFORE).unwrap();
    read_up_to(&mut stream, b"MN\r\n");
    // One that is closed for the first piece takes no second.
    stream.write_all(&request[..at]).unwrap();
    if at < request.len() {
        let mut other = server.stream();
        other.write_all(b"mn\r\n").unwrap();
        read_up_to(&mut other, b"MN\r\n");
    }
    let _ = stream.write_all(&request[at..]);
    let _ = stream.shutdown(std::net::Shutdown::Write);
    read_all(&mut stream)
}

fn read_up_to(stream: &mut impl Read, end: &[u8]) {
    let mut read = Vec::new();
    while !read.ends_with(end) {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        read.push(byte[0]);
    }
}

/// Everything up to the end; unique numbers and seconds that are left stand as `#`.
fn read_all(stream: &mut impl Read) -> String {
    let mut answers = Vec::new();
    // A connection that is closed with commands unread is reset.
    let _ = stream.read_to_end(&mut answers);
    let text = String::from_utf8_lossy(&answers).into_owned();
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let lines = text.split("\r\n").map(|line| {
        let is_value = line.starts_with("VALUE ");
        let words =
            line.split(' ').enumerate().map(|(number, word)| match word.split_at_checked(1) {
                Some(("c", rest)) if is_number(rest) => "c#",
                Some(("t", rest)) if is_number(rest) => "t#",
                Some(_) if is_value && number == 4 => "#",
                _ => word,
            });
        words.collect::<Vec<_>>().join(" ")
    });
    lines.collect::<Vec<_>>().join("\r\n")
}

fn shown(text: &str) -> &str {
    &text[..text.len().min(300)]
}

#[test]
fn a_request_split_over_two_packets_is_answered_as_a_whole_one() {
    let server = Server::start();
    let requests = REQUESTS.iter().map(|request| request.to_vec());
    for request in requests.chain(long_requests()) {
        let whole = answers(&server, &request, request.len());
        for at in places(request.len()) {
            let split = answers(&server, &request, at);
            let text = String::from_utf8_lossy(&request);
            let (split_shown, whole_shown) = (shown(&split), shown(&whole));
            let what = format!("{} split at {at}", shown(&text).escape_debug());
            assert!(split == whole, "{what}:\n{split_shown:?}\nnot\n{whole_shown:?}");
        }
    }
}

#[test]
fn each_request_is_answered_as_memcached_answers_it() {
    let (server, memcached) = (Server::start(), real::Server::start());
    for request in REQUESTS {
        let ours = answers(&server, request, request.len());
        let theirs = read_all(&mut &memcached.answers(&[BEFORE, request].concat())[..]);
        let (_, theirs) = theirs.split_once("MN\r\n").unwrap();
        assert_eq!(ours, theirs, "{}", request.escape_ascii());
    }
}
