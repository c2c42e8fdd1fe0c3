//! The arguments of `sarsen token`.

use super::UsageError;
use super::flag::{Argument, Flag, Spec, Takes};
use super::value::{self, ValueError};
use crate::limits::TOKEN_LIFE_MAX;
use faces::access::{Pattern, Scope};
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// What to do with the tokens of a data folder.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct TokenArguments {
    /// What is to be done.
    pub action: Option<TokenAction>,
    /// Which token; for `revoke` only.
    pub id: Option<String>,
    /// The data folder.
    pub data: Option<PathBuf>,
    /// How much the new token allows.
    pub scope: Option<Scope>,
    /// For which collections; for all if not given.
    pub collections: Option<Vec<Pattern>>,
    /// For how long; for ever if not given.
    pub expires: Option<Duration>,
    /// What to call it.
    pub name: Option<String>,
    /// Whether the list is JSON.
    pub json: bool,
}

/// The first word after `token`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenAction {
    /// Make one.
    Create,
    /// Show all.
    List,
    /// Remove one.
    Revoke,
}

const ACTIONS: &str = "create, list or revoke";

/// How the arguments are written.
pub const SPEC: Spec<TokenArguments> = Spec {
    name: "token",
    usage: "ACTION [ID]",
    about: "Make, list and revoke the tokens of HTTP clients.",
    arguments: &[
        Argument { name: "ACTION", about: "create, list or revoke", store: action },
        Argument {
            name: "ID",
            about: "which token to revoke, as the list names it",
            store: |arguments, value| {
                arguments.id = Some(value::text(value)?);
                Ok(())
            },
        },
    ],
    flags: FLAGS,
    check,
};

const FLAGS: &[Flag<TokenArguments>] = &[
    Flag {
        long: "data",
        short: None,
        takes: Takes::Value("DIR", |arguments, value| {
            arguments.data = Some(value::folder(value)?);
            Ok(())
        }),
        about: "the repository's folder; a server may have it open",
    },
    Flag {
        long: "scope",
        short: None,
        takes: Takes::Value("SCOPE", |arguments, value| {
            arguments.scope = Some(value::parsed(value, "read, write or admin")?);
            Ok(())
        }),
        about: "read, write, or admin (settings too); for create",
    },
    Flag {
        long: "collections",
        short: None,
        takes: Takes::Value("LIST", |arguments, value| {
            arguments.collections = Some(patterns(value)?);
            Ok(())
        }),
        about: "as notes,img-* [*: all]; for create",
    },
    Flag {
        long: "expires",
        short: None,
        takes: Takes::Value("TIME", |arguments, value| {
            arguments.expires = Some(value::duration(value, TOKEN_LIFE_MAX)?);
            Ok(())
        }),
        about: "how long it is taken, as 12h or 90d [for ever]; for create",
    },
    Flag {
        long: "name",
        short: None,
        takes: Takes::Value("TEXT", |arguments, value| {
            arguments.name = Some(value::text(value)?);
            Ok(())
        }),
        about: "what the list calls it; for create",
    },
    Flag {
        long: "json",
        short: None,
        takes: Takes::Nothing(|arguments| arguments.json = true),
        about: "print JSON; for list",
    },
];

fn action(arguments: &mut TokenArguments, value: OsString) -> Result<(), ValueError> {
    arguments.action = Some(match value.to_str() {
        Some("create") => TokenAction::Create,
        Some("list") => TokenAction::List,
        Some("revoke") => TokenAction::Revoke,
        _ => return Err(ValueError::expected(ACTIONS)),
    });
    Ok(())
}

fn patterns(value: OsString) -> Result<Vec<Pattern>, ValueError> {
    let text = value::text(value)?;
    let read = |one: &str| {
        let pattern = one.trim().parse();
        pattern.map_err(|_why| ValueError::expected("names of collections, such as notes,img-*"))
    };
    text.split(',').map(read).collect()
}

/// Nothing is to be given that would be ignored: a token that allows more than was meant is worse
/// than an error.
fn check(arguments: &TokenArguments) -> Result<(), UsageError> {
    let missing = |what| Err(UsageError::Missing { command: "token", what });
    let useless =
        |got: &str| Err(UsageError::UnexpectedArgument { command: "token", got: got.to_owned() });
    let TokenArguments { action, id, data, scope, collections, expires, name, json } = arguments;
    let Some(action) = action else { return missing(ACTIONS) };
    if data.is_none() {
        return missing("--data DIR");
    }
    let is_new = *action == TokenAction::Create;
    match id {
        Some(id) if *action != TokenAction::Revoke => return useless(id),
        None if *action == TokenAction::Revoke => return missing("the ID of a token"),
        _ => {}
    }
    let given = [
        ("--scope", scope.is_some(), is_new),
        ("--collections", collections.is_some(), is_new),
        ("--expires", expires.is_some(), is_new),
        ("--name", name.is_some(), is_new),
        ("--json", *json, *action == TokenAction::List),
    ];
    if let Some((flag, ..)) = given.iter().find(|(_, given, useful)| *given && !useful) {
        return useless(flag);
    }
    if is_new && scope.is_none() {
        return missing("--scope read, write or admin");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::{Command, parse};
    use super::*;

    fn parsed(line: &str) -> Result<TokenArguments, String> {
        match parse(line.split_whitespace().map(Into::into)) {
            Ok(Command::Token(arguments)) => Ok(arguments),
            Err(error) => Err(error.to_string()),
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn every_flag_has_its_effect() {
        let expected = TokenArguments {
            action: Some(TokenAction::Create),
            id: None,
            data: Some("/d".into()),
            scope: Some(Scope::Write),
            collections: Some(vec!["notes".parse().unwrap(), "img-*".parse().unwrap()]),
            expires: Some(Duration::from_secs(2 * 86_400)),
            name: Some("ci".into()),
            json: false,
        };
        let line = "token create --data /d --scope write --collections notes,img-* --expires 2d";
        assert_eq!(parsed(&format!("{line} --name ci")), Ok(expected));
        let listed = parsed("token list --data /d --json").unwrap();
        assert_eq!((listed.action, listed.json), (Some(TokenAction::List), true));
        let revoked = parsed("token revoke abc --data /d").unwrap();
        assert_eq!(
            (revoked.action, revoked.id.as_deref()),
            (Some(TokenAction::Revoke), Some("abc"))
        );
    }

    #[test]
    fn what_is_missing_or_would_be_ignored_is_refused() {
        for (line, word) in [
            ("token", "create, list or revoke"),
            ("token make --data /d", "create, list or revoke"),
            ("token create --scope read", "--data DIR"),
            ("token create --data /d", "--scope"),
            ("token create --data /d --scope root", "read, write or admin"),
            ("token create --data /d --scope read --collections a,,b", "names of collections"),
            ("token create --data /d --scope read --collections _system", "names of collections"),
            ("token create --data /d --scope read --expires never", "90d"),
            ("token create abc --data /d --scope read", "\"abc\""),
            ("token revoke --data /d", "ID"),
            ("token revoke abc --data /d --scope read", "--scope"),
            ("token list --data /d --expires 2d", "--expires"),
            ("token create --data /d --scope read --json", "--json"),
        ] {
            let error = parsed(line).expect_err(line);
            assert!(error.contains(word), "{line}: {error}");
        }
    }
}
