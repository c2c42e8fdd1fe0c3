//! Resolving references (RFC 3986 §5.2, IRIs of RFC 3987 likewise). A base may itself be relative:
//! then so is the result. Nothing is decoded or normalized but dots in the path.

/// A reference in its parts (§3).
#[derive(Clone, Copy)]
struct Parts<'a> {
    scheme: Option<&'a str>,
    authority: Option<&'a str>,
    path: &'a str,
    query: Option<&'a str>,
    fragment: Option<&'a str>,
}

fn parts(reference: &str) -> Parts<'_> {
    let (rest, fragment) = split_at_mark(reference, '#');
    let (rest, query) = split_at_mark(rest, '?');
    let scheme = scheme(rest);
    let rest = scheme.map_or(rest, |scheme| &rest[scheme.len() + 1..]);
    let (authority, path) = match rest.strip_prefix("//") {
        Some(after) => {
            let end = after.find('/').unwrap_or(after.len());
            (Some(&after[..end]), &after[end..])
        }
        None => (None, rest),
    };
    Parts { scheme, authority, path, query, fragment }
}

fn split_at_mark(text: &str, mark: char) -> (&str, Option<&str>) {
    match text.split_once(mark) {
        Some((before, after)) => (before, Some(after)),
        None => (text, None),
    }
}

/// The scheme of a reference, without its colon; none if the reference is relative.
pub fn scheme(reference: &str) -> Option<&str> {
    let (scheme, _) = reference.split_once(':')?;
    let is_one = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
    is_one.then_some(scheme)
}

/// Whether what is resolved by this base may be on another server. Browsers take a backslash for a
/// slash, and pass over control characters.
pub fn is_elsewhere(base: &str) -> bool {
    let is_odd = |c: char| c == '\\' || c.is_control();
    let start = base.trim_start();
    base.contains(is_odd) || scheme(start).is_some() || start.starts_with("//")
}

/// Whether it has no character that an IRI reference cannot have (RFC 3987 §2.2): white space,
/// control characters, and the delimiters that RFC 3986 leaves out. Its parts are not looked at.
pub fn is_reference(text: &str) -> bool {
    let is_out = |c: char| c <= ' ' || c.is_control() || "<>\"{}|\\^`".contains(c);
    !text.contains(is_out)
}

/// An IRI as a URI (RFC 3987 §3.1): what is not ASCII, or cannot be in a URI, percent-encoded.
pub fn of_iri(iri: &str) -> std::borrow::Cow<'_, str> {
    let is_out = |c: char| !c.is_ascii() || !is_reference(c.encode_utf8(&mut [0; 4]));
    if !iri.contains(is_out) {
        return iri.into();
    }
    let mut uri = String::with_capacity(3 * iri.len());
    for c in iri.chars() {
        let mut bytes = [0; 4];
        match c.encode_utf8(&mut bytes) {
            plain if !is_out(c) => uri.push_str(plain),
            other => other.bytes().for_each(|byte| uri.push_str(&format!("%{byte:02X}"))),
        }
    }
    uri.into()
}

/// What `reference` means in a document of that base.
pub fn resolve(base: &str, reference: &str) -> String {
    let (base, reference) = (parts(base), parts(reference.trim()));
    let Parts { scheme, authority, path, query, fragment } = reference;
    let joined;
    let resolved = if scheme.is_some() {
        joined = without_dots(path);
        Parts { scheme, authority, path: &joined, query, fragment }
    } else if authority.is_some() {
        joined = without_dots(path);
        Parts { scheme: base.scheme, authority, path: &joined, query, fragment }
    } else if path.is_empty() {
        Parts { query: query.or(base.query), fragment, ..base }
    } else {
        joined = without_dots(&merged(&base, path));
        Parts { path: &joined, query, fragment, ..base }
    };
    written(&resolved)
}

/// The path of a relative reference, put to that of the base (§5.2.3).
fn merged(base: &Parts<'_>, path: &str) -> String {
    if path.starts_with('/') {
        return path.to_owned();
    }
    match base.path.rfind('/') {
        Some(at) => format!("{}{path}", &base.path[..=at]),
        None if base.authority.is_some() => format!("/{path}"),
        None => path.to_owned(),
    }
}

