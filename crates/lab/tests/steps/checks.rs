//! What replies must be, and what is said of those that are not.

use crate::server::{Server, serve};
use crate::{carried_out, failed, get, http, json, measured, plan, reply, template, text};
use lab::limits::{BODY_KEPT_BYTES_MAX, SAMPLE_BYTES_MAX, SAMPLES_MAX};
use lab::measure::ErrorClass;
use lab::plan::{Body, Check, ExtractFrom, HttpStep, Piece, Plan, Template};

/// Answers with what the path says, percent-encoded: a status and a body.
fn echo() -> Server {
    serve(|request, stream| {
        let (status, body) = (&request.line[5..8], request.line[9..].split(' ').next().unwrap());
        let body = body.replace("%20", " ").replace("%22", "\"");
        let body = body.replace("%7B", "{").replace("%7D", "}");
        reply(stream, &format!("{status} x"), "X-Kind: echo\r\n", &body)
    })
}

fn checked(server: &Server, path: &str, checks: Vec<Check>) -> Plan {
    let path = path.replace(' ', "%20").replace('"', "%22");
    let path = path.replace('{', "%7B").replace('}', "%7D");
    plan(&server.url("/"), vec![http(HttpStep { checks, ..get(&path) })], 2)
}

fn fixed(text: &str) -> Template {
    Template::fixed(text)
}

#[test]
fn replies_that_keep_to_their_checks_are_successes() {
    let server = echo();
    let kept = [
        ("/200/ok", vec![Check::Status(vec![200, 201])]),
        ("/404/no", vec![Check::Status(vec![404])]),
        ("/302/-", vec![]),
        ("/200/hello", vec![Check::Bytes(5, 5), Check::Contains(fixed("ell"))]),
        ("/200/hello", vec![Check::Lacks(fixed("elk")), Check::Bytes(0, 10)]),
        ("/200/0", vec![Check::Contains(template(vec![Piece::User]))]),
        ("/200/{\"a\":7.5}", vec![Check::Within(json("$.a"), 7.5, 8.0)]),
        ("/200/{\"a\":\"0\"}", vec![Check::Equals(json("/a"), template(vec![Piece::User]))]),
        ("/200/x", vec![Check::Equals(ExtractFrom::Header("x-kind".into()), fixed("echo"))]),
        ("/200/x", vec![Check::Within(ExtractFrom::Status, 200.0, 299.0)]),
    ];
    for (path, checks) in kept {
        assert_eq!(measured(&checked(&server, path, checks)).successes(), 2, "{path}");
    }
}

#[test]
fn each_broken_check_has_its_words() {
    let server = echo();
    let broken = [
        ("/201/ok", Check::Status(vec![200, 204]), "expected status 200 or 204, got 201"),
        ("/200/hello", Check::Bytes(6, 9), "expected a body of 6 to 9 bytes, got 5"),
        ("/200/hello", Check::Contains(fixed("x")), "expected the body to contain \"x\""),
        ("/200/hello", Check::Lacks(fixed("ell")), "expected the body not to contain \"ell\""),
        (
            "/200/{\"a\":1}",
            Check::Equals(json("$.a"), fixed("2")),
            "expected the value of $.a to be \"2\", got \"1\"",
        ),
        (
            "/200/{\"a\":1}",
            Check::Equals(json("$.b"), fixed("2")),
            "expected the value of $.b to be \"2\", got nothing",
        ),
        (
            "/200/{\"a\":\"x\"}",
            Check::Within(json("/a"), 0.0, 1.0),
            "expected the value of /a to be a number from 0 to 1, got \"x\"",
        ),
        ("/200/<html>", Check::Equals(json("$"), fixed("2")), "the body is not JSON: byte 0"),
    ];
    for (path, check, words) in broken {
        let (class, said) = failed(&checked(&server, path, vec![check]));
        assert_eq!(class, ErrorClass::Check, "{path}");
        assert!(said.starts_with(words), "{path}: {said}");
    }
}

