//! The flags of meta commands.

use super::key::Key;
use super::number::{signed, unsigned, unsigned_32};
use super::refusal::Refusal;
use super::request::Mode;
use super::tokens::Tokens;
use crate::limits::{META_FLAGS_MAX, OPAQUE_BYTES_MAX};

/// Which flags there are, by their letters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(u64);

impl Flags {
    /// Whether a flag is among them.
    #[inline]
    pub fn has(self, flag: u8) -> bool {
        self.0 & Self::bit(flag) != 0
    }

    const fn bit(flag: u8) -> u64 {
        match flag {
            b'A'..=b'z' => 1 << (flag - b'A'),
            _ => 0,
        }
    }

    const fn all(flags: &[u8]) -> Self {
        let mut bits = 0;
        let mut i = 0;
        while i < flags.len() {
            bits |= Self::bit(flags[i]);
            i += 1;
        }
        Self(bits)
    }
}

/// All that exist. memcached does not look whether a command makes use of one.
const KNOWN: Flags = Flags::all(b"CDEFIJLMNOPRTbcfhklqstuvx");

/// A meta command: its key and flags. Numbers of flags that are not there are 0, or as said.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Meta<'a> {
    /// The key.
    pub key: Key<'a>,
    /// Of `ms`: length of the data block that follows, its end of line not counted.
    pub bytes: usize,
    /// Which flags there are.
    pub flags: Flags,
    /// `T`: time to live, as in [`super::Expiry::new`].
    pub exptime: i64,
    /// `N`: time to live of what is made on a miss.
    pub vivify: i64,
    /// `R`: below this time to live somebody is to make the item anew.
    pub recache: i64,
    /// `F`: the client's own, kept with the item.
    pub client_flags: u32,
    /// `C`: the number that the item must have.
    pub cas: u64,
    /// `E`: the number that the item gets.
    pub new_cas: u64,
    /// `D`: by how much; 1 if it is not there.
    pub delta: u64,
    /// `J`: the first value.
    pub initial: u64,
    /// `O` with its token, as it stands on the wire.
    pub opaque: &'a [u8],
    /// The command's second letter.
    pub(super) command: u8,
    /// `M`.
    pub(super) mode: u8,
    /// The flags as they came: answers have them in the same order.
    pub(super) words: Tokens<'a>,
}

impl<'a> Meta<'a> {
    /// Reads the flags in `words` of the command `md`, `ma`, `mg` or `ms`, which is named by its
    /// second letter.
    pub(super) fn parse(command: u8, key: &'a [u8], words: Tokens<'a>) -> Result<Self, Refusal> {
        let mut meta = Self {
            key: Key { text: key, is_binary: false },
            bytes: 0,
            flags: Flags::default(),
            exptime: 0,
            vivify: 0,
            recache: 0,
            client_flags: 0,
            cas: 0,
            new_cas: 0,
            delta: 1,
            initial: 0,
            opaque: b"",
            command,
            mode: 0,
            words,
        };
        // Of several mistakes memcached names the last that has words of its own; but a flag that
        // is there twice or does not exist at once.
        let mut mistake = None;
        for word in words {
            if !meta.take(word[0])? {
                continue;
            }
            mistake = match meta.token(word[0], word) {
                Ok(()) => mistake,
                Err(Refusal::Format) => mistake.or(Some(Refusal::Format)),
                Err(refusal) => Some(refusal),
            };
        }
        if let Some(mistake) = mistake {
            return Err(mistake);
        }
        meta.check_mode()?;
        if meta.opaque.len() > OPAQUE_BYTES_MAX {
            return Err(Refusal::OpaqueTooLong);
        }
        Ok(meta)
    }

    /// Notes a flag; says whether there is more to it.
    #[inline]
    fn take(&mut self, flag: u8) -> Result<bool, Refusal> {
        if self.flags.has(flag) || flag >= 0x7F {
            return Err(Refusal::DuplicateFlag);
        }
        if !KNOWN.has(flag) {
            return Err(Refusal::InvalidFlag);
        }
        self.flags.0 |= Flags::bit(flag);
        const WITH_MORE: Flags = Flags::all(b"CDEFJMNORTb");
        Ok(WITH_MORE.has(flag))
    }

    /// Reads what belongs to a flag.
    fn token(&mut self, flag: u8, word: &'a [u8]) -> Result<(), Refusal> {
        let token = &word[1..];
        let time = || signed(token).ok_or(Refusal::FlagToken);
        let number = |refusal| unsigned(token).ok_or(refusal);
        match flag {
            b'T' => self.exptime = time()?,
            b'N' => self.vivify = time()?,
            b'R' => self.recache = time()?,
            b'C' => self.cas = number(Refusal::FlagToken)?,
            b'E' => self.new_cas = number(Refusal::FlagToken)?,
            b'D' => self.delta = number(Refusal::FlagDelta)?,
            b'J' => self.initial = number(Refusal::Initial)?,
            b'F' => self.client_flags = unsigned_32(token).ok_or(Refusal::Format)?,
            b'O' => self.opaque = word,
            b'M' => match token {
                [mode] => self.mode = *mode,
                _ => return Err(Refusal::ModeLength),
            },
            _ => {
                self.key.is_binary = true;
                if !self.key.is_valid() {
                    return Err(Refusal::KeyEncoding);
                }
            }
        }
        Ok(())
    }

