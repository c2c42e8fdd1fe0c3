//! The targets of the fuzzer: any bytes as what a server of memcached's protocol gets, as what a
//! client gets, as frames of a WebSocket, as a stream of events, as one of the admin socket, and as
//! documents of XML.

#[path = "atom.rs"]
mod atom;

use crate::target::Target;
use wire::events::{self, Event};
use wire::frames::{self, HEAD_BYTES};
use wire::limits::{DATA_BYTES_MAX, FRAME_BYTES_MAX, KEY_BYTES_MAX, OPAQUE_BYTES_MAX};
use wire::memcached::ask::{self, Put};
use wire::memcached::reply::{self, Reply};
use wire::memcached::{Block, Code, Key, Meta, Parsed, Parser, Request, answer, block};
use wire::websocket::{self, Message, Opcode, Side};

pub const TARGETS: &[Target] = &[
    Target { name: "memcached-commands", run: commands, seeds: COMMANDS },
    Target { name: "memcached-replies", run: replies, seeds: REPLIES },
    Target { name: "websocket", run: frames, seeds: FRAMES },
    Target { name: "events", run: stream, seeds: STREAMS },
    Target { name: "admin-frames", run: admin_frames, seeds: ADMIN },
    atom::XML,
    atom::ATOM_ENTRY,
    atom::ATOM_SERVICE,
];

/// The first byte: whether a server reads, and in what pieces the rest comes.
const FRAMES: &[&[u8]] = &[
    b"\x03\x81\x05Hello\x89\x00\x01\x03Hel\x8a\x01x\x80\x02lo\x88\x05\x03\xe8bye",
    b"\x85\x81\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58\x82\x80\x00\x00\x00\x00",
    b"\x01\x02\x02\xff\x00\x00\x00\x80\x7e\x00\x7e\
      0123456789012345678901234567890123456789012345678901234567890123456789\
      01234567890123456789012345678901234567890123456789012345",
    b"\x07\x82\x7f\x00\x00\x00\x00\x00\x01\x00\x00ab\x88\x00",
];

const STREAMS: &[&[u8]] = &[
    b"\x04\xef\xbb\xbf: x\nevent: add\ndata: 1\ndata: 2\nid: 7\nretry: 10\n\ndata\n\n",
    b"\x01data:a\r\rdata: b\r\n\r\nid\ndata\ndata\n\nid: x\0\nevent:\n\n:\n",
];

const ADMIN: &[&[u8]] = &[
    b"D\x02\0\0\0abP\x02\0\0\0{}E\x04\0\0\0null",
    b"D\0\0\x01\0D\x01\0\x01\0X\x03\0\0\0why",
    b"D\xff\xff\xff\xff",
];

/// What is read as a head is written the same, and promises no more than a frame has.
fn admin_frames(input: &[u8]) {
    let mut rest = input;
    while let Some((head, after)) = rest.split_first_chunk::<HEAD_BYTES>() {
        let Ok((kind, length)) = frames::read_head(*head) else { return };
        assert!(length <= FRAME_BYTES_MAX);
        assert_eq!(frames::head(kind, length), Some(*head));
        rest = after.get(length..).unwrap_or_default();
    }
}

const COMMANDS: &[&[u8]] = &[
    b"\x03get a b\r\ngets c\r\ngat 5 a\r\ngats -1 a\r\n",
    b"\x05set a 1 0 2\r\nab\r\nadd a 0 0 0 noreply\r\n\r\ncas a 0 0 1 5\r\nx\r\n",
    b"\x01replace a 0 0 1\r\nx\r\nappend a 0 0 1\r\nxprepend a 0 0 1\r\nx\r\n",
    b"\x07incr a 1\r\ndecr a 18446744073709551615 noreply\r\ntouch a 9\r\ndelete a 0 noreply\r\n",
    b"\x02mg a v t f s c k Oab q\r\nms a 2 T5 F9 C7 I ME c\r\nab\r\nmd a I T30 x\r\nmn\r\n",
    b"\x04ma a N0 J5 D2 MD v t c\r\nme YQ== b\r\nmg YQ== b k\r\nms a 3 v v\r\nabc\r\nmn\r\n",
    b"\x09stats\r\nstats items\r\nstats detail on\r\nversion\r\nverbosity 1\r\nflush_all 5\r\n",
    b"\x06lru_crawler metadump all\r\nGET / HTTP/1.1\r\nquit\r\nget a\0b\r\n\x80\x01\r\n",
];

