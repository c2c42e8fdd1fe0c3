//! Tokens as text and as what is kept of them. A token is 256 bits from the operating system's
//! randomness, so what is kept, its SHA-256, cannot be turned back by trying; a slow hash is for
//! secrets that people choose.

use crate::access::grant::Grant;
use repository::Timestamp;
use sha2::{Digest, Sha256};
use std::fmt;
use subtle::ConstantTimeEq;

/// What every token begins with, so that people and scanners of published text recognise one.
pub const PREFIX: &str = "sarsen_";

const SECRET_BYTES: usize = 32;
const CHECK_BYTES: usize = 4;
/// Of these many bytes no base64 character is left half used.
const PAYLOAD_BYTES: usize = SECRET_BYTES + CHECK_BYTES;
const PAYLOAD_CHARACTERS: usize = PAYLOAD_BYTES / 3 * 4;

/// Characters of a token.
pub(crate) const TOKEN_CHARACTERS: usize = PREFIX.len() + PAYLOAD_CHARACTERS;

/// A new token, to be shown once. It is not printed by `{:?}`.
pub struct Secret(String);

impl Secret {
    /// Draws one: the prefix, then 32 random bytes and 4 that check them, in base64url (RFC 4648
    /// §5).
    pub(crate) fn draw() -> Result<Self, getrandom::Error> {
        let mut payload = [0; PAYLOAD_BYTES];
        getrandom::fill(&mut payload[..SECRET_BYTES])?;
        let check = check(&payload[..SECRET_BYTES]);
        payload[SECRET_BYTES..].copy_from_slice(&check);
        Ok(Self(format!("{PREFIX}{}", encode(&payload))))
    }

    /// The token itself.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

/// The SHA-256 of a token's text.
#[derive(Clone, Copy)]
pub(crate) struct TokenHash([u8; 32]);

impl TokenHash {
    pub(crate) fn of(text: &[u8]) -> Self {
        Self(Sha256::digest(text).into())
    }

    /// From 64 hexadecimal digits.
    pub(crate) fn from_hex(hex: &str) -> Option<Self> {
        let mut bytes = [0; 32];
        if hex.len() != 64 || !hex.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        for (at, byte) in bytes.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).ok()?;
        }
        Some(Self(bytes))
    }

    pub(crate) fn to_hex(self) -> String {
        self.0.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Where to look in a table. How long looking takes tells something about a hash, and nothing
    /// about the tokens that have it: whoever asks cannot choose the hash of what it sends.
    pub(crate) fn bucket(&self) -> u64 {
        let mut first = [0; 8];
        first.copy_from_slice(&self.0[..8]);
        u64::from_le_bytes(first)
    }

    /// Takes the same time whatever the two are.
    pub(crate) fn is(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

/// What is kept of a token.
#[derive(Clone)]
pub struct Token {
    /// Names it in lists and logs; it opens nothing.
    pub id: String,
    /// What its maker called it; may be empty.
    pub name: String,
    /// What it allows.
    pub grant: Grant,
    /// When it was made.
    pub created: Timestamp,
    /// From when on it is refused.
    pub expires: Option<Timestamp>,
    pub(crate) hash: TokenHash,
}

impl Token {
    /// Whether it is refused at `now` because its time is over.
    pub fn is_expired(&self, now: Timestamp) -> bool {
        self.expires.is_some_and(|expires| expires <= now)
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Token({})", self.id)
    }
}

/// Whether `text` is a token as they are made: then nobody mistyped it, and it was revoked or
/// belongs to another server.
pub(crate) fn is_whole(text: &[u8]) -> bool {
    let payload = text.strip_prefix(PREFIX.as_bytes()).and_then(decode);
    payload.is_some_and(|payload| check(&payload[..SECRET_BYTES]) == payload[SECRET_BYTES..])
}

/// It tells nothing about the secret to those who do not have it: it is part of it.
fn check(secret: &[u8]) -> [u8; CHECK_BYTES] {
    let digest = Sha256::new().chain_update(PREFIX).chain_update(secret).finalize();
    let mut check = [0; CHECK_BYTES];
    check.copy_from_slice(&digest[..CHECK_BYTES]);
    check
}

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

fn encode(payload: &[u8; PAYLOAD_BYTES]) -> String {
    let threes = payload.chunks_exact(3).map(|three| {
        let [a, b, c] = [three[0], three[1], three[2]].map(u32::from);
        a << 16 | b << 8 | c
    });
    threes
        .flat_map(|bits| [18, 12, 6, 0].map(|shift| bits >> shift & 63))
        .map(|index| char::from(ALPHABET[index as usize]))
        .collect()
}

fn decode(text: &[u8]) -> Option<[u8; PAYLOAD_BYTES]> {
    if text.len() != PAYLOAD_CHARACTERS {
        return None;
    }
    let mut payload = [0; PAYLOAD_BYTES];
    for (four, three) in text.chunks_exact(4).zip(payload.chunks_exact_mut(3)) {
        let bits = four.iter().try_fold(0_u32, |bits, byte| {
            let index = ALPHABET.iter().position(|one| one == byte)?;
            Some(bits << 6 | u32::try_from(index).ok()?)
        })?;
        three.copy_from_slice(&bits.to_be_bytes()[1..]);
    }
    Some(payload)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_checks_itself() {
        let secret = Secret::draw().unwrap();
        let text = secret.reveal();
        assert_eq!(text.len(), TOKEN_CHARACTERS);
        assert!(text.starts_with("sarsen_"));
        assert!(is_whole(text.as_bytes()));
        for at in 0..text.len() {
            let mut broken = text.as_bytes().to_vec();
            broken[at] = if broken[at] == b'x' { b'y' } else { b'x' };
            assert!(!is_whole(&broken), "a changed character {at} goes unnoticed");
        }
        assert!(!is_whole(&text.as_bytes()[..text.len() - 1]));
        assert!(!is_whole(b""));
    }

    #[test]
    fn two_tokens_differ_and_neither_is_printed() {
        let (first, second) = (Secret::draw().unwrap(), Secret::draw().unwrap());
        assert_ne!(first.reveal(), second.reveal());
        assert!(!format!("{first:?}").contains(first.reveal()));
    }

    #[test]
    fn fips180_4_the_hash_is_sha_256() {
        // The example of FIPS 180-4 for one block.
        let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        let hash = TokenHash::of(b"abc");
        assert_eq!(hash.to_hex(), expected);
        assert!(TokenHash::from_hex(expected).is_some_and(|read| read.is(&hash)));
        assert!(!TokenHash::of(b"abd").is(&hash));
        let wide = "é".repeat(32);
        for wrong in ["", "ba78", &expected.replace('b', "g"), &wide, &expected.replace("ba", "+a")]
        {
            assert!(TokenHash::from_hex(wrong).is_none(), "{wrong}");
        }
    }
}
