//! Limits: each ends one request, leaves no effect, and the same worker serves the next.

use crate::support::{self, START_MS, Setup, Site, folder, load, request, site, site_with, text};
use gem::{Failure, FailureKind, Pool, PoolOptions};
use std::sync::atomic::Ordering;
use std::sync::mpsc;
use std::time::Duration;

/// With little CPU time: for tests whose requests all use it up, or next to none of it.
fn short(routes: &str) -> Site {
    limited_by(Duration::from_millis(150), routes)
}

/// With little heap, and CPU time that a slow machine does not use up either.
fn limited(routes: &str) -> Site {
    limited_by(Setup::default().cpu_limit, routes)
}

fn limited_by(cpu_limit: Duration, routes: &str) -> Site {
    let normal = "app.get(\"/normal\", ({ db }) => { db.ok.add(\"n\", 1); return \"fine\"; });";
    site_with(
        &format!("{normal}\n{routes}"),
        Setup { cpu_limit, heap_limit: 16 << 20, ..Setup::default() },
    )
}

/// The failure of a request that must leave nothing behind.
fn fails(site: &Site, target: &str) -> Failure {
    let before = site.written();
    let failure = match site.send(request("GET", target)) {
        Err(failure) => failure,
        Ok(reply) => panic!("{target}: expected a failure, got {}", text(&reply)),
    };
    assert_eq!(site.written(), before, "{target}");
    assert_eq!(site.text("/normal"), "fine", "after {target}");
    failure
}

#[test]
fn cpu_time() {
    let site = short(
        r#"app.get("/loop", ({ db }) => { db.x.put("a", 1); for (;;); });
           app.get("/caught", ({ db }) => {
             db.x.put("a", 1);
             for (;;) { try { for (;;); } catch {} finally { continue; } }
           });
           app.get("/regexp", ({ db }) => {
             db.x.put("a", 1);
             return [/^(a+)+$/.test("a".repeat(40) + "b")];
           });
           app.get("/sort", ({ db }) => {
             db.x.put("a", 1);
             const n = [3, 1, 2];
             for (;;) n.sort((a, b) => a - b);
           });
           app.get("/jobs", ({ db }) => {
             db.x.put("a", 1);
             const again = () => { Promise.resolve().then(again); };
             again();
           });
           app.get("/await", async ({ db }) => { db.x.put("a", 1); for (;;) await 0; });
           app.get("/then", ({ db }) => { db.x.put("a", 1); return { toJSON() { for (;;); } }; });
           app.get("/getter", ({ db }) => { db.x.put("a", { get b() { for (;;); } }); });
           app.get("/error", () => {
             throw { get message() { for (;;); }, toString() { for (;;); } };
           });
           app.get("/error-getter", () => {
             const e = new Error();
             Object.defineProperty(e, "message", { get() { for (;;); } });
             throw e;
           });
           app.get("/log", () => { console.log({ toJSON() { for (;;); } }); });
           app.get("/generator", () => {
             const g = (function* () { for (;;) yield; })();
             for (const x of g);
           });"#,
    );
    let paths = [
        "/loop",
        "/caught",
        "/regexp",
        "/sort",
        "/jobs",
        "/await",
        "/then",
        "/getter",
        "/error",
        "/error-getter",
        "/log",
        "/generator",
    ];
    for path in paths {
        let failure = fails(&site, path);
        assert!(matches!(failure.kind, FailureKind::CpuLimit), "{path}: {failure:?}");
        assert!(failure.to_string().contains("150 ms"), "{path}: {failure}");
    }
}

