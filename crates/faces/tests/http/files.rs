//! The files of `public/`, by section of RFC 9110; and which of them a path leads to.

use crate::site::{Reply, Site, bare, get};
use gem::{App, Pool, PoolOptions};
use std::fs;
use std::sync::Arc;
use std::time::Duration;

const ROUTES: &str = r#"
import { App, asset } from "sarsen";
const style = asset("/style.css");
const app = new App();
app.get("/", () => "the handler");
app.get("/style", () => style);
app.get("/assets/*", ({ request }) => asset(request.path.slice("/assets".length)));
app.get("/style.css", () => "hidden by the file");
app.post("/style.css", () => "posted");
app.get("/docs", () => "hidden by the folder");
app.get("/only", () => "a handler");
export default app;
"#;

/// Compressible, and as long as four of its lines.
const LINE: &str = "body { color: black; background: white; margin: 0; padding: 0 }\n";

const PUBLIC: &[(&str, &str)] = &[
    ("digits.bin", "0123456789"),
    ("docs/index.html", "<h1>docs</h1>"),
    ("a b.txt", "spaces"),
    (".env", "secret"),
    (".git/config", "secret"),
    ("empty.txt", ""),
];

fn write(folder: &std::path::Path, style: &str) {
    fs::write(folder.join("sarsen.toml"), "name = \"test\"\n").unwrap();
    fs::write(folder.join("app.js"), ROUTES).unwrap();
    fs::create_dir_all(folder.join("public/docs")).unwrap();
    fs::create_dir_all(folder.join("public/.git")).unwrap();
    for (name, content) in PUBLIC {
        fs::write(folder.join("public").join(name), content).unwrap();
    }
    fs::write(folder.join("public/style.css"), style).unwrap();
}

fn style() -> String {
    LINE.repeat(100)
}

pub fn start() -> (Site, Arc<Pool>) {
    let mut started = None;
    let site = Site::with_pool(
        |_| {},
        |repository| {
            let folder = tempfile::tempdir().unwrap();
            write(folder.path(), &style());
            let app = App::load(folder.path()).unwrap();
            let options = PoolOptions {
                workers: 1,
                queue: 64,
                cpu_limit: Duration::from_secs(5),
                heap_limit: 32 << 20,
                errors: None,
                cache: None,
            };
            let pool = Arc::new(Pool::start(app, Arc::clone(repository), options).unwrap());
            started = Some(Arc::clone(&pool));
            Some(pool)
        },
    );
    (site, started.unwrap())
}

fn site() -> Site {
    start().0
}

fn ask(site: &Site, path: &str, fields: &str) -> Reply {
    site.ask(&bare("GET", path, fields))
}

fn etag(site: &Site, path: &str) -> String {
    site.ask(&get(path)).field("etag").unwrap().to_owned()
}

#[test]
fn a_file_goes_before_a_route_for_get_and_head_alone() {
    let site = site();
    let reply = site.ask(&get("/style.css"));
    assert_eq!((reply.status, reply.body), (200, style()));
    assert_eq!(site.ask(&bare("POST", "/style.css", "Content-Length: 0\r\n")).body, "posted");
    assert_eq!(site.ask(&bare("PUT", "/style.css", "Content-Length: 0\r\n")).status, 405);
    assert_eq!(site.ask(&get("/")).body, "the handler", "there is no public/index.html");
    assert_eq!(site.ask(&get("/only")).body, "a handler");
    assert_eq!(site.ask(&get("/absent.css")).status, 404);
}

#[test]
fn s8_6_and_9_3_2_head_is_get_without_its_content() {
    let site = site();
    let (get, head) = (get("/digits.bin"), bare("HEAD", "/digits.bin", ""));
    let mut client = site.connect();
    let (get, head) = (client.ask(&get), client.ask(&head));
    assert_eq!(head.status, 200);
    let fields = |reply: &Reply| {
        let mut fields = reply.fields.clone();
        fields.retain(|(name, _)| name != "date");
        fields
    };
    assert_eq!(fields(&get), fields(&head));
    assert_eq!(head.field("content-length"), Some("10"));
}

#[test]
fn s8_3_media_types_and_no_sniffing() {
    let site = site();
    for (path, media_type) in [
        ("/style.css", "text/css; charset=utf-8"),
        ("/docs/", "text/html; charset=utf-8"),
        ("/digits.bin", "application/octet-stream"),
    ] {
        let reply = site.ask(&get(path));
        assert_eq!(reply.field("content-type"), Some(media_type), "{path}");
        assert_eq!(reply.field("x-content-type-options"), Some("nosniff"), "{path}");
        assert_eq!(reply.field("cache-control"), Some("no-cache"), "{path}");
        assert_eq!(reply.field("accept-ranges"), Some("bytes"), "{path}");
        assert_eq!(reply.field("last-modified"), None, "{path}");
    }
}

