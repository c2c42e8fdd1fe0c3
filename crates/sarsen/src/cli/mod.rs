//! The command line: which commands there are, and what was asked for. It reads arguments only; no
//! file, no environment, and it starts nothing.

mod backup;
mod bench;
mod data;
mod errors;
mod export;
mod flag;
mod help;
mod import;
mod lab_flags;
mod load;
mod new;
mod null_server;
mod parse;
mod queue;
mod replay;
mod restore;
mod run;
mod runs;
mod serve;
mod siege;
mod stats;
mod tasks;
mod test;
mod token;
mod top;
mod value;
mod verify;

pub use backup::{BackupAction, BackupArguments};
pub use bench::{BenchArguments, Body};
pub use lab_flags::Common;
pub use null_server::NullServerArguments;

pub use errors::ErrorsArguments;
pub use export::ExportArguments;
pub use import::ImportArguments;
pub use new::NewArguments;
pub use queue::{QueueAction, QueueArguments, SubmitArguments};
pub use replay::ReplayArguments;
pub use restore::RestoreArguments;
pub use run::RunArguments;
pub use runs::{RunsAction, RunsArguments};
pub use serve::ServeArguments;
pub use siege::{Repetitions, SiegeArguments};
pub use stats::StatsArguments;
pub use tasks::{TasksAction, TasksArguments};
pub use test::TestArguments;
pub use token::{TokenAction, TokenArguments};
pub use top::TopArguments;
pub use verify::VerifyArguments;

use flag::Topic;
use lab::nearest;
use std::ffi::OsString;
use thiserror::Error;

/// What the user asked for.
#[derive(Debug, PartialEq)]
pub enum Command {
    /// `sarsen new`
    New(NewArguments),
    /// `sarsen serve`
    Serve(ServeArguments),
    /// `sarsen test`
    Test(TestArguments),
    /// `sarsen bench`
    Bench(BenchArguments),
    /// `sarsen runs`
    Runs(Box<RunsArguments>),
    /// `sarsen run`
    Run(Box<RunArguments>),
    /// `sarsen siege`
    Siege(SiegeArguments),
    /// `sarsen replay`
    Replay(ReplayArguments),
    /// `sarsen submit`
    Submit(Box<SubmitArguments>),
    /// `sarsen status`, `wait`, `cancel`, `log`, `queue`
    Queue(QueueArguments),
    /// `sarsen token`
    Token(TokenArguments),
    /// `sarsen null-server`
    NullServer(NullServerArguments),
    /// `sarsen verify`
    Verify(VerifyArguments),
    /// `sarsen stats`
    Stats(StatsArguments),
    /// `sarsen export`
    Export(ExportArguments),
    /// `sarsen import`
    Import(ImportArguments),
    /// `sarsen backup`
    Backup(BackupArguments),
    /// `sarsen restore`
    Restore(RestoreArguments),
    /// `sarsen top`
    Top(TopArguments),
    /// `sarsen errors`
    Errors(ErrorsArguments),
    /// `sarsen tasks`
    Tasks(TasksArguments),
    /// `sarsen version`
    Version,
    /// `sarsen help`, or `--help` anywhere; with the text to print.
    Help(String),
}

