//! The arguments of `sarsen runs`.

use super::flag::{Argument, Flag, Spec, Takes};
use super::value::{self, ValueError};
use super::{Command, UsageError, parse};
use std::ffi::OsString;
use std::path::PathBuf;

/// What to do with the runs of the archive.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct RunsArguments {
    /// What is to be done.
    pub action: Option<RunsAction>,
    /// The begin of the run's id.
    pub id: Option<String>,
    /// The note.
    pub note: Option<String>,
    /// Tags to add.
    pub add: Vec<String>,
    /// Tags to take away.
    pub remove: Vec<String>,
    /// List those only that have all of these tags.
    pub tags: Vec<String>,
    /// List those only with this verdict.
    pub verdict: Option<String>,
    /// List those only whose name has this in it.
    pub name: Option<String>,
    /// How many to list.
    pub limit: Option<usize>,
    /// Whether to print JSON.
    pub json: bool,
    /// The folder of runs.
    pub runs: Option<PathBuf>,
}

/// The first word after `runs`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunsAction {
    /// All, the newest first.
    List,
    /// One.
    Show,
    /// Add or take away tags.
    Tag,
    /// Set the note.
    Note,
    /// Remove one.
    Delete,
    /// Look whether anything was changed.
    Verify,
    /// Where it is.
    Path,
}

const ACTIONS: &str = "list, show, tag, note, delete, verify or path";

const VERDICTS: [&str; 5] = ["PASSED", "FAILED", "INVALID", "KILLED", "RUNNING"];

/// How the arguments are written.
pub const SPEC: Spec<RunsArguments> = Spec {
    name: "runs",
    usage: "ACTION [ID]",
    about: "List, show, tag and check archived runs.",
    arguments: &[
        Argument { name: "ACTION", about: ACTIONS, store: action },
        Argument {
            name: "ID",
            about: "which run; as much of its id as is needed to tell it",
            store: |arguments, value| {
                arguments.id = Some(value::text(value)?);
                Ok(())
            },
        },
        Argument {
            name: "TEXT",
            about: "the note; tag: +TAG adds one, -TAG takes it away",
            store: |arguments, value| {
                arguments.note = Some(value::text(value)?);
                Ok(())
            },
        },
    ],
    flags: FLAGS,
    check: |_| Ok(()),
};

const FLAGS: &[Flag<RunsArguments>] = &[
    Flag {
        long: "tag",
        short: None,
        takes: Takes::Value("TAG", |arguments, value| {
            arguments.tags.push(value::text(value)?);
            Ok(())
        }),
        about: "list those with this tag; may be repeated",
    },
    Flag {
        long: "verdict",
        short: None,
        takes: Takes::Value("WORD", |arguments, value| {
            let word = value::text(value)?.to_ascii_uppercase();
            if !VERDICTS.contains(&word.as_str()) {
                return Err(ValueError::expected(VERDICTS.join(", ").to_lowercase()));
            }
            arguments.verdict = Some(word);
            Ok(())
        }),
        about: "list those that are passed, failed, invalid, killed or running",
    },
    Flag {
        long: "name",
        short: None,
        takes: Takes::Value("TEXT", |arguments, value| {
            arguments.name = Some(value::text(value)?);
            Ok(())
        }),
        about: "list those with this in their name",
    },
    Flag {
        long: "limit",
        short: None,
        takes: Takes::Value("N", |arguments, value| {
            arguments.limit = Some(value::count(value, 1..=u64::from(u32::MAX))? as usize);
            Ok(())
        }),
        about: "list the newest N [all]",
    },
    Flag {
        long: "json",
        short: None,
        takes: Takes::Nothing(|arguments| arguments.json = true),
        about: "print JSON: a line for each run; for list, show and verify",
    },
    Flag {
        long: "runs",
        short: None,
        takes: Takes::Value("DIR", |arguments, value| {
            arguments.runs = Some(value::folder(value)?);
            Ok(())
        }),
        about: "the folder of runs [$SARSEN_RUNS, or ./runs]",
    },
];

fn action(arguments: &mut RunsArguments, value: OsString) -> Result<(), ValueError> {
    arguments.action = Some(match value.to_str() {
        Some("list") => RunsAction::List,
        Some("show") => RunsAction::Show,
        Some("tag") => RunsAction::Tag,
        Some("note") => RunsAction::Note,
        Some("delete") => RunsAction::Delete,
        Some("verify") => RunsAction::Verify,
        Some("path") => RunsAction::Path,
        _ => return Err(ValueError::expected(ACTIONS)),
    });
    Ok(())
}