#[test]
fn s13_1_2_if_none_match() {
    let site = site();
    let tag = etag(&site, "/style.css");
    assert!(tag.starts_with('"') && tag.len() == 34, "a strong tag: {tag}");
    for known in [tag.clone(), format!("\"x\", W/{tag}"), "*".to_owned()] {
        let reply = ask(&site, "/style.css", &format!("If-None-Match: {known}\r\n"));
        assert_eq!((reply.status, reply.body.as_str()), (304, ""), "{known}");
        assert_eq!(reply.field("etag"), Some(tag.as_str()));
        assert_eq!(reply.field("cache-control"), Some("no-cache"));
        assert_eq!(reply.field("vary"), Some("Accept-Encoding"));
    }
    assert_eq!(ask(&site, "/style.css", "If-None-Match: \"x\"\r\n").status, 200);
    // A coded representation is another one; who has it, and takes it, has the newest.
    let coded = tag.replace("\"", "");
    let known = format!("If-None-Match: \"{coded}-gzip\"\r\n");
    assert_eq!(ask(&site, "/style.css", &known).status, 200);
    let reply = ask(&site, "/style.css", &format!("{known}Accept-Encoding: gzip\r\n"));
    let expected = format!("\"{coded}-gzip\"");
    assert_eq!((reply.status, reply.field("etag")), (304, Some(expected.as_str())));
}

#[test]
fn s13_1_1_if_match_and_s13_1_3_dates() {
    let site = site();
    let tag = etag(&site, "/digits.bin");
    assert_eq!(ask(&site, "/digits.bin", &format!("If-Match: {tag}\r\n")).status, 200);
    let reply = ask(&site, "/digits.bin", "If-Match: \"x\"\r\n");
    assert_eq!((reply.status, reply.problem()), (412, "precondition-failed"));
    let later = "If-Modified-Since: Fri, 31 Dec 9999 23:59:59 GMT\r\n";
    assert_eq!(ask(&site, "/digits.bin", later).status, 200, "there is no date to compare");
}

#[test]
fn s14_one_range_and_several() {
    let site = site();
    for (range, part, content_range) in [
        ("bytes=0-0", "0", "bytes 0-0/10"),
        ("bytes=2-4", "234", "bytes 2-4/10"),
        ("bytes=8-", "89", "bytes 8-9/10"),
        ("bytes=-3", "789", "bytes 7-9/10"),
        ("bytes=5-99", "56789", "bytes 5-9/10"),
    ] {
        let reply = ask(&site, "/digits.bin", &format!("Range: {range}\r\n"));
        assert_eq!((reply.status, reply.body.as_str()), (206, part), "{range}");
        assert_eq!(reply.field("content-range"), Some(content_range));
        assert_eq!(reply.field("etag"), Some(etag(&site, "/digits.bin").as_str()));
    }
    for range in ["bytes=10-", "bytes=-0"] {
        let reply = ask(&site, "/digits.bin", &format!("Range: {range}\r\n"));
        assert_eq!((reply.status, reply.field("content-range")), (416, Some("bytes */10")));
    }
    for ignored in ["bytes=0-1,4-5", "bytes=4-2", "lines=1-2", "bytes=1-2\r\nRange: bytes=3-4"] {
        let reply = ask(&site, "/digits.bin", &format!("Range: {ignored}\r\n"));
        assert_eq!((reply.status, reply.body.as_str()), (200, "0123456789"), "{ignored}");
    }
    assert_eq!(ask(&site, "/empty.txt", "Range: bytes=0-\r\n").status, 416);
    let head = site.ask(&bare("HEAD", "/digits.bin", "Range: bytes=0-1\r\n"));
    assert_eq!((head.status, head.field("content-length")), (200, Some("10")), "s14.2: GET alone");
}

#[test]
fn s13_1_5_if_range() {
    let site = site();
    let tag = etag(&site, "/digits.bin");
    let asked = |condition: &str| {
        let reply =
            ask(&site, "/digits.bin", &format!("Range: bytes=1-2\r\nIf-Range: {condition}\r\n"));
        (reply.status, reply.body)
    };
    assert_eq!(asked(&tag), (206, "12".to_owned()));
    for other in ["\"x\"", &format!("W/{tag}"), "Sun, 06 Nov 1994 08:49:37 GMT"] {
        assert_eq!(asked(other), (200, "0123456789".to_owned()), "{other}");
    }
}

