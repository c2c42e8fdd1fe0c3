//! The exit codes of every command, in one place; `docs/exit-codes.md` lists them for users and a
//! test below compares the two. Which error ends with which code is said where the error is.

use std::process::ExitCode;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// It did what it was asked to.
    Success,
    /// It ran, and there were errors.
    Failure,
    /// The command line cannot be followed.
    Usage,
    /// The repository cannot be opened: unreadable, locked, or damaged.
    Repository,
    /// The address cannot be listened on.
    Listen,
    /// The application does not load.
    Application,
    /// The server to be loaded cannot be reached.
    Unreachable,
    /// The tokens cannot be read or changed.
    Tokens,
    /// The repository is damaged, or holds what cannot be.
    Damaged,
    /// A measurement cannot be believed.
    Invalid,
    /// No more gems that cannot be interrupted are replaced.
    Lost,
    /// A second signal ended it before it had drained.
    Interrupted,
}

impl Exit {
    /// What the operating system is told.
    pub const fn code(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::Failure => 1,
            Self::Usage => 2,
            Self::Repository => 3,
            Self::Listen => 4,
            Self::Application => 5,
            Self::Unreachable => 6,
            Self::Tokens => 7,
            Self::Damaged => 8,
            Self::Invalid => 9,
            Self::Lost => 10,
            // 128 + SIGINT, as shells have it.
            Self::Interrupted => 130,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

#[cfg(test)]
mod tests {
    use super::Exit;

    #[test]
    fn the_documentation_lists_exactly_these_codes() {
        let page = include_str!("../../../docs/exit-codes.md");
        let rows = page.lines().filter_map(|line| line.strip_prefix("| "));
        let listed: Vec<u8> =
            rows.filter_map(|row| row.split(" |").next()?.trim().parse().ok()).collect();
        let all = [
            Exit::Success,
            Exit::Failure,
            Exit::Usage,
            Exit::Repository,
            Exit::Listen,
            Exit::Application,
            Exit::Unreachable,
            Exit::Tokens,
            Exit::Damaged,
            Exit::Invalid,
            Exit::Lost,
            Exit::Interrupted,
        ];
        assert_eq!(listed, all.map(Exit::code));
    }
}
