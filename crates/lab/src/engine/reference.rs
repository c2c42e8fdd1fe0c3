//! Where a reference leads (RFC 3986 §5.2): of a redirect, or of a part of a page. Only the plan's
//! servers are ever asked.

use crate::target::{Origin, Target};

/// A place on one of the plan's servers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Location {
    pub(crate) server: usize,
    /// Path and query.
    pub(crate) path: Vec<u8>,
}

/// A reference that leads to none of the plan's servers, as it was written.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Elsewhere(pub(crate) String);

/// What `reference` means on a page, which is told by its server and its path.
pub(crate) fn resolve(
    origins: &[Origin],
    page: (usize, &[u8]),
    reference: &[u8],
) -> Result<Location, Elsewhere> {
    let (server, base) = page;
    let reference = reference.trim_ascii();
    let elsewhere = || Elsewhere(String::from_utf8_lossy(reference).into_owned());
    let end = memchr::memchr(b'#', reference).unwrap_or(reference.len());
    let reference = encoded(&reference[..end]);
    if let Some(scheme_end) = scheme_end(&reference) {
        return on_server(origins, &reference, scheme_end).ok_or_else(elsewhere);
    }
    if reference.starts_with(b"//") {
        let scheme = if origins[server].tls { b"https:".as_slice() } else { b"http:" };
        let whole = [scheme, &reference].concat();
        return on_server(origins, &whole, scheme.len() - 1).ok_or_else(elsewhere);
    }
    let query = memchr::memchr(b'?', base).unwrap_or(base.len());
    let path = match reference.first() {
        None => base.to_vec(),
        Some(b'/') => without_dots(&reference),
        Some(b'?') => [&base[..query], &reference].concat(),
        Some(_) => {
            let folder = memchr::memrchr(b'/', &base[..query]).map_or(0, |slash| slash + 1);
            without_dots(&[&base[..folder], &reference].concat())
        }
    };
    Ok(Location { server, path })
}

/// Where the colon after a scheme is, if there is one.
fn scheme_end(reference: &[u8]) -> Option<usize> {
    let colon = memchr::memchr(b':', reference)?;
    let scheme = &reference[..colon];
    let is_scheme = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-.".contains(byte);
    let whole = scheme.first()?.is_ascii_alphabetic() && scheme.iter().all(is_scheme);
    whole.then_some(colon)
}

fn on_server(origins: &[Origin], url: &[u8], scheme_end: usize) -> Option<Location> {
    if !url[scheme_end..].starts_with(b"://") {
        return None;
    }
    let target: Target = std::str::from_utf8(url).ok()?.parse().ok()?;
    let origin = target.origin();
    let same = |other: &Origin| {
        other.host.eq_ignore_ascii_case(&origin.host)
            && (other.port, other.tls) == (origin.port, origin.tls)
    };
    let server = origins.iter().position(same)?;
    Some(Location { server, path: without_dots(target.path().as_bytes()) })
}

/// With what must not be in a request's first line percent-encoded, as browsers do.
fn encoded(reference: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(reference.len());
    for byte in reference {
        match byte {
            b'\t' | b'\r' | b'\n' => {}
            b'!'..=b'~' => out.push(*byte),
            byte => out.extend_from_slice(format!("%{byte:02X}").as_bytes()),
        }
    }
    out
}

/// Without the segments `.` and `..` (RFC 3986 §5.2.4), which are none in a query.
fn without_dots(path: &[u8]) -> Vec<u8> {
    let query = memchr::memchr(b'?', path).unwrap_or(path.len());
    let (path, query) = path.split_at(query);
    let mut out: Vec<u8> = Vec::with_capacity(path.len() + query.len() + 1);
    let mut segments =
        path.strip_prefix(b"/").unwrap_or(path).split(|byte| *byte == b'/').peekable();
    while let Some(segment) = segments.next() {
        let is_last = segments.peek().is_none();
        match segment {
            b"." => {}
            b".." => out.truncate(memchr::memrchr(b'/', &out).unwrap_or(0)),
            segment => {
                out.push(b'/');
                out.extend_from_slice(segment);
                continue;
            }
        }
        if is_last {
            out.push(b'/');
        }
    }
    if out.is_empty() {
        out.push(b'/');
    }
    out.extend_from_slice(query);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origins() -> Vec<Origin> {
        let origin = |url: &str| url.parse::<Target>().unwrap().origin();
        vec![origin("http://a:8080/"), origin("http://b/")]
    }

    fn place(base: &str, reference: &str) -> Result<(usize, String), Elsewhere> {
        let location = resolve(&origins(), (0, base.as_bytes()), reference.as_bytes())?;
        Ok((location.server, String::from_utf8(location.path).unwrap()))
    }

    #[test]
    fn paths_are_those_of_the_standard() {
        // RFC 3986 §5.4, of "http://a/b/c/d;p?q".
        let cases = [
            ("g", "/b/c/g"),
            ("./g", "/b/c/g"),
            ("g/", "/b/c/g/"),
            ("/g", "/g"),
            ("?y", "/b/c/d;p?y"),
            ("g?y", "/b/c/g?y"),
            ("#s", "/b/c/d;p?q"),
            ("g#s", "/b/c/g"),
            (";x", "/b/c/;x"),
            ("", "/b/c/d;p?q"),
            (".", "/b/c/"),
            ("./", "/b/c/"),
            ("..", "/b/"),
            ("../", "/b/"),
            ("../g", "/b/g"),
            ("../..", "/"),
            ("../../g", "/g"),
            ("../../../g", "/g"),
            ("/./g", "/g"),
            ("/../g", "/g"),
            ("g.", "/b/c/g."),
            ("..g", "/b/c/..g"),
            ("./../g", "/b/g"),
            ("./g/.", "/b/c/g/"),
            ("g/./h", "/b/c/g/h"),
            ("g/../h", "/b/c/h"),
            ("g;x=1/../y", "/b/c/y"),
            ("g?y/../x", "/b/c/g?y/../x"),
        ];
        for (reference, expected) in cases {
            let got = place("/b/c/d;p?q", reference);
            assert_eq!(got, Ok((0, expected.to_owned())), "{reference}");
        }
    }

    #[test]
    fn other_servers_are_those_of_the_plan() {
        assert_eq!(place("/x", "http://b/y?z#t"), Ok((1, "/y?z".to_owned())));
        assert_eq!(place("/x", "//B:80/a/../y"), Ok((1, "/y".to_owned())));
        assert_eq!(place("/x", "HTTP://a:8080"), Ok((0, "/".to_owned())));
        for reference in
            ["http://c/", "http://a/", "https://b/", "mailto:me", "data:text/css,a", "http:x"]
        {
            assert_eq!(place("/x", reference), Err(Elsewhere(reference.to_owned())));
        }
    }

    #[test]
    fn nothing_can_end_the_first_line_of_a_request() {
        assert_eq!(place("/", " a b\r\nX: \u{fc} "), Ok((0, "/a%20bX:%20%C3%BC".to_owned())));
    }
}
