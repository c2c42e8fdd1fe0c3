//! The worst that a visitor can send to functions of the engine which nothing interrupts. What is
//! promised is no time: a request that takes too long is ended by its CPU time, and no worker is
//! lost by it. And what stands in the place of such functions gives what they gave.

use crate::support::{PATIENCE, Setup, Site, request, site_with, text};
use gem::{Failure, FailureKind, Request};
use repository::json::check_names;
use rquickjs::{Context, Runtime};

const SETTINGS: &str = "[limits]\ncpu_ms = 200\nheap_bytes = 268435456\n";

fn site(routes: &str) -> Site {
    site_with(routes, Setup { settings: SETTINGS, ..Setup::default() })
}

/// Names of eight letters of which the engine's hash gives one value in its lower 16 bits.
fn alike(count: usize) -> Vec<String> {
    let hash = |name: &[u8]| {
        name.iter().fold(0_u32, |hash, b| hash.wrapping_mul(263).wrapping_add(u32::from(*b)))
    };
    let letters = |mut number: u32, length: usize| -> Vec<u8> {
        let next = |_| {
            let letter = b'a' + (number % 26) as u8;
            number /= 26;
            letter
        };
        (0..length).map(next).collect()
    };
    let mut ends: Vec<(u32, Vec<u8>)> =
        (0..26_u32.pow(3)).map(|n| letters(n, 3)).map(|end| (hash(&end) & 0xffff, end)).collect();
    ends.sort();
    let mut found = Vec::new();
    for start in (0..26_u32.pow(5)).map(|n| letters(n, 5)) {
        let wanted = 4711_u32.wrapping_sub(hash(&start).wrapping_mul(263_u32.pow(3))) & 0xffff;
        let first = ends.partition_point(|(hash, _)| *hash < wanted);
        for (_, end) in ends[first..].iter().take_while(|(hash, _)| *hash == wanted) {
            found.push(String::from_utf8([&start[..], end].concat()).unwrap());
        }
        if found.len() >= count {
            found.truncate(count);
            return found;
        }
    }
    panic!("there are only {}", found.len());
}

fn object(names: &[String]) -> String {
    let members: Vec<_> = names.iter().map(|name| format!("\"{name}\":0")).collect();
    format!("{{{}}}", members.join(","))
}

fn post(path: &str, content_type: &str, body: String) -> Request {
    let headers = vec![("content-type".to_owned(), content_type.to_owned())];
    Request { headers, body: body.into(), ..request("POST", path) }
}

/// It was ended by the engine or refused by a guard, or it did end, and no worker was lost by it.
fn assert_bounded(site: &Site, name: &str, outcome: Result<gem::Reply, Failure>) {
    let is_ended = match &outcome {
        Ok(reply) => reply.status < 500,
        Err(failure) => {
            matches!(failure.kind, FailureKind::CpuLimit | FailureKind::Handler)
                && !failure.fault.message.contains("replaced")
        }
    };
    assert!(is_ended, "{name}: {outcome:?}");
    assert_eq!(site.pool.load().lost, 0, "{name}");
    assert_eq!(site.text("/fine"), "fine", "{name}");
}

#[test]
fn names_that_hash_alike_are_refused_on_every_way_in() {
    let site = site(
        "app.get('/fine', () => 'fine');\n\
         app.post('/json', ({ request }) => String(Object.keys(request.json()).length));\n\
         app.post('/form', ({ request }) => String(Object.keys(request.form()).length));\n\
         app.post('/query', ({ query }) => String(Object.keys(query).length));\n\
         app.post('/parse', ({ request }) => { try { JSON.parse(request.text()); } \
            catch (error) { return error.message; } });\n\
         app.post('/revived', ({ request }) => { try { JSON.parse(request.text(), (k, v) => v); } \
            catch (error) { return error.message; } });\n\
         app.post('/put', ({ db, request }) => { const made = {};\n\
            for (const name of request.text().split(',')) made[name] = 1;\n\
            try { db.n.put('a', made); } catch (error) { return error.message; } });\n\
         app.post('/add', ({ db, request }) => { try {\n\
            for (const name of request.text().split(',')) db.n.add('b', '/' + name, 1);\n\
            } catch (error) { return error.message; } });",
    );
    let names = alike(600);
    assert!(check_names(&object(&names)).is_err());
    let why = "more than 16 names hash to one value";
    let form = names.join("=&");
    let boundary: String = names
        .iter()
        .map(|name| format!("--x\r\ncontent-disposition: form-data; name=\"{name}\"\r\n\r\n\r\n"))
        .collect();
    let refused = [
        post("/json", "application/json", object(&names)),
        post("/form", "application/x-www-form-urlencoded", form.clone()),
        post("/form", "multipart/form-data; boundary=x", boundary + "--x--"),
        Request { query: form, ..request("POST", "/query") },
    ];
    for request in refused {
        let reply = site.send(request).unwrap();
        assert_eq!(reply.status, 400);
        assert!(text(&reply).contains(why), "{}", text(&reply));
    }
    for (path, body) in [
        ("/parse", object(&names)),
        ("/revived", object(&names)),
        ("/put", names.join(",")),
        ("/add", names.join(",")),
    ] {
        let reply = site.send(post(path, "text/plain", body)).unwrap();
        assert!(text(&reply).contains(why), "{path}: {}", text(&reply));
    }
    assert_eq!(site.stored("n", "a"), None);
    // What ordinary people send.
    let names: Vec<_> = (0..20_000).map(|n| format!("name{n}")).collect();
    let reply = site.send(post("/json", "application/json", object(&names))).unwrap();
    assert_eq!(text(&reply), "20000");
}

