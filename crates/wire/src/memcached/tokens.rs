//! The words of a line.

use memchr::memchr;

/// The words of a line that are left, with spaces between them. A space is the only separator:
/// any other byte may be in a word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tokens<'a> {
    rest: &'a [u8],
}

impl<'a> Tokens<'a> {
    pub(super) fn new(rest: &'a [u8]) -> Self {
        Self { rest }
    }

    /// What is left of the line.
    pub(super) fn rest(self) -> &'a [u8] {
        self.rest
    }

    /// The first so many words, and how many there are, at most as many as asked for.
    pub(super) fn take_array<const N: usize>(mut self) -> ([&'a [u8]; N], usize) {
        let mut words: [&[u8]; N] = [b""; N];
        let mut count = 0;
        while count < N {
            let Some(word) = self.next() else { break };
            words[count] = word;
            count += 1;
        }
        (words, count)
    }
}

impl<'a> Iterator for Tokens<'a> {
    type Item = &'a [u8];

    #[inline]
    fn next(&mut self) -> Option<&'a [u8]> {
        while let [b' ', rest @ ..] = self.rest {
            self.rest = rest;
        }
        if self.rest.is_empty() {
            return None;
        }
        let end = memchr(b' ', self.rest).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        Some(word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_spaces_separate() {
        let words = |line: &'static str| Tokens::new(line.as_bytes()).collect::<Vec<_>>();
        assert_eq!(words(""), Vec::<&[u8]>::new());
        assert_eq!(words("   "), Vec::<&[u8]>::new());
        assert_eq!(words(" a  b\tc \r"), [&b"a"[..], b"b\tc", b"\r"]);
    }

    #[test]
    fn takes_no_more_than_it_is_asked_for() {
        let (words, count) = Tokens::new(b"a b c").take_array::<2>();
        assert_eq!((words, count), ([&b"a"[..], b"b"], 2));
        let (words, count) = Tokens::new(b"a").take_array::<2>();
        assert_eq!((words, count), ([&b"a"[..], b""], 1));
    }
}
