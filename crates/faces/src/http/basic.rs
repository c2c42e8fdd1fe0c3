//! Who asks for something of publishing: by a token, or by HTTP Basic with a token as the password
//! (RFC 7617), which is what old clients can do; the user's name may be any. Who sends nothing is
//! the public.

use crate::access::{Guard, Principal};
use crate::http::bearer;
use crate::problem::{Kind, Problem};
use hyper::header::{AUTHORIZATION, HeaderMap};
use hyper::http::request::Parts;
use std::net::IpAddr;

/// Who sends a request.
pub(crate) fn principal(parts: &Parts, guard: &Guard, from: IpAddr) -> Result<Principal, Problem> {
    bearer::refuse_in_uri(&parts.uri)?;
    if guard.is_open(from) {
        return Ok(Principal::Anyone);
    }
    if !parts.headers.contains_key(AUTHORIZATION) {
        return Ok(Principal::Public);
    }
    if let Some(token) = bearer::presented(&parts.headers)? {
        return bearer::holder(token, guard, from);
    }
    match password(&parts.headers) {
        Some(password) => bearer::holder(&password, guard, from),
        None => {
            let detail =
                "Authorization is Bearer and a token, or Basic with a token as the password";
            Err(Problem::new(Kind::InvalidToken, detail))
        }
    }
}

/// The password of Basic.
fn password(headers: &HeaderMap) -> Option<Vec<u8>> {
    let line = headers.get(AUTHORIZATION)?.as_bytes();
    let (scheme, rest) = line.split_at_checked("Basic ".len())?;
    if !scheme.eq_ignore_ascii_case(b"Basic ") {
        return None;
    }
    let pair = wire::base64::to_bytes(rest.trim_ascii())?;
    let colon = pair.iter().position(|byte| *byte == b':')?;
    Some(pair[colon + 1..].to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::header::HeaderValue;

    #[test]
    fn rfc7617_2_the_password_is_behind_the_first_colon() {
        let of = |line: &'static str| {
            password(&HeaderMap::from_iter([(AUTHORIZATION, HeaderValue::from_static(line))]))
                .map(|password| String::from_utf8(password).unwrap())
        };
        assert_eq!(of("Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==").as_deref(), Some("open sesame"));
        assert_eq!(of("bAsIc  OmE6Yg==").as_deref(), Some("a:b"));
        for wrong in ["Basic", "Basic ", "Basic QQ==", "Basic ?", "Bearer QTpi"] {
            assert_eq!(of(wrong), None, "{wrong}");
        }
    }
}
