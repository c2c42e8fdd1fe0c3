//! The arguments of `sarsen restore`.

use super::UsageError;
use super::flag::{Flag, Spec, Takes};
use super::value::{self, ValueError};
use repository::{CommitNumber, RestoreGoal, Timestamp};
use std::ffi::OsString;
use std::path::PathBuf;

/// What to restore, and to where.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct RestoreArguments {
    /// The folder of backups, the file of tar, or `-` for stdin.
    pub from: PathBuf,
    /// Another folder of backups, with an archive.
    pub archive: Option<PathBuf>,
    /// The data folder to be made.
    pub data: PathBuf,
    /// Up to where.
    pub to: Option<RestoreGoal>,
    /// Whether the result is JSON.
    pub json: bool,
}

/// How the arguments are written.
pub const SPEC: Spec<RestoreArguments> = Spec {
    name: "restore",
    usage: "--from PLACE --data NEW",
    about: "Make a repository of a backup, as of any commit or time.",
    arguments: &[],
    flags: FLAGS,
    check: |arguments| {
        let missing = |what| Err(UsageError::Missing { command: "restore", what });
        if arguments.from.as_os_str().is_empty() {
            return missing("--from PLACE");
        }
        if arguments.data.as_os_str().is_empty() {
            return missing("--data NEW");
        }
        Ok(())
    },
};

const FLAGS: &[Flag<RestoreArguments>] = &[
    Flag {
        long: "from",
        short: None,
        takes: Takes::Value("PLACE", |arguments, value| {
            arguments.from = value::folder(value)?;
            Ok(())
        }),
        about: "a folder of backups, a file of tar, or - for stdin",
    },
    Flag {
        long: "archive",
        short: None,
        takes: Takes::Value("DIR", |arguments, value| {
            arguments.archive = Some(value::folder(value)?);
            Ok(())
        }),
        about: "where `serve --archive` wrote, if not to the same folder",
    },
    Flag {
        long: "data",
        short: None,
        takes: Takes::Value("NEW", |arguments, value| {
            arguments.data = value::folder(value)?;
            Ok(())
        }),
        about: "the folder to be made; missing or empty",
    },
    Flag {
        long: "to",
        short: None,
        takes: Takes::Value("WHEN", goal),
        about: "a commit's number, or a time as 2026-10-04T12:00:00Z [newest]",
    },
    Flag {
        long: "json",
        short: None,
        takes: Takes::Nothing(|arguments| arguments.json = true),
        about: "print the result as JSON",
    },
];

fn goal(arguments: &mut RestoreArguments, value: OsString) -> Result<(), ValueError> {
    const EXPECTED: &str = "a commit's number, or a time such as 2026-10-04T12:00:00Z";
    let text = value::text(value)?;
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let goal = match is_number {
        true => text.parse().ok().map(|number| RestoreGoal::Commit(CommitNumber(number))),
        false => Timestamp::parse(&text).map(RestoreGoal::Time),
    };
    arguments.to = Some(goal.ok_or_else(|| ValueError::expected(EXPECTED))?);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::{Command, parse};
    use super::*;

    fn parsed(line: &str) -> Result<RestoreArguments, String> {
        match parse(line.split_whitespace().map(Into::into)) {
            Ok(Command::Restore(arguments)) => Ok(arguments),
            Err(error) => Err(error.to_string()),
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn every_flag_has_its_effect() {
        let some = RestoreArguments { from: "b".into(), data: "d".into(), ..Default::default() };
        assert_eq!(parsed("restore --from b --data d").as_ref(), Ok(&some));
        let all = RestoreArguments {
            archive: Some("a".into()),
            to: Some(RestoreGoal::Commit(CommitNumber(17))),
            json: true,
            ..some
        };
        let line = "restore --from b --data d --archive a --to 17 --json";
        assert_eq!(parsed(line), Ok(all));
        let timed = parsed("restore --from b --data d --to 1970-01-01T00:00:01.500Z");
        assert_eq!(timed.map(|a| a.to), Ok(Some(RestoreGoal::Time(Timestamp(1500)))));
    }

    #[test]
    fn what_is_missing_or_no_moment_is_refused() {
        for (line, word) in [
            ("restore --data d", "--from"),
            ("restore --from b", "--data"),
            ("restore --from b --data d --to yesterday", "a time such as"),
            ("restore --from b --data d --to -1", "a time such as"),
            ("restore --from b --data d --to 99999999999999999999", "a time such as"),
        ] {
            let error = parsed(line).expect_err(line);
            assert!(error.contains(word), "{line}: {error}");
        }
    }
}