/// Reads what follows `runs`. Of `tag`, words such as `-old` are tags and no flags.
pub fn command(rest: Vec<OsString>) -> Result<Command, UsageError> {
    let is_tag = rest.first().is_some_and(|action| action == "tag");
    let (tags, rest): (Vec<_>, Vec<_>) =
        rest.into_iter().partition(|word| is_tag && change(word).is_some());
    match parse::command(&SPEC, rest, |arguments| Command::Runs(Box::new(arguments)))? {
        Command::Runs(mut arguments) => {
            for (sign, tag) in tags.iter().filter_map(|word| change(word)) {
                let list = if sign == '+' { &mut arguments.add } else { &mut arguments.remove };
                list.push(tag.to_owned());
            }
            check(&arguments)?;
            Ok(Command::Runs(arguments))
        }
        help => Ok(help),
    }
}

/// `+TAG` or `-TAG`, but no long flag and no call for help.
fn change(word: &OsString) -> Option<(char, &str)> {
    let word = word.to_str()?;
    let sign = word.chars().next().filter(|sign| ['+', '-'].contains(sign))?;
    let tag = &word[1..];
    (!tag.starts_with('-') && word != "-h").then_some((sign, tag))
}

/// Nothing is to be given that would be ignored.
fn check(arguments: &RunsArguments) -> Result<(), UsageError> {
    let missing = |what| Err(UsageError::Missing { command: "runs", what });
    let Some(action) = arguments.action else { return missing(ACTIONS) };
    let (is_list, id) = (action == RunsAction::List, &arguments.id);
    let may_lack_id = is_list || action == RunsAction::Verify;
    if id.is_none() && !may_lack_id {
        return missing("the ID of a run");
    }
    if action == RunsAction::Tag && arguments.add.is_empty() && arguments.remove.is_empty() {
        return missing("+TAG or -TAG");
    }
    if action == RunsAction::Note && arguments.note.is_none() {
        return missing("the text of the note; an empty one takes it away");
    }
    let may_be_json = is_list || matches!(action, RunsAction::Show | RunsAction::Verify);
    let given = [
        (id.as_deref(), !is_list),
        (arguments.note.as_deref(), action == RunsAction::Note),
        (arguments.tags.first().map(|_| "--tag"), is_list),
        (arguments.verdict.as_ref().map(|_| "--verdict"), is_list),
        (arguments.name.as_ref().map(|_| "--name"), is_list),
        (arguments.limit.map(|_| "--limit"), is_list),
        (arguments.json.then_some("--json"), may_be_json),
    ];
    let useless = given.into_iter().find_map(|(given, useful)| given.filter(|_| !useful));
    useless.map_or(Ok(()), |got| {
        Err(UsageError::UnexpectedArgument { command: "runs", got: got.to_owned() })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(words: &[&str]) -> Result<RunsArguments, String> {
        match super::super::parse(std::iter::once(&"runs").chain(words).map(Into::into)) {
            Ok(Command::Runs(arguments)) => Ok(*arguments),
            Ok(other) => panic!("{words:?}: {other:?}"),
            Err(error) => Err(error.to_string()),
        }
    }

    #[test]
    fn every_flag_has_its_effect() {
        let line = "list --tag a --tag b --verdict passed --name c --limit 3 --json --runs /r";
        let expected = RunsArguments {
            action: Some(RunsAction::List),
            tags: vec!["a".into(), "b".into()],
            verdict: Some("PASSED".into()),
            name: Some("c".into()),
            limit: Some(3),
            json: true,
            runs: Some("/r".into()),
            ..RunsArguments::default()
        };
        assert_eq!(parsed(&line.split(' ').collect::<Vec<_>>()), Ok(expected));
        let with = |action| RunsArguments {
            action: Some(action),
            id: Some("2026".into()),
            ..RunsArguments::default()
        };
        let tagged = RunsArguments {
            add: vec!["new".into()],
            remove: vec!["old".into()],
            runs: Some("/r".into()),
            ..with(RunsAction::Tag)
        };
        assert_eq!(parsed(&["tag", "2026", "+new", "-old", "--runs", "/r"]), Ok(tagged));
        let note = RunsArguments { note: Some("a b".into()), ..with(RunsAction::Note) };
        assert_eq!(parsed(&["note", "2026", "a b"]), Ok(note));
        for (word, action) in [
            ("show", RunsAction::Show),
            ("delete", RunsAction::Delete),
            ("verify", RunsAction::Verify),
            ("path", RunsAction::Path),
        ] {
            assert_eq!(parsed(&[word, "2026"]), Ok(with(action)));
        }
    }

    #[test]
    fn what_is_missing_or_would_be_ignored_is_refused() {
        for (words, told) in [
            (&[][..], ACTIONS),
            (&["frob"], ACTIONS),
            (&["show"], "the ID"),
            (&["tag", "2026"], "+TAG"),
            (&["note", "2026"], "text"),
            (&["list", "2026"], "\"2026\""),
            (&["show", "2026", "x"], "\"x\""),
            (&["show", "2026", "--tag", "x"], "--tag"),
            (&["delete", "2026", "--json"], "--json"),
            (&["list", "--verdict", "good"], "passed, failed"),
        ] {
            let error = parsed(words).expect_err(told);
            assert!(error.contains(told), "{words:?}: {error}");
        }
    }
}
