//! `sarsen serve --watch`: what is saved is served, and the pages that are open hear of it.

use crate::harness::{Server, Site, run};
use crate::http::{Client, Reply};
use crate::patience::PATIENCE;
use std::fs;
use std::path::Path;
use std::thread;
use std::time::Instant;
use tempfile::TempDir;

const APP: &str = "import { App, html, reply } from \"sarsen\";
import { word } from \"./word.js\";
const app = new App();
app.get(\"/\", () => html`<!doctype html><body><p>${word}</p></body>`);
app.get(\"/json\", () => ({ word }));
app.get(\"/strict\", () => reply({
  body: html`<p>${word}</p>`,
  headers: { \"content-security-policy\": \"default-src 'none'\" },
}));
export default app;
";

fn word(word: &str) -> String {
    format!("export const word = \"{word}\";\n")
}

fn app() -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    save(folder.path(), "sarsen.toml", "name = \"edited\"\n");
    save(folder.path(), "app.js", APP);
    save(folder.path(), "word.js", &word("one"));
    save(folder.path(), "public/style.css", "p { color: red }\n");
    folder
}

fn save(folder: &Path, name: &str, text: &str) {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
    fs::write(path, text).expect("a file");
}

/// As editors do that keep the old file until the new one is whole.
fn save_by_rename(folder: &Path, name: &str, text: &str) {
    save(folder, &format!(".{name}.new"), text);
    fs::rename(folder.join(format!(".{name}.new")), folder.join(name)).expect("renamed");
}

/// A page that is open: what it is told, each time that there is something.
struct Page {
    client: Client,
    last: Option<String>,
}

impl Page {
    fn open(server: &Server) -> Self {
        Self { client: server.connect(), last: None }
    }

    /// What is told next; it waits for that.
    fn news(&mut self) -> serde_json::Value {
        let begun = Instant::now();
        loop {
            assert!(begun.elapsed() < PATIENCE, "no news after {:?}", self.last);
            let last = self.last.clone();
            let headers: Vec<_> = last.iter().map(|id| ("last-event-id", id.as_str())).collect();
            let reply = self.client.request("GET", "/_sarsen/live", &headers, b"").expect("news");
            assert_eq!(reply.header("content-type"), Some("text/event-stream"));
            let text = reply.text();
            assert!(text.starts_with("retry: "), "{text}");
            let line = |name: &str| text.lines().find_map(|line| line.strip_prefix(name));
            // Nothing, after a while: the page asks again.
            let Some(data) = line("data: ") else { continue };
            self.last = line("id: ").map(str::to_owned);
            return serde_json::from_str(data).expect("JSON");
        }
    }
}

fn script(page: &Reply) -> String {
    let text = page.text();
    let (_, after) = text.split_once("<script src=\"/_sarsen/live.js?").expect("the script");
    after.split_once('"').expect("its end").0.to_owned()
}

#[test]
fn an_edit_is_served_and_told() {
    let folder = app();
    let server = Site::with_app(folder.path().to_owned()).start_with(&["--watch"]);
    let before = server.get("/");
    assert!(before.text().contains("<p>one</p><script src="), "{}", before.text());
    let mut page = Page::open(&server);
    assert_eq!(page.news()["served"], script(&before));
    save(folder.path(), "word.js", &word("two"));
    let served = page.news()["served"].clone();
    assert_ne!(served, script(&before));
    let after = server.get("/");
    assert!(after.text().contains("<p>two</p>"), "{}", after.text());
    assert_eq!(served, script(&after));
    save_by_rename(folder.path(), "word.js", &word("six"));
    page.news();
    assert_eq!(server.get("/json").text(), "{\"word\":\"six\"}");
    save(folder.path(), "public/style.css", "p { color: blue }\n");
    assert_ne!(page.news()["served"], script(&after));
}

/// With the fields of a browser that has the page already and takes it compressed.
#[test]
fn pages_of_public_are_told_as_well() {
    let folder = app();
    let large = format!("<!doctype html><body><p>{}</p></body>\n", "static ".repeat(500));
    save(folder.path(), "public/page.html", &large);
    let tag = {
        let server = Site::with_app(folder.path().to_owned()).start();
        let page = server.get("/page.html");
        assert!(!page.text().contains("script"));
        page.header("etag").expect("a tag").to_owned()
    };
    let server = Site::with_app(folder.path().to_owned()).start_with(&["--watch"]);
    let fields = [("accept-encoding", "gzip, br"), ("if-none-match", &*tag)];
    let load = || {
        let page = server.connect().request("GET", "/page.html", &fields, b"").expect("a reply");
        assert_eq!((page.status, page.header("etag")), (200, None));
        assert_eq!(page.header("cache-control"), Some("no-store"));
        script(&page)
    };
    let before = load();
    let mut page = Page::open(&server);
    assert_eq!(page.news()["served"], before);
    save(folder.path(), "public/page.html", &large.replace("static", "edited"));
    assert_eq!(page.news()["served"], load());
    assert_ne!(load(), before);
    assert!(server.get("/page.html").text().contains("<p>edited "));
}

