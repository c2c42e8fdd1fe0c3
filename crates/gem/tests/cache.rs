//! The cache as handlers have it: what they write there counts when they commit, what they ask it
//! at once counts once, and of those who would compute a value one does.

use crate::support::{Outcome, PATIENCE, START_MS, Setup, Site, request, site, site_with, text};
use cache::{Command, Expires, Store};
use gem::limits::{CACHE_BYTES_MAX, CACHE_CALLS_MAX};
use std::sync::mpsc::{Receiver, channel};

/// What a memcached client would read.
fn read(site: &Site, key: &str) -> Option<String> {
    let key = site.cache.key(key.as_bytes());
    let mut shard = site.cache.lock(&key);
    let found = shard.find(&key, Command::Peek)?;
    Some(String::from_utf8(found.value().to_vec()).unwrap())
}

/// What a memcached client would write.
fn write(site: &Site, key: &str, value: &[u8]) {
    let key = site.cache.key(key.as_bytes());
    site.cache.lock(&key).store(&key, &Store::set(value, 0, Expires::NEVER)).unwrap();
}

/// The body of the reply to POST; what was written is durable then.
fn post(site: &Site, target: &str) -> String {
    let reply = site.post(target);
    site.written();
    text(&reply)
}

/// Sends a request and goes on.
fn send(site: &Site, target: &str) -> Receiver<Outcome> {
    let (sender, outcome) = channel();
    let respond = Box::new(move |result| sender.send(result).unwrap());
    site.pool.submit(request("GET", target), respond).map_err(|_| "the queue is full").unwrap();
    outcome
}

fn body(sent: &Receiver<Outcome>) -> String {
    text(&sent.recv_timeout(PATIENCE).expect("every request has an outcome").unwrap())
}

