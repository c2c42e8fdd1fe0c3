//! The session in README.md is real: each of its requests gets the reply that stands below it.

use crate::harness::{Ends, Site, root, sarsen};
use crate::http::{Client, Reply};

/// One `$ curl` line and the lines below it.
pub struct Example {
    method: String,
    path: String,
    headers: Vec<(String, String)>,
    body: String,
    /// Whether the head is shown (`-i`).
    with_head: bool,
    shown: Vec<String>,
}

pub fn examples(readme: &str) -> Vec<Example> {
    let session = readme.split("```console\n").nth(1).expect("a console session");
    let session = session.split("```").next().expect("its end");
    let blocks = session.split("$ curl ").skip(1);
    blocks.map(|block| example(block.trim_end())).collect()
}

fn example(block: &str) -> Example {
    let (command, shown) = block.split_once('\n').expect("a reply below the command");
    let mut example = Example {
        method: "GET".into(),
        path: String::new(),
        headers: Vec::new(),
        body: String::new(),
        with_head: false,
        shown: shown.lines().map(str::to_owned).collect(),
    };
    let mut words = words(command).into_iter();
    while let Some(word) = words.next() {
        let mut value = || words.next().expect("a value after the flag");
        match word.as_str() {
            "-i" => example.with_head = true,
            "-X" => example.method = value(),
            "-d" => {
                example.body = value();
                if example.method == "GET" {
                    example.method = "POST".into();
                }
            }
            "-H" => {
                let field = value();
                let (name, content) = field.split_once(": ").expect("NAME: VALUE");
                example.headers.push((name.into(), content.into()));
            }
            url => example.path = url.strip_prefix("localhost:8000").expect("the URL").into(),
        }
    }
    example
}

/// The words of a shell command with single quotes.
fn words(command: &str) -> Vec<String> {
    let parts = command.split('\'').enumerate();
    let words = parts.flat_map(|(i, part)| match i % 2 {
        0 => part.split_whitespace().map(str::to_owned).collect(),
        _ => vec![part.to_owned()],
    });
    words.collect()
}

pub fn check(example: &Example, reply: &Reply) {
    let mut shown = example.shown.iter();
    if example.with_head {
        let status = shown.next().expect("a status line");
        let code = status.strip_prefix("HTTP/1.1 ").and_then(|rest| rest.get(..3));
        assert_eq!(code, Some(reply.status.to_string().as_str()), "{} {status}", example.path);
        for line in shown.by_ref().take_while(|line| !line.is_empty()) {
            let (name, value) = line.split_once(": ").expect("a header field");
            assert_eq!(reply.header(name), Some(value), "{line}");
        }
    } else {
        let body: Vec<&String> = shown.collect();
        assert_eq!(body.len(), 1, "{body:?}");
        assert!(is_shown(body[0], &reply.text()), "{}", reply.text());
    }
}

/// Whether `shown` is `text`, where `…` stands for anything within quotes.
fn is_shown(shown: &str, text: &str) -> bool {
    let mut parts = shown.split('…');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    for part in parts {
        let Some((_, after)) = rest.split_once('"') else { return false };
        let Some(after) = part.strip_prefix('"').and_then(|part| after.strip_prefix(part)) else {
            return false;
        };
        rest = after;
    }
    rest.is_empty()
}

#[test]
fn the_session_in_the_readme_is_real() {
    let readme = std::fs::read_to_string(root().join("README.md")).expect("README.md");
    let server = Site::bare().start();
    let mut client = Client::connect(server.address()).expect("a connection");
    let examples = examples(&readme);
    assert_eq!(examples.len(), 10);
    for example in &examples {
        check(example, &send(example, &mut client));
    }
}

/// As curl sends it: with -d and no other type it is a form.
pub fn send(example: &Example, client: &mut Client) -> Reply {
    let own = example.headers.iter().map(|(n, v)| (n.as_str(), v.as_str()));
    let mut headers: Vec<_> = own.collect();
    let is_typed = headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type"));
    if !example.body.is_empty() && !is_typed {
        headers.push(("content-type", "application/x-www-form-urlencoded"));
    }
    let body = example.body.as_bytes();
    client.request(&example.method, &example.path, &headers, body).expect("a reply")
}

/// What README.md shows below `$ command`, up to the next command or the end of the block.
fn shown<'a>(readme: &'a str, command: &str) -> &'a str {
    let (_, rest) = readme.split_once(&format!("$ {command}\n")).expect(command);
    rest.split("\n$ ").next().and_then(|rest| rest.split("```").next()).expect("its end").trim()
}

/// The text with every run of digits as one.
fn without_numbers(text: &str) -> String {
    let mut shown = String::new();
    for c in text.trim().chars() {
        match c {
            '0'..='9' | '.' if shown.ends_with('#') => {}
            '0'..='9' => shown.push('#'),
            c => shown.push(c),
        }
    }
    shown
}

#[test]
fn the_first_five_minutes_are_real() {
    let readme = std::fs::read_to_string(root().join("README.md")).expect("README.md");
    let folder = tempfile::tempdir().expect("a folder");
    for command in ["new myapp", "test myapp"] {
        let output = sarsen().args(command.split(' ')).current_dir(folder.path()).ends();
        let said = String::from_utf8(output.stdout).expect("UTF-8");
        let expected = shown(&readme, &format!("sarsen {command}"));
        assert_eq!(without_numbers(&said), without_numbers(expected), "{command}");
    }
}
