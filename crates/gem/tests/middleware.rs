//! Middleware: before and after what it stands around, instead of it, and errors on the way.

use crate::support::{header, on_log, request, site, text};
use gem::{Failure, FailureKind};

#[test]
fn the_order_is_that_of_an_onion() {
    let site = site(
        r#"const note = (name) => async (context, next) => {
             context.trail = `${context.trail ?? ""}${name}(`;
             const result = await next();
             return `${result}${name})`;
           };
           app.get("/before", () => "before");
           app.use(note("a"), note("b"));
           app.get("/", note("c"), ({ trail }) => `${trail}|`);
           app.get("/late", async ({ trail }) => { await 0; return `${trail}|`; });
           app.use(note("never"));"#,
    );
    assert_eq!(site.text("/"), "a(b(c(|c)b)a)");
    assert_eq!(site.text("/late"), "a(b(|b)a)");
    assert_eq!(site.text("/before"), "before");
    assert_eq!(site.text("/"), "a(b(c(|c)b)a)", "nothing is left of the request before");
}

#[test]
fn manners_of_calling_next() {
    let site = site(
        r#"app.use("/express", (context, next) => { context.x = 1; next(); });
           app.get("/express", ({ x }) => `x is ${x}`);
           app.use("/returned", (context, next) => next());
           app.get("/returned", async () => "late");
           app.use("/unawaited", async (context, next) => { next(); });
           app.get("/unawaited", async () => { await 0; return "waited for"; });
           app.use("/then", (context, next) => next().then((result) => result + "!"));
           app.get("/then", () => "then");
           app.use("/early", ({ query }, next) => query.stop ? "stopped" : next());
           app.get("/early", ({ db }) => { db.x.put("a", 1); return "went on"; });
           app.use("/nothing", () => undefined);
           app.get("/nothing", () => "x");
           app.use("/async-nothing", async () => undefined);
           app.get("/async-nothing", () => "x");
           app.use("/twice", async (context, next) => { await next(); await next(); });
           app.get("/twice", () => "x");
           app.use("/error", (context, next) => { next(new RangeError("passed on")); });
           app.use("/empty", async (context, next) => { await next(); });
           app.get("/empty", () => undefined);"#,
    );
    assert_eq!(site.text("/express"), "x is 1");
    assert_eq!(site.text("/returned"), "late");
    assert_eq!(site.text("/unawaited"), "waited for");
    assert_eq!(site.text("/then"), "then!");
    assert_eq!(site.text("/early?stop=1"), "stopped");
    assert_eq!(site.stored("x", "a"), None);
    assert_eq!(site.text("/early"), "went on");
    for path in ["/nothing", "/async-nothing"] {
        let message = site.failure(path);
        assert!(message.contains("returned nothing and did not call next()"), "{message}");
        assert!(message.contains(&format!("\"{path}/*\"")), "{message}");
    }
    assert!(site.failure("/twice").contains("next() was called a second time"));
    assert!(site.failure("/error").contains("RangeError: passed on"));
    assert_eq!(site.get("/empty").status, 204);
}

#[test]
fn a_route_may_pass_on_to_the_next() {
    let site = site(
        r#"app.get("/:name", ({ params }, next) => params.name === "a" ? "first" : next());
           app.get("/:other", ({ params }) => `second ${params.name} ${params.other}`);
           app.get("/x/:y", (context, next) => next());"#,
    );
    assert_eq!(site.text("/a"), "first");
    assert_eq!(site.text("/b"), "second b b");
    assert_eq!(site.get("/x/y").status, 404);
}

#[test]
fn middleware_sees_what_nobody_takes() {
    let site = site(
        r#"app.use(async (context, next) => {
             const result = await next();
             context.header("x-seen", context.request.method);
             return result;
           });
           app.use("/files", ({ params }) => `file at ${Object.keys(params).length}`);
           app.post("/a", () => "a");
           app.get("/b", () => "b");"#,
    );
    let see = |method, path| {
        let reply = site.send(request(method, path)).unwrap();
        assert_eq!(header(&reply, "x-seen"), Some(method), "{path}");
        (reply.status, header(&reply, "allow").map(str::to_owned), text(&reply))
    };
    assert_eq!(see("GET", "/a").0, 405);
    assert_eq!(see("GET", "/a").1.as_deref(), Some("POST, OPTIONS"));
    assert_eq!(see("OPTIONS", "/a").0, 204);
    assert_eq!(see("GET", "/b/").0, 308);
    assert_eq!(see("GET", "/none").0, 404);
    assert!(see("GET", "/none").2.contains("<h1>Not Found</h1>"));
    assert_eq!(see("GET", "/files/x"), (200, None, "file at 0".to_owned()));
}

