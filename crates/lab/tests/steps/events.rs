//! Streams of server-sent events: of nginx, and of servers that answer as a test tells them.

use crate::nginx::Nginx;
use crate::server::{self, Then, send};
use crate::{
    carried_out, failed, first, get, http, json, measured, operation, plan, reply, template,
};
use crate::{text, with_variables};
use lab::measure::ErrorClass;
use lab::plan::{
    ChannelKind, ChannelStep, Check, ExtractFrom, HttpStep, Mix, OpenStep, Piece, ReceiveStep,
    Step, Template,
};
use std::time::Duration;

fn opened(path: &str) -> Step {
    let request = HttpStep::new("GET", Template::fixed(path));
    let kind = ChannelKind::Events;
    Step::Channel(ChannelStep::Open(Box::new(OpenStep { kind, request, subprotocols: vec![] })))
}

fn events(count: u32) -> ReceiveStep {
    ReceiveStep {
        kind: ChannelKind::Events,
        count,
        containing: None,
        event: None,
        timeout: None,
        checks: Vec::new(),
        extract: Vec::new(),
    }
}

fn receive(step: ReceiveStep) -> Step {
    Step::Channel(ChannelStep::Receive(Box::new(step)))
}

const STREAM: &str = ": hello\nretry: 100\n\nid: 1\nevent: price\ndata: {\"of\": \"a\",\n\
    data: \"is\": 5}\n\nid: 2\ndata: second\n\nid: 3\nevent: price\ndata: {\"is\": 7}\n\n";

#[test]
fn events_of_nginx_are_read_and_taken_apart() {
    let directives = "location /stream { default_type text/event-stream; }";
    let nginx = Nginx::start(&[("stream", STREAM), ("7", "x")], directives);
    let prices = ReceiveStep {
        event: Some("price".to_owned()),
        extract: vec![first(0, json("/is")), first(1, ExtractFrom::Header("id".to_owned()))],
        ..events(2)
    };
    let mut step = get("/");
    step.path = template(vec![text("/"), Piece::Variable(0), text("?"), Piece::Variable(1)]);
    let steps = vec![opened("/stream"), receive(prices), http(step)];
    let plan = with_variables(plan(&nginx.url(), steps, 3), &["price", "id"]);
    // nginx ends the stream with the file, so each operation opens it anew.
    assert_eq!(measured(&plan).messages().unwrap().count(), 6);
    assert_eq!((nginx.count("/stream", 200), nginx.count("/7?3", 200)), (3, 3));
}

/// The head of a stream, and its first chunk.
fn stream_head(event: &str) -> String {
    let length = event.len();
    format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\n\
         Transfer-Encoding: chunked\r\n\r\n{length:x}\r\n{event}\r\n"
    )
}

#[test]
fn a_stream_stays_open_and_brings_what_other_requests_cause() {
    use std::net::TcpStream;
    use std::sync::Mutex;
    let listener: Mutex<Option<TcpStream>> = Mutex::new(None);
    let server = server::serve(move |request, stream| match request.line.as_str() {
        "GET /stream HTTP/1.1" => {
            assert_eq!(request.field("accept"), Some("text/event-stream"));
            *listener.lock().unwrap() = Some(stream.try_clone().unwrap());
            send(stream, stream_head("data: welcome\n\n").as_bytes())
        }
        _ => {
            let event = format!("data: {}\r\n\r\n", String::from_utf8_lossy(&request.body));
            let chunk = format!("{:x}\r\n{event}\r\n", event.len());
            let mut listening = listener.lock().unwrap();
            // One byte after the other: an event is whole wherever the network parts it.
            for byte in chunk.as_bytes() {
                send(listening.as_mut().unwrap(), &[*byte]);
            }
            reply(stream, "204 No Content", "", "")
        }
    });
    let mut post = HttpStep::new("POST", Template::fixed("/publish"));
    post.body = lab::plan::Body::Template(template(vec![Piece::Nonce]));
    let mine = ReceiveStep { containing: Some(template(vec![Piece::Nonce])), ..events(1) };
    let steps = vec![opened("/stream"), http(post), receive(mine)];
    let (report, _) = carried_out(&plan(&server.url("/"), steps, 20));
    assert_eq!(report.measured.successes(), 20, "{}", report.to_text());
    assert_eq!((report.connections, report.measured.messages().unwrap().count()), (2, 20));
}

#[test]
fn the_last_id_is_told_when_a_stream_is_opened_again() {
    let server = server::serve(|request, stream| {
        let event = format!("id: n{}\ndata: x\n\n", request.number);
        let _sent = send(stream, stream_head(&event).as_bytes());
        Then::Close
    });
    let mut plan = plan(&server.url("/"), vec![opened("/a"), receive(events(1))], 4);
    let renewed = vec![Step::NewSession, opened("/a"), receive(events(1))];
    plan.operations.push(operation("renewed", renewed));
    plan.operations.push(operation("elsewhere", vec![opened("/b"), receive(events(1))]));
    plan.mix = Mix::Sequence(vec![0, 2, 0, 1]);
    measured(&plan);
    let seen = server.seen();
    let told: Vec<_> = seen.iter().map(|request| request.field("last-event-id")).collect();
    assert_eq!(told, [None, None, Some("n0"), None]);
}

#[test]
fn a_stream_that_ends_or_is_none_is_told() {
    let directives = "location /stream { default_type text/event-stream; }";
    let nginx = Nginx::start(&[("stream", STREAM), ("page.html", "x")], directives);
    let refusal =
        |path: &str| failed(&plan(&nginx.url(), vec![opened(path), receive(events(4))], 2));
    let (class, why) = refusal("/stream");
    assert_eq!(class, ErrorClass::Closed);
    assert_eq!(why, "the server closed the connection and ended the event stream");
    let (class, why) = refusal("/page.html");
    assert_eq!(class, ErrorClass::Check);
    assert_eq!(why, "expected a reply of text/event-stream, got \"text/html\"");
    assert_eq!(refusal("/none"), (ErrorClass::Status4xx, "status 404".to_owned()));
}

#[test]
fn an_event_that_is_not_what_it_must_be_is_kept_as_a_sample() {
    let server = server::serve(|_, stream| {
        send(stream, stream_head("event: a\nid: 7\ndata: what came\n\n").as_bytes())
    });
    let expecting = ReceiveStep {
        checks: vec![Check::Contains(Template::fixed("what was meant"))],
        ..events(1)
    };
    let steps = vec![opened("/"), receive(expecting)];
    let (report, samples) = carried_out(&plan(&server.url("/"), steps, 1));
    assert_eq!(report.measured.errors().count(ErrorClass::Check), 1);
    assert_eq!(samples[0].body, b"what came");
    assert_eq!(samples[0].fields, b"event: a\r\nid: 7\r\n");
}

#[test]
fn a_stream_that_says_nothing_ends_the_wait() {
    let server = server::serve(|_, stream| send(stream, stream_head(": hi\n\n").as_bytes()));
    let timeout = Some(Duration::from_millis(30));
    let steps = vec![opened("/"), receive(ReceiveStep { timeout, ..events(1) })];
    let (class, why) = failed(&plan(&server.url("/"), steps, 2));
    assert_eq!(class, ErrorClass::Timeout);
    assert!(why.ends_with("for 1 messages; 0 came, and 0 others"), "{why}");
}