const ORDERS: &str = "import { App } from \"sarsen\";
const app = new App();
app.post(\"/orders/:key\", ({ db, params }) => {
  db.orders.put(params.key, {});
});
app.get(\"/seen\", ({ db }) => ({ seen: db.seen.count() }));
export default app;
";

#[test]
fn settings_and_functions_that_an_edit_brings_hold_from_then_on() {
    let folder = tempfile::tempdir().expect("a folder");
    save(folder.path(), "sarsen.toml", "name = \"edited\"\n");
    save(folder.path(), "app.js", ORDERS);
    let server = Site::with_app(folder.path().to_owned()).start_with(&["--watch"]);
    let mut page = Page::open(&server);
    page.news();
    let order = |key: &str| {
        let made = server.connect().request("POST", &format!("/orders/{key}"), &[], b"");
        assert_eq!(made.expect("a reply").status, 204);
    };
    order("before");
    let settings = "name = \"edited\"\n[collections.orders]\nexpiry = 50\n";
    save(folder.path(), "sarsen.toml", settings);
    assert_eq!(page.news()["mistake"], serde_json::Value::Null);
    let service = "app.service(\"orders\", { onExpire({ db, key }) { db.seen.put(key, 1); } });\n";
    save(folder.path(), "app.js", &ORDERS.replace("export", &format!("{service}export")));
    assert_eq!(page.news()["mistake"], serde_json::Value::Null);
    order("after");
    server.wait_until("onExpire", || server.get("/db/seen/after").status == 200);
    assert_eq!(server.get("/db/seen/before").status, 404, "it has no expiry");
    assert_eq!(server.get("/db/orders/before").status, 200);
    assert_eq!(server.get("/seen").text(), "{\"seen\":1}");
}

#[test]
fn a_mistake_is_shown_until_it_is_repaired() {
    let folder = app();
    let server = Site::with_app(folder.path().to_owned()).start_with(&["--watch"]);
    let mut page = Page::open(&server);
    let first = page.news();
    assert_eq!(first["mistake"], serde_json::Value::Null);
    save(folder.path(), "word.js", "export const word = ;\n");
    let news = page.news();
    assert_eq!(news["served"], first["served"], "what was there before still is");
    let mistake = news["mistake"].as_str().expect("the mistake").to_owned();
    let place = format!("{}:1:21: ", folder.path().join("word.js").display());
    assert!(mistake.starts_with(&place), "{mistake}");
    assert!(mistake.contains("> 1 | export const word = ;\n"), "{mistake}");
    assert!(server.get("/").text().contains("<p>one</p>"));
    // A page that is opened now hears of it as well.
    assert_eq!(Page::open(&server).news()["mistake"].as_str(), Some(mistake.as_str()));
    save(folder.path(), "word.js", &word("three"));
    assert_eq!(page.news()["mistake"], serde_json::Value::Null);
    assert!(server.get("/").text().contains("<p>three</p>"));
}

#[test]
fn the_script_gets_into_pages_alone_and_past_their_policy() {
    let folder = app();
    let server = Site::with_app(folder.path().to_owned()).start_with(&["--watch"]);
    let code = server.get("/_sarsen/live.js");
    assert_eq!(code.header("content-type"), Some("text/javascript; charset=utf-8"));
    assert!(code.text().contains("EventSource"));
    assert_eq!(server.get("/json").text(), "{\"word\":\"one\"}");
    let strict = server.get("/strict");
    assert!(!script(&strict).is_empty());
    let expected = "default-src 'none'; script-src 'self'; connect-src 'self'";
    assert_eq!(strict.header("content-security-policy"), Some(expected));
    assert!(!script(&server.get("/nowhere")).is_empty(), "pages of errors, too");
    let mut client = server.connect();
    let refused = client.send(b"GET /_sarsen/live HTTP/1.1\r\nhost: evil.example\r\n\r\n");
    refused.expect("sent");
    assert_eq!(client.read_reply(false).expect("a reply").status, 421);
}

#[test]
fn a_page_that_waits_does_not_hold_up_the_end_and_hears_of_the_next_start() {
    let folder = app();
    let site = Site::with_app(folder.path().to_owned());
    let server = site.start_with(&["--watch"]);
    let mut page = Page::open(&server);
    let before = page.news();
    let last = page.last.clone();
    let waits = thread::spawn(move || {
        let id = page.last.clone().expect("an id");
        page.client.request("GET", "/_sarsen/live", &[("last-event-id", &id)], b"")
    });
    assert!(server.stop().success());
    // Whether it asked before the end or after is a matter of luck.
    if let Ok(reply) = waits.join().expect("the page") {
        assert!(!reply.text().contains("data: "), "{}", reply.text());
    }
    let server = site.start_with(&["--watch"]);
    let mut page = Page { client: server.connect(), last };
    assert_ne!(page.news()["served"], before["served"]);
}

#[test]
fn without_it_nothing_is_added() {
    let folder = app();
    let server = Site::with_app(folder.path().to_owned()).start();
    assert!(!server.get("/").text().contains("script"));
    assert_eq!(server.get("/_sarsen/live.js").status, 404);
}

#[test]
fn it_is_for_this_machine_and_an_application() {
    let public = run(&["serve", "app", "--watch", "--listen", "0.0.0.0:0"]);
    assert_eq!(public.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&public.stderr).contains("a loopback address"));
    let none = run(&["serve", "--watch"]);
    assert_eq!(none.status.code(), Some(2));
}
