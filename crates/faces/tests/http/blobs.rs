//! Content that is too large for a document: uploads, downloads and parts of them.

use crate::site::{Client, Reply, Site, bare, get, put, until, with_type};
use faces::limits;
use std::path::PathBuf;
use std::time::Duration;

/// Several chunks, and no whole number of them.
const BYTES: usize = 3_000_001;

/// Text, since the client here reads text: no two parts of it are alike.
fn content() -> String {
    let mut text: String = (0..BYTES / 8 + 1).map(|i| format!("{i:07} ")).collect();
    text.truncate(BYTES);
    text
}

fn upload(path: &str, fields: &str, body: &str) -> String {
    with_type("PUT", path, ("video/x-test", fields), body)
}

fn stored() -> (Site, String) {
    let (site, body) = (Site::forgetful(), content());
    assert_eq!(site.ask(&upload("/db/clips/a", "", &body)).status, 201);
    (site, body)
}

fn part(client: &mut Client, fields: &str) -> Reply {
    client.ask(&bare("GET", "/db/clips/a", fields))
}

/// The files of blobs, and of those that are on their way.
fn files(site: &Site) -> Vec<PathBuf> {
    let folders = std::fs::read_dir(site.folder().join("blobs")).into_iter().flatten();
    let files = folders.flat_map(|folder| std::fs::read_dir(folder.unwrap().path()).unwrap());
    files.map(|file| file.unwrap().path()).collect()
}

#[test]
fn what_is_put_comes_back_and_goes_with_its_document() {
    let (site, body) = stored();
    let mut client = site.connect();
    let found = client.ask(&get("/db/clips/a"));
    assert!(found.body == body, "{} bytes", found.body.len());
    assert_eq!(found.field("content-type"), Some("video/x-test"));
    assert_eq!(found.field("accept-ranges"), Some("bytes"));
    assert_eq!(found.field("x-content-type-options"), Some("nosniff"));
    assert!(found.field("sarsen-commit").is_some() && found.field("last-modified").is_some());
    let head = client.ask(&bare("HEAD", "/db/clips/a", ""));
    assert_eq!(head.field("content-length"), Some(BYTES.to_string().as_str()));
    assert_eq!((head.status, head.field("etag")), (200, found.field("etag")));
    let tag = found.field("etag").unwrap();
    let known = part(&mut client, &format!("If-None-Match: {tag}\r\n"));
    assert_eq!((known.status, known.body.len()), (304, 0));
    let again = upload("/db/clips/b", "", &body);
    assert_eq!(client.ask(&again).status, 201);
    assert_eq!(files(&site).len(), 1, "equal content is one file");
    let stale = upload("/db/clips/a", "If-Match: \"9999\"\r\n", "other");
    assert_eq!(client.ask(&stale).status, 412);
    for path in ["/db/clips/a", "/db/clips/b"] {
        assert_eq!(client.ask(&bare("DELETE", path, "")).status, 204);
    }
    until(|| files(&site).is_empty());
}

#[test]
fn rfc9110_14_parts() {
    let (site, body) = stored();
    let mut client = site.connect();
    let whole = client.ask(&bare("HEAD", "/db/clips/a", ""));
    let tag = whole.field("etag").unwrap();
    for (range, from, to) in [
        ("0-0", 0, 1),
        ("262143-262144", 262_143, 262_145),
        ("1000000-", 1_000_000, BYTES),
        ("-5", BYTES - 5, BYTES),
        ("5-99999999999", 5, BYTES),
    ] {
        let fields = format!("Range: bytes={range}\r\nIf-Range: {tag}\r\n");
        let found = part(&mut client, &fields);
        assert_eq!(found.status, 206, "{range}");
        assert!(found.body == body[from..to], "{range}");
        let told = format!("bytes {from}-{}/{BYTES}", to - 1);
        assert_eq!(found.field("content-range"), Some(told.as_str()));
    }
    let beyond = part(&mut client, &format!("Range: bytes={BYTES}-\r\n"));
    assert_eq!((beyond.status, beyond.problem()), (416, "range-not-satisfiable"));
    assert_eq!(beyond.field("content-range"), Some(format!("bytes */{BYTES}").as_str()));
    for ignored in ["Range: bytes=1-2,5-6\r\n", "Range: bytes=0-1\r\nIf-Range: \"9999\"\r\n"] {
        let found = part(&mut client, ignored);
        assert_eq!((found.status, found.body.len()), (200, BYTES), "{ignored}");
    }
}

#[test]
fn parts_of_what_is_in_the_document_itself() {
    let site = Site::start();
    let small = with_type("PUT", "/db/clips/a", ("text/x-test", ""), "0123456789");
    assert_eq!(site.ask(&small).status, 201);
    let mut client = site.connect();
    let found = part(&mut client, "Range: bytes=2-4\r\n");
    assert_eq!((found.status, found.body.as_str()), (206, "234"));
    assert_eq!(part(&mut client, "Range: bytes=10-\r\n").status, 416);
    site.put("/db/clips/a", "[1,2]");
    assert_eq!(part(&mut client, "Range: bytes=0-0\r\n").body, "[1,2]", "JSON is shown whole");
}

