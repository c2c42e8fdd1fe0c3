//! Session ids and their cookie. What a session holds is a document of the collection `_sessions`;
//! reading and writing it is the business of `turn`.

use crate::exchange::Request;
use repository::Key;

/// The name of the cookie.
const COOKIE: &str = "sarsen_session";

/// 128 bits in base 64.
const ID_CHARS: usize = 22;

const BASE64URL: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// A new id, which nobody can guess: 128 bits from the operating system, base64url (RFC 4648 §5).
pub(crate) fn new_id() -> Result<String, getrandom::Error> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes)?;
    Ok(base64url(u128::from_be_bytes(bytes)))
}

/// The first 126 bits are 21 digits of six; the last digit holds two bits and four zeros.
fn base64url(bits: u128) -> String {
    let digit = |place: u32| {
        let six = if place < 21 { bits >> (122 - 6 * place) } else { bits << 4 };
        char::from(BASE64URL[(six & 63) as usize])
    };
    (0..22).map(digit).collect()
}

/// The session id that a request brings, if it looks like one of ours. It is only ever looked up:
/// an id that names no session is never adopted, so nobody can make an id up and plant it. But the
/// id of a session that lives can be planted, and it stays the same when its visitor logs in:
/// there is no operation yet that renews it.
pub(crate) fn id_of(request: &Request) -> Option<Key> {
    let cookies = request.header("cookie").flat_map(|field| field.split(';'));
    let id = cookies.filter_map(value).find(|value| is_id(value))?;
    Key::new(id).ok()
}

fn value(cookie: &str) -> Option<&str> {
    cookie.trim_matches([' ', '\t']).strip_prefix(COOKIE)?.strip_prefix('=')
}

fn is_id(value: &str) -> bool {
    value.len() == ID_CHARS && value.bytes().all(|byte| BASE64URL.contains(&byte))
}

/// The Set-Cookie value (RFC 6265 §4.1) that gives a visitor the session `id`.
pub(crate) fn set_cookie(id: &str, request: &Request) -> String {
    let secure = if came_by_https(request) { "; Secure" } else { "" };
    format!("{COOKIE}={id}; Path=/; HttpOnly; SameSite=Lax{secure}")
}

/// A client that forges the field makes its own cookie stricter, nothing else; so it needs no
/// trusted proxy.
fn came_by_https(request: &Request) -> bool {
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
        id_of(&request(&[("cookie", cookie)])).map(|key| key.as_str().to_owned())
    }

    const ID: &str = "abcdefghij-_ABCDEFG012";

    #[test]
    fn base64url_of_known_bits() {
        assert_eq!(base64url(0), "A".repeat(22));
        assert_eq!(base64url(u128::MAX), format!("{}w", "_".repeat(21)));
        let text = u128::from_be_bytes(*b"sixteen letters!");
        assert_eq!(base64url(text), "c2l4dGVlbiBsZXR0ZXJzIQ");
    }

    #[test]
    fn new_ids_are_ids_and_differ() {
        let (a, b) = (new_id().unwrap(), new_id().unwrap());
        assert!(is_id(&a) && is_id(&b));
        assert_ne!(a, b);
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
    fn the_cookie_is_secure_behind_https() {
        let plain = "sarsen_session=x; Path=/; HttpOnly; SameSite=Lax";
        assert_eq!(set_cookie("x", &request(&[])), plain);
        let by_https = request(&[("x-forwarded-proto", "https")]);
        assert_eq!(set_cookie("x", &by_https), format!("{plain}; Secure"));
    }
}
