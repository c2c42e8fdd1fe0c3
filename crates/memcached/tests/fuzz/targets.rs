//! The target of the fuzzer: any bytes as what a connection receives, on a real cache.

use crate::target::Target;
use cache::{Cache, Settings};
use memcached::fuzzing::Link;
use std::sync::Arc;

pub const TARGETS: &[Target] =
    &[Target { name: "memcached-session", run: session, seeds: SESSIONS }];

const SESSIONS: &[&[u8]] = &[
    b"\x03set a 1 0 2\r\nab\r\nget a b\r\ngets a\r\ngat 5 a\r\ndelete a noreply\r\nget a\r\n",
    b"\x05set n 0 0 2\r\n10\r\nincr n 5\r\ndecr n 6\r\ntouch n 5\r\n",
    b"\x05set n 0 0 1\r\n5\r\ngets n\r\ncas n 0 0 1 1\r\n7\r\nget n\r\n",
    b"\x01add a 0 0 1\r\nx\r\nappend a 0 0 1\r\nyprepend a 0 0 1\r\nz\r\nreplace a 0 0 1\r\nw\r\n",
    b"\x02ms a 2 T5 F9 c\r\nab\r\nmg a v t f s c k Oab q\r\nmd a I T30\r\nmg a v\r\nmn\r\n",
    b"\x07ma n N0 J5 v t c\r\nma n D2 MD v\r\nmg v N30 v\r\nmg v R60 v t\r\nmg v\r\nme v\r\n",
    b"\x04ms YQ== 1 b I C7\r\nx\r\nmg YQ== b k v\r\nms a 3 S v v\r\nabc\r\nflush_all\r\nmn\r\n",
    b"\x09set a 0 0 2000000\r\nxxxx\r\nverbosity 1\r\nversion\r\nlru\r\n",
    b"\x02set a x 0 1\r\nquit\r\nmn\r\n",
];

/// The answers are the same however the bytes come.
fn session(input: &[u8]) {
    let Some((step, bytes)) = input.split_first() else { return };
    let whole = answers(bytes, bytes.len().max(1));
    let pieces = answers(bytes, usize::from(*step).max(1));
    // What is told of the process is another with each look.
    if bytes.windows(5).any(|word| word == b"stats") {
        return;
    }
    let shown = |answers: &[u8]| answers.escape_ascii().to_string();
    assert_eq!(shown(&whole.0), shown(&pieces.0));
    assert_eq!(whole.1, pieces.1, "closed or not");
}

/// What is answered if so many bytes come at once, and whether the connection was closed.
fn answers(bytes: &[u8], step: usize) -> (Vec<u8>, bool) {
    let cache = Arc::new(Cache::new(&Settings::new(8 << 20, 7)).expect("enough memory"));
    cache.set_time(1_700_000_000);
    let mut link = Link::new(cache);
    let answers = bytes.chunks(step).flat_map(|piece| link.receive(piece)).collect();
    (answers, link.is_closed)
}
