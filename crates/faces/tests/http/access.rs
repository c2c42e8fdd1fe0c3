//! Access: who may do what, by the tokens that a server has.

use crate::feed::Stream;
use crate::guarded::{Guarded, bearer};
use crate::site::{Reply, Site, bare, get, put, until};
use faces::access::{Grant, NewToken, Scope, TokenFile};
use repository::Timestamp;

impl Guarded {
    fn ask(&self, method: &str, path: &str, token: &str) -> Reply {
        let field = bearer(token);
        match method {
            "PUT" => self.site.ask(&put(path, &field, "1")),
            "POST" => self.site.ask(&put(path, &field, "1").replacen("PUT", "POST", 1)),
            _ => self.site.ask(&bare(method, path, &field)),
        }
    }

    fn status(&self, method: &str, path: &str, token: &str) -> u16 {
        self.ask(method, path, token).status
    }
}

#[test]
fn without_a_token_this_machine_may_do_everything() {
    let guarded = Guarded::start();
    assert_eq!(guarded.site.ask(&put("/db/notes/a", "", "1")).status, 201);
    assert_eq!(guarded.site.ask(&get("/metrics")).status, 200);
}

#[test]
fn as_soon_as_there_is_one_what_is_guarded_needs_one() {
    let guarded = Guarded::start();
    guarded.site.put("/db/notes/a", "1");
    let (id, token) = guarded.token(Scope::Admin, &["*"]);
    for path in ["/db/notes/a", "/db/notes", "/db/notes/../x", "/db", "/tx", "/metrics"] {
        let refused = guarded.site.ask(&get(path));
        assert_eq!((refused.status, refused.problem()), (401, "unauthorized"), "{path}");
        assert_eq!(refused.field("www-authenticate"), Some("Bearer realm=\"sarsen\""), "{path}");
    }
    for path in ["/healthz", "/readyz", "/errors/unauthorized"] {
        assert_eq!(guarded.site.ask(&get(path)).status, 200, "{path}");
    }
    assert_eq!(guarded.site.ask(&bare("OPTIONS", "/db/notes/a", "")).status, 204, "a preflight");
    assert_eq!(guarded.ask("GET", "/db/notes/a", &token).body, "1");
    assert_eq!(guarded.status("GET", "/metrics", &token), 200);

    guarded.file.revoke(&id).unwrap();
    let (_, other) = guarded.token(Scope::Read, &["*"]);
    let refused = guarded.ask("GET", "/db/notes/a", &token);
    assert_eq!((refused.status, refused.problem()), (401, "invalid-token"));
    assert_eq!(guarded.status("GET", "/db/notes/a", &other), 200);
}

#[test]
fn rfc6750_3_1_errors_and_their_challenges() {
    let guarded = Guarded::start();
    let (_, token) = guarded.token(Scope::Read, &["notes"]);
    let challenge = |reply: &Reply| reply.field("www-authenticate").unwrap_or_default().to_owned();

    let cut = &token[..token.len() - 1];
    for wrong in [cut, "x", "sarsen_", &format!("{token}x"), &token.to_uppercase()] {
        let refused = guarded.ask("GET", "/db/notes/a", wrong);
        assert_eq!((refused.status, refused.problem()), (401, "invalid-token"), "{wrong}");
        assert!(challenge(&refused).ends_with("error=\"invalid_token\""), "{refused:?}");
    }
    let refused = guarded.ask("PUT", "/db/notes/a", &token);
    assert_eq!((refused.status, refused.problem()), (403, "insufficient-scope"));
    assert!(challenge(&refused).ends_with("error=\"insufficient_scope\""), "{refused:?}");
    assert!(refused.body.contains("scope write for the collection notes"), "{}", refused.body);

    let refused = guarded.site.ask(&get(&format!("/db/notes/a?access_token={token}")));
    assert_eq!((refused.status, refused.problem()), (400, "token-in-uri"));
    assert!(challenge(&refused).ends_with("error=\"invalid_request\""), "{refused:?}");

    let basic = guarded.site.ask(&bare("GET", "/db/notes/a", "Authorization: Basic YTpi\r\n"));
    assert_eq!(challenge(&basic), "Bearer realm=\"sarsen\"", "another scheme is no wrong token");
    let field = format!("Authorization: Bearer {token}\r\n");
    let twice = guarded.site.ask(&bare("GET", "/db/notes/a", &field.repeat(2)));
    assert_eq!(twice.problem(), "bad-request");
}

