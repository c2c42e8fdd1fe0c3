//! Passwords: argon2id (RFC 9106) with a hash kept as a PHC string. What a hash may ask for is
//! bounded before anything is computed, so a hash that somebody planted costs no more than that.

use crate::limits::{
    PASSWORD_BYTES_MAX, PASSWORD_HASH_BYTES_MAX, PASSWORD_LANES_MAX, PASSWORD_MEMORY_KIB_MAX,
    PASSWORD_PASSES_MAX,
};
use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{Error as HashError, PasswordHasher, PasswordVerifier};
use argon2::{ARGON2ID_IDENT, Algorithm, Argon2, Params, Version};
use thiserror::Error;

/// What new hashes are made with: 19 MiB, two passes, one lane, the second of the equivalent
/// choices of OWASP's Password Storage Cheat Sheet.
const MEMORY_KIB: u32 = 19 * 1024;
const PASSES: u32 = 2;
const LANES: u32 = 1;

/// 128 bits, as RFC 9106 §3.1 recommends; 256 bits of hash.
const SALT_BYTES: usize = 16;
const HASH_BYTES: usize = 32;

/// Why a call of the application's is refused before anything is computed.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub(crate) enum PasswordError {
    #[error("a password has at most {PASSWORD_BYTES_MAX} bytes; got {0}")]
    TooLong(usize),
    #[error(
        "expected a hash such as password.hash() gives ($argon2id$v=19$m=...,t=...,p=...$...$...): \
         {0}"
    )]
    Format(String),
    #[error(
        "the hash asks for m={m},t={t},p={p}; at most m={PASSWORD_MEMORY_KIB_MAX} (KiB), \
         t={PASSWORD_PASSES_MAX}, p={PASSWORD_LANES_MAX} are computed"
    )]
    TooDear { m: u32, t: u32, p: u32 },
}

/// A password to be hashed.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Hashing(String);

/// A password to be compared with a hash.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Verification {
    password: String,
    hash: String,
}

/// Checks a password that is to be hashed.
pub(crate) fn check(password: &str) -> Result<(), PasswordError> {
    match password.len() {
        length if length > PASSWORD_BYTES_MAX => Err(PasswordError::TooLong(length)),
        _ => Ok(()),
    }
}

impl Hashing {
    /// For a password that `check` allows.
    pub(crate) fn new(password: String) -> Self {
        Self(password)
    }

    /// The PHC string, with a new salt from the operating system.
    pub(super) fn perform(&self) -> Result<String, String> {
        let mut salt = [0; SALT_BYTES];
        getrandom::fill(&mut salt)
            .map_err(|error| format!("the operating system gives no randomness: {error}"))?;
        let params = Params::new(MEMORY_KIB, PASSES, LANES, Some(HASH_BYTES));
        let params = params.map_err(|error| error.to_string())?;
        let hasher = Argon2::new(Algorithm::Argon2id, Version::V0x13, params);
        let hash = hasher.hash_password_with_salt(self.0.as_bytes(), &salt);
        hash.map(|hash| hash.to_string()).map_err(|error| error.to_string())
    }
}

impl Verification {
    /// Checks what was given. `None`: nothing that long was ever hashed.
    pub(crate) fn new(password: String, hash: String) -> Result<Option<Self>, PasswordError> {
        parse(&hash)?;
        if check(&password).is_err() {
            return Ok(None);
        }
        Ok(Some(Self { password, hash }))
    }

    /// Whether the password is the one; compared in constant time (`phc`, `Output`).
    pub(super) fn perform(&self) -> Result<bool, String> {
        let (hash, params) = parse(&self.hash).map_err(|error| error.to_string())?;
        let hasher = Argon2::new(Algorithm::Argon2id, Version::V0x13, params);
        match hasher.verify_password(self.password.as_bytes(), &hash) {
            Ok(()) => Ok(true),
            Err(HashError::PasswordInvalid) => Ok(false),
            Err(error) => Err(error.to_string()),
        }
    }
}

/// Whether `hash` was made otherwise than hashes are made now.
pub(crate) fn needs_rehash(hash: &str) -> Result<bool, PasswordError> {
    let (_, params) = parse(hash)?;
    let made_with = (params.m_cost(), params.t_cost(), params.p_cost(), params.output_len());
    Ok(made_with != (MEMORY_KIB, PASSES, LANES, Some(HASH_BYTES)))
}