#[test]
fn a_reply_may_be_changed_on_its_way_out() {
    let site = site(
        r#"app.use(async (context, next) => {
             context.header("cache-control", "no-store");
             context.header("x-default", "early");
             await next();
             context.header("x-late", "late");
             if (context.query.status) context.status(Number(context.query.status));
           });
           app.get("/", () => sarsen.json(1, { headers: { "X-Default": "own", "x-late": "own" } }));
           app.get("/text", () => "plain");
           app.get("/fails", () => { throw new HttpError(403); });"#,
    );
    let reply = site.get("/?status=202");
    assert_eq!(reply.status, 202);
    assert_eq!(header(&reply, "x-default"), Some("own"));
    assert_eq!(header(&reply, "x-late"), Some("late"));
    assert_eq!(header(&reply, "cache-control"), Some("no-store"));
    assert_eq!(header(&reply, "content-type"), Some("application/json"));
    let text = site.get("/text");
    assert_eq!(header(&text, "x-default"), Some("early"));
    assert_eq!(header(&text, "content-type"), Some("text/plain; charset=utf-8"));
    let refused = site.get("/fails");
    assert_eq!((refused.status, header(&refused, "cache-control")), (403, Some("no-store")));
}

#[test]
fn one_transaction_for_the_whole_chain() {
    let site = site(
        r#"app.use("/a", async ({ db }, next) => {
             db.log.put("before", 1);
             try { await next(); } catch (error) {
               if (error.message === "mild") return "caught";
               throw error;
             }
             db.log.put("after", 1);
           });
           app.get("/a/good", ({ db }) => { db.log.put("handler", 1); });
           app.get("/a/mild", ({ db }) => { db.log.put("mild", 1); throw new Error("mild"); });
           app.get("/a/bad", ({ db }) => { db.log.put("bad", 1); throw new Error("bad"); });"#,
    );
    assert!(site.failure("/a/bad").contains("Error: bad"));
    assert_eq!(site.stored("log", "before"), None);
    assert_eq!(site.text("/a/mild"), "caught");
    let stored = |key| site.stored("log", key).is_some();
    assert!(stored("before") && stored("mild") && !stored("after"));
    assert_eq!(site.get("/a/good").status, 204);
    assert!(stored("handler") && stored("after") && !stored("bad"));
}

