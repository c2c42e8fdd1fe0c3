//! What handlers return and what they are given: routes, replies, templates and requests.

use crate::support::{Outcome, Setup, Site, header, request, site, site_with, text};
use bytes::Bytes;
use gem::{Failure, FailureKind, Reply};

#[test]
fn routes_are_matched_in_order_and_by_method() {
    let site = site(
        r#"app.get("/notes/new", () => "new");
           app.get("/notes/:id", ({ params }) => `id ${params.id}`);
           app.get("/files/*", ({ params }) => params["*"]);
           app.post("/notes/:id", () => undefined);
           app.post("/clicks", () => "clicked");"#,
    );
    assert_eq!(site.text("/notes/new"), "new");
    assert_eq!(site.text("/notes/a%20b"), "id a b");
    assert_eq!(site.text("/files/a/b"), "a/b");
    assert_eq!(site.post("/notes/1").status, 204);
    let head = site.send(request("HEAD", "/notes/new")).unwrap();
    assert_eq!((head.status, text(&head).as_str()), (200, "new"));
    let other = site.get("/clicks");
    assert_eq!((other.status, header(&other, "allow")), (405, Some("POST, OPTIONS")));
    let other = site.send(request("DELETE", "/notes/1")).unwrap();
    assert_eq!((other.status, header(&other, "allow")), (405, Some("GET, HEAD, POST, OPTIONS")));
    assert_eq!(site.get("/nothing").status, 404);
    assert_eq!(site.get("/notes/%zz").status, 400);
    assert_eq!(site.get("/nothing").wait_for.0, 0, "it reveals nothing");
}