const REPLIES: &[&[u8]] = &[
    b"\x03VALUE a 0 2\r\nab\r\nVALUE b 1 0 77\r\n\r\nEND\r\n",
    b"\x01STORED\r\nNOT_STORED\r\nEXISTS\r\nNOT_FOUND\r\nDELETED\r\nTOUCHED\r\nOK\r\n12\r\n",
    b"\x05VA 2 f0 t-1 kab Oxy W\r\nab\r\nHD\r\nEN\r\nNF Oxy\r\nNS\r\nEX c0\r\nMN\r\n",
    b"\x02ME a exp=-1 la=0\r\nSTAT pid 7\r\nVERSION 1.6\r\nRESET\r\nERROR\r\n",
    b"\x04CLIENT_ERROR no\r\nSERVER_ERROR no\r\nBUSY no\r\n",
];

/// Commands are the same however the bytes come; what was read and is written again is read the
/// same; what a server answers with flags is what a client reads.
fn commands(input: &[u8]) {
    let Some((step, bytes)) = input.split_first() else { return };
    let whole = read_commands(bytes, bytes.len().max(1));
    assert_eq!(whole, read_commands(bytes, usize::from(*step).max(1)));
}

/// What a server reads if so many bytes come at once.
fn read_commands(bytes: &[u8], step: usize) -> Vec<String> {
    let mut parser = Parser::default();
    let (mut read, mut buffer, mut swallow) = (Vec::new(), Vec::new(), 0);
    for piece in bytes.chunks(step) {
        buffer.extend_from_slice(piece);
        loop {
            let passed = swallow.min(buffer.len());
            buffer.drain(..passed);
            swallow -= passed;
            if swallow > 0 {
                break;
            }
            let used = match parser.parse(&buffer) {
                Parsed::Incomplete => break,
                Parsed::Close => {
                    read.push("close".to_owned());
                    return read;
                }
                Parsed::Refused(refused) => {
                    assert!(refused.refusal.line().ends_with(b"\r\n"));
                    read.push(format!("{refused:?}"));
                    swallow = refused.swallow;
                    refused.line
                }
                Parsed::Request(request, line) => {
                    let data = block(&buffer[line..], data_bytes(&request).unwrap_or(0));
                    let data = data_bytes(&request).map(|_| data);
                    if let Some(Block::Incomplete(missing)) = data {
                        assert!(missing > 0);
                        break;
                    }
                    check_command(&request);
                    read.push(format!("{} {data:?}", shown(&request)));
                    line + match data {
                        Some(Block::Whole(_, end) | Block::Bad(end)) => end,
                        _ => 0,
                    }
                }
            };
            assert!(used > 0 && used <= buffer.len());
            buffer.drain(..used);
        }
    }
    read
}

fn data_bytes(request: &Request<'_>) -> Option<usize> {
    match request {
        Request::Store(store) => Some(store.bytes),
        Request::MetaSet(meta) => Some(meta.bytes),
        _ => None,
    }
}

/// The command, without how many spaces there were.
fn shown(request: &Request<'_>) -> String {
    match request {
        Request::Get(get) => {
            let keys: Vec<&[u8]> = get.keys.collect();
            format!("{keys:?} {} {:?}", get.cas, get.exptime)
        }
        other => format!("{other:?}"),
    }
}

