//! Names of requests that are to be performed once (Idempotency-Key). What comes of a name is in
//! `execute/once`.

use crate::access::Principal;
use crate::http::wishes;
use crate::operation::{Once, Operation};
use crate::problem::{Kind, Problem};
use hyper::header::{CONTENT_TYPE, HeaderName, IF_MATCH, IF_NONE_MATCH, IF_UNMODIFIED_SINCE};
use hyper::http::request::Parts;
use repository::Key;

/// Fields that make another request of the same content.
const TELLING: [HeaderName; 6] = [
    CONTENT_TYPE,
    IF_MATCH,
    IF_NONE_MATCH,
    IF_UNMODIFIED_SINCE,
    HeaderName::from_static("prefer"),
    HeaderName::from_static("slug"),
];

/// The name of a request, and what tells it from others so far.
#[derive(Debug)]
pub(crate) struct Name {
    key: Key,
    head: Fingerprint,
}

/// The name that the client gave the request, if it did.
pub(crate) fn name(parts: &Parts) -> Result<Option<Name>, Problem> {
    let Some(key) = wishes::idempotency_key(&parts.headers)? else { return Ok(None) };
    // A name is one asker's own: what others call theirs is nothing to it.
    let asker = match parts.extensions.get::<Principal>() {
        Some(Principal::Holder(token)) => token.id.as_str(),
        Some(Principal::Anyone | Principal::Public) | None => "",
    };
    let key = Key::new(&format!("{asker}:{key}"))
        .map_err(|error| Problem::new(Kind::BadRequest, error.to_string()))?;
    let mut head = Fingerprint::default();
    head.add(parts.method.as_str().as_bytes());
    head.add(parts.uri.path_and_query().map_or("", |uri| uri.as_str()).as_bytes());
    for name in TELLING {
        for line in parts.headers.get_all(&name) {
            head.add(name.as_str().as_bytes());
            head.add(line.as_bytes());
        }
    }
    Ok(Some(Name { key, head }))
}

impl Name {
    /// `operation`, which came with `body`, under this name.
    pub(crate) fn of(self, operation: Operation, body: &[u8]) -> Result<Operation, Problem> {
        let mut fingerprint = self.head;
        fingerprint.add(body);
        let Fingerprint(fingerprint) = fingerprint;
        Ok(Operation::Once(Box::new(Once { operation, key: self.key, fingerprint })))
    }
}

/// FNV-1a of 128 bits (Fowler, Noll and Vo). It tells a client's mistakes from its repetitions; a
/// client that makes two requests collide deceives itself only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Fingerprint(u128);

impl Default for Fingerprint {
    fn default() -> Self {
        Self(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d)
    }
}

impl Fingerprint {
    /// Adds `part` and its length, so that parts cannot be taken for one another.
    fn add(&mut self, part: &[u8]) {
        const PRIME: u128 = (1 << 88) + (1 << 8) + 0x3b;
        for &byte in part.iter().chain(&part.len().to_le_bytes()) {
            self.0 = (self.0 ^ u128::from(byte)).wrapping_mul(PRIME);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fingerprints_are_those_of_fnv_1a_and_tell_parts_apart() {
        let of = |parts: &[&str]| {
            let mut fingerprint = Fingerprint::default();
            parts.iter().for_each(|part| fingerprint.add(part.as_bytes()));
            fingerprint
        };
        let mut by_hand = Fingerprint::default().0;
        for byte in [b'a', 1, 0, 0, 0, 0, 0, 0, 0] {
            by_hand = (by_hand ^ u128::from(byte)).wrapping_mul(0x0100_0000_0000_0000_0000_013b);
        }
        assert_eq!(of(&["a"]).0, by_hand);
        let all = [of(&["ab", "c"]), of(&["a", "bc"]), of(&["abc"]), of(&["abc", ""])];
        assert!((0..4).all(|i| (0..i).all(|j| all[i] != all[j])));
    }
}
