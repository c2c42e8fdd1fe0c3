//! Services as clients of the document API meet them.

use crate::site::{Reply, Site, bare, get, patch, put, until, with_json, with_type};
use faces::ServerOptions;
use gem::{App, Pool, PoolOptions};
use std::fs;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

/// A server with an application of these lines.
fn site(lines: &str) -> Site {
    site_with(lines, |_| {}, |_| {})
}

fn site_with(
    lines: &str,
    change: impl FnOnce(&mut ServerOptions),
    change_pool: impl FnOnce(&mut PoolOptions),
) -> Site {
    let text = format!(
        "import {{ App, refuse }} from \"sarsen\";\nconst app = new App();\n{lines}\n\
         export default app;\n"
    );
    Site::with_pool(change, |repository| {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("sarsen.toml"), "name = \"test\"\n").unwrap();
        fs::write(folder.path().join("app.js"), text).unwrap();
        let app = App::load(folder.path()).unwrap();
        let (cpu_limit, heap_limit) = (Duration::from_millis(500), 32 << 20);
        let mut options =
            PoolOptions { workers: 2, queue: 64, cpu_limit, heap_limit, errors: None, cache: None };
        change_pool(&mut options);
        Some(Arc::new(Pool::start(app, Arc::clone(repository), options).unwrap()))
    })
}

fn status(reply: &Reply, expected: u16) -> &Reply {
    assert_eq!(reply.status, expected, "{reply:?}");
    reply
}

const TRACED: &str = r#"
const trace = (call) => {
  const { method, key, doc, body, db } = call;
  const last = db.trace.get("last");
  const entry = JSON.parse(JSON.stringify([method, key, doc ?? null, body ?? null]));
  if (last === undefined) db.trace.put("last", [entry]);
  else last.push(entry);
};
app.service("notes", {
  onPost(call) { trace(call); call.body.by = "post"; },
  onPut(call) { trace(call); return { ...call.body, by: "put" }; },
  onPatch(call) { trace(call); call.body.by = "patch"; },
  onDelete: trace,
});
"#;

