//! Exports, imports and checks by the real binary, where a server runs and where none does, and
//! when either side is killed. What lines mean is tested in the repository.

use crate::harness::{Ends, Server, Site, sarsen};
use serde_json::Value;
use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

fn command(site: &Site, name: &str, words: &[&str]) -> Command {
    let mut command = sarsen();
    command.arg(name).arg("--data").arg(site.data()).args(words);
    command
}

fn ran(site: &Site, name: &str, words: &[&str]) -> Output {
    command(site, name, words).ends()
}

fn export(site: &Site) -> String {
    let output = ran(site, "export", &[]);
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

fn import(site: &Site, file: &Path, words: &[&str]) -> Output {
    command(site, "import", words).arg(file).ends()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The lines but for the first and the last, without versions.
fn content(export: &str) -> Vec<Value> {
    let lines = export.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let mut lines: Vec<Value> = lines.collect();
    lines.pop();
    lines.remove(0);
    for line in &mut lines {
        line.as_object_mut().expect("an object").remove("version");
    }
    lines
}

/// Another process that has the data folder open, and lets go of it when this is dropped.
fn lock(site: &Site) -> fs::File {
    let file = fs::File::options().write(true).open(site.data().join("lock")).expect("the lock");
    file.try_lock().expect("nobody has it");
    file
}

#[test]
fn commands_and_a_server_wait_for_each_other_and_not_for_ever() {
    let site = Site::bare();
    let server = site.start();
    put(&server, "a", "1");
    assert!(server.stop().success());
    let backups = site.data().with_file_name("backups");
    let backups = backups.to_str().expect("UTF-8");
    for words in [&["export"][..], &["backup", "--to", backups], &["tasks", "list"]] {
        let held = lock(&site);
        let (first, rest) = words.split_first().expect("a command");
        let mut waits = match *first {
            "tasks" => sarsen(),
            name => command(&site, name, &[]),
        };
        match *first {
            "tasks" => waits.args(words).arg("--data").arg(site.data()),
            _ => waits.args(rest),
        };
        let log = fs::File::create(site.data().with_file_name("log")).expect("a file");
        let child = waits.stdout(Stdio::null()).stderr(log).spawn().expect("it starts");
        let logged = || fs::read_to_string(site.data().with_file_name("log")).expect("UTF-8");
        site.wait_for("it to wait", || logged().contains("waiting at most 10 s").then_some(()));
        drop(held);
        let mut child = child;
        let ended = child.wait().expect("it ends");
        assert!(ended.success(), "{words:?}: {}", logged());
    }
    // A server that begins while a command has it, as after a restart in the middle of a backup.
    let held = lock(&site);
    let (told, go_on) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let server = site.start();
            told.send(()).expect("somebody waits");
            assert!(server.stop().success());
        });
        site.wait_for("it to wait", || {
            site.logged().contains("waiting at most 10 s").then_some(())
        });
        assert!(go_on.try_recv().is_err(), "it serves without the lock");
        drop(held);
        go_on.recv().expect("it serves");
    });
    // Nobody waits for ever.
    let held = lock(&site);
    let refused = ran(&site, "export", &[]);
    assert!(!refused.status.success() && said(&refused).contains("is open in another process"));
    drop(held);
}

fn put(server: &Server, key: &str, body: &str) {
    let reply = server.connect().request(
        "PUT",
        &format!("/db/notes/{key}"),
        &[("Content-Type", "application/json")],
        body.as_bytes(),
    );
    let status = reply.expect("a reply").status;
    assert!(status == 201 || status == 204, "{status}");
}

fn fill(server: &Server) {
    for i in 0..30 {
        put(server, &format!("k{i}"), &format!("{{\"n\":{i}}}"));
    }
    let png: Vec<u8> = (0..=255).collect();
    let field = [("Content-Type", "image/png")];
    let reply = server.connect().request("PUT", "/db/media/p", &field, &png).expect("a reply");
    assert_eq!(reply.status, 201);
}

/// A file in the site's folder.
fn file(site: &Site, name: &str, content: &[u8]) -> PathBuf {
    let path = site.data().with_file_name(name);
    fs::write(&path, content).expect("a file");
    path
}