#[test]
fn what_a_handler_returns_decides_the_reply() {
    let site = site(
        r#"app.get("/html", () => html`<p>${1}</p>`);
           app.get("/text", () => "ünï");
           app.get("/nothing", () => undefined);
           app.get("/null", () => null);
           app.get("/object", () => ({ a: [1, "x"], b: undefined }));
           app.get("/array", () => [1, 2]);
           app.get("/redirect", () => redirect("/there"));
           app.get("/found", () => redirect("/there", 302));
           app.get("/full", () => reply({ status: 201, type: "text/css", body: "a{}",
             headers: { "X-One": "1", "set-cookie": ["a=1", "b=2"] } }));
           app.get("/own-type", () => reply({ headers: { "Content-Type": "text/x" }, body: "x" }));
           app.get("/json", () => reply({ status: 409, body: { why: "taken" } }));
           app.get("/surrogate", () => "a\ud800b");"#,
    );
    let sent = |target| {
        let reply = site.get(target);
        let media_type = header(&reply, "content-type").unwrap_or_default().to_owned();
        (reply.status, media_type, text(&reply))
    };
    let expect =
        |status, media_type: &str, body: &str| (status, media_type.to_owned(), body.to_owned());
    assert_eq!(sent("/html"), expect(200, "text/html; charset=utf-8", "<p>1</p>"));
    assert_eq!(sent("/text"), expect(200, "text/plain; charset=utf-8", "ünï"));
    assert_eq!(sent("/nothing"), expect(204, "", ""));
    assert_eq!(sent("/null"), expect(204, "", ""));
    assert_eq!(sent("/object"), expect(200, "application/json", r#"{"a":[1,"x"]}"#));
    assert_eq!(sent("/array"), expect(200, "application/json", "[1,2]"));
    assert_eq!(sent("/json"), expect(409, "application/json", r#"{"why":"taken"}"#));
    assert_eq!(sent("/own-type"), expect(200, "text/x", "x"));
    assert_eq!(sent("/full"), expect(201, "text/css", "a{}"));
    assert_eq!(sent("/surrogate"), expect(200, "text/plain; charset=utf-8", "a\u{fffd}b"));
    assert_eq!(sent("/redirect"), expect(303, "", ""));
    assert_eq!(header(&site.get("/redirect"), "location"), Some("/there"));
    assert_eq!(site.get("/found").status, 302);
    let cookies = |reply: Reply| reply.headers.iter().filter(|(n, _)| n == "set-cookie").count();
    assert_eq!(cookies(site.get("/full")), 2);
    assert_eq!(header(&site.get("/full"), "x-one"), Some("1"));
}

#[test]
fn replies_by_name() {
    let site = site(
        r#"const { bytes, json, text } = sarsen;
           app.get("/json", () => json({ a: 1 }, { status: 201, headers: { "X-A": "b" } }));
           app.get("/json-text", () => json("x"));
           app.get("/json-type", () => json([], { type: "application/feed+json" }));
           app.get("/json-field", () => json([], { headers: { "content-type": "a/b+json" } }));
           app.get("/json-then", () => { const a = [1]; const r = json(a); a.push(2); return r; });
           app.get("/text", () => text("<b>", { status: 404 }));
           app.get("/bytes", () => new Uint8Array([0, 255, 13, 10, 128]));
           app.get("/part", () => new Uint8Array([1, 2, 3, 4]).subarray(1, 3));
           app.get("/buffer", () => new Uint8Array([7]).buffer);
           app.get("/png", () => bytes(new Uint8Array([137]), { type: "image/png", status: 203 }));
           app.get("/in-reply", () => reply({ body: new Uint8Array(3), type: "a/b" }));
           app.get("/large", () => new Uint8Array(1000000).fill(200));
           app.get("/cookies", () => text("", { headers: { "Set-Cookie": ["a=1", "b=2"] } }));"#,
    );
    let sent = |target| {
        let reply = site.get(target);
        let media_type = header(&reply, "content-type").unwrap_or_default().to_owned();
        (reply.status, media_type, reply.body.to_vec())
    };
    let expect =
        |status: u16, media_type: &str, body: &[u8]| (status, media_type.to_owned(), body.to_vec());
    assert_eq!(sent("/json"), expect(201, "application/json", b"{\"a\":1}"));
    assert_eq!(header(&site.get("/json"), "x-a"), Some("b"));
    assert_eq!(sent("/json-text"), expect(200, "application/json", b"\"x\""));
    assert_eq!(sent("/json-type"), expect(200, "application/feed+json", b"[]"));
    assert_eq!(sent("/json-field"), expect(200, "a/b+json", b"[]"));
    assert_eq!(sent("/json-then"), expect(200, "application/json", b"[1]"));
    assert_eq!(sent("/text"), expect(404, "text/plain; charset=utf-8", b"<b>"));
    let octets = "application/octet-stream";
    assert_eq!(sent("/bytes"), expect(200, octets, &[0, 255, 13, 10, 128]));
    assert_eq!(sent("/part"), expect(200, octets, &[2, 3]));
    assert_eq!(sent("/buffer"), expect(200, octets, &[7]));
    assert_eq!(sent("/png"), expect(203, "image/png", &[137]));
    assert_eq!(sent("/in-reply"), expect(200, "a/b", &[0, 0, 0]));
    assert_eq!(sent("/large").2, vec![200; 1_000_000]);
    let cookies = site.get("/cookies");
    let cookies = cookies.headers.iter().filter(|(name, _)| name == "set-cookie");
    assert_eq!(cookies.map(|(_, value)| value.as_str()).collect::<Vec<_>>(), ["a=1", "b=2"]);
}

#[test]
fn what_is_no_reply_says_what_is() {
    let site = site(
        r#"app.get("/response", () => new Response("x", { status: 200 }));
           app.get("/response-json", () => Response.json({}));
           app.get("/map", () => new Map([[1, 2]]));
           app.get("/floats", () => new Float64Array(2));
           app.get("/error", () => new Error("x"));
           app.get("/symbol", () => Symbol("x"));
           app.get("/json", () => sarsen.json(undefined));
           app.get("/text", () => sarsen.text(3));
           app.get("/bytes", () => sarsen.bytes("x"));
           app.get("/given", () => new Uint8Array(new ArrayBuffer(8).transfer().slice(0, 8), 1, 2));
           app.get("/gone", () => {
             const b = new Uint8Array(9);
             b.buffer.transfer();
             return b;
           });"#,
    );
    for path in ["/response", "/response-json"] {
        assert!(site.failure(path).contains("return json(value)"), "{}", site.failure(path));
    }
    for (path, found) in [
        ("/map", "got a Map"),
        ("/floats", "got a TypedArray"),
        ("/error", "got an Error"),
        ("/symbol", "got a symbol"),
        ("/json", "a undefined is no JSON value"),
        ("/text", "expected a string, got number"),
        ("/bytes", "expected a Uint8Array or an ArrayBuffer, got string"),
        ("/gone", "detached"),
    ] {
        assert!(site.failure(path).contains(found), "{path}: {}", site.failure(path));
    }
    assert_eq!(site.get("/given").body.len(), 2);
}

#[test]
fn an_application_may_have_a_smaller_limit_for_replies() {
    let routes = r#"app.get("/", ({ query, db }) => {
                      db.x.put("a", 1);
                      return "x".repeat(Number(query.n));
                    });
                    app.get("/bytes", ({ query }) => new Uint8Array(Number(query.n)));"#;
    let settings = "[limits]\nreply_bytes = 2000\n";
    let site = site_with(routes, Setup { settings, ..Setup::default() });
    assert!(site.failure("/?n=2001").contains("at most 2000 bytes; got 2001"));
    assert!(site.failure("/bytes?n=2001").contains("at most 2000 bytes; got 2001"));
    assert_eq!(site.stored("x", "a"), None);
    assert_eq!(site.text("/?n=2000").len(), 2000);
    assert_eq!(site.get("/bytes?n=2000").body.len(), 2000);
}

#[test]
fn json_has_dates_and_bytes_as_text_and_documents_keep_them() {
    let site = site(
        r#"const value = () => {
             const bytes = new Uint8Array([0, 255, 1]);
             return { bytes, buffer: bytes.buffer, at: new Date(0), in: [new Uint8Array()] };
           };
           app.get("/", value);
           app.get("/json", () => sarsen.json(value()));
           app.get("/text", () => JSON.stringify(value()));
           app.get("/kept", ({ db }) => {
             db.x.put("a", { bytes: new Uint8Array([0, 255, 1]) });
             return db.x.get("a").bytes instanceof Uint8Array ? "bytes" : "others";
           });"#,
    );
    let json = r#"{"bytes":"AP8B","buffer":"AP8B","at":"1970-01-01T00:00:00.000Z","in":[""]}"#;
    for path in ["/", "/json", "/text"] {
        assert_eq!(site.text(path), json, "{path}");
    }
    assert_eq!(site.text("/kept"), "bytes");
    assert_eq!(site.stored("x", "a").as_deref(), Some(r#"{"bytes":{"$bytes":"AP8B"}}"#));
}

#[test]
fn fields_and_status_beside_the_result() {
    let site = site(
        r#"app.get("/page", ({ header, status, ...context }) => "");
           app.get("/", (context) => {
             context.header("X-A", 1);
             context.header("x-a", 2);
             context.header("vary", "a");
             context.header("vary", "b", { append: true });
             context.header("set-cookie", "c=1");
             context.header("set-cookie", "d=2");
             context.header("Content-Type", "text/css");
             context.status(201);
             return "a{}";
           });
           app.get("/nothing", (context) => { context.status(202); });
           app.get("/own", (context) => {
             context.header("x-a", "default");
             context.header("content-type", "a/b");
             context.status(201);
             return sarsen.json(1, { status: 203, headers: { "X-A": "own" } });
           });
           app.get("/json", (context) => { context.status(202); return sarsen.json(1); });
           app.get("/bad", (context) => context.header("a b", ""));
           app.get("/split", (context) => context.header("a", "b\r\nc: d"));
           app.get("/code", (context) => context.status(99));"#,
    );
    let reply = site.get("/");
    assert_eq!((reply.status, text(&reply).as_str()), (201, "a{}"));
    assert_eq!(header(&reply, "x-a"), Some("2"));
    assert_eq!(header(&reply, "content-type"), Some("text/css"));
    let values = |name| {
        let fields = reply.headers.iter().filter(move |(field, _)| field == name);
        fields.map(|(_, value)| value.as_str()).collect::<Vec<_>>()
    };
    assert_eq!(values("vary"), ["a", "b"]);
    assert_eq!(values("set-cookie"), ["c=1", "d=2"]);
    assert_eq!(values("content-type").len(), 1);
    assert_eq!(site.get("/nothing").status, 202);
    let own = site.get("/own");
    assert_eq!((own.status, header(&own, "x-a")), (203, Some("own")));
    assert_eq!(header(&own, "content-type"), Some("application/json"));
    assert_eq!(site.get("/json").status, 202);
    assert!(site.failure("/bad").contains("header name"));
    assert!(site.failure("/split").contains("visible ASCII"));
    assert!(site.failure("/code").contains("from 200 to 599"));
}

#[test]
fn what_cannot_be_a_reply_is_a_failure_with_its_place() {
    let site = site(
        r#"app.get("/number", () => 3);
           app.get("/function", () => () => 1);
           app.get("/split", ({ query }) => redirect(query.to));
           app.get("/name", () => reply({ headers: { "a b": "c" } }));
           app.get("/framing", () => reply({ headers: { "Content-Length": "1" } }));
           app.get("/type", () => reply({ type: "text/x\r\nX: y" }));
           app.get("/status", () => reply({ status: 99 }));
           app.get("/empty", () => reply({ status: 204, body: "x" }));
           app.get("/error", () => { throw new RangeError("too\nfar"); });
           app.get("/string", () => { throw "words"; });
           app.get("/cycle", () => { const a = {}; a.a = a; throw a; });
           app.get("/large", () => "x".repeat(16777217));"#,
    );
    assert!(site.failure("/number").contains("got a number"), "{}", site.failure("/number"));
    assert!(site.failure("/function").contains("got a function"));
    for value in ["a%0d%0aset-cookie:x=y", "a%0a", "%00", "%c3%bc"] {
        let message = site.failure(&format!("/split?to={value}"));
        assert!(message.contains("visible ASCII"), "{message}");
    }
    assert!(site.failure("/name").contains("header name"));
    assert!(site.failure("/framing").contains("belongs to the server"));
    assert!(site.failure("/type").contains("visible ASCII"));
    assert!(site.failure("/status").contains("from 200 to 599"));
    assert!(site.failure("/empty").contains("204"));
    let message = site.failure("/error");
    assert!(message.ends_with("app.js:11:48: RangeError: too far"), "{message}");
    assert_eq!(site.failure("/string"), "\"words\" was thrown");
    assert!(site.failure("/cycle").contains("[object Object]"));
    assert!(site.failure("/large").contains("at most 16777216 bytes"));
}

#[test]
fn templates_escape_what_is_put_into_them() {
    let site = site(
        r#"app.get("/", ({ query }) => html`<a title="${query.x}" id='${query.x}'>${query.x}</a>`);
           const item = (text) => (i) => html`<li>${i}${text}`;
           app.get("/nested", ({ query }) => html`<ul>${[1, 2].map(item(query.x))}</ul>`);
           app.get("/empty", () => html`${null}|${undefined}|${false}|${""}|${[]}`);
           app.get("/values", () => html`${true}|${0}|${-1.5}|${10n}|${["<", ["&"]]}|${{ a: 1 }}`);
           app.get("/raw", ({ query }) => html`${raw("<b>")}${query.x}`);
           app.get("/faked", ({ query }) => html`${JSON.parse(query.x)}`);
           app.get("/forged", ({ db }) => {
             db.x.put("a", { text: "<i>" });
             return html`${db.x.get("a")}`;
           });
           app.get("/function", () => html`${() => 1}`);
           app.get("/promise", async () => html`${(async () => 1)()}`);"#,
    );
    let attack = "%22%3E%3Cscript%3Ealert('x')%3C/script%3E%26amp;";
    let escaped = "&quot;&gt;&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;&amp;amp;";
    let page = format!("<a title=\"{escaped}\" id='{escaped}'>{escaped}</a>");
    assert_eq!(site.text(&format!("/?x={attack}")), page);
    assert_eq!(site.text("/nested?x=%3C"), "<ul><li>1&lt;<li>2&lt;</ul>");
    assert_eq!(site.text("/empty"), "||||");
    assert_eq!(site.text("/values"), "true|0|-1.5|10|&lt;&amp;|[object Object]");
    assert_eq!(site.text("/raw?x=%3Cb%3E"), "<b>&lt;b&gt;");
    let faked = "/faked?x={%22text%22:%22%3Cscript%3E%22,%22toString%22:1}";
    assert!(
        !matches!(site.send(request("GET", faked)), Ok(reply) if text(&reply).contains("<script"))
    );
    assert_eq!(site.text("/forged"), "[object Object]");
    assert!(site.failure("/function").contains("a function cannot be shown"));
    assert!(site.failure("/promise").contains("await it first"));
}

#[test]
fn a_request_is_given_lazily_and_in_full() {
    let site = site(
        r#"app.post("/all", ({ request, query, params, time }) => ({
             method: request.method, path: request.path, one: request.header("X-ONE"),
             none: request.header("x-none") ?? "none", list: request.header("x-list"),
             cookie: request.header("cookie"), query, time, now: Date.now(),
             date: new Date().toISOString(), called: typeof Date() }));
           app.post("/text", ({ request }) => request.text() + request.text().length);
           app.post("/json", ({ request }) => [request.json().a]);
           app.post("/form", ({ request }) => {
             const form = request.form();
             return { ...form, own: "__proto__" in form };
           });
           app.post("/caught", ({ request }) => {
             try { request.json(); } catch { return "caught"; }
           });
           app.post("/twice", ({ request, db }) => { db.x.put("a", 1); request.json(); });"#,
    );
    let mut all = request("POST", "/all?a=1&a=2&b=%3D+x");
    all.headers =
        [("x-one", "1"), ("x-list", "a"), ("x-list", "b"), ("cookie", "c=d"), ("cookie", "e")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .to_vec();
    let sent = text(&site.send(all).unwrap());
    assert_eq!(
        sent,
        r#"{"method":"POST","path":"/all","one":"1","none":"none","list":"a, b","cookie":"c=d; e","#
            .to_owned()
            + r#""query":{"a":"2","b":"= x"},"time":1700000000000,"now":1700000000000,"#
            + r#""date":"2023-11-14T22:13:20.000Z","called":"string"}"#
    );
    assert_eq!(text(&with_body(&site, "/text", "text/plain", "üx").unwrap()), "üx2");
    assert_eq!(text(&with_body(&site, "/json", "", r#"{"a":[]}"#).unwrap()), "[[]]");
    let form = "application/x-www-form-urlencoded; charset=utf-8";
    let fields = with_body(&site, "/form", form, "a=1&b=2&a=3&__proto__=x").unwrap();
    assert_eq!(text(&fields), r#"{"a":"3","b":"2","__proto__":"x","own":true}"#);
}

#[test]
fn a_body_that_is_not_what_the_handler_reads_is_400_and_commits_nothing() {
    let site = site(
        r#"app.post("/json", ({ request, db }) => { db.x.put("a", 1); request.json(); });
           app.post("/text", ({ request }) => request.text());
           app.post("/form", ({ request }) => request.form());
           app.post("/caught", ({ request }) => {
             try { request.json(); } catch { return "caught"; }
           });"#,
    );
    let status = |outcome: Outcome| outcome.unwrap().status;
    assert_eq!(status(with_body(&site, "/json", "application/json", "{\"a\":")), 400);
    assert_eq!(status(with_body(&site, "/json", "application/json", "")), 400);
    assert_eq!(status(with_body(&site, "/form", "multipart/form-data; boundary=x", "a=b")), 400);
    assert_eq!(status(with_body(&site, "/caught", "", "{")), 200);
    let mut latin = request("POST", "/text");
    latin.body = Bytes::from_static(b"\xff");
    assert_eq!(status(site.send(latin)), 400);
    assert_eq!(site.stored("x", "a"), None);
}

fn with_body(site: &Site, target: &str, media_type: &str, body: &str) -> Outcome {
    let mut request = request("POST", target);
    request.headers.push(("content-type".to_owned(), media_type.to_owned()));
    request.body = Bytes::copy_from_slice(body.as_bytes());
    site.send(request)
}

#[test]
fn async_handlers_run_to_their_end() {
    let site = site(
        r#"const later = async (value) => { await 0; await 0; return value; };
           app.get("/", async ({ db }) => {
             const n = await later(2);
             db.x.put("a", n);
             await later(0);
             return `got ${n}`;
           });
           app.get("/throws", async () => { await later(1); throw new Error("late"); });
           app.get("/never", ({ db }) => { db.x.put("b", 1); return new Promise(() => {}); });
           app.get("/aside", ({ db }) => { later(1).then(() => db.x.put("c", 1)); return "ok"; });
           app.get("/lost", ({ db }) => {
             db.x.put("d", 1);
             later(1).then(() => { throw new Error("unseen"); });
             return "ok";
           });
           app.get("/caught", () => {
             later(1).then(() => { throw 1; }).catch(() => {});
             return "ok";
           });"#,
    );
    assert_eq!(site.text("/"), "got 2");
    assert_eq!(site.stored("x", "a").as_deref(), Some("2"));
    assert!(
        site.failure("/throws").contains("app.js:10:71: Error: late"),
        "{}",
        site.failure("/throws")
    );
    assert!(site.failure("/never").contains("never settles"));
    assert_eq!(site.stored("x", "b"), None);
    assert_eq!(site.text("/aside"), "ok");
    assert_eq!(site.stored("x", "c").as_deref(), Some("1"), "what it queued is part of it");
    assert!(site.failure("/lost").contains("Error: unseen"));
    assert_eq!(site.stored("x", "d"), None);
    assert_eq!(site.text("/caught"), "ok");
    assert_eq!(site.text("/"), "got 2", "a promise that never settled is in nobody's way");
}

#[test]
fn failures_carry_what_a_reply_about_them_waits_for() {
    let site = site(
        r#"app.post("/put", ({ db }) => { db.x.put("a", "secret"); });
           app.get("/fail", ({ db }) => { throw new Error(db.x.get("a")); });"#,
    );
    let commit = site.post("/put").wait_for;
    assert!(commit.0 > 0);
    match site.send(request("GET", "/fail")) {
        Err(failure @ Failure { kind: FailureKind::Handler, .. }) => {
            assert!(failure.wait_for() >= commit)
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_query_with_too_many_fields_is_400() {
    let site = site(r#"app.get("/", ({ query }) => query.a);"#);
    assert_eq!(site.text(&format!("/?{}a=1", "b&".repeat(999))), "1");
    let reply = site.get(&format!("/?{}a=1", "b&".repeat(1_000)));
    assert_eq!((reply.status, text(&reply).as_str()), (400, "a form has at most 1000 fields\n"));
}

#[test]
fn a_reply_stays_as_it_was_checked() {
    let site = site(
        r#"const made = () => reply({ headers: { a: "b" } });
           app.get("/status", () => { const r = made(); r.status = 99; return r; });
           app.get("/fields", () => { const r = made(); r.fields.push("x", "\n"); return r; });
           app.get("/define", () => Object.defineProperty(made(), "type", { value: "\n" }));
           app.get("/forged", () => {
             return Object.assign(Object.create(Object.getPrototypeOf(made())), { status: 99 });
           });
           app.get("/constructor", () => {
             return new (made().constructor)(99, "\n", "", ["x", "\n"]);
           });
           app.get("/types", () => reply({ type: "text/x", headers: { "Content-Type": "a/b" } }));
           app.get("/reset", () => reply({ status: 205, body: "x" }));"#,
    );
    for path in ["/status", "/fields", "/define"] {
        assert!(site.failure(path).contains("TypeError"), "{}", site.failure(path));
    }
    for path in ["/forged", "/constructor"] {
        let reply = site.get(path);
        assert_eq!(header(&reply, "content-type"), Some("application/json"), "{path}");
        assert_eq!((reply.status, header(&reply, "x")), (200, None), "{path}");
    }
    let message = site.failure("/types");
    assert!(message.contains("`type` or the header content-type, got both"), "{message}");
    assert!(site.failure("/reset").contains("205"));
}
