//! `sarsen runs`: what is in the archive, and what is said of it afterwards.

use crate::cli::{RunsAction, RunsArguments};
use crate::exit::Exit;
use lab::archive::{self, ArchiveError, Run, Runs, State};
use serde_json::{Value, json};

/// What goes to stdout, and how the process ends.
pub struct Answer {
    /// Ends with a newline.
    pub text: String,
    /// Whether all is well.
    pub exit: Exit,
}

/// Does what was asked for.
pub fn run(arguments: &RunsArguments) -> Result<Answer, ArchiveError> {
    let runs = Runs::new(arguments.runs.clone().unwrap_or_else(archive::folder));
    let text = match (arguments.action, &arguments.id) {
        (Some(RunsAction::Verify), id) => return verify(&runs, id.as_deref(), arguments.json),
        (Some(action), Some(id)) => one(action, &runs, &runs.find(id)?, arguments)?,
        _ => list(&runs, arguments)?,
    };
    Ok(Answer { text, exit: Exit::Success })
}

fn one(
    action: RunsAction,
    runs: &Runs,
    run: &Run,
    arguments: &RunsArguments,
) -> Result<String, ArchiveError> {
    Ok(match action {
        RunsAction::Tag => {
            let label = runs.tag(run, &arguments.add, &arguments.remove)?;
            format!("{}  {}\n", run.id, label.tags.into_iter().collect::<Vec<_>>().join(" "))
        }
        RunsAction::Note => {
            runs.note(run, arguments.note.as_deref().unwrap_or_default())?;
            format!("{}\n", run.id)
        }
        RunsAction::Delete => {
            runs.delete(run)?;
            format!("deleted {}\n", run.id)
        }
        RunsAction::Path => format!("{}\n", run.folder.display()),
        RunsAction::Show if arguments.json => format!("{:#}\n", whole(run)),
        _ => show(run),
    })
}

/// Whether a run is among those that are asked for.
fn is_asked_for(run: &Run, arguments: &RunsArguments) -> bool {
    let tagged = arguments.tags.iter().all(|tag| run.label.tags.contains(tag));
    let named = arguments.name.as_ref().is_none_or(|name| run.name().contains(name.as_str()));
    tagged && named && arguments.verdict.as_ref().is_none_or(|word| run.outcome() == word)
}

fn list(runs: &Runs, arguments: &RunsArguments) -> Result<String, ArchiveError> {
    let mut found = runs.list()?;
    found.retain(|run| is_asked_for(run, arguments));
    found.truncate(arguments.limit.unwrap_or(usize::MAX));
    if arguments.json {
        return Ok(found.iter().map(|run| format!("{}\n", listed(run))).collect());
    }
    if found.is_empty() {
        return Ok(format!("no runs in {}\n", runs.folder().display()));
    }
    let head =
        ["id", "started (UTC)", "verdict", "req/s", "p50 ms", "p99 ms", "errors", "name", "tags"];
    let rows = found.iter().map(row);
    Ok(table(&std::iter::once(head.map(str::to_owned)).chain(rows).collect::<Vec<_>>()))
}

fn row(run: &Run) -> [String; 9] {
    let number = |name: &str, digits: usize| {
        run.verdict[name].as_f64().map_or("-".to_owned(), |value| format!("{value:.digits$}"))
    };
    let started = run.started_utc();
    // Without the date's T, the fraction and the Z; of a killed run it is the id's.
    let started = started.split('.').next().unwrap_or_default().replace('T', " ");
    [
        run.id.to_string(),
        started,
        run.outcome().to_owned(),
        number("requests_per_second", 1),
        number("response_p50_ms", 3),
        number("response_p99_ms", 3),
        number("errors", 0),
        shown(&run.name()),
        run.label.tags.iter().cloned().collect::<Vec<_>>().join(" "),
    ]
}

