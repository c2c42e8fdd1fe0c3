//! What commands are read as, and what is refused.

use super::*;

/// What is read of a line, which must be incomplete until its last byte.
fn parse(line: &[u8]) -> Parsed<'_> {
    let mut parser = Parser::default();
    for end in 0..line.len() {
        assert_eq!(parser.parse(&line[..end]), Parsed::Incomplete, "at {end}");
    }
    let parsed = parser.parse(line);
    match parsed {
        Parsed::Request(_, end) => assert_eq!(end, line.len()),
        Parsed::Refused(refused) => assert_eq!(refused.line, line.len()),
        Parsed::Incomplete | Parsed::Close => {}
    }
    parsed
}

fn request(line: &str) -> Request<'_> {
    match parse(line.as_bytes()) {
        Parsed::Request(request, _) => request,
        other => panic!("{line:?}: {other:?}"),
    }
}

/// What is answered, unless it is silent, and how many bytes are swallowed.
fn refused(line: &str) -> (Option<Refusal>, usize) {
    match parse(line.as_bytes()) {
        Parsed::Refused(refused) => {
            ((!refused.is_silent).then_some(refused.refusal), refused.swallow)
        }
        other => panic!("{line:?}: {other:?}"),
    }
}

fn keys<'a>(request: &Request<'a>) -> Vec<&'a [u8]> {
    match request {
        Request::Get(get) => get.keys.collect(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn commands_that_read() {
    assert_eq!(keys(&request("get a\r\n")), [b"a"]);
    assert_eq!(keys(&request("get  a  b \r\n")), [b"a", b"b"]);
    assert_eq!(keys(&request("get a\n")), [b"a"]);
    assert_eq!(keys(&request(" get a\tb\r\n")), [b"a\tb"]);
    assert_eq!(keys(&request("bget a\r\n")), [b"a"]);
    let many = "k ".repeat(100);
    assert_eq!(keys(&request(&format!("gets {many}\r\n"))).len(), 100);
    let read = |line| match request(line) {
        Request::Get(get) => (get.cas, get.exptime),
        other => panic!("{other:?}"),
    };
    assert_eq!(read("get a\r\n"), (false, None));
    assert_eq!(read("gets a\r\n"), (true, None));
    assert_eq!(read("gat 5 a\r\n"), (false, Some(5)));
    assert_eq!(read("gats -1 a\r\n"), (true, Some(-1)));
    assert!(keys(&request("gat 5\r\n")).is_empty());
}

#[test]
fn commands_that_store() {
    let store = |line| match request(line) {
        Request::Store(store) => store,
        other => panic!("{other:?}"),
    };
    let expected = Store {
        mode: Mode::Set,
        key: b"k",
        flags: 5,
        exptime: -1,
        bytes: 3,
        cas: 0,
        noreply: false,
    };
    assert_eq!(store("set k 5 -1 3\r\n"), expected);
    assert_eq!(store("set k 5 -1 3 noreply\r\n"), Store { noreply: true, ..expected });
    // Any other word there means nothing.
    assert_eq!(store("set k 5 -1 3 x\r\n"), expected);
    let cas = Store { mode: Mode::Cas, cas: 9, ..expected };
    assert_eq!(store("cas k 5 -1 3 9\r\n"), cas);
    assert_eq!(store("cas k 5 -1 3 9 noreply\r\n"), Store { noreply: true, ..cas });
    for mode in [Mode::Add, Mode::Replace, Mode::Append, Mode::Prepend] {
        let line = format!("{} k 5 -1 3\r\n", mode.name());
        assert_eq!(request(&line), Request::Store(Store { mode, ..expected }));
    }
}

#[test]
fn data_blocks() {
    assert_eq!(block(b"ab\r\nx", 2), Block::Whole(b"ab", 4));
    assert_eq!(block(b"\r\n", 0), Block::Whole(b"", 2));
    assert_eq!(block(b"ab\r", 2), Block::Incomplete(1));
    assert_eq!(block(b"", 2), Block::Incomplete(4));
    assert_eq!(block(b"abcd", 2), Block::Bad(4));
}

#[test]
fn the_other_commands() {
    assert_eq!(
        request("delete k 0 noreply\r\n"),
        Request::Delete(Delete { key: b"k", noreply: true })
    );
    assert_eq!(request("delete k 0\r\n"), request("delete k\r\n"));
    let incr = Arithmetic { key: b"k", delta: 2, decrement: false, noreply: false };
    assert_eq!(request("incr k 2\r\n"), Request::Arithmetic(incr));
    let decr = Arithmetic { decrement: true, noreply: true, ..incr };
    assert_eq!(request("decr k 2 noreply\r\n"), Request::Arithmetic(decr));
    let touch = Touch { key: b"k", exptime: 2, noreply: false };
    assert_eq!(request("touch k 2\r\n"), Request::Touch(touch));
    let flush = |exptime, noreply| Request::Flush(Flush { exptime, noreply });
    assert_eq!(request("flush_all\r\n"), flush(0, false));
    assert_eq!(request("flush_all noreply\r\n"), flush(0, true));
    assert_eq!(request("flush_all -5\r\n"), flush(-5, false));
    assert_eq!(request("flush_all 5 noreply\r\n"), flush(5, true));
    assert_eq!(request("version and more\r\n"), Request::Version);
    assert_eq!(request("quit\r\n"), Request::Quit);
    assert_eq!(request("verbosity 1\r\n"), Request::Verbosity { level: 1, noreply: false });
    assert_eq!(request("mn\r\n"), Request::MetaNoop);
    assert_eq!(request("me Zm9v b\r\n"), request("me Zm9v b c\r\n"));
    match request("lru_crawler metadump all\r\n") {
        Request::Administration(Administration { name, arguments, noreply: false }) => {
            assert_eq!(name, b"lru_crawler");
            assert!(arguments.eq([&b"metadump"[..], b"all"]));
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn reports() {
    for (line, report) in [
        ("stats\r\n", Report::General),
        ("stats reset\r\n", Report::Reset),
        ("stats settings\r\n", Report::Settings),
        ("stats items\r\n", Report::Items),
        ("stats slabs\r\n", Report::Slabs),
        ("stats sizes\r\n", Report::Sizes),
        ("stats conns\r\n", Report::Connections),
        ("stats detail dump\r\n", Report::Detail(b"dump")),
        ("stats cachedump 1 0\r\n", Report::CacheDump { class: 1, limit: 0 }),
        ("stats sizes_enable\r\n", Report::Other(b"sizes_enable")),
    ] {
        assert_eq!(request(line), Request::Stats(report), "{line}");
    }
    assert_eq!(refused("stats detail\r\n").0, Some(Refusal::StatsDetailUsage));
    assert_eq!(refused("stats detail x\r\n").0, Some(Refusal::StatsDetailUsage));
    assert_eq!(refused("stats cachedump 1\r\n").0, Some(Refusal::StatsFormat));
    assert_eq!(refused("stats cachedump 1 x\r\n").0, Some(Refusal::Format));
    assert_eq!(refused("stats cachedump 64 0\r\n").0, Some(Refusal::SlabId));
}

#[test]
fn mistakes_have_memcacheds_words() {
    let long = "k".repeat(251);
    let owned = |parts: &[&str]| parts.concat();
    for (line, refusal) in [
        ("\r\n".to_owned(), Refusal::Error),
        ("\n".to_owned(), Refusal::Error),
        ("x\r\n".to_owned(), Refusal::Error),
        ("GET a\r\n".to_owned(), Refusal::Error),
        ("get\r\n".to_owned(), Refusal::Error),
        ("get   \r\n".to_owned(), Refusal::Error),
        ("getx a\r\n".to_owned(), Refusal::Error),
        ("mx a\r\n".to_owned(), Refusal::Error),
        ("set k 0 0\r\n".to_owned(), Refusal::Error),
        ("set k 0 0 1 2 3\r\n".to_owned(), Refusal::Error),
        ("cas k 0 0 1\r\n".to_owned(), Refusal::Error),
        ("delete\r\n".to_owned(), Refusal::Error),
        ("delete k 0 noreply x\r\n".to_owned(), Refusal::Error),
        ("incr k\r\n".to_owned(), Refusal::Error),
        ("touch k\r\n".to_owned(), Refusal::Error),
        ("verbosity\r\n".to_owned(), Refusal::Error),
        ("flush_all 1 noreply x\r\n".to_owned(), Refusal::Error),
        ("cache_memlimit\r\n".to_owned(), Refusal::Error),
        ("mg\r\n".to_owned(), Refusal::Error),
        ("ms\r\n".to_owned(), Refusal::Error),
        ("me\r\n".to_owned(), Refusal::Format),
        ("me Zm9 b\r\n".to_owned(), Refusal::Format),
        ("ms k\r\n".to_owned(), Refusal::Format),
        ("ms k S1\r\n".to_owned(), Refusal::Format),
        ("ms k -1\r\n".to_owned(), Refusal::Format),
        ("set k 0 0 -1\r\n".to_owned(), Refusal::Format),
        ("set k 0 0 x\r\n".to_owned(), Refusal::Format),
        ("set k -1 0 1\r\n".to_owned(), Refusal::Format),
        ("set k 0 x 1\r\n".to_owned(), Refusal::Format),
        ("set k 0 0 2147483646\r\n".to_owned(), Refusal::Format),
        ("cas k 0 0 1 x\r\n".to_owned(), Refusal::Format),
        (owned(&["get ", &long, "\r\n"]), Refusal::Format),
        (owned(&["get a ", &long, "\r\n"]), Refusal::Format),
        (owned(&["gat 0 ", &long, "\r\n"]), Refusal::Format),
        (owned(&["set ", &long, " 0 0 1\r\n"]), Refusal::Format),
        (owned(&["delete ", &long, "\r\n"]), Refusal::Format),
        (owned(&["incr ", &long, " 1\r\n"]), Refusal::Format),
        (owned(&["touch ", &long, " 1\r\n"]), Refusal::Format),
        (owned(&["mg ", &long, "\r\n"]), Refusal::Format),
        (owned(&["me ", &long, "\r\n"]), Refusal::Format),
        ("delete k 5\r\n".to_owned(), Refusal::DeleteUsage),
        ("delete k 0 x\r\n".to_owned(), Refusal::DeleteUsage),
        ("gat x a\r\n".to_owned(), Refusal::Exptime),
        ("touch k x\r\n".to_owned(), Refusal::Exptime),
        ("flush_all x\r\n".to_owned(), Refusal::Exptime),
        ("flush_all noreply x\r\n".to_owned(), Refusal::Exptime),
        ("incr k x\r\n".to_owned(), Refusal::Delta),
        ("verbosity x\r\n".to_owned(), Refusal::Format),
        ("mg k v v\r\n".to_owned(), Refusal::DuplicateFlag),
        ("mg k w\r\n".to_owned(), Refusal::InvalidFlag),
        ("md k v v\r\n".to_owned(), Refusal::InvalidOrDuplicateFlag),
        ("ma k Dx\r\n".to_owned(), Refusal::InvalidOrDuplicateFlag),
        ("ma k MX\r\n".to_owned(), Refusal::ArithmeticMode),
        (owned(&["mg k", &" v".repeat(18), "\r\n"]), Refusal::GetFlagsTooLong),
        (owned(&["md k", &" v".repeat(18), "\r\n"]), Refusal::FlagsTooLong),
        (owned(&["ms k 1", &" v".repeat(17), "\r\n"]), Refusal::FlagsTooLong),
    ] {
        assert_eq!(refused(&line), (Some(refusal), 0), "{line:?}");
    }
}

#[test]
fn noreply_keeps_mistakes_quiet_too() {
    for line in [
        "set k 0 x 1 noreply\r\n",
        "set k 0 0 noreply\r\n",
        "delete k x noreply\r\n",
        "incr k x noreply\r\n",
        "touch k noreply\r\n",
        "verbosity noreply\r\n",
        "flush_all noreply noreply\r\n",
    ] {
        assert_eq!(refused(line), (None, 0), "{line:?}");
    }
    // Not where memcached counts the words first.
    assert_eq!(refused("set noreply\r\n"), (Some(Refusal::Error), 0));
    assert_eq!(
        request("delete noreply\r\n"),
        Request::Delete(Delete { key: b"noreply", noreply: false })
    );
}

#[test]
fn the_data_of_a_refused_meta_set_are_swallowed() {
    for line in ["ms k 5 v v\r\n", "ms k 5 MX\r\n", "ms k 5 Tx q\r\n"] {
        let (refusal, swallow) = refused(line);
        assert!(refusal.is_some() && swallow == 7, "{line:?}");
    }
}

#[test]
fn http_is_not_listened_to() {
    for line in ["GET / HTTP/1.1\r\n", "POST /x HTTP/1.0\r\n", "mgx HTTP/1.1\r\n"] {
        assert_eq!(parse(line.as_bytes()), Parsed::Close, "{line:?}");
    }
    for line in ["get HTTP/1.1\r\n", "x HTTP/1.1\r\n", "put / HTTP\r\n", "stat HTTP/1.1\r\n"] {
        assert_ne!(parse(line.as_bytes()), Parsed::Close, "{line:?}");
    }
}

#[test]
fn a_command_ends_at_a_zero_byte_and_its_line_does_not() {
    assert_eq!(keys(&request("get a\0b\r\n")), [b"a"]);
    assert_eq!(keys(&request("get a\0\0 b\n")), [b"a"]);
    assert_eq!(refused("\0\r\n"), (Some(Refusal::Error), 0));
}

#[test]
fn commands_follow_each_other() {
    let mut parser = Parser::default();
    let bytes = b"get a\r\nset k 0 0 1\r\nx\r\nmn\r\n";
    let Parsed::Request(_, first) = parser.parse(bytes) else { panic!() };
    assert_eq!(first, 7);
    let Parsed::Request(Request::Store(store), second) = parser.parse(&bytes[first..]) else {
        panic!()
    };
    assert_eq!(block(&bytes[first + second..], store.bytes), Block::Whole(b"x", 3));
    assert_eq!(parser.parse(&bytes[first + second + 3..]), Parsed::Request(Request::MetaNoop, 4));
}

#[test]
fn lines_without_an_end_are_bounded() {
    let mut parser = Parser::default();
    let line = vec![b'x'; LINE_BYTES_MAX + 1];
    assert_eq!(parser.parse(&line[..LINE_BYTES_MAX]), Parsed::Incomplete);
    assert_eq!(parser.parse(&line), Parsed::Close);
    let mut line = b"gets ".to_vec();
    line.resize(GET_LINE_BYTES_MAX, b'k');
    let mut parser = Parser::default();
    assert_eq!(parser.parse(&line), Parsed::Incomplete);
    line.push(b'k');
    assert_eq!(parser.parse(&line), Parsed::Close);
}

#[test]
fn a_line_is_too_long_whether_its_end_has_come_or_not() {
    let padded = |start: &str, length: usize| {
        let mut line = start.as_bytes().to_vec();
        line.resize(length, b' ');
        line
    };
    for (start, is_long_allowed) in [
        ("get a", true),
        ("gets a", true),
        ("gat 5 a", true),
        ("gats 5 a", true),
        ("  get a", true),
        ("mg a", false),
        ("set a 0 0 1", false),
        ("getter a", false),
        ("version", false),
    ] {
        for (length, is_allowed) in [
            (LINE_BYTES_MAX, true),
            (LINE_BYTES_MAX + 1, is_long_allowed),
            (GET_LINE_BYTES_MAX, is_long_allowed),
            (GET_LINE_BYTES_MAX + 1, false),
        ] {
            let mut line = padded(start, length);
            let begun = Parser::default().parse(&line) == Parsed::Incomplete;
            line.push(b'\n');
            let whole = Parser::default().parse(&line) != Parsed::Close;
            assert_eq!((begun, whole), (is_allowed, is_allowed), "{start}, {length} bytes");
        }
    }
    let many_spaces = [vec![b' '; 101], padded("get a", LINE_BYTES_MAX)].concat();
    assert_eq!(Parser::default().parse(&many_spaces), Parsed::Close);
}