/// A command line that cannot be followed.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum UsageError {
    /// Nothing was asked for.
    #[error("expected a command: {}", names().join(", "))]
    NoCommand,
    /// There is no such command.
    #[error("there is no command `{got}`{}", nearest::hint(nearest))]
    UnknownCommand {
        /// What came.
        got: String,
        /// The most similar one.
        nearest: Option<String>,
    },
    /// The command has no such flag.
    #[error("`{command}` has no flag `{got}`{}", nearest::hint(nearest))]
    UnknownFlag {
        /// The command.
        command: &'static str,
        /// What came, with its dashes.
        got: String,
        /// The most similar one, with its dashes.
        nearest: Option<String>,
    },
    /// A flag stands at the end without its value.
    #[error("`{flag}` needs a value: `{flag} {placeholder}`")]
    MissingValue {
        /// The flag, with its dashes.
        flag: String,
        /// What stands for the value in the help.
        placeholder: &'static str,
    },
    /// A flag that is on or off came with a value.
    #[error("`{flag}` takes no value; got \"{got}\"")]
    UnexpectedValue {
        /// The flag, with its dashes.
        flag: String,
        /// What came.
        got: String,
    },
    /// The value of a flag or argument is not one.
    #[error("{place}: expected {expected}; got \"{got}\"")]
    BadValue {
        /// The flag with its dashes, or the argument's name.
        place: String,
        /// What would be understood.
        expected: String,
        /// What came.
        got: String,
    },
    /// More arguments than the command has.
    #[error("`{command}` does not know what to do with \"{got}\"")]
    UnexpectedArgument {
        /// The command.
        command: &'static str,
        /// What came.
        got: String,
    },
    /// An argument or flag that the command cannot do without.
    #[error("`{command}` needs {what}")]
    Missing {
        /// The command.
        command: &'static str,
        /// What is needed.
        what: &'static str,
    },
}

/// Every command, in the order of the overview.
fn topics() -> [Topic; 27] {
    let bare = |name, usage, about| Topic { name, usage, about, rows: Vec::new() };
    [
        new::SPEC.topic(),
        serve::SPEC.topic(),
        test::SPEC.topic(),
        bench::SPEC.topic(),
        runs::SPEC.topic(),
        siege::SPEC.topic(),
        run::SPEC.topic(),
        replay::SPEC.topic(),
        queue::SUBMIT.topic(),
        queue::STATUS.topic(),
        queue::WAIT.topic(),
        queue::CANCEL.topic(),
        queue::LOG.topic(),
        queue::RUN.topic(),
        null_server::SPEC.topic(),
        verify::SPEC.topic(),
        stats::SPEC.topic(),
        export::SPEC.topic(),
        import::SPEC.topic(),
        backup::SPEC.topic(),
        restore::SPEC.topic(),
        token::SPEC.topic(),
        errors::SPEC.topic(),
        tasks::SPEC.topic(),
        top::SPEC.topic(),
        bare("version", "", "Print the version."),
        bare("help", "[COMMAND]", "Explain a command and its flags."),
    ]
}

fn names() -> [&'static str; 27] {
    topics().map(|topic| topic.name)
}

/// Reads `arguments`, the program's name not among them.
pub fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Command, UsageError> {
    let mut arguments = arguments.into_iter();
    let first = arguments.next().ok_or(UsageError::NoCommand)?;
    let rest: Vec<OsString> = arguments.collect();
    match first.to_str() {
        Some("new") => parse::command(&new::SPEC, rest, Command::New),
        Some("serve") => parse::command(&serve::SPEC, rest, Command::Serve),
        Some("test") => parse::command(&test::SPEC, rest, Command::Test),
        Some("bench") => parse::command(&bench::SPEC, rest, Command::Bench),
        Some("runs") => runs::command(rest),
        Some("siege") => parse::command(&siege::SPEC, rest, Command::Siege),
        Some("run") => parse::command(&run::SPEC, rest, |run| Command::Run(Box::new(run))),
        Some("replay") => parse::command(&replay::SPEC, rest, Command::Replay),
        Some("submit") => queue::submit(rest),
        Some("status") => queue::command(QueueAction::Status, rest),
        Some("wait") => queue::command(QueueAction::Wait, rest),
        Some("cancel") => queue::command(QueueAction::Cancel, rest),
        Some("log") => queue::command(QueueAction::Log, rest),
        Some("queue") => queue::command(QueueAction::Run, rest),
        Some("null-server") => parse::command(&null_server::SPEC, rest, Command::NullServer),
        Some("verify") => parse::command(&verify::SPEC, rest, Command::Verify),
        Some("stats") => parse::command(&stats::SPEC, rest, Command::Stats),
        Some("export") => parse::command(&export::SPEC, rest, Command::Export),
        Some("import") => parse::command(&import::SPEC, rest, Command::Import),
        Some("token") => parse::command(&token::SPEC, rest, Command::Token),
        Some("backup") => parse::command(&backup::SPEC, rest, Command::Backup),
        Some("restore") => parse::command(&restore::SPEC, rest, Command::Restore),
        Some("top") => parse::command(&top::SPEC, rest, Command::Top),
        Some("errors") => parse::command(&errors::SPEC, rest, Command::Errors),
        Some("tasks") => parse::command(&tasks::SPEC, rest, Command::Tasks),
        Some("version" | "--version" | "-V") => {
            parse::no_more("version", &rest).map(|()| Command::Version)
        }
        Some("help" | "--help" | "-h") => explain(&rest).map(Command::Help),
        _ => Err(unknown_command(&first.to_string_lossy())),
    }
}

