//! Merge operations, expiry and other media types: what `db.<collection>` does beside objects.

use crate::support::{self, START_MS, Setup, Site, request, site, site_with};
use repository::MediaType;
use std::sync::mpsc;

const WORKERS: usize = 4;

/// Sends `count` requests at once, which must all succeed.
fn hammer(site: &Site, target: impl Fn(usize) -> String, count: usize) {
    let (sender, outcomes) = mpsc::channel();
    for i in 0..count {
        let sender = sender.clone();
        let respond = Box::new(move |outcome| sender.send(outcome).unwrap());
        site.pool.submit(request("POST", &target(i)), respond).map_err(|_| "full").unwrap();
    }
    drop(sender);
    let replies: Vec<_> = outcomes.iter().map(|o: support::Outcome| o.unwrap()).collect();
    assert_eq!(replies.len(), count);
}

#[test]
fn many_gems_merge_at_once_without_loss_or_conflict() {
    let routes = r#"app.post("/:i", ({ db, params }) => {
             const i = Number(params.i), { tally } = db;
             tally.add("all", "/sum", i);
             tally.min("all", "/low", 1000 - i);
             tally.max("all", "/high", i);
             tally.append("all", "/log", i);
             tally.setAdd("all", "/tens", Math.floor(i / 10));
             tally.setRemove("all", "/gone", i);
             tally.insertIfAbsent("all", "/first", "one");
             tally.insertIfAbsent(`day-${i % 3}`, { hits: 0 });
             tally.add(`day-${i % 3}`, "/hits", 1);
             // Long enough for others to commit in between.
             for (let i = 0; i < 5000; i++);
           });
           app.get("/look", ({ db }) => db.tally.get("all"));"#;
    let site = site_with(routes, Setup { workers: WORKERS, queue: 1024, ..Setup::default() });
    const COUNT: usize = 300;
    let gone: Vec<String> = (0..COUNT).map(|i| i.to_string()).collect();
    site.store_json("tally", "all", &format!("{{\"gone\":[{},-1]}}", gone.join(",")));
    hammer(&site, |i| format!("/{i}"), COUNT);
    let stats = site.repository.stats();
    assert_eq!((stats.commits, stats.conflicts), (1 + COUNT as u64, 0));
    let all = site.text("/look");
    let sum: usize = (0..COUNT).sum();
    assert!(all.contains(&format!("\"sum\":{sum},\"low\":701,\"high\":299,")), "{all}");
    assert!(all.contains("\"first\":\"one\"") && all.contains("\"gone\":[-1]"), "{all}");
    let list = |name: &str| -> Vec<usize> {
        let start = all.find(&format!("\"{name}\":[")).unwrap() + name.len() + 4;
        let list = &all[start..start + all[start..].find(']').unwrap()];
        let mut list: Vec<usize> = list.split(',').map(|n| n.parse().unwrap()).collect();
        list.sort_unstable();
        list
    };
    assert_eq!(list("log"), (0..COUNT).collect::<Vec<_>>());
    assert_eq!(list("tens"), (0..COUNT / 10).collect::<Vec<_>>());
    for day in 0..3 {
        let hits = format!("{{\"hits\":{}}}", COUNT / 3);
        assert_eq!(site.stored("tally", &format!("day-{day}")), Some(hits));
    }
}