#[test]
fn each_write_is_asked_about_and_may_be_changed() {
    let site = site(TRACED);
    let stored = |path: &str| site.ask(&get(path)).body;
    let made = site.ask(&with_json("POST", "/db/notes", "Slug: a\r\n", r#"{"n":1}"#));
    assert_eq!(status(&made, 201).field("location"), Some("/db/notes/a"));
    assert_eq!(stored("/db/notes/a"), r#"{"n":1,"by":"post"}"#);
    assert_eq!(site.ask(&put("/db/notes/a", "", r#"{"n":2}"#)).status, 204);
    assert_eq!(stored("/db/notes/a"), r#"{"n":2,"by":"put"}"#);
    assert_eq!(site.ask(&patch("merge-patch", "/db/notes/a", "", r#"{"n":3}"#)).status, 204);
    assert_eq!(stored("/db/notes/a"), r#"{"n":3,"by":"patch"}"#);
    let replace = r#"[{"op":"replace","path":"/n","value":4}]"#;
    assert_eq!(site.ask(&patch("json-patch", "/db/notes/a", "", replace)).status, 204);
    let add = r#"[{"op":"add","path":"/n","value":1}]"#;
    let added = site.ask(&patch("vnd.sarsen.merge", "/db/notes/a", "", add));
    assert!(status(&added, 204).field("etag").is_some(), "the service has looked");
    assert_eq!(site.ask(&bare("DELETE", "/db/notes/a", "")).status, 204);
    assert_eq!(site.ask(&get("/db/notes/a")).status, 404);
    let expected = [
        r#"["POST","a",null,{"n":1}]"#,
        r#"["PUT","a",{"n":1,"by":"post"},{"n":2}]"#,
        r#"["PATCH","a",{"n":2,"by":"put"},{"n":3,"by":"put"}]"#,
        r#"["PATCH","a",{"n":3,"by":"patch"},{"n":4,"by":"patch"}]"#,
        r#"["PATCH","a",{"n":4,"by":"patch"},{"n":5,"by":"patch"}]"#,
        r#"["DELETE","a",{"n":5,"by":"patch"},null]"#,
    ];
    assert_eq!(stored("/db/trace/last"), format!("[{}]", expected.join(",")));
}

#[test]
fn what_is_shown_and_tagged_is_what_was_stored() {
    let site = site(TRACED);
    let new = site.ask(&put("/db/notes/a", "Prefer: return=representation\r\n", "{}"));
    assert_eq!(status(&new, 201).body, r#"{"by":"put"}"#);
    assert_eq!(new.field("preference-applied"), Some("return=representation"));
    let read = site.ask(&get("/db/notes/a"));
    assert_eq!(read.field("etag"), new.field("etag"));
    assert_eq!(new.field("sarsen-durability"), Some("synced"));
    let same = site.ask(&get("/db/notes/a").replace("\r\n\r\n", "\r\nIf-None-Match: *\r\n\r\n"));
    assert_eq!(same.status, 304, "there is no onGet");
}

#[test]
fn preconditions_come_first() {
    let site = site(TRACED);
    let tag = site.put("/db/notes/a", "{}");
    let count = || site.ask(&get("/db/trace/last")).json().as_array().unwrap().len();
    assert_eq!(count(), 1);
    let old = "If-Match: \"999\"\r\n";
    for request in [
        put("/db/notes/a", old, "{}"),
        patch("merge-patch", "/db/notes/a", old, "{}"),
        bare("DELETE", "/db/notes/a", old),
    ] {
        assert_eq!(site.ask(&request).status, 412, "{request}");
    }
    assert_eq!(site.ask(&bare("DELETE", "/db/notes/absent", "")).status, 404);
    assert_eq!(count(), 1, "no function was asked");
    let matching = format!("If-Match: {tag}\r\n");
    assert_eq!(site.ask(&put("/db/notes/a", &matching, "{}")).status, 204);
    assert_eq!(count(), 2);
}

const REFUSING: &str = r#"
app.service("accounts", {
  onPut({ db, body }) {
    db.tries.add("n", 1);
    if (body.balance < 0) refuse(422, "an account cannot have less than nothing");
    if (body.balance > 1000) throw new Error("the secret");
    if (body.balance === 7) for (;;);
  },
  onDelete: () => refuse(403, "accounts stay"),
});
"#;

#[test]
fn a_refusal_is_a_problem_and_leaves_nothing() {
    let site = site(REFUSING);
    let refused = site.ask(&put("/db/accounts/a", "", r#"{"balance":-1}"#));
    assert_eq!((refused.status, refused.problem()), (422, "service-refused"));
    let problem = refused.json();
    assert_eq!(problem["status"], 422);
    assert_eq!(problem["detail"], "an account cannot have less than nothing");
    assert_eq!(site.ask(&get("/db/accounts/a")).status, 404);
    assert_eq!(site.ask(&get("/db/tries/n")).status, 404);
    site.put("/db/accounts/a", r#"{"balance":5}"#);
    let kept = site.ask(&bare("DELETE", "/db/accounts/a", ""));
    assert_eq!((kept.status, kept.problem()), (403, "service-refused"));
    let down = r#"[{"op":"add","path":"/balance","value":-6}]"#;
    assert_eq!(site.ask(&patch("vnd.sarsen.merge", "/db/accounts/a", "", down)).status, 422);
    assert_eq!(site.ask(&get("/db/accounts/a")).body, r#"{"balance":5}"#);
}

#[test]
fn a_failure_is_a_problem_that_tells_strangers_nothing() {
    for development in [false, true] {
        let site = site_with(REFUSING, |options| options.development = development, |_| {});
        let failed = site.ask(&put("/db/accounts/a", "", r#"{"balance":1001}"#));
        assert_eq!((failed.status, failed.problem()), (500, "handler-failed"));
        assert_eq!(failed.body.contains("the secret"), development, "{}", failed.body);
        let looped = site.ask(&put("/db/accounts/a", "", r#"{"balance":7}"#));
        assert_eq!((looped.status, looped.problem()), (500, "cpu-limit"));
        let list = r#"[{"op":"put","collection":"accounts","key":"a","value":{"balance":1001}}]"#;
        assert_eq!(site.transact("", "", list).problem(), "handler-failed");
        assert_eq!(site.ask(&get("/db/tries/n")).status, 404);
        assert_eq!(site.ask(&put("/db/accounts/a", "", r#"{"balance":1}"#)).status, 201);
    }
}

#[test]
fn only_json_goes_where_functions_look() {
    let site = site(TRACED);
    let text = with_type("PUT", "/db/notes/a", ("text/plain", ""), "hello");
    assert_eq!(site.ask(&text).problem(), "unsupported-media-type");
    assert_eq!(site.ask(&text.replace("/db/notes", "/db/others")).status, 201);
}

#[test]
fn a_list_is_asked_step_by_step_and_refused_as_a_whole() {
    let site = site(REFUSING);
    let list = |balance| {
        format!(
            r#"[{{"op":"put","collection":"accounts","key":"a","value":{{"balance":5}}}},
                {{"op":"put","collection":"log","key":"x","value":1}},
                {{"op":"merge-patch","collection":"accounts","key":"a",
                  "patch":{{"balance":{balance}}},"return":"representation"}}]"#
        )
    };
    let refused = site.transact("", "", &list(-1));
    assert_eq!((refused.status, refused.problem()), (409, "service-refused"));
    let failed = &refused.json()["failed"][0];
    assert_eq!((&failed["operation"], &failed["status"]), (&2.into(), &422.into()));
    assert_eq!(site.ask(&get("/db/log/x")).status, 404);
    let done = site.transact("", "", &list(6));
    let results = status(&done, 200).json();
    assert_eq!(results["results"][2]["document"], serde_json::json!({"balance": 6}));
    assert_eq!(site.ask(&get("/db/tries/n")).body, "2");
    let reported = site.transact("?conflict=report", "", &list(7).replace("7", "8"));
    assert_eq!(status(&reported, 200).json()["results"][2]["document"]["balance"], 8);
}

#[test]
fn a_named_request_is_asked_about_once() {
    let site = site(TRACED);
    let named = put("/db/notes/a", "Idempotency-Key: \"k\"\r\n", r#"{"n":1}"#);
    let (first, again) = (site.ask(&named), site.ask(&named));
    assert_eq!((first.status, first.field("etag")), (201, again.field("etag")));
    assert_eq!(again.status, 201);
    let trace = site.ask(&get("/db/trace/last")).json();
    assert_eq!(trace.as_array().unwrap().len(), 1);
}

const HIDING: &str = r#"
app.service("people", {
  onGet({ doc, request }) {
    if (doc.hidden) refuse(404, "nobody of that name");
    delete doc.password;
    if (request.header("x-name") !== undefined) return { name: doc.name };
  },
});
app.get("/password", ({ db }) => db.people.get("a").password);
"#;

#[test]
fn what_is_read_may_be_shaped_or_refused() {
    let site = site(HIDING);
    let a = r#"{"name":"a","age":7,"password":"x"}"#;
    let shown = site.ask(&put("/db/people/a", "Prefer: return=representation\r\n", a));
    assert_eq!(status(&shown, 201).body, r#"{"name":"a","age":7}"#);
    site.put("/db/people/h", r#"{"hidden":true}"#);
    let read = site.ask(&get("/db/people/a"));
    assert_eq!((read.status, read.body.as_str()), (200, r#"{"name":"a","age":7}"#));
    assert_eq!(read.field("etag"), shown.field("etag"), "the tag is the stored version's");
    let named = site.ask(&bare("GET", "/db/people/a", "X-Name: 1\r\n"));
    assert_eq!(named.body, r#"{"name":"a"}"#);
    let conditional = format!("If-None-Match: {}\r\n", read.field("etag").unwrap());
    let anew = site.ask(&bare("GET", "/db/people/a", &conditional));
    assert_eq!(anew.status, 200, "it may have been shaped otherwise for whoever asked before");
    let head = site.connect().ask(&bare("HEAD", "/db/people/a", ""));
    assert_eq!((head.status, head.field("content-length")), (200, Some("20")));
    let hidden = site.ask(&get("/db/people/h"));
    assert_eq!((hidden.status, hidden.problem()), (404, "service-refused"));
    assert_eq!(site.ask(&get("/password")).body, "x", "handlers see what is stored");
}

#[test]
fn nothing_else_shows_what_is_hidden() {
    let site = site(HIDING);
    site.put("/db/people/a", r#"{"name":"a","password":"x"}"#);
    site.put("/db/people/h", r#"{"name":"h","hidden":true}"#);
    for path in ["/db/people", "/db/people?filter=password='x'", "/db/people?count=true"] {
        let list = site.ask(&get(path));
        assert_eq!((list.status, list.problem()), (403, "service-refused"), "{path}");
    }
    let shown = "Prefer: return=representation\r\n";
    let patched = site.ask(&patch("merge-patch", "/db/people/a", shown, r#"{"age":1}"#));
    assert_eq!(status(&patched, 200).body, r#"{"name":"a","age":1}"#);
    let hidden = site.ask(&patch("merge-patch", "/db/people/h", shown, r#"{"age":1}"#));
    assert_eq!((hidden.status, hidden.body.as_str()), (204, ""));
    let list = r#"[{"op":"get","collection":"people","key":"a"},
        {"op":"merge-patch","collection":"people","key":"a","patch":{},
         "return":"representation"}]"#;
    let results = site.transact("", "", list);
    assert!(!status(&results, 200).body.contains("password"), "{results:?}");
    let with_hidden = r#"[{"op":"get","collection":"people","key":"h"}]"#;
    assert_eq!(site.transact("", "", with_hidden).problem(), "service-refused");
}

#[test]
fn functions_know_who_asks() {
    let site = site(
        r#"
app.service("notes", {
  onPut({ request, principal, time, collection, body }) {
    body.seen = [collection, request.method, request.path, request.header("x-who")];
    body.seen.push(principal ?? null);
    body.now = time === Date.now();
  },
});
"#,
    );
    let list = r#"[{"op":"put","collection":"notes","key":"b","value":{}}]"#;
    assert_eq!(site.ask(&put("/db/notes/a", "X-Who: ada\r\n", "{}")).status, 201);
    assert_eq!(site.transact("", "X-Who: bob\r\n", list).status, 200);
    let a = site.ask(&get("/db/notes/a")).body;
    assert_eq!(a, r#"{"seen":["notes","PUT","/db/notes/a","ada",null],"now":true}"#);
    let b = site.ask(&get("/db/notes/b")).body;
    assert_eq!(b, r#"{"seen":["notes","POST","/tx","bob",null],"now":true}"#);
}

#[test]
fn functions_may_be_asynchronous_for_faces() {
    let site = site(
        r#"
app.service("notes", {
  async onPut({ db, body }) {
    await null;
    db.log.put("x", 1);
    body.later = await Promise.resolve(2);
  },
  onDelete: () => new Promise(() => {}),
});
"#,
    );
    assert_eq!(site.ask(&put("/db/notes/a", "", "{}")).status, 201);
    assert_eq!(site.ask(&get("/db/notes/a")).body, r#"{"later":2}"#);
    assert_eq!(site.ask(&get("/db/log/x")).body, "1");
    assert_eq!(site.ask(&bare("DELETE", "/db/notes/a", "")).problem(), "handler-failed");
    assert_eq!(site.ask(&get("/db/notes/a")).status, 200);
}

const AWAITING: &str = r#"
import { password } from "sarsen";
app.service("users", {
  async onPost({ body, db }) {
    db.tries.add("n", 1);
    const [hash, other] = await Promise.all([password.hash(body.word), password.hash("x")]);
    body.same = hash === other;
    body.hash = hash;
    delete body.word;
  },
  async onPut({ doc, body }) {
    if (!(await password.verify(body.word, doc.hash))) refuse(403, "another word was expected");
    body.hash = doc.hash;
    delete body.word;
  },
});
"#;

#[test]
fn functions_may_await_what_is_performed_beside_the_gems() {
    let site = site_with(
        AWAITING,
        |options| options.development = true,
        |pool| {
            pool.cpu_limit = Duration::from_secs(20);
        },
    );
    let made = site.ask(&with_json("POST", "/db/users", "Slug: ada\r\n", r#"{"word":"abc"}"#));
    assert_eq!(status(&made, 201).field("location"), Some("/db/users/ada"));
    let stored = site.ask(&get("/db/users/ada")).json();
    assert_eq!(stored["same"], false, "{stored}");
    assert!(stored["hash"].as_str().unwrap().starts_with("$argon2id$"), "{stored}");
    assert_eq!(site.ask(&get("/db/tries/n")).body, "1", "only the last run took effect");
    let wrong = site.ask(&put("/db/users/ada", "", r#"{"word":"abd"}"#));
    assert_eq!((wrong.status, wrong.problem()), (403, "service-refused"));
    let right = |n: u32| format!(r#"{{"word":"abc","n":{n}}}"#);
    assert_eq!(status(&site.ask(&put("/db/users/ada", "", &right(1))), 204).body, "");
    let step = r#""op":"put","collection":"users","key":"ada""#;
    let list = format!(r#"[{{{step},"value":{}}},{{{step},"value":{}}}]"#, right(2), right(3));
    assert_eq!(site.transact("", "Idempotency-Key: \"k\"\r\n", &list).status, 200);
    assert_eq!(site.ask(&get("/db/users/ada")).json()["n"], 3);
}

#[test]
fn functions_may_start_tasks() {
    let site = site(
        r#"
app.task("tell", ({ db, payload }) => { db.told.put(payload.key, true); });
app.service("notes", {
  onPut({ task, key, body }) {
    task("tell", { key });
    if (body.refused) refuse(409, "no");
  },
});
app.post("/put", ({ db }) => { db.notes.put("b", {}); });
"#,
    );
    assert_eq!(site.ask(&put("/db/notes/r", "", r#"{"refused":true}"#)).status, 409);
    assert_eq!(site.ask(&put("/db/notes/a", "", "{}")).status, 201);
    assert_eq!(site.ask(&with_json("POST", "/put", "", "")).status, 204);
    let is_told = |key: &str| site.ask(&get(&format!("/db/told/{key}"))).status == 200;
    until(|| is_told("a") && is_told("b"));
    assert!(!is_told("r"), "nothing was committed");
}

#[test]
fn a_full_queue_refuses_at_once() {
    const CLIENTS: usize = 10;
    let narrow = |options: &mut PoolOptions| (options.workers, options.queue) = (1, 1);
    let site = site_with(REFUSING, |_| {}, narrow);
    let mut clients: Vec<_> = (0..CLIENTS).map(|_| site.connect()).collect();
    let loops = put("/db/accounts/a", "", r#"{"balance":7}"#);
    clients.iter_mut().for_each(|client| client.send(&loops));
    let replies: Vec<Reply> = clients.iter_mut().map(|client| client.reply(false)).collect();
    let (refused, ran): (Vec<_>, Vec<_>) = replies.iter().partition(|reply| reply.status == 503);
    assert!(!refused.is_empty() && !ran.is_empty(), "{replies:?}");
    assert!(refused.iter().all(|reply| reply.problem() == "busy"), "{refused:?}");
    assert!(ran.iter().all(|reply| reply.problem() == "cpu-limit"), "{ran:?}");
    assert_eq!(site.ask(&put("/db/others/a", "", "1")).status, 201, "what nobody is asked about");
}

const BANK: &str = r#"
const total = ({ db, doc, body }) => {
  if (body.balance < 0) refuse(409, "too little");
  db.totals.get("all").sum += body.balance - (doc?.balance ?? 0);
};
app.service("accounts", { onPut: total });
app.post("/move", ({ db, query }) => {
  db.accounts.get(query.from).balance -= 1;
  db.accounts.get(query.to).balance += 1;
});
"#;

/// A long native function of the engine, here the decimal text of a large number, is seen by
/// nobody but the watchdog.
#[test]
fn a_function_that_cannot_be_interrupted_is_answered_for() {
    let site = site_with(
        "app.service(\"notes\", { onPut({ db, body }) {
           db.seen.add(\"puts\", 1);
           const long = 1n << 1000000n;
           while (body.spin) `${long}`;
         } });",
        |_| {},
        |options| (options.cpu_limit, options.heap_limit) = (Duration::from_millis(50), 64 << 20),
    );
    for path in ["/db/notes/a", "/db/notes/b"] {
        let reply = site.ask(&put(path, "", r#"{"spin":true}"#));
        assert_eq!((reply.status, reply.problem()), (500, "cpu-limit"), "{}", reply.body);
        assert_eq!(site.ask(&get(path)).status, 404);
    }
    assert_eq!(site.ask(&put("/db/notes/a", "", r#"{"spin":false}"#)).status, 201);
    assert_eq!(site.ask(&get("/db/seen/puts")).body, "1", "nothing of the others is there");
    // What a gem has done is counted when its reply may have left already.
    let count = "sarsen_handler_duration_seconds_count{handler=\"service notes.onPut\"} 1\n";
    until(|| site.ask(&get("/metrics")).body.contains(count));
    let told = site.ask(&get("/metrics")).body;
    assert!(told.contains("\nsarsen_gems_lost_total 2\n"), "{told}");
}

#[test]
fn what_functions_cost_is_counted() {
    let site = site_with(
        "app.service(\"notes\", { onPut({ db, body }) {
           if (body.bad) throw new Error(\"bad\");
           db.seen.put(\"last\", body);
         }, onGet() {} });",
        |_| {},
        |_| {},
    );
    site.put("/db/notes/a", "{}");
    site.put("/db/notes/b", "{}");
    assert_eq!(site.ask(&put("/db/notes/c", "", r#"{"bad":1}"#)).status, 500);
    assert_eq!(site.ask(&get("/db/notes/a")).status, 200);
    // As above.
    for (function, count) in [("onPut", 3), ("onGet", 1)] {
        let name = format!("{{handler=\"service notes.{function}\"}}");
        let sample = format!("sarsen_handler_duration_seconds_count{name} {count}\n");
        until(|| site.ask(&get("/metrics")).body.contains(&sample));
    }
    let told = site.ask(&get("/metrics")).body;
    let of = |name: &str, function: &str| {
        let sample = format!("sarsen_handler_{name}{{handler=\"service notes.{function}\"}} ");
        let line = told.lines().find_map(|line| line.strip_prefix(&sample));
        line.unwrap_or_else(|| panic!("no {sample} in {told}")).parse::<f64>().unwrap()
    };
    assert_eq!(of("duration_seconds_count", "onPut"), 3.0);
    assert_eq!(of("failures_total", "onPut"), 1.0);
    assert_eq!(of("writes_total", "onPut"), 5.0, "with what the function wrote, and what failed");
    assert_eq!(of("duration_seconds_count", "onGet"), 1.0);
    assert!(of("cpu_seconds_total", "onPut") > 0.0);
}

/// A sum over all accounts that their service keeps, while clients and handlers write.
#[test]
fn an_invariant_holds_whoever_writes() {
    const ACCOUNTS: usize = 4;
    const ROUNDS: usize = 40;
    let site = site_with(BANK, |options| options.development = true, |_| {});
    site.put("/db/totals/all", r#"{"sum":0}"#);
    for account in 0..ACCOUNTS {
        site.put(&format!("/db/accounts/{account}"), r#"{"balance":10}"#);
    }
    let write = |client: usize| {
        let mut connection = site.connect();
        for round in 0..ROUNDS {
            let (from, to) = ((client + round) % ACCOUNTS, (client + round + 1) % ACCOUNTS);
            let path = format!("/db/accounts/{from}");
            let reply = connection.ask(&match client % 4 {
                0 => with_json("POST", &format!("/move?from={from}&to={to}"), "", ""),
                1 => put(&path, "", &format!(r#"{{"balance":{round}}}"#)),
                2 => {
                    let add = r#"[{"op":"add","path":"/balance","value":-3}]"#;
                    patch("vnd.sarsen.merge", &path, "", add)
                }
                _ => {
                    let step = r#""op":"merge-patch","collection":"accounts""#;
                    let list = format!(
                        r#"[{{"op":"get","collection":"accounts","key":"{to}"}},
                            {{{step},"key":"{from}","patch":{{"balance":{to}}}}}]"#
                    );
                    with_json("POST", "/tx", "", &list)
                }
            });
            assert!(matches!(reply.status, 200 | 204 | 409), "{reply:?}");
        }
    };
    thread::scope(|scope| {
        for client in 0..8 {
            scope.spawn(move || write(client));
        }
    });
    let balance = |account: usize| {
        let account = site.ask(&get(&format!("/db/accounts/{account}"))).json();
        account["balance"].as_i64().unwrap()
    };
    let sum: i64 = (0..ACCOUNTS).map(balance).sum();
    assert_eq!(site.ask(&get("/db/totals/all")).json()["sum"], sum);
    assert!((0..ACCOUNTS).all(|account| balance(account) >= 0));
}

#[test]
fn the_past_keeps_to_what_services_say() {
    let site = site(
        r#"app.service("notes", { onPut(call) { return { ...call.body, by: "put" }; } });
                       app.service("shaped", { onGet(call) { return { n: call.doc.n }; } });"#,
    );
    for name in ["notes", "shaped"] {
        let uri = format!("/db/{name}?settings");
        let settings = r#"{"history":{"versions":5}}"#;
        status(&site.ask(&with_json("PUT", &uri, "", settings)), 201);
    }
    let first = site.ask(&put("/db/notes/a", "", r#"{"n":1}"#));
    let number = status(&first, 201).field("sarsen-commit").unwrap().to_owned();
    site.ask(&put("/db/notes/a", "", r#"{"n":2}"#));
    let restored = site.ask(&bare("POST", &format!("/db/notes/a?restore={number}"), ""));
    status(&restored, 204);
    assert_eq!(site.ask(&get("/db/notes/a")).body, r#"{"n":1,"by":"put"}"#);
    // What a service shapes is not shown as it was.
    status(&site.ask(&put("/db/shaped/a", "", r#"{"n":1,"secret":2}"#)), 201);
    for query in ["at=1", "versions"] {
        let hidden = site.ask(&get(&format!("/db/shaped/a?{query}")));
        assert_eq!((hidden.status, hidden.problem()), (403, "service-refused"));
    }
}
