//! Values that go from replies into requests, data files, and that the same seed sends the same.

use crate::server::{Server, serve};
use crate::{
    body, carried_out, first, get, http, json, measured, plan, reply, template, text,
    with_variables,
};
use lab::engine::run;
use lab::limits::VARIABLE_BYTES_MAX;
use lab::plan::{
    Body, Check, Coding, DataFile, Extract, ExtractFrom, HttpStep, Keys, Load, Order, Part, Piece,
    Plan, Rows, Selector, Stage, Step, Template, Zipf,
};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

fn lines(server: &Server) -> Vec<String> {
    let strip = |line: String| line.strip_suffix(" HTTP/1.1").unwrap().to_owned();
    server.seen().into_iter().map(|request| strip(request.line)).collect()
}

#[test]
fn what_a_reply_says_goes_into_the_next_request() {
    let server = serve(|request, stream| match request.line.as_str() {
        "POST /login HTTP/1.1" => {
            let body = r#"{"user": {"id": 42, "name": "a \"b\" c"}, "pages": ["/x", "/y"]}"#;
            reply(stream, "201 Created", "X-Token: t=1; secret\r\n", body)
        }
        _ => reply(stream, "200 OK", "", "<p>number 7 of 9</p>"),
    });
    let login = HttpStep {
        extract: vec![
            first(0, json("$.user.id")),
            first(1, json("/user/name")),
            first(2, ExtractFrom::Header("x-token".into())),
        ],
        ..HttpStep::new("POST", Template::fixed("/login"))
    };
    let number = regex::bytes::Regex::new("number ([0-9]+)").unwrap();
    let paragraph = ExtractFrom::Css(Selector::new("body > p", None).unwrap());
    let words = Template::fixed("number 7 of 9");
    let percent = |variable| Piece::Coded(Coding::Percent, Box::new(Piece::Variable(variable)));
    let page = HttpStep {
        path: template(vec![text("/users/"), Piece::Variable(0), text("?n="), percent(1)]),
        headers: vec![("Authorization".into(), template(vec![Piece::Variable(2)]))],
        checks: vec![Check::Equals(paragraph, words)],
        extract: vec![first(3, ExtractFrom::Regex(number))],
        ..get("/")
    };
    let quoted = Piece::Coded(Coding::Json, Box::new(Piece::Variable(1)));
    let post = HttpStep {
        body: body(vec![
            text("{\"n\":"),
            Piece::Variable(3),
            text(",\"s\":\""),
            quoted,
            text("\"}"),
        ]),
        ..HttpStep::new("PUT", Template::fixed("/n"))
    };
    let plan = plan(&server.url("/"), vec![http(login), http(page), http(post)], 2);
    let plan = with_variables(plan, &["id", "name", "token", "number"]);
    let tally = measured(&plan);
    assert_eq!((tally.statuses().count(200), tally.statuses().count(201)), (4, 2));
    let once = ["POST /login", "GET /users/42?n=a%20%22b%22%20c", "PUT /n"];
    assert_eq!(lines(&server), [once, once].concat());
    let seen = server.seen();
    assert_eq!(seen[1].field("authorization"), Some("t=1; secret"));
    let sent: serde_json::Value = serde_json::from_slice(&seen[2].body).unwrap();
    assert_eq!(sent, serde_json::json!({ "n": 7, "s": "a \"b\" c" }));
}

#[test]
fn any_of_several_is_taken_and_what_is_not_required_may_be_missing() {
    let server = serve(|_, stream| reply(stream, "200 OK", "", "[10,20,30]"));
    let list = HttpStep {
        extract: vec![
            Extract { variable: 0, from: json("$[*]"), is_url: false, any: true, required: true },
            Extract { variable: 1, from: json("$[5]"), is_url: false, any: false, required: false },
        ],
        ..get("/list")
    };
    let path = template(vec![text("/"), Piece::Variable(0), text("/"), Piece::Variable(1)]);
    let item = HttpStep::new("GET", path);
    let plan = plan(&server.url("/"), vec![http(list), http(item)], 60);
    let mut plan = with_variables(plan, &["item", "other"]);
    plan.variables[1].initial = Some(template(vec![text("u"), Piece::User]));
    measured(&plan);
    let taken: BTreeSet<String> = lines(&server).into_iter().skip(1).step_by(2).collect();
    assert_eq!(Vec::from_iter(taken), ["GET /10/u0", "GET /20/u0", "GET /30/u0"]);
}