#[test]
fn values_come_back_and_memcached_clients_read_them() {
    let site = site(
        r#"app.post("/set", ({ cache }) => {
             cache.set("a", { n: 1, at: new Date(5) });
             cache.set("n", 7);
             cache.set("raw", new Uint8Array([104, 105]));
           });
           app.get("/get", ({ cache }) => ({
             a: cache.get("a"), isDate: cache.get("a").at instanceof Date, n: cache.get("n"),
             text: cache.getText("raw"), bytes: [...cache.getBytes("raw")],
             none: [cache.get("x"), cache.getText("x"), cache.getBytes("x")].map(typeof_),
           }));
           const typeof_ = (value) => typeof value;
           app.get("/theirs", ({ cache }) => [cache.get("theirs").list, cache.getText("plain")]);
           app.get("/wrong", ({ cache }) => cache.get("plain"));"#,
    );
    post(&site, "/set");
    let expected = r#"{"a":{"n":1,"at":"1970-01-01T00:00:00.005Z"},"isDate":true,"n":7,"#
        .to_owned()
        + r#""text":"hi","bytes":[104,105],"none":["undefined","undefined","undefined"]}"#;
    assert_eq!(site.text("/get"), expected);
    assert_eq!(read(&site, "n").unwrap(), "7");
    assert_eq!(read(&site, "raw").unwrap(), "hi");
    assert_eq!(read(&site, "a").unwrap(), r#"{"n":1,"at":{"$date":"1970-01-01T00:00:00.005Z"}}"#);
    write(&site, "theirs", br#"{"list":[1,2]}"#);
    write(&site, "plain", b"not json");
    assert_eq!(site.text("/theirs"), r#"[[1,2],"not json"]"#);
    assert!(site.failure("/wrong").contains("it holds no JSON; read it by getText"));
}

#[test]
fn what_is_written_counts_when_the_request_commits() {
    let site = site(
        r#"app.post("/set/:end", ({ cache, db, params }) => {
             db.notes.insert({});
             cache.set("k", params.end);
             cache.delete("other");
             const own = [cache.get("k"), cache.get("other") === undefined];
             if (params.end === "throw") throw new Error("no");
             if (params.end === "refuse") throw new HttpError(400, "no");
             return own;
           });"#,
    );
    write(&site, "other", b"1");
    assert!(site.send(request("POST", "/set/throw")).is_err());
    assert_eq!(site.post("/set/refuse").status, 400);
    site.written();
    assert_eq!((read(&site, "k"), read(&site, "other").as_deref()), (None, Some("1")));
    assert_eq!(post(&site, "/set/commit"), r#"["commit",true]"#);
    site.wait("the write", |site| read(site, "k").as_deref() == Some("\"commit\""));
    assert_eq!(read(&site, "other"), None);
}

/// A conflict or an answer that was awaited runs the handler again; what it did is not done again.
#[test]
fn what_counts_at_once_counts_once_however_often_the_handler_runs() {
    let site = site(
        r#"import { password } from "sarsen";
           let runs = 0;
           app.post("/", async ({ cache }) => {
             runs += 1;
             const first = cache.incr("n", 2, { initial: 10 });
             const second = cache.incr("n", 2);
             const added = cache.add("once", "x");
             const { value, cas } = cache.gets("list");
             const swapped = cache.cas("list", [...value, 1], cas);
             await password.hash("secret");
             return { runs, first, second, added, swapped };
           });
           app.get("/", ({ cache }) => [cache.get("n"), cache.get("once"), cache.get("list")]);"#,
    );
    write(&site, "list", b"[0]");
    let once = r#""first":10,"second":12,"added":true,"swapped":true}"#;
    assert_eq!(post(&site, "/"), format!(r#"{{"runs":2,{once}"#));
    assert_eq!(site.text("/"), r#"[12,"x",[0,1]]"#);
}

#[test]
fn numbers_numbers_compared_and_times_to_live() {
    let site = site(
        r#"app.post("/", ({ cache }) => {
             const out = [cache.incr("none"), cache.incr("n", 5, { initial: 3 })];
             out.push(cache.incr("n", 5), cache.decr("n"));
             out.push(cache.decr("n", 100), cache.incr("n", -1));
             const seen = cache.gets("n");
             out.push(cache.cas("n", 1, "12345"), cache.cas("n", 1, seen.cas), cache.gets("x"));
             out.push(cache.add("n", 2), cache.add("short", 1, { expiresIn: "1500ms" }));
             out.push(cache.touch("n", { expiresIn: "5s" }), cache.touch("x"));
             return out;
           });
           app.get("/", ({ cache }) => [cache.get("n"), cache.get("short")]);"#,
    );
    let out = post(&site, "/");
    assert_eq!(out, "[null,3,8,7,0,0,false,true,null,false,true,true,false]");
    assert_eq!(site.text("/"), "[1,1]");
    site.pass(1_000);
    assert_eq!(site.text("/"), "[1,1]");
    site.pass(1_000);
    assert_eq!(site.text("/"), "[1,null]");
    site.pass(3_000);
    assert_eq!(site.text("/"), "[null,null]");
}

#[test]
fn mistakes_are_named() {
    let site = site_with(
        r#"const cases = {
             space: (cache) => cache.get("a b"),
             long: (cache) => cache.set("k".repeat(251), 1),
             type: (cache) => cache.get(5),
             large: (cache) => cache.set("k", "x".repeat(1 << 20)),
             half: (cache) => cache.incr("n", 0.5),
             text: (cache) => cache.incr("text"),
             order: (cache) => { cache.set("k", 1); cache.add("k", 2); },
             many: (cache) => { for (let i = 0; i < 2000; i++) cache.delete("k"); },
             bytes: (cache) => { for (let i = 0; i < 17; i++) cache.set("k", "x".repeat(1e6)); },
             option: (cache) => cache.set("k", 1, { ttl: 5 }),
             over: () => kept.get("k"),
           };
           let kept;
           app.get("/:which", ({ cache, params }) => {
             const { [params.which]: run } = cases;
             run(cache);
             kept = cache;
             return "";
           });
           app.get("/", ({ cache }) => { kept = cache; return ""; });"#,
        Setup { cpu_limit: PATIENCE, ..Setup::default() },
    );
    write(&site, "text", b"abc");
    site.get("/");
    for (case, words) in [
        ("space", "1 to 250 bytes, none of them a space or control character; got \"a b\""),
        ("long", "1 to 250 bytes"),
        ("type", "cache.get: expected a key, which is a string; got number"),
        ("large", "a value of the cache has at most 1048064 bytes; this has 1048578"),
        ("half", "cache.incr(\"n\"): expected a whole number to add, got 0.5"),
        ("text", "the value is not a decimal number"),
        ("order", "cache \"k\": this request has set or deleted it"),
        ("many", &format!("at most {CACHE_CALLS_MAX} calls")),
        ("bytes", &format!("of at most {CACHE_BYTES_MAX} bytes together")),
        ("option", "unknown option ttl; expected expiresIn or expires"),
        ("over", "the request is over"),
    ] {
        let message = site.failure(&format!("/{case}"));
        assert!(message.contains(words), "{case}: {message}");
    }
}

const FETCH: &str = r#"import { password } from "sarsen";
app.get("/fetch/:value", async ({ cache, params }) => {
  const value = await cache.fetch("k", "10s", async () => {
    cache.incr("computed", 1, { initial: 1 });
    // Others come meanwhile.
    await password.hash("secret");
    if (params.value === "fail") throw new Error("no");
    return params.value;
  }, { stale: "20s" });
  return [value];
});
app.get("/computed", ({ cache }) => [cache.get("computed") ?? 0]);"#;

#[test]
fn one_of_many_computes_and_the_others_get_what_it_gave() {
    let site = site_with(FETCH, Setup { workers: 4, queue: 256, ..Setup::default() });
    let sent: Vec<_> = (0..60).map(|_| send(&site, "/fetch/a")).collect();
    for each in &sent {
        assert_eq!(body(each), r#"["a"]"#);
    }
    assert_eq!(site.text("/computed"), "[1]");
    assert_eq!(read(&site, "k").as_deref(), Some("\"a\""));
}

#[test]
fn while_one_computes_anew_the_others_get_the_old_value() {
    let site = site_with(FETCH, Setup { workers: 4, queue: 256, ..Setup::default() });
    assert_eq!(site.text("/fetch/old"), r#"["old"]"#);
    site.pass(9_000);
    assert_eq!(site.text("/fetch/not-yet"), r#"["old"]"#);
    site.pass(1_000);
    let sent: Vec<_> = (0..60).map(|_| send(&site, "/fetch/new")).collect();
    let bodies: Vec<String> = sent.iter().map(body).collect();
    assert!(bodies.iter().all(|body| body == r#"["old"]"# || body == r#"["new"]"#), "{bodies:?}");
    assert!(bodies.iter().any(|body| body == r#"["old"]"#), "nobody had to wait");
    assert_eq!(site.text("/fetch/later"), r#"["new"]"#);
    assert_eq!(site.text("/computed"), "[2]");
    site.pass(30_000);
    assert_eq!(site.text("/fetch/last"), r#"["last"]"#);
}

#[test]
fn whoever_fails_to_compute_lets_another() {
    let site = site_with(FETCH, Setup { workers: 4, queue: 256, ..Setup::default() });
    let failing: Vec<_> = (0..4).map(|_| send(&site, "/fetch/fail")).collect();
    for each in &failing {
        assert!(each.recv_timeout(PATIENCE).unwrap().is_err());
    }
    assert_eq!(read(&site, "k"), None);
    assert_eq!(site.text("/fetch/a"), r#"["a"]"#);
}

/// The value was computed from a view that is committed, or from this request's own writes.
#[test]
fn what_was_computed_counts_when_the_request_commits() {
    let site = site(
        r#"app.get("/:end", async ({ cache, params }) => {
             const value = await cache.fetch("k", "10s", () => params.end);
             const again = await cache.fetch("k", "10s", () => "not asked");
             if (params.end === "throw") throw new Error("no");
             return [value, again];
           });"#,
    );
    assert!(site.send(request("GET", "/throw")).is_err());
    assert_eq!(read(&site, "k"), None);
    assert_eq!(site.text("/commit"), r#"["commit","commit"]"#);
    assert_eq!(read(&site, "k").as_deref(), Some("\"commit\""));
}

#[test]
fn services_and_tasks_have_it_too() {
    let site = site(
        r#"app.service("notes", { onPut: ({ cache, key }) => { cache.delete(key); } });
           app.task("fill", ({ cache, payload }) => { cache.set(payload, "filled"); });
           app.post("/put", ({ db }) => { db.notes.put("a", {}); });
           app.post("/task", ({ task }) => { task("fill", "b"); });"#,
    );
    write(&site, "a", b"1");
    post(&site, "/put");
    site.wait("the service's write", |site| read(site, "a").is_none());
    post(&site, "/task");
    site.wait("the task's write", |site| read(site, "b").as_deref() == Some("\"filled\""));
}

#[test]
fn the_time_is_that_of_the_repository() {
    let site = site(r#"app.get("/", ({ cache }) => cache.get("k") ?? "none");"#);
    site.text("/");
    assert_eq!(u64::from(site.cache.time()), START_MS / 1000);
    let key = site.cache.key(b"k");
    let expires = site.cache.after(5);
    site.cache.lock(&key).store(&key, &Store::set(b"\"v\"", 0, expires)).unwrap();
    assert_eq!(site.text("/"), "v");
    site.pass(5_000);
    assert_eq!(site.text("/"), "none");
}
