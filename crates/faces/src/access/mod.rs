//! Access: who may do what. Tokens and what each allows, the file they are kept in, and the
//! decision about a request. How a request carries a token is `http/bearer`; `docs/access.md` has
//! it all from the outside.
//!
//! What is not here: the application's own log-in, which is the application's.

mod failures;
mod file;
mod grant;
pub(crate) mod reach;
mod table;
mod token;

pub(crate) use grant::Need;
pub(crate) use table::{Access, Guard, Known};
pub(crate) use token::TOKEN_CHARACTERS;

pub use file::{NewToken, TokenFile, TokenFileError};
pub use grant::{Grant, GrantError, Pattern, Scope};
pub use token::{PREFIX, Secret, Token};

use crate::problem::{Kind, Problem};
use std::sync::Arc;

/// Who asks.
#[derive(Clone, Debug)]
pub(crate) enum Principal {
    /// Whoever can reach the server: no token is configured and only this machine can.
    Anyone,
    /// Whoever sends no token where some things are for everybody.
    Public,
    /// The holder of a token.
    Holder(Arc<Token>),
}

impl Principal {
    /// Whether it may do what needs `need` to the collection of that name.
    pub(crate) fn allows(&self, collection: &str, need: Need) -> bool {
        match self {
            Self::Anyone => true,
            Self::Public => false,
            Self::Holder(token) => token.grant.allows(collection, need),
        }
    }

    /// As `allows`; a problem where it may not.
    pub(crate) fn require(&self, collection: &str, need: Need) -> Result<(), Problem> {
        if self.allows(collection, need) {
            return Ok(());
        }
        self.require_known()?;
        let scope = need.scope().as_str();
        let detail =
            format!("this needs a token with scope {scope} for the collection {collection}");
        Err(Problem::new(Kind::InsufficientScope, detail))
    }

    /// For what is not for everybody.
    pub(crate) fn require_known(&self) -> Result<(), Problem> {
        match self {
            Self::Public => {
                let detail = "send a token as Authorization: Bearer, or as the password of \
                              Authorization: Basic; `sarsen token create` makes one";
                Err(Problem::new(Kind::Unauthorized, detail))
            }
            Self::Anyone | Self::Holder(_) => Ok(()),
        }
    }

    /// The id of the token that it holds.
    pub(crate) fn token_id(&self) -> Option<&str> {
        match self {
            Self::Anyone | Self::Public => None,
            Self::Holder(token) => Some(&token.id),
        }
    }

    /// For what is about the server and no collection.
    pub(crate) fn require_all(&self) -> Result<(), Problem> {
        match self {
            Self::Public => self.require_known(),
            Self::Holder(token) if !token.grant.is_for_all() => {
                let detail = "this needs a token for every collection (--collections '*')";
                Err(Problem::new(Kind::InsufficientScope, detail))
            }
            _ => Ok(()),
        }
    }
}