#[test]
fn heap() {
    let site = limited(
        r#"app.get("/arrays", ({ db }) => {
             db.x.put("a", 1);
             const a = [];
             for (;;) a.push(new Array(1000).fill(0));
           });
           app.get("/string", ({ db }) => {
             db.x.put("a", 1);
             const all = [];
             for (;;) all.push(`${Math.random()}`.padEnd(99999));
           });
           app.get("/repeat", () => "ab".repeat(1 << 28));
           app.get("/buffer", () => { new ArrayBuffer(1 << 28); });
           app.get("/objects", () => { let list = null; for (;;) list = { list, a: 1, b: {} }; });
           app.get("/closures", () => { let f = () => 1; for (;;) { const g = f; f = () => g; } });
           app.get("/promises", async () => {
             const all = [];
             for (;;) { all.push(new Promise(() => {})); }
           });
           app.get("/json", () => {
             let a = ["x".repeat(999)];
             for (let i = 0; i < 30; i++) a = [a, a];
             return a;
           });
           // The engine itself throws null when no memory is left for an error.
           app.get("/null", () => { throw null; });
           const kept = [];
           app.get("/leak", () => { kept.push("y".repeat(1 << 20)); return [kept.length]; });"#,
    );
    for path in [
        "/arrays",
        "/string",
        "/repeat",
        "/buffer",
        "/objects",
        "/closures",
        "/promises",
        "/json",
        "/null",
    ] {
        let failure = fails(&site, path);
        assert!(matches!(failure.kind, FailureKind::HeapLimit), "{path}: {failure:?}");
        assert!(failure.to_string().contains("16777216 bytes"), "{failure}");
    }
    let leaked = (0..64).map(|_| site.send(request("GET", "/leak"))).find(Result::is_err);
    assert!(
        matches!(leaked, Some(Err(Failure { kind: FailureKind::HeapLimit, .. }))),
        "{leaked:?}"
    );
    assert_eq!(site.text("/leak"), "[1]", "the worker started anew");
}

#[test]
fn stack() {
    let site = limited(
        r#"app.get("/deep", ({ db }) => { db.x.put("a", 1); const f = () => f() + 1; return f(); });
           app.get("/json", ({ db }) => {
             let a = [];
             for (let i = 0; i < 100000; i++) a = [a];
             db.x.put("a", a);
           });
           app.get("/html", () => { const a = []; a.push(a); return html`${a}`; });
           const nested = "(".repeat(50000) + ")".repeat(50000);
           app.get("/regexp", () => [new RegExp(nested).test("")]);"#,
    );
    let deep = fails(&site, "/deep").to_string();
    assert!(deep.contains("RangeError: Maximum call stack size exceeded"), "{deep}");
    assert!(deep.contains("app.js:4:"), "{deep}");
    for path in ["/json", "/html", "/regexp"] {
        let failure = fails(&site, path);
        let is_said = matches!(failure.kind, FailureKind::Handler | FailureKind::StackLimit);
        assert!(is_said, "{path}: {failure:?}");
    }
}

#[test]
fn an_application_sets_its_own_limits() {
    let settings = "[limits]\ncpu_ms = 40\nheap_bytes = 8_388_608\n";
    let routes = "app.get(\"/loop\", () => { for (;;); });\n\
                  app.get(\"/heap\", () => \"ab\".repeat(1 << 28));";
    let site = site_with(routes, Setup { settings, ..Setup::default() });
    let failure = |target| site.send(request("GET", target)).unwrap_err();
    let looping = failure("/loop");
    assert_eq!(looping.kind, FailureKind::CpuLimit);
    assert!(looping.fault.message.contains("40 ms"), "{looping}");
    let filling = failure("/heap");
    assert_eq!(filling.kind, FailureKind::HeapLimit);
    assert!(filling.fault.message.contains("8388608 bytes"), "{filling}");
}