#[test]
fn each_scope_on_its_collections_and_no_others() {
    let guarded = Guarded::start();
    for path in ["/db/notes/a", "/db/img-x/a", "/db/other/a"] {
        guarded.site.put(path, "1");
    }
    let (_, read) = guarded.token(Scope::Read, &["notes"]);
    let (_, write) = guarded.token(Scope::Write, &["notes", "img-*"]);
    let (_, admin) = guarded.token(Scope::Admin, &["notes"]);
    for (method, path, by_read, by_write, by_admin) in [
        ("GET", "/db/notes/a", 200, 200, 200),
        ("HEAD", "/db/notes/a", 200, 200, 200),
        ("GET", "/db/n%6Ftes/a", 200, 200, 200),
        ("PUT", "/db/notes/b", 403, 201, 204),
        ("POST", "/db/notes", 403, 201, 201),
        ("DELETE", "/db/notes/b", 403, 204, 404),
        ("GET", "/db/img-x/a", 403, 200, 403),
        ("PUT", "/db/img-x/a", 403, 204, 403),
        ("GET", "/db/other/a", 403, 403, 403),
        ("GET", "/db/other/absent", 403, 403, 403),
        ("PUT", "/db/other/a", 403, 403, 403),
        ("GET", "/metrics", 403, 403, 403),
    ] {
        for (token, expected) in [(&read, by_read), (&write, by_write), (&admin, by_admin)] {
            assert_eq!(guarded.status(method, path, token), expected, "{method} {path}");
        }
    }
    // The settings of a collection: whatever else they are refused for, not for want of scope.
    for method in ["PUT", "DELETE"] {
        assert_eq!(guarded.status(method, "/db/notes", &write), 403, "{method}");
        assert_ne!(guarded.status(method, "/db/notes", &admin), 403, "{method}");
    }
}

#[test]
fn each_operation_of_a_transaction_needs_what_it_would_need_alone() {
    let guarded = Guarded::start();
    guarded.site.put("/db/notes/a", "1");
    guarded.site.put("/db/other/a", "1");
    let (_, token) = guarded.token(Scope::Write, &["notes"]);
    let (_, reader) = guarded.token(Scope::Read, &["*"]);
    let list = |token: &str, steps: &str| {
        let fields = format!("Authorization: Bearer {token}\r\n");
        guarded.site.ask(&put("/tx", &fields, steps).replacen("PUT", "POST", 1))
    };
    let write = r#"{"op":"put","collection":"notes","key":"b","value":1}"#;
    let read = r#"{"op":"get","collection":"notes","key":"a"}"#;
    let elsewhere = r#"{"op":"get","collection":"other","key":"a"}"#;
    let refused = list(&token, &format!("[{write},{elsewhere}]"));
    assert_eq!((refused.status, refused.problem()), (403, "insufficient-scope"));
    let refused = list(&reader, &format!("[{read},{write}]"));
    assert_eq!((refused.status, refused.problem()), (403, "insufficient-scope"));
    assert_eq!(guarded.status("GET", "/db/notes/b", &reader), 404, "nothing was done");
    assert_eq!(list(&reader, &format!("[{read},{elsewhere}]")).status, 200);
    assert_eq!(list(&token, &format!("[{read},{write}]")).status, 200);
    assert_eq!(guarded.status("GET", "/db/notes/b", &reader), 200);
    let nobody = guarded.site.ask(&put("/tx", "", "[]").replacen("PUT", "POST", 1));
    assert_eq!(nobody.problem(), "unauthorized");
}

#[test]
fn the_name_of_a_request_is_its_askers_own() {
    let guarded = Guarded::start();
    let (_, first) = guarded.token(Scope::Write, &["*"]);
    let (_, second) = guarded.token(Scope::Write, &["*"]);
    let post = |token: &str| {
        let fields = format!("Authorization: Bearer {token}\r\nIdempotency-Key: \"k\"\r\n");
        let reply = guarded.site.ask(&put("/db/notes", &fields, "1").replacen("PUT", "POST", 1));
        assert_eq!(reply.status, 201, "{}", reply.body);
        reply.field("location").unwrap().to_owned()
    };
    let made = post(&first);
    assert_eq!(post(&first), made, "it ran once");
    assert_ne!(post(&second), made, "another's request of that name is another request");
}

#[test]
fn a_refused_write_changes_nothing_and_reads_no_body() {
    let guarded = Guarded::start();
    guarded.site.put("/db/notes/a", "1");
    guarded.token(Scope::Admin, &["*"]);
    let before = guarded.site.repository.stats().visible;
    let mut client = guarded.site.connect();
    // A client that waits to be told to go on is told not to.
    client.send(bare("PUT", "/db/notes/a", "Content-Length: 1000000\r\nExpect: 100-continue\r\n"));
    assert_eq!(client.reply(false).problem(), "unauthorized");
    assert_eq!(guarded.site.repository.stats().visible, before);
}

