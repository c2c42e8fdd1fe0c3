//! The cookies of one user (RFC 6265, without domains, paths and dates: a user talks to one
//! server). `Max-Age` of zero or less removes a cookie; `Expires` is not read.

use super::head::Malformed;
use crate::limits::COOKIE_BYTES_MAX;

/// A cookie jar, kept as the value of the `Cookie` field it sends, so that sending costs a copy.
#[derive(Default)]
pub(crate) struct Jar {
    /// `name=value` pairs, each name once and each pair followed by the separator.
    pairs: Vec<u8>,
}

const SEPARATOR: &[u8] = b"; ";

impl Jar {
    /// The value of the `Cookie` field; empty if there is none to send.
    pub(crate) fn line(&self) -> &[u8] {
        self.pairs.strip_suffix(SEPARATOR).unwrap_or_default()
    }

    /// Drops every cookie.
    pub(crate) fn forget(&mut self) {
        self.pairs.clear();
    }

    /// Takes the value of a `Set-Cookie` field. One without a name is ignored (§5.2).
    ///
    /// # Errors
    /// The jar would outgrow its bound.
    pub(crate) fn store(&mut self, set_cookie: &[u8]) -> Result<(), Malformed> {
        let mut parts = set_cookie.split(|byte| *byte == b';');
        let Some((name, value)) = parts.next().and_then(split_pair) else { return Ok(()) };
        if name.is_empty() {
            return Ok(());
        }
        self.remove(name);
        if removes(parts) {
            return Ok(());
        }
        let bytes = name.len() + 1 + value.len() + SEPARATOR.len();
        if self.pairs.len() + bytes > COOKIE_BYTES_MAX {
            return Err(Malformed::Cookies);
        }
        self.pairs.extend_from_slice(name);
        self.pairs.push(b'=');
        self.pairs.extend_from_slice(value);
        self.pairs.extend_from_slice(SEPARATOR);
        Ok(())
    }

    fn remove(&mut self, name: &[u8]) {
        let mut start = 0;
        while let Some(length) = self.pairs[start..].iter().position(|byte| *byte == b';') {
            let pair = &self.pairs[start..start + length];
            let end = start + length + SEPARATOR.len();
            if split_pair(pair).is_some_and(|(other, _)| other == name) {
                self.pairs.drain(start..end);
                return;
            }
            start = end;
        }
    }
}

fn split_pair(pair: &[u8]) -> Option<(&[u8], &[u8])> {
    let equals = pair.iter().position(|byte| *byte == b'=')?;
    Some((pair[..equals].trim_ascii(), pair[equals + 1..].trim_ascii()))
}

/// Whether the attributes say that the cookie is over (§5.2.2; the last `Max-Age` counts).
fn removes<'a>(attributes: impl Iterator<Item = &'a [u8]>) -> bool {
    attributes
        .filter_map(split_pair)
        .filter(|(name, _)| name.eq_ignore_ascii_case(b"max-age"))
        .filter_map(|(_, value)| is_over(value))
        .last()
        .unwrap_or(false)
}

/// Whether an age is zero or less; nothing if it is not a number and must be ignored.
fn is_over(age: &[u8]) -> Option<bool> {
    let (negative, digits) = match age.strip_prefix(b"-") {
        Some(digits) => (true, digits),
        None => (false, age),
    };
    let number = !age.is_empty() && digits.iter().all(u8::is_ascii_digit);
    number.then(|| negative || digits.iter().all(|digit| *digit == b'0'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(set_cookies: &[&str]) -> String {
        let mut jar = Jar::default();
        for set_cookie in set_cookies {
            jar.store(set_cookie.as_bytes()).unwrap();
        }
        String::from_utf8(jar.line().to_vec()).unwrap()
    }

    #[test]
    fn keeps_names_and_values_only() {
        assert_eq!(after(&["session=abc; Path=/; HttpOnly; SameSite=Lax"]), "session=abc");
        assert_eq!(after(&[" a = b=c ;Secure", "d="]), "a=b=c; d=");
        assert_eq!(after(&["nothing", "=x", "", "; Max-Age=0"]), "");
    }

    #[test]
    fn replaces_the_cookie_of_the_same_name_wherever_it_is() {
        assert_eq!(after(&["a=1", "b=2", "c=3", "a=9"]), "b=2; c=3; a=9");
        assert_eq!(after(&["a=1", "b=2", "c=3", "b=9"]), "a=1; c=3; b=9");
        assert_eq!(after(&["a=1", "b=2", "c=3", "c=9"]), "a=1; b=2; c=9");
        assert_eq!(after(&["a=1", "a=2"]), "a=2");
        assert_eq!(after(&["aa=1", "a=2", "A=3"]), "aa=1; a=2; A=3");
    }

    #[test]
    fn max_age_of_zero_or_less_removes() {
        for over in ["0", "-1", "00", "-"] {
            let line = after(&["a=1", "b=2", &format!("a=x; max-age={over}")]);
            assert_eq!(line, "b=2", "{over}");
        }
        for lasting in ["1", "010", "x", "", "0x", "9999999999999999999999"] {
            let line = after(&["a=1", &format!("a=x; Max-Age={lasting}")]);
            assert_eq!(line, "a=x", "{lasting}");
        }
        assert_eq!(after(&["a=1; Max-Age=0; Max-Age=5"]), "a=1");
    }

    #[test]
    fn forgets() {
        let mut jar = Jar::default();
        jar.store(b"a=1").unwrap();
        jar.forget();
        assert_eq!(jar.line(), b"");
    }

    #[test]
    fn refuses_to_outgrow_its_bound() {
        let mut jar = Jar::default();
        let half = "x".repeat(COOKIE_BYTES_MAX / 2);
        jar.store(format!("a={half}").as_bytes()).unwrap();
        jar.store(format!("a={half}").as_bytes()).unwrap();
        let refusal = jar.store(format!("b={half}").as_bytes()).unwrap_err();
        assert!(matches!(refusal, Malformed::Cookies));
        assert!(jar.line().len() <= COOKIE_BYTES_MAX);
    }
}