/// Columns of the width they need; numbers on the right.
fn table(rows: &[[String; 9]]) -> String {
    let width = |column: usize| {
        rows.iter().map(|row| row[column].chars().count()).max().unwrap_or_default()
    };
    let widths: [usize; 9] = std::array::from_fn(width);
    let line = |row: &[String; 9]| {
        let cell = |(place, text): (usize, &String)| match place {
            3..=6 => format!("{text:>width$}", width = widths[place]),
            _ => format!("{text:width$}", width = widths[place]),
        };
        let cells: Vec<String> = row.iter().enumerate().map(cell).collect();
        format!("{}\n", cells.join("  ").trim_end())
    };
    rows.iter().map(line).collect()
}

fn listed(run: &Run) -> Value {
    let mut value = json!({
        "id": run.id.as_str(),
        "outcome": run.outcome(),
        "name": run.name(),
        "started_utc": run.started_utc(),
        "tags": run.label.tags,
        "note": run.label.note,
        "folder": run.folder,
        "content_sha256": run.content_sha256(),
    });
    if let (Value::Object(value), Value::Object(verdict)) = (&mut value, &run.verdict) {
        let more = verdict.iter().filter(|(name, _)| !value.contains_key(*name));
        let more: Vec<_> = more.map(|(name, found)| (name.clone(), found.clone())).collect();
        value.extend(more);
    }
    value
}

/// With what is in its files of JSON.
fn whole(run: &Run) -> Value {
    let mut value = listed(run);
    for name in ["report", "plan", "environment"] {
        value[name] = run.json(&format!("{name}.json")).unwrap_or_default();
    }
    value
}

fn show(run: &Run) -> String {
    let label = &run.label;
    let rows = [
        ("id", run.id.to_string()),
        ("name", run.name()),
        ("verdict", run.outcome().to_owned()),
        ("started", run.started_utc().to_owned()),
        ("folder", run.folder.display().to_string()),
        ("content", run.content_sha256().map_or("not whole".to_owned(), |sum| sum)),
        ("tags", label.tags.iter().cloned().collect::<Vec<_>>().join(" ")),
        ("note", label.note.clone()),
    ];
    let filled = rows.iter().filter(|(_, value)| !value.is_empty());
    let mut text: String =
        filled.map(|(name, value)| format!("{name:18}{}\n", shown(value))).collect();
    match (run.text("report.txt"), run.state) {
        (Ok(report), _) => text.push_str(&format!("\n{report}")),
        (Err(_), State::Whole) => {
            let reasons = run.verdict["reasons"].as_array().into_iter().flatten();
            let reasons = reasons.filter_map(Value::as_str);
            text.extend(reasons.map(|reason| format!("- {}\n", shown(reason))));
        }
        (Err(_), _) => {}
    }
    text
}

fn verify(runs: &Runs, id: Option<&str>, json: bool) -> Result<Answer, ArchiveError> {
    let asked = match id {
        Some(id) => vec![runs.find(id)?],
        None => runs.list()?.into_iter().filter(|run| run.state == State::Whole).collect(),
    };
    let (mut text, mut exit) = (String::new(), Exit::Success);
    for run in &asked {
        let changes = runs.verify(run)?;
        if !changes.is_empty() {
            exit = Exit::Failure;
        }
        if json {
            let sum = run.content_sha256();
            let line = json!({ "id": run.id.as_str(), "content_sha256": sum, "changes": changes });
            text.push_str(&format!("{line}\n"));
            continue;
        }
        let word = if changes.is_empty() { "unchanged" } else { "CHANGED" };
        text.push_str(&format!("{}  {word}\n", run.id));
        text.extend(changes.iter().map(|change| format!("  {}\n", shown(change))));
    }
    Ok(Answer { text, exit })
}

/// Without control characters: what a server said must not steer a terminal.
fn shown(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_they_must() {
        let row = |cells: [&str; 9]| cells.map(str::to_owned);
        let rows = [
            row(["id", "s", "v", "req/s", "a", "b", "e", "name", "tags"]),
            row(["2026", "1", "PASSED", "9.5", "1", "22", "0", "x", ""]),
        ];
        let expected = "id    s  v       req/s  a   b  e  name  tags\n\
                        2026  1  PASSED    9.5  1  22  0  x\n";
        assert_eq!(table(&rows), expected);
    }
}