fn explain(rest: &[OsString]) -> Result<String, UsageError> {
    let Some((name, more)) = rest.split_first() else { return Ok(help::overview()) };
    parse::no_more("help", more)?;
    let topic = topics().into_iter().find(|topic| name == topic.name);
    topic.as_ref().map(help::command).ok_or_else(|| unknown_command(&name.to_string_lossy()))
}

fn unknown_command(got: &str) -> UsageError {
    let nearest = nearest::of(got, names());
    UsageError::UnknownCommand { got: got.into(), nearest: nearest.map(str::to_owned) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_words(line: &str) -> Result<Command, UsageError> {
        parse(line.split_whitespace().map(OsString::from))
    }

    fn message(line: &str) -> String {
        parse_words(line).expect_err(line).to_string()
    }

    #[test]
    fn commands_without_arguments() {
        assert_eq!(parse_words("version"), Ok(Command::Version));
        assert_eq!(parse_words("--version"), Ok(Command::Version));
        assert_eq!(parse_words("help"), Ok(Command::Help(help::overview())));
        assert_eq!(parse_words("--help"), Ok(Command::Help(help::overview())));
        assert_eq!(parse_words(""), Err(UsageError::NoCommand));
        assert_eq!(message("version now"), "`version` does not know what to do with \"now\"");
        assert_eq!(message("help serve now"), "`help` does not know what to do with \"now\"");
    }

    #[test]
    fn help_is_the_same_from_both_sides() {
        for name in names().into_iter().filter(|name| !["version", "help"].contains(name)) {
            let asked = parse_words(&format!("help {name}")).expect("help");
            assert_eq!(parse_words(&format!("{name} --help")).expect("--help"), asked);
            assert_eq!(parse_words(&format!("{name} -h")).expect("-h"), asked);
        }
    }

    #[test]
    fn unknown_commands_name_the_nearest() {
        assert_eq!(message("serv"), "there is no command `serv`; did you mean `serve`?");
        assert_eq!(message("help bnech"), "there is no command `bnech`; did you mean `bench`?");
        assert_eq!(message("frobnicate"), "there is no command `frobnicate`");
    }

    #[test]
    fn unknown_flags_name_the_nearest() {
        assert_eq!(
            message("serve --lisen x"),
            "`serve` has no flag `--lisen`; did you mean `--listen`?"
        );
        assert_eq!(message("serve -x"), "`serve` has no flag `-x`");
        assert_eq!(
            message("verify --date=x"),
            "`verify` has no flag `--date`; did you mean `--data`?"
        );
    }

    #[test]
    fn values_are_asked_for_and_checked() {
        assert_eq!(message("serve --data"), "`--data` needs a value: `--data DIR`");
        assert_eq!(
            message("serve --memory lots"),
            "--memory: expected a size such as 512M or 2G; got \"lots\""
        );
        assert_eq!(message("bench u --json=yes"), "`--json` takes no value; got \"yes\"");
        assert_eq!(message("serve a b"), "`serve` does not know what to do with \"b\"");
        assert_eq!(message("bench"), "`bench` needs a URL");
        assert_eq!(message("verify"), "`verify` needs --data DIR");
    }
}