    fn check_mode(&self) -> Result<(), Refusal> {
        match (self.command, self.mode) {
            (_, 0) | (b's', b'E' | b'A' | b'P' | b'R' | b'S') => Ok(()),
            (b's', _) => Err(Refusal::StoreMode),
            (b'a', b'I' | b'+' | b'D' | b'-') => Ok(()),
            (b'a', _) => Err(Refusal::ArithmeticMode),
            _ => Ok(()),
        }
    }

    /// Whether a flag is there.
    #[inline]
    pub fn has(&self, flag: u8) -> bool {
        self.flags.has(flag)
    }

    /// The flags as they came. memcached carries them out one after the other: a `t` or `R` before
    /// `T` or `N` is about the time to live that the item had.
    pub fn words(&self) -> Tokens<'a> {
        self.words
    }

    /// Of `ms`: what it does. A number to compare makes `set` and `replace` the same as `cas`.
    pub fn store_mode(&self) -> Mode {
        match self.mode {
            b'E' => Mode::Add,
            b'A' => Mode::Append,
            b'P' => Mode::Prepend,
            _ if self.has(b'C') => Mode::Cas,
            b'R' => Mode::Replace,
            _ => Mode::Set,
        }
    }

    /// Of `ma`: whether it subtracts.
    pub fn is_decrement(&self) -> bool {
        matches!(self.mode, b'D' | b'-')
    }

    /// Whether there are more flags than allowed; `ms` has its length among the words.
    pub(super) fn are_too_many(words: Tokens<'_>) -> bool {
        words.take(META_FLAGS_MAX + 1).count() > META_FLAGS_MAX
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse<'a>(command: u8, key: &'a str, flags: &'a str) -> Result<Meta<'a>, Refusal> {
        Meta::parse(command, key.as_bytes(), Tokens::new(flags.as_bytes()))
    }

    #[test]
    fn every_flag_has_its_place() {
        let meta = parse(
            b's',
            "Zm9v",
            "T-1 N30 R5 C18446744073709551615 E6 D7 J8 F9 MA Oabc b c f h k l q s t u v x I Px Ly",
        );
        let meta = meta.unwrap();
        assert_eq!((meta.exptime, meta.vivify, meta.recache), (-1, 30, 5));
        assert_eq!((meta.cas, meta.new_cas), (u64::MAX, 6));
        assert_eq!((meta.delta, meta.initial, meta.client_flags), (7, 8, 9));
        assert_eq!((meta.opaque, meta.store_mode()), (&b"Oabc"[..], Mode::Append));
        assert!(meta.key.is_binary);
        assert!(b"TNRCEDJFMObcfhklqstuvxIPL".iter().all(|flag| meta.has(*flag)));
        let none = parse(b'g', "k", "").unwrap();
        assert!((b'A'..=b'z').all(|flag| !none.has(flag)));
        assert_eq!(none.delta, 1);
    }

    #[test]
    fn modes() {
        let mode = |flags: &'static str| parse(b's', "k", flags).unwrap().store_mode();
        assert_eq!(mode(""), Mode::Set);
        assert_eq!(mode("MS"), Mode::Set);
        assert_eq!(mode("ME"), Mode::Add);
        assert_eq!(mode("ME C1"), Mode::Add);
        assert_eq!(mode("MR"), Mode::Replace);
        assert_eq!(mode("MR C1"), Mode::Cas);
        assert_eq!(mode("C1"), Mode::Cas);
        assert_eq!(mode("MA C1"), Mode::Append);
        assert_eq!(mode("MP"), Mode::Prepend);
        assert!(parse(b'a', "k", "MD").unwrap().is_decrement());
        assert!(parse(b'a', "k", "M-").unwrap().is_decrement());
        assert!(!parse(b'a', "k", "M+").unwrap().is_decrement());
        assert_eq!(parse(b's', "k", "MI").unwrap_err(), Refusal::StoreMode);
        assert_eq!(parse(b'a', "k", "ME").unwrap_err(), Refusal::ArithmeticMode);
        // Those that have no modes do not look.
        assert!(parse(b'g', "k", "MZ").is_ok());
    }

    #[test]
    fn mistakes_have_memcacheds_words() {
        let refusal = |flags: &str| Meta::parse(b's', b"k", Tokens::new(flags.as_bytes())).err();
        for (flags, expected) in [
            ("v v", Refusal::DuplicateFlag),
            ("\x7f", Refusal::DuplicateFlag),
            ("w", Refusal::InvalidFlag),
            ("!", Refusal::InvalidFlag),
            ("T", Refusal::FlagToken),
            ("Tx", Refusal::FlagToken),
            ("Nx", Refusal::FlagToken),
            ("Rx", Refusal::FlagToken),
            ("Cx", Refusal::FlagToken),
            ("Ex", Refusal::FlagToken),
            ("C-1", Refusal::FlagToken),
            ("Fx", Refusal::Format),
            ("Dx", Refusal::FlagDelta),
            ("Jx", Refusal::Initial),
            ("M", Refusal::ModeLength),
            ("MSS", Refusal::ModeLength),
            ("b", Refusal::KeyEncoding),
            ("Tx Dx", Refusal::FlagDelta),
            ("Tx Fx", Refusal::FlagToken),
            ("Tx w", Refusal::InvalidFlag),
            ("O0123456789012345678901234567890x", Refusal::OpaqueTooLong),
        ] {
            assert_eq!(refusal(flags), Some(expected), "{flags}");
        }
        assert_eq!(refusal("O0123456789012345678901234567890"), None);
    }
}
