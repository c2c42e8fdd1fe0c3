//! The bodies of requests: text, JSON, bytes and forms, with and without files.

use crate::support::{self, Site, request, site, text};
use bytes::Bytes;
use gem::Reply;

fn send(site: &Site, target: &str, media_type: &str, body: &[u8]) -> Reply {
    let mut request = request("POST", target);
    if !media_type.is_empty() {
        request.headers.push(("content-type".to_owned(), media_type.to_owned()));
    }
    request.body = Bytes::copy_from_slice(body);
    site.send(request).unwrap_or_else(|failure| panic!("{target}: {failure}"))
}

const URLENCODED: &str = "application/x-www-form-urlencoded";

/// A form with files, its lines ended as HTTP wants them.
fn multipart(site: &Site, target: &str, body: &str) -> Reply {
    let body = body.replace('\n', "\r\n");
    send(site, target, "multipart/form-data; boundary=----x", body.as_bytes())
}

fn any_body() -> Site {
    site(
        r#"app.post("/text", ({ request }) => request.text());
           app.post("/json", ({ request }) => ({ got: request.json() }));
           app.post("/bytes", ({ request }) => request.bytes());
           app.post("/form", ({ request }) => ({ ...request.form() }));
           app.post("/all", ({ request }) => request.formAll("a"));"#,
    )
}

#[test]
fn content_types_are_checked() {
    let site = any_body();
    let status = |target, media_type: &str, body: &str| {
        let reply = send(&site, target, media_type, body.as_bytes());
        (reply.status, text(&reply).trim_end().to_owned())
    };
    for good in ["", "application/json", "application/json; charset=UTF-8", "a/b+json"] {
        assert_eq!(status("/json", good, "[1]"), (200, r#"{"got":[1]}"#.to_owned()), "{good}");
    }
    let (code, why) = status("/json", "text/plain", "[1]");
    assert_eq!(code, 415);
    assert_eq!(why, "expected JSON (Content-Type: application/json), got text/plain");
    let (code, why) = status("/text", "text/plain; charset=iso-8859-1", "x");
    assert_eq!((code, why.as_str()), (415, "expected a body in UTF-8, got the charset iso-8859-1"));
    assert_eq!(status("/json", "application/json; charset=utf-16", "[1]").0, 415);
    let (code, why) = status("/json", "application/json", "[1");
    assert_eq!(code, 400);
    assert!(why.starts_with("expected a body that is JSON: "), "{why}");
    let (code, why) = status("/form", "application/json", "{}");
    assert_eq!(code, 415);
    assert!(why.ends_with("got application/json"), "{why}");
    let (code, why) = status("/form", "", "a=b");
    assert_eq!(code, 415);
    assert!(why.ends_with("got no Content-Type"), "{why}");
    assert_eq!(status("/form", "multipart/form-data", "x").0, 400);
    assert_eq!(status("/text", "text/plain", "ü"), (200, "ü".to_owned()));
}

#[test]
fn bytes_come_and_go_as_they_are() {
    let site = any_body();
    let all: Vec<u8> = (0..=255).collect();
    assert_eq!(send(&site, "/bytes", "image/png", &all).body, all);
    assert_eq!(send(&site, "/bytes", "", b"").body.len(), 0);
    assert_eq!(send(&site, "/text", "text/plain", &all).status, 400);
}

#[test]
fn repeated_fields() {
    let site = any_body();
    let form = send(&site, "/form", URLENCODED, b"a=1&b=2&a=3");
    assert_eq!(text(&form), r#"{"a":"3","b":"2"}"#);
    assert_eq!(text(&send(&site, "/all", URLENCODED, b"a=1&b=2&a=3")), r#"["1","3"]"#);
    assert_eq!(text(&send(&site, "/all", URLENCODED, b"b=2")), "[]");
    let queries = support::site(r#"app.get("/", ({ request }) => request.queryAll("a"));"#);
    assert_eq!(queries.text("/?a=1&b&a=%20"), r#"["1"," "]"#);
}

const FORM: &str = "------x
Content-Disposition: form-data; name=\"title\"

A title, über all
------x
Content-Disposition: form-data; name=\"photo\"; filename=\"a \\\"b\\\".png\"
Content-Type: image/png

\u{1}\u{2}

------x
Content-Disposition: form-data; name=\"photo\"; filename=\"empty.txt\"

text
------x
Content-Disposition: form-data; name=\"none\"; filename=\"\"
Content-Type: application/octet-stream


------x--
";

#[test]
fn a_form_with_files() {
    let site = site(
        r#"const show = ({ name, type, size, bytes }) => ({ name, type, size, first: bytes[0] });
           app.post("/", ({ request }) => {
             const form = request.form();
             const photos = request.formAll("photo").map(show);
             const last = form.photo.text();
             return { title: form.title, photos, none: form.none ?? "none", last };
           });
           app.post("/file", ({ request }) => request.form().photo.bytes);
           app.post("/kept", ({ request, db }) => {
             globalThis.file = request.form().photo;
           });
           app.post("/later", () => globalThis.file.bytes);"#,
    );
    let sent = multipart(&site, "/", FORM);
    assert_eq!(
        text(&sent),
        r#"{"title":"A title, über all","photos":["#.to_owned()
            + r#"{"name":"a \"b\".png","type":"image/png","size":4,"first":1},"#
            + r#"{"name":"empty.txt","type":"application/octet-stream","size":4,"first":116}],"#
            + r#""none":"none","last":"text"}"#
    );
    assert_eq!(multipart(&site, "/file", FORM).body, "text");
    assert_eq!(multipart(&site, "/kept", FORM).status, 204);
    let later = site.send(request("POST", "/later"));
    assert!(later.unwrap_err().to_string().contains("the request is over"));
}

#[test]
fn a_form_that_is_broken_is_400_and_commits_nothing() {
    let site = site(
        r#"app.post("/", ({ request, db }) => {
             db.x.put("a", 1);
             return { ...request.form() };
           });"#,
    );
    let whole = FORM.replace("photo\"; filename=\"a \\\"b\\\".png\"", "x\"");
    assert_eq!(multipart(&site, "/", &whole).status, 200);
    for cut in [0, 20, 60, 90, 300, FORM.len() - 5] {
        let cut = FORM.floor_char_boundary(cut);
        let reply = multipart(&site, "/", &FORM[..cut]);
        assert_eq!(reply.status, 400, "{cut}");
        assert!(text(&reply).ends_with('\n') && text(&reply).len() > 20);
    }
    let many = "------x\nContent-Disposition: form-data; name=a\n\n1\n".repeat(1_001);
    let reply = multipart(&site, "/", &format!("{many}------x--"));
    assert_eq!((reply.status, text(&reply)), (400, "a form has at most 1000 fields\n".to_owned()));
}

#[test]
fn headers() {
    let site = site(
        r#"app.get("/", ({ request }) => ({ ...request.headers }));
           app.get("/proto", ({ request }) => typeof request.headers.toString);"#,
    );
    let mut sent = request("GET", "/");
    sent.headers = [("b", "1"), ("cookie", "x=1"), ("a", "2"), ("b", "3"), ("cookie", "y=2")]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .to_vec();
    let reply = site.send(sent).unwrap();
    assert_eq!(text(&reply), r#"{"a":"2","b":"1, 3","cookie":"x=1; y=2"}"#);
    assert_eq!(site.text("/proto"), "undefined");
}
