//! Queries over HTTP: parameters, pages, refusals, and pages while others write.

use crate::site::{Reply, SetAtEnd, Site, bare, get};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// The text after `"name":"` up to the next quote.
fn member<'a>(body: &'a str, name: &str) -> Option<&'a str> {
    let (_, after) = body.split_once(&format!("\"{name}\":\""))?;
    after.split_once('"').map(|(value, _)| value)
}

fn keys(body: &str) -> Vec<&str> {
    body.split("{\"key\":\"").skip(1).map(|entry| entry.split_once('"').unwrap().0).collect()
}

fn ask(site: &Site, query: &str) -> Reply {
    site.ask(&get(&format!("/db/notes?{query}")))
}

fn with_notes() -> Site {
    let site = Site::start();
    for (key, json) in [
        ("a", r#"{"state":"open","n":3}"#),
        ("b", r#"{"state":"open","n":1,"tags":["x","y"]}"#),
        ("c", r#"{"state":"done","n":2}"#),
    ] {
        site.put(&format!("/db/notes/{key}"), json);
    }
    site
}

#[test]
fn documents_are_listed_filtered_and_ordered() {
    let site = with_notes();
    let reply = site.ask(&get("/db/notes"));
    assert_eq!((reply.status, reply.field("content-type")), (200, Some("application/json")));
    assert_eq!(keys(&reply.body), ["a", "b", "c"]);
    assert!(reply.body.contains(r#""value":{"state":"open","n":3}}"#), "{}", reply.body);
    assert!(reply.field("sarsen-commit").is_some() && reply.field("link").is_none());
    for (query, expected) in [
        ("filter=state%3Dopen", vec!["a", "b"]),
        ("filter=state+%3D+open+AND+n+%3E+1", vec!["a"]),
        ("filter=tags:y", vec!["b"]),
        ("order=n", vec!["b", "c", "a"]),
        ("order=n%20desc&limit=2", vec!["a", "c"]),
        ("filter=NOT+tags:*&order=@key+desc", vec!["c", "a"]),
        ("limit=0", vec![]),
    ] {
        let reply = ask(&site, query);
        assert_eq!((reply.status, keys(&reply.body)), (200, expected), "{query}");
    }
    let reply = ask(&site, "fields=n&count=true&explain=true&limit=1");
    assert!(reply.body.contains(r#""value":{"n":3}}"#), "{}", reply.body);
    assert!(reply.body.contains(r#""count":{"value":3,"exact":true}"#), "{}", reply.body);
    assert!(reply.body.contains(r#""explain":{"index":null,"#), "{}", reply.body);
    let head = site.ask(&bare("HEAD", "/db/notes", ""));
    assert_eq!((head.status, head.field("content-type")), (200, Some("application/json")));
}

#[test]
fn rfc8288_3_a_link_leads_to_the_next_page() {
    let site = with_notes();
    let mut path = "/db/notes?filter=n%3E0&order=n&limit=1".to_owned();
    let mut seen = Vec::new();
    loop {
        let reply = site.ask(&get(&path));
        assert_eq!(reply.status, 200, "{reply:?}");
        seen.extend(keys(&reply.body).into_iter().map(str::to_owned));
        let Some(link) = reply.field("link") else { break };
        let target = link.strip_prefix('<').unwrap().strip_suffix(">; rel=\"next\"").unwrap();
        assert!(target.ends_with(member(&reply.body, "next").unwrap()), "{link}");
        path = format!("/db/notes{target}");
    }
    assert_eq!(seen, ["b", "c", "a"]);
}

#[test]
fn mistakes_are_problems_that_name_their_place() {
    let site = with_notes();
    for (query, problem, part) in [
        ("filtre=a", "invalid-parameter", "\\\"filtre\\\" is not known here"),
        ("limit=x", "invalid-parameter", "\"parameter\":\"limit\""),
        ("limit=1&limit=1", "invalid-parameter", "several times"),
        ("after=x", "invalid-parameter", "\"parameter\":\"after\""),
        ("filter=%4", "invalid-parameter", "hexadecimal"),
        ("order=n+up", "invalid-parameter", "\"position\":3"),
        ("filter=n+%3E", "invalid-filter", "\"position\":4"),
        ("filter=n+and+n", "invalid-filter", "a comparator"),
    ] {
        let reply = ask(&site, query);
        assert_eq!((reply.status, reply.problem()), (400, problem), "{query}: {}", reply.body);
        assert!(reply.body.contains(part), "{query}: {}", reply.body);
    }
    let absent = site.ask(&get("/db/none"));
    assert_eq!((absent.status, absent.problem()), (404, "not-found"));
    assert!(absent.body.contains("there is no collection none"), "{}", absent.body);
    assert_eq!(site.ask(&get("/db/_collections")).status, 404);
    // A cursor of another query.
    let page = ask(&site, "order=n&limit=1");
    let cursor = member(&page.body, "next").unwrap();
    let refused = ask(&site, &format!("order=n+desc&limit=1&after={cursor}"));
    assert_eq!(refused.problem(), "invalid-parameter");
    assert!(refused.body.contains("a page of the same query"), "{}", refused.body);
}

#[test]
fn a_query_that_reads_too_much_is_refused_and_answered_with_the_index() {
    let site = Site::start();
    let notes = repository::CollectionName::new("notes").unwrap();
    for part in 0..3 {
        let mut transaction = site.repository.begin().unwrap();
        for i in 0..4_000 {
            let key = repository::Key::new(&format!("{part}{i:04}")).unwrap();
            let body = format!("{{\"n\":{i}}}").into();
            let media_type = repository::MediaType::Json;
            transaction.put(&notes, &key, media_type, body, None).unwrap();
        }
        transaction.commit().unwrap();
    }
    // More than the reactor does itself, and not too much.
    let reply = ask(&site, "filter=n%3D3999&limit=1");
    assert_eq!((reply.status, keys(&reply.body)), (200, vec!["03999"]));
    let refused = ask(&site, "filter=n%3D-1");
    assert_eq!((refused.status, refused.problem()), (422, "query-too-broad"));
    let settings = r#"{"indexes":[{"name":"by_n","paths":[{"path":"/n","kind":"number"}]}]}"#;
    let shown = r#""settings":{"indexes":[{"#;
    assert!(refused.body.contains(shown), "{}", refused.body);
    let fields = format!(
        "Content-Type: application/merge-patch+json\r\nContent-Length: {}\r\n",
        settings.len()
    );
    let patched = site.ask(&(bare("PATCH", "/db/notes", &fields) + settings));
    assert_eq!(patched.status, 204, "{patched:?}");
    crate::site::until(|| site.ask(&get("/db/notes?status")).body.contains(r#""state":"ready""#));
    let reply = ask(&site, "filter=n%3D7&explain=true");
    assert_eq!(keys(&reply.body), ["00007", "10007", "20007"]);
    assert!(reply.body.contains(r#""index":"by_n""#), "{}", reply.body);
}

#[test]
fn pages_hold_everything_that_stays_while_others_write() {
    const STAYING: usize = 150;
    let site = Site::start();
    for i in 0..STAYING {
        site.put(&format!("/db/notes/s{i:03}"), &format!("{{\"n\":{}}}", i % 7));
    }
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        for writer in 0..2 {
            let (site, is_over) = (&site, &is_over);
            scope.spawn(move || {
                let mut client = site.connect();
                for i in 0.. {
                    if is_over.load(Ordering::Relaxed) {
                        break;
                    }
                    let path =
                        format!("/db/notes/{}{writer}{:03}", ["a", "s1", "z"][i % 3], i % 40);
                    let json = format!("{{\"n\":{}}}", i % 9);
                    client.ask(&crate::site::put(&path, "", &json));
                    if i % 2 == 0 {
                        client.ask(&bare("DELETE", &path, ""));
                    }
                }
            });
        }
        let _over = SetAtEnd(&is_over);
        let expected: Vec<String> = {
            let mut all: Vec<usize> = (0..STAYING).collect();
            all.sort_by_key(|i| (std::cmp::Reverse(i % 7), std::cmp::Reverse(*i)));
            all.into_iter().map(|i| format!("s{i:03}")).collect()
        };
        for _ in 0..5 {
            let mut seen = Vec::new();
            let mut after = String::new();
            loop {
                let reply = ask(&site, &format!("order=n+desc&limit=7{after}"));
                assert_eq!(reply.status, 200, "{reply:?}");
                seen.extend(keys(&reply.body).into_iter().map(str::to_owned));
                let Some(next) = member(&reply.body, "next") else { break };
                after = format!("&after={next}");
            }
            seen.retain(|key| expected.contains(key));
            assert_eq!(seen, expected);
        }
    });
}

#[test]
fn no_page_reveals_what_is_not_durable() {
    let site = Site::start();
    site.put("/db/notes/a", "0");
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let _over = SetAtEnd(&is_over);
            let mut client = site.connect();
            for i in 0..200 {
                client.ask(&crate::site::put("/db/notes/a", "", &i.to_string()));
            }
        });
        while !is_over.load(Ordering::Relaxed) {
            let reply = site.ask(&get("/db/notes"));
            let durable = site.repository.durable().unwrap();
            let (_, after) = reply.body.split_once("\"version\":").unwrap();
            let version: u64 = after.split_once(',').unwrap().0.parse().unwrap();
            assert!(durable.0 >= version, "{version} was shown when {durable} was durable");
        }
    });
}

#[test]
fn documents_that_fill_a_page_by_themselves_are_listed_one_by_one() {
    let site = Site::start();
    for key in ["a", "b", "c", "d", "e"] {
        let large = format!("\"{}\"", "x".repeat(faces::limits::BODY_BYTES_MAX - 2));
        site.put(&format!("/db/notes/{key}"), &large);
    }
    let (mut query, mut seen) = ("fields=@key".to_owned(), Vec::new());
    loop {
        let reply = ask(&site, &query);
        assert_eq!(reply.status, 200, "{}", reply.body);
        seen.extend(keys(&reply.body).into_iter().map(str::to_owned));
        let Some(next) = member(&reply.body, "next") else { break };
        query = format!("fields=@key&after={next}");
    }
    assert_eq!(seen, ["a", "b", "c", "d", "e"]);
}

#[test]
fn places_in_arrays_signs_and_surrogates_mean_what_is_written() {
    let site = Site::start();
    site.put("/db/notes/a", r#"{"n":1,"tags":["x","y"],"of":[{"n":1,"m":2},7],"mark":"😀"}"#);
    for (fields, value) in [
        ("tags.0", r#"{"tags":["x"]}"#),
        ("tags.1,n", r#"{"n":1,"tags":["y"]}"#),
        ("tags.2", r#"{"tags":[]}"#),
        ("of.0.m", r#"{"of":[{"m":2}]}"#),
        ("of.1,of.m", r#"{"of":[{"m":2},7]}"#),
        ("of.m", r#"{"of":[{"m":2}]}"#),
    ] {
        let reply = ask(&site, &format!("fields={fields}"));
        assert!(reply.body.contains(&format!("\"value\":{value}}}")), "{fields}: {}", reply.body);
    }
    for (query, words) in [
        ("order=-n", "descending is written \"n desc\""),
        ("order=tags,-of.n", "descending is written \"of.n desc\""),
        ("order=%22n%22,-%22a%20b%22", "descending is written \"\"a b\" desc\""),
        ("fields=-n", "nothing is left out by -"),
        ("filter=mark%3D%22%5Cud83d%22", "a whole character"),
        ("filter=mark%3D%22%5Cude00%5Cud83d%22", "a whole character"),
    ] {
        let reply = ask(&site, query);
        assert_eq!(reply.status, 400, "{query}: {reply:?}");
        let detail = reply.json()["detail"].as_str().unwrap().to_owned();
        assert!(detail.contains(words), "{query}: {detail}");
    }
    for query in [
        "filter=mark%3D%22%5Cud83d%5Cude00%22",
        "filter=mark%3D%22%5CuD83D*%22",
        "filter=mark%3D%22%F0%9F%98%80%22",
        "order=n%20desc",
        "order=%22n%22%20desc",
    ] {
        let expected = if query.contains('*') { 400 } else { 200 };
        let reply = ask(&site, query);
        assert_eq!(reply.status, expected, "{query}: {reply:?}");
        assert!(expected == 400 || keys(&reply.body) == ["a"], "{query}: {reply:?}");
    }
}