#[test]
fn objects_that_were_handed_out_follow_merge_operations() {
    let site = site(
        r#"app.get("/", ({ db }) => {
             const a = db.notes.get("a"), { tags, items } = a, [first] = items;
             tags.push("own");
             db.notes.append("a", "/tags", "new");
             db.notes.setAdd("a", "/tags", "new");
             db.notes.setAdd("a", "/tags", new Date(0));
             db.notes.setRemove("a", "/tags", "old");
             db.notes.append("a", "/items", { n: 2 });
             db.notes.min("a", "/n", 3);
             db.notes.insertIfAbsent("a", "/made", { m: 1 });
             db.notes.insertIfAbsent("a", "/made", { m: 2 });
             first.n = 10;
             tags.push("last");
             a.made.m += 1;
             return [a === db.notes.get("a"), a.tags === tags, a.items[0] === first, a.n];
           });
           app.get("/new", ({ db }) => {
             const before = db.notes.get("x") ?? null;
             db.notes.append("x", "/list", 1);
             const x = db.notes.get("x");
             x.list.push(2);
             db.notes.insertIfAbsent("x", { list: [] });
             return [before, x];
           });
           app.get("/refused/:what", ({ db, params }) => ({
             number: () => db.notes.min("a", "/n", "1"),
             infinity: () => db.notes.add("a", "/n", Infinity),
             path: () => db.notes.append("a", "tags", 1),
             value: () => db.notes.setAdd("a", "/tags", [() => 1]),
             nothing: () => db.notes.append("a", "/tags", undefined),
             kind: () => db.notes.append("a", "/n", 1),
           })[params.what]());"#,
    );
    site.store_json("notes", "a", r#"{"tags":["old"],"items":[{"n":1}],"n":5}"#);
    assert_eq!(site.text("/"), "[true,true,true,3]");
    assert_eq!(
        site.stored("notes", "a").as_deref(),
        Some(
            "{\"tags\":[\"own\",\"new\",{\"$date\":\"1970-01-01T00:00:00.000Z\"},\"last\"],\
             \"items\":[{\"n\":10},{\"n\":2}],\"n\":3,\"made\":{\"m\":2}}"
        )
    );
    assert_eq!(site.text("/new"), r#"[null,{"list":[1,2]}]"#);
    assert_eq!(site.stored("notes", "x").as_deref(), Some(r#"{"list":[1,2]}"#));
    for (what, message) in [
        ("number", r#"db.notes "a": min expects a finite number, got string"#),
        ("infinity", "add expects a finite number, got Infinity"),
        ("path", r#"append expects a path such as "/count""#),
        ("value", r#"db.notes "a": setAdd: the value at "/0" is a function"#),
        ("nothing", "expected a value to store, got undefined"),
        ("kind", "append cannot be applied to notes/a"),
    ] {
        let found = site.failure(&format!("/refused/{what}"));
        assert!(found.contains(message), "{what}: {found}");
    }
}

#[test]
fn documents_expire_when_they_are_told_to() {
    let site = site(
        r#"const puts = {
             ms: (n) => n.put("a", 1, { expiresIn: 1500 }),
             text: (n) => n.put("a", 1, { expiresIn: "1.5s" }),
             date: (n) => n.insert("b", {}, { expires: new Date(Date.now() + 1500) }),
             expire: (n) => n.expire("c", { expiresIn: "2m" }), never: (n) => n.expire("c"),
             changed: (n) => { const c = n.get("c"); n.expire("c", { expiresIn: "1h" }); c.n = 2; },
             same: (n) => n.expire("c", { expires: n.meta("c").expires }),
             none: (n) => n.expire("none"),
             bad: (n) => n.put("a", 1, { expiresIn: "soon" }),
             zero: (n) => n.put("a", 1, { expiresIn: 0 }),
             both: (n) => n.put("a", 1, { expiresIn: 1, expires: new Date() }),
             unknown: (n) => n.put("a", 1, { expiry: 1 }),
             number: (n) => n.put("a", 1, { expires: 5 }),
           };
           app.get("/:how", ({ db, params }) => [puts[params.how](db.notes)]);"#,
    );
    let expires = |key| site.document("notes", key).unwrap().expires.map(|at| at.0 - START_MS);
    for how in ["ms", "text"] {
        site.text(&format!("/{how}"));
        assert_eq!(expires("a"), Some(1500), "{how}");
    }
    site.text("/date");
    assert_eq!(expires("b"), Some(1500));
    site.store_json("notes", "c", "{\"n\":1}");
    assert_eq!(site.text("/expire"), "[true]");
    assert_eq!(expires("c"), Some(120_000));
    site.text("/changed");
    assert_eq!(expires("c"), Some(3_600_000));
    assert_eq!(site.stored("notes", "c").as_deref(), Some("{\"n\":2}"));
    let before = site.written();
    assert_eq!(site.text("/same"), "[true]");
    assert_eq!(site.text("/none"), "[false]");
    assert_eq!(site.written(), before);
    site.text("/never");
    assert_eq!(expires("c"), None);
    for (how, message) in [
        ("bad", r#"db.notes "a": expiresIn: expected milliseconds above 0, or a text such as"#),
        ("zero", "got 0"),
        ("both", "expected expiresIn or expires, got both"),
        ("unknown", "unknown option expiry; expected expiresIn or expires"),
        ("number", "expires is expected to be a Date"),
    ] {
        let found = site.failure(&format!("/{how}"));
        assert!(found.contains(message), "{how}: {found}");
    }
    site.pass(1500);
    assert!(site.document("notes", "a").is_none() && site.document("notes", "b").is_none());
}

#[test]
fn what_is_known_of_a_document_beside_its_value() {
    let site = site(
        r#"app.get("/", ({ db }) => {
             const meta = db.notes.meta("a");
             return [meta.version > 0, meta.created.getTime(), meta.updated.getTime(),
               meta.expires.getTime() - meta.created.getTime(), meta.mediaType, meta.size];
           });
           app.get("/has", ({ db }) => {
             const found = [db.notes.has("a"), db.notes.has("new"), db.photos.has("p")];
             db.notes.put("new", {});
             found.push(db.notes.has("new"), db.notes.meta("new").version === undefined);
             db.notes.delete("new");
             return [...found, db.notes.has("new"), db.notes.meta("new") === undefined];
           });
           app.get("/frozen", ({ db }) => { db.notes.meta("a").size = 1; });"#,
    );
    site.store_as(("notes", "a"), MediaType::Json, "[1]", Some(START_MS + 10));
    site.store_as(("photos", "p"), MediaType::Other("image/png".into()), "x", None);
    assert_eq!(site.text("/"), format!("[true,{START_MS},{START_MS},10,\"application/json\",3]"));
    assert_eq!(site.text("/has"), "[true,false,true,true,true,false,true]");
    assert!(site.failure("/frozen").contains("read-only"));
}

#[test]
fn bytes_of_other_media_types() {
    let site = site(
        r#"app.get("/put", ({ db }) => {
             const options = { mediaType: "image/png", expiresIn: "1s" };
             db.photos.putBytes("a", new Uint8Array([0, 1, 255]), options);
             db.photos.putBytes("b", new Uint8Array([120]).buffer);
           });
           app.get("/get", ({ db }) => {
             const a = db.photos.getBytes("a");
             return [a.mediaType, [...a.bytes], db.photos.getBytes("b").mediaType,
               db.photos.getBytes("none") ?? null, [...db.notes.getBytes("j").bytes]];
           });
           app.get("/over", ({ db }) => {
             const j = db.notes.get("j");
             j.n = 2;
             db.notes.putBytes("j", new Uint8Array(1), { mediaType: "text/plain" });
             j.n = 3;
           });
           const bad = (mediaType) => ({ db }) => {
             db.photos.putBytes("a", new Uint8Array(1), { mediaType });
           };
           app.get("/json", bad("application/json"));
           app.get("/type", bad("png"));
           app.get("/value", ({ db }) => { db.photos.putBytes("a", "text"); });"#,
    );
    site.text("/put");
    let a = site.document("photos", "a").unwrap();
    assert_eq!((&a.body[..], a.media_type.as_str()), (&[0, 1, 255][..], "image/png"));
    assert_eq!(a.expires.map(|at| at.0), Some(START_MS + 1000));
    site.store_json("notes", "j", "{\"n\":1}");
    assert_eq!(
        site.text("/get"),
        r#"["image/png",[0,1,255],"application/octet-stream",null,[123,34,110,34,58,49,125]]"#
    );
    site.text("/over");
    assert_eq!(site.document("notes", "j").unwrap().media_type.as_str(), "text/plain");
    for (path, message) in [
        ("/json", "expected a media type such as image/jpeg"),
        ("/type", "expected a media type such as image/jpeg, got \"png\""),
        ("/value", "putBytes expects a Uint8Array or an ArrayBuffer"),
    ] {
        let found = site.failure(path);
        assert!(found.contains(message), "{path}: {found}");
    }
}
