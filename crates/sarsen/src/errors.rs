//! `sarsen errors`: the requests that failed in the application, from their files in the data
//! folder. It opens no repository and asks no server, so it works beside one and without.

use crate::cli::ErrorsArguments;
use gem::{ErrorsRead, Kept, read_errors};
use serde_json::Value;
use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// Why there is nothing to show.
#[derive(Debug, Error)]
pub enum ErrorsError {
    /// The folder is not there, or its files cannot be read.
    #[error(
        "cannot read the failed requests in {}: {source}; expected the folder of a repository \
         (--data)", folder.display()
    )]
    Read {
        /// The data folder.
        folder: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// No such id.
    #[error("there is no failed request {id}; the files keep the newest {}", kept_bytes())]
    Unknown {
        /// What was asked for.
        id: String,
    },
}

fn kept_bytes() -> String {
    format!("{} MiB of each of two files", gem::limits::ERRORS_FILE_BYTES_MAX >> 20)
}

/// What goes to stdout.
pub fn run(arguments: &ErrorsArguments) -> Result<String, ErrorsError> {
    let folder = &arguments.data;
    let refused = |source| ErrorsError::Read { folder: folder.clone(), source };
    // No file is no failed request; but no folder is a mistake.
    std::fs::read_dir(folder).map_err(refused)?;
    let Some(id) = &arguments.id else {
        let read = read_errors(folder, arguments.limit).map_err(refused)?;
        return Ok(if arguments.json { lines(&read) } else { table(&read) });
    };
    let read = read_errors(folder, usize::MAX).map_err(refused)?;
    let found = read.kept.into_iter().find(|kept| kept.id == *id);
    let kept = found.ok_or_else(|| ErrorsError::Unknown { id: id.clone() })?;
    Ok(if arguments.json { line(&kept) } else { full(&kept) })
}

fn line(kept: &Kept) -> String {
    format!("{}\n", Value::Object(kept.members.clone()))
}

fn lines(read: &ErrorsRead) -> String {
    read.kept.iter().map(line).collect()
}

fn table(read: &ErrorsRead) -> String {
    if read.kept.is_empty() {
        return "no request has failed\n".to_owned();
    }
    read.kept.iter().map(row).collect()
}

/// Two lines: which request, and what happened. The newest comes first.
fn row(kept: &Kept) -> String {
    let (time, view) = (shown(kept.text("time")), kept.number("view"));
    let (status, request) = (kept.number("status"), request(kept));
    format!("{}  {time}  {status}  view {view}  {request}\n    {}\n", shown(&kept.id), what(kept))
}

fn request(kept: &Kept) -> String {
    let asked = shown(&format!("{} {}", kept.text("method"), kept.text("path")));
    match (asked.trim(), kept.text("handler")) {
        ("", handler) => shown(handler),
        (asked, handler) if handler.is_empty() || handler == asked => asked.to_owned(),
        (asked, handler) => format!("{asked}  ({})", shown(handler)),
    }
}

fn what(kept: &Kept) -> String {
    match kept.text("place") {
        "" => shown(kept.text("message")),
        place => shown(&format!("{place}: {}", kept.text("message"))),
    }
}

fn full(kept: &Kept) -> String {
    let mut text = format!("{}\n\n", what(kept));
    if let Some(code) = kept.code() {
        text.push_str(&code.text().lines().map(|line| shown(line) + "\n").collect::<String>());
        text.push('\n');
    }
    for (title, member) in [("caused by", "causes"), ("stack", "stack")] {
        let lines = kept.texts(member);
        if !lines.is_empty() {
            let lines: String = lines.iter().map(|line| format!("  {}\n", shown(line))).collect();
            text.push_str(&format!("{title}\n{lines}\n"));
        }
    }
    let cpu_ms = format!("{:.3} ms", kept.number("cpu_us") as f64 / 1e3);
    let rows = [
        ("id", kept.id.clone()),
        ("time", kept.text("time").to_owned()),
        ("request", request(kept)),
        ("problem", format!("{} ({})", kept.text("problem"), kept.number("status"))),
        ("view", kept.number("view").to_string()),
        ("conflicts", kept.number("conflicts").to_string()),
        ("CPU", cpu_ms),
    ];
    text.extend(rows.iter().map(|(name, value)| format!("{name:10}  {}\n", shown(value))));
    text
}

/// Without control characters: what a client or an application wrote must not steer a terminal.
fn shown(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn kept(members: Value) -> Kept {
        let Value::Object(members) = members else { panic!("expected an object") };
        Kept { id: "0123456789ab".to_owned(), members }
    }

    #[test]
    fn one_in_the_list_and_in_full() {
        let kept = kept(json!({
            "time": "2026-11-21T10:00:00.000Z", "method": "GET", "path": "/notes/7",
            "handler": "GET /notes/:id", "status": 500, "problem": "handler-failed",
            "message": "TypeError: a", "place": "app.js:2:3", "stack": ["f (app.js:2:3)"],
            "causes": ["Error: b"], "view": 12, "conflicts": 1, "cpu_us": 1500,
            "code_frame": { "first_line": 1, "line": 2, "column": 3, "lines": ["one", "two"] },
        }));
        let listed = "0123456789ab  2026-11-21T10:00:00.000Z  500  view 12  \
                      GET /notes/7  (GET /notes/:id)\n    app.js:2:3: TypeError: a\n";
        assert_eq!(row(&kept), listed);
        let expected = "app.js:2:3: TypeError: a\n\n  1 | one\n> 2 | two\n    |   ^\n\n\
                        caused by\n  Error: b\n\nstack\n  f (app.js:2:3)\n\n\
                        id          0123456789ab\ntime        2026-11-21T10:00:00.000Z\n\
                        request     GET /notes/7  (GET /notes/:id)\n\
                        problem     handler-failed (500)\nview        12\nconflicts   1\n\
                        CPU         1.500 ms\n";
        assert_eq!(full(&kept), expected);
    }

    #[test]
    fn nothing_steers_the_terminal() {
        let kept = kept(json!({ "message": "\u{1b}[2J\u{9b}", "path": "/\u{7}" }));
        assert!(!row(&kept).contains(|c: char| c.is_control() && c != '\n'));
        assert!(!full(&kept).contains(|c: char| c.is_control() && c != '\n'));
    }

    #[test]
    fn none_is_said() {
        assert_eq!(table(&ErrorsRead::default()), "no request has failed\n");
    }
}
