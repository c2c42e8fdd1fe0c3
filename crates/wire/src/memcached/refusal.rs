//! What a command is refused with, in memcached's own words.

/// Why a command is not carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// No such command, or too few or too many words.
    Error,
    /// A number that is none, or a key that is too long.
    Format,
    /// `delete` with words that mean nothing.
    DeleteUsage,
    /// A time to live that is no number.
    Exptime,
    /// `incr` or `decr` by no number.
    Delta,
    /// More flags of `mg` than allowed.
    GetFlagsTooLong,
    /// More flags of another meta command than allowed.
    FlagsTooLong,
    /// A flag twice.
    DuplicateFlag,
    /// A flag that does not exist.
    InvalidFlag,
    /// Either, in `md` and `ma`, which do not say which.
    InvalidOrDuplicateFlag,
    /// A binary key that is no Base64.
    KeyEncoding,
    /// A flag's number that is none.
    FlagToken,
    /// A mode of more or less than one letter.
    ModeLength,
    /// A mode that `ms` does not have.
    StoreMode,
    /// A mode that `ma` does not have.
    ArithmeticMode,
    /// An initial value that is no number.
    Initial,
    /// A difference that is no number.
    FlagDelta,
    /// An opaque token that is too long.
    OpaqueTooLong,
    /// A data block that does not end where it should.
    Data,
    /// `incr` or `decr` of what is no number.
    NotNumeric,
    /// An item that is larger than the cache takes.
    TooLarge,
    /// No memory for an item.
    OutOfMemory,
    /// `stats` with too few words.
    StatsFormat,
    /// `stats detail` without its word.
    StatsDetailUsage,
    /// `stats cachedump` of a class that does not exist.
    SlabId,
    /// `shutdown`, which is for the operator alone.
    Shutdown,
}

impl Refusal {
    /// The line, with its end.
    pub fn line(self) -> &'static [u8] {
        match self {
            Self::Error => b"ERROR\r\n",
            Self::Format => b"CLIENT_ERROR bad command line format\r\n",
            Self::DeleteUsage => {
                b"CLIENT_ERROR bad command line format.  Usage: delete <key> [noreply]\r\n"
            }
            Self::Exptime => b"CLIENT_ERROR invalid exptime argument\r\n",
            Self::Delta => b"CLIENT_ERROR invalid numeric delta argument\r\n",
            Self::GetFlagsTooLong => b"CLIENT_ERROR options flags are too long\r\n",
            Self::FlagsTooLong => b"CLIENT_ERROR options flags too long\r\n",
            Self::DuplicateFlag => b"CLIENT_ERROR duplicate flag\r\n",
            Self::InvalidFlag => b"CLIENT_ERROR invalid flag\r\n",
            Self::InvalidOrDuplicateFlag => b"CLIENT_ERROR invalid or duplicate flag\r\n",
            Self::KeyEncoding => b"CLIENT_ERROR error decoding key\r\n",
            Self::FlagToken => b"CLIENT_ERROR bad token in command line format\r\n",
            Self::ModeLength => b"CLIENT_ERROR incorrect length for M token\r\n",
            Self::StoreMode => b"CLIENT_ERROR invalid mode for ms M token\r\n",
            Self::ArithmeticMode => b"CLIENT_ERROR invalid mode for ma M token\r\n",
            Self::Initial => b"CLIENT_ERROR invalid numeric initial value\r\n",
            Self::FlagDelta => b"CLIENT_ERROR invalid numeric delta value\r\n",
            Self::OpaqueTooLong => b"CLIENT_ERROR opaque token too long\r\n",
            Self::Data => b"CLIENT_ERROR bad data chunk\r\n",
            Self::NotNumeric => b"CLIENT_ERROR cannot increment or decrement non-numeric value\r\n",
            Self::TooLarge => b"SERVER_ERROR object too large for cache\r\n",
            Self::OutOfMemory => b"SERVER_ERROR out of memory storing object\r\n",
            Self::StatsFormat => b"CLIENT_ERROR bad command line\r\n",
            Self::StatsDetailUsage => b"CLIENT_ERROR usage: stats detail on|off|dump\r\n",
            Self::SlabId => b"CLIENT_ERROR Illegal slab id\r\n",
            Self::Shutdown => b"ERROR: shutdown not enabled\r\n",
        }
    }
}
