//! The cookies that a run reads and sets, and the keys that sign them.
//!
//! The keys are a document of the collection `_secrets`, made with the first signature: so they are
//! durable when the reply that needs them leaves, all gems have the same, and so has a backup.

use super::{Turn, TurnError};
use crate::cookie::{self, NewCookie};
use crate::limits::{COOKIES_MAX, SIGNING_KEY_AGE, SIGNING_KEYS_MAX};
use crate::session::base64url;
use hmac::{Hmac, KeyInit, Mac};
use repository::{CollectionName, Key, MediaType};
use sha2::Sha256;
use subtle::ConstantTimeEq;

/// A cookie that the reply sets.
pub(super) struct SetCookie {
    /// Its name, domain and path: what a browser knows a cookie by (RFC 6265 §5.3).
    identity: (String, Option<String>, String),
    field: String,
}

const KEY_BYTES: usize = 32;

/// When the key was made, in milliseconds since 1970, and the key. The document is a sequence of
/// them, the newest first.
type SigningKey = (u64, [u8; KEY_BYTES]);

impl Turn {
    /// The value of a cookie that came with the request. If it has to be signed, it is there only
    /// with a signature of ours.
    pub(crate) fn cookie(
        &mut self,
        name: &str,
        is_signed: bool,
    ) -> Result<Option<String>, TurnError> {
        let Some(raw) = cookie::raw(self.request.header("cookie"), name) else { return Ok(None) };
        if !is_signed {
            return Ok(Some(cookie::decoded(raw)));
        }
        let Some((value, signature)) = raw.rsplit_once('.') else { return Ok(None) };
        let (value, signature) = (cookie::decoded(value), signature.to_owned());
        let is_ours = self
            .signing_keys()?
            .iter()
            .any(|(_, key)| sign(key, name, &value).as_bytes().ct_eq(signature.as_bytes()).into());
        Ok(is_ours.then_some(value))
    }

    /// Has the reply set a cookie, instead of an equal one that it set before.
    pub(crate) fn set_cookie(&mut self, new: NewCookie, is_signed: bool) -> Result<(), TurnError> {
        let signature = match is_signed {
            true => Some(sign(&self.signing_key()?, &new.name, &new.value)),
            false => None,
        };
        let field = new.field(signature.as_deref())?;
        let identity = (new.name, new.domain, new.path);
        self.cookies.retain(|cookie| cookie.identity != identity);
        if self.cookies.len() >= COOKIES_MAX {
            return Err(TurnError::TooManyCookies);
        }
        self.cookies.push(SetCookie { identity, field });
        Ok(())
    }

    /// The Set-Cookie values of the run that committed.
    pub(crate) fn into_cookies(self) -> impl Iterator<Item = String> {
        let session = self.session_cookie();
        session.into_iter().chain(self.cookies.into_iter().map(|cookie| cookie.field))
    }

    /// The key for new signatures. One that is too old is followed by a new one; what it signed
    /// counts as long as a cookie may live.
    fn signing_key(&mut self) -> Result<[u8; KEY_BYTES], TurnError> {
        let now = self.time()?.0;
        let mut keys = self.signing_keys()?;
        let age = u64::try_from(SIGNING_KEY_AGE.as_millis()).unwrap_or(u64::MAX);
        if let Some((made, key)) = keys.first()
            && now.saturating_sub(*made) < age
        {
            return Ok(*key);
        }
        let mut key = [0; KEY_BYTES];
        getrandom::fill(&mut key)?;
        keys.insert(0, (now, key));
        keys.truncate(SIGNING_KEYS_MAX);
        let body = keys.iter().flat_map(|(made, key)| [&made.to_be_bytes()[..], key].concat());
        let body: Vec<u8> = body.collect();
        let (collection, name) = place();
        let media_type = MediaType::Other("application/octet-stream".into());
        self.transaction()?.put(&collection, &name, media_type, body.into(), None)?;
        Ok(key)
    }

    fn signing_keys(&mut self) -> Result<Vec<SigningKey>, TurnError> {
        let (collection, name) = place();
        let read = self.transaction()?.get(&collection, &name);
        let Some(document) = self.readable(read)? else { return Ok(Vec::new()) };
        let (times_and_keys, _) = document.body.as_chunks::<{ 8 + KEY_BYTES }>();
        Ok(times_and_keys.iter().map(signing_key).collect())
    }
}

fn signing_key(bytes: &[u8; 8 + KEY_BYTES]) -> SigningKey {
    let (mut made, mut key) = ([0; 8], [0; KEY_BYTES]);
    made.copy_from_slice(&bytes[..8]);
    key.copy_from_slice(&bytes[8..]);
    (u64::from_be_bytes(made), key)
}

/// HMAC-SHA-256 (RFC 2104, FIPS 180-4) of name and value; a name holds no =.
fn sign(key: &[u8; KEY_BYTES], name: &str, value: &str) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes keys of any length");
    mac.update(name.as_bytes());
    mac.update(b"=");
    mac.update(value.as_bytes());
    base64url(&mac.finalize().into_bytes())
}

fn place() -> (CollectionName, Key) {
    let collection = CollectionName::new("_secrets").expect("the name follows the rule");
    (collection, Key::new("cookies").expect("the key follows the rule"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Computed by OpenSSL: `printf a=b | openssl dgst -sha256 -mac HMAC -macopt hexkey:0b..0b`.
    #[test]
    fn a_signature_is_hmac_sha_256() {
        assert_eq!(sign(&[0x0b; 32], "a", "b"), EXPECTED);
    }

    const EXPECTED: &str = "UvA5CWFpJhJrV4hN2kzdPfnLD2nT1HZNlSXx9QWx7ls";
}
