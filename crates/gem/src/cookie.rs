//! Cookies: the value of one in a request, and the Set-Cookie field that sets one (RFC 6265, and
//! RFC 6265bis where browsers follow it). Pure; the session's own cookie is `session`'s.

use crate::limits::{COOKIE_BYTES_MAX, COOKIE_MAX_AGE_S};
use crate::session::is_reserved;
use crate::urlencoded::decode_segment;
use std::borrow::Cow;
use std::fmt::Write;
use thiserror::Error;

/// Why a cookie cannot be set.
#[derive(Clone, Debug, Error, PartialEq)]
pub(crate) enum CookieError {
    #[error("a cookie's name is letters, digits and !#$%&'*+-.^_`|~; got {0:?}")]
    Name(String),
    #[error("the cookie {0} is the session's; use session, login() and logout()")]
    Reserved(String),
    #[error("a cookie's path starts with / and has visible ASCII without ; only; got {0:?}")]
    Path(String),
    #[error("a cookie's domain is a host name such as example.org; got {0:?}")]
    Domain(String),
    #[error("a cookie's sameSite is \"Strict\", \"Lax\" or \"None\"; got {0:?}")]
    SameSite(String),
    #[error("a cookie lives for at most 400 days; got {0} s")]
    MaxAge(f64),
    #[error("a cookie with sameSite \"None\" has to be secure: browsers drop it otherwise")]
    NoneInsecure,
    #[error("a cookie whose name starts with {0} has to be secure: browsers drop it otherwise")]
    PrefixInsecure(&'static str),
    #[error("a cookie whose name starts with __Host- has the path / and no domain")]
    PrefixPlace,
    #[error("a cookie has at most {COOKIE_BYTES_MAX} bytes with its name and attributes; got {0}")]
    TooLong(usize),
}

/// A cookie to be set. What RFC 6265 §4.1.1 does not allow in a value is percent-encoded.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct NewCookie {
    pub(crate) name: String,
    pub(crate) value: String,
    pub(crate) path: String,
    pub(crate) domain: Option<String>,
    /// In seconds; none: as long as the browser says.
    pub(crate) max_age: Option<f64>,
    pub(crate) is_http_only: bool,
    pub(crate) is_secure: bool,
    pub(crate) same_site: String,
}

impl NewCookie {
    /// The Set-Cookie field, with `signature` after the value if there is one.
    pub(crate) fn field(&self, signature: Option<&str>) -> Result<String, CookieError> {
        self.check()?;
        let mut field = format!("{}={}", self.name, encoded(&self.value));
        let mut add = |text: &str| field.push_str(text);
        if let Some(signature) = signature {
            add(".");
            add(signature);
        }
        add("; Path=");
        add(&self.path);
        if let Some(domain) = &self.domain {
            add("; Domain=");
            add(domain);
        }
        if let Some(seconds) = self.max_age {
            add(&format!("; Max-Age={}", seconds.ceil()));
        }
        if self.is_http_only {
            add("; HttpOnly");
        }
        add("; SameSite=");
        add(&self.same_site);
        if self.is_secure {
            add("; Secure");
        }
        if field.len() > COOKIE_BYTES_MAX {
            return Err(CookieError::TooLong(field.len()));
        }
        Ok(field)
    }

    fn check(&self) -> Result<(), CookieError> {
        let Self { name, path, domain, .. } = self;
        if name.is_empty() || !name.bytes().all(is_token) {
            return Err(CookieError::Name(name.clone()));
        }
        if is_reserved(name) {
            return Err(CookieError::Reserved(name.clone()));
        }
        if !path.starts_with('/') || !path.bytes().all(|b| b.is_ascii_graphic() && b != b';') {
            return Err(CookieError::Path(path.clone()));
        }
        if let Some(domain) = domain.as_ref().filter(|domain| !is_domain(domain)) {
            return Err(CookieError::Domain(domain.clone()));
        }
        if !matches!(self.same_site.as_str(), "Strict" | "Lax" | "None") {
            return Err(CookieError::SameSite(self.same_site.clone()));
        }
        match self.max_age {
            Some(age) if !(0.0..=COOKIE_MAX_AGE_S).contains(&age) => Err(CookieError::MaxAge(age)),
            _ => self.check_what_browsers_drop(),
        }
    }

    /// RFC 6265bis §4.1.3 and §5.7: these are refused without a word.
    fn check_what_browsers_drop(&self) -> Result<(), CookieError> {
        let has_prefix = |prefix: &str| {
            self.name.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix))
        };
        if has_prefix("__Host-") && (self.domain.is_some() || self.path != "/") {
            return Err(CookieError::PrefixPlace);
        }
        for prefix in ["__Host-", "__Secure-"] {
            if has_prefix(prefix) && !self.is_secure {
                return Err(CookieError::PrefixInsecure(prefix));
            }
        }
        if self.same_site == "None" && !self.is_secure {
            return Err(CookieError::NoneInsecure);
        }
        Ok(())
    }
}

/// RFC 9110 §5.6.2.
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

fn is_domain(text: &str) -> bool {
    let is_label = |label: &str| {
        let is_inside = |b: u8| b.is_ascii_alphanumeric() || b == b'-';
        !label.is_empty() && label.len() <= 63 && label.bytes().all(is_inside)
    };
    text.len() <= 253 && text.split('.').all(is_label)
}

/// What is not a cookie-octet (RFC 6265 §4.1.1), and % itself, as %XX of its UTF-8.
fn encoded(value: &str) -> String {
    let mut text = String::with_capacity(value.len());
    for byte in value.bytes() {
        if byte.is_ascii_graphic() && !b"\"%,;\\".contains(&byte) {
            text.push(char::from(byte));
        } else {
            // A String takes whatever is written to it.
            let _ = write!(text, "%{byte:02X}");
        }
    }
    text
}