#[test]
fn errors_are_answered_by_the_nearest_on_error() {
    let site = site(
        r#"app.onError((error, { request }) => html`<p>${request.path}: ${error.message}`);
           app.get("/", ({ db }) => { db.x.put("a", 1); throw new Error("<oh>"); });
           app.get("/late", async () => { await 0; throw new Error("late"); });
           app.get("/json", ({ request }) => request.json());
           app.get("/teapot", () => { throw new HttpError(418, "short"); });
           app.group("/api", (api) => {
             api.onError(async ({ message }) => {
               await 0;
               return sarsen.json({ error: message });
             });
             api.get("/a", () => { throw new Error("in api"); });
             api.get("/own", () => { throw new Error("in api"); });
             api.group("/worse", (worse) => {
               worse.onError(() => { throw new Error("the handler, too"); });
               worse.get("/", () => { throw new Error("first"); });
             });
             api.group("/status", (group) => {
               group.onError(() => reply({ status: 503, body: "later" }));
               group.get("/", () => { throw new Error("x"); });
             });
           });"#,
    );
    let heard = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let kept = heard.clone();
    let _turn = on_log(Box::new(move |_, text| kept.lock().unwrap().push(text.to_owned())));
    let sent = |path| {
        let reply = site.get(path);
        (reply.status, text(&reply))
    };
    assert_eq!(sent("/"), (500, "<p>/: &lt;oh&gt;".to_owned()));
    assert_eq!(site.stored("x", "a"), None, "what failed is not committed");
    assert_eq!(sent("/late"), (500, "<p>/late: late".to_owned()));
    assert_eq!(sent("/json").0, 400);
    assert_eq!(sent("/teapot"), (418, "<p>/teapot: short".to_owned()));
    assert_eq!(sent("/api/a").1, r#"{"error":"in api"}"#);
    assert_eq!(sent("/api/a").0, 500, "unless it says otherwise");
    assert_eq!(sent("/api/status"), (503, "later".to_owned()));
    assert!(site.failure("/api/worse").contains("the handler, too"));
    let heard = heard.lock().unwrap();
    assert!(heard.iter().all(|line| !line.contains("short")), "a client's fault is not logged");
}

#[test]
fn on_error_is_not_for_limits() {
    let site = site(
        r#"app.onError(() => "recovered");
           app.get("/heap", () => {
             const a = [];
             for (;;) a.push("x".repeat(100000) + a.length);
           });
           app.get("/null", () => { throw null; });
           app.get("/never", () => new Promise(() => {}));
           app.get("/deep", () => { const f = () => f() + 1; return f(); });"#,
    );
    let heap = site.send(request("GET", "/heap"));
    assert!(matches!(heap, Err(Failure { kind: FailureKind::HeapLimit, .. })), "{heap:?}");
    assert!(site.send(request("GET", "/null")).is_err());
    assert!(site.failure("/never").contains("never settles"));
    let deep = site.get("/deep");
    assert_eq!((deep.status, text(&deep).as_str()), (500, "recovered"));
}

#[test]
fn a_client_fault_ends_the_request_with_its_status() {
    let site = site(
        r#"app.get("/plain", ({ db }) => { db.x.put("a", 1); throw new HttpError(409, "taken"); });
           app.get("/default", () => { throw new HttpError(404); });
           app.get("/fields", () => {
             throw new HttpError(401, "who?", { headers: { "WWW-Authenticate": "Basic" } });
           });
           app.get("/caught", () => {
             try { throw new HttpError(403); } catch (error) {
               return `${error.name} ${error.status} ${error instanceof Error}`;
             }
           });
           app.get("/wrong", () => { throw new HttpError(500); });"#,
    );
    let taken = site.get("/plain");
    assert_eq!((taken.status, text(&taken).as_str()), (409, "taken\n"));
    assert_eq!(header(&taken, "content-type"), Some("text/plain; charset=utf-8"));
    assert_eq!(site.stored("x", "a"), None);
    assert_eq!(text(&site.get("/default")), "Not Found\n");
    assert_eq!(header(&site.get("/fields"), "www-authenticate"), Some("Basic"));
    assert_eq!(site.text("/caught"), "HttpError 403 true");
    assert!(site.failure("/wrong").contains("expected a status from 400 to 499, got 500"));
}

#[test]
fn what_follows_is_not_lost_when_nobody_waits_for_it() {
    let site = site(
        r#"app.use("/lost", (context, next) => { next(); return "mine"; });
           app.get("/lost", () => { throw new Error("unseen"); });
           app.use("/kept", (context, next) => { next(); return "mine"; });
           app.get("/kept", ({ db }) => { db.x.put("a", 1); return "theirs"; });"#,
    );
    assert!(site.failure("/lost").contains("Error: unseen"));
    assert_eq!(site.text("/kept"), "mine");
    assert_eq!(site.stored("x", "a").as_deref(), Some("1"));
}

#[test]
fn more_combinations_than_are_kept_are_served_all_the_same() {
    const MARKS: usize = 12;
    let site = site(
        r#"let path = "";
           for (let i = 0; i < 12; i++) {
             app.use(`${"/*".repeat(i)}/1`, async (context, next) => `${i} ${await next()}`);
             path += `/:mark${i}{0|1}`;
           }
           app.get(path, () => "end");"#,
    );
    let combinations = 1 << MARKS;
    assert!(combinations > gem::limits::CHAINS_MAX);
    for bits in (0..combinations).chain([0, combinations - 1]) {
        let is_set = |place: &usize| bits >> place & 1 == 1;
        let path: String = (0..MARKS).map(|i| if is_set(&i) { "/1" } else { "/0" }).collect();
        let marks: String = (0..MARKS).filter(is_set).map(|i| format!("{i} ")).collect();
        assert_eq!(site.text(&path), format!("{marks}end"), "{path}");
    }
}

/// A promise of the application's own may settle in another request, where nothing of it counts.
#[test]
fn what_a_request_left_behind_changes_no_other() {
    let site = site(
        r#"let go;
           app.use(async (context, next) => next());
           app.get("/left", async () => { await new Promise((resolve) => { go = resolve; }); });
           app.get("/other", async ({ header }) => {
             go?.();
             for (let i = 0; i < 20; i++) await 0;
             header("x-kind", "default");
             return reply({ body: "b", headers: { "x-kind": "own" } });
           });"#,
    );
    assert_eq!(header(&site.get("/other"), "x-kind"), Some("own"));
    site.send(request("GET", "/left")).unwrap_err();
    assert_eq!(header(&site.get("/other"), "x-kind"), Some("own"));
}
