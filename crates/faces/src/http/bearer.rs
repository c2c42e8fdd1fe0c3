//! Bearer tokens in requests (RFC 6750): where a token may be, and what is said to who has none.

use crate::access::{Guard, Known, Principal, TOKEN_CHARACTERS};
use crate::problem::{Kind, Problem};
use hyper::Uri;
use hyper::header::{AUTHORIZATION, HeaderMap, HeaderValue};
use hyper::http::request::Parts;
use std::net::IpAddr;

/// Who sends a request for something that is guarded.
pub(crate) fn principal(parts: &Parts, guard: &Guard, from: IpAddr) -> Result<Principal, Problem> {
    refuse_in_uri(&parts.uri)?;
    if guard.is_open(from) {
        return Ok(Principal::Anyone);
    }
    let Some(text) = presented(&parts.headers)? else {
        let detail = "send Authorization: Bearer and a token; `sarsen token create` makes one";
        return Err(Problem::new(Kind::Unauthorized, detail));
    };
    holder(text, guard, from)
}

/// Who holds the token `text`, which came in whatever way.
pub(super) fn holder(text: &[u8], guard: &Guard, from: IpAddr) -> Result<Principal, Problem> {
    let known = match text.len() == TOKEN_CHARACTERS {
        true => guard.recognise(text),
        false => Known::Malformed,
    };
    let detail = match known {
        Known::Valid(token) => return Ok(Principal::Holder(token)),
        Known::Expired => "the token's time is over; `sarsen token create` makes another",
        Known::Unknown => "the token is not of this server, or was revoked",
        Known::Malformed => {
            "this is no whole token: they begin with sarsen_ and have 55 characters"
        }
    };
    log::debug!("a token from {from} was refused: {detail}");
    Err(match guard.refuse(from) {
        Ok(()) => Problem::new(Kind::InvalidToken, detail),
        Err(wait) => {
            let seconds = wait.as_secs().max(1);
            let detail = format!(
                "too many tokens from this address were refused; the next is looked at in about \
                 {seconds} s. A valid token is never held back"
            );
            Problem::new(Kind::TooManyAttempts, detail)
        }
    })
}

/// Who asks, as `visit` found out for what looks at it again. Without it nothing is open.
pub(crate) fn carried(parts: &Parts) -> Result<Principal, Problem> {
    let principal = parts.extensions.get::<Principal>().cloned();
    principal.ok_or_else(|| Problem::internal(&"it was not found out who asks"))
}

/// Who sends a request for something that is open, if it says so and it is true.
pub(crate) fn recognised(parts: &Parts, guard: &Guard, from: IpAddr) -> Option<Principal> {
    if guard.is_open(from) {
        return Some(Principal::Anyone);
    }
    match guard.recognise(presented(&parts.headers).ok()??) {
        Known::Valid(token) => Some(Principal::Holder(token)),
        _ => None,
    }
}

/// The token of a request, if it has one. The scheme's name is in any case (RFC 9110 §11.1).
pub(super) fn presented(headers: &HeaderMap) -> Result<Option<&[u8]>, Problem> {
    let mut lines = headers.get_all(AUTHORIZATION).iter();
    let Some(line) = lines.next() else { return Ok(None) };
    if lines.next().is_some() {
        let detail = "Authorization is given more than once";
        return Err(Problem::new(Kind::BadRequest, detail));
    }
    Ok(after_scheme(line))
}

fn after_scheme(line: &HeaderValue) -> Option<&[u8]> {
    let (scheme, rest) = line.as_bytes().split_at_checked("Bearer ".len())?;
    scheme.eq_ignore_ascii_case(b"Bearer ").then(|| rest.trim_ascii())
}

/// URIs are written down by browsers, proxies and servers (RFC 6750 §5.3), so a token in one has
/// been given away.
pub(super) fn refuse_in_uri(uri: &Uri) -> Result<(), Problem> {
    let Some(query) = uri.query() else { return Ok(()) };
    let names = query.split('&').map(|pair| pair.split('=').next().unwrap_or_default());
    if names.into_iter().any(|name| name.eq_ignore_ascii_case("access_token")) {
        let detail = "a token in a URI ends up in logs: send it as Authorization: Bearer, and \
                      revoke this one if others may have seen it";
        return Err(Problem::new(Kind::TokenInUri, detail));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::Request;

    fn parts(uri: &str, lines: &[&str]) -> Parts {
        let request =
            lines.iter().fold(Request::get(uri), |r, line| r.header(AUTHORIZATION, *line));
        request.body(()).unwrap().into_parts().0
    }

    fn token(lines: &[&str]) -> Result<Option<String>, Kind> {
        let parts = parts("/db/notes/a", lines);
        let text = presented(&parts.headers).map_err(|problem| problem.kind)?;
        Ok(text.map(|text| String::from_utf8(text.to_vec()).unwrap()))
    }

    #[test]
    fn rfc6750_2_1_the_authorization_field() {
        assert_eq!(token(&["Bearer abc"]), Ok(Some("abc".into())));
        assert_eq!(token(&["bearer  abc "]), Ok(Some("abc".into())));
        for other in [&[][..], &["Basic YTpi"], &["Bearer"], &["Bearerabc"]] {
            assert_eq!(token(other), Ok(None), "{other:?}");
        }
        assert_eq!(token(&["Bearer a", "Bearer b"]), Err(Kind::BadRequest));
    }

    #[test]
    fn rfc6750_2_3_not_in_the_uri() {
        for uri in ["/db/a/b?access_token=x", "/db/a/b?x=1&access_token=", "/db/a/b?Access_Token=x"]
        {
            let problem = refuse_in_uri(&uri.parse().unwrap()).unwrap_err();
            assert_eq!(problem.kind, Kind::TokenInUri, "{uri}");
        }
        for uri in ["/db/a/b", "/db/a/b?token=x", "/db/a/access_token?x=access_token"] {
            assert!(refuse_in_uri(&uri.parse().unwrap()).is_ok(), "{uri}");
        }
    }
}
