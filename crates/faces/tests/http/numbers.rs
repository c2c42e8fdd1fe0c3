//! Numbers that a double cannot hold: one rule wherever JSON comes in.

use crate::site::{Reply, Site, get, patch, put, with_json};
use gem::{App, Pool, PoolOptions};
use std::fs;
use std::sync::Arc;
use std::time::Duration;

const ROUTES: &str = r#"
import { App, reply } from "sarsen";
const app = new App();
app.post("/echo", ({ request }) => request.json());
app.get("/bare", () => reply({ status: 400 }));
export default app;
"#;

/// With an application that has these routes.
pub fn site() -> Site {
    Site::with_pool(
        |_| {},
        |repository| {
            let folder = tempfile::tempdir().unwrap();
            fs::write(folder.path().join("sarsen.toml"), "name = \"test\"\n").unwrap();
            fs::write(folder.path().join("app.js"), ROUTES).unwrap();
            let app = App::load(folder.path()).unwrap();
            let options = PoolOptions {
                workers: 1,
                queue: 8,
                cpu_limit: Duration::from_millis(500),
                heap_limit: 32 << 20,
                errors: None,
                cache: None,
            };
            Some(Arc::new(Pool::start(app, Arc::clone(repository), options).unwrap()))
        },
    )
}

/// Each way in, with the number there.
fn ways(site: &Site, number: &str) -> Vec<(&'static str, Reply)> {
    let ask = |request: String| site.ask(&request);
    let list = |step: &str| {
        format!("[{{\"collection\":\"notes\",\"key\":\"a\",{}}}]", step.replace("N", number))
    };
    let add = format!("[{{\"op\":\"add\",\"path\":\"/m\",\"value\":{number}}}]");
    let once = format!("[{{\"op\":\"insert-if-absent\",\"path\":\"/x\",\"value\":{number}}}]");
    let filter = number.replace('+', "%2B");
    vec![
        ("PUT", ask(put("/db/notes/a", "", &format!("{{\"n\":{number}}}")))),
        ("PUT of it alone", ask(put("/db/notes/b", "", number))),
        ("POST", ask(with_json("POST", "/db/notes", "", &format!("[[{number}]]")))),
        (
            "merge patch",
            ask(patch("merge-patch", "/db/notes/a", "", &format!("{{\"n\":{number}}}"))),
        ),
        ("JSON Patch", ask(patch("json-patch", "/db/notes/a", "", &add))),
        ("merge operations", ask(patch("vnd.sarsen.merge", "/db/notes/a", "", &once))),
        ("/tx put", site.transact("", "", &list("\"op\":\"put\",\"value\":N"))),
        ("/tx patch", site.transact("", "", &list("\"op\":\"merge-patch\",\"patch\":{\"n\":N}"))),
        ("a filter", ask(get(&format!("/db/notes?filter=n%3D{filter}")))),
        ("a handler", ask(with_json("POST", "/echo", "", &format!("{{\"n\":{number}}}")))),
    ]
}

#[test]
fn whole_numbers_are_kept_or_refused_and_fractions_rounded_everywhere() {
    let site = site();
    site.put("/db/notes/a", "{}");
    for number in [
        "9007199254740993",
        "9007199254740993.0",
        "9.007199254740993e15",
        "-9007199254740993",
        "9223372036854775807",
        "9223372036854775808",
        "18446744073709551616",
        "1e400",
        "1e-400",
    ] {
        for (way, reply) in ways(&site, number) {
            assert_eq!(reply.status, 400, "{way}: {number}: {reply:?}");
        }
    }
    for (number, stored) in [
        ("9007199254740992.0", "9007199254740992"),
        ("9223372036854776000", "9223372036854776000"),
        ("6.02214076e+23", "6.02214076e+23"),
        ("1e300", "1e+300"),
        ("3.14159265358979323846", "3.141592653589793"),
        ("-65.613616999999977", "-65.61361699999998"),
    ] {
        for (way, reply) in ways(&site, number) {
            assert!(reply.status < 300, "{way}: {number}: {reply:?}");
            if way == "a handler" {
                assert_eq!(reply.body, format!("{{\"n\":{stored}}}"), "{number}");
            }
        }
        let body = site.ask(&get("/db/notes/a")).body;
        assert_eq!(body, format!("{{\"n\":{stored}}}"), "{number}");
        assert_eq!(site.ask(&get("/db/notes/b")).body, stored, "{number}");
        let filter = stored.replace('+', "%2B");
        let found = site.ask(&get(&format!("/db/notes?filter=n%3D{filter}&fields=@key")));
        assert!(found.body.contains("\"key\":\"a\""), "{number}: {found:?}");
    }
}

#[test]
fn messages_show_no_other_number_than_came() {
    let site = Site::start();
    site.put("/db/notes/a", "{}");
    let digits = "1234567890".repeat(9);
    let lines = [
        site.ask(&put("/db/notes/a", "", &digits)),
        site.ask(&get(&format!("/db/notes?filter=a%20{digits}"))),
        site.ask(&get(&format!("/db/notes?order=a%20{digits}"))),
        site.ask(&get(&format!("/db/notes?limit={digits}"))),
        site.ask(&get(&format!("/db/notes?{digits}=1"))),
        site.ask(&get(&format!("/db/notes/a?at={digits}"))),
        site.ask(&get(&format!("/feed?after={digits}"))),
        site.ask(&get(&format!("/db/{digits}"))),
        site.transact("", "", &format!("[{{\"op\":\"{digits}\"}}]")),
        site.ask(&patch("json-patch", "/db/notes/a", "", &format!("[{{\"op\":\"{digits}\"}}]"))),
    ];
    for reply in &lines {
        assert!((400..500).contains(&reply.status), "{reply:?}");
        let detail = reply.json()["detail"].as_str().unwrap().to_owned();
        let mut runs = detail.split(|c: char| !c.is_ascii_digit());
        let is_cut = |run: &str| (4..digits.len()).contains(&run.len()) && digits.starts_with(run);
        assert!(!runs.any(is_cut), "{detail}");
    }
}