/// Names that a handler takes out of a text itself are ended with its CPU time.
#[test]
fn names_that_hash_alike_and_are_no_json_are_ended_with_the_cpu_time() {
    let site = site(
        "app.get('/fine', () => 'fine');\n\
         const names = ({ request }) => request.text().split(',');\n\
         app.post('/computed', (c) => { const o = {}; for (const n of names(c)) o[n] = 1; });\n\
         app.post('/map', (c) => { let m = new Map(); for (const n of names(c)) m.set(n, 0); });\n\
         app.post('/set', (c) => String(new Set(names(c)).size));\n\
         app.post('/group', (c) => Object.keys(Object.groupBy(names(c), (n) => n)).length);\n\
         app.post('/groups', (c) => Map.groupBy(names(c), (n) => n).size);\n\
         app.post('/entries', (c) => Object.keys(Object.fromEntries(names(c).map((n) => [n, 1])))\
            .length);",
    );
    let body = alike(30_000).join(",");
    for path in ["/computed", "/map", "/set", "/group", "/groups", "/entries"] {
        let outcome = site.send(post(path, "text/plain", body.clone()));
        let is_ended = matches!(outcome, Err(Failure { kind: FailureKind::CpuLimit, .. }));
        assert!(is_ended, "{path}: {outcome:?}");
        assert_bounded(&site, path, outcome);
    }
}

/// Bodies of handlers that look for something in texts, and the like.
fn long_searches() -> Vec<(&'static str, String)> {
    let a = "const a = 'a'.repeat(1e6), ab = 'a'.repeat(5e5) + 'b';";
    let marks = "const marks = 'a' + '\\u0301\\u0316'.repeat(1e5);";
    vec![
        ("includes", format!("{a} a.includes(ab);")),
        ("includes, a list", format!("{a} a.includes([ab]);")),
        ("indexOf", format!("{a} a.indexOf(ab);")),
        ("lastIndexOf", format!("{a} a.lastIndexOf('b' + ab);")),
        ("split", format!("{a} a.split(ab);")),
        ("replace", format!("{a} a.replace(ab, '');")),
        ("replaceAll", format!("{a} a.replaceAll(ab, '');")),
        ("half a pair", format!("{a} ('\\ud800' + a).includes(ab);")),
        ("half a pair, from behind", format!("{a} ('\\ud800' + a).lastIndexOf('b' + ab);")),
        ("short searches", format!("{a} for (;;) a.includes('b');")),
        ("one letter for two", format!("{a} for (;;) a.replaceAll('a', 'bc');")),
        ("normalize", format!("{marks} marks.normalize('NFC');")),
        ("localeCompare", format!("{marks} 'a'.localeCompare(marks);")),
        ("BigInt of a text", "BigInt('9'.repeat(1e6));".to_owned()),
        ("the text of a bigint", "(1n << 1000000n).toString();".to_owned()),
    ]
}