/// Three users that draw all there is to draw, in operations of two steps.
fn drawing(server: &Server, seed: u64) -> Plan {
    let zipf = Piece::Zipf(Zipf::new(1000, 1.0));
    let drawn = |name: &str| {
        let random = Piece::Random(0, 1 << 40);
        let pieces = [Piece::Key, Piece::Other, Piece::Nonce, random, zipf.clone()];
        let dots = pieces.into_iter().flat_map(|piece| [text("."), piece]);
        let begin = vec![text(name), Piece::User, text("/"), Piece::Iteration];
        template(begin.into_iter().chain(dots).collect())
    };
    let first_step = HttpStep {
        extract: vec![Extract {
            variable: 0,
            from: json("$[*]"),
            is_url: false,
            any: true,
            required: true,
        }],
        ..HttpStep::new("GET", drawn("/a/"))
    };
    let data = |file| Piece::Data { file, column: 0 };
    let mut second = HttpStep::new("POST", drawn_again());
    second.body = body(vec![data(0), text(" "), data(1), text(" "), Piece::Letters(20)]);
    let steps = vec![http(first_step), http(second)];
    let mut plan = with_variables(plan(&server.url("/"), steps, 120), &["v"]);
    plan.load = Load::Closed { users: vec![Stage::flat(3.0, Duration::from_secs(60))] };
    plan.seed = seed;
    plan.keys = Keys { count: 1 << 20, zipf: 0.7 };
    let file: String = (0..50).map(|row| format!("row{row}\n")).collect();
    let rows = Arc::new(Rows::lines(file.as_bytes()).unwrap());
    let file = |order| DataFile { name: "rows".into(), rows: Arc::clone(&rows), order };
    plan.data = vec![file(Order::Random), file(Order::Next)];
    plan
}

fn drawn_again() -> Template {
    let place = [text("/b/"), Piece::User, text("/"), Piece::Iteration, text("/"), Piece::Key];
    template(place.to_vec())
}

/// What was sent, by user, iteration and step.
fn sent(server: &Server) -> BTreeMap<String, (String, Vec<u8>)> {
    let one = |request: crate::server::Request| {
        let path = request.line.split(' ').nth(1).unwrap();
        let place: Vec<&str> = path.split(['/', '.']).take(4).collect();
        (place.join("/"), (request.line.clone(), request.body))
    };
    server.seen().into_iter().map(one).collect()
}

#[test]
fn a_seed_sends_the_same_whatever_the_server_answers() {
    let good = || serve(|_, stream| reply(stream, "200 OK", "", "[1,2]"));
    let (one, two, other) = (good(), good(), good());
    // Errors, and lists of other lengths.
    let bad = serve(|request, stream| match request.number % 3 {
        0 => reply(stream, "500 No", "", ""),
        1 => reply(stream, "200 OK", "", "[1,2,3,4,5,6,7]"),
        _ => reply(stream, "200 OK", "", "[]"),
    });
    for (server, seed) in [(&one, 5), (&two, 5), (&other, 6), (&bad, 5)] {
        run(&drawing(server, seed), &mut crate::Nobody).unwrap();
    }
    let (one, two, other, bad) = (sent(&one), sent(&two), sent(&other), sent(&bad));
    // How far each user comes in 120 operations hangs on time; what it does in each does not.
    let common = |others: &BTreeMap<String, (String, Vec<u8>)>| {
        let shared = one.iter().filter(|(place, _)| others.contains_key(*place));
        let (mut same, mut count) = (0, 0);
        shared.for_each(|(place, request)| {
            count += 1;
            same += usize::from(others[place] == *request);
        });
        (same, count)
    };
    let (same, count) = common(&two);
    assert!(same == count && count >= 3, "{same} of {count}");
    let (same, count) = common(&bad);
    assert!(same == count && count >= 3, "{same} of {count}");
    let (same, count) = common(&other);
    assert!(same == 0 && count >= 3, "{same} of {count}");
}

