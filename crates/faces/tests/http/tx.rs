//! POST /tx: lists of operations, all or none.

use crate::site::{SetAtEnd, Site, get, patch, put, until, with_type};
use serde_json::json;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

#[test]
fn a_list_takes_effect_as_a_whole_and_tells_what_each_came_to() {
    let site = Site::start();
    let kept = site.put("/db/notes/kept", r#"{"n":1}"#);
    site.put("/db/notes/gone", "1");
    let reply = site.transact(
        "",
        "",
        r#"[
        {"op":"get","collection":"notes","key":"kept"},
        {"op":"get","collection":"notes","key":"absent"},
        {"op":"put","collection":"notes","key":"a/b","value":{"x": 1.0}},
        {"op":"get","collection":"notes","key":"a/b"},
        {"op":"create","collection":"others","value":[]},
        {"op":"merge-patch","collection":"notes","key":"kept","patch":{"m":2},
         "return":"representation"},
        {"op":"json-patch","collection":"notes","key":"kept","patch":[{"op":"remove","path":"/m"}]},
        {"op":"merge","collection":"notes","key":"kept",
         "patch":[{"op":"add","path":"/n","value":1}]},
        {"op":"delete","collection":"notes","key":"gone"}
        ]"#,
    );
    assert_eq!(reply.status, 200, "{}", reply.body);
    assert_eq!(reply.field("sarsen-durability"), Some("synced"));
    let body = reply.json();
    let results = body["results"].as_array().unwrap();
    let statuses: Vec<_> =
        results.iter().map(|result| result["status"].as_u64().unwrap()).collect();
    assert_eq!(statuses, [200, 404, 201, 200, 201, 200, 204, 204, 204]);
    let commit = reply.field("sarsen-commit").unwrap();
    assert_eq!(body["commit"].to_string(), commit);
    let own = json!(format!("\"{commit}\""));
    assert_eq!((&results[0]["etag"], &results[0]["document"]), (&json!(kept), &json!({"n": 1})));
    assert_eq!(results[2]["etag"], own);
    assert_eq!((&results[3]["etag"], &results[3]["document"]), (&own, &json!({"x": 1})));
    assert_eq!(results[5]["document"], json!({"n": 1, "m": 2}));
    assert_eq!(site.ask(&get("/db/notes/kept")).body, r#"{"n":2}"#);
    assert_eq!(site.ask(&get("/db/notes/a%2Fb")).body, r#"{"x":1}"#);
    assert_eq!(site.ask(&get("/db/notes/gone")).status, 404);
    let made = site.ask(&get(results[4]["location"].as_str().unwrap()));
    assert_eq!((made.body.as_str(), made.field("etag")), ("[]", own.as_str()));
}

#[test]
fn every_precondition_that_fails_is_named_and_nothing_is_done() {
    let site = Site::start();
    let old = site.put("/db/notes/a", "1");
    let etag = site.put("/db/notes/a", "2");
    let list = json!([
        {"op": "put", "collection": "notes", "key": "b", "value": 1},
        {"op": "put", "collection": "notes", "key": "a", "value": 3, "if_match": old},
        {"op": "put", "collection": "notes", "key": "a", "value": 4, "if_match": etag},
        {"op": "delete", "collection": "notes", "key": "a", "if_none_match": "*"},
        {"op": "get", "collection": "notes", "key": "absent", "if_match": "*"},
    ]);
    let reply = site.transact("", "", &list.to_string());
    assert_eq!((reply.status, reply.problem()), (412, "precondition-failed"), "{}", reply.body);
    let body = reply.json();
    let failed = body["failed"].as_array().unwrap();
    let indexes: Vec<_> = failed.iter().map(|failed| &failed["operation"]).collect();
    assert_eq!(indexes, [1, 3, 4]);
    assert_eq!((&failed[0]["etag"], &failed[2]["etag"]), (&json!(etag), &json!(null)));
    assert!(failed.iter().all(|failed| failed["status"] == 412));
    assert_eq!(site.ask(&get("/db/notes/a")).body, "2");
    assert_eq!(site.ask(&get("/db/notes/b")).status, 404);
}

#[test]
fn conditions_are_about_what_was_there_before_the_list() {
    let site = Site::start();
    let etag = site.put("/db/notes/a", "1");
    let list = json!([
        {"op": "put", "collection": "notes", "key": "a", "value": 2, "if_match": etag},
        {"op": "put", "collection": "notes", "key": "a", "value": 3, "if_match": etag},
        {"op": "get", "collection": "notes", "key": "b", "if_none_match": "*"},
    ]);
    let reply = site.transact("", "", &list.to_string());
    assert_eq!(reply.status, 200, "{}", reply.body);
    assert_eq!(site.ask(&get("/db/notes/a")).body, "3");
    let etag = site.ask(&get("/db/notes/a")).field("etag").unwrap().to_owned();
    let list =
        json!([{"op": "get", "collection": "notes", "key": "a", "if_none_match": ["\"1\"", etag]}]);
    assert_eq!(site.transact("", "", &list.to_string()).json()["results"][0]["status"], 304);
}

#[test]
fn an_operation_that_cannot_be_done_is_named() {
    let site = Site::start();
    site.put("/db/notes/a", r#"{"n":"x"}"#);
    let first = r#"{"op":"put","collection":"notes","key":"b","value":1}"#;
    for (second, status, problem, inner) in [
        (r#"{"op":"delete","collection":"notes","key":"absent"}"#, 409, "step-failed", "not-found"),
        (
            r#"{"op":"merge-patch","collection":"notes","key":"absent","patch":{}}"#,
            409,
            "step-failed",
            "not-found",
        ),
        (
            r#"{"op":"json-patch","collection":"notes","key":"a",
                "patch":[{"op":"remove","path":"/z"}]}"#,
            409,
            "step-failed",
            "patch-mismatch",
        ),
        (
            r#"{"op":"merge","collection":"notes","key":"a",
                "patch":[{"op":"add","path":"/n","value":1}]}"#,
            409,
            "step-failed",
            "patch-mismatch",
        ),
    ] {
        let reply = site.transact("", "", &format!("[{first},{second}]"));
        assert_eq!((reply.status, reply.problem()), (status, problem), "{second}");
        let failed = &reply.json()["failed"][0];
        assert_eq!(failed["operation"], 1);
        assert_eq!(failed["type"], format!("/errors/{inner}"));
        assert_eq!(site.ask(&get("/db/notes/b")).status, 404, "nothing was done");
    }
}

#[test]
fn what_is_no_list() {
    let site = Site::start();
    for (body, problem, pointer) in [
        ("{", "invalid-json", None),
        ("{}", "invalid-transaction", Some("")),
        (
            r#"[{"op":"get","collection":"notes","key":"a"},{"op":"x"}]"#,
            "invalid-transaction",
            Some("/1/op"),
        ),
        (
            r#"[{"op":"get","collection":"_answers","key":"a"}]"#,
            "invalid-transaction",
            Some("/0/collection"),
        ),
    ] {
        let reply = site.transact("", "", body);
        assert_eq!((reply.status, reply.problem()), (400, problem), "{body}");
        assert_eq!(reply.json()["pointer"].as_str(), pointer, "{body}");
    }
    assert_eq!(site.transact("?isolation=none", "", "[]").problem(), "bad-request");
    let reply = site.ask(&with_type("POST", "/tx", ("text/plain", ""), "[]"));
    assert_eq!((reply.status, reply.field("accept")), (415, Some("application/json")));
    assert_eq!(site.transact("", "", "[]").json()["results"], json!([]));
}

#[test]
fn preferences_and_isolation() {
    let site = Site::start();
    let list = r#"[{"op":"put","collection":"notes","key":"a","value":1},
        {"op":"put","collection":"notes","key":"b","value":2,"return":"minimal"}]"#;
    for query in ["", "?isolation=serializable", "?isolation=snapshot"] {
        let reply = site.transact(query, "Prefer: return=representation\r\n", list);
        assert_eq!(reply.status, 200, "{}", reply.body);
        let results = &reply.json()["results"];
        assert_eq!(results[0]["document"], 1, "{query}");
        assert_eq!(results[1].get("document"), None, "{query}");
    }
}

#[test]
fn texts_that_are_not_json_are_told_as_strings() {
    let site = Site::start();
    assert_eq!(site.ask(&with_type("PUT", "/db/notes/a", ("text/plain", ""), "x\"y")).status, 201);
    let reply = site.transact("", "", r#"[{"op":"get","collection":"notes","key":"a"}]"#);
    let result = &reply.json()["results"][0];
    assert_eq!((&result["media_type"], &result["text"]), (&json!("text/plain"), &json!("x\"y")));
}

#[test]
fn transfers_between_documents_keep_their_sum() {
    const CLIENTS: usize = 4;
    const EACH: usize = 40;
    let site = Site::start();
    for key in ["a", "b"] {
        site.put(&format!("/db/accounts/{key}"), r#"{"n":1000}"#);
    }
    let amount = |reply: &serde_json::Value, i: usize| {
        let result = &reply["results"][i];
        (result["document"]["n"].as_i64().unwrap(), result["etag"].clone())
    };
    thread::scope(|scope| {
        for client in 0..CLIENTS {
            let site = &site;
            scope.spawn(move || {
                let read = r#"[{"op":"get","collection":"accounts","key":"a"},
                    {"op":"get","collection":"accounts","key":"b"}]"#;
                for _ in 0..EACH {
                    // Of all that try at once one succeeds.
                    for tries in 0.. {
                        assert!(tries < 10_000, "it always loses");
                        let seen = site.transact("", "", read).json();
                        let ((a, a_tag), (b, b_tag)) = (amount(&seen, 0), amount(&seen, 1));
                        assert_eq!(a + b, 2000, "one view");
                        let moved = i64::try_from(client).unwrap() + 1;
                        let list = json!([
                            {"op": "put", "collection": "accounts", "key": "a",
                             "value": {"n": a - moved}, "if_match": a_tag},
                            {"op": "put", "collection": "accounts", "key": "b",
                             "value": {"n": b + moved}, "if_match": b_tag},
                        ]);
                        match site.transact("", "", &list.to_string()).status {
                            200 => break,
                            412 => {}
                            other => panic!("{other}"),
                        }
                    }
                }
            });
        }
    });
    let moved = EACH * (1..=CLIENTS).sum::<usize>();
    assert_eq!(site.ask(&get("/db/accounts/a")).body, format!(r#"{{"n":{}}}"#, 1000 - moved));
}

#[test]
fn a_conflict_is_reported_to_those_who_ask() {
    let site = Site::start();
    site.put("/db/notes/a", r#"{"n":0}"#);
    let done = AtomicBool::new(false);
    let is_done = || done.load(Ordering::Relaxed);
    let report = thread::scope(|scope| {
        for client in 0..2 {
            let (site, is_done) = (&site, &is_done);
            scope.spawn(move || {
                let mut connection = site.connect();
                let mut n = 0;
                while !is_done() {
                    n += 1;
                    connection.ask(&put("/db/notes/a", "", &format!(r#"{{"n":[{client},{n}]}}"#)));
                }
            });
        }
        // Many reads make the time in which it can lose long.
        let read = r#"{"op":"get","collection":"notes","key":"a"}"#;
        let list = format!(
            r#"[{},{{"op":"put","collection":"notes","key":"b","value":1}}]"#,
            vec![read; 900].join(",")
        );
        let mut connection = site.connect();
        let request = crate::site::with_json("POST", "/tx?conflict=report", "", &list);
        let _done = SetAtEnd(&done);
        let mut report = None;
        until(|| {
            // Never 503: where others have their turn in the serial lane, it waits for its own.
            report = Some(connection.ask(&request)).filter(|r| r.status != 200);
            report.is_some()
        });
        report.unwrap()
    });
    assert_eq!((report.status, report.problem()), (409, "conflict"), "{}", report.body);
    let json = report.json();
    let document = &json["documents"][0];
    assert_eq!((&document["collection"], &document["key"]), (&json!("notes"), &json!("a")));
    assert!(document["competitor"].as_u64() <= json["competitor"].as_u64());
    assert_eq!(document["paths"][0].as_str().map(|path| path.starts_with("/n")), Some(true));
}

/// The text of a JSON document of about so many bytes, whose first member is found at once.
fn large(bytes: usize) -> String {
    format!(r#"{{"n":1,"x":"{}"}}"#, "x".repeat(bytes))
}

#[test]
fn the_results_of_a_list_show_so_much_and_no_more() {
    let site = Site::start();
    site.put("/db/notes/a", &large(7 << 20));
    let gets = |count: usize| {
        let get = r#"{"op":"get","collection":"notes","key":"a"}"#;
        format!("[{}]", vec![get; count].join(","))
    };
    assert_eq!(site.transact("", "", &gets(2)).status, 200);
    let refused = site.transact("", "", &gets(3));
    assert_eq!((refused.status, refused.problem()), (422, "unprocessable"), "{}", refused.body);
    assert_eq!(refused.json()["failed"][0]["operation"], 2);
    let patch = json!({"op": "merge", "collection": "notes", "key": "a",
        "patch": [{"op": "add", "path": "/n", "value": 1}]});
    let shown = json!([patch, patch, patch]).to_string();
    let refused = site.transact("", "Prefer: return=representation\r\n", &shown);
    assert_eq!((refused.status, refused.problem()), (422, "unprocessable"), "{}", refused.body);
    assert!(site.ask(&get("/db/notes/a")).body.starts_with(r#"{"n":1,"#), "nothing was changed");
}

#[test]
fn the_patches_of_a_list_may_do_so_much_and_no_more() {
    let site = Site::start();
    site.put("/db/notes/a", &large(8_000_000));
    let test = json!({"op": "test", "path": "/n", "value": 1});
    let step = |count: usize| {
        let patch = vec![&test; count];
        json!({"op": "json-patch", "collection": "notes", "key": "a", "patch": patch})
    };
    assert_eq!(site.transact("", "", &json!([step(70)]).to_string()).status, 200);
    let refused = site.transact("", "", &json!([step(70), step(70)]).to_string());
    assert_eq!((refused.status, refused.problem()), (422, "unprocessable"), "{}", refused.body);
    assert_eq!(refused.json()["failed"][0]["operation"], 1);

    let add = |at: usize| json!({"op": "add", "path": format!("/n{at}"), "value": 1});
    let adds: Vec<_> = (0..9).map(add).collect();
    let step = json!({"op": "merge", "collection": "notes", "key": "a", "patch": adds});
    let refused = site.transact("", "", &json!([step]).to_string());
    assert_eq!((refused.status, refused.problem()), (422, "unprocessable"), "{}", refused.body);
    let refused = site.ask(&patch("vnd.sarsen.merge", "/db/notes/a", "", &json!(adds).to_string()));
    assert_eq!((refused.status, refused.problem()), (422, "unprocessable"), "{}", refused.body);
    assert!(site.ask(&get("/db/notes/a")).body.starts_with(r#"{"n":1,"x""#), "nothing was changed");
}

#[test]
fn rfc9110_13_1_1_if_match_is_false_of_a_list() {
    let site = Site::start();
    let etag = site.put("/db/notes/a", "1");
    let list = r#"[{"op":"put","collection":"notes","key":"a","value":2}]"#;
    for condition in [format!("If-Match: {etag}\r\n"), "If-Match: *\r\n".to_owned()] {
        let reply = site.transact("", &condition, list);
        assert_eq!((reply.status, reply.problem()), (412, "precondition-failed"), "{condition}");
        assert!(reply.body.contains("if_match"), "{}", reply.body);
    }
    assert_eq!(site.ask(&get("/db/notes/a")).body, "1");
    assert_eq!(site.transact("", "If-None-Match: *\r\n", list).status, 200);
}
