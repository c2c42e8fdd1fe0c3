//! The text protocol of memcached with its meta commands, both sides of it. The reference is
//! memcached's `doc/protocol.txt` and, where that is silent, what memcached 1.6 answers.
//!
//! | | reads | writes |
//! | --- | --- | --- |
//! | server | [`Parser`] gives [`Request`]s, [`block`] their data | [`answer`] |
//! | client | [`reply::parse`] gives [`Reply`]s | [`ask`] |

pub mod answer;
pub mod ask;
mod expiry;
mod key;
mod meta;
mod number;
mod parser;
mod refusal;
pub mod reply;
mod request;
mod tokens;

pub use expiry::Expiry;
pub use key::{Key, KeyError, check_key};
pub use meta::{Flags, Meta};
pub use number::unsigned as number;
pub use parser::{Block, Parsed, Parser, Refused, block};
pub use refusal::Refusal;
pub use reply::{Code, Reply};
pub use request::{
    Administration, Arithmetic, Delete, Flush, Get, Mode, Report, Request, Store, Touch,
};
pub use tokens::Tokens;
