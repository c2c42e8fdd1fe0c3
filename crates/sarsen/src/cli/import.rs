//! The arguments of `sarsen import`.

use super::UsageError;
use super::data::{self, InFolder};
use super::export::collection;
use super::flag::{Argument, Flag, Spec, Takes};
use super::value::{self, ValueError};
use repository::exchange::{ExistingDocuments, KeptTimes};
use repository::{CollectionName, json};
use std::path::PathBuf;

/// What to import, and how.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImportArguments {
    /// The data folder.
    pub data: PathBuf,
    /// The file; none: stdin.
    pub file: Option<PathBuf>,
    /// What becomes of documents that are there.
    pub existing: ExistingDocuments,
    /// Which times documents get.
    pub times: KeptTimes,
    /// Whether lines that cannot be imported are passed over.
    pub keep_going: bool,
    /// Whether lines of Sarsen's own collections are imported.
    pub system: bool,
    /// Whether to begin with the first line in any case.
    pub restart: bool,
    /// Where JSON Lines that are no export go.
    pub collection: Option<CollectionName>,
    /// Where in them the key is.
    pub key: Option<String>,
}

impl InFolder for ImportArguments {
    fn data(&mut self) -> &mut PathBuf {
        &mut self.data
    }
}

/// How the arguments are written.
pub const SPEC: Spec<ImportArguments> = Spec {
    name: "import",
    usage: "--data DIR [FILE] [flags]",
    about: "Read what export wrote, or JSON Lines; a server may run.",
    arguments: &[Argument {
        name: "FILE",
        about: "what to import [stdin]",
        store: |arguments, value| {
            arguments.file = Some(value::file(value)?);
            Ok(())
        },
    }],
    flags: FLAGS,
    check: |arguments| {
        let missing = |what| Err(UsageError::Missing { command: "import", what });
        match (&arguments.collection, &arguments.key) {
            _ if arguments.data.as_os_str().is_empty() => missing("--data DIR"),
            (Some(_), None) => missing("--key POINTER with --collection"),
            (None, Some(_)) => missing("--collection NAME with --key"),
            _ => Ok(()),
        }
    },
};

const FLAGS: &[Flag<ImportArguments>] = &[
    data::flag("the repository's folder; a server may run"),
    Flag {
        long: "existing",
        short: None,
        takes: Takes::Value("WHAT", |arguments, value| {
            arguments.existing = match value.to_str() {
                Some("fail") => ExistingDocuments::Fail,
                Some("skip") => ExistingDocuments::Skip,
                Some("replace") => ExistingDocuments::Replace,
                _ => return Err(ValueError::expected("fail, skip or replace")),
            };
            Ok(())
        }),
        about: "of documents that are there: fail, skip or replace [fail]",
    },
    Flag {
        long: "times",
        short: None,
        takes: Takes::Value("WHICH", |arguments, value| {
            arguments.times = match value.to_str() {
                Some("keep") => KeptTimes::Keep,
                Some("new") => KeptTimes::New,
                _ => return Err(ValueError::expected("keep or new")),
            };
            Ok(())
        }),
        about: "created and updated: keep those of the lines, or new [keep]",
    },
    Flag {
        long: "continue",
        short: None,
        takes: Takes::Nothing(|arguments| arguments.keep_going = true),
        about: "list lines that cannot be imported on stderr and go on",
    },
    Flag {
        long: "system",
        short: None,
        takes: Takes::Nothing(|arguments| arguments.system = true),
        about: "Sarsen's own collections as well",
    },
    Flag {
        long: "restart",
        short: None,
        takes: Takes::Nothing(|arguments| arguments.restart = true),
        about: "begin with the first line, wherever an earlier run came to",
    },
    Flag {
        long: "collection",
        short: None,
        takes: Takes::Value("NAME", |arguments, value| {
            arguments.collection = Some(collection(value)?);
            Ok(())
        }),
        about: "the lines are documents of this collection, and no export",
    },
    Flag {
        long: "key",
        short: None,
        takes: Takes::Value("POINTER", |arguments, value| {
            let pointer = value::text(value)?;
            json::check_pointer(&pointer)
                .map_err(|_error| ValueError::expected("a JSON Pointer such as /id"))?;
            arguments.key = Some(pointer);
            Ok(())
        }),
        about: "where in each line its key is, as /id; with --collection",
    },
];

#[cfg(test)]
mod tests {
    use super::super::{Command, parse};
    use super::*;

    fn parsed(line: &str) -> Result<ImportArguments, String> {
        match parse(line.split_whitespace().map(Into::into)) {
            Ok(Command::Import(arguments)) => Ok(arguments),
            Err(error) => Err(error.to_string()),
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn every_flag_has_its_effect() {
        let all = ImportArguments {
            data: "/d".into(),
            file: Some("f".into()),
            existing: ExistingDocuments::Skip,
            times: KeptTimes::New,
            keep_going: true,
            system: true,
            restart: true,
            collection: Some(CollectionName::new("notes").unwrap()),
            key: Some("/id".to_owned()),
        };
        let line = "import --data /d f --existing skip --times new --continue --system --restart \
                    --collection notes --key /id";
        assert_eq!(parsed(line), Ok(all));
    }

    #[test]
    fn what_is_missing_or_wrong_is_told() {
        for (line, word) in [
            ("import", "--data DIR"),
            ("import --data d --collection notes", "--key POINTER"),
            ("import --data d --key /id", "--collection NAME"),
            ("import --data d --key id", "JSON Pointer"),
            ("import --data d --existing keep", "fail, skip or replace"),
            ("import --data d --times old", "keep or new"),
            ("import --data d a b", "\"b\""),
        ] {
            let error = parsed(line).expect_err(line);
            assert!(error.contains(word), "{line}: {error}");
        }
    }
}