/// A hash that may be computed.
fn parse(text: &str) -> Result<(PasswordHash, Params), PasswordError> {
    let wrong = |why: &str| PasswordError::Format(why.to_owned());
    if text.len() > PASSWORD_HASH_BYTES_MAX {
        return Err(wrong("it is too long"));
    }
    let hash = PasswordHash::new(text).map_err(|error| wrong(&error.to_string()))?;
    if hash.algorithm != ARGON2ID_IDENT {
        return Err(wrong(&format!("its algorithm is {}", hash.algorithm)));
    }
    if hash.version != Some(Version::V0x13.into()) {
        return Err(wrong("its version is not 19"));
    }
    if hash.salt.is_none() || hash.hash.is_none() {
        return Err(wrong("salt or hash is missing"));
    }
    let params = Params::try_from(&hash).map_err(|error| wrong(&error.to_string()))?;
    let (m, t, p) = (params.m_cost(), params.t_cost(), params.p_cost());
    if m > PASSWORD_MEMORY_KIB_MAX || t > PASSWORD_PASSES_MAX || p > PASSWORD_LANES_MAX {
        return Err(PasswordError::TooDear { m, t, p });
    }
    Ok((hash, params))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of another implementation: `echo -n password | argon2 somesalt -id -t 2 -m 16 -p 1`, the
    /// example of the reference implementation's tests (phc-winner-argon2, test.c).
    const REFERENCE: &str =
        "$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc";

    fn verify(password: &str, hash: &str) -> Result<bool, String> {
        let verification = Verification::new(password.to_owned(), hash.to_owned());
        verification.map_err(|error| error.to_string())?.unwrap().perform()
    }

    #[test]
    fn agrees_with_the_reference_implementation() {
        assert_eq!(verify("password", REFERENCE), Ok(true));
        assert_eq!(verify("Password", REFERENCE), Ok(false));
        assert_eq!(needs_rehash(REFERENCE), Ok(true));
    }

    #[test]
    fn a_hash_names_its_parameters_and_has_a_salt_of_its_own() {
        let hash = |text: &str| Hashing::new(text.to_owned()).perform().unwrap();
        let (one, other) = (hash("grün"), hash("grün"));
        assert!(one.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{one}");
        assert_ne!(one, other);
        assert_eq!(verify("grün", &one), Ok(true));
        assert_eq!(verify("grun", &one), Ok(false));
        assert_eq!(needs_rehash(&one), Ok(false));
    }

    #[test]
    fn what_is_no_hash_is_refused_before_anything_is_computed() {
        let long = format!("{REFERENCE}{}", "A".repeat(PASSWORD_HASH_BYTES_MAX));
        let other = REFERENCE.replace("argon2id", "argon2i");
        let version = REFERENCE.replace("v=19", "v=16");
        let part = REFERENCE.rsplit_once('$').unwrap().0;
        for text in ["", "secret", "$argon2id$", "$2b$12$abc", &long, &other, &version, part] {
            let error = needs_rehash(text).unwrap_err();
            assert!(error.to_string().contains("expected a hash"), "{text}: {error}");
        }
    }

    #[test]
    fn what_a_hash_may_cost_is_bounded() {
        let with = |m: u32, t: u32, p: u32| {
            needs_rehash(&REFERENCE.replace("m=65536,t=2,p=1", &format!("m={m},t={t},p={p}")))
        };
        let (m, t, p) = (PASSWORD_MEMORY_KIB_MAX, PASSWORD_PASSES_MAX, PASSWORD_LANES_MAX);
        assert_eq!(with(m, t, p), Ok(true));
        for (m, t, p) in [(m + 1, t, p), (m, t + 1, p), (m, t, p + 1), (u32::MAX, 1, 1)] {
            assert_eq!(with(m, t, p), Err(PasswordError::TooDear { m, t, p }));
        }
    }

    #[test]
    fn the_length_of_a_password_is_bounded() {
        let longest = "x".repeat(PASSWORD_BYTES_MAX);
        assert_eq!(check(&longest), Ok(()));
        let longer = longest + "x";
        assert_eq!(check(&longer), Err(PasswordError::TooLong(PASSWORD_BYTES_MAX + 1)));
        assert!(Verification::new(longer, REFERENCE.to_owned()).unwrap().is_none());
    }
}
