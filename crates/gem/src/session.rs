//! Session ids, their cookie, and how long a session lives. What a session holds is a document of
//! the collection `_sessions`; reading and writing it is the business of `turn`.

use crate::exchange::Request;
use crate::limits::{SESSION_IDLE_DEFAULT, SESSION_LIFETIME_DEFAULT};
use repository::{Key, Timestamp};
use sha2::{Digest, Sha256};
use std::fmt;
use std::time::Duration;

/// The name of the cookie that is sent over http.
const COOKIE: &str = "sarsen_session";

/// And over https. A browser takes the prefix only from the host itself, over TLS and for all
/// paths (RFC 6265bis §4.1.3.2): no other host of the domain, and nobody on the way, can plant one.
const SECURE_COOKIE: &str = "__Host-sarsen_session";

/// 128 bits in base 64.
const ID_CHARS: usize = 22;

const BASE64URL: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// `[session]` of `sarsen.toml`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rules {
    /// A session lives at least this long after a request that used it.
    pub(crate) idle: Duration,
    /// And at most this long after it began, or got a new id.
    pub(crate) lifetime: Duration,
    /// Whether the cookie outlives the browser's own session.
    pub(crate) is_persistent: bool,
}

impl Default for Rules {
    fn default() -> Self {
        let (idle, lifetime) = (SESSION_IDLE_DEFAULT, SESSION_LIFETIME_DEFAULT);
        Self { idle, lifetime, is_persistent: false }
    }
}

impl Rules {
    /// When a session that began at `began` and is stored at `now` expires. It gets a quarter of
    /// the idle time more than it needs, so that not each use has to store it again.
    pub(crate) fn expires(&self, began: Timestamp, now: Timestamp) -> Timestamp {
        let stored = later(later(now, self.idle), self.idle / 4);
        stored.min(later(began, self.lifetime))
    }

    /// Whether a use at `now` has to store the session again: less than the idle time is left, and
    /// storing it would change that.
    pub(crate) fn is_due(&self, began: Timestamp, expires: Timestamp, now: Timestamp) -> bool {
        expires < later(now, self.idle) && expires < self.expires(began, now)
    }

    /// Whether a session that began at `began` has reached its lifetime, which may have been longer
    /// when it was stored.
    pub(crate) fn is_over(&self, began: Timestamp, now: Timestamp) -> bool {
        later(began, self.lifetime) <= now
    }
}

fn later(time: Timestamp, by: Duration) -> Timestamp {
    Timestamp(time.0.saturating_add(u64::try_from(by.as_millis()).unwrap_or(u64::MAX)))
}

/// What a visitor's cookie holds, 22 characters of base64url: whoever has it has the session. It is
/// sent to the visitor and kept nowhere else.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct SessionId(String);

impl SessionId {
    /// A new id, which nobody can guess: 128 bits from the operating system, base64url (RFC 4648
    /// §5).
    pub(crate) fn new() -> Result<Self, getrandom::Error> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes)?;
        Ok(Self(base64url(&bytes)))
    }

    /// The key of its document in `_sessions`: SHA-256 of the id. The id is random in all its bits,
    /// so the hash needs no salt, and nobody finds the id from it: no file, backup or export holds
    /// a cookie that is of use.
    pub(crate) fn key(&self) -> Key {
        Key::new(&base64url(&Sha256::digest(self.0.as_bytes())))
            .expect("43 characters of base64url are a key")
    }

    /// What the cookie is to hold.
    pub(crate) fn as_cookie(&self) -> &str {
        &self.0
    }
}

/// Without the id: it is not for logs.
impl fmt::Debug for SessionId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("SessionId(…)")
    }
}

/// RFC 4648 §5, without padding.
pub(crate) fn base64url(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let mut bits = [0; 4];
        bits[1..=group.len()].copy_from_slice(group);
        let bits = u32::from_be_bytes(bits);
        for digit in 0..=group.len() {
            let six = bits >> (18 - 6 * digit) & 63;
            text.push(char::from(BASE64URL[six as usize]));
        }
    }
    text
}

/// The session id that a request brings, if it looks like one of ours. It is only ever looked up:
/// an id that names no session is never adopted, so nobody can make an id up and plant it. The id
/// of a session that lives can be planted; so it changes when its visitor logs in.
///
/// Over https only the cookie counts that was set there: one that was planted over http does not.
pub(crate) fn id_of(request: &Request) -> Option<SessionId> {
    let mut cookies = request.header("cookie").peekable();
    cookies.peek()?;
    let name = cookie_name(came_by_https(request));
    let mut values =
        cookies.flat_map(|field| field.split(';')).filter_map(|cookie| value(cookie, name));
    Some(SessionId(values.find(|value| is_id(value))?.to_owned()))
}

fn value<'a>(cookie: &'a str, name: &str) -> Option<&'a str> {
    cookie.trim_matches([' ', '\t']).strip_prefix(name)?.strip_prefix('=')
}

fn is_id(value: &str) -> bool {
    value.len() == ID_CHARS && value.bytes().all(|byte| BASE64URL.contains(&byte))
}

fn cookie_name(is_https: bool) -> &'static str {
    if is_https { SECURE_COOKIE } else { COOKIE }
}

/// Whether a cookie of this name is the session's.
pub(crate) fn is_reserved(name: &str) -> bool {
    [COOKIE, SECURE_COOKIE].iter().any(|reserved| name.eq_ignore_ascii_case(reserved))
}

