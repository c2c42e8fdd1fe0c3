//! WebSockets, against a library of others and against servers that break the protocol.

use crate::certificates::Authority;
use crate::nginx::Nginx;
use crate::server::{self, Then};
use crate::websockets::WebSockets;
use crate::with_variables;
use crate::{carried_out, failed, first, json, measured, operation, plan, template, text};
use lab::measure::ErrorClass;
use lab::plan::{
    ChannelKind, ChannelStep, Check, ExtractFrom, HttpStep, Mix, OpenStep, Piece, Plan,
    ReceiveStep, SendStep, Step, Template, Trust,
};
use std::io::Write;
use std::time::Duration;

fn channel(step: ChannelStep) -> Step {
    Step::Channel(step)
}

fn open(path: &str) -> OpenStep {
    let request = HttpStep::new("GET", Template::fixed(path));
    OpenStep { kind: ChannelKind::WebSocket, request, subprotocols: Vec::new() }
}

fn opened(path: &str) -> Step {
    channel(ChannelStep::Open(Box::new(open(path))))
}

fn send(content: Vec<Piece>) -> Step {
    channel(ChannelStep::Send(SendStep { content: template(content), is_binary: false }))
}

fn say(content: &str) -> Step {
    send(vec![text(content)])
}

/// Waits for a message.
fn any() -> ReceiveStep {
    ReceiveStep {
        kind: ChannelKind::WebSocket,
        count: 1,
        containing: None,
        event: None,
        timeout: None,
        checks: Vec::new(),
        extract: Vec::new(),
    }
}

fn receive(step: ReceiveStep) -> Step {
    channel(ChannelStep::Receive(Box::new(step)))
}

/// Waits for a message that is this.
fn hear(expected: Vec<Piece>) -> Step {
    let check = Check::Equals(ExtractFrom::Body, template(expected));
    receive(ReceiveStep { checks: vec![check], ..any() })
}

fn close() -> Step {
    channel(ChannelStep::Close(ChannelKind::WebSocket))
}

#[test]
fn messages_go_there_and_come_back_on_one_connection() {
    let server = WebSockets::start(&[]);
    let hello = || vec![text("h\u{e4}llo "), Piece::Nonce];
    let steps = vec![opened("/"), send(hello()), hear(hello())];
    let (report, _) = carried_out(&plan(&server.url(), steps, 50));
    assert_eq!(report.measured.successes(), 50, "{}", report.to_text());
    assert_eq!(report.connections, 1);
    let messages = report.measured.messages().unwrap();
    assert_eq!(messages.count(), 50);
    assert!(messages.max_ms() <= report.measured.service().max_ms());
    assert_eq!(report.to_json()["messages"]["count"], 50);
    assert!(report.to_text().contains("\nmessages          50, p50 "), "{}", report.to_text());
}

#[test]
fn wss_is_spoken_by_the_labs_own_tls() {
    let authority = Authority::new();
    let identity = authority.sign("DNS:localhost", 2);
    let server = WebSockets::start(&[&identity.certificate, &identity.key]);
    let steps = vec![opened("/"), say("secret"), hear(vec![text("secret")]), close()];
    let mut plan = plan(&server.tls_url(), steps, 3);
    plan.transport.trust = Trust { ca: Some(authority.certificate()), insecure: false };
    let (report, _) = carried_out(&plan);
    assert_eq!((report.measured.successes(), report.connections), (3, 3), "{}", report.to_text());
}

#[test]
fn parts_are_put_together_and_pings_answered_whatever_the_user_is_about() {
    let server = WebSockets::start(&[]);
    let pause = lab::plan::Distribution::Fixed(Duration::from_millis(50));
    let steps = vec![
        opened("/"),
        say("parts"),
        hear(vec![text("one message")]),
        say("ping"),
        Step::Pause(pause),
        hear(vec![text("a pong came")]),
    ];
    assert_eq!(measured(&plan(&server.url(), steps, 2)).messages().unwrap().count(), 4);
}