#[test]
fn what_a_server_exports_another_imports() {
    let (from, to) = (Site::bare(), Site::bare());
    let server = from.start();
    fill(&server);
    let by_server = export(&from);
    assert_eq!(server.stop().code(), Some(0));
    let alone = export(&from);
    assert_eq!(content(&by_server), content(&alone));
    assert_eq!(by_server.lines().last(), alone.lines().last());
    let all = file(&from, "all.jsonl", by_server.as_bytes());

    // Into a folder, which is made.
    let output = import(&to, &all, &[]);
    assert!(output.status.success() && output.stdout.is_empty(), "{output:?}");
    assert_eq!(said(&output), "imported 31 documents; all of it is durable\n");
    assert_eq!(content(&export(&to)), content(&by_server));
    to.assert_clean();

    // Into a server.
    let other = Site::bare();
    let server = other.start();
    let output = import(&other, &all, &[]);
    assert!(output.status.success(), "{output:?}");
    assert_eq!(server.get("/db/notes/k7").text(), "{\"n\":7}");
    assert_eq!(content(&export(&other)), content(&by_server));
    let again = import(&other, &all, &[]);
    assert!(again.status.success() && said(&again).contains("it was imported before"), "{again:?}");
    let failed = import(&other, &all, &["--restart"]);
    assert_eq!(failed.status.code(), Some(1));
    assert!(said(&failed).contains("there is a document media/p already"), "{failed:?}");
    let kept = import(&other, &all, &["--restart", "--existing", "skip"]);
    assert_eq!(said(&kept), "imported 0 documents, 31 were there already; all of it is durable\n");
    assert_eq!(server.stop().code(), Some(0));
    other.assert_clean();
}

