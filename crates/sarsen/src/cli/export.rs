//! The arguments of `sarsen export`.

use super::UsageError;
use super::data::{self, InFolder};
use super::flag::{Flag, Spec, Takes};
use super::value::{self, ValueError};
use repository::CollectionName;
use std::ffi::OsString;
use std::path::PathBuf;

/// What to export, and where to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExportArguments {
    /// The data folder.
    pub data: PathBuf,
    /// These collections; none: all.
    pub collections: Vec<CollectionName>,
    /// Whether Sarsen's own collections are exported as well.
    pub system: bool,
    /// A file instead of stdout.
    pub output: Option<PathBuf>,
    /// Whether to go on with what is in that file.
    pub resume: bool,
}

/// A name of a collection.
pub(super) fn collection(value: OsString) -> Result<CollectionName, ValueError> {
    let name = value::text(value)?;
    CollectionName::new(&name).map_err(|error| ValueError::expected(error.to_string()))
}

impl InFolder for ExportArguments {
    fn data(&mut self) -> &mut PathBuf {
        &mut self.data
    }
}

/// How the arguments are written.
pub const SPEC: Spec<ExportArguments> = Spec {
    name: "export",
    usage: "--data DIR [flags]",
    about: "Write collections as JSON Lines; a server may run.",
    arguments: &[],
    flags: &[
        data::flag("the repository's folder; a server may run"),
        Flag {
            long: "collection",
            short: None,
            takes: Takes::Value("NAME", |arguments, value| {
                arguments.collections.push(collection(value)?);
                Ok(())
            }),
            about: "only this one; again for more [all]",
        },
        Flag {
            long: "system",
            short: None,
            takes: Takes::Nothing(|arguments| arguments.system = true),
            about: "Sarsen's own as well: sessions, tasks, secrets",
        },
        Flag {
            long: "output",
            short: Some('o'),
            takes: Takes::Value("FILE", |arguments, value| {
                arguments.output = Some(value::file(value)?);
                Ok(())
            }),
            about: "a new file, and when it is done it is on disk [stdout]",
        },
        Flag {
            long: "resume",
            short: None,
            takes: Takes::Nothing(|arguments| arguments.resume = true),
            about: "go on with what is in --output, at the same commit",
        },
    ],
    check: |arguments| {
        let missing = |what| Err(UsageError::Missing { command: "export", what });
        if arguments.data.as_os_str().is_empty() {
            return missing("--data DIR");
        }
        if arguments.resume && arguments.output.is_none() {
            return missing("--output FILE with --resume");
        }
        Ok(())
    },
};

#[cfg(test)]
mod tests {
    use super::super::{Command, parse};
    use super::*;

    fn parsed(line: &str) -> Result<ExportArguments, String> {
        match parse(line.split_whitespace().map(Into::into)) {
            Ok(Command::Export(arguments)) => Ok(arguments),
            Err(error) => Err(error.to_string()),
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn every_flag_has_its_effect() {
        let name = |name: &str| CollectionName::new(name).unwrap();
        let all = ExportArguments {
            data: "/d".into(),
            collections: vec![name("a"), name("b")],
            system: true,
            output: Some("f".into()),
            resume: true,
        };
        let line = "export --data /d --collection a --collection b --system -o f --resume";
        assert_eq!(parsed(line), Ok(all));
    }

    #[test]
    fn what_is_missing_is_asked_for() {
        for (line, word) in [
            ("export", "--data DIR"),
            ("export --data d --resume", "--output FILE"),
            ("export --data d --collection A", "a-z"),
            ("export --data d x", "\"x\""),
        ] {
            let error = parsed(line).expect_err(line);
            assert!(error.contains(word), "{line}: {error}");
        }
    }
}
