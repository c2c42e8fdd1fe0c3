//! What is hidden is not told by other ways: drafts, private publications, and lists of both.

use crate::guarded::{Guarded, bearer};
use crate::site::{Reply, Site, bare, get, with_json, with_type};
use crate::support::*;
use faces::access::Scope;

#[test]
fn policy_what_becomes_of_a_draft_is_not_public() {
    let site = Site::start();
    make(&site, r#"{"title":"Blog"}"#);
    let before = site.ask(&get("/atom/blog/changes")).body;
    let member = path(&site.ask(&post("blog", "Slug: d\r\n", &an_entry("Hidden", DRAFT))));
    let id = read_entry(&site.ask(&get(&member)).body).id.unwrap();
    assert_eq!(site.ask(&put(&member, "", &an_entry("Hidden", DRAFT))).status, 200);
    assert_eq!(site.ask(&delete(&member, "")).status, 204);
    let after = site.ask(&get("/atom/blog/changes")).body;
    assert!(!after.contains(&id) && !after.contains("deleted-entry"), "{after}");
    assert_eq!(before, after);
    assert_eq!(site.ask(&get("/atom/blog/pages/d")).status, 404, "as one that never was");
    assert_eq!(site.ask(&get(&member)).status, 410);
}

#[test]
fn policy_media_of_drafts_are_told_from_nothing_by_who_may_see_drafts() {
    let guarded = Guarded::start();
    let site = &guarded.site;
    let admin = bearer(&guarded.token(Scope::Admin, &["*"]).1);
    let other = bearer(&guarded.token(Scope::Write, &["atom/other"]).1);
    let made = with_json("POST", "/atom", &admin, r#"{"title":"Blog"}"#);
    assert_eq!(site.ask(&made).status, 201);
    let fields = format!("{admin}Slug: d\r\n");
    assert_eq!(site.ask(&with_type("POST", "/atom/blog/media", ("a/b", &fields), "x")).status, 201);
    let draft = an_entry("Hidden", DRAFT);
    assert_eq!(site.ask(&put("/atom/blog/entries/d", &admin, &draft)).status, 200);
    let same = |status: u16| {
        for fields in ["", other.as_str()] {
            let of = |name: &str| {
                let reply = site.ask(&bare("GET", &format!("/atom/blog/{name}"), fields));
                (reply.status, reply.body)
            };
            for folder in ["media", "pages"] {
                let hidden = of(&format!("{folder}/d"));
                assert_eq!(hidden, of(&format!("{folder}/none")), "{fields}");
            }
        }
        assert_eq!(site.ask(&bare("GET", "/atom/blog/media/d", &admin)).status, status);
    };
    same(200);
    assert_eq!(site.ask(&delete("/atom/blog/entries/d", &admin)).status, 204);
    same(410);
}

/// What a publication has, or could have.
const PARTS: [&str; 20] = [
    "",
    "/service",
    "/categories",
    "/settings",
    "/entries",
    "/media",
    "/feed",
    "/feed.rss",
    "/feed.json",
    "/changes",
    "/archive/1",
    "/entries/e",
    "/entries/x",
    "/media/e",
    "/pages/e",
    "/pages/d",
    "/pages/x",
    "/feed?limit=0",
    "/feed?after=0",
    "/nothing",
];

/// What may be asked of it.
fn requests(at: &str, fields: &str) -> [String; 8] {
    let entry = an_entry("A", "");
    [
        bare("GET", at, fields),
        bare("GET", at, &format!("{fields}If-None-Match: *\r\n")),
        bare("HEAD", at, fields),
        bare("OPTIONS", at, fields),
        bare("DELETE", at, fields),
        with_type("PUT", at, (ENTRY, fields), &entry),
        with_type("POST", at, (ENTRY, fields), &entry),
        with_json("PUT", at, fields, r#"{"title":"x"}"#),
    ]
}

/// Whatever is asked, by whom it is not for, the answer is the same for a name that is there.
#[test]
fn policy_a_private_publication_is_not_told_from_none() {
    let guarded = Guarded::start();
    let site = &guarded.site;
    let admin = bearer(&guarded.token(Scope::Admin, &["*"]).1);
    let other = bearer(&guarded.token(Scope::Admin, &["atom/other", "notes"]).1);
    let made = with_json("POST", "/atom", &admin, r#"{"title":"Real","private":true}"#);
    assert_eq!(site.ask(&made).status, 201);
    for slug in ["e", "d"] {
        let more = if slug == "d" { DRAFT } else { "" };
        let fields = format!("{admin}Slug: {slug}\r\n");
        assert_eq!(site.ask(&post("real", &fields, &an_entry("A", more))).status, 201);
    }
    let told = |reply: &Reply| {
        let is_told = |name: &str| matches!(name, "www-authenticate" | "etag" | "allow" | "vary");
        let fields = reply.fields.iter().filter(|(name, _)| is_told(name));
        let fields: Vec<_> = fields.cloned().collect();
        (reply.status, fields, reply.body.replace("real", "none"))
    };
    for fields in ["", other.as_str()] {
        for of in PARTS {
            let ask = |name: &str| {
                requests(&format!("/atom/{name}{of}"), fields).map(|request| {
                    let mut client = site.connect();
                    client.send(&request);
                    told(&client.reply(request.starts_with("HEAD")))
                })
            };
            assert_eq!(ask("real"), ask("none"), "{of} {fields}");
        }
        for json in [r#"{"title":"Real"}"#, r#"{"title":"None"}"#] {
            let made = |slug: &str| {
                let fields = format!("{fields}{slug}");
                let reply = site.ask(&with_json("POST", "/atom", &fields, json));
                assert!(matches!(reply.status, 401 | 403), "{json}: {reply:?}");
                told(&reply)
            };
            assert_eq!(made("Slug: real\r\n"), made("Slug: none\r\n"));
            made("");
        }
    }
    assert_eq!(site.ask(&bare("GET", "/atom/none/feed", &admin)).status, 404, "it may know");
}

#[test]
fn rfc9110_8_8_lists_for_different_askers_have_different_tags() {
    let guarded = Guarded::start();
    let site = &guarded.site;
    let admin = bearer(&guarded.token(Scope::Admin, &["*"]).1);
    let one = bearer(&guarded.token(Scope::Read, &["atom/a"]).1);
    let none = bearer(&guarded.token(Scope::Read, &["notes"]).1);
    for json in [r#"{"title":"A","private":true}"#, r#"{"title":"B","private":true}"#] {
        assert_eq!(site.ask(&with_json("POST", "/atom", &admin, json)).status, 201);
    }
    let askers = [admin.as_str(), one.as_str(), none.as_str()];
    for at in ["/atom", "/atom/opml"] {
        let shown = askers.map(|fields| site.ask(&bare("GET", at, fields)));
        let tags: Vec<String> = shown.iter().map(etag).collect();
        for (number, fields) in askers.iter().enumerate() {
            assert_eq!(shown[number].status, 200);
            assert_eq!(shown[number].field("last-modified"), None, "{at}");
            for (of, tag) in tags.iter().enumerate() {
                let known = bare("GET", at, &format!("{fields}If-None-Match: {tag}\r\n"));
                let reply = site.ask(&known);
                let is_same = shown[number].body == shown[of].body;
                assert_eq!(reply.status == 304, is_same, "{at}: {number} with the tag of {of}");
                assert_eq!(etag(&reply), tags[number], "{at}");
            }
            let date = "If-Modified-Since: Fri, 31 Dec 9999 23:59:59 GMT\r\n";
            assert_eq!(site.ask(&bare("GET", at, &format!("{fields}{date}"))).status, 200, "{at}");
        }
        assert!(shown[0].body != shown[1].body && shown[1].body != shown[2].body);
        // A write changes each of them.
        let settings = with_json("PUT", "/atom/a/settings", &admin, r#"{"title":"AA"}"#);
        assert_eq!(site.ask(&settings).status, 204);
        assert_ne!(etag(&site.ask(&bare("GET", at, &one))), tags[1], "{at}");
        let private = r#"{"title":"A","private":true}"#;
        assert_eq!(site.ask(&with_json("PUT", "/atom/a/settings", &admin, private)).status, 204);
    }
}
