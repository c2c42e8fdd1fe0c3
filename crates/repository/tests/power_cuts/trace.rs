//! Reads what `strace -f -o` has written: the calls of all threads, with when each began and ended.

use std::collections::HashMap;

/// A system call that has returned.
#[derive(Debug)]
pub struct Call {
    /// The id of the thread that made it.
    pub thread: String,
    pub name: String,
    pub arguments: Vec<Argument>,
    pub returned: i64,
    /// strace made it fail: nothing was done.
    pub is_injected: bool,
    /// Places in the trace. Of two threads, what one began after the other's call had ended may
    /// have been caused by it.
    pub began: usize,
    pub ended: usize,
}

#[derive(Debug)]
pub enum Argument {
    /// Between quotation marks.
    Bytes(Vec<u8>),
    /// Anything else, as it stands.
    Word(String),
}

impl Call {
    pub fn word(&self, index: usize) -> &str {
        match self.arguments.get(index) {
            Some(Argument::Word(word)) => word,
            other => panic!("argument {index} of {}: {other:?}", self.name),
        }
    }

    pub fn number(&self, index: usize) -> i64 {
        self.word(index).parse().unwrap_or_else(|_| panic!("not a number: {self:?}"))
    }

    pub fn bytes(&self, index: usize) -> &[u8] {
        match self.arguments.get(index) {
            Some(Argument::Bytes(bytes)) => bytes,
            other => panic!("argument {index} of {}: {other:?}", self.name),
        }
    }
}

/// The calls in the order in which they ended. Those that never did are left out.
pub fn calls(trace: &str) -> Vec<Call> {
    let mut unfinished: HashMap<&str, (usize, &str)> = HashMap::new();
    let mut calls = Vec::new();
    for (index, line) in trace.lines().enumerate() {
        let (thread, text) = line.split_once(' ').unwrap();
        let text = text.trim_start();
        // Two places for each line: a power cut may come between the two.
        let (began, ended) = (2 * index, 2 * index + 1);
        if text.starts_with("+++") || text.starts_with("---") {
            continue;
        }
        if let Some(start) = text.strip_suffix("<unfinished ...>") {
            unfinished.insert(thread, (began, start));
        } else if let Some(resumed) = text.strip_prefix("<... ") {
            let (_, rest) = resumed.split_once(" resumed>").unwrap();
            let (began, start) = unfinished.remove(thread).unwrap();
            calls.extend(call((thread, start), rest, began, ended));
        } else {
            calls.extend(call((thread, text), text, began, ended));
        }
    }
    calls
}

/// A call whose arguments are in `text` and whose result is in `end`. `None`: the process ended in
/// it.
fn call((thread, text): (&str, &str), end: &str, began: usize, ended: usize) -> Option<Call> {
    let returned = end.rsplit_once(" = ").unwrap_or_else(|| panic!("no result: {end}")).1;
    let returned = returned.split(' ').next().unwrap();
    if returned == "?" {
        return None;
    }
    let returned = match returned.strip_prefix("0x") {
        Some(flags) => i64::from_str_radix(flags, 16).unwrap(),
        None => returned.parse().unwrap_or_else(|_| panic!("no result: {end}")),
    };
    let (name, rest) = text.split_once('(').unwrap();
    let (thread, name) = (thread.to_owned(), name.to_owned());
    let is_injected = end.ends_with("(INJECTED)");
    Some(Call { thread, name, arguments: arguments(rest), returned, is_injected, began, ended })
}

fn arguments(text: &str) -> Vec<Argument> {
    let mut rest = text.as_bytes();
    let mut found = Vec::new();
    loop {
        while let [b' ' | b',', after @ ..] = rest {
            rest = after;
        }
        match rest {
            [] | [b')', ..] => return found,
            [b'"', after @ ..] => {
                let (bytes, after) = quoted(after);
                assert!(!after.starts_with(b"..."), "strace has cut a string short");
                found.push(Argument::Bytes(bytes));
                rest = after;
            }
            _ => {
                let end = rest.iter().position(|b| b",) ".contains(b)).unwrap_or(rest.len());
                found.push(Argument::Word(String::from_utf8_lossy(&rest[..end]).into_owned()));
                rest = &rest[end..];
            }
        }
    }
}

/// The bytes up to the closing quotation mark, and what follows it. Bytes are escaped as in C.
fn quoted(mut rest: &[u8]) -> (Vec<u8>, &[u8]) {
    let mut bytes = Vec::new();
    loop {
        match rest {
            [b'"', after @ ..] => return (bytes, after),
            [b'\\', b'0'..=b'7', ..] => {
                let digits = rest[1..].iter().take(3).take_while(|b| (b'0'..=b'7').contains(b));
                let (mut value, mut length) = (0_u32, 1);
                for digit in digits {
                    value = value * 8 + u32::from(digit - b'0');
                    length += 1;
                }
                bytes.push(u8::try_from(value).unwrap());
                rest = &rest[length..];
            }
            [b'\\', escaped, after @ ..] => {
                bytes.push(match escaped {
                    b'n' => b'\n',
                    b't' => b'\t',
                    b'r' => b'\r',
                    b'v' => 0x0b,
                    b'f' => 0x0c,
                    b'"' | b'\\' => *escaped,
                    _ => panic!("strace wrote \\{}", char::from(*escaped)),
                });
                rest = after;
            }
            [byte, after @ ..] => {
                bytes.push(*byte);
                rest = after;
            }
            [] => panic!("a string without an end"),
        }
    }
}
