//! Redirects, and requests that hang on what the user has seen.

use crate::nginx::Nginx;
use crate::server::{Then, serve};
use crate::{body, failed, get, http, measured, plan, reply, text};
use lab::measure::ErrorClass;
use lab::plan::{Check, HttpStep, Template};
use std::net::TcpStream;

fn redirected(stream: &mut TcpStream, status: u16, to: &str) -> Then {
    reply(stream, &format!("{status} There"), &format!("Location: {to}\r\n"), "")
}

#[test]
fn redirects_are_followed_to_their_end() {
    let server = serve(|request, stream| match request.line.as_str() {
        "POST /form HTTP/1.1" => {
            let fields = "Set-Cookie: session=1\r\nLocation: ../a/b/c?x=1#top\r\n";
            reply(stream, "303 Seen", fields, "")
        }
        "GET /a/b/c?x=1 HTTP/1.1" => redirected(stream, 301, "./d"),
        "GET /a/b/d HTTP/1.1" => reply(stream, "200 OK", "", "there"),
        other => panic!("{other}"),
    });
    let step = HttpStep {
        redirects: 2,
        headers: vec![
            ("Content-Type".into(), Template::fixed("text/plain")),
            ("Authorization".into(), Template::fixed("secret")),
        ],
        body: body(vec![text("content")]),
        checks: vec![Check::Contains(Template::fixed("there"))],
        ..HttpStep::new("POST", Template::fixed("/form"))
    };
    let tally = measured(&plan(&server.url("/"), vec![http(step.clone())], 3));
    let statuses: Vec<_> = tally.statuses().iter().collect();
    assert_eq!(statuses, [(200, 3), (301, 3), (303, 3)]);
    let seen = server.seen();
    assert_eq!(seen[0].body, b"content");
    for followed in &seen[1..3] {
        assert_eq!((followed.field("cookie"), followed.body.len()), (Some("session=1"), 0));
        assert_eq!(followed.field("authorization"), Some("secret"));
        assert_eq!(
            (followed.field("content-type"), followed.field("content-length")),
            (None, None)
        );
    }

    let (class, said) =
        failed(&plan(&server.url("/"), vec![http(HttpStep { redirects: 1, ..step })], 1));
    assert_eq!(
        (class, said.as_str()),
        (ErrorClass::Check, "more than 1 redirects; the last led to \"./d\"")
    );
}

#[test]
fn a_redirect_may_lead_to_another_server_of_the_plan_and_to_no_other() {
    let other = serve(|_, stream| reply(stream, "200 OK", "", "other"));
    let there = other.url("/there");
    let server = serve(move |request, stream| match request.line.as_str() {
        "PUT /known HTTP/1.1" => redirected(stream, 307, &there),
        _ => redirected(stream, 302, "http://127.0.0.1:1/"),
    });
    let step = |method, path| HttpStep {
        redirects: 5,
        headers: vec![("Authorization".into(), Template::fixed("secret"))],
        body: body(vec![text("content")]),
        ..HttpStep::new(method, Template::fixed(path))
    };
    let mut known = plan(&server.url("/"), vec![http(step("PUT", "/known"))], 2);
    known.origins.push(other.url("/").parse::<lab::target::Target>().unwrap().origin());
    measured(&known);
    let seen = other.seen();
    assert_eq!((seen[0].line.as_str(), seen.len()), ("PUT /there HTTP/1.1", 2));
    assert_eq!((seen[1].body.as_slice(), seen[1].field("authorization")), (&b"content"[..], None));
    assert_eq!(seen[1].field("host"), Some(format!("127.0.0.1:{}", other.port()).as_str()));

    let (class, said) = failed(&plan(&server.url("/"), vec![http(step("GET", "/unknown"))], 1));
    assert_eq!(class, ErrorClass::Check);
    assert!(said.contains("\"http://127.0.0.1:1/\", which is on none of the servers"), "{said}");
}

#[test]
fn a_redirect_that_is_not_followed_is_the_reply() {
    let server = serve(|_, stream| redirected(stream, 302, "/elsewhere"));
    let tally = measured(&plan(&server.url("/"), vec![http(get("/"))], 2));
    assert_eq!((tally.statuses().count(302), server.seen().len()), (2, 2));
}

#[test]
fn nginx_redirects_and_says_what_has_not_changed() {
    let nginx = Nginx::start(
        &[("page.html", "a page"), ("folder/index.html", "an index")],
        "location = /old { return 302 /page.html; }",
    );
    let step = HttpStep {
        redirects: 1,
        conditional: true,
        checks: vec![Check::Contains(Template::fixed("a page")), Check::Bytes(6, 6)],
        ..get("/old")
    };
    let folder = HttpStep { redirects: 1, ..get("/folder") };
    let tally = measured(&plan(&nginx.url(), vec![http(step), http(folder)], 4));
    let statuses: Vec<_> = tally.statuses().iter().collect();
    // The page comes once; after that there is nothing to check but that it is unchanged.
    assert_eq!(statuses, [(200, 5), (301, 4), (302, 4), (304, 3)]);
    assert_eq!((nginx.count("/page.html", 304), nginx.count("/folder/", 200)), (3, 4));
    assert_eq!(nginx.connections(), 1);
}

#[test]
fn what_is_compressed_is_not_looked_into() {
    let long = "the same again ".repeat(100);
    let nginx =
        Nginx::start(&[("page.html", &long)], "gzip on; gzip_min_length 1; gzip_proxied any;");
    let checks = vec![Check::Contains(Template::fixed("again"))];
    let plain = HttpStep { checks, ..get("/page.html") };
    let mut coded = plain.clone();
    coded.headers = vec![("Accept-Encoding".into(), Template::fixed("gzip"))];
    assert_eq!(measured(&plan(&nginx.url(), vec![http(plain)], 1)).successes(), 1);
    let (class, said) = failed(&plan(&nginx.url(), vec![http(coded.clone())], 1));
    assert_eq!(class, ErrorClass::Check);
    assert!(said.contains("encoded as \"gzip\""), "{said}");
    coded.checks.clear();
    assert_eq!(measured(&plan(&nginx.url(), vec![http(coded)], 1)).successes(), 1);
}