fn check_command(request: &Request<'_>) {
    let mut again = Vec::new();
    match request {
        Request::Get(get) => {
            assert!(get.keys.into_iter().all(|key| key.len() <= KEY_BYTES_MAX));
            match get.exptime {
                None => ask::get(&mut again, get.keys, get.cas),
                Some(exptime) => ask::get_and_touch(&mut again, exptime, get.keys, get.cas),
            }
        }
        Request::Store(store) => {
            assert!(store.bytes <= DATA_BYTES_MAX && store.key.len() <= KEY_BYTES_MAX);
            let (mode, key, cas) = (store.mode, store.key, store.cas);
            let (flags, exptime, noreply) = (store.flags, store.exptime, store.noreply);
            let put = Put { mode, key, flags, exptime, cas, noreply };
            ask::store_line(&mut again, &put, store.bytes);
        }
        Request::Delete(delete) => ask::delete(&mut again, delete.key, delete.noreply),
        Request::Touch(touch) => {
            ask::touch(&mut again, touch.key, touch.exptime, touch.noreply);
        }
        Request::Arithmetic(sum) if sum.decrement => {
            ask::decrement(&mut again, sum.key, sum.delta, sum.noreply);
        }
        Request::Arithmetic(sum) => {
            ask::increment(&mut again, sum.key, sum.delta, sum.noreply);
        }
        Request::MetaGet(meta)
        | Request::MetaSet(meta)
        | Request::MetaDelete(meta)
        | Request::MetaArithmetic(meta) => return check_meta(meta),
        _ => return,
    }
    match Parser::default().parse(&again) {
        Parsed::Request(read, end) => {
            assert_eq!(end, again.len());
            assert_eq!(shown(&read), shown(request));
        }
        other => panic!("{}: {other:?}", again.escape_ascii()),
    }
}

fn check_meta(meta: &Meta<'_>) {
    assert!(meta.bytes <= DATA_BYTES_MAX && meta.opaque.len() <= OPAQUE_BYTES_MAX);
    assert_eq!(meta.has(b'O'), !meta.opaque.is_empty());
    let mut room = [0; KEY_BYTES_MAX];
    let key = meta.key.bytes(&mut room).to_vec();
    assert!(!key.is_empty() && key.len() <= KEY_BYTES_MAX);
    let item = answer::Item { cas: 7, is_won: true, is_binary: true, ..Default::default() };
    let mut line = Vec::new();
    answer::meta_line(&mut line, Code::Value, Some(1), meta, Some(&item));
    // Words may hold carriage returns, which end no line.
    line.extend_from_slice(b"x\r\n");
    let (Reply::Meta(read), end) = parsed(&line) else { panic!("{}", line.escape_ascii()) };
    assert_eq!((end, read.code, read.data), (line.len(), Code::Value, Some(&b"x"[..])));
    assert!(read.flags.into_iter().all(|flag| meta.has(flag[0]) || b"Wb".contains(&flag[0])));
    if meta.has(b'k') {
        let text = read.flag(b'k').unwrap();
        assert_eq!(Key { text, is_binary: true }.bytes(&mut room), key);
    }
}

fn parsed(bytes: &[u8]) -> (Reply<'_>, usize) {
    match reply::parse(bytes, 1 << 20) {
        Ok(reply::Parsed::Reply(reply, end)) => (reply, end),
        other => panic!("{}: {other:?}", bytes.escape_ascii()),
    }
}

/// Replies are the same however the bytes come, and what was read and is written again is read the
/// same.
fn replies(input: &[u8]) {
    let Some((step, bytes)) = input.split_first() else { return };
    let whole = read_replies(bytes, bytes.len().max(1));
    assert_eq!(whole, read_replies(bytes, usize::from(*step).max(1)));
}

fn read_replies(bytes: &[u8], step: usize) -> Vec<String> {
    let (mut read, mut buffer) = (Vec::new(), Vec::new());
    for piece in bytes.chunks(step) {
        buffer.extend_from_slice(piece);
        loop {
            let used = match reply::parse(&buffer, 64) {
                Ok(reply::Parsed::Incomplete(missing)) => {
                    assert!(missing > 0);
                    break;
                }
                Ok(reply::Parsed::Reply(reply, end)) => {
                    read.push(format!("{reply:?}"));
                    check_reply(&reply);
                    end
                }
                Err(malformed) => {
                    read.push(malformed.to_string());
                    return read;
                }
            };
            assert!(used > 0 && used <= buffer.len());
            buffer.drain(..used);
        }
    }
    read
}

