//! The help texts, made from the commands' definitions. The overview fits a terminal of 80 by 24, a
//! command one of 80 by 40.

use super::flag::Topic;
use super::topics;

const TITLE: &str = "Sarsen: documents, the application that uses them, and HTTP, in one binary.";

/// Commands that stand in the row of another: that of `submit`, of `verify`, of `backup`, of `run`.
const BESIDE: [&[&str]; 4] = [
    &["status", "wait", "cancel", "log", "queue"],
    &["stats", "export", "import"],
    &["restore"],
    &["replay"],
];

/// The list of commands.
pub fn overview() -> String {
    let topics = topics();
    let own_row = topics.iter().filter(|topic| beside(topic.name).is_none());
    let calls = own_row.map(|topic| (call(topic), topic.about));
    let commands = columns(&calls.collect::<Vec<_>>());
    format!(
        "{TITLE}\n\nusage: sarsen COMMAND [flags]\n\n{commands}\n\
         `sarsen COMMAND --help` lists a command's flags. Results go to stdout, the rest\n\
         to stderr; the exit code says how it ended (docs/exit-codes.md).\n"
    )
}

/// The commands that stand in one row with this one, if that is another's.
fn beside(name: &str) -> Option<&'static [&'static str]> {
    BESIDE.into_iter().find(|names| names.contains(&name))
}

/// One command, with its flags.
pub fn command(topic: &Topic) -> String {
    let details = columns(&topic.rows);
    let gap = if details.is_empty() { "" } else { "\n" };
    format!("usage: sarsen {}\n\n{}\n{gap}{details}", call(topic), topic.about)
}

fn call(topic: &Topic) -> String {
    format!("{} {}", topic.name, topic.usage).trim_end().to_owned()
}

/// What a flag and its value may be long without having a line of their own.
const LEFT_MAX: usize = 24;

fn columns(rows: &[(String, &str)]) -> String {
    let lengths = rows.iter().map(|(left, _)| left.len());
    let width = lengths.filter(|length| *length <= LEFT_MAX).max().unwrap_or(0);
    let row = |(left, right): &(String, &str)| {
        let indent = width + 2;
        match left.len() <= width {
            true => format!("  {left:width$}  {right}\n"),
            false => format!("  {left}\n{:indent$}  {right}\n", ""),
        }
    };
    rows.iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_fits_a_terminal() {
        let topics = topics();
        let texts = topics.iter().map(|topic| (command(topic), 40));
        for (text, lines) in texts.chain([(overview(), 24)]) {
            assert!(text.lines().count() <= lines, "{text}");
            let widest = text.lines().map(|line| line.chars().count()).max();
            assert!(widest.is_some_and(|columns| columns <= 80), "{text}");
        }
    }

    #[test]
    fn every_command_and_flag_is_there() {
        let text = overview();
        for topic in topics() {
            let row = match beside(topic.name) {
                Some(names) => format!(" {}.\n", names.join(", ")),
                None => format!("\n  {} ", topic.name),
            };
            assert!(text.contains(&row) && row.contains(topic.name), "{text}");
            let details = command(&topic);
            for (row, _) in &topic.rows {
                assert!(details.contains(row.as_str()), "{details}");
            }
        }
    }
}