#[test]
fn large_messages_and_many_come_whole() {
    let server = WebSockets::start(&[]);
    let long = "0123456789".repeat(20_000);
    let pause = lab::plan::Distribution::Fixed(Duration::from_millis(300));
    let flood = ReceiveStep {
        count: 3000,
        containing: Some(template(vec![text(" xxx")])),
        extract: vec![first(0, ExtractFrom::Body)],
        ..any()
    };
    // More than a user keeps: what is beyond it waits in the server.
    let steps = vec![
        opened("/"),
        say(&long),
        hear(vec![text(&long)]),
        say("flood"),
        Step::Pause(pause),
        receive(flood),
        send(vec![Piece::Variable(0)]),
        hear(vec![text(&format!("2999 {}", "x".repeat(1000)))]),
    ];
    let plan = with_variables(plan(&server.url(), steps, 2), &["last"]);
    assert_eq!(measured(&plan).messages().unwrap().count(), 2 * 3002);
}

#[test]
fn a_message_is_waited_for_among_others_and_taken_apart() {
    let server = WebSockets::start(&[]);
    let wanted = ReceiveStep {
        containing: Some(template(vec![text("want")])),
        checks: vec![Check::Bytes(6, 6)],
        ..any()
    };
    let mut step = open("/");
    step.request.headers = vec![("X-Token".to_owned(), Template::fixed("abc"))];
    let headers = ReceiveStep { extract: vec![first(0, json("$['x-token']"))], ..any() };
    let steps = vec![
        channel(ChannelStep::Open(Box::new(step))),
        say("headers"),
        receive(headers),
        say("noise"),
        receive(wanted),
        hear(vec![text("three")]),
        send(vec![Piece::Variable(0)]),
        hear(vec![text("abc")]),
    ];
    measured(&with_variables(plan(&server.url(), steps, 2), &["token"]));
}

#[test]
fn a_close_is_a_handshake() {
    let mut server = WebSockets::start(&[]);
    let steps =
        vec![opened("/"), say("noise"), close(), opened("/"), say("a"), hear(vec![text("a")])];
    let (report, _) = carried_out(&plan(&server.url(), steps, 1));
    assert_eq!((report.measured.successes(), report.connections), (1, 2), "{}", report.to_text());
    assert_eq!(server.said(), "closed 1000");
}

#[test]
fn who_goes_says_so() {
    let mut server = WebSockets::start(&[]);
    measured(&plan(&server.url(), vec![opened("/"), say("a"), hear(vec![text("a")])], 1));
    assert_eq!(server.said(), "closed 1000");
}

#[test]
fn a_connection_that_the_server_closed_is_an_error_and_then_opened_anew() {
    let server = WebSockets::start(&[]);
    let mut plan = plan(&server.url(), vec![opened("/"), say("close"), receive(any())], 4);
    let echo = vec![opened("/"), say("a"), hear(vec![text("a")])];
    plan.operations.push(operation("other", echo));
    plan.mix = Mix::Sequence(vec![0, 1]);
    let (report, _) = carried_out(&plan);
    let errors = report.measured.errors();
    assert_eq!((errors.count(ErrorClass::Closed), errors.total()), (2, 2), "{errors}");
    let why = errors.first(ErrorClass::Closed).unwrap();
    assert_eq!(why, "the server closed the WebSocket with code 4000: \"as you wish\"");
    assert_eq!(report.connections, 3);
}

#[test]
fn silence_ends_after_its_time() {
    let server = WebSockets::start(&[]);
    let timeout = Some(Duration::from_millis(30));
    let wait = ReceiveStep { count: 2, timeout, ..any() };
    let steps = vec![opened("/"), say("only one"), say("silence"), receive(wait)];
    let (class, why) = failed(&plan(&server.url(), steps, 2));
    assert_eq!(class, ErrorClass::Timeout);
    assert!(why.starts_with("waited 0.0") && why.ends_with("for 2 messages; 1 came, and 0 others"));
}

