//! The media type of a document on its way in, from the header fields that describe a request's
//! content.

use crate::problem::{Kind, Problem};
use crate::surface::{JSON_PATCH, MERGE_OPERATIONS, MERGE_PATCH, Template};
use hyper::Method;
use hyper::header::{CONTENT_ENCODING, CONTENT_RANGE, CONTENT_TYPE, HeaderMap};
use repository::MediaType;
use repository::limits::MEDIA_TYPE_BYTES_MAX;

const EXPECTED: &str = "send Content-Type: application/json for a JSON document, or the media type \
                        that the bytes have";

/// The media type to store, or why the content cannot be stored.
pub(crate) fn media_type(headers: &HeaderMap) -> Result<MediaType, Problem> {
    parse(stated(headers)?)
}

/// The Content-Type of content that is whole and in no coding, as it was sent.
pub(super) fn stated(headers: &HeaderMap) -> Result<&str, Problem> {
    // Stored as it is, the content would be served without its coding (RFC 9110 §8.4).
    check_coding(headers)?;
    // A part must not be taken for the whole (RFC 9110 §14.4).
    if headers.contains_key(CONTENT_RANGE) {
        let detail = "Content-Range cannot be honoured: send the whole document";
        return Err(Problem::new(Kind::BadRequest, detail));
    }
    let text = content_type(headers)?;
    text.ok_or_else(|| unsupported(format!("it is not type/subtype: {EXPECTED}")))
}

/// The Content-Type; `None`: it is not well formed.
fn content_type(headers: &HeaderMap) -> Result<Option<&str>, Problem> {
    let mut lines = headers.get_all(CONTENT_TYPE).iter();
    let line = lines.next().ok_or_else(|| unsupported(format!("there is none: {EXPECTED}")))?;
    if lines.next().is_some() {
        return Err(Problem::new(Kind::BadRequest, "Content-Type is given more than once"));
    }
    Ok(line.to_str().ok().map(str::trim).filter(|text| is_media_type(text)))
}

/// A format of patches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// RFC 7396.
    MergePatch,
    /// RFC 6902.
    JsonPatch,
    MergeOperations,
}

/// The format of the patch in a request's content.
pub(crate) fn patch_format(headers: &HeaderMap) -> Result<Format, Problem> {
    let formats = [
        (MERGE_PATCH, Format::MergePatch),
        (JSON_PATCH, Format::JsonPatch),
        (MERGE_OPERATIONS, Format::MergeOperations),
    ];
    check_coding(headers)?;
    // That none is given is said by the same problem as that another one is.
    let is = |name: &str| essence(headers).is_some_and(|text| text.eq_ignore_ascii_case(name));
    let format = formats.iter().find(|(name, _)| is(name)).map(|(_, format)| *format);
    format.ok_or_else(|| {
        let accepts = Template::Document.accepts(&Method::PATCH);
        let mut problem = unsupported(format!("a patch is one of {accepts}"));
        problem.more().accept_patch = Some(accepts);
        problem
    })
}

/// Checks that the content is JSON, for a resource that takes nothing else.
pub(crate) fn check_json(headers: &HeaderMap, template: Template) -> Result<(), Problem> {
    check_coding(headers)?;
    let is_json =
        essence(headers).is_some_and(|text| text.eq_ignore_ascii_case("application/json"));
    if is_json {
        return Ok(());
    }
    let accepts = template.accepts(&Method::POST);
    let mut problem = unsupported(format!("{} takes {accepts}", template.path()));
    problem.more().accept = Some(accepts);
    Err(problem)
}

/// The media type without its parameters.
fn essence(headers: &HeaderMap) -> Option<&str> {
    content_type(headers).ok().flatten().map(|text| split(text).0)
}

/// Refuses content in a coding, and says by Accept-Encoding that it is that (RFC 9110 §15.5.16).
fn check_coding(headers: &HeaderMap) -> Result<(), Problem> {
    let lines = headers.get_all(CONTENT_ENCODING).iter().map(|line| line.as_bytes());
    let mut codings =
        lines.flat_map(|line| line.split(|byte| *byte == b',')).map(<[u8]>::trim_ascii);
    if codings.all(|coding| coding.is_empty() || coding.eq_ignore_ascii_case(b"identity")) {
        return Ok(());
    }
    let detail = "Content-Encoding is not supported: send the content uncoded";
    let mut problem = unsupported(detail);
    problem.more().accept_encoding = Some("identity");
    Err(problem)
}

