//! What a command's flags are made of. One definition of a flag gives its parsing, its help and its
//! place among the names that a misspelt one is compared with.

use super::UsageError;
use super::value::ValueError;
use std::ffi::OsString;

/// Stores a value in the arguments `A`.
pub type Store<A> = fn(&mut A, OsString) -> Result<(), ValueError>;

/// A command whose arguments are collected in an `A`.
pub struct Spec<A: 'static> {
    /// The command's name.
    pub name: &'static str,
    /// How it is called, after its name.
    pub usage: &'static str,
    /// One line for the overview.
    pub about: &'static str,
    /// Its free-standing arguments, in their order.
    pub arguments: &'static [Argument<A>],
    /// Its flags, in the order of the help.
    pub flags: &'static [Flag<A>],
    /// Refuses what only all arguments together show to be wrong.
    pub check: fn(&A) -> Result<(), UsageError>,
}

/// A free-standing argument.
pub struct Argument<A: 'static> {
    /// As the help writes it.
    pub name: &'static str,
    /// One line for the help.
    pub about: &'static str,
    /// Stores it.
    pub store: Store<A>,
}

/// One flag.
pub struct Flag<A> {
    /// Its long name, without dashes.
    pub long: &'static str,
    /// Its short name.
    pub short: Option<char>,
    /// Whether a value follows.
    pub takes: Takes<A>,
    /// One line for the help, with the default in brackets.
    pub about: &'static str,
}

/// What follows a flag.
pub enum Takes<A> {
    /// Nothing: it is given or not.
    Nothing(fn(&mut A)),
    /// A value, which the help calls by this name.
    Value(&'static str, Store<A>),
    /// Two values, which the help calls so.
    Two(&'static str, fn(&mut A, OsString, OsString) -> Result<(), ValueError>),
}

/// What the help says about a command, whatever its arguments are collected in.
pub struct Topic {
    /// The command's name.
    pub name: &'static str,
    /// How it is called, after its name.
    pub usage: &'static str,
    /// One line for the overview.
    pub about: &'static str,
    /// Arguments and flags, each with its line.
    pub rows: Vec<(String, &'static str)>,
}

impl<A> Spec<A> {
    /// The command as the help sees it.
    pub fn topic(&self) -> Topic {
        let free = self.arguments.iter().map(|argument| (argument.name.into(), argument.about));
        let flags = self.flags.iter().map(|flag| (label(flag), flag.about));
        let rows = free.chain(flags).collect();
        Topic { name: self.name, usage: self.usage, about: self.about, rows }
    }
}

/// A flag as the help writes it: `-c, --users N`.
fn label<A>(flag: &Flag<A>) -> String {
    let short = flag.short.map(|short| format!("-{short}, ")).unwrap_or_default();
    match flag.takes {
        Takes::Nothing(_) => format!("{short}--{}", flag.long),
        Takes::Value(placeholder, _) | Takes::Two(placeholder, _) => {
            format!("{short}--{} {placeholder}", flag.long)
        }
    }
}
