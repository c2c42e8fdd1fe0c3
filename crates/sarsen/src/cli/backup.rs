//! The arguments of `sarsen backup`.

use super::UsageError;
use super::data::{self, InFolder};
use super::flag::{Flag, Spec, Takes};
use super::value;
use repository::BackupKind;
use std::path::PathBuf;

/// What to do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BackupAction {
    /// Make a backup.
    #[default]
    Make,
    /// Show what a folder of backups holds.
    List,
    /// The same, after everything was read and compared.
    Verify,
}

/// What to back up, and to where.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct BackupArguments {
    /// What to do.
    pub action: BackupAction,
    /// The data folder.
    pub data: PathBuf,
    /// The folder of backups, the file of tar, or `-` for stdout.
    pub to: PathBuf,
    /// What kind of backup.
    pub kind: BackupKind,
    /// How many full ones are kept.
    pub keep: Option<usize>,
    /// Bytes a second at most.
    pub rate: Option<u64>,
    /// Whether the result is JSON.
    pub json: bool,
}

/// Full sets that `--keep` can ask for at most.
const KEEP_MAX: u64 = 100_000;

/// Slower would be waited for too long when the server is being stopped.
const RATE_MIN: u64 = 1 << 20;

impl BackupArguments {
    /// Whether the backup is a stream of tar.
    pub fn is_stream(&self) -> bool {
        self.to.as_os_str() == "-" || self.to.extension().is_some_and(|end| end == "tar")
    }
}

impl InFolder for BackupArguments {
    fn data(&mut self) -> &mut PathBuf {
        &mut self.data
    }
}

/// How the arguments are written.
pub const SPEC: Spec<BackupArguments> = Spec {
    name: "backup",
    usage: "[flags]",
    about: "Back up a repository, in use or not. Or: restore.",
    arguments: &[],
    flags: FLAGS,
    check,
};

const FLAGS: &[Flag<BackupArguments>] = &[
    data::flag("the repository's folder; a server may run"),
    Flag {
        long: "to",
        short: None,
        takes: Takes::Value("PLACE", |arguments, value| {
            arguments.to = value::folder(value)?;
            Ok(())
        }),
        about: "a folder of backups, a file that ends in .tar, or - for stdout",
    },
    Flag {
        long: "full",
        short: None,
        takes: Takes::Nothing(|arguments| arguments.kind = BackupKind::Full),
        about: "back up everything, and not only what is new if that can be",
    },
    Flag {
        long: "incremental",
        short: None,
        takes: Takes::Nothing(|arguments| arguments.kind = BackupKind::Commits),
        about: "back up what is new only; fail where that cannot be",
    },
    Flag {
        long: "keep",
        short: None,
        takes: Takes::Value("N", |arguments, value| {
            arguments.keep = Some(value::count(value, 1..=KEEP_MAX)? as usize);
            Ok(())
        }),
        about: "remove what the newest N full backups do not need [keep all]",
    },
    Flag {
        long: "rate",
        short: None,
        takes: Takes::Value("SIZE", |arguments, value| {
            arguments.rate = Some(value::size(value)?.max(RATE_MIN));
            Ok(())
        }),
        about: "at most so many bytes a second; at least 1M [no bound]",
    },
    Flag {
        long: "list",
        short: None,
        takes: Takes::Nothing(|arguments| arguments.action = BackupAction::List),
        about: "show what the folder of backups holds; --data is not needed",
    },
    Flag {
        long: "verify",
        short: None,
        takes: Takes::Nothing(|arguments| arguments.action = BackupAction::Verify),
        about: "read everything in the folder of backups and compare it",
    },
    Flag {
        long: "json",
        short: None,
        takes: Takes::Nothing(|arguments| arguments.json = true),
        about: "print the result as JSON",
    },
];

fn check(arguments: &BackupArguments) -> Result<(), UsageError> {
    let missing = |what| Err(UsageError::Missing { command: "backup", what });
    let useless =
        |got: &str| Err(UsageError::UnexpectedArgument { command: "backup", got: got.to_owned() });
    let BackupArguments { action, kind, keep, rate, .. } = arguments;
    if arguments.to.as_os_str().is_empty() {
        return missing("--to PLACE");
    }
    if *action == BackupAction::Make && arguments.data.as_os_str().is_empty() {
        return missing("--data DIR");
    }
    let is_folder = !arguments.is_stream();
    let makes = *action == BackupAction::Make;
    let given = [
        ("--incremental", *kind == BackupKind::Commits, makes && is_folder),
        ("--full", *kind == BackupKind::Full, makes),
        ("--keep", keep.is_some(), makes && is_folder),
        ("--rate", rate.is_some(), makes),
        ("--list", *action == BackupAction::List, is_folder),
        ("--verify", *action == BackupAction::Verify, is_folder),
        ("--json", arguments.json, arguments.to.as_os_str() != "-"),
    ];
    given.iter().find(|(_, given, useful)| *given && !useful).map_or(Ok(()), |(f, ..)| useless(f))
}

#[cfg(test)]
mod tests {
    use super::super::{Command, parse};
    use super::*;

    fn parsed(line: &str) -> Result<BackupArguments, String> {
        match parse(line.split_whitespace().map(Into::into)) {
            Ok(Command::Backup(arguments)) => Ok(arguments),
            Err(error) => Err(error.to_string()),
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn every_flag_has_its_effect() {
        let some = BackupArguments { data: "d".into(), to: "t".into(), ..Default::default() };
        assert_eq!(parsed("backup --data d --to t").as_ref(), Ok(&some));
        let all = BackupArguments {
            kind: BackupKind::Commits,
            keep: Some(3),
            rate: Some(20 << 20),
            json: true,
            ..some
        };
        let line = "backup --data d --to t --incremental --keep 3 --rate 20M --json";
        assert_eq!(parsed(line), Ok(all));
        assert_eq!(parsed("backup --to t --list").map(|a| a.action), Ok(BackupAction::List));
        assert_eq!(parsed("backup --to t --verify").map(|a| a.action), Ok(BackupAction::Verify));
        assert_eq!(parsed("backup --data d --to - --full").map(|a| a.is_stream()), Ok(true));
        assert_eq!(parsed("backup --data d --to x.tar").map(|a| a.is_stream()), Ok(true));
    }

    #[test]
    fn what_is_missing_or_would_be_ignored_is_refused() {
        for (line, word) in [
            ("backup --data d", "--to"),
            ("backup --to t", "--data"),
            ("backup --data d --to - --incremental", "--incremental"),
            ("backup --data d --to x.tar --keep 2", "--keep"),
            ("backup --data d --to - --json", "--json"),
            ("backup --to t --list --full", "--full"),
            ("backup --to x.tar --list", "--list"),
            ("backup --data d --to t --keep 0", "from 1"),
        ] {
            let error = parsed(line).expect_err(line);
            assert!(error.contains(word), "{line}: {error}");
        }
    }
}