fn parse(text: &str) -> Result<MediaType, Problem> {
    let (essence, parameters) = split(text);
    if essence.eq_ignore_ascii_case("application/json") {
        return json(parameters);
    }
    if essence.eq_ignore_ascii_case("application/x-www-form-urlencoded") {
        return Err(unsupported(format!(
            "a form is not a document (curl -d sends one): {EXPECTED}"
        )));
    }
    if text.len() > MEDIA_TYPE_BYTES_MAX {
        let detail = format!("it has at most {MEDIA_TYPE_BYTES_MAX} bytes; got {}", text.len());
        return Err(unsupported(detail));
    }
    Ok(MediaType::Other(text.into()))
}

/// JSON is UTF-8 (RFC 8259 §8.1), so saying so changes nothing. Any other parameter would be lost.
fn json(parameters: &str) -> Result<MediaType, Problem> {
    let is_known = |parameter: &str| {
        let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
        name.eq_ignore_ascii_case("charset")
            && value.trim_matches('"').eq_ignore_ascii_case("utf-8")
    };
    let mut given = parameters.split(';').map(str::trim).filter(|p| !p.is_empty());
    if given.all(is_known) {
        return Ok(MediaType::Json);
    }
    let detail = "application/json takes no parameter but charset=utf-8; \
                  store other kinds under a media type of their own";
    Err(unsupported(detail))
}

fn split(text: &str) -> (&str, &str) {
    let (essence, parameters) = text.split_once(';').unwrap_or((text, ""));
    (essence.trim_end(), parameters)
}

/// Checks `type/subtype` (RFC 9110 §8.3.1); parameters are kept as they came.
fn is_media_type(text: &str) -> bool {
    let is_token = |part: &str| !part.is_empty() && part.bytes().all(is_token_byte);
    split(text).0.split_once('/').is_some_and(|(kind, sub)| is_token(kind) && is_token(sub))
}

/// RFC 9110 §5.6.2.
fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

fn unsupported(detail: impl Into<std::borrow::Cow<'static, str>>) -> Problem {
    Problem::new(Kind::UnsupportedMediaType, detail)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::header::{HeaderName, HeaderValue};

    fn of(fields: &[(HeaderName, &str)]) -> Result<MediaType, u16> {
        let mut headers = HeaderMap::new();
        for (name, value) in fields {
            headers.append(name, HeaderValue::from_str(value).unwrap());
        }
        media_type(&headers).map_err(|problem| problem.kind.row().status)
    }

    fn of_type(value: &str) -> Result<MediaType, u16> {
        of(&[(CONTENT_TYPE, value)])
    }

    #[test]
    fn json_may_say_that_it_is_utf_8() {
        for text in [
            "application/json",
            "Application/JSON",
            " application/json ",
            "application/json;charset=utf-8",
            "application/json ; charset=\"UTF-8\";",
        ] {
            assert_eq!(of_type(text), Ok(MediaType::Json), "{text}");
        }
        for text in ["application/json;charset=latin1", "application/json;profile=x"] {
            assert_eq!(of_type(text), Err(415), "{text}");
        }
    }

    #[test]
    fn other_types_are_kept_as_sent() {
        for text in ["text/plain; charset=utf-8", "application/vnd.x+json", "image/PNG"] {
            assert_eq!(of_type(text), Ok(MediaType::Other(text.into())), "{text}");
        }
    }

    #[test]
    fn what_cannot_be_stored_is_refused() {
        assert_eq!(of(&[]), Err(415));
        for text in ["", "json", "a/", "/b", "a b/c", "a/b c", "application/x-www-form-urlencoded"]
        {
            assert_eq!(of_type(text), Err(415), "{text:?}");
        }
        assert_eq!(of_type(&format!("a/{}", "b".repeat(MEDIA_TYPE_BYTES_MAX))), Err(415));
        assert_eq!(of(&[(CONTENT_TYPE, "a/b"), (CONTENT_TYPE, "a/b")]), Err(400));
        assert_eq!(of(&[(CONTENT_TYPE, "a/b"), (CONTENT_ENCODING, "gzip")]), Err(415));
        assert_eq!(of(&[(CONTENT_TYPE, "a/b"), (CONTENT_RANGE, "bytes 0-1/2")]), Err(400));
        assert!(of(&[(CONTENT_TYPE, "a/b"), (CONTENT_ENCODING, "Identity, identity")]).is_ok());
        assert_eq!(of(&[(CONTENT_TYPE, "a/b"), (CONTENT_ENCODING, "identity, br")]), Err(415));
    }
}