#[test]
fn too_many_refused_tokens_are_429_and_a_valid_one_is_never_held_back() {
    let guarded = Guarded::start();
    let (_, token) = guarded.token(Scope::Read, &["*"]);
    let mut refusals = Vec::new();
    for _ in 0..faces::limits::REFUSALS_MAX * 2 {
        refusals.push(guarded.ask("GET", "/db/notes/a", "sarsen_wrong"));
        assert_eq!(guarded.status("GET", "/db/notes/a", &token), 404);
    }
    let last = refusals.last().unwrap();
    assert_eq!((last.status, last.problem()), (429, "too-many-attempts"));
    assert!(last.field("retry-after").is_some());
    assert_eq!(refusals[0].status, 401);
    // Who sends none is only told to.
    assert_eq!(guarded.site.ask(&get("/db/notes/a")).status, 401);
}

#[test]
fn rfc9111_3_5_replies_to_a_token_are_private() {
    let guarded = Guarded::start();
    guarded.site.put("/db/notes/a", "1");
    assert_eq!(guarded.site.ask(&get("/db/notes/a")).field("cache-control"), Some("no-cache"));
    let (_, token) = guarded.token(Scope::Write, &["*"]);
    let cached = |method, path| {
        let reply = guarded.ask(method, path, &token);
        reply.field("cache-control").unwrap().to_owned()
    };
    assert_eq!(cached("GET", "/db/notes/a"), "private, no-cache");
    assert_eq!(cached("GET", "/db/notes/absent"), "private");
    assert_eq!(cached("PUT", "/db/notes/a"), "private");
    assert_eq!(cached("GET", "/metrics"), "no-store");
}

#[test]
fn what_a_trusted_proxy_forwards_from_elsewhere_is_not_this_machines() {
    let folder = tempfile::tempdir().unwrap();
    let file = TokenFile::of(folder.path());
    let site = Site::with(|options| {
        options.tokens = Some(file);
        options.trusted_proxies = vec!["127.0.0.0/8".parse().unwrap()];
    });
    let from = |address: &str| {
        let reply =
            site.ask(&bare("GET", "/db/notes/a", &format!("X-Forwarded-For: {address}\r\n")));
        reply.status
    };
    assert_eq!(from("192.0.2.1"), 401, "no token is configured, and the client is elsewhere");
    assert_eq!(from("127.0.0.1"), 404);
    assert_eq!(site.ask(&get("/db/notes/a")).status, 404);
}

#[test]
fn an_expired_token_says_so() {
    let guarded = Guarded::start();
    let grant = Grant::new(Scope::Read, vec!["*".parse().unwrap()]).unwrap();
    let (name, created, expires) = (String::new(), Timestamp(0), Some(Timestamp(1)));
    let (_, secret) = guarded.file.create(NewToken { name, grant, created, expires }).unwrap();
    until(|| guarded.site.ask(&get("/db/notes/a")).status == 401);
    let refused = guarded.ask("GET", "/db/notes/a", secret.reveal());
    assert_eq!(refused.problem(), "invalid-token");
    assert!(refused.body.contains("time is over"), "{}", refused.body);
}

#[test]
fn a_public_address_without_a_token_is_refused() {
    use faces::{ListenError, Server, ServerOptions};
    let site = Site::start();
    let folder = tempfile::tempdir().unwrap();
    let file = TokenFile::of(folder.path());
    let mut options = ServerOptions::new("0.0.0.0:0".parse().unwrap());
    let start = |options: &ServerOptions| {
        Server::start(options.clone(), site.repository.clone(), None).map(|_| ())
    };
    assert!(matches!(start(&options), Err(ListenError::Public { .. })), "nobody could be asked");
    options.tokens = Some(file.clone());
    let error = start(&options).unwrap_err();
    let command = format!("sarsen token create --data {}", folder.path().display());
    assert!(error.to_string().contains(&command), "{error}");
    let grant = Grant::new(Scope::Read, vec!["*".parse().unwrap()]).unwrap();
    let (name, created) = (String::new(), Timestamp(0));
    file.create(NewToken { name, grant, created, expires: None }).unwrap();
    assert!(matches!(start(&options), Err(ListenError::Unencrypted { .. })));
    options.insecure_no_tls = true;
    assert!(start(&options).is_ok());
    std::fs::write(folder.path().join("tokens"), "{}").unwrap();
    assert!(matches!(start(&options), Err(ListenError::Tokens(_))));
}

