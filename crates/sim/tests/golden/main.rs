//! Golden histories: texts in this folder that say step by step what a transaction sees and how it
//! ends, played on the real repository. `docs/histories.md` describes the language.

#![allow(clippy::unwrap_used, reason = "tests")]

mod names;
mod script;
mod stage;

use script::Line;
use stage::{Given, Stage};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

/// Plays a text: every history in it, and then again what each left behind, after a reopening.
fn play(file: &str, text: &str, given: Given) -> Result<usize, String> {
    let at = |number: usize, why: String| format!("golden/{file}:{number}: {why}");
    let lines = script::parse(text).map_err(|(number, why)| at(number, why))?;
    let mut stage = Stage::new(given);
    for Line { number, statement } in &lines {
        stage.play(*number, statement).map_err(|why| at(*number, why))?;
    }
    stage.end().map_err(|why| at(text.lines().count(), why))?;
    stage.reopen();
    stage.check_again().map_err(|(number, why)| at(number, format!("after a replay: {why}")))?;
    Ok(stage.histories())
}

#[test]
fn every_golden_history_plays_as_written() {
    println!("{} histories", play_all(Given::InMemory));
}

/// What a view finds at rest is checked for conflicts like what it finds in memory.
#[test]
fn every_golden_history_plays_alike_on_documents_at_rest() {
    println!("{} histories", play_all(Given::AtRest));
}

/// Files are played at the same time, since each mostly waits for the disk.
fn play_all(given: Given) -> usize {
    const THREADS: usize = 4;
    let entries = std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path());
    let mut paths: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|ending| ending == "txt")).collect();
    paths.sort();
    let rest = Mutex::new(paths.iter());
    let (histories, failures) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        let play_rest = || {
            let next = || rest.lock().unwrap().next();
            while let Some(path) = next() {
                let file = path.file_name().unwrap().to_string_lossy();
                match play(&file, &std::fs::read_to_string(path).unwrap(), given) {
                    Ok(played) => _ = histories.fetch_add(played, Ordering::Relaxed),
                    Err(failure) => failures.lock().unwrap().push(failure),
                }
            }
        };
        (0..THREADS).for_each(|_| _ = scope.spawn(play_rest));
    });
    let (histories, mut failures) = (histories.into_inner(), failures.into_inner().unwrap());
    failures.sort();
    assert!(failures.is_empty(), "\n{}\n", failures.join("\n"));
    assert!(histories > 0);
    histories
}

/// A runner that lets anything pass would prove nothing.
#[test]
fn what_differs_is_told_with_its_file_and_line() {
    let failure = |text: &str| play("x.txt", text, Given::InMemory).unwrap_err();
    let start = "history under serializable\ngiven x=10\nT1 begin\n";
    let with = |rest: &str| failure(&format!("{start}{rest}\n"));
    assert_eq!(with("T1 get x -> 11"), "golden/x.txt:4: expected 11, got 10");
    assert_eq!(with("T1 get y -> 11"), "golden/x.txt:4: expected 11, got none");
    assert_eq!(with("T1 commit -> ok"), "golden/x.txt:4: expected ok, got unchanged");
    assert_eq!(with("T1 drop\nfinally x=9"), "golden/x.txt:5: expected x=9, got x=10");
    assert_eq!(with("# a comment"), "golden/x.txt:4: T1 is still open");
    assert_eq!(with("T1 get x"), "golden/x.txt:4: expected `-> ...` after a read or a commit");
    assert_eq!(with("T2 get x -> 10"), "golden/x.txt:4: T2 has not begun");
    assert_eq!(with("T1 frobnicate x"), "golden/x.txt:4: there is no action `frobnicate`");
    assert_eq!(failure("given x=1\n"), "golden/x.txt:1: expected `history under ...` first");
}