#[test]
fn other_checks_do_not_allow_an_error() {
    let server = echo();
    let contains = || vec![Check::Contains(fixed("o"))];
    let (class, said) = failed(&checked(&server, "/500/oops", contains()));
    assert_eq!((class, said.as_str()), (ErrorClass::Status5xx, "status 500"));
    assert_eq!(failed(&checked(&server, "/404/oops", contains())).0, ErrorClass::Status4xx);
    let other = vec![Check::Status(vec![404])];
    assert_eq!(failed(&checked(&server, "/500/oops", other)).0, ErrorClass::Status5xx);
}

#[test]
fn the_first_failing_replies_are_kept_with_their_reasons() {
    let long = "y".repeat(SAMPLE_BYTES_MAX + 1);
    let kept = long.clone();
    let server = serve(move |request, stream| match request.number {
        0 => reply(stream, "503 Full", "Retry-After: 1\r\n", "later"),
        1 => reply(stream, "200 OK", "", &long),
        2 => reply(stream, "200 OK", "", "good"),
        _ => reply(stream, "200 OK", "", "bad"),
    });
    let checks = vec![Check::Contains(fixed("good"))];
    let step = HttpStep { checks, ..get("/") };
    let (report, samples) = carried_out(&plan(&server.url("/"), vec![http(step)], 40));
    let errors = report.measured.errors();
    assert_eq!((errors.count(ErrorClass::Check), errors.count(ErrorClass::Status5xx)), (38, 1));
    assert_eq!((samples.len(), report.measured.successes()), (SAMPLES_MAX, 1));
    let first = &samples[0];
    assert_eq!((first.operation, first.status, first.body_bytes), (0, 503, 5));
    assert_eq!((first.reason.as_str(), first.body.as_slice()), ("status 503", &b"later"[..]));
    assert!(first.fields.starts_with(b"Retry-After: 1\r\n"));
    assert_eq!(samples[1].body, &kept.as_bytes()[..SAMPLE_BYTES_MAX]);
    assert_eq!(samples[1].body_bytes, kept.len() as u64);
    assert_eq!(samples[9].body, b"bad");
}

#[test]
fn errors_of_steps_without_checks_are_kept_too() {
    let server = serve(|_, stream| reply(stream, "404 No", "", "who?"));
    let (_, samples) = carried_out(&plan(&server.url("/"), vec![http(get("/"))], 3));
    assert_eq!(samples.len(), 3);
    assert_eq!((samples[2].body.as_slice(), samples[2].status), (&b"who?"[..], 404));
}

#[test]
fn a_body_beyond_the_bound_cannot_be_looked_at_but_counted() {
    let server =
        serve(|_, stream| reply(stream, "200 OK", "", &"x".repeat(BODY_KEPT_BYTES_MAX + 1)));
    let (class, said) = failed(&checked(&server, "/", vec![Check::Contains(fixed("x"))]));
    assert_eq!(class, ErrorClass::Check);
    assert!(said.contains("no more than 4194304 can be looked at"), "{said}");
    let bytes = BODY_KEPT_BYTES_MAX as u64 + 1;
    let counted = checked(&server, "/", vec![Check::Bytes(bytes, bytes)]);
    assert_eq!(measured(&counted).successes(), 2);
}

#[test]
fn a_request_that_cannot_be_filled_in_is_not_sent() {
    let server = echo();
    let mut plan = checked(&server, "/200/x", vec![]);
    plan.variables = vec![lab::plan::Variable { name: "token".into(), initial: None }];
    let mut step = get("/200/x");
    step.body = Body::Template(template(vec![text("t="), Piece::Variable(0)]));
    plan.operations[0].steps = vec![http(step)];
    let (class, said) = failed(&plan);
    assert_eq!(class, ErrorClass::Check);
    assert_eq!(said, "the variable \"token\" has no value yet");

    plan.variables[0].initial = Some(fixed("a\r\nX: y"));
    let mut step = get("/200/x");
    step.headers = vec![("X-Token".into(), template(vec![Piece::Variable(0)]))];
    plan.operations[0].steps = vec![http(step)];
    let (_, said) = failed(&plan);
    assert!(said.contains("a header holds the byte 0x0d"), "{said}");
    assert!(server.seen().is_empty());
}
