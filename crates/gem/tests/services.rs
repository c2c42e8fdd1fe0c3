//! Services: functions that an application binds to a collection, as its own handlers meet them.
//! What faces do with them is tested in `crates/faces/tests/http/services.rs`.

use crate::support::{self, START_MS, Setup, Site, load_error, request, site, site_with, text};

/// The message of the handler's failure, without the folder.
fn failure(site: &Site, target: &str) -> String {
    let message = site.failure(target);
    message.split_once("app.js").map_or(message.clone(), |(_, rest)| rest.to_owned())
}

#[test]
fn each_write_of_a_handler_is_asked_about_and_may_be_changed() {
    let site = site(
        r#"
const seen = ({ db, method, key, doc, body }) => {
  const last = db.seen.get("all") ?? db.seen.put("all", []) ?? db.seen.get("all");
  last.push([method, key, doc === undefined ? null : doc.n ?? null, body?.n ?? null]);
};
app.service("notes", {
  onPost: (call) => { seen(call); call.body.by = "post"; },
  onPut: (call) => { seen(call); return { ...call.body, by: "put" }; },
  onPatch: (call) => { seen(call); call.body.by = "patch"; },
  onDelete: seen,
});
app.get("/insert", ({ db }) => { db.notes.insert("a", { n: 1 }); });
app.get("/put", ({ db }) => { db.notes.put("a", { n: 2 }); });
app.get("/change", ({ db }) => { db.notes.get("a").n = 3; });
app.get("/add", ({ db }) => { db.notes.add("a", "/n", 1); });
app.get("/delete", ({ db }) => { db.notes.delete("a"); db.notes.delete("b"); });
"#,
    );
    let after = |target| {
        assert_eq!(site.get(target).status, 204);
        site.stored("notes", "a")
    };
    assert_eq!(after("/insert").unwrap(), r#"{"n":1,"by":"post"}"#);
    assert_eq!(after("/put").unwrap(), r#"{"n":2,"by":"put"}"#);
    assert_eq!(after("/change").unwrap(), r#"{"n":3,"by":"patch"}"#);
    assert_eq!(after("/add").unwrap(), r#"{"n":4,"by":"patch"}"#);
    assert_eq!(after("/delete"), None);
    let expected = [
        r#"["POST","a",null,1]"#,
        r#"["PUT","a",1,2]"#,
        r#"["PATCH","a",2,3]"#,
        r#"["PATCH","a",3,4]"#,
        r#"["DELETE","a",4,null]"#,
    ];
    assert_eq!(site.stored("seen", "all").unwrap(), format!("[{}]", expected.join(",")));
}

#[test]
fn ranges_see_what_functions_have_changed_meanwhile_and_functions_may_read_them() {
    let site = site(
        r#"
app.service("notes", { onPut: ({ db, key, body }) => {
  if (key !== "b") return;
  body.there = db.notes.count();
  db.notes.get("a").n += 10;
} });
const change = (db) => {
  const [a, b] = [db.notes.get("a"), db.notes.get("b")];
  a.n = 1;
  b.n += 1;
};
app.get("/make", ({ db }) => { for (const key of ["a", "b"]) db.notes.put(key, { n: 0 }); });
app.get("/range", ({ db }) => { change(db); return db.notes.range().map(([, { n }]) => n); });
app.get("/query", ({ db }) => { change(db); return db.notes.query().map(([, { n }]) => n); });
app.get("/count", ({ db }) => { change(db); return [db.notes.query`n = 11`.count()]; });
"#,
    );
    site.get("/make");
    assert_eq!(site.text("/range"), "[11,1]");
    assert_eq!(site.text("/query"), "[11,2]");
    assert_eq!(site.text("/count"), "[1]");
    assert_eq!(site.stored("notes", "a").unwrap(), r#"{"n":11}"#);
    assert_eq!(site.stored("notes", "b").unwrap(), r#"{"n":3,"there":2}"#);
}

#[test]
fn on_put_is_asked_about_what_has_no_function_of_its_own() {
    let site = site(
        r#"
app.service("notes", { onPut: ({ method, body }) => { body.how = method; } });
app.get("/insert", ({ db }) => { db.notes.insert("a", {}); });
app.get("/change", ({ db }) => { db.notes.get("a").n = 3; });
app.get("/delete", ({ db }) => { db.notes.delete("a"); });
"#,
    );
    site.get("/insert");
    assert_eq!(site.stored("notes", "a").unwrap(), r#"{"how":"POST"}"#);
    site.get("/change");
    assert_eq!(site.stored("notes", "a").unwrap(), r#"{"how":"PATCH","n":3}"#);
    site.get("/delete");
    assert_eq!(site.stored("notes", "a"), None);
}

#[test]
fn a_handler_holds_what_was_stored() {
    let site = site(
        r#"
app.service("notes", { onPut: ({ body }) => ({ ...body, slug: body.title.toLowerCase() }) });
app.get("/", ({ db }) => {
  const note = { title: "ONE", gone: true };
  db.notes.put("a", note);
  const early = note.slug;
  note.title = "TWO";
  delete note.gone;
  return { early, same: db.notes.get("a") === note };
});
"#,
    );
    assert_eq!(site.text("/"), r#"{"early":"one","same":true}"#);
    assert_eq!(site.stored("notes", "a").unwrap(), r#"{"title":"TWO","slug":"two"}"#);
}

#[test]
fn a_refusal_is_the_reply_and_nothing_is_stored() {
    let site = site(
        r#"
import { refuse } from "sarsen";
app.service("notes", {
  onPut: ({ doc, body, db }) => {
    db.tries.add("n", 1);
    if (body.n < 0) refuse(422, "n must not be negative");
    if (doc?.locked) refuse(409, "it is locked");
  },
});
app.get("/put", ({ db, query }) => {
  db.others.put("x", 1);
  db.notes.put("a", { n: Number(query.n) });
});
app.get("/catch", ({ db }) => {
  try { db.notes.put("a", { n: -1 }); } catch (error) { return [error.status, error.message]; }
});
app.get("/throw", ({ db }) => { db.notes.put("b", { n: undefined.x }); });
app.get("/change", ({ db }) => { db.notes.get("a").n = -2; });
app.get("/wrong", () => { refuse(500, "no"); });
"#,
    );
    let refused = site.get("/put?n=-1");
    assert_eq!((refused.status, text(&refused).as_str()), (422, "n must not be negative\n"));
    assert_eq!(site.stored("others", "x"), None);
    assert_eq!(site.stored("tries", "n"), None);
    assert_eq!(site.text("/catch"), r#"[422,"n must not be negative"]"#);
    assert_eq!(site.stored("notes", "a"), None);
    assert_eq!(site.get("/put?n=5").status, 204);
    assert_eq!(site.stored("notes", "a").unwrap(), r#"{"n":5}"#);
    let late = site.get("/change");
    assert_eq!((late.status, text(&late).as_str()), (422, "n must not be negative\n"));
    site.store_json("notes", "a", r#"{"n":5,"locked":true}"#);
    assert_eq!(site.get("/put?n=6").status, 409);
    assert!(failure(&site, "/wrong").contains("from 400 to 499, got 500"));
}

#[test]
fn a_merge_that_is_refused_leaves_nothing_even_if_that_is_caught() {
    let site = site(
        r#"
import { refuse } from "sarsen";
app.service("accounts", { onPatch: ({ body }) => { if (body.n < 0) refuse(409, "too little"); } });
app.get("/take", ({ db }) => {
  try { db.accounts.add("a", "/n", -3); } catch (error) { return error.message; }
  return db.accounts.get("a");
});
"#,
    );
    site.store_json("accounts", "a", r#"{"n":5}"#);
    assert_eq!(site.text("/take"), r#"{"n":2}"#);
    assert_eq!(site.text("/take"), "too little");
    assert_eq!(site.stored("accounts", "a").unwrap(), r#"{"n":2}"#);
}

#[test]
fn services_ask_services_so_deep_and_no_deeper() {
    let site = site(
        r#"
app.service("orders", { onPut: ({ db, key, body }) => { db.stock.get(body.item).left -= 1; } });
app.service("stock", {
  onPatch: ({ db, key, body }) => { if (body.left === 0) db.empty.put(key, true); },
});
app.service("chain", {
  onPut: ({ db, key, body }) => { db.chain.put(String(Number(key) + 1), body); },
});
app.service("ping", { onPut: ({ db, key, body }) => { db.pong.get("x").n += 1; } });
app.service("pong", { onPut: ({ db, key, body }) => { db.ping.get("x").n += 1; } });
app.service("own", { onPut: ({ db, key }) => { db.own.put(key, 1); } });
app.get("/order", ({ db }) => { db.orders.put("1", { item: "tea" }); });
app.get("/chain", ({ db }) => { db.chain.put("0", 1); });
app.get("/ping", ({ db }) => { db.ping.get("x").n += 1; });
app.get("/own", ({ db }) => { db.own.put("a", 1); });
"#,
    );
    site.store_json("stock", "tea", r#"{"left":1}"#);
    assert_eq!(site.get("/order").status, 204);
    assert_eq!(site.stored("stock", "tea").unwrap(), r#"{"left":0}"#);
    assert_eq!(site.stored("empty", "tea").unwrap(), "true");
    let deep = failure(&site, "/chain");
    assert!(deep.contains("more than 8 deep: chain.onPut, chain.onPut"), "{deep}");
    site.store_json("ping", "x", r#"{"n":0}"#);
    site.store_json("pong", "x", r#"{"n":0}"#);
    assert!(failure(&site, "/ping").contains("without an end"));
    assert!(failure(&site, "/own").contains("use doc and body"));
    assert_eq!(site.stored("own", "a"), None);
}

#[test]
fn a_function_that_waits_is_not_for_handlers() {
    let site = site(
        r#"
app.service("notes", { onPut: async () => {} });
app.service("others", { onPut: () => Promise.reject(new Error("later")) });
app.get("/notes", ({ db }) => { db.notes.put("a", 1); });
app.get("/others", ({ db }) => { db.others.put("a", 1); });
"#,
    );
    for target in ["/notes", "/others"] {
        let message = failure(&site, target);
        assert!(message.contains("onPut is asynchronous"), "{message}");
    }
}

#[test]
fn functions_see_the_request_and_what_the_handler_would() {
    let site = site(
        r#"
app.service("notes", {
  onPut: ({ request, time, principal, session, body, collection }) => {
    body.seen = [collection, request.method, request.path, session.user];
    body.same = time === Date.now() && principal === undefined;
    try { session.user = "other"; } catch (error) { body.why = error.constructor.name; }
  },
});
app.post("/put", ({ db, session }) => { session.user = "ada"; db.notes.put("a", {}); });
"#,
    );
    assert_eq!(site.send(request("POST", "/put")).unwrap().status, 204);
    let expected = r#"{"seen":["notes","POST","/put","ada"],"same":true,"why":"TypeError"}"#;
    assert_eq!(site.stored("notes", "a").unwrap(), expected);
}

#[test]
fn what_is_bound_is_checked_when_the_application_loads() {
    let refused = |line: &str| {
        let text = format!(
            "import {{ App }} from \"sarsen\";\nconst app = new App();\n{line}\n\
             export default app;\n"
        );
        load_error(&[("app.js", &text)])
    };
    let twice = r#"app.service("a", { onGet() {} }); app.service("a", { onGet() {} });"#;
    for (line, expected) in [
        (r#"app.service("_sessions", { onGet() {} });"#, "belong to Sarsen"),
        (r#"app.service(3, { onGet() {} });"#, "expected the name of a collection, got number"),
        (r#"app.service("a");"#, "expected an object with onGet"),
        (r#"app.service("a", {});"#, "at least one function"),
        (r#"app.service("a", { onget() {} });"#, "got onget"),
        (r#"app.service("a", { onGet: 3 });"#, "expected onGet to be a function, got number"),
        (twice, "has a service already"),
    ] {
        let message = refused(line);
        assert!(message.starts_with("app.js:3:") && message.contains(expected), "{message}");
    }
}

#[test]
fn an_application_has_at_most_so_many_services() {
    let text = format!(
        "import {{ App }} from \"sarsen\";\nconst app = new App();\n\
         for (let i = 0; i <= {}; i++) app.service(`c${{i}}`, {{ onGet() {{}} }});\n\
         export default app;\n",
        gem::limits::SERVICES_MAX
    );
    assert!(load_error(&[("app.js", &text)]).contains("at most 1000 services"));
}

const EXPIRING: &str = r#"
app.service("orders", {
  onExpire: ({ db, key, doc, body, method, request, session, time }) => {
    if (db.broken.get(key)) throw new Error("not now");
    const bare = [body, request, session].every((value) => value === undefined);
    db.expired.put(key, { doc, method, bare });
    db.counts.add("runs", 1);
  },
});
app.get("/get", ({ db, query }) => ({ there: db.orders.get(query.key) !== undefined }));
app.get("/put", ({ db, query }) => { db.orders.put(query.key, { n: 2 }); });
app.get("/delete", ({ db, query }) => { db.orders.delete(query.key); });
"#;

fn order(site: &Site, key: &str, expires: u64) {
    site.store_as(("orders", key), repository::MediaType::Json, r#"{"n":1}"#, Some(expires));
}

#[test]
fn what_expires_is_seen_once_and_removed_with_what_is_done_about_it() {
    let site = site(EXPIRING);
    for key in ["a", "b", "c"] {
        order(&site, key, START_MS + 1_000);
    }
    order(&site, "later", START_MS + 9_000);
    assert_eq!(site.text("/get?key=a"), r#"{"there":true}"#);
    site.pass(1_000);
    assert_eq!(site.text("/get?key=a"), r#"{"there":false}"#, "from its expiry on");
    site.pass(1);
    site.wait("expiries", |site| site.stored("counts", "runs").as_deref() == Some("3"));
    assert_eq!(
        site.stored("expired", "a").unwrap(),
        r#"{"doc":{"n":1},"method":"EXPIRE","bare":true}"#
    );
    site.pass(8_001);
    site.wait("expiries", |site| site.stored("counts", "runs").as_deref() == Some("4"));
    assert_eq!(site.repository.stats().reaped, 0, "the reaper had no part in it");
    assert!(site.repository.expired(None, 100).unwrap().documents.is_empty());
}

#[test]
fn one_that_fails_is_tried_again_and_holds_up_nobody() {
    let site = site(EXPIRING);
    site.store_json("broken", "a", "true");
    order(&site, "a", START_MS + 1);
    order(&site, "b", START_MS + 2);
    site.pass(10);
    site.wait("expiries", |site| site.stored("counts", "runs").as_deref() == Some("1"));
    assert_eq!(site.stored("expired", "a"), None);
    assert!(site.stored("expired", "b").is_some());
    assert_eq!(site.text("/get?key=a"), r#"{"there":false}"#);
    site.store_json("broken", "a", "false");
    // Its second try is due after a while, whenever the first was.
    site.wait("expiries", |site| {
        site.pass(1_000);
        site.stored("expired", "a").is_some()
    });
    assert_eq!(site.stored("counts", "runs").unwrap(), "2");
}

#[test]
fn who_writes_its_key_anew_has_it_seen_to_first() {
    let site = site_with(EXPIRING, Setup { workers: 2, ..Setup::default() });
    site.store_json("broken", "a", "true");
    for key in ["a", "b"] {
        site.store_json("broken", key, "true");
        order(&site, key, START_MS + 1);
    }
    site.pass(10);
    let failed = failure(&site, "/put?key=a");
    assert!(failed.contains("not now"), "{failed}");
    for key in ["a", "b"] {
        site.store_json("broken", key, "false");
    }
    assert_eq!(site.get("/put?key=a").status, 204);
    assert_eq!(site.get("/delete?key=b").status, 204);
    assert_eq!(site.stored("orders", "a").unwrap(), r#"{"n":2}"#);
    assert_eq!(site.stored("orders", "b"), None);
    assert!(site.stored("expired", "a").is_some() && site.stored("expired", "b").is_some());
    assert_eq!(site.stored("counts", "runs").unwrap(), "2");
}

#[test]
fn an_application_without_the_function_lets_them_go() {
    let site = site(EXPIRING);
    site.store_json("broken", "a", "true");
    order(&site, "a", START_MS + 1);
    site.pass(10);
    site.wait("expiries", |site| !site.repository.expired(None, 100).unwrap().documents.is_empty());
    let without = support::folder(&[(
        "app.js",
        "import { App } from \"sarsen\";\nexport default new App();\n",
    )]);
    site.pool.reload(support::load(without.path()).unwrap()).unwrap();
    site.wait("expiries", |site| site.repository.stats().reaped == 1);
    assert_eq!(site.stored("expired", "a"), None);
}

#[test]
fn an_edit_that_brings_the_function_keeps_what_expires_from_then_on() {
    let site = site("");
    order(&site, "a", START_MS + 1);
    site.pass(10);
    site.wait("expiries", |site| site.repository.stats().reaped == 1);
    let main = format!(
        "import {{ App }} from \"sarsen\";\nconst app = new App();\n{EXPIRING}\n\
         export default app;\n"
    );
    let with = support::folder(&[("app.js", &main)]);
    order(&site, "b", START_MS + 20);
    site.pool.reload(support::load(with.path()).unwrap()).unwrap();
    site.pass(20);
    site.wait("expiries", |site| site.pool.are_expired_seen_to().unwrap());
    assert!(site.stored("expired", "b").is_some(), "as soon as that is said");
    assert_eq!(site.repository.stats().reaped, 1);
}

#[test]
fn on_expire_may_await_what_is_performed_beside_the_gems() {
    let site = site_with(
        r#"
import { password } from "sarsen";
app.service("orders", {
  onExpire: async ({ db, key, doc }) => {
    db.expired.put(key, await password.verify("abc", await password.hash("abc")));
  },
});
"#,
        Setup { workers: 2, ..Setup::default() },
    );
    order(&site, "a", START_MS + 1);
    site.pass(10);
    site.wait("expiries", |site| site.stored("expired", "a").as_deref() == Some("true"));
    assert!(site.repository.expired(None, 100).unwrap().documents.is_empty());
}