#[test]
fn rows_are_taken_as_the_file_says() {
    let server = serve(|_, stream| reply(stream, "200 OK", "", ""));
    let data = |file, column| Piece::Data { file, column };
    let path = vec![text("/"), Piece::User, text("/"), data(0, 1), text("/"), data(1, 0)];
    let step = HttpStep::new("GET", template(path));
    let mut plan = plan(&server.url("/"), vec![http(step)], 40);
    plan.load = Load::Closed { users: vec![Stage::flat(2.0, Duration::from_secs(60))] };
    let csv: String = (0..100).map(|row| format!("{row},n{row}\n")).collect();
    let next = Rows::csv(format!("id,name\n{csv}").as_bytes()).unwrap();
    let users = Rows::lines(b"anna\nbert\ncarl").unwrap();
    let file = |rows, order| DataFile { name: "f".into(), rows: Arc::new(rows), order };
    plan.data = vec![file(next, Order::Next), file(users, Order::ByUser)];
    measured(&plan);
    let mut rows = BTreeSet::new();
    for line in lines(&server) {
        let parts: Vec<&str> = line.split('/').skip(1).collect();
        let [user, row, name] = parts.as_slice() else { panic!("{line}") };
        assert_eq!(*name, if *user == "0" { "anna" } else { "bert" });
        let row: u64 = row.strip_prefix('n').unwrap().parse().unwrap();
        assert_eq!(row % 2, user.parse::<u64>().unwrap(), "{line}");
        assert!(rows.insert(row), "{line} twice");
    }
    assert_eq!(rows.len(), 40);
}

#[test]
fn files_are_uploaded() {
    let server = serve(|_, stream| reply(stream, "201 Created", "", ""));
    let photo: String = "\u{0}JPEG\r\n--".repeat(1000);
    let part = |name: &str, content| Part {
        name: name.into(),
        file_name: None,
        media_type: None,
        content,
    };
    let file = Part {
        file_name: Some("photo.jpg".into()),
        media_type: Some("image/jpeg".into()),
        ..part("photo", Template::fixed(photo.clone()))
    };
    let title = part("title", template(vec![text("number "), Piece::Iteration]));
    let step = HttpStep {
        body: Body::Multipart(vec![title, file]),
        ..HttpStep::new("POST", Template::fixed("/events"))
    };
    measured(&plan(&server.url("/"), vec![http(step)], 2));
    for (number, request) in server.seen().into_iter().enumerate() {
        let media_type = request.field("content-type").unwrap();
        let boundary = media_type.strip_prefix("multipart/form-data; boundary=").unwrap();
        let body = String::from_utf8(request.body.clone()).unwrap();
        let expected = format!(
            "--{boundary}\r\nContent-Disposition: form-data; name=\"title\"\r\n\r\n\
             number {number}\r\n--{boundary}\r\nContent-Disposition: form-data; name=\"photo\"; \
             filename=\"photo.jpg\"\r\nContent-Type: image/jpeg\r\n\r\n{photo}\r\n\
             --{boundary}--\r\n"
        );
        assert_eq!(body, expected);
    }
}

#[test]
fn somebody_new_has_no_cookies() {
    let server = serve(|request, stream| {
        let cookie = format!("Set-Cookie: n={}\r\n", request.number);
        reply(stream, "200 OK", &cookie, "")
    });
    let steps = vec![http(get("/a")), http(get("/b")), Step::NewSession, http(get("/c"))];
    measured(&plan(&server.url("/"), steps, 2));
    let sent: Vec<_> = server.seen().iter().map(|r| r.field("cookie").map(str::to_owned)).collect();
    let expected = [None, Some("n=0"), None, Some("n=2"), Some("n=3"), None];
    assert_eq!(sent, expected.map(|cookie| cookie.map(str::to_owned)));
}

#[test]
fn a_value_that_is_too_long_is_a_failed_check() {
    let server = serve(|request, stream| {
        let bytes = VARIABLE_BYTES_MAX + usize::from(request.number > 0);
        reply(stream, "200 OK", "", &"x".repeat(bytes))
    });
    let step = HttpStep { extract: vec![first(0, ExtractFrom::Body)], ..get("/") };
    let plan = with_variables(plan(&server.url("/"), vec![http(step)], 3), &["v"]);
    let (report, samples) = carried_out(&plan);
    assert_eq!((report.measured.successes(), samples.len()), (1, 2));
    let expected = "the value for \"v\" has 65537 bytes; expected at most 65536";
    assert_eq!(samples[0].reason, expected);
}
