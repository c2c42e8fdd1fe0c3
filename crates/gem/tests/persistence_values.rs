//! Which values documents keep: dates and bytes, and every way in which an object can change.

use crate::support::{self, Site, request, site, text};
use gem::Request;

const DATE: &str = r#"{"$date":"2026-11-21T10:00:00.000Z"}"#;

/// The stored text of `notes/a` after a handler with this body, to which the document is `a`.
fn after(before: &str, body: &str) -> String {
    let site =
        site(&format!("app.get('/', ({{ db }}) => {{ const a = db.notes.get('a');\n{body}\n}});"));
    site.store_json("notes", "a", before);
    site.text("/");
    site.stored("notes", "a").unwrap()
}

#[test]
fn dates_and_bytes_come_back_as_such() {
    let site = site(
        r#"const when = new Date("2026-11-21T10:00:00Z"), bytes = new Uint8Array([0, 255, 128]);
           app.get("/put", ({ db }) => {
             db.notes.put("a", { when, list: [when, { bytes }], buffer: bytes.buffer });
             db.notes.put("date", when);
             db.notes.put("bytes", bytes);
           });
           app.get("/get", ({ db, session }) => {
             const a = db.notes.get("a");
             session.when = when;
             return [
               a.when instanceof Date, a.when.getTime() === when.getTime(),
               a.list[0] instanceof Date, a.list[1].bytes instanceof Uint8Array,
               [...a.list[1].bytes], [...a.buffer], db.notes.get("date") instanceof Date,
               db.notes.get("bytes").length, db.notes.peek("a").when.getUTCFullYear(),
             ];
           });
           app.get("/change", ({ db }) => {
             const a = db.notes.get("a");
             a.when.setUTCFullYear(2027);
             a.list[1].bytes[0] = 1;
             db.notes.get("date").setUTCFullYear(2028);
             db.notes.get("bytes").fill(0);
           });
           app.get("/session", ({ session }) => [session.when instanceof Date]);"#,
    );
    site.text("/put");
    let bytes = r#"{"$bytes":"AP+A"}"#;
    let expected =
        format!(r#"{{"when":{DATE},"list":[{DATE},{{"bytes":{bytes}}}],"buffer":{bytes}}}"#);
    assert_eq!(site.stored("notes", "a"), Some(expected));
    assert_eq!(site.stored("notes", "date").as_deref(), Some(DATE));
    let before = site.written().1;
    let reply = site.get("/get");
    assert_eq!(text(&reply), "[true,true,true,true,[0,255,128],[0,255,128],true,3,2026]");
    assert_eq!(site.written().1, before + 1, "only the session is written");
    site.text("/change");
    let changed = site.stored("notes", "a").unwrap();
    assert!(changed.starts_with(r#"{"when":{"$date":"2027-11-21T"#), "{changed}");
    assert!(changed.contains(r#"{"bytes":{"$bytes":"Af+A"}}"#), "{changed}");
    assert_eq!(site.stored("notes", "bytes").as_deref(), Some(r#"{"$bytes":"AAAA"}"#));
    assert!(site.stored("notes", "date").unwrap().contains("2028-11-21"));
    let cookie = reply.headers.iter().find(|(name, _)| name == "set-cookie").unwrap();
    let mut request = support::request("GET", "/session");
    let id = cookie.1.split(';').next().unwrap().to_owned();
    request.headers.push(("cookie".to_owned(), id));
    assert_eq!(text(&site.send(request).unwrap()), "[true]");
}

/// Whatever a visitor sends comes back as it was, and is never taken for a date or bytes.
#[test]
fn what_visitors_type_does_not_become_a_date() {
    let site = site(
        r#"app.post("/put", ({ db, request, session, cache }) => {
             const value = request.json();
             db.notes.put("a", value);
             db.notes.put("list", []);
             db.notes.append("list", "", value);
             session.sent = value;
             return "put";
           });
           app.get("/get", ({ db }) => {
             const read = [db.notes.get("a"), db.notes.peek("a"), db.notes.get("list")[0]];
             const found = [...db.notes.range().values()];
             return JSON.stringify([...read, found[0], found[1][0]]);
           });"#,
    );
    for sent in [
        r#"{"$date":"2026-11-21T10:00:00.000Z"}"#,
        r#"{"$bytes":"AP+A"}"#,
        r#"{"a":[{"$bytes":""},{"b":{"$date":"2026-11-21T10:00:00.000Z"}}]}"#,
        r#"{"$$date":"2026-11-21T10:00:00.000Z"}"#,
        r#"{"$$$$bytes":"AA=="}"#,
        r#"{"$date":"tomorrow"}"#,
        r#"{"$$date":"tomorrow"}"#,
        r#"{"$date":"2026-11-21T10:00:00.000Z","x":1}"#,
    ] {
        let request = Request { body: sent.into(), ..request("POST", "/put") };
        assert_eq!(text(&site.send(request).unwrap()), "put");
        let before = site.written();
        assert_eq!(site.text("/get"), format!("[{}]", [sent; 5].join(",")));
        assert_eq!(site.written(), before, "reading changes nothing: {sent}");
    }
}

#[test]
fn an_object_that_only_looks_like_a_date_stays_as_it_is() {
    let site = site(
        r#"app.get("/", ({ db, query }) => {
             const v = db.notes.get(query.key).v;
             return [v instanceof Date, v instanceof Uint8Array];
           });
           app.get("/plain", ({ db }) => {
             db.notes.put("p", { v: { $date: "2026-11-21T10:00:00.000Z" } });
           });"#,
    );
    for (key, tagged, expected) in [
        ("date", r#"{"$date":"2026-11-21T10:00:00.000Z"}"#, "[true,false]"),
        ("far", r#"{"$date":"+012026-11-21T10:00:00.000Z"}"#, "[true,false]"),
        ("bytes", r#"{"$bytes":""}"#, "[false,true]"),
        // Not as a date would be written.
        ("short", r#"{"$date":"2026-11-21"}"#, "[false,false]"),
        ("zone", r#"{"$date":"2026-11-21T10:00:00.000+01:00"}"#, "[false,false]"),
        ("never", r#"{"$date":"2026-02-30T10:00:00.000Z"}"#, "[false,false]"),
        ("text", r#"{"$date":"x"}"#, "[false,false]"),
        ("number", r#"{"$date":5}"#, "[false,false]"),
        ("more", r#"{"$date":"2026-11-21T10:00:00.000Z","x":1}"#, "[false,false]"),
        ("open", r#"{"$bytes":"AP8"}"#, "[false,false]"),
        ("loose", r#"{"$bytes":"AB=="}"#, "[false,false]"),
        ("url", r#"{"$bytes":"_-8="}"#, "[false,false]"),
    ] {
        site.store_json("notes", key, &format!(r#"{{"v":{tagged}}}"#));
        let before = site.written();
        assert_eq!(site.text(&format!("/?key={key}")), expected, "{key}");
        assert_eq!(site.written(), before, "{key}");
    }
    // What a handler makes by hand, or was sent, is none.
    site.text("/plain");
    assert_eq!(site.text("/?key=p"), "[false,false]");
    let stored = site.stored("notes", "p").unwrap();
    assert_eq!(stored, r#"{"v":{"$$date":"2026-11-21T10:00:00.000Z"}}"#);
}

#[test]
fn every_change_of_an_object_is_found() {
    for (before, body, expected) in [
        (r#"{"b":1,"c":2}"#, "delete a.b; a.d = a.c;", r#"{"c":2,"d":2}"#),
        // Members keep their order: what is deleted and set again is the last.
        (r#"{"b":1,"c":2}"#, "delete a.b; a.b = 1;", r#"{"c":2,"b":1}"#),
        (r#"[1,2,3]"#, "a.length = 1;", "[1]"),
        (r#"[1,2,3]"#, "a.splice(1, 1); a.push({}); a[2].n = 1;", r#"[1,3,{"n":1}]"#),
        (r#"[3,1,2]"#, "a.sort().reverse();", "[3,2,1]"),
        (
            r#"{"l":[{"n":1},{"n":2}]}"#,
            "for (const i of a.l) i.n *= 2;",
            r#"{"l":[{"n":2},{"n":4}]}"#,
        ),
        (r#"{"n":1}"#, "Object.defineProperty(a, 'h', { value: 1 });", r#"{"n":1}"#),
        (r#"{"n":1}"#, "a[Symbol('s')] = 1;", r#"{"n":1}"#),
        (r#"{"n":1}"#, "a.n = -0; a.m = 1e21; a.k = 5e-324;", r#"{"n":0,"m":1e+21,"k":5e-324}"#),
        (r#"{"n":1}"#, "a['10'] = 1; a['9'] = 2;", r#"{"9":2,"10":1,"n":1}"#),
        (r#"{"n":1}"#, "a.s = '\\ud83d'; a['\\ude00'] = 1;", r#"{"n":1,"s":"\ud83d","\ude00":1}"#),
        (r#"{"n":1}"#, "a['x\\u0000y'] = '\\u0000';", "{\"n\":1,\"x\\u0000y\":\"\\u0000\"}"),
        (r#"{"n":1}"#, "a.o = { toJSON(key) { return key + '!'; } };", r#"{"n":1,"o":"o!"}"#),
        (r#"{"n":1}"#, "a.o = { toJSON() {} };", r#"{"n":1}"#),
        (r#"{"n":1}"#, "a.o = { get sum() { return a.n + 1; } };", r#"{"n":1,"o":{"sum":2}}"#),
        (
            r#"{"n":1}"#,
            "a.o = Object.create({ inherited: 1 }, { own: { value: 2, enumerable: true } });",
            r#"{"n":1,"o":{"own":2}}"#,
        ),
        (
            r#"{"n":1}"#,
            "a.o = Object.assign(Object.create(null), { m: 1 });",
            r#"{"n":1,"o":{"m":1}}"#,
        ),
        (
            r#"{"n":1}"#,
            "class P { x = 1; #y = 2; get z() { return 3; } } a.o = new P();",
            r#"{"n":1,"o":{"x":1}}"#,
        ),
        (r#"{"n":1}"#, "a.o = new Proxy({ m: 1 }, {});", r#"{"n":1,"o":{"m":1}}"#),
        (r#"{"__proto__":{"x":1}}"#, "a.n = a.__proto__.x;", r#"{"__proto__":{"x":1},"n":1}"#),
        (r#"{"n":1}"#, "a.list = Object.assign([1], { extra: 2 });", r#"{"n":1,"list":[1]}"#),
        // Through another name for the same object.
        (r#"{"o":{"n":1}}"#, "const o = a.o; a.p = o; o.n = 2;", r#"{"o":{"n":2},"p":{"n":2}}"#),
        (r#"{"o":{"n":1}}"#, "const o = a.o; delete a.o; o.n = 2;", "{}"),
    ] {
        assert_eq!(after(before, body), expected, "{body}");
    }
}

#[test]
fn what_is_put_back_as_it_was_is_not_written() {
    let site = site(
        r#"app.get("/", ({ db }) => {
             const a = db.notes.get("a");
             const { author } = a;
             a.author = { ...author };
             a.tags = a.tags.slice();
             a.tags.push("x"); a.tags.pop();
             a.none = undefined;
             a.at = new Date(a.at);
           });"#,
    );
    site.store_json("notes", "a", &format!(r#"{{"author":{{"n":1}},"tags":["y"],"at":{DATE}}}"#));
    let before = site.written();
    site.text("/");
    assert_eq!(site.written(), before);
}

#[test]
fn one_object_under_two_keys_is_two_documents() {
    let site = site(
        r#"app.get("/put", ({ db }) => {
             const shared = { n: 1 };
             db.notes.put("a", shared);
             db.notes.put("b", { shared });
             db.other.put("c", shared);
             shared.n = 2;
             return [db.notes.get("a") === db.other.get("c")];
           });
           app.get("/next", ({ db }) => { db.notes.get("a").n = 3; });
           app.get("/move", ({ db }) => {
             const a = db.notes.get("a");
             db.notes.get("b").moved = a;
             db.notes.delete("a");
             a.n = 4;
           });"#,
    );
    assert_eq!(site.text("/put"), "[true]");
    let stored = |collection, key| site.stored(collection, key);
    assert_eq!(stored("notes", "a").as_deref(), Some(r#"{"n":2}"#));
    assert_eq!(stored("notes", "b").as_deref(), Some(r#"{"shared":{"n":2}}"#));
    assert_eq!(stored("other", "c").as_deref(), Some(r#"{"n":2}"#));
    site.text("/next");
    assert_eq!(stored("other", "c").as_deref(), Some(r#"{"n":2}"#), "later they are apart");
    site.text("/move");
    assert_eq!(stored("notes", "a"), None);
    assert_eq!(stored("notes", "b").as_deref(), Some(r#"{"shared":{"n":2},"moved":{"n":4}}"#));
}

#[test]
fn very_deep_and_very_wide_values() {
    let site = site(
        r#"const nest = (depth, inner) => {
             let a = inner;
             for (let i = 0; i < depth; i++) a = [a];
             return a;
           };
           app.get("/deepest", ({ db }) => { db.notes.put("d", nest(128, 1)); });
           app.get("/deeper", ({ db }) => { db.notes.put("x", nest(129, 1)); });
           app.get("/deep-date", ({ db }) => { db.notes.put("date", nest(64, new Date())); });
           app.get("/recursive", ({ db }) => { db.notes.put("x", nest(60000, 1)); });
           app.get("/wide", ({ db }) => {
             const members = Array.from({ length: 20000 }, (_, i) => ["k" + i, i]);
             db.notes.put("w", Object.fromEntries(members));
           });
           app.get("/grow", ({ db }) => { db.notes.get("w").k19999 = "last"; });
           app.get("/many", ({ db }) => {
             let a = ["x"];
             for (let i = 0; i < 100; i++) a = [a, a];
             db.notes.put("x", a);
           });
           app.get("/long", ({ db }) => { db.notes.put("x", new Array(4e9)); });
           app.get("/long-cycle", ({ db }) => {
             const a = { next: { next: { list: [1] } } };
             a.next.next.list.push(a.next);
             db.notes.put("x", a);
           });"#,
    );
    site.text("/deepest");
    assert!(site.stored("notes", "d").unwrap().starts_with(&"[".repeat(128)));
    site.text("/deep-date");
    for path in ["/deeper", "/recursive"] {
        let message = site.failure(path);
        assert!(message.contains("at most 128 levels of nesting"), "{path}: {message}");
    }
    site.text("/wide");
    site.text("/grow");
    assert!(site.stored("notes", "w").unwrap().ends_with(r#""k19999":"last"}"#));
    assert!(site.failure("/many").contains("a document has at most"));
    assert!(site.failure("/long").contains(r#"the value at "/0" is undefined in an array"#));
    let message = site.failure("/long-cycle");
    assert!(message.contains(r#"the value at "/next/next/list/1" is a cycle"#), "{message}");
    assert_eq!(site.stored("notes", "x"), None);
}

#[test]
fn what_is_shown_to_all_is_read_only_and_says_so() {
    let site: Site = site(
        r#"const tries = {
             set: (a) => { a.n = 2; }, add: (a) => { a.x = 1; }, remove: (a) => { delete a.n; },
             push: (a) => { a.list.push(1); }, element: (a) => { a.list[0] = 1; },
             nested: (a) => { a.o.p.q = 1; }, date: (a) => { a.at.setTime(0); },
           };
           app.get("/:what", ({ db, params }) => { tries[params.what](db.notes.peek("a")); });
           app.get("/other/:what", () => { Object.freeze({ n: 1 }).n = 2; });"#,
    );
    let document = format!(r#"{{"n":1,"list":[2],"o":{{"p":{{}}}},"at":{DATE}}}"#);
    site.store_json("notes", "a", &document);
    for what in ["set", "add", "remove", "push", "element", "nested", "date"] {
        let message = site.failure(&format!("/{what}"));
        assert!(message.contains("use get(key) to change it"), "{what}: {message}");
        assert!(message.contains("app.js:"), "{what}: {message}");
    }
    assert_eq!(site.stored("notes", "a"), Some(document));
}

#[test]
fn what_would_read_back_differently_is_refused() {
    let site = site(
        r#"const bad = {
             set: () => new Set(),
             proxy: () => new Proxy([1], {}), error: () => new RangeError("x"),
             view: () => new DataView(new ArrayBuffer(1)), floats: () => new Float64Array(2),
             boolean: () => new Boolean(false), weak: () => new WeakMap(),
             handed: () => ({ toJSON: () => new Map() }), called: () => ({ toJSON: () => () => 1 }),
           };
           app.get("/:what", ({ db, params }) => { db.notes.put("x", [bad[params.what]()]); });"#,
    );
    for (what, name) in [
        ("set", "Set"),
        ("proxy", "Proxy of an array"),
        ("error", "Error"),
        ("view", "DataView"),
        ("floats", "TypedArray"),
        ("boolean", "Boolean"),
        ("weak", "WeakMap"),
        ("handed", "Map"),
        ("called", "function"),
    ] {
        let message = site.failure(&format!("/{what}"));
        assert!(message.contains(&format!(r#"the value at "/0" is a {name}, which"#)), "{message}");
    }
}
