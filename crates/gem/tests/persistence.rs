//! `db`: what a handler changed is stored, what it did not change is not, and the order of both.

use crate::support::{self, START_MS, site};
use repository::{CollectionName, Key, MediaType};

#[test]
fn what_a_handler_changed_in_a_document_is_stored() {
    let site = site(
        r#"app.get("/nested", ({ db }) => { db.notes.get("a").author.name = "Bo"; });
           app.get("/push", ({ db }) => { db.notes.get("a").tags.push("new"); });
           app.get("/remove", ({ db }) => { delete db.notes.get("a").draft; });
           app.get("/undefined", ({ db }) => { db.notes.get("a").author = undefined; });
           app.get("/date", ({ db }) => { db.notes.get("a").at = new Date(); });
           app.get("/proto", ({ db }) => { db.notes.get("p").n = 2; });
           app.get("/async", async ({ db }) => {
             const a = db.notes.get("a");
             await 0;
             a.late = 1;
           });"#,
    );
    site.store_json("notes", "a", r#"{"title":"x","author":{"name":"Al"},"tags":[],"draft":true}"#);
    site.store_json("notes", "p", r#"{"1":1,"__proto__":{"x":1},"n":1}"#);
    let stored = |path| {
        site.text(path);
        site.stored("notes", "a").unwrap()
    };
    assert_eq!(stored("/nested"), r#"{"title":"x","author":{"name":"Bo"},"tags":[],"draft":true}"#);
    assert_eq!(
        stored("/push"),
        r#"{"title":"x","author":{"name":"Bo"},"tags":["new"],"draft":true}"#
    );
    assert_eq!(stored("/remove"), r#"{"title":"x","author":{"name":"Bo"},"tags":["new"]}"#);
    assert_eq!(stored("/undefined"), r#"{"title":"x","tags":["new"]}"#);
    assert_eq!(
        stored("/date"),
        r#"{"title":"x","tags":["new"],"at":{"$date":"2023-11-14T22:13:20.000Z"}}"#
    );
    assert!(stored("/async").ends_with(r#""late":1}"#));
    site.text("/proto");
    assert_eq!(site.stored("notes", "p").as_deref(), Some(r#"{"1":1,"__proto__":{"x":1},"n":2}"#));
}

#[test]
fn a_handler_that_changes_nothing_writes_nothing() {
    let site = site(
        r#"app.get("/read", ({ db: { notes: n }, session }) => [n.get("a"), n.get("b"), session]);
           app.get("/back", ({ db }) => { const a = db.notes.get("a"); a.x = 1; delete a.x; });
           app.get("/throw", ({ db }) => {
             db.notes.put("b", 1);
             db.notes.get("a").x = 1;
             throw new Error("no");
           });"#,
    );
    site.store_json("notes", "a", r#"{"title":"x","n":1e+300,"s":"\u001f😀"}"#);
    let before = site.written();
    assert_eq!(site.text("/read"), r#"[{"title":"x","n":1e+300,"s":"\u001f😀"},null,{}]"#);
    site.text("/back");
    assert!(site.failure("/throw").ends_with("Error: no"));
    assert_eq!(site.written(), before);
    assert_eq!(site.stored("notes", "b"), None);
}

#[test]
fn a_document_is_one_object_within_a_request() {
    let site = site(
        r#"app.get("/same", ({ db }) => {
             const same = [db.notes.get("a") === db.notes.get("a"), db.notes === db.notes];
             const own = { n: 1 };
             db.notes.put("new", own);
             same.push(db.notes.get("new") === own);
             own.n = 2;
             return same;
           });"#,
    );
    site.store_json("notes", "a", "{}");
    assert_eq!(site.text("/same"), "[true,true,true]");
    assert_eq!(site.stored("notes", "new").as_deref(), Some(r#"{"n":2}"#));
}

#[test]
fn insert_put_and_delete() {
    let site = site(
        r#"app.get("/insert", ({ db }) => db.notes.insert("a", { n: 1 }));
           app.get("/generated", ({ db }) => [db.notes.insert({ n: 1 }), db.notes.insert("x")]);
           app.get("/put", ({ db }) => { db.notes.put("a", [1, "two", null, true]); });
           app.get("/delete", ({ db }) => {
             const old = db.notes.get("a");
             db.notes.delete("a");
             old.changed = true;
             return [db.notes.get("a") === undefined];
           });
           app.get("/replaced", ({ db }) => {
             const old = db.notes.get("r");
             db.notes.put("r", { n: 2 });
             old.n = 3;
           });
           app.get("/again", ({ db }) => { db.notes.delete("r"); db.notes.insert("r", "new"); });"#,
    );
    assert_eq!(site.text("/insert"), "a");
    assert!(site.failure("/insert").contains(r#"db.notes "a" exists"#));
    let keys: String = site.text("/generated");
    let keys: Vec<&str> = keys.trim_matches(['[', ']']).split(',').collect();
    assert!(keys[0] < keys[1] && keys[0].len() == 28, "{keys:?}");
    let key = keys[1].trim_matches('"');
    assert_eq!(site.stored("notes", key).as_deref(), Some(r#""x""#));
    site.text("/put");
    assert_eq!(site.stored("notes", "a").as_deref(), Some(r#"[1,"two",null,true]"#));
    assert_eq!(site.text("/delete"), "[true]");
    assert_eq!(site.stored("notes", "a"), None);
    site.store_json("notes", "r", r#"{"n":1}"#);
    site.text("/replaced");
    assert_eq!(site.stored("notes", "r").as_deref(), Some(r#"{"n":2}"#));
    site.text("/again");
    assert_eq!(site.stored("notes", "r").as_deref(), Some(r#""new""#));
}

#[test]
fn additions_take_their_place_in_the_order_of_a_handler() {
    let site = site(
        r#"app.get("/tally", ({ db }) => {
             db.tally.add("hits", 1);
             db.tally.add("hits", 2);
             return [db.tally.peek("hits"), db.tally.get("hits")];
           });
           app.get("/dirty", ({ db }) => {
             const a = db.notes.get("a");
             const inner = a.inner;
             inner.n = 10;
             db.notes.add("a", "/inner/n", 5);
             inner.other = 1;
             return [db.notes.get("a") === a, a.inner === inner, inner.n];
           });
           app.get("/fresh", ({ db }) => {
             const before = db.tally.get("new") ?? null;
             db.tally.add("new", 2);
             return [before, db.tally.get("new")];
           });
           app.get("/put", ({ db }) => {
             const v = { n: 1 };
             db.notes.put("b", v);
             db.notes.add("b", "/n", 1);
             v.n += 1;
             db.notes.add("b", "/m~0~1", 7);
           });
           app.get("/deleted", ({ db }) => {
             db.notes.delete("b");
             db.notes.add("b", 4);
             return [db.notes.get("b")];
           });
           app.get("/own-json", ({ db }) => {
             const odd = { toJSON: () => ({ n: 1 }) };
             db.notes.put("c", odd);
             db.notes.add("c", "/n", 1);
             db.notes.get("c").x = 1;
           });
           app.get("/peek-dirty", ({ db }) => {
             db.notes.get("a").seen = 1;
             return [db.notes.peek("a").seen];
           });
           app.get("/frozen", ({ db }) => { db.notes.peek("a").inner.n = 0; });"#,
    );
    site.store_json("notes", "a", r#"{"inner":{"n":1}}"#);
    assert_eq!(site.text("/tally"), "[3,3]");
    assert_eq!(site.text("/tally"), "[6,6]");
    assert_eq!(site.text("/dirty"), "[true,true,15]");
    assert_eq!(site.stored("notes", "a").as_deref(), Some(r#"{"inner":{"n":15,"other":1}}"#));
    assert_eq!(site.text("/fresh"), "[null,2]");
    site.text("/put");
    assert_eq!(site.stored("notes", "b").as_deref(), Some(r#"{"n":3,"m~/":7}"#));
    assert_eq!(site.text("/deleted"), "[4]");
    site.text("/own-json");
    assert_eq!(site.stored("notes", "c").as_deref(), Some(r#"{"n":2,"x":1}"#));
    assert_eq!(site.text("/peek-dirty"), "[1]");
    assert!(site.failure("/frozen").contains("read-only"), "{}", site.failure("/frozen"));
}

#[test]
fn what_cannot_be_stored_is_refused_with_its_place() {
    let site = site(
        r#"const bad = {
             function: () => ({ a: [{ f: () => 1 }] }), symbol: () => ({ "x/~": Symbol("s") }),
             bigint: () => [1, 2n], nan: () => ({ n: { m: NaN } }), infinity: () => [-Infinity],
             hole: () => ({ list: [1, undefined] }), sparse: () => [, 1],
             cycle: () => { const a = { b: {} }; a.b.c = [a]; return a; },
             map: () => ({ m: new Map([[1, 2]]) }), floats: () => ({ b: new Float64Array(2) }),
             date: () => ({ d: new Date(NaN) }), root: () => undefined, rootFunction: () => () => 1,
             boxed: () => [new Number(NaN)],
             deep: () => { let a = []; for (let i = 0; i < 128; i++) a = [a]; return a; },
             wide: () => "x".repeat(9 << 20), regexp: () => ({ r: /x/ }),
             promise: () => [Promise.resolve()],
           };
           app.get("/put/:kind", ({ db, params }) => { db.notes.put("new", bad[params.kind]()); });
           app.get("/change/:kind", ({ db, params }) => {
             db.notes.get("a").bad = bad[params.kind]();
           });
           app.get("/null/:kind", ({ db, params }) => {
             db.notes.get("n").bad = bad[params.kind]()[0];
           });
           app.get("/shared", ({ db }) => {
             const s = { n: 1 };
             db.notes.put("shared", [s, s, { s }]);
           });
           app.get("/throws", ({ db }) => {
             db.notes.put("t", { toJSON() { throw new Error("mine"); } });
           });"#,
    );
    site.store_json("notes", "a", "{}");
    site.store_json("notes", "n", r#"{"bad":null}"#);
    for (kind, place) in [
        ("function", r#"the value at "/a/0/f" is a function"#),
        ("symbol", r#"the value at "/x~1~0" is a symbol"#),
        ("bigint", r#"the value at "/1" is a bigint"#),
        ("nan", r#"the value at "/n/m" is the number NaN"#),
        ("infinity", r#"the value at "/0" is the number -Infinity"#),
        ("hole", r#"the value at "/list/1" is undefined in an array"#),
        ("sparse", r#"the value at "/0" is undefined in an array"#),
        ("cycle", r#"the value at "/b/c/0" is a cycle"#),
        ("map", r#"the value at "/m" is a Map"#),
        ("floats", r#"the value at "/b" is a TypedArray"#),
        ("date", r#"the value at "/d" is an invalid Date"#),
        ("regexp", r#"the value at "/r" is a RegExp"#),
        ("promise", r#"the value at "/0" is a Promise"#),
        ("boxed", r#"the value at "/0" is a Number"#),
        ("root", "expected a value to store, got undefined"),
        ("rootFunction", r#"the value at "" is a function"#),
        ("deep", "at most 128 levels"),
        ("wide", "a document has at most"),
    ] {
        let message = site.failure(&format!("/put/{kind}"));
        assert!(message.contains(place), "{kind}: {message}");
        let own = message.contains(r#"db.notes "new""#);
        assert!(own || kind == "wide", "{kind}: {message}");
    }
    let message = site.failure("/change/function");
    assert!(message.contains(r#"db.notes "a": the value at "/bad/a/0/f""#), "{message}");
    assert!(
        site.failure("/null/infinity").contains(r#"at "/bad" is the number"#),
        "as text it is null"
    );
    assert_eq!(site.stored("notes", "new"), None);
    site.text("/shared");
    assert_eq!(
        site.stored("notes", "shared").as_deref(),
        Some(r#"[{"n":1},{"n":1},{"s":{"n":1}}]"#)
    );
    assert!(site.failure("/throws").contains("Error: mine"));
}

#[test]
fn names_and_keys_are_checked() {
    let site = site(
        r#"app.get("/system", ({ db }) => db._sessions.get("a"));
           app.get("/name", ({ db }) => db.Notes.get("a"));
           app.get("/computed", ({ db, query }) => db[query.n].get("a"));
           app.get("/number", ({ db }) => db.notes.get(5));
           app.get("/empty", ({ db }) => db.notes.get(""));
           app.get("/surrogate", ({ db }) => db.notes.get("\ud800"));
           app.get("/assign", ({ db }) => { db.notes = 1; });
           app.get("/delta", ({ db }) => db.tally.add("a", "1"));
           app.get("/path", ({ db }) => db.tally.add("a", "n", 1));
           app.get("/kind", ({ db }) => { db.notes.put("s", "text"); db.notes.add("s", 1); });
           app.get("/caught", ({ db }) => {
             try { db.notes.put("", 1); } catch (e) { db.notes.put("ok", e.message); }
           });"#,
    );
    assert!(site.failure("/system").contains("db._sessions: collections whose names start with _"));
    assert!(site.failure("/name").contains("a collection name is"));
    assert!(site.failure("/computed?n=_sessions").contains("start with _"));
    assert!(site.failure("/computed?n=__proto__").contains("start with _"));
    assert!(site.failure("/computed?n=constructor%20").contains("a collection name is"));
    assert_eq!(site.get("/computed?n=constructor").status, 204, "no name is taken");
    assert!(site.failure("/number").contains("expected a string as the key, got number"));
    assert!(site.failure("/empty").contains("a key is 1 to 512 bytes"));
    let message = site.failure("/surrogate");
    assert!(message.contains("expected a key of whole characters"), "{message}");
    assert!(site.failure("/assign").contains("cannot be assigned"));
    assert!(site.failure("/delta").contains("add expects a finite number"));
    assert!(site.failure("/path").contains("add expects a path"));
    assert!(site.failure("/kind").contains("add cannot be applied to notes/s"));
    site.text("/caught");
    assert!(site.stored("notes", "ok").unwrap().contains("a key is 1 to 512"));
}

#[test]
fn a_document_that_is_not_json_is_an_error() {
    let site = site(
        r#"app.get("/get", ({ db }) => db.photos.get("a"));
           app.get("/replace", ({ db }) => { db.photos.put("a", { n: 1 }); });"#,
    );
    let media_type = MediaType::Other("image/jpeg".into());
    site.store_as(("photos", "a"), media_type, "\u{1}", None);
    assert!(site.failure("/get").contains(r#"db.photos "a" holds image/jpeg"#));
    site.text("/replace");
    assert_eq!(site.stored("photos", "a").as_deref(), Some(r#"{"n":1}"#));
}

#[test]
fn a_change_keeps_the_expiry_and_a_put_removes_it() {
    let site = site(
        r#"app.get("/change", ({ db }) => { db.notes.get("a").n = 2; });
           app.get("/put", ({ db }) => { db.notes.put("a", {}); });"#,
    );
    site.store_as(("notes", "a"), MediaType::Json, r#"{"n":1}"#, Some(START_MS + 1000));
    let expires = || site.document("notes", "a").unwrap().expires.map(|at| at.0);
    site.text("/change");
    assert_eq!(expires(), Some(START_MS + 1000));
    site.text("/put");
    assert_eq!(expires(), None);
}

#[test]
fn nothing_of_a_request_works_in_another() {
    let site = site(
        r#"let kept;
           app.get("/keep", (turn) => {
             const { db, request, session } = turn;
             kept = { turn, db, notes: db.notes, request, note: db.notes.get("a"), session };
           });
           app.get("/use/:what", ({ params }) => kept.use = ({
             db: () => kept.db.other.get("a"), get: () => kept.notes.get("a"),
             put: () => kept.notes.put("b", 1), add: () => kept.notes.add("b", 1),
             insert: () => kept.notes.insert(1), peek: () => kept.notes.peek("a"),
             delete: () => kept.notes.delete("a"), turn: () => kept.turn.session,
             query: () => kept.turn.query, header: () => kept.request.header("cookie"),
             text: () => kept.request.text(), time: () => kept.turn.time,
           })[params.what]());
           app.get("/change", () => { kept.note.n = 5; kept.session.n = 5; return "changed"; });
           app.get("/look", ({ session }) => session);"#,
    );
    site.store_json("notes", "a", r#"{"n":1}"#);
    site.text("/keep");
    let uses = [
        "db", "get", "put", "add", "insert", "peek", "delete", "turn", "query", "header", "text",
        "time",
    ];
    for what in uses {
        let message = site.failure(&format!("/use/{what}"));
        assert!(message.contains("the request is over"), "{what}: {message}");
    }
    let before = site.written();
    assert_eq!(site.text("/change"), "changed");
    assert_eq!(site.text("/look"), "{}");
    assert_eq!(site.written(), before, "an object of another request is nobody's document");
}

#[test]
fn time_and_randomness_are_the_requests() {
    let site = site(
        r#"app.get("/", ({ time }) => [
             time === Date.now(), new Date().getTime() === time, new Date(5).getTime(),
             new Date(2020, 0).getFullYear(), Date.UTC(1970, 0), new Date() instanceof Date,
             typeof performance, Math.random() !== Math.random(), Math.random() < 1,
             Object.keys(Date), Date.name, new Date(0).constructor === Date,
           ]);
           app.get("/now", () => [Date.now()]);"#,
    );
    assert_eq!(site.text("/"), r#"[true,true,5,2020,0,true,"undefined",true,true,[],"Date",true]"#);
    site.pass(5);
    assert_eq!(site.text("/now"), format!("[{}]", START_MS + 5));
}

/// Content in a file of its own, as `/db` stores it.
fn store_large(site: &support::Site, bytes: &[u8]) {
    let repository = &site.repository;
    let mut writer = repository.blob_writer(u64::MAX);
    writer.write(bytes).unwrap();
    let content = writer.finish().unwrap();
    let mut transaction = repository.begin().unwrap();
    let (photos, key) = (CollectionName::new("photos").unwrap(), Key::new("a").unwrap());
    let png = MediaType::Other("image/png".into());
    transaction.put_content(&photos, &key, png, &content, None).unwrap();
    transaction.commit().unwrap();
}

#[test]
fn large_content_is_sent_and_put_by_reference_and_never_read() {
    let site = site(
        r#"app.get("/meta", ({ db }) => ({ ...db.photos.stored("a"), ...db.photos.meta("a") }));
           app.get("/photo", ({ db }) => db.photos.stored("a"));
           app.get("/copy", ({ db }) => {
             db.kept.putStored("b", db.photos.stored("a"), { mediaType: "image/x-test" });
             db.photos.expire("a", { expiresIn: "1h" });
           });
           app.get("/bytes", ({ db }) => db.photos.getBytes("a"));
           let old;
           app.get("/keep", ({ db }) => { old = db.photos.stored("a"); });
           app.get("/old", () => old);
           app.get("/small", ({ db }) => db.small.stored("s"));
           app.get("/none", ({ db }) => String(db.photos.stored("no")));"#,
    );
    let bytes = vec![7; 3_000_000];
    store_large(&site, &bytes);
    site.store_as(("small", "s"), MediaType::Other("text/plain".into()), "little", None);
    let meta = site.text("/meta");
    assert!(meta.contains(r#""size":3000000"#) && meta.contains(r#""hash":""#), "{meta}");
    let photo = site.get("/photo");
    let blob = photo.blob.as_ref().unwrap();
    assert_eq!((blob.reference().length, photo.body.len()), (3_000_000, 0));
    assert_eq!(support::header(&photo, "content-type"), Some("image/png"));
    site.get("/copy");
    for (collection, key) in [("kept", "b"), ("photos", "a")] {
        let document = site.document(collection, key).unwrap();
        assert_eq!(document.blob, Some(blob.reference()), "{collection}");
    }
    assert!(site.document("photos", "a").unwrap().expires.is_some());
    assert!(site.failure("/bytes").contains("never read into memory"));
    site.get("/keep");
    assert!(site.failure("/old").contains("the request is over"));
    assert_eq!((site.text("/small"), site.text("/none")), ("little".into(), "undefined".into()));
}
