//! Ranges and queries: what they give, in which order, and that it cannot be changed.

use crate::support::{START_MS, Site, site, text};
use repository::{CollectionName, MediaType, Settings};

/// A route for each of these expressions, in which `n` is `db.notes`; the reply is an array.
fn asking(expressions: &[(&str, &str)]) -> Site {
    let routes: Vec<String> = expressions
        .iter()
        .map(|(path, expression)| {
            format!("app.get('/{path}', ({{ db }}) => {{ const n = db.notes; {expression} }});\n")
        })
        .collect();
    site(&routes.concat())
}

fn fill(site: &Site, count: usize) {
    for i in 0..count {
        let body = format!(r#"{{"i":{i},"even":{},"tags":["t{}"]}}"#, i % 2 == 0, i % 3);
        site.store_json("notes", &format!("k{i:03}"), &body);
    }
}

#[test]
fn ranges_have_bounds_order_and_limit() {
    let range = |options: &str| format!("return [[...n.keys({options})].join(' ')];");
    let cases = [
        ("from", "{ from: 'k005', to: 'k007' }", "k005 k006 k007"),
        ("open", "{ after: 'k005', before: 'k007' }", "k006"),
        ("reverse", "{ to: 'k003', reverse: true }", "k003 k002 k001 k000"),
        ("limit", "{ reverse: true, limit: 2 }", "k039 k038"),
        ("prefix", "{ prefix: 'k03', after: 'k037' }", "k038 k039"),
        ("many", "{ from: 'k010', before: 'k013', limit: 10000 }", "k010 k011 k012"),
        ("none", "{ from: 'x' }", ""),
        ("crossed", "{ from: 'k007', to: 'k005' }", ""),
        ("zero", "{ limit: 0 }", ""),
    ];
    let expressions: Vec<(&str, String)> = cases.iter().map(|c| (c.0, range(c.1))).collect();
    let expressions: Vec<(&str, &str)> = expressions.iter().map(|(p, e)| (*p, &**e)).collect();
    let site = asking(&expressions);
    fill(&site, 40);
    let before = site.written();
    for (path, _, expected) in cases {
        assert_eq!(site.text(&format!("/{path}")), format!("[\"{expected}\"]"), "{path}");
    }
    assert_eq!(site.written(), before);
}

#[test]
fn results_are_entries_keys_values_documents_and_counts() {
    let site = asking(&[
        (
            "entries",
            "const all = []; for (const [key, { i }] of n.range({ limit: 20 })) all.push(key, \
             i); return all.slice(-4);",
        ),
        (
            "all",
            "return [n.range().toArray().length, [...n.range().values()].length, n.count(), \
             n.count({ limit: 3 }), n.count({ prefix: 'k00' })];",
        ),
        ("map", "return n.range({ limit: 2 }).map(([key, note], at) => `${key} ${note.i} ${at}`);"),
        (
            "first",
            "return [n.range().first()[0], n.range({ from: 'x' }).first() === undefined, \
             db.none.range().first() === undefined, db.none.count(), \
             [...db.none.query()].length];",
        ),
        (
            "documents",
            "const [d] = n.range().documents(); return [d.key, d.value.i, d.version > 0, \
             d.created.getTime(), d.expires ?? null, d.mediaType, d.size];",
        ),
        (
            "photos",
            "const [d] = db.photos.range().documents(); return [d.value === undefined, \
             d.mediaType, d.size, d.expires.getTime(), [...db.photos.range()][0].length];",
        ),
        ("again", "const r = n.range({ limit: 1 }); return [[...r].length, [...r].length];"),
    ]);
    fill(&site, 600);
    site.store_as(("photos", "p"), MediaType::Other("image/png".into()), "xyz", Some(START_MS + 5));
    for (path, expected) in [
        ("/entries", r#"["k018",18,"k019",19]"#.to_owned()),
        ("/all", "[600,600,600,3,10]".to_owned()),
        ("/map", r#"["k000 0 0","k001 1 1"]"#.to_owned()),
        ("/first", r#"["k000",true,true,0,0]"#.to_owned()),
        ("/documents", format!(r#"["k000",0,true,{START_MS},null,"application/json",33]"#)),
        ("/photos", format!(r#"[true,"image/png",3,{},2]"#, START_MS + 5)),
        ("/again", "[1,1]".to_owned()),
    ] {
        assert_eq!(site.text(path), expected, "{path}");
    }
}

#[test]
fn what_the_handler_has_changed_is_seen_and_the_objects_are_its_own() {
    let site = asking(&[
        (
            "staged",
            "const a = n.get('k000'); a.i = 100; n.put('k001', { i: 101 }); n.delete('k002');
             n.put('new', { i: 1 });
             const [first] = n.range({ limit: 1 });
             return [[...n.range()].map(([key, { i }]) => key + i).join(' '), first[1] === a,
               [...n.query`i >= ${100}`.keys()].join(' '), n.count(), n.query`i = ${1}`.count(),
               [...n.range({ from: 'new' }).documents()][0].version === undefined];",
        ),
        (
            "while",
            "let count = 0;
             for (const [key] of n.range()) { n.get(key).seen = true; count += 1; }
             return [count];",
        ),
        (
            "late",
            "globalThis.kept = n.range(); globalThis.next = kept[Symbol.iterator](); \
             next.next(); return [];",
        ),
        ("after", "return [...globalThis.kept];"),
        ("resumed", "return [...globalThis.next];"),
    ]);
    fill(&site, 4);
    assert_eq!(
        site.text("/staged"),
        r#"["k000100 k001101 k0033 new1",false,"k000 k001",4,1,true]"#
    );
    fill(&site, 300);
    assert_eq!(site.text("/while"), "[301]", "and the one that it made");
    assert!(site.stored("notes", "k299").unwrap().contains(r#""seen":true"#));
    fill(&site, 20);
    site.text("/late");
    assert!(site.failure("/after").contains("the request is over"));
    assert!(site.failure("/resumed").contains("the request is over"));
}

#[test]
fn queries_take_values_safely() {
    let site = asking(&[
        ("values", "return [...n.query`i >= ${17} AND even = ${true}`.keys()];"),
        ("tags", "return [...n.query`tags:${'t1'} @key < ${'k006'}`.keys()];"),
        ("order", "return n.query`even = ${false}`.order('i desc').limit(2).map(([key]) => key);"),
        ("fields", "return n.query`i = 3`.fields('tags').map(([, value]) => value);"),
        ("evil", "return [...n.query`@key = ${'x\" OR @key:*'}`];"),
        (
            "date",
            "n.put('d', { due: new Date(5) }); \
             return [...n.query`due > ${new Date(4)}`.keys(), \
             ...n.query`due < ${new Date(4)}`.keys()];",
        ),
        (
            "pages",
            "const query = n.query`even = ${true}`.order('i desc').limit(3), pages = [];
             let cursor;
             do {
               const page = query.after(cursor);
               pages.push([...page.keys()].length);
               cursor = page.next;
             } while (cursor);
             return pages;",
        ),
        (
            "count",
            "return [n.query`even = ${true}`.count(), n.query().limit(1).count(), \
             [...n.query()].length];",
        ),
        (
            "documents",
            "const [d] = n.query`i = 4`.documents(); return [d.key, d.value.i, \
             d.updated.getTime()];",
        ),
    ]);
    fill(&site, 20);
    for (path, expected) in [
        ("/values", r#"["k018"]"#.to_owned()),
        ("/tags", r#"["k001","k004"]"#.to_owned()),
        ("/order", r#"["k019","k017"]"#.to_owned()),
        ("/fields", r#"[{"tags":["t0"]}]"#.to_owned()),
        ("/evil", "[]".to_owned()),
        ("/date", r#"["d"]"#.to_owned()),
        ("/pages", "[3,3,3,1]".to_owned()),
        ("/count", "[10,21,21]".to_owned()),
        ("/documents", format!(r#"["k004",4,{START_MS}]"#)),
    ] {
        assert_eq!(site.text(path), expected, "{path}");
    }
}

#[test]
fn results_are_read_only_and_say_so() {
    let site = asking(&[
        ("value", "for (const [, note] of n.range()) note.i = 0;"),
        ("array", "for (const [, note] of n.query()) note.tags.push('x');"),
        ("document", "for (const d of n.range().documents()) d.value = 1;"),
        ("date", "for (const d of n.range().documents()) d.created.setTime(0);"),
    ]);
    fill(&site, 1);
    for path in ["/value", "/array", "/document", "/date"] {
        let message = site.failure(path);
        assert!(message.contains("range and query give is read-only; use get(key)"), "{message}");
    }
}

#[test]
fn what_cannot_be_asked_is_refused() {
    let site = asking(&[
        ("string", "return [...n.query('i >= 3')];"),
        ("filter", "return [...n.query`i >= `];"),
        ("quoted", "return [...n.query`s = \"${'x'}\"`];"),
        ("object", "return [...n.query`i = ${{}}`];"),
        ("nan", "return [...n.query`i = ${NaN}`];"),
        ("missing", "return [...n.query`i = ${undefined}`];"),
        ("order", "return [...n.query().order('i,')];"),
        ("cursor", "return [...n.query().after('x')];"),
        ("limit", "return [...n.query().limit(10001)];"),
        ("half", "return [...n.range({ limit: 1.5 })];"),
        ("option", "return [...n.range({ form: 'a' })];"),
        ("type", "return [...n.range({ from: 5 })];"),
        ("key", "return [...n.range({ from: '' })];"),
    ]);
    fill(&site, 1);
    for (path, expected) in [
        ("/string", "db.notes: query is called with a template"),
        ("/filter", "the parameter filter, at character 6: expected a number"),
        ("/quoted", "a ${value} without quotes around it"),
        (
            "/object",
            "a value in a query is a text, a number, true, false, null or a Date; got an obj",
        ),
        ("/nan", "got NaN"),
        ("/missing", "got undefined"),
        ("/order", "the parameter order, at character 3: expected a name"),
        ("/cursor", "the parameter after: expected the \"next\" of a page"),
        ("/limit", "the parameter limit: expected a whole number from 0 to 10000"),
        ("/half", "range expects limit to be a whole number, got 1.5"),
        ("/option", "unknown option form of range; there are from, after, to, before, prefix"),
        ("/type", "range expects from to be a string"),
        ("/key", "a key is 1 to 512 bytes"),
    ] {
        let message = site.failure(path);
        assert!(message.contains(expected), "{path}: {message}");
    }
}

#[test]
fn large_documents_come_in_batches_and_broad_queries_need_an_index() {
    let site = asking(&[
        (
            "large",
            "let bytes = 0; for (const [, v] of db.large.range()) bytes += v.length; return \
             [bytes];",
        ),
        ("broad", "return [...n.query`i = ${5}`.keys()];"),
        ("counted", "return [n.query`i = ${5}`.count()];"),
    ]);
    for i in 0..12 {
        site.store_json("large", &format!("{i:02}"), &format!("\"{}\"", "x".repeat(700_000)));
    }
    assert_eq!(site.text("/large"), "[8400000]");
    let mut transaction = site.repository.begin().unwrap();
    let notes = CollectionName::new("notes").unwrap();
    for i in 0..10_000 {
        let key = repository::Key::new(&format!("n{i}")).unwrap();
        let body = format!("{{\"i\":{i}}}").into();
        transaction.put(&notes, &key, MediaType::Json, body, None).unwrap();
    }
    transaction.commit().unwrap();
    site.store_json("notes", "last", "{\"i\":5}");
    assert!(site.failure("/broad").contains("with the index by_i it would not have to"));
    assert!(site.failure("/counted").contains("to count, which is as far as a count goes"));
    let settings = r#"{"indexes":[{"name":"by_i","paths":[{"path":"/i"}]}]}"#;
    site.repository.configure(&notes, &Settings::from_json(settings).unwrap()).unwrap();
    site.wait_built();
    assert_eq!(text(&site.get("/broad")), r#"["last","n5"]"#);
    assert_eq!(site.text("/counted"), "[2]");
}