#[test]
fn cut_files_and_bad_lines_are_told() {
    let site = Site::bare();
    let server = site.start();
    fill(&server);
    let whole = export(&site);
    let cut = file(&site, "cut.jsonl", &whole.as_bytes()[..whole.len() / 2]);
    let output = import(&site, &cut, &["--existing", "replace"]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let error = said(&output);
    assert!(error.contains("cut off") && error.contains("nothing was imported"), "{error}");
    let lines = file(&site, "lines.jsonl", b"{\"id\":\"x1\"}\n{\"id\":}\n{\"id\":\"x3\"}\n");
    let output = import(&site, &lines, &["--collection", "people", "--key", "/id"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(said(&output).contains("line 2, column 7: expected a value"), "{output:?}");
    assert_eq!(server.get("/db/people/x1").status, 200);
    assert_eq!(server.get("/db/people/x3").status, 404);
    let words = ["--collection", "people", "--key", "/id", "--continue"];
    let output = import(&site, &lines, &words);
    assert_eq!(output.status.code(), Some(1));
    let expected = "line 2, column 7: expected a value, got '}'\nimported 2 documents, \
                    1 bad lines (went on behind line 1); all of it is durable\n";
    assert_eq!(said(&output), expected);
    assert_eq!(server.get("/db/people/x3").status, 200);
    let output = import(&site, &site.data().join("none"), &[]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(ran(&site, "export", &["--collection", "nothing"]).status.code(), Some(1));
    assert_eq!(server.stop().code(), Some(0));
    let nowhere = Site::bare();
    assert_eq!(ran(&nowhere, "export", &[]).status.code(), Some(3));
}

#[test]
fn an_export_to_a_file_is_gone_on_with() {
    let site = Site::bare();
    let server = site.start();
    fill(&server);
    let path = site.data().with_file_name("out.jsonl");
    let output = command(&site, "export", &["--output"]).arg(&path).ends();
    assert!(output.status.success() && output.stdout.is_empty(), "{output:?}");
    assert!(said(&output).starts_with("exported 31 documents of 2 collections at commit "));
    let whole = fs::read(&path).expect("the export");
    let again = command(&site, "export", &["--output"]).arg(&path).ends();
    assert_eq!(again.status.code(), Some(1), "it is not overwritten");
    let resume = || command(&site, "export", &["--resume", "--output"]).arg(&path).ends();
    assert!(said(&resume()).contains("it is whole"));
    for cut in [0, 20, 300, whole.len() - 1] {
        fs::write(&path, &whole[..cut]).expect("cut");
        let output = resume();
        assert!(output.status.success(), "{cut}: {output:?}");
        assert_eq!(fs::read(&path).expect("the export"), whole, "{cut}");
    }
    fs::write(&path, &whole[..300]).expect("cut");
    put(&server, "later", "1");
    let output = resume();
    assert_eq!(output.status.code(), Some(1));
    assert!(said(&output).contains("an export is of one commit"), "{output:?}");
}

/// Puts more than the pipes between the server and a reader that reads nothing can hold.
fn put_much(server: &Server) {
    let text = format!("\"{}\"", "x".repeat(50_000));
    for i in 0..100 {
        put(server, &format!("m{i:02}"), &text);
    }
    let large = vec![7; 3 << 20];
    let field = [("Content-Type", "image/png")];
    let reply = server.connect().request("PUT", "/db/media/large", &field, &large);
    assert_eq!(reply.expect("a reply").status, 201);
}

/// Begins an export to a pipe, kills it after some of it, and gives what came.
fn killed_export(site: &Site) -> Vec<u8> {
    let mut exporting = command(site, "export", &[]);
    exporting.stdout(Stdio::piped()).stderr(Stdio::null());
    let mut exporting = exporting.spawn().expect("sarsen export");
    let mut output = exporting.stdout.take().expect("a pipe");
    let mut came = vec![0; 200_000];
    output.read_exact(&mut came).expect("some of it");
    exporting.kill().expect("it waits for its reader");
    exporting.wait().expect("its end");
    output.read_to_end(&mut came).expect("what was in the pipe");
    came
}

#[test]
fn a_killed_export_is_gone_on_with_whatever_was_committed_since() {
    let site = Site::bare();
    let server = site.start();
    fill(&server);
    put_much(&server);
    let whole = export(&site);
    let came = killed_export(&site);
    assert!(whole.as_bytes().starts_with(&came) && came.len() < whole.len());
    // The server sees that its reader is gone when it sends.
    for key in ["k0", "m99", "later"] {
        put(&server, key, "\"other\"");
    }
    let removed = server.connect().request("DELETE", "/db/media/large", &[], b"");
    assert_eq!(removed.expect("a reply").status, 204);
    let path = file(&site, "cut.jsonl", &came);
    let resume = || command(&site, "export", &["--resume", "--output"]).arg(&path).ends();
    let mut resumed = resume();
    server.wait_until("what was kept", || {
        resumed = if resumed.status.success() { resumed.clone() } else { resume() };
        resumed.status.success()
    });
    assert_eq!(fs::read(&path).expect("the export"), whole.as_bytes());

    // Once only, and not by another server.
    fs::write(&path, &came).expect("cut");
    assert!(said(&resume()).contains("is no longer kept"));
    let came = killed_export(&site);
    put(&server, "later", "1");
    server.kill();
    let server = site.start();
    fs::write(&path, &came).expect("cut");
    assert!(said(&resume()).contains("is no longer kept"));
    assert_eq!(server.stop().code(), Some(0));
    site.assert_clean();
}

/// Begins an import from a pipe.
fn begin(site: &Site, words: &[&str]) -> Child {
    let mut command = command(site, "import", words);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().expect("sarsen import")
}

#[test]
fn an_import_survives_the_death_of_either_side() {
    const LINES: usize = 20_000;
    let site = Site::bare();
    let text: String = (0..LINES).map(|i| format!("{{\"id\":\"k{i:06}\"}}\n")).collect();
    let words = ["--collection", "notes", "--key", "/id"];
    // The server dies.
    let server = site.start();
    let mut importing = begin(&site, &words);
    let mut input = importing.stdin.take().expect("a pipe");
    input.write_all(&text.as_bytes()[..text.len() / 3]).expect("a third");
    server.wait_until("some of it", || server.get("/db/notes/k002000").status == 200);
    server.kill();
    let _gone = input.write_all(&text.as_bytes()[text.len() / 3..]);
    drop(input);
    assert!(!importing.wait().expect("its end").success());
    // The command dies.
    let server = site.start();
    assert_eq!(server.get("/db/notes/k002000").status, 200);
    let mut importing = begin(&site, &words);
    let mut input = importing.stdin.take().expect("a pipe");
    input.write_all(&text.as_bytes()[..text.len() / 3 * 2]).expect("two thirds");
    server.wait_until("more of it", || server.get("/db/notes/k010000").status == 200);
    importing.kill().expect("it runs");
    importing.wait().expect("its end");
    drop(input);
    // Nothing that is there is met again, or it would be refused.
    let all = file(&site, "lines.jsonl", text.as_bytes());
    let output = import(&site, &all, &words);
    assert!(output.status.success(), "{output:?}");
    assert!(said(&output).starts_with("imported 20000 documents (went on behind line "));
    assert_eq!(server.stop().code(), Some(0));
    assert_eq!(content(&export(&site)).len(), LINES + 1);
    site.assert_clean();
}

/// Gives the folder's biggest table one other bit.
fn damage(site: &Site) {
    let tables = fs::read_dir(site.data().join("engine/tables")).expect("tables");
    let tables = tables.map(|entry| entry.expect("an entry").path());
    let size = |path: &PathBuf| fs::metadata(path).expect("a file").len();
    let table = tables.max_by_key(size).expect("a table");
    let mut content = fs::read(&table).expect("a table");
    content[30] ^= 1;
    fs::write(&table, content).expect("a table");
}

#[test]
fn a_repository_is_verified_with_a_server_and_without() {
    let site = Site::bare();
    let server = site.start();
    fill(&server);
    let output = site.verify();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && text.ends_with("a server runs\nclean\n"), "{output:?}");
    assert!(text.contains("notes: 30 documents\n"), "{text}");
    let json = ran(&site, "verify", &["--json"]);
    let report: Value = serde_json::from_slice(&json.stdout).expect("JSON");
    assert_eq!((&report["wrong"], &report["documents"]["media"]), (&0.into(), &1.into()));
    assert_eq!(server.stop().code(), Some(0));
    site.assert_clean();
    damage(&site);
    let output = site.verify();
    assert_eq!(output.status.code(), Some(8), "{output:?}");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("its checksum is wrong; it holds rows from"), "{text}");
}