#[test]
fn a_panic_of_the_worker_is_answered() {
    let site = site(r#"app.get("/", ({ time }) => [time]);"#);
    site.clock.store(0, Ordering::SeqCst);
    match site.send(request("GET", "/")) {
        Err(Failure { kind: FailureKind::Handler, fault }) => {
            assert!(fault.message.contains("the clock has stopped"))
        }
        other => panic!("{other:?}"),
    }
    site.clock.store(START_MS, Ordering::SeqCst);
    assert_eq!(site.text("/"), format!("[{START_MS}]"));
}

#[test]
fn a_full_queue_gives_the_request_back() {
    let routes =
        r#"app.get("/slow", () => { for (let i = 0; i < 3000000; i++); return "slow"; });"#;
    let site = site_with(routes, Setup { queue: 2, ..Setup::default() });
    let (sender, outcomes) = mpsc::channel();
    let mut accepted = 0;
    let refused = (0..100).find_map(|_| {
        let sender = sender.clone();
        let respond = Box::new(move |outcome| sender.send(outcome).unwrap());
        let refused = site.pool.submit(request("GET", "/slow"), respond).err();
        accepted += usize::from(refused.is_none());
        refused
    });
    let (given_back, _) = refused.expect("a bounded queue fills up");
    assert_eq!(given_back.path, "/slow");
    drop(sender);
    site.pool.stop();
    let replies = outcomes.iter().filter(|outcome: &support::Outcome| outcome.is_ok()).count();
    assert_eq!(replies, accepted, "stopping finishes what is queued");
    let late = site.pool.submit(request("GET", "/slow"), Box::new(|_| ()));
    assert!(late.is_err(), "a stopped pool takes nothing");
}

#[test]
fn a_panic_of_the_reply_function_costs_no_worker() {
    let site = site(r#"app.get("/", () => "fine");"#);
    let respond = Box::new(|_| panic!("not my day"));
    site.pool.submit(request("GET", "/"), respond).map_err(|_| "full").unwrap();
    assert_eq!(site.text("/"), "fine");
}

#[test]
fn a_heap_too_small_for_the_application_is_refused_at_the_start() {
    let app = "import { App } from \"sarsen\";\nexport default new App();\n";
    let folder = folder(&[("app.js", app)]);
    let site = site("app.get(\"/\", () => \"\");");
    let options = PoolOptions {
        workers: 2,
        queue: 1,
        cpu_limit: Duration::from_secs(1),
        heap_limit: 50_000,
        errors: None,
        cache: None,
    };
    let pool = Pool::start(load(folder.path()).unwrap(), site.repository.clone(), options);
    assert!(pool.is_err());
}

#[test]
fn a_body_that_fills_the_heap_is_not_the_clients_mistake() {
    let site = limited(r#"app.post("/", ({ request }) => [request.json().length]);"#);
    let mut large = request("POST", "/");
    large.body = format!("[{}{{}}]", "{},".repeat((8 << 20) / 3 - 2)).into();
    let outcome = site.send(large);
    assert!(matches!(outcome, Err(Failure { kind: FailureKind::HeapLimit, .. })), "{outcome:?}");
    let mut deep = request("POST", "/");
    deep.body = format!("{}{}", "[".repeat(1 << 20), "]".repeat(1 << 20)).into();
    let reply = site.send(deep).unwrap();
    assert_eq!(reply.status, 400, "that it nests so deep is");
    assert!(text(&reply).contains("at most 128 levels of nesting"), "{}", text(&reply));
    assert_eq!(site.text("/normal"), "fine");
}

#[test]
fn what_is_kept_of_errors_is_bounded() {
    let site = limited(
        r#"app.get("/stack", () => {
             const e = new Error("m");
             const stack = `    at ${"x".repeat(1 << 20)}:1:2`;
             Object.defineProperty(e, "stack", { value: stack });
             throw e;
           });
           app.get("/many", () => {
             for (let i = 0; i < 20000; i++) Promise.reject(new Error(`${i}`.padEnd(2000)));
           });
           app.get("/rest", () => {
             const first = Promise.reject(1);
             Promise.reject(2);
             first.catch(() => {});
           });
           app.get("/handled", async () => {
             const all = [1, 2, 3].map(async (n) => { throw n; });
             for (const one of all) { try { await one; } catch {} }
             return "handled";
           });"#,
    );
    let message = site.failure("/stack");
    assert!(message.len() < 5_000 && message.ends_with("Error: m"), "{}", message.len());
    // 20,000 descriptions would be 40 MB; the promises themselves are garbage at once.
    let message = site.failure("/many");
    assert!(message.contains("nothing handled it") && message.contains("Error: 0 "), "{message}");
    assert!(site.failure("/rest").contains("not known any more"));
    assert_eq!(site.text("/handled"), "handled");
}

#[test]
fn jobs_of_a_failed_run_do_not_run_for_the_next_request() {
    let site = site(
        r#"let seen = "nothing";
           app.get("/fail", () => ({
             toJSON() {
               Promise.resolve().then(() => { seen = "a job of another request"; });
               throw new Error("no");
             },
           }));
           app.get("/look", async () => { await 0; return seen; });"#,
    );
    assert!(site.failure("/fail").ends_with("Error: no"));
    assert_eq!(site.text("/look"), "nothing");
}

#[test]
fn an_application_has_a_bounded_number_of_routes() {
    let app = |routes: usize| {
        let text = format!(
            "import {{ App }} from 'sarsen';\nconst app = new App();\n\
             for (let i = 0; i < {routes}; i++) app.get(`/${{i}}`, () => `${{i}}`);\n\
             export default app;\n"
        );
        support::folder(&[("app.js", &text)])
    };
    let most = support::start(app(gem::limits::ROUTES_MAX), support::Setup::default());
    assert_eq!(most.text("/1999"), "1999");
    let more = support::load(app(gem::limits::ROUTES_MAX + 1).path()).err().unwrap().to_string();
    assert!(more.ends_with("an application has at most 2000 routes"), "{more}");
}
