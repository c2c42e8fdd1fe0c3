//! What is known of a failed request: place, stack, causes, code, view, conflicts; and that it is
//! kept where `sarsen errors` looks.

use crate::support::{Setup, Site, folder, request, site, site_with, start, text};
use gem::{ErrorLog, Failure, FailureKind, Report, read_errors};
use std::fs;
use std::sync::Arc;

fn report(site: &Site, target: &str) -> Report {
    match site.send(request("GET", target)) {
        Err(failure) => failure.fault.report.map(|report| *report).expect("a report"),
        Ok(reply) => panic!("{target}: expected a failure, got {} {}", reply.status, text(&reply)),
    }
}

/// Without the folder's path.
fn short(text: &str) -> String {
    text.rsplit('/').next().unwrap().to_owned()
}

#[test]
fn what_was_thrown_has_its_place_stack_and_code() {
    let site = site(
        "function inner(x) {\n  return x.missing.member;\n}\n\
         app.get(\"/notes/:id\", ({ params }) => {\n  inner(params);\n});",
    );
    let report = report(&site, "/notes/7?secret=1");
    assert!(report.message.starts_with("TypeError: "), "{report:?}");
    assert!(report.place.as_deref().unwrap().ends_with("/app.js:4:10"), "{report:?}");
    let stack: Vec<_> = report.stack.iter().map(|frame| short(frame)).collect();
    assert_eq!(stack, ["app.js:4:10)", "app.js:7:9)"], "{report:?}");
    assert!(report.stack[0].starts_with("inner ("), "{report:?}");
    let code = report.code.unwrap().text();
    assert!(code.contains("> 4 |   return x.missing.member;\n    |          ^\n"), "{code}");
    assert_eq!((report.method.as_str(), report.path.as_str()), ("GET", "/notes/7"));
    assert_eq!(report.handler, "GET /notes/:id");
    assert_eq!((report.status, report.problem), (500, "handler-failed"));
    assert_eq!(report.id.len(), 12);
    assert!(report.time_ms > 1_700_000_000_000);
}

#[test]
fn asynchronous_handlers_have_places_too() {
    let site = site(
        "async function later() { await null; throw new Error(\"late\"); }\n\
         app.get(\"/\", async () => { await later(); });\n\
         app.get(\"/rejected\", async () => { Promise.reject(new Error(\"lost\")); });",
    );
    let late = report(&site, "/");
    assert!(late.place.as_deref().unwrap().ends_with("/app.js:3:48"), "{late:?}");
    assert!(late.stack[0].starts_with("later ("), "{late:?}");
    let lost = report(&site, "/rejected");
    assert_eq!(lost.message, "a promise was rejected and nothing handled it: Error: lost");
    assert!(lost.place.as_deref().unwrap().ends_with("/app.js:5:55"), "{lost:?}");
}

#[test]
fn causes_are_told_and_circles_end() {
    let site = site(
        "app.get(\"/\", () => {\n\
         const cause = new TypeError(\"b\", { cause: \"a word\" });\n\
         throw new Error(\"a\", { cause });\n});\n\
         app.get(\"/circle\", () => {\n\
         const error = new Error(\"round\"); error.cause = error; throw error;\n});\n\
         app.get(\"/trap\", () => {\n\
         const error = new Error(\"trap\");\n\
         Object.defineProperty(error, \"cause\", { get() { throw error; } }); throw error;\n});",
    );
    let causes = report(&site, "/").causes;
    assert_eq!(causes.len(), 2, "{causes:?}");
    assert!(causes[0].ends_with("TypeError: b") && causes[0].contains("app.js:4:"), "{causes:?}");
    assert_eq!(causes[1], "\"a word\" was thrown");
    assert_eq!(report(&site, "/circle").causes.len(), gem::limits::CAUSES_MAX);
    assert!(report(&site, "/trap").causes.is_empty());
}

