//! How much a handler may read and write, and that going beyond has no effect.

use crate::support::{Setup, Site, load_error, request, site_with};
use gem::{Failure, FailureKind};

const ROUTES: &str = r#"
  const doc = (n) => ({ text: "x".repeat(n) });
  app.get("/get/:n", ({ db, params }) => {
    for (let i = 0; i < Number(params.n); i++) db.notes.get(`k${i}`);
    return "done";
  });
  app.get("/range/:n", ({ db, params: { n } }) => [[...db.notes.range({ limit: +n })].length]);
  app.get("/count", ({ db }) => [db.notes.count()]);
  app.get("/query", ({ db }) => [[...db.notes.query`text:*`].length]);
  app.get("/keys", ({ db }) => [[...db.notes.keys()].length]);
  app.get("/put/:n", ({ db, params }) => {
    for (let i = 0; i < Number(params.n); i++) db.other.put(`k${i}`, 1);
    return "done";
  });
  app.get("/large/:bytes", ({ db, params }) => {
    db.other.put("large", doc(Number(params.bytes)));
    return "done";
  });
  app.get("/caught", ({ db }) => {
    db.other.put("before", 1);
    try { for (let i = 0; i < 30; i++) db.notes.get(`k${i}`); } catch {}
    try { db.other.put("after", 1); } catch {}
    return "all is well";
  });
  app.get("/late", ({ db }) => {
    for (let i = 0; i < 6; i++) db.notes.get(`k${i}`).changed = true;
    return "done";
  });
"#;

fn limited() -> Site {
    let settings = "[limits]\ndocuments_read = 20\nbytes_read = 4096\n\
                    documents_written = 5\nbytes_written = 2048\n";
    let site = site_with(ROUTES, Setup { settings, ..Setup::default() });
    for i in 0..30 {
        site.store_json("notes", &format!("k{i}"), "{\"text\":\"\"}");
    }
    site
}

fn exceeded(site: &Site, path: &str) -> String {
    match site.send(request("GET", path)) {
        Err(Failure { kind: FailureKind::DocumentsLimit, fault }) => fault.message,
        other => panic!("{path}: expected the limit to be exceeded, got {other:?}"),
    }
}

#[test]
fn each_limit_holds_exactly_and_nothing_is_done_beyond() {
    let site = limited();
    let before = site.written();
    for path in ["/get/20", "/range/20"] {
        site.text(path);
    }
    for (path, message) in [
        ("/get/21", "the request has read 21 documents; it may have read at most 20"),
        ("/range/30", "has read"),
        ("/count", "has read 30 documents"),
        ("/query", "has read 31 documents"),
        ("/keys", "has read"),
        ("/put/6", "the request has written 6 documents; it may have written at most 5"),
        ("/large/2100", "at most 2048 (bytes_written under [limits] in sarsen.toml)"),
        ("/caught", "it may have read at most 20 (documents_read under [limits]"),
        ("/late", "has written 6 documents"),
    ] {
        let found = exceeded(&site, path);
        assert!(found.contains(message), "{path}: {found}");
    }
    let place = exceeded(&site, "/get/21");
    assert!(place.contains("app.js:6:"), "it says where: {place}");
    assert_eq!(site.written(), before);
    assert_eq!(site.stored("other", "before"), None);
    for path in ["/put/5", "/large/1000"] {
        assert_eq!(site.text(path), "done", "another request goes on");
    }
    site.store_json("notes", "k0", &format!("{{\"text\":\"{}\"}}", "x".repeat(4096)));
    assert!(exceeded(&site, "/get/1").contains("bytes_read"));
}

#[test]
fn without_settings_the_defaults_hold() {
    use gem::limits::{BYTES_WRITTEN_DEFAULT, DOCUMENTS_READ_DEFAULT, DOCUMENTS_WRITTEN_DEFAULT};
    let site = site_with(ROUTES, Setup { heap_limit: 256 << 20, ..Setup::default() });
    let put = |n: usize| format!("/put/{n}");
    assert_eq!(site.text(&put(DOCUMENTS_WRITTEN_DEFAULT)), "done");
    assert!(exceeded(&site, &put(DOCUMENTS_WRITTEN_DEFAULT + 1)).contains("documents_written"));
    let get = exceeded(&site, &format!("/get/{}", DOCUMENTS_READ_DEFAULT + 1));
    assert!(get.contains("documents_read"), "{get}");
    let document = repository::limits::DOCUMENT_BYTES_MAX;
    assert!(document < BYTES_WRITTEN_DEFAULT);
    assert!(site.failure(&format!("/large/{document}")).contains("a document has at most"));
}

#[test]
fn limits_in_the_settings_are_checked() {
    for (line, expected) in [
        ("documents_read = 0", "expected documents_read to be a whole number from 1 to 100000"),
        ("documents_written = 10001", "from 1 to 10000"),
        ("bytes_read = 134217729", "from 1024 to 134217728"),
        ("bytes_written = 1", "from 1024 to 33554432"),
        ("document_read = 1", "unknown key limits.document_read; did you mean"),
    ] {
        let settings = format!("name = \"x\"\n[limits]\n{line}\n");
        let message = load_error(&[("sarsen.toml", &settings), ("app.js", "")]);
        assert!(message.starts_with("sarsen.toml:3:"), "{line}: {message}");
        assert!(message.contains(expected), "{line}: {message}");
    }
}
