//! Reads the arguments of one command by its definition. What a value means is said by the flag.

use super::flag::{Flag, Spec, Takes};
use super::value::ValueError;
use super::{Command, UsageError, help, nearest};
use lexopt::{Arg, Parser};
use std::ffi::{OsStr, OsString};

/// Reads `rest`, what follows the command's name, and makes a command of it. Of a flag that is
/// given twice the later value counts.
pub fn command<A: Default>(
    spec: &Spec<A>,
    rest: Vec<OsString>,
    make: fn(A) -> Command,
) -> Result<Command, UsageError> {
    let mut arguments = A::default();
    let mut parser = Parser::from_args(rest);
    let mut free = spec.arguments.iter();
    while let Some(argument) = next(&mut parser, spec.name)? {
        match argument {
            Word::Flag(name) if name == "--help" || name == "-h" => {
                return Ok(Command::Help(help::command(&spec.topic())));
            }
            Word::Flag(name) => take_flag(spec, &name, &mut parser, &mut arguments)?,
            Word::Free(value) => {
                let Some(argument) = free.next() else {
                    return Err(unexpected(spec.name, &value));
                };
                let got = value.clone();
                let stored = (argument.store)(&mut arguments, value);
                stored.map_err(|error| bad_value(argument.name, &got, error))?;
            }
        }
    }
    (spec.check)(&arguments)?;
    Ok(make(arguments))
}

/// Refuses anything in `rest`.
pub fn no_more(command: &'static str, rest: &[OsString]) -> Result<(), UsageError> {
    rest.first().map_or(Ok(()), |first| Err(unexpected(command, first)))
}

/// One word of the command line, free of the parser.
enum Word {
    /// A flag with its dashes.
    Flag(String),
    /// Anything else.
    Free(OsString),
}

fn next(parser: &mut Parser, command: &'static str) -> Result<Option<Word>, UsageError> {
    match parser.next() {
        Ok(Some(Arg::Long(name))) => Ok(Some(Word::Flag(format!("--{name}")))),
        Ok(Some(Arg::Short(name))) => Ok(Some(Word::Flag(format!("-{name}")))),
        Ok(Some(Arg::Value(value))) => Ok(Some(Word::Free(value))),
        Ok(None) => Ok(None),
        // What remains is `--flag=value` with a value that nobody asked for, and `take_flag` sees
        // that first; a short flag's is reported here.
        Err(error) => Err(UsageError::UnexpectedArgument { command, got: error.to_string() }),
    }
}

fn take_flag<A>(
    spec: &Spec<A>,
    name: &str,
    parser: &mut Parser,
    arguments: &mut A,
) -> Result<(), UsageError> {
    let flag = spec.flags.iter().find(|flag| matches(flag, name));
    match flag.map(|flag| &flag.takes) {
        None => Err(unknown_flag(spec, name)),
        Some(Takes::Nothing(set)) => {
            if let Some(got) = parser.optional_value() {
                let got = got.to_string_lossy().into_owned();
                return Err(UsageError::UnexpectedValue { flag: name.into(), got });
            }
            set(arguments);
            Ok(())
        }
        Some(Takes::Value(placeholder, store)) => {
            let value = value(parser, name, placeholder)?;
            let got = value.clone();
            store(arguments, value).map_err(|error| bad_value(name, &got, error))
        }
        Some(Takes::Two(placeholder, store)) => {
            let first = value(parser, name, placeholder)?;
            let second = value(parser, name, placeholder)?;
            let got = [first.as_os_str(), second.as_os_str()].join(OsStr::new(" "));
            store(arguments, first, second).map_err(|error| bad_value(name, &got, error))
        }
    }
}

fn value(
    parser: &mut Parser,
    flag: &str,
    placeholder: &'static str,
) -> Result<OsString, UsageError> {
    let value = parser.value();
    value.map_err(|_at_the_end| UsageError::MissingValue { flag: flag.into(), placeholder })
}

fn matches<A>(flag: &Flag<A>, name: &str) -> bool {
    match name.strip_prefix("--") {
        Some(long) => long == flag.long,
        None => flag.short.is_some_and(|short| name == format!("-{short}")),
    }
}

fn unknown_flag<A>(spec: &Spec<A>, got: &str) -> UsageError {
    let names = spec.flags.iter().map(|flag| flag.long);
    let nearest = got.strip_prefix("--").and_then(|got| nearest::of(got, names));
    UsageError::UnknownFlag {
        command: spec.name,
        got: got.into(),
        nearest: nearest.map(|name| format!("--{name}")),
    }
}

fn unexpected(command: &'static str, got: &OsStr) -> UsageError {
    UsageError::UnexpectedArgument { command, got: got.to_string_lossy().into_owned() }
}

fn bad_value(place: &str, got: &OsStr, error: ValueError) -> UsageError {
    let got = got.to_string_lossy().into_owned();
    UsageError::BadValue { place: place.into(), expected: error.expected, got }
}
