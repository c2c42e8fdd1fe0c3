//! What Atom asks about media types (RFC 4287 §4.1.3, RFC 5023 §8.3.4 and §12.1). Not a parser of
//! header fields.

/// Whether it looks as `type/subtype`, with or without parameters.
pub fn is_one(text: &str) -> bool {
    parts(text).is_some_and(|(main, sub)| main != "*" && sub != "*")
}

/// Whether it looks as a media range (RFC 9110 §12.5.1): a media type, `type/*` or `*/*`.
pub fn is_range(text: &str) -> bool {
    parts(text).is_some_and(|(main, sub)| main != "*" || sub == "*")
}

/// Type and subtype. None if it is in no such form, or has white space around it.
fn parts(text: &str) -> Option<(&str, &str)> {
    let is_token = |part: &str| {
        let is_allowed =
            |byte: u8| byte.is_ascii_alphanumeric() || b"!#$&-^_.+*'%`|~".contains(&byte);
        !part.is_empty() && part.bytes().all(is_allowed)
    };
    let is_odd = |c: char| c.is_control() && c != '\t';
    let (main, sub) = essence(text).split_once('/')?;
    let is_one = is_token(main) && is_token(sub) && text.trim() == text && !text.contains(is_odd);
    is_one.then_some((main, sub))
}

/// Without parameters.
pub fn essence(text: &str) -> &str {
    text.split(';').next().unwrap_or("").trim()
}

/// Of XML: `+xml`, `/xml` and the older names (RFC 4287 §4.1.3.3).
pub fn is_xml(text: &str) -> bool {
    let essence = essence(text).to_ascii_lowercase();
    essence.ends_with("+xml")
        || essence.ends_with("/xml")
        || essence.ends_with("/xml-external-parsed-entity")
        || essence.ends_with("/xml-dtd")
}

/// Of text.
pub fn is_text(text: &str) -> bool {
    starts(text, "text/")
}

/// Made of parts, which content of an entry may not be (RFC 4287 §4.1.3.1).
pub fn is_composite(text: &str) -> bool {
    starts(text, "multipart/") || starts(text, "message/")
}

fn starts(text: &str, prefix: &str) -> bool {
    text.trim_start().get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix))
}

/// The value of a parameter, without quotes.
pub fn parameter<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let parameters = text.split(';').skip(1).filter_map(|one| one.split_once('='));
    let mut named = parameters.filter(|(known, _)| known.trim().eq_ignore_ascii_case(name));
    named.next().map(|(_, value)| value.trim().trim_matches('"'))
}

/// Whether a media range of `app:accept` admits a media type (RFC 5023 §8.3.4, §12.1): white space
/// around it does not count, nor does case. Atom without `type` is taken for an entry.
pub fn admits(accept: &str, media_type: &str) -> bool {
    let range = essence(accept);
    let found = essence(media_type);
    let is_in = match range.split_once('/') {
        Some(("*", "*")) => true,
        Some((main, "*")) => {
            found.split_once('/').is_some_and(|(other, _)| other.eq_ignore_ascii_case(main))
        }
        _ => range.eq_ignore_ascii_case(found),
    };
    let is_atom = found.eq_ignore_ascii_case("application/atom+xml");
    let holds = |parameter_of_range: &str| {
        let Some((name, value)) = parameter_of_range.split_once('=') else { return true };
        let value = value.trim().trim_matches('"');
        let is_type = is_atom && name.trim().eq_ignore_ascii_case("type");
        let default = if is_type { Some("entry") } else { None };
        let found = parameter(media_type, name.trim()).or(default);
        found.is_some_and(|found| found.eq_ignore_ascii_case(value))
    };
    is_in && accept.split(';').skip(1).all(holds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_told_by_the_name() {
        assert!(is_one("image/png") && is_one("text/plain; charset=utf-8"));
        assert!(!is_one("png") && !is_one("a b/c") && !is_one("/") && !is_one(""));
        assert!(!is_one(" a/b") && !is_one("a/b\n") && !is_one("*/*") && !is_one("a/*"));
        assert!(is_range("*/*") && is_range("a/*") && is_range("a/b;c=d") && is_one("a/b;c*=d"));
        assert!(!is_range("*/a") && !is_range("*") && !is_range("") && !is_range("a/\u{1}"));
        assert!(is_xml("image/SVG+xml; q=1") && is_xml("text/xml") && !is_xml("text/html"));
        assert!(is_text("Text/markdown") && !is_text("textile/a"));
        assert!(is_composite("multipart/mixed") && is_composite("message/rfc822"));
    }

    /// RFC 5023 §8.3.4, §9.6, §12.1.
    #[test]
    fn accept_is_compared_without_case_and_white_space() {
        let entry = "\n application/atom+xml; type=entry ";
        for media_type in [ENTRY, "application/atom+xml", "Application/Atom+XML;Type=ENTRY"] {
            assert!(admits(entry, media_type), "{media_type}");
        }
        assert!(!admits(entry, "application/atom+xml;type=feed"));
        assert!(admits("image/*", "image/png") && !admits("image/*", "video/mp4"));
        assert!(admits("*/*", "a/b") && admits("image/png", "image/PNG;x=1"));
        assert!(!admits("", "image/png"));
    }

    const ENTRY: &str = "application/atom+xml;type=\"entry\";charset=utf-8";
}
