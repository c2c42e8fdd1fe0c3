//! `sarsen new`: what it makes works, and it leaves alone what is there.

use crate::harness::{Ends, Site, root, run};
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use tempfile::TempDir;

fn made() -> (TempDir, PathBuf) {
    made_in(&[])
}

/// In both languages: the flags, and the main module.
const LANGUAGES: [(&[&str], &str); 2] = [(&[], "app.js"), (&["--typescript"], "app.ts")];

fn made_in(flags: &[&str]) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let app = folder.path().join("my app");
    let output = run(&[&["new", app.to_str().expect("UTF-8")], flags].concat());
    assert!(output.status.success(), "{output:?}");
    let said = String::from_utf8(output.stdout).expect("UTF-8");
    for command in ["sarsen serve '", "sarsen test '", "curl 'http://127.0.0.1:8000/db/notes'"] {
        assert!(said.contains(command), "{said}");
    }
    (folder, app)
}

#[test]
fn its_tests_pass() {
    for (flags, main) in LANGUAGES {
        let (_folder, app) = made_in(flags);
        assert!(app.join(main).exists(), "{main}");
        let output = run(&["test", app.to_str().expect("UTF-8")]);
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{main}: {said}{output:?}");
        assert!(said.contains("\n3 passed, 0 failed in "), "{main}: {said}");
    }
}

#[test]
fn it_is_served_and_its_objects_are_documents() {
    LANGUAGES.iter().for_each(|(flags, _)| it_is_served(flags));
}

fn it_is_served(flags: &[&str]) {
    let (_folder, app) = made_in(flags);
    let server = Site::with_app(app).start();
    assert!(server.said.iter().any(|line| line.contains("my app")), "{:?}", server.said);
    let form = [("content-type", "application/x-www-form-urlencoded")];
    let added = server.connect().request("POST", "/notes", &form, b"text=Milk");
    assert_eq!(added.expect("a reply").status, 303);
    assert!(server.get("/").text().contains("<li>Milk"));
    let documents = server.get("/db/notes").json();
    assert_eq!(documents["documents"][0]["value"]["text"], "Milk");
}

/// The compiler that `make types` installs.
#[test]
fn the_compiler_accepts_it() {
    let tsc = root().join("tests/types/node_modules/.bin/tsc");
    if !tsc.exists() {
        eprintln!("`make types` installs the compiler; without it this shows nothing");
        return;
    }
    for (flags, config) in [(LANGUAGES[0].0, "jsconfig.json"), (LANGUAGES[1].0, "tsconfig.json")] {
        let (_folder, app) = made_in(flags);
        let output = Command::new(&tsc).args(["--project", config]).current_dir(app).ends();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{config}: {said}");
    }
}

#[test]
fn what_is_there_is_left_alone() {
    let (_folder, app) = made();
    let before = fs::read_to_string(app.join("app.js")).expect("the file");
    fs::write(app.join("app.js"), "mine").expect("an edit");
    let again = run(&["new", app.to_str().expect("UTF-8")]);
    assert_eq!(again.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&again.stderr).contains("is not empty"), "{again:?}");
    assert_eq!(fs::read_to_string(app.join("app.js")).expect("the file"), "mine");
    // An empty folder is as good as none.
    fs::remove_dir_all(&app).expect("removed");
    fs::create_dir(&app).expect("made");
    assert!(run(&["new", app.to_str().expect("UTF-8")]).status.success());
    assert_eq!(fs::read_to_string(app.join("app.js")).expect("the file"), before);
    let file = app.join("app.js");
    assert_eq!(run(&["new", file.to_str().expect("UTF-8")]).status.code(), Some(1));
    assert_eq!(run(&["new", app.join("a\"b").to_str().expect("UTF-8")]).status.code(), Some(1));
    assert_eq!(run(&["new"]).status.code(), Some(2));
}