/// Others.
fn long_work() -> Vec<(&'static str, String)> {
    let list = "const list = Array.from({ length: 1e5 }, (_, i) => i);";
    vec![
        (
            "a class of a pattern",
            "const letters = Array.from({ length: 60000 }, (_, i) => \
            String.fromCharCode(65000 - i)).join('');\n\
            new RegExp('[' + letters.replace(/[^\\p{L}]/gu, '') + ']', 'i');"
                .to_owned(),
        ),
        ("a pattern", "new RegExp('a|'.repeat(1e6));".to_owned()),
        ("a pattern, called", "RegExp('a|'.repeat(1e6));".to_owned()),
        ("a pattern of match", "'b'.match('a|'.repeat(1e6));".to_owned()),
        ("matching", "'a'.repeat(1e6).split(/a{900}b/);".to_owned()),
        ("backtracking", "/(a+)+b/.test('a'.repeat(60));".to_owned()),
        (
            "sort",
            "Array.from({ length: 3e5 }, (_, i) => 'a'.repeat(30) + ((i * 7919) % 3e5))\
            .sort();"
                .to_owned(),
        ),
        (
            "shift",
            "const queue = new Array(3e5).fill(1); while (queue.length > 0) queue.shift();"
                .to_owned(),
        ),
        ("without doubles", format!("{list} list.filter((x, i) => list.indexOf(x) === i);")),
        (
            "without doubles, otherwise",
            format!(
                "{list} const seen = []; \
            for (const x of list) if (!seen.includes(x)) seen.push(x);"
            ),
        ),
        ("joining", format!("{list} for (;;) list.join();")),
        (
            "deep JSON",
            "JSON.stringify(JSON.parse('{\"a\":'.repeat(1500) + '[' + '{},'.repeat(3e5) \
            + '0]' + '}'.repeat(1500)));"
                .to_owned(),
        ),
        (
            "numbers",
            "Number('1' + '0'.repeat(1e6) + '1'); parseFloat('0.' + '0'.repeat(1e6)); \
            parseInt('1'.repeat(1e6), 3);"
                .to_owned(),
        ),
        (
            "dates",
            "Date.parse('1'.repeat(1e6)); new Date('2020-01-01T' + '0'.repeat(1e6));".to_owned(),
        ),
        (
            "letters",
            "('Σ' + \"'\".repeat(1e6)).toLowerCase(); 'aΣ'.repeat(3e5).toLowerCase();".to_owned(),
        ),
    ]
}

#[test]
fn functions_of_the_engine_end_with_the_cpu_time() {
    let cases = [long_searches(), long_work()].concat();
    let routes: String = cases
        .iter()
        .enumerate()
        .map(|(number, (_, body))| format!("app.get('/{number}', () => {{ {body} }});\n"))
        .collect();
    let site = site(&format!("app.get('/fine', () => 'fine');\n{routes}"));
    for (number, (name, _)) in cases.iter().enumerate() {
        let outcome = site.send(request("GET", &format!("/{number}")));
        assert_bounded(&site, name, outcome);
    }
}

/// The pieces are between looks at the clock: text without names that hash alike, which still
/// takes long, as its objects have all different members.
#[test]
fn a_long_text_of_json_ends_with_the_cpu_time() {
    let site = site(
        "app.get('/fine', () => 'fine');\n\
         app.post('/', ({ request }) => { for (;;) JSON.parse(request.text()); });",
    );
    let body = format!("[{}0]", "{\"a\":1},".repeat(100_000));
    let outcome = site.send(post("/", "application/json", body));
    assert!(matches!(outcome, Err(Failure { kind: FailureKind::CpuLimit, .. })), "{outcome:?}");
    assert_bounded(&site, "JSON.parse", outcome);
}

/// A script that gives the same text in the engine as it comes, and in a handler.
fn assert_same(script: &str) {
    let plain = Runtime::new().unwrap();
    let context = Context::full(&plain).unwrap();
    let expected: String =
        context.with(|ctx| ctx.eval(format!("(() => {{ {script} }})()"))).unwrap();
    let site = site_with(&format!("app.get('/', () => {{ {script} }});"), Setup::default());
    let got = site.text("/");
    assert!(expected.len() > 1000, "{expected}");
    let differs = expected.bytes().zip(got.bytes()).position(|(a, b)| a != b);
    let at = differs.unwrap_or(0).saturating_sub(100);
    let excerpt = |text: &str| text.chars().skip(at).take(300).collect::<String>();
    assert!(expected == got, "{PATIENCE:?}\n{}\n{}", excerpt(&expected), excerpt(&got));
}

const DRAWS: &str = include_str!("worst/draws.js");

#[test]
fn searches_give_what_the_engine_gives() {
    assert_same(&format!("{DRAWS}{}", include_str!("worst/searches.js")));
}

#[test]
fn conversions_give_what_the_engine_gives() {
    assert_same(&format!("{DRAWS}{}", include_str!("worst/conversions.js")));
}