#[test]
fn s12_5_3_and_8_4_codings() {
    let site = site();
    let mut client = site.connect();
    // The codings are not text, so only their heads are asked for.
    let mut head = |accepted: &str| {
        client.ask(&bare("HEAD", "/style.css", &format!("Accept-Encoding: {accepted}\r\n")))
    };
    let plain = head("identity");
    assert_eq!(
        (plain.field("content-encoding"), plain.field("vary")),
        (None, Some("Accept-Encoding"))
    );
    let length = |reply: &Reply| reply.field("content-length").unwrap().parse::<usize>().unwrap();
    for (accepted, coding) in [("gzip, br", "br"), ("gzip", "gzip"), ("br;q=0.1, gzip", "gzip")] {
        for _ in 0..2 {
            let reply = head(accepted);
            assert_eq!(reply.field("content-encoding"), Some(coding), "{accepted}");
            assert_eq!(reply.field("vary"), Some("Accept-Encoding"));
            assert!(length(&reply) < length(&plain) / 10, "{accepted}: {reply:?}");
            let tag = reply.field("etag").unwrap();
            assert!(tag.ends_with(&format!("-{coding}\"")), "{tag}");
        }
    }
    let small = client.ask(&bare("HEAD", "/docs/", "Accept-Encoding: gzip\r\n"));
    assert_eq!((small.field("content-encoding"), small.field("vary")), (None, None));
    // A part is one of the file as it is.
    let fields = "Range: bytes=0-3\r\nAccept-Encoding: gzip\r\n";
    let part = client.ask(&bare("GET", "/style.css", fields));
    assert_eq!((part.status, part.body.as_str()), (206, "body"));
    assert_eq!(part.field("content-encoding"), None);
}

#[test]
fn an_asset_may_be_kept_for_ever() {
    let site = site();
    let url = site.ask(&get("/style")).body;
    let (path, query) = url.split_once('?').unwrap();
    assert_eq!(path, "/style.css");
    let forever = Some("public, max-age=31536000, immutable");
    assert_eq!(site.ask(&get(&url)).field("cache-control"), forever);
    let known = format!("If-None-Match: {}\r\n", etag(&site, path));
    assert_eq!(ask(&site, &url, &known).field("cache-control"), forever);
    for other in ["?v=0", "?v=", "?x=1", &format!("?{query}&x")] {
        let reply = site.ask(&get(&format!("{path}{other}")));
        assert_eq!(
            (reply.status, reply.field("cache-control")),
            (200, Some("no-cache")),
            "{other}"
        );
    }
    assert_eq!(site.ask(&get("/assets/docs/")).body.split('?').next(), Some("/docs/"));
    assert_eq!(site.ask(&get("/assets/stile.css")).problem(), "handler-failed");
}

#[test]
fn an_index_stands_for_its_folder() {
    let site = site();
    assert_eq!(site.ask(&get("/docs/")).body, "<h1>docs</h1>");
    assert_eq!(site.ask(&get("/docs/index.html")).body, "<h1>docs</h1>");
    let reply = site.ask(&get("/docs?a=b"));
    assert_eq!((reply.status, reply.field("location")), (302, Some("/docs/?a=b")));
    assert_eq!(site.ask(&get("/docs//")).status, 404);
}

#[test]
fn no_path_leads_out_of_the_folder() {
    let site = site();
    assert_eq!(site.ask(&get("/a%20b.txt")).body, "spaces");
    for path in [
        "/../app.js",
        "/docs/../../app.js",
        "/%2e%2e/app.js",
        "/..%2fapp.js",
        "/docs/..%2f..%2fapp.js",
        "/docs%2Findex.html",
        "/..%5capp.js",
        "/docs/../style.css",
        "/./style.css",
        "//style.css",
        "/style.css%00",
        "/style.css%00.txt",
        "/%",
        "/%zz",
        "/%c0%ae%c0%ae/app.js",
        "/.env",
        "/%2eenv",
        "/.git/config",
        "/public/style.css",
        "/app.js",
        "/sarsen.toml",
    ] {
        let reply = site.ask(&get(path));
        assert!(matches!(reply.status, 400 | 404), "{path}: {reply:?}");
    }
}

#[test]
fn another_application_brings_its_own_files() {
    let (site, pool) = start();
    let before = etag(&site, "/style.css");
    let url = site.ask(&get("/style")).body;
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "other");
    pool.reload(App::load(folder.path()).unwrap()).unwrap();
    let reply = site.ask(&get(&url));
    assert_eq!((reply.body.as_str(), reply.field("cache-control")), ("other", Some("no-cache")));
    assert_ne!(reply.field("etag"), Some(before.as_str()));
    let url = site.ask(&get("/style")).body;
    assert!(site.ask(&get(&url)).field("cache-control").unwrap().ends_with("immutable"));
}