#[test]
fn what_is_thrown_need_not_be_an_error() {
    let site = site(
        "app.get(\"/text\", () => { throw \"a word\"; });\n\
         app.get(\"/object\", () => { throw { code: 7 }; });\n\
         app.get(\"/undefined\", () => { throw undefined; });\n\
         app.get(\"/number\", () => Promise.reject(7));\n\
         app.get(\"/liar\", () => { const e = new Error(\"x\"); e.stack = \"7\"; throw e; });\n\
         app.get(\"/odd\", () => {\
         const e = new Error(\"x\"); e.stack = \"at a:1:1\\n\".repeat(1e5);\
         throw e; });",
    );
    for (target, message) in [
        ("/text", "\"a word\" was thrown"),
        ("/object", "{\"code\":7} was thrown"),
        ("/undefined", "undefined was thrown"),
        ("/number", "7 was thrown"),
        ("/liar", "Error: x"),
    ] {
        let report = report(&site, target);
        assert_eq!((report.message.as_str(), report.place), (message, None), "{target}");
    }
    assert_eq!(report(&site, "/odd").stack.len(), gem::limits::FRAMES_MAX);
}

#[test]
fn limits_tell_where_they_were_reached() {
    let settings = "[limits]\ncpu_ms = 50\nheap_bytes = 8000000\n";
    let site = site_with(
        "app.get(\"/loop\", () => { for (;;); });\n\
         app.get(\"/heap\", () => { return \"x\".repeat(9000000); });",
        Setup { settings, ..Setup::default() },
    );
    let endless = report(&site, "/loop");
    assert_eq!((endless.problem, endless.status), ("cpu-limit", 500));
    assert!(endless.place.as_deref().is_some_and(|p| p.contains("app.js:3:")), "{endless:?}");
    assert!(endless.cpu.as_millis() >= 50, "{endless:?}");
    let heap = report(&site, "/heap");
    assert_eq!(heap.problem, "heap-limit");
    assert!(heap.place.as_deref().is_some_and(|p| p.contains("app.js:4:")), "{heap:?}");
}

#[test]
fn view_and_conflicts_are_those_of_the_run_that_failed() {
    let site = site(
        "app.get(\"/\", ({ db }) => {\n\
         if (db.n.get(\"a\").v !== 0) throw new Error(`found ${db.n.get(\"a\").v}`);\n});",
    );
    site.store_json("n", "a", "{\"v\":0}");
    site.store_json("n", "a", "{\"v\":3}");
    let report = report(&site, "/");
    assert_eq!((report.message.as_str(), report.view.0), ("Error: found 3", 2));
    assert_eq!(report.conflicts, 0);
}

#[test]
fn an_application_that_does_not_load_again_says_where() {
    let site = site_with(
        "if (Math.random() > 2) app.get(\"/never\", () => 1);\n\
         app.get(\"/\", () => { for (;;); });\n\
         if (globalThis.loads === undefined) console.log(\"loading\");",
        Setup { settings: "[limits]\ncpu_ms = 20\n", ..Setup::default() },
    );
    for _ in 0..3 {
        // The engine is thrown away each time, and the application loaded again.
        assert_eq!(report(&site, "/").problem, "cpu-limit");
    }
}

#[test]
fn failed_requests_are_kept_without_what_is_secret() {
    let data = tempfile::tempdir().unwrap();
    let app = folder(&[(
        "app.js",
        "import { App } from \"sarsen\";\nconst app = new App();\n\
         app.post(\"/:a\", () => { throw new Error(\"failed\"); });\n\
         app.get(\"/fine\", () => \"fine\");\nexport default app;\n",
    )]);
    let errors = Arc::new(ErrorLog::start(data.path()).unwrap());
    let site = start(app, Setup { errors: Some(errors.clone()), ..Setup::default() });
    let mut failing = request("POST", "/x?password=query-secret");
    failing.headers =
        ["cookie", "authorization"].map(|name| (name.to_owned(), format!("{name}-secret"))).into();
    failing.body = "body-secret".into();
    let Err(Failure { kind: FailureKind::Handler, fault }) = site.send(failing) else {
        panic!("it must fail")
    };
    assert_eq!(site.text("/fine"), "fine");
    drop(site);
    assert_eq!(errors.figures().given, 1);
    drop(errors);
    let read = read_errors(data.path(), 10).unwrap();
    let [kept] = &read.kept[..] else { panic!("expected one: {read:?}") };
    assert_eq!(kept.id, fault.report.unwrap().id);
    assert_eq!((kept.text("path"), kept.text("handler")), ("/x", "POST /:a"));
    assert_eq!(kept.text("message"), "Error: failed");
    let file = fs::read_to_string(data.path().join("errors.jsonl")).unwrap();
    assert!(!file.contains("secret"), "{file}");
}