/// The value of the first cookie called `name` in the Cookie fields, as it was written. A browser
/// sends the one with the longest path first (RFC 6265 §5.4).
pub(crate) fn raw<'a>(fields: impl Iterator<Item = &'a str>, name: &str) -> Option<&'a str> {
    let mut cookies = fields.flat_map(|field| field.split(';'));
    cookies.find_map(|cookie| {
        let (found, value) = cookie.split_once('=')?;
        (found.trim_matches(SPACE) == name).then(|| value.trim_matches(SPACE))
    })
}

const SPACE: [char; 2] = [' ', '\t'];

/// A value as it was before it was written. What is not percent-encoded UTF-8 is taken as it is.
pub(crate) fn decoded(value: &str) -> String {
    let value = value.strip_prefix('"').and_then(|v| v.strip_suffix('"')).unwrap_or(value);
    decode_segment(value).map_or_else(|_| value.to_owned(), Cow::into_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cookie(name: &str, value: &str) -> NewCookie {
        NewCookie {
            name: name.to_owned(),
            value: value.to_owned(),
            path: "/".to_owned(),
            domain: None,
            max_age: None,
            is_http_only: true,
            is_secure: false,
            same_site: "Lax".to_owned(),
        }
    }

    #[test]
    fn fields() {
        let field = cookie("a", "b").field(None).unwrap();
        assert_eq!(field, "a=b; Path=/; HttpOnly; SameSite=Lax");
        let all = NewCookie {
            path: "/x".to_owned(),
            domain: Some("example.org".to_owned()),
            max_age: Some(59.1),
            is_http_only: false,
            is_secure: true,
            same_site: "None".to_owned(),
            ..cookie("a", "")
        };
        let expected = "a=.sig; Path=/x; Domain=example.org; Max-Age=60; SameSite=None; Secure";
        assert_eq!(all.field(Some("sig")).unwrap(), expected);
    }

    #[test]
    fn any_value_comes_back() {
        let all: String = (0..0x300).filter_map(char::from_u32).chain("€😀".chars()).collect();
        for value in ["", "a", "a b", "a;b", "\"q\"", "a,b", "%41", "%", "100%", "ü", "a=b", &all]
        {
            let field = cookie("c", value).field(None).unwrap_or_default();
            let text = encoded(value);
            assert!(
                text.bytes().all(|b| b.is_ascii_graphic() && !b"\";,\\".contains(&b)),
                "{text}"
            );
            let sent = format!("x=y; c={text}; z=1");
            assert_eq!(decoded(raw([sent.as_str()].into_iter(), "c").unwrap()), value, "{field}");
        }
    }

    #[test]
    fn values_of_others_are_taken_as_they_are() {
        let value = |text: &str| raw([text].into_iter(), "a").map(decoded);
        assert_eq!(value("a=\"b c\""), Some("b c".to_owned()));
        assert_eq!(value("a=%zz"), Some("%zz".to_owned()));
        assert_eq!(value("a=%ff"), Some("%ff".to_owned()));
        assert_eq!(value(" a = b=c ;a=d"), Some("b=c".to_owned()));
        assert_eq!(value("aa=1; b=a=2; a"), None);
        assert_eq!(value(""), None);
    }

    #[test]
    fn what_a_browser_would_drop_or_misread_is_refused() {
        let refused = |change: fn(&mut NewCookie)| {
            let mut cookie = cookie("a", "b");
            change(&mut cookie);
            cookie.field(None).unwrap_err()
        };
        for name in ["", "a b", "a;", "a=", "ü", "a\r\nb"] {
            assert!(matches!(cookie(name, "").field(None), Err(CookieError::Name(_))), "{name:?}");
        }
        for name in ["sarsen_session", "__host-Sarsen_session"] {
            assert!(matches!(cookie(name, "").field(None), Err(CookieError::Reserved(_))));
        }
        assert!(matches!(refused(|c| c.path = "x".into()), CookieError::Path(_)));
        assert!(matches!(refused(|c| c.path = "/;a=b".into()), CookieError::Path(_)));
        assert!(matches!(refused(|c| c.path = "/\n".into()), CookieError::Path(_)));
        assert!(matches!(refused(|c| c.domain = Some("a;b".into())), CookieError::Domain(_)));
        assert!(matches!(refused(|c| c.domain = Some(".a.b".into())), CookieError::Domain(_)));
        assert!(matches!(refused(|c| c.same_site = "lax".into()), CookieError::SameSite(_)));
        assert!(matches!(refused(|c| c.max_age = Some(-1.0)), CookieError::MaxAge(_)));
        assert!(matches!(refused(|c| c.max_age = Some(f64::NAN)), CookieError::MaxAge(_)));
        let over = refused(|c| c.max_age = Some(COOKIE_MAX_AGE_S + 1.0));
        assert!(matches!(over, CookieError::MaxAge(_)));
        assert_eq!(refused(|c| c.same_site = "None".into()), CookieError::NoneInsecure);
        let insecure = refused(|c| c.name = "__Secure-a".into());
        assert_eq!(insecure, CookieError::PrefixInsecure("__Secure-"));
        let placed = refused(|c| (c.name, c.path) = ("__Host-a".into(), "/x".into()));
        assert_eq!(placed, CookieError::PrefixPlace);
        let fits = COOKIE_BYTES_MAX - cookie("a", "").field(None).unwrap().len();
        assert!(cookie("a", &"x".repeat(fits)).field(None).is_ok());
        let longer = cookie("a", &"x".repeat(fits + 1)).field(None);
        assert_eq!(longer, Err(CookieError::TooLong(COOKIE_BYTES_MAX + 1)));
    }
}