#[test]
fn a_list_needs_what_each_of_its_operations_needs() {
    let guarded = Guarded::start();
    guarded.site.put("/db/others/a", "1");
    let (_, token) = guarded.token(Scope::Write, &["notes"]);
    let (_, reader) = guarded.token(Scope::Read, &["*"]);
    let ask = |token: &str, list: &str| {
        guarded.site.transact("", &format!("Authorization: Bearer {token}\r\n"), list)
    };
    let own = r#"{"op":"put","collection":"notes","key":"a","value":1}"#;
    for other in [
        r#"{"op":"get","collection":"others","key":"a"}"#,
        r#"{"op":"create","collection":"others","value":1}"#,
        r#"{"op":"delete","collection":"others","key":"a"}"#,
    ] {
        let refused = ask(&token, &format!("[{own},{other}]"));
        assert_eq!((refused.status, refused.problem()), (403, "insufficient-scope"), "{other}");
    }
    assert_eq!(guarded.ask("GET", "/db/notes/a", &token).status, 404, "nothing was done");
    assert_eq!(ask(&token, &format!("[{own}]")).status, 200);
    assert_eq!(ask(&reader, &format!("[{own}]")).status, 403);
    assert_eq!(ask(&reader, r#"[{"op":"get","collection":"others","key":"a"}]"#).status, 200);
    assert_eq!(guarded.site.transact("", "", "[]").status, 401);
}

#[test]
fn the_names_of_requests_are_each_holders_own() {
    let guarded = Guarded::start();
    let (_, one) = guarded.token(Scope::Write, &["*"]);
    let (_, two) = guarded.token(Scope::Write, &["*"]);
    let ask = |token: &str, json: &str| {
        let fields = format!("Authorization: Bearer {token}\r\nIdempotency-Key: same\r\n");
        guarded.site.ask(&put("/db/notes/a", &fields, json)).status
    };
    assert_eq!((ask(&one, "1"), ask(&two, "2")), (201, 204));
    assert_eq!((ask(&one, "1"), ask(&two, "2"), ask(&two, "1")), (201, 204, 422));
}

#[test]
fn the_list_of_collections_tells_no_name_that_the_token_does_not_reach() {
    let guarded = Guarded::start();
    for name in ["hidden-a", "hidden-b", "notes", "secret", "shown-a", "shown-b", "zero"] {
        guarded.site.put(&format!("/db/{name}/a"), "1");
    }
    let (_, token) = guarded.token(Scope::Read, &["notes", "shown-*"]);
    let (mut path, mut listed) = ("/db?limit=1".to_owned(), Vec::new());
    loop {
        let page = guarded.ask("GET", &path, &token);
        let told = format!("{}{:?}", page.body, page.fields);
        for hidden in ["hidden", "secret", "zero"] {
            assert!(!told.contains(hidden), "{told}");
        }
        let names = &page.json()["collections"];
        assert_eq!(names.as_array().unwrap().len(), 1, "a page is as long as was asked for");
        listed.push(names[0]["name"].as_str().unwrap().to_owned());
        let Some(link) = page.field("link") else { break };
        let next = link.split_once('<').unwrap().1.split_once('>').unwrap().0;
        path = format!("/db{next}");
    }
    assert_eq!(listed, ["notes", "shown-a", "shown-b"]);
}

#[test]
fn the_feed_tells_what_may_be_read() {
    let guarded = Guarded::start();
    for path in ["/db/notes/a", "/db/img-x/a", "/db/other/a"] {
        guarded.site.put(path, "1");
    }
    let (id, token) = guarded.token(Scope::Read, &["notes", "img-*"]);
    // Without any token at all this machine may read everything.
    guarded.token(Scope::Read, &["other"]);
    assert_eq!(guarded.site.ask(&get("/feed")).status, 401);
    assert_eq!(guarded.status("GET", "/db/other?feed", &token), 403);
    let field = format!("Authorization: Bearer {token}\r\n");
    let address = guarded.site.server.local_addr();
    let mut all = Stream::open(address, "/feed?after=0", &field);
    let mut notes = Stream::open(address, "/db/notes?feed&after=0", &field);
    assert_eq!((all.commit().1, all.commit().1), (vec!["notes/a".into()], vec!["img-x/a".into()]));
    assert_eq!(notes.commit().1, ["notes/a"]);
    let page = format!("{field}Accept: application/json\r\n");
    let told = guarded.site.ask(&bare("GET", "/feed?after=0&collections=other", &page));
    assert_eq!((told.status, told.json()["commits"].as_array().unwrap().len()), (200, 0));
    // A token that is revoked ends what it began.
    guarded.file.revoke(&id).unwrap();
    assert_eq!((all.next(), notes.next()), (None, None));
}