#[test]
fn a_key_is_made_and_requests_run_once() {
    let (site, body) = stored();
    let fields = "Slug: clip\r\nIdempotency-Key: k\r\n";
    let post = with_type("POST", "/db/clips", ("video/x-test", fields), &body);
    let (first, second) = (site.ask(&post), site.ask(&post));
    assert_eq!((first.status, first.field("location")), (201, Some("/db/clips/clip")));
    assert_eq!((second.status, second.field("etag")), (201, first.field("etag")));
    assert_eq!(site.ask(&get("/db/clips/clip-2")).status, 404);
    let other = post.replace("0000001 ", "0000002 ");
    assert_eq!(site.ask(&other).problem(), "idempotency-key-reused");
    until(|| files(&site).len() == 1);
}

#[test]
fn where_content_is_not_shown_its_size_is_told() {
    let (site, _) = stored();
    let list = site.transact("", "", r#"[{"op":"get","collection":"clips","key":"a"}]"#);
    let result = &list.json()["results"][0];
    assert_eq!((&result["status"], &result["size"]), (&200.into(), &BYTES.into()));
    assert!(result.get("text").is_none() && result.get("document").is_none());
    let listed = site.ask(&get("/db/clips")).json();
    assert_eq!(listed["documents"][0]["size"], BYTES);
    let wish = upload("/db/clips/a", "Prefer: return=representation\r\n", &content());
    let written = site.ask(&wish);
    assert_eq!((written.status, written.field("preference-applied")), (204, None));
    let patch = with_type("PATCH", "/db/clips/a", ("application/merge-patch+json", ""), "{}");
    assert_eq!(site.ask(&patch).problem(), "patch-mismatch");
}

#[test]
fn an_upload_that_breaks_off_leaves_nothing() {
    let site = Site::start();
    let mut client = site.connect();
    client.send(upload("/db/clips/a", "", &content()).split_at(BYTES).0);
    until(|| files(&site).len() == 1);
    drop(client);
    until(|| files(&site).is_empty());
    assert_eq!(site.ask(&get("/db/clips/a")).status, 404);
}

#[test]
fn a_slow_upload_ends() {
    let site = Site::with(|options| options.timeouts.body = Duration::from_millis(50));
    let mut client = site.connect();
    client.send(&upload("/db/clips/a", "", &content())[..200_000]);
    // 200,000 bytes have earned it 12 seconds, which is too long for a test: nothing comes of it
    // either way.
    drop(client);
    until(|| files(&site).is_empty());
}

#[test]
fn content_is_bounded_before_it_is_sent() {
    let site = Site::start();
    let head = |length: u64| {
        let fields = format!("Content-Length: {length}\r\nExpect: 100-continue\r\n");
        bare("PUT", "/db/clips/a", &format!("Content-Type: video/x-test\r\n{fields}"))
    };
    let mut client = site.connect();
    let refused = client.ask(&head(limits::UPLOAD_BYTES_MAX + 1));
    assert_eq!((refused.status, refused.problem()), (413, "body-too-large"));
    let mut client = site.connect();
    assert_eq!(client.ask(&head(limits::UPLOAD_BYTES_MAX)).status, 100);
    drop(client);
    let (mut client, body) = (site.connect(), content());
    assert_eq!(client.ask(&head(BYTES as u64)).status, 100);
    client.send(body);
    assert_eq!(client.reply(false).status, 201);
}

#[test]
fn a_chunked_upload_is_one_like_any_other() {
    let site = Site::start();
    let body = content();
    let mut client = site.connect();
    let fields = "Content-Type: video/x-test\r\nTransfer-Encoding: chunked\r\n";
    client.send(bare("PUT", "/db/clips/a", fields));
    for piece in body.as_bytes().chunks(100_000) {
        client.send(format!("{:x}\r\n", piece.len()));
        client.send(piece);
        client.send("\r\n");
    }
    client.send("0\r\n\r\n");
    assert_eq!(client.reply(false).status, 201);
    assert!(client.ask(&get("/db/clips/a")).body == body);
}

#[test]
fn damage_breaks_the_connection_and_never_looks_like_an_end() {
    let (site, body) = stored();
    let path = files(&site).remove(0);
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[2_000_000] ^= 1;
    std::fs::write(&path, &bytes).unwrap();
    let mut client = site.connect();
    client.send(get("/db/clips/a"));
    let reply = client.reply(true);
    assert_eq!((reply.status, reply.field("content-length").unwrap()), (200, &*BYTES.to_string()));
    let got = client.rest();
    assert!(got.len() < BYTES && body.as_bytes().starts_with(&got), "{} bytes", got.len());
    let mut client = site.connect();
    assert!(part(&mut client, "Range: bytes=0-9\r\n").body == body[..10], "elsewhere it is whole");
    assert!(site.repository.blob_stats().damaged > 0);
    // What is known before the reply begins is a reply of its own.
    std::fs::remove_file(&path).unwrap();
    assert_eq!(site.ask(&get("/db/clips/a")).problem(), "internal");
}

#[test]
fn downloads_that_nobody_takes_hold_little_memory_and_end() {
    let site = Site::with(|options| options.timeouts.write_stall = Duration::from_millis(50));
    assert_eq!(site.ask(&upload("/db/clips/a", "", &content().repeat(20))).status, 201);
    let mut idle: Vec<Client> = (0..20).map(|_| site.connect()).collect();
    idle.iter_mut().for_each(|client| client.send(get("/db/clips/a")));
    until(|| site.repository.blob_stats().pinned == 0);
    assert_eq!(site.ask(&put("/db/notes/a", "", "1")).status, 201);
}
