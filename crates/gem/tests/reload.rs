//! Another application takes over: between requests, as a whole, and only if it can be loaded.

use crate::support::{PATIENCE, Setup, Site, folder, load, on_log, request, start, text};
use std::fs;
use std::path::Path;
use std::sync::mpsc::channel;
use tempfile::TempDir;

const ONE: &str = "import { App } from \"sarsen\";
import { word } from \"./word.js\";
const app = new App();
app.get(\"/\", () => word);
app.get(\"/slow\", () => { console.log(\"in flight\"); return word; });
export default app;
";

fn site(workers: usize) -> (Site, TempDir) {
    let (served, edited) = (files("one"), files("one"));
    (start(served, Setup { workers, ..Setup::default() }), edited)
}

fn files(word: &str) -> TempDir {
    folder(&[("app.js", ONE), ("word.js", &exported(word))])
}

fn exported(word: &str) -> String {
    format!("export const word = \"{word}\";\n")
}

fn save(folder: &Path, file: &str, text: &str) {
    fs::write(folder.join(file), text).unwrap();
}

#[test]
fn every_request_after_it_meets_the_new_application() {
    let (site, edited) = site(3);
    assert_eq!(site.text("/"), "one");
    for word in ["two", "three"] {
        save(edited.path(), "word.js", &exported(word));
        site.pool.reload(load(edited.path()).unwrap()).unwrap();
        for _ in 0..9 {
            assert_eq!(site.text("/"), word);
        }
    }
}

#[test]
fn routes_and_settings_change_too() {
    let (site, edited) = site(1);
    let reader = site.pool.app_reader();
    assert_eq!(reader.with(|app| app.name().to_owned()), "test");
    save(edited.path(), "sarsen.toml", "name = \"other\"\n[limits]\ncpu_ms = 7\n");
    let routes = "import { App } from \"sarsen\";
        export default new App().get(\"/new\", () => { for (;;); });";
    save(edited.path(), "app.js", routes);
    site.pool.reload(load(edited.path()).unwrap()).unwrap();
    assert_eq!(site.get("/").status, 404);
    let failure = site.send(request("GET", "/new")).unwrap_err().to_string();
    assert!(failure.contains("its limit of 7 ms"), "{failure}");
    assert_eq!(site.pool.app().name(), "other");
    assert_eq!(reader.with(|app| app.name().to_owned()), "other");
}

#[test]
fn a_request_in_flight_finishes_with_the_application_before() {
    let (site, edited) = site(1);
    let (arrived, arrivals) = channel();
    let (release, released) = channel::<()>();
    // The handler writes to the log, and stays there until it is released.
    let _turn = on_log(Box::new(move |_, _| {
        arrived.send(()).unwrap();
        released.recv_timeout(PATIENCE).unwrap();
    }));
    let (replied, reply) = channel();
    let respond = Box::new(move |outcome| replied.send(outcome).unwrap());
    assert!(site.pool.submit(request("GET", "/slow"), respond).is_ok());
    arrivals.recv_timeout(PATIENCE).unwrap();
    save(edited.path(), "word.js", &exported("two"));
    site.pool.reload(load(edited.path()).unwrap()).unwrap();
    release.send(()).unwrap();
    assert_eq!(text(&reply.recv_timeout(PATIENCE).unwrap().unwrap()), "one");
    assert_eq!(site.text("/"), "two");
}

#[test]
fn what_does_not_load_is_not_served() {
    let (site, edited) = site(1);
    save(edited.path(), "word.js", "export const word = ;\n");
    let error = load(edited.path()).err().unwrap().to_string();
    assert!(error.contains("word.js:1:21"), "{error}");
    assert_eq!(site.text("/"), "one");
}

#[test]
fn what_a_worker_has_no_room_for_is_not_served() {
    let (site, edited) = site(1);
    // Where it is checked there is more room than the workers here have.
    save(edited.path(), "word.js", "export const word = \"x\".repeat(40 << 20).length;\n");
    let app = load(edited.path()).unwrap();
    let error = site.pool.reload(app).unwrap_err().to_string();
    assert!(error.contains("out of memory"), "{error}");
    assert_eq!(site.text("/"), "one");
}

#[test]
fn workers_that_sleep_change_over_at_once() {
    let (site, edited) = site(2);
    let (said, words) = channel();
    let _turn = on_log(Box::new(move |_, text| said.send(text.to_owned()).unwrap()));
    save(edited.path(), "word.js", "console.log(\"loaded\"); export const word = \"two\";\n");
    site.pool.reload(load(edited.path()).unwrap()).unwrap();
    // Twice while it is checked, and once by each worker, of whom nobody has asked anything.
    for _ in 0..4 {
        assert_eq!(words.recv_timeout(PATIENCE).unwrap(), "loaded");
    }
}
