//! The tokens of a module, to be found by their place: the syntax tree does not say where a keyword
//! or a comma stands.

use oxc_parser::{Kind, Token};

/// All tokens of a module, in their order.
pub(super) struct Tokens<'a>(pub(super) &'a [Token]);

impl Tokens<'_> {
    /// The first token that begins at `at` or after it.
    pub(super) fn from(&self, at: u32) -> Option<&Token> {
        self.0.get(self.index(at))
    }

    /// The first token that begins at `at` or after it, if it is `kind`.
    pub(super) fn expect(&self, kind: Kind, at: u32) -> Option<&Token> {
        self.from(at).filter(|token| token.kind() == kind)
    }

    /// The last token that begins before `at`, if it is `kind`.
    pub(super) fn before(&self, kind: Kind, at: u32) -> Option<&Token> {
        let index = self.index(at).checked_sub(1)?;
        self.0.get(index).filter(|token| token.kind() == kind)
    }

    /// The tokens that begin from `start` up to `end`.
    pub(super) fn between(&self, start: u32, end: u32) -> &[Token] {
        let (start, end) = (self.index(start), self.index(end));
        self.0.get(start..end).unwrap_or_default()
    }

    fn index(&self, at: u32) -> usize {
        self.0.partition_point(|token| token.start() < at)
    }
}
