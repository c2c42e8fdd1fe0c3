//! What a rule reports: where, which rule, and what was found against which limit.

use std::fmt;

/// The rules of `cargo xtask tidy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    /// The file must be Rust that parses.
    Syntax,
    /// Files stay short.
    FileLength,
    /// Files open with what they are responsible for.
    OpeningComment,
    /// Functions stay short.
    FunctionLength,
    /// Functions take few parameters.
    Parameters,
    /// Lines fit the screen.
    LineLength,
    /// Module names say something.
    ModuleName,
    /// Type names say something.
    TypeName,
    /// Nothing is left for later: no `todo!`, `unimplemented!` or `#[ignore]`.
    Unfinished,
    /// No `unwrap` outside tests.
    Unwrap,
    /// No `unsafe`.
    Unsafe,
    /// No path that exists on one machine only.
    MachinePath,
    /// Every limit states its behaviour.
    LimitDoc,
    /// Crates use what ARCHITECTURE.md allows, no more and no less.
    Dependency,
    /// Every package has an allowed licence.
    Licence,
    /// Every invariant of ARCHITECTURE.md names a test that exists.
    Invariant,
    /// Every exception excuses something.
    Exception,
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Syntax => "syntax",
            Self::FileLength => "file length",
            Self::OpeningComment => "opening comment",
            Self::FunctionLength => "function length",
            Self::Parameters => "parameters",
            Self::LineLength => "line length",
            Self::ModuleName => "module name",
            Self::TypeName => "type name",
            Self::Unfinished => "unfinished",
            Self::Unwrap => "unwrap",
            Self::Unsafe => "unsafe",
            Self::MachinePath => "machine path",
            Self::LimitDoc => "limit without doc",
            Self::Dependency => "dependency",
            Self::Licence => "licence",
            Self::Invariant => "invariant",
            Self::Exception => "exception",
        })
    }
}

/// One violation; printed as `file:line: rule: what`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// From the root of the repository.
    pub file: String,
    /// 1-based.
    pub line: usize,
    /// The rule that was broken.
    pub rule: Rule,
    /// What was found and what the limit is.
    pub what: String,
}

impl Finding {
    /// A finding at `file:line`.
    pub fn new(file: &str, line: usize, rule: Rule, what: impl Into<String>) -> Self {
        Self { file: file.to_owned(), line, rule, what: what.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}: {}", self.file, self.line, self.rule, self.what)
    }
}