fn check_reply(reply: &Reply<'_>) {
    let mut again = Vec::new();
    match reply {
        Reply::Value(value) => {
            answer::value(&mut again, value.key, value.flags, value.cas, value.data);
        }
        Reply::Number(number) => answer::number(&mut again, *number),
        Reply::Version(version) => match std::str::from_utf8(version) {
            Ok(version) => answer::version(&mut again, version),
            Err(_) => return,
        },
        Reply::Statistic { name, value } => match std::str::from_utf8(name) {
            Ok(name) => answer::statistic(&mut again, name, value),
            Err(_) => return,
        },
        _ => return,
    }
    assert_eq!(parsed(&again), (*reply, again.len()));
}

/// Messages are the same however the bytes come, and what was read and is written again is read
/// the same by the same side.
fn frames(input: &[u8]) {
    let Some((first, bytes)) = input.split_first() else { return };
    let side = if first & 0x80 == 0 { Side::Client } else { Side::Server };
    let whole = read_frames(side, bytes, bytes.len().max(1));
    let pieces = usize::from(first & 0x7F).max(1);
    assert_eq!(whole, read_frames(side, bytes, pieces));
    let mask = (side == Side::Server).then_some([1, 2, 3, 4]);
    let mut again = Vec::new();
    for (opcode, payload) in &whole.messages {
        websocket::write(&mut again, *opcode, true, mask, payload);
    }
    let read = read_frames(side, &again, again.len().max(1));
    assert_eq!((read.messages, read.refusal), (whole.messages, None));
}

#[derive(Debug, PartialEq)]
struct Frames {
    messages: Vec<(Opcode, Vec<u8>)>,
    refusal: Option<String>,
}

fn read_frames(side: Side, bytes: &[u8], step: usize) -> Frames {
    let (mut reader, mut pending) = (websocket::Reader::new(side), Vec::new());
    let mut frames = Frames { messages: Vec::new(), refusal: None };
    for piece in bytes.chunks(step) {
        pending.extend_from_slice(piece);
        loop {
            let (used, message) = match reader.read(&pending) {
                Ok(read) => read,
                Err(error) => {
                    assert!(matches!(error.code(), 1002 | 1007 | 1009));
                    frames.refusal = Some(error.to_string());
                    return frames;
                }
            };
            let is_over = message.is_none();
            frames.messages.extend(message.map(taken));
            pending.drain(..used);
            if is_over {
                // Less than a head, which has 14 bytes at most.
                assert!(pending.len() < 14, "{} bytes wait", pending.len());
                break;
            }
        }
    }
    frames
}

fn taken(message: Message<'_>) -> (Opcode, Vec<u8>) {
    match message {
        Message::Text(text) => (Opcode::Text, text.as_bytes().to_vec()),
        Message::Binary(bytes) => (Opcode::Binary, bytes.to_vec()),
        Message::Ping(bytes) => (Opcode::Ping, bytes.to_vec()),
        Message::Pong(bytes) => (Opcode::Pong, bytes.to_vec()),
        Message::Close(None, _) => (Opcode::Close, Vec::new()),
        Message::Close(Some(code), why) => {
            (Opcode::Close, [&code.to_be_bytes(), why.as_bytes()].concat())
        }
    }
}

/// Events are the same however the bytes come, and what was read and is written again is read the
/// same.
fn stream(input: &[u8]) {
    let Some((step, bytes)) = input.split_first() else { return };
    let whole = read_stream(bytes, bytes.len().max(1));
    assert_eq!(whole, read_stream(bytes, usize::from(*step).max(1)));
    let mut again = Vec::new();
    for [name, data, id] in &whole {
        events::write(&mut again, &Event { name, data, id });
    }
    assert_eq!(read_stream(&again, again.len().max(1)), whole);
}

fn read_stream(bytes: &[u8], step: usize) -> Vec<[Vec<u8>; 3]> {
    let (mut reader, mut read) = (events::Reader::default(), Vec::new());
    for piece in bytes.chunks(step) {
        let mut rest = piece;
        // A fuzzer's inputs are far below the bounds.
        while let Ok((used, is_event)) = reader.read(rest) {
            rest = &rest[used..];
            if !is_event {
                assert!(rest.is_empty());
                break;
            }
            let Event { name, data, id } = reader.event();
            assert_eq!(id, reader.last_id());
            read.push([name.to_vec(), data.to_vec(), id.to_vec()]);
        }
    }
    read
}
