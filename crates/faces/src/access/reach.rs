//! Who can reach an address, and what must be so before it may be listened on.

use crate::access::Access;
use crate::server::ListenError;
use std::net::SocketAddr;

/// Whether `address` may be listened on. Others than this machine need a token, and a token must
/// not travel in the clear (RFC 6750 §5.3: "Always use TLS"): unless the address speaks TLS, the
/// one who starts the server has to say that something in front of it does, or that it need not be.
pub(crate) fn check(
    address: SocketAddr,
    access: &Access,
    is_encrypted: bool,
) -> Result<(), ListenError> {
    if address.ip().to_canonical().is_loopback() {
        return Ok(());
    }
    if !access.is_configured() {
        let folder = access.file().map(|file| file.folder().to_owned()).unwrap_or_default();
        return Err(ListenError::Public { address, folder });
    }
    if is_encrypted { Ok(()) } else { Err(ListenError::Unencrypted { address }) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::{Grant, NewToken, Pattern, Scope, TokenFile};
    use repository::Timestamp;

    fn outcome(address: &str, access: &Access, is_encrypted: bool) -> &'static str {
        match check(address.parse().unwrap(), access, is_encrypted) {
            Ok(()) => "listens",
            Err(ListenError::Public { .. }) => "no token",
            Err(ListenError::Unencrypted { .. }) => "no TLS",
            Err(other) => panic!("{other}"),
        }
    }

    #[test]
    fn an_address_that_others_reach_needs_a_token_and_tls() {
        let place = tempfile::tempdir().unwrap();
        let file = TokenFile::of(place.path());
        let none = Access::open(Some(file.clone())).unwrap();
        let grant = Grant::new(Scope::Admin, vec![Pattern::Every]).unwrap();
        let (name, created) = (String::new(), Timestamp(0));
        file.create(NewToken { name, grant, created, expires: None }).unwrap();
        let one = Access::open(Some(file)).unwrap();
        for local in ["127.0.0.1:80", "127.9.9.9:80", "[::1]:80", "[::ffff:127.0.0.1]:80"] {
            assert_eq!(outcome(local, &none, false), "listens", "{local}");
        }
        for public in ["0.0.0.0:80", "[::]:80", "192.0.2.1:80"] {
            assert_eq!(outcome(public, &none, true), "no token", "{public}");
            assert_eq!(outcome(public, &one, false), "no TLS", "{public}");
            assert_eq!(outcome(public, &one, true), "listens", "{public}");
        }
    }
}
