//! What can be stored, and on which condition.

use crate::expires::Expires;

/// What storing does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Stores.
    Set,
    /// Stores if there is nothing.
    Add,
    /// Stores if there is something.
    Replace,
    /// Puts it behind what is there.
    Append,
    /// Puts it before what is there.
    Prepend,
    /// Stores if nobody else has since.
    Cas,
}

/// Something to be stored.
#[derive(Clone, Copy, Debug)]
pub struct Store<'a> {
    /// On which condition, and how.
    pub mode: Mode,
    /// The value.
    pub value: &'a [u8],
    /// The client's own, kept with the item. What is appended to keeps its own.
    pub flags: u32,
    /// When it is gone. What is appended to keeps its own.
    pub expires: Expires,
    /// The unique number that the item must have ([`Mode::Cas`], [`Mode::Append`],
    /// [`Mode::Prepend`]); with [`Mode::Cas`] none is like a wrong one.
    pub compare: Option<u64>,
    /// The unique number that the item gets, in place of the next one.
    pub new_cas: Option<u64>,
    /// With [`Mode::Cas`] and a number lower than the item's: whether it is stored all the same,
    /// as stale, until the item would have been gone.
    pub may_be_stale: bool,
    /// Whether it is stored under a key that was told in binary.
    pub is_binary: bool,
    /// With [`Mode::Append`] and [`Mode::Prepend`]: stores if there is nothing, until then.
    pub vivify: Option<Expires>,
}

impl<'a> Store<'a> {
    /// Stores a value whatever is there.
    pub fn set(value: &'a [u8], flags: u32, expires: Expires) -> Self {
        Self {
            mode: Mode::Set,
            value,
            flags,
            expires,
            compare: None,
            new_cas: None,
            may_be_stale: false,
            is_binary: false,
            vivify: None,
        }
    }
}

/// It was stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stored {
    /// Its unique number.
    pub cas: u64,
}

/// It was not stored, and what is there is as it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// The mode's condition was not met.
    #[error("nothing was stored: the condition was not met")]
    NotStored,
    /// Somebody else has stored since.
    #[error("nothing was stored: the item was changed since")]
    Exists,
    /// There is no item to compare with.
    #[error("nothing was stored: there is no item")]
    NotFound,
    /// Value or key are too large.
    #[error("nothing was stored: value or key are too large")]
    TooLarge,
}
