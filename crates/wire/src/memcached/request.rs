//! Commands, as a server gets them. Keys and words are borrowed from what was received.

use super::key::Key;
use super::meta::Meta;
use super::tokens::Tokens;

/// A command. Those that store have a data block behind their line, see [`super::block`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Request<'a> {
    /// `get`, `gets`, `gat`, `gats`.
    Get(Get<'a>),
    /// `set`, `add`, `replace`, `append`, `prepend`, `cas`; a data block follows.
    Store(Store<'a>),
    /// `delete`.
    Delete(Delete<'a>),
    /// `incr`, `decr`.
    Arithmetic(Arithmetic<'a>),
    /// `touch`.
    Touch(Touch<'a>),
    /// `mg`.
    MetaGet(Meta<'a>),
    /// `ms`; a data block of [`Meta::bytes`] follows.
    MetaSet(Meta<'a>),
    /// `md`.
    MetaDelete(Meta<'a>),
    /// `ma`.
    MetaArithmetic(Meta<'a>),
    /// `mn`: answered after everything before it.
    MetaNoop,
    /// `me`.
    MetaDebug(Key<'a>),
    /// `flush_all`.
    Flush(Flush),
    /// `version`.
    Version,
    /// `verbosity`.
    Verbosity {
        /// How much is to be logged.
        level: u32,
        /// Whether no answer is wanted.
        noreply: bool,
    },
    /// `stats`.
    Stats(Report<'a>),
    /// `quit`: the connection is to be closed when everything before it is answered.
    Quit,
    /// What is for the operator.
    Administration(Administration<'a>),
}

/// A command that reads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Get<'a> {
    /// Its keys, each no longer than allowed. There may be none after `gat`.
    pub keys: Tokens<'a>,
    /// Whether each item's unique number is wanted, too.
    pub cas: bool,
    /// A new time to live for what is read, as in [`super::Expiry::new`].
    pub exptime: Option<i64>,
}

/// A command that stores.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Store<'a> {
    /// On which condition, and how.
    pub mode: Mode,
    /// The key.
    pub key: &'a [u8],
    /// The client's own, kept with the item.
    pub flags: u32,
    /// Time to live, as in [`super::Expiry::new`].
    pub exptime: i64,
    /// Length of the data block that follows, its end of line not counted.
    pub bytes: usize,
    /// For [`Mode::Cas`]: the number that the item must have.
    pub cas: u64,
    /// Whether no answer is wanted.
    pub noreply: bool,
}

/// What a command that stores does.
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

impl Mode {
    /// The classic command.
    pub fn name(self) -> &'static str {
        match self {
            Self::Set => "set",
            Self::Add => "add",
            Self::Replace => "replace",
            Self::Append => "append",
            Self::Prepend => "prepend",
            Self::Cas => "cas",
        }
    }
}

/// A command that deletes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delete<'a> {
    /// The key.
    pub key: &'a [u8],
    /// Whether no answer is wanted.
    pub noreply: bool,
}

/// A command that adds or subtracts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arithmetic<'a> {
    /// The key.
    pub key: &'a [u8],
    /// By how much.
    pub delta: u64,
    /// Whether it is subtracted: not below 0. Sums wrap around at 2^64.
    pub decrement: bool,
    /// Whether no answer is wanted.
    pub noreply: bool,
}

/// A command that changes a time to live.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Touch<'a> {
    /// The key.
    pub key: &'a [u8],
    /// Time to live, as in [`super::Expiry::new`].
    pub exptime: i64,
    /// Whether no answer is wanted.
    pub noreply: bool,
}

/// The command that makes everything invalid that was stored before a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flush {
    /// The time, as in [`super::Expiry::new`]; 0 or less: now.
    pub exptime: i64,
    /// Whether no answer is wanted.
    pub noreply: bool,
}

/// What `stats` is to tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Report<'a> {
    /// The general figures.
    General,
    /// Nothing; they begin at 0 again.
    Reset,
    /// How the server is set up.
    Settings,
    /// Items by class of size.
    Items,
    /// Memory by class of size.
    Slabs,
    /// Items by size.
    Sizes,
    /// Connections.
    Connections,
    /// By prefix of keys: whether to count (`on`, `off`), or what was counted (`dump`).
    Detail(&'a [u8]),
    /// Some keys of a class of size.
    CacheDump {
        /// The class.
        class: u32,
        /// At most so many; 0: all.
        limit: u32,
    },
    /// Another one; memcached answers `ERROR` if it does not know it.
    Other(&'a [u8]),
}

/// A command about how memcached works inside. A server that works otherwise answers what it
/// likes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Administration<'a> {
    /// `cache_memlimit`, `extstore`, `lru`, `lru_crawler`, `shutdown`, `slabs` or `watch`.
    pub name: &'a [u8],
    /// The words after it.
    pub arguments: Tokens<'a>,
    /// Whether no answer is wanted.
    pub noreply: bool,
}