/// The Set-Cookie value (RFC 6265 §4.1) that gives a visitor the session `id`, for `max_age`
/// seconds if not for as long as the browser says.
pub(crate) fn set_cookie(id: &str, max_age: Option<u64>, request: &Request) -> String {
    let is_https = came_by_https(request);
    let max_age = max_age.map(|seconds| format!("; Max-Age={seconds}")).unwrap_or_default();
    let secure = if is_https { "; Secure" } else { "" };
    let name = cookie_name(is_https);
    format!("{name}={id}; Path=/; HttpOnly; SameSite=Lax{max_age}{secure}")
}

/// A client that forges the field makes its own cookie stricter, nothing else; so it needs no
/// trusted proxy.
pub(crate) fn came_by_https(request: &Request) -> bool {
    request.header("x-forwarded-proto").any(|protocol| protocol.eq_ignore_ascii_case("https"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;

    fn request(headers: &[(&str, &str)]) -> Request {
        let own = |&(name, value): &(&str, &str)| (name.to_owned(), value.to_owned());
        Request {
            method: "GET".to_owned(),
            path: "/".to_owned(),
            query: String::new(),
            headers: headers.iter().map(own).collect(),
            body: Bytes::new(),
        }
    }

    fn id(cookie: &str) -> Option<String> {
        id_of(&request(&[("cookie", cookie)])).map(|id| id.as_cookie().to_owned())
    }

    const ID: &str = "abcdefghij-_ABCDEFG012";

    /// The examples of RFC 4648 §10, and the two digits in which the alphabets differ.
    #[test]
    fn base64url_of_known_bytes() {
        for (bytes, text) in
            [("", ""), ("f", "Zg"), ("fo", "Zm8"), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")]
        {
            assert_eq!(base64url(bytes.as_bytes()), text);
        }
        assert_eq!(base64url(&[0xfb, 0xff]), "-_8");
    }

    #[test]
    fn new_ids_are_ids_and_differ() {
        let (a, b) = (SessionId::new().unwrap(), SessionId::new().unwrap());
        assert!(is_id(a.as_cookie()) && is_id(b.as_cookie()));
        assert_ne!(a, b);
    }

    /// By `printf %s abcdefghij-_ABCDEFG012 | openssl dgst -sha256 -binary | basenc --base64url`.
    #[test]
    fn the_key_is_the_sha_256_of_the_id_and_no_log_shows_the_id() {
        let id = SessionId(ID.to_owned());
        assert_eq!(id.key().as_str(), "HARLMEjMngC049pejJArbrzLyloIttAqI9fwD32I7do");
        assert!(!format!("{id:?}").contains(ID));
    }

    #[test]
    fn finds_the_id_among_cookies() {
        assert_eq!(id(&format!("a=b; {COOKIE}={ID}; c=d")).as_deref(), Some(ID));
        assert_eq!(id(&format!("{COOKIE}=bad; {COOKIE}={ID}")).as_deref(), Some(ID));
        let two = [("cookie", "a=b".to_owned()), ("cookie", format!("{COOKIE}={ID}"))];
        let two = two.each_ref().map(|(name, value)| (*name, value.as_str()));
        assert!(id_of(&request(&two)).is_some());
    }

    #[test]
    fn ignores_what_is_not_an_id() {
        let bad = ["", "=", "sarsen_session", "sarsen_session=", "x=y", "sarsen_sessionx=y"];
        for cookie in bad {
            assert_eq!(id(cookie), None, "{cookie}");
        }
        assert_eq!(id(&format!("{COOKIE}={ID}x")), None);
        assert_eq!(id(&format!("{COOKIE}={}.", &ID[1..])), None);
        assert_eq!(id(&format!("{COOKIE}=\"{}\"", &ID[2..])), None);
    }

    #[test]
    fn the_cookie_over_https_is_another_and_only_it_counts_there() {
        let plain = "sarsen_session=x; Path=/; HttpOnly; SameSite=Lax";
        assert_eq!(set_cookie("x", None, &request(&[])), plain);
        let https = ("x-forwarded-proto", "https");
        let secure = set_cookie("x", Some(60), &request(&[https]));
        assert_eq!(
            secure,
            "__Host-sarsen_session=x; Path=/; HttpOnly; SameSite=Lax; Max-Age=60; Secure"
        );
        let (over_http, over_https) = (format!("{COOKIE}={ID}"), format!("{SECURE_COOKIE}={ID}"));
        assert!(id_of(&request(&[https, ("cookie", &over_https)])).is_some());
        assert!(id_of(&request(&[https, ("cookie", &over_http)])).is_none());
        assert!(id_of(&request(&[("cookie", &over_https)])).is_none());
    }

    #[test]
    fn a_session_is_stored_again_when_less_than_the_idle_time_is_left() {
        let (idle, lifetime) = (Duration::from_millis(400), Duration::from_millis(1_000));
        let rules = Rules { idle, lifetime, is_persistent: false };
        let at = Timestamp;
        assert_eq!(rules.expires(at(0), at(0)), at(500), "idle and a quarter of it");
        assert!(!rules.is_due(at(0), at(500), at(100)), "400 are left");
        assert!(rules.is_due(at(0), at(500), at(101)));
        assert_eq!(rules.expires(at(0), at(600)), at(1_000), "the lifetime ends it");
        assert!(!rules.is_due(at(0), at(1_000), at(999)), "storing it would change nothing");
        assert!(!rules.is_over(at(0), at(999)) && rules.is_over(at(0), at(1_000)));
    }
}