#[test]
fn subprotocols_are_agreed_on_or_the_operation_fails() {
    let server = WebSockets::start(&[]);
    let offering = |names: &[&str]| {
        let mut step = open("/");
        step.subprotocols = names.iter().map(|&name| name.to_owned()).collect();
        plan(&server.url(), vec![channel(ChannelStep::Open(Box::new(step)))], 1)
    };
    measured(&offering(&["a", "b"]));
    let (class, why) = failed(&offering(&["c"]));
    assert_eq!(class, ErrorClass::Check);
    assert!(why.contains("expected sec-websocket-protocol: c, got nothing"), "{why}");
}

#[test]
fn a_server_that_knows_no_websocket_is_told() {
    let nginx = Nginx::start(&[("here", "x")], "");
    let refusal = |path: &str| failed(&plan(&nginx.url(), vec![opened(path)], 1));
    let (class, why) = refusal("/here");
    assert_eq!((class, why.as_str()), (ErrorClass::Check, "expected status 101, got 200"));
    assert_eq!(refusal("/nowhere"), (ErrorClass::Status4xx, "status 404".to_owned()));
}

/// What comes of a WebSocket on which a server sends these bytes.
fn said(bytes: &'static [u8]) -> (ErrorClass, String) {
    let server = server::serve(move |request, stream| {
        assert_eq!(request.line, "GET /chat HTTP/1.1");
        assert_eq!(request.field("sec-websocket-version"), Some("13"));
        let accept = accept(request.field("sec-websocket-key").unwrap());
        let head = format!(
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
             Sec-WebSocket-Accept: {accept}\r\n\r\n"
        );
        let _gone = stream.write_all(&[head.as_bytes(), bytes].concat());
        Then::Close
    });
    failed(&plan(&server.url("/"), vec![opened("/chat"), receive(any())], 2))
}

/// By openssl.
fn accept(key: &str) -> String {
    use std::process::Command;
    let script = "printf %s \"$0\" | openssl sha1 -binary | openssl base64";
    let whole = format!("{key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11");
    let output = Command::new("sh").args(["-c", script, &whole]).output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

#[test]
fn what_breaks_the_protocol_is_malformed() {
    for (bytes, words) in [
        (&b"\x81\x80\x00\x00\x00\x00"[..], "a server's frame is masked"),
        (b"\x83\x00", "a frame of kind 3"),
        (b"\x81\x01\xff", "a text is not UTF-8"),
        (b"\x82\x7f\x00\x00\x00\x00\x00\x50\x00\x00", "more than 4194304 bytes"),
    ] {
        let (class, why) = said(bytes);
        assert_eq!(class, ErrorClass::Malformed, "{why}");
        assert!(why.contains(words), "{why}");
    }
    let (class, why) = said(b"\x81\x05hel");
    assert_eq!(class, ErrorClass::Closed);
    assert!(why.contains("without closing the WebSocket"), "{why}");
}

#[test]
fn a_step_without_a_channel_says_what_to_do() {
    let server = WebSockets::start(&[]);
    let mut plan = plan(&server.url(), vec![say("x")], 2);
    plan.operations.push(operation("opens", vec![opened("/")]));
    let (class, why) = failed(&plan);
    assert_eq!(class, ErrorClass::Check);
    assert!(why.starts_with("the user has no open WebSocket: begin"), "{why}");
}

#[test]
fn a_channel_needs_http_1() {
    let mut plan: Plan = plan("http://127.0.0.1:1/", vec![opened("/")], 1);
    plan.transport.protocol = lab::plan::Protocol::Http2 { streams: 1 };
    let why = plan.check().unwrap_err().to_string();
    assert!(why.contains("over HTTP/1.1"), "{why}");
}