/// §5.2.4. A path that begins with a slash keeps it; one that does not gets none.
fn without_dots(path: &str) -> String {
    if !path.split('/').any(|segment| matches!(segment, "." | "..")) {
        return path.to_owned();
    }
    let (is_rooted, rest) = match path.strip_prefix('/') {
        Some(rest) => (true, rest),
        None => (false, path),
    };
    let mut segments = Vec::new();
    let mut is_folder = false;
    for segment in rest.split('/') {
        is_folder = matches!(segment, "." | "..");
        match segment {
            "." => {}
            ".." => _ = segments.pop(),
            _ => segments.push(segment),
        }
    }
    let slash = if is_rooted { "/" } else { "" };
    let end = if is_folder && !segments.is_empty() { "/" } else { "" };
    // Two slashes at the beginning would be an authority.
    while is_rooted && segments.len() > 1 && segments[0].is_empty() {
        segments.remove(0);
    }
    format!("{slash}{}{end}", segments.join("/"))
}

fn written(parts: &Parts<'_>) -> String {
    let mut out = String::new();
    if let Some(scheme) = parts.scheme {
        out.push_str(scheme);
        out.push(':');
    }
    if let Some(authority) = parts.authority {
        out.push_str("//");
        out.push_str(authority);
    }
    out.push_str(parts.path);
    if let Some(query) = parts.query {
        out.push('?');
        out.push_str(query);
    }
    if let Some(fragment) = parts.fragment {
        out.push('#');
        out.push_str(fragment);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of RFC 3986 §5.4.
    #[test]
    fn the_examples_of_the_rfc_resolve_as_there() {
        let base = "http://a/b/c/d;p?q";
        for (reference, expected) in [
            ("g:h", "g:h"),
            ("g", "http://a/b/c/g"),
            ("./g", "http://a/b/c/g"),
            ("g/", "http://a/b/c/g/"),
            ("/g", "http://a/g"),
            ("//g", "http://g"),
            ("?y", "http://a/b/c/d;p?y"),
            ("g?y", "http://a/b/c/g?y"),
            ("#s", "http://a/b/c/d;p?q#s"),
            ("g#s", "http://a/b/c/g#s"),
            ("g?y#s", "http://a/b/c/g?y#s"),
            (";x", "http://a/b/c/;x"),
            ("", "http://a/b/c/d;p?q"),
            (".", "http://a/b/c/"),
            ("./", "http://a/b/c/"),
            ("..", "http://a/b/"),
            ("../g", "http://a/b/g"),
            ("../..", "http://a/"),
            ("../../g", "http://a/g"),
            ("../../../g", "http://a/g"),
            ("/./g", "http://a/g"),
            ("/../g", "http://a/g"),
            ("g.", "http://a/b/c/g."),
            ("..g", "http://a/b/c/..g"),
            ("./g/.", "http://a/b/c/g/"),
            ("g/./h", "http://a/b/c/g/h"),
            ("g;x=1/../y", "http://a/b/c/y"),
            ("g?y/./x", "http://a/b/c/g?y/./x"),
        ] {
            assert_eq!(resolve(base, reference), expected, "{reference}");
        }
    }

    #[test]
    fn a_base_may_be_of_another_server() {
        for base in ["http://evil/", "//evil/", "/\\evil", "x:y", "\\\\evil", " //evil", "/\t/evil"]
        {
            assert!(is_elsewhere(base), "{base}");
        }
        for base in ["", "/a/b", "a/b", "./a:b", "?x", "#a:b", "/a//b"] {
            assert!(!is_elsewhere(base), "{base}");
        }
    }

    #[test]
    fn references_have_no_white_space_and_iris_are_made_uris() {
        for good in ["", "http://h/\u{e9}?a=b&c#d", "tag:a@b,2003:x", "urn:x:'()*,;=!$[]~%"] {
            assert!(is_reference(good), "{good}");
        }
        for bad in [" a", "a b", "a\n", "a\u{7f}", "<", "a\"", "{x}", "a|b", "a\\b", "^", "`"] {
            assert!(!is_reference(bad), "{bad:?}");
        }
        assert_eq!(of_iri("http://h/\u{e9}/%20?x=|"), "http://h/%C3%A9/%20?x=%7C");
        assert_eq!(of_iri("http://h/a"), "http://h/a");
    }

    #[test]
    fn a_relative_base_gives_a_relative_result() {
        assert_eq!(resolve("/atom/blog/", "a.png"), "/atom/blog/a.png");
        assert_eq!(resolve("", "a/../b"), "b");
        assert_eq!(resolve("/x", "//h/p"), "//h/p");
    }
}
