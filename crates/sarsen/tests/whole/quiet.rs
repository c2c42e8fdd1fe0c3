//! A request that changes nothing writes nothing (promise 3): the tranlog is the same, byte for
//! byte, before and after.

use crate::harness::{Site, read_tree, root};
use crate::http::Client;

#[test]
fn reads_of_documents_append_nothing() {
    let site = Site::bare();
    let server = site.start();
    let mut client = server.connect();
    assert_eq!(client.put_json("/db/notes/a", "{\"n\":1}").unwrap().status, 201);
    let etag = client.get("/db/notes/a").unwrap().header("etag").unwrap().to_owned();

    let before = read_tree(&site.data().join("tranlog"));
    for _ in 0..100 {
        assert_eq!(client.get("/db/notes/a").unwrap().status, 200);
        assert_eq!(client.request("HEAD", "/db/notes/a", &[], b"").unwrap().status, 200);
        assert_eq!(conditional_get(&mut client, &etag), 304);
        assert_eq!(client.get("/db/notes/missing").unwrap().status, 404);
        assert_eq!(client.get("/healthz").unwrap().status, 200);
        let missing = client.request("DELETE", "/db/notes/missing", &[], b"").unwrap();
        assert_eq!(missing.status, 404);
        let stale = [("content-type", "application/json"), ("if-match", "\"999\"")];
        assert_eq!(client.request("PUT", "/db/notes/a", &stale, b"2").unwrap().status, 412);
    }
    let after = read_tree(&site.data().join("tranlog"));
    assert!(before == after, "a request that changed nothing wrote to the tranlog");
}

fn conditional_get(client: &mut Client, etag: &str) -> u16 {
    let headers = [("if-none-match", etag)];
    client.request("GET", "/db/notes/a", &headers, b"").expect("a reply").status
}

#[test]
fn requests_that_fail_in_the_application_append_nothing() {
    let site = Site::with_app(root().join("apps/counter"));
    let server = site.start();
    let mut client = server.connect();
    assert_eq!(client.get("/").unwrap().status, 200);

    let before = read_tree(&site.data().join("tranlog"));
    for _ in 0..20 {
        assert_eq!(client.get("/no/such/page").unwrap().status, 404);
        assert_eq!(client.request("DELETE", "/", &[], b"").unwrap().status, 405);
    }
    let after = read_tree(&site.data().join("tranlog"));
    assert!(before == after, "a request that changed nothing wrote to the tranlog");
}

#[test]
fn a_write_does_append() {
    let site = Site::bare();
    let server = site.start();
    let before = read_tree(&site.data().join("tranlog"));
    server.connect().put_json("/db/notes/a", "1").unwrap();
    let after = read_tree(&site.data().join("tranlog"));
    assert!(before != after, "otherwise the tests above show nothing");
}
