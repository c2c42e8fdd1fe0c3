//! The sessions in docs/operations.md are real: what is shown below each command is what it says,
//! but for numbers, times and the words of other programs.

use crate::harness::{Ends, Server, Site, root};
use std::path::Path;
use std::process::Command;

/// The commands of all `console` blocks, with what is shown below each.
fn commands(text: &str) -> Vec<(String, String)> {
    let mut all = Vec::new();
    for block in text.split("```console\n").skip(1) {
        let block = block.split("```").next().expect("its end");
        for command in block.split("$ ").skip(1) {
            let (line, shown) = command.split_once('\n').expect("a line");
            all.push((line.to_owned(), shown.trim_end().to_owned()));
        }
    }
    all
}

/// Runs a command as the guide has it, with this server in the place of the one there.
fn run(line: &str, server: Option<&Server>, (data, mnt): (&Path, &Path)) -> String {
    let path = |path: &Path| path.display().to_string();
    let address = server.map_or_else(String::new, |server| server.address().to_string());
    let command = line
        .replace("/var/lib/sarsen", &path(data))
        .replace("/mnt", &path(mnt))
        .replace("localhost:8000", &address);
    let binaries = Path::new(env!("CARGO_BIN_EXE_sarsen")).parent().expect("its folder");
    let search = std::env::var("PATH").unwrap_or_default();
    let output = Command::new("sh")
        .args(["-c", &command])
        .env("PATH", format!("{}:{search}", binaries.display()))
        .ends();
    assert!(output.status.success(), "{command}: {output:?}");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    said.replace(&path(data), "/var/lib/sarsen").replace(&path(mnt), "/mnt")
}

/// The text with every number, and the unit after it, as one sign, and white space as one space.
fn shape(text: &str) -> String {
    let mut words = Vec::new();
    for word in text.split_whitespace() {
        let mut shape = String::new();
        let is_id = word.len() == 32 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
        let word = if is_id { "0" } else { word };
        for c in word.chars() {
            match c {
                '0'..='9' | '.' if shape.ends_with('#') => {}
                '0'..='9' => shape.push('#'),
                c => shape.push(c),
            }
        }
        let is_unit = ["KiB", "MiB", "GiB", "bytes", "us", "ms", "s"].contains(&shape.as_str());
        if !(is_unit && words.last().is_some_and(|last: &String| last.ends_with('#'))) {
            words.push(shape);
        }
    }
    words.join(" ")
}

#[test]
fn the_sessions_of_the_operators_guide_are_real() {
    let guide = std::fs::read_to_string(root().join("docs/operations.md")).expect("the guide");
    let site = Site::bare();
    let mnt = tempfile::tempdir().expect("a folder");
    let mut server = Some(site.start());
    let all = commands(&guide);
    assert!(all.len() >= 10, "{all:?}");
    for (line, shown) in all {
        match line.as_str() {
            "systemctl stop sarsen" => {
                assert_eq!(server.take().and_then(|server| server.stop().code()), Some(0));
            }
            "systemctl start sarsen" => server = Some(site.start()),
            _ => {
                let said = run(&line, server.as_ref(), (&site.data(), mnt.path()));
                println!("$ {line}\n{said}");
                assert_eq!(shape(&said), shape(&shown), "{line}");
            }
        }
    }
}
